#!/usr/bin/env python3
"""Not a test: how often `compare` calls rows of equal builds, and how often it finds 10%.

Real: FILES are runs of one build. Each is compared with each other as one file per side, without and with --noise=3%;
and every three of the first six with the other three, equal and with all times of new 10% longer. Made: 1,740 rows of nine repetitions, whose runs vary by 3%, in three files per side.

usage: gate_rates.py PROGRAM [FILE...]
"""
import collections
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

program, files = sys.argv[1], sys.argv[2:]
ROWS, REPETITIONS = 1740, 9


def verdicts(base, new, *options):
    done = subprocess.run([program, "compare", *options, "--format=json", *map(str, base), "--new", *map(str, new)],
                          capture_output=True, text=True, check=False)
    if done.returncode == 2:
        sys.exit(done.stderr)
    return collections.Counter(row["verdict"] for row in json.loads(done.stdout)["rows"])


def tell(what, counts):
    rows = sum(counts.values())
    called = counts["slower"] + counts["faster"]
    print(f"{what}: of {rows} rows {called} called ({100 * called / rows:.2f}%), {counts['slower']} of them slower, "
          f"{counts['same']} same, {counts['undecided']} undecided")


def scaled(path, factor, folder):
    document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    for entry in document["benchmarks"]:
        if isinstance(entry.get("real_time"), (int, float)):
            entry["real_time"] *= factor
    made = folder / f"{pathlib.Path(path).stem}-{factor}.json"
    made.write_text(json.dumps(document), encoding="utf-8")
    return made


def of_files(folder):
    for options in ((), ("--noise=3%",)):
        counts = collections.Counter()
        for base, new in itertools.permutations(files, 2):
            counts += verdicts([base], [new], *options)
        tell(f"real, one file per side{' and '.join(('', *options))}", counts)
    for factor in (1, 1.1):
        counts = collections.Counter()
        for base in itertools.combinations(range(6), 3) if len(files) > 5 else ():
            new = [scaled(files[i], factor, folder) for i in range(6) if i not in base]
            counts += verdicts([files[i] for i in base], new)
        if counts:
            tell(f"real, three files per side, new {factor} times base", counts)


def made(folder, name, chance, factor, own, together):
    shift = chance.gauss(0, together)
    rows = []
    for number in range(ROWS):
        time = (100 + number) * factor * math.exp(shift + chance.gauss(0, own))
        for index in range(REPETITIONS):
            rows.append({"name": f"r{number}", "run_type": "iteration", "repetition_index": index,
                         "real_time": time * math.exp(abs(chance.gauss(0, 0.03))), "time_unit": "us"})
    path = folder / f"{name}.json"
    date = {"base": 0, "new": 1}[name[:-1]]
    turn = int(name[-1])
    path.write_text(json.dumps({"context": {"date": f"2026-01-01T10:{2 * turn + (date + turn) % 2:02d}:00+00:00"},
                                "benchmarks": rows}), encoding="utf-8")
    return path


def of_made(folder):
    for what, own, together in (("repetitions vary by 3%, runs by what their best does", 0, 0),
                                ("runs vary by 3%, each row by itself", 0.03, 0),
                                ("runs vary by 3%, half of it all rows together", 0.03 / 2 ** 0.5, 0.03 / 2 ** 0.5)):
        for files_per_side, options in ((1, ()), (1, ("--noise=3%",)), (3, ()), (5, ())):
            for factor in (1, 1.1):
                chance = random.Random(f"{what} {files_per_side} {factor}")
                base, new = ([made(folder, f"{side}{i}", chance, factor if side == "new" else 1, own, together)
                              for i in range(files_per_side)] for side in ("base", "new"))
                tell(f"made, {what}, {files_per_side} per side{' and '.join(('', *options))}, new {factor} times base",
                     verdicts(base, new, *options))


with tempfile.TemporaryDirectory() as name:
    if files:
        of_files(pathlib.Path(name))
    of_made(pathlib.Path(name))
