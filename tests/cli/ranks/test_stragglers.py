#!/usr/bin/env python3
"""A rank that is drawn at random is slow, and `diagnose` names it and what it waits for, from the traces alone.

usage: tests/cli/ranks/test_stragglers.py PROGRAM [DRAWS [SEED]]

Each draw is a training of two to four ranks, one of which decodes its samples while the others have theirs in a
cache: 24 of 512 pixels per step, since beside other programs the other rank may wait milliseconds for its core. There
are no more ranks than cores: of ranks that share a core, one is slow by chance. Prints the seed, which repeats the
draws on a machine with as many cores. Fails if any is not named in TRIES recordings, of which other programs spoil
some; the test has two draws.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
DRAWS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**6)
TRIES = 3


def record(ranks, slow, folder):
    """A trace of each rank."""
    scenario = (f"uncached_rank {slow} none step_time shrinks identical model=balanced precision=fp32 "
                f"batch={24 * ranks} ranks={ranks} input=cached workers=0 jpeg_pixels=512")
    command = [PROGRAM, "exec", "planted", "--device=cpu", "--quick", "--variant=before", f"--own={scenario}",
               f"--trace={folder}/trace.json.gz"]
    subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def diagnosis_of(paths):
    done = subprocess.run([PROGRAM, "diagnose", "--format=json", *paths], timeout=60, stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout)["run"]


def is_named(ranks, slow):
    with tempfile.TemporaryDirectory() as folder:
        paths = record(ranks, slow, folder)
        assert len(paths) == ranks, paths
        run = diagnosis_of(paths)
    said, first = run["slow_rank"], run["findings"][0]
    named = (said["rank"], said["as_slow"], said["matters"], said["part"], first["id"]) == \
        (slow, [], True, "data_loading", "straggler") and f"rank {slow} " in first["evidence"]
    print(f"rank {slow} of {ranks}: {'named' if named else 'not named'}: {first['id']}: {first['evidence']}", flush=True)
    return named


if shutil.which("mpirun") is None or not os.path.exists(os.path.join(os.path.dirname(PROGRAM), "libchokepoint_mpi.so")):
    print("skipped: there is no MPI here (libopenmpi-dev, openmpi-bin)")
    sys.exit(77)
print(f"seed {SEED}", flush=True)
rng = random.Random(SEED)
most = max(2, min(4, len(os.sched_getaffinity(0))))
right = 0
for _ in range(DRAWS):
    count = rng.randint(2, most)
    slow_one = rng.randrange(count)
    right += any(is_named(count, slow_one) for _ in range(TRIES))
print(f"{right} of {DRAWS} named")
sys.exit(right < DRAWS)
