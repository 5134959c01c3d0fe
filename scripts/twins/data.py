"""The data of all twins: samples that a loader has to decompress, normalise and stack."""
import zlib

import torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, Dataset, default_collate

from lengths import Parts, length_of, pad
from storage import Storage

STORED = 64


class Samples(Dataset):
    """Compressed, as images are: what a sample costs is what decompressing it takes."""

    def __init__(self, settings):
        generator = torch.Generator().manual_seed(1)
        values = torch.randn(STORED, settings.tokens, settings.width, generator=generator)
        self.settings = settings
        self.index = [{"file": str(i)} for i in range(settings.indexed)]
        stored = [zlib.compress(value.numpy().tobytes(), 1) for value in values]
        self.storage = Storage(stored, settings.samples, settings.storage)

    def __len__(self):
        return self.settings.samples

    def __getitem__(self, i):
        stored = self.storage.get(i)
        for _ in range(self.settings.decode * (1 + self.settings.uneven * (i % 8 == 0))):
            text = zlib.decompress(stored)
        x = torch.frombuffer(bytearray(text), dtype=torch.float32).view(self.settings.tokens, self.settings.width)
        return x[:length_of(self.settings, i)] if self.settings.group_by_length else x, i % self.settings.classes


def collate(samples):
    """Normalises each sample, and stacks them."""
    return default_collate([((x - x.mean()) / x.std(), label) for x, label in samples])


def batches(settings, device):
    """Batches without end, on the device; the same one over and over if the input is resident."""
    if settings.input == "resident":
        samples = Samples(settings)
        batch = collate([samples[i] for i in range(settings.batch // settings.accumulate)])
        batch = [tensor.to(device) for tensor in batch]
        while True:
            yield batch
    part = (dict(batch_sampler=Parts(settings), collate_fn=pad) if settings.group_by_length else
            dict(batch_size=settings.batch // settings.accumulate, shuffle=True, drop_last=True,
                 collate_fn=collate if settings.collate == "workers" else list))
    loader = DataLoader(Samples(settings), num_workers=settings.workers, **part,
                        prefetch_factor=settings.prefetch if settings.workers else None,
                        persistent_workers=settings.workers > 0 and settings.persistent_workers == "yes")
    while True:
        for batch in loader:
            if settings.collate == "loop":
                with record_function("data"):
                    batch = collate(batch)
            yield [tensor.to(device, non_blocking=True) for tensor in batch]
