"""hta: what guides teach on the idle time of a device, as HolisticTraceAnalysis breaks it down.

HTA's documentation (https://hta.readthedocs.io, "Idle Time Breakdown") names three causes and what to do:

  host wait     the host queues work too slowly: larger batches, fused operators     launch_bound, small_kernels
  kernel wait   the time between kernels that were queued: CUDA graphs               launch_bound
  other         no cause that HTA knows                                              no answer

It gives no threshold. Here idle time counts from 10% of the time on, the limit being ours, and the larger cause comes
first. It predicts no gain.

usage: idle_rules.py TRACE
"""
import importlib.util
import logging
import os
import sys
import warnings

IDLE_LEAST = 0.10
ADVICE = {"host_wait": ("launch_bound", "small_kernels"), "kernel_wait": ("launch_bound",)}


def diagnoser(make, name, script, _program, _vocabulary, _seed):
    if importlib.util.find_spec("hta") is None:
        return make(name, None, skipped="this Python has no HolisticTraceAnalysis (PyPI)")
    return make(name, lambda path: [*script, path])


def idle_shares(path):
    """The idle time as a share of the device's, and all streams' idle time by cause."""
    # Or HTA rounds times to whole microseconds, of which short kernels are less than none.
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    from hta.trace_analysis import TraceAnalysis
    analysis = TraceAnalysis(trace_files={0: os.path.abspath(path)}, trace_dir="/", include_last_profiler_step=True)
    total = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    idle = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)[0]
    sums = idle.groupby("idle_category")["idle_time"].sum()
    return (float(total["idle_time(us)"]) / float(total["kernel_time(us)"]),
            {category: float(time) for category, time in sums.items()})


def causes(share, idle):
    named = []
    if share >= IDLE_LEAST:
        for category in sorted(idle, key=idle.get, reverse=True):
            named += [word for word in ADVICE.get(category, ()) if word not in named]
    return named


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    for cause in causes(*idle_shares(sys.argv[1])):
        print(cause)
