#!/usr/bin/env python3
"""Runs scenarios on CUDA's own path over the stand-in and checks every count that they promise: launches, waits, captures,
copies, bytes, peaks, allocations. Times are not asked: kernels there are executed instruction by instruction.

    test_cuda_scenarios.py PROGRAM LOSSES UNDER_MPI [SCENARIO...]      all of them if none is named; prints a table

LOSSES is rank_losses, which trains with the same settings on the CPU device, whose losses must be close, and once more
over the stand-in, whose losses must be the same. Fails where a scenario fails, where losses do not agree, or where a
count is not as promised."""

import concurrent.futures
import json
import os
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
# Relative to the largest: the bounds of test_gpu_training.
CLOSE = {"fp32": 1e-4, "bf16": 2e-2, "fp16": 2e-2}


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


def promised(scenario):
    return [e for e in scenario.get("expectations", []) if e["metric"] in COUNTS and e["outcome"] != "not bound"]


def knob(settings, name):
    return next(word.split("=", 1)[1] for word in settings.split() if word.startswith(name + "="))


def train(settings, device):
    """The losses of the first steps."""
    ranks = knob(settings, "ranks")
    command = [LOSSES, "1", settings] if ranks == "1" else [UNDER_MPI, ranks, LOSSES, settings]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "CHOKEPOINT_TEST_DEVICE": device, "STAND_IN_DEVICES": ranks})
    if done.returncode != 0:
        raise ValueError(f"on {device}: {done.stdout}{done.stderr}")
    return [float.fromhex(word) for word in done.stdout.splitlines()[0].split()]


def loss_complaints(scenario):
    """Of the settings before: those after are compared with them by the scenario itself."""
    settings = scenario["settings"]["before"]
    measured = scenario["samples"]["before"][0]["losses"]
    try:
        again, cpu = train(settings, "cuda"), train(settings, "cpu")
    except ValueError as error:
        yield f"losses {error}"
        return
    if any(abs(a - b) > 1e-8 * abs(a) for a, b in zip(measured, again)):  # as many digits as the result has
        yield f"other losses in another run: {measured}, {again}"
    difference = max(abs(a - b) for a, b in zip(measured, cpu)) / max(map(abs, cpu))
    if not difference <= CLOSE[knob(settings, "precision")]:
        yield f"the CPU device's losses differ by {difference:.2g}"


def complaints(scenario):
    if scenario["verdict"] in ("failed", "skipped"):
        yield scenario["reason"]
        return
    if not scenario["losses"]["agree"]:
        yield f"the losses differ by {scenario['losses']['difference']}"
    for expectation in promised(scenario):
        if not is_kept(expectation):
            yield (f"{expectation['metric']}: {expectation['before']} before, {expectation['after']} after; "
                   f"it {expectation['direction']}, at least {expectation['at_least']}")
    yield from loss_complaints(scenario)


def like(names, folder):
    """An earlier result for scenarios that choose the size of their images by times, which mean nothing here."""
    rows = [{"name": name, "settings": {"before": "model=balanced input=decoded jpeg_pixels=64"},
             "protocol": {"device_memory": 0, "data": None, "quick": True}} for name in names]
    path = pathlib.Path(folder) / "like.json"
    path.write_text(json.dumps({"context": {"device": "cuda"}, "benchmarks": [],
                                "chokepoint": {"schema": 1, "scenarios": rows}}))
    return path


def run(names, ranks, sized):
    """Rows of the result, with what is wrong with each."""
    with tempfile.TemporaryDirectory() as folder:
        more = [f"--like={like(names, folder)}"] if sized else names
        done = subprocess.run([PROGRAM, "run", *more, "--quick", "--repetitions=1", "--no-trace", "--device=cuda",
                               f"--out={folder}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, env={**os.environ, "STAND_IN_DEVICES": str(ranks)})
        result = pathlib.Path(folder) / "result.json"
        if not result.exists() or "stand-in: " in done.stdout:
            sys.exit(done.stdout)
        rows = json.loads(result.read_text())["chokepoint"]["scenarios"]
    return [(row, list(complaints(row))) for row in rows]


# Those whose images have a size that a balance chooses.
SIZED = ("host_clipping", "item_sync", "loader_workers", "loss_scaling", "slow_collate")
TOGETHER = 4  # scenarios of one call


def calls(names):
    known = json.loads(subprocess.run([PROGRAM, "list", "--format=json"], check=True,
                                      stdout=subprocess.PIPE).stdout)["scenarios"]
    chosen = [row for row in known if not names or row["name"] in names]
    for ranks, sized in ((2, False), (1, True), (1, False)):
        some = [row["name"] for row in chosen if (row["group"] == "ranks") == (ranks > 1) and (row["name"] in SIZED) == sized]
        for first in range(0, len(some), TOGETHER):
            yield some[first:first + TOGETHER], ranks, sized


def main():
    wrong = count = 0
    # Kernels keep one core busy, whatever there is.
    with concurrent.futures.ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) if not sys.argv[4:] else 1)) as pool:
        for rows in pool.map(lambda call: run(*call), calls(sys.argv[4:])):
            for scenario, found in rows:
                said = "WRONG" if found else "as promised"
                print(f"{scenario['name']:<24} {len(promised(scenario))} counts {said}, {scenario['seconds'] or 0:.0f} s")
                for line in found:
                    print(f"  {line}")
                wrong += len(found)
                count += 1
            sys.stdout.flush()
    print(f"{count} scenarios, {wrong} complaints")
    sys.exit(wrong > 0 or count == 0)


if __name__ == "__main__":
    PROGRAM, LOSSES, UNDER_MPI = sys.argv[1:4]
    main()
