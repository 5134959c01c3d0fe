"""Device memory by category in the steps that `timeline` shows: what rises in forward and falls in backward.
Both variants are drawn to one scale of bytes.

The axis has the changes of memory in their order rather than in time: the host allocates when it launches,
and then waits for the device, so along time a step is a spike before a long pause."""

from common import colours, quantity

from . import read, style, timeline, traces

NAME = "memory"
HELP = "memory by category, step after step, of a trace, or of both variants of a scenario"
MANY = True
FLAGS = traces.FLAGS

# From the ground up: what stays, then what comes and goes.
CATEGORIES = {"parameters": style.DARK, "optimizer": style.GREY, "gradients": style.GREEN,
              "input": style.YELLOW, "workspace": style.BROWN, "activation gradients": style.VERMILION,
              "activations": style.ORANGE}
REST, REST_COLOR = "uncategorised", style.PURPLE


def phases_at(timeline_of, times):
    """The name of the host's phase at each time; None between phases."""
    lanes = [lane for lane in timeline.lanes(timeline_of)[0] if lane["kind"] == "phases"]
    bars = lanes[0]["bars"] if lanes else []
    return [next((name for start, duration, name, _ in bars if start <= time < start + duration), None)
            for time in times]


def panel(label, facts, missing):
    if facts is None:
        return {"label": label, "missing": missing}
    known = [memory for memory in facts.get("memory") or [] if len(memory["curve"]["at_ns"]) > 1]
    if not known:
        return {"label": label, "missing": "the trace does not have memory (profile_memory=True records it)"}
    memory, shown = known[0], facts["timeline"]
    curve = memory["curve"]
    times = [time + curve["start_ns"] - shown["start_ns"] for time in curve["at_ns"]]
    inside = [i for i, time in enumerate(times) if 0 <= time < shown["end_ns"] - shown["start_ns"]]
    first, last = (inside[0], inside[-1] + 1) if len(inside) > 1 else (0, len(times))
    return {"label": label, "missing": None, "device": (facts.get("device") or {}).get("name"),
            "steps": shown["steps"], "stated": memory["stated"], "limit_bytes": memory["limit_bytes"],
            "peak_bytes": memory["peak_bytes"], "at_ns": times[first:last],
            "phases": phases_at(shown, times[first:last]),
            "allocated_bytes": curve["allocated_bytes"][first:last],
            "categories": {category["name"]: category["bytes"][first:last]
                           for category in memory["categories"]}}


def data(options):
    title, found = traces.panels(options)
    made = {"title": title, "panels": [panel(*one) for one in found]}
    if all(one["missing"] for one in made["panels"]):
        raise read.InputError(f"{options.inputs[0]}: {made['panels'][0]['missing']}")
    return made


def layers(one):
    """By name from the ground up: bytes at each point. Bytes of no category are on top."""
    named = {name: one["categories"][name] for name in CATEGORIES if name in one["categories"]}
    others = [values for name, values in one["categories"].items() if name not in CATEGORIES]
    known = [sum(values) for values in zip(*named.values(), *others)] or [0] * len(one["at_ns"])
    rest = [max(0, total - value) for total, value in zip(one["allocated_bytes"], known)]
    for values in others:
        rest = [sum(pair) for pair in zip(rest, values)]
    if any(rest):
        named[REST] = rest
    return {name: values for name, values in named.items() if any(values)}


def runs(names):
    """Neighbours that are equal: their name, the first and their number."""
    first = 0
    for i in range(1, len(names) + 1):
        if i == len(names) or names[i] != names[first]:
            yield names[first], first, i - first
            first = i


def draw_panel(axes, theme, one, size, top):
    colors, count = style.THEMES[theme], len(one["at_ns"])
    below = [0] * (count + 1)
    for name, values in layers(one).items():
        above = [low + value / size for low, value in zip(below, [*values, values[-1]])]
        axes.fill_between(range(count + 1), below, above, step="post", color=CATEGORIES.get(name, REST_COLOR),
                          linewidth=0)
        below = above
    axes.step(range(count + 1), below, where="post", color=colors["text"], linewidth=1)
    if one["limit_bytes"] and one["limit_bytes"] / size <= top:
        axes.axhline(one["limit_bytes"] / size, color=colors["text"], linewidth=2, linestyle="--")
    for name, first, length in runs(one["phases"]) if any(one["phases"]) else ():
        axes.broken_barh([(first, length)], (-0.08 * top, 0.05 * top), linewidth=0,
                         color=colours.colour(name) or colors["fill"])
    axes.set_xlim(0, count)
    axes.set_xticks([])
    axes.set_ylim(-0.1 * top, top)
    style.bare(axes, "y")


def draw(found, theme):
    colors, height = style.THEMES[theme], 6.8
    shown = [one for one in found["panels"] if not one["missing"]]
    figure = style.new_figure(height)
    used = style.head(figure, theme, found["title"] or "Memory over time",
                      next((one["device"] for one in shown if one.get("device")), ""))
    most = max(max(one["allocated_bytes"]) for one in shown)
    size_name, size = quantity.scale(most, "B")
    limits = [one["limit_bytes"] for one in shown if one["limit_bytes"] and one["limit_bytes"] < 2 * most]
    top = max([most, *limits]) / size * 1.06
    panel_width = (style.WIDTH - style.EDGE - 0.9) / len(found["panels"])
    for number, one in enumerate(found["panels"]):
        left = 0.9 + number * panel_width
        text = one["missing"] or f"peak of the trace {quantity.quantity(one['peak_bytes'], 'B')}"
        if one.get("stated") is False:
            text += ", counted from the trace's begin"
        if one.get("limit_bytes") in limits:
            text += f", dashed: limit of {quantity.quantity(one['limit_bytes'], 'B')}"
        for line, words, weight, color in ((0, one["label"], "bold", "text"), (1, text, "normal", "muted")):
            figure.text((left + 0.1) / style.WIDTH, 1 - (used + 0.27 * line) / height,
                        style.shorten(figure, words, panel_width - 0.3, weight=weight), va="top",
                        fontweight=weight, color=colors[color])
        if one["missing"]:
            continue
        axes = figure.add_subplot()
        draw_panel(axes, theme, one, size, top)
        style.place(figure, axes, left, 1.15, style.WIDTH - left - panel_width + 0.25, used + 0.65)
        axes.set_xlabel(f"changes of memory in {timeline.words_of_steps(one)}, in order")
        axes.tick_params(labelleft=one is shown[0])
        if one is shown[0]:
            axes.set_ylabel(f"memory, {size_name}")
    names = [name for name in [*CATEGORIES, REST] if any(name in layers(one) for one in shown)]
    style.swatches(figure, theme, 0.55, "memory",
                   [(name, CATEGORIES.get(name, REST_COLOR)) for name in names])
    seen = {name for one in shown for name in one["phases"]}
    if seen != {None}:
        style.swatches(figure, theme, 0.27, "strip: phases",
                       [(name, colours.colour(name)) for name in timeline.PHASES if name in seen])
    return figure
