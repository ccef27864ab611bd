"""Measures `tenure mcp`: the time until it is ready, what a call costs beside its compile, whether memory stays flat.

Usage: mcp_figures.py TENURE [CALLS], with a program of the profile `dist` on a quiet machine.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TENURE = str(pathlib.Path(sys.argv[1]).resolve())
CALLS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


def environment(folder):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    return kept | {"XDG_STATE_HOME": f"{folder}/state", "XDG_CONFIG_HOME": f"{folder}/config"}


class Server:
    def __init__(self, folder):
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [TENURE, "mcp"], cwd=folder, env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.id = 0
        self.ask("initialize", HELLO)
        self.ready = time.perf_counter() - began
        self.say({"method": "notifications/initialized"})

    def say(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.id += 1
        self.say({"id": self.id, "method": method, "params": params})
        return json.loads(self.process.stdout.readline())["result"]

    def call(self, name, arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def timed(self, calls, name, arguments):
        took = []
        for _ in range(calls):
            began = time.perf_counter()
            self.call(name, arguments)
            took.append(time.perf_counter() - began)
        return statistics.median(took) * 1000

    def kilobytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "manual.md").write_text("# Boiler\n\nThe boiler may get 95 degrees hot, no more.\n")
        first = Server(folder)
        put = [TENURE, "store", "put", "manual.md"]
        subprocess.run(put, cwd=folder, env=environment(folder), check=True, stdout=subprocess.DEVNULL)
        first.end()
        ready = []
        for _ in range(20):
            server = Server(folder)
            ready.append(server.ready * 1000)
            server.end()
        print(f"ready after {statistics.median(ready):.1f} ms, {max(ready):.1f} ms at most of 20")
        server = Server(folder)
        compiled = {"task": "How hot may the boiler get?", "tokens": 2000}
        server.timed(200, "compile", compiled)
        # All but the compile: a budget that is refused once the arguments are read, on the thread that compiles.
        refused = server.timed(1000, "compile", compiled | {"originals": ["0123456789abcdef"]})
        whole = server.timed(1000, "compile", compiled)
        print(f"a compile takes {whole:.2f} ms by standard input and output; a call that is refused before it, {refused:.2f} ms")
        before = server.kilobytes()
        for _ in range(CALLS):
            server.call("compile", compiled)
        after = server.kilobytes()
        print(f"memory: {before} kB before {CALLS} calls, {after} kB after them")
        server.end()


main()
