#!/usr/bin/python3
"""Draws the pictures of README.md and docs/catalogue/ from results/, writes docs/catalogue/README.md, and fills in the
tables of README.md, docs/twins.md and docs/gpu-kernels.md.

    scripts/pictures.py             draw what is older than its data
    scripts/pictures.py --check     draw nothing; exit with 1 where something is older than its data
    scripts/pictures.py --pages     take the pictures of pages anew: of a report, a job and a kernel (Chromium; make_job of
                                    the tests' build)

The figures come from the result in results/ that measured the most scenarios, the newest of equals, the texts
from `chokepoint list`. A picture holds a hash of the figures that it shows (scripts/plot.py), so whether
it is old does not depend on the version of matplotlib."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import plot
from common import change_text, quantity, whole_file
from plots import effects, lesson, read, timeline

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
CATALOGUE = "docs/catalogue"
THEMES = ("light", "dark")
OVERVIEW = {theme: f"{CATALOGUE}/effects.{theme}.svg" for theme in THEMES}
# The only result that is kept with its traces: those of README.md's picture.
TOUR = "results/tour", "item_sync"
# Fewer are not like the whole run: after the fix the host runs ahead, and waits for the loader now and then.
TOUR_STEPS = 6
PAGE_SIZE, PAGE_SCALE = "1280,860", 0.5  # of a window, and pixels of the picture per pixel of the page

PAGE = """\
# The catalogue, measured

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="effects.dark.svg">
  <img alt="The time of a step before and after each fix, with intervals" src="effects.light.svg">
</picture>

`scripts/pictures.py` made this page from [{result}](../../{result}/result.json):
{origin}.
Times are of this machine alone; `chokepoint run all` measures yours, and [docs/results.md](../results.md) says
how.

A picture has a bar for each thing that the scenario expects to change: grey is before the fix, the narrow bar
after it, with its 95% interval. Below are the times of all steps, before and after; a vertical line is the median of
the windows' mean steps, and so may lie where no step is, between fast steps and a few slow ones.

The same as a table: the time of a step, and what the scenario is about.

{table}"""


def choose(checkout):
    """The result that the pictures show: the folder's path in the checkout, and what is in its file."""
    found = []
    for path in sorted(checkout.glob("results/*/result.json")):
        loaded = read.result(path)
        measured = sum(1 for one in loaded["chokepoint"]["scenarios"] if quantity.is_known(one.get("effect")))
        found.append((measured, str(loaded["context"].get("date")), str(path.parent.relative_to(checkout)),
                      loaded))
    if not found:
        raise read.InputError(f"{checkout}/results: there is no result in it")
    return max(found, key=lambda one: one[:3])[2:]


def listed(program, what="scenarios"):
    """The scenarios, or the pairs of kernels, as the program lists them."""
    try:
        done = subprocess.run([program, "list", "--format=json"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise read.MissingError(f"{program}: {error}; --program names a chokepoint that was built") from None
    return json.loads(done.stdout)[what]


def section(scenario, measured, found):
    """The part of the page about one scenario."""
    lines = [f"\n## {scenario['name']}\n", f"**{scenario['title']}**\n", f"- symptom: {scenario['symptom']}",
             f"- fix: {scenario['fix']}\n"]
    if found["rows"]:
        lines.append(f"![step_time: {effects.words(effects.time_row(measured))}]({scenario['name']}.svg)")
    else:
        lines.append(f"Not measured here: {measured.get('verdict')}, {measured.get('reason')}.")
    return "\n".join(lines) + "\n"


def tour_pictures(checkout, program):
    """The timeline of README.md, in both themes."""
    folder, scenario = TOUR
    if not (checkout / folder).exists():
        return {}
    options = argparse.Namespace(inputs=[str(checkout / folder)], scenario=[scenario], steps=TOUR_STEPS, program=program)
    found = timeline.data(options)
    return {f"docs/timeline.{theme}.svg": (timeline, found, theme) for theme in THEMES}


def page_pictures(checkout, program):
    """The first screens of three pages, as PNG: they depend on the machine's fonts, so nothing says that they are old."""
    program, docs = str(pathlib.Path(program).resolve()), checkout / "docs"
    with tempfile.TemporaryDirectory() as folder:
        made = {"report": ["report", str(checkout / TOUR[0])], "job": ["job", "ranks", "-o", "job.html"],
                "kernel": ["kernel", "bank_conflicts_before", "-o", "kernel.html"]}
        (pathlib.Path(folder) / "ranks").mkdir()
        subprocess.run([pathlib.Path(program).parent / "make_job", "ranks", "128", "late_rank", "77"], cwd=folder, check=True)
        for name, arguments in made.items():
            subprocess.run([program, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                            f"--force-device-scale-factor={PAGE_SCALE}", f"--window-size={PAGE_SIZE}",
                            f"--screenshot={docs / f'page-{name}.png'}", f"file://{folder}/{name}.html"],
                           check=True, stderr=subprocess.DEVNULL)
            print(f"docs/page-{name}.png")


def wanted(checkout, program):
    """By path: the kind of a picture, its figures and theme; and the text of the page."""
    result, loaded = choose(checkout)
    measured = {one["name"]: one for one in loaded["chokepoint"]["scenarios"]}
    shown = [one for one in listed(program) if one["name"] in measured]
    pictures, page = {}, [PAGE.format(result=result, origin=read.origin(loaded["context"]),
                                      table=catalogue_table(listed(program), measured))]
    for scenario in shown:
        found = lesson.scenario_data(loaded, measured[scenario["name"]])
        page.append(section(scenario, measured[scenario["name"]], found))
        if found["rows"]:
            pictures[f"{CATALOGUE}/{scenario['name']}.svg"] = lesson, found, "light"
    rows = effects.all_rows(loaded, [scenario["name"] for scenario in shown])
    for theme, path in OVERVIEW.items():
        pictures[path] = effects, rows, theme
    pictures |= tour_pictures(checkout, program)
    return pictures, "".join(page)


# --- The tables of README.md, docs/twins.md and docs/gpu-kernels.md ---


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def table(head, rows):
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))


def worth(scenario, measured):
    """The effect of the fix: on the time of a step, and on what the scenario is about."""
    one = measured.get(scenario["name"])
    if one is None or one.get("effect") is None:
        return ("only on a GPU" if scenario.get("devices") == ["cuda"] else "-"), ""
    return change_text.of_result(effects.time_row(one))[0], effects.about_words(one)


def catalogue_table(scenarios, measured):
    """A row per scenario: the bottleneck, the fix, and what the fix was worth in the result that the pictures show."""
    rows = [[f"`{scenario['name']}`", cell(scenario["title"]), cell(scenario["fix"]),
             *map(cell, worth(scenario, measured))] for scenario in scenarios]
    return table(["scenario", "bottleneck", "fix", "step", "what it is about"], rows)


def groups_table(checkout, program):
    """A row per group of scenarios: what is at fault, and the fix that made steps the fastest."""
    _, loaded = choose(checkout)
    measured = {one["name"]: one for one in loaded["chokepoint"]["scenarios"]}
    groups = {}
    for scenario in listed(program):
        groups.setdefault(scenario["group"], []).append(scenario)
    said = subprocess.run([program, "list"], capture_output=True, text=True, check=True).stdout
    words = dict(line.split(": ", 1) for line in said.splitlines() if line.split(": ")[0] in [*groups, "gpu_kernels"])
    rows = []
    for group, scenarios in groups.items():
        best = max(scenarios, key=lambda one: measured.get(one["name"], {}).get("effect") or 0)
        rows.append([f"`{group}`: {words[group]}", str(len(scenarios)),
                     f"`{best['name']}`: step {worth(best, measured)[0]}" if best["name"] in measured else "not measured yet"])
    kernels = listed(program, "kernels")
    shown = next(one for one in kernels if one["name"] == "bank_conflicts")
    count = next(one for one in shown["foretold"] if one["arch"] == ARCH)
    rows.append([f"`{shown['group']}`: {words[shown['group']]}", str(len(kernels)),
                 f"`{shown['name']}`: {count['count']} {count['before']} -> {count['after']}"])
    return table(["group", "scenarios", "for example"], rows)


def machines_table(checkout):
    """A row per result: where it was measured, and what came of it."""
    rows = []
    for path in sorted(checkout.glob("results/*/result.json")):
        loaded = read.result(path)
        context, verdicts = loaded["context"], {}
        for one in loaded["chokepoint"]["scenarios"]:
            verdicts[one["verdict"]] = verdicts.get(one["verdict"], 0) + 1
        folder = path.parent.relative_to(checkout)
        rows.append([f"[`{folder}`](../{folder}/result.json)", cell(str(context.get("device_name"))),
                     ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())),
                     str(context.get("date"))[:10], f"`{context.get('commit')}`"])
    return table(["result", "device", "scenarios", "date", "commit"], rows)


def gpus_line(checkout):
    """How much of the scenarios GPUs have run, in a sentence."""
    kinds, verdicts = {}, {}
    for path in sorted(checkout.glob("results/*/result.json")):
        loaded = read.result(path)
        if loaded["context"].get("device") != "cuda":
            continue
        gpu = str(loaded["context"].get("device_name")).split()[1]
        kinds[gpu] = kinds.get(gpu, 0) + 1
        for one in loaded["chokepoint"]["scenarios"]:
            verdicts.setdefault(one["name"], set()).add(one["verdict"])
    runs = " and ".join(f"{count} on an {gpu}" for gpu, count in sorted(kinds.items()))
    shown = sum("reproduced" in found for found in verdicts.values())
    return (f"**GPUs.** In {sum(kinds.values())} runs, {runs}, {len(verdicts)} scenarios were tried and {shown} reproduced "
            "([which, when, at which commit](docs/devices.md#what-gpus-measured)).\n")


def origin(loaded, name):
    """Where and when a result was measured, and by which commit."""
    context = loaded["context"]
    return (f"{cell(str(context.get('device_name')))}, [`{name}`](../{name}/result.json), {str(context.get('date'))[:10]}, "
            f"commit `{context.get('commit')}`")


def predicted(one):
    """The gain that diagnose predicted when this was measured, from the trace before the fix."""
    gains = [finding.get("predicted_gain") for finding in (one.get("findings") or {}).get("before") or []]
    return quantity.factor(gains[0]) if gains and (gains[0] or 0) > 1 else ""


def gpus_tables(checkout):
    """A table for each GPU: what each scenario was worth there, and why one was not reproduced."""
    texts = []
    for path in sorted(checkout.glob("results/*/result.json")):
        loaded, name = read.result(path), path.parent.relative_to(checkout)
        if loaded["context"].get("device") != "cuda":
            continue
        rows = []
        for one in loaded["chokepoint"]["scenarios"]:
            step, about = worth(one, {one["name"]: one})
            rows.append([f"`{one['name']}`", one["verdict"], cell(step), predicted(one), cell(about), cell(one["reason"])])
        texts.append(f"{origin(loaded, name)}:\n\n" +
                     table(["scenario", "verdict", "step", "predicted then", "what it is about", "why not"], rows))
    return "\n".join(texts)


def torch_tables(checkout):
    """A table for each GPU on which scripts/gpu_torch.py ran: ours beside PyTorch's."""
    texts = []
    for path in sorted(checkout.glob("results/*/torch.json")):
        loaded, name = read.load(path), path.relative_to(checkout)
        gpu = read.result(path.parent / "result.json")["context"].get("device_name")
        rows = [[f"`{one['name']}`" if one["name"].startswith("gemm") else one["name"],
                 quantity.quantity(one["ours_us"], "us"), quantity.quantity(one["torch_us"], "us"),
                 f"{one['ratio']:.2f} ({one['ratios'][0]:.2f} to {one['ratios'][-1]:.2f})"]
                for one in loaded["gemm"] + loaded["step"]]
        used = ", ".join(f"{'ours' if who == 'ours' else f'PyTorch {who}'} {100 * share:.0f}%"
                         for who, share in sorted(loaded["mfu"].items(), key=lambda one: -one[1]))
        texts.append(f"\n{cell(str(gpu))}, PyTorch {cell(loaded['torch'])} ([{name}](../{name})):\n\n" +
                     table(["", "ours", "PyTorch", "PyTorch's time over ours"], rows) +
                     (f"\nModel FLOPs utilisation of the step, by the fastest product above: {used}.\n" if used else ""))
    return "".join(texts)


def twins_tables(checkout):
    """A table for each machine that measured the twins."""
    texts = []
    for path in sorted(checkout.glob("results/*/twins.json")):
        loaded, name = read.load(path), path.relative_to(checkout)
        done = subprocess.run([sys.executable, CHECKOUT / "scripts/twins/run.py", "--read", path, "--format=markdown"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise read.InputError(f"{path}: {done.stderr.strip()}")
        texts.append(f"\n{cell(str(loaded.get('machine')))}, PyTorch {cell(str(loaded.get('torch')))} "
                     f"([{name}](../{name})):\n\n{done.stdout}")
    return "".join(texts)


ARCH = 90  # that the table of lessons has the counts of


def count_cell(value, unit):
    """As `run` prints it: whole numbers are written out."""
    return f"{value:.0f}" if not unit and value == int(value) else quantity.quantity(value, unit)


def lessons_table(program):
    """A row per pair of kernels: what is wrong, the counts that are predicted, and where Nsight Compute shows it."""
    rows = []
    for one in listed(program, "kernels"):
        steps = [step for step in ("before", "between", "after") if one[step] is not None]
        counts = [f"`{count['count']}` " + " -> ".join(count_cell(count[step], count["unit"]) for step in steps)
                  for count in one["foretold"] if count["arch"] == ARCH]
        rows.append([f"`{one['name']}`", cell(one["title"]), " -> ".join(f"`{one[step]}`" for step in steps), "; ".join(counts),
                     one["section"] + (f", {one['rule']}" if one["rule"] else "")])
    return table(["lesson", "what is wrong", "before -> after", "predicted", "Nsight Compute"], rows)


def counts_table(program):
    """A row per count that a lesson foretells."""
    counts = {count["count"]: count for one in listed(program, "kernels") for count in one["foretold"]}
    return table(["member", "type", "unit", "meaning", "example"],
                 [[f"`{name}`", "number", count["unit"], cell(f"{count['meaning']}; `{count['metric']}`"),
                   f"`{json.dumps(count['before'])}`"] for name, count in counts.items()])


def documents(options):
    """By document: its tables, by their names."""
    return {"docs/gpu-kernels.md": {"lessons": lessons_table(options.program), "counts": counts_table(options.program)},
            "README.md": {"groups": groups_table(options.checkout, options.program), "gpus": gpus_line(options.checkout)},
            "docs/devices.md": {"machines": machines_table(options.checkout), "gpus": gpus_tables(options.checkout),
                                "torch": torch_tables(options.checkout)},
            "docs/twins.md": {"twins": twins_tables(options.checkout)}}


def filled(path, text, tables):
    """The text with each table between its two marks; the marks are comments, which no reader sees."""
    for name, made in tables.items():
        begin, end = f"<!-- {name}: scripts/pictures.py -->\n", f"<!-- end of {name} -->\n"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise read.InputError(f"{path}: it has no place for the table {name}: {begin.strip()}")
        before, rest = text.split(begin)
        text = before + begin + made + "\n" + end + rest.split(end)[1]
    return text


def is_old(path, found):
    return not path.exists() or plot.figures_hash(found) not in path.read_text(encoding="utf-8")


def main(texts):
    parser = argparse.ArgumentParser(prog="pictures.py", description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="only say what is older than its data")
    parser.add_argument("--pages", action="store_true", help="take the pictures of pages anew")
    parser.add_argument("--all", action="store_true", help="draw those that are not old, too")
    parser.add_argument("--program", default=str(CHECKOUT / "build/chokepoint"), metavar="FILE")
    parser.add_argument("--checkout", default=CHECKOUT, type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args(texts)
    if options.pages:
        page_pictures(options.checkout, options.program)
        return 0
    pictures, page = wanted(options.checkout, options.program)
    readme = options.checkout / CATALOGUE / "README.md"
    old = [path for path, (_, found, _) in pictures.items() if is_old(options.checkout / path, found)]
    left = [path for path in (options.checkout / CATALOGUE).glob("*.svg")
            if str(path.relative_to(options.checkout)) not in pictures]
    is_page_old = not readme.exists() or readme.read_text(encoding="utf-8") != page
    new_texts = {}
    for name, tables in documents(options).items():
        path = options.checkout / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        new_text = text and filled(name, text, tables)
        if new_text != text:
            new_texts[path] = new_text
    if options.check:
        stale = [*old, *left, *([readme] if is_page_old else []), *new_texts]
        for path in stale:
            print(f"{path} is not of the data in results/: run scripts/pictures.py")
        return 1 if stale else 0
    for path, text in new_texts.items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(options.checkout))
    readme.parent.mkdir(exist_ok=True)
    for path in pictures if options.all else old:
        kind, found, theme = pictures[path]
        whole_file.write(options.checkout / path, plot.encoded(kind, found, ".svg", theme))
        print(path)
    for path in left:
        path.unlink()
    readme.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    plot.exit_with(main, "pictures.py")
