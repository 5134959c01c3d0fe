#!/usr/bin/env python3
"""The least time that a kernel can take on an H200, by its machine code.

    scripts/predict_gpu.py [BENCH.json]

Prints for each kernel that is benched the bound and what sets it; with the result of a bench, the time measured and its ratio
to the bound. Needs nvcc of CUDA 13.0 or newer and cuobjdump with nvdisasm, but no GPU. Exit code 1: a kernel was faster than
its bound.

A kernel takes at least as long as the longest of four, plus 2.1 us for its first loads and last stores (three latencies):

    memory   its bytes, as kernels/kernels.h states them, at the rate of a copy
    latency  its reads at the rate that Little's law allows for the bytes in flight: resident warps x 32 lanes x 16 bytes x loads
             that the machine code issues before it needs the first. Warps are what registers allow (kernels/registers.txt)
    issue    its instructions per warp at 4 per clock and multiprocessor, 80% of the slots used
    mufu     its exponentials, roots and reciprocals at 16 per clock and multiprocessor ("CUDA C++ Programming Guide",
             "Arithmetic Instructions")

Instructions come from the disassembly: those in blocks with 16-byte accesses, per access, times the accesses that the data
need, and the others once. Slow ways of divisions and roots are left out. So a count is an estimate, better for kernels without
loops. The kernels of results/nvidia-h200/bench.json take 0.98 to 1.47 times their bounds."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# An H200's multiprocessors (data sheet), rate of a copy (reported; 4.16 in the benches of one), latency of HBM under load
# (usual on Hopper; not measured by us), and the highest clock that one has shown.
SMS, COPY_BYTES_PER_S, LATENCY_S, CLOCK_HZ = 132, 4.3e12, 700e-9, 1.98e9
WARP, BLOCK_WARPS, MOST_WARPS = 32, 8, 64
SLOTS_PER_SM, SLOTS_USED, MUFU_PER_SM = 4, 0.8, 16
ENDS_S = 3 * LATENCY_S  # the first loads and the last stores of a kernel overlap nothing
TOO_FAST = 0.95  # of the bound

# Accesses of a whole pack per pack of elements that a cache serves.
CACHED = {"bias_add": 1, "bias_gelu_forward": 1, "bias_gelu_backward": 1, "bias_residual": 1, "softmax_backward": 2,
          "layernorm_forward": 4, "layernorm_backward": 4, "residual_layernorm_forward": 5,
          "residual_layernorm_backward": 4, "patch_embedding_forward": 2}

# Sums over rows, per element that is counted here: a column sum's part has 32 rows.
SUMS = {"layernorm_backward_weight": 1 / 32, "bias_backward": 1 / 32}

# The largest case of each bench of benches/ (residual_layernorm_forward has none): kernel, elements of a
# row, by type where it is a part of a column sum (harness/engine/model/ops/op_build.h).
PART = {"f32": 32 * 128, "bf16": 32 * 256}
BENCHED = (("fill", 0), ("triad", 0), ("residual_add", 0), ("gelu_forward", 0), ("gelu_backward", 0),
           ("bias_add", 768), ("bias_gelu_forward", 768), ("bias_gelu_backward", 768),
           ("bias_residual", 768), ("bias_backward", PART), ("softmax_forward", 256),
           ("softmax_backward", 256), ("layernorm_forward", 512), ("layernorm_backward", 768),
           ("layernorm_backward_weight", PART), ("residual_layernorm_forward", 768),
           ("residual_layernorm_backward", 768), ("split_heads_forward", 2304),
           ("split_heads_backward", 2304), ("merge_heads_forward", 768),
           ("merge_heads_backward", 768), ("adamw", 0), ("adamw_multi", 2048))
BENCH_ELEMENTS = 1 << 26

# The benches that are not called as their kernel is.
BENCH_NAMES = {"residual_add": "residual", "bias_add": "bias", "gelu_forward": "gelu", "softmax_forward": "softmax",
               "bias_gelu_forward": "bias_gelu", "layernorm_forward": "layernorm"}


def kernel_works():
    """By kernel: its row of KERNELS in kernels/kernels.h, whose numbers struct kernel_work explains."""
    rows = re.findall(r"^    X\((\w+), \w+, (\d+), (\d+), \d+((?:, \.\w+ = \d+)*)\)",
                      (ROOT / "kernels/kernels.h").read_text(), re.MULTILINE)
    others = ("bytes_read", "bytes_written", "narrowed", "sum_bytes", "sum_writes")
    return {name: {"reads": int(reads), "writes": int(writes)} | dict.fromkeys(others, 0) |
                  {member: int(number) for member, number in re.findall(r"\.(\w+) = (\d+)", rest)}
            for name, reads, writes, rest in rows}


def work_of(kernel, dtype, works=kernel_works()):
    """Per element: elements in the storage type read and written, floats read and written. The bytes of a row are too few to
    count."""
    work, sums = works[kernel], SUMS.get(kernel, 0)
    narrowed = work["narrowed"] if dtype == "bf16" else 0
    return (work["reads"], work["writes"] + narrowed + work["sum_writes"] * sums, work["bytes_read"] / 4,
            work["bytes_written"] / 4 + work["sum_bytes"] / 4 * sums)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def tool(name):
    path = os.environ.get("PATH", "") + ":/usr/local/cuda/bin"
    for folder in path.split(":"):
        if os.access(pathlib.Path(folder) / name, os.X_OK):
            return str(pathlib.Path(folder) / name)
    sys.exit(f"{name} is not in PATH: it is part of the CUDA toolkit; cuobjdump and nvdisasm are in pip's "
             "nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm, too")


def disassemble(nvcc, dtype):
    """By function: its instructions as (address, text)."""
    with tempfile.TemporaryDirectory() as folder:
        unit, cubin = pathlib.Path(folder) / "kernels.cu", pathlib.Path(folder) / "kernels.cubin"
        unit.write_text("".join(f'#include "{file}"\n'
                                for file in sorted(pathlib.Path("kernels").rglob("*.kernel.c"))))
        run(nvcc, "-x", "cu", "-std=c++17", "-O3", "-I.", f"-DREAL_{dtype.upper()}", "-arch=sm_90",
            "-cubin", "-o", str(cubin), str(unit))
        text = run(tool("cuobjdump"), "-sass", str(cubin))
    functions = {}
    for part in re.split(r"\n\s*Function : ", text)[1:]:
        lines = re.findall(r"/\*([0-9a-f]{4,5})\*/\s+(.*?)\s*;", part)
        functions[part.split()[0]] = [(int(a, 16), t) for a, t in lines]
    return functions


def opcode(text):
    return re.sub(r"^@!?U?P\w+ ", "", text).split()[0]


def blocks_of(code):
    """Basic blocks of what a warp runs without slow ways: up to the first subroutine."""
    target = re.compile(r"(?:BRA|CALL|BSSY)\S*\s.*?(0x[0-9a-f]+)\s*$")
    calls = [int(target.search(t)[1], 16) for _, t in code if opcode(t).startswith("CALL")
             and target.search(t)]
    code = [(a, t) for a, t in code if a < min(calls, default=1 << 30)
            and not opcode(t).startswith("NOP")]
    starts = {int(m[1], 16) for _, t in code if opcode(t).startswith("BRA") and (m := target.search(t))}
    blocks, block = [], []
    for address, text in code:
        if address in starts and block:
            blocks.append(block)
            block = []
        block.append(text)
        if opcode(text).startswith(("BRA", "EXIT")):
            blocks.append(block)
            block = []
    return blocks + ([block] if block else [])


def way_of_short_rows(code):
    """Rows that fit into registers take the way behind the longest jump, up to its first exit."""
    jumps = [(int(m[1], 16) - a, i, int(m[1], 16)) for i, (a, t) in enumerate(code)
             if opcode(t) == "BRA" and t.startswith("@") and (m := re.search(r"(0x[0-9a-f]+)\s*$", t))]
    _, jump, target = max(jumps)
    way = [(a, t) for a, t in code if a >= target]
    end = next(i for i, (_, t) in enumerate(way) if opcode(t) == "EXIT")
    return code[:jump] + way[:end + 1]


WIDE = re.compile(r"^(LDG|STG|LD|ST)\.E\.128")


def loads_in_flight(block):
    """The most 16-byte loads that are issued before one of their registers is read."""
    waiting, most = [], 0
    for text in block:
        registers = [int(r) for r in re.findall(r"\bR(\d+)", text)]
        if re.match(r"LDG?\.E\.128", opcode(text)):
            waiting.append(range(registers[0], registers[0] + 4))
            most = max(most, len(waiting))
        elif any(r in taken for r in registers for taken in waiting):
            waiting = [taken for taken in waiting if not any(r in taken for r in registers)]
    return most


def analyse(code):
    """Instructions and MUFUs: outside of blocks with accesses, and per access; loads in flight."""
    outside = accesses = inside = mufu = flight = 0
    for block in blocks_of(code):
        count = sum(1 for t in block if WIDE.match(opcode(t)))
        flight = max(flight, loads_in_flight(block))
        if count == 0:
            outside += len(block)
            continue
        accesses, inside = accesses + count, inside + len(block)
        mufu += sum(1 for t in block if opcode(t).startswith("MUFU"))
    return {"outside": outside, "per_access": inside / max(accesses, 1),
            "mufu_per_access": mufu / max(accesses, 1), "flight": max(flight, 1)}


def predict(kernel, dtype, elements, row, code, registers):
    """The bound in seconds, and which of the four sets it."""
    size = 2 if dtype == "bf16" else 4
    reads, writes, float_reads, float_writes = work_of(kernel, dtype)
    pack = 16 // size
    # Accesses of 16 bytes for a pack of elements; floats beside bf16 take two.
    per_pack = reads + writes + CACHED.get(kernel, 0) + (float_reads + float_writes) * 4 / size
    warps, packs = (elements / row, math.ceil(row / pack / WARP)) if row else (elements / pack / WARP, 1)
    read_bytes = elements * (reads * size + float_reads * 4)
    moved = read_bytes + elements * (writes * size + float_writes * 4)
    instructions = code["outside"] + code["per_access"] * per_pack * packs
    allowed = min(65536 // (-(-registers * WARP // 256) * 256 * BLOCK_WARPS), MOST_WARPS // BLOCK_WARPS) * BLOCK_WARPS
    flight = min(allowed, warps / SMS) * WARP * 16 * min(code["flight"], max(1, (per_pack - writes) * packs))
    times = {
        "memory": moved / COPY_BYTES_PER_S,
        "latency": read_bytes / (flight * SMS / LATENCY_S),
        "issue": warps * instructions / (SMS * SLOTS_PER_SM * SLOTS_USED * CLOCK_HZ),
        "mufu": warps * code["mufu_per_access"] * per_pack * packs * WARP / (SMS * MUFU_PER_SM * CLOCK_HZ),
    }
    bound = max(times, key=times.get)
    return times[bound] + ENDS_S, bound


def measured_times(path):
    """By bench and number of elements: seconds with cold caches."""
    times = {}
    for one in json.loads(pathlib.Path(path).read_text())["benchmarks"]:
        if one.get("aggregate_name") == "median" and "_cold/" in one["name"]:
            name, size = one["name"].removesuffix("_median").split("_cold/")
            times.setdefault(name, {})[int(size)] = one["real_time"] * {"ns": 1e-9, "us": 1e-6}[one["time_unit"]]
    return {name: sizes[max(sizes)] for name, sizes in times.items()}


def main():
    times = measured_times(sys.argv[1]) if len(sys.argv) > 1 else {}
    os.chdir(ROOT)
    table = {line.split()[0]: line.split() for line in
             pathlib.Path("kernels/registers.txt").read_text().splitlines() if line[:1] != "#"}
    column = table["kernel"].index("sm_90")
    code = {}
    for dtype in ("f32", "bf16"):
        functions = disassemble(tool("nvcc"), dtype)
        functions[f"softmax_forward_{dtype}"] = way_of_short_rows(functions[f"softmax_forward_{dtype}"])
        code |= {name: analyse(lines) for name, lines in functions.items()}
    fast = []
    for kernel, rows in BENCHED:
        for dtype in ("f32", "bf16"):
            name, row = f"{kernel}_{dtype}", rows[dtype] if isinstance(rows, dict) else rows
            elements = BENCH_ELEMENTS // row * row if row else BENCH_ELEMENTS
            seconds, bound = predict(kernel, dtype, elements, row, code[name], int(table[name][column]))
            measured = times.get(f"{BENCH_NAMES.get(kernel, kernel)}_{dtype.replace('f32', 'fp32')}")
            fast += [name] if measured and measured < TOO_FAST * seconds else []
            print(f"{name:34} at least {seconds * 1e6:5.0f} us by {bound:7}" +
                  (f"  measured {measured * 1e6:5.0f} us, {measured / seconds:.2f} times" if measured else ""))
    if fast:
        sys.exit(f"faster than their bounds: {', '.join(fast)}")


main()
