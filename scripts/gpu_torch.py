#!/usr/bin/env python3
"""Matrix products and the heavy training step, beside the same in PyTorch.

usage: gpu_torch.py PROGRAM [--device cuda] [--rounds 3] [--size large|medium|small] [--out FILE]

PROGRAM is chokepoint. Ours and PyTorch's are measured in turns, and what counts is the median of the
rounds' ratios: PyTorch's time over ours, so above 1 we are faster. The step is that of model=heavy with
everything fixed: bf16 with fp32 masters, fused or tiled attention where there is one, one AdamW kernel,
batches that are on the device, images as bytes. PyTorch's is the same model and update in its usual
form: autocast to bf16 over fp32 parameters, scaled_dot_product_attention, clipping, fused AdamW; eager
and compiled. A CPU can bear the sizes medium and small, whose largest products are of 512. On it products compare oneDNN
with oneDNN and one thread with all cores, so only a slower step of size medium fails.

Exit codes: 0 no slower than PyTorch (3%), 1 slower or failed, 77 PyTorch or the device is missing.
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

SLOWER_BY = 1.03  # what medians of a few rounds can tell on a quiet GPU
WINDOW_S = 0.3
STEPS = 40
SIZES = {"large": {"tokens": 197, "width": 768, "blocks": 12, "patch": 16, "batch": 128, "head": 64},
         "medium": {"tokens": 37, "width": 128, "blocks": 8, "patch": 8, "batch": 16, "head": 32},
         "small": {"tokens": 17, "width": 64, "blocks": 2, "patch": 8, "batch": 4, "head": 32}}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except (ImportError, OSError) as error:
    skip(f"PyTorch is not usable here: {error}")


class Block(nn.Module):
    """Pre-norm, attention without a mask, an MLP four times as wide."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.expand, self.contract = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        samples, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(samples, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v)
        x = x + self.projection(attended.transpose(1, 2).reshape(samples, tokens, width))
        return x + self.contract(F.gelu(self.expand(self.norm2(x)), approximate="tanh"))


class Encoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.patch = sizes["patch"]
        self.patches = nn.Linear(3 * self.patch**2, sizes["width"])
        self.token = nn.Parameter(torch.zeros(1, 1, sizes["width"]))
        self.positions = nn.Parameter(0.02 * torch.randn(1, sizes["tokens"], sizes["width"]))
        self.blocks = nn.ModuleList(
            Block(sizes["width"], sizes["width"] // sizes["head"]) for _ in range(sizes["blocks"]))
        self.norm = nn.LayerNorm(sizes["width"])
        self.classifier = nn.Linear(sizes["width"], 10)
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]))
        self.register_buffer("deviation", torch.tensor([0.229, 0.224, 0.225]))

    def forward(self, images):
        samples, side, _, _ = images.shape
        count = side // self.patch
        x = (images.float() / 255 - self.mean) / self.deviation
        x = x.view(samples, count, self.patch, count, self.patch, 3).transpose(2, 3)
        x = self.patches(x.reshape(samples, count * count, -1))
        x = torch.cat([self.token.expand(samples, -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.classifier(self.norm(x[:, 0]))


class Step:
    """One update as PyTorch's users write it."""

    def __init__(self, sizes, device, compiled):
        torch.manual_seed(1)
        self.device = device
        self.model = Encoder(sizes).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.01,
                                           fused=True)
        side = math.isqrt(sizes["tokens"] - 1) * sizes["patch"]
        self.images = torch.randint(0, 256, (sizes["batch"], side, side, 3), dtype=torch.uint8,
                                    device=device)
        self.labels = torch.randint(0, 10, (sizes["batch"],), device=device)
        self.forward = torch.compile(self.model) if compiled else self.model

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device, torch.bfloat16):
            loss = F.cross_entropy(self.forward(self.images), self.labels)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def time_us(run, device, window_s=WINDOW_S):
    """One run's time, over a window that is long enough."""
    run()
    synchronize(device)
    count = 1
    while True:
        begin = time.perf_counter()
        for _ in range(count):
            run()
        synchronize(device)
        spent = time.perf_counter() - begin
        if spent >= window_s:
            return spent / count * 1e6
        count = max(count + 1, math.ceil(1.2 * count * window_s / max(spent, 1e-6)))


def our_json(arguments, path):
    environment = dict(os.environ)
    if "CHOKEPOINT_LIBRARIES" in environment:  # where it finds CUDA's; PyTorch has its own
        environment["LD_LIBRARY_PATH"] = environment["CHOKEPOINT_LIBRARIES"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments[1:])}: {done.stderr.strip() or done.returncode}")
    if path is None:
        return json.loads(done.stdout)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def our_products(options):
    """Median time in us of square products by type and size."""
    path = f"{options.work}.gemm.json"
    # Each row is set up once: three matrices of 256 MB take longer to fill than to multiply.
    rows = our_json([options.program, "bench", f"--device={options.device}", "--max-time=0.2",
                     "--benchmark_enable_random_interleaving=false", "--benchmark_min_time=0.03",
                     "--benchmark_filter=^gemm_(fp32|tf32|bf16)/", f"--benchmark_out={path}",
                     "--benchmark_format=json"], path)["benchmarks"]
    os.unlink(path)
    unit = {"ns": 1e-3, "us": 1, "ms": 1e3}
    times = {}
    for row in rows:
        name = re.fullmatch(r"gemm_(fp32|tf32|bf16)/(\d+)", row["run_name"])
        if name and row.get("aggregate_name") == "median":
            times[name[1], int(name[2])] = row["real_time"] * unit[row["time_unit"]]
    return times


def torch_product(kind, n, device):
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    dtype = torch.bfloat16 if kind == "bf16" else torch.float32
    a, b = ((2 * torch.rand(n, n, device=device) - 1).to(dtype) for _ in range(2))
    out = torch.empty(n, n, dtype=dtype, device=device)
    return time_us(lambda: torch.mm(a, b, out=out), device, 0.1)


def write(options, result):
    """Replaces the file as a whole, so that whoever cuts this off finds what there was."""
    with open(f"{options.out}.new", "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2)
    os.replace(f"{options.out}.new", options.out)


def compare_products(options, result):
    rounds = {}
    for _ in range(options.rounds):
        for (kind, n), ours in our_products(options).items():
            if options.size != "large" and n > 512:
                continue
            rounds.setdefault((kind, n), []).append((ours, torch_product(kind, n, options.device)))
        result["gemm"] = [row_of(f"gemm_{kind}/{n}", pairs) for (kind, n), pairs in rounds.items()]
        write(options, result)


def row_of(name, pairs):
    ratios = sorted(torchs / ours for ours, torchs in pairs)
    return {"name": name, "ours_us": statistics.median(ours for ours, _ in pairs),
            "torch_us": statistics.median(torchs for _, torchs in pairs),
            "ratio": statistics.median(ratios), "ratios": ratios}


def show(rows):
    for row in rows:
        print(f"{row['name']:24} ours {row['ours_us']:12.1f} us   "
              f"PyTorch {row['torch_us']:12.1f} us   {row['ratio']:.3f}x "
              f"({row['ratios'][0]:.3f} to {row['ratios'][-1]:.3f})", flush=True)


def our_step(options, sizes):
    """Time of a step in us, and its model FLOPs: those of forward and backward, without what is computed again."""
    settings = [f"--{name}={sizes[name]}" for name in ("tokens", "width", "blocks", "patch", "batch")]
    result = our_json([options.program, "train", f"--device={options.device}", "--model=heavy",
                       "--input=resident", "--precision=bf16", "--loss-every=20",
                       f"--attention={options.attention}", f"--heads={options.heads}", f"--launch={options.launch}",
                       f"--steps={STEPS}", "--format=json", *settings], None)
    return find(result, "step_time"), find(result, "model_flops_per_step")


def find(value, name):
    """The member of that name, wherever it is."""
    if isinstance(value, dict):
        if isinstance(value.get(name), (int, float)):
            return value[name]
        value = list(value.values())
    for inner in value if isinstance(value, list) else []:
        found = find(inner, name)
        if found is not None:
            return found
    return None


def best_settings(options, sizes):
    """The step with everything fixed: fused attention that reads the heads in place, and a graph, each if it works here."""
    for options.attention, options.heads in (("fused", "strided"), ("fused", "copied"), ("naive", "copied")):
        for options.launch in ("graph", "eager"):
            try:
                our_step(options, sizes)
                return
            except RuntimeError as error:
                print(f"attention={options.attention} heads={options.heads} launch={options.launch}: {error}", flush=True)
    raise RuntimeError("the heavy step does not run")


def utilisations(result, flops):
    """Model FLOPs utilisation of ours and of each form: the step's FLOPs per second over those of the fastest product."""
    peak = max((2 * int(row["name"].split("/")[1]) ** 3 / min(row["ours_us"], row["torch_us"])
                for row in result["gemm"] if row["name"].startswith("gemm_bf16/")), default=None)
    if not peak or not flops:
        return {}
    times = {row["name"].split()[-1]: row["torch_us"] for row in result["step"]}
    if result["step"]:
        times["ours"] = result["step"][0]["ours_us"]
    return {name: flops / us / peak for name, us in times.items()}


def compare_steps(options, sizes, result):
    best_settings(options, sizes)
    forms = {}
    for name, compiled in (("eager", False), ("compiled", True)):
        step = Step(sizes, options.device, compiled)
        try:
            for _ in range(3):
                step()
            synchronize(options.device)
            forms[name] = (step, [])
        except Exception as error:  # a compiler that is not there is no fault of ours
            print(f"PyTorch {name} does not run: {str(error).splitlines()[0]}", flush=True)
    for _ in range(options.rounds):
        ours, flops = our_step(options, sizes)
        for step, pairs in forms.values():
            pairs.append((ours, time_us(step, options.device)))
        result["step"] = [row_of(f"step, PyTorch {name}", pairs)
                          for name, (_, pairs) in forms.items()]
        result["mfu"] = utilisations(result, flops)
        write(options, result)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", default="large", choices=SIZES)
    parser.add_argument("--out", default="torch.json")
    options = parser.parse_args()
    options.work = options.out
    if options.device == "cuda" and not torch.cuda.is_available():
        skip("PyTorch finds no GPU")
    sizes = SIZES[options.size]
    result = {"torch": torch.__version__, "cuda": torch.version.cuda, "device": options.device,
              "sizes": sizes, "gemm": [], "step": [], "mfu": {}, "failed": []}
    write(options, result)
    for name, compare in (("gemm", lambda: compare_products(options, result)),
                          ("step", lambda: compare_steps(options, sizes, result))):
        try:
            compare()
            show(result[name])
        except (RuntimeError, ValueError, OSError) as error:
            result["failed"].append(f"{name}: {error}")
            print(f"{name} failed: {error}", flush=True)
    rows = result["gemm"] + result["step"]
    write(options, result)
    for name, share in result["mfu"].items():
        print(f"model FLOPs utilisation, {name}: {share:.1%}")
    slow = [row["name"] for row in rows if not row["ratio"] * SLOWER_BY >= 1]
    worst = min(rows, key=lambda row: row["ratio"], default=None)
    if worst:
        steps = ", ".join(f"{row['name'].split()[-1]} {row['ratio']:.2f}x" for row in result["step"])
        print(f"figure: {len(slow)} of {len(rows)} slower than PyTorch; worst {worst['name']} "
              f"{worst['ratio']:.2f}x; step {steps or '-'}")
    slow_steps = [name for name in slow if name.startswith("step")]
    fails = slow if options.device == "cuda" else slow_steps if options.size == "medium" else []
    sys.exit(1 if result["failed"] or not rows or fails else 0)


main()
