#!/usr/bin/env python3
"""Figures for the table of gpu_check.sh, one per line: name, result, figure, between tabs.

usage: gpu_figures.py copies|products BENCH.JSON    speeds
       gpu_figures.py kernels COPIES.JSON BENCH.JSON  memory-bound kernels against the copy
       gpu_figures.py collectives BENCH.JSON  of two ranks
       gpu_figures.py losses ONE.JSON OTHER.JSON  of two trainings, which should be the same
       gpu_figures.py run RESULT.JSON      verdicts, and what tracing costs
       gpu_figures.py names TRACE...       all kernels in traces of ours: model, precision, launches,
                                           median us, total ms, name
"""
import collections
import gzip
import json
import math
import re
import statistics
import sys
import zlib

# The goal of memory-bound kernels whose data does not fit into the cache: this share of a copy's
# bandwidth within the device.
COPY_SHARE = 0.85
# A tracer may take at most this share of the time of a step that is bound by arithmetic.
TRACING_COST = {"cuda": 0.05, "cpu": 0.02}

# The losses of two trainings differ at most by this share, where only the order of additions differs.
LOSS_DIFFERENCE = 1e-3

# name, rows (of several the one with the largest argument), what to show
SPEEDS = {
    "copies": [
        ("launch, enqueued", r"lat_launch_enqueue", "time"),
        ("launch, to the end", r"lat_launch_sync", "time"),
        ("graph", r"lat_graph/1", "time"),
        ("synchronise a stream", r"lat_sync_stream/32", "time"),
        ("read 4 bytes back", r"lat_readback", "time"),
        ("copy, host to device", r"bw_copy_h2d/\d+", "bytes"),
        ("copy, device to host", r"bw_copy_d2h/\d+", "bytes"),
        ("copy, both ways", r"bw_copy_both/\d+", "bytes"),
        ("copy, within the device", r"bw_copy_d2d/\d+", "bytes"),
        ("memory, triad fp32", r"bw_memory_triad_fp32_cold/\d+", "bytes"),
        ("memory, triad bf16", r"bw_memory_triad_bf16_cold/\d+", "bytes"),
    ],
    "products": [
        ("GEMM fp32", r"gemm_fp32/\d+", "flops"),
        ("GEMM tf32", r"gemm_tf32/\d+", "flops"),
        ("GEMM bf16", r"gemm_bf16/\d+", "flops"),
    ],
    "collectives": [
        ("all-reduce, bus", r"coll_allreduce/\d+/ranks:2", "bus_bytes"),
        ("all-gather, bus", r"coll_allgather/\d+/ranks:2", "bus_bytes"),
    ],
}
RESULTS = {"reproduced": "ok", "skipped": "skip", "not reproduced": "not shown"}
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def line(name, result, figure):
    print(f"{name}\t{result}\t{figure}")


def argument(row):
    found = re.search(r"/(\d+)", row["run_name"])
    return int(found[1]) if found else 0


def shown(row, what):
    if what in ("bytes", "bus_bytes") and row.get(f"{what}_per_second"):
        return f"{row[f'{what}_per_second'] / 1e9:.1f} GB/s"
    if what == "flops":
        flops = row.get("flops_per_second") or row.get("flops") or row.get("items_per_second")
        if flops:
            return f"{flops / 1e12:.3g} TFLOP/s"
    return f"{row['real_time'] * NANOSECONDS[row['time_unit']] / 1e3:.3g} us"


def name_of(row):
    """The run's name without what Google Benchmark's form says of the timer."""
    return row["run_name"].removesuffix("/manual_time")


def largest(rows, pattern):
    found = [row for row in rows if re.fullmatch(pattern, name_of(row))]
    return max(found, key=argument, default=None)


def medians(result):
    return [row for row in result["benchmarks"] if row.get("aggregate_name") == "median"]


def failures(result):
    failed = result["chokepoint"].get("failures")
    if failed:
        line("benches that failed", "FAILED", f"{len(failed)}: {failed[0]}"[:120])


def speeds(kind, result):
    rows = medians(result)
    for name, pattern, what in SPEEDS[kind]:
        row = largest(rows, pattern)
        if row:
            line(name, "ok", f"{shown(row, what)}  ({name_of(row)})")
        else:  # a CPU has no tf32; a GPU that the figures are made for has everything
            line(name, "skip" if result["context"]["device"] == "cpu" else "FAILED",
                 f"no row {pattern}")
    failures(result)


def kernels(copies, result):
    rows = medians(copies) + medians(result)
    copy = largest(rows, r"bw_copy_d2d/\d+")
    if not copy:
        line("kernels, against a copy", "FAILED", "no row bw_copy_d2d")
        return
    cold = {name_of(row).split("/")[0] for row in rows if "_cold" in row["run_name"]}
    shares = sorted((row["bytes_per_second"] / copy["bytes_per_second"], row["run_name"])
                    for row in (largest(rows, name + r"(/\d+)?") for name in cold)
                    if row.get("bytes_per_second"))
    if shares:
        low = [name for share, name in shares if share < COPY_SHARE]
        well = not low or result["context"]["device"] == "cpu"
        line(f"kernels at {COPY_SHARE:.0%} of a copy", "ok" if well else "LOW",
             f"{len(shares) - len(low)} of {len(shares)}; least {shares[0][0]:.0%}, {shares[0][1]}")
    failures(result)


def losses(one, other):
    one, other = one["loss"], other["loss"]
    apart = abs(one - other) / abs(other) if other else math.inf
    line("losses of two ranks", "ok" if apart <= LOSS_DIFFERENCE else "FAILED",
         f"{one:.6g} here, {other:.6g} on the CPU device, {apart:.1e} apart")


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


def names(*paths):
    """Finding rules know libraries' kernels by their names, which differ between versions. The times
    are to be held against docs/predictions.md; a name's launches may differ in size."""
    times = collections.defaultdict(list)  # us
    for path in paths:
        setting = {"model": "?", "precision": "?"}
        try:
            with gzip.open(path, "rt", encoding="utf-8") as lines:  # one event per line
                for text in lines:
                    if text.startswith('"chokepoint":'):
                        setting.update(re.findall(r"\b(model|precision)=(\w+)", text))
                    kernel = re.match(r'{"ph":"X","cat":"kernel","name":("(?:[^"\\]|\\.)*").*?"dur":([\d.]+)',
                                      text)
                    if kernel:
                        key = setting["model"], setting["precision"], json.loads(kernel[1])
                        times[key].append(float(kernel[2]))
        except (OSError, EOFError, ValueError, zlib.error) as error:  # a name that is no UTF-8 is a ValueError
            print(f"{path}: {error}", file=sys.stderr)
    for (model, precision, name), us in sorted(times.items()):
        print(f"{model}\t{precision}\t{len(us)}\t{statistics.median(us):.2f}\t{sum(us) / 1e3:.3f}\t{name}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main(kind, *paths):
    if kind == "names":
        names(*paths)
        return
    results = [read(path) for path in paths]
    if kind in SPEEDS:
        speeds(kind, *results)
    else:
        {"kernels": kernels, "losses": losses, "run": run}[kind](*results)


main(*sys.argv[1:])
