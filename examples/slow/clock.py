"""The slow trainings share this besides their fault: the command line, the model, and how long a step took.

The lines of other tools that must be in a script are here: --with=traceml and --with=profiler put them in.
"""
import argparse
import contextlib
import time

import torch
from torch import nn

WARM_UP = 10  # steps that are not timed


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="without the fault")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--with", choices=["traceml", "profiler"], dest="tool", help="the lines that this tool needs")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return parser.parse_args()


def model(width):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


def profiler():
    def show(done):
        print(done.key_averages().table(sort_by="self_cpu_time_total", row_limit=8))

    return torch.profiler.profile(schedule=torch.profiler.schedule(wait=10, warmup=2, active=8, repeat=1),
                                  on_trace_ready=show)


@contextlib.contextmanager
def each_step(tool, net):
    """Returns what a tool wants to have around each step."""
    if tool == "traceml":
        import traceml_ai

        traceml_ai.init()
        yield lambda: traceml_ai.trace_step(net)
    elif tool == "profiler":
        with profiler() as running:
            @contextlib.contextmanager
            def step():
                yield
                running.step()
            yield step
    else:
        yield contextlib.nullcontext


def timed(batches, net, options):
    """Yields the number and the batch of each step, from a loader that is begun anew when it ends; then prints the mean
    time of a step."""
    done = 0
    with each_step(options.tool, net) as step:
        while done < options.steps:
            for batch in batches:
                if done == WARM_UP:
                    begin = time.perf_counter(), time.process_time()
                if done == options.steps:
                    break
                with step():
                    yield done, batch
                done += 1
    steps = options.steps - WARM_UP
    wall, processor = time.perf_counter() - begin[0], time.process_time() - begin[1]
    print(f"step {1e3 * wall / steps:.3f} ms, of the processor {1e3 * processor / steps:.3f} ms")
