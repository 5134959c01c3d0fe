#!/usr/bin/env python3
"""Compiles every kernel as CUDA, in each storage type, for the oldest and the newest architecture that
we build for and for sm_90, and fails on what makes a kernel slow without making it wrong:

- a warning, a spill or a stack frame: all of a kernel's values must fit in registers;
- more registers than kernels/registers.txt has, where fewer warps fit on an SM with them;
- an access to a tensor of less than 16 bytes, which is one that the table does not have. Stores of 8
  and 16 bits and of pairs are never right, as only tensors have such elements;
- more divisions and roots that are exact to the last bit than the table has: each is a dozen
  instructions and a branch, which an element of a tensor cannot afford (quotient() of kernel.h).

With the compiler of the table any other difference fails too, so that the table stays true.

    kernels_ptxas.py [--all | --renew] SOURCE_DIR [KERNEL_FILE...]

--all compiles for all six architectures, which takes twice as long. --renew writes the table as it is
now, of all six: look at the difference before it is committed. Runs no GPU.
Exit 77 (skipped) where there is no nvcc of CUDA 13.0 or newer."""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from nvcc import find_or_skip  # noqa: E402

# Threads that an SM holds at most ("CUDA C++ Programming Guide", "Technical Specifications per Compute
# Capability"). All have 65536 registers, handed out to a warp 256 at a time.
THREADS = {"75": 1024, "80": 2048, "86": 1536, "89": 1536, "90": 2048, "100": 2048}
TYPES = ("f32", "bf16", "f16")
SM_REGISTERS, REGISTER_UNIT, WARP, BLOCK = 65536, 256, 32, 256
TABLE = "kernels/registers.txt"
COUNTED = "90"  # the architecture whose PTX the table counts accesses of
FEW = ("75", "90", "100")
PTX_OF = {"86": "80", "89": "80"}  # nvcc writes the same for these, but for the line that names the target
COUNTS = {"loads": "loads of less than 16 bytes", "stores": "stores of less than 16 bytes",
          "exact": "divisions and roots that are exact to the last bit"}

HEAD = """\
# Registers per thread of every kernel and storage type for sm_75 to sm_100, and how many instructions
# in its PTX load or store less than 16 bytes (per-row values, tables and the update's state) or divide
# or take a root exactly to the last bit.
# tests/kernels/kernels_ptxas.py --renew . writes this file and explains it; compiler: {compiler}
"""


def warps(registers, architecture):
    """How many warps an SM holds at a time, in blocks of BLOCK threads."""
    per_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
    by_registers = SM_REGISTERS // (per_warp * BLOCK // WARP)
    return min(by_registers, THREADS[architecture] // BLOCK) * BLOCK // WARP


def compile_unit(nvcc, unit, dtype, virtual, architectures):
    """What the compiler says, and the PTX it made, of which each architecture has its code."""
    folder = unit.parent / f"{dtype}.{virtual}"
    folder.mkdir()
    codes = ",".join(f"sm_{architecture}" for architecture in architectures)
    done = subprocess.run(
        [nvcc, "-x", "cu", "-std=c++17", "-O3", "-I.", f"-DREAL_{dtype.upper()}", "--Werror",
         "all-warnings", "-Xptxas", "-v", "-gencode", f"arch=compute_{virtual},code=[{codes}]", "-fatbin", "--keep",
         "--keep-dir", folder, "-o", folder / "kernels.fatbin", unit],
        capture_output=True, text=True, check=False)
    ptx = "".join(file.read_text() for file in folder.glob("*.ptx"))
    return done.returncode, done.stdout + done.stderr, ptx


def read_report(text):
    """By function and architecture: its registers, and the line about its frame and spills."""
    registers, frames, key = {}, {}, None
    for line in text.splitlines():
        if found := re.search(r"Compiling entry function '(\w+)' for 'sm_(\d+)", line):
            key = found.groups()
        elif found := re.search(r"Used (\d+) registers", line):
            registers[key] = int(found[1])
        elif "bytes stack frame" in line:
            frames[key] = line.strip()
    return registers, frames


ACCESS = re.compile(r"^\s*(?:@!?%\w+ )?((ld|st)\.(?!param|shared|local|const)[\w.:]+)\s", re.MULTILINE)


def narrow_accesses(ptx):
    """By function: its loads and stores of less than 16 bytes, as the PTX names them."""
    narrow = {}
    for entry in re.split(r"\.entry ", ptx)[1:]:
        name = re.match(r"\w+", entry)[0]
        narrow[name] = {"ld": [], "st": []}
        for access, kind in ACCESS.findall(entry):
            vector = re.search(r"\.v(\d)", access)
            bits = int(vector[1] if vector else 1) * int(re.search(r"\d+$", access)[0])
            if bits < 128 or ".global" not in access:
                narrow[name][kind].append(access)
    return narrow


def exact_divisions(ptx):
    """By function: its divisions, roots and reciprocals that round to nearest."""
    return {re.match(r"\w+", entry)[0]: len(re.findall(r"\b(?:div|sqrt|rcp)\.rn\.f32", entry))
            for entry in re.split(r"\.entry ", ptx)[1:]}


def read_table(path):
    rows, compiler = {}, None
    for line in path.read_text().splitlines() if path.exists() else []:
        if found := re.search(r"compiler: (\S+)", line):
            compiler = found[1]
        fields = line.split()
        if line[:1] not in ("#", "") and fields[0] != "kernel":
            rows[fields[0]] = [int(field) for field in fields[1:]]
    return rows, compiler


def write_table(path, rows, compiler):
    names = ["kernel"] + [f"sm_{a}" for a in THREADS] + list(COUNTS)
    lines = [names] + [[name] + [str(n) for n in rows[name]] for name in sorted(rows)]
    path.write_text(HEAD.format(compiler=compiler) + "".join(
        f"{line[0]:<40}" + "".join(f"{field:>8}" for field in line[1:]) + "\n" for line in lines))


def losses(name, row, kept, architectures):
    """Sentences about what became worse than the table's row."""
    for i, architecture in enumerate(architectures):
        before, now = warps(kept[i], architecture), warps(row[i], architecture)
        if now < before:
            yield (f"{name}: {row[i]} registers on sm_{architecture} leave room for {now} warps; "
                   f"{TABLE} has {kept[i]} registers, {before} warps")
    for i, what in enumerate(COUNTS.values(), len(architectures)):
        if row[i] > kept[i]:
            yield f"{name}: {row[i]} {what}; {TABLE} has {kept[i]}"


def main():
    renews = "--renew" in sys.argv
    architectures = tuple(THREADS) if renews or "--all" in sys.argv else FEW
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    os.chdir(arguments[0])
    files = arguments[1:] or sorted(str(f) for f in pathlib.Path("kernels").rglob("*.kernel.c"))
    nvcc, compiler = find_or_skip()
    kept, kept_compiler = read_table(pathlib.Path(TABLE))
    problems, rows = [], {}

    # One translation unit, as in the plugin: reading CUDA's headers takes longer than compiling the
    # kernels.
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / "kernels.cu"
        unit.write_text("".join(f'#include "{file}"\n' for file in files))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            texts = collections.defaultdict(list)
            for architecture in architectures:
                texts[PTX_OF.get(architecture, architecture)].append(architecture)
            jobs = {(t, v): pool.submit(compile_unit, nvcc, unit, t, v, codes)
                    for t in TYPES for v, codes in texts.items()}
        done = {key: job.result() for key, job in jobs.items()}

    for (dtype, virtual), (status, text, ptx) in done.items():
        if status != 0:
            problems.append(f"{dtype} for sm_{virtual} does not compile without warnings:\n" +
                            "\n".join(l for l in text.splitlines() if "ptxas info" not in l))
            continue
        registers, frames = read_report(text)
        for (name, architecture), line in frames.items():
            if re.findall(r"\d+", line) != ["0", "0", "0"]:
                problems.append(f"{name} does not fit in the registers of sm_{architecture}: {line}")
        for (name, architecture), count in registers.items():
            rows.setdefault(name, {})[architecture] = count
        divisions = exact_divisions(ptx)
        for name, narrow in narrow_accesses(ptx).items():
            for access in sorted(set(narrow["st"])):
                if re.search(r"\.v2\.\w(8|16|64)|[a-z](8|16)$", access):
                    problems.append(f"{name}: {narrow['st'].count(access)} x {access} on "
                                    f"sm_{virtual}; a store of tensor elements is st.global.v4, or .v2 of words where it is spread")
            if virtual == COUNTED:
                rows[name]["counts"] = [len(narrow["ld"]), len(narrow["st"]), divisions[name]]

    if len(rows) == 0 or any(status != 0 for status, _, _ in done.values()):
        print("\n".join(problems))
        sys.exit(1)

    rows = {name: [row[a] for a in architectures] + row["counts"] for name, row in rows.items()}
    declared = re.findall(r"^KERNEL_(?:ROWS|ONE_ROW|PACKS|PACKS_WITH|SPREAD|SPREAD_WITH|COLUMNS)\((\w+),",
                          "".join(pathlib.Path(f).read_text() for f in files), re.MULTILINE)
    if set(rows) != {f"{name}_{dtype}" for name in declared for dtype in TYPES}:
        print(f"{len(declared)} kernels are declared; ptxas reported {len(rows)} functions")
        sys.exit(1)
    if renews and not problems:
        write_table(pathlib.Path(TABLE), {**kept, **rows} if arguments[1:] else rows, compiler)
        print(f"{TABLE} is written: {len(rows)} functions, compiler {compiler}")
        return

    renew = f"if it is meant, run {sys.argv[0]} --renew {arguments[0]}"
    names = [*THREADS, *COUNTS]
    columns = [names.index(a) for a in (*architectures, *COUNTS)]
    kept = {name: [row[i] for i in columns] for name, row in kept.items()}
    for name, row in rows.items():
        if name not in kept:
            problems.append(f"{name} is not in {TABLE}; {renew}")
            continue
        worse = list(losses(name, row, kept[name], architectures))
        problems += worse
        if not worse and row != kept[name] and compiler == kept_compiler:
            problems.append(f"{name}: {TABLE} has {kept[name]}, it is {row} now; {renew}")
    if not arguments[1:]:
        problems += [f"{name} is in {TABLE} and no kernel; {renew}" for name in set(kept) - set(rows)]
    print("\n".join(problems))
    print(f"{len(declared)} kernels, {len(TYPES) * len(architectures) * len(declared)} functions, at most "
          f"{max(max(row[:len(architectures)]) for row in rows.values())} registers; {compiler}, table "
          f"by {kept_compiler}")
    sys.exit(1 if problems else 0)


main()
