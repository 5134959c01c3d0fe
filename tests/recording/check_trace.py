"""Checks traces as a strict reader does: JSON without NaN or doubled members, times exact to the ns.

usage: check_trace.py TRACE.JSON[.GZ]...
"""
import decimal
import gzip
import json
import sys


def refuse(word):
    raise ValueError(f"{word} is no JSON")


def unique(pairs):
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), f"a member is there twice: {names}"
    return dict(pairs)


def check_graphs(events):
    """A kernel of a graph of the CPU device is in one phase and in one operator that were captured, or in the
    optimizer; only what begins an update is in neither."""
    phases = {"forward", "backward", "optimizer"}
    spans = {}
    for event in events:
        if event.get("cat") == "gpu_user_annotation" and "graph node id" in event["args"]:
            spans.setdefault(event["args"]["graph launch"], []).append(event)
    for kernel in events:
        if kernel.get("cat") != "kernel" or "graph id" not in kernel["args"]:
            continue
        around = [span["name"] for span in spans[kernel["args"]["correlation"]]
                  if span["ts"] <= kernel["ts"]
                  and kernel["ts"] + kernel["dur"] <= span["ts"] + span["dur"]]
        if kernel["name"].startswith("step_advance"):
            continue
        assert len(phases.intersection(around)) == 1, (kernel, around)
        assert len(around) == 2 or around == ["optimizer"], (kernel, around)


def check(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rb") as file:
        text = file.read().decode("utf-8", errors="strict")
    trace = json.loads(text, parse_constant=refuse, object_pairs_hook=unique,
                       parse_float=decimal.Decimal)
    events = trace["traceEvents"]
    assert trace["schemaVersion"] == 1 and trace["displayTimeUnit"] == "ms"
    assert "droppedRecords" not in trace, "records were dropped"
    for event in events:
        for name in ("ts", "dur"):
            if name in event:
                assert event[name].as_tuple().exponent == -3, event
    kernels = sum(event.get("cat") == "kernel" for event in events)
    steps = sum(event["name"].startswith("ProfilerStep#") and event["cat"] == "user_annotation"
                for event in events if event["ph"] == "X")
    assert kernels > 0 and steps >= 10, (kernels, steps)
    if trace["deviceProperties"][0]["kind"] == "cpu":
        check_graphs(events)
    print(f"{path}: {len(events)} events, {kernels} kernels, {steps} steps")


for path in sys.argv[1:]:
    check(path)
