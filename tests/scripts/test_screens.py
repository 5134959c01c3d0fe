#!/usr/bin/env python3
"""Every screen, in terminals of several widths: no line is wider, and no word is broken.

A command runs in a pseudo-terminal of that width, and once into a pipe, which cuts nothing: each word
of the screen must be a word of the pipe, unless it says that it was cut ("...").

usage: test_screens.py PROGRAM
"""
import fcntl
import glob
import json
import os
import pickle
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

WIDTHS = (60, 80, 120)
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
program = sys.argv[1]
failures = []


def screen(command, width):
    """What a terminal of `width` columns gets."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        os.environ.update(TERM="xterm", COLUMNS="")
        os.environ.pop("NO_COLOR", None)
        os.execv(command[0], command)
    text = b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # The child closed its side.
            data = b""
        if not data:
            break
        text += data
    os.waitpid(child, 0)
    os.close(terminal)
    return ESCAPE.sub("", text.decode(errors="replace")).replace("\r\n", "\n")


def piped(command):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return ran.stdout.decode(errors="replace")


def is_cut_or_drawn(word):
    return "..." in word or word == "\\" or not word.strip("-#")


def check(arguments, measures=False, draws=False):
    """`measures`: takes long, so it runs once; and figures differ, so words are not looked at. `draws`: the width
    decides what is drawn, so they are not looked at either."""
    command = [program, *arguments]
    words = set() if measures else set(piped(command).split())
    if arguments[0] == "diagnose":  # a pipe cuts names too; its JSON has them whole
        words |= set(piped([*command, "--format=json"]).replace('"', " ").split())
    for width in WIDTHS[:1] if measures else WIDTHS:
        text = screen(command, width)
        name = " ".join(arguments) + f" at {width} columns"
        if len(text.strip()) == 0:
            failures.append(f"{name}: nothing was printed")
        for line in re.split("[\n\r]", text):
            if len(line) > width:
                failures.append(f"{name}: {len(line)} columns: {line}")
            broken = [word for word in line.split() if word not in words and not is_cut_or_drawn(word)]
            if broken and not measures and not draws:
                failures.append(f"{name}: not a word of the pipe: {broken} in {line}")


def check_progress(arguments, width):
    """The line that is drawn anew must not wrap: one column stays free for the cursor."""
    drawn = [part for part in re.split("[\n\r]", screen([program, *arguments], width))
             if re.match(r"(\d+ rows|\[\d|round )", part)]
    if not drawn:
        failures.append(f"{arguments[0]}: no progress was drawn")
    for line in drawn:
        if len(line) >= width:
            failures.append(f"{arguments[0]} at {width} columns: {len(line)} columns: {line}")


# --- Files ---


def event(category, name, start, length, thread=1, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": thread, "ts": start,
            "dur": length, "args": arguments}


def made_trace(path, rank):
    """Three steps of launches, copies and kernels whose names are long and alike."""
    events = []
    for step in range(3):
        at = 1000 * step
        events.append(event("user_annotation", f"ProfilerStep#{step}", at, 1000))
        events.append(event("cpu_op", "aten::a_long_name_of_an_operator_that_goes_on", at + 5, 600))
        for index in range(8):
            name = ("void at::native::vectorized_elementwise_kernel<4, at::native::a_functor_whose_name_"
                    f"is_longer_than_any_screen_is_wide_{index}<float>, std::array<char*, 3> >(int)")
            number = 100 * step + index + 1
            events.append(event("cuda_runtime", "cudaLaunchKernel", at + 50 * index + 10, 20,
                                correlation=number))
            events.append(event("kernel", name, at + 50 * index + 40, 12 + 3 * index, thread=7,
                                correlation=number))
        events.append(event("cuda_runtime", "cudaMemcpyAsync", at + 700, 80, correlation=1000 + step))
        events.append(event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 710, 60, thread=7,
                            correlation=1000 + step, bytes=1 << 20))
        events.append(event("cuda_runtime", "cudaDeviceSynchronize", at + 800, 150))
    trace = {"traceEvents": events, "distributedInfo": {"rank": rank, "world_size": 4}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)


def made_snapshot(path):
    """Memory that a line with a long name takes in pieces, until it runs out."""
    frames = [{"name": "a_function_with_a_name_that_goes_on_" + "and_on_" * 6, "filename": "/a/folder/of/model.py", "line": 7}]
    trace, blocks = [], []
    for step in range(20):
        at = 1 + step << 24
        trace += [{"action": "alloc", "addr": at, "size": 3 << 20, "time_us": 10**15 + step, "frames": frames},
                  {"action": "segment_alloc", "addr": at, "size": 1 << 24, "time_us": 10**15 + step}]
        blocks += [{"address": at, "size": 3 << 20, "requested_size": 3 << 20, "state": "active_allocated", "frames": frames},
                   {"address": at + (3 << 20), "size": 13 << 20, "requested_size": 0, "state": "inactive", "frames": []}]
    trace.append({"action": "oom", "device_free": 5, "size": 1 << 30, "time_us": 10**15 + 99})
    segment = {"device": 0, "address": 1 << 24, "total_size": 320 << 20, "segment_pool_id": (0, 1), "blocks": blocks}
    with open(path, "wb") as file:
        pickle.dump({"segments": [segment], "device_traces": [trace]}, file)


def made_result(path, factor):
    """A file of Google Benchmark."""
    rows = []
    for index, name in enumerate(("short", "a/benchmark/of/a/long/name/that/goes/on/and/on/real_time",
                                  "a/benchmark/of/a/long/name/that/goes/on/and/on/manual_time")):
        for repetition in range(3):
            time = 10.0 ** (2 * index) * (1 + 0.01 * repetition) * factor
            rows.append({"name": name, "run_name": name, "run_type": "iteration", "repetitions": 3,
                         "repetition_index": repetition, "threads": 1, "iterations": 10,
                         "real_time": time, "cpu_time": time, "time_unit": "us"})
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"context": {"host_name": "made", "num_cpus": 2}, "benchmarks": rows}, file)


def check_all(folder):
    for command in ("list", "explain", "run", "train", "bench", "diagnose", "report", "compare", "history", "doctor", "exec"):
        check([command, "--help"])
    for arguments in ("--help", "list", "explain", "explain all", "explain findings", "explain checklist", "explain host_sync", "nothing",
                      "explain nothing", "run --quik", "train --batch=none", "compare one two"):
        check(arguments.split())

    os.chdir(folder)  # Paths are words that nothing may break, so they are short here.
    for rank in range(4):
        made_trace(f"rank{rank}.json", rank)
    check(["diagnose", "rank0.json"])
    check(["diagnose", "rank0.json", "--thresholds"])
    check(["diagnose", "rank0.json", "--checklist"])
    check(["diagnose", "rank0.json", "--timeline=2"], draws=True)
    made_snapshot("memory.pickle")
    check(["diagnose", "memory.pickle"])
    check(["diagnose", "rank0.json", "memory.pickle"])
    check(["diagnose", *(f"rank{rank}.json" for rank in range(4))])
    check(["diagnose", *(f"rank{rank}.json" for rank in range(4)), "--rank=2"])
    for index, factor in enumerate((1.0, 1.01, 1.3)):
        made_result(f"old{index}.json", 1 + 0.01 * index)
        made_result(f"new{index}.json", factor)
    check(["compare", "old0.json", "new2.json"])
    check(["compare", *(f"old{i}.json" for i in range(3)), "--new",
           *(f"new{i}.json" for i in range(3))])
    for trace in sorted(glob.glob(os.path.join(traces, "*.gz"))):
        os.symlink(trace, os.path.basename(trace))
        check(["diagnose", os.path.basename(trace)])

    check(["doctor"], measures=True)
    check(["bench", "--benchmark_filter=lat_launch_enqueue", "--benchmark_min_time=0.001s",
           "--benchmark_repetitions=2"], measures=True)
    sweep = ["train", "--model=light", "--steps=4", "--sweep=launch=eager,graph"]
    check(sweep, measures=True)
    check_progress(sweep, 24)
    check([*sweep, "--sweep=allocation=caching,direct,stream_ordered"], measures=True)


program = os.path.abspath(program)
traces = os.path.abspath(os.environ.get("CHOKEPOINT_TRACES") or
                         os.path.join(os.path.dirname(__file__), "../../../shared/traces"))
with tempfile.TemporaryDirectory() as place:
    # doctor prints it, and the path of the tests' own may be too long for a narrow screen.
    os.environ["CHOKEPOINT_CACHE"] = os.path.join(place, "cache")
    check_all(place)
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
