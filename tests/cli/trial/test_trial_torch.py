#!/usr/bin/env python3
"""The trial within a PyTorch program (scripts/recorder/chokepoint_trial.py): switches act, fixes keep the losses, the program
is as ever up to the first window, and its files stay as they were.

usage: test_trial_torch.py SOURCE [NAME...]
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
sys.path.insert(0, str(FIXTURES))
from torch_python import switch_or_skip  # noqa: E402

source = pathlib.Path(sys.argv[1]).resolve()
TRIALS = FIXTURES / "trainings/trials"
WAIT = 10
# Row, words of tried.py. The row says how its losses must be.
SWITCHES = [("batches", ""), ("batches", "in-place"), ("batches", "loader-workers"), ("samples", ""), ("saving", "save"),
            ("logging", "log"), ("reads", "wait"), ("syncs", "sync"), ("garbage", "garbage")]
FIXES = [("workers", ""), ("set_to_none", "zero"), ("set_collections", ""), ("fused", ""), ("foreach", ""), ("bf16", ""),
         ("all_cores", "")]
WHOLE = [("", ""), ("channels_last", "images"), ("persistent_workers", "loader-workers"), ("prefetch", "loader-workers"),
         ("foreach", "")]
TRAIN = """import torch
import rows
net = torch.nn.Linear(8, 2)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
for x, y in torch.utils.data.DataLoader(rows.data, batch_size=16):
    loss = torch.nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
print("done", sorted(optimizer.defaults.items()))
"""
TOLERANCE = {"bits": 0, "close": 0.02}


class Run:
    """A program in a folder of its own, under a trial if `plan` is given."""

    def __init__(self, folder, command, **plan):
        self.folder, self.user = folder, folder / "user"
        self.user.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        plan = {"schema": 1, "file": str(folder / "own/trial.json"), "decided": str(folder / "own/decided.json"),
                "scratch": str(folder / "own/scratch"), "causes": [], "hold": None, "seed": 7, "wait_steps": WAIT,
                "window_steps": [2, 5], "pairs": 3, "first_look": 3, "most_steps": 4000, "most_seconds": 300, "patch": None, **plan}
        if plan["causes"] or plan["hold"] is not None:
            (folder / "own").mkdir()
            (folder / "own/plan.json").write_text(json.dumps(plan))
            environment.update(CHOKEPOINT_TRIAL=str(folder / "own/plan.json"), PYTHONPATH=str(source / "scripts/recorder"))
        self.done = subprocess.run([sys.executable, *command], cwd=self.user, capture_output=True, text=True, check=False,
                                   timeout=600, env=environment)
        self.steps = [float(line[5:]) for line in self.done.stdout.splitlines() if line.startswith("step ")]
        self.epochs = {line for line in self.done.stdout.splitlines() if line.startswith("epoch ")}
        self.trial = {}
        if (folder / "own/trial.json").exists():
            self.trial = json.loads((folder / "own/trial.json").read_text())

    def faults(self):
        if self.done.returncode == 0 and self.trial.get("ended"):
            return []
        return [f"{self.done.returncode} {self.done.stdout[-300:]} {self.done.stderr[-800:]} {self.trial.get('why')}"]


def tried(*words):
    return [str(TRIALS / "tried.py"), *" ".join(words).split()]


def loss_faults(run, plain, steps, tolerance):
    """The first steps, against those of the untouched program. Its very first step is over before the trial knows one."""
    plain = plain.steps[1:]
    mine = run.trial["steps"]["loss"][:steps]
    if len(mine) < min(steps, 40) or None in mine:
        return [f"losses {mine}"]
    if max(run.trial["steps"]["loss"]) > 100:  # a batch that is changed in place, again and again
        return [f"losses grow: {run.trial['steps']['loss']}"]
    far = [step for step, (one, other) in enumerate(zip(mine, plain))
           if abs(one - other) > tolerance * abs(other) or math.isnan(one)]
    return [f"losses differ from step {far[0]}: {mine[far[0]]} {plain[far[0]]}"] if far else []


def window_faults(trial, pairs):
    """Pairs stand next to each other, each with one window of either kind; steps after a switch are dropped."""
    windows, faults = trial["windows"], []
    if len(windows) != 2 * pairs * len(trial["arms"]):
        faults.append(f"{len(windows)} windows")
    for one, other in zip(windows[::2], windows[1::2]):
        if (one["arm"], one["pair"]) != (other["arm"], other["pair"]) or one["switched"] == other["switched"]:
            faults.append(f"no pair: {one} {other}")
    for one, other in zip(windows, windows[1:]):
        if not one["first"] <= one["last"] < other["first"] - 1:
            faults.append(f"not settled: {one} {other}")
    if len({window["switched"] for window in windows[::2]}) != 2:
        faults.append("always the same window first")
    return faults


def check_row(folder, name, words, plain):
    run = Run(folder, tried(words), causes=[name])
    faults = run.faults()
    if faults:
        return faults
    arm = next((arm for arm in run.trial["arms"] if arm["name"] == name), None)
    if arm is None or arm["uses"] == 0:
        return [f"{arm} {run.trial['not_tried']}"]
    faults += window_faults(run.trial, 3)
    if run.epochs != {"epoch of 10"}:
        faults.append(f"epochs: {run.epochs}")
    # This data set draws no random numbers, so workers bring each batch in its place; and what is read, saved or printed
    # changes nothing in this training.
    tolerance = 0 if name == "workers" or arm["kind"] == "without" else TOLERANCE[arm["keeps"]]
    if name in ("batches", "samples"):
        tolerance = None
    faults += loss_faults(run, plain, WAIT if tolerance is None else 10**6, tolerance or 0)
    if os.listdir(run.user) and os.path.getmtime(run.user / "weights.pt") > os.path.getmtime(folder / "own/scratch"):
        faults.append("the user's weights were written in the trial")
    return faults


def check_whole(folder, name, words, plain):
    run = Run(folder, tried(words), hold=name, most_steps=40)
    if run.faults() or run.trial["windows"] or run.trial["ended"] != "steps":
        return run.faults() + [str(run.trial.get("windows"))]
    steps = 9 if name == "persistent_workers" else 40  # then comes an epoch of another order
    return loss_faults(run, plain, steps, 0 if name in ("", "persistent_workers", "prefetch") else TOLERANCE["close"])


def check_apart(folder):
    """Fixes that need whole runs are named, and what cannot be done has its reason."""
    run = Run(folder, tried("images loader-workers"), causes=["layout_conversions", "data_jitter", "epoch_gap", "exposed_copy"], pairs=1)
    names = {one["name"] for one in run.trial["apart"]}
    not_tried = {one["name"]: one["why"] for one in run.trial["not_tried"]}
    wrong = names != {"channels_last", "prefetch", "persistent_workers"} or not_tried.get("non_blocking") != "there is no GPU"
    return run.faults() + ([f"{names} {not_tried}"] if wrong else [])


def check_names(folder):
    """A trial with whole runs alone is over at its first window, and each name without a row has its reason."""
    run = Run(folder, tried("images loader-workers"), causes=["prefetch", "nonsense", "activation_memory"], pairs=20)
    why = {one["name"]: one["why"] for one in run.trial["not_tried"]}
    right = run.trial["ended"] == "decided" and len(run.trial["steps"]["loss"]) == WAIT and run.trial["windows"] == []
    named = "no switch or fix" in why.get("nonsense", "") and "trades time for memory" in why.get("activation_memory", "")
    return run.faults() + ([] if right and named else [f"{run.trial['ended']} {why} {len(run.trial['windows'])}"])


def check_files(folder):
    """Whatever the program writes in a trial, its folder is as it was."""
    user = folder / "user"
    (user / "folder").mkdir(parents=True)
    for name in ("kept.txt", "gone.txt", "folder/one.txt"):
        (user / name).write_text("kept")
    (user / "by-link.txt").symlink_to("kept.txt")
    before = {str(path): (path.lstat().st_mtime_ns, path.lstat().st_mode, path.is_file() and path.read_text())
              for path in user.rglob("*")}
    run = Run(folder, [str(TRIALS / "writes.py")], causes=["garbage"], pairs=5)
    after = {str(path): (path.lstat().st_mtime_ns, path.lstat().st_mode, path.is_file() and path.read_text())
             for path in user.rglob("*")}
    log = after.pop(str(user / "log.txt"), (0, 0, ""))[2]
    faults = run.faults() + [line for line in run.done.stdout.splitlines() if line.startswith("failed")]
    faults += [f"{path}: {before.get(path)} became {after.get(path)}" for path in {*before, *after}
               if before.get(path) != after.get(path)]
    if log != "before\n" or run.done.stdout.count("way ") < 18:
        faults.append(f"{log!r} {run.done.stdout}")
    if not any(path.endswith("weights.pt") for path in run.trial.get("redirected", [])) or len(run.trial["blocked"]) != 2:
        faults.append(f"{run.trial.get('redirected')} {run.trial.get('blocked')}")
    return faults


def check_ranks(folder):
    """Both ranks have the same windows, and a batch less to wait for keeps the losses."""
    run = Run(folder, ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(TRIALS / "tried_ranks.py")],
              causes=["no_sync", "batches"])
    faults = run.faults()
    if faults:
        return faults
    other = json.loads((folder / "own/trial.rank1.json").read_text())
    if run.trial["windows"] != other["windows"] or len(other["windows"]) != 18:
        faults.append(f"{run.trial['windows']} {other['windows']} {run.trial['not_tried']}")
    return faults + window_faults(run.trial, 3)


def check_patch(folder):
    """A diff of the program's own source, which git applies, and beside it a copy that runs with the fixes in it."""
    user, patch = folder / "user", folder / "own/fixes.patch"
    user.mkdir(parents=True)
    (user / "rows.py").write_text("import torch\ndata = torch.utils.data.TensorDataset(torch.randn(640, 8), torch.arange(640) % 2)\n")
    (user / "train.py").write_text(TRAIN)
    run = Run(folder, ["train.py"], causes=["workers", "fused", "bf16"], patch=str(patch))
    if run.faults() or run.trial["ended"] != "patch" or [one["name"] for one in run.trial["not_tried"]] != ["bf16"]:
        return run.faults() + [f"{run.trial}"[:500]]
    wanted = TRAIN.replace("batch_size=16", f"batch_size=16, num_workers={cores()}, persistent_workers=True").replace(
        "lr=0.01", "lr=0.01, fused=True")
    changed = pathlib.Path(str(patch) + ".tree", "train.py")
    after = subprocess.run([sys.executable, str(changed)], cwd=user, capture_output=True, text=True, check=False)
    git = subprocess.run(["git", "apply", "--unsafe-paths", str(patch)], cwd=user, capture_output=True, text=True, check=False)
    applied = (user / "train.py").read_text() == wanted == changed.read_text()
    return [] if applied and after.returncode == 0 and "done" in after.stdout else [
        f"{git.stderr} {after.stderr} {patch.read_text()}"]


def cores():
    return max(1, min(4, len(os.sched_getaffinity(0)) - 1))


def check_ends(folder):
    """However the program ends, what was measured so far is there."""
    faults = []
    for word, ended, why, least in (("interrupt", "interrupted", "", 6), ("early", "program", "ValueError: as planned", 0),
                                    ("raise", "program", "ValueError: as planned", 6)):
        run = Run(folder / word, tried(word), causes=["garbage"], pairs=100)
        windows = run.trial.get("windows", [])
        if run.trial.get("ended") != ended or why not in run.trial["why"] or len(windows) < least or run.done.returncode == 0:
            faults.append(f"{word}: {run.trial.get('ended')} {run.trial.get('why')} {len(windows)} {run.done.stderr[-300:]}")
        if "as planned" not in run.done.stderr and word != "interrupt":
            faults.append(f"{word}: {run.done.stderr[-300:]}")
    return faults


def check_seed(folder):
    """Windows depend on the seed alone."""
    runs = [Run(folder / str(number), tried(), causes=["garbage"], seed=seed) for number, seed in enumerate((3, 3, 4))]
    windows = [run.trial.get("windows") for run in runs]
    same = windows[0] and windows[0] == windows[1] != windows[2]
    return [] if same else [str(windows)]


def check_long_steps(folder):
    """If steps are long for the time, windows are short, so it does for more of them."""
    run = Run(folder, tried("long"), causes=["garbage"], pairs=100, window_steps=[20, 40], first_look=6, most_seconds=3)
    lengths = [window["last"] - window["first"] + 1 for window in run.trial.get("windows", [])]
    short = len(lengths) >= 4 and 2 <= min(lengths) and max(lengths) < 20
    return run.faults() + ([] if short else [f"{lengths} {run.trial.get('why')}"])


def main():
    switch_or_skip()
    with tempfile.TemporaryDirectory(prefix="chokepoint-trial-") as name:
        folder = pathlib.Path(name)
        plain = {}

        def plain_of(words):
            key = next((word for word in ("images", "in-place") if word in words), "")
            if key not in plain:
                plain[key] = Run(folder / ("plain" + key), tried(key))
            return plain[key]

        checks = {f"{row} {words}": lambda place, row=row, words=words: check_row(place, row, words, plain_of(words))
                  for row, words in SWITCHES + FIXES}
        checks.update({f"whole {row} {words}": lambda place, row=row, words=words: check_whole(place, row, words, plain_of(words))
                       for row, words in WHOLE})
        checks.update({"apart": check_apart, "names": check_names, "files": check_files, "ranks": check_ranks, "ends": check_ends,
                       "long steps": check_long_steps, "patch": check_patch, "seed": check_seed})
        failed = 0
        for number, (text, check) in enumerate(checks.items()):
            if sys.argv[2:] and not any(word in text for word in sys.argv[2:]):
                continue
            faults = check(folder / str(number))
            failed += bool(faults)
            print(f"{text}: {'; '.join(faults) or 'ok'}", flush=True)
    return 1 if failed else 0


sys.exit(main())
