#!/usr/bin/env python3
"""Not a test: where the time of a run went, scenario by scenario, from its result.json.

Seconds in all, in timed windows, in warm-up (its steps at the median step time), in the windows of traces, and in the rest: the
repetition that does not count, the balance, opening data and devices, writing and reading traces.

usage: run_cost.py RESULT [OLDER]      a file each; of OLDER the seconds in all
"""
import json
import statistics
import sys


def scenarios(path):
    with open(path, encoding="utf-8") as file:
        return {one["name"]: one for one in json.load(file)["chokepoint"]["scenarios"] if one["samples"]["before"]}


def of_samples(samples):
    step_ns = statistics.median(one["metrics"]["step_time"] for one in samples) * 1e3
    return sum(one["wall_ns"] for one in samples) / 1e9, sum(one["warmup_steps"] for one in samples) * step_ns / 1e9


def of_trace(tracing):
    if not tracing or not tracing.get("windows"):
        return 0
    windows, steps = tracing["windows"], tracing["steps"]
    waited = windows if tracing["spread"] is not None else 0  # Quick runs know the step time without a tracer.
    recorded = windows + (windows > 1)
    return steps * (waited * tracing["step_time_us"] + recorded * tracing["traced_step_time_us"]) / 1e6


def parts(entry):
    windows, warm_up = map(sum, zip(*(of_samples(entry["samples"][variant]) for variant in ("before", "after"))))
    traces = sum(of_trace((entry.get("tracing") or {}).get(variant)) for variant in ("before", "after"))
    return [entry["seconds"], windows, warm_up, traces, entry["seconds"] - windows - warm_up - traces]


def line(name, figures, rest):
    print(f"{name:22}", " ".join(f"{figure:8.1f}" for figure in figures), f" {rest}")


def main():
    result = scenarios(sys.argv[1])
    older = scenarios(sys.argv[2]) if len(sys.argv) > 2 else {}
    sums = [0] * 5
    print(f"{'scenario':22}", " ".join(f"{word:>8}" for word in ("seconds", "windows", "warm-up", "traces", "rest")))
    for name, entry in result.items():
        figures = parts(entry)
        sums = [one + other for one, other in zip(sums, figures)]
        was = f", was {older[name]['seconds']:.1f} s and {older[name]['verdict']}" if name in older else ""
        line(name, figures, f"{entry['verdict']}, {len(entry['samples']['before'])} pairs of "
                            f"{entry['protocol']['window_seconds']:.3g} s{was}")
    line(f"{len(result)} scenarios", sums, "")


main()
