"""OpenAI Responses: what is refused, how a request is read, and how an answer is written."""

import hashlib
import json
import re
import time

from .wire import Block, Call, Say, Think, View, event, need, pieces, plain, text_of

FIELDS = set(
    "model input instructions tools tool_choice parallel_tool_calls stream stream_options max_output_tokens max_tool_calls temperature top_p "
    "top_logprobs reasoning text store metadata include user truncation previous_response_id conversation background service_tier prompt "
    "prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier context_management client_metadata".split()
)
PARTS = {
    "user": {"input_text", "input_image", "input_file"},
    "system": {"input_text", "input_image", "input_file"},
    "developer": {"input_text", "input_image", "input_file"},
    "assistant": {"output_text", "refusal"},
}
CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output", "local_shell_call": "local_shell_call_output"}
KINDS = {"message", "reasoning", "item_reference", "compaction", "additional_tools", *CALLS, *CALLS.values()}


def sealed(id):
    """What a client sends back of a reasoning that it cannot read."""
    return "enc" + hashlib.sha256(id.encode()).hexdigest()


def items(body):
    given = body.get("input")
    return [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given


def check(body):
    need(isinstance(body, dict), "the body must be an object")
    extra = sorted(set(body) - FIELDS)
    need(not extra, f"Unknown parameter: '{', '.join(extra)}'.")
    need(isinstance(body.get("model"), str) and body["model"], "Missing required parameter: 'model'.")
    need(not body.get("previous_response_id"), "Previous response not found.")
    given = body.get("input")
    need(isinstance(given, (str, list)) and given, "Missing required parameter: 'input'.")
    check_tools(body)
    for at, item in enumerate(items(body)):
        check_item(at, item)
    check_pairs(items(body))
    check_reasoning(items(body))


def check_tools(body):
    names = set()
    for at, tool in enumerate(body.get("tools") or []):
        need(isinstance(tool.get("type"), str), f"Missing required parameter: 'tools[{at}].type'.")
        if tool["type"] not in ("function", "custom"):
            continue
        name = tool.get("name")
        need(isinstance(name, str) and re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", name), f"Invalid 'tools[{at}].name': string does not match pattern.")
        need(name not in names, f"Duplicate tool name '{name}'.")
        names.add(name)


def check_item(at, item):
    where = f"input[{at}]"
    kind = item.get("type", "message")
    need(kind in KINDS, f"Invalid value: '{kind}'. - '{where}.type'")
    if kind == "message":
        role, content = item.get("role"), item.get("content")
        need(role in PARTS, f"Invalid value: '{role}'. - '{where}.role'")
        need(isinstance(content, (str, list)) and content, f"Missing required parameter: '{where}.content'.")
        for part in content if isinstance(content, list) else []:
            need(part.get("type") in PARTS[role], f"Invalid value: '{part.get('type')}'. - '{where}.content[].type'")
        id = item.get("id")
        need(id is None or id.startswith("msg"), f"Invalid '{where}.id': '{id}'. Expected an ID that begins with 'msg'.")
    elif kind in CALLS:
        need(isinstance(item.get("call_id"), str) and item["call_id"], f"Missing required parameter: '{where}.call_id'.")
        if kind == "function_call":
            need(isinstance(item.get("arguments"), str), f"Missing required parameter: '{where}.arguments'.")
    elif kind in CALLS.values():
        need(isinstance(item.get("call_id"), str) and item["call_id"], f"Missing required parameter: '{where}.call_id'.")
        need(isinstance(item.get("output"), (str, list)), f"Missing required parameter: '{where}.output'.")
    elif kind == "reasoning":
        sealed_text = item.get("encrypted_content")
        need(
            sealed_text is None or item.get("id") is None or sealed_text == sealed(item["id"]),
            f"The encrypted content for item {item.get('id')} could not be verified.",
        )


def check_pairs(given):
    answers = {kind: {i["call_id"] for i in given if i.get("type") == output} for kind, output in CALLS.items()}
    called = {}
    for item in given:
        kind = item.get("type")
        if kind in CALLS:
            id = item["call_id"]
            need(id in answers[kind], f"No tool output found for function call {id}.")
            need(id not in called, f"Duplicate call_id {id}.")
            called[id] = kind
        elif kind in CALLS.values():
            need(CALLS.get(called.get(item["call_id"])) == kind, f"No tool call found for function call output with call_id {item['call_id']}.")


def check_reasoning(given):
    """A reasoning stands before what it led to; `rs_N` and `fc_N` were answered together."""
    reasons = {item.get("id") for item in given if item.get("type") == "reasoning"}
    for at, item in enumerate(given):
        if item.get("type") == "reasoning":
            after = given[at + 1] if at + 1 < len(given) else {}
            led = after.get("type") in CALLS or after.get("type") == "reasoning" or after.get("role") == "assistant"
            need(led, f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item.")
        elif item.get("type") in CALLS and str(item.get("id", "")).startswith("fc_r"):
            reason = "rs_" + item["id"].removeprefix("fc_r").split("_")[0]
            need(
                reason in reasons,
                f"Item '{item['id']}' of type '{item['type']}' was provided without its required 'reasoning' item: '{reason}'.",
            )


def namespaced(tool):
    """The tools of a namespace, as Codex offers those of an MCP server."""
    return tool.get("tools") or [] if tool["type"] == "namespace" else []


def called(body, name):
    """The fields by which a call names its tool: one of a namespace has its own name, and the namespace's."""
    for tool in body.get("tools") or []:
        for one in namespaced(tool):
            if name == f"{tool['name']}__{one['name']}":
                return {"name": one["name"], "namespace": tool["name"]}
    return {"name": name}


def view(body):
    seen = View(body["model"], bool(body.get("stream")), cache_key=body.get("prompt_cache_key") or "")
    seen.settings = plain([(body.get("text") or {}).get("format")])
    for tool in body.get("tools") or []:
        seen.tools.append((tool.get("name", tool["type"]), tool.get("parameters") or {}, tool["type"] == "custom"))
        seen.tools += [(f"{tool['name']}__{one['name']}", one.get("parameters") or {}, False) for one in namespaced(tool)]
        seen.blocks.append(Block("tools", "system", "tool", plain(tool)))
    if body.get("instructions"):
        seen.blocks.append(Block("system", "system", "text", plain(["system", body["instructions"]]), body["instructions"]))
    for item in items(body):
        kind = item.get("type", "message")
        if kind == "message":
            role, content = item["role"], item["content"]
            for part in [{"type": "input_text", "text": content}] if isinstance(content, str) else content:
                mark = "30m" if part.get("prompt_cache_breakpoint") else ""
                text = part.get("text", "")
                seen.blocks.append(Block("messages", role, "text" if text else part["type"], plain([role, text or part]), text, mark))
            continue
        bare = {key: value for key, value in item.items() if key not in ("id", "status")}
        if kind in CALLS:
            seen.calls.append(item["call_id"])
            seen.blocks.append(Block("messages", "assistant", "call", plain(bare)))
        elif kind in CALLS.values():
            seen.results.append(item["call_id"])
            seen.answers[item["call_id"]] = text_of(item["output"])
            seen.blocks.append(Block("messages", "tool", "result", plain(bare)))
        else:
            seen.blocks.append(Block("messages", "assistant", kind, plain(bare)))
    return seen


def usage(spent):
    whole = spent.fresh + spent.read + spent.written_5m
    return {
        "input_tokens": whole,
        "input_tokens_details": {"cached_tokens": spent.read, "cache_write_tokens": spent.written_5m},
        "output_tokens": spent.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": whole + spent.output,
    }


def output(body, said, id):
    reason = id.removeprefix("resp_")
    found = []
    thought = any(isinstance(one, Think) for one in said)
    for at, one in enumerate(said):
        if isinstance(one, Think):
            item = {"type": "reasoning", "id": f"rs_{reason}", "summary": []}
            if "reasoning.encrypted_content" in (body.get("include") or []):
                item["encrypted_content"] = sealed(item["id"])
            found.append(item)
        elif isinstance(one, Say):
            text = {"type": "output_text", "text": one.text, "annotations": [], "logprobs": []}
            found.append({"type": "message", "id": f"msg_{reason}_{at}", "role": "assistant", "status": "completed", "content": [text]})
        else:
            own = f"fc_r{reason}_{at}" if thought else f"fc_{reason}_{at}"
            head = {"id": own, "call_id": one.id, **called(body, one.name), "status": "completed"}
            if isinstance(one.arguments, str):
                found.append({"type": "custom_tool_call", **head, "id": own.replace("fc_", "ctc_", 1), "input": one.arguments})
            else:
                found.append({"type": "function_call", **head, "arguments": json.dumps(one.arguments)})
    return found


def response(body, id, status, found, spent):
    echoed = {key: body.get(key) for key in ("instructions", "metadata", "temperature", "top_p")}
    return {
        **echoed,
        "id": id,
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "model": body["model"],
        "output": found,
        "tools": body.get("tools") or [],
        "tool_choice": body.get("tool_choice") or "auto",
        "parallel_tool_calls": True,
        "error": None,
        "incomplete_details": None,
        "usage": usage(spent) if spent else None,
    }


def answer(body, said, spent, id):
    return response(body, id, "completed", output(body, said, id), spent)


def stream(body, said, spent, id):
    number = -1

    def told(kind, **rest):
        nonlocal number
        number += 1
        return event(kind, {"type": kind, "sequence_number": number, **rest})

    begun = response(body, id, "in_progress", [], None)
    yield told("response.created", response=begun)
    yield told("response.in_progress", response=begun)
    whole = answer(body, said, spent, id)
    for at, item in enumerate(whole["output"]):
        place = {"output_index": at, "item_id": item["id"]}
        kind = item["type"]
        if kind == "message":
            text = item["content"][0]
            empty = {**text, "text": ""}
            yield told("response.output_item.added", output_index=at, item={**item, "status": "in_progress", "content": []})
            yield told("response.content_part.added", **place, content_index=0, part=empty)
            for piece in pieces(text["text"]):
                yield told("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[])
            yield told("response.output_text.done", **place, content_index=0, text=text["text"], logprobs=[])
            yield told("response.content_part.done", **place, content_index=0, part=text)
        elif kind == "function_call":
            yield told("response.output_item.added", output_index=at, item={**item, "status": "in_progress", "arguments": ""})
            for piece in pieces(item["arguments"]):
                yield told("response.function_call_arguments.delta", **place, delta=piece)
            yield told("response.function_call_arguments.done", **place, arguments=item["arguments"], name=item["name"])
        elif kind == "custom_tool_call":
            yield told("response.output_item.added", output_index=at, item={**item, "status": "in_progress", "input": ""})
            yield told("response.custom_tool_call_input.delta", **place, delta=item["input"])
            yield told("response.custom_tool_call_input.done", **place, input=item["input"])
        else:
            yield told("response.output_item.added", output_index=at, item=item)
        yield told("response.output_item.done", output_index=at, item=item)
    yield told("response.completed", response=whole)


def error(status, kind, message):
    code = "context_length_exceeded" if "context window" in message else None
    return {"error": {"message": message, "type": "server_error" if status >= 500 else kind, "param": "input" if code else None, "code": code}}


def too_long(tokens, most):
    return f"Your input exceeds the context window of this model. This model's maximum context length is {most} tokens. However, your messages resulted in {tokens} tokens."
