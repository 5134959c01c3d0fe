"""Trainings of tests/engine/rank_losses.c on one rank or many, for the tests beside this file."""
import functools
import subprocess
import sys

UNDER_MPI, PROGRAM = sys.argv.pop(1), sys.argv.pop(1)


def output(ranks, settings, *more):
    settings = f"{settings} ranks={ranks}"
    command = [PROGRAM, "1", settings, *more] if ranks == 1 else [UNDER_MPI, str(ranks), PROGRAM, settings, *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        print(done.stdout, end="")
        sys.exit(77)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()


def train_anew(ranks, settings):
    """Losses; then collectives and bytes of them per step on the first rank, bytes copied on the device, samples of the
    window, bytes of the optimizer's state on the first rank and on all, of the first rank's parameters, of gathers that are
    late, and the tokens of the busiest rank over the mean."""
    losses, counts = output(ranks, settings)
    return losses.split(), *map(float, counts.split())


train = functools.cache(train_anew)  # where one run will do


def evaluate(ranks, settings):
    """Losses, and the accuracy that each rank finds. Ranks print in any order, and a line of
    losses is longer than one of an accuracy."""
    lines = sorted(output(ranks, settings, "evaluate"), key=lambda line: len(line.split()), reverse=True)
    return lines[0], lines[2:]


def difference(one, other):
    """The largest, relative to the largest loss."""
    one, other = ([float.fromhex(loss) for loss in losses] for losses in (one, other))
    return max(abs(a - b) for a, b in zip(one, other)) / max(one)
