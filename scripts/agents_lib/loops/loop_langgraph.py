"""The same task with LangGraph's agent: `loop_langgraph.py URL MODEL PROMPT messages|chat`."""

from langchain_core.tools import tool

from tools import FUNCTIONS, given

url, model, headers, prompt, instructions, (protocol,) = given()
if protocol == "messages":
    from langchain_anthropic import ChatAnthropic

    llm = ChatAnthropic(model=model, base_url=url, api_key="sk-scripted", default_headers=headers, max_tokens=4096, timeout=120)
else:
    from langchain_openai import ChatOpenAI

    llm = ChatOpenAI(model=model, base_url=f"{url}/v1", api_key="sk-scripted", default_headers=headers, timeout=120, use_responses_api=False)
tools = [tool(function) for function in FUNCTIONS]
try:
    from langchain.agents import create_agent

    agent = create_agent(llm, tools, system_prompt=instructions)
except ImportError:
    from langgraph.prebuilt import create_react_agent

    agent = create_react_agent(llm, tools, prompt=instructions)
done = agent.invoke({"messages": [{"role": "user", "content": prompt}]}, {"recursion_limit": 300})
content = done["messages"][-1].content
print(content if isinstance(content, str) else "".join(part.get("text", "") for part in content))
