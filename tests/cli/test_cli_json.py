#!/usr/bin/python3
"""docs/ documents every member of the program's JSON, with the types that it has, and none that there is not; and the JSON
Schemas that are made of these tables hold for what the program writes. scripts/json_tables.py says how the tables are read.

The documents are of short runs, of traces, results and histories made here, of the seeds of the fuzzer, and of the real
traces, if they are there. Members that need a GPU or a rare case must say so, and are looked for in the results in
results/ and in the C sources.

usage: test_cli_json.py PROGRAM SOURCE MAKE_JOB
"""
import collections
import glob
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
sys.path[:0] = [str(source / folder) for folder in ("scripts", "tests/cli/trial", "tests/fixtures")]
import checking  # pylint: disable=wrong-import-position
import json_tables  # pylint: disable=wrong-import-position
import test_try  # pylint: disable=wrong-import-position

failures = []
try:
    import jsonschema
except ImportError:
    jsonschema = None
    failures.append("there is no jsonschema to check the schemas with: scripts/setup.sh --tests installs it")
tables = json_tables.Tables(source / "docs")
schemas = {json_tables.DOCUMENTS[name]: json_tables.schema(tables, name) for name in json_tables.DOCUMENTS}

# Types of the values at each path, by document: those that were written here, and those in results/.
seen = collections.defaultdict(lambda: collections.defaultdict(set))
stored = collections.defaultdict(lambda: collections.defaultdict(set))


def walk(value, path, types):
    if isinstance(value, dict):
        for name, member in value.items():
            inner = f"{path}.{name}".lstrip(".")
            types[inner].add(type(member))
            walk(member, inner, types)
    elif isinstance(value, list):
        for member in value:
            walk(member, path + "[]", types)


def run(*arguments, code=(0, 1, 3), **changes):
    ran = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                         env={**os.environ, **changes})
    if ran.returncode not in code:
        failures.append(f"{arguments}: exit code {ran.returncode}: {ran.stderr}")
    return ran.stdout


def keep(document, value):
    """A document that was written: its members are noted, and it is as its schema says."""
    walk(value, "", seen[document])
    if jsonschema:
        for error in jsonschema.Draft202012Validator(schemas[document]).iter_errors(value):
            failures.append(f"{document}: not as its schema says: {error.json_path}: {error.message}"[:300])


def see(document, *arguments, **options):
    """What the program prints is that document."""
    text = run(*arguments, **options)
    if text:
        keep(document, json.loads(text))


# --- diagnose ---


def diagnose(*arguments):
    see("diagnosis.md", "diagnose", *arguments, "--format=json", code=(0, 2))


def event(category, name, start, length, thread=9, process=9, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": start, "dur": length,
            "args": arguments}


def made_trace(path, rank=None, communication=300):
    """Steps of 1 ms in which a function reads a number back, and so waits for the device, and then logs."""
    events = [{"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "args": {"name": "python"}}]
    events.append(event("python_function", "train.py(10): main", 0, 10000, **{"Python id": 1}))
    for step in range(10):
        at = 1000 * step
        number = 10 * step + 1
        events += [
            event("user_annotation", f"ProfilerStep#{step}", at, 1000),
            event("user_annotation", "made by hand", at + 2, 50),
            event("python_function", "train.py(30): log_loss", at + 100, 880,
                  **{"Python id": number + 1, "Python parent id": 1}),
            event("cpu_op", "aten::mm", at + 5, 40, flops=123456),
            event("cuda_runtime", "cudaLaunchKernel", at + 10, 20, correlation=number),
            event("kernel", "sgemm", at + 40, 300, thread=7, process=0, correlation=number, grid=[8, 1, 1],
                  block=[128, 1, 1], **{"blocks per SM": 0.1, "est. achieved occupancy %": 20}),
            event("cuda_runtime", "cudaLaunchKernel", at + 60, 10, correlation=number + 1),
            event("kernel", "ncclDevKernel_AllReduce", at + 340, communication, thread=8, process=0,
                  correlation=number + 1),
            event("cpu_op", "aten::item", at + 110, 590),
            event("cuda_runtime", "cudaStreamSynchronize", at + 120, 560, correlation=number + 2),
            event("cpu_op", "aten::randn", at + 705, 150),
            event("user_annotation", "log", at + 860, 120),
        ]
    trace = {"traceEvents": events, "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "computeMajor": 8,
             "computeMinor": 0, "numSms": 108, "totalGlobalMem": 1 << 30}]}
    if rank is None:
        trace["chokepoint"] = {"sm_active": 0.9, "tensor_active": 0.3, "dram_throughput": 0.8, "occupancy": 0.5}
    else:
        trace["distributedInfo"] = {"rank": rank, "world_size": 8}
    pathlib.Path(path).write_text(json.dumps(trace))


def made_step_trace(path, device, pace):
    """Ten steps of five kernels, each of which takes `pace` times as long as on a device of pace 1."""
    events = []
    for step in range(10):
        at, busy = 2000 * step, 2000 * step + 100
        events += [event("user_annotation", f"ProfilerStep#{step}", at, 2000),
                   event("user_annotation", "forward", at + 2, 900)]
        for kernel, length in enumerate((100, 120, 140, 160, 180)):
            number = 10 * step + kernel + 1
            length = (length + step % 3) * pace
            events += [event("cuda_runtime", "cudaLaunchKernel", at + 10 + 10 * kernel, 5, correlation=number),
                       event("kernel", f"kernel_{kernel}", busy, length, thread=7, process=0, correlation=number,
                             grid=[8, 1, 1], block=[128, 1, 1])]
            busy += length + 1
    pathlib.Path(path).write_text(json.dumps({"traceEvents": events, "deviceProperties": [
        {"id": 0, "name": device, "computeMajor": 8, "computeMinor": 0, "numSms": 108, "totalGlobalMem": 1 << 30}]}))


def explain_a_slower_device(folder):
    sides = [os.path.join(folder, f"{name}.json") for name in ("fast", "slow")]
    made_step_trace(sides[0], "NVIDIA H200", 1)
    made_step_trace(sides[1], "NVIDIA A100", 1.5)
    see("compare.md#json-of-compare---explain", "compare", "--explain", "--format=json", *sides)


def snapshot(path):
    """Memory that runs out, in pieces."""
    frames = [{"name": "step", "filename": "/home/me/train.py", "line": 34}]
    trace = [{"action": "alloc", "addr": 1 << 20, "size": 1000, "stream": 0, "time_us": 10**15 + 1, "frames": frames},
             {"action": "oom", "device_free": 7, "size": 5000, "stream": 0, "time_us": 10**15 + 9}]
    blocks = [{"address": 1 << 20, "size": 1024, "requested_size": 1000, "state": "active_allocated", "frames": frames},
              {"address": (1 << 20) + 1024, "size": 9216, "requested_size": 0, "state": "inactive", "frames": []}]
    segments = [{"device": 0, "address": 1 << 20, "total_size": 10240, "segment_pool_id": (0, 0), "blocks": blocks}]
    pathlib.Path(path).write_bytes(pickle.dumps({"segments": segments, "device_traces": [trace]}))
    return path


def diagnose_all(folder):
    explain_a_slower_device(folder)
    made = os.path.join(folder, "made.json")
    made_trace(made)
    diagnose(made, "--timeline=2", "--what-if")
    ranks = [os.path.join(folder, f"rank{rank}.json") for rank in range(4)]
    for rank, path in enumerate(ranks):
        made_trace(path, rank, communication=300 if rank > 1 else 40)
    diagnose(*ranks, "--timeline=1")
    for seed in sorted(glob.glob(str(source / "tests/fuzz/seeds/*"))):
        diagnose(seed, "--timeline=1")
    for scenario, size in (("item_sync", ["--jpeg-pixels=64"]), ("leak", [])):
        trace = os.path.join(folder, f"{scenario}.json.gz")
        run("exec", scenario, "--variant=before", f"--trace={trace}", "--step-time=0.002", *size)
        diagnose(trace, "--timeline=1")
    diagnose(made, snapshot(os.path.join(folder, "snapshot.pickle")))
    digest = os.path.join(folder, "made.digest")
    run("digest", made, "-o", digest)
    diagnose(digest)
    real = os.environ.get("CHOKEPOINT_TRACES") or str(source / "../shared/traces")
    for trace in sorted(glob.glob(os.path.join(real, "*.gz"))):
        diagnose(trace, "--timeline=1", "--what-if")


# --- Results of this machine ---


def bench_all(folder):
    """With a file of another run, and with a failure: how many calls come before a row's depends on the machine."""
    benches = "^(lat_sync|gemm_(fp32|bf16)/256|bw_copy_h2d|loader_workers_16)"
    short = ("bench", "--device=cpu", "--benchmark_repetitions=2", "--benchmark_min_time=0.0001",
             f"--benchmark_filter={benches}", "--benchmark_format=json")
    other = pathlib.Path(folder, "bench.json")
    other.write_text(run(*short), encoding="utf-8")
    see("benches.md#json", *short, f"--against={other}")
    for call in (80, 160, 320, 40):
        see("benches.md#json", *short, CHOKEPOINT_FAIL=f"sync:{call}")
        if "chokepoint.failures[].name" in seen["benches.md#json"]:
            break


def kernels():
    """One that computes, one that is wrong."""
    samples = source / "tests/lab/kernel/samples"
    see("kernels.md#json-of-kernel", "kernel", samples / "ptx/gemv.ptx", "--grid=2", "--block=128", "--registers=32",
        "--args=f32[200*96]:random,f32[96]:random,f32[200],i32:200,i32:96", "--format=json")
    see("kernels.md#json-of-kernel", "kernel", samples / "broken/ptx/broken.ptx", "--kernel=odd_float4",
        "--args=f32[256]:iota,f32[128]", "--format=json")


def measure_all(folder):
    """run, bench, doctor and train, each as short as it can be."""
    result = os.path.join(folder, "result")
    # strict_fp32 is skipped without a GPU, and leak has no balance. The second run keeps what the first measured.
    for scenarios in (("item_sync", "leak", "strict_fp32", "tail_effect"), ("tail_effect",)):
        run("run", *scenarios, "--device=cpu", "--quick", "--repetitions=6", f"--out={result}")
        with open(os.path.join(result, "result.json"), encoding="utf-8") as file:
            keep("results.md#json-of-run-resultjson", json.load(file))
    # Kept ones: a busy machine may skip the scenario, for lack of balance.
    see("compare.md#json-of-compare---explain", "compare", "--explain", "--format=json",
        *(f"{source}/results/tour/traces/item_sync.{side}.json.gz" for side in ("before", "after")))
    see("results.md#json-of-list", "list", "--format=json")
    kernels()
    bench_all(folder)
    doctor = os.path.join(folder, "doctor.json")
    pathlib.Path(doctor).write_text(run("doctor", "--device=cpu", "--format=json"), encoding="utf-8")
    see("fleet.md#json-of-doctor", "doctor", "--device=cpu", "--format=json", f"--against={doctor}")
    light = ("train", "--device=cpu", "--model=light", "--format=json")
    trace = os.path.join(folder, "mine.json.gz")
    see("training.md#json-of-a-training", *light, "--steps=20", "--loss-every=1", f"--trace={trace}",
        f"--save={folder}")
    see("training.md#json-of-a-sweep", *light, "--steps=20", "--repetitions=1", "--input=decoded", "--sweep",
        "workers=0,1")
    see("training.md#json-of-a-sweep", *light, "--steps=20", "--repetitions=1", "--sweep", "launch=eager,graph",
        "--sweep", "clipping=device,host")
    see("training.md#json-of-a-ladder", *light, "--ladder", "--batch=1", "--tokens=4", "--launch=eager",
        "--loss-every=1", "--time-budget=12", "--thorough")


# --- Documents about results that are made here ---


def made_result(path, time, repetitions=3, day=1):
    rows = [{"name": "x", "run_type": "iteration", "repetitions": repetitions, "repetition_index": i,
             "real_time": time * (1 + 0.001 * i), "cpu_time": 1, "time_unit": "us"} for i in range(repetitions)]
    context = {"date": f"2026-03-{day:02d}T10:00:00+00:00", "num_cpus": 2, "host_name": "here"}
    pathlib.Path(path).write_text(json.dumps({"context": context, "benchmarks": rows}), encoding="utf-8")
    return str(path)


def compare_all(folder):
    sides = [[made_result(f"{folder}/{side}{i}.json", time + i, day=i + 1) for i in range(4)]
             for side, time in (("base", 1000), ("new", 1200))]
    see("compare.md#json", "compare", *sides[0], "--new", *sides[1], "--format=json")
    see("compare.md#json", "compare", sides[0][0], "--new", sides[1][0], "--noise=1%", "--format=json")


def history_all(folder):
    history = os.path.join(folder, "history.jsonl")
    for day in range(1, 25):
        time = (1000 if day < 16 else 1200) + day * 7 % 11
        run("history", "add", history, made_result(f"{folder}/day.json", time, day=day), f"--commit=c{day}")
    see("history.md#json", "history", "check", history, "--format=json")
    with open(history, encoding="utf-8") as file:
        for line in file:
            keep("history.md#the-file", json.loads(line))


def fleet_all(folder):
    """Twenty machines, of which one is slow, one fails, one has another setting and one lacks a figure, half are slow in
    another figure, and a file that is none."""
    for i in range(20):
        checks = [{"name": "gemm", "status": "ok", "value": "-", "number": (80 if i == 7 else 100) + 0.1 * (i % 3),
                   "unit": "FLOP/s"}, {"name": "governor", "status": "ok", "value": "slow" if i == 3 else "fast"},
                  {"name": "ecc", "status": "fail" if i == 5 else "ok", "value": "-"},
                  {"name": "copy", "status": "ok", "value": "-", "number": 5 if i % 2 else 10, "unit": "B/s"}]
        if i == 9:
            del checks[0]
        node = {"schema": 2, "context": {"host_name": f"node{i}", "device_name": "A", "cpu_model": "B"}, "fit": "yes",
                "checks": checks}
        pathlib.Path(folder, f"doctor-{i}.json").write_text(json.dumps(node), encoding="utf-8")
    broken = pathlib.Path(folder, "broken.json")
    broken.write_text("{}", encoding="utf-8")
    see("fleet.md#json-of-fleet", "fleet", *glob.glob(f"{folder}/doctor-*.json"), str(broken), "--format=json",
        code=(2,))


def jobs_all(folder):
    """Of each kind of cause, with racks, and one of which a digest is missing and another comes twice."""
    causes = {"late_rank": 21, "late_node": 3, "late_rack": 1, "late_place": 5, "slow_link": 2, "imbalance": 0}
    for cause, which in causes.items():
        job = pathlib.Path(folder, cause)
        subprocess.run([sys.argv[3], job, "64", cause, str(which)], check=True)
        if cause == "late_rank":
            (job / "rank40.digest").unlink()
            (job / "copy.digest").write_bytes((job / "rank7.digest").read_bytes())
        see("digest.md#json-of-job", "job", str(job), "--racks=/^node0(.)/", "--map", "--format=json", code=(0, 2))


def try_all(folder):
    """With enough pairs, and with too few."""
    for pairs in (20, 5):
        trial = pathlib.Path(folder, str(pairs))
        trial.mkdir()
        test_try.run(trial, f"write({pairs}, ended='program')", "--only=data_loading,save_pause,logging_gap")
        keep("try.md#the-result", test_try.result(trial))
    failures.extend(checking.failures)


def site_all(folder):
    made_result(f"{folder}/bench.json", 1000)
    pathlib.Path(folder, "notes.txt").write_text("none", encoding="utf-8")
    run("report", folder, f"--site={folder}/site")
    keep("site.md#indexjson", json.loads(pathlib.Path(folder, "site/index.json").read_text(encoding="utf-8")))


# --- Both ways ---


def read_sources():
    """Names that the C sources write: texts, and the first words of rows of X-macros."""
    names = set()
    for folder in ("harness", "scenarios", "benches"):
        for path in (source / folder).rglob("*.[ch]"):
            names.update(re.findall(r'"(\w[\w %]*)"|\b[A-Z][A-Z0-9]*\((\w+)[,)]', path.read_text()))
    return {name for pair in names for name in pair if name}


def check_document(document, members, written):
    """Each member that was written is in a table, with its types; rows that were seen go to `written`."""
    exact = {}
    patterns = []
    for path, row in members:
        if row not in exact.setdefault(path, []):
            exact[path].append(row)
        if "*" in path:
            patterns.append((json_tables.pattern(path), row))
    for path, types in sorted(seen[document].items()):
        rows = exact.get(path) or [row for matches, row in patterns if matches.fullmatch(path)]
        allowed = set().union(*(row.types for row in rows))
        if not rows:
            failures.append(f"{document}: {path} is not documented; its row there:\n{json_tables.new_row(path, types)}")
        elif not types <= allowed:
            failures.append(f"{document}: {path} has types that are not documented: {types - allowed}")
        written.update(map(id, rows))
    for path in stored[document]:
        written.update(map(id, exact.get(path, [])))
    for path, rows in exact.items():
        if sum(row.includes is None for row in rows) > 1:
            failures.append(f"{document}: {path} is documented twice")


names = read_sources()
with tempfile.TemporaryDirectory() as place:
    for number, fill in enumerate((diagnose_all, measure_all, compare_all, history_all, fleet_all, jobs_all,
                                  try_all, site_all)):
        os.mkdir(f"{place}/{number}")
        fill(f"{place}/{number}")
for path in (source / "results").glob("*/result.json"):
    walk(json.loads(path.read_text()), "", stored["results.md#json-of-run-resultjson"])
written, documented = set(), {}
for document in seen:
    members = tables.members(document)
    documented.update({id(row): row for _, row in members})
    check_document(document, members, written)
    if len(members) < 5:
        failures.append(f"{document}: only {len(members)} members are documented")
for key, row in documented.items():
    if key not in written and not (row.seldom and row.name.replace("*", "%s") in names):
        failures.append(f"{row.page}: {row.name}: documented, but in no output ({row.meaning})")
count = sum(map(len, seen.values()))
print(f"{len(documented)} rows document {count} members of {len(seen)} documents")
if len(documented) < 450:
    failures.append("there should be more")
for failure in [*tables.failures, *failures]:
    print(failure)
sys.exit(bool(tables.failures or failures))
