"""LlamaIndex (``llama-index-core`` 0.14): a postprocessor of nodes, and a memory.

The memory keeps text, tool calls and their results; blocks of other kinds (images, thinking) it refuses. What a compile makes anew
(summaries, the system's text) comes as messages of its own.
"""

from __future__ import annotations

from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.memory import BaseMemory
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from .._session import Session
from .._workspace import default, evidence
from .._values import dumps
from ..errors import InputError

__all__ = ["TenureMemory", "TenurePostprocessor"]


class TenurePostprocessor(BaseNodePostprocessor):
    """Keeps the nodes that are near to the query and have room, in their order. Scores are left as they are."""

    budget: int = 4000
    given: dict[str, Any] = {}
    workspace: Any = None

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            return nodes
        named = [evidence(f"node-{at}", node.get_content(), source=node.node_id) for at, node in enumerate(nodes)]
        compiled = (self.workspace or default()).compile(
            query_bundle.query_str, objects=named, budget=self.budget, **self.given
        )
        included = {verdict.name for verdict in compiled.included}
        return [node for at, node in enumerate(nodes) if f"node-{at}" in included]


def _plain(message: ChatMessage) -> dict[str, Any]:
    """A message in the form of OpenAI's chat API."""
    calls: list[Any] = list(message.additional_kwargs.get("tool_calls") or [])
    for block in message.blocks:
        if isinstance(block, ToolCallBlock):
            arguments = block.tool_kwargs if isinstance(block.tool_kwargs, str) else dumps(block.tool_kwargs, "tool_kwargs")
            function = {"name": block.tool_name, "arguments": arguments}
            calls.append({"id": block.tool_call_id, "type": "function", "function": function})
        elif not isinstance(block, TextBlock):
            raise InputError(f"a message has a block of the type {type(block).__name__}", expected="text and tool calls")
    said: dict[str, Any] = {"role": str(message.role.value), "content": message.content}
    if calls:
        said["tool_calls"] = calls
    if message.role == MessageRole.TOOL:
        said["tool_call_id"] = message.additional_kwargs.get("tool_call_id")
    return said


def _made(said: dict[str, Any]) -> ChatMessage:
    """A message of LlamaIndex."""
    more = {name: said[name] for name in ("tool_calls", "tool_call_id") if said.get(name)}
    return ChatMessage(role=MessageRole(said["role"]), content=said.get("content"), additional_kwargs=more)


class TenureMemory(BaseMemory):
    """The memory of a chat engine or an agent: a session. What it gives fits the budget of ``given``."""

    session: Any
    given: dict[str, Any] = {}

    @classmethod
    def class_name(cls) -> str:
        return "TenureMemory"

    @classmethod
    def from_defaults(cls, session: Session, **given: Any) -> TenureMemory:  # type: ignore[override]
        """A memory over this session; ``given`` are arguments of :meth:`tenure.Session.compile`."""
        return cls(session=session, given=given)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The messages of the next request, within the budget."""
        return [_made(said) for said in self.session.compile(input, **self.given).request["messages"]]

    def get_all(self) -> list[ChatMessage]:
        """All messages."""
        return [_made(said) for said in self.session.export("openai-chat")]

    def put(self, message: ChatMessage) -> None:
        """Adds a message."""
        self.session.append(_plain(message), format="openai-chat")

    def set(self, messages: list[ChatMessage]) -> None:
        """Adds messages to a session without any; one that has some keeps what was said."""
        if len(self.session) > 0:
            raise NotImplementedError("a session keeps what was said; begin another one")
        self.session.append([_plain(message) for message in messages], format="openai-chat")

    def reset(self) -> None:
        """A session forgets nothing: begin another one."""
        raise NotImplementedError("a session keeps what was said; begin another one, or erase it with `tenure session`")
