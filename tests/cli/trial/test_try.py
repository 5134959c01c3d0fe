#!/usr/bin/env python3
"""`try`: what is run, with which plan, what becomes of the trial's file, and how it ends.

usage: test_try.py PROGRAM SOURCE

The programs write made files of trials, as scripts/recorder/chokepoint_trial.py writes them; no PyTorch is needed.
test_trial.c counts how often a verdict is wrong.
"""
import base64
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from checking import check, end  # noqa: E402

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
COMPARE = pathlib.Path("/usr/share/benchmark/compare.py")  # Google Benchmark's

# A trial's file of `rounds`, by the gain of each arm; `MADE` is what a program begins with.
MADE = """
import json, os, random, signal, sys, time
plan = json.load(open(os.environ["CHOKEPOINT_TRIAL"]))
draw = random.Random(plan["seed"])
ROWS = [("batches", "data_loading", "without", 2.0, 9), ("workers", "data_loading", "fix", 1.8, 9), ("saving", "save_pause", "without", 1.0, 9),
        ("logging", "logging_gap", "without", 1.0, 0)]

def replace(note):
    with open(plan["file"] + ".new", "w") as file:
        json.dump(note, file)
    os.replace(plan["file"] + ".new", plan["file"])

def write(rounds, ended="pairs", why="", apart=(), rows=ROWS):
    arms = [{"name": "control", "cause": "control", "kind": "control", "uses": 1}]
    arms += [{"name": name, "cause": cause, "kind": kind, "text": name + "=2", "advice": "Advice(%s)" % name,
              "place": "train.py:41", "uses": uses} for name, cause, kind, _, uses in rows]
    gains = [1] + [row[3] for row in rows]
    wall, loss, windows = [1e7] * plan["wait_steps"], [1] * plan["wait_steps"], []
    for pair in range(rounds):
        for arm in range(len(arms)):
            first = draw.random() < 0.5
            for switched in (first, not first):
                wall += [3e7, 3e7] + [1e7 * draw.gauss(1, 0.01) / (gains[arm] if switched else 1) for _ in range(8)]
                loss += [draw.gauss(2, 0.001) for _ in range(10)]
                windows.append({"arm": arm, "pair": pair, "switched": switched, "first": len(wall) - 8, "last": len(wall) - 1})
    replace({"schema": 1, "ended": ended, "why": why, "device": "cpu", "arms": arms,
               "apart": [{"name": name, "cause": "epoch_gap", "kind": "apart", "text": name, "advice": "", "place": "", "uses": 0}
                         for name in apart],
               "not_tried": [{"name": "tf32", "cause": "fp32_matmul", "kind": "fix", "why": "there is no GPU"}],
               "windows": windows, "steps": {"wall_ns": wall, "loss": loss}})
"""


def start(folder, text, *options):
    (folder / "p.py").write_text(MADE + text)
    return subprocess.Popen([program, "try", *options, "--", sys.executable, "p.py"], cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(folder, text, *options, code=0):
    running = start(folder, text, *options)
    out, errors = running.communicate(timeout=100)
    check(running.returncode == code, f"{options}: exit code {running.returncode}, not {code}", out, errors)
    return out, errors


def result(folder):
    return json.loads((folder / "chokepoint-try/result.json").read_text())


def arms(folder):
    return {arm["name"]: arm for arm in result(folder)["chokepoint"]["trial"]["arms"]}


def check_table(folder):
    out, errors = run(folder, "write(20); print('from the program')", "--only=data_loading,save_pause,logging_gap")
    check("what it saves then goes to chokepoint-try/scratch" in errors, "what a trial changes is not said", errors)
    check("from the program" in (folder / "chokepoint-try/output.txt").read_text() and "from the program" not in out,
          "the program's output")
    check(re.match(r"\s*step (10\.0|9\.9\d) ms \(", out), "the step", out)
    check(re.search(r"data_loading +without it \(batches\) +(2\.0|1\.9)\dx +\d\.\d\d to \d\.\d\d +gain", out),
          "the line of a switch", out)
    lines = [line.split() for line in out.splitlines()]
    check(any(line[:1] == ["workers=2"] and "gain" in line for line in lines), "the line of a fix", out)
    check(re.search(r"Do: Advice\(workers\) at train.py:41: measured 1\.(7[5-9]|8[0-5])x", " ".join(out.split())), "the advice", out)
    check("Advice(batches)" not in out, "a fix is known, and still the cause's advice is given", out)
    check("try --patch" in out, "the patch is not offered", out)
    check("there is no GPU" in out, "what was not tried", out)
    verdicts = {name: arm["verdict"] for name, arm in arms(folder).items()}
    quiet = result(folder)["chokepoint"]["trial"]["disturbed"] is None
    check(verdicts == {"batches": "gain", "workers": "gain", "saving": "no gain" if quiet else "undecided",
                       "logging": "not there"}, "verdicts", verdicts)
    check(arms(folder)["batches"]["counted"] == 6 and arms(folder)["batches"]["pairs"] == 20, "the first look decides")
    check(1.95 < arms(folder)["batches"]["effect"] < 2.05, "the effect", arms(folder)["batches"])
    plan = json.loads((folder / "chokepoint-try/plan.json").read_text())
    check(plan["causes"] == ["data_loading", "save_pause", "logging_gap"] and plan["hold"] is None, "the plan", plan)
    return out


def check_readers(folder):
    file = folder / "chokepoint-try/result.json"
    done = subprocess.run([program, "compare", file, "--new", file, "--format=json"], capture_output=True, text=True, check=False)
    rows = {row["name"] for row in json.loads(done.stdout)["rows"]} if done.stdout else set()
    check({"data_loading/workers/before", "data_loading/workers/after"} <= rows, "compare does not read it", done)
    done = subprocess.run([program, "history", "add", folder / "history", file, "--commit=a"], capture_output=True, text=True,
                          check=False)
    check(done.returncode == 0, "history does not read it", done)
    done = subprocess.run([program, "report", folder / "chokepoint-try", f"--out={folder}/page.html"], capture_output=True,
                          text=True, check=False)
    packed = done.returncode == 0 and re.search('id="document">([^<]*)<', (folder / "page.html").read_text())
    check(packed and json.loads(zlib.decompress(base64.b64decode(packed[1])))["result"] == result(folder),
          "report does not read it", done)
    if COMPARE.exists():
        done = subprocess.run(["/usr/bin/python3", COMPARE, "filters", file, "/before", "/after"], capture_output=True,
                              text=True, check=False)
        check(done.returncode == 0 and "workers" in done.stdout, "Google Benchmark's tool does not read it", done)


def check_decided(folder):
    """The trial goes on until the file says that its arms are decided."""
    run(folder, """
for rounds in range(5, 40):
    write(rounds, ended="")
    time.sleep(0.1)
    if os.path.exists(plan["decided"]) and {1, 2} <= set(json.load(open(plan["decided"]))):
        break
write(rounds, ended="decided" if rounds < 39 else "never")
""", "--only=data_loading")
    check(result(folder)["chokepoint"]["trial"]["ended"] == "decided", "nobody told the trial what is decided")


def check_interrupt(folder):
    running = start(folder, """
write(7, ended="")
try:
    time.sleep(60)
except KeyboardInterrupt:
    write(7, ended="interrupted")
""", "--only=data_loading")
    until = time.monotonic() + 30
    while not (folder / "chokepoint-try/decided.json").exists() and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=60)
    check(running.returncode == 130, f"exit code {running.returncode} after Ctrl-C", errors)
    check("(batches)" in out and result(folder)["chokepoint"]["trial"]["ended"] == "interrupted",
          "what was measured before Ctrl-C is lost", out, errors)


def check_whole_runs(folder):
    run(folder, """
if plan["hold"] is None:
    write(6, apart=["persistent_workers"], rows=[])
else:
    replace({"schema": 1, "ended": "steps", "why": "", "arms": [], "windows": [], "steps": {"wall_ns":
        [9e9] * plan["wait_steps"] + [1e7 if plan["hold"] else 1.5e7] * 20}})
open("runs", "a").write("%s\\n" % plan["hold"])
""", "--only=persistent_workers")
    arm = arms(folder)["persistent_workers"]
    check(arm["verdict"] == "gain" and abs(arm["effect"] - 1.5) < 1e-9 and arm["pairs"] == 6, "whole runs", arm)
    runs = (folder / "runs").read_text().splitlines()[1:]
    check(sorted(runs) == [""] * 6 + ["persistent_workers"] * 6, "which runs were made", runs)


def check_whole_runs_end(new):
    """A fix with which the program fails has its reason, and Ctrl-C leaves what was measured."""
    folder = new()
    out, _ = run(folder, """
if plan["hold"] is None:
    write(0, ended="decided", apart=["channels_last"], rows=[])
elif plan["hold"]:
    sys.exit(5)
else:
    replace({"schema": 1, "ended": "steps", "why": "", "arms": [], "windows": [], "steps": {"wall_ns": [1e7] * 60}})
""", "--only=channels_last")
    check("fails with exit code 5 with it" in " ".join(out.split()) and "measures them" not in out, "a fix that fails", out)
    folder = new()
    running = start(folder, """
if plan["hold"] is None:
    write(6, apart=["channels_last", "prefetch"])
else:
    replace({"schema": 1, "ended": "steps", "why": "", "arms": [], "windows": [], "steps": {"wall_ns": [1e7] * 60}})
    with open("runs", "a") as file:
        file.write(plan["hold"] + "\\n")
    if len(open("runs").readlines()) == 3:
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)
""", "--only=data_loading,channels_last,prefetch")
    out, errors = running.communicate(timeout=100)
    check(running.returncode == 130 and len((folder / "runs").read_text().splitlines()) == 3, "Ctrl-C did not end the runs", errors)
    check("interrupted after 1 pairs" in " ".join(out.split()) and arms(folder)["batches"]["verdict"] == "gain"
          and arms(folder)["channels_last"]["pairs"] == 1, "what was measured before Ctrl-C is lost", out, errors)


def check_patch(new):
    """A diff is shown only if its copy was faster in runs in turns; else its reason is told, and no file is left."""
    made = """
is_copy = ".tree" in sys.argv[0] or ".tree" in __file__
if plan["patch"]:
    open(plan["patch"], "w").write("%s" % plan["causes"] if EMPTY == 0 else "")
    os.mkdir(plan["patch"] + ".tree")
    open(plan["patch"] + ".tree/p.py", "w").write(open(__file__).read())
elif plan["hold"] is None:
    write(6)
else:
    open(os.path.join(sys.path[0] if not is_copy else os.getcwd(), "runs"), "a").write("%d\\n" % is_copy)
    if is_copy and GAIN == 0:
        sys.exit(9)
    replace({"schema": 1, "ended": "steps", "why": "", "arms": [], "windows": [], "steps": {"wall_ns":
        [1e9] * plan["wait_steps"] + [1e7 / (GAIN if is_copy else 1)] * 20}})
"""
    for gain, empty, shown in ((1.5, 0, r"fixes.patch, which git apply takes: gain, 1.50x \(1.50 to 1.50\) in 6 pairs of runs"),
                               (1.01, 0, r"diff not shown: (no gain|undecided), 1.01x \(1.01 to 1.01\)"),  # by other programs
                               (0, 0, "diff not shown: undecided: the program fails with exit code 9 with it"),
                               (2, 1, "diff not shown: undecided: it is empty")):
        folder = new()
        out, errors = run(folder, f"GAIN, EMPTY = {gain}, {empty}\n{made}", "--only=data_loading", "--patch")
        check(re.search(shown, " ".join(out.split())), f"a diff with a gain of {gain}", out, errors)
        there = {path.name for path in (folder / "chokepoint-try").iterdir()}
        check(("fixes.patch" in there) == (gain == 1.5) and not any("candidate" in name for name in there), "the diff's files", there)
        if gain == 1.5:
            check((folder / "chokepoint-try/fixes.patch").read_text() == "['workers']", "the fixes of the patch")
            check(sorted((folder / "runs").read_text().split()) == ["0"] * 6 + ["1"] * 6, "the runs in turns")
            done = subprocess.run([program, "try", "--patch"], cwd=folder, capture_output=True, text=True, check=False)
            check(done.returncode == 0 and "fixes.patch" in done.stdout, "the patch of an earlier trial", done)
    folder = new()
    out, errors = run(folder, "write(6, rows=ROWS[2:])", "--only=save_pause", "--patch", "--format=json")
    check("no diff: no fix has gained" in errors and json.loads(out), "a trial without a gain", out, errors)


def check_lock(folder):
    """A second trial in the folder is refused until the first has ended, and its files stay."""
    running = start(folder, """
write(6, ended="")
while not os.path.exists("go"):
    time.sleep(0.05)
write(6)
""", "--only=data_loading")
    until = time.monotonic() + 60
    while not (folder / "chokepoint-try/decided.json").exists() and time.monotonic() < until:
        time.sleep(0.05)
    done = subprocess.run([program, "try", "--only=reads", "--", sys.executable, "-c", "pass"], cwd=folder, capture_output=True,
                          text=True, check=False)
    (folder / "go").write_text("")
    running.communicate(timeout=100)
    check(done.returncode == 2 and "another trial is under way" in done.stderr, "two trials in one folder", done)
    check(running.returncode == 0 and arms(folder)["batches"]["verdict"] == "gain", "the first trial")


def check_lessons():
    """`explain` offers --only for the findings that the trial's rows name, and for no other."""
    table = subprocess.run([sys.executable, source / "scripts/recorder/chokepoint_switches.py"], capture_output=True, text=True,
                           check=True).stdout.split("\n\n", maxsplit=1)[0]
    rows = {name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[3])}
    done = subprocess.run([program, "explain", "findings"], capture_output=True, text=True, check=False)
    if "no command explain" in done.stderr:  # the desk alone
        return
    offered = set(re.findall(r"try --only=(\w+)", done.stdout))
    check(offered == rows, "explain and the trial's rows differ", sorted(offered ^ rows))
    lesson = subprocess.run([program, "explain", "blocking_save"], capture_output=True, text=True, check=False).stdout
    check("try --only=save_pause -- python train.py" in lesson, "the lesson of a scenario", lesson)


def check_refusals(new):
    folder = new()
    _, errors = run(folder, "sys.exit(7)", "--only=data_loading", code=2)
    check("exit code 7 before a pair" in errors, "a program that ends early", errors)
    _, errors = run(folder, "write(3, rows=[])", "--only=nonsense", code=2)
    check("names nothing that can be tried here: tf32: there is no GPU" in " ".join(errors.split()), "a name that is none", errors)
    _, errors = run(folder, "write(0, ended='failed', why='it broke')", "--only=reads", code=2)
    check("the trial failed: it broke" in errors, "a trial that failed", errors)
    out, _ = run(folder, "write(5, ended='seconds')", "--only=data_loading")
    check(re.search(r"\(batches\) +undecided", out) and not re.search(r"\dx ", out) and "More --seconds, or" in " ".join(out.split()), "too few pairs", out)
    check(arms(folder)["batches"]["effect"] is None and arms(folder)["batches"]["interval"] == [None, None], "figures of five pairs",
          arms(folder))
    out, _ = run(folder, "write(5, ended='program')", "--only=data_loading")
    check("The program ended by itself" in out, "what helps a program that ends early", out)
    out, _ = run(folder, "write(9, ended='failed', why='it broke')", "--only=data_loading")
    check("The trial broke off: it broke" in out and "(batches)" in out, "what was measured before it broke is lost", out)
    folder = new()
    (folder / "chokepoint-try").mkdir()
    (folder / "chokepoint-try/result.json").write_text("{\"benchmarks\": []}")
    (folder / "chokepoint-try/output.txt").write_text("mine")
    _, errors = run(folder, "write(6)", "--only=reads", code=2)
    check((folder / "chokepoint-try/output.txt").read_text() == "mine", "somebody else's file is emptied")
    check("holds other files than a trial" in errors, "somebody else's result is replaced", errors)
    done = subprocess.run([program, "try", "--", "python3", "-I", "p.py"], cwd=new(), capture_output=True, text=True, check=False)
    check(done.returncode == 2 and "-I keeps the recorder out" in done.stderr, "python -I", done)


def main():
    with tempfile.TemporaryDirectory() as top:
        count = [0]

        def new():
            count[0] += 1
            folder = pathlib.Path(top) / str(count[0])
            folder.mkdir()
            return folder

        first = new()
        check_table(first)
        check_readers(first)
        check_decided(new())
        check_interrupt(new())
        check_whole_runs(new())
        check_whole_runs_end(new)
        check_patch(new)
        check_lock(new())
        check_refusals(new)
        check_lessons()
    end()


if __name__ == "__main__":
    main()
