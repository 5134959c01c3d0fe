#!/usr/bin/env python3
"""How much longer a step takes under `record` outside of the recording: before it, and after it.

usage: outside.py [-h] [--pairs N] CHOKEPOINT

A training alone and one under `record` run side by side on one core, in turns of some steps, so both meet the same
neighbours. Compared is the processor's time of each two turns. Processes are started anew several times, as memory
lies elsewhere then. Printed are the medians of the processes' medians, with the 95% interval of their mean. Run it with
the python3 that has PyTorch. The step is small, so that a few microseconds are seen.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

TURN = 20  # steps
PROCESSES = 8
T_OF_PROCESSES = 2.365  # Student's t of 7 degrees of freedom, both sides of 5%


def train():
    """Answers each line of its input by the processor's time of some steps."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(net.parameters())
    loader = DataLoader(TensorDataset(torch.randn(4096, 64), torch.randint(10, (4096,))), batch_size=16)
    batches = iter([])
    for line in sys.stdin:
        begin = time.process_time_ns()
        for _ in range(int(line)):
            batch = next(batches, None)
            if batch is None:
                batches = iter(loader)
                batch = next(batches)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(batch[0]), batch[1]).backward()
            optimizer.step()
        print(time.process_time_ns() - begin, flush=True)


def turn(process, steps=TURN):
    process.stdin.write(f"{steps}\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def ratio(chokepoint, wait, pairs):
    """The median of record / alone, and the milliseconds of a step alone."""
    with tempfile.TemporaryDirectory() as folder:
        train_here = [sys.executable, __file__, "train"]
        record = [chokepoint, "record", "--no-page", f"--wait={wait}", f"--traces={folder}/traces", "--"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        with subprocess.Popen(train_here, **pipes) as alone, subprocess.Popen(record + train_here, **pipes) as recorded:
            both = [alone, recorded]
            for process in both:  # the recording, of 10 + 2 + 8 + 1 + 2 + 8 steps, if it is not put off
                turn(process, 60)
            found = []
            for number in range(pairs):
                order = both if number % 2 == 0 else both[::-1]
                took = {process: turn(process) for process in order}
                found.append((took[recorded] / took[alone], took[alone] / TURN / 1e6))
            for process in both:
                process.stdin.close()
    return [statistics.median(each) for each in zip(*found)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("chokepoint")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name, wait in (("before", 10 ** 6), ("after", 10)):
        found = [ratio(options.chokepoint, wait, options.pairs) for _ in range(PROCESSES)]
        ratios = [each[0] for each in found]
        half = T_OF_PROCESSES * statistics.stdev(ratios) / len(ratios) ** 0.5
        mean = statistics.mean(ratios)
        print(f"{name} the recording: {mean:.4f} times as long ({mean - half:.4f} to {mean + half:.4f}); a step of "
              f"{statistics.median(each[1] for each in found):.3f} ms", flush=True)


if sys.argv[1:] == ["train"]:
    train()
else:
    main()
