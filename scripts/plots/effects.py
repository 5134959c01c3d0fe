"""The worth of each fix: before and after of all scenarios of a result, with the intervals.

A row shows the step time relative to before, and beside it what the scenario is about where that is something else:
a fix of memory may cost time, and a count may fall by far more than the time that it costs."""

from common import change_text, quantity

from . import read, style

NAME = "effects"
HELP = "before and after of each scenario of a result, with intervals"
MANY = False


def about(scenario):
    """The row of the first thing besides the speed that a scenario expects to change; None: it is about the speed."""
    wanted = [expectation for expectation in expectations(scenario)
              if not expectation.get("is_cost") and expectation.get("outcome") != "not bound"
              and expectation["metric"] not in ("step_time", "items_per_second")]
    return expectation_row(wanted[0], scenario) if wanted else None


def about_words(scenario):
    """"syncs_per_step down 20.0x", or nothing."""
    row = about(scenario)
    return f"{row['metric']} {change_text.of_result(row)[0]}" if row else ""


def expectations(scenario):
    """Those that were measured."""
    return [expectation for expectation in scenario.get("expectations") or []
            if quantity.is_known(expectation.get("before"))]


def time_row(scenario):
    time = scenario.get("step_time") or {}
    return row("step_time", "us", "shrinks", time.get("before"), time.get("after"),
               scenario.get("effect"), scenario.get("interval"), scenario.get("coverage"))


def expectation_row(expectation, scenario):
    return row(*(expectation.get(key) for key in ("metric", "unit", "direction", "before", "after", "effect",
                                                  "interval")), scenario.get("coverage"))


def row(metric, unit, direction, before, after, effect, interval, coverage=None):
    """`share` is what is left of before, and its interval; a factor of 4 leaves a quarter."""
    share = span = None
    grows = direction == "grows"
    if quantity.is_known(effect) and effect > 0:
        share = effect if grows else 1 / effect
        if interval and all(quantity.is_known(end) and end > 0 for end in interval):
            span = sorted(end if grows else 1 / end for end in interval)
    elif quantity.is_known(before) and quantity.is_known(after) and before > 0:
        share = after / before  # nothing is left, so there is no factor
    return {"metric": metric, "unit": unit or "", "direction": direction, "before": before,
            "after": after, "effect": effect, "interval": interval, "coverage": coverage, "share": share,
            "share_interval": span}


def data(options):
    path = options.inputs[0]
    loaded = read.result(path)
    wanted = options.scenario or read.names(loaded)
    for name in wanted:
        read.scenario(path, name)
    return all_rows(loaded, wanted)


def all_rows(loaded, wanted):
    rows = [{"name": scenario["name"], "verdict": scenario.get("verdict"), "reason": scenario.get("reason"),
             **time_row(scenario), "about": about_words(scenario)}
            for scenario in loaded["chokepoint"]["scenarios"] if scenario["name"] in wanted]
    return {"origin": read.origin(loaded.get("context") or {}), "rows": rows}


def words(one):
    """The factor with its interval, as chokepoint prints it."""
    effect, interval = change_text.of_result(one)
    return f"{effect} ({interval})" if interval not in ("", "exact") else effect


def bar_color(one, colors):
    if change_text.of_result(one)[0] in ("no change", "unclear"):
        return colors["muted"]
    return colors["after"]


def draw_row(axes, colors, y, one):
    """Before as a wide bar, after as a narrow one on it, and the interval."""
    axes.barh(y, 1, 0.72, color=colors["fill"])
    axes.barh(y, one["share"], 0.36, color=bar_color(one, colors))
    if one["share_interval"]:
        low, high = one["share_interval"]
        axes.errorbar(one["share"], y, xerr=[[max(0, one["share"] - low)], [max(0, high - one["share"])]],
                      color=colors["text"], capsize=4, linewidth=1.6)


def draw_rows(figure, theme, axes, rows, labels, top, bottom):
    """The bars of `rows`, named by `labels`, between top and bottom inches; text to the right."""
    colors = style.THEMES[theme]
    columns = [(" → ".join(quantity.quantity(one[key], one["unit"]) for key in ("before", "after")), words(one),
                one.get("about", "")) if one["share"] is not None else ("", "", "") for one in rows]
    widths = [max(style.text_width(figure, text, style.SMALL) for text in column) for column in zip(*columns)]
    widths = [width + 0.25 if width > 0 else 0 for width in widths]
    left = max(style.text_width(figure, label) for label in labels) + style.EDGE + 0.15
    right = sum(widths) + style.EDGE
    inches = style.WIDTH - left - right
    style.place(figure, axes, left, bottom, right, top)
    for y, (one, texts) in enumerate(zip(rows, columns)):
        if one["share"] is None:
            missing = ": ".join(text for text in (one.get("verdict"), one.get("reason")) if text)
            axes.text(0.1 / inches, y, style.shorten(figure, missing or "not measured",
                                                     inches + right - style.EDGE - 0.1, style.SMALL),
                      va="center", fontsize=style.SMALL, color=colors["muted"],
                      transform=axes.get_yaxis_transform())
            continue
        draw_row(axes, colors, y, one)
        at = inches + 0.25
        for text, width in zip(texts, widths):
            axes.text(at / inches, y, text, transform=axes.get_yaxis_transform(), va="center",
                      fontsize=style.SMALL, color=colors["text"])
            at += width
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    # An interval that goes on beyond the axis is in the text.
    most = max([1.0] + [share for one in rows if one["share"] is not None
                        for share in (one["share"], *(one["share_interval"] or ()))])
    axes.set_xlim(0, min(most, 1.5) * 1.02)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    style.bare(axes)


def draw(found, theme):
    figure = style.new_figure(len(found["rows"]) * style.ROW + 1.9)
    used = style.head(figure, theme, "Each fix: the time of a step, and what the scenario is about", found["origin"],
                      "Grey: step time before; bar: after, in grey where it may be no change; line: 95% interval")
    draw_rows(figure, theme, figure.add_subplot(), found["rows"], [one["name"] for one in found["rows"]],
              used, 0.6)
    return figure
