"""The parts of the page and the plots that show one kernel, from the JSON of `chokepoint kernel`: a picture of one
request of each access as shapes, which either draws, and the lines of the source beside their counts."""
import os

LANES, SECTOR, BANKS, WORD = 32, 32, 32, 4
CELL, LEFT, BAR = 8, 46, 64  # of a picture, in its own pixels
SECTORS_DRAWN = 32
HEATS = 5


def ratio(part, whole):
    return part / whole if whole else 0


def figure(value):
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


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


def picture(sample):
    """Lanes from left to right; sectors or banks from top to bottom, with how full, or how busy, each is. A width, a height,
    rectangles (x, y, width, height, kind) and texts (x, y, text, whether it ends there), from the upper left corner."""
    shared = sample["space"] == "shared"
    rows = by_bank(sample) if shared else by_sector(sample)[:SECTORS_DRAWN]
    most = max([1, *[count for _, _, count in rows]])
    right = LEFT + CELL * LANES + 6
    texts = [(LEFT, 10, "lane 0", False), (LEFT + CELL * LANES, 10, "31", True),
             (right, 10, "words" if shared else "of 32 B", False)]
    rectangles = []
    for at, (first, lanes, count) in enumerate(rows):
        y = 14 + CELL * at
        if at % 4 == 0:
            texts.append((LEFT - 4, y + 8, str(first), True))
        rectangles.append((LEFT, y, CELL * LANES, CELL - 1, "empty"))
        rectangles += [(LEFT + CELL * lane, y, CELL - 1, CELL - 1, "lane") for lane in sorted(lanes)]
        whole = most if shared else SECTOR
        kind = "waste" if shared and count > 1 else "used"
        rectangles.append((right, y, BAR, CELL - 1, "empty" if shared else "waste"))
        if count:
            rectangles.append((right, y, BAR * count / whole, CELL - 1, kind))
    return {"width": right + BAR + 4, "height": 18 + CELL * len(rows), "rectangles": rectangles, "texts": texts,
            "label": f"{sample['instruction']}: {len(rows)} {'banks' if shared else 'sectors'}"}


def unit_of(sample):
    one, more = ("pass", "passes") if sample["space"] == "shared" else ("sector", "sectors")
    return one if sample["touched"] == 1 else more


def pictures_of(found, most):
    """Pictures of the accesses that waste most, and of the others of their kind; one per line and access."""
    drawn, seen = [], set()
    order = sorted(found["samples"], key=lambda one: one["wanted_mean"] * one["requests"] -
                   one["touched_mean"] * one["requests"])
    for sample in order:
        key = sample["line"], sample["access"], sample["space"], sample["argument"]
        if key in seen or not sample["offsets"] or len(drawn) == most:
            continue
        seen.add(key)
        wanted = sum(count for _, _, count in by_sector(sample))
        drawn.append({**sample, "picture": picture(sample), "unit": unit_of(sample),
                      "mean": figure(sample["touched_mean"]), "moved_bytes": SECTOR * sample["touched"], "wanted_bytes": wanted})
    return drawn


# --- The source beside its counts ---

def accesses(row, space):
    """Touched and wanted by all accesses of a line to a space, and how many requests."""
    of = [one for one in row["accesses"] if one["name"].startswith(space)]
    return [sum(one[name] for one in of) for name in ("touched", "wanted", "requests")]


def heat(share):
    """One of five: none, some, ... of what is wasted."""
    return min(HEATS - 1, int(HEATS * max(0, share)))


def cell_of(row, space):
    touched, wanted, requests = accesses(row, space)
    if not requests:
        return {"text": "", "heat": 0}
    return {"text": f"{figure(touched / requests)} / {figure(wanted / requests)}",
            "heat": heat(1 - ratio(wanted, touched))}


def local_cell(row):
    requests = accesses(row, "local")[2]
    return {"text": figure(requests) if requests else "", "heat": HEATS - 1 if requests else 0}


def line_view(number, text, row, most):
    if row is None:
        return {"number": number, "text": text, "row": None}
    lanes = ratio(row["lanes"], row["instructions"])
    return {"number": number, "text": text, "row": row, "share": ratio(row["instructions"], most),
            "lanes": {"text": figure(lanes), "heat": heat(1 - lanes / LANES)},
            "sectors": cell_of(row, "global"), "passes": cell_of(row, "shared"),
            "local": local_cell(row)}


def lines_of(found):
    """The lines around those that ran; without a source those that ran."""
    rows = {row["line"]: row for row in found["lines"]
            if not found["source"] or row["file"] == os.path.basename(found["source"])}
    most = max([1, *[row["instructions"] for row in rows.values()]])
    if not found["code"]:
        return [line_view(row["line"], row["file"], row, most) for row in found["lines"]]
    return [line_view(number, text, rows.get(number), most)
            for number, text in enumerate(found["code"], found["code_first"])]
