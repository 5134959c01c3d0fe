#!/usr/bin/env python3
"""What `chokepoint kernel` counted, as one HTML file that needs nothing else.

usage: kernel_page.py --program=CHOKEPOINT --out=FILE [--beside=JSON] [--] ARGUMENT...

`chokepoint kernel --out` calls it, with the command's own arguments. All figures are those of `kernel --format=json`;
--beside is the JSON of another run, which the page shows as before.
Exit codes: those of `kernel`; 2 the page cannot be written, 3 a library is missing, 130 after Ctrl-C.
"""
import argparse
import json
import subprocess
import sys

sys.dont_write_bytecode = True  # it may be installed where the user may not write

from common import jinja, outside, whole_file


def fail(code, sentence):
    print(f"chokepoint: kernel: {outside.shown(sentence)}", file=sys.stderr)
    sys.exit(code)


def counted(program, arguments):
    """What the program counted, and its exit code."""
    done = subprocess.run([program, "kernel", *arguments, "--format=json"], stdout=subprocess.PIPE, check=False)
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
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--beside")
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    jinja.need(fail)
    from report_page import kernel
    sys.stdout.reconfigure(errors="surrogateescape")  # a path is printed as it was given
    before = beside(options.beside) if options.beside else None
    try:
        whole_file.refuse(options.out)  # before the work
        found, code = counted(options.program, options.arguments)
        content = kernel.render(found, before).encode(errors="replace")
        whole_file.write(options.out, content)
    except OSError as error:
        fail(2, f"--out={options.out} cannot be written: {error.strerror}")
    except kernel.MALFORMED as error:
        fail(2, f"--beside={options.beside} is not as kernel --format=json writes it ({type(error).__name__}: {error})")
    print(f"page in {options.out} ({len(content) / 1e3:.0f} kB)")
    sys.exit(code)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        fail(130, "stopped by an interrupt; no page was written")
