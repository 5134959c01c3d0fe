#!/usr/bin/env python3
"""Trains the twin of a scenario in PyTorch, before and after its fix, and shows it beside chokepoint's own result.

Both variants are timed in turns, each time in a process of its own; then each is recorded with torch.profiler, and
`chokepoint diagnose` reads the traces. chokepoint's column is that of `chokepoint run NAME`, or of an earlier result
(--result). docs/twins.md says what the rows mean.
"""
import argparse
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from twins import TWINS

HERE = pathlib.Path(__file__).resolve().parent
WARM, TIMED, PROFILER_WARM, RECORDED, EPOCHS = 5, 32, 3, 16, 4
NONE = "-"

# --- In a process of its own ---


def step_ms(settings, device):
    """The mean time per step of a training, in ms."""
    import torch  # pylint: disable=import-outside-toplevel
    from loop import run  # pylint: disable=import-outside-toplevel

    torch.set_num_threads(1)  # the other cores are the loader's
    times = []

    def note(_loss):
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        run(settings, WARM + TIMED, device, folder, note)
    return 1e3 * (times[-1] - times[WARM - 1]) / TIMED


def record(settings, device, trace):
    import torch  # pylint: disable=import-outside-toplevel
    from torch.profiler import ProfilerActivity, profile, schedule  # pylint: disable=import-outside-toplevel
    from torch.profiler import _ExperimentalConfig as Experimental  # pylint: disable=import-outside-toplevel
    from loop import run  # pylint: disable=import-outside-toplevel

    torch.set_num_threads(1)
    epochs = EPOCHS if settings.persistent_workers == "no" else 0
    active = max(RECORDED, epochs * (settings.samples // settings.batch))
    with tempfile.TemporaryDirectory() as folder, profile(
            activities=[ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (device == "cuda"),
            record_shapes=True, profile_memory=True, with_stack=settings.garbage != "none",
            experimental_config=Experimental(record_python_gc_info=True) if settings.garbage != "none" else None,
            schedule=schedule(wait=WARM, warmup=PROFILER_WARM, active=active, repeat=1),
            on_trace_ready=lambda profiler: profiler.export_chrome_trace(trace)) as profiler:
        run(settings, WARM + PROFILER_WARM + active, device, folder, lambda _loss: profiler.step())


def measure(name, variant, device, trace):
    """Prints the time per step in ms, or writes a trace."""
    settings = TWINS[name].settings(variant)
    if trace:
        record(settings, device, trace)
    else:
        print(step_ms(settings, device))


def child(name, variant, device, trace=""):
    """The output of measure() in a process of its own."""
    done = subprocess.run([sys.executable, str(HERE / "run.py"), name, "--measure", variant, "--device", device,
                           "--trace", trace], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"run.py: {name}, {variant}: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
    return done.stdout


# --- Both worlds ---


def chokepoint(program, *arguments, codes=(0,)):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(done.stderr.strip() or f"run.py: {program} {arguments[0]} failed")
    return done.stdout


def column(step_ms, findings, accepted):
    """One side of the table: its steps, in ms, and its findings, before and after."""
    told = {variant: [finding for finding in findings[variant] if finding["severity"] != "information"]
            for variant in ("before", "after")}
    first = told["before"][0] if told["before"] else None
    return {"step_ms": step_ms, "measured_gain": step_ms["before"] / step_ms["after"],
            "first_finding": first["id"] if first else None,
            "predicted_gain": first["predicted_gain"] if first else None,
            "findings": {variant: [finding["id"] for finding in told[variant]] for variant in told},
            "named_first": first is not None and first["id"] in accepted,
            "named_after": any(finding["id"] in accepted for finding in told["after"])}


def of_pytorch(name, accepted, arguments):
    times = {"before": [], "after": []}
    findings = {}
    for turn in range(arguments.rounds):
        for variant in ("before", "after") if turn % 2 == 0 else ("after", "before"):
            times[variant].append(float(child(name, variant, arguments.device)))
    for variant in times:
        trace = str(arguments.out / f"{name}.{variant}.json")
        child(name, variant, arguments.device, trace)
        findings[variant] = json.loads(chokepoint(arguments.program, "diagnose", "--format=json", trace)
                                       )["traces"][0]["findings"]
    return column({variant: statistics.median(times[variant]) for variant in times}, findings, accepted)


def of_chokepoint(name, accepted, arguments):
    """None: the scenario was not measured."""
    folder = arguments.result
    if folder is None:
        folder = arguments.out / name
        chokepoint(arguments.program, "run", name, f"--device={arguments.device}", f"--out={folder}", codes=(0, 1, 3))
    path = folder / "result.json" if folder.is_dir() else folder
    for scenario in json.loads(path.read_text())["chokepoint"]["scenarios"]:
        if scenario["name"] == name and scenario.get("step_time"):
            return column({variant: scenario["step_time"][variant] / 1e3 for variant in ("before", "after")},
                          scenario["findings"], accepted)
    return None


def cells(world):
    if world is None:
        return [NONE] * 6
    gains = [f"{world[gain]:.2f}x" if world[gain] else NONE for gain in ("measured_gain", "predicted_gain")]
    return [f"{world['step_ms']['before']:.3g} ms", f"{world['step_ms']['after']:.3g} ms", gains[0],
            (world["first_finding"] or NONE) + (", which names it" if world["named_first"] else ""), gains[1],
            ", ".join(world["findings"]["after"]) or NONE]


def show(twin):
    titles = ["step before", "step after", "gain, measured", "first finding before", "gain, predicted",
              "findings after"]
    print(f"{twin['name']}: {twin['knob']} {twin['before']} before, {twin['after']} after")
    for row in zip(["", *titles], ["chokepoint", *cells(twin["chokepoint"])], ["PyTorch", *cells(twin["pytorch"])]):
        print(f"  {row[0]:22}{row[1]:36}{row[2]}".rstrip())
    print(flush=True)


def markdown(document):
    """A table with a row per twin."""
    print("| twin | gain | first finding before | predicted | gain in PyTorch | first finding before | predicted |")
    print("|---|---|---|---|---|---|---|")
    for twin in document["twins"]:
        row = [f"`{twin['name']}`"]
        for world in (cells(twin["chokepoint"]), cells(twin["pytorch"])):
            row += [world[2], world[3].partition(",")[0], world[4]]
        print(f"| {' | '.join(row)} |")


# --- The command line ---


def cpu_fact(name):
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def machine():
    return f"{cpu_fact('model name') or 'unknown processor'}, {len(os.sched_getaffinity(0))} cores"


def can_show(twin, device):
    if twin.needs == "4 cores":
        return len(os.sched_getaffinity(0)) >= 4
    return not twin.needs or device == "cuda" or "_bf16" in cpu_fact("flags")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios; all that this device can show if none")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--program", default=str(HERE.parent.parent / "build" / "chokepoint"), metavar="CHOKEPOINT")
    parser.add_argument("--result", type=pathlib.Path, metavar="RESULT", help="an earlier result of chokepoint run")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("twins"), help="folder for the traces: twins")
    parser.add_argument("--rounds", type=int, default=3, help="how often each variant is timed: 3")
    parser.add_argument("--format", default="console", choices=("console", "json", "markdown"))
    parser.add_argument("--read", type=pathlib.Path, metavar="FILE", help="print an earlier --format=json, train nothing")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--trace", help=argparse.SUPPRESS)
    return parser.parse_args()


def put(document, form):
    if form == "json":
        print(json.dumps(document, indent=1))
    elif form == "markdown":
        markdown(document)
    else:
        for twin in document["twins"]:
            show(twin)


def train_all(arguments):
    if importlib.util.find_spec("torch") is None:
        sys.exit(f"run.py: {sys.executable} has no PyTorch: scripts/setup.sh --torch installs it; "
                 "then use .torch/bin/python")
    names = arguments.names or [name for name in TWINS if can_show(TWINS[name], arguments.device)]
    scenarios = {one["name"]: {finding["id"] for finding in one["findings"]}
                 for one in json.loads(chokepoint(arguments.program, "list", "--format=json"))["scenarios"]}
    for name in names:
        if name not in TWINS:
            sys.exit(f"run.py: {name} has no twin: it needs what PyTorch on a CPU does not have, or a device's allocator"
                     if name in scenarios else f"run.py: there is no scenario {name}; twins: {', '.join(TWINS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    document = {"schema": 1, "device": arguments.device, "machine": machine(),
                "torch": importlib.metadata.version("torch"), "twins": []}
    for name in names:
        twin, accepted = TWINS[name], scenarios[name].union(TWINS[name].also)
        worlds = {"chokepoint": of_chokepoint(name, accepted, arguments),
                  "pytorch": of_pytorch(name, accepted, arguments)}
        document["twins"].append({"name": name, "knob": twin.knob, "before": twin.before, "after": twin.after, **worlds})
        if arguments.format == "console":
            show(document["twins"][-1])
    if arguments.format != "console":
        put(document, arguments.format)


def main():
    arguments = parse()
    if arguments.measure:
        measure(arguments.names[0], arguments.measure, arguments.device, arguments.trace)
    elif arguments.read:
        put(json.loads(arguments.read.read_text()), arguments.format)
    else:
        train_all(arguments)


if __name__ == "__main__":
    main()
