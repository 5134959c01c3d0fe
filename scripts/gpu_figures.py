#!/usr/bin/env python3
"""Figures for the table of gpu_check.sh, one per line: name, result, figure, between tabs.

usage: gpu_figures.py bench BENCH.JSON     speeds, and memory-bound kernels against the copy
       gpu_figures.py run RESULT.JSON      verdicts, and what tracing costs
"""
import json
import re
import sys

# The goal of memory-bound kernels whose data does not fit into the cache: this share of a copy's
# bandwidth within the device.
COPY_SHARE = 0.85
# A tracer may take at most this share of the time of a step that is bound by arithmetic.
TRACING_COST = {"cuda": 0.05, "cpu": 0.02}

# name, rows (of several the one with the largest argument), what to show
SPEEDS = [
    ("launch, enqueued", r"lat_launch(_enqueue)?", "time"),
    ("launch, to the end", r"lat_launch_sync|lat_sync", "time"),
    ("graph", r"lat_graph/1", "time"),
    ("synchronise a stream", r"lat_sync_stream", "time"),
    ("read 4 bytes back", r"lat_readback", "time"),
    ("copy, host to device", r"bw_copy_h2d/\d+", "bytes"),
    ("copy, device to host", r"bw_copy_d2h/\d+", "bytes"),
    ("copy, both ways", r"bw_copy_both/\d+", "bytes"),
    ("copy, within the device", r"bw_copy_d2d/\d+", "bytes"),
    ("memory, triad fp32", r"bw_memory_triad_fp32_cold/\d+", "bytes"),
    ("memory, triad bf16", r"bw_memory_triad_bf16_cold/\d+", "bytes"),
    ("GEMM fp32", r"gemm_fp32/\d+|gemm/\d+", "flops"),
    ("GEMM tf32", r"gemm_tf32/\d+", "flops"),
    ("GEMM bf16", r"gemm_bf16/\d+", "flops"),
]
RESULTS = {"reproduced": "ok", "skipped": "skip", "not reproduced": "not shown"}
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def line(name, result, figure):
    print(f"{name}\t{result}\t{figure}")


def argument(row):
    found = re.search(r"/(\d+)", row["run_name"])
    return int(found[1]) if found else 0


def shown(row, what):
    if what == "bytes" and row.get("bytes_per_second"):
        return f"{row['bytes_per_second'] / 1e9:.1f} GB/s"
    if what == "flops":
        flops = row.get("flops_per_second") or row.get("flops") or row.get("items_per_second")
        if flops:
            return f"{flops / 1e12:.3g} TFLOP/s"
    return f"{row['real_time'] * NANOSECONDS[row['time_unit']] / 1e3:.3g} us"


def largest(rows, pattern):
    found = [row for row in rows if re.fullmatch(pattern, row["run_name"])]
    return max(found, key=argument, default=None)


def bench(result):
    rows = [row for row in result["benchmarks"] if row.get("aggregate_name") == "median"]
    for name, pattern, what in SPEEDS:
        row = largest(rows, pattern)
        if row:
            line(name, "ok", f"{shown(row, what)}  ({row['run_name']})")
    copy = largest(rows, r"bw_copy_d2d/\d+")
    cold = {row["run_name"].split("/")[0] for row in rows if "_cold" in row["run_name"]}
    shares = sorted((row["bytes_per_second"] / copy["bytes_per_second"], row["run_name"])
                    for row in (largest(rows, name + r"(/\d+)?") for name in cold)
                    if copy and row.get("bytes_per_second"))
    if shares:
        low = [name for share, name in shares if share < COPY_SHARE]
        well = not low or result["context"]["device"] == "cpu"
        line(f"kernels at {COPY_SHARE:.0%} of a copy", "ok" if well else "LOW",
             f"{len(shares) - len(low)} of {len(shares)}; least {shares[0][0]:.0%}, {shares[0][1]}")
    failures = result["chokepoint"].get("failures")
    if failures:
        line("benches that failed", "FAILED", f"{len(failures)}: {failures[0]}"[:120])


def run(result):
    device = result["context"]["device"]
    scenarios = result["chokepoint"]["scenarios"]
    costs = []
    for scenario in scenarios:
        verdict = scenario["verdict"]
        effect = scenario["effect"]
        line(f"  {scenario['name']}", RESULTS.get(verdict, verdict),
             (f"{effect:.2f}x step time" if effect else "") +
             (f"  {scenario['reason']}"[:120] if verdict != "reproduced" else ""))
        for variant, tracing in scenario["tracing"].items():
            if tracing and tracing.get("overhead") is not None:
                heavy = "model=heavy" in scenario["settings"][variant]
                costs.append((tracing["overhead"], heavy, f"{scenario['name']}.{variant}",
                              tracing["dropped"]))
    heavy = [cost for cost in costs if cost[1]]
    for name, of, limit in (("tracing a heavy step", heavy, TRACING_COST.get(device, 0.05)),
                            ("tracing any step", costs, None)):
        if of:
            worst = max(of)
            well = limit is None or worst[0] <= limit or device == "cpu"
            line(name, "ok" if well else "SLOW",
                 f"at most {worst[0]:+.1%} ({worst[2]}); {sum(cost[3] for cost in of)} records dropped")


def main(kind, path):
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    {"bench": bench, "run": run}[kind](result)


main(*sys.argv[1:])
