#!/usr/bin/env python3
"""The promises of docs/security.md: each of its items is promised by one test here, and the other way round.

usage: test_security.py PROGRAM SOURCE
"""
import gzip
import json
import os
import pathlib
import pickle
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fixtures"))
from checking import check, end  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "traces"))
from nsys_export import Export  # noqa: E402

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ESCAPE = "\x1b]0;X\x07\x1b[31m"
UGLY = f"a{ESCAPE}\u202ex"
tests = {}


def promises(words):
    """Registers a test for the item of docs/security.md that begins with `words`."""
    def register(function):
        tests[words] = function
        return function
    return register


def call(*arguments, code=None, seconds=60, **more):
    """Runs the program; `code` is the exit code that it should have. A FIFO that is opened hangs it."""
    try:
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, check=False, timeout=seconds,
                              stdin=subprocess.DEVNULL, **more)
    except subprocess.TimeoutExpired:
        check(False, f"{arguments}: it hangs")
        return subprocess.CompletedProcess(arguments, -1, "", "")
    done.stdout, done.stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    check(code is None or done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}", done.stderr)
    return done


def trace(path, *names, extra=""):
    rows = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5,
             "args": {"device": 0, "stream": 7, "correlation": i}} for i, name in enumerate(names)]
    text = json.dumps({"traceEvents": rows})
    path.write_text(text[:-2] + extra + "]}")
    return path


def result(folder, before):
    """A result of run that names the trace `before`, which may be anything."""
    folder.mkdir(exist_ok=True)
    made = json.loads(next((source / "results").glob("*/result.json")).read_text())
    scenario = next(one for one in made["chokepoint"]["scenarios"] if one.get("effect"))
    scenario["traces"] = {"before": before, "after": before}
    made["chokepoint"]["scenarios"] = [scenario]
    (folder / "result.json").write_text(json.dumps(made))
    return folder


def quiz(folder):
    return call("quiz", f"--result={folder}")


@promises("No shell is started")
def no_shell(folder):
    pattern = re.compile(r"\b(popen|system|wordexp)\(|/bin/sh|shell=True|os\.system")
    for place in ("harness", "scenarios", "benches", "kernels", "scripts/plots", "scripts/common"):
        for path in sorted((source / place).rglob("*.[chp]*")):
            if path.suffix in (".c", ".h", ".py") and path.stem != "rounds_of":
                check(not pattern.search(path.read_text()), f"{path} starts a shell")
    mpirun = shutil.which("mpirun")
    if mpirun is None or not (pathlib.Path(program).parent / "libchokepoint_mpi.so").exists():
        return
    for name in ("it's", "x'; touch OWNED; '", "$(touch OWNED)", "a\nb"):
        place = folder / "path" / name
        place.mkdir(parents=True)
        (place / "mpirun").symlink_to(mpirun)
        done = call("train", "--device=cpu", "--model=light", "--batch=4", "--ranks=2", "--steps=2", cwd=folder, code=0,
                    env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}"})
        check("ranks=2" in done.stdout, f"mpirun in {name}", done.stderr)
    check(not list(folder.rglob("OWNED")), "a command in PATH was run")
    trace(folder / "it's; touch OWNED.json", "k")
    call("diagnose", folder / "it's; touch OWNED.json", code=0)
    call("report", folder / "it's; touch OWNED.json", f"--out={folder}/page.html", cwd=folder)
    check(not (folder / "OWNED").exists(), "a command in a trace's name was run")


@promises("Only five programs are started")
def five_programs(folder):
    found = {str(path.relative_to(source)) for place in ("harness", "scenarios", "benches")
             for path in (source / place).rglob("*.c") if re.search(r"\b(exec[vl][pe]*|posix_spawnp?)\(", path.read_text())}
    check(found == {"harness/base/system/side_program.c", "harness/cli/job/rank_job.c", "harness/cli/traces/user_program.c",
                    "harness/lab/experiment/parent/process.c"},
          "programs are started in other files", found)


@promises("A kernel of `kernel` reaches nothing")
def kernels(folder):
    head = (".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
            ".reg .b64 %rd<4>; .reg .b32 %r<4>;\nld.param.u64 %rd1, [p];\n")
    own = ("--args=f32[64]:zero", "--registers=32")

    def written(name, body, text=head):
        path = folder / name
        path.write_text(text + body + "\nret;\n}\n")
        return path

    for begin, place in (("", "[%rd1+256]"), ("", "[%rd1+-4]"), ("", "[%rd1+9223372036854775804]"),
                         ("mov.u64 %rd3, 4096;", "[%rd3]"), ("mov.u64 %rd3, -4;", "[%rd3]")):
        for body in (f"ld.global.u32 %r1, {place};", f"st.global.u32 {place}, 1;", f"st.u32 {place}, 1;",
                     f"red.global.add.u32 {place}, 1;", f"st.shared.u32 {place}, 1;", f"ld.local.u32 %r1, {place};",
                     f"ld.const.u32 %r1, {place};", f"atom.global.inc.u32 %r1, {place}, 1;"):
            call("kernel", written("far.ptx", begin + body), *own, code=1)
    # lanes on both sides of the last address
    call("kernel", written("last.ptx", "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd2, -8;"
                           "st.global.u32 [%rd3], 1;"), *own, code=1)
    begun = time.monotonic()
    done = call("kernel", written("endless.ptx", "L: bra L;"), *own, code=1)
    check("more instructions than" in done.stdout and time.monotonic() - begun < 30, "a loop without end", done.stdout)
    large = folder / "large.ptx"
    large.write_bytes(b"/" * (16 << 20) + b"//")
    check("16 MiB" in call("kernel", large, *own, code=2).stderr, "a large file")
    for body in (".reg .b32 %q<4000000000>;", ".shared .b8 s[4000000000];", ".local .align 0 .b8 s[18446744073709551615];",
                 "".join(f"L{i}: " for i in range(9000)), "ld.param.u64 %rd2, [p+9223372036854775807];"):
        call("kernel", written("much.ptx", body), *own, code=2)
    call("kernel", written("shared.ptx", "mov.u64 %rd2, s;", ".shared .align 4 .b8 s[60000000];\n" + head), *own, code=2)
    call("kernel", written("dynamic.ptx", "st.shared.u32 [d], 1;", ".extern .shared .align 4096 .b8 d[];\n" + head), *own,
         code=1)
    names = written("names.ptx", "", head.replace(" k(", f" k{ESCAPE}("))
    check(ESCAPE not in "".join((done := call("kernel", names, *own)).stdout + done.stderr), "an escape in a name")


@promises("Libraries of devices")
def plugins(folder):
    built = pathlib.Path(program).parent / "libchokepoint_cpu.so"
    above = folder / "above"
    place = above / "plugins"
    place.mkdir(parents=True)
    os.chmod(above, 0o755)
    os.chmod(place, 0o755)
    shutil.copy(built, place)
    os.chmod(place / built.name, 0o755)
    environment = {**os.environ, "CHOKEPOINT_PLUGINS": str(place)}
    bench = ("bench", "--device=cpu", "--benchmark_filter=lat_event", "--benchmark_repetitions=1")
    call(*bench, code=0, env=environment)
    for what, mode in ((place, 0o777), (place, 0o757), (place / built.name, 0o757), (above, 0o777)):
        os.chmod(what, mode)
        done = call(*bench, code=3, env=environment)
        check("others may write" in done.stderr, "a plugin of anybody", done.stderr)
        os.chmod(what, 0o755)
    if os.geteuid() == 0:
        os.chown(place / built.name, 12345, 12345)
        check("others may write" in call(*bench, code=3, env=environment).stderr, "a plugin of another user")


@promises("A file that is kept for later")
def kept_files(folder):
    def planted(name, plant, *arguments, where=folder):
        victim = folder / "victim"
        victim.write_text("precious\n")
        where.mkdir(exist_ok=True)
        path = where / name
        plant(victim, path)
        done = call(*arguments)
        check(done.returncode == 2, f"{arguments[0]} with {name} planted: exit code {done.returncode}", done.stderr)
        check(victim.read_text() == "precious\n", f"{arguments[0]} wrote through {name}")
        check(name in done.stderr and done.stderr.count("\n") == 1, f"{arguments[0]} does not say why", done.stderr)
        path.unlink()

    def soft(victim, path):
        path.symlink_to(victim)

    def dangling(_, path):
        path.symlink_to(folder / "made")

    def fifo(_, path):
        os.mkfifo(path)

    bench = folder / "bench.json"
    call("bench", "--device=cpu", "--benchmark_filter=lat_event", "--benchmark_repetitions=1", f"--benchmark_out={bench}",
         code=0)
    for plant in (soft, dangling, lambda victim, path: os.link(victim, path), fifo):
        planted("run.lock", plant, "run", "item_sync", "--quick", "--device=cpu", f"--out={folder}/out",
                where=folder / "out")
        planted("kept.jsonl", plant, "history", "add", folder / "kept.jsonl", bench)
        os.environ["CHOKEPOINT_CACHE"] = str(folder / "other")
        planted("lock", plant, "train", "--device=cpu", "--steps=2", where=folder / "other")
        os.environ["CHOKEPOINT_CACHE"] = str(folder / "cache")
    check(not (folder / "made").exists(), "a file was made through a link")


@promises("Results, traces and pages")
def whole_files(folder):
    victim = folder / "victim"
    victim.write_text("precious\n")
    for name, arguments in (("t.json", ("train", "--device=cpu", "--model=light", "--steps=2", "--trace")),
                            ("b.json", ("bench", "--device=cpu", "--benchmark_filter=lat_event", "--benchmark_out")),
                            ("p.html", ("report", trace(folder / "one.json", "k"), "--out"))):
        path = folder / name
        path.symlink_to(victim)
        done = call(*arguments[:-1], f"{arguments[-1]}={path}")
        check(done.returncode in (0, 3), f"{arguments[0]}: exit code {done.returncode}", done.stderr)
        check(victim.read_text() == "precious\n", f"{arguments[0]} wrote through {name}")
        check(done.returncode == 3 or not path.is_symlink(), f"{arguments[0]} left the link {name}")


@promises("A temporary folder")
def ladders(folder):
    place = folder / "tmp"
    place.mkdir()
    environment = {**os.environ, "TMPDIR": str(place)}
    child = subprocess.Popen([program, "train", "--device=cpu", "--model=light", "--ladder", "--loss-every=1"],
                             env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not list(place.glob("chokepoint-ladder-*")) and time.monotonic() < end:
        time.sleep(0.01)
    left = list(place.glob("chokepoint-ladder-*"))
    check(len(left) == 1 and stat.S_IMODE(left[0].stat().st_mode) == 0o700, "a ladder's folder is not its own", left)
    child.kill()
    child.wait()
    check(list(place.glob("chokepoint-ladder-*")) == left, "nothing is left: the test shows nothing")
    (left[0] / "ladder.before.json.gz").write_text("left")
    stranger = place / "chokepoint-ladder-strange"  # too long a name
    stranger.mkdir()
    call("train", "--device=cpu", "--model=light", "--ladder", "--loss-every=1", "--time-budget=1", env=environment,
         seconds=120)
    check(list(place.glob("chokepoint-ladder-*")) == [stranger], "what is left", list(place.iterdir()))


@promises("Nothing is removed through a link")
def removed_files(folder):
    record = ["record", "--no-page", "--traces=rec", "--", sys.executable, "-c", "print(1)"]
    names = {"traces": ("private.pt.trace.json.gz", "traces/item_sync.before.json.gz"), "stacks": ("other.pt.trace.json.gz",),
             "notes": ("private.json", "half.json.new")}
    for planted, files in names.items():
        place, victim = folder / planted, folder / planted / "victim"
        victim.mkdir(parents=True)
        for name in files:
            (victim / pathlib.Path(name).name).write_text("precious")
        (place / "rec").mkdir()
        document = {"processes": [{"parts": [{"file": f"stacks/{name}"} for name in files]}]}
        (place / "rec/record.json").write_text(json.dumps(document))
        if planted == "traces":  # the folder itself is a link
            shutil.move(place / "rec/record.json", victim / "record.json")
            (place / "rec").rmdir()
            (place / "rec").symlink_to(victim)
        else:
            (place / "rec" / planted).symlink_to(victim)
        done = call(*record, cwd=place)
        check(done.returncode in (2, 3), f"record with {planted} as a link: exit code {done.returncode}", done.stderr)
        check(done.stderr.count("\n") == 1, f"record does not say why {planted} is refused", done.stderr)
        for name in files:
            check((victim / pathlib.Path(name).name).exists(), f"record removed {name} through a link")
    strange = folder / "strange"
    (strange / "rec/stacks").mkdir(parents=True)
    (strange / "rec/record.json").write_text(json.dumps({"processes": [{"parts": [{"file": "mine.pt.trace.json.gz"},
                                                                                 {"file": "../up.pt.trace.json.gz"}]}]}))
    kept = [strange / "rec/stacks/other.pt.trace.json.gz", strange / "up.pt.trace.json.gz", strange / "rec/table.json"]
    named = strange / "rec/mine.pt.trace.json.gz"
    for path in (*kept, named):
        path.write_text("precious")
    done = call(*record, cwd=strange, code=2)
    check("no recording" in done.stderr, "a trace of nobody", done.stderr)
    check(named.exists() and all(path.exists() for path in kept), "a recording that was refused has lost traces")
    kept.pop(0).unlink()
    call(*record, cwd=strange, code=0)
    check(not named.exists(), "a trace of the older recording is left")
    check(all(path.exists() for path in kept), "record removed what its recording does not name")


@promises("Besides these")
def left_files(folder):
    left, other = folder / "r.json.abcdef.chokepoint", folder / "q.json.abcdef.chokepoint"
    left.write_text("half")
    other.write_text("half")
    (folder / "r.json.ghijkl.chokepoint").symlink_to(other)
    call("bench", "--benchmark_filter=lat_event", "--benchmark_min_time=0.001s", f"--benchmark_out={folder / 'r.json'}", code=0)
    check(not left.exists(), "what a killed writer left is not removed")
    check(other.exists(), "a file of another writer is gone")


@promises("A folder and a result name only regular files")
def regular_files(folder):
    traces = folder / "traces"
    traces.mkdir()
    trace(traces / "real.json", "k")
    os.mkfifo(traces / "fifo.json")
    (traces / "folder.json").mkdir()
    done = call("diagnose", traces, "--format=json", code=0)
    check(len(json.loads(done.stdout)["traces"]) == 1, "a FIFO in a folder", done.stdout[:500])
    call("fleet", traces, seconds=20)
    (traces / "real.json").unlink()
    check("has no traces" in call("diagnose", traces, code=2).stderr, "a folder of FIFOs alone")
    out = result(folder / "result", "traces/t.json.gz")
    (out / "traces").mkdir()
    os.mkfifo(out / "traces/t.json.gz")
    call("report", out, f"--out={folder}/p.html", seconds=30)
    quiz(out)
    subprocess.run([source / "scripts/plot.py", "timeline", out, "-o", folder / "t.json"], timeout=60, check=False,
                   capture_output=True)
    (out / "result.json").unlink()
    os.mkfifo(out / "result.json")
    for arguments in (("run", "item_sync", "--quick", "--device=cpu", f"--out={out}"), ("compare", out, out),
                      ("history", "add", folder / "h.jsonl", out), ("report", out, f"--out={folder}/p.html"),
                      ("quiz", f"--result={out}"), ("diagnose", out), ("explain", "item_sync", f"--result={out}")):
        done = call(*arguments, seconds=20)
        check(done.returncode in (2, 3), f"{arguments[0]} of a FIFO: exit code {done.returncode}", done.stderr)
    fifo = folder / "named"
    os.mkfifo(fifo)
    text = trace(folder / "whole.json", "k").read_bytes()
    writer = threading.Thread(target=lambda: fifo.write_bytes(text))
    writer.start()
    call("diagnose", fifo, code=0)
    writer.join()


@promises("A result names only traces below its own folder")
def traces_below(folder):
    secret = trace(folder / "secret.json", "the_secret_kernel")
    for number, name in enumerate((str(secret), "../secret.json", "traces/../../secret.json")):
        out = result(folder / f"r{number}", name)
        (out / "traces").mkdir()
        page = out / "p.html"
        call("report", out, f"--out={page}")
        check(not page.exists() or "the_secret_kernel" not in page.read_text(), f"report reads {name}")
        done = quiz(out)
        check("the_secret_kernel" not in done.stdout, f"quiz reads {name}", done.stdout)


@promises("Control characters")
def control_characters(folder):
    bad = folder / f"{UGLY}.json"
    bad.write_text("{")
    box = folder / f"box{UGLY}"
    box.mkdir()
    (box / bad.name).write_text("{")
    good = trace(folder / f"good{UGLY}.json", f"kernel{UGLY}", "b")
    where = [("diagnose", bad), ("diagnose", box), ("diagnose", good), ("diagnose", good, bad), ("fleet", bad),
             ("fleet", box), ("report", bad), ("report", box), ("compare", bad, bad), ("compare", good, good),
             ("compare", "--explain", good, good), ("history", "show", bad), ("history", "check", bad),
             ("history", "add", bad, bad), ("train", f"--data={bad}", "--device=cpu"), ("bench", f"--against={box}"),
             ("doctor", f"--against={bad}", "--device=cpu"), ("run", UGLY), ("explain", UGLY), (UGLY,),
             ("run", f"--{UGLY}"), ("quiz", f"--result={bad}"), ("train", f"--resume={bad}", "--device=cpu"),
             ("diagnose", bad, "--verbose"), ("diagnose", folder / f"none{UGLY}.json"),
             ("digest", good, f"--out={folder}/{UGLY}.digest"), ("job", folder / f"{UGLY}.digest", f"--out={folder}/{UGLY}.html"),
             ("digest", bad, f"--out={folder}/bad"), ("job", bad), ("kernel", bad), ("kernel", folder / f"{UGLY}.ptx"),
             ("report", good, f"--out={folder}/r{UGLY}.html"), ("report", box, f"--site={folder}/s{UGLY}"), ("record", f"--traces={folder}/{UGLY}", "--", "true"),
             ("kernel", "uncoalesced_access_before", f"--out={folder}/k{UGLY}.html"), ("quiz", "--kernels", "--sheet=1", f"--out={folder}/q{UGLY}"),
             ("train", "--device=cpu", "--steps=2", "--model=light", f"--trace={folder}/{UGLY}.json")]
    for arguments in where:
        done = call(*arguments, *([f"--out={folder}/p.html"] if arguments[0] == "report" and len(arguments) == 2 else []))
        for text in (done.stdout, done.stderr):
            check(not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text), f"{arguments} prints raw", repr(text[:300]))
    done = subprocess.run([source / "scripts/plot.py", "timeline", bad, "-o", folder / "x.svg"], capture_output=True,
                          text=True, check=False)
    check("\x1b" not in done.stdout + done.stderr, "plot.py prints raw", repr(done.stderr))


@promises("Names in traces are text on the page")
def pages(folder):
    markup = '<script>alert(1)</script><img src="http://example.org/x">'
    done = call("report", trace(folder / "t.json", markup, "b"), f"--out={folder}/p.html")
    if done.returncode != 3:
        page = (folder / "p.html").read_text()
        check("<script>alert" not in page and "<img src=\"http" not in page, "markup on a page")
        check(not re.search(r'(src|href)="(https?:)?//', page), "a page loads something")


@promises("Events of a trace")
def large_events(folder):
    deep = ',{"ph":"X","name":"deep","ts":1,"dur":1,"pid":1,"tid":1,"args":' + "[" * 100 + "]" * 100 + "}"
    long = ',{"ph":"X","name":"' + "n" * (17 << 20) + '","ts":1,"dur":1,"pid":1,"tid":1}'
    for extra, said in ((deep, "64 deep"), (long, "longer than 16")):
        done = call("diagnose", trace(folder / "t.json", "k", "b", extra=extra), code=0)
        check(said in done.stdout + done.stderr, f"an event: {said}", done.stdout[:500])
    check("EVENTS_MAX = 50000000" in (source / "harness/desk/read/reader.c").read_text(), "the most events")


MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
print(json.dumps([done.stdout, done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10]))
"""


def with_memory(*words):
    """The program's output, its exit code, and its memory in MiB. A small process starts it, since memory of the process
    that starts a program counts as the program's."""
    return json.loads(subprocess.check_output([sys.executable, "-c", MEASURED, program, *words]))


@promises("A compressed trace is inflated piece by piece")
def bombs(folder):
    path = folder / "bomb.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"traceEvents": [')
        for _ in range(256):
            file.write(b" " * (1 << 20))
        file.write(b"]}")
    _, _, mebibytes = with_memory("diagnose", path)
    check(mebibytes < 100, f"268 MB of blanks take {mebibytes} MB")


@promises("An export of Nsight Systems")
def exports(folder):
    path, secret, text = folder / "long.sqlite", "hunter2-is-no-password", "x" * 2000000
    export = Export()
    export.kernel("k", 1000, 2000, 1, 42)
    for number in range(100):
        export.range(text, 1000 + number, 1000 + number, 42, 42)
        export.add("META_DATA_CAPTURE", name=f"TOKEN{number}", value=secret)
    export.write(path)
    output, code, mebibytes = with_memory("diagnose", path)
    check(code == 0 and secret not in output, "an export's environment is printed", output)
    check(mebibytes < 60, f"200 MB of long rows take {mebibytes} MB")
    bytes_ = path.read_bytes()
    at = bytes_.index(b"x" * 2000) // 4096 * 4096  # the first page of a long row's rest: it becomes its own next one
    path.write_bytes(bytes_[:at] + (at // 4096 + 1).to_bytes(4, "big") + bytes_[at + 4:])
    call("diagnose", path, code=0)  # a row in circles is as long as it says


@promises("A pickle is read as data")
def pickles(folder):
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {folder}/OWNED",)
    path = folder / "evil.pickle"
    for protocol in range(2, 6):
        path.write_bytes(pickle.dumps({"segments": [Evil()], "device_traces": []}, protocol=protocol))
        done = call("diagnose", path, code=2)
        check("GLOBAL" in done.stderr and "byte" in done.stderr, "an evil pickle", done.stderr)
    check(not (folder / "OWNED").exists(), "a pickle was run")
    # A list of a hundred items, which is named again and again, on each of some levels.
    levels = b"".join(b"](" + b"h" + bytes([level]) + (b"h" + bytes([level])) * 99 + b"e\x94" for level in range(1, 9))
    path.write_bytes(b"\x80\x04}\x94]\x94" + levels + b"0" * 9 + b"(\x8c\x08segmentsh\x09u.")
    begin = time.monotonic()
    call("diagnose", path, seconds=20)
    check(time.monotonic() - begin < 10, "a pickle of lists takes long")


@promises("JSON of results")
def deep_results(folder):
    path = folder / "deep.json"
    for text in ("[" * 1001 + "]" * 1001, '{"a":' * 100000 + "1" + "}" * 100000):
        path.write_text(text)
        for arguments in (("compare", path, path), ("fleet", path), ("history", "add", folder / "h.jsonl", path)):
            check("not JSON" in call(*arguments, code=2).stderr, f"{arguments[0]} of deep JSON")
        path.write_text(text + "\n")
        call("history", "show", path)
    packed = folder / "packed.json.gz"
    packed.write_bytes(gzip.compress(b" " * (200 << 20), 1))
    for arguments in (("compare", packed, packed), ("fleet", packed), ("history", "add", folder / "h.jsonl", packed),
                      ("history", "show", packed)):
        done = call(*arguments, code=2, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (150 << 20, 150 << 20)))
        check("memory" not in done.stderr, f"{arguments[0]} inflates a result", done.stderr)


@promises("A JPEG file")
def large_pictures(folder):
    call("train", "--device=cpu", "--steps=2", code=0)
    made = sorted((folder / "cache").rglob("*.jpg"))[:8]
    if not made:
        return check(False, "there are no generated images to change")
    data = folder / "data"
    for label in ("a", "b"):
        (data / label).mkdir(parents=True)
        for i, file in enumerate(made):
            shutil.copy(file, data / label / f"{i}.jpg")
    bytes_of = bytearray(made[0].read_bytes())
    at = bytes_of.index(b"\xff\xc0")  # the frame: its height and width are 5 bytes on
    bytes_of[at + 5:at + 9] = struct.pack(">HH", 65500, 65500)
    for file in (data / "a").iterdir():
        file.write_bytes(bytes_of)
    done = call("train", "--device=cpu", "--steps=20", "--model=light", f"--data={data}")
    check("damaged" in done.stdout + done.stderr or "pixels" in done.stdout + done.stderr, "a huge picture is decoded",
          done.stdout[-500:], done.stderr)
    with open(data / "b/0.jpg", "r+b") as file:
        file.truncate((1 << 30) + 1)
    done = call("train", "--device=cpu", "--steps=20", "--model=light", f"--data={data}", preexec_fn=lambda:
                resource.setrlimit(resource.RLIMIT_DATA, (900 << 20, 900 << 20)))
    check("too many for an image" in done.stdout + done.stderr or "damaged" in done.stdout + done.stderr,
          "a file of a gigabyte", done.stdout[-500:], done.stderr)


@promises("A line of a file of digests")
def digests_are_checked(folder):
    file = folder / "long.digest"
    for text in (b" " * (1 << 21), b",\"head\":7}\n"):
        file.write_bytes(gzip.compress(b'{"chokepoint_digest":1' + text, 1))
        for command in ("diagnose", "job"):
            done = call(command, file)
            check(done.returncode == 2 and "long.digest" in done.stderr, f"{command} of a digest that is no digest",
                  done.stdout, done.stderr)


def history(path):
    path.write_text("".join(json.dumps({
        "date": f"2026-03-{day:02}T10:00:00+00:00", "machine": "m", "row": "x", "metric": "real_time", "statistic": "best",
        "unit": "us", "value": 1000 + day, "repetitions": 9}) + "\n" for day in range(1, 13)), encoding="utf-8")


@promises("`report --site` removes pages")
def site_removes(folder):
    site, outside = folder / "site", folder / "outside.html"
    site.mkdir()
    (folder / "in").mkdir()
    history(folder / "in/h.jsonl")
    for path in (outside, site / "old.html", site / "notes.txt"):
        path.write_text("mine", encoding="utf-8")
    call("report", folder / "in", f"--site={site}", code=2)
    check(len(list(site.iterdir())) == 2, "a folder that is no site is written to", *site.iterdir())
    (site / "link.html").symlink_to(outside)
    names = ("old.html", "notes.txt", "link.html", "../outside.html", str(outside))
    (site / "index.json").write_text(json.dumps({"site": {"pages": [{"page": name} for name in names]}}), encoding="utf-8")
    call("report", folder / "in", f"--site={site}", code=0)
    check({path.name for path in site.iterdir()} == {"in-h.jsonl.html", "index.html", "index.json", "link.html", "notes.txt"},
          "only old.html goes", *site.iterdir())
    check(outside.read_text(encoding="utf-8") == "mine", "a page that a link leads to")


@promises("A site is published")
def site_links(folder):
    history(folder / "secret.jsonl")
    results = folder / f"in{UGLY}"
    results.mkdir()
    history(results / "h.jsonl")
    (results / "link.jsonl").symlink_to(folder / "secret.jsonl")
    (results / "folder").symlink_to(folder)
    call("report", results, f"--site={folder}/site", code=0)
    index = json.loads((folder / "site/index.json").read_text(encoding="utf-8"))["site"]
    check(len(index["pages"]) == 1 and len(index["left_out"]) == 2, "links have no pages", index)
    check("\x1b" not in str(index) and "\u202e" not in index["pages"][0]["name"], "names are printed as they are", index)


signal.signal(signal.SIGPIPE, signal.SIG_DFL)
page = (source / "docs/security.md").read_text()
items = re.findall(r"^- ((?:.|\n  )+)", page, re.MULTILINE)
for item in items:
    if sum(item.startswith(words) for words in tests) != 1:
        check(False, f"docs/security.md promises what no test shows: {item}")
for words in tests:
    check(any(item.startswith(words) for item in items), f"docs/security.md does not promise: {words}")
only = sys.argv[3:]
for words, test in tests.items():
    if only and test.__name__ not in only:
        continue
    with tempfile.TemporaryDirectory() as name:
        os.environ["CHOKEPOINT_CACHE"] = f"{name}/cache"
        begin = time.monotonic()
        test(pathlib.Path(name))
        print(f"{test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
end()
