"""Traces that PyTorch's profiler records here and now.

usage: check_torch.py TRACE_FIGURES CHOKEPOINT        Exit code 77: there is no PyTorch with Kineto here.

TRACE_FIGURES is the program that prints ours. Steps, the wait for data and the optimizer are compared
with the profiler's own table (key_averages()), plain and compressed, and so is each row of the table of
operators that `diagnose` makes; kinds of layers are counted. In a loop with one thing wrong, the diagnosis must name it.
"""
import io
import json
import os
import subprocess
import sys
import tempfile
import zlib

STEPS = 4


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule
except ImportError as error:
    skip(f"PyTorch cannot be imported ({error}); CHOKEPOINT_TORCH_PYTHON names a python3 that has it")
if not torch.profiler.kineto_available():
    skip(f"PyTorch {torch.__version__} was built without Kineto, its profiler's tracer")


def record(path):
    """Trains a little; returns the profiler's own table as name -> (count, us)."""
    torch.set_num_threads(1)
    samples = torch.utils.data.TensorDataset(torch.randn(256, 64), torch.randint(8, (256,)))
    loader = torch.utils.data.DataLoader(samples, batch_size=16, shuffle=True)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 8))
    optimizer = torch.optim.AdamW(model.parameters())
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
                 schedule=schedule(wait=1, warmup=1, active=STEPS), with_stack=True) as profiler:
        for inputs, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
            if profiler.step_num == 2 + STEPS:
                break
    profiler.export_chrome_trace(path)
    return {row.key: (row.count, row.cpu_time_total) for row in profiler.key_averages()}


def named(table, beginning):
    rows = [row for name, row in table.items() if name.startswith(beginning)]
    assert rows, f"PyTorch's table has no {beginning}"
    return sum(count for count, _ in rows), sum(us for _, us in rows)


def near(ours, theirs, what):
    # They sum doubles of microseconds.
    assert abs(ours - theirs) <= 0.01 + 1e-6 * theirs, f"{what}: {ours} us here, {theirs} us there"


def check(path, table):
    run = subprocess.run([sys.argv[1], path], check=True, capture_output=True)
    ours = json.loads(run.stdout)
    assert ours["bad"] == 0 and not ours["partial"], ours
    count, total = named(table, "ProfilerStep*")
    assert len(ours["steps"]) == count == STEPS, (ours["steps"], count)
    near(sum(step["duration"] for step in ours["steps"]), total, "steps")
    near(ours["phases"]["data"], named(table, "enumerate(DataLoader)#")[1], "data")
    near(ours["phases"]["optimizer"], named(table, "Optimizer.step#")[1], "optimizer")
    return ours, total


class Block(torch.nn.Module):
    """Layers of many kinds, recomputed in backward."""

    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.memory = torch.nn.LSTM(32, 16, batch_first=True)
        self.head = torch.nn.Sequential(torch.nn.Conv1d(16, 8, 3), torch.nn.BatchNorm1d(8),
                                        torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(48, 4))

    def forward(self, samples):
        hidden = torch.utils.checkpoint.checkpoint(self.encoder, samples, use_reentrant=False)
        return self.head(self.memory(hidden)[0].transpose(1, 2))


def record_table(path):
    """Returns the rows of key_averages(), without steps, as name -> our member -> value in ns and bytes."""
    torch.set_num_threads(1)
    model = Block()
    optimizer = torch.optim.AdamW(model.parameters())
    samples = torch.utils.data.TensorDataset(torch.randn(64, 8, 32), torch.randint(4, (64,)))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
                 schedule=schedule(wait=1, warmup=1, active=STEPS)) as profiler:
        for inputs, labels in torch.utils.data.DataLoader(samples, batch_size=8):
            with torch.profiler.record_function("forward"):
                loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
            if profiler.step_num == 2 + STEPS:
                break
    profiler.export_chrome_trace(path)
    return {row.key: {"count": row.count,
                      "host_total_ns": 1000 * row.cpu_time_total,
                      "host_self_ns": 1000 * row.self_cpu_time_total,
                      "host_bytes": row.cpu_memory_usage,
                      "host_self_bytes": row.self_cpu_memory_usage}
            for row in profiler.key_averages() if row.key != "ProfilerStep*"}


def diagnosed(path, *options):
    run = subprocess.run([sys.argv[2], "diagnose", "--format=json", *options, path], check=True,
                         capture_output=True)
    return json.loads(run.stdout)["traces"][0]


def check_table(path, theirs):
    ours = diagnosed(path, "--top=0")
    rows = {row["name"]: row for row in ours["operators"] + ours["annotations"]}
    assert rows.keys() == theirs.keys(), rows.keys() ^ theirs.keys()
    for name, wanted in theirs.items():
        got = {member: rows[name][member] for member in wanted}
        # They sum doubles of microseconds.
        assert all(abs(got[member] - wanted[member]) < 1 for member in wanted), (name, got, wanted)
    return len(rows), ours


def check_kinds(ours):
    """Each layer's forward and backward pass is found, as often as it ran, with the shape of its input."""
    kinds = {(kind["name"], kind["input_dims"]): kind["count"] for kind in ours["operator_kinds"]}
    runs = {"linear": 1, "conv1d": 1, "lstm": 1, "batch_norm": 1, "layer_norm": 2}
    for name, layers in runs.items():
        for wanted in (name, name + " backward"):
            found = {dims: count for (kind, dims), count in kinds.items() if kind == wanted}
            assert found and all(count % (layers * STEPS) == 0 for count in found.values()), (wanted, found)
    head = "[[8,48],[4,48],[4]]"
    assert kinds["linear", head] == kinds["linear backward", head] == STEPS, kinds


class Packed(torch.utils.data.Dataset):
    """Samples that take work to unpack, much more than a step with them."""

    def __init__(self):
        self.bytes = zlib.compress(os.urandom(1 << 20))

    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.frombuffer(bytearray(zlib.decompress(self.bytes)[:64]), dtype=torch.uint8) / 255


def save(parameters, kept):
    with torch.profiler.record_function("save"):
        torch.save([p.repeat(64, 1) for p in parameters if p.dim() == 2], io.BytesIO())


def keep(parameters, kept):
    kept.append([p.detach().clone() for p in parameters])


PLANTED = {  # the finding: what the loop loads, and what it does after each step
    "data_loading": (Packed(), None),
    "save_pause": (torch.randn(256, 64), save),
    "memory_growth": (torch.randn(256, 64), keep),
}


def record_planted(path, samples, after_step):
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 8))
    optimizer = torch.optim.SGD(model.parameters())
    kept = []
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True,
                 schedule=schedule(wait=1, warmup=1, active=8)) as profiler:
        for inputs in torch.utils.data.DataLoader(samples, batch_size=16):
            model(inputs).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            if after_step is not None:
                after_step(model.parameters(), kept)
            profiler.step()
            if profiler.step_num == 2 + 8:
                break
    profiler.export_chrome_trace(path)


def check_planted(path, finding):
    found = [row["id"] for row in diagnosed(path)["findings"]]
    assert found[0] == finding, f"{finding} was planted, and this is found: {found}"


with tempfile.TemporaryDirectory() as folder:
    for name in ("torch.json", "torch.json.gz"):
        ours, total = check(f"{folder}/{name}", record(f"{folder}/{name}"))
    rows, table = check_table(f"{folder}/table.json", record_table(f"{folder}/table.json"))
    check_kinds(table)
    for finding, (samples, after_step) in PLANTED.items():
        record_planted(f"{folder}/{finding}.json.gz", samples, after_step)
        check_planted(f"{folder}/{finding}.json.gz", finding)
print(f"PyTorch {torch.__version__}: {ours['events']} events, {STEPS} steps of {total / STEPS:.0f} us "
      f"in the mean, as its own table says, and {rows} rows of it; found first where planted:", ", ".join(PLANTED))
