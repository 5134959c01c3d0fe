#!/usr/bin/env python3
"""`record` with PyTorch: each training (tests/fixtures/trainings) does what it does without us, whole steps are recorded,
and what is slow on purpose is named with its line.

usage: test_record_torch.py PROGRAM SOURCE [NAME...]
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
sys.path.insert(0, str(FIXTURES))
from recorded import Recorded, step_faults  # noqa: E402
from torch_python import switch_or_skip  # noqa: E402

TRAININGS = FIXTURES / "trainings"
ONE = {"fetch": 1, "step": 1}
# Words of the command, what each step holds, what must be installed, ranks.
CASES = [
    ("plain.py", {**ONE, "zero": 1}, None, 1),
    ("workers.py fork", {"step": 1}, None, 1),
    ("workers.py spawn", {"step": 1}, None, 1),
    ("iterable.py", ONE, None, 1),
    ("accumulation.py", {"fetch": 4, "step": 1}, None, 1),
    ("inference.py", {"fetch": 1, "step": 0}, None, 1),
    ("inference.py compile", {"fetch": 1, "step": 0}, None, 1),
    ("evaluation_first.py", ONE, None, 1),
    ("forward.py", {"fetch": 0, "step": 0}, None, 1),
    ("forward.py compile", {"fetch": 0, "step": 0}, None, 1),
    ("forks.py", ONE, None, 1),
    ("scheduled.py", ONE, None, 1),
    ("annotated.py", ONE, None, 1),
    ("compiled.py", ONE, None, 1),
    ("ranks.py spawn", ONE, None, 2),
    ("-m torch.distributed.run --standalone --nproc-per-node=2 ranks.py", ONE, None, 2),
    ("-m torch.distributed.run --standalone --nproc-per-node=2 ranks.py sharded", ONE, None, 2),
    ("with_lightning.py", {"step": 1}, "lightning", 1),
    ("with_accelerate.py", {"step": 1}, "accelerate", 1),
    ("with_trainer.py", {"step": 1}, "transformers", 1),
    ("notebook.py", ONE, "nbclient", 1),
]
# Finding and place of what is slow on purpose, in examples/slow.
SLOW = [("collate.py", "data_loading", r"collate\.py:\d+ in by_number"),
        ("transform.py", "data_loading", r"transform\.py:\d+ in augmented"),
        ("saving.py", "host_work", r"saving\.py:\d+ in <module>, save\(\)")]
program, examples = os.path.abspath(sys.argv[1]), os.path.abspath(os.path.join(sys.argv[2], "examples/slow"))
failures = []


def run(words, record=None):
    command = [sys.executable, *words]
    if record is not None:
        how = "--step=forward" if words[0] == "forward.py" else "--step=optimizer"
        command = [program, "record", "--no-page", how, f"--traces={record}", "--", *command]
    done = subprocess.run(command, cwd=TRAININGS, capture_output=True, text=True, check=False, timeout=600,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    return done if record is None else Recorded(done, record)


def check_case(folder, text, wanted, ranks):
    words = text.split()
    before, done = run(words), run(words, folder)
    faults = []
    # Some trainers print how long they took; the last line is the loss, or a sum of all weights.
    if (done.code, done.out.splitlines()[-1:]) != (before.returncode, before.stdout.splitlines()[-1:]) or done.code != 0:
        faults.append(f"{done.code} {done.out!r} {done.said!r}, without record {before.returncode} {before.stdout!r}")
    if len(done.plain) != ranks or len(done.stacks) != ranks:
        faults.append(f"{list(done.plain)} {list(done.stacks)} {done.said!r}")
    for part, count in ((done.plain, 8), (done.stacks, 2)):
        for name, trace in part.items():
            faults += [f"{name}: {fault}" for fault in step_faults(trace, count, **wanted)]
    return faults


def check_slow(folder, name, finding, line):
    """The cause is among the findings, at its line; which one comes first depends on how busy this machine is."""
    run([os.path.join(examples, name), "--steps=50"], folder)
    said = subprocess.run([program, "diagnose", "--format=json", str(folder)], capture_output=True, text=True,
                          check=False)
    found = {one["id"]: one["where"] for one in json.loads(said.stdout)["traces"][0]["findings"]}
    if finding not in found:
        return [f"{finding} is not among {list(found)}"]
    place = (found[finding] or {}).get("text", "")
    return [] if re.match(line, place) else [f"{finding} is at {place!r}, not {line}"]


def main():
    switch_or_skip()
    chosen = sys.argv[3:]
    with tempfile.TemporaryDirectory(prefix="chokepoint-record-") as name:
        for number, (text, wanted, needs, ranks) in enumerate(CASES):
            if chosen and not any(word in text for word in chosen):
                continue
            if needs and importlib.util.find_spec(needs) is None:
                print(f"{text}: skipped, {needs} is missing")
                continue
            faults = check_case(pathlib.Path(name) / str(number), text, wanted, ranks)
            print(f"{text}: {'; '.join(faults) or 'ok'}", flush=True)
            failures.extend(faults)
        for text, finding, line in SLOW:
            if chosen and not any(word in text for word in chosen):
                continue
            faults = check_slow(pathlib.Path(name) / text, text, finding, line)
            print(f"{text}: {'; '.join(faults) or 'ok'}", flush=True)
            failures.extend(faults)
    return 1 if failures else 0


sys.exit(main())
