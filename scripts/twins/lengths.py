"""Samples of different lengths, and which of them share a part of a batch."""
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import default_collate


def length_of(settings, i):
    """From a quarter of the longest to the longest, each as likely."""
    least = settings.tokens // 4
    return least + i * 37 % (settings.tokens - least + 1)


class Parts:
    """The parts of each batch: its samples as they come, or sorted by length, so that those of a part are alike."""

    def __init__(self, settings):
        self.settings = settings

    def __len__(self):
        return self.settings.samples // self.settings.batch * self.settings.accumulate

    def __iter__(self):
        order, settings = torch.randperm(self.settings.samples).tolist(), self.settings
        size = settings.batch // settings.accumulate
        for first in range(0, settings.samples - settings.batch + 1, settings.batch):
            batch = order[first:first + settings.batch]
            if settings.group_by_length == "yes":
                batch.sort(key=lambda i: length_of(settings, i))
            yield from (batch[i:i + size] for i in range(0, settings.batch, size))


def pad(samples):
    """All samples of a part to the longest of them."""
    return pad_sequence([x for x, _ in samples], batch_first=True), default_collate([label for _, label in samples])
