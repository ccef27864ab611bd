"""What the three protocols have in common: a refusal, and one view of a request whatever its protocol."""

import json
from dataclasses import dataclass, field


class Refused(Exception):
    """A request that the provider does not take."""

    def __init__(self, message, status=400, kind="invalid_request_error"):
        super().__init__(message)
        self.message, self.status, self.kind = message, status, kind


@dataclass
class Block:
    """The smallest part of a prompt that a provider renders whole, in the order of rendering."""

    part: str  # tools, system or messages
    role: str  # system, developer, user, assistant or tool
    kind: str  # text, call, result, thinking, tool, …
    data: str  # what is rendered, without marks of the cache
    text: str = ""  # what it says, where it says something in words
    mark: str = ""  # how long the prefix that ends here is to be kept: 5m, 1h, 30m; empty without a mark

    @property
    def tokens(self):
        """One for each four bytes, rounded up."""
        return (len(self.data.encode("utf-8", "surrogatepass")) + 3) // 4


@dataclass
class View:
    """A request, read."""

    model: str
    streamed: bool
    tools: list = field(default_factory=list)  # (name, schema, custom)
    blocks: list = field(default_factory=list)
    calls: list = field(default_factory=list)  # ids of all calls in it
    results: list = field(default_factory=list)  # ids of all results in it
    answers: dict = field(default_factory=dict)  # the text of each of them
    settings: str = ""  # what is rendered before the messages though it is no block
    cache_key: str = ""

    @property
    def tokens(self):
        return sum(block.tokens for block in self.blocks)

    def said(self, role):
        return [block.text for block in self.blocks if block.role == role and block.kind == "text"]


@dataclass
class Think:
    text: str


@dataclass
class Say:
    text: str


@dataclass
class Call:
    id: str
    name: str
    arguments: object  # a dict, or the text of a custom tool


def plain(value):
    """One text for one value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def need(condition, message, **more):
    if not condition:
        raise Refused(message, **more)


def event(name, value):
    """An event of a stream (`name` empty: data alone)."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()


def text_of(content):
    """The text of a result, in one part or in several."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or [])


def pieces(text, size=400):
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]
