#!/usr/bin/env python3
"""Does `train --ladder` end near the best that its knobs allow? For a quiet machine; no test.

Runs the ladder several times. Then it measures a grid over the knobs that any ladder tried, each at the value
where the ladder began and where its fix leaves it. A knob that every ladder kept, at least 5% faster or for
another metric than time, stays at its fix: the grid would double for it. The grid is halved successively
(Jamieson and Talwalkar 2016): all of it with few steps, the best quarter with more. The best of that, the same
with each of the knobs that stayed set back, and the ends of the ladders are measured in rounds: the share of a
ladder is the median, over the rounds, of its samples per second over those of the best in the same round.

usage: ladder_grid.py PROGRAM [--runs 5] [--rounds 9] [--steps 400] [-- flags of train, such as --device=cpu]
"""
import argparse
import itertools
import json
import math
import statistics
import subprocess
import sys

FINALISTS = 5  # The grid's best may have been lucky.
CLEAR = 1.05  # A gain that no grid has to confirm.
STEPS = 60, 400  # of all settings, and of the best quarter
SECOND_MOST = 64  # settings in the second half
LEAST_SHARE, MOST_SECONDS = 0.95, 120


def train(program, *flags):
    ran = subprocess.run([program, "train", *flags, "--format=json"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=False)
    return json.loads(ran.stdout) if ran.returncode == 0 else None


def settings_of(text):
    return dict(word.split("=", 1) for word in text.split())


def flags_of(settings):
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]


def grid_rates(program, device, base, axes):
    """Samples per second of all settings that are possible. A process sweeps two knobs, which is sooner done
    than one process for each setting."""
    outer, inner = list(axes)[:-2], list(axes)[-2:]
    rates = []
    for values in itertools.product(*(axes[name] for name in outer)):
        settings = {**base, **dict(zip(outer, values))}
        fixed = {name: value for name, value in settings.items() if name not in inner}
        sweeps = [f"--sweep={name}={','.join(axes[name])}" for name in inner]
        found = train(program, *device, *flags_of(fixed), *sweeps, "--repetitions=1", f"--steps={STEPS[0]}")
        for value in found["values"] if found else []:
            swept = value["settings"] if len(inner) > 1 else {inner[0]: value["value"]}
            rates += [(round_["items_per_second"], {**settings, **swept}) for round_ in value["rounds"]]
    return rates


def one_by_one(rungs):
    """A rung of several knobs as one for each."""
    for rung in rungs:
        for knob, before, after in zip(*(rung[key].split(",") for key in ("knob", "before", "after"))):
            yield {**rung, "knob": knob, "before": before, "after": after}


def kept(ladder):
    return " ".join(f"{rung['knob']}={rung['after']}" for rung in ladder["rungs"] if rung["end"] == "kept")


def is_clear(rung):
    return rung["end"] == "kept" and (rung["metric"] != "step_time" or rung["step_time"]["low"] >= CLEAR)


def axes_of(ladders):
    """The knobs to vary, each with its values, and those that every ladder kept clearly, with the value kept."""
    values, kept_at, unclear = {}, {}, set()
    for ladder in ladders:
        last = {rung["knob"]: rung for rung in ladder["rungs"]}
        for rung in ladder["rungs"]:
            values.setdefault(rung["knob"], {}).update({rung["before"]: None, rung["after"]: None})
        kept_at.update({knob: rung["after"] for knob, rung in last.items()})
        unclear.update(knob for knob, rung in last.items() if not is_clear(rung))
    for ladder in ladders:
        unclear.update(values.keys() - {rung["knob"] for rung in ladder["rungs"]})
    return ({knob: list(row) for knob, row in values.items() if knob in unclear},
            {knob: after for knob, after in kept_at.items() if knob not in unclear})


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

    def speed(settings, steps=options.steps):
        found = train(options.program, *device, *flags_of(settings), f"--steps={steps}")
        return found["items_per_second"] if found else None

    ladders = []
    for run in range(options.runs):
        found = train(options.program, "--ladder", "--thorough", *theirs)
        if found is None:
            sys.exit("the ladder failed")
        found["rungs"] = list(one_by_one(found["rungs"]))
        ladders.append(found)
        print(f"ladder {run + 1}: {found['seconds']:.0f} s, {len(found['rungs'])} rungs, "
              f"{found['end']} ({found['left']}): {kept(found)}", flush=True)
    axes, clear = axes_of(ladders)
    start = settings_of(ladders[0]["from"])
    print(f"these stay: {clear}; grid: {math.prod(map(len, axes.values()))} settings of {', '.join(axes)}",
          flush=True)
    rates = grid_rates(options.program, device, {**start, **clear}, axes)
    rates.sort(key=lambda row: -row[0])
    grid = [settings for _, settings in rates[:max(FINALISTS, min(len(rates) // 4, SECOND_MOST))]]
    rates = [(speed(settings, STEPS[1]) or 0, settings) for settings in grid]
    grid = [settings for _, settings in sorted(rates, key=lambda row: -row[0])]
    finalists = grid[:FINALISTS]
    finalists += [{**finalists[0], name: start[name]} for name in clear]
    finalists = [settings for settings in finalists if speed(settings, STEPS[0]) is not None]
    ends = [settings_of(found["settings"]) for found in ladders]
    rates = [[] for _ in finalists + ends]
    for round_ in range(options.rounds):
        order = range(len(rates)) if round_ % 2 == 0 else reversed(range(len(rates)))
        for i in order:
            rates[i].append(speed((finalists + ends)[i]))
    best = max(range(len(finalists)), key=lambda i: statistics.median(rates[i]))
    changed = {name: finalists[best][name] for name in [*axes, *clear]}
    print(f"best: {statistics.median(rates[best]):.0f} samples/s with {changed}")
    passed = True
    for run, found in enumerate(ladders):
        share = statistics.median(a / b for a, b in zip(rates[len(finalists) + run], rates[best]))
        passed &= share >= LEAST_SHARE and found["seconds"] <= MOST_SECONDS
        print(f"ladder {run + 1}: {share:.3f} of the best, in {found['seconds']:.0f} s; differs in",
              {name: ends[run][name] for name in changed if ends[run][name] != changed[name]})
    sys.exit(0 if passed else 1)


main()
