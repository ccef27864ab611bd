"""Drives `tenure mcp` and `/mcp` of `tenure serve` with the official Python SDK, which checks each result against the schema
that the tool states.

Usage: mcp_sdk.py TENURE
"""

import asyncio
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from mcp import Client, MCPError, StdioServerParameters

TENURE = sys.argv[1]
TOOLS = ["compile", "explain", "search", "rehydrate", "write", "promote", "evict", "rollback", "propose"]
ran = 0


def held(condition, what):
    global ran
    ran += 1
    if not condition:
        # An exit would come wrapped in the groups of tasks that it passes.
        print(f"mcp: {what}", file=sys.stderr, flush=True)
        os._exit(1)


def environment(folder):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    return kept | {"XDG_STATE_HOME": f"{folder}/state", "XDG_CONFIG_HOME": f"{folder}/config"}


def tenure(folder, *args, text=None):
    done = subprocess.run([TENURE, *args], cwd=folder, env=environment(folder), input=text, capture_output=True, text=True)
    held(done.returncode == 0, f"tenure {' '.join(args)}: {done.stderr}")
    return done.stdout


def client(folder, *args, mode="auto"):
    server = StdioServerParameters(command=TENURE, args=["mcp", *args], cwd=folder, env=environment(folder))
    return Client(server, mode=mode, read_timeout_seconds=20)


@contextlib.contextmanager
def serving(folder):
    command = [TENURE, "serve", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        yield server.stdout.readline().decode().strip()
    finally:
        server.terminate()
        held(server.wait(timeout=40) == 0, "the server ends with a failure")


async def call(tools, name, /, **arguments):
    """A call that succeeds; the SDK has held its result against the schema of the tool."""
    done = await tools.call_tool(name, arguments)
    held(not done.is_error, f"{name}: {done.content}")
    held(json.loads(done.content[0].text) == done.structured_content, f"{name}: the text is another than the structure")
    return done.structured_content


async def refusal(tools, name, /, **arguments):
    done = await tools.call_tool(name, arguments)
    held(done.is_error and done.structured_content is None, f"{name} {arguments} is taken")
    return done.content[0].text


async def main_loop(folder, mode, url=None):
    registry = f"agent-{mode}"
    if url:
        # Anyone who is no key's owner yet is the store's.
        opened = Client(f"{url}/mcp?session=talk&registry=http-{mode}", mode=mode, read_timeout_seconds=20)
    else:
        opened = client(folder, "--registry", registry, "--session", "talk", mode=mode)
    async with opened as tools:
        listed = (await tools.list_tools()).tools
        held([tool.name for tool in listed] == TOOLS, f"the list is {[tool.name for tool in listed]}")
        held(all(tool.output_schema and tool.description for tool in listed), "a tool says not what it gives")
        again = (await tools.list_tools()).tools
        held(listed == again, "the list is another the second time")

        wrote = await call(tools, "write", name="units", content="Report pressure in pascal.", run="run-1")
        held(wrote["blocks"] == ["units"], wrote)
        await call(tools, "write", name="limits", content="Valve 7 opens at two bar.", run="run-2")
        wrote = await call(tools, "write", name="units", content="Report pressure in kilopascal.")
        held(wrote["blocks"] == ["units", "limits"], wrote)
        moved = await call(tools, "promote", names=["limits"], to="front")
        held(moved["blocks"] == ["limits", "units"], moved)
        moved = await call(tools, "promote", names=["limits"], after="units")
        held(moved["blocks"] == ["units", "limits"], moved)

        compiled = await call(tools, "compile", task="Report the pressure at which valve 7 opens", tokens=2000)
        payload = compiled["payloads"][0]["payload"]
        held(compiled["outcome"] == "complete" and "opens at two bar" in payload, compiled)
        held("kilopascal" in payload and "in pascal" not in payload, "the old text of a block stands there")
        chat = await call(tools, "compile", task="Report the pressure", target="openai-chat", model="gpt-4o")
        held(json.loads(chat["payloads"][0]["payload"])["messages"], chat)

        explained = await call(tools, "explain", task="Report the pressure")
        held({"units", "limits", "manual"} <= {verdict["name"] for verdict in explained["verdicts"]}, explained)
        one = await call(tools, "explain", task="Paint the shed", name="manual", tokens=400)
        held(one["verdicts"][0]["name"] == "manual" and "remedy" in one["remedy"], one)

        # An original that is read back displaces what ranks below it, for this payload alone.
        asked = {"task": "Was the boiler of hall 3 cleaned, and who runs the pump beside it?", "tokens": 800}
        plain = await call(tools, "compile", **asked)
        held("guide" in plain["included"] and plain["displaced"] == [], plain)
        full = await call(tools, "compile", originals=[LONG], **asked)
        held("of hall 3 was cleaned" in full["payloads"][0]["payload"], full)
        held({"name": "guide", "reason": "no_room"} in full["displaced"], full)
        held(await call(tools, "compile", **asked) == plain, "an original stays in the next payload")
        held("original" in await refusal(tools, "compile", originals=[LONG], task="x", tokens=300), "it fits nowhere")
        held("no original" in await refusal(tools, "compile", originals=["0123456789abcdef"], task="x"), "an original of nobody")

        found = await call(tools, "search", query="how hot may the boiler get", limit=1)
        held("95 degrees" in found["passages"][0]["text"], found)

        evicted = await call(tools, "evict", names=["units"])
        held(evicted["removed"] == ["units"] and evicted["blocks"] == ["limits"], evicted)
        back = await call(tools, "rollback", run="run-2")
        held(back["removed"] == ["limits"] and back["blocks"] == [], back)

        original = await call(tools, "rehydrate", id=POINTER["id"], tokens=100)
        whole, item = "", original["originals"][0]
        while True:
            whole += item["text"]
            if "next" not in item:
                break
            more = await call(tools, "rehydrate", id=POINTER["id"], tokens=2000, **{"from": item["next"]})
            item = more["originals"][0]
        held(whole == POINTER["text"], "an original came back as something else")
        said = await call(tools, "rehydrate", id=MESSAGE)
        held("How hot is pump 7?" in said["originals"][0]["text"], said)
        said = await call(tools, "rehydrate", query="pump 7 temperature hot")
        held(said["originals"], said)


async def wrong(folder):
    async with client(folder, "--registry", "wrong") as tools:
        held("task" in await refusal(tools, "compile"), "a missing argument is not named")
        told = await refusal(tools, "search", query=7)
        held("query" in told and "expected" in told, told)
        held("tenant" in await refusal(tools, "search", query="x", tenant="acme"), "a tenant can be named")
        held("tokens" in await refusal(tools, "compile", task="x", tokens=-1), "fewer than no tokens")
        held("model" in await refusal(tools, "compile", task="x", model="no-such-model"), "a model that is none")
        held("write" in await refusal(tools, "evict", names=["a"]), "the hint is missing")
        held("expected" in await refusal(tools, "promote", names=[], to="front"), "nothing is promoted")
        held("rehydrate" not in await refusal(tools, "rehydrate", id="0123456789abcdef"), "an original of nobody")
        held("expected" in await refusal(tools, "rehydrate", id="t1"), "a message of a conversation that is not ours")
        # An original of another tenant is none.
        held("there is no original" in await refusal(tools, "rehydrate", id=OTHERS), "another tenant's original is read")
        found = await call(tools, "search", query="the secret of the other tenant")
        held("plugh" not in json.dumps(found), "another tenant's object is found")
        try:
            await tools.call_tool("erase", {})
            held(False, "an unknown tool is called")
        except MCPError as error:
            held("compile, explain" in str(error), str(error))
        # Large, but a message; then one that is none, which is refused under its id.
        await call(tools, "write", name="large", content="The pump is hot. " * 50_000)
        await call(tools, "evict", names=["large"])
        try:
            await tools.call_tool("write", {"name": "larger", "content": "x" * (17 << 20)})
            held(False, "a message of 17 MiB is taken")
        except MCPError as error:
            held("longer than" in str(error), str(error))
        await call(tools, "search", query="boiler")


async def narrow(folder):
    async with client(folder, "--tools", "rehydrate,search") as tools:
        listed = [tool.name for tool in (await tools.list_tools()).tools]
        held(listed == ["search", "rehydrate"], listed)
        try:
            await tools.call_tool("write", {"name": "a", "content": "b"})
            held(False, "a tool that is not offered is called")
        except MCPError:
            pass
    async with client(folder, "--user", "bob", "--clearance", "public") as tools:
        held("leave `name` out" in await refusal(tools, "explain", task="x", name="manual"), "not the owner asks why")


async def cancelled(folder):
    """A call that is given up ends, and the next one is answered."""
    async with client(folder, "--registry", "slow") as tools:
        long = " ".join(f"pump{at} is as hot as boiler{at}" for at in range(120_000))
        started = time.monotonic()
        try:
            await tools.call_tool("search", {"query": long[:8_000_000]}, read_timeout_seconds=0.2)
        except MCPError:
            pass
        await call(tools, "search", query="boiler", limit=1)
        held(time.monotonic() - started < 10, "a call that was given up holds up the next one")


def vanish(folder):
    """A client that is gone in the middle of a call leaves no process behind."""
    server = subprocess.Popen([TENURE, "mcp"], cwd=folder, env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/call", "params": {"name": "compile", "arguments": {"task": "pump " * 400_000}}},
    ]
    for line in lines:
        server.stdin.write(json.dumps({"jsonrpc": "2.0"} | line).encode() + b"\n")
    server.stdin.flush()
    server.stdout.readline()
    server.stdout.close()
    server.stdin.close()
    held(server.wait(timeout=10) == 0, "the server does not end when its client is gone")


async def steady(folder, calls):
    async with client(folder) as tools:
        await call(tools, "search", query="boiler")
        started = time.monotonic()
        for _ in range(calls):
            await tools.call_tool("compile", {"task": "How hot may the boiler get?", "tokens": 2000})
        return (time.monotonic() - started) / calls


POINTER = {"text": "".join(f"[{at:03}] compiling unit_{at}.c in folder {at * 7}\n" for at in range(400)) + "error: the link failed\n"}
OTHERS = ""
MESSAGE = ""
LONG = ""


def prepare(folder):
    global OTHERS, MESSAGE, LONG
    (folder / "guide.md").write_text("# Guide\n\n" + "The boiler of hall 3 is cleaned by who runs the pump beside it. " * 30 + "\n")
    tenure(folder, "store", "put", "guide.md")
    (folder / "manual.md").write_text("# Boiler\n\nThe boiler may get 95 degrees hot, no more.\n")
    tenure(folder, "store", "put", "manual.md")
    tenure(folder, "session", "new", "talk")
    said = ["session", "append", "talk", "--text", "How hot is pump 7? Its temperature was high.", "--format", "json"]
    MESSAGE = json.loads(tenure(folder, *said))["messages"][0]
    said[4] = "The boiler of hall 3 was cleaned. " * 60
    LONG = json.loads(tenure(folder, *said))["messages"][0]
    (folder / "build.log").write_text(POINTER["text"])
    condensed = tenure(folder, "condense", "build.log", "--to", "120")
    POINTER["id"] = condensed.strip().rsplit("original ", 1)[1].split("]")[0]
    other = "".join(f"[{at:03}] linking plugh_{at}.c\n" for at in range(400)) + "error: it failed\n"
    (folder / "other.log").write_text(other)
    condensed = tenure(folder, "condense", "other.log", "--to", "120", "--tenant", "acme")
    OTHERS = condensed.strip().rsplit("original ", 1)[1].split("]")[0]
    (folder / "other.md").write_text("The secret of the other tenant is plugh.\n")
    tenure(folder, "store", "put", "other.md", "--tenant", "acme")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        for mode in ["auto", "legacy"]:
            asyncio.run(main_loop(folder, mode))
            with serving(folder) as url:
                asyncio.run(main_loop(folder, mode, url))
        asyncio.run(wrong(folder))
        asyncio.run(narrow(folder))
        asyncio.run(cancelled(folder))
        vanish(folder)
        each = asyncio.run(steady(folder, 200))
    print(f"mcp: {ran} checks held; {each * 1000:.1f} ms for each of 200 compiles, the SDK's own time included")


main()
