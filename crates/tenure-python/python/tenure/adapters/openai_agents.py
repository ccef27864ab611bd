"""OpenAI Agents SDK (``openai-agents`` 0.24): a session, and a filter of the model's input.

Items of the responses API are kept and given back as they came. The filter compiles the input of one call; what it makes
anew (summaries, condensed results) has no id.
"""

from __future__ import annotations

import asyncio
from typing import Any

from agents.run import CallModelData, ModelInputData

from .._session import Session
from .._workspace import Workspace, default

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


def input_filter(*, workspace: Workspace | None = None, **given: Any) -> Any:
    """A ``call_model_input_filter`` of a ``RunConfig``: the input of each call, compiled into the budget."""

    async def filter(data: CallModelData[Any]) -> ModelInputData:
        items = data.model_data.input
        compiled = await asyncio.to_thread(
            (workspace or default()).compile,
            messages=items,
            system=data.model_data.instructions,
            target="openai-responses",
            **given,
        )
        request = compiled.request
        return ModelInputData(input=request["input"], instructions=request.get("instructions"))

    return filter
