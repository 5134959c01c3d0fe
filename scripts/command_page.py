#!/usr/bin/env python3
"""What `chokepoint kernel` counted, or `chokepoint job` found, as one HTML file that needs nothing else.

usage: command_page.py --program=CHOKEPOINT --command=kernel|job --out=FILE [--beside=JSON] [--] ARGUMENT...

The command calls it if it has --out, with its own arguments. All figures are those of its --format=json; --beside is the
JSON of another run of `kernel`, which the page shows as before.
Exit codes: those of the command; 2 the page cannot be written, 3 a library is missing, 130 after Ctrl-C.
"""
import argparse
import importlib
import json
import subprocess
import sys

sys.dont_write_bytecode = True  # it may be installed where the user may not write

from common import jinja, outside, whole_file

ALSO = {"kernel": [], "job": ["--map"]}  # what a page needs beyond the JSON
command = "command_page.py"


def fail(code, sentence):
    print(f"chokepoint: {command}: {outside.shown(sentence)}", file=sys.stderr)
    sys.exit(code)


def found_by(program, arguments):
    """What the program found, and its exit code."""
    done = subprocess.run([program, command, *ALSO[command], "--format=json", *arguments], stdout=subprocess.PIPE, check=False)
    if not done.stdout:
        sys.exit(done.returncode or 2)
    return json.loads(done.stdout), done.returncode


def beside(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        return fail(2, f"--beside={path} cannot be read: {error}")


def main():
    global command
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--program", required=True)
    parser.add_argument("--command", required=True, choices=list(ALSO))
    parser.add_argument("--out", required=True)
    parser.add_argument("--beside")
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    command = options.command
    jinja.need(fail)
    maker = importlib.import_module(f"report_page.{command}")
    sys.stdout.reconfigure(errors="surrogateescape")  # a path is printed as it was given
    before = beside(options.beside) if options.beside else None
    try:
        whole_file.refuse(options.out)  # before the work
        found, code = found_by(options.program, options.arguments)
        content = maker.render(found, before).encode(errors="replace")
        whole_file.write(options.out, content)
    except OSError as error:
        fail(2, f"--out={options.out} cannot be written: {error.strerror}")
    except maker.MALFORMED as error:
        fail(2, f"{f'--beside={options.beside} is not' if before else 'this is not'} as {command} --format=json writes it "
                f"({type(error).__name__}: {error})")
    print(f"page in {options.out} ({len(content) / 1e3:.0f} kB)")
    sys.exit(code)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        fail(130, "stopped by an interrupt; no page was written")
