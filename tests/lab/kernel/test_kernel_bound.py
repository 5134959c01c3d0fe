#!/usr/bin/env python3
"""No kernel of a lesson took less time on an H100 than the bound that `kernel` states for it.

usage: test_kernel_bound.py PROGRAM CHECKOUT
"""
import json
import pathlib
import subprocess
import sys

program, checkout = sys.argv[1:]
measured = json.loads((pathlib.Path(checkout) / "results/nvidia-h100/kernels.json").read_text())
failures, checked, nearest = [], 0, 1e9
for lesson in measured["chokepoint"]["kernels"]:
    for variant in ("before", "after"):
        ran = subprocess.run([program, "kernel", f"{lesson['name']}_{variant}", "--arch=90", "--format=json"],
                             capture_output=True, check=True)
        bound, took = json.loads(ran.stdout)["bound"], lesson[f"device_ns_{variant}"]
        checked += 1
        nearest = min(nearest, took / bound["ns"])
        if bound["gpu"] != "H100" or not 0 < bound["ns"] <= took:
            failures.append(f"{lesson['name']} {variant}: {took} ns, and the bound is {bound['ns']} ns by {bound['by']}")
        if bound["ns"] != max(part["ns"] for part in bound["parts"]) or bound["cold_ns"] < bound["ns"]:
            failures.append(f"{lesson['name']} {variant}: {bound}")
# A bound far below all of them would hold, and tell nothing.
if nearest > 4:
    failures.append(f"no kernel comes nearer to its bound than {nearest:.1f} times")
print("\n".join(failures) or f"{checked} kernels, the nearest took {nearest:.2f} times its bound")
sys.exit(1 if failures or checked < 28 else 0)
