"""Copies into a target's seeds the few inputs of its corpus that reach most of what no seed does.

Reads the control file of a libFuzzer merge, which lists the features of each input.
"""

import hashlib
import os
import shutil
import sys

# The test `fuzz_seeds` holds the seeds to 100 files and 200 KiB a target.
MAX_FILES = 80
MAX_BYTES = 160 << 10
MAX_INPUT = 4 << 10
LEAST_GAIN = 3


def features(control):
    """The features of each file of a merge."""
    with open(control, encoding="utf-8", errors="replace") as lines:
        count = int(next(lines))
        next(lines)
        files = [next(lines).rstrip("\n") for _ in range(count)]
        found = {}
        for line in lines:
            kind, _, rest = line.partition(" ")
            if kind == "FT":
                number, *seen = rest.split()
                found[files[int(number)]] = frozenset(seen)
    return found


def is_text(path):
    """Whether people can read an input, and version control shows how it changed."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def main(control, seeds):
    found = features(control)
    kept = [os.path.join(seeds, name) for name in os.listdir(seeds)]
    size = sum(os.path.getsize(path) for path in kept)
    covered = set().union(*(found.get(path, ()) for path in kept))
    open_ = {
        path: seen
        for path, seen in found.items()
        if path not in kept and os.path.getsize(path) <= MAX_INPUT and is_text(path)
    }
    added = 0
    while open_ and len(kept) + added < MAX_FILES:
        # A smaller input is worth more than a larger one that reaches the same.
        value = lambda path: (len(open_[path] - covered), -os.path.getsize(path), path)
        best = max(open_, key=value)
        gain = len(open_.pop(best) - covered)
        if gain < LEAST_GAIN:
            break
        if size + os.path.getsize(best) > MAX_BYTES:
            continue
        with open(best, "rb") as file:
            name = hashlib.sha256(file.read()).hexdigest()[:12]
        covered |= found[best]
        size += os.path.getsize(best)
        shutil.copyfile(best, os.path.join(seeds, name))
        added += 1
    everything = len(set().union(*found.values()))
    print(f"{seeds}: {added} added, {len(covered)} of {everything} features, {size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
