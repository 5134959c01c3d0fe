"""The diagnosers that take part: each is a command that gets the path of a trace and names causes.

Its answer is a line per cause, the most important first: a word, and maybe a number, the factor by which a step gets
shorter without that cause. No line, or the word "healthy", says that nothing is wrong. A line that begins with # is no
answer. The word is the id of a finding, as `chokepoint explain` lists them, or the name of a scenario. Two words
joined by "+" are no cause of their own: the number after them is what both fixes gain together.
"""
import importlib
import math
import os
import re
import shlex
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WORD = "[a-z][a-z0-9_]*"
LINE = re.compile(rf"({WORD}|{WORD}\+{WORD}(?=\s))(?:\s+(\S+))?")
LINES_MOST = 100

# Name on the command line, file below this folder, what it is.
ADAPTERS = (
    ("chokepoint", "findings", "the findings of chokepoint diagnose"),
    ("hta", "idle_rules", "rules of thumb on the idle time as HolisticTraceAnalysis breaks it down"),
    ("tensorboard", "plugin_rules", "the recommendations of PyTorch's TensorBoard plugin"),
    ("random", "chance", "words drawn at random"),
)


class Malformed(Exception):
    """An answer that is none."""


class Diagnoser:
    """`command(path)` is what runs; `read(text)` its answer as [(word, gain or None)]."""

    def __init__(self, name, command, read=None, skipped=None):
        self.name, self.command, self.read, self.skipped = name, command, read or read_lines, skipped


def read_lines(text):
    causes = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("#"):
            continue
        found = LINE.fullmatch(line)
        if not found or len(causes) == LINES_MOST:
            raise Malformed(f"{line[:60]!r} is not a cause")
        try:
            gain = float(found[2]) if found[2] else None
        except ValueError:
            raise Malformed(f"{line[:60]!r} has no number after its cause") from None
        if gain is not None and not (math.isfinite(gain) and gain > 0):
            raise Malformed(f"{line[:60]!r} has no factor after its cause")
        causes.append((found[1], gain))
    return [] if causes and causes[0][0] == "healthy" else causes


def find_program(given):
    """The program to judge: as given, of the checkout's build, or on the path."""
    built = os.path.join(HERE, "..", "..", "build", "chokepoint")
    for candidate in (given, shutil.which(given) if given else None, built, shutil.which("chokepoint")):
        if candidate and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return os.path.abspath(candidate)
    return None


def make(text, program, vocabulary, seed):
    """The diagnoser that `text` names; ValueError: it names none."""
    if text.startswith("cmd:"):
        words = shlex.split(text[len("cmd:"):])
        if not words:
            raise ValueError("cmd: needs a command, as in cmd:./mine.py")
        return Diagnoser(text, lambda path: [*words, path])
    for name, module, _ in ADAPTERS:
        if name == text:
            adapter = importlib.import_module(f"league.{module}")
            script = [sys.executable, os.path.join(HERE, f"{module}.py")]
            return adapter.diagnoser(Diagnoser, name, script, find_program(program), vocabulary, seed)
    known = ", ".join(name for name, _, _ in ADAPTERS)
    raise ValueError(f"there is no diagnoser {text!r}; there are {known} and cmd:COMMAND")
