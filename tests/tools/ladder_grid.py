#!/usr/bin/env python3
"""Does `train --ladder` end near the best that its knobs allow? For a quiet machine; no test.

Runs the ladder several times. Then it measures the whole grid over the knobs that any ladder tried, each at
the value where the ladder began and where its fix leaves it, measures the best of the grid again together
with the ends of the ladders, in rounds, and compares those: the share of a ladder is the median, over the
rounds, of its samples per second over those of the best in the same round.

usage: ladder_grid.py PROGRAM [--runs 5] [--rounds 9] [--steps 400] [-- flags of train, such as --device=cpu]
"""
import argparse
import itertools
import json
import statistics
import subprocess
import sys

FINALISTS = 5  # The grid's best may have been lucky.
LEAST_SHARE, MOST_SECONDS = 0.95, 180


def train(program, *flags):
    ran = subprocess.run([program, "train", *flags, "--format=json"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=False)
    return json.loads(ran.stdout) if ran.returncode == 0 else None


def settings_of(text):
    return dict(word.split("=", 1) for word in text.split())


def flags_of(settings):
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]


def main():
    ours, theirs = sys.argv[1:], []
    if "--" in ours:
        at = ours.index("--")
        ours, theirs = ours[:at], ours[at + 1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=400)
    options = parser.parse_args(ours)
    device = [flag for flag in theirs if flag.startswith("--device")]

    def speed(settings):
        found = train(options.program, *device, *flags_of(settings), f"--steps={options.steps}")
        return found["items_per_second"] if found else None

    ladders, axes = [], {}
    for run in range(options.runs):
        found = train(options.program, "--ladder", *theirs)
        if found is None:
            sys.exit("the ladder failed")
        ladders.append(found)
        for rung in found["rungs"]:
            axes.setdefault(rung["knob"], set()).update((rung["before"], rung["after"]))
        print(f"ladder {run + 1}: {found['seconds']:.0f} s, {len(found['rungs'])} rungs, "
              f"{found['end']} ({found['left']})", flush=True)
    start = settings_of(ladders[0]["from"])
    pairs = list(itertools.product(*(sorted(values) for values in axes.values())))
    print(f"grid: {len(pairs)} settings of {', '.join(axes)}", flush=True)
    grid = []
    for values in pairs:
        settings = {**start, **dict(zip(axes, values))}
        rate = speed(settings)
        if rate is not None:  # else refused
            grid.append((rate, settings))
    grid.sort(key=lambda row: -row[0])
    finalists = [settings for _, settings in grid[:FINALISTS]]
    ends = [settings_of(found["settings"]) for found in ladders]
    rates = [[] for _ in finalists + ends]
    for round_ in range(options.rounds):
        order = range(len(rates)) if round_ % 2 == 0 else reversed(range(len(rates)))
        for i in order:
            rates[i].append(speed((finalists + ends)[i]))
    best = max(range(len(finalists)), key=lambda i: statistics.median(rates[i]))
    changed = {name: finalists[best][name] for name in axes}
    print(f"best: {statistics.median(rates[best]):.0f} samples/s with {changed}")
    passed = True
    for run, found in enumerate(ladders):
        share = statistics.median(a / b for a, b in zip(rates[len(finalists) + run], rates[best]))
        passed &= share >= LEAST_SHARE and found["seconds"] <= MOST_SECONDS
        print(f"ladder {run + 1}: {share:.3f} of the best, in {found['seconds']:.0f} s; differs in",
              {name: ends[run][name] for name in axes if ends[run][name] != finalists[best][name]})
    sys.exit(0 if passed else 1)


main()
