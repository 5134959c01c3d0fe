#!/usr/bin/env python3
"""Plants one bug after another in the CUDA half, builds, and runs the tests that should find it over the stand-in.

    plant_bugs.py [--only NAME]... FOLDER
    plant_bugs.py --list | --check

Works on a copy of the checkout in FOLDER, which it leaves there: the next time less is built. The first eleven bugs are
in code that only nvcc compiles, the others in what the host does. Fails if a bug is not found. All of them take some
ten minutes of two cores. nvcc must be in PATH. --list: the bugs and their tests. --check: whether each still has
something to replace."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CUDA = "kernels/dialect/kernel_cuda.h"
TILE = "kernels/dialect/tile_cuda.h"
PLUGIN = "harness/device/cuda/"

# One storage type and architecture, which CI runs too.
KERNELS = "test_cuda_kernels_75"

# name, file, what stands there, what is planted, the tests of which one must fail
BUGS = [
    ("a pack too far", CUDA, "        if (index < count)                                                                         \\\n            name##_pack(&arguments, index);",
     "        if (index <= count)                                                                        \\\n            name##_pack(&arguments, index);", KERNELS),
    ("a reduction without its first step", CUDA, "KERNEL_INLINE float lanes_sum(float x)\n{\n    UNROLLED for (int away = LANES / 2;",
     "KERNEL_INLINE float lanes_sum(float x)\n{\n    UNROLLED for (int away = LANES / 4;", KERNELS),
    ("a bf16 pair turned round", CUDA, "__floats2bfloat162_rn(pack.v[2 * w], pack.v[2 * w + 1])",
     "__floats2bfloat162_rn(pack.v[2 * w + 1], pack.v[2 * w])", KERNELS),
    ("a row beyond the last", TILE, "(long)smaller_int(j, rows->last) * tile.width", "(long)j * tile.width",
     KERNELS),
    ("every lane stores a number of its own", TILE, "if (tile.vector < tile.count && tile.offset == 0)",
     "if (tile.vector < tile.count)", KERNELS),
    ("a vector beyond the last", TILE, "    return smaller_int(tile.vector, tile.count - 1);",
     "    return tile.vector;", KERNELS),
    ("rows without their block", CUDA, "        long index = KERNEL_THREAD / LANES;  ",
     "        long index = threadIdx.x / LANES;    ", KERNELS),
    ("every lane stores the columns", "kernels/model/bias.kernel.c", "    sums = slices_sums(sums);\n    if (SLICE_LANE == 0)\n",
     "    sums = slices_sums(sums);\n", KERNELS),
    ("an exponential to another base", CUDA, "x * 1.44269504f", "x * 1.44f", KERNELS),
    ("operands of inline PTX mixed up", CUDA, '"r"(words.v[0]), "r"(words.v[1])', '"r"(words.v[1]), "r"(words.v[0])',
     KERNELS),
    ("a stride of nine for eight", "kernels/model/bias.kernel.c", "part += AHEAD * SLICE_LANES) {", "part += (AHEAD + 1) * SLICE_LANES) {",
     KERNELS),
    ("a grid one block short", PLUGIN + "kernels/geometry.c",
     "return count / counts_of_a_block[shape] + (count % counts_of_a_block[shape] != 0);",
     "return count / counts_of_a_block[shape];",
     "test_cuda_training|test_cuda_parts"),
    ("arguments in the wrong order", PLUGIN + "launch.c", "{ (void *)arguments, &count }", "{ &count, (void *)arguments }",
     "test_cuda_(graph|training)"),
    ("a dependency between streams left out", PLUGIN + "event.c",
     "    CUDA(cudaStreamWaitEvent(stream->handle, event->handle, cudaEventWaitDefault));\n", "    (void)event;\n", "test_cuda_stream"),
    ("a graph's node left out", PLUGIN + "launch.c", "    CUDA(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream->handle));",
     "    if (atomic_load(&stream->capture) == NULL)\n        CUDA(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream->handle));",
     "test_cuda_(graph|training)"),
    ("a copy that does not wait", PLUGIN + "copy.c", "    if (!asynchronous && host)\n        CUDA_OUT(cudaStreamSynchronize(stream->handle));\n", "",
     "test_cuda_(copy|stream|graph)"),
    ("products whose operands are not exchanged", PLUGIN + "libraries/gemm_swap.c", "gemm->transpose_b", "gemm->transpose_a",
     "test_cuda_gemm|test_cuda_parts"),
    ("an epilogue by the kernel of another", PLUGIN + "libraries/epilogue_plans.c", "(int32_t)gemm->epilogue", "0", "test_cuda_gemm"),
    ("a memset of the wrong length", PLUGIN + "copy.c", "cudaMemsetAsync(memory, byte, bytes, stream->handle)",
     "cudaMemsetAsync(memory, byte, bytes - 1, stream->handle)", "test_cuda_(memory|copy|stream|graph)"),
    ("the kernel of another storage type", PLUGIN + "launch.c", "    [DTYPE_BF16] = cuda_kernels_bf16,", "    [DTYPE_BF16] = cuda_kernels_f16,",
     "test_cuda_training"),
    ("a workspace that no capture takes again", PLUGIN + "graph.c", "gemm_workspace_take(gemms_of(stream), &capture->workspace)",
     "gemm_workspace_open(gemms_of(stream), &capture->workspace)", "test_cuda_graph"),
    ("a launch on another stream", PLUGIN + "graph.c", "cudaGraphLaunch(graph->exec, stream->handle)", "cudaGraphLaunch(graph->exec, ((struct cuda_device *)graph_base->device)->streams->handle)",
     "test_cuda_(graph|stream)"),
]

# The programs too: they refuse a plugin of other sources.
TARGETS = ["stand_in", "stand_in_cupti", "chokepoint_ptx", "test_cuda_parts", "test_device_kernels", "test_gpu_training",
           "test_device_stream", "test_device_graph", "test_device_copy", "test_device_memory", "test_device_gemm"]


def run(*command, cwd=None):
    return subprocess.run([str(word) for word in command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def planted(bug, text):
    name, file, old, new, _ = bug
    if text.count(old) < 1:
        sys.exit(f"plant_bugs.py: {file} has no longer what '{name}' replaces")
    return text.replace(old, new, 1)


def must(*command):
    done = run(*command)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")


def write_if_new(path, data):
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def copy_checkout(source):
    """What git tracks, as it is now; a file that is the same keeps its time, so that it is not compiled again."""
    for name in run("git", "ls-files", "-z", cwd=SOURCE).stdout.split("\0")[:-1]:
        path = SOURCE / name
        if path.is_file() and not name.startswith("results/"):
            write_if_new(source / name, path.read_bytes())
            shutil.copymode(path, source / name)


def build_all(source, build):
    must("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCHOKEPOINT_CUDA_ARCHITECTURES=90")
    must("cmake", "--build", build, "--target", *TARGETS)


def first_complaint(lines):
    return next((line.strip()[:200] for line in lines if re.search(r"stand-in: |\[  FAILED  \] \w| error: ", line)), None)


def test_kernels(source, build):
    """KERNELS up to the first complaint; None: there is none. Only PTX is built anew, since only that differs."""
    ptx, stand_in = build / "planted", build / "tests/stand_in"
    ptx.mkdir(exist_ok=True)
    must("nvcc", "-ccbin", "g++", "-std=c++17", "-O3", "-lineinfo", f"-I{source}", "-DREAL_BF16", "-arch=compute_75", "-ptx",
         "-o", ptx / "kernels_bf16.ptx", source / "harness/device/cuda/kernels/kernels.cu")
    environment = {
        **os.environ, "CHOKEPOINT_TEST_DEVICE": "cuda", "CHOKEPOINT_TEST_TYPE": "bf16", "CHOKEPOINT_TEST_SEED": "1",
        "CHOKEPOINT_PLUGINS": str(stand_in), "LD_LIBRARY_PATH": f"{stand_in}/lib", "STAND_IN_PTX": str(ptx)}
    with subprocess.Popen([build / "test_device_kernels"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as program:
        said = first_complaint(program.stdout)
        if said is not None:
            program.kill()
    if program.returncode == 77:
        sys.exit(f"{KERNELS} was skipped")
    return said or (f"the test ends with {program.returncode}" if program.returncode != 0 else None)


def test_host(build, tests):
    """Likewise of ctest's tests."""
    built = run("cmake", "--build", build, "--target", *TARGETS)
    if built.returncode != 0:
        return first_complaint(built.stdout.splitlines()) or "it does not build"
    tested = run("ctest", "--test-dir", build, "-R", f"^({tests})$", "--output-on-failure", "--stop-on-failure",
                 "--no-tests=error")
    if "***Skipped" in tested.stdout:
        sys.exit(tested.stdout)
    return (first_complaint(tested.stdout.splitlines()) or "a test fails") if tested.returncode != 0 else None


def plant(source, build, bug):
    """The copy is as it was afterwards, also when the script is told to end."""
    name, file, _, _, tests = bug
    path = source / file
    text = path.read_text()
    try:
        path.write_text(planted(bug, text))
        said = test_kernels(source, build) if tests == KERNELS else test_host(build, tests)
    finally:
        path.write_text(text)
    print(f"found  {name}: {said}" if said else f"MISSED {name}: {tests}", flush=True)
    return said is not None


def main():
    arguments = sys.argv[1:]
    if arguments == ["--list"]:
        print("\n".join(f"{name}: {tests}" for name, _, _, _, tests in BUGS))
        return
    if arguments == ["--check"]:
        for bug in BUGS:
            planted(bug, (SOURCE / bug[1]).read_text())
        return
    only = [arguments[i + 1] for i, word in enumerate(arguments[:-1]) if word == "--only"]
    if len(arguments) != 2 * len(only) + 1 or arguments[-1].startswith("-"):
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = pathlib.Path(arguments[-1]).resolve()
    source, build = folder, folder / "build"
    copy_checkout(source)
    build_all(source, build)
    bugs = [bug for bug in BUGS if not only or bug[0] in only]
    missed = len(bugs) - sum(plant(source, build, bug) for bug in bugs)
    print(f"{len(bugs)} bugs, {missed} missed")
    sys.exit(missed > 0 or not bugs)


if __name__ == "__main__":
    main()
