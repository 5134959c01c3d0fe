#!/usr/bin/env python3
"""A result of `chokepoint run`, or traces, as one HTML file that needs nothing else.

usage: report.py --program=CHOKEPOINT --out=FILE [--] RESULT|TRACE...

`chokepoint report` calls it. All figures are those of result.json and of `diagnose --format=json`.
Exit codes: 0 all was read, 2 a file could not be read, 3 a library is missing, 130 after Ctrl-C.
"""
import argparse
import sys

sys.dont_write_bytecode = True  # it may be installed where the user may not write

from common import jinja, outside, whole_file


def fail(code, sentence):
    print(f"chokepoint: report: {outside.shown(sentence)}", file=sys.stderr)
    sys.exit(code)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("inputs", nargs="+")
    options = parser.parse_args()
    jinja.need(fail)
    from report_page import page, sources
    sys.stdout.reconfigure(errors="surrogateescape")  # a path is printed as it was given
    try:
        whole_file.refuse(options.out)  # before the work
        gathered = sources.gather(options.program, options.inputs)
        content = page.render(gathered).encode(errors="replace")
        whole_file.write(options.out, content)
    except sources.Unreadable as error:
        fail(2, str(error))
    except OSError as error:
        fail(2, f"--out={options.out} cannot be written: {error.strerror}")
    for trouble in gathered.troubles:
        print(f"chokepoint: report: {outside.shown(trouble)}", file=sys.stderr)
    print(f"report in {options.out} ({len(content) / 1e6:.1f} MB)")
    sys.exit(2 if gathered.troubles else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        fail(130, "stopped by an interrupt; no page was written")
