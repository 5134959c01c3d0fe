#!/usr/bin/env python3
"""The field's words: PyTorch's arguments, headings of guides, terms of GPU glossaries and sections of Nsight Compute.

Each reaches the lesson or finding that it must, in `explain` and in `run`; a misspelt one gets the nearest; one that only the
text of lessons has gets their names; and no word means two rows of a kind.

usage: test_terms.py PROGRAM
"""
import json
import re
import subprocess
import sys

# The lesson or finding, and the words that must reach it.
TERMS = {
    "pageable_copies": ["pin_memory", "pin_memory=True", "pinned memory", "page-locked memory"],
    "loader_workers": ["num_workers", "data loading bottleneck", "input pipeline"],
    "loader_prefetch": ["prefetch_factor"],
    "worker_respawn": ["persistent_workers"],
    "host_leak": ["copy-on-read", "reference counting"],
    "slow_collate": ["collate_fn"],
    "oversubscribed_workers": ["oversubscription", "OMP_NUM_THREADS", "cv2.setNumThreads"],
    "pinned_in_loop": ["cudaHostAlloc", "tensor.pin_memory()"],
    "padding": ["dynamic padding", "group_by_length", "sequence packing", "max_tokens"],
    "small_batch": ["batch size"],
    "blocking_copies": ["non_blocking", "non_blocking=True", "asynchronous copies"],
    "optimizer_overhead": ["set_to_none", "zero_grad", "optimizer.zero_grad()"],
    "uneven_devices": ["torch.nn.DataParallel"],
    "unfused_optimizer": ["foreach", "fused", "FusedAdam", "multi-tensor apply"],
    "layout_conversions": ["channels_last", "NHWC", "memory_format"],
    "cold_start": ["cudnn.benchmark", "warm-up", "warmup"],
    "launch_overhead": ["torch.compile", "torch.compile mode=reduce-overhead", "CUDA graphs", "cuda_graphs", "CUDA graph",
                        "kernel launch overhead", "CPU-bound", "host-bound", "overhead-bound"],
    "initialisation": ["torch.compile mode=max-autotune", "max-autotune"],
    "graph_recapture": ["dynamic shapes", "torch.compile dynamic=True"],
    "recompilation": ["recompile limit", "graph breaks"],
    "precision": ["bf16", "bfloat16", "fp16", "autocast", "torch.autocast", "mixed precision", "AMP", "tensor cores"],
    "strict_fp32": ["tf32", "allow_tf32", "set_float32_matmul_precision"],
    "loss_scaling": ["GradScaler", "loss scaling"],
    "sharded_parameters": ["fsdp", "fully_shard", "ZeRO-3", "FULL_SHARD", "all-gather"],
    "replicated_state": ["ZeRO-1", "ZeroRedundancyOptimizer"],
    "late_gathers": ["backward_prefetch"],
    "exposed_allreduce": ["ddp", "DistributedDataParallel", "find_unused_parameters", "data parallelism", "all-reduce",
                          "allreduce", "communication overlap"],
    "sync_every_micro_batch": ["no_sync", "no_sync()", "set_requires_gradient_sync"],
    "double_precision": ["torch.float64", "set_default_dtype", "from_numpy"],
    "exposed_copy": ["H2D", "PCIe bandwidth"],
    "exposed_communication": ["NCCL", "communication overhead"],
    "bucket_copies": ["gradient_as_bucket_view"],
    "small_buckets": ["bucket_cap_mb", "gradient bucketing"],
    "pipeline_bubble": ["pipeline parallelism", "GPipe", "bubble ratio"],
    "expert_imbalance": ["mixture of experts", "MoE"],
    "checkpointing": ["gradient checkpointing", "gradient_checkpointing", "activation checkpointing", "use_reentrant"],
    "optimizer_every_step": ["gradient accumulation", "gradient_accumulation_steps"],
    "memory_for_batch": ["out of memory", "OOM"],
    "fragmentation": ["memory fragmentation", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "expandable_segments"],
    "cache_flush": ["empty_cache"],
    "leak": ["memory leak", "retain_graph"],
    "naive_attention": ["flash attention", "FlashAttention", "scaled_dot_product_attention", "SDPA"],
    "unfused_elementwise": ["kernel fusion", "operator fusion", "memory-bound", "bandwidth-bound"],
    "serial_streams": ["CUDA streams"],
    "item_sync": ["loss.item()", ".item()", "tensor.item()", "device synchronization", "cudaDeviceSynchronize"],
    "host_clipping": ["gradient clipping", "clip_grad_norm_"],
    "data_dependent_shape": ["nonzero", "boolean indexing"],
    "blocking_save": ["torch.save"],
    "network_logger": ["wandb"],
    "frequent_validation": ["eval_steps", "val_check_interval", "validation"],
    "unsynchronised_timer": ["torch.cuda.synchronize"],
    "warm_cache": ["do_bench", "L2 flush"],
    "profiler_overhead": ["torch.profiler", "with_stack"],
    "low_utilisation": ["GPU utilization", "GPU utilisation", "nvidia-smi"],
    "device_bound": ["compute-bound"],
    "uncoalesced_access": ["coalescing", "memory coalescing", "MemoryWorkloadAnalysis"],
    "scalar_access": ["vectorized loads", "float4"],
    "tensor_core_shapes": ["pipe utilization", "ComputeWorkloadAnalysis"],
    "few_loads_in_flight": ["latency hiding", "Little's law", "WarpStateStats"],
    "no_reuse": ["arithmetic intensity", "roofline", "roofline model", "SpeedOfLight", "memory bandwidth"],
    "register_spills": ["register pressure"],
    "bank_conflicts": ["bank conflict"],
    "divergent_branches": ["warp divergence", "branch efficiency"],
    "contended_atomics": ["atomics"],
    "low_occupancy": ["occupancy", "issue efficiency", "SchedulerStats"],
    "tail_effect": ["wave quantization", "SM utilization", "LaunchStats"],
}
MISSPELT = {"pin_memroy": "pin_memory", "gradient checkpoint": "gradient checkpointing", "kernel fusoin": "kernel fusion"}
IN_TEXT = {"softmax": "naive_attention", "AdamW": "unfused_optimizer", "cudaLaunchKernel": "launch_overhead",
           "pad_sequence": "padding", "shared memory": "bank_conflicts"}

program = sys.argv[1]
failures = []


def ask(*arguments):
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          timeout=60, check=False)


def said_by_run(term):
    """A run that is refused, since its device does not exist, has found its scenario: it says so of a name that is wrong."""
    return ask("run", term, "--device=cuda:999", "--out=/nonexistent/folder")


def titles(page):
    return re.findall(r"^([a-z]\w*): ", page, re.M)


listing = json.loads(ask("list", "--format=json").stdout)
runnable = {one["name"] for one in [*listing["scenarios"], *listing["kernels"]]}
for lesson, terms in TERMS.items():
    for term in terms:
        page = ask("explain", term)
        if page.returncode != 0 or lesson not in titles(page.stdout):
            failures.append(f"explain {term}: {page.stderr.strip() or titles(page.stdout)}, not {lesson}")
        refused = said_by_run(term).stderr
        if "there is no scenario" in refused:
            failures.append(f"run {term}: {refused}")
for term, nearest in MISSPELT.items():
    said = ask("explain", term)
    if said.returncode != 2 or f"did you mean {nearest}?" not in said.stderr:
        failures.append(f"explain {term}: {said.stderr}")
for term, lesson in IN_TEXT.items():
    said = ask("explain", term)
    named = said.stderr.partition("lessons that have this word: ")[2]
    if said.returncode != 2 or lesson not in named:
        failures.append(f"explain {term}: {said.stderr}")
if "lessons that have" in ask("explain", "ftma").stderr:  # a part of a word is none
    failures.append("a part of softmax is taken for a word")

# Every row says what it is also called, and no two rows of a kind have the same word.
words = {}
for block in re.split(r"\n\n\n", ask("explain", "all").stdout):
    name = titles(block)[0]
    also = re.search(r"^  Also called +((?:.*\n)(?: {14}.*\n)*)", block, re.M)
    kind = "run" if name in runnable and "Meaning" not in block else "finding"
    if also is None:
        failures.append(f"{name}: it says nothing under Also called")
        continue
    for word in " ".join(also.group(1).split()).split(", "):
        key = kind, re.sub("[^a-z0-9]", "", word.lower().replace("z", "s")).rstrip("s")
        other = words.setdefault(key, name)
        if other != name and not (kind == "run" and {other, name} & {one["name"] for one in listing["kernels"]}):
            failures.append(f"{word}: of {other} and of {name}")
count = sum(len(terms) for terms in TERMS.values())
if count < 100 or len(words) < 300:
    failures.append(f"only {count} terms and {len(words)} words")
print(f"{count} terms, {len(words)} words")
print("\n".join(failures))
sys.exit(bool(failures))
