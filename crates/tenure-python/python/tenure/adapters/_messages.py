"""What the adapters for conversations share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._compiled import Compiled
from .._workspace import Workspace, default

Message = TypeVar("Message")


def compiled_messages(messages: list[dict[str, Any]], workspace: Workspace | None, given: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of the compiled request, in the form of OpenAI's chat API."""
    compiled = (workspace or default()).compile(messages=messages, target="openai-chat", **given)
    found: list[dict[str, Any]] = compiled.request["messages"]
    return found


def standing(compiled: Compiled) -> set[int]:
    """The places of the messages that stand in a compile, from 0; those of the system before them are not counted."""
    history = (verdict.name for verdict in compiled.included if verdict.section == "history")
    return {int(name.rsplit("-", 1)[1]) - 1 for name in history}


def originals(
    compiled: Sequence[dict[str, Any]],
    before: Sequence[Message],
    plain: Sequence[dict[str, Any]],
    made: Callable[[dict[str, Any]], Message],
) -> list[Message]:
    """The framework's own messages where the compiled ones say the same, in order; others are made anew."""
    found: list[Message] = []
    next_ = 0
    for message in compiled:
        same = next((at for at in range(next_, len(plain)) if plain[at] == message), None)
        if same is None:
            found.append(made(message))
        else:
            found.append(before[same])
            next_ = same + 1
    return found
