"""The task that every client gets: a project folder, the script of the model, and what is true at the end.

The model reads files and runs a program for many steps, then edits one file, looks at it, and says that it is done. It calls
the tools that the client offers, by their names and parameters.
"""

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path

from .wire import Call, Say, Think

# Eight rules, one of them a prohibition. Each is one line with a marker of its own.
RULES = [
    "- RULE-ALDER: Report every pressure in kilopascal.",
    "- RULE-BIRCH: Name new functions after the verb that they do.",
    "- RULE-CEDAR: Never change or delete a file below `vendor/`.",
    "- RULE-DOGWOOD: Keep every line shorter than 120 characters.",
    "- RULE-ELM: Write dates as year, month and day, with hyphens.",
    "- RULE-FIR: Add a line to `CHANGES.md` for whatever a user sees.",
    "- RULE-GINKGO: Answer in British English.",
    "- RULE-HAZEL: Run `python3 check.py` before you say that you are done.",
]
FACTS = {n: f"{4100 + 37 * n}-K{chr(65 + n)}" for n in range(1, 7)}  # the calibration of each pump, planted in the files
DONE = "The calibration is set and checked."
READING = "Read the modules in stations/ one after the other, and look at the log of each station with `python3 show.py N`. "
EDITING = (
    "Set CALIBRATION in settings.py to the calibration of pump 3, which one of the modules in stations/ states, and run `python3 check.py` at the "
    "end. Then tell me the calibrations of pumps 1 to 6."
)
GOAL = READING + EDITING
OLD, NEW = 'CALIBRATION = "unknown"', f'CALIBRATION = "{FACTS[3]}"'
WORDS = "valve seal rotor intake drain gauge filter relay motor sensor flange bearing manifold coupling housing impeller".split()
TRIES = 8  # so often a step is asked for, at most: a model that does not see what it did would go on for ever
READ, SHOW, PAIR, PAUSE, EDIT, CHECK, SAY = "read", "show", "pair", "pause", "edit", "check", "say"


@dataclass
class Step:
    kind: str
    number: int = 0


class Task:
    """A folder with the project, and the script."""

    def __init__(self, folder, steps=24, size=12_000, instructions=("CLAUDE.md", "AGENTS.md"), twice=False):
        self.folder, self.size = Path(folder), size
        self.steps = script(steps, twice)
        self.make(instructions)

    def make(self, instructions):
        (self.folder / "stations").mkdir(parents=True)
        (self.folder / "vendor").mkdir()
        (self.folder / "vendor" / "units.py").write_text("KILOPASCAL = 1000\n")
        (self.folder / "settings.py").write_text(f'"""What the stations are set to."""\n\n{OLD}\nLIMIT_KPA = 840\n')
        (self.folder / "CHANGES.md").write_text("# Changes\n")
        (self.folder / "check.py").write_text('import settings\n\nprint("ok" if settings.CALIBRATION != "unknown" else "not set")\n')
        (self.folder / "show.py").write_text(SHOW_PY.replace("SIZE", str(self.size)))
        for name in instructions:
            (self.folder / name).write_text("# How to work on this project\n\n" + "\n".join(RULES) + "\n")
        for number in range(1, len(self.steps) + 1):
            (self.folder / module(number)).write_text(source(number, self.size))

    def done(self):
        """What is not as it should be, in words; empty if the task was done."""
        text = (self.folder / "settings.py").read_text()
        if NEW not in text:
            return "settings.py was not edited"
        return "" if (self.folder / "vendor" / "units.py").exists() else "vendor/ was touched"


def script(steps, twice):
    """So many answers of the model: reading and looking, then the edit, the check and the end. With `twice`, the user asks in two messages."""
    found = []
    number = 0
    for at in range(steps - 4):
        kind = PAIR if at % 5 == 4 else SHOW if at % 2 else READ
        number += kind != SHOW
        found.append(Step(PAUSE if twice and at == steps - 8 else kind, number))
    return [*found, Step(READ, 0), Step(EDIT), Step(CHECK), Step(SAY)]


def module(number):
    return f"stations/station_{number:02}.py" if number else "settings.py"


def source(number, size):
    """A module of a station, different from each other one."""
    dice = random.Random(number)
    lines = [f'"""Station {number}: how its pump is driven."""', "", f"STATION = {number}"]
    if number in FACTS:
        lines.append(f"# The calibration of pump {number} is {FACTS[number]}; the works measured it on 2026-0{number}-1{number}.")
    length = sum(map(len, lines))
    while length < size:
        first, second, value = dice.choice(WORDS), dice.choice(WORDS), dice.randrange(10_000)
        part = [
            "",
            f"def {first}_{second}_{value}(reading, limit={dice.randrange(100, 900)}):",
            f'    """Compare the {first} of station {number} with its {second}."""',
            f"    if reading > limit + {dice.randrange(50)}:",
            f'        raise ValueError("{first} {value} of station {number} is above the limit")',
            f"    return reading * {dice.random():.4f} + {dice.randrange(1000)}",
        ]
        lines += part
        length += sum(len(line) + 1 for line in part)
    return "\n".join(lines) + "\n"


# Prints a log that no other station's is like; one line of it is an error.
SHOW_PY = '''"""Print the log of a station: `python3 show.py N`."""

import random
import sys

number = int(sys.argv[1])
dice = random.Random(1000 + number)
length, line = 0, 0
while length < SIZE * 2 // 3:
    line += 1
    text = f"2026-11-{1 + line % 28:02} {dice.randrange(24):02}:{dice.randrange(60):02} station {number} pump {dice.randrange(1, 7)} {dice.randrange(300, 800)} kPa {dice.uniform(10, 90):.1f} degrees"
    if line == 40:
        text = f"2026-11-09 11:11 station {number} ERROR seal {number * 7} lost {number * 13} kPa within one minute"
    print(text)
    length += len(text) + 1
'''


# --- what the model calls ------------------------------------------------------------------------


class Script:
    """The model: says what the next answer is, in the tools that the request offers."""

    def __init__(self, task):
        self.task = task
        self.prompts = [READING, EDITING] if any(step.kind == PAUSE for step in task.steps) else [GOAL]
        self.issued = {}  # the id of a call: its step
        self.lines = {}  # how often a step was asked for

    def next(self, view):
        """The step that this request is at: behind the newest call of the script that it answers."""
        answered = [self.issued[id] for id in view.results if id in self.issued]
        at = min(max(answered, default=-1) + 1, len(self.task.steps) - 1)
        return at + (self.task.steps[at].kind == PAUSE and any(EDITING in said for said in view.said("user")))

    def answer(self, view, at, thinking):
        """What the model says at this step."""
        step = self.task.steps[at]
        tries = self.lines[at] = self.lines.get(at, 0) + 1
        if tries > TRIES:
            return [Say("I was asked for this step too often: what I did is not in the request.")]
        said = [Think(f"Step {at}. " + thought(at))] if thinking else []
        if step.kind == PAUSE:
            return [*said, Say("I have read what you asked for so far.")]
        if step.kind == SAY:
            codes = ", ".join(f"pump {n}: {code}" for n, code in FACTS.items())
            return [*said, Say(f"{DONE} {codes}.")]
        said.append(Say(f"Step {at}: {words(step)}"))
        for place, (name, arguments) in enumerate(calls(step, view.tools, self.task.folder)):
            id = f"call_{at:02}{'abc'[place]}{tries}"
            self.issued[id] = at
            said.append(Call(id, name, arguments))
        return said


def thought(at):
    return f"I look at what comes next and keep the rules of the project in mind ({WORDS[at % len(WORDS)]})."


def words(step):
    return {
        READ: f"I read {module(step.number)}.",
        PAIR: f"I read {module(step.number)} and look at its log.",
        SHOW: f"I look at the log of station {step.number}.",
        EDIT: "I set the calibration.",
        CHECK: "I check the settings.",
    }[step.kind]


def calls(step, tools, folder):
    """The calls of a step as (name, arguments)."""
    if step.kind == READ:
        return [read(tools, folder, module(step.number))]
    if step.kind == SHOW:
        return [shell(tools, f"python3 show.py {step.number}", folder)]
    if step.kind == PAIR:
        return [read(tools, folder, module(step.number)), shell(tools, f"python3 show.py {step.number}", folder)]
    if step.kind == EDIT:
        return [edit(tools, folder, "settings.py", OLD, NEW)]
    return [shell(tools, "python3 check.py", folder)]


def offered(tools, names):
    """The first tool of these names, with the names of its parameters and whether it is a custom one."""
    for wanted in names:
        for name, schema, custom in tools:
            if name.lower() == wanted:
                return name, schema.get("properties") or {}, custom
    return None


def read(tools, folder, path):
    found = offered(tools, ["read", "read_file", "view"])
    if not found:
        return shell(tools, f"cat {path}", folder)
    name, properties, _ = found
    place = str(folder / path) if {"file_path", "filePath"} & set(properties) else path
    return name, {parameter(properties, "file_path", "filePath", "path"): place}


def shell(tools, command, folder):
    found = offered(tools, ["bash", "exec_command", "shell_command", "shell", "run_command"])
    if not found:
        raise LookupError(f"the client offers nothing to run a command with, but {[tool[0] for tool in tools]}")
    name, properties, _ = found
    place = parameter(properties, "command", "cmd")
    arguments = {place: ["bash", "-lc", command] if properties.get(place, {}).get("type") == "array" else command}
    if "description" in properties:
        arguments["description"] = "Looks at the project"
    if "workdir" in properties:
        arguments["workdir"] = str(folder)
    return name, arguments


def edit(tools, folder, path, old, new):
    found = offered(tools, ["edit", "edit_file", "apply_patch"])
    if not found:
        return shell(tools, f"sed -i 's/{old}/{new}/' {path}", folder)
    name, properties, custom = found
    if custom or name == "apply_patch":
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch"
        return name, patch if custom else {parameter(properties, "patchText", "input", "patch"): patch}
    place = str(folder / path) if {"file_path", "filePath"} & set(properties) else path
    return name, {
        parameter(properties, "file_path", "filePath", "path"): place,
        parameter(properties, "old_string", "oldString", "old"): old,
        parameter(properties, "new_string", "newString", "new"): new,
    }


def parameter(properties, *names):
    return next((name for name in names if name in properties), names[-1])


# --- a client without tools ----------------------------------------------------------------------


class Talk(Script):
    """The model for a client without tools (aider): each message of the user says its number, and the last one asks for the edit."""

    MARK = "Message "

    def __init__(self, task):
        super().__init__(task)
        self.prompts = ["\n".join(self.messages()) + "\n"]

    def next(self, view):
        return int(self.asked(view)[len(self.MARK) :].split(":")[0]) - 1

    def asked(self, view):
        """The user's last message, whatever stands behind it."""
        return next((said for said in reversed(view.said("user")) if re.match(self.MARK + r"\d+:", said)), "")

    def answer(self, view, at, thinking):
        if at < len(self.task.steps) - 1:
            return [Say(f"Module {at + 1} in short.\n\n" + prose(at + 1, self.task.size))]
        if not any(OLD in block.data.replace('\\"', '"') for block in view.blocks):
            return [Say("I cannot edit settings.py: the request does not show it.")]
        return [Say(f"settings.py\n```python\n<<<<<<< SEARCH\n{OLD}\n=======\n{NEW}\n>>>>>>> REPLACE\n```\n\n{DONE}\n")]

    def messages(self):
        """What the user says, in order."""
        last = len(self.task.steps)
        asked = [f"{self.MARK}{at}: explain what station {at} does, without changing anything." for at in range(1, last)]
        return [*asked, f"{self.MARK}{last}: set CALIBRATION in settings.py to {FACTS[3]}."]


def prose(number, size):
    """An explanation, different from each other one."""
    dice = random.Random(5000 + number)
    lines = [f"The calibration of pump {number} is {FACTS[number]}."] if number in FACTS else []
    while sum(map(len, lines)) < size:
        first, second = dice.sample(WORDS, 2)
        lines.append(f"The {first} of station {number} turns with its {second} at {dice.randrange(300, 800)} kPa, because seal {dice.randrange(9000)} gives way.")
    return "\n".join(lines)


def store_objects(related, count=260):
    """What the tenant's store holds in `full`: facts about the task, or about kitchens."""
    dice = random.Random(7)
    found = []
    for at in range(count):
        if related:
            station, first, second = 1 + at % 24, *dice.sample(WORDS, 2)
            text = f"The {first} of station {station} was replaced by a {second} of type {dice.randrange(9000)}; its pump runs at {dice.randrange(300, 800)} kPa since then."
        else:
            dish, taste = dice.sample("soup bread lentils rice stew custard pancakes dumplings broth salad".split(), 2)
            text = f"Grandmother's {dish} number {at} simmers for {dice.randrange(5, 90)} minutes and goes well with {taste}."
        source = {"source_id": f"notebook-{at // 20}", "retrieved_at": "2026-11-20T09:00:00Z"}
        found.append({"name": f"note-{at:03}", "content": text, "object_type": "retrieved_passage", "provenance": source})
    return json.dumps(found)
