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
FORBIDDEN = "ERR_NVGPUCTRPERM"


def metrics_of(program):
    """The metrics of Nsight Compute for each count, as the program names them: their sum is the count."""
    listed = json.loads(subprocess.run([program, "list", "--format=json"], capture_output=True, check=True).stdout)
    told = {one["count"]: one["metric"] for lesson in listed["kernels"] for one in lesson["foretold"]}
    return {count: told[count].split(" + ") for count in (*SAME, CHANGED) if count in told}


def number(text):
    """A value as ncu writes it: 1,024 or 4.88; None: n/a."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def table(text):
    """By kernel and metric the value of its first launch: a row of `ncu --csv` has one metric of one launch. Lines before the
    table are the program's, and ncu's own begin with ==."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    found = {}
    for row in csv.DictReader(lines):
        kernel = (row.get("Kernel Name") or "").split("(")[0]
        value = number(row.get("Metric Value") or "")
        if kernel and row.get("Metric Name") and value is not None:
            found.setdefault(kernel, {}).setdefault(row["Metric Name"], value)
    return found


def counted(result):
    """By kernel all that chokepoint counted."""
    kernels = result["chokepoint"]["kernels"]
    return {f"{one['name']}_{step}": one[f"counts_{step}"] for one in kernels for step in ("before", "between", "after")
            if one[f"counts_{step}"]}


def agree(ours, theirs):
    return abs(ours - theirs) <= WITHIN * max(abs(ours), abs(theirs))


def summed(values, metrics):
    """None: ncu lacks one of them."""
    return sum(values[one] for one in metrics) if all(one in values for one in metrics) else None


def compare(theirs, ours, metrics):
    """Sentences about what differs, how many counters there were, and kernels whose shared loads ptxas changed."""
    wrong, count, changed = [], 0, []
    for kernel, counts in ours.items():
        if kernel not in theirs:
            wrong.append(f"{kernel}: ncu has no launch of it")
            continue
        loads = summed(theirs[kernel], metrics.get(CHANGED, ["absent"]))
        if loads is not None and counts.get(CHANGED) is not None and not agree(counts[CHANGED], loads):
            changed.append(kernel)
        for name in SAME:
            value = summed(theirs[kernel], metrics[name]) if name in metrics else None
            if counts.get(name) is None or value is None or (kernel in changed and name in SHARED):
                continue
            count += 1
            if not agree(counts[name], value):
                wrong.append(f"{kernel}: {name} is {counts[name]:g} here, and {value:g} by {' + '.join(metrics[name])}")
    return wrong, count, changed


def profile(options, metrics, folder):
    """ncu's table, and the result of the run below it."""
    # The first launch of each: the others are those of the timing, hundreds of them.
    names = sorted({one for each in metrics.values() for one in each})
    command = [options.ncu, "--csv", "--target-processes", "all", "--kernel-name-base", "function", "--kernel-id",
               "::regex:_(before|between|after)$:1", "--metrics", ",".join(names), options.program, "run", "gpu_kernels",
               f"--device={options.device}", f"--out={folder}/run", "--color=never"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if FORBIDDEN in done.stdout + done.stderr:
        print(f"skipped: ncu may not read counters here ({FORBIDDEN})")
        sys.exit(77)
    result = pathlib.Path(folder, "run/result.json")
    if not result.exists():
        print(f"{done.stdout[-2000:]}{done.stderr[-2000:]}ncu ended with {done.returncode}, and there is no result")
        sys.exit(2)
    if options.out:
        pathlib.Path(options.out).write_text(done.stdout)
    return done.stdout, json.loads(result.read_text())


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out")
    parser.add_argument("--read")
    parser.add_argument("--result")
    parser.add_argument("program")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    metrics = metrics_of(options.program)
    if options.read:
        text, result = pathlib.Path(options.read).read_text(), json.loads(pathlib.Path(options.result).read_text())
    else:
        with tempfile.TemporaryDirectory() as folder:
            text, result = profile(options, metrics, folder)
    theirs = table(text)
    if not theirs:
        print("there is no row of ncu --csv")
        sys.exit(2)
    wrong, count, changed = compare(theirs, counted(result), metrics)
    print("\n".join(wrong))
    if changed:
        print(f"ptxas changed the loads of shared memory: {', '.join(changed)}")
    print(f"figure: {count - sum('here, and' in one for one in wrong)} of {count} counters within {WITHIN:.0%}")
    sys.exit(1 if wrong or not count else 0)


main()
