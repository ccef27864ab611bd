"""Drives a server with the generated clients: drive.py TENURE [PROGRAM…], which gets the URL and the cases."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tenure_client import Client
from tenure_client.api.default import compile_, list_objects, put_objects, query
from tenure_client.models import Call, CompileResponse200, Page, Problem, Query, Writes

ROOT = Path(__file__).resolve().parents[2]


def main(program: str, *other: str) -> None:
    cases = sorted((ROOT / "tests/contract").glob("*.json"))
    assert len(cases) >= 6
    with tempfile.TemporaryDirectory() as home:
        key = Path(home, "key")
        key.write_text("7" * 64)
        command = [str(Path(program).resolve()), "serve", "--listen", "127.0.0.1:0", "--frame-key", str(key)]
        server = subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            drive(url, cases)
            subprocess.run([*other, url, *map(str, cases)], check=True)
        finally:
            server.kill()
            server.wait()


def drive(url: str, cases: list[Path]) -> None:
    with Client(base_url=url) as client:
        for path in cases:
            case: dict[str, Any] = json.loads(path.read_text())
            answer = compile_.sync(client=client, body=Call.from_dict({**case["call"], "store": False}))
            assert isinstance(answer, CompileResponse200), answer
            got = answer.to_dict()
            told = {
                "payload_digest": got["envelope"]["payload_digest"],
                "total_tokens": got["envelope"]["total_tokens"],
                "verdicts": [[v["name"], v["reason"]["code"]] for v in got["trace"]["verdicts"]],
            }
            assert told == case["expected"], path

        body = Writes.from_dict({"objects": [{"name": "from-python", "content": "The pump is in bay 42."}]})
        put = put_objects.sync_detailed(client=client, body=body)
        assert put.status_code == HTTPStatus.OK, put.content
        page = list_objects.sync(client=client, search="pump")
        assert isinstance(page, Page) and "from-python" in json.dumps(page.to_dict()), page
        found = query.sync_detailed(client=client, body=Query.from_dict({"text": "Where is the pump?"}))
        assert b"bay 42" in found.content, found.content

        # What is wrong comes as a problem, with the field that it is in.
        call: dict[str, Any] = json.loads(cases[0].read_text())["call"]
        wrong = Call.from_dict({**call, "policy": "no-such-policy"})
        problem = compile_.sync_detailed(client=client, body=wrong)
        assert problem.status_code == HTTPStatus.BAD_REQUEST and isinstance(problem.parsed, Problem), problem
        assert "no-such-policy" in problem.parsed.detail, problem.parsed
    print(f"python: {len(cases)} cases of the contract, an object put and found, an error")


main(*sys.argv[1:])
