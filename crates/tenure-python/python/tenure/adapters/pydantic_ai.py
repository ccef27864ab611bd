"""pydantic-ai (2.68): a history processor that keeps a conversation within a budget.

Messages that stay are the very objects that were given, signatures included. A result of a tool that is condensed is a copy
of its part with another content; what Tenure adds (summaries, words that it quotes) is a request of the user.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from .._workspace import Workspace
from ._messages import compiled_messages

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import HistoryOptions

__all__ = ["history_processor"]

Place = tuple[int, int]
"""The number of a message, and that of its part; of a response the whole stands."""


def _asked(content: Any) -> Any:
    """A user's prompt, in the form of OpenAI's chat API."""
    if isinstance(content, str):
        return content
    parts: list[dict[str, Any]] = []
    for one in content:
        if isinstance(one, str):
            parts.append({"type": "text", "text": one})
        elif isinstance(one, ImageUrl):
            parts.append({"type": "image_url", "image_url": {"url": one.url}})
        elif isinstance(one, BinaryContent) and one.is_image:
            parts.append({"type": "image_url", "image_url": {"url": one.data_uri}})
        else:
            parts.append({"type": "text", "text": "[file]"})
    return parts


def _part(part: ModelRequestPart) -> dict[str, Any] | None:
    """A part of a request in the form of OpenAI's chat API, for judging alone: the part itself is what is kept."""
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, UserPromptPart):
        return {"role": "user", "content": _asked(part.content)}
    if isinstance(part, ToolReturnPart):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
    if isinstance(part, RetryPromptPart):
        text = part.model_response()
        if part.tool_name is None:
            return {"role": "user", "content": text}
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": text}
    return None


def _response(message: ModelResponse) -> dict[str, Any]:
    """A response in the same form."""
    calls = [
        {"id": part.tool_call_id, "type": "function", "function": {"name": part.tool_name, "arguments": part.args_as_json_str()}}
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    if calls:
        return {"role": "assistant", "content": text or None, "tool_calls": calls}
    return {"role": "assistant", "content": text}


def _plain(messages: Sequence[ModelMessage]) -> tuple[list[dict[str, Any]], list[Place]]:
    """The conversation in the form of OpenAI's chat API, and where each message of that is from."""
    plain: list[dict[str, Any]] = []
    places: list[Place] = []
    for at, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            plain.append(_response(message))
            places.append((at, 0))
            continue
        for number, part in enumerate(message.parts):
            said = _part(part)
            if said is not None:
                plain.append(said)
                places.append((at, number))
    return plain, places


def _rewritten(part: ModelRequestPart, said: dict[str, Any]) -> ModelRequestPart:
    """A part that stands in another form."""
    if isinstance(part, (ToolReturnPart, RetryPromptPart, SystemPromptPart)):
        return replace(part, content=said["content"])
    return UserPromptPart(said["content"])


def _made(said: dict[str, Any]) -> ModelMessage:
    """A message that was made anew."""
    content = said.get("content") or ""
    if said["role"] == "system":
        return ModelRequest(parts=[SystemPromptPart(content)])
    if said["role"] == "assistant":
        calls = [
            ToolCallPart(call["function"]["name"], call["function"]["arguments"], tool_call_id=call["id"])
            for call in said.get("tool_calls", ())
        ]
        return ModelResponse(parts=[*([TextPart(content)] if content else []), *calls])
    if said["role"] == "tool":
        return ModelRequest(parts=[ToolReturnPart("unknown", content, tool_call_id=said["tool_call_id"])])
    return ModelRequest(parts=[UserPromptPart(content)])


def _request(before: ModelRequest, kept: dict[int, ModelRequestPart]) -> ModelRequest:
    """A request with these of its parts; those that no provider is told of in messages stay with it."""
    silent = {number: part for number, part in enumerate(before.parts) if _part(part) is None}
    parts = [part for _, part in sorted({**silent, **kept}.items())]
    same = len(parts) == len(before.parts) and all(one is other for one, other in zip(parts, before.parts))
    return before if same else replace(before, parts=parts)


def history_processor(*, workspace: Workspace | None = None, **given: Unpack[HistoryOptions]) -> Any:
    """Makes a processor for ``capabilities=[ProcessHistory(...)]`` of an agent: each call's conversation, within the budget.
    What fits goes on as it came."""

    def processed(messages: list[ModelMessage]) -> list[ModelMessage]:
        plain, owners = _plain(messages)
        if not plain:
            return messages
        after: list[ModelMessage] = []
        compiled = compiled_messages(plain, workspace, **given)
        for at, group in groupby(compiled, lambda one: None if one[0] is None else owners[one[0]][0]):
            before = None if at is None else messages[at]
            if isinstance(before, ModelResponse):
                after.append(before)
            elif before is None:
                after.extend(_made(said) for _, said in group)
            else:
                kept: dict[int, ModelRequestPart] = {}
                for place, said in group:
                    assert place is not None
                    number = owners[place][1]
                    part = before.parts[number]
                    kept[number] = part if said == plain[place] else _rewritten(part, said)
                after.append(_request(before, kept))
        return after

    async def process(messages: list[ModelMessage]) -> list[ModelMessage]:
        return await asyncio.to_thread(processed, messages)

    return process
