"""One style for all plots: colours, sizes, and how a figure becomes a file.

The colours are those of Okabe and Ito, "Color Universal Design" (2008), which people with any of the common
colour blindnesses can tell apart; on a dark background the lighter ones of them stand for the same things.
Sizes are for slides: no text is smaller than 10 points in a figure of 12 inches."""

import io
import re

from . import read

WIDTH = 12  # inches
TITLE, TEXT, SMALL = 17, 12, 10.5  # points
ROW = 0.36  # inches of a row of text
EDGE = 0.3  # inches around everything

ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
GREY, DARK, BROWN = "#999999", "#5c5c5c", "#8c6239"  # where eight are not enough

THEMES = {
    "light": {"background": "#ffffff", "text": "#1a1a1a", "muted": "#595959", "grid": "#d4d4d4",
              "fill": "#e4e4e4", "before": VERMILION, "after": BLUE, "third": GREEN},
    "dark": {"background": "#15181d", "text": "#f2f2f2", "muted": "#b4bac2", "grid": "#3c424b",
             "fill": "#363c45", "before": ORANGE, "after": SKY, "third": PURPLE},
}


def library():
    """matplotlib, which only drawing needs."""
    try:
        import matplotlib
    except ImportError:
        raise read.MissingError("matplotlib is missing: scripts/setup.sh --plots installs it for "
                                "/usr/bin/python3, and pip install matplotlib for another") from None
    return matplotlib


def themed(theme):
    """A context with the settings of a theme, the same on every machine whatever its matplotlibrc says."""
    matplotlib, colors = library(), THEMES[theme]
    return matplotlib.rc_context({
        **matplotlib.rcParamsDefault, "backend": "agg",
        "figure.facecolor": colors["background"], "savefig.facecolor": colors["background"],
        "axes.facecolor": colors["background"], "axes.edgecolor": colors["muted"],
        "axes.labelcolor": colors["text"], "text.color": colors["text"],
        "xtick.color": colors["muted"], "ytick.color": colors["muted"],
        "xtick.labelcolor": colors["text"], "ytick.labelcolor": colors["text"],
        "grid.color": colors["grid"], "legend.frameon": False,
        # A reader without DejaVu Sans sees a font that is no wider.
        "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
        "font.size": TEXT, "legend.fontsize": TEXT,
        "axes.labelsize": TEXT, "xtick.labelsize": TEXT, "ytick.labelsize": TEXT,
        "axes.spines.top": False, "axes.spines.right": False,
        "hatch.color": colors["background"],
        # Text stays text, a $ in it is one, and ids are the same in every run.
        "text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "chokepoint",
    })


def new_figure(height):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(WIDTH, height))
    FigureCanvasAgg(figure)
    return figure


def text_width(figure, text, size=TEXT, weight="normal"):
    """Inches that `text` takes."""
    drawn = figure.text(0, 0, text, fontsize=size, fontweight=weight)
    width = drawn.get_window_extent(figure.canvas.get_renderer()).width / figure.dpi
    drawn.remove()
    return width


def shorten(figure, text, width, size=TEXT, weight="normal"):
    """`text`, or as much of its beginning as takes at most `width` inches."""
    if text_width(figure, text, size, weight) <= width:
        return text
    while text and text_width(figure, text + "…", size, weight) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def place(figure, axes, left, bottom, right, top):
    """Puts the axes at so many inches from each side of the figure."""
    width, height = figure.get_size_inches()
    axes.set_position([left / width, bottom / height, (width - left - right) / width,
                       (height - bottom - top) / height])


def head(figure, theme, title, *lines):
    """A title and lines below it; the inches that they take."""
    width, height = figure.get_size_inches()
    colors, used = THEMES[theme], EDGE
    rows = [(title, TITLE, "bold", colors["text"], 0.36)]
    rows += [(line, TEXT, "normal", colors["muted"], 0.27) for line in lines if line]
    for text, size, weight, color, inches in rows:
        figure.text(EDGE / width, 1 - used / height, shorten(figure, text, width - 2 * EDGE, size, weight),
                    fontsize=size, fontweight=weight, color=color, va="top")
        used += inches
    return used + 0.1


def legend(figure, axes, used):
    """A row of names below the head; the inches that all take."""
    height = figure.get_size_inches()[1]
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, ncols=len(names), loc="upper left", borderpad=0, borderaxespad=0,
                  bbox_to_anchor=(EDGE / WIDTH, 1 - used / height))
    return used + 0.4


def swatches(figure, theme, bottom, title, named):
    """A line of a legend, so many inches above the bottom: names in front of which are their colours."""
    colors, (width, height), at = THEMES[theme], figure.get_size_inches(), EDGE
    for text, color in [(title, None), *named]:
        if color:
            figure.text(at / width, bottom / height, "■", color=color, va="center", fontsize=TEXT)
            at += 0.2
        figure.text(at / width, bottom / height, text, va="center", fontsize=SMALL,
                    color=colors["text" if color else "muted"])
        at += text_width(figure, text, SMALL) + 0.2


def bare(axes, grid="x"):
    """Only the lines that help to read a value."""
    for side in ("top", "right", "left" if grid == "x" else "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y" if grid == "x" else "x", length=0)
    axes.grid(axis=grid, linewidth=0.8)
    axes.set_axisbelow(True)


def encoded(figure, form, description):
    """The bytes of a "png" or "svg", the same for the same figure and version of matplotlib. `description` is
    in them."""
    metadata = {"svg": {"Date": None, "Creator": "chokepoint", "Description": description},
                "png": {"Software": "chokepoint", "Description": description}}[form]
    drawn = io.BytesIO()
    figure.savefig(drawn, format=form, dpi=110, metadata=metadata)
    content = drawn.getvalue()
    if form == "svg":  # XML has no control characters, and a picture no thousandths of a point
        content = re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", b"", content)
        content = re.sub(rb"\n\s+", b"\n", re.sub(rb"(\d\.\d\d)\d+", rb"\1", content))
    return content
