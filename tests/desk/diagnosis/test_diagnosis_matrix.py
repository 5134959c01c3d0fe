#!/usr/bin/env python3
"""How often diagnosis is right, blind: every scenario, before and after.

usage: tests/desk/diagnosis/test_diagnosis_matrix.py PROGRAM [RUNS [SCENARIO...]]

Runs `PROGRAM run all --quick` RUNS times (1 if not given), each with a seed of its own, and counts, per
scenario, how often a finding that the scenario accepts came first before, how often nothing major but what
it tolerates was found after, and what else was found; with predicted beside measured gain, as medians.

A single run on a busy machine proves nothing. So fewer than 20 runs fail only where nothing at
all was right, or a scenario failed; from 20 runs on each scenario has to be right in 9 of 10, before and after. How far
predicted gains are from measured ones is printed and not judged: a busy machine moves both. So fewer than 20 runs measure one
pair per scenario, of a third of the scenarios, which CHOKEPOINT_TEST_SEED draws, and leave out the group ranks, all of whose
scenarios tests/cli/ranks run and have diagnosed.

Exit codes: 0 passed, 1 failed, 2 bad usage, 3 a run left no result.
"""
import collections
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

JUDGED_FROM = 20
BAR = 0.9


class Row:
    """What was found of one scenario, over all runs."""

    def __init__(self):
        self.first = []  # whether an accepted finding came first; only where one is expected
        self.after = []
        self.seen = {"before": collections.Counter(), "after": collections.Counter()}
        self.predicted, self.measured = [], []

    def add(self, findings):
        for variant, seen in self.seen.items():
            for finding in findings.get(variant) or []:
                if finding["severity"] != "information":
                    seen[finding["id"]] += 1
        if findings.get("accepted_first") is not None:
            self.first.append(findings["accepted_first"])
        if findings.get("tolerated_after") is not None:
            self.after.append(findings["tolerated_after"])
        if findings.get("predicted_gain") and findings.get("measured_gain"):
            self.predicted.append(findings["predicted_gain"])
            self.measured.append(findings["measured_gain"])


def run_once(program, scenarios, seed, folder, *more):
    command = [program, "run", *scenarios, "--quick", f"--seed={seed}", f"--out={folder}", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    path = os.path.join(folder, "result.json")
    if done.returncode not in (0, 1, 3) or not os.path.exists(path):
        sys.stderr.write(done.stdout + done.stderr)
        sys.exit(3)
    with open(path, encoding="utf-8") as file:
        return json.load(file)["chokepoint"]["scenarios"]


def drawn(program):
    """A third of the scenarios that train, but for ranks."""
    listed = subprocess.run([program, "list", "--format=json"], capture_output=True, check=True).stdout
    names = sorted(one["name"] for one in json.loads(listed)["scenarios"] if one["group"] != "ranks")
    return random.Random(int(os.environ.get("CHOKEPOINT_TEST_SEED", 1))).sample(names, (len(names) + 2) // 3)


def share(times):
    return f"{sum(times)} of {len(times)}" if times else "none due"


def names(seen):
    return ", ".join(f"{id} {count}" for id, count in seen.most_common()) or "nothing"


def print_row(name, row):
    gain = ""
    if row.predicted:
        predicted, measured = statistics.median(row.predicted), statistics.median(row.measured)
        gain = f"   gain predicted {predicted:.2f}, measured {measured:.2f}, {predicted / measured - 1:+.0%}"
    print(f"{name}: right first {share(row.first)}, none but tolerated after {share(row.after)}{gain}")
    for variant, seen in row.seen.items():
        print(f"    {variant}: {names(seen)}")


def is_well(rows, runs):
    everything = [right for row in rows.values() for right in row.first]
    if runs < JUDGED_FROM:
        return not everything or any(everything)
    return all(sum(times) >= BAR * len(times) for row in rows.values() for times in (row.first, row.after))


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("--help", "-h"):
        print(__doc__)
        sys.exit(0 if len(sys.argv) > 1 else 2)
    program, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rows = collections.defaultdict(Row)
    more, usual = (["--repetitions=1"], drawn(program)) if runs < JUDGED_FROM else ([], ["all"])
    failed = []
    for seed in range(1, runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            for scenario in run_once(program, sys.argv[3:] or usual, seed, folder, *more):
                if scenario["verdict"] == "failed":
                    failed.append(f"{scenario['name']} failed: {scenario['reason']}")
                if scenario.get("findings"):
                    rows[scenario["name"]].add(scenario["findings"])
    if not rows:
        sys.exit("no scenario was diagnosed: were there traces?")
    for name, row in rows.items():
        print_row(name, row)
    print("\n".join(failed))
    sys.exit(0 if is_well(rows, runs) and not failed else 1)


main()
