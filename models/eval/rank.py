"""The whole ranker in Python, to choose its few numbers and to measure them.

    python rank.py [--teacher MODEL CACHE] FILE.jsonl…

Documents: recall at 5. Dialogue: recall at 1,000, 2,000 and 4,000 tokens, ceil(characters / 4) of `speaker: text`
for each unit, in rank order up to the first that does not fit.
"""

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import snowballstemmer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "static"))

STEM = snowballstemmer.stemmer("english")
STOP = set(
    "a about above after again against all am an and any are as at be because been before being below between both but by can could did do "
    "does doing down during each few for from further had has have having he her here hers herself him himself his how i if in into is it its "
    "itself just me more most my myself no nor not now of off on once only or other our ours ourselves out over own same she should so some such "
    "than that the their theirs them themselves then there these they this those through to too under until up very was we were what when where "
    "which while who whom why will with would you your yours yourself yourselves s t d m ll re ve don didn isn wasn".split()
)
CACHE = {}


def terms(text):
    out = []
    for w in re.findall(r"\w+", text.lower()):
        if w not in STOP:
            if w not in CACHE:
                CACHE[w] = STEM.stemWord(w)
            out.append(CACHE[w])
    return out


class Lexical:
    """BM25F: term frequencies of the fields, each weighted and normalised by its own length, then saturated."""

    def __init__(self, units, fields, k1=1.2):
        self.n, self.k1 = len(units), k1
        self.post = {}
        for name, weight, b in fields:
            lists = [terms(str(u.get(name) or "")) for u in units]
            mean = max(1.0, sum(map(len, lists)) / max(1, len(lists)))
            for i, ts in enumerate(lists):
                damp = 1 - b + b * len(ts) / mean
                for t in ts:
                    row = self.post.setdefault(t, {})
                    row[i] = row.get(i, 0.0) + weight / damp

    def scores(self, query):
        s = np.zeros(self.n)
        for t in sorted(set(terms(query))):
            row = self.post.get(t)
            if row:
                idf = math.log(1 + (self.n - len(row) + 0.5) / (len(row) + 0.5))
                for i, tf in row.items():
                    s[i] += idf * tf * (self.k1 + 1) / (tf + self.k1)
        return s


def top(s):
    m = s.max(initial=0)
    return np.maximum(s, 0) / m if m > 0 else np.zeros_like(s)


def near(s, units, previous, following, far):
    """What a unit gains from its neighbours: the previous one most, then the next, then those two away."""
    at = {u["order"]: i for i, u in enumerate(units) if "order" in u}
    out = s.copy()
    for o, i in at.items():
        for d, w in ((-1, previous), (1, following), (-2, far), (2, far)):
            j = at.get(o + d)
            if j is not None:
                out[i] += w * s[j]
    return out


def named(query, units, gain):
    words = set(re.findall(r"\w+", query.lower()))
    return np.array([gain if u.get("speaker") and u["speaker"].lower() in words else 0.0 for u in units])


DEFAULT = {"dense": 0.5, "previous": 0.3, "following": 0.1, "far": 0.05, "speaker": 0.3}


def cost(u):
    return math.ceil(len(f"{u['speaker']}: {u['text']}" if u.get("speaker") else u["text"]) / 4)


def recall_at_budget(order, units, relevant, budget):
    """Units in rank order until the first that does not fit."""
    got = 0
    for i in order:
        budget -= cost(units[i])
        if budget < 0:
            break
        got += units[i]["id"] in relevant
    return got / len(relevant)


def ranks(c, lexical, dense, p, fusion="max"):
    """Scores of every unit for every query. dense: (queries, units) cosines or None."""
    units = c["units"]
    for k, q in enumerate(c["queries"]):
        lex = lexical.scores(q["text"]) if lexical else np.zeros(len(units))
        den = np.maximum(dense[k], 0) if dense is not None else np.zeros(len(units))
        if fusion == "rrf":
            place = lambda s: np.argsort(np.argsort(-s, kind="stable"), kind="stable")
            s = 1 / (60 + place(lex)) + 1 / (60 + place(den))
        else:
            s = (1 - p["dense"]) * top(lex) + p["dense"] * top(den) if dense is not None and lexical else lex + den
        if p.get("previous"):
            s = near(s, units, p["previous"], p["following"], p["far"])
        if p.get("speaker"):
            s = top(s) + named(q["text"], units, p["speaker"])
        yield q, np.argsort(-s, kind="stable")


def measure(c, lexical, dense, p, fusion="max"):
    budgets = (1000, 2000, 4000)
    rows = []
    for q, order in ranks(c, lexical, dense, p, fusion):
        relevant = set(q["relevant"])
        if c.get("name", "").startswith("documents"):
            rows.append([len(relevant & {c["units"][i]["id"] for i in order[:5]}) / len(relevant)])
        else:
            rows.append([recall_at_budget(order, c["units"], relevant, b) for b in budgets])
    return np.mean(rows, axis=0)


FIELDS = [("text", 1.0, 0.75), ("speaker", 0.3, 0.0)]


def load(paths):
    return [json.loads(line) for path in paths for line in open(path)]


def table_cosines(table, c, among=True):
    """among: with the rarity of the pieces in this collection, as the ranker does."""
    unit = lambda m: m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-9)
    factors = table.among([x["text"] for x in c["units"]]) if among else None
    u = unit(np.array([table.embed(x["text"], factors) for x in c["units"]], float))
    q = unit(np.array([table.embed(x["text"], factors) for x in c["queries"]], float))
    return q @ u.T


def teacher_cosines(teacher, c):
    u = teacher.embed([teacher.pieces(x["text"]) for x in c["units"]])
    q = teacher.embed([teacher.pieces(x["text"]) for x in c["queries"]])
    return q @ u.T


def main():
    arguments, teacher = sys.argv[1:], None
    if arguments[:1] == ["--teacher"]:
        from teacher import Teacher

        teacher, arguments = Teacher(arguments[1], arguments[2], fast=True), arguments[3:]
    import static_table

    table = static_table.Table(HERE.parent / "static/table.bin")
    alone = {"dense": DEFAULT["dense"]}
    say = lambda what, rows: print(f"{what:34}", " ".join(f"{x:.3f}" for x in np.mean(rows, axis=0)), flush=True)
    sets = {}
    for c in load(arguments):
        sets.setdefault(c.get("name", "dialogue"), []).append(c)
    for name, held in sets.items():
        print(f"{name}: {len(held)} collections, {sum(len(c['queries']) for c in held)} queries")
        text = [Lexical(c["units"], FIELDS[:1]) for c in held]
        ours = [table_cosines(table, c) for c in held]
        each = list(zip(held, text, ours))
        say("BM25", [measure(c, x, None, alone) for c, x, _ in each])
        say("table, idf of the fit only", [measure(c, None, table_cosines(table, c, False), alone) for c in held])
        say("table", [measure(c, None, d, alone) for c, _, d in each])
        say("BM25 + table, reciprocal ranks", [measure(c, x, d, alone, "rrf") for c, x, d in each])
        say("BM25 + table", [measure(c, x, d, alone) for c, x, d in each])
        if teacher:
            theirs = [teacher_cosines(teacher, c) for c in held]
            say("teacher", [measure(c, None, d, alone) for c, d in zip(held, theirs)])
            say("BM25 + teacher", [measure(c, x, d, alone) for c, x, d in zip(held, text, theirs)])
        if name == "dialogue":
            fields = [Lexical(c["units"], FIELDS) for c in held]
            say("BM25F + neighbours + speakers", [measure(c, x, None, DEFAULT) for c, x in zip(held, fields)])
            say("the whole ranker", [measure(c, x, d, DEFAULT) for c, x, d in zip(held, fields, ours)])
            if teacher:
                say("the same with the teacher", [measure(c, x, d, DEFAULT) for c, x, d in zip(held, fields, theirs)])


if __name__ == "__main__":
    main()
