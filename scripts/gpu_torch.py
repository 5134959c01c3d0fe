#!/usr/bin/env python3
"""Matrix products and the heavy training step, beside the same in PyTorch.

usage: gpu_torch.py PROGRAM [--device cuda] [--rounds 3] [--size large|medium|small] [--out FILE]

PROGRAM is chokepoint. Ours and PyTorch's are measured in turns, and what counts is the median of the
rounds' ratios: PyTorch's time over ours, so above 1 we are faster. The step is that of model=heavy with
everything fixed: bf16 with fp32 masters, fused or tiled attention where there is one, one AdamW kernel,
batches that are on the device, images as bytes. PyTorch's is the same model and update in its usual
form: autocast to bf16 over fp32 parameters, scaled_dot_product_attention, clipping, fused AdamW; eager,
compiled, and compiled with max-autotune, which takes CUDA graphs. A CPU can bear the sizes medium and
small, whose largest products are of 512. On it products compare oneDNN with oneDNN and one thread with
all cores, so only a slower step of size medium fails.

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

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except (ImportError, OSError) as error:
    print(f"skipped: PyTorch is not usable here: {error}")
    sys.exit(77)

SLOWER_BY = 1.03  # what medians of a few rounds can tell on a quiet GPU
FORMS = {"eager": None, "compiled": "default", "max-autotune": "max-autotune"}
SIZES = {"large": {"tokens": 197, "width": 768, "blocks": 12, "patch": 16, "batch": 128, "head": 64},
         "medium": {"tokens": 37, "width": 128, "blocks": 8, "patch": 8, "batch": 16, "head": 32},
         "small": {"tokens": 17, "width": 64, "blocks": 2, "patch": 8, "batch": 4, "head": 32}}


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
    def __init__(self, tokens, width, blocks, patch, head):
        super().__init__()
        self.patch = patch
        self.patches = nn.Linear(3 * patch**2, width)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, tokens, width))
        self.blocks = nn.ModuleList(Block(width, width // head) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.classifier = nn.Linear(width, 10)
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


def torch_step(sizes, device, form):
    """A function that does one update as PyTorch's users write it; None if this form does not run here."""
    torch.manual_seed(1)
    model = Encoder(**{name: size for name, size in sizes.items() if name != "batch"}).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
    side = math.isqrt(sizes["tokens"] - 1) * sizes["patch"]
    images = torch.randint(0, 256, (sizes["batch"], side, side, 3), dtype=torch.uint8, device=device)
    labels = torch.randint(0, 10, (sizes["batch"],), device=device)
    forward = torch.compile(model, mode=FORMS[form]) if FORMS[form] else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16):
            loss = F.cross_entropy(forward(images), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    try:
        for _ in range(3):
            step()
        return step
    except Exception as reason:  # a compiler that is not there is no fault of ours
        print(f"PyTorch {form} does not run: {str(reason).splitlines()[0]}", flush=True)
        return None


def time_us(run, device, window_s):
    """One run's time, over a window that is long enough."""
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    run()
    synchronize()
    count = 1
    while True:
        begin = time.perf_counter()
        for _ in range(count):
            run()
        synchronize()
        spent = time.perf_counter() - begin
        if spent >= window_s:
            return spent / count * 1e6
        count = max(count + 1, math.ceil(1.2 * count * window_s / max(spent, 1e-6)))


def ours(options, *arguments):
    """The JSON that chokepoint prints. Its libraries of CUDA are not PyTorch's."""
    environment = dict(os.environ)
    environment["LD_LIBRARY_PATH"] = environment.get("CHOKEPOINT_LIBRARIES", environment.get("LD_LIBRARY_PATH", ""))
    done = subprocess.run([options.program, *arguments, f"--device={options.device}"], capture_output=True, text=True,
                          check=False, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip() or done.returncode}")
    return json.loads(done.stdout)


def our_products(options):
    """Median time in us of square products by type and size. Each row is set up once: three matrices of 256 MB take longer
    to fill than to multiply."""
    rows = ours(options, "bench", "--max-time=0.2", "--benchmark_enable_random_interleaving=false",
                "--benchmark_min_time=0.03", "--benchmark_filter=^gemm_(fp32|tf32|bf16)/", "--benchmark_format=json")
    unit = {"ns": 1e-3, "us": 1, "ms": 1e3}
    for row in rows["benchmarks"]:
        name = re.fullmatch(r"gemm_(fp32|tf32|bf16)/(\d+)", row["run_name"])
        if name and row.get("aggregate_name") == "median" and (options.size == "large" or int(name[2]) <= 512):
            yield name[1], int(name[2]), row["real_time"] * unit[row["time_unit"]]


def torch_product(kind, n, device):
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    dtype = torch.bfloat16 if kind == "bf16" else torch.float32
    a, b = ((2 * torch.rand(n, n, device=device) - 1).to(dtype) for _ in range(2))
    out = torch.empty(n, n, dtype=dtype, device=device)
    return time_us(lambda: torch.mm(a, b, out=out), device, 0.1)


def our_step(options, attention, heads, launch):
    """A step's time in us, and its model FLOPs: those of forward and backward, without what is computed again."""
    sizes = [f"--{name}={size}" for name, size in SIZES[options.size].items() if name != "head"]
    result = ours(options, "train", "--model=heavy", "--input=resident", "--precision=bf16", "--loss-every=20", "--steps=40",
                  "--format=json", f"--attention={attention}", f"--heads={heads}", f"--launch={launch}", *sizes)
    return result["step_time"], result["model_flops_per_step"]


def best_settings(options):
    """Fused attention that reads the heads in place, and a graph, each if it works here."""
    for settings in ((*one, launch) for one in (("fused", "strided"), ("fused", "copied"), ("naive", "copied"))
                     for launch in ("graph", "eager")):
        try:
            our_step(options, *settings)
            return settings
        except RuntimeError as reason:
            print(f"{' '.join(settings)}: {reason}", flush=True)
    raise RuntimeError("the heavy step does not run")


def write(options, result, member, rounds):
    """Replaces the file as a whole, so that whoever cuts this off finds what there was."""
    result[member] = [{"name": name, "ours_us": statistics.median(one for one, _ in pairs),
                       "torch_us": statistics.median(other for _, other in pairs),
                       "ratio": statistics.median(other / one for one, other in pairs),
                       "ratios": sorted(other / one for one, other in pairs)} for name, pairs in rounds.items()]
    with open(f"{options.out}.new", "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2)
    os.replace(f"{options.out}.new", options.out)


def compare_products(options, result):
    rounds = {}
    for _ in range(options.rounds):
        for kind, n, us in our_products(options):
            rounds.setdefault(f"gemm_{kind}/{n}", []).append((us, torch_product(kind, n, options.device)))
        write(options, result, "gemm", rounds)


def compare_steps(options, result):
    settings = best_settings(options)
    forms = {form: torch_step(SIZES[options.size], options.device, form) for form in FORMS}
    rounds = {f"step, PyTorch {form}": [] for form, step in forms.items() if step}
    for _ in range(options.rounds):
        us, flops = our_step(options, *settings)
        for name, pairs in rounds.items():
            pairs.append((us, time_us(forms[name.split()[-1]], options.device, 0.3)))
        write(options, result, "step", rounds)
    # Model FLOPs utilisation of each form: the step's FLOPs per second over those of the fastest product.
    peak = max((2 * int(row["name"].split("/")[1]) ** 3 / min(row["ours_us"], row["torch_us"])
                for row in result["gemm"] if row["name"].startswith("gemm_bf16/")), default=math.inf)
    times = {row["name"].split()[-1]: row["torch_us"] for row in result["step"]} | {"ours": us}
    result["mfu"] = {name: flops / one / peak for name, one in times.items()}
    write(options, result, "step", rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", default="large", choices=SIZES)
    parser.add_argument("--out", default="torch.json")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        sys.exit(77)
    result = {"torch": torch.__version__, "cuda": torch.version.cuda, "device": options.device,
              "sizes": SIZES[options.size], "gemm": [], "step": [], "mfu": {}}
    failed = False
    for compare in (compare_products, compare_steps):
        try:
            compare(options, result)
        except (RuntimeError, ValueError, OSError) as reason:
            failed = True
            print(f"{compare.__name__}: {reason}", flush=True)
    rows = result["gemm"] + result["step"]
    for row in rows:
        print(f"{row['name']:28} ours {row['ours_us']:12.1f} us   PyTorch {row['torch_us']:12.1f} us   {row['ratio']:.3f}x "
              f"({row['ratios'][0]:.3f} to {row['ratios'][-1]:.3f})")
    slow = [row["name"] for row in rows if not row["ratio"] * SLOWER_BY >= 1]
    if rows:
        worst = min(rows, key=lambda row: row["ratio"])
        steps = ", ".join(f"{row['name'].split()[-1]} {row['ratio']:.2f}x" for row in result["step"])
        print(f"figure: {len(slow)} of {len(rows)} slower than PyTorch; worst {worst['name']} {worst['ratio']:.2f}x; "
              f"step {steps or '-'}")
    fails = [name for name in slow if options.device == "cuda" or (name.startswith("step") and options.size == "medium")]
    sys.exit(1 if failed or not rows or fails else 0)


main()
