"""Sections of documentation from the packages that data.txt marks for evaluation: none is trained on.

Two lines: headings as queries against the bodies, and first sentences against what follows them.

    python documents.py 900 FOLDER… > documents.jsonl
"""

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "static"))
import corpus


def sections(folders):
    rows = corpus.listed()
    seen = {}
    wanted = {(r[0], f"{r[1]}-{r[2]}") for r in rows.values() if corpus.held_out(r[1])}
    for path in corpus.packages(folders):
        stem = path.name.removesuffix(".crate") if path.suffix == ".crate" else "-".join(path.name.split("-")[:2])
        if not any(name.lower().replace("-", "_").replace(".", "_") == stem.lower().replace("-", "_").replace(".", "_") for _, name in wanted):
            continue
        if corpus.sha256(path) not in rows:
            continue
        name, _, _, texts = corpus.read(path)
        kept = 0
        for kind, heading, paragraphs in corpus.package_sections(texts):
            if not heading or len(corpus.WORD.findall(heading)) < 2 or kept == 12:
                continue
            split = [s for p in paragraphs for s in corpus.sentences(p)]
            first, rest = (split[0], " ".join(split[1:])[:600]) if split else ("", "")
            if 120 <= len(rest) and 25 <= len(first) <= 250 and heading.lower() not in seen:
                seen[heading.lower()] = (name, heading[:120], first, rest)
                kept += 1
    return [seen[k] for k in sorted(seen)]


def main():
    count, folders = int(sys.argv[1]), sys.argv[2:]
    found = sections(folders)
    random.Random(4).shuffle(found)
    found = found[:count]
    for way in ("heading", "first"):
        units, queries = [], []
        for i, (name, heading, first, rest) in enumerate(found):
            units.append({"id": f"{name}:{i}", "text": rest if way == "first" else f"{first} {rest}"[:600]})
            queries.append({"text": heading if way == "heading" else first, "relevant": [units[-1]["id"]]})
        print(json.dumps({"name": f"documents, {way}", "units": units, "queries": queries}, ensure_ascii=False))


if __name__ == "__main__":
    main()
