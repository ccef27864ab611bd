"""The operations of the table, as methods of a tenant of a store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure import aio
from tenure.operations import OutcomeLine


@pytest.fixture
def store(workspace: tenure.Workspace, tmp_path: Path) -> tenure.Store:
    return workspace.store(tmp_path / "s.db")


def states(tenant: tenure.Tenant) -> list[tuple[str, str]]:
    return [(line["name"], line["state"]) for line in tenant.list_outcomes()["outcomes"]]


def test_an_outcome_is_proposed_listed_and_decided_on(store: tenure.Store) -> None:
    tenant = store.tenant("local", author="agent 7")
    written = tenant.propose_outcome(content="List valves in bar.", name="bars", mistake="in psi")
    assert written["objects"][0]["outcome"] == "created"
    line: OutcomeLine = tenant.list_outcomes(state="proposed")["outcomes"][0]
    assert (line["kind"], line.get("proposed_by")) == ("correction", "agent 7")
    assert [waiting["name"] for waiting in tenant.list_proposals()["proposals"]] == ["bars"]
    tenant.decide_outcome(outcome="bars", decision="accept", by="ada")
    assert states(tenant) == [("bars", "accepted")]
    assert tenant.list_outcomes(state="proposed") == {"outcomes": []}
    tenant.repeat_mistake(outcome="bars")
    line = tenant.list_outcomes(principal={"clearance": "highly_restricted"})["outcomes"][0]
    assert (line["repeats"], line.get("decided_by")) == (1, "ada")
    assert tenant.list_outcomes(principal={"clearance": "public"}) == {"outcomes": []}


def test_what_is_accepted_is_compiled(workspace: tenure.Workspace, store: tenure.Store) -> None:
    tenant = store.tenant()
    tenant.propose_outcome(content="List valves in bar.", name="bars")
    tenant.decide_outcome(outcome="bars", decision="accept", by="ada")
    compiled = workspace.compile("List the valves in bar.", store=store, budget=500)
    assert [verdict.name for verdict in compiled.included] == ["bars"]


@pytest.mark.parametrize(
    ("given", "where", "said"),
    [
        ({}, "content", "a text or an object"),
        ({"content": 3}, "content", "expected: a string"),
        ({"content": "x", "derived_from": ["y"]}, "derived_from", "`y`"),
        ({"object": {"contents": "x"}}, "object.contents", "did you mean `content`?"),
    ],
)
def test_an_error_names_its_field(store: tenure.Store, given: dict[str, Any], where: str, said: str) -> None:
    with pytest.raises(tenure.InputError) as raised:
        store.tenant().propose_outcome(**given)
    assert raised.value.where == where
    assert said in str(raised.value)


def test_a_call_that_is_no_call_is_refused(store: tenure.Store) -> None:
    tenant: Any = store.tenant()
    with pytest.raises(TypeError, match="contents"):
        tenant.propose_outcome(contents="x")
    with pytest.raises(TypeError, match="positional"):
        tenant.propose_outcome("x")
    with pytest.raises(TypeError, match="outcome"):
        tenant.repeat_mistake()
    with pytest.raises(tenure.InputError, match="proposeOutcome"):
        tenant.propose_outcome(content=float("nan"))
    with pytest.raises(tenure.UsageError, match="did you mean `listOutcomes`"):
        tenant._call("listOutcome", {})


def test_a_write_with_a_key_happens_once(store: tenure.Store) -> None:
    tenant = store.tenant()
    first = tenant.propose_outcome(content="In bar.", key="k1")
    assert tenant.propose_outcome(content="In bar.", key="k1") == first
    assert len(states(tenant)) == 1
    with pytest.raises(tenure.ConflictError):
        tenant.propose_outcome(content="In psi.", key="k1")


def test_tenants_see_nothing_of_each_other(store: tenure.Store) -> None:
    acme, local = store.tenant("acme"), store.tenant()
    acme.propose_outcome(content="In bar.", name="bars")
    assert (states(acme), states(local)) == ([("bars", "proposed")], [])
    with pytest.raises(tenure.InputError, match="bars"):
        local.decide_outcome(outcome="bars", decision="accept", by="ada")
    with pytest.raises(tenure.TenureError):
        store.tenant("").list_outcomes()


def test_operations_are_awaited(store: tenure.Store) -> None:
    async def work() -> list[str]:
        tenant = aio.tenant(store, "acme", author="agent 7")
        contents = [f"Number {number}." for number in range(8)]
        await asyncio.gather(*(tenant.propose_outcome(content=content) for content in contents))
        listed = await tenant.list_outcomes(state="proposed")
        assert sorted(line["content"] for line in listed["outcomes"]) == contents
        return [line.get("proposed_by") or "" for line in listed["outcomes"]]

    assert asyncio.run(work()) == ["agent 7"] * 8


def test_both_faces_have_the_same_methods_with_documents() -> None:
    def methods(face: type) -> dict[str, Any]:
        return {name: value for name, value in vars(face).items() if not name.startswith("_")}

    sync, awaited = methods(tenure.Tenant), methods(aio.AsyncTenant)
    assert len(sync) >= 6
    assert sync.keys() == awaited.keys()
    for name, method in sync.items():
        assert method.__doc__ == awaited[name].__doc__ and len(method.__doc__) > 10, name
        assert method.__annotations__ == awaited[name].__annotations__, name
