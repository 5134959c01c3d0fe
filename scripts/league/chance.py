"""random: whoever names causes without a look at the trace. A quarter of a corpus is healthy, and so is a quarter of
its answers; else it names two findings.

usage: chance.py SEED WORD... TRACE
"""
import hashlib
import os
import random
import sys

HEALTHY = 0.25


def diagnoser(make, name, script, _program, vocabulary, seed):
    words = sorted({word for row in vocabulary for word in row["findings"]})
    return make(name, lambda path: [*script, str(seed), *words, path])


def main():
    seed, *words, path = sys.argv[1:]
    # By the content, so that another name or order of the traces changes nothing.
    with open(path, "rb") as file:
        drawn = random.Random(f"{seed} {hashlib.sha256(file.read()).hexdigest()}")
    if drawn.random() >= HEALTHY:
        print(*drawn.sample(words, min(2, len(words))), sep="\n")


if __name__ == "__main__":
    if len(sys.argv) < 4 or not os.path.isfile(sys.argv[-1]):
        sys.exit(__doc__)
    main()
