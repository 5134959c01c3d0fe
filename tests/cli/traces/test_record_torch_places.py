#!/usr/bin/env python3
"""`record` with PyTorch: the place of what is slow is the user's line, also if a package's code is slow or calls the user's
back (tests/fixtures/trainings/places), and in a notebook it is a cell.

usage: test_record_torch_places.py PROGRAM [NAME...]
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

PLACES = FIXTURES / "trainings/places"
# Program, what must be installed, the finding, its place, and that in the package.
CASES = [("in_library.py", None, "host_work", r"in_library\.py:6 in <module>, fit\(\)", r"fitter/feeding\.py:\d+ in (scaled|feed)"),
         ("many_calls.py", None, "host_work", r"many_calls\.py:(16|9) in (train|counted)", ""),
         ("called_back.py", None, "host_work", r"called_back\.py:7 in turned", ""),
         ("hf_collate.py", "transformers", "data_loading", r"hf_collate\.py:15 in slow_collate, __call__\(\)",
          r"\S*tokenization_utils_\w+\.py:\d+ in \w+"),
         ("cells.py", "nbclient", "data_loading", r"cell 2, line 4 in slow_collate", "")]

program = os.path.abspath(sys.argv[1])


def faults_of(folder, name, finding, place, library):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(PLACES / "site-packages"),
                   "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
    done = subprocess.run([program, "record", "--no-page", f"--traces={folder}", "--", sys.executable, name], cwd=PLACES,
                          env=environment, capture_output=True, text=True, check=False, timeout=600)
    said = subprocess.run([program, "diagnose", "--format=json", str(folder)], capture_output=True, text=True, check=False)
    if done.returncode != 0 or said.returncode not in (0, 1):
        return [f"{done.returncode} {done.stderr} {said.stderr}"]
    found = {one["id"]: one for one in json.loads(said.stdout)["traces"][0]["findings"]}
    if finding not in found:
        return [f"{finding} is not among {list(found)}"]
    places = [(found[finding][member] or {}).get("text", "") for member in ("where", "library")]
    return [f"{finding} is at {is_at!r}, not {wanted}" for is_at, wanted in zip(places, (place, library))
            if not re.match(wanted or "$", is_at)]


def main():
    switch_or_skip()
    failed = False
    with tempfile.TemporaryDirectory(prefix="chokepoint-record-") as folder:
        for name, needs, finding, place, library in CASES:
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            if needs and importlib.util.find_spec(needs) is None:
                print(f"{name}: skipped, {needs} is missing")
                continue
            faults = faults_of(pathlib.Path(folder) / name, name, finding, place, library)
            print(f"{name}: {'; '.join(faults) or 'ok'}", flush=True)
            failed = failed or bool(faults)
    return 1 if failed else 0


sys.exit(main())
