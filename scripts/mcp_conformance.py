"""Holds `tenure mcp` and `/mcp` of `tenure serve` against the conformance suite of MCP and the command line of its inspector.

Usage: mcp_conformance.py TENURE NODE TOOLS [--list]
NODE is the program, TOOLS the folder with `node_modules`. --list prints what is left out and why, and runs nothing.

The suite speaks HTTP alone. For standard input and output a bridge stands between that gives each message of a request to
a process of `tenure mcp`; what is about HTTP itself is left out there.
"""

import concurrent.futures
import http.server
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading

TENURE, NODE, TOOLS = sys.argv[1:4]
MODULES = pathlib.Path(TOOLS).resolve() / "node_modules"
SUITE = str(MODULES / "@modelcontextprotocol/conformance/dist/index.js")
INSPECTOR = str(MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
REVISIONS = ["2025-11-25", "2026-07-28"]

# Scenarios that do not apply, by the beginning of their names, with the reason.
OTHER_TOOLS = "calls a tool of the suite's own example server"
OUT = {
    "tools-call-": OTHER_TOOLS,
    "elicitation-": OTHER_TOOLS,
    "json-schema-2020-12": OTHER_TOOLS,
    "resources-read-": "reads a resource of the suite's own example server",
    "resources-templates-read": "reads a resource of the suite's own example server",
    "prompts-get-": "gets a prompt of the suite's own example server",
    "input-required-result-": "the server never asks back: no tool elicits, samples or lists roots",
    "tasks-": "the extension for tasks is not offered: calls are answered at once",
    "http-custom-header-server-validation": "no argument of a tool is also a header",
    "completion-complete": "completion is not offered: names of objects are not for every caller",
    "logging-set-level": "logging by the protocol is deprecated and not offered",
    "resources-subscribe": "subscriptions are not offered: a resource is read when it is wanted",
    "resources-unsubscribe": "subscriptions are not offered: a resource is read when it is wanted",
    "sep-2640-": "the extension for skills is not offered",
}
# Scenarios of the handshakes before 2026 that do not apply.
OUT_BEFORE = {
    "server-sse-polling": "there is no session of the protocol: the specification lets a server do without",
    "server-sse-multiple-streams": "there is no session of the protocol: the specification lets a server do without",
    "server-session-lifecycle": "there is no session of the protocol: the specification lets a server do without",
}
# Single checks of scenarios that do apply.
OUT_CHECKS = {
    "sep-2575-server-rejects-undeclared-capability": OTHER_TOOLS,
    "sep-2575-missing-capability-http-400": OTHER_TOOLS,
    "sep-2575-http-server-no-independent-requests-on-stream": OTHER_TOOLS,
    "sep-2575-server-no-log-without-loglevel": OTHER_TOOLS,
}
# What is about HTTP itself, which the bridge is and not `tenure mcp`.
HTTP_ALONE = {
    "dns-rebinding-protection": "about HTTP",
    "http-header-validation": "about HTTP",
    "server-stateless": "about HTTP: statuses and headers",
    "server-sse-multiple-streams": "about HTTP",
}


def reason(scenario, revision):
    if revision < "2026" and scenario in OUT_BEFORE:
        return OUT_BEFORE[scenario]
    found = [why for name, why in OUT.items() if scenario == name or (name.endswith("-") and scenario.startswith(name))]
    return found[0] if found else None


def fail(what):
    print(f"mcp: {what}", file=sys.stderr, flush=True)
    os._exit(1)


def environment(folder):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    return kept | {"XDG_STATE_HOME": f"{folder}/state", "XDG_CONFIG_HOME": f"{folder}/config", "NO_COLOR": "1"}


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60)
    if done.returncode:
        fail(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


class Process:
    """A process of `tenure mcp`, which is started anew for each handshake."""

    def __init__(self, folder):
        self.folder, self.process, self.turn = folder, None, threading.Lock()

    def start(self):
        self.stop()
        self.process = subprocess.Popen(
            [TENURE, "mcp", "--session", "talk"],
            cwd=self.folder,
            env=environment(self.folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.lines = queue.Queue()
        output = self.process.stdout

        def read(lines=self.lines):
            for line in output:
                lines.put(json.loads(line))

        threading.Thread(target=read, daemon=True).start()

    def stop(self):
        if self.process:
            self.process.stdin.close()
            if self.process.wait(timeout=10):
                fail("`tenure mcp` ends with a failure")
            self.process = None

    def ask(self, message):
        with self.turn:
            if message.get("method") == "initialize" or self.process is None:
                self.start()
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
            while "id" in message:
                answer = self.lines.get(timeout=20)
                if answer.get("id") == message["id"] and "method" not in answer:
                    return answer


def bridge(process):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            answer = process.ask(json.loads(body))
            text = json.dumps(answer).encode() if answer else b""
            self.send_response(200 if answer else 202)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self):
            self.send_error(405)

        do_DELETE = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/mcp"


def scenarios(folder, revision):
    """The scenarios of a revision, those that came after its release included."""
    listed = run(folder, NODE, SUITE, "list", "--server", "--spec-version", revision)
    names = [line.strip()[2:].split(" ")[0] for line in listed.splitlines() if line.strip().startswith("- ")]
    if len(names) < 30:
        fail(f"the suite lists {names}")
    return names


def hold(folder, url, revision, scenario):
    """Runs a scenario, and gives the number of its checks that passed."""
    out = folder / "results" / f"{revision}-{scenario}-{url.rsplit(':', 1)[1].split('/')[0]}"
    command = [NODE, SUITE, "server", "--url", url, "--spec-version", revision, "--scenario", scenario, "-o", str(out)]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60)
    checks = [check for file in out.rglob("checks.json") for check in json.loads(file.read_text())]
    if not checks and done.returncode:
        fail(f"{scenario} of {revision} at {url}: {done.stdout}{done.stderr}")
    bad = [check for check in checks if check["status"] in ("FAILURE", "WARNING") and check["id"] not in OUT_CHECKS]
    for check in bad:
        said = check.get("errorMessage") or check.get("details")
        print(f"mcp: {scenario} of {revision} at {url}: {check['id']}: {said}", file=sys.stderr, flush=True)
    return len([check for check in checks if check["status"] == "SUCCESS"]), len(bad)


def conformance(folder, targets):
    jobs = []
    for revision in REVISIONS:
        for scenario in scenarios(folder, revision):
            if reason(scenario, revision):
                continue
            jobs += [(url, revision, scenario) for url, is_http in targets if is_http or scenario not in HTTP_ALONE]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        # One at a time at the bridge, whose process has one handshake.
        locks = {url: threading.Lock() if not is_http else None for url, is_http in targets}

        def one(job):
            lock = locks[job[0]]
            if lock is None:
                return hold(folder, *job)
            with lock:
                return hold(folder, *job)

        results = list(pool.map(one, jobs))
    if any(bad for _, bad in results):
        fail("the suite is not held")
    return len(jobs), sum(passed for passed, _ in results)


def inspect(folder, target, label):
    """The inspector's command line lists, calls and reads."""

    def ask(*arguments):
        said = run(folder, NODE, INSPECTOR, "--cli", *target, *arguments, "--format", "json")
        return json.loads(said)["result"]

    tools = [tool["name"] for tool in ask("--method", "tools/list")["tools"]]
    if tools != ["compile", "explain", "search", "rehydrate", "write", "promote", "evict", "rollback", "propose"]:
        fail(f"{label}: the inspector lists {tools}")
    found = ask("--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=boiler")
    if found["structuredContent"]["passages"][0]["name"] != "manual":
        fail(f"{label}: the inspector finds {found}")
    listed = ask("--method", "resources/list")["resources"]
    if [entry["name"] for entry in listed] != ["talk"]:
        fail(f"{label}: the inspector lists {listed}")
    read = ask("--method", "resources/read", "--uri", listed[0]["uri"])
    if "How hot is pump 7?" not in read["contents"][0]["text"]:
        fail(f"{label}: the inspector reads {read}")
    forms = [entry["name"] for entry in ask("--method", "resources/templates/list")["resourceTemplates"]]
    if "session" not in forms or "record" not in forms:
        fail(f"{label}: the inspector lists {forms}")
    prompts = [prompt["name"] for prompt in ask("--method", "prompts/list")["prompts"]]
    if prompts != ["context"]:
        fail(f"{label}: the inspector lists {prompts}")
    asked = ["--prompt-name", "context", "--prompt-args", "task=How hot may the boiler get?"]
    got = ask("--method", "prompts/get", *asked)
    if "95 degrees" not in got["messages"][0]["content"]["text"]:
        fail(f"{label}: the inspector gets {got}")
    return 7


def main():
    if "--list" in sys.argv:
        for names in (OUT, OUT_BEFORE, OUT_CHECKS, HTTP_ALONE):
            for name, why in names.items():
                print(f"{name:56} {why}")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "manual.md").write_text("# Boiler\n\nThe boiler may get 95 degrees hot, no more.\n")
        run(folder, TENURE, "store", "put", "manual.md")
        run(folder, TENURE, "session", "new", "talk")
        run(folder, TENURE, "session", "append", "talk", "--text", "How hot is pump 7?")
        command = [TENURE, "serve", "--listen", "127.0.0.1:0"]
        server = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process = Process(folder)
        try:
            url = server.stdout.readline().decode().strip()
            if not url.startswith("http://"):
                fail(f"`tenure serve` says {url}")
            at = f"{url}/mcp?session=talk"
            ran, passed = conformance(folder, [(at, True), (bridge(process), False)])
            commands = inspect(folder, [at], "HTTP")
            # It hands its own servers few variables of its environment: what was made here is named.
            store = f"sqlite://{folder}/.tenure/store.db"
            commands += inspect(folder, [TENURE, "mcp", "--session", "talk", "--store", store], "stdio")
            process.stop()
        finally:
            server.terminate()
            server.wait(timeout=40)
    print(f"mcp: {ran} scenarios of the conformance suite, {passed} checks passed; {commands} commands of the inspector")


main()
