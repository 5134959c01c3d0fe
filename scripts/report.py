#!/usr/bin/env python3
"""One HTML file that needs nothing else: a result of `chokepoint run` or traces, what `chokepoint kernel` counted, or what
`chokepoint job` found.

usage: report.py --program=CHOKEPOINT --command=report|kernel|job --out=FILE [--beside=JSON] [--] ARGUMENT...

The command calls it, kernel and job if they have --out, with its own arguments. All figures are those of result.json and of
the program's --format=json; --beside is the JSON of another run of `kernel`, which the page shows as before.
Exit codes: of report 0, or 2 if a file could not be read; of the others those of the command. 2 the page cannot be written,
3 a library is missing, 130 after Ctrl-C.
"""
import argparse
import importlib
import json
import subprocess
import sys

sys.dont_write_bytecode = True  # it may be installed where the user may not write

from common import jinja, outside, whole_file

ALSO = {"kernel": [], "job": ["--map"]}  # what a page needs beyond the JSON
command = "report"


def say(sentence):
    print(f"chokepoint: {command}: {outside.shown(sentence)}", file=sys.stderr)


def fail(code, sentence):
    say(sentence)
    sys.exit(code)


def report(options):
    """The page of a result or of traces, and the exit code."""
    from report_page import page, sources
    try:
        gathered = sources.gather(options.program, options.arguments)
    except sources.Unreadable as error:
        fail(2, str(error))
    content = page.render(gathered)
    for trouble in gathered.troubles:
        say(trouble)
    return content, 2 if gathered.troubles else 0


def beside(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        return fail(2, f"--beside={path} cannot be read: {error}")


def page_of_command(options):
    """The page of what the command finds, and the command's exit code."""
    maker = importlib.import_module(f"report_page.{command}")
    before = beside(options.beside) if options.beside else None
    done = subprocess.run([options.program, command, *ALSO[command], "--format=json", *options.arguments],
                          stdout=subprocess.PIPE, check=False)
    if not done.stdout:
        sys.exit(done.returncode or 2)
    try:
        return maker.render(json.loads(done.stdout), before), done.returncode
    except maker.MALFORMED as error:
        return fail(2, f"{f'--beside={options.beside} is not' if before else 'this is not'} as {command} --format=json writes "
                       f"it ({type(error).__name__}: {error})")


def main():
    global command
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--program", required=True)
    parser.add_argument("--command", required=True, choices=[command, *ALSO])
    parser.add_argument("--out", required=True)
    parser.add_argument("--beside")
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    command = options.command
    jinja.need(fail)
    try:
        whole_file.refuse(options.out)  # before the work
        content, code = (page_of_command if command in ALSO else report)(options)
        content = content.encode(errors="replace")
        whole_file.write(options.out, content)
    except OSError as error:
        fail(2, f"--out={options.out} cannot be written: {error.strerror}")
    name = outside.shown(options.out)
    print(f"page in {name} ({len(content) / 1e3:.0f} kB)" if command in ALSO else
          f"report in {name} ({len(content) / 1e6:.1f} MB)")
    sys.exit(code)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        fail(130, "stopped by an interrupt; no page was written")
