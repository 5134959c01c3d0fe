#!/usr/bin/env python3
"""The plan of scripts/gpu_check.py, each kind of step once, by the program on CUDA's own path over the stand-ins for CUDA, CUPTI
and NCCL: so what a step calls is there, and it finds the members that it reads. Its figures mean nothing here. Of lists of
scenarios and benches one each is measured, and the heavy step has one block, as kernels are executed instruction by
instruction; tests and doctor run over the stand-in in tests of their own.

    test_gpu_plan.py CHECKOUT PROGRAM STAND_IN PTX"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CHECKOUT, PROGRAM, STAND_IN, PTX = map(os.path.abspath, sys.argv[1:5])
# In the program's place: fewer scenarios are listed, and less is asked for.
PROGRAM_TEXT = '''#!/usr/bin/env python3
import json, os, subprocess, sys
program, smaller = {program!r}, {smaller!r}
if sys.argv[1] == "list":
    listed = json.loads(subprocess.run([program, *sys.argv[1:]], capture_output=True, check=True).stdout)
    listed["scenarios"] = [one for one in listed["scenarios"] if one["name"] in {scenarios!r}]
    print(json.dumps(listed))
else:
    os.execv(program, [program, *(one for word in sys.argv[1:] for one in smaller.get(word, [word]))])
'''
SCENARIOS = ("launch_overhead", "many_small_copies", "allocation_churn")  # of the core, and of both lists
SMALLER = {"--model=heavy": ["--model=heavy", "--blocks=1"],
           "--sweep=elementwise=fused,epilogue": ["--sweep=elementwise=fused,epilogue", "--repetitions=1"]} | {
    f"--benchmark_filter={usual}": [f"--benchmark_filter=^{one}$"] for usual, one in (
        ("^(lat|bw)_", "lat_launch_sync"), ("^(gemm|attention)", "gemm_out_fp32/128"),
        ("^(layernorm|softmax|gelu|residual|split|merge|bias|adamw)", "gelu_fp32/16384"))}
ONLY = ("^(test_gpu_(copy|ranks)|round1|run|rest|ranks.*|bench_.*|tracing_(eager|graph)_all|heavy|epilogues|counters|torch|"
        "memcheck|initcheck|ncu|exec_.*)$")


def build(folder):
    """A build folder whose plugin for CUDA is the stand-in, with two tests."""
    beside = os.path.dirname(PROGRAM)
    for plugin in ("cuda", "cpu", "mpi"):
        os.symlink(os.path.realpath(f"{STAND_IN}/libchokepoint_{plugin}.so"), f"{folder}/libchokepoint_{plugin}.so")
    os.mkdir(f"{folder}/lone")
    os.symlink(f"{beside}/lone/libchokepoint_mpi.so", f"{folder}/lone/libchokepoint_mpi.so")
    os.symlink("../libchokepoint_cuda.so", f"{folder}/lone/libchokepoint_cuda.so")
    tests = [line for line in pathlib.Path(beside, "gpu_tests").read_text().splitlines()
             if re.match("test_gpu_(copy|ranks) ", line)]
    pathlib.Path(folder, "gpu_tests").write_text("\n".join(tests) + "\n")
    for line in tests:
        os.symlink(f"{beside}/{line.split()[1]}", f"{folder}/{line.split()[1]}")
    program = pathlib.Path(folder, "chokepoint")
    program.write_text(PROGRAM_TEXT.format(program=PROGRAM, smaller=SMALLER, scenarios=SCENARIOS))
    program.chmod(0o700)


def main():
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(f"{place}/build")
        build(f"{place}/build")
        done = subprocess.run(
            [f"{CHECKOUT}/scripts/gpu_check.py", "--build", f"{place}/build", "--rounds", "1", "--only", ONLY, "--seconds", "1500",
             f"{place}/results"], capture_output=True, text=True, check=False,
            env={**os.environ, "LD_LIBRARY_PATH": f"{STAND_IN}/lib", "CHOKEPOINT_PLUGINS": f"{place}/build",
                 "STAND_IN_PTX": PTX, "STAND_IN_DEVICES": "2", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})
        print(done.stdout)
        rows = [[cell.strip() for cell in line.split("\t")]
                for line in pathlib.Path(place, "results/table.txt").read_text().splitlines()[1:]]
        # Times decide whether a scenario is reproduced, and whether PyTorch is slower.
        bad = [row for row in rows if row[1] not in ("ok", "skip") and not re.match("  |rounds of|run |rest |round1 |torch", row[0])]
        if bad:
            print(pathlib.Path(place, "results/log.txt").read_text()[-8000:], *bad, sep="\n")
        counters = next((row[4] for row in rows if row[0] == "counters"), "")
        if not counters.startswith("SMs active 60%"):
            print(f"the GPU's counters: {counters}")
        measured = [one["name"] for path in pathlib.Path(place, "results").glob("r*/*/result.json")
                    for one in json.loads(path.read_text())["chokepoint"]["scenarios"]]
        if sorted(measured) != sorted(SCENARIOS):
            print(f"scenarios that were measured: {measured}")
        sys.exit(bool(bad) or sorted(measured) != sorted(SCENARIOS) or not counters.startswith("SMs active 60%"))


main()
