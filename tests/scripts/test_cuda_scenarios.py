#!/usr/bin/env python3
"""Runs scenarios on CUDA's own path over the stand-in and checks every count that they promise: launches, waits, captures,
copies, bytes, peaks, allocations. Times are not asked: kernels there are executed instruction by instruction.

    test_cuda_scenarios.py PROGRAM [SCENARIO...]      all of them if none is named; prints a table

Fails where a scenario fails, where its losses do not agree, or where a count is not as promised."""

import json
import pathlib
import subprocess
import sys
import tempfile

COUNTS = {
    "collectives_per_step", "collective_bytes_per_step", "late_gradient_bytes_per_step", "launches_per_step",
    "captures_per_step", "op_bytes_per_step", "model_flops_per_step", "syncs_per_step", "copies_per_step",
    "h2d_bytes_per_step", "d2d_bytes_per_step", "d2h_bytes_per_step", "allocations_per_step", "padding_share",
    "workers_started_per_step", "log_syncs_per_step", "skipped_updates_per_step", "activation_peak_bytes",
    "optimizer_state_bytes", "memory_peak_bytes",
}


def is_kept(expectation):
    """Whether one pair shows what is promised of it; NaN and None never do."""
    before, after = expectation["before"], expectation["after"]
    if before is None or after is None:
        return False
    more, less = (before, after) if expectation["direction"] == "shrinks" else (after, before)
    effect = more / less if less else (float("inf") if more else 1)
    checks = {
        "at_least": lambda bound: effect >= bound,
        "at_most": lambda bound: effect <= bound,
        "before_above": lambda bound: before >= bound,
        "after_below": lambda bound: after <= bound,
    }
    return all(check(expectation[name]) for name, check in checks.items() if expectation[name] is not None)


def complaints(scenario):
    if scenario["verdict"] == "failed":
        yield scenario["reason"]
    if scenario["verdict"] in ("failed", "skipped"):
        return
    if not scenario["losses"]["agree"]:
        yield f"the losses differ by {scenario['losses']['difference']}"
    for expectation in scenario["expectations"]:
        if expectation["metric"] in COUNTS and expectation["outcome"] != "not bound" and not is_kept(expectation):
            yield (f"{expectation['metric']}: {expectation['before']} before, {expectation['after']} after; "
                   f"it {expectation['direction']}, at least {expectation['at_least']}")


def main():
    program, scenarios = sys.argv[1], sys.argv[2:] or ["all"]
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([program, "run", *scenarios, "--quick", "--repetitions=1", "--no-trace", "--device=cuda",
                              "--out=" + folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        result = pathlib.Path(folder) / "result.json"
        if not result.exists():
            sys.exit(run.stdout)
        rows = json.loads(result.read_text())["chokepoint"]["scenarios"]
    wrong = 0
    for scenario in rows:
        found = list(complaints(scenario))
        checked = sum(e["metric"] in COUNTS and e["outcome"] != "not bound" for e in scenario.get("expectations", []))
        said = "WRONG" if found else "skipped: " + scenario["reason"] if scenario["verdict"] == "skipped" else "as promised"
        print(f"{scenario['name']:<24} {checked} counts {said}")
        for line in found:
            print(f"  {line}")
        wrong += len(found)
    if "stand-in: " in run.stdout:
        print(run.stdout)
        wrong += 1
    checked = [row for row in rows if row["verdict"] not in ("failed", "skipped")]
    if not checked:
        sys.exit("no scenario was measured")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
