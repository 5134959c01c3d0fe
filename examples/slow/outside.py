#!/usr/bin/env python3
"""How much longer a step takes with the recorder, before its recording begins and after it has ended.

usage: outside.py [-h] [--milliseconds MS [MS ...]] [--groups N] [--seconds S]

A group is four copies of one process, forked before they train, on one core: two without the recorder ("again" is the
second), one whose recording is yet to begin, one whose recording is over. They take turns of 20 ms, or of one step, in
random order. A round compares each with the first one without the recorder, so "again" tells what a comparison is worth. A
group's figure is the median of its rounds. Printed are the means of the groups, with 95% intervals (Student's t), of the
processor's time and of all time; and the median time that a step spends in the recorder's functions, which needs no
comparison. Run it with the python3 that has PyTorch, on a machine that does nothing else.
"""
import argparse
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/recorder"))
import chokepoint_recorder  # noqa: E402  pylint: disable=wrong-import-position

KINDS = ("without", "again", "before", "after")
PROCESSOR, ALL, IN_RECORDER = range(3)  # what a turn is answered by
TURN_MS = 20
NEVER = 10 ** 9  # steps before a recording
T95 = {4: 3.182, 6: 2.571, 8: 2.365, 12: 2.201, 16: 2.131}  # Student's t, both sides of 5%, by the number of groups


def watch(recorder):
    """Returns a function that tells how many nanoseconds a step spends in the recorder's functions, since it was last
    asked. Each of them is called once per step; medians, since another program may run during a call."""
    spent = {}  # by function

    def timed(function):
        times = spent[function] = []

        def call(*arguments):
            begin = time.perf_counter_ns()
            function(*arguments)
            times.append(time.perf_counter_ns() - begin)

        return call

    def take():
        step = sum(statistics.median(times) for times in spent.values() if times)
        for times in spent.values():
            times.clear()
        return step

    disable = chokepoint_recorder.without_dynamo
    chokepoint_recorder.without_dynamo = lambda function: timed(disable(function))
    recorder.fetching = timed(recorder.fetching)
    return take


class Training:
    """A small net; `passes` forward and backward passes per step make the step as long as is asked for."""

    def __init__(self):
        torch.manual_seed(0)
        self.net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
        self.optimizer = torch.optim.AdamW(self.net.parameters())
        self.loader = DataLoader(TensorDataset(torch.randn(4096, 64), torch.randint(10, (4096,))), batch_size=16)
        self.batches = iter([])

    def step(self, passes):
        batch = next(self.batches, None)
        if batch is None:
            self.batches = iter(self.loader)
            batch = next(self.batches)
        self.optimizer.zero_grad()
        for _ in range(passes):
            torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1]).backward()
        self.optimizer.step()

    def turn(self, steps, passes):
        """Nanoseconds of the processor, and of all time."""
        begin = time.process_time_ns(), time.perf_counter_ns()
        for _ in range(steps):
            self.step(passes)
        return time.process_time_ns() - begin[0], time.perf_counter_ns() - begin[1]


def passes_for(ms):
    """How many passes a step of so many milliseconds has."""
    training = Training()
    training.turn(100, 1)
    short, long = (min(training.turn(20, passes)[0] for _ in range(10)) / 20e6 for passes in (1, 11))
    return max(1, 1 + round((ms - short) / (long - short) * 10))


class Copy:
    """A forked process that trains in turns."""

    def __init__(self, kind, ms, passes):
        here, there = os.pipe(), os.pipe()
        self.kind = kind
        self.process = os.fork()
        if self.process == 0:
            os.close(here[1])
            os.close(there[0])
            with open(here[0]) as orders, open(there[1], "w") as answers:
                serve(kind, ms, passes, orders, answers)
            os._exit(0)
        os.close(here[0])
        os.close(there[1])
        self.orders, self.answers = open(here[1], "w"), open(there[0])

    def turn(self, steps):
        self.orders.write(f"{steps}\n")
        self.orders.flush()
        return [float(each) for each in self.answers.readline().split()]

    def end(self):
        """The copies forked after it hold its pipes too, so it would not see them closed."""
        self.orders.write("0\n")
        self.orders.close()
        self.answers.close()
        os.waitpid(self.process, 0)


def serve(kind, ms, passes, orders, answers):
    with tempfile.TemporaryDirectory() as folder:
        recorder = chokepoint_recorder.Recorder(folder, 10 if kind == "after" else NEVER, 8, 2)
        in_recorder = watch(recorder)
        if kind in ("before", "after"):
            chokepoint_recorder.start(recorder)
        training = Training()
        training.turn(60, 1)
        wanted = {"before": "waiting", "after": "done"}.get(kind, "watching")
        assert recorder.phase == wanted, f"{kind}: the recorder is {recorder.phase} {recorder.error}"
        training.turn(max(3, round(300 / ms)), passes)
        in_recorder()
        while steps := int(orders.readline()):
            print(*training.turn(steps, passes), in_recorder(), file=answers, flush=True)


def group(ms, passes, seconds):
    """Its rounds: by kind, what a turn took; and the steps of a turn."""
    copies = [Copy(kind, ms, passes) for kind in KINDS]
    steps = max(1, round(TURN_MS / ms))
    for copy in copies:
        copy.turn(1)
    rounds, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        rounds.append({copy.kind: copy.turn(steps) for copy in random.sample(copies, len(copies))})
    for copy in copies:
        copy.end()
    return rounds, steps


def more(groups, kind, clock):
    """By how much a step of this kind is longer, with its interval."""
    ratios = [statistics.median(took[kind][clock] / took["without"][clock] for took in rounds) for rounds, _ in groups]
    mean, half = statistics.mean(ratios) - 1, T95[len(ratios)] * statistics.stdev(ratios) / len(ratios) ** 0.5
    return f"{100 * mean:+.2f}% ({100 * (mean - half):+.2f} to {100 * (mean + half):+.2f})"


def median_us(groups, kind, clock):
    return statistics.median(took[kind][clock] for rounds, _ in groups for took in rounds) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--milliseconds", type=float, nargs="+", default=[1, 10, 100], help="of a step", metavar="MS")
    parser.add_argument("--groups", type=int, choices=T95, default=8)
    parser.add_argument("--seconds", type=float, default=8, help="of a group")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    for ms in options.milliseconds:
        passes = passes_for(ms)
        groups = [group(ms, passes, options.seconds) for _ in range(options.groups)]
        step_ms = median_us(groups, "without", PROCESSOR) / groups[0][1] / 1e3
        print(f"a step of {step_ms:.2f} ms, load {os.getloadavg()[0]:.1f}")
        for kind in KINDS[1:]:
            print(f"  {kind}: {more(groups, kind, PROCESSOR)} of the processor, {more(groups, kind, ALL)} of all time; "
                  f"{median_us(groups, kind, IN_RECORDER):.1f} us in the recorder", flush=True)


main()
