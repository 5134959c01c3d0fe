"""Traces of the ranks of a job, as PyTorch's profiler writes them: each step computes in ten kernels and reduces."""
import gzip
import json
import os


def trace_of(rank, ranks, computes_us=(), steps=6, loads_us=200):
    """A step computes for 1,000 us, or what `computes_us` says of the rank; all ranks end their collective together."""
    longest = max(computes_us, default=1000)
    computes = computes_us[rank] if computes_us else 1000
    events = []

    def add(category, name, pid, tid, start, duration, **arguments):
        events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": duration,
                       "args": arguments})

    length = loads_us + longest + 150
    for step in range(steps):
        start = 10**9 + step * length
        add("user_annotation", f"ProfilerStep#{step}", 100, 100, start, length)
        add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100, 100, start, loads_us)
        for kernel in range(10):
            number, at = step * 100 + kernel + 1, start + loads_us + kernel * computes / 10
            add("cpu_op", "aten::mm", 100, 100, start + loads_us + kernel * 12, 11)
            add("cuda_runtime", "cudaLaunchKernel", 100, 100, start + loads_us + kernel * 12 + 1, 8, correlation=number)
            add("kernel", "gemm", 0, 7, at + 15, computes / 10 - 1, correlation=number, device=0, stream=7)
        at = start + loads_us + computes + 16
        add("cuda_runtime", "cudaLaunchKernel", 100, 100, start + loads_us + 125, 8, correlation=step * 100 + 50)
        add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, at, start + length - 10 - at,
            **{"correlation": step * 100 + 50, "device": 0, "stream": 20, "Collective name": "allreduce",
               "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "Group size": ranks, "dtype": "Float",
               "Process Group Name": "0", "Process Group Description": "default_pg",
               "Process Group Ranks": str(list(range(ranks)))})
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "numSms": 132,
                                                      "totalGlobalMem": 85 * 10**9}],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}, "traceEvents": events}


def write(folder, ranks, **options):
    paths = []
    for rank in range(ranks):
        paths.append(os.path.join(folder, f"rank{rank}.json.gz"))
        with gzip.open(paths[-1], "wt") as file:
            json.dump(trace_of(rank, ranks, **options), file)
    return paths
