"""Makes labelled sets for the question what of memory and guidance a task needs, from what others published: it stays under
their licences, and is no part of this project. The tasks and what each needs stand in `activation.jsonl`.

    python activation.py skills SKILLS/skills > skills.jsonl   # github.com/anthropics/skills: sections of skills
    python activation.py talk SGD > talk.jsonl                 # github.com/google-research-datasets/dstc8-schema-guided-dialogue
    python activation.py docs documents.jsonl > docs.jsonl     # sections of the documentation of packages, which is here

A line is a set: `units` with `id`, `name` and `text`; `queries` with `text`, what is `relevant`, and what is `neutral`: of the
same source, and counted neither as needed nor as irrelevant. `TENURE_ACTIVATION=FILES cargo test -p tenure-workspace --test runner --
activation:: --nocapture` gives the curve of files that are parted by colons.
"""

import json
import random
import re
import sys
from pathlib import Path

LONGEST = 1200  # characters of a unit
OTHERS = 200  # units that no task needs


def skills(folder):
    units = []
    for path in sorted(Path(folder).glob("*/SKILL.md")):
        skill = path.parent.name
        text = re.sub(r"\A---.*?^---\s*$", "", path.read_text(), flags=re.S | re.M)
        # A line within a fence is no heading.
        fenced = re.sub(r"```.*?```", lambda fence: fence[0].replace("\n#", "\n\x00"), text, flags=re.S)
        parts = re.split(r"^#+ +(.*)$", fenced, flags=re.M)
        for heading, body in zip(parts[1::2], parts[2::2]):
            heading = re.sub(r"^(Step \d+: |Phase \d+: )", "", heading.strip())
            body = body.replace("\x00", "#").strip()
            if len(body) >= 40:
                units.append({"id": f"{skill}/{heading}", "name": heading, "text": f"{heading}\n{body[:LONGEST]}", "of": skill})
    yield units, list(labelled("skills", units))


def tasks(kind):
    lines = (Path(__file__).parent / "activation.jsonl").read_text().splitlines()
    return [task for task in map(json.loads, lines) if task["set"] == kind]


def labelled(kind, units):
    """The tasks of this kind with what they need; what is of the same source is neutral."""
    of = {unit["id"]: unit["of"] for unit in units}
    for task in tasks(kind):
        relevant = [need for need in task["needs"] if need in of]
        if not relevant:
            print(f"no unit for: {task['task']}", file=sys.stderr)
            continue
        same = {of[need] for need in relevant}
        neutral = [unit["id"] for unit in units if unit["of"] in same and unit["id"] not in relevant]
        yield {"text": task["task"], "relevant": relevant, "neutral": neutral}


def talk(folder):
    """Conversations about one matter each, a note for each; those about the same kind of matter are neutral."""
    wanted = {need.split()[0] for task in tasks("talk") for need in task["needs"]}
    units = []
    for name in sorted(wanted):
        part, number = name.split("/")
        for said in json.loads((Path(folder) / part / f"dialogues_{number}.json").read_text()):
            if len(said["services"]) == 1:
                lines = [f"{turn['speaker'].lower()}: {turn['utterance']}" for turn in said["turns"]]
                of = said["services"][0].split("_")[0]
                units.append({"id": f"{name} {said['dialogue_id']}", "name": said["dialogue_id"], "text": "\n".join(lines)[:LONGEST], "of": of})
    needed = {need for task in tasks("talk") for need in task["needs"]}
    others = random.Random(7).sample([unit for unit in units if unit["id"] not in needed], OTHERS)
    units = [unit for unit in units if unit["id"] in needed] + others
    yield units, list(labelled("talk", units))


def docs(path):
    """Sections of the documentation of many packages; those of the same package are neutral."""
    units = {}
    for line in Path(path).read_text().splitlines():
        for unit in json.loads(line)["units"]:
            of = unit["id"].split(":")[0].split("-")[0]
            units.setdefault(unit["id"], {"id": unit["id"], "name": unit["id"].replace(":", "-"), "text": unit["text"][:LONGEST], "of": of})
    needed = {need for task in tasks("docs") for need in task["needs"]}
    others = random.Random(7).sample(sorted(set(units) - needed), OTHERS)
    units = [units[name] for name in [*sorted(needed & set(units)), *others]]
    yield units, list(labelled("docs", units))


def main():
    kind, paths = sys.argv[1], sys.argv[2:]
    made = {"skills": skills, "talk": talk, "docs": docs}[kind](paths[0])
    for units, queries in made:
        units = [{key: unit[key] for key in ("id", "name", "text")} for unit in units]
        print(json.dumps({"name": kind, "units": units, "queries": queries}, ensure_ascii=False))


if __name__ == "__main__":
    main()
