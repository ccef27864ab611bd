"""Whether the providers' own Python SDKs take a compiled body.

usage: interop.py openai-chat|openai-responses|anthropic-messages < OUTCOME.json

OUTCOME.json is the output of `tenure compile --format json`. The body must have the types of the SDK's
request, with nothing in it that they do not know, and must arrive at a local server as it was compiled.
"""

import json
import sys
import threading
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer

from pydantic import TypeAdapter


def plain(value):
    """Validated data as plain lists and dicts. Lists are validated only as they are read."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return [plain(item) for item in value]


def openai_chat(url):
    import openai
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    answer = {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
        ],
    }
    return CompletionCreateParamsNonStreaming, client.chat.completions.create, answer


def openai_responses(url):
    import openai
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    answer = {
        "id": "1",
        "object": "response",
        "created_at": 0,
        "model": "m",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    return ResponseCreateParamsNonStreaming, client.responses.create, answer


def anthropic_messages(url):
    import anthropic
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=60)
    answer = {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return MessageCreateParamsNonStreaming, client.messages.create, answer


def main():
    targets = {
        "openai-chat": openai_chat,
        "openai-responses": openai_responses,
        "anthropic-messages": anthropic_messages,
    }
    target = targets[sys.argv[1]]
    body = json.load(sys.stdin)["envelope"]["payload"]
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["Content-Length"])
            received.append((self.path, json.loads(self.rfile.read(length))))
            text = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    types, create, answer = target(f"http://127.0.0.1:{server.server_port}")

    adapter = TypeAdapter(types)  # the lists that are still to be read lean on it
    if plain(adapter.validate_python(body)) != body:
        sys.exit("error: the body holds what the SDK's types do not know")
    create(**body)
    server.shutdown()
    (path, sent) = received[0]
    if sent != body:
        sys.exit("error: the SDK sent something else than the body")
    messages = body.get("messages", body.get("input"))
    print(f"   {sys.argv[1]}: {len(messages)} messages, {len(body['tools'])} tools to {path}")


main()
