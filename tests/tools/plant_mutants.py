#!/usr/bin/env python3
"""Plants mutants that a seed chose over all folders, builds what each changes, and runs the tests of its folder.

    plant_mutants.py [--count N] [--seed N] [--only N]... FOLDER
    plant_mutants.py --list [--count N] [--seed N]

Works on a copy of the checkout in FOLDER, as plant_bugs.py does. A folder is drawn, then a file of it, then a line, then
a change of the line: a comparison turned or moved by one, a statement dropped, a one left out, a sum for a difference, a
condition the other way round. A mutant that does not compile is replaced by the next one; so is one that only the
sanitizers could see (memory that is not released, a lock not taken). The tests are those of the folder below tests/ of
the same name, then those of the folders above it, the quick ones first. The table says which test found each, and
the exit code is 1 if more than one in ten was not found: such a mutant wants a test, or changes nothing."""

import argparse
import json
import pathlib
import random
import re
import signal
import sys
import time

from plant_bugs import SOURCE, copy_checkout, must, run

ROOTS = ("harness", "benches", "kernels")
# What the tests of this build cannot run: several processes, a GPU, the other program.
LEFT_OUT = re.compile(r"/device/mpi/|/cuda/kernels/|/desk_main")
# Dropped, these are seen by the sanitizers alone, or by nobody: a hint to the system, a message.
UNSEEN = re.compile(r"free|close|release|destroy|unlock|lock|madvise|setvbuf|memset|print|puts|flush|cleanup|FAIL|assert|goto|break")
MOST_FOUND_MISSING = 0.1
LONG = 45  # seconds; what takes longer is not run

# What stands in a line of code, and what takes its place.
CHANGES = [
    (r"(?<=[\w)\]] )<(?= [\w(\-])", "<="), (r"(?<= )<=(?= )", "<"),
    (r"(?<=[\w)\]] )>(?= [\w(\-])", ">="), (r"(?<= )>=(?= )", ">"),
    (r"(?<= )==(?= )", "!="), (r"(?<= )!=(?= )", "=="),
    (r"(?<= )&&(?= )", "||"), (r"(?<= )\|\|(?= )", "&&"),
    (r" [+-] 1\b(?![.\w])", ""), (r"(?<=[\w)\]]) \+(?= [\w(])", " -"), (r"(?<=[\w)\]]) -(?= [\w(])", " +"),
    (r"(?<=[(\s])!(?=[\w(])", ""), (r"\bif \((?=.*\)$)", "if (!("),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"(?<== )0(?=;)", "1"),
]
# The smaller or larger of two is the same where both are equal.
SMALLER = re.compile(r"([\w.\->\[\]()]+) [<>]=? ([\w.\->\[\]()]+)\)? \? (?:\1|\2)\b")
STATEMENT = re.compile(r"( +)(?:\w[\w.\->\[\]]* (?:[+|&*-]?=) [^=].*|\w[\w.\->\[\]]*(?:\+\+|--)|\w+\([^{}]*\));")


def code_lines(text):
    """The numbers of the lines that hold code of a function, and that code without strings and comments."""
    bare = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', lambda found: re.sub(r"[^\n]", "\1", found[0]), text, flags=re.S)
    inside = False
    for number, line in enumerate(bare.split("\n")):
        if line in ("{", "}"):
            inside = line == "{"
        elif inside and line.startswith("    ") and line.strip("\1 "):
            yield number, line


def changes_of(text):
    """All mutants of a file: line, the line before and after, in the order of the file."""
    lines = text.split("\n")
    for number, bare in code_lines(text):
        line, made = lines[number], []
        for old, new in CHANGES:
            for found in re.finditer(old, bare):
                if new in ("<", "<=", ">", ">=") and SMALLER.search(bare):
                    continue
                after = line[:found.start()] + new + line[found.end():]
                made.append(after + ")" if new == "if (!(" else after)
        if STATEMENT.fullmatch(bare) and bare.count("(") == bare.count(")") and not UNSEEN.search(bare) and not re.match(r" +(?:return|[\w ]+ \*?\w+ =)", bare):
            made.append(STATEMENT.fullmatch(bare)[1] + ";")
        yield from ((number, line, after) for after in made)


def mutants(source, seed):
    """Without end: path and change."""
    chance, folders = random.Random(seed), {}
    for path in sorted(path for root in ROOTS for path in (source / root).rglob("*.c")):
        if not LEFT_OUT.search(str(path.relative_to(source))):
            folders.setdefault(path.parent, []).append(path)
    turn = []
    while True:
        turn = turn or chance.sample(sorted(folders), len(folders))
        path = chance.choice(folders[turn.pop()])
        changes = list(changes_of(path.read_text()))
        if changes:
            number, before, after = chance.choice(changes)
            yield path.relative_to(source), number, before, after


# Folders that are tested in folders of another name too.
ASIDE = {"benches": ["bench"], "recording": ["engine"], "lab/quiz": ["cli/teach"], "lab/search": ["lab/experiment"],
         "desk/snapshot": ["desk/page", "cli/traces"], "desk/read": ["cli/traces"], "simt": ["lab/kernel", "cli/kernel"],
         "text": ["cli/."]}


def test_folders(source, path):
    """Below tests/: the folder of the same name, or the nearest above it, and then those above that."""
    parts = path.parts[1 if path.parts[0] == "harness" else 0:-1]
    above = ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]
    aside = [other for folder in above for other in ASIDE.get(folder, [])]
    if parts[0] == "cli":
        return ["cli/traces" if above[0] == "cli/job" else above[0] if len(above) == 2 and
                (source / "tests" / above[0]).is_dir() else "cli/."]
    own = [folder for folder in above if (source / "tests" / folder).is_dir()]
    return list(dict.fromkeys(own[:1] + aside + own[1:]))


def tests_below(source, folder):
    """The folders of tests that have their own list, of one of them."""
    if folder.startswith("cli/"):
        return [folder]
    below = sorted((source / "tests" / folder).glob("**/CMakeLists.txt"))
    listed = (source / "tests/CMakeLists.txt").read_text()
    names = [str(path.parent.relative_to(source / "tests")) for path in below]
    return [name for name in names if re.search(rf"\({re.escape(name)}\)", listed)] or names


class Bench:
    def __init__(self, folder, jobs):
        self.source, self.build, self.jobs = folder, folder / "build", jobs
        listed = json.loads(run("ctest", "--test-dir", self.build, "--show-only=json-v1").stdout)["tests"]
        self.long = [test["name"] for test in listed if any(
            one["name"] == "COST" and float(one["value"] or 0) >= LONG for one in test.get("properties", []))]

    def ctest(self, folder, *chosen):
        """The first test that fails."""
        if folder.startswith("cli/"):  # these have one list, and are told by their folder
            names = {path.stem for path in (self.source / "tests" / folder).iterdir()}
            folder, chosen = "cli", (*chosen, *(() if "-R" in chosen else ("-R", f"^({'|'.join(sorted(names))})$")))
        done = run("ctest", "--test-dir", self.build / "tests" / folder, *chosen, "-E", f"^({'|'.join(self.long)})$", "--stop-on-failure", "--timeout", 300,
                   "-j", self.jobs)
        failed = re.search(r"^\s*\d+ - (\w+) \((?!Skipped)", done.stdout, re.M)
        return failed and failed[1]

    def failed_in(self, folder, kernels):
        """The quick tests first. A test that fails must do so twice."""
        for chosen in [("-R", "^test_kernels$")] if kernels else [("-LE", "gpu|once"), ("-L", "once")]:
            failed = self.ctest(folder, *chosen)
            if failed and self.ctest(folder, "-R", f"^{failed}$"):
                return failed
        return None

    def first_failed(self, path):
        """A folder of tests and one that fails. None: no test fails. False: it does not compile."""
        kernels = path.parts[0] == "kernels"
        for folder in test_folders(self.source, path):
            folders = tests_below(self.source, folder)
            targets = ["test_kernels"] if kernels else ["chokepoint", *(f"tests/{name.split('/')[0] if name[:4] == 'cli/' else name}/all" for name in folders)]
            if run("cmake", "--build", self.build, "--target", *targets, "-j", self.jobs).returncode != 0:
                return False
            for name in folders:
                failed = self.failed_in(name, kernels)
                if failed:
                    return name, failed
        return None

    def plant(self, mutant):
        path, number, before, after = mutant
        text = (self.source / path).read_text()
        lines = text.split("\n")
        assert lines[number] == before
        lines[number] = after
        try:
            (self.source / path).write_text("\n".join(lines))
            return self.first_failed(path)
        finally:
            (self.source / path).write_text(text)

    def fails_anyway(self, found):
        """Of folders and tests, those that fail without a mutant, and so have found none."""
        must("cmake", "--build", self.build, "--target", "chokepoint", *{f"tests/{'cli' if folder[:4] == 'cli/' else folder}/all" for folder, _ in found})
        return {(folder, test) for folder, test in found if self.ctest(folder, "-R", f"^{test}$")}


def described(mutant):
    path, number, before, after = mutant
    return f"{path}:{number + 1}: {before.strip()}  ->  {after.strip()}"


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--count", type=int, default=40)
    words.add_argument("--seed", default="1")
    words.add_argument("--only", type=int, action="append")
    words.add_argument("--jobs", default="2")
    words.add_argument("--list", action="store_true")
    words.add_argument("folder", nargs="?", type=pathlib.Path)
    said = words.parse_args()
    if said.list:
        for n, mutant in zip(range(said.count), mutants(SOURCE, said.seed)):
            print(n + 1, described(mutant))
        return
    if said.folder is None:
        words.error("name a FOLDER for the copy")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bench = Bench(said.folder.resolve(), said.jobs)
    copy_checkout(bench.source)
    if not (bench.build / "build.ninja").exists():
        must("cmake", "-S", bench.source, "-B", bench.build, "-G", "Ninja", "-DCHOKEPOINT_CUDA_ARCHITECTURES=90")
    tried, missed, found_by = 0, 0, []
    for n, mutant in enumerate(mutants(bench.source, said.seed), 1):
        if tried == said.count or (said.only and n > max(said.only)):
            break
        if said.only and n not in said.only:
            continue
        began = time.monotonic()
        found = bench.plant(mutant)
        tried += found is not False
        missed += found is None
        found_by += [found] if found else []
        word = "MISSED" if found is None else "no code" if found is False else "found "
        by = found[1] if found else "-"
        print(f"{n:3} {word}  {described(mutant)}  [{by}, {time.monotonic() - began:.0f} s]", flush=True)
    anyway = bench.fails_anyway(set(found_by))
    for folder, test in sorted(anyway):
        print(f"{test} of tests/{folder} fails without a mutant: what it found counts as missed")
    missed += sum(found in anyway for found in found_by)
    print(f"{tried} mutants of seed {said.seed}, {missed} missed")
    sys.exit(missed > MOST_FOUND_MISSING * tried)


if __name__ == "__main__":
    main()
