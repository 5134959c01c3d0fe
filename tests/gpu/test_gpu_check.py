#!/usr/bin/env python3
"""The promises of scripts/gpu_check.py: a check that fails or hangs does not stop the others; calls that are cut at any moment
add up to a whole check, carried from machine to machine in an archive, and measure nothing twice. The whole plan is tried over
a build of stand-ins, and some of its steps with the program on the CPU device. Its measurements need a GPU.

usage: test_gpu_check.py CHECKOUT PROGRAM [SEED [CUTS]]
"""
import json
import os
import pathlib
import random
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fixtures"))
from checking import check, end  # noqa: E402

CHECKOUT, PROGRAM = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SEED, CUTS = (int(word) for word in (sys.argv[3:] + ["1", "8"])[:2])
# In place of chokepoint: it writes what it has whenever it has more, as ours does, and notes what it measured.
STAND_IN = r'''
import gzip, json, os, sys, time
words = sys.argv[1:]
value = {one.split("=")[0]: one.partition("=")[2] for one in words if one.startswith("--")}
def put(path, content):
    with open(path + ".new", "w") as file:
        file.write(content)
    os.replace(path + ".new", path)
def measured(name):
    with open(os.path.dirname(os.path.abspath(__file__)) + "/measured", "a") as file:
        file.write(name + "\n")
if words[0] == "list":
    groups = ("data", True), *[("data", False)] * 5, ("copies", False), ("memory", False), ("ranks", False)
    print(json.dumps({"scenarios": [{"name": f"s{i}", "group": group, "core": core} for i, (group, core) in enumerate(groups)]}))
elif words[0] == "run":
    os.makedirs(value["--out"] + "/traces")
    done = []
    for name in [one for one in words[1:] if not one.startswith("--")]:
        time.sleep(PAUSE)
        put(f"{value['--out']}/traces/{name}.before.json.gz", "x" * (10 if name == "s1" else 500000))
        skipped = name == "s8"
        done.append({"name": name, "verdict": "skipped" if skipped else "reproduced", "effect": None if skipped else 1.5,
                     "reason": "no second GPU" if skipped else "",
                     "tracing": {"before": None if skipped else {"overhead": 0.09}, "after": None}})
        measured(f"{os.path.basename(os.path.dirname(value['--out']))} {name}")
        put(value["--out"] + "/result.json", json.dumps({"context": {"device": "cuda"}, "chokepoint": {"scenarios": done}}))
    print(f"{len(done)} scenarios: all reproduced")
elif words[0] == "diagnose":
    print(json.dumps({"findings": [{"id": "host_sync"}], "traces": [{"counters": {"text": "SMs active 60%"}}]}))
else:
    time.sleep(PAUSE)
    if "--benchmark_out" in value:
        measured(os.path.basename(value["--benchmark_out"]))
        put(value["--benchmark_out"], '{"benchmarks": []}')
    swept = [{"run_name": f"train/elementwise:{name}", "real_time": ms, "time_unit": "ms"}
             for name, ms in (("fused", 40), ("epilogue", 36))]
    print(json.dumps({"benchmarks": swept}) if "--sweep" in value else
          json.dumps({"loss": LOSS}) if "--ranks" in value and words[0] == "train" else f"a line of {words[0]}")
    if "--trace" in value:
        with gzip.open(value["--trace"], "wt") as file:
            file.write('{"chokepoint":{"steps":4,"rows":40,"step_time_us":100.000,"tracing_overhead":0.125}}')
    sys.exit(3 if os.environ.get("NO_GPU") else 0)
'''


def program(path, text, interpreter="sh"):
    pathlib.Path(path).write_text(f"#!/usr/bin/env {interpreter}\n{text}\n")
    os.chmod(path, stat.S_IRWXU)


def build(folder, tests, pause=0.02, loss="2.3"):
    """A folder of stand-ins: the program, and tests as name -> shell."""
    os.makedirs(folder, exist_ok=True)
    program(f"{folder}/chokepoint", STAND_IN.replace("PAUSE", str(pause)).replace("LOSS", loss), "python3")
    for name, body in tests.items():
        program(f"{folder}/{name}_program", body)
    pathlib.Path(folder, "gpu_tests").write_text("".join(
        f"{name} {name}_program{' lone 1' if name == 'test_gpu_ranks' else ''}\n" for name in tests))
    return folder


def call(*words, code=0, says="", **environment):
    done = subprocess.run([f"{CHECKOUT}/scripts/gpu_check.py", *words], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    check(done.returncode == code and says in done.stdout + done.stderr, f"{words}: exit code {done.returncode}, not {code}",
          done.stdout, done.stderr)
    return done.stdout


def table(folder):
    lines = pathlib.Path(folder, "table.txt").read_text().splitlines()[1:]
    rows = {line.split("\t")[0].strip(): [word.strip() for word in line.split("\t")[1:]] for line in lines}
    check(len(rows) == len(lines), "a line of the table is there twice", *lines)
    return rows


def try_usage(place):
    call(code=2, says="folder")
    call("--fast", f"{place}/r", code=2, says="--fast")
    call("--part", "speed", f"{place}/r", code=2, says="speed")
    call("--build", place, f"{place}/r", code=2, says="holds no chokepoint")
    made = build(f"{place}/none", {})
    call("--build", made, f"{place}/r", code=77, NO_GPU="1")
    call("--build", made, "--from", f"{place}/absent", place, code=2, says="wants an empty folder")


def try_steps(place):
    """Each has its line, whatever the others do."""
    good = 'echo "[  PASSED  ] connections: $CUDA_DEVICE_MAX_CONNECTIONS plugins: $CHOKEPOINT_PLUGINS arguments: $*"'
    made = build(f"{place}/steps", {
        "test_gpu_other": good, "test_gpu_kernels": good, "test_gpu_ranks": good, "test_gpu_training": good,
        "test_gpu_bad": 'echo "[  FAILED  ] sums"; exit 1', "test_gpu_absent": 'echo "skipped: no such thing"; exit 77',
        "test_gpu_hangs": "exec tail -f /dev/null"})
    tools = f"{place}/tools"
    os.makedirs(tools)
    program(f"{tools}/compute-sanitizer", 'echo "$CHOKEPOINT_TEST_TYPE: $*"; echo "========= ERROR SUMMARY: 0 errors"')
    program(f"{tools}/nsys", 'case $1 in export) echo tables >exec.sqlite ;; *) echo report >exec.nsys-rep ;; esac')
    program(f"{tools}/ncu", 'echo "==ERROR== ERR_NVGPUCTRPERM" >&2; exit 1')
    path = {"PATH": f"{tools}:{os.environ['PATH']}"}
    folder = f"{place}/stepped"
    call("--build", made, "--part", "tests", "--only", "test_gpu_[^h]", folder, code=1)
    call("--build", made, "--part", "tests", "--only", "hangs", "--seconds", "2", folder, code=1)
    rows = table(folder)
    check(list(rows)[1] == "test_gpu_kernels", "kernels come first", rows)
    check(rows["test_gpu_kernels"][3].endswith("connections: 32 plugins: arguments:"), "a test's environment", rows)
    check(rows["test_gpu_ranks"][3].endswith(f"plugins: {made}/lone arguments: 1"), "a lone rank's plugins", rows)
    check([rows[name][0] for name in ("test_gpu_bad", "test_gpu_absent", "test_gpu_hangs")] == ["FAILED", "skip", "cut"], "results",
          rows)
    program(f"{made}/test_gpu_bad_program", "exit 0")
    program(f"{made}/test_gpu_hangs_program", "exit 0")
    call("--build", made, "--part", "tests", folder, code=1)
    check([table(folder)[name][0] for name in ("test_gpu_bad", "test_gpu_hangs", "doctor")] == ["FAILED", "ok", "ok"],
          "what was cut runs again, and what failed does not", table(folder))
    call("--build", made, "--part", "tests", "--again", folder)
    call("--build", made, "--part", "torch", "--only", "check|exec|heavy|epilogues|counters", folder, **path)
    rows = table(folder)
    check([rows[name][0] for name in ("memcheck", "initcheck", "exec_nsys", "exec_ncu", "heavy")] ==
          ["ok", "ok", "ok", "skip", "ok"], "tools", rows)
    check("ERR_NVGPUCTRPERM" in rows["exec_ncu"][3] and rows["exec_nsys"][3] == "finds host_sync", "their figures", rows)
    check(rows["epilogues"][3] == "a step takes 0.900 of its time with epilogues: 36 and 40 ms", "both times", rows)
    check(rows["counters"][3] == "SMs active 60%", "the GPU's counters", rows)
    log = pathlib.Path(folder, "log.txt").read_text()
    check(f"bf16: --tool initcheck --error-exitcode 9 --target-processes all {made}/test_gpu_kernels_program" in log, "initcheck")
    check(json.loads(pathlib.Path(folder, "heavy.json").read_text())["findings"], "the diagnosis of the heavy step")
    program(f"{tools}/ncu", 'echo "\\"1\\",\\"gpu__time_duration.sum\\",\\"2\\""')
    call("--build", made, "--part", "torch", "--only", "exec_ncu", f"{place}/counted", **path)
    check(table(f"{place}/counted")["exec_ncu"][:1] == ["ok"], "ncu sees kernels", table(f"{place}/counted"))
    call("--build", made, "--part", "bench", "--only", "ranks", folder)
    check(table(folder)["ranks_cpu"][3] == "loss 2.3, and 2.3 on the CPU device", "the loss of two ranks", table(folder))
    call("--build", made, "--part", "bench", "--only", "tracing", folder)
    check(table(folder)["tracing_graph_nodes"][3] == "tracing +12.5% of 100 us, 10 rows a step", "what tracing costs", table(folder))
    other = build(f"{place}/other", {}, loss='2.3 if "--device=cpu" in words else 2.4')
    call("--build", other, "--part", "bench", "--only", "ranks", f"{place}/apart", code=1)
    check(table(f"{place}/apart")["ranks_cpu"][0] == "FAILED", "a loss that is another", table(f"{place}/apart"))


def is_whole(folder, when):
    for path in pathlib.Path(folder).rglob("*.json"):
        try:
            json.loads(path.read_text())
        except ValueError as error:
            check(False, f"{when}: {path} cannot be read: {error}")
    rows = (line.split("\t") for line in pathlib.Path(folder, "table.txt").read_text().splitlines())
    check(all(len(row) == 5 for row in rows), f"{when}: a line of the table is not whole")


def try_cuts(place, sign):
    """Each call is on a machine of its own, and ends at some moment; only the archive goes on."""
    slow = "sleep 0.03; echo '[  PASSED  ] 1 test(s).'"
    made = build(f"{place}/cut", {name: slow for name in ("test_gpu_kernels", "test_gpu_other", "test_faults_gpu")}, 0.15)
    archive, moments = f"{place}/archive.tar.gz", random.Random(SEED)
    for number in range(CUTS + 1):
        folder = f"{place}/machine{number}"
        words = [f"{CHECKOUT}/scripts/gpu_check.py", "--build", made, "--rounds", "2", "--from", archive, "--to", archive, folder]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            if number < CUTS:
                process.stdout.readline()  # the device opens
                time.sleep(1.2 * moments.random())
                process.send_signal(sign)
            said = process.communicate()[0]
        if os.path.exists(f"{folder}/table.txt"):
            is_whole(folder, f"cut {number}")
        check(process.returncode in (0, 143, -sign), f"cut {number}: exit code {process.returncode}", said)
        check(not os.path.exists(archive) or tarfile.is_tarfile(archive), f"cut {number}: the archive")
    rows = table(folder)
    check(process.returncode == 0 and all(row[0] in ("ok", "skip") for row in rows.values()), "the check ends", said)
    measured = pathlib.Path(made, "measured").read_text().splitlines()
    # A kill leaves no time to pack what was measured last.
    check(len(measured) == len(set(measured)) or sign == signal.SIGKILL, "something was measured twice", measured)
    wanted = {"round1 s0", "round2 s0", *(f"run s{i}" for i in range(1, 7)), "rest s7", "rest s8",
              *(f"bench_{name}.json" for name in ("ranks", "copies", "products", "kernels"))}
    check(set(measured) == wanted, "what was measured", set(measured) ^ wanted)
    check(rows["rounds of s0"][3] == "2 of 2 reproduced, 1.50x to 1.50x", "rounds", rows)
    check(rows["run s1"][3] == "1.50x tracing +9.0%" and rows["rest s8"][0] == "skip", "scenarios", rows)
    kept = {path.name for path in pathlib.Path(folder).rglob("*") if path.parent.name in ("traces", "diagnoses")}
    check("s2.before.json" in kept and "s2.before.json.gz" not in kept and "s1.before.json.gz" in kept, "large traces go", kept)


def try_the_program(place):
    """Steps as they are on a GPU, on the CPU device; the call is cut after a while, and goes on."""
    words = ["--build", os.path.dirname(PROGRAM), "--device", "cpu", "--rounds", "1", f"{place}/cpu",
             "--only", "^(test_gpu_(copy|cupti)|ranks.*|heavy|exec_ncu)$"]
    with subprocess.Popen([f"{CHECKOUT}/scripts/gpu_check.py", *words], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("test_gpu_copy"):
                process.terminate()
        check(process.wait() == 143, "told to end")
    call(*words)
    rows = table(f"{place}/cpu")
    check([rows[name][0] for name in ("test_gpu_copy", "heavy", "exec_ncu")] == ["ok", "ok", "skip"], "steps", rows)
    check("test_gpu_cupti" not in rows, "tests of GPUs are not run on the CPU device", rows)
    check(json.loads(pathlib.Path(place, "cpu/heavy.json").read_text())["schema"], "a diagnosis of the heavy step")


for attempt in (try_usage, try_steps, lambda place: try_cuts(place, signal.SIGTERM),
                lambda place: try_cuts(place, signal.SIGKILL), try_the_program):
    with tempfile.TemporaryDirectory() as root:
        attempt(root)
print(f"seed {SEED}")
end()
