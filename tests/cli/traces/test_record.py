#!/usr/bin/env python3
"""`record`: where steps begin in many kinds of programs, how it ends, and that the program is left as it is.

usage: test_record.py PROGRAM SOURCE

The programs train with a stand-in for PyTorch (tests/fixtures/torch_stand_in), which has what the recorder touches.
test_record_torch.py does the same with PyTorch.
"""
import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from checking import check, end  # noqa: E402
from recorded import Recorded, step_faults  # noqa: E402

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
STAND_IN = source / "tests/fixtures/torch_stand_in"

HEAD = """
import os, signal, subprocess, sys, time, torch
from torch.utils.data import DataLoader
from torch.profiler import profile, schedule
"""
PLAIN = HEAD + """
o = torch.optim.SGD()
for x in DataLoader(range(40)):
    o.zero_grad(); o.step()
print("done")
"""
LOOP = HEAD + """
o = torch.optim.SGD()
for i in range(40):
    o.zero_grad(); o.step()
    AT_15
print("done")
"""
OWN = HEAD + """
o = torch.optim.SGD()
with profile(schedule=schedule(wait=WAIT, warmup=1, active=3, repeat=1),
             on_trace_ready=lambda p: p.export_chrome_trace("own.json")) as p:
    for i in range(40):
        o.step(); p.step()
print(sum(e["name"].startswith("ProfilerStep") for e in p.profiler.events))
"""
GAN = HEAD + """
g, d = torch.optim.SGD(), torch.optim.Adam()
for x in DataLoader(range(40)):
    for _ in range(K):
        d.step()
    g.step()
"""
# The scaler skips a step of the one that steps first.
SKIPPED = HEAD + """
g, d = torch.optim.SGD(), torch.optim.Adam()
for i, x in enumerate(DataLoader(range(40))):
    if i != 2: d.step()
    g.step()
"""
# More optimizers than steps that warm up: one per parameter, as Pyro has.
MANY = HEAD + """
all = [torch.optim.SGD() for _ in range(90)]
for i in range(40):
    for o in all: o.step()
"""
# Each fold of a cross-validation has an optimizer of its own.
FOLDS = HEAD + """
kept = []
for length in (4, 60, 60):
    o = torch.optim.SGD()
    kept.append(o)
    for i in range(length):
        o.zero_grad(); o.step()
"""
# A thread beside steps an optimizer of its own, less often.
BESIDE = HEAD + """
import threading
o, other = torch.optim.SGD(), torch.optim.Adam()
for i, x in enumerate(DataLoader(range(160))):
    o.zero_grad(); o.step()
    if i % 4 == 3:
        t = threading.Thread(target=other.step); t.start(); t.join()
"""
ACCUMULATION = HEAD + """
o = torch.optim.SGD()
for i, x in enumerate(DataLoader(range(160))):
    if i % 4 == 3:
        o.step(); o.zero_grad()
"""
LOADING = HEAD + """
def work(times):
    return sum(range(4000 * times))
o = torch.optim.SGD()
for i, x in enumerate(DataLoader(work(1) for _ in range(160))):
    work(3)
    if i % 4 == 3:
        o.step(); o.zero_grad()
"""
CLOSURE = HEAD + """
inner, o = torch.optim.Adam(), torch.optim.SGD()
for x in DataLoader(range(40)):
    o.step(lambda: [inner.step() for _ in range(3)])
"""
SCALER = HEAD + """
o, s = torch.optim.SGD(), torch.GradScaler()
for i in range(40):
    o.zero_grad(); s.step(o, skip=i % 5 == 4)
"""
INFERENCE = HEAD + """
for x in DataLoader(range(80)):
    pass
"""
EVALUATION_FIRST = HEAD + """
for x in DataLoader(range(60)):
    pass
""" + PLAIN
FORK = HEAD + """
o = torch.optim.SGD()
for i in range(40):
    o.step()
    if i in (5, 15, 35):
        child = os.fork()
        if child == 0:
            for _ in range(40): o.step()
            sys.exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
print("done")
"""
RANKS = HEAD + """
if len(sys.argv) == 1:
    children = [subprocess.Popen([sys.executable, sys.argv[0], "x"], env={**os.environ, "RANK": str(r)})
                for r in range(2)]
    sys.exit(max(child.wait() for child in children))
""" + PLAIN
SWEEP = HEAD + """
if len(sys.argv) == 1:
    for i in range(2): subprocess.run([sys.executable, sys.argv[0], "x"], check=True)
    sys.exit()
""" + PLAIN
# As schedulers of the learning rate do, which keep the step in a closure.
CALLS = HEAD + """
def schedule_of(o):
    function = o.step.__func__
    o.step = lambda *words: function(o, *words)
def count(frame, event, argument):
    global calls
    calls += event == "call" and "/recorder/chokepoint_" in frame.f_code.co_filename
a, b, s = torch.optim.SGD(), torch.optim.Adam(), torch.GradScaler()
schedule_of(a)
for i, x in enumerate(DataLoader(range(60))):
    if i in (1, 40):
        calls = 0; sys.setprofile(count)
    a.step(); s.step(b); b.zero_grad()
    if i in (5, 55):
        sys.setprofile(None); print(0 < calls < 16 * 48)
print(type(a).step.hooked, type(a).step.__qualname__)
time.sleep(0.2)  # it has looked at the stack by now, for which threads give way sooner
print(max(sys.getswitchinterval() for _ in range(5) if not time.sleep(0.01)))
"""
# A generator and an object give it batches; others have ended when the optimizer steps, or are the loop.
ITERATED = HEAD + """
class Rows:
    def __iter__(self): return self
    def __next__(self): return 1
def batches():
    while True: yield 1
def layers():
    yield 1
def trained():
    for x, y in zip(batches(), Rows()):
        for z in layers(): pass
        o.step()
        yield x
o, steps = torch.optim.SGD(), trained()
for i in range(40): next(steps)
"""
# The program knows neither optimizers nor, as far as its steps go, loaders. The model has a layer; another has none.
FORWARD = HEAD + """
class Transform(torch.nn.Module):
    def forward(self): pass
class Layer(torch.nn.Module):
    def __init__(self): self.weight = 1
    def forward(self): next(batches)
class Model(torch.nn.Module):
    def __init__(self): self.layer = Layer()
    def forward(self): self.layer(); self.layer()
batches, transform, model = iter(DataLoader(range(170))), Transform(), Model()
for i in range(40):
    transform(); next(batches); model(); model.layer()
print("__call__" in vars(Model), torch.nn.Module.__call__.__name__)
"""
THREAD = HEAD + """
import threading
o = torch.optim.SGD()
def train():
    for x in DataLoader(range(40)): o.step()
t = threading.Thread(target=train); t.start(); t.join()
"""


def run(folder, text, *options, arguments=(), python=("python3",), environment=None, name="p.py", command=None):
    (folder / name).write_text(text)
    path = os.pathsep.join([str(STAND_IN), *([environment["PYTHONPATH"]] if environment else [])])
    done = subprocess.run([program, "record", "--no-page", *options, "--",
                           *(command or [*python, name, *arguments])],
                          cwd=folder, capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, **(environment or {}), "PYTHONPATH": path})
    return Recorded(done, folder / "chokepoint-record")


def plainly(folder, text, name="p.py"):
    """The same program without `record`."""
    (folder / name).write_text(text)
    return subprocess.run(["python3", name], cwd=folder, capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(STAND_IN)})


def check_steps(name, trace, count, **wanted):
    """Each step holds the same, and nothing crosses."""
    for fault in step_faults(trace, count, **wanted):
        check(False, f"{name}: {fault}")


def check_kinds(new):
    """Programs that train in different ways."""
    for name, text, wanted in [
            ("plain", PLAIN, {"fetch": 1, "step": 1, "zero": 1}),
            ("no loader", LOOP.replace("AT_15", "pass"), {"step": 1, "zero": 1}),
            ("accumulation", ACCUMULATION, {"fetch": 4, "step": 1, "zero": 1}),
            ("gan 1", GAN.replace("K", "1"), {"fetch": 1, "step": 2}),
            ("gan 3", GAN.replace("K", "3"), {"fetch": 1, "step": 4}),
            ("a skipped step", SKIPPED, {"fetch": 1, "step": 2}),
            ("many", MANY, {"step": 90}),
            ("folds", FOLDS, {"step": 1, "zero": 1}),
            ("a thread beside", BESIDE, {"fetch": 1, "zero": 1}),
            ("closure", CLOSURE, {"fetch": 1, "step": 4}),
            ("inference", INFERENCE, {"fetch": 1, "step": 0}),
            ("thread", THREAD, {"fetch": 1, "step": 1}),
            ("scaler", SCALER, {"zero": 1})]:
        folder = new(name)
        before = plainly(folder, text)
        done = run(folder, text)
        check(done.code == before.returncode == 0, f"{name}: {done.code}, {done.said}")
        check((done.out, done.said) == (before.stdout, before.stderr), f"{name}: {done.out!r} {done.said!r}")
        check(list(done.plain) == ["trace"], f"{name}: {list(done.plain)}")
        if not done.plain or not done.stacks:
            continue
        check_steps(name, done.plain["trace"], 8, **wanted)
        check_steps(f"{name}, stacks", done.stacks["trace"], 2, **wanted)
        own = done.plain["trace"]["chokepoint"]
        check(own["windows"] == 8 and own["step_time_us"] > 0 < own["traced_step_time_us"], f"{name}: {own}")
        process, = done.record["processes"]
        check(process["phase"] == "done" and len(process["after_us"]) == 8, f"{name}: {process}")
        check(not (done.folder / "notes").exists(), f"{name}: notes are left")
    before, done = plainly(new("forward before"), FORWARD), run(new("forward"), FORWARD, "--step=forward")
    check((done.out, done.said) == (before.stdout, ""), f"forward: {done.out!r} {done.said!r}, not {before}")
    check_steps("forward", done.plain["trace"], 8, fetch=4)
    done = run(new("no module"), PLAIN, "--step=forward")
    check("before a module with parameters was called" in done.said, f"no module: {done.said}")
    folder = new("evaluation first")
    done = run(folder, EVALUATION_FIRST)
    check_steps("evaluation first", done.plain["trace"], 8, fetch=1, step=1, zero=1)
    check(list(done.plain) == ["trace"], f"evaluation first: {list(done.plain)}")


def check_loading(new):
    """The share of a step within its four fetches, with the profiler and without."""
    own = run(new("loading"), LOADING).plain["trace"]["chokepoint"]
    for name in ("loading_share", "traced_loading_share"):
        # One fetch alone would be a sixteenth; beside other programs it is no exact quarter.
        check(0.1 < own[name] < 0.5, f"{name} {own[name]}, not a quarter")
    own = run(new("no loading"), LOOP.replace("AT_15", "pass")).plain["trace"]["chokepoint"]
    check(own["loading_share"] == own["traced_loading_share"] == 0, f"no loader: {own}")


def check_calls(new):
    """Once all is recorded, a step calls little of the recorder, which times the program to its end."""
    before, done = plainly(new("calls before"), CALLS), run(new("calls"), CALLS)
    check(done.out == before.stdout.replace("False", "True", 2), f"calls: {done.out}, without record {before.stdout}")
    check(list(done.plain) == ["trace"], f"calls: {list(done.plain)} {done.said}")


def check_iterators(new):
    done = run(new("iterated"), ITERATED)
    check(done.stacks["trace"]["chokepointIterators"] == ["p.py: __next__", "p.py: batches"] and
          "chokepointIterators" not in done.plain["trace"], f"iterators: {done.said} {done.stacks}")


def check_early_ends(new):
    """Programs that end while they are recorded, or before: their code is theirs, and a sentence says why."""
    for name, at_15, code, sentence, steps in [
            ("raise", "if i == 15: raise ValueError('bad batch')", 1, "3 of 8 steps are there", 3),
            ("ctrl-c", "if i == 15: os.kill(os.getpid(), signal.SIGINT)", 130, "3 of 8 steps are there", 3),
            ("exit 7", "if i == 30: sys.exit(7)", 7, "", 8),
            ("term", "if i == 15: os.kill(os.getpid(), signal.SIGTERM)", 143,
             "ended by signal 15 (Terminated) during the recording, without Python's usual end", None),
            ("_exit", "if i == 15: os._exit(5)", 5, "ended with exit code 5 during the recording", None),
            ("short", "if i == 4: break", 0, "ended after 5 steps, before the recording started: --wait=1", None),
            ("no step", "break", 0, "before the recording started", None)]:
        text = LOOP.replace("AT_15", at_15)
        folder = new(name)
        before = plainly(folder, text)
        done = run(folder, text)
        check(done.code == code, f"{name}: exit code {done.code}")
        check(before.returncode in (code, code - 128, 128 - code), f"{name}: {before.returncode} without record")
        check(done.out == before.stdout, f"{name}: {done.out}")
        check(before.stderr in done.said, f"{name}: {done.said}, not {before.stderr}")
        check(sentence in done.said, f"{name}: {done.said}")
        check((sentence == "") == (done.said == before.stderr), f"{name}: {done.said}")
        check(("trace" in done.plain) == (steps is not None), f"{name}: {list(done.plain)}")
        if steps is not None and done.plain:
            check_steps(name, done.plain["trace"], steps, step=1)
    done = run(new("stop"), LOOP.replace("AT_15", "time.sleep(0.001)"), "--stop", "--steps=4", "--stack-steps=1")
    check(done.code == 0 and done.out == "", f"--stop: {done.code}, {done.out}, {done.said}")
    check_steps("--stop", done.plain["trace"], 4, step=1)
    check_steps("--stop, stacks", done.stacks["trace"], 1, step=1)


def check_others(new):
    """Programs that the recorder leaves alone, or does not reach."""
    for wait in (0, 8, 18, 30):
        folder = new(f"own {wait}")
        done = run(folder, OWN.replace("WAIT", str(wait)))
        check(done.out == "3\n" and done.code == 0, f"own profiler {wait}: {done.out}")
        check(f"its own trace is the one to diagnose, {folder / 'own.json'}" in done.said, f"own {wait}: {done.said}")
        check(not done.plain, f"own {wait}: {list(done.plain)}")
    for options in (["-I"], ["-E"], ["-uS"], ["-X", "dev", "-s", "-E"]):
        done = run(new("isolated" + "".join(options)), PLAIN, python=("python3", *options))
        check(done.code == 2 and "keeps the recorder out" in done.said, f"{options}: {done.code}, {done.said}")
    for options in (["-u"], ["-X", "dev"], ["-W", "ignore"], ["-s"]):
        done = run(new("with" + "".join(options)), PLAIN, python=("python3", *options))
        check("trace" in done.plain, f"{options}: {done.said}")
    done = run(new("-c"), "", command=["python3", "-c", PLAIN, "-E"])
    check("trace" in done.plain and done.out == "done\n", f"-c: {done.said}")
    for name, command, sentence in [
            ("no Python", ["sh", "-c", "exit 3"], "sh ran without the recorder"),
            ("new path", ["env", "PYTHONPATH=", "python3", "-c", "exit(3)"], "env ran without the recorder"),
            ("no torch", ["python3", "-c", "exit(3)"], "the program imported no PyTorch")]:
        done = run(new(name), "", command=command)
        check(done.code == 3 and sentence in done.said, f"{name}: {done.code}, {done.said}")
    done = run(new("no program"), "", command=["./nothing"])
    check(done.code == 2 and "./nothing cannot be started: No such file" in done.said, f"no program: {done.said}")
    done = run(new("only imports"), HEAD)
    check("before an optimizer stepped or a DataLoader was asked for a batch, so no step is known; if each call of the "
          "model is one, --step=forward" in done.said, f"imports: {done.said}")


def check_processes(new):
    """Several processes, and forks."""
    done = run(new("ranks"), RANKS)
    check(list(done.plain) == list(done.stacks) == ["rank0", "rank1"], f"ranks: {list(done.plain)}, {done.said}")
    done = run(new("sweep"), SWEEP)
    check(len(done.plain) == 2 and "trace" in done.plain and len(done.stacks) == 2, f"sweep: {list(done.plain)}")
    done = run(new("fork"), FORK)
    check(done.out == "done\n" and done.code == 0 and list(done.plain) == ["trace"], f"fork: {done.out} {done.said}")
    check_steps("fork", done.plain["trace"], 8, step=1)


def check_pythons(new):
    """Virtual environments of this Python, and of others that are here."""
    for version in range(8, 16):
        python = shutil.which(f"python3.{version}")
        if python is None or subprocess.run([python, "-m", "venv", "--without-pip", new(f"venv {version}")],
                                            capture_output=True, check=False).returncode != 0:
            continue
        folder = new(f"python 3.{version}")
        done = run(folder, PLAIN, python=(str(folder.parent / f"venv-{version}/bin/python"),))
        check(done.out == "done\n" and "trace" in done.plain, f"python3.{version}: {done.out} {done.said}")


def check_sitecustomize(new):
    """One of the program's own runs, as without the recorder."""
    folder = new("sitecustomize")
    own = folder / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('own', __name__, __file__.split('/')[-2])\n")
    done = run(folder, PLAIN, environment={"PYTHONPATH": str(own)})
    check(done.out == "own sitecustomize own\ndone\n" and "trace" in done.plain, f"sitecustomize: {done.out} {done.said}")


def check_folder(new):
    """A recording is replaced, other files are not; and what the page says."""
    folder = new("folder")
    run(folder, RANKS)
    done = run(folder, PLAIN)
    check(list(done.plain) == ["trace"] and list(done.stacks) == ["trace"], f"replaced: {list(done.plain)}")
    (folder / "mine").mkdir()
    (folder / "mine/notes.txt").write_text("mine")
    done = run(folder, PLAIN, "--traces=mine")
    check(done.code == 2 and "mine holds other files" in done.said and done.out == "", f"mine: {done.said}")
    check((folder / "mine/notes.txt").read_text() == "mine", "a file of the user is gone")
    shown = subprocess.run([program, "record", "--", "python3", "p.py"], cwd=folder, capture_output=True, text=True,
                           check=False, env={**os.environ, "PYTHONPATH": str(STAND_IN)})
    check(shown.stdout == "done\n", f"the page is on standard output: {shown.stdout}")
    for words in ("Bottleneck", "Without a tracer a step took", "Lines of code are those of"):
        check(words in shown.stderr, f"the page lacks {words}: {shown.stderr}")
    said = json.loads(subprocess.run([program, "diagnose", "--format=json", "chokepoint-record"], cwd=folder,
                                     capture_output=True, check=True).stdout)
    check([trace["lines_from"] for trace in said["traces"]] == ["chokepoint-record/stacks/trace.pt.trace.json.gz"],
          f"lines from {said['traces'][0]['lines_from']}")
    check(said["traces"][0]["steps"]["untraced_ns"] > 0, "untraced steps")


def check_cut_off(new):
    """A process that is killed while it writes a trace has named the file, so that the next recording replaces it."""
    folder = new("cut")
    (folder / "p.py").write_text(PLAIN.replace("o = torch", """
profile.export_chrome_trace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
o = torch"""))
    cut = subprocess.run([program, "record", "--no-page", "--", "python3", "p.py"], cwd=folder, capture_output=True, text=True,
                         check=False, env={**os.environ, "PYTHONPATH": str(STAND_IN)})
    left = folder / "chokepoint-record/trace.pt.trace.json.gz"
    check(cut.returncode == 137 and left.stat().st_size == 0, f"cut off: {cut.returncode} {cut.stderr}")
    done = run(folder, PLAIN)
    check(done.code == 0 and list(done.plain) == ["trace"], f"after it: {done.code} {done.said}")


def record_together(folder, *environments):
    """One `record` each, in one folder, as srun starts them: each program goes on until all are at its door."""
    wait = f"""
import pathlib
door = pathlib.Path("door")
door.mkdir(exist_ok=True)
(door / str(os.getpid())).touch()
while len(list(door.iterdir())) < {len(environments)}: time.sleep(0.01)
"""
    (folder / "p.py").write_text(PLAIN.replace("o = torch", wait + "o = torch"))
    started = [subprocess.Popen([program, "record", "--", "python3", "p.py"], cwd=folder, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**os.environ, **each, "PYTHONPATH": str(STAND_IN)})
               for each in environments]
    return [(*each.communicate(timeout=60), each.returncode) for each in started]


def check_one_launch(new):
    """Processes of `record` that share a folder: ranks of one launch make one recording, others are refused."""
    folder = new("launch")
    ended = record_together(folder, *({"RANK": str(rank)} for rank in range(4)))
    check([code for _, _, code in ended] == [0] * 4, f"four ranks: {ended}")
    pages = [error for _, error, _ in ended if "Bottleneck" in error]
    check(len(pages) == 1, "four ranks do not have one page")
    check(pages[0].count("Program: ") == 4, f"each rank has a table of its program: {pages[0]}")
    for rank in range(4):  # with what PyTorch writes where torch.distributed was set up, they are a run
        path = folder / f"chokepoint-record/rank{rank}.pt.trace.json.gz"
        trace = {**json.loads(gzip.decompress(path.read_bytes())), "distributedInfo": {"rank": rank, "world_size": 4}}
        path.write_bytes(gzip.compress(json.dumps(trace).encode()))
    said = subprocess.run([program, "diagnose", str(folder / "chokepoint-record")], capture_output=True, text=True, check=False)
    lines = said.stdout.partition("Programs: wall time")[2].splitlines()[2:6]
    check([line.split()[:1] for line in lines] == [["0"], ["1"], ["2"], ["3"]], f"no line per program: {said}")
    record = json.loads((folder / "chokepoint-record/record.json").read_text())
    check(sorted(name.name for name in (folder / "chokepoint-record").iterdir()) ==
          sorted(["record.json", "stacks", *(part["file"] for each in record["processes"] for part in each["parts"]
                                             if part["part"] == "plain")]), f"four ranks leave {record}")
    check(len(record["processes"]) == 4 and sorted(record["launch"]["ranks"]) == [0, 1, 2, 3], f"four ranks: {record}")

    slurm = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}
    for rank in range(2):  # the first has ended when the second begins
        done = run(folder, PLAIN, environment={**slurm, "SLURM_PROCID": str(rank), "PYTHONPATH": ""})
        record = json.loads((folder / "chokepoint-record/record.json").read_text())
        check(done.code == 0 and len(record["processes"]) == rank + 1, f"a late rank: {record}")
    run(folder, PLAIN, environment={**slurm, "SLURM_PROCID": "1", "PYTHONPATH": ""})
    record = json.loads((folder / "chokepoint-record/record.json").read_text())
    check(len(record["processes"]) == 1, f"the same rank again is a new recording: {record}")

    with subprocess.Popen([program, "record", "--no-page", "--", "python3", "-c", "print(1, flush=True); input()"], cwd=folder,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as first:
        first.stdout.readline()
        second = subprocess.run([program, "record", "--", "python3", "-c", "print(2)"], cwd=folder, capture_output=True,
                                text=True, check=False)
        first.communicate("\n")
    check(second.returncode == 2 and "another recording is under way" in second.stderr and second.stdout == "",
          f"two at once: {second}")


def check_lost_folder(new):
    """The recording is lost; the exit code is the program's."""
    done = run(new("lost"), "import os, shutil\nshutil.rmtree('chokepoint-record')\nprint('done', flush=True)\nos._exit(7)")
    check(done.code == 7 and done.out == "done\n" and "record.json" in done.said, f"lost: {done.code} {done.said}")


def check_signals(new):
    """One that is sent to `record` alone goes on to the program; one of a terminal has reached it already."""
    folder = new("signals")
    (folder / "p.py").write_text(LOOP.replace("AT_15", "print(i, flush=True); time.sleep(0.1)"))
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        with subprocess.Popen([program, "record", "--no-page", "--", "python3", "p.py"], cwd=folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "PYTHONPATH": str(STAND_IN)}) as recording:
            recording.stdout.readline()
            began = time.monotonic()
            recording.send_signal(number)
            recording.communicate(timeout=30)
            check(recording.returncode == code and time.monotonic() - began < 10,
                  f"signal {number}: {recording.returncode}")


def check_lines():
    """The model takes all of an evaluation, and a third of a usual step: the line is the evaluation's. None is the recorder's."""
    sys.path.insert(0, str(source / "scripts/recorder"))
    import chokepoint_program  # pylint: disable=import-outside-toplevel
    model, train, evaluate = [("t.py", line, "", None) for line in (3, 9, 14)]
    usual = chokepoint_program.shares_of({(model, train): 1.0, (train,): 2.0})
    lines = [chokepoint_program.most_of({stack: 1.0}, kind, usual)[0]["line"]
             for stack, kind in (((model, evaluate), "long"), ((model, train), "long"), ((model, evaluate), "steps"))]
    check(lines == [14, 3, 3], f"lines of rare work: {lines}")
    looker = chokepoint_program.Program(whole=False)
    looker.owners.is_users = lambda file: False
    names = {"places": looker.places, "frame": sys._getframe}
    exec(compile("found = places(frame())", chokepoint_program.HERE + "any.py", "exec"), names)
    check(names["found"][0][0] == __file__, f"a line of the recorder: {names['found']}")


def main():
    check_lines()
    with tempfile.TemporaryDirectory(prefix="chokepoint-record-") as name:
        def new(kind):
            folder = pathlib.Path(name) / kind.replace(" ", "-").replace("/", "-")
            folder.mkdir()
            return folder

        for part in (check_kinds, check_loading, check_calls, check_iterators, check_early_ends, check_others, check_processes,
                     check_pythons, check_sitecustomize, check_folder, check_cut_off, check_one_launch, check_lost_folder,
                     check_signals):
            part(new)
    end()


main()
