#!/usr/bin/env python3
"""`compare --explain` says why a step takes longer, from traces made here whose every microsecond is known; and a slower
row of `compare` says it too.

usage: test_compare_explain.py PROGRAM
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from checking import check, end  # noqa: E402

program = os.path.abspath(sys.argv[1])


def call(*arguments, code=0):
    done = subprocess.run([program, "compare", *map(str, arguments)], capture_output=True, text=True, check=False)
    check(done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}: {done.stderr}")
    return done.stdout if code == 0 else done.stdout + done.stderr


# --- Traces ---

OPERATORS = {"aten::linear": ("sgemm", 300), "aten::gelu": ("gelu_kernel", 120), "aten::add": ("add_kernel", 60),
             "aten::layer_norm": ("norm_kernel", 80), "aten::softmax": ("softmax_kernel", 90)}


def trace(path, seed, steps=20, loading=150, pause=0, longer=None, members=None, **kernels):
    """A loop that loads, then launches its operators; the device waits for the loading."""
    chance = random.Random(seed)
    events, at, correlation = [], 0.0, 0

    def add(category, name, start, length, thread, **arguments):
        device = category in ("kernel", "gpu_memcpy")
        events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if device else 100, "tid": thread,
                       "ts": round(start, 3), "dur": round(length, 3), "args": arguments})

    for step in range(steps):
        start = at
        wait = loading * chance.gauss(1, 0.02) + (pause if step % 10 == 5 else 0)
        add("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, wait, 100)
        at += wait
        for operator, (kernel, length) in OPERATORS.items():
            correlation += 1
            length = (length + (longer or {}).get(operator, 0)) * chance.gauss(1, 0.02)
            add("cpu_op", operator, at, 6, 100)
            add("cuda_runtime", "cudaLaunchKernel", at + 1, 4, 100, correlation=correlation)
            add("kernel", kernels.get(kernel, kernel), at + 6, length, 7, correlation=correlation, stream=7, device=0)
            at += length
        add("user_annotation", f"ProfilerStep#{step + 1}", start, at - start, 100)
    document = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA Made", "numSms": 100}],
                "cuda_driver_version": 12040, **(members or {}), "traceEvents": events}
    path.write_text(json.dumps(document))
    return path


def explained(*arguments, code=0):
    said = call("--explain", "--format=json", *arguments, code=code)
    document = json.loads(said)
    check(document["schema"] == 1, "the schema")
    for one in document["explanations"]:
        check(sum(part["change_ns"] for part in one["parts"]) == one["change_ns"], "parts sum to the change")
        for side in range(2):
            check(sum(part["ns"][side] for part in one["parts"]) == one["step_ns"][side], "parts sum to the step")
        check(one["step_ns"][1] - one["step_ns"][0] == one["change_ns"], "the change of the step")
    return document["explanations"]


def standing_out(explanation):
    return [part["name"] for part in explanation["parts"] if part["stands_out"]]


def check_traces(folder):
    base = trace(folder / "base.json", 1)
    [same] = explained(base, trace(folder / "same.json", 2))
    check(standing_out(same) == [] and same["because"] == "", f"equal runs: {same['because']}")
    [slow] = explained(base, trace(folder / "gelu.json", 3, longer={"aten::gelu": 100}), code=1)
    check(standing_out(slow) == ["gelu"], f"a slower operator: {standing_out(slow)}")
    check(slow["because"].startswith("gelu +"), slow["because"])
    [slow] = explained(base, trace(folder / "pace.json", 8, longer={name: 0.3 * length for name, (_, length) in OPERATORS.items()}),
                       code=3)
    check(slow["differs"] and slow["because"] == "", f"all kernels alike are slower: {slow['because']}")
    [slow] = explained(base, trace(folder / "loading.json", 4, loading=400), code=1)
    check(standing_out(slow) == ["loading"] and slow["parts"][0]["kind"] == "idle", "slower loading")
    [fast] = explained(folder / "loading.json", base)
    check(fast["because"].startswith("idle: loading -"), fast["because"])
    [other] = explained(base, trace(folder / "renamed.json", 5, longer={"aten::linear": 200}, sgemm="sgemm_v2",
                                    members={"cuda_driver_version": 13000}), code=1)
    check(standing_out(other) == ["linear"], "a kernel of another name stays in its operator")
    check(other["parts"][0]["kernels"] == ["sgemm", "sgemm_v2"], f"{other['parts'][0]['kernels']}")
    check(other["differences"] == [{"name": "cuda_driver_version", "base": "12040", "new": "13000"}],
          f"{other['differences']}")

    page = call("--explain", base, folder / "renamed.json", code=1)
    for text in ["Why", "1. linear: ", "mostly sgemm_v2,", "the step", "cuda_driver_version: 12040 and 13000"]:
        check(text in " ".join(page.split()), f"the page has no {text}: {page}")
    check("# " in call("--explain", base, folder / "renamed.json", "--format=markdown", code=1), "Markdown")
    page = call("--explain", base, folder / "same.json")
    check("changed by less than 5%, so nothing is named" in page, page)
    page = call("--explain", base, trace(folder / "short.json", 6, steps=2), code=3)
    check("Fewer than 3 steps show no noise" in page, page)


def untraced(folder, number, step_us, spread, loading):
    members = {"chokepoint": {"step_time_us": step_us, "tracing_spread": spread, "windows": 9}}
    return trace(folder / f"untraced{number}.json", 40 + number, loading=loading, members=members)


def check_untraced(folder):
    """Windows without a tracer must have become longer as well, and by more than they differ among themselves."""
    base = untraced(folder, 0, 800, 0.05, 150)
    for number, step_us, spread, differs in ((1, 1000, 0.05, True), (2, 820, 0.05, False), (3, 700, 0.05, False),
                                             (4, 1000, 0.9, False)):
        new = untraced(folder, number, step_us, spread, 400)
        [slow] = explained(base, new, code=int(differs))
        check(slow["differs"] == differs, f"untraced, {step_us} us with a spread of {spread}: {slow['differs']}")
        check(standing_out(slow) == (["loading"] if differs else []), f"{step_us} us: {standing_out(slow)}")
        check(slow["untraced_ns"] == [800000, 1000 * step_us], f"{slow['untraced_ns']}")
        page = " ".join(call("--explain", base, new, code=int(differs)).split())
        check(("nothing is named" in page) != differs, page)


def check_finding(folder):
    """A few long pauses hide in the noise of the steps; the finding that is new has seen them."""
    [slow] = explained(folder / "base.json", trace(folder / "pauses.json", 7, pause=4000), code=1)
    check(standing_out(slow) == [] and slow["differs"], f"{slow['parts'][0]}")
    check(slow["findings_new"] != [] and slow["because"].partition(" ")[0] in slow["findings_new"],
          f"{slow['because']} of {slow['findings_new']}")
    page = call("--explain", folder / "base.json", folder / "pauses.json", code=1)
    check("a finding that is new" in page, page)
    [fast] = explained(folder / "pauses.json", folder / "base.json")
    check(fast["because"].startswith(slow["because"].partition(" ")[0] + " -"), fast["because"])


# --- Results ---

def result(folder, name, time, seed, **made):
    """A folder as `run` leaves it, with one row and its trace."""
    home = folder / name
    (home / "traces").mkdir(parents=True)
    trace(home / "traces" / "item_sync.before.json", seed, **made)
    subprocess.run(["gzip", home / "traces" / "item_sync.before.json"], check=True)
    rows = [{"name": "item_sync/before", "run_type": "iteration", "real_time": time * (1 + 0.001 * i), "cpu_time": 1,
             "time_unit": "us"} for i in range(5)]
    traces = {"before": "traces/item_sync.before.json.gz", "after": None}
    (home / "result.json").write_text(json.dumps({"context": {}, "benchmarks": rows, "scenarios": [
        {"name": "item_sync", "traces": traces}], "chokepoint": {"scenarios": [{"name": "item_sync", "traces": traces}]}}))
    return home


def check_results(folder):
    base = [result(folder, f"base{i}", 1000 + i, 10 + i) for i in range(3)]
    new = [result(folder, f"new{i}", 1300 + i, 20 + i, longer={"aten::gelu": 300}) for i in range(3)]
    said = call(*base, "--new", *new, code=1)
    check("slower because of gelu +" in " ".join(said.split()), f"a slower row has its cause: {said}")
    document = json.loads(call(*base, "--new", *new, "--format=json", code=1).partition("chokepoint:")[0])
    check(document["rows"][0]["because"].startswith("gelu +"), "the cause in JSON")
    said = call(*new, "--new", *base)
    check("because" not in said, "a faster row has no cause")
    [pair] = explained(base[0], new[0], code=1)
    check(standing_out(pair) == ["gelu"], "two results")
    [pair] = explained(base[0] / "result.json", new[0], "--filter=item_sync", code=1)
    check("no trace of base is wanted" in call("--explain", base[0], new[0], "--filter=nothing", code=2), "a filter")
    for trace_file in (new[0] / "traces").iterdir():
        trace_file.write_bytes(b"no trace")
    check("slower" in call(*base, "--new", *new, code=1), "a broken trace explains nothing, and fails nothing")


def merged(path, *traces):
    """The traces of several processes in one file: each has its own process and its own device."""
    documents = [json.loads(one.read_text()) for one in traces]
    for number, document in enumerate(documents):
        for event in document["traceEvents"]:
            event["pid"] += number
            if "correlation" in event["args"]:
                event["args"]["correlation"] += 10000 * number
            if "device" in event["args"]:
                event["args"]["device"] = number
    document = {**documents[0], "traceEvents": [event for one in documents for event in one["traceEvents"]]}
    path.write_text(json.dumps(document))
    return path


def check_processes(folder):
    one, other = trace(folder / "one.json", 1), trace(folder / "other.json", 2)
    slow = trace(folder / "slow.json", 3, longer={"aten::gelu": 300})
    base, new = merged(folder / "base_all.json", one, other), merged(folder / "new_all.json", one, slow)
    pairs = explained(base, new, code=1)
    check([pair["new"].rpartition("_all.json, ")[2] for pair in pairs] == ["process 100", "process 101"],
          f"a pair per process: {[pair['new'] for pair in pairs]}")
    check([standing_out(pair) for pair in pairs] == [[], ["gelu"]], "the process that is slower, and no other")
    said = call("--explain", base, new, code=1)
    check(said.count("against") == 2, f"a page per process: {said}")
    check("2 processes mark steps" in call("--explain", base, one, code=2), "files of other numbers of processes")


def check_errors(folder):
    base = folder / "base.json"
    check("no such" in call("--explain", base, folder / "absent.json", code=2).lower(), "an absent file")
    check("one trace" in call("--explain", base, base, "--new", base, code=2), "three files")
    (folder / "broken.json").write_text("{")
    call("--explain", base, folder / "broken.json", code=2)
    empty = folder / "empty.json"
    empty.write_text('{"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"cudaGetDevice","pid":1,"tid":1,"ts":1,"dur":1}]}')
    check("no work of a device" in call("--explain", base, empty, code=2), "a trace without work")
    (folder / "apart").mkdir()
    trace(folder / "apart" / "one.json", 1)
    trace(folder / "apart" / "two.json", 1)
    check("no trace of base" in call("--explain", folder / "apart", base, code=2), "traces of other names")


with tempfile.TemporaryDirectory() as name:
    check_traces(pathlib.Path(name))
    check_untraced(pathlib.Path(name))
    check_finding(pathlib.Path(name))
    check_processes(pathlib.Path(name))
    check_errors(pathlib.Path(name))
    check_results(pathlib.Path(name))
end()
