"""Compares `tenure store memory` with the implementation of the memory tool in the provider's own SDK, over random commands.

Usage: memory_tool.py TENURE, with a Python that has the SDK `anthropic`. What differs on purpose is left out: the size of a
folder (ours is the sum of its files), files without text, and which words an operating system has for what it refuses.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from anthropic.tools.memory import BetaLocalFilesystemMemoryTool
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand as Create,
    BetaMemoryTool20250818DeleteCommand as Delete,
    BetaMemoryTool20250818InsertCommand as Insert,
    BetaMemoryTool20250818RenameCommand as Rename,
    BetaMemoryTool20250818StrReplaceCommand as StrReplace,
    BetaMemoryTool20250818ViewCommand as View,
)

TENURE = str(pathlib.Path(sys.argv[1]).resolve())
KINDS = {"view": View, "create": Create, "str_replace": StrReplace, "insert": Insert, "delete": Delete, "rename": Rename}
PATHS = ["/memories", "/memories/", "/memories/a", "/memories/a.md", "/memories/a/b", "/memories/a/b/c", "/memories/d/e.txt", "/memories/.h", "/etc/x"]
TEXTS = ["one", "one\ntwo\n", "two\none\none\n", "ä\n\nb\r\nc", "x" * 1024, "y" * 1500]


def command(chance):
    path = chance.choice(PATHS)
    kind = chance.choice(["view", "create", "create", "str_replace", "insert", "delete", "rename"])
    if kind == "view":
        more = {"path": path}
        if chance.random() < 0.4:
            more["view_range"] = [chance.randint(-1, 3), chance.choice([-1, 1, 2, 9])]
        return {"command": kind} | more
    if kind == "create":
        return {"command": kind, "path": path, "file_text": chance.choice(TEXTS)}
    if kind == "str_replace":
        return {"command": kind, "path": path, "old_str": chance.choice(["one", "two", "b\r", "zz"]), "new_str": chance.choice(["1", "1\n2", "two"])}
    if kind == "insert":
        return {"command": kind, "path": path, "insert_line": chance.randint(-1, 4), "insert_text": chance.choice(["new", "new\n", "a\nb\n\n"])}
    if kind == "delete":
        return {"command": kind, "path": path}
    return {"command": kind, "old_path": path, "new_path": chance.choice(PATHS)}


def theirs(tool, given):
    try:
        return True, tool.execute(KINDS[given["command"]](**given))
    except OSError:
        return False, None
    except Exception as error:
        if type(error).__name__ != "ToolError":
            raise
        return False, str(error)


def ours(folder, given):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    environment |= {"XDG_STATE_HOME": f"{folder}/state", "XDG_CONFIG_HOME": f"{folder}/config", "NO_COLOR": "1"}
    done = subprocess.run(
        [TENURE, "store", "memory", "-"], cwd=folder, env=environment, input=json.dumps(given), capture_output=True, text=True
    )
    if done.returncode == 0:
        return True, done.stdout.removesuffix("\n")
    return False, done.stderr.removeprefix("error: ")


def same(given, one, other):
    (did, said), (does, says) = one, other
    if did != does:
        return False
    if not did:
        # After the message come the places and hints of the command line.
        return said is None or says.startswith(said.replace("\r", "\\r")) or given["command"] == "rename"
    if said.startswith("Here're the files"):
        sizes = lambda text: [line.split("\t")[-1] for line in text.splitlines()]
        files = lambda text: [line for line in text.splitlines()[2:] if not line.endswith("/")]
        return sizes(said) == sizes(says) and files(said) == files(says)
    return said == says


def main():
    chance = random.Random(1)
    compared = 0
    for _ in range(8):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            tool = BetaLocalFilesystemMemoryTool(str(folder / "theirs"))
            for _ in range(40):
                given = command(chance)
                # An empty folder is none here, and there is no folder without files to begin with.
                for root, _, files in os.walk(folder / "theirs/memories", topdown=False):
                    if not os.listdir(root) and not root.endswith("/memories"):
                        os.rmdir(root)
                one, other = theirs(tool, given), ours(folder, given)
                compared += 1
                if not same(given, one, other):
                    sys.exit(f"memory tool: {given}\ntheirs: {one}\nours:   {other}")
    print(f"memory tool: {compared} commands are answered as the provider's own SDK answers them")


main()
