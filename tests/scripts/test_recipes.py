#!/usr/bin/env python3
"""The recipes of docs/baseline.md, and the measuring step of examples/github-action.yml, do what they say: run as they
stand there, they pass where both sides are equal and fail where the new one is slower, and the cause is named.

What they measure is made up by stand-ins for the container, the benchmarks, hyperfine, pytest and the training, so
every verdict is known, on a busy machine too.

usage: test_recipes.py PROGRAM SOURCE [EQUAL SLOW]
       EQUAL and SLOW are how often each is run with equal sides and with a slow one, once each if not given
"""
import json
import os
import pathlib
import random
import re
import stat
import subprocess
import sys
import tempfile

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
equal, slow = (int(sys.argv[3]), int(sys.argv[4])) if len(sys.argv) > 4 else (1, 1)
baseline = (source / "docs/baseline.md").read_text(encoding="utf-8")
failures = []

STAND_IN = """#!/usr/bin/env python3
import sys
sys.path.insert(0, {home!r})
import stand_ins
stand_ins.{name}(sys.argv[1:])
"""

# Times are 1000 us, 3% apart from repetition to repetition and 1% from run to run; SLOWER is the factor of the new side.
MODULE = '''
import json, os, pathlib, random

def calls():
    """How often this was asked."""
    path = pathlib.Path(__file__).parent / "calls"
    with path.open("a") as file:
        file.write("x")
    return path.stat().st_size

def rows(side, names):
    chance = random.Random(f"{os.environ['SEED']} {side} {calls()}")
    factor = float(os.environ["SLOWER"]) if side == "new" else 1
    made = []
    for number, name in enumerate(names):
        run = chance.gauss(1, 0.01)
        for index in range(9):
            made.append({"name": name, "run_name": name, "family_index": number, "per_family_instance_index": 0,
                         "run_type": "iteration", "repetitions": 9, "repetition_index": index, "threads": 1,
                         "iterations": 10, "real_time": 1000 * factor * run * (1 + abs(chance.gauss(0, 0.03))),
                         "cpu_time": 1, "time_unit": "us"})
    return made

def option(words, name):
    return [word.partition("=")[2] for word in words if word.startswith(name + "=")][0]

def write(path, side, names, **more):
    date = f"2026-03-01T10:{len(list(pathlib.Path().glob('*'))):02d}:00+00:00"
    pathlib.Path(path).write_text(json.dumps({"context": {"date": date, "num_cpus": 2}, "benchmarks": rows(side, names), **more}))

def apptainer(words):
    assert words[:2] == ["exec", "--nv"] and words[3:5] == ["chokepoint", "run"], words
    out = pathlib.Path(option(words, "--out"))
    assert out.name == "before" or option(words, "--like") == "before", words
    out.mkdir()
    settings = {"name": "item_sync", "settings": {"before": "jpeg_pixels=64 seed=1"}}
    write(out / "result.json", words[2].partition(".")[0], ["item_sync/before"], chokepoint={"scenarios": [settings]})

def my_bench(words, side):
    if words[0] == "bench":
        raise SystemExit("my_bench: error: unrecognized command-line flag: bench")
    assert option(words, "--benchmark_filter") == "^BM_", words
    write(option(words, "--benchmark_out"), side, ["BM_sum/8", "BM_sum/64"])

def hyperfine(words):
    assert words[:4] == ["-N", "-n", "tool", "--export-json"] and words[5].endswith("/tool"), words
    times = [row["real_time"] / 1e6 for row in rows(pathlib.Path(words[5]).parent.name, ["tool"])]
    pathlib.Path(words[4]).write_text(json.dumps({"results": [{"command": words[2], "times": times,
                                                               "exit_codes": [0] * len(times)}]}))

def python(words):
    if words[0] == "train.py":
        return train(option(words, "--profile"), "new")
    assert words[:3] == ["-m", "pytest", "-q"], words
    times = [row["real_time"] / 1e6 for row in rows(pathlib.Path.cwd().name, ["test_x"])]
    pathlib.Path(option(words, "--benchmark-json")).write_text(json.dumps(
        {"machine_info": {"node": "n"}, "datetime": "2026-03-01T10:00:00", "benchmarks": [
            {"name": "test_x", "fullname": "t.py::test_x", "stats": {"data": times}}]}))

def train(path, side):
    """Twenty steps of four operators, whose kernels follow one another; a slow loader keeps the device waiting."""
    chance = random.Random(f"{os.environ['SEED']} {side}")
    loading = 400 * (float(os.environ["SLOWER"]) - 1) * 10 if side == "new" else 0
    events, at, ready, correlation = [], 0.0, 0.0, 0
    def add(category, name, start, length, thread, **arguments):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if category == "kernel" else 100,
                       "tid": thread, "ts": round(start, 3), "dur": round(length, 3), "args": arguments})
    for step in range(20):
        start = at
        wait = 10 + loading * chance.gauss(1, 0.02)
        add("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, wait, 100)
        at += wait
        for operator in ("linear", "gelu", "add", "relu"):
            correlation += 1
            length = 150 * chance.gauss(1, 0.02)
            add("cpu_op", "aten::" + operator, at, 6, 100)
            add("cuda_runtime", "cudaLaunchKernel", at + 1, 4, 100, correlation=correlation)
            ready = max(ready, at + 6)
            add("kernel", operator + "_kernel", ready, length, 7, correlation=correlation, stream=7, device=0)
            ready += length
            at += 8
        at = max(at, ready - 100)
        add("user_annotation", f"ProfilerStep#{step + 1}", start, at - start, 100)
    document = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA Made", "numSms": 100}],
                "traceEvents": events}
    pathlib.Path(path).write_text(json.dumps(document))
'''


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def recipe(heading):
    """The first block of shell below that heading, and the second: all there are until the next one."""
    part = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", baseline, flags=re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"^```sh\n(.*?)^```$", part, flags=re.MULTILINE | re.DOTALL)


def run(name, text, slower, seed):
    """The exit code and all that the recipe says, in a folder of its own with the stand-ins."""
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        (home / "stand_ins.py").write_text(MODULE, encoding="utf-8")
        for tool in ("apptainer", "hyperfine", "python"):
            executable(home / "bin" / tool, STAND_IN.format(home=folder, name=tool))
        work = home / "work"
        for side, folders in (("old", ["old", "base/build"]), ("new", ["new", "head/build"])):
            for one in folders:
                executable(work / one / "my_bench", STAND_IN.format(home=folder, name="my_bench").replace(
                    "sys.argv[1:])", f"sys.argv[1:], {side!r})"))
        for place in (home / "bin" / "chokepoint", work / "chokepoint/build/chokepoint"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(program)
        environment = {**os.environ, "PATH": f"{home / 'bin'}:{os.environ['PATH']}", "SLOWER": str(slower),
                       "SEED": str(seed), "GITHUB_STEP_SUMMARY": str(home / "summary")}
        subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {folder!r}); import stand_ins; "
                        "stand_ins.train('old.pt.trace.json', 'old')"], cwd=work, env=environment, check=True)
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd=work, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, " ".join(done.stdout.split())


def check(name, text, factor, *says):
    for seed in range(equal):
        code, said = run(name, text, 1, seed)
        if code != 0:
            failures.append(f"{name}, equal sides, seed {seed}: exit code {code}: {said[-600:]}")
    for seed in range(slow):
        code, said = run(name, text, factor, seed)
        if code != 1:
            failures.append(f"{name}, a slow side, seed {seed}: exit code {code}: {said[-600:]}")
        for words in says:
            if not re.search(words, said):
                failures.append(f"{name}, a slow side, seed {seed}: it does not say {words}: {said[-600:]}")


def lines_of(text):
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


[driver] = recipe("A driver or a toolkit")
check("a driver", driver, 1.15, r"Slower: item_sync/before \(\+1\d")
google, others = recipe("Your own benchmarks")
check("Google Benchmark", google, 1.15, r"Slower: BM_sum/\d+ \(\+1\d")
for line, row in zip(lines_of(others), ("tool", "t.py::test_x"), strict=True):
    check(row, line, 1.15, rf"Slower: {row} \(\+1\d")
[training] = recipe("Your own training")
train, diagnose, explain = lines_of(training)
check("training, diagnosed", f"{train}\n{diagnose}", 1.15, r"Not passed: data_loading \((major|critical)")
check("training, explained", f"{train}\n{explain}", 1.15, r"1\. (idle: loading|data_loading)")
check("training", training, 1.15, r"Not passed: data_loading")

action = (source / "examples/github-action.yml").read_text(encoding="utf-8")
[step] = re.findall(r"Measure and compare\n +run: \|\n((?: {10}.*\n)+)", action)
check("the action", step, 1.15, r"Slower: BM_sum/\d+ \(\+1\d")
for used in re.findall(r"uses: (.*)", action):
    if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", used):
        failures.append(f"the action uses {used}, which is no commit")
if not re.search(r"^permissions:\n  contents: read$", action, flags=re.MULTILINE):
    failures.append("the action's token may do more than read")

for failure in failures:
    print("FAILED:", failure)
print(f"{equal} times equal sides and {slow} times a slow one")
sys.exit(1 if failures else 0)
