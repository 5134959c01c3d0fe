#!/usr/bin/env python3
"""Are a step's rates those that `bench` measures for the same shapes? For a quiet machine; no test.

Compares, in rounds that alternate between the two, the products of a block in traces of `train` with the rows
`gemm_qkv`, `gemm_out`, `gemm_up` and `gemm_down`, and the ceilings that `train` prints its shares of with the
largest square product and the largest copy of `bench`. Times are lowest deciles, because other programs
only add time; the ceilings are the fastest repetitions, as both commands say.

usage: step_rates.py PROGRAM [--rounds 3] [--within 10]
"""
import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile

PRODUCTS = {"qkv": "block{}.qkv_linear", "out": "block{}.projection_linear", "up": "block{}.expand_linear",
            "down": "block{}.contract_linear"}
ROLES = {"balanced": 64, "heavy": 128}  # the model's width on the CPU device
UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}


def run(program, *flags):
    return subprocess.run([program, *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=True).stdout


def decile(values):
    return statistics.quantiles(values, n=10)[0]


def step_times(program, role, precision, folder, times):
    """Adds the microseconds of each product's kernel; returns the ceilings."""
    path = os.path.join(folder, "step.json")
    found = json.loads(run(program, "train", "--device=cpu", f"--model={role}", f"--precision={precision}",
                           "--launch=eager", "--steps=40", f"--trace={path}", "--format=json"))
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    ops = {event["args"]["External id"]: event["name"] for event in events if event.get("cat") == "cpu_op"}
    names = {text.format(block): name for name, text in PRODUCTS.items() for block in range(64)}
    for event in events:
        op = ops.get(event["args"].get("External id")) if event.get("cat") == "kernel" else None
        if op in names and "_nn_" in event["name"]:
            times[role, precision, names[op]].append(event["dur"])
    return found["utilisation"]


def bench_rows(program, names):
    rows = json.loads(run(program, "bench", "--device=cpu", f"--benchmark_filter=^({'|'.join(names)})$",
                          "--benchmark_format=json"))["benchmarks"]
    return [row for row in rows if row["run_type"] == "iteration"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--within", type=float, default=10, help="percent")
    options = parser.parse_args()
    step, bench = collections.defaultdict(list), collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for role, width in ROLES.items():
                for precision in ("fp32", "bf16"):
                    seen = step_times(options.program, role, precision, folder, step)
                    step["peak", precision].append(seen["peak_flops_per_second"])
                    step["copy"].append(seen["copy_bytes_per_second"])
                    rows = bench_rows(options.program, [f"gemm_{name}_{precision}/{width}" for name in PRODUCTS])
                    for row in rows:
                        name = row["name"].split("/")[0].split("_")[1]
                        bench[role, precision, name].append(row["real_time"] * UNITS[row["time_unit"]])
            for precision in ("fp32", "bf16"):
                rows = bench_rows(options.program, [f"gemm_{precision}/1024"])
                bench["peak", precision].append(2 * 1024 ** 3 * 1e6 / min(
                    row["real_time"] * UNITS[row["time_unit"]] for row in rows))
            rows = bench_rows(options.program, ["bw_copy_d2d/.*"])
            largest = max(int(row["name"].split("/")[1]) for row in rows)
            bench["copy"].append(max(row["bytes_per_second"] for row in rows
                                     if row["name"].split("/")[1] == str(largest)))
    passed = True
    for key, times in step.items():
        is_ceiling = isinstance(key, str) or key[0] == "peak"
        share = (statistics.median(times) / statistics.median(bench[key]) if is_ceiling
                 else decile(bench[key]) / decile(times))
        agrees = abs(share - 1) <= options.within / 100
        passed &= agrees
        print(f"{'train' if is_ceiling else 'step'} over bench, {key if isinstance(key, str) else ' '.join(key)}: "
              f"{share:.2f}{'' if agrees else '  DIFFERS'}")
    sys.exit(0 if passed else 1)


main()
