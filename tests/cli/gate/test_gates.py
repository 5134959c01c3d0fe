#!/usr/bin/env python3
"""`compare` and `history` are never green without a measurement: exit codes 0, 1 and 3 and their words, on made files of
each tool, and on those of shared/cases-2 where they are at hand. Google Benchmark's and github-action-benchmark's rules
are tried on the same files.

usage: test_gates.py PROGRAM [CASES]
"""
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

program = pathlib.Path(sys.argv[1]).absolute()
cases = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
seed = int(os.environ.get("CHOKEPOINT_TEST_SEED", str(random.randrange(2**32))), 0)
print(f"CHOKEPOINT_TEST_SEED={seed}")
chance = random.Random(seed)


def call(code, *words, says=(), says_not=()):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    text = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == code, f"{words}: {done.returncode}, not {code}: {text}"
    for part in says:
        assert part in text, f"{words}: {part!r} is not in {text}"
    for part in says_not:
        assert part not in text, f"{words}: {part!r} is in {text}"
    return done.stdout


def save(path, document):
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def times(factor, noise=0.01, count=9):
    return [factor * math.exp(abs(chance.gauss(0, noise))) for _ in range(count)]


def benchmark(path, rows, context=None, **members):
    """A file of Google Benchmark: rows are names with their times."""
    return save(path, {"context": context or {}, "benchmarks": [
        {"name": name, "run_name": name, "run_type": "iteration", "repetition_index": i, "repetitions": len(own),
         "real_time": time, "cpu_time": time, "time_unit": "us", **members}
        for name, own in rows.items() for i, time in enumerate(own)]})


def hyperfine(path, factor, codes=0):
    own = times(factor)
    return save(path, {"results": [{"command": "train", "times": own, "exit_codes": [codes] * len(own)}]})


def pytest(path, factor):
    return save(path, {"datetime": "2026-01-05T10:00:00+00:00", "machine_info": {}, "benchmarks": [
        {"name": f"test_{i}", "fullname": f"a.py::test_{i}", "stats": {"data": times(factor * (1 + i))}} for i in range(11)]})


def eleven(factor):
    return {f"r{i}": times(factor * (1 + i) * math.exp(chance.gauss(0, 0.01))) for i in range(11)}


def compare_in(folder):
    base, new = benchmark(folder / "base.json", eleven(1)), benchmark(folder / "new.json", eleven(1.3))
    call(1, "compare", base, new, "--noise=3%", says=["11 slower", "Not passed"])
    call(3, "compare", base, new, says=["11 undecided", "Cannot tell", "--rounds="])
    old, late = pytest(folder / "old.json", 1), pytest(folder / "late.json", 1.3)
    call(1, "compare", old, late, "--noise=3%", says=["11 slower"])
    call(3, "compare", old, late, says=["11 undecided beyond the threshold"])
    # One row of eleven, one file a side: it may be an odd run.
    rows = eleven(1)
    rows["r3"] = [2 * time for time in rows["r3"]]
    call(3, "compare", base, benchmark(folder / "one.json", rows), "--noise=3%", says=["rests on one run"])

    good, killed = hyperfine(folder / "good.json", 1), hyperfine(folder / "killed.json", 0.03, None)
    call(1, "compare", good, killed, says=["a signal ended it", "Not passed: no row could be compared, 1 missing"])
    call(1, "compare", good, hyperfine(folder / "code.json", 1, 137), says=["exit code 137"])


def doubts_in(folder):
    rows = {"x": times(10)}

    def doubt(says, context=None, **members):
        call(0, "compare", benchmark(folder / "a.json", rows, {"num_cpus": 8}), benchmark(folder / "b.json", rows, context, **members),
             says=says if says else (), says_not=() if says else ["Doubtful"])

    doubt(["begun at a load of 31.0 on 8 CPUs"], {"num_cpus": 8, "load_avg": [31.0, 4, 2]})
    doubt([], {"num_cpus": 8, "load_avg": [0.9, 4, 2]})
    doubt([], {"load_avg": [31.0, 4, 2]})
    a = benchmark(folder / "on.json", rows, {"cpu_scaling_enabled": True})
    call(0, "compare", a, benchmark(folder / "off.json", rows, {"cpu_scaling_enabled": False}), says=["another scaling of the clock"])
    a = benchmark(folder / "l.json", rows, label="fp32 avx2", iterations=1000)
    call(0, "compare", a, benchmark(folder / "m.json", rows, label="bf16 amx", iterations=1000), says=["another label: x"])
    call(0, "compare", a, benchmark(folder / "n.json", rows, label="fp32 avx2", iterations=1), says=["x ran for 1 iteration in"])
    copies = [benchmark(folder / f"copy{i}.json", rows) for i in range(2)]
    call(0, "compare", *copies, "--new", *[benchmark(folder / f"own{i}.json", {"x": times(10)}) for i in range(2)],
         says=["copies are no runs of their own"])


def history_in(folder):
    count = 0

    def history(rows_of, runs=30):
        nonlocal count
        count += 1
        files = [benchmark(folder / f"h{count}-{i:02}.json", rows_of(i), {"date": f"2026-01-{1 + i:02}T10:00:00+00:00", "num_cpus": 8})
                 for i in range(runs)]
        path = folder / f"{count}.jsonl"
        call(0, "history", "add", path, *files)
        return path

    def run(factor):
        return times(factor * math.exp(chance.gauss(0, 0.01)))

    for percent in (1, 2, 5):
        call(1, "history", "check", history(lambda i, p=percent: {"x": run((1 + p / 100) ** i)}), says=["1 slower"])
    gone = history(lambda i: {"x": run(1), **({"y": run(5)} if i < 24 else {})})
    call(3, "history", "check", gone, says=["y is no longer measured: its last run is of 2026-01-24, and 6 later runs"])
    call(3, "history", "check", gone, "--filter=y")
    slow = history(lambda i: {"x": run(1), **({"y": run(5 if i < 15 else 8)} if i < 24 else {})})
    call(1, "history", "check", slow, says=["y is no longer measured", "Not passed: 1 slower"])
    call(0, "history", "check", gone, "--filter=x")
    call(3, "history", "check", history(lambda i: {"x": run(1), "old" if i < 20 else "new": run(7)}),
         says=["old is no longer measured", "new began in the next run, at a like value: renamed, perhaps"])
    # A row of every second run is not gone after one without it.
    call(0, "history", "check", history(lambda i: {"x": run(1), **({"y": run(5)} if i % 2 == 0 else {})}, 28))
    call(3, "history", "check", history(lambda i: {"x": run(1)}, 5), says=["Cannot tell: no row has enough runs", "5 more"])
    call(1, "history", "check", history(lambda i: {"x": run(2 if i == 29 else 1)}),
         says=["was measured so in 1 run only", "with a probability of"])
    # Nor is a run lost in which all rows failed.
    path = history(lambda i: {"x": run(1)}, 12)
    failed = benchmark(folder / "failed.json", {"x": times(1)}, {"date": "2026-02-01T10:00:00+00:00", "num_cpus": 8},
                       error_occurred=True, error_message="boom")
    for _ in range(2):
        call(3, "history", "add", path, failed, says=["0 rows added, 0 there already, 1 without a value"])
    assert len(path.read_text(encoding="utf-8").splitlines()) == 13
    call(3, "history", "check", path, says=["x is no longer measured: its last run is of 2026-01-12, and 1 later run"])
    # A row that an earlier run measured is no new run.
    path = folder / "merged.jsonl"
    for day in range(1, 4):
        file = benchmark(folder / "merged.json", {"x": times(1)}, {"date": f"2026-01-0{day}T10:00:00+00:00", "num_cpus": 8},
                         **({"date": "2026-01-01T10:00:00+00:00"} if day > 1 else {}))
        call(0, "history", "add", path, file, says=["1 row added" if day == 1 else "0 rows added, 1 there already"])
    path = folder / "hyperfine.jsonl"
    call(2, "history", "add", path, hyperfine(folder / "undated.json", 1), says=["give --date"])
    call(2, "history", "add", path, folder / "undated.json", "--date=2026-11-20T1", says=["give --date"])
    for day in range(1, 11):
        call(0, "history", "add", path, hyperfine(folder / "undated.json", 1), f"--date=2026-01-{day:02}", says=["1 row added"])
    call(0, "history", "check", path, says=["1 same"])


def alerts(rows, factor=2):
    """github-action-benchmark's rule (its README, alert-threshold 200%): a value that is so many times the one before."""
    before, after = rows
    return [name for name in after if name in before and after[name] > factor * before[name]]


def others_in(folder):
    """docs/baseline.md: what compare calls, as customSmallerIsBetter, so that noise raises no alert."""
    for factor, expected in ((1, 0), (1.3, 11)):
        sides = []
        for side, times_of in (("a", 1), ("b", factor)):
            sides.append([benchmark(folder / f"{side}{factor}-{i}.json", eleven(times_of)) for i in range(3)])
        done = subprocess.run([program, "compare", *sides[0], "--new", *sides[1], "--format=json"], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        rows = json.loads(done.stdout)["rows"]
        now = {row["name"]: 1 + row["change"] if row["verdict"] == "slower" else 1 for row in rows}
        assert len(alerts(({name: 1 for name in now}, now), 1.05)) == expected, now


def shared_cases(folder):
    results = cases / "results"
    call(1, "compare", *sorted(results.glob("killed-old-*")), "--new", *sorted(results.glob("killed-new-*")), says=["a signal ended it"])
    for name, code, says in (("drift", 1, "1 slower"), ("gone", 3, "is no longer measured")):
        path = folder / f"{name}.jsonl"
        call(0, "history", "add", path, *sorted((cases / "history" / name).glob("*.json")))
        call(code, "history", "check", path, says=[says])


with tempfile.TemporaryDirectory() as name:
    for test in (compare_in, doubts_in, history_in, others_in):
        test(pathlib.Path(name))
    if cases is not None and cases.is_dir():
        shared_cases(pathlib.Path(name))
    else:
        print("shared/cases-2 is not at hand: only the made files were tried")
