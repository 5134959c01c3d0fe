"""Checks that device work in traces has its cause: exactly one call of the host, which starts earlier.

usage: check_causes.py TRACE.JSON[.GZ]...
"""
import collections
import gzip
import json
import sys

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")


def check(path):
    with (gzip.open if path.endswith(".gz") else open)(path) as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    calls = collections.defaultdict(list)
    for event in events:
        if event["cat"] in CALLS:
            calls[event["args"]["correlation"]].append(event)
    work = [event for event in events if event["cat"] in WORK]
    for event in work:
        causes = calls[event["args"]["correlation"]]
        assert len(causes) == 1, (event, causes)
        assert causes[0]["ts"] <= event["ts"] + 5, (event, causes)
        assert "External id" in event["args"], event
        of_graph = causes[0]["name"] == "cudaGraphLaunch"
        assert of_graph == ("graph id" in event["args"]), (event, causes)
    waits = [event for event in events if event["cat"] == "cuda_sync"]
    assert work and waits
    for wait in waits:
        assert len(calls[wait["args"]["correlation"]]) == 1, wait
    names = {event["name"] for event in work}
    assert "void gemm<float>(float*)" in names, "no product, or its name is mangled"
    print(f"{path}: {len(work)} pieces of device work, {len(waits)} waits, each with its call")


for path in sys.argv[1:]:
    check(path)
