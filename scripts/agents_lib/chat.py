"""OpenAI Chat Completions: what is refused, how a request is read, and how an answer is written."""

import json
import re
import time

from .wire import Block, Call, Say, View, event, need, pieces, plain

ROLES = {"system", "developer", "user", "assistant", "tool"}
PARTS = {
    "system": {"text"},
    "developer": {"text"},
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}
FIELDS = set(
    "model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens max_completion_tokens temperature top_p n stop "
    "presence_penalty frequency_penalty logit_bias logprobs top_logprobs user seed response_format reasoning_effort verbosity store metadata "
    "service_tier prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier modalities prediction".split()
)


def check(body):
    need(isinstance(body, dict), "the body must be an object")
    extra = sorted(set(body) - FIELDS)
    need(not extra, f"Unrecognized request argument supplied: {', '.join(extra)}")
    need(isinstance(body.get("model"), str) and body["model"], "you must provide a model parameter")
    messages = body.get("messages")
    need(isinstance(messages, list) and messages, "[] is too short - 'messages'")
    names = check_tools(body)
    choice = body.get("tool_choice")
    need(choice is None or choice == "none" or names, "'tool_choice' is only allowed when 'tools' are specified.")
    for at, message in enumerate(messages):
        check_message(at, message)
    check_pairs(messages)


def check_tools(body):
    names = set()
    need(body.get("tools") != [], "[] is too short - 'tools'")
    for at, tool in enumerate(body.get("tools") or []):
        kind = tool.get("type")
        need(kind in ("function", "custom"), f"Invalid value: '{kind}' - 'tools[{at}].type'")
        name = (tool.get(kind) or {}).get("name")
        need(isinstance(name, str) and re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name), f"Invalid 'tools[{at}].function.name': string does not match pattern")
        need(name not in names, f"Duplicate tool name '{name}'")
        names.add(name)
    return names


def check_message(at, message):
    where = f"messages[{at}]"
    role = message.get("role")
    need(role in ROLES, f"Invalid value: '{role}' - '{where}.role'")
    content, calls = message.get("content"), message.get("tool_calls")
    if role == "assistant":
        need(calls is None or (isinstance(calls, list) and calls), f"Invalid '{where}.tool_calls': empty array")
        need(content is not None or calls or message.get("refusal"), f"Invalid value for 'content': expected a string, got null. - '{where}.content'")
        for call in calls or []:
            need(isinstance(call.get("id"), str) and call["id"], f"Missing required parameter: '{where}.tool_calls[].id'")
            inner = call.get(call.get("type")) or {}
            need(isinstance(inner.get("name"), str) and inner["name"], f"Missing required parameter: '{where}.tool_calls[].function.name'")
            need(isinstance(inner.get("arguments", inner.get("input")), str), f"Invalid type for '{where}.tool_calls[].function.arguments'")
    else:
        need(calls is None, f"'{where}.tool_calls' is not allowed for this role")
        need(content is not None, f"Invalid value for 'content': expected a string, got null. - '{where}.content'")
    need((role == "tool") == ("tool_call_id" in message), f"Missing or unexpected parameter '{where}.tool_call_id'")
    need(content is None or isinstance(content, (str, list)), f"Invalid type for '{where}.content'")
    if isinstance(content, list):
        need(content, f"Invalid '{where}.content': empty array")
        for part in content:
            need(part.get("type") in PARTS[role], f"Invalid value: '{part.get('type')}' - '{where}.content[].type'")


def check_pairs(messages):
    open_calls, known = [], set()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            id = message["tool_call_id"]
            need(
                id in open_calls,
                f"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. - messages[{at}]",  # spellchecker:disable-line
            )
            open_calls.remove(id)
            continue
        check_closed(open_calls)
        for call in message.get("tool_calls") or []:
            need(call["id"] not in known, f"Duplicate tool call id {call['id']}")
            known.add(call["id"])
            open_calls.append(call["id"])
    check_closed(open_calls)


def check_closed(open_calls):
    need(
        not open_calls,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following "
        f"tool_call_ids did not have response messages: {', '.join(open_calls)}",
    )


def view(body):
    seen = View(body["model"], bool(body.get("stream")), cache_key=body.get("prompt_cache_key") or "")
    seen.settings = plain([body.get("response_format")])
    for tool in body.get("tools") or []:
        inner = tool.get(tool["type"])
        seen.tools.append((inner["name"], inner.get("parameters") or {}, tool["type"] == "custom"))
        seen.blocks.append(Block("tools", "system", "tool", plain(tool)))
    for message in body["messages"]:
        role, content = message["role"], message.get("content")
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
            mark = "30m" if part.get("prompt_cache_breakpoint") else ""
            bare = {key: value for key, value in part.items() if key != "prompt_cache_breakpoint"}
            kind = "result" if role == "tool" else part["type"]
            data = plain([role, message.get("tool_call_id"), bare])
            seen.blocks.append(Block("messages", role, kind, data, part.get("text", "") if kind == "text" else "", mark))
        if role == "tool":
            seen.results.append(message["tool_call_id"])
        for call in message.get("tool_calls") or []:
            seen.calls.append(call["id"])
            seen.blocks.append(Block("messages", role, "call", plain(call)))
    return seen


def usage(spent):
    whole = spent.fresh + spent.read + spent.written_5m
    return {
        "prompt_tokens": whole,
        "completion_tokens": spent.output,
        "total_tokens": whole + spent.output,
        "prompt_tokens_details": {"cached_tokens": spent.read, "cache_write_tokens": spent.written_5m, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
    }


def message(said):
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": json.dumps(one.arguments)}}
        for one in said
        if isinstance(one, Call)
    ]
    text = "".join(one.text for one in said if isinstance(one, Say))
    whole = {"role": "assistant", "content": text or None, "refusal": None}
    return {**whole, "tool_calls": calls} if calls else whole


def answer(body, said, spent, id):
    whole = message(said)
    choice = {"index": 0, "message": whole, "finish_reason": "tool_calls" if "tool_calls" in whole else "stop", "logprobs": None}
    head = {"id": id, "object": "chat.completion", "created": int(time.time()), "model": body["model"]}
    return {**head, "choices": [choice], "usage": usage(spent), "system_fingerprint": None}


def stream(body, said, spent, id):
    head = {"id": id, "object": "chat.completion.chunk", "created": int(time.time()), "model": body["model"]}
    whole = message(said)

    def chunk(delta, finish=None):
        return event("", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]})

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(whole["content"] or "") if whole["content"] else []:
        yield chunk({"content": piece})
    for at, call in enumerate(whole.get("tool_calls") or []):
        inner = call["function"]
        yield chunk({"tool_calls": [{"index": at, "id": call["id"], "type": "function", "function": {"name": inner["name"], "arguments": ""}}]})
        for piece in pieces(inner["arguments"]):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if "tool_calls" in whole else "stop")
    if (body.get("stream_options") or {}).get("include_usage"):
        yield event("", {**head, "choices": [], "usage": usage(spent)})
    yield event("", "[DONE]")


def error(status, kind, message):
    code = "context_length_exceeded" if "maximum context length" in message else None
    return {"error": {"message": message, "type": "server_error" if status >= 500 else kind, "param": None, "code": code}}


def too_long(tokens, most):
    return f"This model's maximum context length is {most} tokens. However, your messages resulted in {tokens} tokens. Please reduce the length of the messages."
