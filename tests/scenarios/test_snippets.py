#!/usr/bin/env python3
"""The lines of PyTorch that `explain` prints: each runs, and what both variants define computes the same.

Lines that need a GPU are only compiled where PyTorch has none. PyTorch is that of the python3 that
CHOKEPOINT_TORCH_PYTHON names; the test is skipped where there is none.

usage: test_snippets.py PROGRAM
"""
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures"))
import torch_python  # pylint: disable=wrong-import-position

torch_python.switch_or_skip()
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, TOKENS, WIDTH, HEADS, CLASSES = 16, 17, 32, 2, 4
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0, batch_first=True)
            for _ in range(2))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        x = x.to(next(self.parameters()).device)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(dim=1))


def names_given():
    """What scenario.h promises to the lines."""
    torch.manual_seed(1)
    model = Model().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    dataset = TensorDataset(torch.randn(SAMPLES, TOKENS, WIDTH),
                            torch.randint(0, CLASSES, (SAMPLES,)))

    def loss_fn(outputs, labels):
        return F.cross_entropy(outputs, labels.to(outputs.device))

    def train_step(inputs, labels):
        loss = loss_fn(model(inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return {"os": os, "time": time, "ThreadPoolExecutor": ThreadPoolExecutor, "torch": torch, "F": F, "DataLoader": DataLoader, "model": model,
            "blocks": model.blocks, "optimizer": optimizer, "loss_fn": loss_fn, "dataset": dataset,
            "files": range(SAMPLES), "decode": lambda file: dataset[file],
            "loader": DataLoader(dataset, batch_size=4), "device": device,
            "tracker": SimpleNamespace(log=lambda values: None), "train_step": train_step,
            "print": lambda *values, file=None: None if file is None else print(*values, file=file)}


def samples():
    """The arguments of the functions that lines may define, by their names."""
    torch.manual_seed(2)
    heads = [torch.randn(2, HEADS, TOKENS, WIDTH // HEADS, device=device) for _ in range(3)]
    return {"x": torch.randn(2, TOKENS, WIDTH, device=device), "q": heads[0], "k": heads[1],
            "v": heads[2], "qkv": torch.randn(2, TOKENS, 3 * WIDTH, device=device),
            "heads": HEADS, "batch": [torch.ones(3, device=device), torch.ones(5, device=device)]}


def run(title, lines):
    """The functions that the lines define; None where they were only compiled."""
    code = compile(lines, title, "exec")
    if device.type == "cpu" and "torch.cuda." in lines:
        return None
    names = names_given()
    given = dict(names)
    exec(code, names)  # pylint: disable=exec-used
    return {name: value for name, value in names.items()
            if callable(value) and given.get(name) is not value and
            getattr(value, "__module__", None) is None and hasattr(value, "__code__")}


def compare(title, before, after):
    """Functions that both variants define compute the same of the same arguments."""
    for name in before.keys() & after.keys():
        arguments = before[name].__code__.co_varnames[:before[name].__code__.co_argcount]
        results = [function(*(samples()[argument] for argument in arguments))
                   for function in (before[name], after[name])]
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4, msg=f"{title}: {name}()")


program = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory()  # Lines may write files.
os.chdir(folder.name)
listed = subprocess.run([program, "list", "--format=json"], stdout=subprocess.PIPE, check=True)
torch.distributed.init_process_group("gloo", init_method=f"file://{folder.name}/ranks", rank=0, world_size=1)
failed = 0
for scenario in json.loads(listed.stdout)["scenarios"]:
    name = scenario["name"]
    environment = dict(os.environ)
    try:
        variants = [run(f"{name}, {variant}", lines)
                    for variant, lines in scenario["pytorch"].items()]
        if None in variants:
            print(f"{name}: compiled only, as PyTorch has no GPU here")
        else:
            compare(name, *variants)
            print(f"{name}: ran")
    except Exception as error:  # pylint: disable=broad-except
        print(f"{name}: {type(error).__name__}: {error}")
        failed += 1
    os.environ.clear()
    os.environ.update(environment)
torch.distributed.destroy_process_group()
sys.exit(failed > 0)
