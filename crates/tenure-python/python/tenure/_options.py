"""The options of a compile, as types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

if TYPE_CHECKING:
    from ._store import Store
    from ._workspace import Objects

Path = Union[str, "PathLike[str]"]
"""A path of a file or folder."""

ReadAs = Literal["evidence", "guidance", "corpus"]
"""What the documents of files are."""

Target = Literal[
    "text",
    "anthropic",
    "openai",
    "responses",
    "gemini",
    "anthropic-messages",
    "openai-chat",
    "openai-responses",
    "chat-template",
]
"""The form of a payload: ``anthropic``, ``openai`` and ``responses`` are short for three of them."""


class SessionOptions(TypedDict, total=False):
    """What the compile of a session takes: the keywords of :meth:`tenure.Workspace.compile` but for the conversation."""

    query: str | None
    documents: Iterable[Any] | None
    objects: Iterable[Any] | Objects | None
    files: Path | Sequence[Path]
    read_as: ReadAs | None
    near: Path | None
    optional_instructions: bool
    budget: int | None
    window: int | None
    reserve: int | None
    model: str | None
    policy: str | PathLike[str] | Mapping[str, Any] | None
    store: Store | None
    registry: str | None
    record: bool
    principal: Mapping[str, Any] | None
    as_of: datetime | str | None
    known_at: datetime | str | None
    top_k: int | None
    threshold: float | None
    previous: Mapping[str, Any] | None
    originals: Path | None
    cache: bool
    dry_run: bool
    request: Mapping[str, Any] | None


class HistoryOptions(SessionOptions, total=False):
    """What an adapter takes for the history that it compiles."""

    task: str | None


class CompileOptions(SessionOptions, total=False):
    """All keywords of :meth:`tenure.Workspace.compile`."""

    messages: Iterable[Any] | None
    system: Any
    tools: Iterable[Any] | None
    target: Target | None
