"""Makes sets to measure the ranker on from what others publish: it stays under their licences, and is no part of this project.

    python sets.py friendsqa friendsqa_dev.json friendsqa_tst.json > friendsqa.jsonl     # github.com/emorynlp/FriendsQA, dat/
    python sets.py sentences dev-v2.0.json > sentences.jsonl                             # SQuAD 2.0, rajpurkar.github.io/SQuAD-explorer
    python sets.py paragraphs dev-v2.0.json > paragraphs.jsonl
    python sets.py sections docs/ru/docs > sections-ru.jsonl                             # headings, and what stands below: github.com/fastapi/fastapi
    python sets.py stdlib /usr/lib/python3.11 > stdlib.jsonl                             # functions by the first sentence of their docstring
"""

import ast
import json
import random
import re
import sys
from pathlib import Path

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(\[0-9])")
SCENES = 10  # in a collection
GAP = 10  # between what is not said one after the other
FUNCTIONS = 1500


def friendsqa(paths):
    for path in paths:
        scenes = sorted(json.load(open(path))["data"], key=lambda scene: scene["title"])
        for first in range(0, len(scenes), SCENES):
            units, queries, at = [], [], 0
            for scene in scenes[first : first + SCENES]:
                held = scene["paragraphs"][0]
                for said in held["utterances:"]:
                    unit = f"{scene['title']}:{said['uid']}"
                    units.append({"id": unit, "text": said["utterance"], "speaker": ", ".join(said["speakers"]), "order": at})
                    at += 1
                at += GAP
                for asked in held["qas"]:
                    relevant = sorted({f"{scene['title']}:{answer['utterance_id']}" for answer in asked["answers"]})
                    queries.append({"text": asked["question"], "relevant": relevant})
            yield units, queries


def squad(paths, whole):
    for article in (article for path in paths for article in json.load(open(path))["data"]):
        units, queries, at = [], [], 0
        for number, paragraph in enumerate(article["paragraphs"]):
            text = paragraph["context"]
            ends = [] if whole else [match.end() for match in SENTENCE.finditer(text)]
            spans = list(zip([0, *ends], [*ends, len(text)]))
            for start, end in spans:
                units.append({"id": f"{number}:{start}", "text": text[start:end].strip(), "order": at})
                at += 1
            at += GAP
            for asked in paragraph["qas"]:
                if asked["answers"] and not asked.get("is_impossible"):
                    begins = asked["answers"][0]["answer_start"]
                    queries.append({"text": asked["question"], "relevant": [f"{number}:{s}" for s, e in spans if s <= begins < e]})
        yield units, queries


def stdlib(folders):
    found = []
    for path in sorted(path for folder in folders for pattern in ("*.py", "*/*.py") for path in Path(folder).glob(pattern)):
        if any(word in str(path) for word in ("/test", "lib2to3", "dist-packages")):
            continue
        source = path.read_text(errors="replace")
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        lines = source.split("\n")
        for node in ast.walk(tree):
            doc = ast.get_docstring(node) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
            if not doc:
                continue
            first = re.split(r"(?<=[.])\s|\n\n", doc.strip())[0].replace("\n", " ").strip()
            said = node.body[0]
            body = lines[node.lineno - 1 : said.lineno - 1] + lines[said.end_lineno : node.end_lineno]
            if len(first.split()) >= 4 and len(body) >= 3:
                found.append((first, "\n".join(body)[:3000]))
    random.Random(7).shuffle(found)
    found = found[:FUNCTIONS]
    units = [{"id": str(at), "text": text} for at, (_, text) in enumerate(found)]
    yield units, [{"text": first, "relevant": [str(at)]} for at, (first, _) in enumerate(found)]


def sections(folders):
    """Headings of Markdown as queries against what stands below them, without code."""
    found = {}
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*.md")):
        if path.stem in ("release-notes", "external-links"):
            continue
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
        text = re.sub(r"\{[^}]*\}|<[^>]+>|\]\([^)]*\)|\[|/// .*|///", "", text)
        parts = re.split(r"^#+ +(.*)$", text, flags=re.M)
        for heading, body in zip(parts[1::2], parts[2::2]):
            heading = re.sub(r"[`*]", "", heading).strip()
            if heading and len(body) > 150:
                found.setdefault(heading, body.strip()[:1200])
    units = [{"id": str(at), "text": body} for at, body in enumerate(found.values())]
    yield units, [{"text": heading, "relevant": [str(at)]} for at, heading in enumerate(found)]


def main():
    kind, paths = sys.argv[1], sys.argv[2:]
    made = {
        "friendsqa": friendsqa,
        "sentences": lambda paths: squad(paths, whole=False),
        "paragraphs": lambda paths: squad(paths, whole=True),
        "sections": sections,
        "stdlib": stdlib,
    }[kind](paths)
    for units, queries in made:
        print(json.dumps({"name": kind, "units": units, "queries": queries}, ensure_ascii=False))


if __name__ == "__main__":
    main()
