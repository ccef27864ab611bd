"""Conversations of any length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _tenure
from ._compiled import Compiled
from ._values import Json, dumps, loads

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import SessionOptions
    from ._workspace import Workspace


class Session:
    """A conversation that a store keeps, and whose next request is compiled within the window: what was sent stays as it
    was while the provider's cache holds it, and the oldest becomes summaries that point to it."""

    def __init__(self, workspace: Workspace, inner: _tenure.Session) -> None:
        self._workspace = workspace
        self._inner = inner

    @property
    def id(self) -> str:
        """Its id."""
        return self._inner.id()

    def __len__(self) -> int:
        return self._inner.len()

    def append(self, messages: Any, *, format: str | None = None) -> list[int]:
        """Adds messages, or one, in the provider's own form; the model's answers as well. Returns their numbers."""
        from ._workspace import _format

        if isinstance(messages, dict) or not isinstance(messages, Iterable) or hasattr(messages, "model_dump"):
            messages = [messages]
        return self._inner.append(dumps(messages, "messages"), None if format is None else _format(format))

    def compile(self, task: str | None = None, **given: Unpack[SessionOptions]) -> Compiled:
        """Compiles the next request. Takes what :meth:`tenure.Workspace.compile` takes but for ``messages``."""
        unknown = {"messages", "system", "tools"} & given.keys()
        if unknown:
            from .errors import UsageError

            raise UsageError(f"{sorted(unknown)[0]} is no field of a session's compile", hint="append the messages")
        objects, store = given.get("objects"), given.pop("store", None)
        call = self._workspace._call(**{**_NOTHING, **given, "task": task})
        kept = getattr(objects, "_inner", None)
        return Compiled(self._inner.compile(dumps(call, "call"), kept, None if store is None else store._inner))

    def rehydrate(
        self, id: str | None = None, *, query: str | None = None, tokens: int = 1500, model: str = "gpt-4o"
    ) -> dict[str, Json]:
        """Reads back what was summarized: of an id, or what a query asks about, within so many tokens."""
        value: dict[str, Json] = loads(self._inner.rehydrate(id, query, tokens, model))
        return value

    def pin(self, message: int) -> None:
        """Keeps a message whole from the next epoch on."""
        self._inner.pin(message)

    def unpin(self, message: int) -> None:
        """Takes a pin back."""
        self._inner.unpin(message)

    def export(self, format: str = "openai-chat") -> list[dict[str, Json]]:
        """All messages in a provider's form."""
        from ._workspace import _format

        value: list[dict[str, Json]] = loads(self._inner.export(_format(format)))
        return value

    def __repr__(self) -> str:
        return f"<Session {self.id}, {len(self)} messages>"


_NOTHING: dict[str, Any] = dict.fromkeys(
    (
        "query documents objects read_as near budget window reserve model target policy registry record principal "
        "as_of known_at top_k threshold previous originals request"
    ).split(),
    None,
) | {"files": (), "optional_instructions": False, "cache": False, "dry_run": False}
