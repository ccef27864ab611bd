"""Agents of LangChain (``langchain`` 1.5): a middleware for ``create_agent``.

.. code-block:: python

    agent = create_agent(model, tools, middleware=[TenureMiddleware(budget=50_000, model="gpt-4o")])

The state of the agent keeps every message; what its model gets fits the budget, with the system's text and the tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from .._workspace import Workspace
from .langchain import trim

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import HistoryOptions

__all__ = ["TenureMiddleware"]


class TenureMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps what an agent's model gets within a budget. Takes what :meth:`tenure.Workspace.compile` takes."""

    def __init__(self, *, workspace: Workspace | None = None, **given: Unpack[HistoryOptions]) -> None:
        super().__init__()
        self._workspace = workspace
        self._given = given

    def _fitted(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        system = request.system_message
        said: list[BaseMessage] = [*([] if system is None else [system]), *request.messages]
        tools = [convert_to_openai_tool(tool) for tool in request.tools]
        kept = trim(said, workspace=self._workspace, tools=tools, **self._given)
        first = kept[0] if kept and isinstance(kept[0], SystemMessage) else None
        messages: Any = kept if first is None else kept[1:]
        return request.override(system_message=first, messages=messages)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Calls the model with what fits."""
        return handler(self._fitted(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The same, without holding up the loop."""
        return await handler(await asyncio.to_thread(self._fitted, request))
