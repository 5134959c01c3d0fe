#!/usr/bin/env python3
"""A result of `chokepoint run`, or traces, as one HTML file that needs nothing else.

usage: report.py --program=CHOKEPOINT --out=FILE [--] RESULT|TRACE...

`chokepoint report` calls it. All figures are those of result.json and of `diagnose --format=json`.
Exit codes: 0 all was read, 2 a file could not be read, 3 a library is missing.
"""
import argparse
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # it may be installed where the user may not write

INSTALL = "scripts/setup.sh --report installs it (Debian: python3-jinja2)"
SYSTEM_PYTHON = "/usr/bin/python3"  # for which Debian's packages are; python3 may be another one


def import_jinja():
    """Without Jinja2 the system's python3 gets a try."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        if os.access(SYSTEM_PYTHON, os.X_OK) and not os.environ.get("CHOKEPOINT_REPORT_AGAIN"):
            os.environ["CHOKEPOINT_REPORT_AGAIN"] = "1"
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
        fail(3, f"python3 has no Jinja2; {INSTALL}")


def fail(code, sentence):
    print(f"chokepoint: report: {sentence}", file=sys.stderr)
    sys.exit(code)


def write_whole(path, text):
    """Beside the file first: a page is there whole, or not at all."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, prefix=".report-",
                                         delete=False) as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(file.name, 0o666 & ~mask)
        os.replace(file.name, path)
    except OSError as error:
        if "file" in locals() and os.path.exists(file.name):
            os.unlink(file.name)
        fail(2, f"{path} cannot be written: {error.strerror}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("inputs", nargs="+")
    options = parser.parse_args()
    import_jinja()
    from report_page import page, sources
    if os.path.isdir(options.out):
        fail(2, f"{options.out} is a folder: give the name of a file")
    try:
        gathered = sources.gather(options.program, options.inputs)
    except sources.Unreadable as error:
        fail(2, str(error))
    text = page.render(gathered)
    write_whole(options.out, text)
    for trouble in gathered.troubles:
        print(f"chokepoint: report: {trouble}", file=sys.stderr)
    print(f"report in {options.out} ({len(text.encode()) / 1e6:.1f} MB)")
    sys.exit(2 if gathered.troubles else 0)


if __name__ == "__main__":
    main()
