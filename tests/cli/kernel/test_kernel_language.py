#!/usr/bin/env python3
"""`chokepoint kernel` on what kernels of others use: functions that are called, structs, printf() and assert(), matrix
instructions, asynchronous copies, numbers of 8 bits, atomic operations, textures, a heap. Values are compared with Python's.
Then files of NumPy, references, baselines and names, as a user gives them. The PTX is kept beside the source.

usage: test_kernel_language.py [--renew] PROGRAM SOURCE
"""
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from checking import check, end  # noqa: E402

renews = "--renew" in sys.argv
program, source = [os.path.abspath(word) for word in sys.argv[1:] if word != "--renew"]
folder = pathlib.Path(source, "tests/lab/kernel/samples/language")
ptx = folder / "ptx/language.ptx"
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(source, "tests/kernels"))
from nvcc import find, plain  # noqa: E402


def call(*arguments, code=0):
    done = subprocess.run([program, "kernel", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120)
    check(done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}", done.stderr[-600:])
    return done


def run(kernel, args, *more, grid=1, block=32, code=0):
    """The JSON, what the kernel printed, and the arrays by argument."""
    done = call(ptx, f"--kernel={kernel}", f"--grid={grid}", f"--block={block}", f"--args={args}", "--format=json",
                "--elements=4096", *more, code=code)
    found = json.loads(done.stdout) if done.stdout.startswith("{") else {"wrong": "nothing", "arrays": []}
    return found, done.stderr, {array["argument"]: array["values"] for array in found["arrays"]}


def near(values, wanted, text, relative=1e-6):
    wrong = [i for i, (a, b) in enumerate(zip(values, wanted)) if not abs(a - b) <= relative * max(abs(b), 1e-3)]
    check(len(values) == len(wanted) and not wrong, f"{text}: {len(wrong)} of {len(wanted)} values are wrong",
          [(i, values[i], wanted[i]) for i in wrong[:4]])


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def brain(x):
    """The nearest number of bf16."""
    bits = struct.unpack("I", struct.pack("f", x))[0]
    return struct.unpack("f", struct.pack("I", (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000))[0]


def small(x):
    """The nearest number of e4m3 that is at least 0."""
    step = 2.0**(max(math.floor(math.log2(x)), -6) - 3) if x > 0 else 1
    return min(round(x / step) * step, 448)


def try_values():
    found, said, arrays = run("functions", "{i32:50,f32:2,f32[64]:random,i16:3},f32[64]:zero", grid=2)
    near(arrays[5][:50], [2 * ((3 * x + 2) * x + 1) * x if i % 2 else 2 for i, x in enumerate(arrays[3][:50])], "functions")
    check(said == "3 terms of  2.00: text, c%, 10000000000\n", "printf", said)
    local = [row["name"] for row in found["counts"]["accesses"] if row["name"].startswith("local")]
    check(local in ([], ["local stores"]), "parameters of calls are no local memory", local)
    _, _, arrays = run("parameters", "f32[32]," + ",".join(f"i32:{2**k}" for k in range(19)))
    near(arrays[1], 32 * [2**19 - 1], "parameters")
    found, _, arrays = run("tiles", "f16[16*32]:random@1,f16[16*32]:random@2,f32[256]")
    a, b = arrays[1], arrays[2]
    near(arrays[3], [2 + 2 * sum(a[32 * y + k] * b[32 * x + k] for k in range(32)) for y in range(16) for x in range(16)],
         "wmma")
    check({row["name"]: row["requests"] for row in found["counts"]["accesses"]} ==
          {"global loads": 16, "global stores": 8}, "requests of wmma", found["counts"]["accesses"])
    _, _, arrays = run("bytes_of_tiles", "i8[8*16]:random@1,i8[16*32]:random@2,i32[256]")
    a, b = arrays[1], arrays[2]
    near(arrays[3], [sum(a[16 * y + k] * b[32 * k + x] for k in range(16)) for x in range(32) for y in range(8)], "wmma, bytes")
    found, _, arrays = run("products", "f16[256]:random@1,f16[128]:random@2,f32[128]")
    a, b = arrays[1], arrays[2]
    near(arrays[3], [sum(a[16 * y + k] * b[8 * k + x] for k in range(16)) for y in range(16) for x in range(8)], "mma")
    loads = next(row for row in found["counts"]["accesses"] if row["name"] == "shared loads")
    check((loads["requests"], loads["touched"], loads["wanted"]) == (2, 6, 6), "passes of ldmatrix", loads)
    _, _, arrays = run("copies", "f32[256]:iota,f32[256],u8:1")
    near(arrays[2], [4 * (31 - i // 4) + i % 4 for i in range(128)] +
         [4 * (32 + 31 - i // 4) + i % 4 if i % 4 < 2 else 0 for i in range(128)], "cp.async")
    found, _, _ = run("copies", "f32[256]:iota,f32[256],u8:0", code=1)
    check(found["wrong"]["kind"] == "a read of what nobody wrote", "a copy that is not waited for", found["wrong"])
    _, _, arrays = run("small_numbers", "f32[32]:random,u8[32],f32[32],bf16[32],f64[32]")
    near(arrays[3], [small(x) for x in arrays[1]], "e4m3")
    near(arrays[4], [brain(x) for x in arrays[1]], "bf16")
    near(arrays[5], [x / 3 + single(x / 7) for x in arrays[1]], "directed")
    check(any(len(repr(x)) > 15 for x in arrays[5]), "doubles have 17 digits", arrays[5][:3])
    _, _, arrays = run("atomics", "f64[1]:zero,f16[2]:zero,bf16[2]:zero,u32[34]:zero,u16[2]:7")
    check((arrays[1], arrays[2], arrays[3]) == ([248], [32, 64], [32, 64]), "sums of small numbers", arrays)
    check(arrays[4][:2] == [32 % 10, 8] and arrays[5] == [7, 9], "inc, dec, cas of 16 bits", arrays[4][:2], arrays[5])
    check(arrays[4][2:] == [6 + (0xaaaaaaaa if i % 2 else 0x55555555) for i in range(32)], "match and redux", arrays[4][2:])
    _, _, arrays = run("functions_of_math", "f32[32]:random,f32[32],f64[32]")
    near(arrays[2], [math.exp(x) + math.sin(20 * x) + math.cos(x) + math.log(1 + x) + math.tanh(x) + x**1.5 + math.fmod(7, x)
                     for x in arrays[1]], "functions of floats", 3e-6)
    near(arrays[3], [math.exp(x) + math.sin(20 * x) + math.log(1 + x) + x**1.5 + (1 + x)**-0.5 for x in map(single, arrays[1])],
         "functions of doubles", 1e-14)
    _, _, arrays = run("textures", "f32[8x4]:iota/linear,u8x4[8x4]:iota,f32[32]")

    def texel(x, y):
        return 8 * min(y, 3) + min(x, 7)

    near(arrays[3], [0.5 * (0.75 * (texel(x, y) + texel(x + 1, y)) + 0.25 * (texel(x, y + 1) + texel(x + 1, y + 1))) +
                     4 * (8 * y + x) + 1 for y in range(4) for x in range(8)], "a texture and a surface")
    check(arrays[2][:8] == [3, 2, 1, 0, 7, 6, 5, 4], "what a surface has after stores", arrays[2][:8])
    _, _, arrays = run("heap", "i32[32]:zero,i64[32]")
    near(arrays[1], [i * (i + 1) // 2 for i in range(32)], "heap")
    check(arrays[2] == [arrays[2][0]] * 32 and arrays[2][0] > 100, "a clock goes on", arrays[2])


def line_of(name):
    return (folder / "language.cu").read_text().split(f"// here: {name}")[0].count("\n") + 1


def try_findings():
    for kernel, args, kind in (("asserts", "i32:20", "assertion"), ("no_syncwarp", "i32[32]", "__syncwarp()")):
        found, _, _ = run(kernel, args, code=1)
        check(kind in found["wrong"]["kind"] and found["wrong"]["place"] == f"language.cu:{line_of(kernel)}", kernel,
              found["wrong"])
    found, _, _ = run("asserts", "i32:20", code=1)
    check(f"thread 20: language.cu:{line_of('asserts')}: threadIdx.x < n" in found["wrong"]["detail"], "what it asserts",
          found["wrong"])
    check(run("asserts", "i32:32")[0]["wrong"] is None, "an assertion that holds")
    found, _, arrays = run("one_value", "i32[1]:zero,i32[36]", "--all", code=1)
    check(arrays[1] == [1] and "__syncwarp" not in found["wrong"]["kind"], "one value from all lanes", found["wrong"])
    check([row["kind"] for row in [found["wrong"], *found["others"]]] == ["an access out of bounds"],
          "all findings", found["wrong"], found["others"])
    check("wrong" in call(ptx, "--kernel=one_value", "--args=i32[1]:zero,i32[36]", "--all", code=1).stdout, "on a page")


def npy(path, code, shape, values, letter):
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (117 - len(header)) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(values)}{letter}", *values))


def try_files():
    scan = pathlib.Path(source, "tests/lab/kernel/samples/ptx/scan.ptx")
    with tempfile.TemporaryDirectory() as place:
        x, y, out, counts = (pathlib.Path(place, name) for name in ("x.npy", "y.npy", "out.npy", "counts.json"))
        numbers = [i * i % 97 for i in range(512)]
        sums = [sum(numbers[i // 256 * 256:i + 1]) for i in range(512)]
        npy(x, "<i4", "(2, 256)", numbers, "i")
        npy(y, "<i8", "(512,)", sums, "q")
        launch = [scan, "--grid=2", "--block=256", f"--args={x},i32[512]"]
        text = call(*launch, f"--save={out}", f"--check={y}", "--format=json").stdout
        counts.write_text(text)
        check(struct.unpack("<512i", out.read_bytes()[128:]) == tuple(sums), "an array is written")
        call(*launch, f"--check=2:{out}", f"--baseline={counts}")
        npy(y, "<f4", "(512,)", [s * 1.01 for s in sums], "f")
        said = call(*launch, f"--check={y}", code=1).stderr
        check(re.search(r"array 2 differs from .*y\.npy in 511 of 512 elements: \[1\] is 1, not 1\.00999999;", said),
              "a difference", said)
        call(*launch, f"--check={y}", "--rtol=0.02")
        npy(y, "<f4", "(512,)", [float("inf")] * 512, "f")
        check("512 of 512" in call(*launch, f"--check={y}", code=1).stderr, "nothing is near infinity")
        less = json.loads(text)
        less["counts"]["instructions"] -= 1
        less["counts"]["accesses"][0]["touched"] = 7
        counts.write_text(json.dumps(less))
        said = call(*launch, f"--baseline={counts}", code=1).stderr
        check("global loads, touched: " in said and "instructions: " in said, "what has grown", said)
        less["grid"] = [3, 1, 1]
        counts.write_text(json.dumps(less))
        check("another grid" in call(*launch, f"--baseline={counts}", code=2).stderr, "another launch")
        y.write_bytes(b"\x93NUMPY\x01\x00\x20\x00{'descr': '<f4', 'shape': (9,),} \n")
        for arguments, words in (
                ([*launch, f"--check={y}"], "order of Fortran"),
                ([*launch, f"--check=3:{out}"], "argument 3 is no array"),
                ([*launch, f"--check={scan}"], "no file of NumPy"),
                ([scan, f"--args={place}/none.npy,i32[512]"], "cannot be read"),
                ([scan, "--args={i32:1,i32[512]"], "no '}' after it"),
                ([scan, "--args=i32:1}"], "no '{' before it"),
                ([scan, "--rtol=-1"], "--rtol=-1"),
                ([scan, f"--baseline={scan}", "--args=i32[512]:zero,i32[512]"], "is not what kernel --format=json"),
        ):
            check(words in call(*arguments, code=2).stderr, f"{arguments[1:]} should say: {words}")


def try_names():
    said = call(ptx, "--kernel=functions", code=2).stderr
    check("takes 2 arguments, not 0: {24 bytes}, u64 or array" in said, "types of the PTX", said)
    said = call(ptx, "--kernel=small_numbers", code=2).stderr
    check("5 arguments, not 0: f32[], u8[], f32[], bf16[], f64[]" in said, "types of the name", said)
    said = call(ptx, "--kernel=none", code=2).stderr
    check("no kernel none" in said and "functions_of_math" in said, "a name that is none", said)
    unknown = "unknown instruction wgmma.fence.sync.aligned (language.cu:"
    with tempfile.TemporaryDirectory() as place:
        odd = pathlib.Path(place, "odd.ptx")
        odd.write_text(re.sub(r"match\.any\.sync\.b32[^;]*;", "wgmma.fence.sync.aligned;", ptx.read_text()))
        said = call(odd, "--kernel=atomics", code=2).stderr
        check(unknown in said, "the line of the source", said)
        odd.write_text(ptx.read_text().replace(".version ", ".version 99.9 // ", 1))
        if subprocess.run(["sh", "-c", "command -v ptxas /usr/local/cuda/bin/ptxas"], check=False,
                          capture_output=True).stdout:
            said = call(odd, "--kernel=no_syncwarp", "--args=i32[32]", code=1).stderr
            check("ptxas does not take this PTX" in said, "what ptxas cannot take", said)


def try_kept():
    nvcc, version, why = find()
    if nvcc is None or (not renews and version not in ptx.read_text()):
        print(f"{why}: what is kept was not compiled again")
        return
    with tempfile.TemporaryDirectory() as place:
        made = pathlib.Path(place, "made.ptx")
        # The PTX has the name of the file as nvcc is given it.
        subprocess.run([nvcc, "-std=c++17", "-lineinfo", "-arch=compute_90", "-ptx", "-o", made, "language.cu"], check=True,
                       cwd=folder)
        # The hash in the name of a static function is one of the folder.
        text = re.sub("_INTERNAL_[0-9a-f]{8}", "_INTERNAL_00000000", plain(made.read_text()))
    if renews:
        ptx.write_text(text)
    check(ptx.read_text() == text, f"{ptx} is not what nvcc {version} makes; {sys.argv[0]} --renew writes it")


try_kept()
try_values()
try_findings()
try_files()
try_names()
end()
