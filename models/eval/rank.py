"""The whole ranker in Python (docs/reference/ranking.md) but for dates, to choose its few numbers and to measure them.

    python rank.py FILE.jsonl…

Documents and code: recall at 5. Else: recall at 500, 1,000 and 2,000 tokens, ceil(characters / 4) of `speaker: text`
for each unit, in rank order up to the first that does not fit.
"""

import collections
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


def term(w):
    if w not in CACHE:
        CACHE[w] = STEM.stemWord(w) if len(w) > 2 and re.fullmatch("[a-z]+", w) else w
    return CACHE[w]


def terms(text):
    """Words, the parts of camelCase, and names joined with `_` as a whole."""
    out = []
    for w in re.findall(r"[^\W_]+", text):
        parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", w) if re.search("[a-z][A-Z]", w) and w.isascii() else []
        out += [term(x) for x in [w.lower(), *map(str.lower, parts)] if x not in STOP]
    return out + [n.lower() for n in (m.strip("_") for m in re.findall(r"[A-Za-z0-9_]+", text)) if "_" in n and len(n) <= 64]


FIELDS = [("text", 1.0, 0.75), ("name", 1.0, 0.0), ("speaker", 0.6, 0.0), ("date", 0.3, 0.0)]
DEFAULT = {"dense": 0.45, "turns": 0.4, "before": (0.4, 0.2, 0.05), "after": (0.3, 0.2, 0.05), "section": 0.45, "opener": 0.1, "speaker": 0.2}
ALONE = {**DEFAULT, "before": (0, 0, 0), "after": (0, 0, 0), "section": 0, "opener": 0, "speaker": 0}
LONGEST = 64
NEAR = 0.15  # the share of a near word


def runs(units):
    """Runs of neighbours, as places among the units."""
    line = sorted((u["order"], i) for i, u in enumerate(units) if "order" in u)
    out = []
    for k, (order, i) in enumerate(line):
        if k and order - line[k - 1][0] <= 1:
            out[-1].append(i)
        else:
            out.append([i])
    return out


class Lexical:
    """BM25F: term frequencies of the fields, each weighted and normalised by its own length, those of neighbours by shares, then saturated."""

    def __init__(self, units, p, k1=1.2):
        self.n, self.k1 = len(units), k1
        own = {}
        for name, weight, b in FIELDS:
            lists = [terms(str(u.get(name) or "")) for u in units]
            mean = max(1.0, sum(map(len, lists)) / max(1, len(lists)))
            for i, ts in enumerate(lists):
                damp = 1 - b + b * len(ts) / mean
                for t in ts:
                    row = own.setdefault(t, {})
                    row[i] = row.get(i, 0.0) + weight / damp
        near = {i: [] for i in range(self.n)}
        for run in runs(units):
            for at, i in enumerate(run):
                for away in (1, 2, 3):
                    if at + away < len(run):
                        near[i].append((run[at + away], p["before"][away - 1]))
                    if at - away >= 0:
                        near[i].append((run[at - away], p["after"][away - 1]))
        self.post, self.own = {}, own
        for t, row in own.items():
            shared = dict(row)
            for i, tf in row.items():
                for j, share in near[i]:
                    if share:
                        shared[j] = shared.get(j, 0.0) + share * tf
            self.post[t] = (len(row), shared)

    def scores(self, query, near=()):
        s = np.zeros(self.n)
        for t, times in sorted(collections.Counter(terms(query)).items()):
            if t in self.post:
                holders, row = self.post[t]
                idf = (1 + math.log(times)) * math.log(1 + (self.n - holders + 0.5) / (holders + 0.5))
                for i, tf in row.items():
                    s[i] += idf * tf * (self.k1 + 1) / (tf + self.k1)
        found = np.flatnonzero(s)
        weak = {t for word in near for t in terms(word)} - set(terms(query))
        for t in sorted(weak & self.own.keys()):
            row = self.own[t]
            idf = math.log(1 + (self.n - len(row) + 0.5) / (len(row) + 0.5))
            for i in found:
                tf = row.get(i, 0.0)
                s[i] += NEAR * idf * tf * (self.k1 + 1) / (tf + self.k1)
        return s


def top(s):
    m = s.max(initial=0)
    return np.maximum(s, 0) / m if m > 0 else np.zeros_like(s)


def sections(s, units, p):
    held = [run for run in runs(units) if 2 <= len(run) <= LONGEST]
    means = s.copy()
    for run in held:
        means[run] = np.sort(s[run])[-3:].mean()
    if means.max(initial=0) <= 0:
        return s
    out = s * (1 + p["section"] * means / means.max())
    for run in held:
        out[run[0]] *= 1 + p["opener"]
    return top(out)


def named(query, units, gain):
    words = set(re.findall(r"[^\W_]+", query.lower())) - STOP
    said = lambda u: set(re.findall(r"[^\W_]+", (u.get("speaker") or "").lower()))
    return np.array([gain if said(u) & words else 0.0 for u in units])


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


def ranks(c, lexical, dense, p, near=None):
    """The order of the units for every query. dense: (queries, units) cosines or None."""
    units = c["units"]
    for k, q in enumerate(c["queries"]):
        s = top(lexical.scores(q["text"], near(q["text"]) if near else ())) if lexical else np.zeros(len(units))
        if dense is not None:
            share = np.array([p["turns"] if "order" in u and u.get("speaker") else p["dense"] for u in units])
            s = (1 - share) * s + share * top(np.maximum(dense[k], 0))
        s = sections(s, units, p)
        if p["speaker"]:
            s = s + named(q["text"], units, p["speaker"])
        yield q, np.argsort(-s, kind="stable")


def measure(c, lexical, dense, p, near=None):
    rows = []
    for q, order in ranks(c, lexical, dense, p, near):
        relevant = set(q["relevant"])
        if not any("order" in u for u in c["units"]):
            rows.append([len(relevant & {c["units"][i]["id"] for i in order[:5]}) / len(relevant)])
        else:
            rows.append([recall_at_budget(order, c["units"], relevant, b) for b in (500, 1000, 2000)])
    return rows


def table_cosines(table, c):
    unit = lambda m: m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-9)
    u = unit(np.array([table.embed(x["text"]) for x in c["units"]], float))
    q = unit(np.array([table.embed(x["text"]) for x in c["queries"]], float))
    return q @ u.T


def main():
    import static_table

    table = static_table.Table(HERE.parent / "static/table.bin")
    say = lambda what, rows: print(f"{what:34}", " ".join(f"{x:.3f}" for x in np.mean(sum(rows, []), axis=0)), flush=True)
    for path in sys.argv[1:]:
        held = [json.loads(line) for line in open(path)]
        print(f"{path}: {len(held)} collections, {sum(len(c['queries']) for c in held)} queries")
        alone = [Lexical(c["units"], ALONE) for c in held]
        whole = [Lexical(c["units"], DEFAULT) for c in held]
        dense = [table_cosines(table, c) for c in held]
        say("BM25F", [measure(c, x, None, ALONE) for c, x in zip(held, alone)])
        say("table", [measure(c, None, d, ALONE) for c, d in zip(held, dense)])
        say("BM25F + table", [measure(c, x, d, ALONE) for c, x, d in zip(held, alone, dense)])
        say("the whole ranker", [measure(c, x, d, DEFAULT, table.near) for c, x, d in zip(held, whole, dense)])


if __name__ == "__main__":
    main()
