"""The same task with pydantic-ai: `loop_pydantic_ai.py URL MODEL PROMPT messages|chat|responses`."""

from pydantic_ai import Agent
from pydantic_ai.usage import UsageLimits

from tools import FUNCTIONS, given

url, name, headers, prompt, instructions, (protocol,) = given()
if protocol == "messages":
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(base_url=url, api_key="sk-scripted", default_headers=headers, timeout=120)
    model = AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))
else:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="sk-scripted", default_headers=headers, timeout=120)
    kind = OpenAIResponsesModel if protocol == "responses" else OpenAIChatModel
    model = kind(name, provider=OpenAIProvider(openai_client=client))
agent = Agent(model, instructions=instructions, tools=FUNCTIONS, retries=2)
print(agent.run_sync(prompt, usage_limits=UsageLimits(request_limit=200)).output)
