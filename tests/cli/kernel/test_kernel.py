#!/usr/bin/env python3
"""`chokepoint kernel` as its user meets it: ten kernels in the style of public samples compute what they should and have
the findings that they should; twenty broken ones are named at their line; each kernel of kernels/lessons is diagnosed as its
own lesson before, and as nothing after, on each architecture; and what is wrong in a call is said.

The PTX of tests/lab/kernel/samples is kept beside the sources. Where nvcc of the same version is found, it must be what
nvcc makes of them.

usage: test_kernel.py [--renew] PROGRAM SOURCE
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from checking import check, end  # noqa: E402

renews = "--renew" in sys.argv
program, source = [os.path.abspath(word) for word in sys.argv[1:] if word != "--renew"]
samples = pathlib.Path(source, "tests/lab/kernel/samples")
lessons = {path.stem: path.read_text().splitlines() for path in pathlib.Path(source, "kernels/lessons").glob("*.cu")}
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(source, "tests/kernels"))
from nvcc import find, plain  # noqa: E402


def call(*arguments, code=0, **more):
    done = subprocess.run([program, "kernel", *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=120, **more)
    check(done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}", done.stderr[-600:])
    return done


def run(path, grid, block, args, *more, code=0):
    done = call(path, f"--grid={grid}", f"--block={block}", f"--args={args}", "--format=json", *more, code=code)
    return json.loads(done.stdout) if done.stdout.startswith("{") else None


# --- Samples ---


def transposed(arrays):
    return [arrays[1][70 * y + x] for x in range(70) for y in range(50)], 2


def reduced(arrays):
    parts = [0] * 4
    for i, value in enumerate(arrays[1]):
        parts[i // 128 % 4] += value
    return parts, 2


def stencilled(arrays):
    width, height, a = 96, 75, arrays[1]
    inner = {(x, y) for x in range(1, width - 1) for y in range(1, height - 1)}
    return [0.2 * sum(a[width * (y + dy) + x + dx] for dx, dy in ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)))
            if (x, y) in inner else a[width * y + x] for y in range(height) for x in range(width)], 2


def counted(arrays):
    return [arrays[1].count(value) for value in range(256)], 2


def scanned(arrays):
    return [sum(arrays[1][i // 256 * 256:i + 1]) for i in range(1024)], 2


def soft(arrays):
    rows = [arrays[1][i:i + 200] for i in range(0, 6400, 200)]
    most = [max(row) for row in rows]
    powers = [[math.exp(x - m) for x in row] for row, m in zip(rows, most)]
    return [x / sum(row) for row in powers for x in row], 2


def times_vector(arrays):
    return [sum(a * x for a, x in zip(arrays[1][96 * r:96 * r + 96], arrays[2])) for r in range(200)], 3


def product(arrays):
    a, b = arrays[1], arrays[2]
    return [sum(a[64 * y + k] * b[64 * k + x] for k in range(64)) for y in range(64) for x in range(64)], 3


def ordered(arrays):
    return [value for block in range(2) for value in sorted(arrays[1][512 * block:512 * block + 512])], 1


def accelerated(arrays):
    bodies = [arrays[1][i:i + 4] for i in range(0, 1024, 4)]
    found = []
    for x, y, z, _ in bodies:
        pulls = [(m * ((u - x)**2 + (v - y)**2 + (w - z)**2 + 0.01)**-1.5, u - x, v - y, w - z) for u, v, w, m in bodies]
        found += [sum(pull[0] * pull[i] for pull in pulls) for i in (1, 2, 3)] + [0]
    return found, 2


# name: grid, block, arguments, what comes out in which argument, findings
SAMPLES = {
    "transpose": ("5,4", "16,16", "f32[70*50]:iota,f32[50*70],i32:70,i32:50", transposed, {"misaligned_rows"}),
    "reduction": ("4", "128", "i32[4000]:random<1000,i32[4],i32:4000", reduced, {"scalar_access"}),
    "stencil": ("3,10", "32,8", "f32[96*75]:random,f32[96*75],i32:96,i32:75", stencilled, set()),
    "histogram": ("4", "256", "u8[8k]:random,u32[256]:zero,i32:8192", counted, {"scalar_access", "few_loads_in_flight"}),
    "scan": ("4", "256", "i32[1k]:random<100,i32[1k]", scanned, set()),
    "softmax": ("8", "128", "f32[32*200]:random,f32[32*200],i32:200", soft, {"scalar_access", "few_loads_in_flight"}),
    "gemv": ("2", "128", "f32[200*96]:random,f32[96]:random,f32[200],i32:200,i32:96", times_vector,
             {"uncoalesced_access"}),
    "matmul": ("4,4", "16,16", "f32[64*64]:random,f32[64*64]:random,f32[64*64],i32:64", product, {"no_reuse"}),
    "bitonic_sort": ("2", "256", "u32[1k]:random", ordered, {"bank_conflicts"}),
    "nbody": ("2", "128", "f32[1k]:random,f32[1k],i32:256", accelerated, {"no_reuse"}),
}


def values_of(found):
    return {array["argument"]: array["values"] for array in found["arrays"]}


def try_sample(name):
    grid, block, args, wanted_of, findings = SAMPLES[name]
    path = samples / "ptx" / f"{name}.ptx"
    found = run(path, grid, block, args, "--elements=100000", "--registers=32")
    # The arrays as they were before a kernel changes them in place: no thread does anything behind an instruction.
    begun = run(path, grid, block, args, "--elements=100000", "--most-instructions=1", code=1)
    wanted, argument = wanted_of(values_of(begun))
    values = values_of(found)[argument]
    check(found["wrong"] is None, f"{name}: {found['wrong']}")
    check(len(values) >= len(wanted) > 0, f"{name}: {len(values)} values")
    wrong = [i for i, (a, b) in enumerate(zip(values, wanted)) if abs(a - b) > 1e-4 * max(abs(b), 1e-3)]
    check(not wrong, f"{name}: {len(wrong)} of {len(wanted)} values are wrong",
          [(i, values[i], wanted[i]) for i in wrong[:4]])
    ids = {finding["id"] for finding in found["findings"]}
    check(ids == findings, f"{name}: findings {sorted(ids)}, not {sorted(findings)}")
    code = (samples / f"{name}.cu").read_text().splitlines()
    for finding in found["findings"]:
        check(finding["file"] == f"{name}.cu" and 0 < finding["line"] <= len(code), f"{name}: {finding} is of no line")


# name: block, grid, arguments
BROKEN = {
    "missing_barrier": ("128", "1", "i32[128]:iota,i32[128]"),
    "second_barrier_missing": ("128", "1", "i32[128]:iota,i32[128],i32:2"),
    "barrier_in_branch": ("64", "1", "i32[64]"),
    "one_too_many": ("32", "4", "i32[100]:iota,i32[100],i32:100"),
    "negative_index": ("32", "1", "f32[32]:iota,f32[32]"),
    "beyond_the_tile": ("128", "1", "f32[128]"),
    "unwritten_shared": ("64", "1", "i32[64]"),
    "lost_update": ("128", "2", "i32[1]:zero"),
    "blocks_race": ("32", "2", "i32[64]:zero"),
    "odd_float4": ("32", "1", "f32[256]:iota,f32[128]"),
    "no_syncwarp": ("32", "1", "i32[32]:iota,i32[32]"),
    "half_a_shuffle": ("32", "1", "i32[32]:iota,i32[32]"),
    "all_to_one": ("32", "1", "i32[32]"),
    "rows_for_columns": ("32", "8", "f32[256]:random,f32[256],i32:32,i32:8"),
    "too_little_shared": ("64", "1", "i32[64]:iota,i32[64]", "--shared=256"),
    "rounds_differ": ("64", "1", "i32[64]:random<8,i32[64]"),
    "sum_in_place": ("128", "1", "i32[128]:iota,i32:128"),
    "histogram_of_a_block": ("128", "1", "u8[128]:random,i32[16]:zero"),
    "result_of_another_block": ("32", "2", "i32[64]:iota,i32[2]:zero,i32[1]"),
    "wide_from_bytes": ("32", "1", "u8[512]:random,f64[32]"),
}
KINDS = {"missing_barrier": "missing barrier", "second_barrier_missing": "missing barrier", "barrier_in_branch": "barrier",
         "unwritten_shared": "nobody wrote", "lost_update": "a race", "blocks_race": "race",
         "odd_float4": "misaligned", "no_syncwarp": "__syncwarp()", "half_a_shuffle": "an exchange", "all_to_one": "lanes of one store",
         "rounds_differ": "a barrier", "sum_in_place": "a race", "histogram_of_a_block": "a race",
         "result_of_another_block": "a race", "wide_from_bytes": "misaligned"}


def try_broken():
    code = (samples / "broken/broken.cu").read_text()
    for name, (block, grid, args, *more) in BROKEN.items():
        before = code[:code.index("// here", code.index(f"void {name}("))]
        line = before.count("\n") + 1
        found = run(samples / "broken/ptx/broken.ptx", grid, block, args, f"--kernel={name}", *more, code=1)
        wrong = found["wrong"] or {"place": None, "kind": ""}
        place = (wrong["place"] or "").split("inlined at ")[-1]  # a shuffle is a function of nvcc's headers
        check(place == f"broken.cu:{line}", f"{name}: {wrong}, not at line {line}")
        check(KINDS.get(name, "out of bounds") in wrong["kind"], f"{name}: {wrong['kind']}")


# --- Lessons ---

def try_lesson(name, variant, architecture):
    """The wrong kernel is diagnosed as its own lesson and no other, the right one as nothing."""
    kernel = f"{name}_{variant}"
    found = json.loads(call(kernel, f"--arch={architecture}", "--format=json").stdout or "{}")
    ids = [finding["id"] for finding in found["findings"]]
    check(found["wrong"] is None, f"{kernel}: {found['wrong']}")
    wanted = {"before": [[name]], "between": [[], [name]], "after": [[]]}[variant]
    check(ids in wanted, f"{kernel} on sm_{architecture}: {ids}",
          *[finding["text"] for finding in found["findings"]])
    check(kernel != "register_spills_between" or ids and found["residency"]["spilled_bytes"] > 128, f"{kernel}: no spill")
    check(found["residency"]["from_ptxas"] and found["residency"]["registers"] > 0, f"{kernel}: registers")
    check(found["source"] == f"{name}.cu" and any(kernel in line for line in lessons[name]), f"{kernel}: no source")
    check(found["code"] == lessons[name][found["code_first"] - 1:][:len(found["code"])] != [], f"{kernel}: its lines")
    begins = next(number for number, line in enumerate(lessons[name], 1) if f"{kernel}(" in line)
    check(any(row["line"] in (begins - 1, begins) for row in found["lines"]), f"{kernel}: the PTX has other lines")


def commands_of(text):
    """What follows `chokepoint kernel` in the lines of a document."""
    return re.findall(r"^\S+ kernel (\S+)$", text, flags=re.MULTILINE)


def try_other_launch():
    """Options replace parts of a lesson's launch; with the lesson's own values nothing changes."""
    own = call("bank_conflicts_before", "--format=json").stdout
    same = call("bank_conflicts_before", "--grid=8,8", "--block=32,32", "--args=f32[64k]:small,f32[64k]:zero,i32:256",
                "--format=json").stdout
    check(same == own, "the lesson's launch as options")
    smaller = json.loads(call("bank_conflicts_before", "--grid=4,4", "--args=f32[16k]:small,f32[16k]:zero,i32:128",
                              "--format=json").stdout)
    passes, fewer = (next(row["touched"] for row in counts["accesses"] if row["name"] == "shared loads")
                     for counts in (json.loads(own)["counts"], smaller["counts"]))
    check(smaller["block"] == [32, 32, 1] and passes == 4 * fewer, "a quarter of the matrix, a quarter of the passes")


def try_lessons():
    """By the commands that `explain` prints."""
    explained = subprocess.run([program, "explain", "gpu_kernels", "--format=markdown"], capture_output=True, text=True,
                               check=True).stdout
    kernels = commands_of(explained)
    kept = "".join(path.read_text() for path in pathlib.Path(source, "kernels/lessons/ptx").glob("*.ptx"))
    check(sorted(kernels) == sorted(re.findall(r"\.entry (\w+)", kept)), "explain prints other commands", kernels)
    for kernel in kernels:
        for architecture in (80, 90, 100):
            try_lesson(*kernel.rsplit("_", 1), architecture)


# --- What is kept ---


def try_kept():
    nvcc, version, why = find()
    if nvcc is None:
        print(f"{why}: what is kept was not compiled again")
        return
    for path in [*sorted(samples.glob("*.cu")), samples / "broken/broken.cu"]:
        kept = path.parent / "ptx" / f"{path.stem}.ptx"
        if not renews and version not in kept.read_text():
            continue
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder, "made.ptx")
            subprocess.run([nvcc, "-std=c++17", "-O3", "-lineinfo", "-arch=compute_75", "-ptx", "-o", made, path],
                           check=True)
            text = plain(made.read_text())
        if renews:
            kept.write_text(text)
        check(kept.read_text() == text, f"{kept} is not what nvcc {version} makes; {sys.argv[0]} --renew writes it")
    found = run(samples / "scan.cu", "4", "256", SAMPLES["scan"][2])
    check(found["wrong"] is None and found["counts"]["warps"] == 32, "CUDA C is compiled")
    with tempfile.TemporaryDirectory() as folder:
        wrong = pathlib.Path(folder, "wrong.cu")
        wrong.write_text("__global__ void k() { nonsense }\n")
        check("nvcc refuses" in call(wrong, code=2).stderr, "what nvcc refuses is said")


# --- The call ---

DOUBLED = samples / "ptx" / "scan.ptx"
WRONG = [
    ((), "one file"),
    (("nowhere.ptx",), "cannot be read"),
    ((DOUBLED, "--format=json", "-o", "x.html"), "has no --format"),
    ((DOUBLED, "--beside=x.json"), "is for a page"),
    ((DOUBLED, "--args=i32[1k]"), "takes 2 arguments, not 1"),
    ((DOUBLED, "--args=i32[1k],x7[2]"), "has no type that is known"),
    ((DOUBLED, "--grid=0"), "--grid=0"),
    ((DOUBLED, "--block=1,2,3,4"), "one to three numbers"),
    ((DOUBLED, "--block=32x4"), "one to three numbers"),
    ((DOUBLED, "--arch=70"), "80, 90, 100"),
    ((DOUBLED, "--kernel=other"), "no kernel other; it has scan"),
    ((samples / "broken/ptx/broken.ptx",), "more kernels than one"),
    ((DOUBLED, "--grid=2000000", "--args=i32[1k],i32[1k]"), "the limit"),
    ((DOUBLED, "--args=i32[128M],i32[1k]"), "the limit"),
    ((DOUBLED, "--args=@/dev/null/x"), "cannot be read"),
    (("bank_conflicts",), "give bank_conflicts_before or"),
    (("bank_conflicts_before", "--kernel=tile"), "leave out --kernel"),
    (("bank_conflicts_before", "--grid=0"), "--grid=0"),
    (("bank_conflicts_before", "--arch=70"), "80, 90, 100"),
]


def try_calls():
    for arguments, words in WRONG:
        check(words in call(*arguments, code=2).stderr, f"{arguments} should say: {words}")
    with tempfile.TemporaryDirectory() as folder:
        listed = pathlib.Path(folder, "arguments")
        listed.write_text("# of scan\ni32[1k] : random<100  # in\n\ni32[1k]\n")
        text = call(DOUBLED, "--grid=4", "--block=256", f"--args=@{listed}").stdout
        check("None of the rules holds." in text and "scan.cu:" in text, "a page is printed", text)
        unknown = pathlib.Path(folder, "unknown.ptx")
        unknown.write_text(DOUBLED.read_text().replace("bar.sync \t0;", "wgmma.fence.sync.aligned;", 1))
        line = unknown.read_text()[:unknown.read_text().index("wgmma")].count("\n") + 1
        check(f"unknown.ptx:{line}: unknown instruction wgmma.fence.sync.aligned" in call(unknown, code=2).stderr,
              "an unknown instruction has its line")
    gemv = samples / "ptx/gemv.ptx"
    text = call(gemv, "--grid=2", "--block=128", f"--args={SAMPLES['gemv'][2]}").stdout
    check(re.search(r"line 10 touches 28\.\d\s+sectors per\s+request\s+where 3\.\d+\s+would do", text), "gemv's finding",
          text)
    shown = re.search(r"```text\n(lines.*?)```", pathlib.Path(source, "docs/kernels.md").read_text(), re.DOTALL)[1]
    for line in shown.splitlines():
        check(" ".join(line.split()) in " ".join(text.split()), f"docs/kernels.md shows {line}", text)
    text = call(gemv, "--grid=2", "--block=128", f"--args={SAMPLES['gemv'][2]}", "--format=markdown").stdout
    check("uncoalesced_access" in text and "|" in text, "Markdown", text)


if renews:
    try_kept()
for name in SAMPLES:
    try_sample(name)
try_broken()
try_lessons()
try_other_launch()
if not renews:
    try_kept()
try_calls()
end()
