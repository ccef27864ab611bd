"""The tools of an agent that is a loop around a library, run in the project's folder."""

import json
import os
import pathlib
import subprocess
import sys

SYSTEM = "You are an agent that works on the project in the current folder. Call tools until the task is done.\n\n"
# What an agent adds in the middle of a conversation, in the name of its developer.
LATE = "\n".join(
    ["The following skills are available from now on:"]
    + [f"- skill-{name}: use it whenever the task speaks of a {name} and of nothing else." for name in ("pump", "valve", "rotor", "gauge", "drain")]
)
LATE_AT = 5  # the answer of the model after which LATE comes


def read_file(path: str) -> str:
    """Read a file of the project."""
    return pathlib.Path(path).read_text()


def run_command(command: str) -> str:
    """Run a command in the project's folder and return what it prints."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    return (done.stdout + done.stderr).strip() or "(nothing)"


def edit_file(path: str, old: str, new: str) -> str:
    """Replace a text in a file."""
    text = pathlib.Path(path).read_text()
    if old not in text:
        return "The text is not in the file."
    pathlib.Path(path).write_text(text.replace(old, new))
    return "Edited."


def schema(*names):
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names), "additionalProperties": False}


FUNCTIONS = [read_file, run_command, edit_file]
SCHEMAS = {"read_file": schema("path"), "run_command": schema("command"), "edit_file": schema("path", "old", "new")}
BY_NAME = {function.__name__: function for function in FUNCTIONS}


def call(name, arguments):
    return BY_NAME[name](**(json.loads(arguments) if isinstance(arguments, str) else arguments))


def given():
    """(base URL, model, headers, what the user asks, instructions, the other arguments)."""
    url, model, prompt, *rest = sys.argv[1:]
    headers = json.loads(os.environ.get("AGENT_HEADERS") or "{}")
    return url, model, headers, prompt, SYSTEM + pathlib.Path("AGENTS.md").read_text(), rest


def patiently(ask, wrong):
    """Asks again where an answer breaks off, as a loop that is to survive does."""
    for left in range(3, -1, -1):
        try:
            return ask()
        except wrong:
            if not left:
                raise
