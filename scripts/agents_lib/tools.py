"""A task that the model does with Tenure's own tools: each answer is one call, by the name under which the client offers it."""

import json
import re
from dataclasses import dataclass
from types import SimpleNamespace

from .task import TRIES, Script
from .wire import Call, Say

FINISHED = "All tools were used."
LOADER = "ToolSearch"  # Claude Code offers this in place of tools whose definitions it keeps back


@dataclass
class Use:
    tool: str  # its name at the server
    arguments: object  # a dict, or what makes one of the results so far
    kind: str = "tool"


class ToolScript(Script):
    """The model: calls one tool after the other, and keeps what the client sends back."""

    def __init__(self, folder, uses, prompt):
        super().__init__(SimpleNamespace(folder=folder, steps=list(uses)))
        self.uses, self.prompts = uses, [prompt]
        self.offered = set()  # the names under which the client has offered Tenure's tools
        self.answers = []  # what came back, in the order of the calls

    def next(self, view):
        """The number of calls whose results the request holds."""
        return len({self.issued[id] for id in view.results if id in self.issued})

    def answer(self, view, at, thinking):
        tries = self.lines[at] = self.lines.get(at, 0) + 1
        if tries > TRIES:
            return [Say("I was asked for this step too often: what I did is not in the request.")]
        self.answers = [view.answers[id] for id, _ in sorted(self.issued.items(), key=lambda one: one[1]) if id in view.answers]
        if at == len(self.uses):
            return [Say(FINISHED)]
        use = self.uses[at]
        wanted = re.compile(rf"tenure_+{use.tool}")
        name = next((name for name, _, _ in view.tools if wanted.search(name)), None)
        if name is None:
            if tries == 1 and any(name == LOADER for name, _, _ in view.tools):
                return [Call(f"load_{at:02}", LOADER, {"query": f"select:mcp__tenure__{use.tool}", "max_results": 5})]
            return [Say(f"The client does not offer {use.tool}, but {[tool[0] for tool in view.tools]}.")]
        self.offered.add(name)
        id = f"call_{at:02}a{tries}"
        self.issued[id] = at
        arguments = use.arguments(self.answers) if callable(use.arguments) else use.arguments
        return [Call(id, name, arguments)]


def result(text):
    """The structured content of a result, whatever words a client puts before it."""
    for place in (at for at, letter in enumerate(text) if letter == "{"):
        try:
            value, _ = json.JSONDecoder().raw_decode(text[place:])
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("structuredContent"), dict):
            return value["structuredContent"]
        return value
    return None
