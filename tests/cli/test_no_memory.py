#!/usr/bin/env python3
"""No memory is called no memory, by every command and of every format that it reads.

Each command runs whole, and then many times with one allocation that fails, or with all from one on. It either does
without and says the same, or says that there is no memory; it never calls a file damaged, never aborts, and leaves no
half document. Which allocations fail is drawn by CHOKEPOINT_TEST_SEED.

usage: test_no_memory.py PROGRAM FAILING_MEMORY SOURCE [TIMES]
"""
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "traces"))
import made_ranks  # noqa: E402

program, library, source = (os.path.abspath(word) for word in sys.argv[1:4])
TIMES = int(sys.argv[4]) if len(sys.argv) > 4 else 24
SEED = os.environ.get("CHOKEPOINT_TEST_SEED", "1")
GOOGLE = pathlib.Path(source) / "tests/desk/compare/data"
SEEDS = pathlib.Path(source) / "tests/fuzz"
failures = []

# A name, and the command. Files of the folder that the commands may change are made anew each time.
COMMANDS = [
    ("a trace", "diagnose", SEEDS / "seeds/step.json"),
    ("a compressed trace as JSON", "diagnose", SEEDS / "seeds/members.json.gz", "--format=json"),
    ("an export of nsys", "diagnose", SEEDS / "seeds/nsys.sqlite"),
    ("a snapshot", "diagnose", SEEDS / "seeds/memory.json", SEEDS / "seeds_snapshots/leak.pickle"),
    ("a folder of ranks", "diagnose", "ranks"),
    ("a digest is made", "digest", "ranks", "--out=new.digest"),
    ("digests", "diagnose", "job.digest"),
    ("a job", "job", "job.digest"),
    ("a job as JSON", "job", "job.digest", "--map", "--format=json"),
    ("results", "compare", GOOGLE / "google_benchmark_171_a.json", GOOGLE / "google_benchmark_171_aggregates.json"),
    ("results of run", "compare", "result.json", "result.json", "--format=json"),
    ("two traces", "compare", "--explain", SEEDS / "seeds/step.json", SEEDS / "seeds/passes.json"),
    ("a history", "history", "show", "history.jsonl"),
    ("a history is judged", "history", "check", "history.jsonl"),
    ("a history grows", "history", "add", "history.jsonl", "result.json"),
    ("a fleet", "fleet", "fleet"),
    ("a kernel", "kernel", "kernel.ptx", "--grid=4", "--block=128", "--args=f32[8k]:random,f32[8k],i32:4"),
]
DAMAGE = re.compile(r"damaged|not JSON|no JSON|not a |no digest|no such|is no |unknown")
NO_MEMORY = re.compile(r"[Nn]o memory|out of (?:host )?memory|Cannot allocate memory|lack of memory")


def run(folder, arguments, **environment):
    home = folder / "run"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(folder / "made", home)
    done = subprocess.run([program, *map(str, arguments)], cwd=home, capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, check=False, timeout=120,
                          env={**os.environ, "LD_PRELOAD": library, "LC_ALL": "C", **environment})
    left = {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()}
    return done, left


def complaint(done, left, whole, whole_left, before):
    """What is wrong with a call in which memory lacked; None: nothing."""
    said = done.stdout + done.stderr
    if done.returncode < 0 or done.returncode > 3:
        return f"it ends with {done.returncode}"
    if DAMAGE.search(done.stderr) and not DAMAGE.search(whole.stderr):
        return "it speaks of damage"
    odd = [name for name, data in left.items() if data not in (before.get(name), whole_left.get(name)) and
           not (name == "new.digest" and done.returncode)]  # it has the traces that could be read
    if odd:
        return f"it leaves {', '.join(odd)}"
    if done.stdout == whole.stdout and done.returncode == whole.returncode:
        return None
    return None if NO_MEMORY.search(said) else "it does not speak of memory"


def test(folder, name, *arguments):
    before = {path.name: path.read_bytes() for path in (folder / "made").iterdir() if path.is_file()}
    count = folder / "count"
    whole, whole_left = run(folder, arguments, FAILING_MEMORY_COUNT=str(count))
    if NO_MEMORY.search(whole.stderr) or whole.returncode not in (0, 1, 3):
        failures.append(f"{name}: whole, it ends with {whole.returncode}: {whole.stderr}")
        return
    most, chance = int(count.read_text()), random.Random(f"{SEED} {name}")
    numbers = sorted(chance.sample(range(1, most + 1), min(TIMES, most)))
    wrong = {}
    for number in numbers:
        failing = f"{number}{chance.choice(['', '+'])}"
        done, left = run(folder, arguments, FAILING_MEMORY=failing)
        said = complaint(done, left, whole, whole_left, before)
        if said:
            wrong.setdefault((said, done.stderr.strip()[:300]), []).append(failing)
    for (said, stderr), failing in wrong.items():
        failures.append(f"{name}, FAILING_MEMORY={' '.join(failing)}: {said}: {stderr}")
    print(f"{name}: {len(numbers)} of {most} allocations, {sum(map(len, wrong.values()))} wrong", flush=True)


def make(folder):
    made = folder / "made"
    made.mkdir()
    (made / "ranks").mkdir()
    made_ranks.write(str(made / "ranks"), 2)
    subprocess.run([program, "digest", "ranks", "--out=job.digest"], cwd=made, check=True, stdout=subprocess.DEVNULL)
    (made / "fleet").mkdir()
    for i, text in enumerate((SEEDS / "seeds_fleet/doctor.json").read_text().split("\n----\n")):
        (made / f"fleet/node{i}.json").write_text(text)
    shutil.copy(SEEDS / "seeds_results/run.json", made / "result.json")
    shutil.copy(SEEDS / "seeds_history/slower.jsonl", made / "history.jsonl")
    shutil.copy(pathlib.Path(source) / "tests/lab/kernel/samples/ptx/softmax.ptx", made / "kernel.ptx")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make(folder)
        for command in COMMANDS:
            test(folder, *command)
    print(f"CHOKEPOINT_TEST_SEED={SEED}", *failures, sep="\n    ")
    sys.exit(bool(failures))


main()
