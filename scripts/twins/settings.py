"""The settings of a training script, its arguments or lines: the healthy value of each, and the others."""
import dataclasses


@dataclasses.dataclass
class Settings:
    # the model and its data
    samples: int = 512  # in an epoch
    batch: int = 16  # samples of a step
    tokens: int = 32
    width: int = 64
    blocks: int = 2
    head_count: int = 4
    classes: int = 10
    # loading
    input: str = "resident"  # "loader"
    decode: int = 1  # how often a sample is decompressed
    uneven: int = 0  # every eighth sample is, so many times more
    workers: int = 0
    prefetch: int = 2
    persistent_workers: str = "yes"  # "no"
    collate: str = "workers"  # "loop"
    storage: str = "memory"  # "files", "shards"
    group_by_length: str = ""  # "no", "yes"; "": all samples have one length
    # computing
    precision: str = "fp32"  # "bf16"
    linear: str = "stored"  # "fp64"
    attention: str = "fused"  # "naive"
    heads: str = "strided"  # "copied"
    elementwise: str = "fused"  # "unfused"
    optimizer: str = "fused"  # "unfused"
    accumulate: int = 1  # parts of a step's batch
    update: str = "step"  # "micro_batch"
    # the program's other objects
    indexed: int = 0  # entries of the data set's index
    garbage: str = "none"  # "collected", "frozen"
    # logging and saving
    kept_loss: str = "none"  # "graph", "number"
    log: str = "none"  # "synced", "queued"
    predictions: str = "none"  # "rewritten", "appended"
    save_mode: str = "none"  # "blocking", "asynchronous"
    save_every: int = 4
