#!/usr/bin/env python3
"""docs/diagnosis.md documents every member of `diagnose --format=json`, with the types that it has, and none that
there is not.

The outputs are of traces made here, of the seeds of the fuzzer, of runs of scenarios, and of the real traces, if they
are there.

usage: test_cli_json.py PROGRAM SOURCE
"""
import collections
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
document = source / "docs/diagnosis.md"
failures = []

# --- What is documented ---

TYPES = {"integer": {int}, "number": {int, float}, "string": {str}, "boolean": {bool}, "object": {dict},
         "array": {list}, "null": {type(None)}}


def documented():
    """Rows of the tables by path, and the groups of paths that a table is for."""
    rows, groups = {}, []
    for part in re.split(r"^### ", document.read_text(), flags=re.MULTILINE)[1:]:
        paths = [path if path != "the file" else "" for path in re.findall(r"`([^`]+)`", part.splitlines()[0])]
        for row in re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]*) \| ([^|]+) \| `([^`]*)` \|$", part,
                              flags=re.MULTILINE):
            name, types, unit, meaning, example = (cell.strip() for cell in row)
            kinds = set()
            for word in types.split(" or "):
                if word not in TYPES:
                    failures.append(f"{name}: there is no type {word}")
                kinds |= TYPES.get(word, set())
            value = json.loads(example)
            if type(value) not in kinds:
                failures.append(f"{name}: the example {example} is not of the type {types}")
            group = [f"{path}.{name}".lstrip(".") for path in paths]
            groups.append(group)
            for path in group:
                if path in rows:
                    failures.append(f"{path} is documented twice")
                rows[path] = kinds
                if name.endswith(("_ns", "_bytes")) and unit not in ("ns", "B"):
                    failures.append(f"{path}: the unit is not stated")
                if not meaning:
                    failures.append(f"{path}: the meaning is not stated")
    return rows, groups


# --- What there is ---

seen = collections.defaultdict(set)


def walk(value, path):
    if isinstance(value, dict):
        for name, member in value.items():
            inner = f"{path}.{name}".lstrip(".")
            seen[inner].add(type(member))
            walk(member, inner)
    elif isinstance(value, list):
        for member in value:
            walk(member, path + "[]")


def diagnose(*arguments):
    command = [program, "diagnose", *arguments, "--format=json"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if ran.stdout:
        walk(json.loads(ran.stdout), "")


def event(category, name, start, length, thread=9, process=9, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": start, "dur": length,
            "args": arguments}


def made_trace(path, rank=None, communication=300):
    """Steps of 1 ms in which a function reads a number back, and so waits for the device."""
    events = [{"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "args": {"name": "python"}}]
    events.append(event("python_function", "train.py(10): main", 0, 10000, **{"Python id": 1}))
    for step in range(10):
        at = 1000 * step
        number = 10 * step + 1
        events += [
            event("user_annotation", f"ProfilerStep#{step}", at, 1000),
            event("user_annotation", "made by hand", at + 2, 50),
            event("python_function", "train.py(30): log_loss", at + 100, 880,
                  **{"Python id": number + 1, "Python parent id": 1}),
            event("cpu_op", "aten::mm", at + 5, 40, flops=123456),
            event("cuda_runtime", "cudaLaunchKernel", at + 10, 20, correlation=number),
            event("kernel", "sgemm", at + 40, 300, thread=7, process=0, correlation=number, grid=[8, 1, 1],
                  block=[128, 1, 1], **{"blocks per SM": 0.1, "est. achieved occupancy %": 20}),
            event("cuda_runtime", "cudaLaunchKernel", at + 60, 10, correlation=number + 1),
            event("kernel", "ncclDevKernel_AllReduce", at + 340, communication, thread=8, process=0,
                  correlation=number + 1),
            event("cpu_op", "aten::item", at + 110, 590),
            event("cuda_runtime", "cudaStreamSynchronize", at + 120, 560, correlation=number + 2),
            event("cpu_op", "aten::randn", at + 705, 280),
        ]
    trace = {"traceEvents": events, "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "computeMajor": 8,
             "computeMinor": 0, "numSms": 108, "totalGlobalMem": 1 << 30}]}
    if rank is not None:
        trace["distributedInfo"] = {"rank": rank, "world_size": 8}
    pathlib.Path(path).write_text(json.dumps(trace))


def diagnose_all(folder):
    made = os.path.join(folder, "made.json")
    made_trace(made)
    diagnose(made, "--timeline=2")
    ranks = [os.path.join(folder, f"rank{rank}.json") for rank in range(4)]
    for rank, path in enumerate(ranks):
        made_trace(path, rank, communication=300 if rank > 1 else 40)
    diagnose(*ranks, "--timeline=1")
    for seed in sorted(glob.glob(str(source / "tests/fuzz/seeds/*"))):
        diagnose(seed, "--timeline=1")
    for scenario in ("item_sync", "leak"):
        trace = os.path.join(folder, f"{scenario}.json.gz")
        subprocess.run([program, "exec", scenario, "--variant=before", f"--trace={trace}", "--step-time=0.002"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        diagnose(trace, "--timeline=1")
    real = os.environ.get("CHOKEPOINT_TRACES") or str(source / "../shared/traces")
    for trace in sorted(glob.glob(os.path.join(real, "*.gz"))):
        diagnose(trace, "--timeline=1")


rows, groups = documented()
with tempfile.TemporaryDirectory() as place:
    os.environ["CHOKEPOINT_CACHE"] = os.path.join(place, "cache")
    diagnose_all(place)
for path, types in sorted(seen.items()):
    if path not in rows:
        failures.append(f"{path} is not documented")
    elif not types <= rows[path]:
        failures.append(f"{path} has types that are not documented: {types - rows[path]}")
for group in groups:
    if not any(path in seen for path in group):
        failures.append(f"{', '.join(group)}: documented, but in no output")
if len(rows) < 150 or len(seen) < 150:
    failures.append(f"only {len(rows)} members are documented, and {len(seen)} seen")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
