"""The same task with the OpenAI Agents SDK: `loop_openai_agents.py URL MODEL PROMPT chat|responses`."""

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from tools import FUNCTIONS, given

url, model, headers, prompt, instructions, (protocol,) = given()
set_tracing_disabled(True)
client = AsyncOpenAI(base_url=f"{url}/v1", api_key="sk-scripted", default_headers=headers, timeout=120)
kind = OpenAIResponsesModel if protocol == "responses" else OpenAIChatCompletionsModel
agent = Agent(name="worker", instructions=instructions, tools=[function_tool(f) for f in FUNCTIONS], model=kind(model=model, openai_client=client))


async def main():
    done = Runner.run_streamed(agent, prompt, max_turns=100)
    async for _ in done.stream_events():
        pass
    print(done.final_output)


asyncio.run(main())
