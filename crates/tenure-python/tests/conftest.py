"""A workspace with a key of its own, so that no test touches the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

import tenure

KEY = "7" * 64
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def workspace(tmp_path: Path) -> tenure.Workspace:
    key = tmp_path / "key"
    key.write_text(KEY)
    return tenure.Workspace(frame_key=key)
