"""A folder of results as a CI keeps them, with all kinds that a site has pages of, and with what it has none of."""
import json
import os
import shutil
import subprocess

STEP_RUN, RUNS = 22, 30  # the first run of the new state, and all of them
SLOW_NODE = 7
EVIL = "<img src=x onerror=alert(1)>"


def commit(run):
    return f"{0xc0ffee000000 + run:012x}"


def history(path):
    """A row that gets 20% slower in one step, and one that stays as it is."""
    with open(path, "w", encoding="utf-8") as file:
        for run in range(RUNS):
            noise = run * 7919 % 13
            for row, value in (("decode/32", (1000 + noise) * (1.2 if run >= STEP_RUN else 1)), ("gelu", 50 + noise / 20)):
                file.write(json.dumps({
                    "date": f"2026-03-{run + 1:02}T10:00:00+00:00", "commit": commit(run), "machine": "2 CPUs", "row": row,
                    "metric": "real_time", "statistic": "best", "unit": "us", "value": value, "repetitions": 9}) + "\n")


def fleet(folder):
    for node in range(20):
        rate = 1e11 * (1 + 0.0005 * (node * 7919 % 13)) * (0.8 if node == SLOW_NODE else 1)
        check = {"name": "gemm", "status": "ok", "value": "-", "number": rate, "unit": "FLOP/s"}
        context = {"host_name": f"node{node}", "device_name": "A", "cpu_model": "B", "date": "2026-03-01T10:00:00+00:00"}
        (folder / f"doctor-{node}.json").write_text(
            json.dumps({"schema": 2, "context": context, "fit": "yes", "checks": [check]}), encoding="utf-8")


def benchmarks(path, name):
    row = {"name": name, "run_type": "iteration", "real_time": 1.5, "cpu_time": 1, "time_unit": "us"}
    path.write_text(json.dumps({"context": {"date": "2026-03-02T10:00:00+00:00", "num_cpus": 2, "host_name": "here",
                                            "commit": "5eed00000000"}, "benchmarks": [row, {**row, "real_time": 1.6}]}),
                    encoding="utf-8")


def make(folder, source, make_job):
    """The folder `results`; PAGES and LEFT_OUT say what comes of it."""
    for name in ("fleet", "rounds", "notes", EVIL):
        (folder / name).mkdir(parents=True)
    for name, result in (("old", "nvidia-h100-2"), ("new", "nvidia-h200-3")):
        (folder / name).mkdir()
        shutil.copy(source / "results" / result / "result.json", folder / name)
    shutil.copytree(source / "results/nvidia-h200/traces", folder / "new" / "traces")  # the result's: no page of its own
    history(folder / "history.jsonl")
    history(folder / EVIL / "h'\"&.jsonl")
    fleet(folder / "fleet")
    subprocess.run([make_job, folder / "job", "64", "late_rank", "17"], check=True, capture_output=True)
    (folder / "job.truth.json").unlink()
    for name in ("old-1", "new-1"):
        benchmarks(folder / "rounds" / f"{name}.json", "BM_<b>sum</b>")
    (folder / "notes" / "README.md").write_text("hello\n", encoding="utf-8")
    (folder / "notes" / "package.json").write_text('{"name": "x"}', encoding="utf-8")
    (folder / "link.jsonl").symlink_to("history.jsonl")
    (folder / "loop").symlink_to(".")
    os.mkfifo(folder / "pipe.json")


PAGES = {"results/history.jsonl": ("history", "bad"), f"results/{EVIL}/h'\"&.jsonl": ("history", "bad"),
         "results/fleet": ("fleet", "bad"), "results/job": ("job", "bad"), "results/new": ("result", "good"),
         "results/old": ("result", "doubtful"), "results/rounds": ("benchmarks", "plain")}
LEFT_OUT = {"results/link.jsonl": "a link", "results/loop": "a link", "results/pipe.json": "no regular file",
            "results/notes/README.md": "of no kind", "results/notes/package.json": "of no kind"}
