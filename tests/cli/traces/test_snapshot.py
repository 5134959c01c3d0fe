#!/usr/bin/env python3
"""`diagnose` of snapshots of PyTorch's memory: made ones with one fault each, exact figures, and pickles that are evil.

usage: test_snapshot.py PROGRAM
"""
import gzip
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from checking import check, end  # noqa: E402

program = os.path.abspath(sys.argv[1])
MIB = 1 << 20


def run(*arguments):
    return subprocess.run([program, "diagnose", *map(str, arguments)], capture_output=True, text=True, timeout=120)


def frames(line, function="step", file="/home/me/train.py"):
    """A stack as PyTorch has it: the innermost call first, C++ with the others."""
    return [{"name": "at::empty", "filename": "??", "line": 0},
            {"name": "linear", "filename": "/usr/lib/python3/dist-packages/torch/nn/functional.py", "line": 2},
            {"name": function, "filename": file, "line": line},
            {"name": "<module>", "filename": file, "line": 900}]


class Made:
    """A snapshot of one device: `alloc` and `free` write the history, and blocks that are live at the end are in
    segments of their own."""

    def __init__(self, device=0):
        self.device, self.time, self.next = device, 10**15, 0x7f0000000000
        self.entries, self.segments, self.marks, self.live, self.lines = [], [], [], {}, {}

    def entry(self, action, address, size, **more):
        self.time += 10
        self.entries.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.time, **more})

    def alloc(self, size, line):
        address, self.next = self.next, self.next + 2 * size
        self.lines.setdefault(line, frames(line))
        self.entry("alloc", address, size, frames=self.lines[line])
        self.live[address] = size
        return address

    def free(self, address):
        size = self.live.pop(address)
        self.entry("free_requested", address, size)
        self.entry("free_completed", address, size)

    def mark(self, name="ProfilerStep#{}"):
        self.time += 10
        self.marks.append({"stage": "START", "name": name.format(len(self.marks)), "device": self.device,
                           "time_us": self.time})

    def segment(self, size, blocks, pool=(0, 0)):
        self.segments.append({"device": self.device, "address": self.next, "total_size": size, "stream": 0,
                              "segment_type": "large", "segment_pool_id": pool, "frames": [],
                              "blocks": [{"address": self.next, "size": one[0], "requested_size": one[1],
                                          "state": one[2], "frames": []} for one in blocks]})

    def whole(self, ring=None, expandable=False):
        for size in self.live.values():
            rounded = (size + 511) // 512 * 512
            self.segment(rounded, [(rounded, size, "active_allocated")])
        entries = self.entries[-ring:] if ring else self.entries
        traces = [[] for _ in range(self.device)] + [entries, []]
        return {"segments": self.segments, "device_traces": traces, "external_annotations": self.marks, "more": None,
                "allocator_settings": {"expandable_segments": expandable, "garbage_collection_threshold": 0.0}}


def write(path, data, protocol=4):
    path.write_bytes(pickle.dumps(data, protocol=protocol))
    return path


def device_of(path, *options):
    result = run(path, "--format=json", *options)
    check(result.returncode == 0, f"{path.name}: {result.stderr}")
    return json.loads(result.stdout)["snapshots"][0]["devices"][0]


def training(steps, leak=0, rest=0):
    made = Made()
    made.alloc(100 * MIB, 10)
    for _ in range(steps):
        made.mark()
        blocks = [made.alloc((10 + i) * MIB, 20 + i) for i in range(4)]
        if leak:
            made.alloc(leak, 77)
        for block in reversed(blocks):
            made.free(block)
    for _ in range(rest):
        made.alloc(1, 99)
    return made


def ids(device):
    return [one["id"] for one in device["findings"]]


def check_leak(folder):
    device = device_of(write(folder / "healthy.pickle", training(10).whole()))
    check(ids(device) == [], f"a healthy history: {ids(device)}")
    check(device["peak_bytes"] == 146 * MIB and device["start_bytes"] == 0 and device["end_bytes"] == 100 * MIB,
          f"a healthy history: {device}")
    check(device["steps"] == 10, f"{device['steps']} steps are within the history")
    for protocol in (2, 3, 4, 5):
        device = device_of(write(folder / "leak.pickle", training(10, leak=5 * MIB + 100).whole(), protocol))
        check(ids(device) == ["memory_growth"], f"a leak, protocol {protocol}: {ids(device)}")
        check("me/train.py:77 step" in device["findings"][0]["evidence"], f"a leak: {device['findings'][0]}")
        check(device["grown_bytes"] == 9 * (5 * MIB + 100), f"a leak of {device['grown_bytes']}")
        sites = {site["line"]: site["at_peak_bytes"] for site in device["sites"]}
        check(sites["me/train.py:10 step"] == 100 * MIB and sites["me/train.py:20 step"] == 10 * MIB
              and sites["me/train.py:77 step"] == 9 * (5 * MIB + 100) + 5 * MIB + 100, f"sites {sites}")
        check(device["rounding_bytes"] == 10 * (512 - 100), f"rounding of {device['rounding_bytes']}")
    made = training(10, leak=5 * MIB)
    made.marks = []  # in place of steps: what they need comes and goes
    check(ids(device_of(write(folder / "leak.pickle", made.whole()))) == ["memory_growth"], "a leak without steps")
    text = run(folder / "leak.pickle").stdout
    layers = Made()  # of one step: what forward keeps, and a little that comes and goes; then backward gives all back
    kept = [(layers.alloc(10 * MIB, 30), layers.free(layers.alloc(4 * MIB, 31))) for _ in range(60)]
    check(ids(device_of(write(folder / "layers.pickle", layers.whole()))) == [], "layers of one step are no steps")
    for block, _ in reversed(kept):
        layers.free(block)
    check(ids(device_of(write(folder / "layers.pickle", layers.whole()))) == [], "one step is no leak")
    for word in ("Live at the peak", "Live memory over the history", "Reserved at the end", "train.py:77 step", "Do: find"):
        check(word in text, f"the page lacks '{word}'")


def check_ring(folder):
    """The ring has lost its beginning: the model was there before."""
    made = training(40)
    lost = made.whole(ring=60)
    device = device_of(write(folder / "ring.pickle", lost))
    check(device["start_bytes"] >= 100 * MIB and device["peak_bytes"] == 146 * MIB and device["end_bytes"] == 100 * MIB,
          f"a ring: {device}")
    check(device["before_bytes"] == 100 * MIB, f"a ring: {device['before_bytes']} are from before")


def check_named_in_segments(folder):
    """What the ring has lost, and is live at the end, has its line in its segment."""
    made = training(40)
    whole = made.whole(ring=60)
    for segment in whole["segments"]:
        segment["blocks"][0].update(address=next(iter(made.live)), frames=frames(10))
    device = device_of(write(folder / "named.pickle", whole))
    site = device["sites"][0]
    check(device["before_bytes"] == 0 and site["line"] == "me/train.py:10 step", f"what is live all along: {site}")
    check(site["at_peak_bytes"] == 100 * MIB and site["allocations"] == 0 and set(site["bytes"]) == {100 * MIB},
          f"what is live all along: {site}")


def check_curve(folder):
    """Curves of sites, with what came before, are that of the whole; points are where most is live."""
    for ring in (None, 60):
        device = device_of(write(folder / "curve.pickle", training(40, leak=MIB).whole(ring=ring)))
        curve = device["curve"]
        count = min(240, device["events"])
        check(len(curve["live_bytes"]) == count and max(curve["live_bytes"]) == device["peak_bytes"], f"ring {ring}: {count}")
        check(curve["event"] == sorted(set(curve["event"])) and curve["at_us"] == sorted(curve["at_us"])
              and curve["has_times"], f"ring {ring}: the moments of the curve")
        sums = [sum(one) for one in zip(*(site["bytes"] for site in device["sites"] if site["bytes"]))]
        check(len(sums) == count, f"ring {ring}: {len(sums)} points of sites")
        before = {whole - part for whole, part in zip(curve["live_bytes"], sums)}
        check(max(before) <= device["start_bytes"] and min(before) >= 0 and (ring or before == {0}),
              f"ring {ring}: {before} bytes are of no site")
        at = curve["live_bytes"].index(device["peak_bytes"])
        check(all(site["bytes"][at] == site["at_peak_bytes"] for site in device["sites"] if site["bytes"]),
              f"ring {ring}: sites at the peak")


def check_calls(folder):
    """The flame of the peak: calls contain those that they make, side by side."""
    device = device_of(write(folder / "calls.pickle", training(40).whole()))
    calls = [(one["line"], one["depth"], one["start_bytes"], one["bytes"]) for one in device["calls"]]
    library = "nn/functional.py:2 linear"
    wanted = [("me/train.py:900 <module>", 0, 0, 146 * MIB)]
    start = 0
    for line, size in ((10, 100), (23, 13), (22, 12), (21, 11), (20, 10)):
        wanted += [(f"me/train.py:{line} step", 1, start * MIB, size * MIB), (library, 2, start * MIB, size * MIB)]
        start += size
    check(calls == wanted, f"calls: {calls}")
    made = training(10)
    for stack in made.lines.values():
        stack[:] = stack[:1]
    device = device_of(write(folder / "calls.pickle", made.whole()))
    check([(one["line"], one["bytes"]) for one in device["calls"]] == [("C++: at::empty", 146 * MIB)],
          f"calls of C++ alone: {device['calls']}")


MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
"""


def check_memory(folder):
    """At most three times the file, and what any program takes. A small process starts it, whose memory counts too."""
    path = write(folder / "large.pickle", training(25000).whole())
    code, most = map(int, subprocess.check_output([sys.executable, "-c", MEASURED, program, "diagnose", str(path)]).split())
    size = path.stat().st_size
    check(code == 0 and size > 12e6, f"a large snapshot: exit code {code}, {size} bytes")
    check(most < 3 * size + 16 * MIB, f"{most} bytes of memory for a file of {size}")


def check_compressed(folder):
    path = folder / "leak.pickle.gz"
    path.write_bytes(gzip.compress(pickle.dumps(training(2000, leak=5 * MIB).whole())))
    check(ids(device_of(path)) == ["memory_growth"], "a compressed snapshot")
    path.write_bytes(gzip.compress(b"\x80\x04\x8c\x08segments" + b"]" * (64 << 20)))
    refuses(path, "100 times its size")


def check_fragmentation(folder):
    made = training(10)
    for _ in range(100):
        made.segment(20 * MIB, [(2 * MIB, 2 * MIB, "active_allocated"), (10 * MIB, 0, "inactive"),
                                (8 * MIB, 0, "inactive")])
    made.segment(64 * MIB, [(64 * MIB, 0, "inactive")], pool=(0, 3))
    for expandable, advice in ((False, "expandable_segments:True"), (True, "roundup_power2_divisions")):
        device = device_of(write(folder / "pieces.pickle", {**made.whole(expandable=expandable)}))
        check(ids(device) == ["fragmentation"], f"fragmentation: {ids(device)}")
        check(advice in device["findings"][0]["advice"], f"advice: {device['findings'][0]['advice']}")
        made.segments = made.segments[:101]
    check(device["free_pieces_bytes"] == 1800 * MIB and device["largest_piece_bytes"] == 10 * MIB
          and device["free_whole_bytes"] == 64 * MIB and device["pool_bytes"] == 64 * MIB, f"pieces: {device}")


def check_peak(folder):
    """What is free at the end of a step was in use at its peak."""
    made = Made()
    blocks = [made.alloc(20 * MIB, 5) for _ in range(40)]
    for block in blocks[::2]:
        made.free(block)
    whole = made.whole()
    whole["segments"] = [{"device": 0, "address": 2**40 * i, "total_size": 20 * MIB, "stream": 0, "segment_type": "large",
                          "segment_pool_id": (0, 0), "frames": [], "blocks": [
                              {"address": 2**40 * i, "size": 10 * MIB, "requested_size": 10 * MIB, "state": "active_allocated",
                               "frames": []},
                              {"address": 0, "size": 10 * MIB, "requested_size": 0, "state": "inactive", "frames": []}]}
                         for i in range(1, 41)]
    device = device_of(write(folder / "peak.pickle", whole))
    check(ids(device) == [] and device["free_pieces_bytes"] == 400 * MIB, f"free at the end: {ids(device)}")


def check_lines(folder):
    """The unwinder records the stack and allocates nothing; Windows has other slashes."""
    cpp = [{"name": name, "filename": "??", "line": 0} for name in
           ("torch::unwind::unwind()", "torch::CapturedTraceback::gather(bool, bool, bool)",
            "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc()", "at::native::mm(at::Tensor const&)")]
    windows = [*cpp, {"name": "f", "filename": "C:\\py\\Lib\\site-packages\\torch\\nn.py", "line": 2},
               {"name": "main", "filename": "C:\\Users\\me\\project\\train.py", "line": 7}]
    for stack, line in ((cpp, "C++: at::native::mm(at::Tensor const&)"), (windows, "project\\train.py:7 main")):
        made = Made()
        made.lines[5] = stack
        made.alloc(20 * MIB, 5)
        device = device_of(write(folder / "lines.pickle", made.whole()))
        check(device["sites"][0]["line"] == line, f"{device['sites'][0]['line']} instead of {line}")


def check_churn(folder):
    made = Made()
    for _ in range(10):
        made.mark("Optimizer.step#SGD.step{}")
        for _ in range(3):
            made.entry("segment_alloc", made.next, 20 * MIB)
            made.free(made.alloc(20 * MIB, 5))
            made.entry("segment_free", made.next, 20 * MIB)
    device = device_of(write(folder / "churn.pickle", made.whole()))
    check(ids(device) == ["allocation_churn"], f"churn: {ids(device)}")
    check(device["segments_taken"] == 30 and device["segments_given_back"] == 30, f"churn: {device}")
    check(run(folder / "churn.pickle", "--fail-on=major").returncode == 1, "--fail-on=major of churn")
    check(run(folder / "churn.pickle", "--fail-on=critical").returncode == 0, "--fail-on=critical of churn")


def check_oom(folder):
    made = training(10)
    made.entry("oom", 0, 900 * MIB)
    made.entries[-1]["device_free"] = made.entries[-1].pop("addr") + 7 * MIB
    device = device_of(write(folder / "oom.pickle", made.whole()))
    check(ids(device) == ["activation_memory"], f"out of memory: {ids(device)}")
    check(device["out_of_memory"] == [{"event": 121, "at_us": 1310, "asked_bytes": 900 * MIB, "device_free_bytes": 7 * MIB,
                                       "live_bytes": 100 * MIB, "reserved_bytes": 100 * MIB}],
          f"out of memory: {device['out_of_memory']}")


def check_forms(folder):
    """Versions of PyTorch and of what was recorded."""
    made = training(5).whole()
    for entry in made["device_traces"][0]:
        entry.pop("time_us")
        entry.pop("frames", None)
    device = device_of(write(folder / "bare.pickle", made))
    check(device["peak_bytes"] == 146 * MIB and device["sites"][0]["line"].startswith("not recorded"), f"bare: {device}")
    old = {"segments": [{"device": 1, "total_size": 4 * MIB, "allocated_size": 3 * MIB, "blocks": [
        {"size": 3 * MIB, "state": "active_allocated", "history": [{"addr": 1, "real_size": 3 * MIB - 5}]},
        {"size": MIB, "state": "inactive"}]}], "device_traces": []}
    device = device_of(write(folder / "old.pickle", old))
    check(device["device"] == 1 and device["end_bytes"] == 3 * MIB - 5 and device["rounding_bytes"] == 5, f"old: {device}")
    check("It has no history" in run(folder / "old.pickle").stdout, "no history is not told")
    both = run(folder / "old.pickle", folder / "bare.pickle")
    check(both.returncode == 0 and both.stdout.count("a snapshot of PyTorch's memory") == 2, f"two: {both.stderr}")


def slow_trace(path, memory=80 << 30):
    """Steps of 300 us: the host loads for 200, then launches a kernel of 60."""
    events = []
    for step in range(20):
        at, host = 300 * step, {"pid": 9, "tid": 9, "ph": "X"}
        events += [
            {**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": at, "dur": 300},
            {**host, "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
             "ts": at + 1, "dur": 200},
            {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 285, "dur": 10,
             "args": {"correlation": step + 1}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 296, "dur": 60,
             "args": {"correlation": step + 1}}]
    path.write_text(json.dumps({"traceEvents": events, "deviceProperties": [
        {"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0, "numSms": 108, "totalGlobalMem": memory}]}))
    return path


def check_beside_a_trace(folder):
    """One page for a trace and a snapshot, with the findings of both in one order."""
    made = training(10)
    for _ in range(100):
        made.segment(20 * MIB, [(2 * MIB, 2 * MIB, "active_allocated"), (18 * MIB, 0, "inactive")])
    pieces, leak = write(folder / "pieces.pickle", made.whole()), write(folder / "leak.pickle", training(10, leak=5 * MIB).whole())
    trace, small = slow_trace(folder / "slow.json"), slow_trace(folder / "small.json", memory=4 << 30)
    for files, first, wanted in (((trace, pieces), "data_loading", {"fragmentation": "minor"}),
                                 ((pieces, small), "data_loading", {"fragmentation": "major"}),
                                 ((trace, leak), "memory_growth", {"memory_growth": "major"})):
        result = run(*files, "--format=json")
        said = json.loads(result.stdout)
        of_trace, snapshot = said["traces"][0], said["snapshots"][0]
        found = {one["id"]: one for one in of_trace["findings"]}
        check(of_trace["findings"][0]["id"] == first and "data_loading" in found, f"{files}: {list(found)}")
        for name, severity in wanted.items():
            check(found[name]["severity"] == severity, f"{files}: {name} is {found[name]['severity']}")
            check(found[name]["evidence"] == snapshot["devices"][0]["findings"][0]["evidence"], f"{files}: {found[name]}")
        check(snapshot["is_joined"] and of_trace["bottleneck"] == {"memory_growth": "allocation"}.get(first, "loading"),
              f"{files}: {of_trace['bottleneck']}")
        text = run(*files).stdout
        check(text.count("\nFindings") == 1 and "Live at the peak" in text and "In short:" in text.split("Reserved at the end")[1],
              f"{files}: the page")
    check(run(trace, pieces, "--fail-on=critical").returncode == 1, "the trace's critical finding")  # data_loading
    several = json.loads(run(trace, pieces, leak, "--format=json").stdout)
    check([one["is_joined"] for one in several["snapshots"]] == [False, False], "two snapshots are joined to one trace")
    text = run(trace, pieces, leak, "--fail-on=major")
    check(text.returncode == 1 and "Not passed: fragmentation (major) of device 0" in text.stdout, "what does not pass is not named")
    alone = json.loads(run(pieces, "--format=json").stdout)
    check(alone["traces"] == [] and alone["run"] is None and not alone["snapshots"][0]["is_joined"], "a snapshot alone")
    (folder / "evil.pickle").write_bytes(pieces.read_bytes()[:-9])
    result = run(trace, folder / "evil.pickle")
    check(result.returncode == 2 and "slow.json" in result.stdout and "1 of 2 files" in result.stderr, f"half: {result.stderr}")


def check_folder(folder):
    """Of a folder's pickles those count that are snapshots."""
    slow_trace(folder / "slow.json")
    write(folder / "leak.pickle", training(10, leak=5 * MIB).whole())
    write(folder / "weights.pickle", {"weights": [1, 2]})
    said = json.loads(run(folder, "--format=json").stdout)
    check([one["file"] for one in said["snapshots"]] == [str(folder / "leak.pickle")] and said["snapshots"][0]["is_joined"],
          f"a folder: {said['snapshots']}")
    (folder / "slow.json").unlink()
    check(run(folder).stdout.count("a snapshot of PyTorch's memory") == 1, "a folder of snapshots alone")
    (folder / "leak.pickle").unlink()
    check("has no traces" in run(folder).stderr, "a folder without either")


def check_agreement(folder):
    """A finding that both have is one, and costs what the trace says."""
    events = json.loads(slow_trace(folder / "churn.json").read_text())
    for step in range(20):
        for name, at in (("cudaMalloc", 210), ("cudaMalloc", 230), ("cudaFree", 250)):
            events["traceEvents"].append({"ph": "X", "pid": 9, "tid": 9, "cat": "cuda_runtime", "name": name,
                                          "ts": 300 * step + at, "dur": 18})
    (folder / "churn.json").write_text(json.dumps(events))
    made = Made()
    for _ in range(10):
        made.mark()
        for _ in range(3):
            made.entry("segment_alloc", made.next, 20 * MIB)
            made.free(made.alloc(20 * MIB, 5))
            made.entry("segment_free", made.next, 20 * MIB)
    said = json.loads(run(folder / "churn.json", write(folder / "churn.pickle", made.whole()), "--format=json").stdout)
    alone = json.loads(run(folder / "churn.json", "--format=json").stdout)["traces"][0]["findings"]
    found, wanted = ([one for one in findings if one["id"] == "allocation_churn"]
                     for findings in (said["traces"][0]["findings"], alone))
    check(len(found) == 1 and len(wanted) == 1 and found[0]["lost_ns_per_step"] == wanted[0]["lost_ns_per_step"]
          and found[0]["severity"] == wanted[0]["severity"], f"churn of both: {found} {wanted}")
    check(found[0]["evidence"] == wanted[0]["evidence"] + "; " + said["snapshots"][0]["devices"][0]["findings"][0]["evidence"],
          f"churn of both: {found[0]['evidence']}")


def refuses(path, *words):
    result = run(path)
    check(result.returncode == 2 and not result.stdout, f"{path.name}: exit code {result.returncode}")
    for word in words:
        check(word in result.stderr, f"{path.name}: no '{word}' in {result.stderr}")


def check_pipe(folder):
    path = write(folder / "piped.pickle", training(5).whole())
    result = subprocess.run(f"cat {path} | {program} diagnose -", shell=True, capture_output=True, text=True)
    check(result.returncode == 2 and "diagnose FILE shows it" in result.stderr, f"a pipe: {result.stderr}")


class Evil:
    def __init__(self, what):
        self.what = what

    def __reduce__(self):
        return self.what


def check_evil(folder):
    path = folder / "evil.pickle"
    owned = folder / "OWNED"
    for protocol, operation in ((2, "GLOBAL"), (4, "STACK_GLOBAL")):
        write(path, {"segments": [Evil((os.system, (f"touch {owned}",)))], "device_traces": []}, protocol)
        refuses(path, operation, "runs code", "byte ")
    check(not owned.exists(), "a pickle was run")
    whole = pickle.dumps(training(5).whole(), protocol=4)
    for size in range(40, len(whole), 97):
        path.write_bytes(whole[:size])
        check(run(path).returncode == 2, f"a pickle that is cut at {size} is read")
    head = b"\x80\x04\x8c\x08segments"
    for name, bytes_, word in (
            ("a memo of 4 GB", head + b"r\xff\xff\xff\xff.", "memo cannot be"),
            ("no such memo", head + b"j\xff\xff\xff\xff.", "no such number"),
            ("a long text", head + b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.", "longer than the file"),
            ("items of nothing", head + b"(u.", "takes these values"),
            ("no mark", head + b"u.", "no mark"),
            ("nothing", head + b"0.", "other than one value"),
            ("below the stack", head + b"00.", "nothing to take away"),
            ("an unknown operation", head + b"\xff.", "operation 0xff"),
            ("no snapshot", head + b".", "no snapshot"),
            ("no end", head, "no end")):
        path.write_bytes(bytes_)
        refuses(path, word)
    # A list of itself, and one list in many places.
    path.write_bytes(b"\x80\x04}\x94(\x8c\x08segmentsh\x00u.")
    check(run(path).returncode == 0, "a dictionary of itself")
    block = b"}(\x8c\x04size\x4b\x05\x8c\x05stateNu"
    blocks = b"](" + block + b"\x94" + b"h\x01" * 3000 + b"e\x94"
    segment = b"}(\x8c\x06blocks" + blocks + b"u\x94"
    path.write_bytes(b"\x80\x04}\x94(\x8c\x08segments](" + segment + b"h\x03" * 100000 + b"eu.")
    begin = time.monotonic()
    refuses(path, "more blocks")
    check(time.monotonic() - begin < 20, "lists of lists take long")
    made = training(1000).whole()
    write(path, {**made, "device_traces": 60 * made["device_traces"][:1]})
    refuses(path, "more events than the file has room for")


with tempfile.TemporaryDirectory() as name:
    for part in (check_leak, check_ring, check_named_in_segments, check_curve, check_calls, check_memory, check_compressed, check_fragmentation, check_peak, check_lines, check_churn, check_oom, check_forms,
                 check_beside_a_trace, check_folder, check_agreement, check_pipe, check_evil):
        below = pathlib.Path(name) / part.__name__
        below.mkdir()
        part(below)
end()
