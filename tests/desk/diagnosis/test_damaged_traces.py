#!/usr/bin/env python3
"""Whether damage changes what is said of a trace without a doubt being stated.

usage: tests/desk/diagnosis/test_damaged_traces.py PROGRAM [COUNT [SEED]] [--traces=FOLDER] [--keep=FOLDER]

Takes healthy and ill traces (modelled loops; with --traces, the .json.gz files of a folder too) and damages each as recorders,
converters and merging scripts do: kernels that run over the next, times or durations of zero, a clock that is early, late
or runs away, events that are there twice, two cycles with a hole between, annotations across a mark, work before the first
mark, two processes in one file, events from another hour, a file that is cut. COUNT of them (200 if not given), a third of
them damaged in two ways. The first finding must be that of the whole trace, or a doubt must be stated: low confidence, or
insufficient_data first.

Fails if more than 1% say something else, if an invariant is broken on any page (invariants.py), or if the program does
not end with 0.

Exit codes: 0 passed, 1 failed, 2 bad usage.
"""
import collections
import copy
import glob
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

import invariants
import test_modelled_loops as loops

WRONG = 0.01
BATCH = 40
TEXT_MOST = 4 << 20  # of a real trace, so that thousands of them take minutes
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


# --- Damage: each changes the events of a trace in place, by a size from 0 to 1 ---

def events_of(trace, *categories):
    return [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("cat") in categories]


def some(rng, events, size):
    """Few or many of them, by the size, and at least one."""
    return rng.sample(events, max(1, int(size * len(events)))) if events else []


def overrun(trace, rng, size):
    for event in some(rng, events_of(trace, "kernel"), 0.3 * size):
        event["dur"] += rng.uniform(10, 100000) * size


def zero_times(trace, rng, size):
    for event in some(rng, events_of(trace, "kernel", "cuda_runtime", "cpu_op"), 0.6 * size):
        event["ts"] = event["dur"] = 0


def zero_durations(trace, rng, size):
    for event in some(rng, events_of(trace, "kernel"), 0.6 * size):
        event["dur"] = 0


def move_clock(trace, rng, size):
    shift = rng.choice((-1, 1)) * rng.uniform(20, 20000) * size
    for event in events_of(trace, *DEVICE, "gpu_user_annotation"):
        event["ts"] += shift


def drift(trace, rng, size):
    first = min((event["ts"] for event in events_of(trace, *DEVICE)), default=0)
    for event in events_of(trace, *DEVICE):
        event["ts"] += (event["ts"] - first) * 0.01 * size


def twice(trace, rng, size):
    trace["traceEvents"] += copy.deepcopy(trace["traceEvents"] if size > 0.5 else
                                          some(rng, trace["traceEvents"], 0.5 * size))


def marks_of(trace):
    return sorted((event for event in events_of(trace, "user_annotation") if event["name"].startswith("ProfilerStep#")),
                  key=lambda event: event["ts"])


def launch_times(trace):
    """When the work of devices was launched, by the id of its event. Work without a call goes with that before it."""
    called = {event["args"]["correlation"]: event["ts"] for event in events_of(trace, "cuda_runtime", "cuda_driver")
              if "correlation" in event.get("args", {})}
    times, last = {}, {}
    for event in sorted(events_of(trace, *DEVICE), key=lambda event: event["ts"]):
        stream = (event["pid"], event["tid"])
        last[stream] = called.get(event.get("args", {}).get("correlation"), last.get(stream, event["ts"]))
        times[id(event)] = last[stream]
    return times


def hole(trace, rng, size):
    marks = marks_of(trace)
    if len(marks) < 6:
        return
    middle = marks[len(marks) // 2]["ts"]
    for mark in marks[len(marks) // 2:]:
        mark["name"] = f"ProfilerStep#{int(mark['name'].split('#')[1]) + 8}"
    # The last work of the first cycle may end after the mark: it stays with its launch.
    launched = launch_times(trace)
    for event in trace["traceEvents"]:
        if "ts" in event and launched.get(id(event), event["ts"]) >= middle:
            event["ts"] += 1e6 * size


def across(trace, rng, size):
    """The step is marked within a hook of the optimizer, whose annotation so goes on."""
    marks = marks_of(trace)
    for event in events_of(trace, "user_annotation"):
        if event["name"].startswith("Optimizer.step#") and marks:
            event["dur"] += 2 * size * marks[0]["dur"]


def begin_early(trace, rng, size):
    """The first step or two, once more before the first mark, and not marked."""
    marks = marks_of(trace)
    if len(marks) < 4:
        return
    first, end = marks[0]["ts"], marks[round(1 + size)]["ts"]
    launched = launch_times(trace)
    last = max((event["ts"] + event["dur"] for event in events_of(trace, *DEVICE) if event["ts"] < end + 60e6), default=end)
    most = max((event["args"].get("correlation", 0) for event in trace["traceEvents"] if "args" in event), default=0)
    for event in [event for event in trace["traceEvents"] if first <= launched.get(id(event), event.get("ts", -1)) < end]:
        if event["name"].startswith("ProfilerStep#"):
            continue
        event = copy.deepcopy(event)
        event["ts"] -= last - first
        if "correlation" in event.get("args", {}):
            event["args"]["correlation"] += most
        trace["traceEvents"].append(event)


def merge(trace, rng, size):
    """A second process, with its own device or on the same; numbers of calls are the same in both."""
    marks = marks_of(trace)
    if not marks:
        return
    device, shift = (1 if size > 0.5 else 0), rng.uniform(0, 100)
    for event in copy.deepcopy(trace["traceEvents"]):
        args = event.setdefault("args", {})
        if event.get("cat") in DEVICE:
            args["device"], event["pid"] = args.get("device", 0) + device, f"[rank 1] {args.get('device', 0)}"
        elif "pid" in event:
            event["pid"] = f"[rank 1] {event['pid']}"
        if "ts" in event:
            event["ts"] += shift
        trace["traceEvents"].append(event)


def elsewhere(trace, rng, size):
    for event in some(rng, events_of(trace, "kernel", "cpu_op"), 0.02 * size):
        event["ts"] += rng.choice((-1, 1)) * rng.uniform(0.1, 30) * 3600e6


KINDS = (overrun, zero_times, zero_durations, move_clock, drift, twice, hole, across, begin_early, merge, elsewhere)


def cut(text, rng, size):
    return text[:int(len(text) * (1 - 0.5 * size * rng.random()))]


# --- Sources ---

def read(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read()


def sources(seed, folder):
    """Traces as text, by name."""
    found = {f"{'-'.join(loop.causes) or 'healthy'} {number}": loop.text[0]
             for number, loop in enumerate(loops.draw_singles(seed, 1) + loops.draw_wells(seed, 12)) if len(loop.text) == 1}
    for path in sorted(glob.glob(os.path.join(folder, "*.json.gz"))) if folder else []:
        text = read(path)
        if len(text) <= TEXT_MOST:
            found[os.path.basename(path)] = text
    return found


def kinds_for(name):
    """A first step that is repeated before the first mark has no cost of first use left in the marked ones."""
    return [kind for kind in KINDS if kind is not begin_early or not name.startswith("first_use")]


def damaged(name, text, rng):
    kinds = rng.sample(kinds_for(name), 1 if rng.random() < 2 / 3 else 2)
    trace = json.loads(text)
    if isinstance(trace, list):
        trace = {"traceEvents": trace}
    names = []
    for kind in kinds:
        size = rng.choice((0.05, 0.3, 1)) * rng.uniform(0.5, 1)
        kind(trace, rng, size)
        names.append(f"{kind.__name__} {size:.2f}")
    text = json.dumps(trace)
    if rng.random() < 0.05:
        text, names = cut(text, rng, 1), names + ["cut"]
    return text, tuple(names)


# --- Judging ---

def diagnose(program, paths):
    done = subprocess.run([program, "diagnose", "--format=json", *paths], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"exit code {done.returncode} for {' '.join(paths)}: {done.stderr[-2000:]}")
        sys.exit(1)
    found = collections.defaultdict(list)
    for trace in json.loads(done.stdout)["traces"]:
        found[trace["file"].split(", process ")[0]].append(trace)
    return found


def first_of(trace):
    return trace["findings"][0]["id"] if trace["findings"] else "nothing"


def is_doubted(trace):
    return bool(trace["findings"]) and (trace["findings"][0]["id"] == "insufficient_data" or
                                        trace["findings"][0]["confidence"] == "low")


def main():
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    arguments = [argument for argument in sys.argv[1:] if argument not in options]
    if not arguments or "--help" in options:
        print(__doc__)
        sys.exit(0 if "--help" in options else 2)
    program, count, seed = arguments[0], int((arguments + [0, "200"])[1] or 200) if len(arguments) > 1 else 200, \
        int(arguments[2]) if len(arguments) > 2 else 1
    chosen = {key: value for key, _, value in (option[2:].partition("=") for option in options)}
    rng = random.Random(f"damage {seed}")
    texts = sources(seed, chosen.get("traces"))
    wrong, broken, by_kind = [], [], collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.get("keep", temporary)
        os.makedirs(folder, exist_ok=True)
        whole = {}
        for name, text in texts.items():
            path = os.path.join(folder, name.replace(" ", "_") + ".whole.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            whole[name] = diagnose(program, [path])[path][0]
            broken += [f"{path}: {what}" for what in invariants.broken(whole[name])]
        for start in range(0, count, BATCH):
            batch = {}
            for number in range(start, min(start + BATCH, count)):
                name = rng.choice(list(texts))
                text, kinds = damaged(name, texts[name], rng)
                path = os.path.join(folder, f"{number}.json")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                batch[path] = (name, kinds)
            said = diagnose(program, list(batch))
            for path, (name, kinds) in batch.items():
                for trace in said[path]:
                    broken += [f"{path}: {what}" for what in invariants.broken(trace)]
                good = all(first_of(trace) == first_of(whole[name]) or is_doubted(trace) for trace in said[path])
                if not good:
                    wrong.append(f"{path}: {name}, {', '.join(kinds)}: {first_of(whole[name])} became "
                                 f"{' and '.join(map(first_of, said[path]))}")
                for kind in kinds:
                    by_kind[kind.split()[0]]["right" if good else "wrong"] += 1
                    by_kind[kind.split()[0]]["doubted"] += all(map(is_doubted, said[path]))
                if folder == temporary:
                    os.unlink(path)
    print(f"{count - len(wrong)} of {count} right or doubted, {len(broken)} invariants broken, of {len(texts)} traces")
    for kind, counts in sorted(by_kind.items()):
        print(f"  {kind:16} right {counts['right']}, wrong {counts['wrong']}, doubted {counts['doubted']}")
    failed = len(wrong) > WRONG * count or broken
    if failed or "keep" in chosen:
        print("\n".join(wrong + broken))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
