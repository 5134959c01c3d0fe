#!/usr/bin/env python3
"""`run` of kernel lessons on a GPU, over the stand-in for CUDA: each step is launched from its PTX, computes what it does here,
and is timed; a kernel that computes something else fails its lesson; the CPU device times nothing. And gpu_ncu.py finds in a
made table of ncu's which counters differ from ours.

usage: test_kernel_times.py PROGRAM CHECKOUT STAND-IN
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fixtures"))
from checking import check, end  # noqa: E402

program, checkout, stand_in = (os.path.abspath(word) for word in sys.argv[1:])
# A grid of rows, halves, an integer, and three steps.
LESSONS = ["bank_conflicts", "tensor_core_shapes", "few_loads_in_flight", "serial_reduction"]


def run(folder, *arguments, code=0, **environment):
    done = subprocess.run([program, "run", *arguments, f"--out={folder}"], capture_output=True, text=True, check=False,
                          env={**os.environ, "CHOKEPOINT_PLUGINS": stand_in, "LD_LIBRARY_PATH": f"{stand_in}/lib",
                               **environment})
    check(done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}", done.stderr, done.stdout)
    loaded = json.loads(pathlib.Path(folder, "result.json").read_text())
    return done.stdout, {one["name"]: one for one in loaded["chokepoint"]["kernels"]}


def times_of(one):
    return [one[f"device_ns_{step}"] for step in ("before", "between", "after")]


def try_times(folder):
    text, kernels = run(folder, *LESSONS, "--device=cuda")
    for name, one in kernels.items():
        between = one["between"] is not None
        check([time is not None and time > 0 for time in times_of(one)] == [True, between, True], f"{name}: times", one)
        check(one["verdict"] == "as foretold", f"{name}: {one['reason']}")
        check(one["arch"] == 80, f"{name}: the architecture is not the GPU's")
    check(text.count("Timed: ") == len(LESSONS) and "nothing was timed" not in text, "the table", text)
    text, kernels = run(folder, "bank_conflicts", "--device=cpu")
    check(times_of(kernels["bank_conflicts"]) == [None] * 3 and "nothing was timed" in text, "the CPU device", text)
    text, kernels = run(folder, "bank_conflicts", "serial_reduction", "--device=cuda", code=1,
                        STAND_IN_SKIPS="serial_reduction_between")
    check("serial_reduction_between computes other values" in kernels["serial_reduction"]["reason"], "other values", text)
    check(times_of(kernels["serial_reduction"]) == [None] * 3, "a kernel that computes something else has no time")
    text, kernels = run(folder, "bank_conflicts", "serial_reduction", "--device=cuda", CHOKEPOINT_FAIL="alloc:1")
    one = kernels["bank_conflicts"]
    check(one["verdict"] == "as foretold" and one["reason"].startswith("not timed: "), "a device that fails", one)
    check("not timed: " in text and text.count("Timed: ") == 1, "it is said, and the next pair is timed", text)


HEAD = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device",
        "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value"]


def made_table(kernels, metrics, changed):
    """As `ncu --csv` prints it: a row for each metric of each launch, numbers with commas; the second launch is warm."""
    lines = ["==PROF== Connected to process 12", "bank_conflicts  tile[32][32] -> tile[32][33]",
             ",".join(f'"{name}"' for name in HEAD)]
    for name, one in kernels.items():
        for step in ("before", "between", "after"):
            for metric, count in metrics.items():
                value = (one[f"counts_{step}"] or {}).get(count)
                for launch in (1, 2) if value is not None else ():
                    shown = f"{value * changed.get((name, step, count), 1) * launch:,.6g}"
                    if value == int(value) and not changed:
                        shown = f"{int(value) * launch:,}"
                    # If a count is a sum, its first part has all of it.
                    for each, cell in zip(metric.split(" + "), [shown, *["0"] * metric.count(" + ")]):
                        row = ["1", "12", "chokepoint", "127.0.0.1", f"{name}_{step}", "1", "7", "(32, 32, 1)", "(8, 8, 1)",
                               "0", "9.0", "Command line profiler metrics", each, "", cell]
                        lines.append(",".join(f'"{word}"' for word in row))
    return "\n".join([*lines, "==PROF== Disconnected from process 12"])


def compare(folder, table, code):
    path = pathlib.Path(folder, "ncu.csv")
    path.write_text(table)
    done = subprocess.run([os.path.join(checkout, "scripts/gpu_ncu.py"), f"--read={path}", f"--result={folder}/result.json",
                           program], capture_output=True, text=True, check=False)
    check(done.returncode == code, f"gpu_ncu.py: exit code {done.returncode}, not {code}", done.stdout, done.stderr)
    return done.stdout


def try_ncu(folder):
    _, kernels = run(folder, "gpu_kernels", "--device=cpu")
    listed = json.loads(subprocess.run([program, "list", "--format=json"], capture_output=True, check=True).stdout)
    metrics = {one["metric"]: one["count"] for lesson in listed["kernels"] for one in lesson["foretold"]}
    text = compare(folder, made_table(kernels, metrics, {}), 0)
    check(text.strip().startswith("figure: ") and int(text.split()[1]) > 100, "all agree", text)
    changed = {("bank_conflicts", "before", "shared_passes"): 1.03, ("bank_conflicts", "after", "shared_passes"): 1.01}
    text = compare(folder, made_table(kernels, metrics, changed), 1)
    check("bank_conflicts_before: shared_passes is 67584 here, and" in text, "a counter that is off by 3%", text)
    check(text.count("here, and") == 1, "and no other", text)
    changed[("bank_conflicts", "before", "shared_loads")] = 0.25
    text = compare(folder, made_table(kernels, metrics, changed), 0)
    check("ptxas changed the loads of shared memory: bank_conflicts_before" in text, "loads that ptxas joined", text)
    del kernels["no_reuse"]
    text = compare(folder, made_table(kernels, metrics, {}), 1)
    check("no_reuse_before: ncu has no launch of it" in text, "a kernel that is missing", text)
    path = pathlib.Path(folder, "ncu")
    path.write_text(f'#!/bin/sh\ncat "{folder}/ncu.csv"\nwhile [ "$1" != "{program}" ]; do shift; done\nexec "$@"\n')
    path.chmod(0o755)
    done = subprocess.run([os.path.join(checkout, "scripts/gpu_ncu.py"), f"--ncu={path}", "--device=cpu",
                           f"--out={folder}/kept.csv", program], capture_output=True, text=True, check=False)
    check(done.returncode == 1 and "no_reuse_after: ncu has no launch of it" in done.stdout, "ncu is run", done.stdout, done.stderr)
    check("bank_conflicts_before" in pathlib.Path(folder, "kept.csv").read_text(), "ncu's table is kept")
    check("no row of ncu" in compare(folder, "==ERROR== nothing\n", 2), "an empty table")


with tempfile.TemporaryDirectory() as place:
    try_times(place)
    try_ncu(place)
end()
