"""A roofline of what `bench` measured: kernels and products against the limits of the device.

The limits are those that `bench` measured in the same run: the fastest copy within the device's memory, and
the fastest product of matrices of each type (Williams, Waterman, Patterson: "Roofline: an insightful visual
performance model for multicore architectures", 2009). A point above the slope had its data in a cache."""

from common import quantity

from . import read, style

NAME = "roofline"
HELP = "kernels and products of a bench against the device's measured limits"
MANY = False
FLAGS = {}

PEAK = "roof_flops_per_second_"
# Kinds of rows: how a name begins, the words, the marker, the colour.
GROUPS = (("gemm", "matrix products", "s", "after"),
          ("attention", "attention", "D", "before"),
          ("", "other kernels", "o", "third"))


def data(options):
    path = options.inputs[0]
    context, rows = read.rows(path)
    roof = context.get("roof_bytes_per_second")
    peaks = {key[len(PEAK):]: float(value) for key, value in context.items() if key.startswith(PEAK)}
    if roof is None or not peaks:
        raise read.InputError(f"{path}: it has no limits of the device; chokepoint bench measures them with "
                              "its products and its kernels")
    points = []
    for row in rows:
        flops, moved = row.get("flops_per_second"), row.get("bytes_per_second")
        if row.get("aggregate_name") == "median" and quantity.is_known(flops) and quantity.is_known(moved):
            name = row["run_name"]
            points.append({"name": name, "group": next(i for i, group in enumerate(GROUPS)
                                                       if name.startswith(group[0])),
                           "flops_per_second": flops, "bytes_per_second": moved,
                           "flops_per_byte": flops / moved})
    if not points:
        raise read.InputError(f"{path}: no row of it has both flops and bytes per second")
    return {"origin": read.origin(context), "bytes_per_second": float(roof), "peaks": peaks, "points": points}


def label(name):
    """gelu_forward_bf16/1048576 without what every point has: its type stands at its limit."""
    return name.split("/")[0].removeprefix("bw_memory_")


def power(value):
    """1 GFLOP/s rather than 1.00 GFLOP/s."""
    name, size = quantity.scale(value, "FLOP/s")
    return f"{value / size:g} {name}"


def slope(axes, found):
    """Points along the memory's limit, which no name may cross."""
    low, knee = axes.get_xlim()[0], max(found["peaks"].values()) / found["bytes_per_second"]
    return [axes.transData.transform((x, x * found["bytes_per_second"]))
            for x in (low * (knee / low) ** (i / 400) for i in range(401))]


def draw_limits(axes, found, colors, low, high):
    """The memory's slope up to the limit of each type; the legend has their names."""
    roof = found["bytes_per_second"]
    peaks = sorted(found["peaks"].items(), key=lambda item: -item[1])
    for (name, peak), dashes in zip(peaks, ("-", "--", "-.", ":")):
        axes.plot([peak / roof, high], [peak, peak], dashes, color=colors["text"], linewidth=2,
                  label=f"limit of products in {name}: {quantity.quantity(peak, 'FLOP/s')}")
    knee = peaks[0][1] / roof
    axes.plot([low, knee], [low * roof, peaks[0][1]], color=colors["muted"], linewidth=2,
              label=f"limit of memory: {quantity.quantity(roof, 'B/s')}")


def draw_points(axes, found, colors):
    for number, (_, words, marker, color) in enumerate(GROUPS):
        points = [point for point in found["points"] if point["group"] == number]
        if points:
            axes.plot([point["flops_per_byte"] for point in points],
                      [point["flops_per_second"] for point in points], marker, color=colors[color],
                      markersize=7, label=words, markeredgecolor=colors["background"])


def draw_labels(figure, axes, found, colors):
    """Names of points, the farthest from its limit first, wherever there is room for a name."""
    renderer = figure.canvas.get_renderer()
    transform = axes.transData.transform
    taken = [axes.get_legend().get_window_extent(renderer)]
    spots = slope(axes, found)
    spots += [transform((point["flops_per_byte"], point["flops_per_second"])) for point in found["points"]]
    named = set()
    inside = axes.get_window_extent(renderer)
    for point in sorted(found["points"], key=lambda point: point["flops_per_second"]):
        if label(point["name"]) in named:
            continue
        for x, y, side in ((9, 0, "left"), (-9, 0, "right"), (0, 10, "center"), (0, -10, "center")):
            text = axes.annotate(label(point["name"]), (point["flops_per_byte"], point["flops_per_second"]),
                                 (x, y), textcoords="offset points", va="center", ha=side,
                                 fontsize=style.SMALL, color=colors["muted"])
            box = text.get_window_extent(renderer)
            if (not any(box.overlaps(other) for other in taken)
                    and not any(box.expanded(1.05, 1.2).contains(*spot) for spot in spots)
                    and inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1)):
                taken.append(box)
                named.add(label(point["name"]))
                break
            text.remove()


def draw(found, theme):
    colors, figure = style.THEMES[theme], style.new_figure(7.5)
    used = style.head(figure, theme, "The kernels, and the limits of the device", found["origin"],
                      "Above the slope: the data were in a cache")
    axes = figure.add_subplot()
    style.place(figure, axes, 1.6, 0.8, style.EDGE, used)
    intensities = [point["flops_per_byte"] for point in found["points"]]
    speeds = [point["flops_per_second"] for point in found["points"]]
    knees = [peak / found["bytes_per_second"] for peak in found["peaks"].values()]
    low, high = min(intensities) / 3, max(intensities + knees) * 4
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(min(speeds + [low * found["bytes_per_second"]]) / 2,
                  max(speeds + list(found["peaks"].values())) * 3)
    draw_limits(axes, found, colors, low, high)
    draw_points(axes, found, colors)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: power(value))
    axes.set_xlabel("flops per byte")
    axes.grid(linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(loc="best")
    draw_labels(figure, axes, found, colors)
    return figure
