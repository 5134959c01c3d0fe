"""One kernel, or two beside each other: the lines of the source beside their counts, the darker the more of it is
wasted, and below which lanes of a request touch which sectors of memory, or which banks of shared memory."""

from common import kernel_picture

from . import read, style

NAME = "kernel"
HELP = "lanes against sectors and banks, and a heat map of the source, of one kernel or two beside each other"
MANY = True
FLAGS = {}

RUNS_MOST, PICTURES_MOST, LINES_MOST = 2, 3, 30
GAP, LINE, SCALE = 0.35, 0.24, 1 / 92  # inches: between runs, of a line, of a picture's pixel
COLUMNS = (("line", 0.4), ("instructions", 1.35), ("lanes", 1.9), ("sectors", 2.75), ("passes", 3.5))  # where each ends
CELL, SOURCE = 0.7, 3.65


def data(options):
    if len(options.inputs) > RUNS_MOST:
        raise read.InputError(f"{len(options.inputs)} files: a picture has {RUNS_MOST} kernels at most")
    return {"runs": [run(path) for path in options.inputs]}


def run(path):
    found = read.load(path)
    if "samples" not in found or "code" not in found:
        raise read.InputError(f"{path}: this is no kernel --format=json")
    lines = [line for line in kernel_picture.lines_of(found) if line["row"]][:LINES_MOST]
    return {"kernel": found["kernel"],
            "findings": [f"{one['id']}: {one['text']}" for one in found["findings"]],
            "lines": [{"number": line["number"], "text": line["text"].strip(), "share": line["share"],
                       **{name: line[name] for name in ("lanes", "sectors", "passes")}} for line in lines],
            "pictures": [{**one["picture"], "line": one["line"],
                          "words": f"line {one['line']}, {one['access']}: {one['touched']} {one['unit']} where "
                                   f"{one['wanted']} would do"}
                         for one in kernel_picture.pictures_of(found, PICTURES_MOST)]}


def mixed(theme, heat):
    """The background, and more orange in it the higher the heat is."""
    from matplotlib.colors import to_rgb
    share = heat / (kernel_picture.HEATS - 1) * (0.8 if theme == "light" else 0.6)
    pairs = zip(to_rgb(style.THEMES[theme]["background"]), to_rgb(style.ORANGE))
    return tuple((1 - share) * paper + share * orange for paper, orange in pairs)


def heights(one):
    """Inches of the lines, and of the pictures with their captions."""
    return (len(one["lines"]) + 1.5) * LINE, sum(picture["height"] * SCALE + 0.45 for picture in one["pictures"])


def rectangle(axes, x, y, width, height, color):
    from matplotlib.patches import Rectangle
    axes.add_patch(Rectangle((x, y), width, height, facecolor=color, linewidth=0))


def draw_lines(figure, theme, axes, one, left, width, top):
    colors = style.THEMES[theme]
    for name, end in COLUMNS:
        axes.text(left + end, top, name, ha="right", va="center", fontsize=style.SMALL, color=colors["muted"])
    for at, line in enumerate(one["lines"]):
        y = top + (at + 1) * LINE
        axes.text(left + 0.4, y, line["number"], ha="right", va="center", fontsize=style.SMALL, color=colors["muted"])
        rectangle(axes, left + 0.5, y - 0.06, 0.8 * line["share"], 0.12, colors["after"])
        for name, end in COLUMNS[2:]:
            rectangle(axes, left + end - CELL, y - LINE / 2, CELL + 0.04, LINE, mixed(theme, line[name]["heat"]))
            axes.text(left + end, y, line[name]["text"], ha="right", va="center", fontsize=style.SMALL,
                      color=colors["text"])
        text = style.shorten(figure, line["text"], width - SOURCE, style.SMALL)
        axes.text(left + SOURCE, y, text, va="center", fontsize=style.SMALL, color=colors["text"])


def draw_picture(figure, theme, axes, picture, left, width, top):
    """Returns the inches that it takes."""
    colors = style.THEMES[theme]
    kinds = {"empty": colors["fill"], "lane": colors["after"], "used": colors["after"], "waste": style.ORANGE}
    axes.text(left, top, style.shorten(figure, picture["words"], width, style.SMALL), va="center",
              fontsize=style.SMALL, color=colors["text"])
    top += 0.15
    for x, y, wide, high, kind in picture["rectangles"]:
        rectangle(axes, left + x * SCALE, top + y * SCALE, wide * SCALE, high * SCALE, kinds[kind])
    for x, y, text, is_end in picture["texts"]:
        axes.text(left + x * SCALE, top + y * SCALE, text, ha="right" if is_end else "left", va="bottom",
                  fontsize=style.SMALL, color=colors["muted"])
    return picture["height"] * SCALE + 0.45


def draw(found, theme):
    runs, colors = found["runs"], style.THEMES[theme]
    lines, pictures = (max(part) for part in zip(*(heights(one) for one in runs)))
    figure = style.new_figure(2.2 + lines + pictures)
    used = style.head(figure, theme, " → ".join(one["kernel"] for one in runs),
                      "Sectors of memory and passes of shared memory per request: touched / would do",
                      "Pictures: the request that wastes most, lanes from left to right; orange: moved, or served again, in vain")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, style.WIDTH)
    axes.set_ylim(figure.get_size_inches()[1], 0)
    axes.axis("off")
    width = (style.WIDTH - 2 * style.EDGE - GAP * (len(runs) - 1)) / len(runs)
    for at, one in enumerate(runs):
        left, top = style.EDGE + at * (width + GAP), used + 0.1
        words = "; ".join(one["findings"]) or "none of the rules holds"
        axes.text(left, top, style.shorten(figure, words, width), va="center", fontsize=style.TEXT,
                  color=colors["before"] if one["findings"] else colors["text"])
        draw_lines(figure, theme, axes, one, left, width, top + 0.4)
        top += 0.4 + lines + 0.1
        for picture in one["pictures"]:
            top += draw_picture(figure, theme, axes, picture, left, width, top)
    return figure
