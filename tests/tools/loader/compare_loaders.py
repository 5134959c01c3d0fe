#!/usr/bin/env python3
"""Compares the loader with PyTorch's DataLoader over PIL, and with simplejpeg, on the same JPEG files.

usage: compare_loaders.py [-h] [--rounds N] [--batches N] BENCH_LOADER

BENCH_LOADER is bench_loader.c, built (`cmake --build build --target bench_loader`). Files of 64 and 224 pixels
become images of 32. All let libjpeg-turbo scale while it decodes: PIL by draft(), simplejpeg by min_height, and average
areas for the rest. simplejpeg runs in a bare loop, without a DataLoader. Each round runs all of them, in random order.
Printed are medians of the rounds, with the least and the most: microseconds of the processor per image, workers included,
and how many times that of the loader; and the same for all time. It needs a python3 with torch, pillow and simplejpeg.
"""
import argparse
import os
import pathlib
import random
import resource
import statistics
import subprocess
import time

import numpy
import simplejpeg
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

SIZE, BATCH = 32, 64
PIXELS, WORKERS = (64, 224), (0, 2)


def by_pil(path):
    with Image.open(path) as image:
        image.draft("RGB", (SIZE, SIZE))
        return numpy.asarray(image.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BOX))


def by_simplejpeg(path):
    with open(path, "rb") as file:
        image = simplejpeg.decode_jpeg(file.read(), min_height=SIZE, min_width=SIZE, min_factor=1)
    if image.shape[0] != SIZE:
        image = numpy.asarray(Image.fromarray(image).resize((SIZE, SIZE), Image.Resampling.BOX))
    return image


class Images(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return torch.from_numpy(by_pil(self.files[index]).copy()), index % 10


def used_s():
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def timed(batches, take):
    """Microseconds of all time and of the processor per image."""
    begin, used = time.perf_counter(), used_s()
    take()
    return [1e6 * spent / batches / BATCH for spent in (time.perf_counter() - begin, used_s() - used)]


def data_loader(files, workers, batches):
    """Workers are started and ended within the time, as only ended ones have told what they used; so epochs are long."""
    chosen = [random.choice(files) for _ in range(batches * BATCH)]
    return timed(batches, lambda: [None for _ in DataLoader(Images(chosen), BATCH, num_workers=workers)])


def bare_simplejpeg(files, batches):
    chosen = [[random.choice(files) for _ in range(BATCH)] for _ in range(batches)]
    return timed(batches, lambda: [numpy.stack([by_simplejpeg(path) for path in batch]) for batch in chosen])


def ours(bench, pixels, workers, batches):
    """Microseconds, and the folder of the files."""
    said = subprocess.run([bench, str(pixels), str(SIZE), str(workers), str(batches)], check=True, capture_output=True,
                          text=True).stdout.splitlines()
    return [int(each) / 1e3 for each in said[0].split()], said[1]


def compare(bench, pixels, workers, options):
    files = sorted(str(path) for path in pathlib.Path(ours(bench, pixels, 0, 1)[1]).rglob("*.jp*g"))
    ways = {"loader": lambda: ours(bench, pixels, workers, options.batches)[0],
            "DataLoader": lambda: data_loader(files, workers, options.batches)}
    if workers == 0:
        ways["simplejpeg"] = lambda: bare_simplejpeg(files, options.batches)
    rounds = [{way: ways[way]() for way in random.sample(list(ways), len(ways))} for _ in range(options.rounds)]
    print(f"{pixels} pixels, {workers} workers, load {os.getloadavg()[0]:.1f}")
    for way in ways:
        for clock, name in ((1, "of the processor"), (0, "of all time")):
            took = [each[way][clock] for each in rounds]
            ratios = [each[way][clock] / each["loader"][clock] for each in rounds]
            print(f"  {way}: {statistics.median(took):.1f} us {name}, {statistics.median(ratios):.2f}x "
                  f"({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=100, help="of 64 images, per round")
    parser.add_argument("bench_loader")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for pixels in PIXELS:
        for workers in WORKERS:
            compare(options.bench_loader, pixels, workers, options)


main()
