"""The order of events in some steps: phases and calls of the host, the loader's workers, the streams, and the
causes for which the device was idle. Both variants are drawn to one scale of time."""

from common import colours, quantity

from . import read, style, traces

NAME = "timeline"
HELP = "two or three steps of a trace, or of both variants of a scenario"
MANY = True
FLAGS = traces.FLAGS

PHASES = ("data", "h2d", "forward", "backward", "optimizer", "graph", "log", "save")
DOING = ("queued", "stalled", "launching", "loading", "copying", "waiting", "allocating", "operators", "logging",
         "saving", "outside", "first_use", "capturing", "host_work")
WORK = ("computation", "copy", "memset", "communication")
COLORS = {kind: {name: colours.colour(name) for name in names}
          for kind, names in (("phases", PHASES), ("operators", DOING), ("calls", DOING), ("work", WORK),
                              ("idle", DOING))}
LEGENDS = (("phases", "phases"), ("calls", "calls"), ("work", "streams"), ("idle", "device idle"))
MOST_WORKERS = 4
SEEN = 600  # of the whole width: closer bars of one color are one in a picture
LANE = 0.36  # inches


def clipped(timeline, row):
    """Start, duration, category and name of each bar, as far as it is in the timeline."""
    end, names = timeline["end_ns"] - timeline["start_ns"], timeline["names"]
    for start, duration, category, name in zip(row["start_ns"], row["duration_ns"], row["category"],
                                               row["name"]):
        start, stop = max(0, start), min(end, start + duration)
        if stop >= start:
            yield [start, stop - start, None if category is None else row["categories"][category],
                   None if name is None else names[name]]


def lanes(timeline):
    """The rows to draw, each with a label: the loop, its workers and other threads, streams, idle time."""
    rows, shown, left_out = timeline["rows"], [], 0
    for kind in ("phases", "operators", "calls"):
        shown += [(f"loop: {kind}", row) for row in rows if row["kind"] == kind and row["is_loop"]][:1]
    workers = {}
    for row in rows:
        if row["kind"] in ("operators", "calls") and not row["is_loop"] and row["depth"] == 0:
            workers.setdefault((row["process"], row["thread"]), row)
    shown += [(f"thread {i + 1}: {row['kind']}", row)
              for i, row in enumerate(list(workers.values())[:MOST_WORKERS])]
    left_out += max(0, len(workers) - MOST_WORKERS)
    work = [row for row in rows if row["kind"] == "work"]
    devices = {row["process"] for row in work}
    shown += [(f"device {row['process']}, stream {row['thread']}" if len(devices) > 1
               else f"stream {row['thread']}", row) for row in work]
    shown += [("device idle", row) for row in rows if row["kind"] == "idle"]
    return [{"label": label, "kind": row["kind"], "bars": list(clipped(timeline, row))}
            for label, row in shown], left_out + (timeline.get("tracks_left_out") or 0)


def panel(label, facts, missing):
    if facts is None:
        return {"label": label, "missing": missing}
    timeline = facts["timeline"]
    shown, left_out = lanes(timeline)
    steps = [row for row in timeline["rows"] if row["kind"] == "steps"]
    return {"label": label, "missing": None,
            "partial": facts.get("partial_reason") if facts.get("partial") else None,
            "duration_ns": timeline["end_ns"] - timeline["start_ns"], "steps": timeline["steps"],
            "step_starts_ns": steps[0]["start_ns"] if steps else [], "lanes": shown, "left_out": left_out,
            "device": (facts.get("device") or {}).get("name")}


def data(options):
    title, found = traces.panels(options)
    made = {"title": title, "panels": [panel(*one) for one in found]}
    if not any(lane["bars"] for one in made["panels"] for lane in one.get("lanes", [])):
        raise read.InputError("the trace has nothing to draw: no step, no call, no work")
    return made


def joined(bars, least):
    """Bars of one color, in order; those that are closer together than can be seen are one."""
    made = []
    for start, duration in sorted(bars):
        if made and start - sum(made[-1]) < least:
            first, length = made[-1]
            made[-1] = first, max(length, start + duration - first)
        else:
            made.append((start, duration))
    return made


def draw_lane(axes, y, lane, unit, least, height=0.8, alpha=1.0):
    """Bars of a lane by category; names where they fit are left to pages that zoom."""
    by_color = {}
    for start, duration, category, _ in lane["bars"]:
        by_color.setdefault(COLORS[lane["kind"]].get(category, style.GREY), []).append(
            (start / unit, duration / unit))
    by_color = {color: joined(bars, least) for color, bars in by_color.items()}
    for color, bars in sorted(by_color.items()):
        axes.broken_barh(bars, (y - height / 2, height), color=color, linewidth=0, alpha=alpha,
                         rasterized=sum(map(len, by_color.values())) > 1500)


def draw_panel(axes, theme, one, unit, end):
    colors = style.THEMES[theme]
    streams = [y for y, lane in enumerate(one["lanes"]) if lane["kind"] == "work"]
    least = end / unit / SEEN
    for y, lane in enumerate(one["lanes"]):
        axes.broken_barh([(0, one["duration_ns"] / unit)], (y - 0.4, 0.8), color=colors["fill"], linewidth=0)
    for y, lane in enumerate(one["lanes"]):
        if lane["kind"] == "idle" and streams:
            middle, height = (streams[0] + streams[-1]) / 2, streams[-1] - streams[0] + 0.8
            draw_lane(axes, middle, lane, unit, least, height, 0.35)
        draw_lane(axes, y, lane, unit, least)
    for start in one["step_starts_ns"]:
        axes.axvline(start / unit, color=colors["text"], linewidth=1, linestyle=":")
    axes.set_yticks(range(len(one["lanes"])), [lane["label"] for lane in one["lanes"]])
    axes.set_ylim(len(one["lanes"]) - 0.5, -0.5)
    axes.set_xlim(0, end / unit)
    style.bare(axes)


def words_of_steps(one):
    """"3 steps", or that none are marked."""
    number = len(one["steps"])
    return f"{number} step{'s' * (number != 1)}" if number else "a trace without steps"


def draw_legend(figure, theme, found, bottom):
    """A line per kind of lane with the categories that are drawn."""
    for kind, words in LEGENDS:
        seen = {bar[2] for one in found["panels"] for lane in one.get("lanes", []) if lane["kind"] == kind
                for bar in lane["bars"]}
        named = [(name, color) for name, color in COLORS[kind].items() if name in seen]
        if seen:
            others = [("other", style.GREY)] if len(seen) > len(named) else []
            style.swatches(figure, theme, bottom, words, named + others)
            bottom -= 0.26


def legend_lines(found):
    kinds = {lane["kind"] for one in found["panels"] for lane in one.get("lanes", [])}
    return sum(kind in kinds for kind, _ in LEGENDS)


def draw(found, theme):
    colors, panels = style.THEMES[theme], found["panels"]
    heights = [len(one.get("lanes", [])) * LANE + 0.75 if not one["missing"] else 0.8 for one in panels]
    device = next((one["device"] for one in panels if one.get("device")), "")
    foot = 0.26 * legend_lines(found) + 0.3
    figure = style.new_figure(sum(heights) + 1.2 + (0.27 if device else 0) + foot)
    height = figure.get_size_inches()[1]
    used = style.head(figure, theme, found["title"] or "Timeline", device)
    end = max(one["duration_ns"] for one in panels if not one["missing"])
    unit_name, unit = quantity.scale(end, "ns")
    left = max((style.text_width(figure, lane["label"]) for one in panels for lane in one.get("lanes", [])),
               default=1) + style.EDGE + 0.15
    for one, inches in zip(panels, heights):
        notes = [one["missing"] or f"{words_of_steps(one)}, {quantity.quantity(one['duration_ns'], 'ns')}"]
        notes += [f"incomplete: {one['partial']}"] if one.get("partial") else []
        notes += [f"{one['left_out']} threads or streams not shown"] if one.get("left_out") else []
        figure.text(style.EDGE / style.WIDTH, 1 - (used + 0.1) / height,
                    style.shorten(figure, f"{one['label']} · {' · '.join(notes)}", style.WIDTH - 0.7,
                                  weight="bold"),
                    va="top", fontweight="bold", color=colors["text"])
        if not one["missing"]:
            axes = figure.add_subplot()
            draw_panel(axes, theme, one, unit, end)
            style.place(figure, axes, left, height - used - inches + 0.1, style.EDGE, used + 0.42)
            axes.tick_params(labelbottom=one is panels[-1])
        used += inches
    axes.set_xlabel(unit_name)
    draw_legend(figure, theme, found, foot - 0.2)
    return figure
