#!/usr/bin/env python3
"""Each figure of docs/errata.md is that of the file it names; the one of PyTorch, where there is a PyTorch.

usage: test_errata.py PROGRAM SOURCE
"""
import json
import os
import pathlib
import re
import subprocess
import sys

program, source = sys.argv[1], pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(source / "scripts"))
from common import change_text  # noqa: E402
from plots import effects  # noqa: E402

OPERATORS = """
import torch
def count(**how):
    tensors = [torch.nn.Parameter(torch.ones(8, 8)) for _ in range(16)]
    for tensor in tensors:
        tensor.grad = torch.ones(8, 8)
    optimizer = torch.optim.AdamW(tensors, **how)
    optimizer.step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as found:
        optimizer.step()
    return sum(event.name.startswith(("aten::_foreach", "aten::_fused")) for event in found.events())
print(f"{count(foreach=True)} operators with `foreach=True`, {count(fused=True)} with `fused=True`")
"""


def sayings(folder, name):
    """What may be said of a scenario in a result."""
    result = json.loads((source / folder / "result.json").read_text())
    one = next(each for each in result["chokepoint"]["scenarios"] if each["name"] == name)
    used = one["utilisation"]
    busy, mfu = ([f"{100 * used[side][what]:.0f}%" for side in ("before", "after")] if used["before"][what] is not None else []
                 for what in ("busy_share", "mfu"))
    return {f"step {change_text.of_result(effects.time_row(one))[0]}", f"device busy {' -> '.join(busy)}, MFU {' -> '.join(mfu)}",
            *(f"{row['metric']} {change_text.of_result(row)[0]}" for row in one["expectations"])}


def memory_saying(folder):
    trace = next((source / folder / "traces").glob("*.before.json.gz"))
    page = json.loads(subprocess.run([program, "diagnose", "--format=json", trace], stdout=subprocess.PIPE, check=True).stdout)
    bytes_of = {one["name"]: one["peak_bytes"] for one in page["traces"][0]["memory"][0]["categories"]}
    return {f"{name} {bytes_of[name] / bytes_of['parameters']:.2f}x{words}" for name, words in
            (("gradients", " the parameters"), ("optimizer", ""))}


def torch_saying():
    """None: no PyTorch was named."""
    python = os.environ.get("CHOKEPOINT_TORCH_PYTHON")
    return python and subprocess.run([python, "-c", OPERATORS], stdout=subprocess.PIPE, check=True,
                                     universal_newlines=True).stdout.strip()


failures, checked = [], 0
for line in re.findall(r"^- (.*)$", (source / "docs/errata.md").read_text(), re.M):
    named = re.match(r"`(results/[\w-]+)`, (?:`(\w+)`|memory): (.*)$", line)
    checked += 1
    if named:
        folder, name, said = named.groups()
        split = re.split(r"; ", said) if name else said.split(", ")
        failures += [f"{line}: not {part}" for part in split
                     if part not in (sayings(folder, name) if name else memory_saying(folder))]
    elif torch_saying() not in (None, line.split(": ")[1]):
        failures.append(f"{line}: {torch_saying()}")
if checked < 13:
    failures.append(f"only {checked} figures")
print("\n".join(failures))
sys.exit(bool(failures))
