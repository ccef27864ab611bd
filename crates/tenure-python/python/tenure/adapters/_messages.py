"""What the adapters for conversations share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._workspace import Workspace, default

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import HistoryOptions


def compiled_messages(
    plain: Sequence[dict[str, Any]],
    workspace: Workspace | None,
    tools: Sequence[Any] | None = None,
    **given: Unpack[HistoryOptions],
) -> list[tuple[int | None, dict[str, Any]]]:
    """The messages of the compiled request, in the form of OpenAI's chat API, each with the place of the one that was
    given and stands there. One without a place was made anew: a summary, words that are quoted, what stands beside."""
    compiled = (workspace or default()).compile(messages=plain, tools=tools or None, target="openai-chat", **given)
    return list(zip(compiled._places(), compiled.request["messages"]))
