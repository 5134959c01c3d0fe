#!/usr/bin/env python3
"""`import chokepoint` beside PyTorch: the examples of docs/python.md run, and the callbacks record in Lightning and
Transformers, where these are installed.

usage: test_python_torch.py PROGRAM SOURCE
"""
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import shutil
import sys
import tempfile

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(source / "tests/fixtures"))
from checking import check, end  # noqa: E402
from torch_python import switch_or_skip  # noqa: E402


def collated(rows):
    """Slow on purpose."""
    return [[sum(range(1000)) % 7 + float(x) for x in row] for row in rows]


def loaded():
    import torch
    from torch.utils.data import DataLoader

    return DataLoader(torch.randn(400, 8), batch_size=8, collate_fn=lambda rows: torch.tensor(collated(rows)))


def train(model, loader):
    import torch

    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for batch in loader:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


def for_lightning():
    import lightning.pytorch
    import torch

    class Module(lightning.pytorch.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def training_step(self, batch, _):
            return self.layer(batch).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    return {"module": Module(), "loader": loaded()}


def for_transformers():
    from transformers import BertConfig, BertForSequenceClassification, TrainingArguments

    small = BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    rows = [{"input_ids": list(range(16)), "labels": 0} for _ in range(400)]
    return {"model": BertForSequenceClassification(small), "rows": rows,
            "arguments": TrainingArguments("trained", max_steps=50, report_to=[], save_strategy="no", disable_tqdm=True)}


def check_callback(callback, said):
    kind = type(callback).__module__
    check(callback.recording.steps == 8 and callback.recording.why == "", f"{kind}: {callback.recording!r}")
    check(callback.diagnosis is not None and len(callback.diagnosis.findings) > 0, f"{kind}: {callback.diagnosis}")
    check("Bottleneck" in said, f"{kind} printed no page: {said[-500:]}")
    check("8 steps in" in repr(callback.recording), f"{kind}: {callback.recording!r}")


def check_table(names):
    found, table = names["found"], names["table"]
    check(len(table) == len(found.findings) > 0 and list(table["name"]) == [one["id"] for one in found.findings], f"{table}")
    first = found.findings[0]
    check((first.gain, first.severity, first.file) == (first["predicted_gain"], first["severity"], "worker0.pt.trace.json"),
          f"{first!r}")
    check(found.findings == [one for trace in found["traces"] for one in trace["findings"]], "other findings than in the traces")


def main():
    switch_or_skip()
    os.environ["PATH"] = os.path.dirname(program) + os.pathsep + os.environ["PATH"]
    sys.path.insert(0, str(source / "python"))
    import torch
    import chokepoint

    examples = re.findall(r"^```python\n(.*?)^```", (source / "docs/python.md").read_text(), re.S | re.M)
    check(len(examples) == 5, f"{len(examples)} examples")
    check(not {"lightning", "transformers", "pandas"} & set(sys.modules), "a library is imported before it is asked for")
    with tempfile.TemporaryDirectory(prefix="chokepoint-python-") as folder:
        os.chdir(folder)
        for name in ("worker0", "later"):
            with chokepoint.recording(wait=4, stack_steps=1) as made:
                train(torch.nn.Linear(8, 1), loaded())
            shutil.copy(os.path.join(made.folder, "trace.pt.trace.json.gz"), f"{name}.pt.trace.json")
        names = {"chokepoint": chokepoint, "train": train, "model": torch.nn.Linear(8, 1), "loader": loaded()}
        for example in examples:
            needs = [name for word, name in (("to_dataframe", "pandas"), ("from lightning", "lightning"),
                                             ("from transformers", "transformers")) if word in example]
            missing = [name for name in needs if importlib.util.find_spec(name) is None]
            if missing:
                print(f"skipped: {missing[0]} is missing, of {example.splitlines()[0]}")
                continue
            names.update(for_lightning() if "lightning" in needs else for_transformers() if "transformers" in needs else {})
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(example, names)
            if "callback" in example:
                check_callback(names["callback"], said.getvalue())
        if "table" in names:
            check_table(names)
        check("8 steps in" in repr(names["seen"]) and chokepoint.diagnose(names["seen"]).findings, f"{names['seen']!r}")
        check(not hasattr(chokepoint, "keras"), "any name is a module")
    end()


main()
