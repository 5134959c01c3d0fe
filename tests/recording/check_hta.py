"""Traces read by HolisticTraceAnalysis, whose figures must be ours and those of the events themselves.

usage: check_hta.py TRACE_FIGURES TRACE.JSON[.GZ]...

TRACE_FIGURES is the program that prints ours. Busy, idle, computation, communication and its overlap,
and the causes of idle time by stream agree within 0.1%. HTA rounds times to whole microseconds unless
HTA_DISABLE_NS_ROUNDING says not to, and its shares to two decimals. The ranks of a run, NAME.rankN.json.gz, are
also loaded together, as HTA is used. A trace of its own making goes along, for machines without MPI.

HTA takes every row that names a stream for device work. PyTorch names the stream in rows of the host too,
where a Triton kernel is launched: a trace of a diffusion model has 433 of them, and HTA counts the 8.4 ms
under which the device is idle as busy. Rows of synchronisation (cuda_sync) name the stream that is waited for. So HTA is
given a copy in which such rows name no stream.
"""
import bisect
import collections
import gzip
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.filterwarnings("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402

WORK = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")
NO_WORK = ("cpu_op", "cuda_sync")  # rows that may name a stream all the same
CALLS = ("cuda_runtime", "cuda_driver", "Runtime")
CAUSES = {"host_wait": "host_wait", "kernel_wait": "device_wait", "other": "other"}
DEVICE_WAIT_NS = 30000
ROUNDED_PERCENT = 0.0051  # a share of two decimals


def union_ns(intervals):
    total, end = 0, None
    for start, stop in sorted(intervals):
        total += max(0, stop - (start if end is None else max(start, end)))
        end = stop if end is None else max(end, stop)
    return total


def start_ns(event):
    return round(event["ts"] * 1000)


def end_ns(event):
    return start_ns(event) + round(event["dur"] * 1000)


def read(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt") as file:
        return json.load(file)


def work_of(trace):
    """Busy time and span in us, summed from the events in whole ns, and that of idle_of."""
    events = [e for e in trace["traceEvents"] if e.get("cat") in WORK]
    span = max(map(end_ns, events)) - min(map(start_ns, events))
    busy = union_ns([(start_ns(e), end_ns(e)) for e in events])
    return busy / 1e3, span / 1e3, idle_of(trace["traceEvents"], events)


def communication_of(trace):
    """Its time in us, and in how many stretches: one begins or ends wherever computation does."""
    kernels = [e for e in trace["traceEvents"] if e.get("cat") in ("kernel", "Kernel")]
    messages = [(start_ns(e), end_ns(e)) for e in kernels if re.match("nccl.*Kernel", e["name"])]
    borders = sorted({border for e in kernels for border in (start_ns(e), end_ns(e))})
    begun, ended = sorted(start for start, _ in messages), sorted(end for _, end in messages)
    stretches = sum(bisect.bisect_right(begun, at) > bisect.bisect_right(ended, at) for at in borders)
    return union_ns(messages) / 1e3, stretches


def for_hta(path, trace, folder):
    """The path of a trace that HTA reads right: a copy in folder where rows that are no work name a stream."""
    named = [e["args"] for e in trace["traceEvents"] if e.get("cat") in NO_WORK and "stream" in e.get("args", {})]
    if not named:
        return os.path.abspath(path)  # else it would be looked for in the folder of traces
    for arguments in named:
        del arguments["stream"]
    # Rows of Python, which HTA would read for nothing, are most of such a trace.
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e.get("cat") != "python_function"]
    copy = os.path.join(folder, "copy.json")
    with open(copy, "w") as file:
        json.dump(trace, file)
    print(f"{path}: {len(named)} rows that are no device work name a stream, which HTA does not see")
    return copy


def idle_of(events, work):
    """Idle time in us by stream and cause, and what of it was called in the very ns the stream went idle, or by how much
    two kernels of the stream overlap, as they may where a clock counts microseconds.

    Here such a `tie` is no host_wait. HTA compares the start of the call with a sum of two doubles, which
    may fall on either side of it.
    """
    calls = {e["args"]["correlation"]: start_ns(e) for e in events
             if e.get("cat") in CALLS and "correlation" in e.get("args", {})}
    idle_since, idle = {}, {}
    for event in sorted(work, key=start_ns):
        stream, call = event["args"]["stream"], calls.get(event["args"].get("correlation"))
        of_stream = idle.setdefault(stream, collections.Counter())
        since = idle_since.get(stream, start_ns(event))
        gap = start_ns(event) - since
        if gap > 0:
            of_stream["host_wait" if call is not None and call > since else
                      "device_wait" if call is not None and gap < DEVICE_WAIT_NS else "other"] += gap / 1e3
            of_stream["tie"] += gap / 1e3 if call == since else 0
        of_stream["tie"] += max(0, -gap) / 1e3  # HTA subtracts it
        idle_since[stream] = max(end_ns(event), since)
    return idle


def near(ours, theirs, what, share=1e-3, least=0.01):
    # Theirs are doubles of microseconds: sums of large ones have lost some nanoseconds.
    assert abs(ours - theirs) <= least + share * abs(ours), f"{what}: {ours} here, {theirs} there"


def check_causes(ours, idle, theirs):
    """Idle time by stream and cause: ours, from the events, and HTA's."""
    assert {s["stream"] for s in ours["streams"]} >= set(theirs["stream"]), theirs
    for stream in ours["streams"]:
        of_events = idle[stream["stream"]]
        rows = theirs[theirs["stream"] == stream["stream"]]
        for category, own in CAUSES.items():
            what = f"stream {stream['stream']} {own}"
            row = rows[rows["idle_category"] == category]["idle_time"]
            near(stream[own], of_events[own], what + " from the events", 1e-9)
            near(stream[own], float(row.iloc[0]) if len(row) else 0.0, what, least=0.01 + of_events["tie"])


def figures_of(path, figures):
    return json.loads(subprocess.run([figures, path], check=True, capture_output=True).stdout)


def overlap_percent(ours):
    return 100 * ours["communication_overlap"] / ours["communication"]


def check(path, figures, folder):
    ours = figures_of(path, figures)
    assert ours["bad"] == 0 and not ours["partial"], ours
    trace = read(path)
    busy, span, idle = work_of(trace)
    near(ours["busy"], busy, "busy from the events", 1e-9, 0.002 * ours["events"])
    near(ours["span"], span, "span from the events", 1e-9)
    analysis = TraceAnalysis(trace_files={0: for_hta(path, trace, folder)}, trace_dir="/",
                             include_last_profiler_step=True)
    temporal = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    near(ours["span"], temporal["kernel_time(us)"], "span")
    near(ours["idle"], temporal["idle_time(us)"], "idle")
    near(ours["compute"], temporal["compute_time(us)"], "computation")
    near(ours["busy"], temporal["compute_time(us)"] + temporal["non_compute_time(us)"], "busy")
    share = float(analysis.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"].iloc[0])
    kinds = analysis.get_gpu_kernel_breakdown(visualize=False)[0].set_index("kernel_type")["sum"]
    if ours["communication"] > 0:
        near(overlap_percent(ours), share, "overlap", least=ROUNDED_PERCENT)
        own, stretches = communication_of(trace)
        near(ours["communication"], own, "communication from the events", 1e-9)
        near(ours["communication"], float(kinds.filter(like="COMMUNICATION").sum()),
             "communication", least=stretches)  # that table cuts each stretch to whole us
    else:
        assert math.isnan(share) and not len(kinds.filter(like="COMMUNICATION")), kinds
    check_causes(ours, idle, analysis.get_idle_time_breakdown(visualize=False)[0])
    if "chokepoint" in trace:
        assert not analysis.get_cuda_kernel_launch_stats(visualize=False)[0].empty
        assert not analysis.get_queue_length_summary().empty
    print(f"{path}: busy {ours['busy']:.0f} of {ours['span']:.0f} us, as HTA says")


def communication(folder):
    """Two steps of computation on one stream and communication on another, half of it hidden."""
    events = []

    def add(cat, name, pid, tid, ts, dur, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts,
                       "dur": dur, "args": args})

    for step in range(2):
        start = 1000.0 + 5000 * step
        add("user_annotation", f"ProfilerStep#{step}", 1, 1, start, 5000.0)
        for i in range(10):
            correlation = 100 * step + 2 * i + 1
            at = start + 400 * i
            for offset, name, stream, length in ((0, "gemm", 7, 250.0),
                                                 (1, "ncclDevKernel_AllReduce", 20, 301.0)):
                add("cuda_runtime", "cudaLaunchKernel", 1, 1, at + offset, 0.5,
                    correlation=correlation + offset)
                add("kernel", name, 0, stream, at + 20 + 125 * offset, length, device=0,
                    stream=stream, correlation=correlation + offset)
    path = os.path.join(folder, "communication.json")
    with open(path, "w") as file:
        json.dump({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events,
                   "displayTimeUnit": "ms"}, file)
    return path


def check_ranks(name, paths, figures):
    """The overlap of all ranks of a run."""
    analysis = TraceAnalysis(trace_files={rank: os.path.abspath(path) for rank, path in paths.items()}, trace_dir="/",
                             include_last_profiler_step=True)
    shares = analysis.get_comm_comp_overlap(visualize=False).set_index("rank")["comp_comm_overlap_pctg"]
    assert sorted(shares.index) == sorted(paths), shares
    for rank, path in sorted(paths.items()):
        ours = overlap_percent(figures_of(path, figures))
        near(ours, shares[rank], f"{name}: overlap of rank {rank}", least=ROUNDED_PERCENT)
        print(f"{name}: rank {rank} hides {ours:.3f}% of its communication, by HTA {shares[rank]}%")


def runs_of(traces):
    runs = collections.defaultdict(dict)
    for path in traces:
        rank = re.fullmatch(r"(.*)\.rank([0-9]+)\.json\.gz", os.path.basename(path))
        if rank:
            runs[rank[1]][int(rank[2])] = path
    return runs


figures, *traces = sys.argv[1:]
for run, ranks in runs_of(traces).items():
    check_ranks(run, ranks, figures)
with tempfile.TemporaryDirectory() as made:
    for trace in [communication(made)] + traces:
        if any(event.get("cat") in WORK for event in read(trace)["traceEvents"]):
            check(trace, figures, made)
        else:
            print(f"{trace}: no device work, without which HTA ends in an error")
