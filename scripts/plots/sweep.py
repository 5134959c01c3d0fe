"""Samples per second over the values of one knob or of two, from `train --sweep --format=json`: each round,
the median, the knee (the first value that is enough), and the best value."""

from common import quantity

from . import read, style

NAME = "sweep"
HELP = "samples per second over the values of a knob, with the knee, of train --sweep --format=json"
MANY = False
FLAGS = {}

LINES = (("after", "s"), ("before", "D"), ("third", "^"), ("text", "v"), ("muted", "P"))


def name_of(settings):
    """As `knee` names a value: "workers=2 batch=8"."""
    return " ".join(f"{knob}={value}" for knob, value in settings.items())


def medians(rows):
    return {row["run_name"]: row["items_per_second"] for row in rows
            if row.get("aggregate_name") == "median" and quantity.is_known(row.get("items_per_second"))}


def data(options):
    path = options.inputs[0]
    context, rows = read.rows(path)
    loaded = read.load(path)
    values = loaded.get("values")
    if not isinstance(values, list) or not all(isinstance(value, dict) and value.get("settings")
                                               for value in values):
        raise read.InputError(f"{path}: this is no output of chokepoint train --sweep --format=json")
    known, made = medians(rows), []
    for value in values:
        row = "/".join(["train", *(f"{knob}:{setting}" for knob, setting in value["settings"].items())])
        rates = [one.get("items_per_second") for one in value.get("rounds") or []]
        made.append({"settings": value["settings"], "refusal": value.get("refusal"),
                     "rounds": [rate for rate in rates if quantity.is_known(rate)], "median": known.get(row)})
    if not any(value["rounds"] for value in made):
        raise read.InputError(f"{path}: no value was measured")
    return {"origin": read.origin(context), "knobs": list(made[0]["settings"]), "knee": loaded.get("knee"),
            "interrupted": bool(loaded.get("interrupted")), "values": made}


def knee_words(found):
    """The line below the title."""
    knee = found["knee"]
    if not knee:
        return ""
    doubt = "" if knee.get("is_clear") else "; the rounds disagree"
    if knee["enough"] == knee["best"]:
        return f"Knee: {knee['enough']} is enough and the best{doubt}"
    return f"Knee: {knee['enough']} is enough, {100 * knee['share']:.0f}% of the best, {knee['best']}{doubt}"


def draw_line(axes, colors, line, values, columns, label):
    """The values that have one setting of the second knob in common."""
    color, marker = LINES[line % len(LINES)]
    at = [columns.index(next(iter(value["settings"].values()))) for value in values]
    for x, value in zip(at, values):
        axes.plot([x] * len(value["rounds"]), value["rounds"], "o", color=colors[color], markersize=4,
                  alpha=0.6)
        if not value["rounds"] and not label:
            axes.text(x, 0.02, "refused" if value["refusal"] else "not measured", ha="center", va="bottom",
                      rotation=90, color=colors["muted"], transform=axes.get_xaxis_transform())
    heights = [float("nan") if value["median"] is None else value["median"] for value in values]
    axes.plot(at, heights, f"-{marker}", color=colors[color], linewidth=2, markersize=8,
              label=label or "median; dots: the rounds")


def mark(axes, colors, found, columns, which, marker, label):
    """A ring around the value that the knee names."""
    for value in found["values"]:
        if name_of(value["settings"]) == (found["knee"] or {}).get(which) and value["median"] is not None:
            axes.plot(columns.index(next(iter(value["settings"].values()))), value["median"], marker,
                      markersize=20, markerfacecolor="none", markeredgewidth=2.5, label=label,
                      color=colors["text"], linestyle="none")


def draw(found, theme):
    colors, figure, height = style.THEMES[theme], style.new_figure(6.5), 6.5
    used = style.head(figure, theme, f"Samples per second over {' and '.join(found['knobs'])}",
                      found["origin"], knee_words(found),
                      "Interrupted: some rounds are missing" if found["interrupted"] else "")
    axes = figure.add_subplot()
    first, others = found["knobs"][0], found["knobs"][1:]
    columns = list(dict.fromkeys(value["settings"][first] for value in found["values"]))
    lines = {}
    for value in found["values"]:
        label = " ".join(f"{knob} {value['settings'][knob]}" for knob in others)
        lines.setdefault(label, []).append(value)
    for line, (label, values) in enumerate(lines.items()):
        draw_line(axes, colors, line, values, columns, label)
    mark(axes, colors, found, columns, "enough", "o", "knee: enough")
    if found["knee"] and found["knee"]["best"] != found["knee"]["enough"]:
        mark(axes, colors, found, columns, "best", "h", "best")
    width = (style.WIDTH - 1.5 - style.EDGE) / len(columns)
    axes.set_xticks(range(len(columns)), [style.shorten(figure, column, width - 0.1) for column in columns])
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(0, 1.15 * max(rate for value in found["values"] for rate in value["rounds"]))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:g}")
    axes.set_ylabel("samples per second")
    axes.set_xlabel(first)
    style.bare(axes, "y")
    style.place(figure, axes, 1.5, 0.85, style.EDGE, style.legend(figure, axes, used))
    return figure
