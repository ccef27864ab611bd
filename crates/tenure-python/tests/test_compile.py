"""What a user of the package does, and does wrong."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure import aio
from tenure._options import CompileOptions, SessionOptions

from .conftest import ROOT

CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": "What is the pressure of valve 3?"},
    {"role": "assistant", "content": "2 bar."},
    {"role": "user", "content": "How much is that in pascal?"},
]


def test_objects_a_task_and_a_budget(workspace: tenure.Workspace) -> None:
    rules = [tenure.rule("units", "Report pressure in pascal."), tenure.rule("names", "Name functions with verbs.")]
    compiled = workspace.compile("Report the pressure.", objects=rules, budget=300)
    assert compiled.tokens <= 300
    assert "Report pressure in pascal." in compiled.text
    assert [verdict.name for verdict in compiled.included] == ["units", "names"]
    assert workspace.tokens(compiled.text).tokens == compiled.tokens
    assert set(compiled.quality) >= {"utilization", "signal_density"}
    # The same again, to the last byte; and from objects that are kept.
    assert workspace.compile("Report the pressure.", objects=rules, budget=300).text == compiled.text
    kept = workspace.objects(rules)
    assert workspace.compile("Report the pressure.", objects=kept, budget=300).text == compiled.text
    assert "2 of 2 objects" in repr(compiled)
    assert "<td>units</td>" in compiled._repr_html_()


def test_messages_become_a_request(workspace: tenure.Workspace) -> None:
    tool = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}
    compiled = workspace.compile(messages=CONVERSATION, tools=[tool], budget=2000, model="gpt-4o")
    request = compiled.request
    assert request["model"] == "gpt-4o"
    assert request["messages"] == CONVERSATION
    assert request["tools"] == [tool]
    assert workspace.check(request) == []
    for target in ("openai", "responses", "gemini"):
        said = [{"role": "user", "parts": [{"text": "Hello."}]}] if target == "gemini" else CONVERSATION[-1:]
        compiled = workspace.compile(messages=said, system="Be brief.", budget=900, target=target)
        assert "Be brief." in compiled.text, target
    compiled = workspace.compile(
        messages=CONVERSATION, system="Be brief.", budget=2000, target="anthropic", model="claude-sonnet-4-5"
    )
    request = compiled.request
    said = [message["content"] for message in request["messages"]]
    assert [part if isinstance(part, str) else part[0]["text"] for part in said] == [
        message["content"] for message in CONVERSATION
    ]
    assert "Be brief." in json.dumps(request["system"])
    assert request["max_tokens"] > 0


def test_documents_of_every_form(workspace: tenure.Workspace) -> None:
    @dataclasses.dataclass
    class Mine:
        content: str

    class LangChain:
        page_content = "Valve 3 opens at 2 bar."
        metadata = {"source": "manual.md"}
        id = None

    given = [
        "The pressure of valve 3 is 2 bar.",
        {"content": "Pressure of valve 3: two bar.", "name": "notes"},
        {"text": "Valve 3 has a pressure limit of 5 bar."},
        Mine("The limit of pressure at valve 3 is 5 bar."),
        LangChain(),
    ]
    compiled = workspace.compile("What is the pressure of valve 3?", documents=given, budget=2000)
    names = [verdict.name for verdict in compiled.verdicts]
    assert names == ["document-1", "notes", "document-3", "document-4", "manual.md"]
    assert "limit of 5 bar" in compiled.text
    assert {verdict.section for verdict in compiled.verdicts} == {"evidence"}


def test_what_the_user_asked_last_stands_or_the_compile_fails(workspace: tenure.Workspace) -> None:
    before: list[dict[str, Any]] = []
    for at in range(50):
        before.append({"role": "user", "content": f"What of valve {at}? " * 20})
        before.append({"role": "assistant", "content": f"Valve {at} is closed. " * 20})
    asked = {"role": "user", "content": "Buy eggs. " * 100}
    for target in ("openai", "anthropic"):
        compiled = workspace.compile("What of valve 3?", messages=[*before, asked], budget=1200, target=target)
        assert "Buy eggs." in compiled.text
        assert compiled.tokens <= 1200
        # What left is named, with what stands for it.
        assert any("stands for them" in str(left) for left in compiled.trace["unfetched"])
    with pytest.raises(tenure.BudgetError):
        workspace.compile(messages=[*before, asked], budget=300)


LOG = "\n".join(
    f"2026-01-01 00:{at // 60:02}:{at % 60:02} INFO worker {at} " + ("FAILED: disk full, code 8813" if at == 451 else "started")
    for at in range(900)
)


def looked_up(log: str = LOG) -> list[dict[str, Any]]:
    """A loop in which a tool has just given a result."""
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    return [
        {"role": "system", "content": "Be brief. "},
        {"role": "user", "content": "Which worker failed, with which code?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": log},
    ]


def test_what_fits_stands_as_it_came(workspace: tenure.Workspace) -> None:
    said = looked_up()
    tokens = sum(workspace.tokens(message["content"] or "").tokens for message in said)
    # Also where a result takes most of the budget, and hardly anything is left of it.
    for budget in (120_000, tokens + 100):
        compiled = workspace.compile(messages=said, budget=budget)
        assert compiled.request["messages"] == said
        assert compiled.session is None
    # Whoever names a policy gets what it says.
    assert "Instructions rank" in workspace.compile(messages=said, budget=120_000, policy="standard").text
    spoken = {"input": said[1:2], "instructions": "Be brief."}
    request = workspace.compile(messages=spoken["input"], system="Be brief.", target="responses", budget=900).request
    assert request["input"] == spoken["input"] and request["instructions"].strip() == "Be brief."


def test_a_result_that_is_larger_than_the_budget_is_condensed(workspace: tenure.Workspace) -> None:
    said = looked_up()
    compiled = workspace.compile(messages=said, budget=4000)
    assert compiled.tokens <= 4000 < workspace.tokens(LOG).tokens
    assert compiled.request["messages"][:3] == said[:3]
    assert "code 8813" in compiled.request["messages"][3]["content"]
    assert workspace.check(compiled.request) == []
    # The same messages and options give the same bytes, whoever asks and whenever.
    assert workspace.compile(messages=said, budget=4000).text == compiled.text
    # What stands beside works on: its own share is left to it.
    beside = workspace.compile(messages=said, budget=4000, documents=["Worker 451 failed in May, too: code 77."])
    assert "code 8813" in beside.text and "code 77" in beside.text
    assert beside.tokens <= 4000


def test_the_line_that_the_last_question_asks_for_is_there(workspace: tenure.Workspace) -> None:
    said: list[dict[str, Any]] = []
    for at in range(120):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "read", "arguments": json.dumps({"pump": at})}}
        said += [
            {"role": "user", "content": f"Look at pump {at}."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": f"pump {at}: fine. " * 30 + f"Serial number of pump {at}: SN-{at * 7919}."},
            {"role": "assistant", "content": "It is fine."},
        ]
    said.append({"role": "user", "content": "What is the serial number of pump 17?"})
    compiled = workspace.compile(messages=said, budget=6000)
    assert compiled.tokens <= 6000
    assert f"SN-{17 * 7919}" in compiled.text
    assert compiled.request["messages"][-1] == said[-1]


def test_a_history_with_a_store_is_recorded(workspace: tenure.Workspace, tmp_path: Path) -> None:
    store = workspace.store(tmp_path / "s.db")
    store.put(tenure.rule("units", "Report pressure in pascal."))
    compiled = workspace.compile(messages=CONVERSATION, store=store, budget=2000, record=True)
    assert "in pascal." in compiled.text and len(compiled.records) == 1
    assert compiled.request["messages"][-3:] == CONVERSATION
    assert compiled.why("units")["verdict"]["name"] == "units"


def test_the_options_are_typed_as_they_are() -> None:
    options = set(CompileOptions.__annotations__)
    assert options == set(inspect.signature(tenure.Workspace.compile).parameters) - {"self", "task"}
    assert set(SessionOptions.__annotations__) == options - {"messages", "system", "tools", "target"}


def test_calls_that_were_broken_off_stop_nothing(workspace: tenure.Workspace) -> None:
    tool = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}
    calls = [
        {"id": key, "type": "function", "function": {"name": "read", "arguments": arguments}}
        for key, arguments in (("functions.read:0", "{}"), ("call|fc_1", '{"path": "a'))
    ]
    said = [
        {"role": "user", "content": "Read the manual."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call|fc_1", "content": "Valve 3 opens at 2 bar."},
        {"role": "user", "content": "Are you there?"},
    ]
    compiled = workspace.compile(messages=said, tools=[tool], budget=2000)
    assert "[no result: broken off]" in compiled.text
    assert "opens at 2 bar" in compiled.text
    assert workspace.check(compiled.request) == []


def test_why_something_is_out(workspace: tenure.Workspace) -> None:
    notes = ["The pressure of valve 3 is 2 bar.", "Cakes need eggs."]
    compiled = workspace.compile("What is the pressure of valve 3?", documents=notes, budget=2000)
    assert [verdict.name for verdict in compiled.omitted] == ["document-2"]
    why = compiled.why("document-2")
    assert why["verdict"]["name"] == "document-2"
    assert why["verdict"]["reason"]["code"] == compiled.omitted[0].reason
    with pytest.raises(tenure.InputError):
        compiled.why("nothing-of-this-name")


def test_files(workspace: tenure.Workspace) -> None:
    files = [ROOT / "examples/firmware"]
    compiled = workspace.compile("Set up 500 Hz PWM on PB7.", files=files, read_as="guidance", budget=4500)
    assert compiled.tokens <= 4500
    names = [verdict.name for verdict in compiled.included]
    assert "timer-channel-map" in names
    with pytest.raises(tenure.InputError, match="does not exist"):
        workspace.compile("x", files="nowhere", budget=900)


def test_a_budget_that_is_too_small_names_what_must_go_in(workspace: tenure.Workspace) -> None:
    with pytest.raises(tenure.BudgetError) as caught:
        workspace.compile("Report.", objects=[tenure.rule("units", "pascal " * 500)], budget=200)
    assert caught.value.kind == "budget"
    assert "units" in str(caught.value)


def test_errors_say_where(workspace: tenure.Workspace) -> None:
    with pytest.raises(tenure.InputError) as caught:
        workspace.compile("x", objects=[tenure.rule("a", "b"), {"name": "c", "contents": "d"}], budget=300)
    assert "contents" in str(caught.value)
    assert (caught.value.where or "").startswith("call.objects[1]")
    with pytest.raises(tenure.UsageError, match="no task"):
        workspace.compile(budget=300)
    with pytest.raises(tenure.TenureError, match="gpt-99"):
        workspace.compile("x", model="gpt-99", budget=300)
    with pytest.raises(tenure.TenureError, match="budgt"):
        workspace.compile("x", request={"budgt": 3})


def cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "bad",
    [None, float("nan"), "\ud800", b"bytes", 10**400, cyclic(), object(), {1: 2}, {"content": None}, [[[]]], 7],
    ids=lambda bad: type(bad).__name__,
)
def test_bad_documents_are_errors_of_tenure(workspace: tenure.Workspace, bad: Any) -> None:
    with pytest.raises(tenure.TenureError):
        workspace.compile("x", documents=[bad], budget=900)
    with pytest.raises(tenure.TenureError):
        workspace.compile("x", messages=[bad], budget=900)
    with pytest.raises(tenure.TenureError):
        workspace.compile("x", objects=[bad], budget=900)


def test_lone_surrogates_and_large_numbers(workspace: tenure.Workspace) -> None:
    with pytest.raises(tenure.InputError, match="surrogate"):
        workspace.compile("half \ud83d", budget=900)
    with pytest.raises(tenure.InputError, match="surrogate"):
        workspace.tokens("half \ud83d")
    with pytest.raises(tenure.InputError):
        workspace.compile("x", budget=10**30)
    with pytest.raises(tenure.TenureError):
        workspace.compile("x", budget=-1)


def test_generators_models_and_paths(workspace: tenure.Workspace) -> None:
    class Model:
        def model_dump(self, **_: Any) -> dict[str, str]:
            return {"role": "user", "content": "What is the pressure?"}

    def all_of_them() -> Iterator[Any]:
        yield Model()

    compiled = workspace.compile(messages=all_of_them(), budget=900)
    assert compiled.request["messages"][-1] == {"role": "user", "content": "What is the pressure?"}


def test_instants_have_a_zone(workspace: tenure.Workspace) -> None:
    with pytest.raises(tenure.InputError, match="time zone"):
        workspace.compile("x", as_of=datetime(2026, 1, 1), budget=900)


def test_condense_and_rehydrate(workspace: tenure.Workspace, tmp_path: Path) -> None:
    text = "\n".join(f"2026-01-01T00:00:{at % 60:02} INFO worker {at} started" for at in range(400))
    text += "\n2026-01-01T00:09:00 ERROR worker 7 failed: disk full"
    short = workspace.condense(text, 200, keep=tmp_path / "kept")
    assert short["to"] <= 200
    assert "disk full" in short["text"]
    assert workspace.rehydrate(short["pointer"], keep=tmp_path / "kept").decode() == text


def test_a_store_remembers(workspace: tenure.Workspace, tmp_path: Path) -> None:
    store = workspace.store(tmp_path / "s.db")
    store.put(tenure.rule("units", "Report pressure in pascal."))
    store.put([tenure.rule("units", "Report pressure in bar.")])
    assert [state["object"]["content"] for state in store.get("units")] == ["Report pressure in bar."]
    assert len(store.history("units")) >= 2
    assert [found["name"] for found in store.search("pressure")] == ["units"]
    compiled = workspace.compile("Report the pressure.", store=store, budget=400, record=True)
    assert "in bar." in compiled.text
    assert len(compiled.records) == 1
    store.retract("units")
    assert store.get("units") == []
    with pytest.raises(tenure.TenureError):
        store.retract("nothing")


def test_a_session_goes_on(workspace: tenure.Workspace, tmp_path: Path) -> None:
    store = workspace.store(tmp_path / "s.db")
    session = workspace.session(store, "valves", format="openai-chat")
    session.append(CONVERSATION)
    first = session.compile(budget=4000)
    assert first.request["messages"][-3:] == CONVERSATION
    session.append({"role": "assistant", "content": "200,000 Pa."})
    session.append({"role": "user", "content": "Thanks. And valve 4?"})
    second = session.compile(budget=4000)
    # What was sent stays as it was, so that a provider's cache holds it.
    assert second.text.startswith(first.text[: first.text.index("How much is that")])
    assert len(session) == 5
    again = workspace.session(store, "valves")
    assert again.export() == session.export()
    with pytest.raises(tenure.UsageError):
        session.compile(messages=[])


def test_a_registry_does_what_rampart_does(workspace: tenure.Workspace, tmp_path: Path) -> None:
    registries = workspace.registries()
    registry = registries.create("main")
    for name in ("a", "b", "c"):
        registry.write_block(name, f"Block {name} says {name}.", trajectory_id="run-1")
    registry.promote("c")
    assert [block["name"] for block in registry.blocks()] == ["c", "a", "b"]
    registry.revise("a", "Block a says more.")
    registry.evict("b")
    compiled = workspace.compile("What does block a say?", objects=registry.objects(), budget=900, policy="ordered")
    assert "Block a says more." in compiled.text
    registries.save(tmp_path / "snapshot.json")
    kept = workspace.registries(tmp_path / "snapshot.json")["main"]
    assert [block["name"] for block in kept.blocks()] == ["c", "a"]
    gone, short = kept.evict_until(20, score=lambda block: 1.0 if block["name"] == "c" else 0.0)
    assert gone == ["a"] and short == 0
    assert len(registry.provenance()) == 2
    registry.rollback("run-1")
    assert len(registry) == 0
    with pytest.raises(tenure.TenureError):
        registry.promote("nothing")


def test_a_library_of_seeds(workspace: tenure.Workspace) -> None:
    registry = workspace.registries().from_files("firmware", ROOT / "examples/firmware/library.md")
    assert len(registry) > 20
    near = registry.find_relevant("Set up 500 Hz PWM on pin PB7 with TIM4 channel 2.", top_k=3)
    assert [block["rank"] for block in near] == [1, 2, 3]
    assert near[0]["name"] == "timer-channel-map"
    assert len(registry.gate("Set up PWM.", top_k=2)["left"]) > 10
    priced = registry.compile("Set up PWM.", budget=9000, dry_run=True)
    assert priced.tokens == registry.compile("Set up PWM.", budget=9000).tokens


def test_the_cache_is_planned_and_marked(workspace: tenure.Workspace) -> None:
    rules = [tenure.rule(f"rule-{at}", f"Rule {at} is about valve {at} and its pressure.") for at in range(200)]
    given: dict[str, Any] = {"messages": CONVERSATION, "objects": rules, "budget": 20_000, "model": "claude-sonnet-4-5"}
    plain = workspace.compile(**given)
    assert "cache_control" not in plain.text
    assert plain.cache_plan()["model"] == "claude-sonnet-4-5"
    marked = workspace.compile(cache=True, **given)
    assert "cache_control" in marked.text
    assert marked.tokens == plain.tokens


def test_a_callable_scores(workspace: tenure.Workspace, tmp_path: Path) -> None:
    def by_length(task: str, texts: list[str]) -> list[float | None]:
        # It may compile by itself, and from another thread.
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(workspace.compile(task, budget=400).tokens))
        thread.start()
        thread.join()
        assert found
        return [min(1.0, len(text) / 100) for text in texts]

    blocks = [{"name": "long", "content": "x " * 50}, {"name": "short", "content": "pressure"}]
    own = tenure.Workspace(frame_key=tmp_path / "key", scorer=by_length)
    compiled = own.compile("What is the pressure?", objects=blocks, policy="ordered", top_k=1, budget=900)
    assert [verdict.name for verdict in compiled.included] == ["long"]
    store = own.store(tmp_path / "s.db")
    session = own.session(store, format="openai-chat")
    session.append(CONVERSATION)

    def reenters(task: str, texts: list[str]) -> list[float | None]:
        return [float(len(session)) for _ in texts]

    bad: list[Any] = [
        lambda task, texts: 1 / 0,
        lambda task, texts: [],
        lambda task, texts: [7.0 for _ in texts],
        lambda task, texts: [float("nan") for _ in texts],
        lambda task: None,
        reenters,
        "no callable",
    ]
    for scorer in bad:
        other = tenure.Workspace(frame_key=tmp_path / "key", scorer=scorer)
        with pytest.raises(tenure.TenureError, match="scorer"):
            other.compile("What is the pressure?", objects=blocks, budget=900)


def test_many_threads_and_the_loop_go_on(workspace: tenure.Workspace) -> None:
    rules = workspace.objects([tenure.rule(f"rule-{at}", f"Rule {at} is about valve {at}.") for at in range(200)])
    expected = workspace.compile("What about valve 7?", objects=rules, budget=9000).text
    found: list[str] = []

    def work() -> None:
        for _ in range(5):
            found.append(workspace.compile("What about valve 7?", objects=rules, budget=9000).text)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 40

    async def both() -> tuple[str, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        compiled = await aio.compile("What about valve 7?", workspace=workspace, objects=rules, budget=9000)
        ticking.cancel()
        return compiled.text, ticks

    text, ticks = asyncio.run(both())
    assert text == expected and ticks > 1


def test_a_child_after_a_fork_compiles(workspace: tenure.Workspace) -> None:
    compiled = workspace.compile("Hello.", budget=300)
    child = os.fork()
    if child == 0:
        same = workspace.compile("Hello.", budget=300).text == compiled.text
        os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0


def test_the_interpreter_may_end_amid_a_compile(tmp_path: Path) -> None:
    script = (
        "import threading, tenure, sys\n"
        f"w = tenure.Workspace(frame_key={str(tmp_path / 'key')!r})\n"
        "o = w.objects([tenure.rule(f'r{i}', 'word ' * 200 + str(i)) for i in range(3000)])\n"
        "t = threading.Thread(target=lambda: w.compile('x', objects=o, budget=2_000_000), daemon=True)\n"
        "t.start()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_module_has_the_verbs() -> None:
    assert list(inspect.signature(tenure.tokens).parameters) == ["text", "model"]
    for name in tenure.__all__:
        assert getattr(tenure, name).__doc__, name
