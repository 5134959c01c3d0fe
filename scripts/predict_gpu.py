#!/usr/bin/env python3
"""How fast the kernels should be on an H200, predicted from their machine code; prints docs/predictions.md.

    scripts/predict_gpu.py >docs/predictions.md

Needs nvcc of CUDA 13.0 or newer and cuobjdump with nvdisasm, but no GPU. The page says how a
prediction is made and where its constants come from."""

import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SMS, WARP, BLOCK_WARPS, MOST_WARPS = 132, 32, 8, 64
COPY_BYTES_PER_S, LATENCY_S, CLOCK_HZ = 4.3e12, 700e-9, 1.98e9
SLOTS_PER_SM, SLOTS_USED, MUFU_PER_SM = 4, 0.8, 16
ENDS_S = 3 * LATENCY_S  # the first loads and the last stores of a kernel overlap nothing
GEMM_FLOPS_PER_S, ATTENTION_FLOPS_PER_S = 620e12, 320e12

# Accesses of a whole pack per pack of elements that a cache serves.
CACHED = {"bias_add": 1, "bias_gelu_forward": 1, "bias_gelu_backward": 1, "bias_residual": 1, "softmax_backward": 2,
          "layernorm_forward": 4, "layernorm_backward": 4, "residual_layernorm_forward": 5,
          "residual_layernorm_backward": 4, "patch_embedding_forward": 2}

# Sums over rows, per element that is counted here: a column sum's part has 32 rows. And the elements that are
# added up for one that is counted here, if sums are counted: of parts (788 in the heavy step) or samples.
SUMS = {"layernorm_backward_weight": 1 / 32, "bias_backward": 1 / 32, "columns_finish": 1, "positions_backward": 1}
ADDED = {"columns_finish": 788, "positions_backward": 128}

# model=heavy in bf16 on a GPU (harness/engine/settings/roles.c), a trace of whose step on the CPU
# device has these kernels: kernel, calls per step, elements of a call, elements of a row (0: the
# kernel's unit is a pack).
SAMPLES, TOKENS, WIDTH, BLOCKS, HEAD = 128, 197, 768, 12, 64
ROWS, PARAMETERS = SAMPLES * TOKENS, 85_800_000
STEP = (
    ("layernorm_forward", BLOCKS + 1, ROWS * WIDTH, WIDTH),
    ("residual_layernorm_forward", BLOCKS, ROWS * WIDTH, WIDTH),
    ("split_heads_forward", BLOCKS, ROWS * 3 * WIDTH, 3 * WIDTH),
    ("merge_heads_forward", BLOCKS, ROWS * WIDTH, WIDTH),
    ("bias_gelu_forward", BLOCKS, ROWS * 4 * WIDTH, 4 * WIDTH),
    ("bias_residual", BLOCKS, ROWS * WIDTH, WIDTH),
    ("residual_layernorm_backward", 2 * BLOCKS, ROWS * WIDTH, WIDTH),
    ("layernorm_backward", 1, ROWS * WIDTH, WIDTH),
    ("layernorm_backward_weight", 2 * BLOCKS + 1, ROWS * WIDTH, 32 * 256),
    ("bias_backward", 2 * BLOCKS, ROWS * WIDTH, 32 * 256),
    ("bias_backward", BLOCKS, ROWS * 3 * WIDTH, 32 * 256),
    ("bias_backward", BLOCKS, ROWS * 4 * WIDTH, 32 * 256),
    ("columns_finish", 6 * BLOCKS + 3, WIDTH, 8),
    ("columns_finish", BLOCKS, 3 * WIDTH, 8),
    ("columns_finish", BLOCKS, 4 * WIDTH, 8),
    ("split_heads_backward", BLOCKS, ROWS * 3 * WIDTH, 3 * WIDTH),
    ("merge_heads_backward", BLOCKS, ROWS * WIDTH, WIDTH),
    ("bias_gelu_backward", BLOCKS, ROWS * 4 * WIDTH, 4 * WIDTH),
    ("image_patches", 1, SAMPLES * 196 * 768, 768),
    ("patch_embedding_forward", 1, ROWS * WIDTH, WIDTH),
    ("patch_embedding_backward", 1, SAMPLES * 196 * WIDTH, WIDTH),
    ("positions_backward", 1, TOKENS * WIDTH, 0),
    ("square_sum_multi", 1, PARAMETERS, 2048),
    ("adamw_multi", 1, PARAMETERS, 2048),
)

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

PAGE = """\
# Predictions for an H200

`scripts/predict_gpu.py` wrote this page from the kernels' machine code for sm_90 (nvcc {compiler}). An H200 has
measured {measured} of the {rows} kernels below: their times
([`{bench}`](../{bench})) are {low:.2f} to {high:.2f} times those
predicted, {median:.2f} times at the median. A kernel that is far off has an error, or the model has. **Kernels without a
measurement are unverified.** An H200 has run the heavy step, too ([`{heavy}`](../{heavy}), from its trace).

## How it is made

A kernel takes at least as long as the longest of four, plus {ends:.1f} us for its first loads and last stores
(three latencies):

- **memory**: its bytes, as `kernels/kernels.h` states them, at {copy} TB/s;
- **latency**: its reads at the rate that Little's law allows for the bytes in flight: resident warps x
  32 lanes x 16 bytes x loads that the machine code issues before it needs the first, in {latency:.0f} ns.
  Warps are what registers allow (`kernels/registers.txt`), or fewer where the grid is small;
- **issue**: its instructions per warp at 4 per clock and multiprocessor, {used:.0%} of the slots used;
- **mufu**: its exponentials, roots and reciprocals at 16 per clock and multiprocessor ("CUDA C++
  Programming Guide", "Arithmetic Instructions").

This is the best the machine code allows: the four never overlap perfectly, so expect some 5 to 15% less, and
look for a reason below that.

Instructions come from the disassembly: those in blocks with 16-byte accesses, per access, times the accesses
that the data need, and the others once. Slow ways of divisions and roots are left out. So a count is an
estimate, better for kernels without loops. Partial sums are read at the latency of HBM although most are
still in the second-level cache.

| constant | value | source |
|---|---|---|
| multiprocessors | {sms} | NVIDIA H200 data sheet |
| copy | {copy} TB/s | reported for H200s (4.8 TB/s nominal); 4.16 in the benches of one |
| latency | {latency:.0f} ns | usual for HBM on Hopper under load; not measured by us |
| clock | {clock} GHz | the highest that an H200 has shown; lower under a power limit |
| products | {gemm:.0f} TFLOP/s | 80% of 780, reported for large bf16 products; these have k = 768 |
| attention | {attention:.0f} TFLOP/s | assumed for cuDNN with heads of 64 |

## Kernels

{elements} elements. *Share*: of the copy rate, by the bytes stated; *slots*: instructions per warp and row or
pack; *measured*: the median of the bench of that size, with the caches emptied before.

"""


BENCH = "results/nvidia-h200/bench.json"
HEAVY = "results/nvidia-h200-2/heavy.txt"
# The benches that are not called as their kernel is.
BENCH_NAMES = {"residual_add": "residual", "bias_add": "bias", "gelu_forward": "gelu", "softmax_forward": "softmax",
               "bias_gelu_forward": "bias_gelu", "layernorm_forward": "layernorm"}


def measured_times():
    """By kernel and type: seconds of the bench with cold caches, at its largest size."""
    times = {}
    for one in json.loads((ROOT / BENCH).read_text())["benchmarks"]:
        if one.get("aggregate_name") == "median" and "_cold/" in one["name"]:
            name, size = one["name"].removesuffix("_median").split("_cold/")
            times.setdefault(name, {})[int(size)] = one["real_time"] * {"ns": 1e-9, "us": 1e-6}[one["time_unit"]]
    return {name: sizes[max(sizes)] for name, sizes in times.items()}


def measured_step():
    """By kernel: its time in a heavy step, in seconds. Those of libraries are products or attention."""
    rows = [line.split("\t") for line in (ROOT / HEAVY).read_text().splitlines()]
    steps = next(int(launches) for _, _, launches, _, _, name in rows if name == "adamw_multi_bf16")
    times = {}
    for _, _, _, _, total_ms, name in rows:
        kernel = re.sub("_(bf16|f32)$", "", name)
        if re.match("nvjet|.*cublas", name):
            kernel = "products"
        elif name.startswith("cudnn") or "cudnn::" in name:
            kernel = "attention"
        times[kernel] = times.get(kernel, 0) + float(total_ms) / 1e3 / steps
    return times


def bench_elements(row):
    return BENCH_ELEMENTS // row * row if row else BENCH_ELEMENTS


def kernel_works():
    """By kernel: its row of KERNELS in kernels/kernels.h, whose numbers struct kernel_work explains."""
    rows = re.findall(r"^    X\((\w+), \w+, (\d+), (\d+), (\d+)((?:, \.\w+ = \d+)*)\)",
                      (ROOT / "kernels/kernels.h").read_text(), re.MULTILINE)
    others = ("bytes_read", "bytes_written", "narrowed", "sum_bytes", "sum_writes")
    return {name: {"reads": int(reads), "writes": int(writes), "flops": int(flops)} | dict.fromkeys(others, 0) |
                  {member: int(number) for member, number in re.findall(r"\.(\w+) = (\d+)", rest)}
            for name, reads, writes, flops, rest in rows}


WORKS = kernel_works()


def work_of(kernel, dtype):
    """Per element: elements in the storage type read and written, floats read and written, flops. The bytes
    of a row are too few to count."""
    work, added, sums = WORKS[kernel], ADDED.get(kernel, 1), SUMS.get(kernel, 0)
    narrowed = work["narrowed"] if dtype == "bf16" else 0
    return (work["reads"] * added, (work["writes"] + narrowed) * added + work["sum_writes"] * sums,
            work["bytes_read"] / 4 * added, work["bytes_written"] / 4 * added + work["sum_bytes"] / 4 * sums,
            work["flops"] * added)


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
    size = 2 if dtype == "bf16" else 4
    reads, writes, float_reads, float_writes, flops = work_of(kernel, dtype)
    pack = 16 // size
    # Accesses of 16 bytes for a pack of elements; floats beside bf16 take two.
    floats = 4 / size
    per_pack = reads + writes + CACHED.get(kernel, 0) + (float_reads + float_writes) * floats
    if row:
        warps, packs = elements / row, math.ceil(row / pack / WARP)
    else:
        warps, packs = elements / pack / WARP, 1
    if kernel == "columns_finish":  # lanes share the rows of a pack of columns
        warps, packs, per_pack = elements / pack, 1, math.ceil(float_reads / WARP) * floats
    read_bytes = elements * (reads * size + float_reads * 4)
    moved = read_bytes + elements * (writes * size + float_writes * 4)
    instructions = code["outside"] + code["per_access"] * per_pack * packs
    allowed = min(65536 // (-(-registers * WARP // 256) * 256 * BLOCK_WARPS),
                  MOST_WARPS // BLOCK_WARPS) * BLOCK_WARPS
    resident = min(allowed, warps / SMS)
    flight = resident * WARP * 16 * min(code["flight"], max(1, (per_pack - writes) * packs))
    times = {
        "memory": moved / COPY_BYTES_PER_S,
        "latency": read_bytes / (flight * SMS / LATENCY_S),
        "issue": warps * instructions / (SMS * SLOTS_PER_SM * SLOTS_USED * CLOCK_HZ),
        "mufu": warps * code["mufu_per_access"] * per_pack * packs * WARP /
                (SMS * MUFU_PER_SM * CLOCK_HZ),
    }
    bound = max(times, key=times.get)
    seconds = times[bound] + ENDS_S
    return {"bytes": moved, "flops": elements * flops, "registers": registers, "warps": allowed,
            "resident": resident, "flight": flight, "instructions": instructions, "bound": bound,
            "seconds": seconds, "share": times["memory"] / seconds,
            "slots": times["issue"] / times["memory"]}


def main():
    os.chdir(ROOT)
    nvcc = tool("nvcc")
    table = {line.split()[0]: line.split() for line in
             pathlib.Path("kernels/registers.txt").read_text().splitlines() if line[:1] != "#"}
    column = table["kernel"].index("sm_90")
    code = {}
    for dtype in ("f32", "bf16"):
        functions = disassemble(nvcc, dtype)
        functions[f"softmax_forward_{dtype}"] = way_of_short_rows(functions[f"softmax_forward_{dtype}"])
        code |= {name: analyse(lines) for name, lines in functions.items()}

    def predicted(kernel, dtype, elements, row):
        name = f"{kernel}_{dtype}"
        return predict(kernel, dtype, elements, row, code[name], int(table[name][column]))

    times, lines, ratios = measured_times(), [], []
    for kernel, rows in BENCHED:
        for dtype in ("f32", "bf16"):
            row = rows[dtype] if isinstance(rows, dict) else rows
            elements = bench_elements(row)
            p = predicted(kernel, dtype, elements, row)
            seconds = times.get(f"{BENCH_NAMES.get(kernel, kernel)}_{dtype.replace('f32', 'fp32')}")
            if seconds is not None:
                ratios.append(seconds / p["seconds"])
            lines.append(f"| {kernel}_{dtype} | {p['bytes'] / elements:.0f} | {p['flops'] / elements:.0f} | "
                         f"{p['registers']} | {p['warps']} | {p['flight'] / 1e3:.0f} | "
                         f"{p['instructions']:.0f} | {p['slots']:.0%} | {p['bound']} | {p['share']:.0%} | "
                         f"{p['seconds'] * 1e6:.0f} | " +
                         ("| |" if seconds is None else f"{seconds * 1e6:.0f} | {ratios[-1]:.2f} |"))

    print(PAGE.format(
        measured=len(ratios), rows=len(lines), bench=BENCH, heavy=HEAVY, low=min(ratios), high=max(ratios),
        median=statistics.median(ratios),
        compiler=re.search(r"release \S+ (V\S+)", run(nvcc, "--version"))[1], copy=COPY_BYTES_PER_S / 1e12,
        ends=ENDS_S * 1e6, latency=LATENCY_S * 1e9, used=SLOTS_USED, sms=SMS, clock=CLOCK_HZ / 1e9,
        gemm=GEMM_FLOPS_PER_S / 1e12, attention=ATTENTION_FLOPS_PER_S / 1e12,
        elements="2^26"), end="")
    print("| kernel | bytes per element | flops per element | registers | warps per SM | "
          "KB in flight per SM | slots | share of issue | bound by | share of copy | us | measured us | ratio |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|")
    print("\n".join(lines))

    print(f"\n*Share of issue* is the issue time over the memory time: above 100% a kernel is bound by "
          "its instructions.\n\n## The heavy step\n\n"
          f"`model=heavy precision=bf16`: {SAMPLES} images of 224 pixels, {BLOCKS} blocks of width "
          f"{WIDTH}, {PARAMETERS / 1e6:.0f}M parameters.\n")
    print("| kernel | calls | GB | warps per SM | bound by | share of copy | us per call | "
          "ms per step |\n|---|--:|--:|--:|---|--:|--:|--:|")
    by_kernel = {}
    for kernel, calls, elements, row in STEP:
        p = predicted(kernel, "bf16", elements, row)
        by_kernel[kernel] = by_kernel.get(kernel, 0) + calls * p["seconds"]
        print(f"| {kernel} | {calls} | {calls * p['bytes'] / 1e9:.2f} | {p['resident']:.1f} | "
              f"{p['bound']} | {p['share']:.0%} | {p['seconds'] * 1e6:.1f} | "
              f"{calls * p['seconds'] * 1e3:.2f} |")
    # One warp reads a partial sum of each chunk of 2048 parameters, by 16 bytes.
    ahead = code["gradient_norm_finish_f32"]["flight"]
    norm = PARAMETERS / 2048 * 4 / (16 * WARP * ahead) * LATENCY_S + ENDS_S
    gemm = 6 * ROWS * 12 * WIDTH ** 2 * BLOCKS / GEMM_FLOPS_PER_S
    attention = 3.5 * 4 * ROWS * TOKENS * WIDTH * BLOCKS / ATTENTION_FLOPS_PER_S
    print(f"| gradient_norm_finish | 1 | 0.00 | 0.0 | latency | | {norm * 1e6:.0f} | "
          f"{norm * 1e3:.2f} |")
    print(f"| products (6 x 12 x {WIDTH}^2 x {ROWS} x {BLOCKS} flops) | {12 * BLOCKS} | | | products | | "
          f"{gemm / 12 / BLOCKS * 1e6:.0f} | {gemm * 1e3:.1f} |")
    print(f"| attention (3.5 x 4 x {ROWS} x {TOKENS} x {WIDTH} x {BLOCKS} flops) | {2 * BLOCKS} | | | "
          f"products | | {attention / 2 / BLOCKS * 1e6:.0f} | {attention * 1e3:.1f} |")
    own = sum(by_kernel.values()) + norm
    print(f"\nOur kernels {own * 1e3:.1f} ms, products {gemm * 1e3:.1f} ms, attention "
          f"{attention * 1e3:.1f} ms: **{(own + gemm + attention) * 1e3:.0f} ms per step**.\n"
          "Left out: kernels that only cost their launch (loss, rates, the classifier), gaps between\n"
          "kernels, and the copy of the next batch, which overlaps.\n")
    by_kernel |= {"gradient_norm_finish": norm, "products": gemm, "attention": attention}
    print_measured(by_kernel)


def print_measured(by_kernel):
    """The measured step beside the one predicted, the longest first."""
    measured = measured_step()
    print("| kernel | ms per step, predicted | measured | ratio |\n|---|--:|--:|--:|")
    for kernel in sorted(by_kernel, key=measured.get, reverse=True):
        print(f"| {kernel} | {by_kernel[kernel] * 1e3:.2f} | {measured[kernel] * 1e3:.2f} | "
              f"{measured[kernel] / by_kernel[kernel]:.2f} |")
    predicted, all_measured = sum(by_kernel.values()), sum(measured.values())
    print(f"| all, with those that were left out | {predicted * 1e3:.1f} | {all_measured * 1e3:.1f} | "
          f"{all_measured / predicted:.2f} |")


main()
