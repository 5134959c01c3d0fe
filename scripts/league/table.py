"""The scores as a table for a terminal or in Markdown."""
COLUMNS = ("diagnoser", "first cause right", "part right", "both named", "false alarms", "gain off by",
           "both off by", "s per trace", "peak MB", "failed")
NOTHING = "–"


def percent(share):
    if share["share"] is None:
        return NOTHING
    low, high = share["interval"]
    return f"{100 * share['share']:.0f}% ({100 * low:.0f}–{100 * high:.0f})"


def off_by(error):
    return f"{100 * error['median']:.0f}% (of {error['of']})" if error["of"] else NOTHING


def cells(row):
    if row["skipped"]:
        return [row["name"], f"skipped: {row['skipped']}", *[""] * (len(COLUMNS) - 2)]
    score = row["score"]
    peak = score["peak_bytes"]
    return [row["name"], percent(score["first_right"]), percent(score["part_right"]), percent(score["both_named"]),
            percent(score["false_alarms"]),
            off_by(score["gain_error"]), off_by(score["together_error"]),
            f"{score['seconds']:.2f}" if score["seconds"] is not None else NOTHING,
            f"{'≤ ' if score['peak_is_bound'] else ''}{peak / 1e6:.0f}" if peak is not None else NOTHING,
            str(score["failures"])]


def markdown(rows):
    escaped = [[cell.replace("|", "\\|") for cell in cells(row)] for row in rows]
    lines = [COLUMNS, ["---", *["--:"] * (len(COLUMNS) - 1)], *escaped]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def console(rows):
    lines = [list(COLUMNS), *[cells(row) for row in rows]]
    whole = [line for line in lines if not line[1].startswith("skipped")]
    widths = [max(len(line[i]) for line in whole) for i in range(len(COLUMNS))]
    widths[0] = max(len(line[0]) for line in lines)
    texts = []
    for line in lines:
        if line[1].startswith("skipped"):
            texts.append(f"{line[0]:<{widths[0]}}  {line[1]}")
        else:
            texts.append("  ".join([f"{line[0]:<{widths[0]}}", *[f"{cell:>{width}}" for cell, width in
                                                                 zip(line[1:], widths[1:], strict=True)]]))
    return "\n".join(texts) + "\n"


def footing(result):
    """What the table is of, in sentences."""
    kinds = result["kinds"]
    text = (f"{result['scored']} traces of {result['corpus']['device']}: {kinds['one']} with one bottleneck, "
            f"{kinds['two']} with two, {kinds['healthy']} healthy.")
    if result["left_out"]["not_measurable"]:
        text += (f" {result['left_out']['not_measurable']} more are left out, because a fix had no measurable effect "
                 "there.")
    if result["left_out"]["no_trace"]:
        text += f" {result['left_out']['no_trace']} have no trace."
    if result["corpus"]["load"] is not None:
        text += (f" As it was begun, the load was {result['corpus']['load']:.1f} on {result['corpus']['processors']} "
                 "processors.")
    if result["chance"] is not None:
        text += f" By chance {100 * result['chance']:.0f}% of first causes are right."
    return text
