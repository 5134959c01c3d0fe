#!/usr/bin/env python3
"""How many times as long as `diagnose` does HolisticTraceAnalysis take, whole processes in turns? For a quiet machine;
no test.

HTA does what its users do to learn why the device is idle: it loads the trace and breaks down the device's time and its
idle time. Times are medians of the rounds. Exit code 1: less than --least for a trace.

usage: hta_ratio.py PROGRAM PYTHON_WITH_HTA TRACE... [--rounds 3] [--least 50]
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import time

# HTA rounds times to whole microseconds unless it is told not to; short kernels are less than one.
BREAKDOWN = """
import logging, os, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: os.path.abspath(sys.argv[1])}, trace_dir="/", include_last_profiler_step=True)
print(analysis.get_temporal_breakdown(visualize=False))
print(analysis.get_idle_time_breakdown(ranks=[0], visualize=False)[0])
"""


def seconds(command):
    """The wall time of a command, and the processor time of all its threads."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(program, python, trace, rounds):
    sides = {"hta": [python, "-c", BREAKDOWN, trace], "diagnose": [program, "diagnose", trace]}
    times = {side: [] for side in sides}
    for command in sides.values():
        seconds(command)  # the file is in memory then, and so are the programs
    for _ in range(rounds):
        for side, command in sides.items():
            times[side].append(seconds(command))
    return {side: [statistics.median(column) for column in zip(*rows)] for side, rows in times.items()}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("python")
    parser.add_argument("traces", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--least", type=float, default=50)
    arguments = parser.parse_args()
    enough = True
    print(f"{'trace':40} {'MB':>6} {'HTA':>8} {'diagnose':>9} {'ratio':>7} {'of processor time':>18}   "
          f"load {os.getloadavg()[0]:.1f}")
    for trace in arguments.traces:
        medians = compare(arguments.program, arguments.python, trace, arguments.rounds)
        wall, processor = (hta / own for hta, own in zip(medians["hta"], medians["diagnose"]))
        enough = enough and wall >= arguments.least
        print(f"{os.path.basename(trace)[-40:]:40} {os.path.getsize(trace) / 1e6:6.0f} {medians['hta'][0]:7.2f}s "
              f"{medians['diagnose'][0]:8.3f}s {wall:6.1f}x {processor:17.1f}x", flush=True)
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
