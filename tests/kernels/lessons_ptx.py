#!/usr/bin/env python3
"""Compiles the kernels of kernels/lessons and fails where what is kept of them is stale:

- kernels/lessons/ptx/NAME.ptx, the PTX of NAME.cu for the oldest architecture that CUDA 13 knows, which runs on every
  newer one. The program has these texts in it, so that lessons run where there is no toolkit;
- kernels/strides/strides.ptx, the same of strides.cu, whose kernels are for trying out and no lessons;
- kernels/lessons/registers.txt, what ptxas makes of that PTX for each architecture: registers of a thread, bytes of its
  local memory, and bytes that it stores and loads there since registers ran out.

    lessons_ptx.py [--renew] SOURCE_DIR

--renew writes both as they are now. Another compiler writes other PTX: then only what belongs together is checked, that
each file has its kernels before and after, perhaps one between. Runs no GPU. Exit 77 (skipped) where there is no nvcc of CUDA 13.0 or newer."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from nvcc import find_or_skip, plain  # noqa: E402

FOLDER = pathlib.Path("kernels/lessons")
STRIDES = pathlib.Path("kernels/strides/strides.cu")
TABLE = FOLDER / "registers.txt"
OLDEST, ARCHITECTURES = "75", ("80", "90", "100")
COLUMNS = ("registers", "local", "spilled")

HEAD = """\
# The PTX of the lessons as ptxas compiles it: registers of a thread, and bytes of its local memory and of what it stores
# and loads there because registers ran out, for sm_80, sm_90 and sm_100.
# tests/kernels/lessons_ptx.py --renew . writes this file and explains it; compiler: {compiler}
"""


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def compiled(nvcc, source, folder):
    ptx = folder / (source.stem + ".ptx")
    run(nvcc, "-std=c++17", "-O3", "-lineinfo", "--Werror", "all-warnings", f"-arch=compute_{OLDEST}", "-ptx", "-o", ptx,
        source)
    return plain(ptx.read_text(), source.parent)


def rows_of(nvcc, ptx, architecture, folder):
    """By kernel: what ptxas says of it."""
    cubin = folder / f"{ptx.stem}.{architecture}.cubin"
    text = run(pathlib.Path(nvcc).with_name("ptxas"), "-v", f"-arch=sm_{architecture}", "-o", cubin, ptx)
    rows, name = {}, None
    for line in text.splitlines():
        if found := re.search(r"Compiling entry function '(\w+)'", line):
            name = found[1]
        elif found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            rows.setdefault(name, {}).update(local=int(found[1]), spilled=int(found[2]) + int(found[3]))
        elif found := re.search(r"Used (\d+) registers", line):
            rows.setdefault(name, {})["registers"] = int(found[1])
    return rows


def kept_ptx(source):
    return source.with_suffix(".ptx") if source == STRIDES else FOLDER / "ptx" / (source.stem + ".ptx")


def table_text(rows, compiler):
    names = ["kernel"] + [f"{column}_{a}" for a in ARCHITECTURES for column in COLUMNS]
    lines = [names] + [[name] + [str(rows[name][a][c]) for a in ARCHITECTURES for c in COLUMNS] for name in sorted(rows)]
    return HEAD.format(compiler=compiler) + "".join(
        f"{line[0]:<28}" + "".join(f"{field:>14}" for field in line[1:]) + "\n" for line in lines)


def check_names(source, ptx, problems):
    """Each lesson is two kernels named after their file, or three."""
    kernels = set(re.findall(r"\.entry (\w+)", ptx)) - {f"{source.stem}_between"}
    if kernels != {f"{source.stem}_{variant}" for variant in ("before", "after")}:
        problems.append(f"{source} has the kernels {', '.join(kernels)}; it should have {source.stem}_before and _after")


def main():
    renews = "--renew" in sys.argv
    os.chdir([a for a in sys.argv[1:] if not a.startswith("--")][0])
    nvcc, compiler = find_or_skip()
    sources, problems, rows = sorted(FOLDER.glob("*.cu")), [], {}
    kept_compiler = re.search(r"compiler: (\S+)", TABLE.read_text())[1] if TABLE.exists() else None
    stale = f"run {sys.argv[0]} --renew . and look at the difference"

    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(name)
        every = [*sources, STRIDES]
        for source, ptx in zip(every, pool.map(lambda source: compiled(nvcc, source, folder), every)):
            kept = kept_ptx(source)
            if source != STRIDES:
                check_names(source, ptx, problems)
            if renews:
                kept.write_text(ptx)
            if not kept.exists() or (compiler == kept_compiler and kept.read_text() != ptx):
                problems.append(f"{kept} is not what {compiler} makes of {source}; {stale}")
        jobs = [(source, a) for source in sources for a in ARCHITECTURES if kept_ptx(source).exists()]
        for (source, a), of in zip(jobs, pool.map(
                lambda job: rows_of(nvcc, kept_ptx(job[0]), job[1], folder), jobs)):
            for kernel, row in of.items():
                rows.setdefault(kernel, {})[a] = row

    kept = {file.stem for file in (FOLDER / "ptx").glob("*.ptx")}
    problems += [f"{FOLDER}/ptx/{name}.ptx has no {name}.cu" for name in sorted(kept - {s.stem for s in sources})]
    text = table_text(rows, compiler)
    if renews:
        TABLE.write_text(text)
    elif compiler == kept_compiler and TABLE.read_text() != text:
        problems.append(f"{TABLE} is not what {compiler} makes of the PTX; {stale}")
    print("\n".join(problems))
    print(f"{len(sources)} lessons; {compiler}, what is kept by {kept_compiler}")
    sys.exit(1 if problems or not sources else 0)


main()
