"""Against the real package."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent

import tenure
from tenure.adapters.langchain import TenureCompressor, TenureHistory, TenureRetriever, trim, trimmer
from tenure.adapters.langchain_agent import TenureMiddleware

from ..test_compile import LOG


def conversation() -> list[BaseMessage]:
    messages: list[BaseMessage] = [SystemMessage("Be brief.")]
    for at in range(40):
        call = {"name": "read", "args": {"valve": at}, "id": f"call-{at}", "type": "tool_call"}
        messages += [
            HumanMessage(f"What is the pressure of valve {at}?", id=f"h{at}"),
            AIMessage("", tool_calls=[call], id=f"a{at}"),
            ToolMessage(f"valve {at}: {at} bar. " * 20, tool_call_id=f"call-{at}", id=f"t{at}"),
            AIMessage(f"It is {at} bar.", id=f"b{at}"),
        ]
    return [*messages, HumanMessage("And of valve 41?", id="last")]


def test_a_conversation_is_cut_to_the_budget_and_stays_legal(workspace: tenure.Workspace) -> None:
    before = conversation()
    after = trim(before, workspace=workspace, budget=2000, model="gpt-4o")
    assert after[-1] is before[-1]
    assert 3 < len(after) < len(before)
    # Each result follows its call, and what stays is the very same object.
    calls = {call["id"] for message in after if isinstance(message, AIMessage) for call in message.tool_calls}
    assert {message.tool_call_id for message in after if isinstance(message, ToolMessage)} == calls
    ids = {id(message) for message in before}
    assert [id(message) in ids for message in after[-8:]] == [True] * 8
    # A result that is condensed keeps its id; what was made anew has none.
    assert all(id(message) in ids or message.id is None or isinstance(message, ToolMessage) for message in after)
    assert trimmer(workspace=workspace, budget=2000, model="gpt-4o").invoke(before)[-1] is before[-1]


def test_what_fits_is_given_back(workspace: tenure.Workspace) -> None:
    before = conversation()
    after = trim(before, workspace=workspace, budget=100_000, model="gpt-4o")
    assert len(after) == len(before) and all(one is other for one, other in zip(after, before))
    chain = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "{asked}")]) | trimmer(workspace=workspace, budget=400)
    assert [message.content for message in chain.invoke({"asked": "Why?"})] == ["Be brief.", "Why?"]
    with pytest.raises(tenure.UsageError):
        trimmer(workspace=workspace, budget=400).invoke("Why?")


class Scripted(GenericFakeChatModel):
    """Reads the log, then answers; remembers what it was asked."""

    seen: list[list[BaseMessage]] = []

    def bind_tools(self, tools: Any, **given: Any) -> Any:
        return self

    def _generate(self, messages: Any, *given: Any, **named: Any) -> Any:
        self.seen.append(messages)
        return super()._generate(messages, *given, **named)


@tool
def read() -> str:
    """Reads the log."""
    return LOG


@pytest.mark.parametrize("kind", ["pre_model_hook", "middleware", "middleware, async"])
def test_a_loop_goes_on_behind_a_result_that_is_larger_than_the_budget(workspace: tenure.Workspace, kind: str) -> None:
    call = {"name": "read", "args": {}, "id": "c1", "type": "tool_call"}
    model = Scripted(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("451: 8813.")]), seen=[])
    given: Any = {"workspace": workspace, "budget": 4000, "model": "gpt-4o"}
    agent: Any
    if kind == "pre_model_hook":
        agent = create_react_agent(model, [read], prompt="Be brief.", pre_model_hook=trimmer(**given))
    else:
        agent = create_agent(model, [read], system_prompt="Be brief.", middleware=[TenureMiddleware(**given)])
    asked = {"messages": [("user", "Which worker failed, with which code?")]}
    done = asyncio.run(agent.ainvoke(asked)) if kind.endswith("async") else agent.invoke(asked)
    assert done["messages"][-1].content == "451: 8813."
    # The state keeps all of it; the model got what fits.
    assert done["messages"][2].content == LOG
    system, user, called, result = model.seen[1]
    assert (system.content, user.content) == ("Be brief.", asked["messages"][0][1])
    assert called is done["messages"][1]
    assert result.id == done["messages"][2].id and "code 8813" in result.content
    assert workspace.tokens(str(result.content)).tokens < 3500


def test_documents_far_from_the_query_leave(workspace: tenure.Workspace) -> None:
    documents = [
        Document("The pressure of valve 3 is 2 bar.", metadata={"source": "manual"}),
        Document("Cakes need eggs."),
    ]
    compressor = TenureCompressor(budget=1000, workspace=workspace)
    assert compressor.compress_documents(documents, "What is the pressure of valve 3?") == documents[:1]


def test_history_and_retriever(workspace: tenure.Workspace, tmp_path: Path) -> None:
    store = workspace.store(tmp_path / "s.db")
    history = TenureHistory(workspace.session(store, format="openai-chat"))
    history.add_messages([HumanMessage("Which valve leaks?"), AIMessage("The third.")])
    history.add_user_message("Since when?")
    assert [message.content for message in history.messages] == ["Which valve leaks?", "The third.", "Since when?"]
    assert history.compiled(budget=2000)[-1].content == "Since when?"
    store.put(tenure.rule("units", "Report pressure in pascal."))
    found = TenureRetriever(store=store).invoke("pressure")
    assert [document.metadata["name"] for document in found] == ["units"]
