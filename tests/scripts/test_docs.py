#!/usr/bin/env python3
"""README.md lists the scenarios as the program does, and docs/results.md the metrics as metric.h does.

usage: test_docs.py PROGRAM SOURCE
"""
import json
import pathlib
import re
import subprocess
import sys


def table(path, head):
    """The cells of each row of the table that begins with the cell `head`."""
    after = path.read_text().split(f"\n| {head} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in after]


def metrics(path):
    """Name, unit and meaning of each row of METRICS."""
    rows = path.read_text().split("#define METRICS", 1)[1].split("/*", 1)[0].replace("\\\n", "")
    found = re.findall(r'X\(\w+,\s*"(.*?)",\s*"(.*?)",\s*((?:"[^"]*"\s*)+)\)', rows)
    return [[name, unit, "".join(re.findall(r'"([^"]*)"', text))] for name, unit, text in found]


def compare(title, written, meant):
    for row in [*[f"not there: {row}" for row in meant if row not in written],
                *[f"too many: {row}" for row in written if row not in meant]]:
        print(f"{title}: {row}")
    if written != meant:
        print(f"{title}: should be {meant}")
    return written == meant and len(meant) > 20


program, source = sys.argv[1], pathlib.Path(sys.argv[2])
listed = subprocess.run([program, "list", "--format=json"], stdout=subprocess.PIPE, check=True)
same = [compare("README.md", [row[0] for row in table(source / "README.md", "scenario")],
                [scenario["name"] for scenario in json.loads(listed.stdout)["scenarios"]]),
        compare("docs/results.md", table(source / "docs/results.md", "metric"),
                metrics(source / "scenarios/training/step/metric.h"))]
sys.exit(not all(same))
