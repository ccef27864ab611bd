"""Anthropic Messages: what is refused, how a request is read, and how an answer is written."""

import hashlib
import json
import re

from .wire import Block, Call, Say, Think, View, event, need, pieces, plain, text_of

FIELDS = set(
    "model messages max_tokens system tools tool_choice temperature top_p top_k stop_sequences stream metadata thinking "
    "context_management output_config output_format service_tier container mcp_servers cache_control speed diagnostics "
    "inference_geo fallbacks user_profile_id".split()
)
BLOCK_FIELDS = {
    "text": {"text", "citations"},
    "image": {"source"},
    "document": {"source", "title", "context", "citations"},
    "tool_use": {"id", "name", "input", "caller"},
    "tool_result": {"tool_use_id", "content", "is_error"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
}
OF_ROLE = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
    "system": {"text"},
}
UNMARKED = {"thinking", "redacted_thinking"}
# Models that take a message of the system among the messages.
LATE_SYSTEM = re.compile(r"claude-(opus-4-8|opus-5|sonnet-5-5|haiku-5-5|fable-5|mythos-5)")
# Models that go on in an answer that the client began.
# Models whose thoughts are bound to what stood before them.
BOUND = re.compile(r"claude-(opus-5-5|sonnet-5-5|haiku-5-5|fable-5-1)")
PREFILL = re.compile(r"claude-(opus-4-5|haiku-4-5|sonnet-4-5|opus-4-1|opus-4-0|sonnet-4-0|3)")
SHORTEST = [(r"opus-4-[56]|haiku-4-5", 4096), (r"opus-4-7|haiku-3-5", 2048), (r"opus-5(?!-5)|fable-5-1", 512)]
ID = re.compile(r"^[a-zA-Z0-9_-]+$")


def shortest(model):
    """The shortest prefix that is kept."""
    return next((tokens for pattern, tokens in SHORTEST if re.search(pattern, model)), 1024)


def signature(prefix, number, text):
    """What signs a thought: on models that bind it, also what stood before it."""
    return f"{number}.{hashlib.sha256(f'{prefix}.{number}.{text}'.encode()).hexdigest()}"


def before(body, turns, at):
    """The digest of what stands before a turn, without marks of the cache; the same for all where thoughts are not bound."""
    if not BOUND.search(body["model"]):
        return ""
    head = [plain(bare(tool)) for tool in body.get("tools") or []]
    system = body.get("system") or []
    head += [plain({"type": "text", "text": system})] if isinstance(system, str) else [plain(bare(part)) for part in system]
    head += [plain([role, [bare(block) for block in blocks]]) for role, blocks in turns[:at]]
    return hashlib.sha256("\0".join(head).encode("utf-8", "surrogatepass")).hexdigest()


def bare(value):
    return {key: inner for key, inner in value.items() if key != "cache_control"}


def thinks(body):
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


# --- what is refused -----------------------------------------------------------------------------


def check(body):
    need(isinstance(body, dict), "the body must be an object")
    extra = sorted(set(body) - FIELDS)
    need(not extra, f"{', '.join(extra)}: Extra inputs are not permitted")
    need(isinstance(body.get("model"), str) and body["model"], "model: Field required")
    most = body.get("max_tokens")
    need(isinstance(most, int) and not isinstance(most, bool) and most >= 0, "max_tokens: Field required")
    messages = body.get("messages")
    need(isinstance(messages, list) and messages, "messages: at least one message is required")
    need(len(messages) <= 100_000, "messages: too many")
    names = check_tools(body)
    check_choice(body, names)
    check_system(body.get("system"))
    for at, message in enumerate(messages):
        check_message(body, messages, at, message)
    need(messages[0]["role"] == "user", 'messages: first message must use the "user" role')
    check_pairs(merged(messages))
    check_thinking(body, merged(messages))
    check_marks(body)
    if messages[-1]["role"] == "assistant":
        need(PREFILL.search(body["model"]), "This model does not support assistant message prefill. The conversation must end with a user message.")


def check_tools(body):
    names = set()
    for at, tool in enumerate(body.get("tools") or []):
        need(isinstance(tool, dict), f"tools.{at}: Input should be an object")
        name = tool.get("name")
        if tool.get("type", "custom") != "custom":
            names.add(name)
            continue
        need(isinstance(name, str) and re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", name), f"tools.{at}.custom.name: String should match pattern")
        need(name not in names, "tools: Tool names must be unique.")
        names.add(name)
        schema = tool.get("input_schema")
        need(isinstance(schema, dict) and schema.get("type") == "object", f"tools.{at}.custom.input_schema.type: Input should be 'object'")
    return names


def check_choice(body, names):
    choice = body.get("tool_choice")
    if choice is None:
        return
    need(isinstance(choice, dict) and choice.get("type") in ("auto", "any", "tool", "none"), "tool_choice: Input tag does not match")
    need(names, "tool_choice may only be specified while providing tools")
    need(choice["type"] != "tool" or choice.get("name") in names, "tool_choice.tool.name: Tool not found in provided tools")


def check_system(system):
    if system is None or isinstance(system, str):
        return
    need(isinstance(system, list), "system: Input should be a valid list")
    for at, block in enumerate(system):
        need(isinstance(block, dict) and block.get("type") == "text", f"system.{at}: Input should be a text block")
        check_text(block, f"system.{at}")


def check_text(block, where):
    text = block.get("text")
    need(isinstance(text, str), f"{where}.text: Field required")
    if block.get("cache_control"):
        need(text, f"{where}: cache_control cannot be set for empty text blocks")
    need(text != "", f"{where}: text content blocks must be non-empty")
    need(text.strip(), f"{where}: text content blocks must contain non-whitespace text")


def check_message(body, messages, at, message):
    where = f"messages.{at}"
    need(isinstance(message, dict), f"{where}: Input should be an object")
    role, content = message.get("role"), message.get("content")
    # The effort may change with a message of the system (a beta that Claude Code asks for).
    extra = set(message) - {"role", "content"} - ({"output_config"} if role == "system" else set())
    need(not extra, f"{where}: Extra inputs are not permitted: {sorted(extra)}")
    need(role in OF_ROLE, f"{where}.role: Input should be 'user' or 'assistant'")
    if role == "system":
        check_late_system(body, messages, at)
    need(isinstance(content, (str, list)), f"{where}.content: Input should be a valid string or list")
    last_answer = role == "assistant" and at == len(messages) - 1
    need(content or last_answer, f"{where}: all messages must have non-empty content except for the optional final assistant message")
    if isinstance(content, str):
        need(content.strip() or last_answer, f"{where}: text content blocks must contain non-whitespace text")
        return
    for place, block in enumerate(content):
        check_block(role, block, f"{where}.content.{place}")


def check_late_system(body, messages, at):
    where = f"messages.{at}"
    need(LATE_SYSTEM.search(body["model"]), f"{where}.role: role 'system' is not supported on this model")
    need(at > 0, f"{where}: a system message may not be the first message")
    need(messages[at - 1].get("role") == "user", f"{where}: a system message must follow a user message")
    after = messages[at + 1].get("role") if at + 1 < len(messages) else "assistant"
    need(after == "assistant", f"{where}: a system message must be last or be followed by an assistant message")


def check_block(role, block, where):
    need(isinstance(block, dict), f"{where}: Input should be an object")
    kind = block.get("type")
    need(kind in BLOCK_FIELDS, f"{where}: Input tag '{kind}' does not match any of the expected tags")
    need(kind in OF_ROLE[role], f"{where}: {kind} blocks may not stand in {role} messages")
    extra = set(block) - BLOCK_FIELDS[kind] - {"type", "cache_control"}
    need(not extra, f"{where}.{kind}: Extra inputs are not permitted: {sorted(extra)}")
    if block.get("cache_control") is not None:
        need(kind not in UNMARKED, f"{where}.{kind}.cache_control: Extra inputs are not permitted")
    if kind == "text":
        check_text(block, where)
    elif kind == "tool_use":
        need(isinstance(block.get("id"), str) and ID.match(block["id"]), f"{where}.tool_use.id: String should match pattern")
        need(isinstance(block.get("name"), str) and block["name"], f"{where}.tool_use.name: Field required")
        need(isinstance(block.get("input"), dict), f"{where}.tool_use.input: Input should be a valid dictionary")
    elif kind == "tool_result":
        need(isinstance(block.get("tool_use_id"), str), f"{where}.tool_result.tool_use_id: Field required")
        content = block.get("content", "")
        need(isinstance(content, (str, list)), f"{where}.tool_result.content: Input should be a string or a list")
        for place, part in enumerate(content if isinstance(content, list) else []):
            need(part.get("type") in ("text", "image", "document", "search_result", "tool_reference"), f"{where}.content.{place}: tag does not match")
            if part["type"] == "text":
                check_text(part, f"{where}.content.{place}")
    elif kind == "thinking":
        need(isinstance(block.get("thinking"), str) and isinstance(block.get("signature"), str), f"{where}.thinking: Field required")


def merged(messages):
    """The turns: messages of one role in a row are one."""
    turns = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if turns and turns[-1][0] == message["role"]:
            turns[-1][1].extend(blocks)
        else:
            turns.append((message["role"], list(blocks)))
    return turns


def check_pairs(turns):
    known = set()
    for at, (role, blocks) in enumerate(turns):
        if role == "user":
            before = [b["id"] for b in turns[at - 1][1] if b["type"] == "tool_use"] if at else []
            answers = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
            for answer in answers:
                need(
                    answer in before,
                    f"messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {answer}. Each `tool_result` block "
                    "must have a corresponding `tool_use` block in the previous message.",
                )
            need(len(set(answers)) == len(answers), f"messages.{at}: each tool_use must have a single result. Found multiple `tool_result` blocks")
            first = [b["type"] for b in blocks[: len(answers)]]
            need(set(first) <= {"tool_result"}, f"messages.{at}: `tool_result` blocks must come first in the content of a user message")
            missing = [call for call in before if call not in answers]
            need(
                not missing,
                f"messages.{at - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}. "
                "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
            )
            continue
        for block in blocks:
            if block["type"] == "tool_use":
                need(block["id"] not in known, "messages: `tool_use` ids must be unique")
                known.add(block["id"])
    role, blocks = turns[-1]
    need(role == "user" or not any(b["type"] == "tool_use" for b in blocks), "messages: `tool_use` ids were found without `tool_result` blocks")


def check_thinking(body, turns):
    for at, (role, blocks) in enumerate(turns):
        for place, block in enumerate(blocks):
            if block["type"] == "thinking":
                number = block["signature"].partition(".")[0]
                signed = signature(before(body, turns, at), number, block["thinking"])
                need(block["signature"] == signed, f"messages.{at}.content.{place}: Invalid `signature` in `thinking` block")
    answers = [blocks for role, blocks in turns if role == "assistant"]
    open_calls = len(turns) > 1 and turns[-1][0] == "user" and any(b["type"] == "tool_result" for b in turns[-1][1])
    if (body.get("thinking") or {}).get("type") == "enabled" and answers and open_calls:
        kind = answers[-1][0]["type"]
        need(
            kind in ("thinking", "redacted_thinking"),
            f"messages: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final "
            "`assistant` message must start with a thinking block",
        )


def check_marks(body):
    marks = []

    def note(block, where):
        mark = block.get("cache_control")
        if mark is None:
            return
        need(isinstance(mark, dict) and mark.get("type") == "ephemeral", f"{where}.cache_control.type: Input should be 'ephemeral'")
        need(not set(mark) - {"type", "ttl", "scope"}, f"{where}.cache_control: Extra inputs are not permitted: {sorted(mark)}")
        need(mark.get("ttl", "5m") in ("5m", "1h"), f"{where}.cache_control.ttl: Input should be '5m' or '1h'")
        marks.append(mark.get("ttl", "5m"))

    for at, tool in enumerate(body.get("tools") or []):
        note(tool, f"tools.{at}")
    for at, block in enumerate(body["system"] if isinstance(body.get("system"), list) else []):
        note(block, f"system.{at}")
    for at, message in enumerate(body["messages"]):
        for place, block in enumerate(message["content"] if isinstance(message["content"], list) else []):
            note(block, f"messages.{at}.content.{place}")
            inner = block.get("content") if block["type"] == "tool_result" else None
            for part in inner if isinstance(inner, list) else []:
                note(part, f"messages.{at}.content.{place}.content")
    most = 4 - bool(body.get("cache_control"))
    need(len(marks) <= most, f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    for earlier, later in zip(marks, marks[1:]):
        need((earlier, later) != ("5m", "1h"), "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")


# --- how it is read ------------------------------------------------------------------------------


def view(body):
    seen = View(body["model"], bool(body.get("stream")))
    seen.settings = plain([body.get("thinking"), body.get("tool_choice"), (body.get("output_config") or {}).get("effort")])
    for tool in body.get("tools") or []:
        seen.tools.append((tool.get("name"), tool.get("input_schema") or {}, False))
        seen.blocks.append(block("tools", "system", "tool", tool))
    system = body.get("system") or []
    for part in [{"type": "text", "text": system}] if isinstance(system, str) else system:
        seen.blocks.append(block("system", "system", "text", part))
    for message in body["messages"]:
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            kind = {"tool_use": "call", "tool_result": "result"}.get(part["type"], part["type"])
            seen.blocks.append(block("messages", message["role"], kind, part))
            if kind == "call":
                seen.calls.append(part["id"])
            elif kind == "result":
                seen.results.append(part["tool_use_id"])
                seen.answers[part["tool_use_id"]] = text_of(part.get("content"))
    if body.get("cache_control") and seen.blocks:
        seen.blocks[-1].mark = body["cache_control"].get("ttl", "5m")
    return seen


def block(part, role, kind, value):
    mark = value.get("cache_control") or {}
    data = plain([part, role, {key: inner for key, inner in value.items() if key != "cache_control"}])
    return Block(part, role, kind, data, value.get("text", "") if kind == "text" else "", mark.get("ttl", "5m") if mark else "")


# --- how it is answered --------------------------------------------------------------------------


def usage(spent):
    return {
        "input_tokens": spent.fresh,
        "cache_read_input_tokens": spent.read,
        "cache_creation_input_tokens": spent.written_5m + spent.written_1h,
        "cache_creation": {"ephemeral_5m_input_tokens": spent.written_5m, "ephemeral_1h_input_tokens": spent.written_1h},
        "output_tokens": spent.output,
    }


def part(body, said, id):
    if isinstance(said, Think):
        text = "" if (body.get("thinking") or {}).get("display") == "omitted" else said.text
        turns = merged(body["messages"])
        return {"type": "thinking", "thinking": text, "signature": signature(before(body, turns, len(turns)), id, text)}
    if isinstance(said, Say):
        return {"type": "text", "text": said.text}
    return {"type": "tool_use", "id": said.id, "name": said.name, "input": said.arguments}


def answer(body, said, spent, id):
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [part(body, one, id) for one in said],
        "stop_reason": "tool_use" if any(isinstance(one, Call) for one in said) else "end_turn",
        "stop_sequence": None,
        "usage": usage(spent),
    }


def stream(body, said, spent, id):
    whole = answer(body, said, spent, id)
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield event("message_start", {"type": "message_start", "message": begun})
    yield event("ping", {"type": "ping"})
    for at, one in enumerate(said):
        if isinstance(one, Think):
            thought = whole["content"][at]
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": t} for t in pieces(thought["thinking"]) if t]
            deltas.append({"type": "signature_delta", "signature": thought["signature"]})
        elif isinstance(one, Say):
            empty, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": t} for t in pieces(one.text)]
        else:
            empty = {"type": "tool_use", "id": one.id, "name": one.name, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": t} for t in pieces(json.dumps(one.arguments))]
        yield event("content_block_start", {"type": "content_block_start", "index": at, "content_block": empty})
        for delta in deltas:
            yield event("content_block_delta", {"type": "content_block_delta", "index": at, "delta": delta})
        yield event("content_block_stop", {"type": "content_block_stop", "index": at})
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", {"type": "message_delta", "delta": ending, "usage": whole["usage"]})
    yield event("message_stop", {"type": "message_stop"})


def error(status, kind, message):
    kinds = {404: "not_found_error", 500: "api_error", 529: "overloaded_error"}
    return {"type": "error", "error": {"type": kinds.get(status, kind), "message": message}, "request_id": "req_scripted"}


def too_long(tokens, most):
    return f"prompt is too long: {tokens} tokens > {most} maximum"
