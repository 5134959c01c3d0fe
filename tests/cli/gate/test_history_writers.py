#!/usr/bin/env python3
"""Many writers add to one history at the same time, each run by two of them, and some are killed: no line of
another is lost, and a run that is added again is there once.

usage: test_history_writers.py PROGRAM [WRITERS] [SEED]
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time

program = sys.argv[1]
writers = int(sys.argv[2]) if len(sys.argv) > 2 else 24
random.seed(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
ROWS = 400  # so that a writer takes a while


def result(folder, writer):
    path = os.path.join(folder, f"{writer}.json")
    rows = [
        {"name": f"row{i}", "run_type": "iteration", "real_time": writer + 1, "time_unit": "us"}
        for i in range(ROWS)
    ]
    context = {"date": f"2026-03-01T10:{writer:02}:00+00:00", "num_cpus": 2}
    with open(path, "w") as file:
        json.dump({"context": context, "benchmarks": rows}, file)
    return path


def start(history, path):
    return subprocess.Popen(
        [program, "history", "add", history, path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def read(history):
    """Rows by run; fails on a line that is not whole."""
    runs = {}
    with open(history) as file:
        for number, line in enumerate(file, 1):
            assert line.endswith("\n"), f"line {number} is cut"
            entry = json.loads(line)
            runs.setdefault(entry["date"], []).append(entry["row"])
    return runs


with tempfile.TemporaryDirectory() as folder:
    history = os.path.join(folder, "h.jsonl")
    paths = [result(folder, writer) for writer in range(writers)]
    started = [start(history, path) for path in paths for _ in range(2)]
    killed = set()
    for writer, process in enumerate(started):
        if writer % 3 == 0:
            time.sleep(random.random() * 0.01)
            process.kill()
            killed.add(writer)
    for writer, process in enumerate(started):
        _, errors = process.communicate()
        assert writer in killed or process.returncode == 0, errors.decode()

    # Half a line at the end, as a writer leaves it that is killed within write().
    with open(history, "a") as file:
        file.write('{"date":"2026-03-01T10:')
    for path in paths:
        process = start(history, path)
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()

    runs = read(history)
    assert len(runs) == writers, f"{len(runs)} runs, not {writers}"
    for date, rows in runs.items():
        assert len(rows) == ROWS and len(set(rows)) == ROWS, f"{date}: {len(rows)} rows"
    with open(history + ".cut") as file:
        assert '{"date":"2026-03-01T10:\n' in file.read()
print(f"{writers} writers, {len(killed)} of them killed: all {writers * ROWS} rows are there once")
