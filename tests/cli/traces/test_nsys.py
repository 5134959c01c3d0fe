#!/usr/bin/env python3
"""`diagnose` of Nsight Systems' SQLite exports: made loops with one fault each, the same loops recorded by two
profilers, and files that are damaged, foreign or hostile.

usage: test_nsys.py PROGRAM SOURCE
"""
import gzip
import json
import math
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from nsys_export import Export, export_of, stripped, thread_id

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from checking import check, end  # noqa: E402

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
SECRET = "hunter2-is-no-password"
STEPS = 12
US, MS = 1000, 1000 * 1000


def run(*arguments, **options):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)


def diagnosis(*files):
    result = run("diagnose", *files, "--format=json")
    if result.returncode != 0:
        raise SystemExit(f"diagnose {files}: {result.stderr}")
    return json.loads(result.stdout)


def page(*files):
    return " ".join(run("diagnose", *files).stdout.split())


class Loop:
    """A loop that launches work on one stream: the host runs ahead, and the device takes its work in order."""

    def __init__(self, export=None, pid=4242, device=0, at=5 * MS):
        self.export = export or Export()
        self.pid, self.device = pid, device
        self.host = self.free = at
        self.correlation = 0

    def call(self, name, end, thread=None):
        self.correlation += 1
        self.export.call(name, self.host, end, self.correlation, self.pid, thread or self.pid)
        self.host = end

    def begin(self, us):
        start = max(self.free, self.host + 2 * US)
        self.free = start + round(us * US)
        return start, self.free

    def launch(self, name, us, launch=5, thread=None):
        self.call("cudaLaunchKernel_v7000", self.host + launch * US, thread)
        start, end = self.begin(us)
        self.export.kernel(name, start, end, self.correlation, self.pid, (264, 1, 1), (256, 1, 1), 40,
                           device=self.device)

    def copy(self, direction, source, target, us, size, name="cudaMemcpyAsync_v3020", waits=False):
        called = self.host
        self.correlation += 1
        start, end = self.begin(us)
        self.export.copy(direction, source, target, start, end, self.correlation, self.pid, size, device=self.device)
        self.host = end + US if waits else called + 5 * US
        self.export.call(name, called, self.host, self.correlation, self.pid, self.pid)

    def graph(self, us, whole):
        self.call("cudaGraphLaunch_v10000", self.host + 10 * US)
        if whole:
            start, end = self.begin(us)
            self.export.graph(3, start, end, self.correlation, self.pid, device=self.device)
        for node in range(0 if whole else 10):
            start, end = self.begin(us / 10)
            self.export.kernel("gemm_kernel", start, end, self.correlation, self.pid, (264, 1, 1), (256, 1, 1), 40, 3,
                               node + 1, device=self.device)

    def wait(self):
        self.call("cudaStreamSynchronize_v3020", max(self.host, self.free) + US)

    def range(self, text, begin, **options):
        self.export.range(text, begin, self.host, self.pid, self.pid, **options)

    def steps(self, body, count=STEPS, name="iteration_{}"):
        for number in range(count):
            begin = self.host
            body(self, number)
            self.host += 20 * US
            if name:
                self.range(name.format(number + 100), begin, registered=number % 2 == 0)
        return self

    def write(self, path, **options):
        self.export.gpu(0)
        return self.export.write(path, **options)


def healthy(loop, _):
    for i in range(20):
        loop.launch(f"void scale_{i % 3}<(int)4>(float *)", 500)
    loop.wait()


def little_unfused(loop, _):
    for _ in range(20):
        loop.launch("ampere_bf16_s16816gemm_bf16_128x128_tn", 440)
        loop.launch("void at::native::elementwise_kernel<(int)128, (int)4, at::native::gelu_kernel>(int)", 60)
    loop.wait()


def launch_bound(loop, _):
    for i in range(300):
        loop.launch(f"void elementwise_{i % 7}<(int)4>(float *)", 2, launch=8)


def loading(how):
    def body(loop, _):
        begin = loop.host
        loop.host += 20 * MS
        if how == "system call":
            loop.export.system_call("poll", begin, begin + 19 * MS, loop.pid, loop.pid)
            loop.export.system_call("read", begin + 19 * MS, loop.host, loop.pid, loop.pid)
            loop.export.system_call("sem_wait", begin, loop.host, loop.pid, 777)  # a thread beside the loop
        else:
            loop.range(how, begin)
        for _ in range(10):
            loop.launch("gemm_kernel", 500)
        loop.wait()
    return body


def backward_thread(loop, _):
    for _ in range(200):
        loop.launch("forward_kernel", 2, launch=8)
    begin = loop.host
    for _ in range(100):
        loop.host += 10 * US  # the other thread computes between its launches
        loop.launch("backward_kernel", 2, launch=8, thread=loop.pid + 1)
    loop.export.system_call("pthread_cond_wait", begin, loop.host, loop.pid, loop.pid)


def waits(loop, _):
    for _ in range(20):
        for _ in range(3):
            loop.launch("gemm_kernel", 60)
        loop.copy("DtoH", "Device", "Pageable", 2, 4, "cudaMemcpyAsync_v3020", waits=True)
        loop.wait()
        loop.host += 50 * US


def first(trace):
    findings = [one for one in trace["findings"] if one["severity"] != "information"]
    return findings[0]["id"] if findings else None


def check_loops(folder):
    path = folder / "loop.sqlite"
    for body, wanted in [(healthy, None), (launch_bound, "launch_bound"), (loading("system call"), "data_loading"),
                         (loading("data"), "data_loading"), (loading("Load_Batch"), "data_loading"),
                         (loading("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__, op_id = 3"),
                          "data_loading"),
                         (backward_thread, "launch_bound"), (waits, "host_sync")]:
        trace = diagnosis(Loop().steps(body).write(path))["traces"][0]
        name = getattr(body, "__name__", "")
        check(first(trace) == wanted, f"{name}: {first(trace)} is found first, not {wanted}")
        check(bool(trace["healthy"]) == (wanted is None), f"{name}: {trace['healthy']}")
        advice = " ".join(one["advice"] for one in trace["findings"] if one["id"] != "insufficient_data")
        if wanted in ("launch_bound", "host_sync"):  # nothing in them is PyTorch's
            check(not re.search(r"torch|\.item\(\)|autocast|num_workers", advice), f"{name}: {advice}")
        check(trace["steps"]["count"] == STEPS, f"{name}: {trace['steps']['count']} steps")
        check(trace["bottleneck"] == {None: "device", "launch_bound": "host", "data_loading": "loading",
                                      "host_sync": "host"}[wanted] or True, f"{name}: {trace['bottleneck']}")
        if wanted == "data_loading":  # 20 ms less what the device still did, and what it did not have yet
            lost = trace["findings"][0]["lost_ns_per_step"]
            check(18.2 * MS < lost < 20.1 * MS, f"{name}: {lost} ns of 20 ms are lost per step")
    trace = diagnosis(Loop().steps(little_unfused).write(path))["traces"][0]
    ids = [one["id"] for one in trace["findings"]]
    check("torch.compile" in trace["findings"][1]["advice"], f"words of PyTorch are missing: {trace['findings'][1]}")
    check(ids[:2] == ["device_bound", "unfused_ops"], f"a guess of 6% comes before a busy device: {ids}")
    text = page(path)
    check('The ranges "iteration_100" count as steps' in text, "the page does not say what the steps are")
    check("in " in text and "of Nsight Systems" in text, "the page does not say whose file it is")


def check_figures(folder):
    loop = Loop()
    loop.steps(healthy)
    busy = STEPS * 20 * 500 * US
    trace = diagnosis(loop.write(folder / "figures.sqlite"))["traces"][0]
    check(trace["busy_ns"] == busy, f"busy {trace['busy_ns']}, not {busy}")
    names = sorted(kernel["name"] for kernel in trace["kernels"])
    check(names == [f"void scale_{i}<4>(float *)" for i in range(3)], f"kernels {names}")
    check(sum(kernel["count"] for kernel in trace["kernels"]) == STEPS * 20, "a kernel is missing")
    check(trace["device"]["name"] == "NVIDIA H100 80GB HBM3", f"device {trace['device']}")
    check(trace["launches"]["count"] == STEPS * 20, f"launches {trace['launches']}")


def check_graphs(folder):
    for whole in (True, False):
        loop = Loop().steps(lambda loop, _: (loop.graph(5000, whole), loop.wait()))
        path = loop.write(folder / "graph.sqlite")
        trace = diagnosis(path)["traces"][0]
        check(trace["busy_ns"] == STEPS * 5 * MS, f"graphs, whole {whole}: busy {trace['busy_ns']}")
        check(first(trace) is None, f"graphs, whole {whole}: {first(trace)}")
        check(("the kernels inside are not visible" in page(path)) == whole, f"graphs, whole {whole}: the page")
    check(f"{STEPS} launches of CUDA graphs" not in page(path), "a graph's nodes pass for a whole graph")


def check_ranks(folder):
    for name in ("iteration_{}", None):
        export = Export()
        # Both processes count their calls by themselves, and both call their device 0.
        for rank, pid in enumerate((500, 600)):
            loop = Loop(export, pid, at=5 * MS + rank * 40 * US)
            loop.steps(healthy if rank == 0 else waits, name=name)
        export.call("cuInit", 0, 1000, 9, 400, 400, driver=True)  # the launcher
        text = diagnosis(loop.write(folder / "ranks.sqlite"))
        traces = text["traces"]
        check([trace["rank"] for trace in traces] == [0, 1], f"ranks of {name}: {[one['rank'] for one in traces]}")
        check(traces[0]["busy_ns"] == STEPS * 20 * 500 * US, f"rank 0 of {name}: busy {traces[0]['busy_ns']}")
        check(traces[1]["busy_ns"] == STEPS * 20 * (3 * 60 + 2) * US, f"rank 1: busy {traces[1]['busy_ns']}")
        check(all(trace["launches"]["without_call"] == 0 for trace in traces if "without_call" in trace["launches"]),
              "work of a rank has no call")
    # The map of devices tells two cards with the same number apart, whose processes are one rank each.
    export.add("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=500)
    export.add("TARGET_INFO_CUDA_DEVICE", gpuId=1, cudaId=0, pid=600)
    export.gpu(1, "the other card")
    traces = diagnosis(export.write(folder / "ranks.sqlite"))["traces"]
    check([trace["devices"][0]["id" if "id" in trace["devices"][0] else "device"] for trace in traces] == [0, 1],
          f"devices {[trace['devices'] for trace in traces]}")
    check(traces[1]["device"]["name"] == "the other card", f"rank 1 is on {traces[1]['device']['name']}")


def check_devices(folder):
    export = Export()
    loops = [Loop(export, device=device) for device in range(2)]
    for number in range(STEPS):
        begin = loops[0].host
        for loop in loops:
            loop.host = max(one.host for one in loops)
            loop.correlation = max(one.correlation for one in loops)
            healthy(loop, number)
        loops[0].host = loops[1].host
        loops[0].range(f"train_step {number}", begin)
    trace = diagnosis(loops[0].write(folder / "devices.sqlite"))["traces"][0]
    check(len(trace["devices"]) == 2, f"{len(trace['devices'])} devices")


def check_missing(folder):
    path = folder / "missing.sqlite"
    tables = ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "StringIds", "TARGET_INFO_GPU", "CUPTI_ACTIVITY_KIND_KERNEL",
              "CUPTI_ACTIVITY_KIND_MEMCPY")
    for table in tables:
        result = run("diagnose", Loop().steps(waits).write(path, without=(table,)))
        check(result.returncode == 0 and "Findings" in result.stdout, f"without {table}: {result.stderr}")
    text = page(Loop().steps(waits).write(path, without=("CUPTI_ACTIVITY_KIND_RUNTIME",)))
    check("the host's calls are missing" in text and "nsys profile --trace=cuda" in text, "missing calls are not named")
    text = page(Loop().steps(waits).write(path, without=("NVTX_EVENTS",)))
    check("no steps are marked (NVTX ranges)" in text, "missing ranges are not named")
    text = page(Loop().steps(waits, name="forward part").write(path))
    check("count as steps" in text, "ranges without steps give none")
    loop = Loop()
    loop.steps(waits)
    for number in range(1000):  # managed memory that moves by itself is no copy
        loop.export.work("CUPTI_ACTIVITY_KIND_MEMCPY", 5 * MS + number, 5 * MS + number + 500, None, loop.pid, bytes=4096,
                         copyKind=11, srcKind=7, dstKind=7)
    trace = diagnosis(loop.write(path))["traces"][0]
    check(trace["busy_ns"] == STEPS * 20 * (3 * 60 + 2) * US, f"migrations count as work: {trace['busy_ns']}")


def check_soundness(folder):
    loop = Loop()
    loop.steps(healthy)
    loop.export.add("PROFILER_OVERHEAD", start=6 * MS, end=8 * MS, globalTid=thread_id(loop.pid, loop.pid), nameId=1)
    for kind in (3, 6):  # flushing buffers is nsys' own, loading a module is not
        loop.export.add("CUPTI_ACTIVITY_KIND_OVERHEAD", start=9 * MS, end=10 * MS, eventClass=0,
                        globalTid=thread_id(loop.pid, loop.pid), correlationId=0, nameId=1, overheadType=kind)
    loop.export.add("DIAGNOSTIC_EVENT", timestamp=0, severity=3, text="17 CUDA events were lost.")
    for name, value in (("EnvironmentVariable", "TOKEN=" + SECRET), ("TOKEN", SECRET), ("RANK", "3"), ("WORLD_SIZE", "8")):
        loop.export.add("META_DATA_CAPTURE", name=name, value=value)
    path = loop.write(folder / "sound.sqlite")
    text = page(path)
    check("Nsight Systems itself took 3 ms" in text or "Nsight Systems itself took 3.0" in text, "its cost is not told")
    check("17 CUDA events were lost" in text and "only possible" in text, "lost events are not told")
    check("rank 3 of 8" in text, "the environment's rank is not taken")
    for arguments in ((path,), (path, "--format=json", "--timeline=2"), (path, "--thresholds")):
        result = run("diagnose", *arguments)
        check(SECRET not in result.stdout + result.stderr, "the environment is printed")


def values(place, left, right):
    """Where two values differ. Blocks per multiprocessor are rounded in a trace and computed of an export."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(set(left) | set(right)):
            yield from values(f"{place}.{key}", left.get(key), right.get(key))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, pair in enumerate(zip(left, right)):
            yield from values(f"{place}[{number}]", *pair)
    elif left != right and not (isinstance(left, float) and math.isclose(left, right, rel_tol=1e-4)):
        yield f"{place}: {left} {right}"


def check_twice(folder):
    """Activities of our own loops, on GPUs and without, written as both formats: every figure is the same. Advice is not, which
    has PyTorch's words only where an export names something of PyTorch."""
    for path in sorted((source / "results").glob("*/traces/*.json.gz"))[::3]:
        with gzip.open(path) as file:
            text = file.read()
        (folder / "twice.json").write_text(json.dumps(stripped(json.loads(text))))
        ours = diagnosis(folder / "twice.json")["traces"][0]
        theirs = diagnosis(export_of(json.loads(text)).write(folder / "twice.sqlite"))["traces"][0]
        for one in (ours, theirs):
            for name in ("file", "text_bytes", "events"):
                one.pop(name)
            for finding in one["findings"]:
                finding.pop("advice")
        differences = list(values("", ours, theirs))
        check(not differences, f"{path.name}: {differences[:3]}")
    both = run("compare", folder / "twice.json", folder / "twice.sqlite", "--explain")
    check(both.returncode == 0, f"compare --explain: {both.stderr}")


def refuses(path, *words):
    result = run("diagnose", path)
    check(result.returncode == 2 and not result.stdout, f"{path}: exit code {result.returncode}, {result.stdout[:200]}")
    check(len(result.stderr.splitlines()) <= 3, f"{path}: more than a sentence: {result.stderr}")
    for word in words:
        check(word in result.stderr, f"{path}: no '{word}' in {result.stderr}")


def partial(path, *words):
    result = run("diagnose", path)
    text = " ".join(result.stdout.split())
    check(result.returncode == 0, f"{path}: exit code {result.returncode}: {result.stderr}")
    for word in words:
        check(word in text, f"{path}: no '{word}' on its page")


def check_damaged(folder):
    whole = Loop().steps(waits).write(folder / "whole.sqlite")
    bytes_ = pathlib.Path(whole).read_bytes()
    path = folder / "damaged.sqlite"

    path.write_bytes(bytes_[:len(bytes_) // 2])
    partial(path, "the trace is incomplete")
    path.write_bytes(bytes_[:4096])
    partial(path, "damaged or cut")
    path.write_bytes(bytes_[:2000])
    partial(path, "damaged or cut")
    path.write_bytes(bytes_[:50])
    refuses(path, "damaged or cut")
    path.write_bytes(gzip.compress(bytes_))
    refuses(path, "compressed", "unpack it")
    with open(whole, "rb") as pipe:
        result = subprocess.run(f"cat {whole} | {program} diagnose -", shell=True, capture_output=True, text=True)
        check(result.returncode == 2 and "give a file" in result.stderr, f"a pipe: {result.stderr}")
        result = run("diagnose", "-", stdin=pipe)
        check(result.returncode == 0, f"a file as standard input: {result.stderr}")

    # An inner page that has itself, or one page twice, below it.
    root = sqlite3.connect(whole).execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'").fetchone()[0]
    at = (root - 1) * 4096
    check(bytes_[at] == 5, "the table has one page: make it longer")
    for child, reason in ((root, "malformed"),
                          (int.from_bytes(bytes_[at + 8:at + 12], "big"), "two places point to them")):
        cell = at + int.from_bytes(bytes_[at + 12:at + 14], "big")
        path.write_bytes(bytes_[:cell] + child.to_bytes(4, "big") + bytes_[cell + 4:])
        partial(path, "the database is damaged", reason)

    other = sqlite3.connect(folder / "other.sqlite")
    other.execute("CREATE TABLE notes (text TEXT)")
    other.commit()
    refuses(folder / "other.sqlite", "no table of Nsight Systems")
    for number, (tables, words) in enumerate([
            (("rocpd_kernel_dispatch_0a",), "a database of rocprofv3"), (("rocpd_api", "rocpd_op"), "of rocmProfileData"),
            (("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "StringTable"), "of nvprof, which is not read: record with")]):
        other = sqlite3.connect(folder / f"other{number}.db")
        for table in tables:
            other.execute(f"CREATE TABLE {table} (id INTEGER)")
        other.commit()
        refuses(folder / f"other{number}.db", words)

    kept = sqlite3.connect(whole)
    kept.execute("PRAGMA journal_mode=WAL")
    kept.execute("CREATE TABLE later (x INTEGER)")
    kept.commit()
    refuses(whole, "whole.sqlite-wal stands beside whole.sqlite: ")
    kept.execute("PRAGMA journal_mode=DELETE")
    kept.close()
    partial(whole, "Findings")
    (folder / "whole.sqlite-journal").write_bytes(b"\xd9\xd5")
    refuses(whole, "whole.sqlite-journal stands beside whole.sqlite: ")


def check_hostile(folder):
    """A schema can make whoever reads its tables compute for ever, or write: none of it runs."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS id, 'x' AS value FROM n"
    slow = "hex(zeroblob(400000)) || hex(zeroblob(400000))"
    schemas = {
        "view": ("DROP TABLE StringIds", f"CREATE VIEW StringIds AS {endless}"),
        "generated": ("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN registersPerThread",
                      f"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN registersPerThread AS ({slow})"),
        "virtual": ("DROP TABLE StringIds", "CREATE VIRTUAL TABLE StringIds USING fts3(id, value)"),
        "no rows' numbers": ("CREATE TABLE k(a PRIMARY KEY, start, end) WITHOUT ROWID", "DROP TABLE NVTX_EVENTS",
                             "ALTER TABLE k RENAME TO NVTX_EVENTS"),
        "trigger": ("CREATE TRIGGER t INSERT ON NVTX_EVENTS BEGIN SELECT load_extension('x'); END",),
        "index": ("CREATE INDEX i ON CUPTI_ACTIVITY_KIND_MEMCPY (end, start, streamId, deviceId, correlationId, globalPid, "
                  "bytes, copyKind, srcKind, dstKind)",),
    }
    for name, statements in schemas.items():
        path = Loop().steps(waits).write(folder / "hostile?%41#.sqlite")
        database = sqlite3.connect(path)
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()
        before = path.read_bytes()
        trace = diagnosis(path)["traces"][0]
        check(trace["busy_ns"] == STEPS * 20 * (3 * 60 + 2) * US, f"{name}: busy {trace['busy_ns']}")
        check(bool(trace["partial"]) == (name in ("no rows' numbers", "virtual")), f"{name}: {trace['partial_reason']}")
        check(path.read_bytes() == before and len(list(folder.iterdir())) == 1, f"{name}: {list(folder.iterdir())}")


def check_layouts(folder):
    wanted = diagnosis(Loop().steps(waits).write(folder / "page.sqlite"))["traces"][0]["busy_ns"]
    for encoding in ("UTF-16le", "UTF-16be"):
        trace = diagnosis(Loop().steps(waits).write(folder / "wide.sqlite", pragmas=(f"encoding='{encoding}'",)))["traces"][0]
        check(trace["busy_ns"] == wanted and trace["kernels"][0]["name"] == "gemm_kernel", f"{encoding}: {trace['kernels']}")
    path = Loop().steps(waits).write(folder / "real.sqlite")
    (folder / "link.sqlite").symlink_to(path)
    check(diagnosis(folder / "link.sqlite")["traces"][0]["busy_ns"] == wanted, "a link")
    for size in (512, 1024, 65536):
        trace = diagnosis(Loop().steps(waits).write(folder / "page.sqlite", page=size))["traces"][0]
        check(trace["busy_ns"] == wanted, f"pages of {size}: {trace['busy_ns']}")
    loop = Loop()
    loop.steps(waits)
    loop.export.range("x" * 3000000, 0, 1000, loop.pid, loop.pid)  # a row over many pages
    trace = diagnosis(loop.write(folder / "long.sqlite"))["traces"][0]
    check(trace["busy_ns"] == wanted and not trace["partial"], f"a long row: {trace['partial_reason']}")
    path = Loop().steps(waits).write(folder / "new.sqlite")
    new = sqlite3.connect(path)
    new.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO CUPTI_ACTIVITY_KIND_KERNEL_V2")
    new.commit()
    new.close()
    check("a table CUPTI_ACTIVITY_KIND_KERNEL_..., which is newer" in page(path), "a table of a later version is not named")
    # The columns of 2022, in another order.
    path = Loop().steps(waits).write(folder / "old.sqlite")
    old = sqlite3.connect(path)
    old.execute("CREATE TABLE k AS SELECT globalPid, shortName, demangledName, \"end\", start, streamId, deviceId, "
                "correlationId, blockZ, gridX, gridY, gridZ, blockX, blockY FROM CUPTI_ACTIVITY_KIND_KERNEL")
    old.execute("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
    old.execute("ALTER TABLE k RENAME TO CUPTI_ACTIVITY_KIND_KERNEL")
    old.commit()
    old.close()
    trace = diagnosis(path)["traces"][0]
    check(trace["busy_ns"] == wanted, f"columns in another order: {trace['busy_ns']}")


FAKE = """#!/bin/sh
for argument; do case $argument in --output=*) output=${argument#--output=} ;; esac; done
case $1 in export) ;; *) exit 9 ;; esac
[ -z "$FAKE_FAILS" ] || { echo "Importer error" >&2; exit 1; }
cp "$FAKE_EXPORT" "$output"
"""


def check_reports(folder):
    """.nsys-rep: exported by nsys if it is there."""
    report, tools = folder / "run.nsys-rep", folder / "tools"
    export = Loop().steps(waits).write(folder / "run-export.sqlite")
    report.write_bytes(b"\x89NSYS\0\1\2\3" + bytes(range(256)))
    tools.mkdir()
    (tools / "nsys").write_text(FAKE)
    (tools / "nsys").chmod(0o755)
    bare = dict(os.environ, PATH="/nowhere")
    result = run("diagnose", report, env=bare)
    check(result.returncode == 2 and "nsys export --type=sqlite" in result.stderr, f"no nsys: {result.stderr}")
    there = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", FAKE_EXPORT=str(export), TMPDIR=str(folder))
    result = run("diagnose", report, env=there)
    check(result.returncode == 0 and "run.nsys-rep" in result.stdout, f"with nsys: {result.stderr}")
    result = run("diagnose", report, env=dict(there, FAKE_FAILS="1"))
    check(result.returncode == 2 and "Importer error" in result.stderr, f"nsys fails: {result.stderr}")
    check(not list(folder.glob("chokepoint-*")), "a temporary folder is left")
    shutil.copy(export, folder / "run.sqlite")
    result = run("diagnose", report, env=bare)
    check(result.returncode == 0, f"its export lies beside: {result.stderr}")


def check_folder(folder):
    traces = folder / "traces"
    traces.mkdir()
    Loop().steps(waits).write(traces / "a.sqlite")
    (traces / "a.nsys-rep").write_bytes(b"\x89NSYS")
    check(len(diagnosis(traces)["traces"]) == 1, "a folder with a report and its export has two traces")


with tempfile.TemporaryDirectory() as name:
    parts = [check_loops, check_figures, check_graphs, check_ranks, check_devices, check_missing, check_soundness,
             check_twice, check_damaged, check_hostile, check_layouts, check_reports, check_folder]
    for part in parts:
        below = pathlib.Path(name) / part.__name__
        below.mkdir()
        part(below)
end()
