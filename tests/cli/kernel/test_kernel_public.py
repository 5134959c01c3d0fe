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


def blocks_of(values, size):
    return [sum(values[i:i + size]) for i in range(0, len(values), size)]


def permuted(values, b, t, n, d, part=0, parts=3):
    """Of (b, t, parts, n, d) the part as (b, n, t, d)."""
    return [values[(((i * t + j) * parts + part) * n + k) * d + e] for i in range(b) for k in range(n) for j in range(t)
            for e in range(d)]


def causal_softmax(x, t):
    found = []
    for i, row in enumerate(rows(x, t)):
        found += softmax(row[:i % t + 1], i % t + 1) + [0.0] * (t - 1 - i % t)
    return found


def causal_values(att, qkv, b, t, n, d):
    """Attention times values, as (b, t, n, d); qkv is (b, t, 3, n, d)."""
    return [sum(att[((i * n + k) * t + j) * t + o] * qkv[(((i * t + o) * 3 + 2) * n + k) * d + e] for o in range(j + 1))
            for i in range(b) for j in range(t) for k in range(n) for e in range(d)]


def causal_gradient(datt, att, t, scale):
    found = []
    for i in range(0, len(att), t):
        last = i // t % t
        dot = sum(att[i + k] * datt[i + k] for k in range(last + 1))
        found += [scale * att[i + k] * (datt[i + k] - dot) if k <= last else 0.0 for k in range(t)]
    return found


def embedded(a, width, tokens):
    return [a[3][width * a[2][i] + c] + a[4][width * (i % tokens) + c] for i in range(len(a[2])) for c in range(width)]


def scattered(a, width, many):
    found = [0.0] * (many * width)
    for i, token in enumerate(a[4]):
        for c in range(width):
            found[width * token + c] += a[3][width * i + c]
    return found


def gelu_slope(x):
    u = math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * (1 + u) + 0.5 * x * (1 - u * u) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)


def columns(values, width):
    return [sum(row[c] for row in rows(values, width)) for c in range(width)]


def call_price(s, x, t, r, v):
    normal = lambda d: 0.5 * math.erfc(-d / math.sqrt(2))  # noqa: E731
    d = (math.log(s / x) + (r + v * v / 2) * t) / (v * math.sqrt(t))
    return s * normal(d) - x * math.exp(-r * t) * normal(d - v * math.sqrt(t))


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
    (LLM + "adamw", "adamw_kernel2", "4", "64", "f32[256]:random,f32[256]:random,f32[256]:zero,f32[256]:zero,i64:256,f32:0.1,"
     "f32:0.9,f32:0.999,f32:0.1,f32:0.001,f32:1e-8,f32:0", 4, lambda a: [0.001 * g * g for g in a[2]], 1e-4),
    *[(LLM + file, "permute_kernel", "3", "128", "f32[384],f32[384],f32[384],f32[1152]:random,i32:2,i32:6,i32:4,i32:8", part + 1,
       lambda a, part=part: permuted(a[4], 2, 6, 4, 8, part), 0) for part, file in enumerate(
           ("attention_forward", "attention_backward", "trimat_forward"))],
    *[(LLM + file, "_Z16unpermute_kernelPKfPfiiii", "3", "128", "f32[384]:random,f32[384],i32:2,i32:6,i32:4,i32:8", 2,
       lambda a: permuted(a[1], 2, 4, 6, 8, 0, 1), 0) for file in ("attention_forward", "attention_backward")],
    (LLM + "attention_forward", "permute_kernel_lowp", "3", "128",
     "bf16[384],bf16[384],bf16[384],f32[1152]:random,i32:2,i32:6,i32:4,i32:8", 2, lambda a: permuted(a[4], 2, 6, 4, 8, 1), 5e-3),
    (LLM + "attention_forward", "attention_softmax_kernel1", "1", "64", "f32[512],f32[512]:random,i32:2,i32:8,i32:4", 1,
     lambda a: causal_softmax(a[2], 8), 1e-5),
    (LLM + "attention_forward", "attention_value_kernel1", "1", "64", "f32[512],f32[512]:random,f32[1536]:random,i32:2,i32:8,i32:32,i32:4",
     1, lambda a: causal_values(a[2], a[3], 2, 8, 4, 8), 1e-5),
    *[(LLM + "attention_backward", f"softmax_autoregressive_backward_kernel{k}", grid, block,
       "f32[512]:zero,f32[512]:random,f32[512]:random,i32:2,i32:8,i32:32,i32:4", 1,
       lambda a: causal_gradient(a[2], a[3], 8, 8**-0.5), 1e-4) for k, grid, block in ((1, "1,8", "32"), (2, "8,8", "32"), (3, "8,8", "32"))],
    (LLM + "matmul_forward", "matmul_forward_kernel1", "2,3", "8,8", "f32[16*24],f32[16*20]:random,f32[24*20]:random,f32[24]:random,i32:16,i32:20,i32:24",
     1, lambda a: [v + a[4][i % 24] for i, v in enumerate(matmul(a[2], a[3], 16, 24, 20, False))], 1e-5),
    (LLM + "matmul_forward", "add_bias", "2", "64", "f32[384]:1,f32[24]:random,i32:2,i32:8,i32:24", 1,
     lambda a: [1 + a[2][i % 24] for i in range(384)], 1e-6),
    *[(LLM + "encoder_forward", f"encoder_forward_kernel{k}", grid, "64",
       "bf16[512],i32[16]:random<10,bf16[320]:random,bf16[256]:random,i32:2,i32:8,i32:32", 1, lambda a: embedded(a, 32, 8), 5e-3)
      for k, grid in ((1, "1"), (2, "8"), (3, "1"))],
    *[(LLM + "encoder_backward", f"encoder_backward_kernel{k}", grid, "64",
       "f32[320]:zero,f32[256]:zero,f32[512]:random,i32[16]:random<10,i32:2,i32:8,i32:32", 1, lambda a: scattered(a, 32, 10), 1e-5)
      for k, grid in ((1, "8"), (2, "1"))],
    *[(LLM + "gelu_backward", f"gelu_backward{k}", grid, "128", BF + "bf16[1024]:random,i32:1024", 1,
       lambda a: [gelu_slope(x) * d for x, d in zip(a[2], a[3])], 8e-3) for k, grid in ((1, "8"), (2, "1"))],
    *[(LLM + "matmul_backward", f"matmul_backward_bias_kernel_{k}", grid, "32", "f32[24]:zero,f32[384]:random,i32:2,i32:8,i32:24", 1,
       lambda a: columns(a[2], 24), 1e-5, *more) for k, grid, *more in (("naive", "1"), ("faster", "24", 128))],
    (LLM + "matmul_backward_bias", "cast_and_add_kernel", "8", "128", "bf16[1024]:1,f32[1024]:random,u64:1024", 1,
     lambda a: [1 + x for x in a[2]], 5e-3),
    (LLM + "crossentropy_softmax_backward", "crossentropy_softmax_backward_kernel1", "7", "128",
     "f32[800]:zero,f32[16]:random,f32[800]:random,i32[16]:random<50,i32:2,i32:8,i32:50", 1,
     lambda a: [(p - (i % 50 == a[4][i // 50])) * a[2][i // 50] for i, p in enumerate(a[3])], 1e-5),
    (LLM + "fused_residual_forward", "residual_forward_kernel1", "8", "128", BF + "bf16[1024]:random,i32:1024", 1,
     lambda a: [x + y for x, y in zip(a[2], a[3])], 5e-3),
    (LLM + "global_norm", "global_norm_aggregate_kernel", "1", "1024", "f32[600]:random,u64:600", 1, lambda a: [sum(a[1])], 1e-5),
    *[(SAMPLES + "2_Concepts_and_Techniques__reduction__", f"_Z7reduce{k}I{t}{of}EvPT_S1_j", "4", "256", f"{type}[{n}]:random<100,{type}[4],u32:{n}", 2,
       lambda a, n=n: blocks_of(a[1], n // 4), 1e-6, 2048)
      for k, of, n in ((0, "", 1024), (1, "", 1024), (2, "", 1024), (3, "", 2048), (4, "Lj256E", 2048), (5, "Lj256E", 2048))
      for t, type in (("i", "i32"), ("f", "f32"))],
    *[(SAMPLES + f"0_Introduction__{file}", kernel, "4", "64", "f32[250]:random,f32[250]:random,f32[250],i32:250", 3,
       lambda a: [x + y for x, y in zip(a[1], a[2])], 1e-6)
      for file, kernel in (("vectorAdd__", "vectorAdd"), ("vectorAddDrv__", "VecAdd_kernel"), ("vectorAdd_nvrtc__", "vectorAdd"),
                           ("vectorAddMMAP__", "VecAdd_kernel"), ("simpleDrvRuntime__", "VecAdd_kernel"),
                           ("simpleZeroCopy__", "vectorAddGPU"))],
    ("lectures__lecture_002__vector_addition__", "vecAddKernel", "4", "64", "f32[250]:random,f32[250]:random,f32[250],i32:250", 3,
     lambda a: [x + y for x, y in zip(a[1], a[2])], 1e-6),
    *[(SAMPLES + f"0_Introduction__{file}", kernel, "2,3", block, f"f32[{m}*{n}],f32[{m}*{k}]:random,f32[{k}*{n}]:random,i32:{k},i32:{n}", 1,
       lambda a, m=m, n=n, k=k: matmul(a[2], a[3], m, n, k), 1e-5)
      for file, kernel, block, m, n, k in (("matrixMul__", "_Z13MatrixMulCUDAILi16EEvPfS0_S0_ii", "16,16", 48, 32, 16),
                                           ("matrixMul_nvrtc__", "matrixMulCUDA_block16", "16,16", 48, 32, 32))],
    (SAMPLES + "0_Introduction__matrixMulDrv__", "matrixMul_bs16_64bit", "2,3", "16,16",
     "f32[48*32],f32[48*32]:random,f32[32*32]:random,u64:32,u64:32", 1, lambda a: matmul(a[2], a[3], 48, 32, 32), 1e-5),
    (SAMPLES + "5_Domain_Specific__BlackScholes__", "BlackScholesGPU", "1", "128",
     "f32[128],f32[128],f32[128]:10,f32[128]:12,f32[128]:random,f32:0.02,f32:0.3,i32:128", 1,
     lambda a: [call_price(10, 12, t, 0.02, 0.3) for t in a[5]], 1e-3),
    *[("lectures__lecture_008__tiling", kernel, "2,2", "16,16", "f32[1024]:random,f32[1024]:random,f32[1024],i32:32", 3,
       lambda a: matmul(a[1], a[2], 32, 32, 32), 1e-5) for kernel in ("matrixMulSimple", "matrixMulTiled")],
    # Its last block adds up what the others left, after fences and a ticket: no race.
    (SAMPLES + "2_Concepts_and_Techniques__threadFenceReduction__", "_Z16reduceSinglePassILj128ELb1EEvPKfPfj", "8", "128",
     "f32[2048]:random,f32[8],u32:2048", 2, lambda a: [sum(a[1])], 1e-4, 1024),
    ("lectures__lecture_008__coalesce", "copyDataCoalesced", "4", "64", "f32[250]:random,f32[250],i32:250", 2, lambda a: a[1], 0),
    ("lectures__lecture_008__coalesce", "copyDataNonCoalesced", "4", "64", "f32[250]:random,f32[250],i32:250", 2,
     lambda a: [a[1][2 * i % 250] for i in range(250)], 0),
    *[("lectures__lecture_008__divergence", f"processArray{k}Divergence", "4", "64", "i32[250]:random<1000,i32:250", 1,
       lambda a: [2 * x if x % 2 == 0 else x + 1 for x in a[1]], 0) for k in ("With", "Without")],
    *[("lectures__lecture_009__" + file, kernel, "1", "1024", "f32[2048]:random,f32[1]", 2, lambda a: [sum(a[1])], 1e-4)
      for file, kernel in (("control_divergence_reduce", "FixDivergenceKernel"), ("simple_reduce", "SimpleSumReductionKernel"),
                           ("shared_reduce", "SharedMemoryReduction"))],
]

WIDE = "ILi128ELi128ELi8ELi8ELi8EEviiifPfS0_fS0_"
LADDER = [  # kernel, grid, block, findings that it has, and has not
    ("sgemm_naive", "4,4", "32,32", ["uncoalesced_access"], []),
    ("sgemm_global_mem_coalesce", "4,4", "1024", ["no_reuse (a block fetches"], ["uncoalesced_access"]),
    ("sgemm_shared_mem_block", "4,4", "1024", ["no_reuse (a value in shared"], ["a block fetches"]),
    ("sgemm1DBlocktiling", "2,2", "512", ["no_reuse (a value in shared"], ["bank_conflicts"]),
    ("_Z18sgemm2DBlocktilingILi128ELi128ELi8ELi8ELi8EEviiifPKfS1_fPf", "1", "256", ["bank_conflicts"], ["no_reuse"]),
    ("_Z14sgemmVectorize" + WIDE, "1", "256", ["bank_conflicts"], ["no_reuse", "low_occupancy"]),
    ("_Z25sgemmResolveBankConflicts" + WIDE, "1", "256", [], ["bank_conflicts", "low_occupancy", "no_reuse"]),
    ("sgemmWarptiling", "1", "128", [], ["low_occupancy", "no_reuse", "uncoalesced_access"]),
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
    # The rungs of the ladder of matrix products: each is told what the next one mends; few warps are no fault of the last.
    path = next((pathlib.Path(unpacked) if place.is_file() else place).rglob("SGEMM_CUDA__src__runner*.ptx"))
    for kernel, grid, block, said, unsaid in LADDER:
        done = subprocess.run([program, "kernel", path, f"--kernel={kernel}", f"--grid={grid}", f"--block={block}",
                               f"--args={SGEMM.format(128)}", "--format=json", "--registers=128"], capture_output=True, check=False)
        found = [(finding["id"], finding["title"]) for finding in json.loads(done.stdout)["findings"]]
        ids = " ".join(f"{name} ({title})" for name, title in found)
        if not all(word in ids for word in said) or any(word in ids for word in unsaid):
            failures.append(f"{kernel}: {ids}, where {said} should be and {unsaid} should not")
    # softmax_forward.cu reads maxvals[0] and writes the sums to the same place with no barrier in between.
    path = next((pathlib.Path(unpacked) if place.is_file() else place).rglob(f"{LLM}softmax_forward*.ptx"))
    wrong = run(path, "softmax_forward_kernel4", "32", "64", N8, 512)[1]
    if not wrong or wrong["kind"] != "a missing barrier" or wrong["place"] != "softmax_forward.cu:268":
        failures.append(f"softmax_forward_kernel4: {wrong}")
for failure in failures:
    print(f"FAILED: {failure}")
print(f"{len(CASES)} kernels, {len(failures)} failures")
sys.exit(bool(failures))
