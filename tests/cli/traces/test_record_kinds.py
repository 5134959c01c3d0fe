#!/usr/bin/env python3
"""`record` with PyTorch and libraries that train with it: the first finding is what was made slow, at its line.

usage: test_record_kinds.py PROGRAM [NAME...]

The programs are in tests/fixtures/trainings/kinds.
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
from torch_python import switch_or_skip  # noqa: E402

# Words of the command; the first finding, or its title, and its place; the library that must be installed.
KINDS = [
    ("lightning_metric.py", "small_operators|host_work", r"lightning_metric\.py:\S+ in counted", "lightning"),
    ("lightning_healthy.py", "host_computes|healthy", "", "lightning"),
    ("trainer_collate.py", "data_loading", r"trainer_collate\.py:\S+ in by_number", "transformers"),
    ("accelerate_saving.py", "host_work", r".*(save_accelerator_state|save_state)", "accelerate"),
    ("monai_thread.py", "data_loading", r"(.*thread_buffer|monai_thread)\.py:\S+ in ", "monai"),
    ("sb3_environment.py", "host_work", r"sb3_environment\.py:\S+ in step", "stable_baselines3"),
    ("skorch_callback.py", "host_work", r"skorch_callback\.py:\S+ in on_batch_end", "skorch"),
    ("geometric_transform.py", "data_loading", r"geometric_transform\.py:\S+ in (near|<listcomp>|<genexpr>)",
     "torch_geometric"),
    ("-m pytest -q -p no:cacheprovider pytest_training.py", "data_loading", r"pytest_training\.py:\S+ in __getitem__",
     "pytest"),
    ("notebook_collate.py", "data_loading", r".* in by_number", "nbconvert"),
    ("closure.py", "small_operators|host_work", r"closure\.py:\S+ in (penalty|closure)", None),
    ("recurrent.py", "data_loading", r"recurrent\.py:\S+ in __getitem__", None),
    ("prefetched.py", "data_loading", r"prefetched\.py:\S+ in train, get\(\)", None),
    ("iterated.py", "The loop prepares its batches itself", r"iterated\.py:\S+ in batches", None),
    ("iterated.py many", "The loop prepares its batches itself", r"iterated\.py:\S+ in (batches|length)", None),
    ("evaluation.py", "rare_work", r"evaluation\.py:\S+ in <genexpr>", None),
    ("growing.py", "growing_steps", r"growing\.py:13 in ", None),
    ("garbage.py", "garbage_collection", "", None),
    ("forked.py", "host_work", r"forked\.py:\S+ in (save|train), save\(\)", None),
    ("recompiled.py", "recompilation", "", None),
]


def fault(program, folder, words, finding, line):
    """What is wrong, or "": the cause comes first, with its place; only a crowded machine may come before."""
    done = subprocess.run([program, "record", "--no-page", f"--traces={folder}", "--", sys.executable, *words.split()],
                          cwd=FIXTURES / "trainings/kinds", capture_output=True, text=True, check=False, timeout=600,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"})
    said = subprocess.run([program, "diagnose", "--format=json", str(folder)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0 or said.returncode not in (0, 1):
        return f"exit code {done.returncode}, {done.stdout}{done.stderr}{said.stderr}"
    findings = json.loads(said.stdout)["traces"][0]["findings"]
    crowded = any(one["id"] == "lost_core" for one in findings)
    fits = [bool(re.fullmatch(finding, one["id"]) or finding == one["title"]) for one in findings]
    first = next(number for number, one in enumerate(findings) if one["id"] != "lost_core" and (not crowded or fits[number]))
    place = (findings[first]["where"] or {}).get("text", "")
    if fits[first] and re.match(line, place):
        return ""
    return f"{findings[first]['title']} at {place!r} comes first, not {finding} at {line}"


def main():
    switch_or_skip()
    program, chosen = os.path.abspath(sys.argv[1]), sys.argv[2:]
    faults = 0
    with tempfile.TemporaryDirectory(prefix="chokepoint-kinds-") as folder:
        for number, (words, finding, line, needs) in enumerate(KINDS):
            if chosen and not any(word in words for word in chosen):
                continue
            if needs and importlib.util.find_spec(needs) is None:
                print(f"{words}: skipped, {needs} is missing")
                continue
            wrong = fault(program, pathlib.Path(folder) / str(number), words, finding, line)
            faults += wrong != ""
            print(f"{words}: {wrong or 'ok'}", flush=True)
    return min(faults, 1)


sys.exit(main())
