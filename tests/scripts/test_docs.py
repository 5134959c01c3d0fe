#!/usr/bin/env python3
"""docs/catalogue lists the scenarios as the program does, README.md shows the figures of the results that it names,
docs/diagnosis.md what the command above its output prints, docs/results.md the exit codes as --help has them and the metrics
as metric.h has them, docs/devices.md the switches of tracing, and docs/gpu-kernels.md the times of an H100.

usage: test_docs.py PROGRAM SOURCE
"""
import json
import pathlib
import re
import statistics
import subprocess
import sys


def table(path, head):
    """The cells of each row of the table that begins with the cell `head`."""
    after = path.read_text().split(f"\n| {head} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in after]


def metrics(path):
    """Name, unit and meaning of each row of METRICS."""
    rows = path.read_text().split("#define METRICS", 1)[1].split("/*", 1)[0].replace("\\\n", "")
    found = re.findall(r'X\(\w+,\s*"(.*?)",\s*"(.*?)",\s*((?:"[^"]*"\s*)+)\)', rows)
    return [[name, unit, "".join(re.findall(r'"([^"]*)"', text))] for name, unit, text in found]


def switches(path):
    """Name and usual value of each row of CUPTI_SWITCHES."""
    rows = path.read_text().split("#define CUPTI_SWITCHES", 1)[1].split("struct", 1)[0]
    return [list(row) for row in re.findall(r"X\((\w+), (\d+), \d+\)", rows)]


def exit_codes(program):
    """Each command whose help says what 0, 1 and 3 mean, and these words."""
    def help_of(*words):
        return subprocess.run([program, *words, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout

    rows = []
    for name in re.findall(r"^  ([a-z]+)  ", help_of().split("\nExamples:", 1)[0], flags=re.MULTILINE):
        found = re.search(r"Exit codes: 0 (.*?); 1 (.*); 2 bad usage or bad input; 3 (.*), or a device, a library",
                          " ".join(help_of(name).split()))
        rows += [[name, *found.groups()]] if found else []
    return rows


def overheads_shown(source):
    """The median and the most of all that tracing cost on GPUs, as docs/devices.md writes them."""
    results = [json.loads(path.read_text()) for path in source.glob("results/nvidia-*/result.json")]
    costs = [one["overhead"] for result in results for scenario in result["chokepoint"]["scenarios"]
             for one in scenario["tracing"].values() if one and one.get("overhead") is not None]
    return f"by {statistics.median(costs):.0%} at the median, and by up to {max(costs):.0%} of steps"


def compare(title, written, meant, least=20):
    for row in [*[f"not there: {row}" for row in meant if row not in written],
                *[f"too many: {row}" for row in written if row not in meant]]:
        print(f"{title}: {row}")
    if written != meant:
        print(f"{title}: should be {meant}")
    return written == meant and len(meant) > least


def shown_figures(result, name):
    """The lines that `run` printed about a scenario, in single spaces."""
    scenario = next(one for one in result["chokepoint"]["scenarios"] if one["name"] == name)
    lines = [f"{name} {scenario['knob']} {scenario['before']} -> {scenario['after']} {scenario['verdict']}"]
    for row in scenario["expectations"]:
        effect, interval = change_text.of_result(row)
        sides = [quantity.quantity(row[side], row["unit"]) for side in ("before", "after")]
        lines.append(" ".join([row["metric"], *sides, effect, interval]))
    used = scenario["utilisation"]
    busy, mfu = ([f"{100 * used[side][what]:.0f}%" for side in ("before", "after")] for what in ("busy_share", "mfu"))
    lines.append(f"device busy {' -> '.join(busy)}, MFU {' -> '.join(mfu)}")
    first, left = (scenario["findings"][side][0] for side in ("before", "after"))
    lines.append(f"before the fix: {first['id']} (predicted gain {quantity.factor(first['predicted_gain'])}, measured "
                 f"{quantity.factor(scenario['effect'])}); left after the fix: {left['id']}")
    low, high = (quantity.digits(end) for end in scenario["interval"])
    cost = left["lost_ns_per_step"] / 1e3 / scenario["step_time"]["after"]
    lines += [f"take {quantity.digits(scenario['effect'])} times as long",
              f"between {low} and {high}", f"predicted a gain of {quantity.factor(first['predicted_gain'])}",
              f"the largest cost that is left, {cost:.0%} of the step"]
    return lines


def shows_its_result(readme):
    """What README.md shows of a run is in the result that it names above."""
    text = readme.read_text()
    above, block, prose = re.search(r"^(.*)```text\n(.*?)```\n(.*?)\n## ", text, flags=re.DOTALL).groups()
    folder = re.findall(r"`(results/[\w-]+)`", above)[-1]
    result = json.loads((readme.parent / folder / "result.json").read_text())
    words = " ".join((block + prose).split())
    missing = [line for line in shown_figures(result, "item_sync") if line not in words]
    tour = json.loads((readme.parent / "results/tour/result.json").read_text())["chokepoint"]["scenarios"][0]["effect"]
    if f"steps became {quantity.digits(tour)} times as fast" not in " ".join(text.split()):
        missing.append(f"steps became {quantity.digits(tour)} times as fast")
    for line in missing:
        print(f"README.md: {folder} or results/tour says otherwise: {line}")
    return not missing


def shows_its_output(program, source):
    """The block of docs/diagnosis.md that begins with a command."""
    command, shown = re.search(r"```text\n\$ chokepoint (.*?)\n(.*?)```", (source / "docs/diagnosis.md").read_text(),
                               re.DOTALL).groups()
    printed = subprocess.run([program, *command.split()], cwd=source, stdout=subprocess.PIPE, universal_newlines=True,
                             check=True).stdout
    if shown not in printed:
        print(f"docs/diagnosis.md: {command} prints {printed}")
    return shown in printed


def half_are_off_by_a_tenth(source):
    """As docs/diagnosis.md says of the gains that first findings predicted."""
    ratios = []
    for path in source.glob("results/*/result.json"):
        for one in json.loads(path.read_text())["chokepoint"]["scenarios"]:
            found, step = ((one["findings"] or {}).get("before") or [])[:1], one["step_time"]
            if found and found[0]["predicted_gain"] and step and step["before"] and step["after"]:
                ratios.append(found[0]["predicted_gain"] * step["after"] / step["before"])
    off = statistics.median(abs(ratio - 1) for ratio in ratios)
    print(f"{len(ratios)} predicted gains, half of them off by more than {off:.1%}")
    return len(ratios) > 60 and off > 0.1


def kernel_times(source):
    """What docs/gpu-kernels.md says of the times of pairs: which gain, and how long the others take."""
    pairs = json.loads((source / "results/nvidia-h100/kernels.json").read_text())["chokepoint"]["kernels"]
    gains = {one["name"]: one["device_ns_before"] / one["device_ns_after"] for one in pairs}
    gainers = sorted((name for name in gains if gains[name] > 1.2), key=gains.get, reverse=True)
    others = {one["name"]: [one["device_ns_before"] / 1e3, one["device_ns_after"] / 1e3] for one in pairs
              if one["name"] not in gainers}
    long = {name: times for name, times in others.items() if min(times) > 5}
    short = [time for name, times in others.items() if name not in long for time in times]
    return [", ".join(f"`{name}` {gains[name]:.1f}x" for name in gainers),
            *(f"`{name}` takes {times[0]:.0f} us before and after" for name, times in long.items()),
            f"take {int(min(short))} to {int(max(short)) + 1} us"]


program, source = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(source / "scripts"))
from common import change_text, quantity

listed = subprocess.run([program, "list", "--format=json"], stdout=subprocess.PIPE, check=True)
devices = " ".join((source / "docs/devices.md").read_text().split())
kernels = " ".join((source / "docs/gpu-kernels.md").read_text().split())
same = [compare("docs/catalogue/README.md", [row[0] for row in table(source / "docs/catalogue/README.md", "scenario")],
                [scenario["name"] for scenario in json.loads(listed.stdout)["scenarios"]]),
        compare("docs/results.md", table(source / "docs/results.md", "command"), exit_codes(program), 7),
        compare("docs/results.md", [[row[0], row[2], row[3]] for row in table(source / "docs/results.md", "member")],
                metrics(source / "harness/engine/step/metric.h")),
        compare("docs/devices.md", [row[:2] for row in table(source / "docs/devices.md", "switch")],
                switches(source / "harness/device/cuda/cupti/cupti_collector.h"), 3),
        compare("docs/devices.md", [overheads_shown(source)] if overheads_shown(source) in devices else [],
                [overheads_shown(source)], 0),
        compare("docs/gpu-kernels.md", [line for line in kernel_times(source) if line in kernels], kernel_times(source), 2),
        shows_its_result(source / "README.md"), shows_its_output(program, source),
        half_are_off_by_a_tenth(source)]
sys.exit(not all(same))
