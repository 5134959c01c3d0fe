"""tensorboard: the recommendations of torch_tb_profiler, as a reading of the step's times.

The plugin gives every moment of a step to one kind, the device's work before the host's calls and those before the
DataLoader, and recommends (torch_tb_profiler/profiler/data.py in https://github.com/pytorch/kineto, analyze() and
_analyze_gpu_metrics(), at commit 0346c492):

  DataLoader over 5% of the step          more workers                                  data_loading
  the device busy for less than 50%       a larger batch                                small_kernels
  Tensor Cores, but none were used        mixed precision                               fp32_matmul
  over 90% of the device's memory         gradient checkpointing or mixed precision     activation_memory

Its rule for communication has no cause in a corpus of one device. It orders nothing by cost, so the order is its own,
and it predicts no gain.

usage: plugin_rules.py TRACE
"""
import re
import sys

LOADING_MOST = 0.05
BUSY_LEAST = 0.5
MEMORY_MOST = 0.9
TENSOR_CORES = 7  # the first computeMajor that has them
PRODUCT = re.compile(r"gemm|gemv|conv|attention", re.IGNORECASE)
HALF = re.compile(r"16|half|tf32|tensorop|hmma", re.IGNORECASE)


def diagnoser(make, name, script, _program, _vocabulary, _seed):
    return make(name, lambda path: [*script, path])


def uses_no_tensor_cores(trace):
    """By the names of kernels, as the plugin has a list of them."""
    device = (trace.get("deviceProperties") or [{}])[0]
    products = [event["name"] for event in trace["traceEvents"]
                if event.get("cat") == "kernel" and PRODUCT.search(event.get("name", ""))]
    return device.get("computeMajor", 0) >= TENSOR_CORES and products and not any(map(HALF.search, products))


def memory_share(trace):
    """The most memory allocated, as a share of the device's."""
    device = (trace.get("deviceProperties") or [{}])[0]
    peak = max((event["args"].get("Total Allocated", 0) for event in trace["traceEvents"]
                if event.get("name") == "[memory]" and event.get("args", {}).get("Device Type", 1) != 0), default=0)
    return peak / device["totalGlobalMem"] if device.get("totalGlobalMem") else 0


def causes(trace, kineto):
    found = kineto.spans(trace)
    work = found["kernel"] + found["memcpy"] + found["memset"]
    steps = found["step"] or [(min(begin for begin, _ in work), max(end for _, end in work))] if work else found["step"]
    if not steps:
        return []
    begin, end = min(one for one, _ in steps), max(two for _, two in steps)
    total = end - begin
    loading = kineto.outside(kineto.within(found["loading"], begin, end),
                             kineto.within(work + found["runtime"], begin, end))
    busy = kineto.length(kineto.within(found["kernel"], begin, end))
    named = [("data_loading", loading > LOADING_MOST * total), ("small_kernels", busy < BUSY_LEAST * total),
             ("fp32_matmul", uses_no_tensor_cores(trace)), ("activation_memory", memory_share(trace) > MEMORY_MOST)]
    return [cause for cause, applies in named if applies]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    import kineto as rows
    for cause in causes(rows.read(sys.argv[1]), rows):
        print(cause)
