"""Whether the providers' own SDKs, of Python and of Node, work through the gateway as they do without it.

usage: gateway_sdk.py TENURE PACKAGES

TENURE is the binary, PACKAGES the folder in which npm has installed the Node SDKs. A small provider on
loopback answers each call twice, once asked directly and once through `tenure serve`: the bytes that it gets,
and what the SDK makes of its answers, must be the same. Then agents of both languages talk through the modes
`fit` and `full`, with images and tools, streaming and not, with a gate for their tools and without: each reply, as
the SDK sends it back, must be the one that the gateway had put together.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic
import openai

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
LOOK = {
    "type": "object",
    "properties": {"at": {"type": "string"}},
    "required": ["at"],
}
# Near to what the agents ask.
WHAT = "Says what a picture shows."

CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"at":"é"}'},
                    }
                ],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 21,
        "completion_tokens": 5,
        "total_tokens": 26,
        "prompt_tokens_details": {"cached_tokens": 8},
    },
}


def chat_delta(delta, reason=None, usage=None):
    choices = [] if usage else [{"index": 0, "delta": delta, "finish_reason": reason}]
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    return {**chunk, "choices": choices, "usage": usage}


def call_delta(**call):
    return (None, chat_delta({"tool_calls": [{"index": 0, **call}]}))


CHAT_STREAM = [
    (None, chat_delta({"role": "assistant", "content": "He"})),
    (None, chat_delta({"content": "llo é 🧑‍🚀"})),
    call_delta(id="call_1", type="function", function={"name": "look", "arguments": ""}),
    call_delta(function={"arguments": '{"at":'}),
    call_delta(function={"arguments": '"é"}'}),
    (None, chat_delta({}, reason="tool_calls")),
    (None, chat_delta({}, usage={"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12})),
]


def response(status, output, usage):
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": "gpt-4o",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


MESSAGE_ITEM = {
    "type": "message",
    "id": "msg_1",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
}
RESPONSE_USAGE = {
    "input_tokens": 30,
    "input_tokens_details": {"cached_tokens": 16, "cache_write_tokens": 4},
    "output_tokens": 6,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 36,
}
RESPONSE = response("completed", [MESSAGE_ITEM], RESPONSE_USAGE)
TEXT = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
BEGUN = {**MESSAGE_ITEM, "status": "in_progress", "content": []}
EVENTS = [
    ("created", {"response": response("in_progress", [], None)}),
    ("output_item.added", {"output_index": 0, "item": BEGUN}),
    ("content_part.added", {**TEXT, "part": {**MESSAGE_ITEM["content"][0], "text": ""}}),
    ("output_text.delta", {**TEXT, "delta": "He", "logprobs": []}),
    ("output_text.delta", {**TEXT, "delta": "llo.", "logprobs": []}),
    ("output_text.done", {**TEXT, "text": "Hello.", "logprobs": []}),
    ("content_part.done", {**TEXT, "part": MESSAGE_ITEM["content"][0]}),
    ("output_item.done", {"output_index": 0, "item": MESSAGE_ITEM}),
    ("completed", {"response": RESPONSE}),
]
RESPONSE_STREAM = [
    (f"response.{name}", {"sequence_number": at, **event}) for at, (name, event) in enumerate(EVENTS)
]

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Hello."},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "é"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 5,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 10,
        "output_tokens": 7,
    },
}
START = {**MESSAGE, "content": [], "stop_reason": None, "usage": {"input_tokens": 5, "output_tokens": 1}}
MESSAGE_STREAM = [
    ("message_start", {"message": START}),
    ("content_block_start", {"index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
    ("content_block_delta", {"index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}}),
    ("content_block_delta", {"index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
    ("content_block_stop", {"index": 0}),
    ("ping", {}),
    ("content_block_start", {"index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}}),
    ("content_block_delta", {"index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"at": '}}),
    ("content_block_delta", {"index": 1, "delta": {"type": "input_json_delta", "partial_json": '"é"}'}}),
    ("content_block_stop", {"index": 1}),
    ("message_delta", {"delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 9}}),
    ("message_stop", {}),
]
MODELS = {
    "object": "list",
    "data": [{"id": "gpt-4o", "object": "model", "created": 1, "owned_by": "me"}],
}

ANSWERS = {
    "/v1/chat/completions": (CHAT, CHAT_STREAM),
    "/v1/responses": (RESPONSE, RESPONSE_STREAM),
    "/v1/messages": (MESSAGE, MESSAGE_STREAM),
    "/v1/messages/count_tokens": ({"input_tokens": 42}, None),
}
# What a client says of itself, its host and its connection may differ.
OWN = {"host", "connection", "via", "x-tenure-session", "x-stainless-retry-count"}


class Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    received = []
    failures = []

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("request-id", "req_1")
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.received.append((self.path, b"", self.headers))
        self.answer(200, MODELS)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append((self.path, body, self.headers))
        if self.failures:
            status = self.failures.pop(0)
            return self.answer(status, {"type": "error", "error": {"type": "overloaded_error", "message": "not now"}})
        whole, events = ANSWERS[self.path.partition("?")[0]]
        if not json.loads(body).get("stream"):
            return self.answer(200, whole)
        try:
            self.stream(events)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client has heard enough

    def stream(self, events):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name, data in events:
            if name is None:
                text = f"data: {json.dumps(data)}\n\n"
            else:
                text = f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
            self.piece(text.encode())
        if events is CHAT_STREAM:
            self.piece(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *_):
        pass


def plain(value):
    """What an SDK made of an answer, without what it notes of the connection."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def openai_calls(client):
    messages = [
        {"role": "system", "content": "Be brief. É \ud7ff"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What does the picture show?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            ],
        },
    ]
    tools = [{"type": "function", "function": {"name": "look", "parameters": LOOK, "strict": False}}]
    chat = client.chat.completions
    yield lambda: chat.create(model="gpt-4o", messages=messages, tools=tools, seed=2**53 + 1)
    yield lambda: list(
        chat.create(model="gpt-4o", messages=messages, stream=True, stream_options={"include_usage": True})
    )
    responses = client.responses
    yield lambda: responses.create(model="gpt-4o", input="Hi", instructions="Be brief.")
    yield lambda: list(
        responses.create(
            model="gpt-4o",
            input=[{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
            stream=True,
            context_management=[{"type": "compaction", "compact_threshold": 1000}],
        )
    )
    yield lambda: list(client.models.list())


def anthropic_calls(client):
    tools = [{"name": "look", "input_schema": LOOK, "cache_control": {"type": "ephemeral"}}]
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": MESSAGE["content"]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                        }
                    ],
                }
            ],
        },
    ]
    asked = {"model": "claude-opus-4-5", "messages": messages, "tools": tools}
    yield lambda: client.messages.create(max_tokens=100, system="Be brief.", **asked)
    yield lambda: list(client.messages.create(max_tokens=100, stream=True, **asked))

    def assembled():
        with client.messages.stream(max_tokens=100, **asked) as stream:
            return stream.get_final_message()

    yield assembled
    yield lambda: client.messages.count_tokens(**asked)
    yield lambda: client.beta.messages.create(
        max_tokens=100,
        betas=["context-management-2025-06-27"],
        context_management={"edits": [{"type": "clear_tool_uses_20250919"}]},
        **asked,
    )


def rule(folder):
    """An object for the store, in a file."""
    path = os.path.join(folder, "rule.json")
    with open(path, "w") as file:
        json.dump([{"name": "units", "content": "Report temperatures in kelvin.", "object_type": "rule", "protection": "pinned"}], file)
    return path


def gate(folder):
    """The policy of a gateway that offers one tool."""
    path = os.path.join(folder, "gateway.toml")
    with open(path, "w") as file:
        file.write('name = "gateway"\nrequired = []\n[session]\ntools_top_k = 1\n')
    return path


def tools_of(body):
    tools = json.loads(body).get("tools", [])
    return [tool.get("function", tool)["name"] for tool in tools]


def refused(call, kind):
    try:
        call()
    except kind as error:
        return error.status_code, error.body
    raise AssertionError(f"expected {kind.__name__}")


def same(what, direct, through):
    assert direct == through, f"{what}:\n  without the gateway {direct!r}\n  with it             {through!r}"


def compare(make, calls, direct_url, through_url):
    """Makes every call both ways."""
    direct, through = make(direct_url), make(through_url)
    for number, (one, other) in enumerate(zip(calls(direct), calls(through))):
        Provider.received.clear()
        expected, found = plain(one()), plain(other())
        same(f"answer {number}", expected, found)
        (path, body, headers), (path2, body2, headers2) = Provider.received
        same(f"path {number}", path, path2)
        same(f"body {number}", body, body2)
        kept = lambda headers: {k.lower(): v for k, v in headers.items() if k.lower() not in OWN}
        same(f"headers {number}", kept(headers), kept(headers2))
    return number + 1


def pairs():
    """Compares what came directly with what came through the gateway."""
    received = Provider.received
    for at in range(0, len(received), 2):
        # Node asks through the gateway first.
        (path, body, headers), (path2, body2, headers2) = received[at + 1], received[at]
        same(f"path {at}", path, path2)
        same(f"body {at}", body, body2)
        kept = lambda headers: {k.lower(): v for k, v in headers.items() if k.lower() not in OWN}
        same(f"headers {at}", kept(headers), kept(headers2))


def kept(url, count):
    """Waits until so many replies stand in their sessions."""
    for _ in range(500):
        metrics = urllib.request.urlopen(f"{url}/metrics").read().decode()
        if f'tenure_gateway_replies_total{{what="kept"}} {count}\n' in metrics:
            return
        time.sleep(0.01)
    raise AssertionError(f"there are no {count} replies:\n{metrics}")


def talk(through):
    """A conversation in each protocol, as an agent has it: the SDK's own reply goes back with the tool's result."""
    sessions = []

    def heard(headers):
        sessions.append(headers["x-tenure-session"])
        kept(through, len(sessions))

    client = openai.OpenAI(base_url=f"{through}/v1", api_key="sk-3", max_retries=0, timeout=60)
    asked = {"type": "text", "text": "What does the picture show?"}
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    messages = [{"role": "user", "content": [asked, image]}]
    strict = {"name": "look", "description": WHAT, "parameters": {**LOOK, "additionalProperties": False}, "strict": True}
    paint = {"name": "paint", "parameters": {"type": "object", "properties": {}, "additionalProperties": False, "required": []}}
    tools = [{"type": "function", "function": tool} for tool in (strict, {**paint, "strict": True})]
    for streamed in False, True:
        if streamed:
            with client.chat.completions.stream(model="gpt-4o", messages=messages, tools=tools) as stream:
                reply = stream.get_final_completion().choices[0].message
                heard(stream._response.headers)
        else:
            raw = client.chat.completions.with_raw_response.create(model="gpt-4o", messages=messages, tools=tools)
            reply = raw.parse().choices[0].message
            heard(raw.headers)
        messages += [reply, {"role": "tool", "tool_call_id": reply.tool_calls[0].id, "content": "A pump."}]

    client2 = anthropic.Anthropic(base_url=through, api_key="sk-3", max_retries=0, timeout=60)
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    turns = [{"role": "user", "content": [asked, {"type": "image", "source": source}]}]
    tools = [
        {"name": "look", "description": WHAT, "input_schema": LOOK},
        {"name": "paint", "input_schema": {"type": "object"}},
    ]
    for _ in range(2):
        with client2.messages.stream(model="claude-opus-4-5", max_tokens=100, messages=turns, tools=tools) as stream:
            reply = stream.get_final_message()
            heard(stream.response.headers)
        call = next(block for block in reply.content if block.type == "tool_use")
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "A pump."}
        turns += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": [result]}]

    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}
    items = [{"role": "user", "content": [{"type": "input_text", "text": "What does the picture show?"}, image]}]
    for streamed in False, True:
        if streamed:
            with client.responses.stream(model="gpt-4o", input=items) as stream:
                output = stream.get_final_response().output
                heard(stream._response.headers)
        else:
            raw = client.responses.with_raw_response.create(model="gpt-4o", input=items)
            output = raw.parse().output
            heard(raw.headers)
        items += [*output, {"role": "user", "content": "And this?"}]
    return sessions


def main():
    provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    direct = f"http://127.0.0.1:{provider.server_address[1]}"
    tenure = os.path.abspath(sys.argv[1])
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gateway_sdk.mjs")

    def node(*arguments):
        done = subprocess.run(["node", script, sys.argv[2], *arguments], capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
        store = f"sqlite://{folder}/store.db"

        def run(*arguments):
            done = subprocess.run([tenure, *arguments, "--store", store], env=environment, capture_output=True)
            assert done.returncode == 0, done.stderr.decode()
            return done.stdout.decode()

        key = run("keys", "create", "--tenant", "local", "--clearance", "public").strip()
        server = subprocess.Popen(
            [tenure, "serve", "--listen", "127.0.0.1:0", "--store", store, "--upstream", direct],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            through = server.stdout.readline().strip()
            own = {"x-tenure-key": key}

            def openai_client(url, retries=0):
                return openai.OpenAI(
                    base_url=f"{url}/v1", api_key="sk-1", max_retries=retries, timeout=60, default_headers=headers(url)
                )

            def anthropic_client(url, retries=0):
                return anthropic.Anthropic(
                    base_url=url, api_key="sk-2", max_retries=retries, timeout=60, default_headers=headers(url)
                )

            def headers(url):
                return own if url == through else {}

            count = compare(openai_client, openai_calls, direct, through)
            count += compare(anthropic_client, anthropic_calls, direct, through)
            Provider.received.clear()
            count += node("compare", direct, through, key)
            pairs()

            # Refusals are the provider's, and SDKs try again as they would.
            ask = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
            for status, kind in [(429, openai.RateLimitError), (500, openai.InternalServerError)]:
                seen = []
                for url in direct, through:
                    Provider.failures[:] = [status]
                    seen.append(refused(lambda: openai_client(url).chat.completions.create(**ask), kind))
                same(f"refusal {status}", *seen)
            Provider.failures[:] = [529, 503]
            Provider.received.clear()
            anthropic_client(through, retries=2).messages.create(max_tokens=9, **ask)
            assert len(Provider.received) == 3, len(Provider.received)

            # What the gateway itself refuses, the SDKs understand.
            own = {"x-tenure-key": "tnr_no_key"}
            refused(lambda: openai_client(through).models.list(), openai.AuthenticationError)
            refused(lambda: anthropic_client(through).messages.create(max_tokens=9, **ask), anthropic.AuthenticationError)
            own = {"x-tenure-key": key}

            # A client that stops reading is let go.
            stream = openai_client(through).chat.completions.create(stream=True, **ask)
            next(iter(stream))
            stream.close()

            server.send_signal(signal.SIGTERM)
            assert server.wait(20) == 0, server.returncode
        finally:
            server.kill()
        listed = json.loads(run("store", "records", "--most", "100", "--format", "json"))
        records = [json.loads(run("store", "records", entry["record_id"])) for entry in listed]
        used = {(r["path"], r["streamed"]): r.get("usage") for r in records if r["status"] == 200 and r["ending"] == "whole"}
        expected = {
            ("/v1/chat/completions", False): (21, 8, 0, 5),
            ("/v1/responses", True): (30, 16, 4, 6),
            ("/v1/messages", False): (115, 100, 10, 7),
            ("/v1/messages", True): (5, 0, 0, 9),
        }
        for call, numbers in expected.items():
            usage = used[call]
            same(f"usage {call}", numbers, tuple(usage[k] for k in ("input", "cache_read", "cache_write", "output")))
        assert not any("sk-1" in json.dumps(r) or "Be brief" in json.dumps(r) for r in records)
        print(f"   {count} calls the same with the gateway and without it, {len(records)} records")

        # Agents that talk: what the gateway put together is what they send back.
        talks = 0
        for mode, gated in ("fit", False), ("full", False), ("full", True):
            store = f"sqlite://{folder}/{mode}{gated}.db"
            if mode == "full":
                run("store", "put", rule(folder))
            if gated:
                run("store", "policy", gate(folder))
            for talker in talk, lambda through: node("talk", through):
                server = subprocess.Popen(
                    [tenure, "serve", "--listen", "127.0.0.1:0", "--store", store, "--upstream", direct, "--mode", mode],
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
                try:
                    Provider.received.clear()
                    sessions = talker(server.stdout.readline().strip())
                    said = [b"kelvin" in body for _, body, _ in Provider.received]
                    same(f"what stands beside, {mode}", [mode == "full"] * len(said), said)
                    images = [PIXEL.encode() in body for _, body, _ in Provider.received]
                    assert all(images), images
                    offered = [tools_of(body) for _, body, _ in Provider.received if b'"tools"' in body]
                    same(f"tools, {mode}", [["look"] if gated else ["look", "paint"]] * len(offered), offered)
                    server.send_signal(signal.SIGTERM)
                    assert server.wait(20) == 0, server.returncode
                finally:
                    server.kill()
                for first, second in zip(sessions[::2], sessions[1::2]):
                    same("session", first, second)
                    shown = json.loads(run("session", "show", first, "--format", "json"))
                    messages = [found["message"] for found in shown["messages"]]
                    replies = [message.get("reply", False) for message in messages]
                    same(f"messages of {first}", [False, True, False, True], replies)
                    talks += 1
        print(f"   {talks} conversations whose replies were recognised")


main()
