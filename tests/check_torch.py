"""A trace that PyTorch's profiler records here and now, whose steps must be as long as it says itself.

usage: check_torch.py TRACE_FIGURES        Exit code 77: there is no PyTorch with Kineto here.

TRACE_FIGURES is the program that prints ours. Steps, the wait for data and the optimizer are held against
the profiler's own table (key_averages()), plain and compressed.
"""
import json
import subprocess
import sys
import tempfile

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


with tempfile.TemporaryDirectory() as folder:
    for name in ("torch.json", "torch.json.gz"):
        ours, total = check(f"{folder}/{name}", record(f"{folder}/{name}"))
print(f"PyTorch {torch.__version__}: {ours['events']} events, {STEPS} steps of {total / STEPS:.0f} us "
      "in the mean, as its own table says")
