#!/usr/bin/python3
"""Draws pictures of what chokepoint measured, for slides, papers and pages.

    scripts/plot.py effects chokepoint-result -o effects.svg
    scripts/plot.py steps chokepoint-result --scenario item_sync -o steps.png --theme dark

The figures are those of the files, and `-o FIGURES.json` writes what a picture shows. Needs matplotlib,
Debian's python3-matplotlib: scripts/setup.sh --plots installs it."""

import argparse
import hashlib
import json
import pathlib
import sys
import warnings

sys.dont_write_bytecode = True  # the checkout stays as it is
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from common import outside, whole_file
from plots import effects, kernel, lesson, memory, read, roofline, steps, style, sweep, timeline, trend

KINDS = {kind.NAME: kind for kind in (effects, lesson, steps, timeline, memory, roofline, sweep, trend, kernel)}

EPILOG = ("A folder stands for the result.json in it. Exit codes: 0 the picture is written; 2 bad usage or "
          "bad input; 3 matplotlib or chokepoint is missing.")


def figures_hash(found):
    """Tells whether a picture shows these figures; independent of matplotlib."""
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def encoded(kind, found, ending, theme):
    """`found` as the bytes of a file with that ending."""
    if ending == ".json":
        return (json.dumps(found, indent=1) + "\n").encode()
    with style.themed(theme), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a name in a script that the font lacks
        return style.encoded(kind.draw(printable(found), theme), ending[1:],
                             f"figures sha256:{figures_hash(found)}")


def printable(found):
    """The same with a ? for each half of a surrogate pair, as a path that is no UTF-8 has them."""
    return json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))


def arguments(texts):
    parser = argparse.ArgumentParser(prog="plot.py", description=__doc__.split("\n\n")[0], epilog=EPILOG)
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind in KINDS.values():
        one = kinds.add_parser(kind.NAME, help=kind.HELP, description=kind.__doc__, epilog=EPILOG)
        one.add_argument("inputs", nargs="+" if kind.MANY else 1, metavar="FILE",
                         help="a file that chokepoint wrote, or a result folder")
        one.add_argument("-o", "--out", required=True, metavar="FILE", help="picture.svg, picture.png, or "
                         "figures.json for the figures alone")
        one.add_argument("--theme", choices=["light", "dark"], default="light")
        for flag, settings in getattr(kind, "FLAGS", {}).items():
            one.add_argument(flag, **settings)
        if not hasattr(kind, "FLAGS"):
            one.add_argument("--scenario", action="append", metavar="NAME", help="of those in the result")
    return parser.parse_args(texts)


def main(texts):
    options = arguments(texts)
    ending = pathlib.Path(options.out).suffix
    if ending not in (".svg", ".png", ".json"):
        raise read.InputError(f"-o {options.out}: give a name that ends in .svg, .png or .json")
    kind = KINDS[options.kind]
    try:
        content = encoded(kind, kind.data(options), ending, options.theme)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise read.InputError(f"{', '.join(options.inputs)}: not as this version of chokepoint writes it "
                              f"({type(error).__name__}: {error})") from None
    try:
        whole_file.write(options.out, content)
    except OSError as error:
        raise read.InputError(f"{options.out}: {error.strerror}") from None


def exit_with(main, name):
    """Runs `main` of a script called `name`; an error is one sentence."""
    try:
        sys.exit(main(sys.argv[1:]))
    except (read.InputError, read.MissingError) as error:
        print(f"{name}: {outside.shown(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print(f"{name}: stopped by an interrupt", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    exit_with(main, "plot.py")
