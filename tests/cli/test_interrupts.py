#!/usr/bin/env python3
"""Signals while train, a sweep and bench are under way: what was measured is printed and kept.

usage: test_interrupts.py PROGRAM HANGING_DEVICE

The signal is sent when the program says that something is measured, on standard output or in its progress
line, which it shows because standard error is a terminal here.
"""
import concurrent.futures
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fixtures"))
from checking import check, end  # noqa: E402

program, hanging_device = sys.argv[1:3]


def run_until(pattern, number, *arguments, appears=None):
    """Runs the program and sends signal `number` once it has said what matches `pattern`, or, where
    `appears` is given, once there is such a file.

    Returns the exit code (that of a shell), standard output, and standard error.
    """
    master, slave = pty.openpty()
    child = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stderr=slave,
                             stdin=subprocess.DEVNULL)
    os.close(slave)
    streams = {child.stdout.fileno(): b"", master: b""}
    open_ones = set(streams)
    sent = False
    while open_ones:
        for one in select.select(open_ones, [], [], None if appears is None or sent else 0.01)[0]:
            try:
                piece = os.read(one, 65536)
            except OSError:  # A terminal ends like this.
                piece = b""
            if not piece:
                open_ones.remove(one)
            streams[one] += piece
        if not sent and (os.path.exists(appears) if appears is not None else
                         any(re.search(pattern.encode(), stream) for stream in streams.values())):
            child.send_signal(number)
            sent = True
    output, errors = (streams[one].decode() for one in (child.stdout.fileno(), master))
    child.stdout.close()
    os.close(master)
    code = child.wait()
    assert sent, f"it never said {pattern!r}:\n{output}{errors}"
    return (128 - code if code < 0 else code), output, errors


def train_prints_the_table_and_the_figures_so_far():
    for number in (signal.SIGINT, signal.SIGTERM):
        code, output, errors = run_until(r"step time\n +\d+ ", number, "train", "--device=cpu",
                                         "--model=light", "--steps=20000")
        rows = [line.split() for line in output.splitlines() if line.strip()[:1].isdigit()]
        check(code == 128 + number, f"train: exit code {code}")
        check("speed " in output and "p95" in output, "train: there are no figures", output)
        check("held-out" not in output, "train: it went on to evaluate", output)
        check("stopped by" in errors and "steps" in errors, "train: it does not say why", errors)
        check(0 < len(rows) < 10, "train: rows of the table", output)


def a_device_that_hangs_is_abandoned():
    """The wait for it never returns; the program ends within five seconds, and says so. Machines may be busy: ten.
    A step of thousands of launches fills the queue, and a launch waits."""
    full_queue = "--launch=eager", "--batch=64", "--accumulate=64"

    def hang(number):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "hangs")
            child = subprocess.Popen([program, "train", "--device=cpu", "--model=light", "--steps=50000",
                                      *(full_queue if number == signal.SIGTERM else ())],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                     env={**os.environ, "LD_PRELOAD": hanging_device, "HANG": str(file)})
            while (line := child.stdout.readline()) and not re.match(r" +\d+ ", line):
                pass
            file.touch()
            while file.stat().st_size == 0 and child.poll() is None:
                time.sleep(0.01)
            begin = time.monotonic()
            child.send_signal(number)
            try:
                _, errors = child.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                child.kill()
                _, errors = child.communicate()
            return number, child.returncode, time.monotonic() - begin, errors

    numbers = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    with concurrent.futures.ThreadPoolExecutor(len(numbers)) as pool:
        for number, code, took, errors in pool.map(hang, numbers):
            check(code == 128 + number and took < 10, f"a device that hangs: exit code {code} after {took:.1f} s", errors)
            check("the device hangs" in errors, "it does not say that the device hangs", errors)


def a_soak_ends_early_with_its_rows():
    for number in (signal.SIGINT, signal.SIGTERM):
        code, output, errors = run_until(r"soak: \d+ iterations", number, "doctor", "--device=cpu",
                                         "--soak=1h", "--color=never")
        failing = re.search(r"^ *fail ", output, re.MULTILINE) is not None
        check(code == (1 if failing else 128 + number), f"soak: exit code {code}", output, errors)
        check(re.search(r"low +soak_time +\d+\.\d of 3600\.0 s", output), "soak: its time", output)
        check(re.search(r"ok +soak_bf16_bits +equal", output), "soak: its rows", output)
        check("tracing" in output, "soak: the rows behind it", output)
        check(failing or "stopped by" in errors, "soak: it does not say why", errors)


def an_interrupt_while_the_trace_is_recorded_is_not_forgotten(folder):
    path = os.path.join(folder, "train.json.gz")
    code, output, errors = run_until("held-out", signal.SIGINT, "train", "--device=cpu",
                                     "--model=heavy", "--steps=20", f"--trace={path}")
    check(code == 130, f"train --trace: exit code {code}", output, errors)
    check("stopped by an interrupt after all 20 steps" in errors, "train --trace: it does not say why", errors)


def a_sweep_prints_the_rounds_that_are_finished():
    sweep = ["train", "--device=cpu", "--model=light", "--steps=50", "--repetitions=1000",
             "--sweep", "launch=eager,graph"]
    code, output, errors = run_until("round 2 of 1000", signal.SIGINT, *sweep)
    check(code == 130, f"sweep: exit code {code}", errors)
    check("stopped by an interrupt in round" in errors, "sweep: it does not say why", errors)
    rows = {line.split()[0]: line for line in output.splitlines() if line.startswith(("  eager", "  graph"))}
    check(set(rows) == {"eager", "graph"}, "sweep: a value is missing", output)
    check("not measured" not in output, "sweep: a finished value is not there", output)

    code, output, errors = run_until("round 2 of 1000", signal.SIGINT, *sweep, "--format=json")
    check(code == 130, f"sweep as JSON: exit code {code}", errors)
    result = json.loads(output)
    check(result["interrupted"] is True, "sweep as JSON: it looks whole", output)
    rounds = [len(value["rounds"]) for value in result["values"]]
    check(all(1 <= count < 1000 for count in rounds), "sweep as JSON: rounds", str(rounds))


def a_sweep_says_which_values_it_did_not_reach():
    code, output, errors = run_until("launch=graph", signal.SIGINT, "train", "--device=cpu",
                                     "--model=light", "--steps=2000", "--repetitions=1", "--sweep",
                                     "launch=eager,graph,graph")
    check(code == 130, f"sweep: exit code {code}", errors)
    check(output.count("not measured") == 2, "sweep: it should have reached one value", output)


def a_ladder_prints_the_rungs_that_are_finished(folder):
    os.environ["TMPDIR"] = folder
    # A trace of a busy machine may name nothing; --thorough measures what lessons call wrong in any case.
    code, output, errors = run_until("pair 1 of", signal.SIGINT, "train", "--device=cpu", "--model=light",
                                     "--batch=1", "--tokens=4", "--launch=graph", "--loss-every=1", "--ladder",
                                     "--thorough")
    del os.environ["TMPDIR"]
    check(code == 130, f"ladder: exit code {code}", output, errors)
    check("interrupted" in errors, "ladder: it does not say why", errors)
    check("The tuned settings" in output, "ladder: the settings are missing", output)
    check(not [name for name in os.listdir(folder) if "ladder" in name], "ladder: its folder is left", folder)


def bench_prints_and_writes_the_rows_so_far(folder):
    path = os.path.join(folder, "rows.json")
    code, output, errors = run_until("% done", signal.SIGTERM, "bench", "--device=cpu",
                                     "--benchmark_filter=^lat_(event|readback)$",
                                     "--benchmark_repetitions=100", "--benchmark_min_time=0.02",
                                     f"--benchmark_out={path}")
    check(code == 143, f"bench: exit code {code}", errors)
    check("stopped by a request to terminate; 0 of 2 rows" in errors, "bench: it does not say why", errors)
    check("lat_event" in output, "bench: nothing is printed", output)
    with open(path, encoding="utf-8") as file:
        rows = [row for row in json.load(file)["benchmarks"] if row["run_type"] == "iteration"]
    check(0 < len(rows) < 200, f"bench: {len(rows)} rows are in the file")
    check(all(row["real_time"] > 0 for row in rows), "bench: a row has no time")


def bench_row_after_row_keeps_finished_rows_through_a_kill(folder):
    path = os.path.join(folder, "killed.json")
    rows = {"lat_event", "lat_readback", "lat_launch_sync", "lat_launch_back_to_back", "lat_sync_stream/32"}
    code, output, errors = run_until("", signal.SIGKILL, "bench", "--device=cpu",
                                     f"--benchmark_filter=^({'|'.join(rows)})$",
                                     "--benchmark_enable_random_interleaving=false",
                                     "--benchmark_repetitions=100", "--benchmark_min_time=0.025",
                                     f"--benchmark_out={path}", appears=path)
    check(code == 137, f"bench, killed: exit code {code}", errors)
    with open(path, encoding="utf-8") as file:
        names = {row["run_name"] for row in json.load(file)["benchmarks"]}
    check(names and names < rows, "bench, killed: not the rows that were finished", str(names))


def bench_leaves_an_older_file_until_a_row_is_done(folder):
    path = os.path.join(folder, "old.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write("old")
    code, _, errors = run_until("Measured limits", signal.SIGKILL, "bench", "--device=cpu",
                                "--benchmark_filter=^gemm_fp32/256$", f"--benchmark_out={path}",
                                "--benchmark_min_time=600")
    check(code == 137, f"bench, killed early: exit code {code}", errors)
    with open(path, encoding="utf-8") as file:
        check(file.read() == "old", "bench: the older file is gone before a row was done")
    check(os.listdir(folder).count("old.json") == 1, "bench: the older file has another name")


def bench_leaves_an_older_file_when_it_is_interrupted_early(folder):
    path = os.path.join(folder, "older.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write("old")
    # The first row is measured, the second is under way.
    code, output, errors = run_until("% done", signal.SIGINT, "bench", "--device=cpu",
                                     "--benchmark_filter=^lat_(launch|graph|sync)",
                                     "--benchmark_repetitions=100", "--benchmark_min_time=0.25",
                                     f"--benchmark_out={path}")
    check(code == 130, f"bench, interrupted early: exit code {code}", errors)
    check("lat_launch" in output, "bench, interrupted early: nothing is printed", output)
    check("the older file stays" in errors, "bench: it does not say what became of the file", errors)
    with open(path, encoding="utf-8") as file:
        check(file.read() == "old", "bench: a fragment replaced the older file")


def bench_cuts_a_repetition_that_takes_long():
    # A million iterations are a second of the first row, and a minute of the second, which is under way.
    code, output, errors = run_until("% done", signal.SIGTERM, "bench", "--device=cpu",
                                     "--benchmark_filter=^(lat_graph_eager/1|lat_sync_event/32)$",
                                     "--benchmark_repetitions=1", "--benchmark_min_time=1000000x")
    check(code == 143, f"bench, long: exit code {code}", errors)
    check("stopped by a request to terminate; 1 of 2 rows" in errors, "bench, long: it does not say why", errors)
    check("lat_graph_eager/1" in output, "bench, long: the first row is lost", output)
    check("lat_sync_event/32" not in output, "bench, long: the repetition went on to its end", output)


os.environ["TERM"] = "xterm"
for name in ("CHOKEPOINT_FAIL", "CHOKEPOINT_VERBOSE"):
    os.environ.pop(name, None)
with tempfile.TemporaryDirectory() as place:
    train_prints_the_table_and_the_figures_so_far()
    a_soak_ends_early_with_its_rows()
    a_device_that_hangs_is_abandoned()
    an_interrupt_while_the_trace_is_recorded_is_not_forgotten(place)
    a_sweep_prints_the_rounds_that_are_finished()
    a_sweep_says_which_values_it_did_not_reach()
    a_ladder_prints_the_rungs_that_are_finished(place)
    bench_prints_and_writes_the_rows_so_far(place)
    bench_row_after_row_keeps_finished_rows_through_a_kill(place)
    bench_leaves_an_older_file_until_a_row_is_done(place)
    bench_leaves_an_older_file_when_it_is_interrupted_early(place)
    bench_cuts_a_repetition_that_takes_long()
end()
