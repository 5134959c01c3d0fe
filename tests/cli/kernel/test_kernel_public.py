#!/usr/bin/env python3
"""Values of public kernels (karpathy/llm.c, NVIDIA/cuda-samples, siboehm/SGEMM_CUDA) as nvcc 13 compiled them, against plain
Python; that they have no finding, and that the one with a fault has it. The files are no part of the project: where there
are none, this is skipped.

usage: test_kernel_public.py PROGRAM FOLDER|ARCHIVE
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

program = os.path.abspath(sys.argv[1])
place = pathlib.Path(os.environ.get("CHOKEPOINT_PTX", sys.argv[2]))
if not place.exists():
    print(f"skipped: there is no {place}; CHOKEPOINT_PTX names a folder or archive of PTX")
    sys.exit(77)
LLM, SAMPLES = "llm.c__dev__cuda__", "cuda-samples__Samples__"
failures = []


def matmul(a, b, m, n, k, by_rows=True):
    return [sum(a[k * y + q] * (b[n * q + x] if by_rows else b[k * x + q]) for q in range(k)) for y in range(m)
            for x in range(n)]


def rows(values, width):
    return [values[i:i + width] for i in range(0, len(values), width)]


def softmax(x, width):
    found = []
    for row in rows(x, width):
        powers = [math.exp(v - max(row)) for v in row]
        found += [p / sum(powers) for p in powers]
    return found


def statistics(row):
    mean = sum(row) / len(row)
    return mean, (sum((v - mean)**2 for v in row) / len(row) + 1e-5)**-0.5


def normalized(a, width, x=4, weight=5, bias=6):
    return [(v - m) * r * a[weight][i] + a[bias][i] for row in rows(a[x], width) for m, r in [statistics(row)]
            for i, v in enumerate(row)]


def gelu(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def mean_of_box(values, width, radius):
    return [sum(row[min(max(x + k, 0), width - 1)] for k in range(-radius, radius + 1)) / (2 * radius + 1)
            for row in rows(values, width) for x in range(width)]


def dct(values, width):
    basis = [[math.sqrt((1 if u == 0 else 2) / 8) * math.cos((2 * x + 1) * u * math.pi / 16) for x in range(8)] for u in range(8)]
    found = [0.0] * len(values)
    for by in range(0, len(values) // width, 8):
        for bx in range(0, width, 8):
            block = [[values[width * (by + y) + bx + x] for x in range(8)] for y in range(8)]
            half = [[sum(basis[u][y] * block[y][x] for y in range(8)) for x in range(8)] for u in range(8)]
            for u in range(8):
                for v in range(8):
                    found[width * (by + u) + bx + v] = sum(half[u][x] * basis[v][x] for x in range(8))
    return found


# file, kernels, grid, block, arguments, argument that is checked, its values, relative error; a number of shared bytes last
N8 = "f32[32*96]:zero,f32[32*96]:random,i32:32,i32:96"
NORM = "f32[24*128],f32[24],f32[24],f32[24*128]:random,f32[128]:random,f32[128]:random,i32:24,i32:128"
SGEMM = "i32:{0},i32:{0},i32:{0},f32:2,f32[{0}*{0}]:random,f32[{0}*{0}]:random,f32:3,f32[{0}*{0}]:1"
WMMA = "{0}[16*{3}]:random<9,{0}[16*{3}]:random<9,{1}[256]:iota,{1}[256],i32:16,i32:16,i32:{3},{2}:2,{2}:3"
BF = "bf16[1024],bf16[1024]:random,"


def sgemm(n):
    return lambda a: [2 * v + 3 for v in matmul(a[5], a[6], n, n, n)]


def tile(m, n, k):
    return lambda a: [2 * v + 3 * i for i, v in enumerate(matmul(a[1], a[2], m, n, k, False))]


def shifted(by_x, by_y, argument):
    return lambda a: [a[argument][16 * ((y + by_y) % 16) + (x + by_x) % 16] for y in range(16) for x in range(16)]


CASES = [
    (LLM + "softmax_forward", "softmax_forward_kernel1", "1", "32", N8, 1, lambda a: softmax(a[2], 96), 1e-5),
    (LLM + "softmax_forward", "softmax_forward_kernel2", "32", "64", N8, 1, lambda a: softmax(a[2], 96), 1e-5, 256),
    (LLM + "softmax_forward", "softmax_forward_kernel3", "32", "32", N8, 1, lambda a: softmax(a[2], 96), 1e-5, 384),
    (LLM + "softmax_forward", "softmax_forward_online_kernel1", "1", "32", N8, 1, lambda a: softmax(a[2], 96), 1e-5),
    (LLM + "softmax_forward", "softmax_forward_online_kernel2", "8", "128", N8, 1, lambda a: softmax(a[2], 96), 1e-5),
    (LLM + "softmax_forward", "softmax_forward_kernel7", "32", "64", N8, 1, lambda a: softmax(a[2], 96), 1e-5, 512),
    (LLM + "softmax_forward", "softmax_forward_online_kernel8", "16", "64", N8, 1, lambda a: softmax(a[2], 96), 1e-5),
    *[(LLM + "layernorm_forward", f"layernorm_forward_kernel{k}", grid, block, NORM, 1, lambda a: normalized(a, 128), 1e-4, *more)
      for k, grid, block, *more in ((1, "1", "32"), (3, "6", "128"), (4, "6", "128"), (5, "24", "64"), (6, "6", "32,4", 3072))],
    (LLM + "layernorm_forward", "mean_kernel", "24", "64", "f32[24],f32[24*128]:random,i32:24,i32:128,i32:64", 1,
     lambda a: [statistics(r)[0] for r in rows(a[2], 128)], 1e-5, 256),
    *[(LLM + "gelu_forward", f"gelu_forward_kernel{k}", grid, "128", BF + "i32:1024", 1, lambda a: [gelu(x) for x in a[2]], 5e-3)
      for k, grid in ((1, "8"), (2, "1"))],
    *[(LLM + "residual_forward", f"residual_forward_kernel{k}", grid, "128", BF + "bf16[1024]:random,i32:1024", 1,
       lambda a: [x + y for x, y in zip(a[2], a[3])], 5e-3) for k, grid in ((1, "8"), (2, "1"))],
    *[(LLM + "global_norm", f"norm_kernel{k}", "4", "128", "f32[1]:zero,bf16[4096]:random,u64:4096", 1,
       lambda a: [sum(x * x for x in a[2])], 1e-4) for k in (1, 2)],
    (LLM + "crossentropy_forward", "crossentropy_forward_kernel1", "1", "32",
     "f32[32],f32[32*50]:random,i32[32]:random<50,i32:4,i32:8,i32:50", 1,
     lambda a: [-math.log(a[2][50 * i + a[3][i]]) for i in range(32)], 1e-5),
    (LLM + "adamw", "adamw_kernel1", "4", "64", "f32[256]:random,f32[256]:random,f32[256]:zero,f32[256]:zero,i64:256,f32:0.1,"
     "f32:0.9,f32:0.999,f32:0.1,f32:0.001,f32:1e-8,f32:0", 3, lambda a: [0.1 * g for g in a[2]], 1e-5),
    ("SGEMM_CUDA__src__runner", "sgemm_naive", "2,2", "32,32", SGEMM.format(64), 8, sgemm(64), 1e-5),
    ("SGEMM_CUDA__src__runner", "sgemm_global_mem_coalesce", "2,2", "1024", SGEMM.format(64), 8, sgemm(64), 1e-5),
    ("SGEMM_CUDA__src__runner", "sgemm_shared_mem_block", "2,2", "1024", SGEMM.format(64), 8, sgemm(64), 1e-5),
    ("SGEMM_CUDA__src__runner", "sgemm1DBlocktiling", "1,1", "512", SGEMM.format(64), 8, sgemm(64), 1e-5),
    ("SGEMM_CUDA__src__runner", "_Z18sgemm2DBlocktilingILi64ELi64ELi8ELi8ELi8EEviiifPKfS1_fPf", "1,1", "64", SGEMM.format(64), 8,
     sgemm(64), 1e-5),
    *[("SGEMM_CUDA__src__runner", name, "1,1", block, SGEMM.format(128), 8, sgemm(128), 1e-5)
      for name, block in (("sgemmAutotuned", "256"), ("sgemmWarptiling", "128"),
                          ("_Z18sgemm2DBlocktilingILi128ELi128ELi8ELi8ELi8EEviiifPKfS1_fPf", "256"),
                          ("_Z14sgemmVectorizeILi128ELi128ELi8ELi8ELi8EEviiifPfS0_fS0_", "256"),
                          ("_Z24sgemmResolveBankExtraColILi128ELi128ELi8ELi8ELi8EEviiifPfS0_fS0_", "256"),
                          ("_Z25sgemmResolveBankConflictsILi128ELi128ELi8ELi8ELi8EEviiifPfS0_fS0_", "256"))],
    (SAMPLES + "3_CUDA_Features__cudaTensorCoreGemm__", "simple_wmma_gemm", "1", "32", WMMA.format("f16", "f32", "f32", 32), 4,
     tile(16, 16, 32), 1e-6),
    *[(SAMPLES + f"3_CUDA_Features__{file}TensorCoreGemm__", kernel, "1", "32", WMMA.format(*types, 16), 4, tile(16, 16, 16), 1e-6)
      for file, kernel, *types in (("bf16", "simple_wmma_bf16gemm", "bf16", "f32", "f32"),
                                   ("imma", "simple_wmma_gemm_imma", "u8", "i32", "i32"))],
    (SAMPLES + "3_CUDA_Features__tf32TensorCoreGemm__", "simple_wmma_tf32gemm", "1", "32",
     WMMA.format("f32", "f32", "f32", 32).replace(":random<9", ":iota"), 4, tile(16, 16, 32), 1e-6),
    (SAMPLES + "3_CUDA_Features__dmmaTensorCoreGemm__", "simple_wmma_gemm", "1", "32",
     "f64[8*32]:random,f64[8*32]:random,f64[64]:iota,f64[64],i32:8,i32:8,i32:32,f64:2,f64:3", 4, tile(8, 8, 32), 1e-12),
    *[(SAMPLES + "3_CUDA_Features__globalToShmemAsyncCopy__", kernel, "2,2", "16,16",
       "f32[32*32],f32[32*64]:random,f32[64*32]:random,i32:64,i32:32", 1, lambda a: matmul(a[2], a[3], 32, 32, 64), 1e-5)
      for kernel in ("MatrixMulAsyncCopyMultiStage", "MatrixMulAsyncCopySingleStage", "MatrixMulNaive")],
    *[(SAMPLES + f"0_Introduction__{file}__", "transformKernel", "2,2", "8,8",
       "f32[16*16],i32:16,i32:16,f32:0,f32[16x16]:random/normalized/wrap", 1, shifted(0, 0, 5), 1e-6)
      for file in ("simpleTexture", "simpleTextureDrv", "simpleSurfaceWrite")],
    *[(SAMPLES + "0_Introduction__simplePitchLinearTexture__", kernel, "2,2", "8,8",
       "f32[16*16],i32:16,i32:16,i32:16,i32:3,i32:5,f32[16x16]:random/normalized/wrap", 1, shifted(3, 5, 7), 1e-6)
      for kernel in ("shiftPitchLinear", "shiftArray")],
    (SAMPLES + "0_Introduction__simpleSurfaceWrite__", "surfaceWriteKernel", "2,2", "8,8",
     "f32[16*16]:random,i32:16,i32:16,f32[16x16]", 4, lambda a: a[1], 0),
    (SAMPLES + "2_Concepts_and_Techniques__boxFilter__boxFilter_kernel", "d_boxfilter_x_tex", "1", "16",
     "f32[16*16],i32:16,i32:16,i32:2,f32[16x16]:random", 1, lambda a: mean_of_box(a[5], 16, 2), 1e-4),
    (SAMPLES + "2_Concepts_and_Techniques__dct8x8__dct8x8", "CUDAkernel1DCT", "2,2", "8,8",
     "f32[16*16],i32:16,i32:0,i32:0,f32[16x16]:random", 1, lambda a: dct(a[5], 16), 1e-4),
    (SAMPLES + "2_Concepts_and_Techniques__dct8x8__dct8x8", "CUDAkernel2DCT", "1,1", "8,4,2",
     "f32[16*32],f32[16*32]:random,i32:32", 1, lambda a: dct(a[2], 32), 1e-4),
]


def run(path, kernel, grid, block, arguments, shared, *more):
    done = subprocess.run([program, "kernel", path, f"--kernel={kernel}", f"--grid={grid}", f"--block={block}",
                           f"--args={arguments}", *([f"--shared={shared}"] if shared else []), "--format=json", "--elements=100000", "--registers=32",
                           *more], capture_output=True, text=True, check=False, timeout=300)
    if not done.stdout.startswith("{"):
        return None, done.stderr.strip()
    found = json.loads(done.stdout)
    return {array["argument"]: array["values"] for array in found["arrays"]}, found["wrong"]


def try_case(folder, file, kernel, grid, block, arguments, argument, wanted_of, error, shared=0):
    paths = sorted(folder.rglob(f"{file}*.ptx"))
    if not paths:
        failures.append(f"{file}: there is no such file")
        return
    begun, _ = run(paths[0], kernel, grid, block, arguments, shared, "--most-instructions=1")
    arrays, wrong = run(paths[0], kernel, grid, block, arguments, shared)
    if arrays is None or wrong is not None:
        failures.append(f"{file} {kernel}: {wrong}")
        return
    wanted = wanted_of(begun)
    off = [i for i, (a, b) in enumerate(zip(arrays[argument], wanted)) if a is None or not abs(a - b) <= error * max(abs(b), 0.1)]
    if off or len(arrays[argument]) < len(wanted):
        failures.append(f"{file} {kernel}: {len(off)} of {len(wanted)} values are wrong: "
                        f"{[(i, arrays[argument][i], wanted[i]) for i in off[:3]]}")


with tempfile.TemporaryDirectory() as unpacked:
    if place.is_file():
        with tarfile.open(place) as archive:
            archive.extractall(unpacked, filter="data")
    for case in CASES:
        try_case(pathlib.Path(unpacked) if place.is_file() else place, *case)
    # softmax_forward.cu reads maxvals[0] and writes the sums to the same place with no barrier in between.
    path = next((pathlib.Path(unpacked) if place.is_file() else place).rglob(f"{LLM}softmax_forward*.ptx"))
    wrong = run(path, "softmax_forward_kernel4", "32", "64", N8, 512)[1]
    if not wrong or wrong["kind"] != "a missing barrier" or wrong["place"] != "softmax_forward.cu:268":
        failures.append(f"softmax_forward_kernel4: {wrong}")
for failure in failures:
    print(f"FAILED: {failure}")
print(f"{len(CASES)} kernels, {len(failures)} failures")
sys.exit(bool(failures))
