"""Traces read by HolisticTraceAnalysis, whose figures must be those of the events themselves.

usage: check_hta.py TRACE.JSON[.GZ]...

HTA rounds times to whole microseconds unless HTA_DISABLE_NS_ROUNDING says not to.
"""
import gzip
import json
import os
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.filterwarnings("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402

WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def union_ns(intervals):
    total, end = 0, None
    for start, stop in sorted(intervals):
        total += max(0, stop - (start if end is None else max(start, end)))
        end = stop if end is None else max(end, stop)
    return total


def work_of(path):
    """Busy time and span in us, and streams, summed from the events in whole ns."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("cat") in WORK]
    times = [(round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)) for e in events]
    span = max(end for _, end in times) - min(start for start, _ in times)
    return union_ns(times) / 1e3, span / 1e3, {e["tid"] for e in events}


def near(ours, theirs, what):
    # Theirs are doubles of microseconds: their last digit is a matter of rounding.
    assert abs(ours - theirs) <= 0.01 + 1e-6 * ours, f"{what}: {ours} us here, {theirs} us in HTA"


def check(path):
    busy, span, streams = work_of(path)
    # An absolute path, or it would be looked for in the folder of traces.
    analysis = TraceAnalysis(trace_files={0: os.path.abspath(path)}, trace_dir="/",
                             include_last_profiler_step=True)
    temporal = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    near(span, temporal["kernel_time(us)"], "span")
    near(span - busy, temporal["idle_time(us)"], "idle")
    near(busy, temporal["compute_time(us)"] + temporal["non_compute_time(us)"], "busy")
    idle = analysis.get_idle_time_breakdown(visualize=False)[0]
    assert set(idle["stream"]) == streams, (set(idle["stream"]), streams)
    assert not analysis.get_cuda_kernel_launch_stats(visualize=False)[0].empty
    assert not analysis.get_queue_length_summary().empty
    print(f"{path}: busy {busy:.0f} of {span:.0f} us, as HTA says")


for path in sys.argv[1:]:
    check(path)
