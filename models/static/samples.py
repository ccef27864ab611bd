"""The training texts, in a fixed order: prose of the listed archives, everyday talk, and words in small groups."""

import random
import re

import corpus
import everyday

PROSE = 110_000
LINES = 20_000
EVERYDAY = 45_000
GROUPS = 60_000


def prose(paths, use="training"):
    """Sentences, short runs of them, and headings with what follows, from the archives with this use."""
    rows = corpus.listed()
    r = random.Random(7)
    singles, lines = [], []
    for path in paths:
        if corpus.sha256(path) not in rows or corpus.held_out(rows[corpus.sha256(path)][1]) != (use != "training"):
            continue
        for kind, heading, paragraphs in corpus.package_sections(corpus.read(path)[3]):
            for p in paragraphs:
                if kind in ("lines", "chat"):
                    lines.append(p[:400])
                    continue
                if not corpus.prose(p):
                    continue
                s = corpus.sentences(p)
                singles.extend(x[:400] for x in s)
                if len(s) > 1:
                    at = r.randrange(len(s))
                    run = " ".join(s[at : at + r.randint(2, 5)])
                    singles.append(f"{heading}. {run}"[:700] if heading and r.random() < 0.3 else run[:700])
            if heading and corpus.WORD.search(heading):
                singles.append(heading[:120])
    singles, lines = sorted(set(singles)), sorted(set(lines))
    r.shuffle(singles)
    r.shuffle(lines)
    return singles[:PROSE], lines[:LINES]


def groups(vocabulary):
    """Two to six whole words together: every word of the vocabulary is seen about twenty times."""
    r = random.Random(5)
    words = [w for w in vocabulary if re.fullmatch(r"[a-z]{3,}", w)]
    frames = ["{} {}", "{} and {}", "the {} of the {}", "What about the {} and {}?", "{} {} {}", "I like {} and {}.", "{}, {}, {}, {}", "a {} with a {}", "She said the {} was {}.", "{} {} {} {} {} {}", "How to {} the {}", "Is {} a kind of {}?", "my {}'s {}"]  # fmt: skip
    out = []
    for _ in range(GROUPS):
        frame = r.choice(frames)
        # The vocabulary is in order of frequency: half of the draws favour its head.
        pick = [words[int(len(words) * r.random() ** (2 if r.random() < 0.5 else 1))] for _ in range(frame.count("{}"))]
        out.append(frame.format(*pick))
    return out


def all_of(paths, vocabulary):
    singles, lines = prose(paths)
    talk = everyday.make(EVERYDAY)
    return singles + lines + talk + groups(vocabulary), (len(singles), len(lines), len(talk), GROUPS)
