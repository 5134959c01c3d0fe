#!/usr/bin/env python3
"""Runs scenarios on CUDA's own path over the stand-in and checks every count that they promise: launches, waits, captures,
copies, bytes, peaks, allocations. Times are not asked: kernels there are executed instruction by instruction.

    test_cuda_scenarios.py PROGRAM LOSSES UNDER_MPI [SCENARIO...]      all of them if none is named; prints a table

LOSSES is rank_losses, which trains with the same settings on the CPU device, whose losses must be close, and once more
over the stand-in, whose losses must be the same. Fails where a scenario fails, where losses do not agree, where a count is
not as promised, or where the diagnosis before the fix has another finding first."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from retime_trace import retime

COUNTS = {
    "collectives_per_step", "collective_bytes_per_step", "late_gradient_bytes_per_step", "launches_per_step",
    "captures_per_step", "op_bytes_per_step", "model_flops_per_step", "syncs_per_step", "copies_per_step",
    "h2d_bytes_per_step", "d2d_bytes_per_step", "d2h_bytes_per_step", "allocations_per_step", "host_allocations_per_step",
    "padding_share", "workers_started_per_step", "micro_batch_samples", "log_syncs_per_step", "skipped_updates_per_step", "activation_peak_bytes",
    "optimizer_state_bytes", "parameter_bytes", "late_parameter_bytes_per_step", "memory_peak_bytes", "memory_growth_bytes",
    "pipeline_idle_share", "busiest_rank_tokens",
}
# They grow with the steps, of which a window has more on a GPU.
BY_STEPS = {("leak", "activation_peak_bytes")}
# Scenarios that cannot be measured here: only their losses are compared, with these smaller settings.
LOSSES_ONLY = {
    "naive_attention": "tokens=257",  # 1297 take minutes
    "double_precision": "batch=2 tokens=5 width=64",  # the stand-in's products in fp64 are plain loops
    "serial_streams": "batch=2 tokens=5 width=64",  # it promises times alone
    "blocking_logger": "",  # which is skipped where a step takes longer than a line of the log
}
# Findings whose evidence is what a step does and not how long it takes: of these an accepted one must come first in a trace
# that has the times of a model (retime_trace.py), where a scenario accepts one.
COUNTED = {
    "host_sync", "small_copies", "pageable_copy", "exposed_copy", "host_round_trip", "graph_recapture", "allocation_churn",
}
# Relative to the largest: the bounds of test_gpu_training.
CLOSE = {"fp32": 1e-4, "bf16": 2e-2, "fp16": 2e-2}


def is_kept(expectation, most):
    """Whether one pair shows what is promised of it, an effect of `most` being enough; NaN and None never do."""
    before, after = expectation["before"], expectation["after"]
    if before is None or after is None:
        return False
    more, less = (before, after) if expectation["direction"] == "shrinks" else (after, before)
    effect = more / less if less else (float("inf") if more else 1)
    checks = {
        "at_least": lambda bound: effect >= min(bound, most),
        "at_most": lambda bound: effect <= bound,
        "before_above": lambda bound: before >= bound,
        "after_below": lambda bound: after <= bound,
    }
    return all(check(expectation[name]) for name, check in checks.items() if expectation[name] is not None)


def promised(scenario):
    return [e for e in scenario.get("expectations", []) if e["metric"] in COUNTS and e["outcome"] != "not bound"]


def knob(settings, name, default=None):
    return next((word.split("=", 1)[1] for word in settings.split() if word.startswith(name + "=")), default)


def train(settings, device):
    """The losses of the first steps."""
    ranks = knob(settings, "ranks", "1")
    command = [LOSSES, "1", settings] if ranks == "1" else [UNDER_MPI, ranks, LOSSES, settings]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "CHOKEPOINT_TEST_DEVICE": device, "STAND_IN_DEVICES": ranks})
    if done.returncode != 0:
        raise ValueError(f"losses on {device}: {done.stdout}{done.stderr}")
    return [float.fromhex(word) for word in done.stdout.splitlines()[0].split()]


def loss_complaints(settings, measured):
    """Compares the losses that were measured with the settings with those of another run and of the CPU device."""
    again, cpu = train(settings, "cuda"), train(settings, "cpu")
    if any(abs(a - b) > 1e-8 * abs(a) for a, b in zip(measured, again)):  # as many digits as the result has
        yield f"other losses in another run: {measured}, {again}"
    difference = max(abs(a - b) for a, b in zip(measured, cpu)) / max(map(abs, cpu))
    if not difference <= CLOSE[knob(settings, "precision", "bf16")]:
        yield f"the CPU device's losses differ by {difference:.2g}"


def finding_complaints(name, accepted):
    """Complaints about the diagnosis before the fix."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "before.json"
        size = ["--jpeg-pixels=64"] if name in SIZED else []
        subprocess.run([PROGRAM, "exec", name, "--device=cuda", "--quick", "--variant=before", f"--trace={path}",
                        "--step-time=0.01", *size], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        trace = json.loads(path.read_text())
        retime(trace)
        path.write_text(json.dumps(trace))
        said = subprocess.run([PROGRAM, "diagnose", path, "--format=json"], check=True, stdout=subprocess.PIPE).stdout
    found = [finding["id"] for finding in json.loads(said)["traces"][0]["findings"]]
    if next((one for one in found if one in COUNTED), None) not in accepted:
        yield f"diagnosed: {', '.join(found)}; accepted: {', '.join(accepted)}"


def accepted_of(row):
    """Findings that rest on counts."""
    return [finding["id"] for finding in row["findings"]
            if finding["id"] in COUNTED and finding["where"] in ("anywhere", "cuda")]


def complaints(scenario):
    if scenario["verdict"] in ("failed", "skipped"):
        yield scenario["reason"]
        return
    if not scenario["losses"]["agree"]:
        yield f"the losses differ by {scenario['losses']['difference']}"
    for expectation in promised(scenario):
        sample = scenario["samples"]["before"][0]
        by_steps = (scenario["name"], expectation["metric"]) in BY_STEPS
        if not is_kept(expectation, 0.9 * (sample["steps"] + sample["warmup_steps"]) if by_steps else float("inf")):
            yield (f"{expectation['metric']}: {expectation['before']} before, {expectation['after']} after; "
                   f"it {expectation['direction']}, at least {expectation['at_least']}")
    # Those after are compared with them by the scenario itself.
    yield from loss_complaints(scenario["settings"]["before"], scenario["samples"]["before"][0]["losses"])
    if ACCEPTED.get(scenario["name"]):
        yield from finding_complaints(scenario["name"], ACCEPTED[scenario["name"]])


def noted(check, *what):
    """The complaints of the check; also if it cannot train."""
    found = []
    try:
        found.extend(check(*what))
    except (ValueError, subprocess.CalledProcessError) as error:
        found.append(str(error))
    return found


def pair_complaints(scenario):
    """A scenario of which only losses are compared."""
    pair = [f"{scenario['settings']} {scenario['knob']}={scenario[variant]} {LOSSES_ONLY[scenario['name']]}"
            for variant in ("before", "after")]
    before, after = (train(settings, "cuda") for settings in pair)
    difference = max(abs(a - b) for a, b in zip(before, after)) / max(map(abs, before))
    if not difference <= CLOSE["bf16"]:
        yield f"the losses differ by {difference:.2g}"
    yield from loss_complaints(pair[0], before)


def compare_losses(scenario):
    """A row with what is wrong."""
    start = time.monotonic()
    found = noted(pair_complaints, scenario)
    return [({"name": scenario["name"], "seconds": time.monotonic() - start}, found)]


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
    return [(row, noted(complaints, row)) for row in rows]


ACCEPTED = {}  # by scenario, once they are listed
# Those whose images have a size that a balance chooses.
SIZED = ("data_dependent_shape", "host_clipping", "host_metrics", "item_sync", "loader_workers", "loss_scaling", "slow_collate")
TOGETHER = 4  # scenarios of one call


def calls(names):
    """Functions that give rows."""
    known = json.loads(subprocess.run([PROGRAM, "list", "--format=json"], check=True,
                                      stdout=subprocess.PIPE).stdout)["scenarios"]
    chosen = [row for row in known if not names or row["name"] in names]
    ACCEPTED.update((row["name"], accepted_of(row)) for row in chosen if row["group"] != "ranks")
    measured = [row for row in chosen if row["name"] not in LOSSES_ONLY]
    for ranks, sized in ((2, False), (1, True), (1, False)):
        some = [row["name"] for row in measured if (row["group"] == "ranks") == (ranks > 1) and (row["name"] in SIZED) == sized]
        for first in range(0, len(some), TOGETHER):
            yield lambda these=some[first:first + TOGETHER], ranks=ranks, sized=sized: run(these, ranks, sized)
    for row in chosen:
        if row["name"] in LOSSES_ONLY:
            yield lambda row=row: compare_losses(row)


def main():
    wrong = count = 0
    # Kernels keep one core busy, whatever there is.
    with concurrent.futures.ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) if not sys.argv[4:] else 1)) as pool:
        for rows in pool.map(lambda call: call(), calls(sys.argv[4:])):
            for scenario, found in rows:
                said = "WRONG" if found else "as promised"
                diagnosed = f", {ACCEPTED[scenario['name']][0]} found" if ACCEPTED.get(scenario["name"]) and not found else ""
                print(f"{scenario['name']:<24} {len(promised(scenario))} counts {said}, {scenario['seconds'] or 0:.0f} s{diagnosed}")
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
