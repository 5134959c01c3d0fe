"""The twins: scenarios of chokepoint in PyTorch, with the same knob and the same two values."""
import dataclasses

from settings import Settings


@dataclasses.dataclass
class Twin:
    knob: str
    before: object
    after: object
    common: dict = dataclasses.field(default_factory=dict)  # what both train with, beside the defaults of Settings
    also: tuple = ()  # findings that name it in a trace of PyTorch on a CPU, beside those of the scenario
    needs: str = ""  # "bf16": a device that multiplies in it; "4 cores"

    def settings(self, variant):
        return Settings(**{**self.common, self.knob: getattr(self, variant)})


TWINS = {
    "loader_workers": Twin("workers", 0, 2, dict(input="loader", decode=12, tokens=64, width=128)),
    "cold_storage": Twin("storage", "files", "shards", dict(input="loader", tokens=4, width=32, batch=64, blocks=1)),
    "slow_collate": Twin("collate", "loop", "workers", dict(input="loader", decode=2, width=32, batch=64, blocks=1, workers=2)),
    "loader_prefetch": Twin("prefetch", 1, 4, dict(input="loader", decode=3, uneven=40, tokens=64, width=128, workers=2),
                            needs="4 cores"),
    "worker_respawn": Twin("persistent_workers", "no", "yes", dict(input="loader", samples=256, workers=2)),
    "padding": Twin("group_by_length", "no", "yes",
                    dict(input="loader", tokens=64, width=128, batch=64, accumulate=8, workers=1)),
    "garbage_collection": Twin("garbage", "collected", "frozen", dict(indexed=500000)),
    "small_batch": Twin("accumulate", 16, 1, dict(batch=16), also=("small_operators",)),
    "precision": Twin("precision", "fp32", "bf16", dict(tokens=128, width=256), needs="bf16"),
    "double_precision": Twin("linear", "fp64", "stored", dict(tokens=64, width=128)),
    "naive_attention": Twin("attention", "naive", "fused", dict(tokens=512, batch=4)),
    "layout_copies": Twin("heads", "copied", "strided", dict(tokens=256, width=128)),
    "unfused_elementwise": Twin("elementwise", "unfused", "fused", dict(tokens=128, width=128)),
    "unfused_optimizer": Twin("optimizer", "unfused", "fused", dict(batch=4, width=128, blocks=8),
                              also=("small_operators",)),
    "optimizer_every_step": Twin("update", "micro_batch", "step", dict(batch=8, tokens=8, width=512, accumulate=8)),
    "leak": Twin("kept_loss", "graph", "number"),
    "growing_step": Twin("predictions", "rewritten", "appended", dict(tokens=4, batch=64, blocks=1), also=("host_work",)),
    "blocking_logger": Twin("log", "synced", "queued"),
    "blocking_save": Twin("save_mode", "blocking", "asynchronous", dict(width=512, tokens=8)),
}
