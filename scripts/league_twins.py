#!/usr/bin/env python3
"""Makes a corpus for league.py from PyTorch: twins of scenarios, with one bottleneck, with two, or with none.

usage: league_twins.py --seed=S --count=N --out=DIR [--device=cpu|cuda] [--program=CHOKEPOINT]

Of four items in a row, two have one bottleneck, one has two and one has none, as in a corpus of `chokepoint corpus`. An
item's settings are drawn from the seed alone. Its gains are measured in turns in one process: six times with all of
its bottlenecks, without each, and without any. A trace is recorded with torch.profiler before any fix. DIR gets traces and
truth.json, sealed as docs/league.md says.

Needs PyTorch: scripts/setup.sh --torch, then .torch/bin/python scripts/league_twins.py.
"""
import argparse
import dataclasses
import datetime
import gzip
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import random
import statistics
import sys
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE / "twins"))

from common import whole_file
from league import truth
from league.findings import LEAST_GAIN
from run import can_show, chokepoint, cpu_fact, output_of, record, step_ms
from settings import Settings
from twins import TWINS

KINDS = ("one", "one", "two", "healthy")
ROUNDS, STEPS = 6, 12
SEED = 1  # of weights and samples (twins/loop.py, twins/data.py)
COVERAGE = 1 - 2 * 0.5 ** ROUNDS  # of the range of that many pairs (harness/base/figures/statistics.h)
SIZES = {"width": (64, 96, 128), "blocks": (1, 2, 3), "batch": (8, 16, 32), "tokens": (32, 48, 64)}
# If nothing is wrong, operators are large: a host that computes small ones by itself is held back by their number.
LARGE = {"width": (128, 192, 256), "blocks": (1, 2, 3), "batch": (16, 32), "tokens": (64, 96, 128)}

# --- The drawing of items ---


def may_meet(one, other, findings):
    """Whether both bottlenecks can be in one training: no setting of one is the other's, and their findings differ."""
    a, b = TWINS[one], TWINS[other]
    return (a.knob != b.knob and a.knob not in b.common and b.knob not in a.common and
            all(a.common[key] == b.common[key] for key in a.common.keys() & b.common.keys()) and
            not findings[one] & findings[other])


def decks(seed, names, findings):
    """Endless draws of one name and of two; none comes again before all others."""
    rng = random.Random(f"{seed} decks")
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1:] if may_meet(a, b, findings)]

    def deal(cards):
        while True:
            for card in rng.sample(cards, len(cards)):
                yield card

    return {"one": deal([(name,) for name in names]), "two": deal(pairs), "healthy": deal([()])}


def draw(seed, count, names, findings):
    """The kind, the causes and the settings of each item, without its causes."""
    deck = decks(seed, names, findings)
    for number in range(count):
        kinds = random.Random(f"{seed} kinds {number // len(KINDS)}").sample(KINDS, len(KINDS))
        causes = next(deck[kinds[number % len(KINDS)]])
        rng = random.Random(f"{seed} sizes {number}")
        around = {key: rng.choice(values) for key, values in (SIZES if causes else LARGE).items()}
        for name in causes:
            around.update(TWINS[name].common)
        around.update({TWINS[name].knob: TWINS[name].after for name in causes})
        yield kinds[number % len(KINDS)], causes, Settings(**around)


def with_causes(settings, causes):
    return dataclasses.replace(settings, **{TWINS[name].knob: TWINS[name].before for name in causes})


# --- In a process of its own ---


def measure(order):
    """Prints the step times of each variant, in ms, measured in turns; or writes a trace."""
    variants = [Settings(**settings) for settings in order["variants"]]
    if order["trace"]:
        record(variants[0], order["device"], order["trace"])
        return
    times = [[] for _ in variants]
    for turn in range(ROUNDS):
        for i in range(len(variants)) if turn % 2 == 0 else reversed(range(len(variants))):
            times[i].append(step_ms(variants[i], order["device"], STEPS))
    print(json.dumps(times))


def child(variants, device, trace=""):
    order = {"variants": [dataclasses.asdict(settings) for settings in variants], "device": device, "trace": trace}
    return output_of([__file__, "--measure", json.dumps(order)], "league_twins.py: a training")


# --- The truth ---


def gain(before, after):
    """The gain of a fix: the median of the pairs' factors, with the range of them."""
    factors = sorted(b / a for b, a in zip(before, after, strict=True))
    return {"metric": "step_time", "before": 1e3 * statistics.median(before), "after": 1e3 * statistics.median(after),
            "factor": statistics.median(factors), "low": factors[0], "high": factors[-1], "coverage": COVERAGE}


def make_item(number, kind, causes, settings, device, folder, vocabulary, left_behind):
    begin = time.monotonic()
    name = f"{number + 1:04d}"
    trace = folder / f"{name}.json"
    wrong = with_causes(settings, causes)
    fixed = [with_causes(settings, [other for other in causes if other != cause]) for cause in causes]
    times = json.loads(child([wrong, *fixed, settings], device))
    child([wrong], device, str(trace))
    packed = gzip.compress(trace.read_bytes(), mtime=0)
    trace.unlink()
    (folder / f"{name}.json.gz").write_bytes(packed)
    rows = []
    for cause, after in zip(causes, times[1:]):
        gained = gain(times[0], after)
        # The fix of a leak is for memory, which every step of it takes: the time does not tell.
        measurable = gained["low"] >= LEAST_GAIN or cause == "leak"
        rows.append({**vocabulary[cause], "left_behind": left_behind[cause], "knob": TWINS[cause].knob,
                     "before": str(TWINS[cause].before), "after": str(TWINS[cause].after), "gain": gained,
                     "effect": None if cause == "leak" else gained, "measurable": measurable})
    whole = gain(times[0], times[-1])
    measurable = all(row["measurable"] for row in rows)
    return {"name": name, "trace": f"{name}.json.gz", "sha256": hashlib.sha256(packed).hexdigest(), "kind": kind,
            "causes": rows, "together": whole if kind == "two" else None, "same": None if causes else whole,
            "measurable": measurable, "reason": None if measurable else "a fix has no measurable effect here",
            "seed": SEED, "settings": " ".join(f"{key}={value}" for key, value in dataclasses.asdict(wrong).items()),
            "seconds": time.monotonic() - begin}


def seal(document):
    text = json.dumps(document, indent=1) + "\n"
    return text.replace("0" * 64, truth.seal_of(text)[1], 1)


def ids(scenario, member, device):
    """Findings that `list` names for a scenario on the device; a trace of PyTorch on a CPU is like the CPU device's."""
    places = ("anywhere", "cuda", "cuda_bf16_units") if device == "cuda" else \
        ("anywhere", "cpu_device", "cpu_bf16_units")
    return [finding["id"] for finding in scenario[member] if finding["where"] in places]


def make(arguments):
    listed = json.loads(chokepoint(arguments.program, "list", "--format=json"))["scenarios"]
    scenarios = {one["name"]: one for one in listed}
    vocabulary = {name: {"scenario": name, "group": scenarios[name]["group"],
                         "findings": [*ids(scenarios[name], "findings", arguments.device), *twin.also]}
                  for name, twin in TWINS.items() if can_show(twin, arguments.device)}
    vocabulary = {name: row for name, row in vocabulary.items() if row["findings"]}
    left_behind = {name: ids(scenarios[name], "findings_after", arguments.device) for name in vocabulary}
    findings = {name: set(row["findings"]) for name, row in vocabulary.items()}
    items = []
    arguments.out.mkdir(parents=True, exist_ok=True)
    began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    context = {"date": began, "library_version": f"PyTorch {importlib.metadata.version('torch')}",
               "device_name": f"{arguments.device} of {cpu_fact('model name') or 'an unknown processor'}",
               "num_cpus": len(os.sched_getaffinity(0)), "load_avg": list(os.getloadavg())}
    for number, drawn in enumerate(draw(arguments.seed, arguments.count, list(vocabulary), findings)):
        items.append(make_item(number, *drawn, arguments.device, arguments.out, vocabulary, left_behind))
        document = {"schema": truth.SCHEMA, "seal": "0" * 64, "seed": arguments.seed, "count": arguments.count,
                    "context": context, "protocol": {"pairs": ROUNDS, "window_seconds": None},
                    "vocabulary": list(vocabulary.values()), "items": items}
        whole_file.write(arguments.out / "truth.json", seal(document).encode())
        print(f"{items[-1]['name']}: {len(items)} of {arguments.count}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--program", default=str(HERE.parent / "build" / "chokepoint"), metavar="CHOKEPOINT")
    parser.add_argument("--measure", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return
    if arguments.out is None or arguments.count < 1:
        parser.error("give --out=DIR and a count of 1 or more")
    if importlib.util.find_spec("torch") is None:
        sys.exit(f"league_twins.py: {sys.executable} has no PyTorch: scripts/setup.sh --torch installs it; then use "
                 ".torch/bin/python")
    if (arguments.out / "truth.json").exists():
        sys.exit(f"league_twins.py: {arguments.out} has a corpus; name another folder")
    make(arguments)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"league_twins.py: {error.filename}: {error.strerror}")
    except KeyboardInterrupt:
        sys.exit(130)
