#!/usr/bin/env python3
"""Holds the gain that `record` predicts for each slow training against the gain of its fix.

usage: gains.py [-h] [--rounds N] CHOKEPOINT [NAME...]

Run it with the python3 that has PyTorch, on a machine that does nothing else: at a load of 13 the same training gained 1.6
to 2.9 times. A round records a training, runs it as it is, and runs it fixed. Shown are medians of the rounds, with the
least and the most, and the machine's load.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ["collate", "transform", "saving"]


def step_ms(name, *words):
    """Time of a step, and that on a processor."""
    ran = subprocess.run([sys.executable, HERE / f"{name}.py", *words], capture_output=True, text=True, check=True)
    return [float(each) for each in re.findall(r"([\d.]+) ms", ran.stdout)]


def first_finding(chokepoint, name):
    """The page's first finding: its name, its line, and the gain if all that it costs were saved."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([chokepoint, "record", "--no-page", f"--traces={folder}/traces", "--", sys.executable,
                        HERE / f"{name}.py"], capture_output=True, check=True)
        said = subprocess.run([chokepoint, "diagnose", "--format=json", f"{folder}/traces"], capture_output=True,
                              text=True, check=True)
    trace = json.loads(said.stdout)["traces"][0]
    finding = trace["findings"][0]
    step = trace["steps"]["untraced_ns"]
    gain = finding["predicted_gain"] or step / (step - finding["lost_ns_per_step"])
    return finding["id"], (finding["where"] or {}).get("text", "-"), gain


def show(what, gains):
    print(f"  {what}: {statistics.median(gains):.2f}x ({min(gains):.2f} to {max(gains):.2f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("chokepoint")
    parser.add_argument("names", nargs="*", default=NAMES, metavar="name")
    arguments = parser.parse_args()
    for name in arguments.names:
        rounds = [(first_finding(arguments.chokepoint, name), step_ms(name), step_ms(name, "--fixed"))
                  for _ in range(arguments.rounds)]
        print(f"{name}: load {os.getloadavg()[0]:.1f}")
        for found, where in sorted({found[:2] for found, _, _ in rounds}):
            print(f"  {found} at {where}, in {sum(one[0][:2] == (found, where) for one in rounds)} of "
                  f"{len(rounds)} recordings")
        show("predicted", [found[2] for found, _, _ in rounds])
        show("measured", [before[0] / after[0] for _, before, after in rounds])
        show("of the processor's time", [before[1] / after[1] for _, before, after in rounds])


main()
