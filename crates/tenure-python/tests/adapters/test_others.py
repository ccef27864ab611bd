"""Against the real packages, in the long tier."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import agents
import anthropic
import httpx
import httpx2
import openai
from agents import RunConfig, Runner, SQLiteSession, Usage, function_tool
from agents.items import ModelResponse as ModelAnswer
from agents.models.interface import Model
from agents.run import CallModelData, ModelInputData
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import tenure
from tenure.adapters.llama_index import TenureMemory, TenurePostprocessor
from tenure.adapters.openai_agents import TenureSession, input_filter
from tenure.adapters.pydantic_ai import history_processor

from ..test_compile import LOG


def test_llama_index(workspace: tenure.Workspace) -> None:
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in ("Valve 3 leaks at 2 bar.", "Cakes need eggs.")]
    kept = TenurePostprocessor(budget=900, workspace=workspace).postprocess_nodes(nodes, QueryBundle("Why does valve 3 leak?"))
    assert kept == nodes[:1]


def test_llama_index_memory(workspace: tenure.Workspace, tmp_path: Path) -> None:
    session = workspace.session(workspace.store(tmp_path / "s.db"), format="openai-chat")
    memory = TenureMemory.from_defaults(session, budget=3000, model="gpt-4o")
    for at in range(80):
        memory.put(ChatMessage(role="user", content=f"What of valve {at}? " * 10))
        memory.put(ChatMessage(role="assistant", content=f"Valve {at} is closed. " * 10))
    memory.put(ChatMessage(role="user", content="And valve 81?"))
    assert len(memory.get_all()) == 161
    given = memory.get()
    assert given[-1].content == "And valve 81?"
    assert len(given) < 161


def test_the_official_sdks(workspace: tenure.Workspace, tmp_path: Path) -> None:
    sent: list[dict[str, Any]] = []

    def openai_answers(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "200,000 Pa."}}
        return httpx.Response(200, json={"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice]})

    def anthropic_answers(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        usage = {"input_tokens": 1, "output_tokens": 1}
        return httpx2.Response(200, json={"id": "1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
                                         "content": [{"type": "text", "text": "200,000 Pa."}], "usage": usage})

    said = [{"role": "user", "content": "How much is 2 bar in pascal?"}]
    store = workspace.store(tmp_path / "s.db")
    for form, model in (("openai", "gpt-4o"), ("anthropic", "claude-sonnet-4-5")):
        session = workspace.session(store, form, format=form)
        session.append(said)
        compiled = session.compile(budget=2000, reserve=8000, model=model)
        if form == "openai":
            client = openai.OpenAI(api_key="x", http_client=httpx.Client(transport=httpx.MockTransport(openai_answers)))
            reply: Any = client.chat.completions.create(**compiled.request).choices[0].message
        else:
            other = anthropic.Anthropic(api_key="x", http_client=httpx2.Client(transport=httpx2.MockTransport(anthropic_answers)))
            answer = other.messages.create(**compiled.request)
            reply = {"role": answer.role, "content": answer.content}
        # What the SDK sends is what was compiled; its answer goes into the session as it is.
        assert sent[-1] == compiled.request
        session.append(reply)
        assert len(session) == 2
        assert "200,000 Pa." in json.dumps(session.export(form))


def test_openai_agents(workspace: tenure.Workspace, tmp_path: Path) -> None:
    async def run() -> None:
        session = TenureSession(workspace.session(workspace.store(tmp_path / "s.db"), format="openai-responses"))
        theirs = SQLiteSession("one")
        items: list[Any] = [
            {"role": "user", "content": "Which valve leaks?"},
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
             "content": [{"type": "output_text", "text": "The third.", "annotations": []}]},
        ]
        for one in (session, theirs):
            await one.add_items(items)
        assert await session.get_items() == await theirs.get_items() == items
        assert await session.get_items(1) == items[1:]
        data: Any = CallModelData(ModelInputData(input=[*items, {"role": "user", "content": "Since when?"}], instructions="Be brief."), None, None)  # type: ignore[arg-type]
        filtered = await input_filter(workspace=workspace, budget=2000, model="gpt-4o")(data)
        assert filtered.input == data.model_data.input
        assert filtered.instructions == "Be brief."

    asyncio.run(run())


class Scripted(Model):
    """Reads the log, then answers; remembers what it was asked."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *given: Any, **named: Any) -> Any:
        self.seen.append((system_instructions, input))
        out: Any = ResponseFunctionToolCall(arguments="{}", call_id="c1", name="read", type="function_call", id="fc1")
        if len(self.seen) > 1:
            text = ResponseOutputText(text="451: 8813.", type="output_text", annotations=[])
            out = ResponseOutputMessage(id="m", role="assistant", status="completed", type="message", content=[text])
        return ModelAnswer(output=[out], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **named: Any) -> Any:
        raise NotImplementedError


def test_a_loop_of_openai_agents_goes_on_behind_a_large_result(workspace: tenure.Workspace) -> None:
    @function_tool
    def read() -> str:
        """Reads the log."""
        return LOG

    model = Scripted()
    agent = agents.Agent(name="a", instructions="Be brief. ", model=model, tools=[read])
    config = RunConfig(call_model_input_filter=input_filter(workspace=workspace, budget=4000, model="gpt-4o"), tracing_disabled=True)
    done = asyncio.run(Runner.run(agent, "Which worker failed, with which code?", run_config=config))
    assert done.final_output == "451: 8813."
    instructions, (asked, called, result) = model.seen[1]
    assert instructions == "Be brief. " and asked["role"] == "user"
    assert called["call_id"] == result["call_id"] == "c1"
    assert "code 8813" in str(result["output"]) and workspace.tokens(str(result["output"])).tokens < 3500


def test_a_loop_of_pydantic_ai_goes_on_behind_a_large_result(workspace: tenure.Workspace) -> None:
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return ModelResponse(parts=[TextPart("451: 8813.") if len(seen) > 1 else ToolCallPart("read", {}, tool_call_id="c1")])

    process = history_processor(workspace=workspace, budget=4000, model="gpt-4o")
    agent = Agent(FunctionModel(answer), system_prompt="Be brief.", capabilities=[ProcessHistory(process)])
    agent.tool_plain(lambda: LOG, name="read")
    done = agent.run_sync("Which worker failed, with which code?")
    assert done.output == "451: 8813."
    asked, called, results = seen[1]
    assert [type(part) for part in asked.parts] == [SystemPromptPart, UserPromptPart]
    (result,) = results.parts
    assert isinstance(result, ToolReturnPart) and (result.tool_name, result.tool_call_id) == ("read", "c1")
    assert "code 8813" in result.content and workspace.tokens(result.content).tokens < 3500


def test_what_fits_of_pydantic_ai_is_given_back(workspace: tenure.Workspace) -> None:
    history: list[ModelMessage] = [
        ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart(["What is this? ", BinaryContent(b"1234", media_type="image/png")])]),
        ModelResponse(parts=[ThinkingPart("Hm."), TextPart("A valve."), ToolCallPart("read", {}, tool_call_id="c1")]),
        ModelRequest(parts=[RetryPromptPart("Not now.", tool_name="read", tool_call_id="c1"), UserPromptPart("Go on.")]),
    ]
    after = asyncio.run(history_processor(workspace=workspace, budget=50_000)(history))
    assert len(after) == 3 and all(one is other for one, other in zip(after, history))


def test_pydantic_ai(workspace: tenure.Workspace) -> None:
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return ModelResponse(parts=[TextPart("Yes.")])

    history: list[ModelMessage] = []
    for at in range(60):
        history.append(ModelRequest(parts=[UserPromptPart(f"What of valve {at}? " * 20)]))
        history.append(ModelResponse(parts=[TextPart(f"Valve {at} is closed. " * 20)]))
    process = history_processor(workspace=workspace, budget=2000, model="gpt-4o")
    agent = Agent(FunctionModel(answer), capabilities=[ProcessHistory(process)])
    agent.run_sync("And valve 61?", message_history=history)
    assert 1 < len(seen[0]) < 60
    assert "And valve 61?" in str(seen[0][-1])
    assert seen[0][-2] is history[-1]
