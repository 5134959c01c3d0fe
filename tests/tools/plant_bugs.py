#!/usr/bin/env python3
"""Plants one bug after another in the CUDA half, builds, and runs the tests that should find it over the stand-in.

    plant_bugs.py [--only NAME]... [--list] BUILD_DIR

Works in the checkout that it is in, which must have no uncommitted changes, and takes each bug out again. The first ten are
in code that only nvcc compiles, the others in what the host does. Fails if a bug is not found. All of them take some
ten minutes of two cores. BUILD_DIR must be built."""

import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CUDA = "kernels/dialect/kernel_cuda.h"
TILE = "kernels/dialect/tile_cuda.h"
PLUGIN = "harness/lab/device/cuda/"

# name, file, what stands there, what is planted, the tests of which one must fail
BUGS = [
    ("a pack too far", CUDA, "        if (index < count)                                                                         \\\n            name##_pack(&arguments, index);",
     "        if (index <= count)                                                                        \\\n            name##_pack(&arguments, index);", "test_cuda_kernels"),
    ("a reduction without its first step", CUDA, "KERNEL_INLINE float lanes_sum(float x)\n{\n    UNROLLED for (int away = LANES / 2;",
     "KERNEL_INLINE float lanes_sum(float x)\n{\n    UNROLLED for (int away = LANES / 4;", "test_cuda_kernels"),
    ("a bf16 pair turned round", CUDA, "__floats2bfloat162_rn(pack.v[2 * w], pack.v[2 * w + 1])",
     "__floats2bfloat162_rn(pack.v[2 * w + 1], pack.v[2 * w])", "test_cuda_kernels"),
    ("a row beyond the last", TILE, "(long)smaller_int(j, rows->last) * tile.width", "(long)j * tile.width",
     "test_cuda_kernels"),
    ("every lane stores a number of its own", TILE, "if (tile.vector < tile.count && tile.offset == 0)",
     "if (tile.vector < tile.count)", "test_cuda_kernels"),
    ("a vector beyond the last", TILE, "    return smaller_int(tile.vector, tile.count - 1);",
     "    return tile.vector;", "test_cuda_kernels"),
    ("rows without their block", CUDA, "        long index = KERNEL_THREAD / LANES;  ",
     "        long index = threadIdx.x / LANES;    ", "test_cuda_kernels"),
    ("every lane stores the columns", "kernels/model/bias.kernel.c", "    sums = slices_sums(sums);\n    if (SLICE_LANE == 0)\n",
     "    sums = slices_sums(sums);\n", "test_cuda_kernels"),
    ("an exponential to another base", CUDA, "x * 1.44269504f", "x * 1.44f", "test_cuda_kernels"),
    ("operands of inline PTX mixed up", CUDA, '"r"(words.v[0]), "r"(words.v[1])', '"r"(words.v[1]), "r"(words.v[0])',
     "test_cuda_kernels"),
    ("a stride of nine for eight", "kernels/model/bias.kernel.c", "part += AHEAD * SLICE_LANES) {", "part += (AHEAD + 1) * SLICE_LANES) {",
     "test_cuda_kernels"),
    ("a grid one block short", PLUGIN + "kernels/geometry.c", "return a / b + (a % b != 0);", "return a / b;",
     "test_cuda_(kernels|training)|test_cuda_parts"),
    ("arguments in the wrong order", PLUGIN + "launch.c", "{ (void *)arguments, &count }", "{ &count, (void *)arguments }",
     "test_cuda_(graph|training)"),
    ("a dependency between streams left out", PLUGIN + "event.c",
     "    CUDA(cudaStreamWaitEvent(stream->handle, event->handle, cudaEventWaitDefault));\n", "    (void)event;\n", "test_cuda_stream"),
    ("a graph's node left out", PLUGIN + "launch.c", "    CUDA(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream->handle));",
     "    if (atomic_load(&stream->capture) == NULL)\n        CUDA(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream->handle));",
     "test_cuda_(graph|training)"),
    ("a copy that does not wait", PLUGIN + "copy.c", "    if (!asynchronous && host)\n        CUDA(cudaStreamSynchronize(stream->handle));\n", "",
     "test_cuda_(copy|stream|graph)"),
    ("products whose operands are not exchanged", PLUGIN + "libraries/gemm_swap.c", "gemm->transpose_b", "gemm->transpose_a",
     "test_cuda_gemm|test_cuda_parts"),
    ("a memset of the wrong length", PLUGIN + "copy.c", "cudaMemsetAsync(memory, byte, bytes, stream->handle)",
     "cudaMemsetAsync(memory, byte, bytes - 1, stream->handle)", "test_cuda_(memory|copy|stream|graph)"),
    ("the kernel of another storage type", PLUGIN + "launch.c", "    [DTYPE_BF16] = cuda_kernels_bf16,", "    [DTYPE_BF16] = cuda_kernels_f16,",
     "test_cuda_training"),
    ("a workspace that no capture takes again", PLUGIN + "graph.c", "gemm_workspace_take(gemms_of(stream), &capture->workspace)",
     "gemm_workspace_open(gemms_of(stream), &capture->workspace)", "test_cuda_graph"),
    ("a launch on another stream", PLUGIN + "graph.c", "cudaGraphLaunch(graph->exec, stream->handle)", "cudaGraphLaunch(graph->exec, ((struct cuda_device *)graph_base->device)->streams->handle)",
     "test_cuda_(graph|stream)"),
]


def run(*command):
    return subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def is_found(build, tests):
    """Whether the planted bug fails to build or fails a test; and the first line that says so. Only what the stand-in is
    made of is built: tests load it."""
    built = run("cmake", "--build", build, "--target", "stand_in", "chokepoint_ptx", "test_cuda_parts")
    if built.returncode != 0:
        return True, "it does not build"
    tested = run("ctest", "--test-dir", build, "-R", f"^({tests})$", "--output-on-failure", "--stop-on-failure")
    words = [line for line in tested.stdout.splitlines() if re.search(r"stand-in: |\[  FAILED  \] \w", line)]
    return tested.returncode != 0, words[0].strip()[:200] if words else "a test fails"


def main():
    arguments = sys.argv[1:]
    if "--list" in arguments:
        print("\n".join(f"{name}: {tests}" for name, _, _, _, tests in BUGS))
        return
    only = [arguments[i + 1] for i, word in enumerate(arguments) if word == "--only"]
    build = arguments[-1] if arguments else sys.exit(__doc__)
    if run("git", "status", "--porcelain", "--untracked-files=no").stdout:
        sys.exit("plant_bugs.py: commit your changes first: each bug is taken out again")
    missed = 0
    for name, file, old, new, tests in BUGS:
        if only and name not in only:
            continue
        path = SOURCE / file
        text = path.read_text()
        if old not in text:
            sys.exit(f"plant_bugs.py: {file} has no longer what '{name}' replaces")
        try:
            path.write_text(text.replace(old, new, 1))
            found, words = is_found(build, tests)
        finally:
            path.write_text(text)
        missed += not found
        print(f"{'found ' if found else 'MISSED'} {name}: {words if found else tests}", flush=True)
    print(f"{missed} missed")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
