"""The same task with LlamaIndex's function agent: `loop_llama_index.py URL MODEL PROMPT messages|chat`."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent

from tools import FUNCTIONS, given

url, model, headers, prompt, instructions, (protocol,) = given()
if protocol == "messages":
    from llama_index.llms.anthropic import Anthropic

    llm = Anthropic(model=model, base_url=url, api_key="sk-scripted", default_headers=headers, max_tokens=4096, timeout=120)
else:
    from llama_index.llms.openai import OpenAI

    llm = OpenAI(model=model, api_base=f"{url}/v1", api_key="sk-scripted", default_headers=headers, timeout=120)
agent = FunctionAgent(tools=FUNCTIONS, llm=llm, system_prompt=instructions, timeout=900)


async def main():
    print(await agent.run(user_msg=prompt, max_iterations=200))


asyncio.run(main())
