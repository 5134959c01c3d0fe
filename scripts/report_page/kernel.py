"""From the JSON of `chokepoint kernel` to a page: its findings, the source beside its counts, and a picture of each
access that wastes. Pictures are SVG, so the page shows them without a script."""
import os
import pathlib

import markupsafe

from report_page import page

FOLDER = pathlib.Path(__file__).parent
MALFORMED = page.MALFORMED
LANES, SECTOR, BANKS, WORD = 32, 32, 32, 4
CELL, LEFT, BAR = 8, 46, 64  # of a picture, in its own pixels
SECTORS_DRAWN = 32
PICTURES_MOST = 8


def ratio(part, whole):
    return part / whole if whole else 0


def figure(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


# --- Pictures of one request ---

def lanes_of(sample):
    """Lane and place in bytes, of those that take part."""
    lanes = [lane for lane in range(LANES) if sample["mask"] >> lane & 1]
    return list(zip(lanes, sample["offsets"]))


def by_sector(sample):
    """A row per sector: its first byte, the lanes that touch it, and the bytes of it that are wanted."""
    rows = {}
    for lane, offset in lanes_of(sample):
        for byte in range(int(offset), int(offset) + sample["bytes"]):
            lanes, wanted = rows.setdefault(byte // SECTOR, (set(), set()))
            lanes.add(lane)
            wanted.add(byte)
    return [(sector * SECTOR, lanes, len(wanted)) for sector, (lanes, wanted) in sorted(rows.items())]


def by_bank(sample):
    """A row per bank: its number, the lanes that touch it, and how many different words of it they want."""
    rows = {bank: (set(), set()) for bank in range(BANKS)}
    for lane, offset in lanes_of(sample):
        for word in range(int(offset) // WORD, (int(offset) + sample["bytes"] - 1) // WORD + 1):
            lanes, words = rows[word % BANKS]
            lanes.add(lane)
            words.add(word)
    return [(bank, lanes, len(words)) for bank, (lanes, words) in rows.items()]


def rectangle(x, y, width, height, kind):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}"/>'


def picture(sample):
    """Lanes from left to right; sectors or banks from top to bottom, with how full, or how busy, each is."""
    shared = sample["space"] == "shared"
    rows = by_bank(sample) if shared else by_sector(sample)[:SECTORS_DRAWN]
    most = max([1, *[count for _, _, count in rows]])
    height, right = 16 + CELL * len(rows), LEFT + CELL * LANES + 6
    parts = [f'<text x="{LEFT}" y="10">lane 0</text>',
             f'<text x="{LEFT + CELL * LANES}" y="10" class="end">31</text>',
             f'<text x="{right}" y="10">{"words" if shared else "of 32 B"}</text>']
    for at, (first, lanes, count) in enumerate(rows):
        y = 14 + CELL * at
        if at % 4 == 0:
            parts.append(f'<text x="{LEFT - 4}" y="{y + 8}" class="end">{first}</text>')
        parts.append(rectangle(LEFT, y, CELL * LANES, CELL - 1, "empty"))
        parts += [rectangle(LEFT + CELL * lane, y, CELL - 1, CELL - 1, "lane") for lane in sorted(lanes)]
        whole = most if shared else SECTOR
        kind = ("waste" if count > 1 else "used") if shared else "used"
        parts.append(rectangle(right, y, BAR, CELL - 1, "empty" if shared else "waste"))
        if count:
            parts.append(rectangle(right, y, BAR * count / whole, CELL - 1, kind))
    label = f"{sample['instruction']}: {len(rows)} {'banks' if shared else 'sectors'}"
    return markupsafe.Markup(f'<svg viewBox="0 0 {right + BAR + 4} {height + 2}" role="img" '
                             f'aria-label="{markupsafe.escape(label)}">{"".join(parts)}</svg>')


def pictures_of(found):
    """Of the accesses that waste most, and of the others of their kind; one per line and access."""
    drawn, seen = [], set()
    order = sorted(found["samples"], key=lambda one: one["wanted_mean"] * one["requests"] -
                   one["touched_mean"] * one["requests"])
    for sample in order:
        key = sample["line"], sample["access"], sample["space"], sample["argument"]
        if key in seen or not sample["offsets"] or len(drawn) == PICTURES_MOST:
            continue
        seen.add(key)
        wanted = sum(count for _, _, count in by_sector(sample))
        drawn.append({**sample, "svg": picture(sample), "unit": "passes" if sample["space"] == "shared" else "sectors",
                      "moved_bytes": SECTOR * sample["touched"], "wanted_bytes": wanted})
    return drawn


# --- The source beside its counts ---

def accesses(row, space):
    """Touched and wanted by all accesses of a line to a space, and how many requests."""
    of = [one for one in row["accesses"] if one["name"].startswith(space)]
    return [sum(one[name] for one in of) for name in ("touched", "wanted", "requests")]


def heat(share):
    """One of five classes: none, some, ... of what is wasted."""
    return f"heat{min(4, int(5 * max(0, share)))}"


def cell_of(row, space):
    touched, wanted, requests = accesses(row, space)
    if not requests:
        return {"text": "", "heat": ""}
    return {"text": f"{figure(touched / requests)} / {figure(wanted / requests)}",
            "heat": heat(1 - ratio(wanted, touched))}


def line_view(number, text, row, most):
    if row is None:
        return {"number": number, "text": text, "row": None}
    lanes = ratio(row["lanes"], row["instructions"])
    return {"number": number, "text": text, "row": row, "share": ratio(row["instructions"], most),
            "lanes": {"text": figure(lanes), "heat": heat(1 - lanes / LANES)},
            "sectors": cell_of(row, "global"), "passes": cell_of(row, "shared"),
            "local": accesses(row, "local")[2]}


def lines_of(found):
    """The lines around those that ran; without a source those that ran."""
    rows = {row["line"]: row for row in found["lines"]
            if not found["source"] or row["file"] == os.path.basename(found["source"])}
    most = max([1, *[row["instructions"] for row in rows.values()]])
    if not found["code"]:
        return [line_view(row["line"], row["file"], row, most) for row in found["lines"]]
    return [line_view(number, text, rows.get(number), most)
            for number, text in enumerate(found["code"], found["code_first"])]


# --- The page ---

def view(found, name):
    counts = found["counts"]
    return {**found, "name": name, "code": lines_of(found), "pictures": pictures_of(found),
            "lanes_mean": ratio(counts["lanes"], counts["instructions"])}


def render(found, before):
    """The page of a run, and of another before it."""
    script = (FOLDER / "theme.js").read_text()
    runs = ([view(before, "before")] if before else []) + [view(found, "after" if before else "")]
    style = (FOLDER / "style.css").read_text() + (FOLDER / "kernel.css").read_text()
    return page.environment().get_template("kernel.html").render(
        runs=runs, style=markupsafe.Markup(style), script=markupsafe.Markup(script), figure=figure,
        script_digest=page.digest_of(script))
