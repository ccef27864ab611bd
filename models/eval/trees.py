"""Asks thirty questions about ten public trees: does the payload hold the line that answers?

    python trees.py TENURE FOLDER [BUDGET] [TREE …]

FOLDER holds a checkout of each tree, under the names of `trees.tsv`; docs/internals/trees.md names their commits.
"""

import csv
import pathlib
import subprocess
import sys

QUESTIONS = pathlib.Path(__file__).with_name("trees.tsv")


def payload(tenure: str, folder: pathlib.Path, question: str, budget: str) -> str:
    """The payload of a compile of this folder."""
    command = [tenure, "compile", ".", "--task", question, "--budget", budget, "--payload", "--no-store"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


def main() -> None:
    """Prints each question with its outcome, and how many were answered."""
    tenure, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    budget = sys.argv[3] if len(sys.argv) > 3 else "8000"
    trees = sys.argv[4:]
    answered = asked = 0
    with QUESTIONS.open() as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if trees and row["tree"] not in trees:
                continue
            holds = row["literal string"] in payload(tenure, folder / row["tree"], row["question"], budget)
            asked += 1
            answered += holds
            print("yes" if holds else "no ", row["tree"], row["question"], "" if holds else row["file"], sep="\t", flush=True)
    print(f"{answered} of {asked}")


if __name__ == "__main__":
    main()
