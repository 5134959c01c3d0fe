#!/usr/bin/env python3
"""Holds what `try` measures in twelve slow trainings, by a switch and by a fix, against what the fix of their author gains.

usage: tries.py [-h] [--rounds N] [--seconds N] CHOKEPOINT [NAME...]

Run it with the python3 that has PyTorch, on a machine that does nothing else. A round runs `try` once, the training as it
is, and the training fixed; shown are medians of the rounds, with the least and the most. Trainings whose library is missing
are left out. "Innocent" is a switch that should gain nothing in that training.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Name, the switch, the fix (or None), an innocent switch, the library.
TRIES = [
    ("collate", "batches", None, "saving", None),
    ("transform", "batches", None, "logging", None),
    ("saving", "saving", None, "garbage", None),
    ("elementwise", None, "compile", "saving", None),
    ("garbage", "garbage", "set_collections", "logging", None),
    ("log", "logging", None, "garbage", None),
    ("optimizer", None, "fused", "saving", None),
    ("workers", "batches", "workers", "saving", None),
    ("transformers", "batches", None, "saving", "transformers"),
    ("lightning", "batches", None, "garbage", "lightning"),
    ("geometric", "samples", None, "logging", "torch_geometric"),
    ("skorch", "samples", None, "saving", "skorch"),
]


def command(name, *words):
    own = HERE / f"{name}.py"
    return [sys.executable, *([str(own)] if own.exists() else [str(HERE / "programs.py"), name]), *words]


def step_ms(name, *words):
    ran = subprocess.run(command(name, *words), capture_output=True, text=True, check=True)
    return float(re.search(r"step ([\d.]+) ms", ran.stdout).group(1))


def tried(options, name, rows):
    """Verdict and effect of each row."""
    with tempfile.TemporaryDirectory(prefix="tries-") as folder:
        ran = subprocess.run([options.chokepoint, "try", f"--out={folder}", f"--seconds={options.seconds}",
                              "--only=" + ",".join(row for row in rows if row), "--", *command(name, "--steps=1000000")],
                             capture_output=True, text=True, check=False)
        if not pathlib.Path(folder, "result.json").exists():
            sys.exit(f"{name}: try says {ran.stderr}")
        result = json.loads(pathlib.Path(folder, "result.json").read_text())
    arms = result["chokepoint"]["trial"]["arms"]
    return {arm["name"]: (arm["verdict"], arm["effect"]) for arm in arms}


def show(what, gains):
    gains = [gain for gain in gains if gain]
    if gains:
        print(f"  {what}: {statistics.median(gains):.2f}x ({min(gains):.2f} to {max(gains):.2f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=60, help="most time of the windows of one `try`")
    parser.add_argument("chokepoint")
    parser.add_argument("names", nargs="*", default=[one[0] for one in TRIES], metavar="name")
    options = parser.parse_args()
    options.chokepoint = os.path.abspath(options.chokepoint)
    for name, switch, fix, innocent, library in TRIES:
        if name not in options.names:
            continue
        if library and importlib.util.find_spec(library) is None:
            print(f"{name}: left out, {library} is missing")
            continue
        rounds = [(tried(options, name, (switch, fix, innocent)), step_ms(name), step_ms(name, "--fixed"))
                  for _ in range(options.rounds)]
        print(f"{name}: load {os.getloadavg()[0]:.1f}")
        show("the author's fix", [before / after for _, before, after in rounds])
        for what, row in (("switch", switch), ("fix", fix), ("innocent", innocent)):
            found = [one[0][row] for one in rounds if row in one[0]]
            show(f"{what} {row} ({', '.join(sorted({verdict for verdict, _ in found}))})", [effect for _, effect in found])


main()
