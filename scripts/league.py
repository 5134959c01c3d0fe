#!/usr/bin/env python3
"""Scores diagnosers on a corpus of traces whose causes are known and whose fixes were measured.

usage: league.py [OPTION...] CORPUS DIAGNOSER...

CORPUS is a folder that `chokepoint corpus` made. A diagnoser is chokepoint, hta, tensorboard, random, or cmd:COMMAND:
a command line that gets the path of a trace as its last word and prints a cause per line, the most important first,
with the predicted gain after it if it knows one. docs/league.md has the rules.

  --program=CHOKEPOINT   the program that chokepoint stands for; build/chokepoint or the one on the PATH if not given
  --truth=FILE           the labels, if they are not CORPUS/truth.json
  --timeout=SECONDS      for one trace; 60 if not given
  --seed=N               of random; 1 if not given
  --format=console|markdown|json   json has every answer
  --out=FILE             write there instead of printing; whole or not at all
  --help                 this text

Examples:
  scripts/league.py corpus chokepoint random
  scripts/league.py corpus chokepoint "cmd:python3 mine.py" --format=markdown

Exit codes: 0 all diagnosers answered or were skipped; 1 one failed on a trace; 2 bad usage or bad input, as a corpus
that was changed after it was made.
"""
import argparse
import json
import os
import sys

sys.dont_write_bytecode = True

from common import outside, whole_file
from league import answers, diagnosers, scoring, table, truth

SCHEMA = 1


def fail(sentence):
    print(f"league.py: {outside.shown(str(sentence))}", file=sys.stderr)
    sys.exit(2)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        fail(f"{message} (--help)")


def seconds(text):
    value = float(text)
    if not 0 < value <= 86400:
        raise ValueError(text)
    return value


def options():
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("corpus", metavar="CORPUS")
    parser.add_argument("diagnosers", nargs="+", metavar="DIAGNOSER")
    parser.add_argument("--program")
    parser.add_argument("--truth")
    parser.add_argument("--timeout", type=seconds, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=("console", "markdown", "json"), default="console")
    parser.add_argument("--out")
    return parser.parse_args()


def progress(text):
    if sys.stderr.isatty() and os.environ.get("TERM") not in (None, "dumb"):
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def score(diagnoser, items, groups, folder, timeout):
    """A row of the table, with its answers."""
    row = {"name": diagnoser.name, "skipped": diagnoser.skipped, "score": None, "answers": []}
    if diagnoser.skipped:
        return row
    given = []
    for number, item in enumerate(items):
        progress(f"{diagnoser.name}: {number + 1} of {len(items)}")
        given.append(answers.ask(diagnoser, os.path.join(folder, item["trace"]), timeout))
        judged = scoring.judge(item, given[-1], groups)
        row["answers"].append({**judged, "seconds": given[-1]["seconds"], "peak_bytes": given[-1]["peak_bytes"]})
    progress("")
    row["score"] = scoring.total(row["answers"], given)
    return row


def play(given):
    labels = truth.read(given.corpus, given.truth)
    players = [diagnosers.make(text, given.program, labels["vocabulary"], given.seed) for text in given.diagnosers]
    items, groups = truth.scored(labels), truth.words(labels)
    if not items:
        raise truth.Unusable(f"{given.corpus} has no trace with a measurable cause")
    kinds = {kind: sum(item["kind"] == kind for item in items) for kind in ("one", "two", "healthy")}
    without = sum(item["trace"] is None for item in labels["items"])
    context = labels["context"]
    return {
        "schema": SCHEMA,
        "corpus": {"seal": labels["seal"], "seed": labels["seed"], "program": context.get("library_version"),
                   "date": context.get("date"), "device": context.get("device_name"),
                   "processors": context.get("num_cpus"), "load": (context.get("load_avg") or [None])[0]},
        "scored": len(items), "kinds": kinds,
        "left_out": {"not_measurable": len(labels["items"]) - len(items) - without, "no_trace": without},
        "chance": scoring.chance(items, labels["vocabulary"]),
        "diagnosers": [score(player, items, groups, given.corpus, given.timeout) for player in players],
    }


def text_of(result, form):
    if form == "json":
        return json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    rows = result["diagnosers"]
    return (table.markdown if form == "markdown" else table.console)(rows) + "\n" + table.footing(result) + "\n"


def main():
    if any(word in ("--help", "-h") for word in sys.argv[1:]):
        print(__doc__.strip())
        return 0
    given = options()
    try:
        result = play(given)
        text = text_of(result, given.format)
        if given.out:
            whole_file.write(given.out, text.encode())
        else:
            print(text, end="")
    except (truth.Unusable, ValueError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"cannot write {given.out or 'the table'}: {error.strerror}")
    return int(any(row["score"] and row["score"]["failures"] for row in result["diagnosers"]))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
