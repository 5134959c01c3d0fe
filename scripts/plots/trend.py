"""How one row went over many result files, oldest first: each repetition, and the median that a file states.

A row has the name that `compare` prints, such as item_sync/after or gemm_bf16/256. A line joins only files that
`compare` would compare: of one machine, whose rows did the same work. Where it begins anew, the picture says why."""

import json
import re
import subprocess

from common import quantity

from . import read, style, traces

NAME = "trend"
HELP = "one row over many result files, by their dates"
MANY = True
FLAGS = {"--row": {"required": True, "metavar": "NAME", "help": "such as item_sync/after or gemm_bf16/256"},
         "--program": traces.FLAGS["--program"]}

MARKERS = "sD^v"


def one_benchmark(path, rows, name):
    """The entries of the row, which are of one benchmark."""
    own = [row for row in rows if row.get("run_name", row.get("name")) == name]
    families = {(row.get("family_index"), row.get("per_family_instance_index")) for row in own}
    indices = [row["repetition_index"] for row in own if "repetition_index" in row and "aggregate_name" not in row]
    if len(families) > 1 or len(set(indices)) < len(indices):
        raise read.InputError(f"{path}: two benchmarks are called {name}")
    return own


def apart(options, one, other):
    """Why `compare` does not compare the row in these files; None: it does."""
    pattern = re.sub(r"[^\w/ -]", lambda found: rf"\{found[0]}", options.row)
    command = [traces.program(options), "compare", one["file"], other["file"], f"--filter=^{pattern}$", "--format=json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise read.MissingError(f"{command[0]}: {error.strerror}") from None
    if not done.stdout:
        said = " ".join(done.stderr.split()).removeprefix("chokepoint: compare: ")
        return said.split("; use --force")[0]
    [row] = json.loads(done.stdout)["rows"]
    return row["reason"] if row["verdict"] == "other work" else None


def series_of(options, points):
    """The number of each point's line, and why each line but the first began."""
    lasts, gaps = [], []
    for point in points:
        reasons = []
        for number, last in enumerate(lasts):
            reasons.append(apart(options, last, point))
            if reasons[-1] is None:
                point["series"], lasts[number] = number, point
                break
        else:
            point["series"] = len(lasts)
            lasts.append(point)
            if reasons:
                gaps.append(reasons[-1])
    return gaps


def data(options):
    files = [(path, *read.rows(path)) for path in options.inputs]
    points, lacking = [], []
    for path, context, rows in sorted(files, key=lambda file: str(file[1].get("date", ""))):
        own = one_benchmark(path, rows, options.row)
        median = [row["real_time"] for row in own if row.get("aggregate_name") == "median"]
        times = [row["real_time"] for row in own
                 if row.get("run_type", "iteration") == "iteration" and quantity.is_known(row.get("real_time"))]
        if not times and not median:
            lacking.append(str(path))
            continue
        points.append({"file": str(path), "date": context.get("date"), "commit": context.get("commit"),
                       "device": read.origin({**context, "date": "", "commit": ""}), "times": times,
                       "median": median[0] if median else None, "unit": own[0].get("time_unit", "ns")})
    if not points:
        raise read.InputError(f"no file has the row {options.row}; chokepoint compare lists the rows")
    if len({point["unit"] for point in points}) > 1:
        raise read.InputError(f"the files state {options.row} in different units, and so come from "
                              "different programs")
    return {"row": options.row, "unit": points[0]["unit"], "points": points, "lacking": lacking,
            "gaps": series_of(options, points)}


def tick(point):
    """Day and hour, and the commit where there is one."""
    return f"{str(point['date'] or '')[5:16].replace('T', ' ')}\n{point['commit'] or ''}".rstrip()


def remarks(found):
    """The lines below the title: whose files they are, what parts them, and what is missing."""
    devices = sorted({point["device"] for point in found["points"]})
    gaps = [f"{len(found['gaps']) + 1} lines, which do not compare: {found['gaps'][0]}"] if found["gaps"] else []
    lacking = [f"{len(found['lacking'])} of the files lack this row"] if found["lacking"] else []
    return [devices[0] if len(devices) == 1 else f"{len(devices)} devices", *gaps, *lacking]


def draw(found, theme):
    colors, figure, points = style.THEMES[theme], style.new_figure(6.5), found["points"]
    series = sorted({point["series"] for point in points})
    used = style.head(figure, theme, f"{found['row']} over {len(points)} files", *remarks(found))
    axes = figure.add_subplot()
    every = [time for point in points for time in point["times"] or [point["median"]]]
    unit, size = quantity.scale(sorted(every)[len(every) // 2], found["unit"])
    for x, point in enumerate(points):
        axes.plot([x] * len(point["times"]), point["times"], "o", color=colors["muted"], markersize=5,
                  alpha=0.6, label="one repetition" if x == 0 else None, rasterized=len(every) > 1500)
    for number in series:
        own = [x for x, point in enumerate(points) if point["series"] == number]
        label = f"{len(own)} of {points[own[0]]['device']}"
        axes.plot(own, [float("nan") if points[x]["median"] is None else points[x]["median"] for x in own],
                  "-" + MARKERS[number % len(MARKERS)], linewidth=2, markersize=8,
                  color=colors[("after", "before", "third", "text")[number % 4]],
                  label="median" if len(series) == 1 else
                  style.shorten(figure, label, (style.WIDTH - 3) / min(len(series), 4) - 0.6) if number < 4 else None)
    stride = 1 + (len(points) - 1) // 8
    axes.set_xticks(range(0, len(points), stride), [tick(point) for point in points[::stride]])
    beside = max(0.5, 0.06 * len(points))  # room for half a date
    axes.set_xlim(-beside, len(points) - 1 + beside)
    axes.set_ylim(0, max(every) * 1.12)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / size:g}")
    axes.set_ylabel(f"time, {unit}")
    style.bare(axes, "y")
    style.place(figure, axes, 1.2, 1.0, style.EDGE, style.legend(figure, axes, used))
    return figure
