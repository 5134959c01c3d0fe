#!/usr/bin/env python3
"""A slow line that was planted in a training script is named by file and line, in nine of ten scripts.

Each script trains a small model on the CPU and has one slow place: a line, or, where that is all a function does,
the function, from "# slow" to "# end". It is recorded by PyTorch's profiler with with_stack=True, and the first
finding that costs time has to name a line of it: a function's first line stands for the function. PyTorch is that of
the python3 that CHOKEPOINT_TORCH_PYTHON names; the test is skipped where there is none.

usage: test_where_torch.py PROGRAM
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures"))
import torch_python  # pylint: disable=wrong-import-position

torch_python.switch_or_skip()

NAMED_LEAST = 0.9

# Trains; {helper} and {call} are the slow part: a function, and the lines in the step that use it.
SCRIPT = """
import json, os, random, re, sys, time, zlib
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(1)
torch.set_num_threads(1)
random.seed(1)
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
inputs, labels = torch.randn(256, 256), torch.randint(0, 10, (256,))
{helper}

def train_step(x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
{call}
    return loss.detach()


def main(path):
    with profile(activities=[ProfilerActivity.CPU], with_stack=True,
                 schedule=schedule(wait=1, warmup=1, active=4)) as profiler:
        for _ in range(6):
            train_step(inputs, labels)
            profiler.step()
    profiler.export_chrome_trace(path)


main(sys.argv[1])
"""

SLOW = {
    "a loop over numbers": ("""
def smooth(values):  # slow
    total = 0.0
    for _ in range(20):
        for value in values:
            total = 0.9 * total + 0.1 * value  # end
    return total
""", "    smooth(loss.detach().reshape(1).repeat(5000).tolist())"),
    "item() in a helper": ("""
def log_losses(losses):
    total = 0.0
    for i in range(len(losses)):
        total += losses[i].item()  # slow end
    return total
""", "    log_losses(loss.detach().repeat(2000))"),
    "a tensor printed": ("""
def report(weight):
    torch.set_printoptions(profile="full")
    print(weight, file=sys.stderr)  # slow end
""", "    report(model[4].weight)"),
    "sleep": ("""
def throttle():
    time.sleep(0.02)  # slow end
""", "    throttle()"),
    "a loop in the step": ("", """    loss.detach()
    z = 0  # slow
    for i in range(300000):
        z += i * i
    loss.item()  # end"""),
    "a log written as JSON": ("""
def write_log(values):
    with open(os.devnull, "w") as log:
        json.dump(values, log)  # slow end
""", "    write_log(model[4].weight.detach().tolist())"),
    "augmentation, element by element": ("""
def augment(batch):  # slow
    rows = batch.tolist()
    for row in rows:
        for i in range(len(row)):
            row[i] += random.random() * 0.1
    return torch.tensor(rows)  # end
""", "    augment(inputs)"),
    "text parsed": ("""
def tokenize(text):
    return [word.lower() for word in re.findall(r"[a-z]+|[0-9]+", text)]  # slow end
""", "    tokenize('the loss of step 17 is ' * 8000)"),
    "the state compressed": ("""
def keep(network):
    state = b"".join(value.numpy().tobytes() for value in network.state_dict().values())
    zlib.compress(state, 9)  # slow end
""", "    keep(model)"),
    "a generator of samples": ("""
def samples(count):  # slow
    for i in range(count):
        yield [(i * j) % 7 for j in range(100)]


def collect(count):
    return [max(sample) for sample in samples(count)]  # end
""", "    collect(2000)"),
}


def slow_lines(text):
    """The numbers of the planted lines."""
    lines, inside = set(), False
    for number, line in enumerate(text.split("\n"), 1):
        inside = inside or "# slow" in line
        if inside:
            lines.add(number)
        if line.rstrip().endswith("end") and "#" in line:
            inside = False
    return lines


def record(folder, name, text):
    script, trace = os.path.join(folder, name + ".py"), os.path.join(folder, name + ".json")
    with open(script, "w") as file:
        file.write(text)
    done = subprocess.run([sys.executable, name + ".py", trace], cwd=folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(done.stderr.decode()[-2000:])
    return trace


def diagnose(program, trace):
    done = subprocess.run([program, "diagnose", trace, "--format=json"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["traces"][0]["findings"]


def first_costly(findings):
    return next((finding for finding in findings if finding["lost_ns_per_step"]), None)


def main():
    program = os.path.abspath(sys.argv[1])
    named = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (title, (helper, call)) in enumerate(SLOW.items()):
            name = f"script{number}"
            text = SCRIPT.replace("{helper}", helper).replace("{call}", call)
            findings = diagnose(program, record(folder, name, text))
            finding = first_costly(findings)
            where = finding["where"] if finding else None
            lines = slow_lines(text)
            right = (bool(where) and where["file"] == name + ".py" and
                     where["last_line"] - where["line"] <= len(lines) and
                     any(where["line"] <= line <= where["last_line"] for line in lines))
            named += right
            print("right" if right else "WRONG", title, sorted(lines), finding and finding["id"], where)
    print(f"{named} of {len(SLOW)} are named")
    sys.exit(named < NAMED_LEAST * len(SLOW))


main()
