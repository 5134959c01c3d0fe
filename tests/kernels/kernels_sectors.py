#!/usr/bin/env python3
"""Runs the kernel tests over the stand-in for CUDA and compares what the kernels counted with kernels/sectors.txt: over all
cases, the sectors of 32 bytes that a request wanted and touched, and the lanes that took part.

kernels_sectors.py [--renew] PROGRAM TABLE

Fails if the tests fail, or if a kernel touches more sectors or keeps fewer lanes busy than the table says. --renew writes
the table. The counts are the same in every run, since the seed is; other cases in the tests, or another nvcc, change
them."""

import os
import pathlib
import subprocess
import sys
import tempfile

# nvcc may reorder a little without making anything worse.
SLACK = 1.02
HEAD = "# kernel: instructions of warps, lanes that took part, sectors per request: wanted, touched\n"


def read_counts(path):
    """What the stand-in wrote: kernel, launches, warps, instructions, lanes, requests, wanted, touched."""
    rows = {}
    for line in path.read_text().splitlines()[1:]:
        words = line.split()
        if words[0] != "all":
            rows[words[0]] = (int(words[3]), float(words[4]), float(words[6]), float(words[7]))
    return rows


def read_table(path):
    rows = {}
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            name, instructions, *numbers = line.split()
            rows[name] = (int(instructions), *map(float, numbers))
    return rows


def write_table(path, rows):
    lines = [f"{name:<34} {row[0]:>10} {row[1]:>6.2f} {row[2]:>6.2f} {row[3]:>6.2f}\n"
             for name, row in sorted(rows.items())]
    path.write_text(HEAD + "".join(lines))


def complaints(rows, table):
    for name in sorted(rows.keys() ^ table.keys()):
        yield f"{name} is only in {'the table' if name in table else 'the run'}"
    for name in sorted(rows.keys() & table.keys()):
        _, lanes, wanted, touched = rows[name]
        _, lanes_before, wanted_before, touched_before = table[name]
        excess, excess_before = touched / max(wanted, 0.01), touched_before / max(wanted_before, 0.01)
        if excess > excess_before * SLACK:
            yield (f"{name} touches {touched:.2f} sectors per request where {wanted:.2f} would do;"
                   f" it was {touched_before:.2f} of {wanted_before:.2f}")
        if lanes * SLACK < lanes_before:
            yield f"{name} keeps {lanes:.2f} lanes busy; it was {lanes_before:.2f}"


def main():
    arguments = [word for word in sys.argv[1:] if word != "--renew"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    program, table = arguments[0], pathlib.Path(arguments[1])
    with tempfile.TemporaryDirectory() as folder:
        counts = pathlib.Path(folder) / "counts"
        run = subprocess.run([program], check=False,
                             env={**os.environ, "CHOKEPOINT_TEST_SEED": "1", "STAND_IN_COUNTS": str(counts)})
        if run.returncode != 0:
            sys.exit(run.returncode)
        rows = read_counts(counts)
    if "--renew" in sys.argv:
        write_table(table, rows)
        return
    found = list(complaints(rows, read_table(table)))
    for line in found:
        print(line)
    if found:
        sys.exit(f"kernels_sectors.py: if this is meant, {sys.argv[0]} --renew {program} {table}")


if __name__ == "__main__":
    main()
