#!/usr/bin/env python3
"""Runs each slow training under `record`, TraceML, py-spy and torch.profiler, and keeps what they say.

usage: tools.py [-h] [--rounds N] --out FOLDER CHOKEPOINT [NAME...]

Run it with a python3 that has PyTorch, traceml-ai and py-spy, on a machine that does nothing else. The training runs
without and with each tool in turns. Printed are medians of the rounds, with the least and the most: seconds of the
command; the processor's time of the command, its children's included, over that of the training alone; and the same for a
step, as the training itself times it. FOLDER/TRAINING.TOOL has what a tool said; whether it is right is for a reader to
judge.
"""
import argparse
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ["collate", "transform", "saving"]
BESIDE = pathlib.Path(sys.executable).parent  # where pip puts the commands of packages


def command_of(package):
    return shutil.which(package, path=f"{BESIDE}{os.pathsep}{os.environ['PATH']}") or sys.exit(f"{package} is missing")


def commands(chokepoint, script, folder):
    """The command of each tool, and the file of its answer if that is not its output."""
    python, stacks = [sys.executable, str(script)], folder / f"{script.stem}.py-spy.raw"
    traceml = [command_of("traceml"), "run", f"--logs-dir={folder / 'traceml'}", str(script)]
    yield "alone", python, None
    yield "record", [chokepoint, "record", f"--traces={folder / script.stem}.traces", "--", *python], None
    yield "traceml", traceml, None
    yield "traceml-lines", [*traceml, "--args", "--with=traceml"], None
    yield "py-spy", [command_of("py-spy"), "record", "-f", "raw", "-o", str(stacks), "--", *python], stacks
    yield "profiler", [*python, "--with=profiler"], None


def hot_lines(path):
    """The widest frames of a flame graph, from a raw recording, with their share of all samples."""
    samples, every = {}, 0
    for line in path.read_text().splitlines():
        stack, count = line.rsplit(" ", 1)
        every += int(count)
        for frame in set(stack.split(";")):
            samples[frame] = samples.get(frame, 0) + int(count)
    widest = sorted(samples.items(), key=lambda item: -item[1])[:60]
    return "".join(f"{count / every:4.0%} {frame}\n" for frame, count in widest)


def processor_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command, said):
    """Seconds of the command, of them on processors, and milliseconds of a step on the processor."""
    begin, used = time.perf_counter(), processor_s()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.perf_counter() - begin
    said.write_text(f"{ran.stdout}\n{ran.stderr}")
    step = re.search(r"of the processor ([\d.]+) ms", ran.stdout)
    return took, processor_s() - used, float(step[1]) if step else float("nan")


def times(rounds, alone):
    ratios = [one / other for one, other in zip(rounds, alone)]
    return f"{statistics.median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("chokepoint")
    parser.add_argument("names", nargs="*", default=NAMES, metavar="name")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        rows = {}
        for _ in range(options.rounds):
            for tool, command, file in commands(options.chokepoint, HERE / f"{name}.py", options.out):
                said = options.out / f"{name}.{tool}"
                rows.setdefault(tool, []).append(run(command, said))
                if file is not None and file.exists():
                    said.write_text(hot_lines(file))
        print(f"{name}, load {os.getloadavg()[0]:.1f}")
        for tool, rounds in rows.items():
            seconds, used, step = zip(*rounds)
            _, used_alone, step_alone = zip(*rows["alone"])
            print(f"  {tool}: {statistics.median(seconds):.1f} s; program {times(used, used_alone)}, "
                  f"step {times(step, step_alone)}", flush=True)


main()
