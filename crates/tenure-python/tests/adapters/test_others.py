"""Against the real packages, in the long tier."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agents import SQLiteSession
from agents.run import CallModelData, ModelInputData
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import tenure
from tenure.adapters.llama_index import TenurePostprocessor
from tenure.adapters.openai_agents import TenureSession, input_filter
from tenure.adapters.pydantic_ai import history_processor


def test_llama_index(workspace: tenure.Workspace) -> None:
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in ("Valve 3 leaks at 2 bar.", "Cakes need eggs.")]
    kept = TenurePostprocessor(budget=900, workspace=workspace).postprocess_nodes(nodes, QueryBundle("Why does valve 3 leak?"))
    assert kept == nodes[:1]


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
        assert filtered.input[-1]["content"] == "Since when?" or "Since when?" in str(filtered.input[-1])
        assert "Be brief." in (filtered.instructions or "") + str(filtered.input)

    asyncio.run(run())


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
