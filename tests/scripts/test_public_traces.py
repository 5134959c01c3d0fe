#!/usr/bin/env python3
"""Traces that other people published, with labels by a reader: as many right as before, and no page contradicts itself.

usage: test_public_traces.py PROGRAM FOLDER

FOLDER has the traces, expected.json and score.py. The traces are not part of the project; without them the test is skipped.
"""
import importlib
import json
import pathlib
import re
import subprocess
import sys

# The level that was reached: no change may fall below.
FIRST, FIRST_REJECTED, WORD = 125, 1, 125
SKIPPED = 77

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
for place in ("desk/diagnosis", "desk/diagnosis/words"):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / place))
invariants, words = (importlib.import_module(name) for name in ("invariants", "words"))

# By the traces' names: what the program was that their recorders had in mind (words.py).
KINDS = {"serving": r"vllm|sglang", "foreign": r"^(e06|n46|n5[089]|n60|p5[79])_", "rocm": r"mi300|mi250|mi210",
         "host": r"cpu_only|cpu_run|switchmoe_cpu",
         "inference": r"inference|owlv2|_vit_|sam_amg|flux|sd35|sdpa|gemm|_add_|prefill|moe_|_bert_|timesformer|qwen|conv_8gpu|cpu_only"}

if not (folder / "score.py").exists():
    print(f"skipped: {folder} does not have the public traces and their labels")
    sys.exit(SKIPPED)

said = subprocess.run([sys.executable, folder / "score.py", program], check=True, capture_output=True, text=True).stdout
figures = {name: [int(figure) for figure in re.findall(r"\d+", rest)]
           for name, rest in re.findall(r"^(first|word|numbers):? (.*)$", said, re.M)}
failures = [line for line in said.splitlines() if " got " in line]
if figures["first"][0] < FIRST or figures["first"][2] > FIRST_REJECTED or figures["word"][0] < WORD:
    failures.append(f"first finding and word: {figures}")

for path in sorted(folder.glob("*_*.*")):
    page = subprocess.run([program, "diagnose", "--format=json", path], capture_output=True, text=True)
    if page.returncode == 0 and path.suffix != ".py":
        console = subprocess.run([program, "diagnose", path], capture_output=True, text=True).stdout
        kinds = [kind for kind, names in KINDS.items() if re.search(names, path.name)]
        failures += [f"{path.name}: {what}" for what in words.wrong(json.loads(page.stdout), console, kinds)]
        failures += [f"{path.name}: {what}" for trace in json.loads(page.stdout)["traces"]
                     for what in invariants.broken(trace)]

# README shows the first finding of one of them; "..." stands for words that it leaves out.
readme = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
shown = re.search(r"```text\n(  1\. launch_bound.*?)```", readme, re.S).group(1)
page = subprocess.run([program, "diagnose", folder / "m11_h100_bert_small.json.gz"], capture_output=True, text=True).stdout
failures += [f"README shows, and the page does not: {part}" for part in " ".join(shown.split()).split(" ... ")
             if part not in " ".join(page.split())]

print(figures)
sys.exit("FAILED:\n" + "\n".join(failures) if failures else 0)
