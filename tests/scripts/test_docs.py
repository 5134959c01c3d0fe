#!/usr/bin/env python3
"""docs/catalogue lists the scenarios as the program does, README.md shows the figures of the result that it names, and
docs/results.md lists the metrics as metric.h does, and docs/devices.md the switches of tracing.

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
    lines += [f"take {quantity.digits(scenario['effect'])} times as long",
              f"between {low} and {high}", f"predicted a gain of {quantity.factor(first['predicted_gain'])}"]
    return lines


def shows_its_result(readme):
    """What README.md shows of a run is in the result that it names above."""
    text = readme.read_text()
    above, block, prose = re.search(r"^(.*)```text\n(.*?)```\n(.*?)\n## ", text, flags=re.DOTALL).groups()
    folder = re.findall(r"`(results/[\w-]+)`", above)[-1]
    result = json.loads((readme.parent / folder / "result.json").read_text())
    words = " ".join((block + prose).split())
    missing = [line for line in shown_figures(result, "item_sync") if line not in words]
    for line in missing:
        print(f"README.md: {folder} says otherwise: {line}")
    return not missing


program, source = sys.argv[1], pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(source / "scripts"))
from common import change_text, quantity

listed = subprocess.run([program, "list", "--format=json"], stdout=subprocess.PIPE, check=True)
devices = " ".join((source / "docs/devices.md").read_text().split())
same = [compare("docs/catalogue/README.md", [row[0] for row in table(source / "docs/catalogue/README.md", "scenario")],
                [scenario["name"] for scenario in json.loads(listed.stdout)["scenarios"]]),
        compare("docs/results.md", [[row[0], row[2], row[3]] for row in table(source / "docs/results.md", "member")],
                metrics(source / "harness/engine/step/metric.h")),
        compare("docs/devices.md", [row[:2] for row in table(source / "docs/devices.md", "switch")],
                switches(source / "harness/device/cuda/cupti/cupti_switches.h"), 3),
        compare("docs/devices.md", [overheads_shown(source)] if overheads_shown(source) in devices else [],
                [overheads_shown(source)], 0),
        shows_its_result(source / "README.md")]
sys.exit(not all(same))
