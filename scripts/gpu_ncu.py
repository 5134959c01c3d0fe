#!/usr/bin/env python3
"""Runs ncu over `chokepoint run gpu_kernels` on a GPU, and holds its counters against what chokepoint counted without one.

usage: gpu_ncu.py [--ncu FILE] [--device NAME] [--out FILE.csv] PROGRAM
       gpu_ncu.py --read FILE.csv --result RESULT.json PROGRAM

Prints a row for each counter of each kernel that is off by more than 2%, then how many agree. --read compares a table that
`ncu --csv` wrote earlier with the result of that run.
Exit codes: 0 all agree, 1 some do not, 2 the table cannot be read, 77 ncu may not count here.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WITHIN = 0.02
# Counts of requests and what they touch, which ptxas does not change. Instructions and branches it does.
SAME = ("sectors_per_load", "sectors_per_store", "global_loads", "global_stores", "load_sectors", "shared_passes",
        "bank_conflicts", "atomic_requests")
# ptxas may join loads of shared memory, or execute them under a predicate (an H100 showed both): then a kernel's accesses to
# it are not those of the PTX, and are not compared.
CHANGED, SHARED = "shared_loads", ("shared_passes", "bank_conflicts")


def metrics_of(program):
    """By count the metrics of Nsight Compute whose sum it is, as the program names them."""
    listed = json.loads(subprocess.run([program, "list", "--format=json"], capture_output=True, check=True).stdout)
    told = {one["count"]: one["metric"] for lesson in listed["kernels"] for one in lesson["foretold"]}
    return {count: told[count].split(" + ") for count in (*SAME, CHANGED) if count in told}


def table(text):
    """By kernel and metric the value of its first launch: a row of `ncu --csv` has one metric of one launch. Lines before the
    table are the program's, and ncu's own begin with ==."""
    found = {}
    for row in csv.DictReader(line for line in text.splitlines() if line.startswith('"')):
        try:
            value = float((row.get("Metric Value") or "").replace(",", ""))
        except ValueError:  # n/a
            continue
        found.setdefault(row["Kernel Name"].split("(")[0], {}).setdefault(row["Metric Name"], value)
    return found


def compare(theirs, result, metrics):
    """Sentences about what differs, how many counters there were, and kernels whose shared loads ptxas changed."""
    wrong, count, changed = [], 0, []
    ours = {f"{one['name']}_{step}": one[f"counts_{step}"] for one in result["chokepoint"]["kernels"]
            for step in ("before", "between", "after") if one[f"counts_{step}"]}
    for kernel, counts in ours.items():
        if kernel not in theirs:
            wrong.append(f"{kernel}: ncu has no launch of it")
            continue
        for name in (CHANGED, *SAME):
            values = [theirs[kernel].get(one) for one in metrics.get(name, [None])]
            if counts.get(name) is None or None in values or (kernel in changed and name in SHARED):
                continue
            agrees = abs(counts[name] - sum(values)) <= WITHIN * max(counts[name], sum(values))
            if name == CHANGED:
                changed += [] if agrees else [kernel]
                continue
            count += 1
            if not agrees:
                wrong.append(f"{kernel}: {name} is {counts[name]:g} here, and {sum(values):g} by {' + '.join(metrics[name])}")
    return wrong, count, changed


def profile(options, metrics):
    """ncu's table, and the result of the run below it."""
    # The first launch of each: the others are those of the timing, hundreds of them.
    names = ",".join(sorted({one for each in metrics.values() for one in each}))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([options.ncu, "--csv", "--target-processes", "all", "--kernel-name-base", "function", "--kernel-id",
                               "::regex:_(before|between|after)$:1", "--metrics", names, options.program, "run", "gpu_kernels",
                               f"--device={options.device}", f"--out={folder}/run", "--color=never"],
                              capture_output=True, text=True, check=False)
        if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
            print("skipped: ncu may not read counters here (ERR_NVGPUCTRPERM)")
            sys.exit(77)
        if not os.path.exists(f"{folder}/run/result.json"):
            print(f"{done.stdout[-2000:]}{done.stderr[-2000:]}ncu ended with {done.returncode}, and there is no result")
            sys.exit(2)
        return done.stdout, pathlib.Path(folder, "run/result.json").read_text()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", default=os.devnull)
    parser.add_argument("--read", type=pathlib.Path)
    parser.add_argument("--result", type=pathlib.Path)
    parser.add_argument("program", type=os.path.abspath)
    options = parser.parse_args()
    metrics = metrics_of(options.program)
    if options.read:
        text, result = options.read.read_text(), options.result.read_text()
    else:
        text, result = profile(options, metrics)
        pathlib.Path(options.out).write_text(text)
    theirs = table(text)
    if not theirs:
        print("there is no row of ncu --csv")
        sys.exit(2)
    wrong, count, changed = compare(theirs, json.loads(result), metrics)
    print("\n".join(wrong))
    if changed:
        print(f"ptxas changed the loads of shared memory: {', '.join(changed)}")
    print(f"figure: {count - sum('here, and' in one for one in wrong)} of {count} counters within {WITHIN:.0%}")
    sys.exit(1 if wrong or not count else 0)


main()
