#!/usr/bin/env python3
"""The lines of Triton and PyTorch that `explain` prints of kernel lessons are Python, and before differs from after.

usage: test_lesson_lines.py PROGRAM
"""
import ast
import json
import subprocess
import sys

listed = json.loads(subprocess.run([sys.argv[1], "list", "--format=json"], capture_output=True, check=True).stdout)
failures, checked = [], 0
for lesson in listed["kernels"]:
    for language in ("triton", "pytorch"):
        lines = lesson[language]
        if lines["before"] is None:
            continue
        checked += 1
        if lines["before"] == lines["after"]:
            failures.append(f"{lesson['name']}: {language} is the same before and after")
        for variant in ("before", "after"):
            try:
                ast.parse(lines[variant])
            except SyntaxError as error:
                failures.append(f"{lesson['name']}: {language} {variant}: {error}")
print("\n".join(failures) or f"{checked} pairs of lines")
sys.exit(1 if failures or checked < 10 else 0)
