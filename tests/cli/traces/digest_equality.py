"""What diagnose says of digests and of the traces that they are of, side by side.

digest_equality.py PROGRAM FOLDER TRACE... makes a digest of each trace in FOLDER, and exits with 1 if JSON or page differ
other than by what a digest does not hold."""
import json
import os
import subprocess
import sys

NOT_HELD = ("kernels", "mix", "operators", "operator_count", "annotations", "annotation_count", "operator_kinds",
            "operator_kind_count", "memory", "gaps", "not_held", "file", "lines_from")
PAGE_ENDS = ("Gaps:", "Device work by kind", "Kernels", "Copies and memsets", "Phases", "Operators", "Memory", "Digest")


def said(program, *arguments):
    done = subprocess.run([program, "diagnose", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def without(value):
    if isinstance(value, dict):
        return {name: without(item) for name, item in value.items() if name not in NOT_HELD}
    return [without(item) for item in value] if isinstance(value, list) else value


def page(text):
    """Its lines, without the name of the file and the tables that a digest does not hold."""
    lines, shown = [], True
    for line in text.splitlines():
        if line and not line[0].isspace():
            shown = not line.startswith(PAGE_ENDS) if line[0].isupper() else shown
            shown = shown or line.startswith(("In short", "Findings"))
        if shown and line.strip():
            lines.append(line)
    return lines


def difference(one, other, where=""):
    if type(one) is not type(other):
        return f"{where}: {one!r} and {other!r}"
    if isinstance(one, dict):
        for name in sorted(set(one) | set(other)):
            if name not in one or name not in other:
                return f"{where}.{name} is in one only"
            found = difference(one[name], other[name], f"{where}.{name}")
            if found:
                return found
    elif isinstance(one, list):
        if len(one) != len(other):
            return f"{where}: {len(one)} and {len(other)} items"
        for number, pair in enumerate(zip(one, other)):
            found = difference(*pair, f"{where}[{number}]")
            if found:
                return found
    elif one != other:
        return f"{where}: {one!r} and {other!r}"
    return ""


def differs(program, folder, traces):
    digests = []
    for number, trace in enumerate(traces):
        digests.append(os.path.join(folder, f"{number}.digest"))
        subprocess.run([program, "digest", trace, "-o", digests[-1]], check=True, capture_output=True)
    one = without(json.loads(said(program, "--format=json", *traces)))
    other = without(json.loads(said(program, "--format=json", *digests)))
    found = difference(one, other)
    if found:
        return found
    for rank in [None] + [row.get("rank") for row in one["traces"]] if one["is_run"] else [None]:
        options = ["--thresholds"] + ([f"--rank={rank:.0f}"] if rank is not None else [])
        pages = [page(said(program, *options, *files)) for files in (traces, digests)]
        for path, digest in zip(traces, digests):
            pages[1] = [line.replace(digest, path) for line in pages[1]]
        for pair in zip(*pages):
            if pair[0] != pair[1]:
                return f"page: {pair[0]!r} and {pair[1]!r}"
    return ""


if __name__ == "__main__":
    answer = differs(sys.argv[1], sys.argv[2], sys.argv[3:])
    if answer:
        print(answer)
    sys.exit(1 if answer else 0)
