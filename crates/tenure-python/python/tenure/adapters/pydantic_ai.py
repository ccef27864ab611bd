"""pydantic-ai (2.68): a history processor that keeps whole exchanges, the newest and nearest first."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from .._workspace import Workspace, default
from ._messages import standing

__all__ = ["history_processor"]


def _said(message: ModelMessage) -> list[dict[str, Any]]:
    """A message in the form of OpenAI's chat API, for judging alone: the message itself is what is kept."""
    said: list[dict[str, Any]] = []
    if isinstance(message, ModelResponse):
        calls = [
            {"id": part.tool_call_id, "type": "function", "function": {"name": part.tool_name, "arguments": part.args_as_json_str()}}
            for part in message.parts
            if isinstance(part, ToolCallPart)
        ]
        text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
        said.append({"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})})
        return said
    assert isinstance(message, ModelRequest)
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            said.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()})
        elif isinstance(part, UserPromptPart) and isinstance(part.content, str):
            said.append({"role": "user", "content": part.content})
    return said


def history_processor(*, workspace: Workspace | None = None, **given: Any) -> Any:
    """Makes a processor for ``capabilities=[ProcessHistory(...)]`` of an agent: what a compile leaves out of the conversation is left out, message by
    message. Nothing is rewritten, so that signatures and ids stay; what would be condensed stays whole."""

    async def process(messages: list[ModelMessage]) -> list[ModelMessage]:
        plain: list[dict[str, Any]] = []
        owners: list[int] = []
        for at, message in enumerate(messages):
            for said in _said(message):
                plain.append(said)
                owners.append(at)
        if not plain:
            return messages
        compiled = await asyncio.to_thread(
            (workspace or default()).compile, messages=plain, target="openai-chat", **given
        )
        stays = {owners[at] for at in standing(compiled)}
        silent = {at for at in range(len(messages)) if at not in owners}
        return [message for at, message in enumerate(messages) if at in stays or at in silent]

    return process
