"""The input of other tools' rules: a trace's rows of device work and of the host, with the union of their times."""
import gzip
import json

WORK = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
CALLS = ("cuda_runtime", "cuda_driver")
# PyTorch's DataLoader and DataPipe mark the wait for a batch so; chokepoint's loop marks it "data".
LOADING = ("enumerate(DataLoader)", "enumerate(DataPipe)")


def read(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def spans(trace):
    """[begin, end] in us by kind: kernel, memcpy, memset, runtime, loading, step."""
    found = {kind: [] for kind in ("kernel", "memcpy", "memset", "runtime", "loading", "step")}
    for event in trace["traceEvents"]:
        if event.get("ph") != "X":
            continue
        category, name = event.get("cat"), event.get("name", "")
        span = (event["ts"], event["ts"] + event.get("dur", 0))
        if category in WORK:
            found[WORK[category]].append(span)
        elif category in CALLS:
            found["runtime"].append(span)
        elif category == "user_annotation" and name.startswith("ProfilerStep#"):
            found["step"].append(span)
        elif category == "user_annotation" and (name == "data" or name.startswith(LOADING)):
            found["loading"].append(span)
    return found


def union(intervals):
    """The same times, as intervals that neither overlap nor touch, in order."""
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def length(intervals):
    return sum(end - begin for begin, end in union(intervals))


def outside(intervals, others):
    """How long the union of `intervals` is where none of `others` is."""
    return length([*intervals, *others]) - length(others)


def within(intervals, begin, end):
    return [(max(one, begin), min(two, end)) for one, two in intervals if two > begin and one < end]
