"""A tool loop on the providers' own Python SDKs: `sdk.py URL MODEL PROMPT PROTOCOL stream|whole`."""

import httpx2 as httpx  # what the SDKs ask with

from tools import LATE, LATE_AT, SCHEMAS, BY_NAME, call, given, patiently

url, model, headers, prompt, instructions, (protocol, how) = given()
streamed = how == "stream"


def messages():
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key="sk-scripted", default_headers=headers, timeout=120)
    tools = [{"name": name, "description": BY_NAME[name].__doc__, "input_schema": schema} for name, schema in SCHEMAS.items()]
    mark = {"type": "ephemeral"}
    system = [{"type": "text", "text": instructions, "cache_control": mark}]
    turns = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]

    def ask():
        asked = dict(model=model, max_tokens=4096, system=system, tools=tools, messages=turns)
        if not streamed:
            return client.messages.create(**asked)
        with client.messages.stream(**asked) as stream:
            return stream.get_final_message()

    count = 0
    while True:
        # The mark moves with the conversation: on the last block, and on the one where it stood before.
        marked = [turn["content"][-1] for turn in turns if turn["role"] == "user"]
        for block in marked:
            block.pop("cache_control", None)
        for block in marked[-2:]:
            block["cache_control"] = mark
        reply = patiently(ask, (anthropic.APIConnectionError, httpx.HTTPError))
        count += 1
        turns.append({"role": "assistant", "content": [block.model_dump(exclude_none=True, include=ONLY[block.type]) for block in reply.content]})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content if block.type == "text")
        results = [{"type": "tool_result", "tool_use_id": block.id, "content": call(block.name, block.input)} for block in calls]
        turns.append({"role": "user", "content": results})
        if count == LATE_AT:
            turns.append({"role": "system", "content": LATE})


ONLY = {"text": {"type", "text"}, "tool_use": {"type", "id", "name", "input"}, "thinking": {"type", "thinking", "signature"}}


def chat():
    import openai

    client = openai.OpenAI(base_url=f"{url}/v1", api_key="sk-scripted", default_headers=headers, timeout=120)
    tools = [
        {"type": "function", "function": {"name": name, "description": BY_NAME[name].__doc__, "parameters": schema, "strict": True}}
        for name, schema in SCHEMAS.items()
    ]
    turns = [{"role": "system", "content": instructions}, {"role": "user", "content": prompt}]

    def ask():
        asked = dict(model=model, tools=tools, messages=turns)
        if not streamed:
            return client.chat.completions.create(**asked).choices[0].message
        with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
            message = stream.get_final_completion().choices[0].message
            if not message.content and not message.tool_calls:
                raise httpx.RemoteProtocolError("the stream broke off")
            return message

    count = 0
    while True:
        reply = patiently(ask, (openai.APIConnectionError, httpx.HTTPError))
        count += 1
        calls = reply.tool_calls or []
        turn = {"role": "assistant", "content": reply.content}
        if calls:
            functions = [(one.id, {"name": one.function.name, "arguments": one.function.arguments}) for one in calls]
            turn["tool_calls"] = [{"id": id, "type": "function", "function": function} for id, function in functions]
        turns.append(turn)
        if not calls:
            return reply.content
        turns += [{"role": "tool", "tool_call_id": one.id, "content": call(one.function.name, one.function.arguments)} for one in calls]
        if count == LATE_AT:
            turns.append({"role": "system", "content": LATE})


def responses():
    import openai

    client = openai.OpenAI(base_url=f"{url}/v1", api_key="sk-scripted", default_headers=headers, timeout=120)
    tools = [
        {"type": "function", "name": name, "description": BY_NAME[name].__doc__, "parameters": schema, "strict": True}
        for name, schema in SCHEMAS.items()
    ]
    items = [{"role": "user", "content": prompt}]

    def ask():
        asked = dict(
            model=model, instructions=instructions, tools=tools, input=items, store=False,
            reasoning={"effort": "low"}, include=["reasoning.encrypted_content"],
        )  # fmt: skip
        if not streamed:
            return client.responses.create(**asked)
        with client.responses.stream(**asked) as stream:
            return stream.get_final_response()

    count = 0
    while True:
        reply = patiently(ask, (openai.APIConnectionError, httpx.HTTPError, RuntimeError))
        count += 1
        items += [item.model_dump(exclude_none=True, exclude={"status", "parsed_arguments"}) for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text
        items += [{"type": "function_call_output", "call_id": one.call_id, "output": call(one.name, one.arguments)} for one in calls]
        if count == LATE_AT:
            items.append({"role": "developer", "content": LATE})


print({"messages": messages, "chat": chat, "responses": responses}[protocol]())
