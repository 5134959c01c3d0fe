#!/usr/bin/env python3
"""Makes the corpus in results/league/, scores the diagnosers on it, and writes the table in docs/league.md.

usage: freeze_league.py [OPTION...] --program=CHOKEPOINT [DIAGNOSER...]

A corpus takes about five minutes on two quiet cores; nothing else may run there. It is refused above 20 MB. What is in
results/league/ stays until the new one is whole. The diagnosers are chokepoint, hta, tensorboard and random if none is
named.

  --seed=N     what the corpus is drawn from; 1 if not given
  --count=N    its items; 50 if not given
  --score      only score the corpus that is there, as after a change of a rule, and write the table
  --check      only look: exits with 1 if the table is not that of the corpus, or the program of --program, if given,
               answers something else
  --help       this text
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

from common import whole_file
from league import diagnosers, frozen, scoring, truth

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)
PLAYERS = ("chokepoint", "hta", "tensorboard", "random")


def fail(sentence, code=2):
    print(f"freeze_league.py: {sentence}", file=sys.stderr)
    sys.exit(code)


def make(given, folder):
    """A corpus in `folder`, packed."""
    command = [given.program, "corpus", f"--seed={given.seed}", f"--count={given.count}", f"--out={folder}"]
    done = subprocess.run(command, check=False)
    if done.returncode != 0:
        fail(f"chokepoint corpus exits with {done.returncode}", 1)
    frozen.pack(folder)
    if frozen.size(folder) > frozen.BYTES_MOST:
        fail(f"the corpus has {frozen.size(folder) / 1e6:.1f} MB, and {frozen.BYTES_MOST / 1e6:.0f} MB are the most: "
             "set --count lower, or take another seed", 1)


def score(given, folder):
    command = [sys.executable, os.path.join(HERE, "league.py"), f"--program={given.program}", folder,
               *(given.diagnosers or PLAYERS), "--format=json", f"--out={os.path.join(folder, frozen.SCORES)}"]
    done = subprocess.run(command, check=False)
    if done.returncode not in (0, 1):
        fail("the corpus was not scored")


def write_page(source):
    path = os.path.join(source, frozen.PAGE)
    with open(path, encoding="utf-8") as file:
        page = file.read()
    whole_file.write(path, frozen.filled(page, frozen.read_scores(source)).encode())


def freeze(given):
    folder = os.path.join(given.source, frozen.FOLDER)
    new = f"{folder}.new"
    shutil.rmtree(new, ignore_errors=True)
    try:
        make(given, new)
        score(given, new)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    write_page(given.source)


def answers_differ(given):
    """The traces of which the program says something else than the scores have."""
    scores = frozen.read_scores(given.source)
    row = next((row for row in scores["diagnosers"] if row["name"] == "chokepoint"), None) if scores else None
    if row is None or not row["answers"]:
        return []
    folder = os.path.join(given.source, frozen.FOLDER)
    labels = truth.read(folder)
    player = diagnosers.make("chokepoint", given.program, labels["vocabulary"], 1)
    kept = {answer["item"]: answer["named"] for answer in row["answers"]}
    different = []
    for item in truth.scored(labels):
        done = subprocess.run(player.command(os.path.join(folder, item["trace"])), capture_output=True, text=True,
                              check=False)
        causes = player.read(done.stdout) if done.returncode == 0 else []
        named = [word for word, _ in scoring.countable(item, causes)]
        if named != kept.get(item["name"]):
            different.append(f"{item['name']} ({', '.join(kept.get(item['name'], []))}, now {', '.join(named)})")
    return different


def check(given):
    why = frozen.stale(given.source)
    if not why and given.program and (different := answers_differ(given)):
        why = f"chokepoint answers otherwise than {frozen.FOLDER}/{frozen.SCORES} has: {'; '.join(different)}"
    if why:
        fail(f"{why}: run scripts/freeze_league.py --score --program=CHOKEPOINT", 1)


def options():
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--program", type=os.path.abspath)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--score", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--source", default=SOURCE, help=argparse.SUPPRESS)
    parser.add_argument("diagnosers", nargs="*")
    given = parser.parse_args()
    if not given.program and not given.check:
        fail("--program=CHOKEPOINT says which program makes the corpus")
    return given


def main():
    if any(word in ("--help", "-h") for word in sys.argv[1:]):
        print(__doc__.strip())
        return
    given = options()
    try:
        if given.check:
            check(given)
        elif given.score:
            score(given, os.path.join(given.source, frozen.FOLDER))
            write_page(given.source)
        else:
            freeze(given)
    except truth.Unusable as error:
        fail(str(error))
    except OSError as error:
        fail(f"cannot write: {error}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
