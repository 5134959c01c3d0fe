#!/usr/bin/env python3
"""`chokepoint.kernel()` on what Triton compiles for sm_80 and sm_90: values as NumPy has them, and no finding; and on five
kernels of numba, where that is installed. It wants a Python with Triton 3 and NumPy, which CHOKEPOINT_TRITON_PYTHON names (default: this
one); no GPU, and no PyTorch.

usage: test_kernel_triton.py PROGRAM SOURCE
"""
import math
import os
import subprocess
import sys

program, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
own = os.environ.get("CHOKEPOINT_TRITON_PYTHON", sys.executable)
if own != sys.executable and os.environ.get("CHOKEPOINT_TRITON_CHILD") is None:
    sys.exit(subprocess.run([own, __file__, program, source], check=False,
                            env={**os.environ, "CHOKEPOINT_TRITON_CHILD": "1"}).returncode)
try:
    import numpy as np
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError as error:
    print(f"skipped: {error}; CHOKEPOINT_TRITON_PYTHON names a Python with triton and numpy")
    sys.exit(77)
sys.dont_write_bytecode = True
os.environ["PATH"] = os.path.dirname(program) + os.pathsep + os.environ["PATH"]
sys.path.insert(0, os.path.join(source, "python"))
import chokepoint  # noqa: E402


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(out, x, n, B: tl.constexpr):
    row, i = tl.program_id(0) * n, tl.arange(0, B)
    v = tl.load(x + row + i, mask=i < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    tl.store(out + row + i, v / tl.sum(v, 0), mask=i < n)


@triton.jit
def layernorm(out, x, w, b, n, eps, B: tl.constexpr):
    row, i = tl.program_id(0) * n, tl.arange(0, B)
    v = tl.load(x + row + i, mask=i < n, other=0.)
    d = tl.where(i < n, v - tl.sum(v, 0) / n, 0.)
    r = 1 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    tl.store(out + row + i, d * r * tl.load(w + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


@triton.jit
def matmul(a, b, out, n, B: tl.constexpr):
    y, x, k = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for q in range(0, n, B):
        total = tl.dot(tl.load(a + y[:, None] * n + (q + k)[None, :]), tl.load(b + (q + k)[:, None] * n + x[None, :]), total)
    tl.store(out + y[:, None] * n + x[None, :], total)


@triton.jit
def cumsum(out, x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def transpose(out, x, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    tl.store(out + n[:, None] * M + m[None, :], tl.trans(tl.load(x + m[:, None] * N + n[None, :])))


@triton.jit
def histogram(out, x, B: tl.constexpr, H: tl.constexpr):
    tl.store(out + tl.arange(0, H), tl.histogram(tl.load(x + tl.arange(0, B)), H))


@triton.jit
def gelu(out, x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, 0.5 * v * (1 + tl.erf(v * 0.70710678)), mask=i < n)


@triton.jit
def total(out, x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.), 0))


@triton.jit
def attention(out, q, k, v, n, scale, B: tl.constexpr, D: tl.constexpr):
    y, d = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, D)
    rows, most = tl.load(q + y[:, None] * D + d[None, :]), tl.full((B,), -float("inf"), tl.float32)
    weight, found = tl.zeros((B,), tl.float32), tl.zeros((B, D), tl.float32)
    for first in range(0, n, B):
        x = first + tl.arange(0, B)
        score = tl.dot(rows, tl.load(k + x[None, :] * D + d[:, None])) * scale
        higher = tl.maximum(most, tl.max(score, 1))
        power, less = tl.exp(score - higher[:, None]), tl.exp(most - higher)
        weight = weight * less + tl.sum(power, 1)
        found = tl.dot(power.to(tl.float16), tl.load(v + x[:, None] * D + d[None, :]), found * less[:, None])
        most = higher
    tl.store(out + y[:, None] * D + d[None, :], found / weight[:, None])


random = np.random.default_rng(7)


def drawn(*shape):
    return random.standard_normal(shape, dtype=np.float32)


def soft(x):
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


x, y, rows, w, b, square = drawn(1000), drawn(1000), drawn(20, 300), drawn(300), drawn(300), drawn(64, 64)
counted = random.integers(0, 16, 1024).astype(np.int32)
q, k, v = (drawn(64, 64).astype(np.float16) for _ in range(3))
wide = [array.astype(np.float64) for array in (q, k, v)]
n = np.int32(1000)
# kernel, types, constants, grid, arguments of which the first (matmul, add: the third) is made, what it should be, tolerance
CASES = [
    (add, "*fp32 *fp32 *fp32 i32", {"B": 256}, 4, (x, y, np.zeros_like(x), n), 2, x + y, 1e-6),
    (softmax, "*fp32 *fp32 i32", {"B": 512}, 20, (np.zeros_like(rows), rows, np.int32(300)), 0, soft(rows), 1e-5),
    (layernorm, "*fp32 *fp32 *fp32 *fp32 i32 fp32", {"B": 512}, 20,
     (np.zeros_like(rows), rows, w, b, np.int32(300), np.float32(1e-5)), 0,
     (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5) * w + b, 1e-4),
    (matmul, "*fp16 *fp16 *fp32 i32", {"B": 32}, (2, 2), (q, k, np.zeros_like(square), np.int32(64)), 2, wide[0] @ wide[1], 1e-3),
    (matmul, "*fp32 *fp32 *fp32 i32", {"B": 32}, (2, 2), (square, square, np.zeros_like(square), np.int32(64)), 2,
     square.astype(np.float64) @ square, 2e-2),
    (cumsum, "*fp32 *fp32", {"B": 512}, 1, (np.zeros(512, np.float32), x[:512]), 0, np.cumsum(x[:512].astype(np.float64)), 1e-4),
    (transpose, "*fp32 *fp32", {"M": 64, "N": 64}, 1, (np.zeros_like(square), square), 0, square.T, 0),
    (histogram, "*i32 *i32", {"B": 1024, "H": 16}, 1, (np.zeros(16, np.int32), counted), 0, np.bincount(counted, minlength=16), 0),
    (gelu, "*fp32 *fp32 i32", {"B": 256}, 4, (np.zeros_like(x), x, n), 0,
     0.5 * x * (1 + np.vectorize(math.erf)(x * 0.70710678)), 1e-5),
    (total, "*fp32 *fp32 i32", {"B": 256}, 4, (np.zeros(1, np.float32), x, n), 0, [x.astype(np.float64).sum()], 1e-4),
    (attention, "*fp16 *fp16 *fp16 *fp16 i32 fp32", {"B": 32, "D": 64}, 2,
     (np.zeros_like(q), q, k, v, np.int32(64), np.float32(0.125)), 0, soft(wide[0] @ wide[1].T / 8) @ wide[2], 5e-3),
]
failures = []
for arch in (80, 90):
    for function, types, constants, grid, arguments, made, wanted, tolerance in CASES:
        signature = dict(zip(function.arg_names, types.split() + ["constexpr"] * len(constants)))
        compiled = triton.compile(ASTSource(function, signature, constexprs=constants), target=GPUTarget("cuda", arch, 32))
        own = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
        found = chokepoint.kernel(compiled, grid, *own, options=["--registers=32"])
        name = f"{function.fn.__name__} of sm_{arch}"
        if found["wrong"] is not None:
            failures.append(f"{name}: {found['wrong']}")
        elif not np.allclose(own[made], wanted, rtol=tolerance, atol=3 * tolerance):
            failures.append(f"{name}: off by {np.abs(own[made] - wanted).max()}")
        elif found["counts"]["instructions"] == 0:
            failures.append(f"{name}: nothing was counted")
tried = 2 * len(CASES)
try:
    from numba import cuda, float32, int32
except ImportError as error:
    print(f"{error}: numba is not tried")
else:
    def tiles(out, a, b):
        s, t = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
        y, x = cuda.grid(2)
        r, c = cuda.threadIdx.x, cuda.threadIdx.y
        sum_of_products = float32(0)
        for i in range(4):
            s[r, c], t[r, c] = a[y, 16 * i + c], b[16 * i + r, x]
            cuda.syncthreads()
            for k in range(16):
                sum_of_products += s[r, k] * t[k, c]
            cuda.syncthreads()
        out[y, x] = math.exp(sum_of_products / 64)
        cuda.atomic.add(out, (0, 0), 0)

    def axpy(out, a, b):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = 2 * a[i] + b[i]

    def turned(out, a):
        tile = cuda.shared.array((16, 17), float32)
        x, y = cuda.grid(2)
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[y, x]
        cuda.syncthreads()
        x = cuda.blockIdx.y * 16 + cuda.threadIdx.x
        y = cuda.blockIdx.x * 16 + cuda.threadIdx.y
        out[y, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y]

    def summed(out, a):
        own = cuda.shared.array(128, float32)
        lane, half = cuda.threadIdx.x, 64
        own[lane] = a[cuda.grid(1)]
        cuda.syncthreads()
        while half > 0:
            if lane < half:
                own[lane] += own[lane + half]
            cuda.syncthreads()
            half //= 2
        if lane == 0:
            cuda.atomic.add(out, 0, own[0])

    def binned(out, a):
        i = cuda.grid(1)
        if i < a.size:
            cuda.atomic.add(out, a[i], 1)

    vector, table, whole = float32[::1], float32[:, ::1], int32[::1]
    numbers = counted.astype(np.int32)
    NUMBA = [  # kernel, its types, grid, block, arguments, values of the first
        (tiles, (table,) * 3, (4, 4), (16, 16), (np.zeros_like(square), square, square), np.exp(square @ square / 64)),
        (axpy, (vector,) * 3, 5, 64, (np.zeros(300, np.float32), x[:300], x[300:600]), 2 * x[:300] + x[300:600]),
        (turned, (table,) * 2, (4, 4), (16, 16), (np.zeros_like(square), square), square.T),
        (summed, (vector,) * 2, 4, 128, (np.zeros(1, np.float32), x[:512]), [x[:512].astype(np.float64).sum()]),
        (binned, (whole,) * 2, 8, 128, (np.zeros(16, np.int32), numbers), np.bincount(numbers, minlength=16)),
    ]
    tried += len(NUMBA)
    for function, types, grid, block, arguments, wanted in NUMBA:
        ptx, _ = cuda.compile_ptx(function, types, cc=(8, 0))
        own = [value.copy() for value in arguments]
        found = chokepoint.kernel(ptx, grid, *own, block=block, numba=True)
        if found["wrong"] is not None or not np.allclose(own[0], wanted, rtol=1e-4, atol=1e-3):
            failures.append(f"numba, {function.__name__}: {found['wrong']}, {np.abs(own[0] - wanted).max()}")
try:
    chokepoint.kernel(compiled, 1, 5)
    failures.append("a call without its arguments")
except chokepoint.Error as error:
    if "takes" not in str(error):
        failures.append(str(error))
for failure in failures:
    print(f"FAILED: {failure}")
print(f"{tried} kernels, {len(failures)} failures")
sys.exit(bool(failures))
