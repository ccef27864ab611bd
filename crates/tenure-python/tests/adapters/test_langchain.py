"""Against the real package."""

from __future__ import annotations

from pathlib import Path

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

import tenure
from tenure.adapters.langchain import TenureCompressor, TenureHistory, TenureRetriever, trim, trimmer


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
    assert sum(id(message) in ids for message in after) >= len(after) - 2
    assert trimmer(workspace=workspace, budget=2000, model="gpt-4o").invoke(before)[-1] is before[-1]


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
