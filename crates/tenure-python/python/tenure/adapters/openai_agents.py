"""OpenAI Agents SDK (``openai-agents`` 0.24): a session, and a filter of the model's input.

Items of the responses API are kept and given back as they came. The filter compiles the input of one call: what fits goes
on as it came. What it makes anew (summaries, condensed results) has no id.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agents.run import CallModelData, ModelInputData

from .._session import Session
from .._workspace import Workspace, default

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import HistoryOptions

__all__ = ["TenureSession", "input_filter"]


class TenureSession:
    """A session of the SDK that a store of Tenure keeps."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.session_id = session.id
        self.session_settings = None

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The last items, or all of them."""
        items = await asyncio.to_thread(self._session.export, "openai-responses")
        return items if limit is None else items[-limit:] if limit > 0 else []

    async def add_items(self, items: list[Any]) -> None:
        """Adds items."""
        if items:
            await asyncio.to_thread(self._session.append, items, format="openai-responses")

    async def pop_item(self) -> Any | None:
        """A session of Tenure forgets nothing that was said."""
        raise NotImplementedError("a session keeps what was said; begin another one")

    async def clear_session(self) -> None:
        """A session of Tenure forgets nothing that was said."""
        raise NotImplementedError("a session keeps what was said; begin another one, or erase it with `tenure session`")


def input_filter(*, workspace: Workspace | None = None, **given: Unpack[HistoryOptions]) -> Any:
    """A ``call_model_input_filter`` of a ``RunConfig``: the input of each call, compiled into the budget."""

    async def filter(data: CallModelData[Any]) -> ModelInputData:
        items, before = data.model_data.input, data.model_data.instructions
        compiled = await asyncio.to_thread(
            (workspace or default()).compile,
            messages=items,
            system=before,
            target="openai-responses",
            **given,
        )
        request = compiled.request
        instructions = request.get("instructions")
        # The text of a field of its own ends with one new line in a compile.
        is_same = before is not None and instructions is not None and before.strip() == instructions.strip()
        return ModelInputData(input=request["input"], instructions=before if is_same else instructions)

    return filter
