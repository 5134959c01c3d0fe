#!/usr/bin/env python3
"""The commands in the blocks of shell in README.md, docs/ and the other documents are commands of this tree.

Each call of the program names a command that there is, scenarios that there are, and options that the command's help
has; each script is a file. README.md's tour also runs, in its order, in a folder of its own: `run` with --quick, `train`
with few steps. Not run: commands that need other builds, a GPU, a cluster or minutes, and scripts/run.sh and
scripts/test.sh, which install packages.

usage: test_doc_commands.py PROGRAM SOURCE
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
documents = [*sorted(source.glob("*.md")), *sorted((source / "docs").glob("*.md"))]
failures = []


def ask(*arguments):
    ran = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return ran.stdout if ran.returncode == 0 else None


def calls(text):
    """The words of each simple command in the blocks of shell."""
    found = []
    for block in re.findall(r"^ *```sh\n(.*?)^ *```$", text, flags=re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words = []
            for word in [*lexer, ";"]:
                if set(word) <= set(";&|()<>"):
                    found += [words] if words else []
                    words = []
                else:
                    words.append(word)
    # `sh -c TEXT` has commands of its own.
    inner = [calls(f"```sh\n{words[words.index('-c') + 1]}\n```\n") for words in found if words[-3:-1] == ["sh", "-c"]]
    return found + [words for more in inner for words in more]


def of_program(words):
    """The arguments, if the words call chokepoint, by themselves or under a profiler; else None. To a script it may be
    a name among others."""
    if words[0].startswith("scripts/"):
        return None
    for at, word in enumerate(words):
        if os.path.basename(word) == "chokepoint":
            return words[at + 1:]
    return None


def check(name, arguments, scenarios):
    shown = f"{name}: chokepoint {shlex.join(arguments)}"
    if not arguments or arguments[0].startswith("-"):
        return
    text = ask(arguments[0], "--help")
    if text is None:
        failures.append(f"{shown}: there is no such command")
        return
    for argument in arguments[1:]:
        option = re.match(r"--[\w-]+", argument)
        if option and not re.search(rf"(?<![\w-]){option[0]}(?![\w-])", text):
            failures.append(f"{shown}: {arguments[0]} has no option {option[0]}")
    first = arguments[1] if len(arguments) > 1 else ""
    if arguments[0] in ("run", "explain", "exec") and re.fullmatch("[a-z]+_[a-z_]+", first) and first not in scenarios:
        failures.append(f"{shown}: there is no scenario {first}")


def run_tour(tour):
    """As written, but for the time that it takes."""
    shorter = {"run": ["--quick"], "train": ["--steps=8"]}
    with tempfile.TemporaryDirectory() as folder:
        for arguments in tour:
            extra = shorter.get(arguments[0], [])
            ran = subprocess.run([program, *arguments, *extra], cwd=folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, check=False)
            # A noisy machine may not reproduce the scenario: run then exits with 1.
            allowed = (0, 1) if arguments[0] == "run" else (0,)
            if ran.returncode not in allowed or not ran.stdout:
                failures.append(f"README.md: chokepoint {shlex.join(arguments)} exits with {ran.returncode}: "
                                f"{ran.stderr}")


scenarios = [scenario["name"] for scenario in json.loads(ask("list", "--format=json"))["scenarios"]]
checked = 0
for document in documents:
    for words in calls(document.read_text()):
        arguments = of_program(words)
        if arguments is not None:
            checked += 1
            check(document.name, arguments, scenarios)
        elif words[0].startswith("scripts/") and not (source / words[0]).is_file():
            failures.append(f"{document.name}: there is no {words[0]}")
if checked < 20:
    failures.append(f"only {checked} calls of chokepoint were found in the documents")
tour = [of_program(words) for words in calls((source / "README.md").read_text())]
tour = [arguments for arguments in tour if arguments]
if len(tour) < 5:
    failures.append(f"README.md's tour has only {len(tour)} commands")
run_tour(tour)
print(f"{checked} calls in {len(documents)} documents, {len(tour)} in the tour")
for failure in failures:
    print(failure)
sys.exit(bool(failures))
