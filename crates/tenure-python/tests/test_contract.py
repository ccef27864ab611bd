"""The compiles of tests/contract give here what they give on every face."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tenure

from .conftest import ROOT

CASES = sorted((ROOT / "tests/contract").glob("*.json"))


def test_there_are_cases() -> None:
    assert len(CASES) >= 6


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_same_as_on_every_face(workspace: tenure.Workspace, path: Path) -> None:
    case: dict[str, Any] = json.loads(path.read_text())
    call = case["call"]
    compiled = workspace.compile(request=call["request"], objects=call["objects"], policy=call.get("policy"))
    told = {
        "payload_digest": compiled.envelope["payload_digest"],
        "total_tokens": compiled.tokens,
        "verdicts": [[verdict.name, verdict.reason] for verdict in compiled.verdicts],
    }
    assert told == case["expected"]
