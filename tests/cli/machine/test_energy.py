#!/usr/bin/env python3
"""`train` states the energy per sample where the device counts it: over the stand-in for CUDA with a made NVML that
uses 412.345 W, and not without. A sweep, since one training measures products of a size for GPUs as well.

usage: test_energy.py PROGRAM STAND-IN NVML
"""
import json
import os
import subprocess
import sys

program, stand_in, nvml = sys.argv[1:]
SMALL = ["--device=cuda", "--data=sequences", "--batch=1", "--tokens=8", "--width=32", "--blocks=1", "--steps=20",
         "--sweep", "loss_every=20", "--format=json"]


def rounds(folders):
    done = subprocess.run([program, "train", *SMALL], capture_output=True, text=True, check=True,
                          env={**os.environ, "CHOKEPOINT_PLUGINS": stand_in, "LD_LIBRARY_PATH": folders})
    return [one for value in json.loads(done.stdout)["values"] for one in value["rounds"]]


with_nvml, without = rounds(f"{nvml}:{stand_in}/lib"), rounds(f"{stand_in}/lib")
assert with_nvml and without
for one in with_nvml:
    # The reading spans the windows, and the losses that are read between them.
    assert one["energy_per_sample"] * one["samples"] > 0.98 * 412.345 * one["seconds"], one
    assert one["energy_per_sample"] * one["samples"] < 412.345 * 60, one
for one in without:
    assert one["energy_per_sample"] is None, one
