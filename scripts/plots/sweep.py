"""The step time over the values of a knob, from `train --sweep=KNOB=... --format=json`: each round, their
median, and the knee where the file has one."""

import statistics

from . import read, style

NAME = "sweep"
HELP = "step time over the values of a knob, with its knee, of train --sweep --format=json"
MANY = False
FLAGS = {}


def data(options):
    path = options.inputs[0]
    loaded = read.load(path)
    if not isinstance(loaded.get("values"), list) or not isinstance(loaded.get("knob"), str):
        raise read.InputError(f"{path}: this is no output of chokepoint train --sweep --format=json with one knob")
    values = []
    for row in loaded["values"]:
        rounds = [one["step_time"] for one in row.get("rounds") or [] if read.number(one.get("step_time"))]
        values.append({"value": row["value"], "refusal": row.get("refusal"), "rounds_us": rounds,
                       "median_us": statistics.median(rounds) if rounds else None})
    if not any(value["rounds_us"] for value in values):
        raise read.InputError(f"{path}: no value of {loaded['knob']} was measured")
    return {"origin": loaded.get("device") or "", "knob": loaded["knob"], "knee": (loaded.get("knee") or {}).get("enough"),
            "interrupted": bool(loaded.get("interrupted")), "values": values}


def draw(found, theme):
    colors, figure = style.THEMES[theme], style.new_figure(6.5)
    used = style.head(figure, theme, f"Step time over {found['knob']}", found["origin"],
                      "Interrupted: some rounds are missing" if found["interrupted"] else "")
    axes = figure.add_subplot()
    values = found["values"]
    times = [time for value in values for time in value["rounds_us"]]
    unit, size = read.scale(statistics.median(times), "us")
    width = (style.WIDTH - 1.2 - style.EDGE) / len(values)
    for x, value in enumerate(values):
        axes.plot([x] * len(value["rounds_us"]), value["rounds_us"], "o", color=colors["muted"], markersize=6,
                  label="one round" if x == 0 else None)
        if not value["rounds_us"]:
            axes.text(x, 0.02, "refused" if value["refusal"] else "not measured", ha="center", va="bottom",
                      rotation=90, color=colors["muted"], transform=axes.get_xaxis_transform())
    medians = [float("nan") if value["median_us"] is None else value["median_us"] for value in values]
    axes.plot(range(len(values)), medians, "-s", color=colors["after"], linewidth=2, markersize=8,
              label="median of the rounds")
    for x, value in enumerate(values):
        if found["knee"] == f"{found['knob']}={value['value']}":
            axes.axvline(x, color=colors["before"], linewidth=2, linestyle="--",
                         label=f"knee: {found['knob']} {value['value']} is enough")
    axes.set_xticks(range(len(values)), [style.shorten(figure, value["value"], width - 0.1)
                                         for value in values])
    axes.set_xlim(-0.5, len(values) - 0.5)
    axes.set_ylim(0, max(times) * 1.12)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / size:g}")
    axes.set_ylabel(f"step time, {unit}")
    axes.set_xlabel(found["knob"])
    style.bare(axes, "y")
    style.place(figure, axes, 1.2, 0.85, style.EDGE, style.legend(figure, axes, used))
    return figure
