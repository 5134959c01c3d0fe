#!/usr/bin/env python3
"""Pages speak of the program that was traced: made traces of every kind, and the words that none of their pages may have.

usage: test_words.py PROGRAM
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import words

program = sys.argv[1]
LAUNCH = {"nvidia": "cudaLaunchKernel", "amd": "hipLaunchKernel"}
DEVICE = {"nvidia": {"name": "Tesla V100-SXM2-16GB", "computeMajor": 7, "computeMinor": 0, "numSms": 80},
          "amd": {"name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4, "numSms": 304}}


def event(category, name, start, length, thread=1, **arguments):
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": length, "pid": 1, "tid": thread, "args": arguments}


def rounds(vendor, mark, kernel, gap, length, count=40, launches=1, steps=False):
    """`count` rounds of so many operators, each of which launches a kernel; the device waits `gap` us for each."""
    events = []
    for at in range(count * launches):
        start, number = 1000 + at * (gap + length), at // launches
        if at % launches == 0:
            events.append(event("user_annotation", mark.format(number), start, launches * (gap + length) - 1))
            events += [event("user_annotation", f"ProfilerStep#{number}", start, launches * (gap + length))] * steps
        events += [event("cpu_op", "aten::mm", start, gap),
                   event("cuda_runtime", LAUNCH[vendor], start + gap - 8, 6, correlation=at + 1),
                   event("kernel", kernel, start + gap, length, 7, device=0, stream=7, correlation=at + 1,
                         grid=[8, 1, 1], block=[256, 1, 1])]
    return {"deviceProperties": [dict(id=0, totalGlobalMem=2 ** 34, **DEVICE[vendor])], "traceEvents": events}


def foreign(process):
    """A trace of a profiler whose rows have no category."""
    rows = [{"ph": "X", "name": f"fusion.{at}", "ts": at * 10, "dur": 8, "pid": 1, "tid": 1} for at in range(50)]
    return {"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": process}}, *rows]}


def messages_of_a_host():
    rows = [event("user_annotation", f"ProfilerStep#{at}", at * 2000, 1990) for at in range(4)]
    rows += [event("user_annotation", "gloo:all_reduce", at * 2000 + 300, 1500, 9) for at in range(4)]
    rows += [event("cpu_op", "aten::empty", at * 2000 + 10, 100) for at in range(4)]
    return {"traceEvents": rows, "distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2}}


DECODE = "execute_context_0(0)_generation_{}(16)"
GEMM, SGEMM, ADD = "Cijk_Alik_Bljk_BBS_BH", "volta_sgemm_128x64_tn", "void at::native::vectorized_elementwise_kernel<4>"
# Its name: kinds, the trace, and a part of what its page says of it, so that the rule is asked at all.
CASES = {
    "launches of a server": (["serving"], rounds("nvidia", DECODE, GEMM, 12, 5, launches=20), "vLLM"),
    "launches of a server with AMD's GPU": (["serving", "rocm"], rounds("amd", DECODE, GEMM, 12, 5, launches=20), "enforce_eager"),
    "a busy server": (["serving", "rocm"], rounds("amd", "step[DECODE bs={}]", GEMM, 10, 500), "The device sets the pace"),
    "launches of a model": (["inference"], rounds("nvidia", "model {}", SGEMM, 12, 5, launches=20, steps=True), "CUDA graphs"),
    "launches with AMD's GPU": (["inference", "rocm"], rounds("amd", "model {}", GEMM, 12, 5, launches=20, steps=True), "HIP graphs"),
    "fp32 of a model": (["inference"], rounds("nvidia", "model {}", SGEMM, 10, 500, steps=True), "compute in fp16 (autocast)"),
    "few blocks of AMD's": (["inference", "rocm"], rounds("amd", "model {}", GEMM, 10, 500), "compute units"),
    "one operation, measured": (["inference"], rounds("nvidia", "run {}", ADD, 10, 500, count=1, launches=40),
                                "fuse them with each other (torch.compile)"),
    "one kernel": (["inference"], rounds("nvidia", "run {}", ADD, 10, 500, count=1), "1 kernel or copy is too few"),
    "messages of a host": (["inference", "host"], messages_of_a_host(), "in larger messages"),
    "JAX": (["foreign"], foreign("/device:GPU:0"), "XProf"),
    "a TPU": (["foreign"], foreign("/device:TPU:0"), "XProf"),
    "TensorFlow on a host": (["foreign"], foreign("/host:CPU"), "XProf"),
    "Ascend": (["foreign"], foreign("Ascend Hardware"), "MindStudio"),
}


def diagnose(path, *options):
    said = subprocess.run([program, "diagnose", *options, path], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    return said.stdout


failures = []
with tempfile.TemporaryDirectory() as folder:
    for name, (kinds, trace, part) in CASES.items():
        path = pathlib.Path(folder, "trace.json")
        path.write_text(json.dumps({"schemaVersion": 1, **trace}))
        page, console = json.loads(diagnose(path, "--format=json")), diagnose(path)
        failures += [f"{name}: {what}" for what in words.wrong(page, console, kinds)]
        if not any(part in sentence for sentence in words.sentences(page)):
            failures.append(f"{name}: nothing says \"{part}\": {list(words.sentences(page))[:14]}")
    # The same launches in a loop that trains: the words of a training are there, so this list can find them.
    training = rounds("nvidia", "Optimizer.step#SGD.step {}", SGEMM, 10, 500, steps=True)
    path.write_text(json.dumps({"schemaVersion": 1, **training}))
    if not words.wrong(json.loads(diagnose(path, "--format=json")), "", ["inference"]):
        failures.append("a training is not told from a model that infers")
sys.exit("FAILED:\n" + "\n".join(failures) if failures else 0)
