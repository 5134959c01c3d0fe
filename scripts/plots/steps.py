"""The distribution of step times of one scenario: every step of every window, before and after."""

from common import quantity

from . import read, style

NAME = "steps"
HELP = "step-time distribution of one scenario, with every sample"
MANY = False

BINS = 50


def data(options):
    scenario = read.scenario(options.inputs[0], read.one_name(options))
    return scenario_data(read.result(options.inputs[0]), scenario)


def scenario_data(loaded, scenario):
    samples = scenario.get("samples") or {}
    steps = {variant: [[time / 1e3 for time in window.get("step_ns") or []]
                       for window in samples.get(variant) or []] for variant in ("before", "after")}
    return {"origin": read.origin(loaded.get("context") or {}), "name": scenario["name"],
            "title": scenario.get("title") or scenario["name"], "knob": scenario.get("knob"),
            "values": {variant: scenario.get(variant) for variant in ("before", "after")},
            "verdict": scenario.get("verdict"), "reason": scenario.get("reason"),
            "step_us": steps, "step_time": scenario.get("step_time") or {},
            "effect": scenario.get("effect"), "interval": scenario.get("interval")}


def everything(found):
    return [time for windows in found["step_us"].values() for window in windows for time in window]


def missing(found):
    """Why there is nothing to draw."""
    return ": ".join(text for text in (found["verdict"] or "not measured", found["reason"]) if text)


def variant_label(found, variant):
    return f"{variant}: {found['knob']} {found['values'][variant]}"


def edges(times, bins):
    """Bin edges for all times: even on a log axis where the slowest step is far from the others."""
    low, high = min(times), max(times)
    if high <= low:
        low, high = 0.9 * low, 1.1 * high
    if high / low > 5:
        return [low * (high / low) ** (i / bins) for i in range(bins + 1)], "log"
    return [low + (high - low) * i / bins for i in range(bins + 1)], "linear"


def time_axis(axes, times, kind):
    """An axis of microseconds, read in the unit that fits."""
    unit, size = quantity.scale(sorted(times)[len(times) // 2], "us")
    axes.set_xscale(kind)
    axes.set_xlim(min(times) * 0.97, max(times) * 1.03)
    if kind == "log":
        from matplotlib.ticker import LogLocator, NullFormatter
        wide = max(times) / min(times) > 60
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3) if wide else (1, 2, 5)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / size:g}")
    axes.set_xlabel(f"step time, {unit}")


def draw_histogram(axes, found, colors):
    times = everything(found)
    bins, kind = edges(times, BINS)
    for variant in ("before", "after"):
        steps = [time for window in found["step_us"][variant] for time in window]
        if steps:
            axes.hist(steps, bins, histtype="stepfilled", facecolor=colors[variant] + "59",
                      edgecolor=colors[variant], linewidth=1.6)
        at = found["step_time"].get(variant)
        if quantity.is_known(at):
            axes.axvline(at, color=colors[variant], linewidth=2,
                         linestyle="--" if variant == "before" else "-")
    time_axis(axes, times, kind)
    axes.set_ylabel("steps")
    style.bare(axes, "y")


def legend(figure, theme, found, top):
    """Both variants in their colours, with the step time that the file states."""
    colors, (width, height), at = style.THEMES[theme], figure.get_size_inches(), style.EDGE
    for variant in ("before", "after"):
        time = quantity.quantity(found["step_time"].get(variant), "us")
        text = style.shorten(figure, f"■ {variant_label(found, variant)}, {time}", width / 2 - 0.5,
                             weight="bold")
        figure.text(at / width, 1 - top / height, text, color=colors[variant], fontweight="bold", va="top",
                    fontsize=style.TEXT)
        at += style.text_width(figure, text, style.TEXT, "bold") + 0.4
    return top + 0.35


def draw(found, theme):
    colors = style.THEMES[theme]
    if not everything(found):
        return nothing(theme, f"{found['name']}: step times", found["origin"], missing(found))
    figure = style.new_figure(7.5)
    used = style.head(figure, theme, f"{found['name']}: every step", found["title"], found["origin"])
    used = legend(figure, theme, found, used)
    above, below = figure.add_subplot(2, 1, 1), figure.add_subplot(2, 1, 2)
    draw_histogram(above, found, colors)
    above.set_xlabel("")
    above.tick_params(labelbottom=False)
    times = everything(found)
    for variant, lane in (("before", 0.06), ("after", 0.54)):
        for window, steps in enumerate(found["step_us"][variant]):
            below.plot(steps, [window + 1 + lane + 0.4 * i / max(1, len(steps)) for i in range(len(steps))],
                       ".", color=colors[variant], markersize=4, alpha=0.7, rasterized=len(times) > 1500)
    windows = max(len(windows) for windows in found["step_us"].values())
    below.set_ylim(windows + 1, 1)
    below.set_yticks([i + 1.5 for i in range(0, windows, 1 + windows // 10)],
                     [str(i + 1) for i in range(0, windows, 1 + windows // 10)])
    below.set_ylabel("pair, in order")
    time_axis(below, times, edges(times, BINS)[1])
    style.bare(below, "x")
    style.place(figure, above, 1.1, 3.9, style.EDGE, used)
    style.place(figure, below, 1.1, 0.75, style.EDGE, 7.5 - 3.75)
    return figure


def nothing(theme, title, origin, why):
    """A picture that says what is missing."""
    figure = style.new_figure(2.4)
    used = style.head(figure, theme, title, origin)
    figure.text(style.EDGE / style.WIDTH, 1 - (used + 0.2) / 2.4,
                style.shorten(figure, f"Nothing to show: {why}", style.WIDTH - 2 * style.EDGE), va="top")
    return figure
