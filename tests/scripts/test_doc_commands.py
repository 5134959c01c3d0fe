#!/usr/bin/env python3
"""The commands in the blocks of shell in README.md, docs/ and the other documents are commands of this tree.

Each call of the program names a command that there is, scenarios that there are, and options that the command's help
has; each script is a file; so for the examples that --help shows. README.md's tour also runs, in its order, in a folder
of its own: `run` with --quick, `train` with few steps. Not run: commands that need other builds, a GPU, a cluster or
minutes, and scripts/run.sh and scripts/test.sh, which install packages.

An example of `train` must show what its lesson says: every setting that it gives acts, and one that turns the knob of a
lesson has the settings of that lesson. What it then shows is checked by counts, which a busy machine does not change.

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
    if words[0].startswith(("scripts/", "tests/")):
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
    known = first in scenarios or (arguments[0] == "explain" and ask("explain", first))
    if arguments[0] in ("run", "explain", "exec") and re.fullmatch("[a-z]+_[a-z_]+", first) and not known:
        failures.append(f"{shown}: there is no scenario {first}")


def run_tour(tour):
    """As written, but for the time that it takes."""
    shorter = {"run": ["--quick"], "train": ["--steps=8"]}
    with tempfile.TemporaryDirectory() as folder:
        is_skipped = False  # a busy machine may skip the scenario: then there are no traces
        for arguments in tour:
            if is_skipped and "traces" in arguments[-1]:
                continue
            extra = shorter.get(arguments[0], [])
            ran = subprocess.run([program, *arguments, *extra], cwd=folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, check=False)
            is_skipped = is_skipped or (arguments[0] == "run" and "1 skipped" in ran.stdout)
            # A noisy machine may not reproduce the scenario: run then exits with 1 or 3.
            allowed = (0, 1, 3) if arguments[0] == "run" else (0,)
            if ran.returncode not in allowed or not ran.stdout:
                failures.append(f"README.md: chokepoint {shlex.join(arguments)} exits with {ran.returncode}: "
                                f"{ran.stderr}")


def help_examples():
    """The words of each example that the help of a command shows."""
    listed = ask("--help").split("Commands:")[1].split("Examples:")[0]
    for name in ["", *re.findall(r"^  ([a-z]+) +", listed, flags=re.MULTILINE)]:
        text = ask(*([name] if name else []), "--help").partition("Examples:")[2]
        # An example goes on behind a backslash, and where the line was wrapped.
        text = re.sub(r"\n(?=\S)", " ", re.sub(r" \\\n +", " ", text))
        for line in re.findall(r"^  (chokepoint \S.*)$", text, flags=re.MULTILINE):
            # Two blanks begin what it says about itself.
            for call in re.split(r"  +", line)[0].split(";"):
                words = call.split(">")[0].replace("'", "").split()
                if len(words) > 1 and words[0] == "chokepoint":
                    yield f"{name} --help".strip(), words[1:]


def settings_of(text):
    return dict(word.split("=", 1) for word in text.split())


def without_sweeps(arguments):
    """As one training: each sweep at its last value."""
    words, found = [], {}
    for word in arguments:
        if words and words[-1] == "--sweep":
            words[-1] = f"--{word.split('=')[0].replace('_', '-')}={word.split('=')[1].split(',')[-1]}"
            found[word.split("=")[0]] = word.split("=")[1].split(",")
        else:
            words.append(word)
    return words, found


def train_json(*arguments):
    text = ask("train", *arguments, "--device=cpu", "--format=json")
    return json.loads(text) if text else None


LESSONS = {"loss_every": "item_sync", "workers": "loader_workers"}


def check_lesson(shown, knob, settings):
    """The settings of the example are those of the lesson, but for its knob and what the lesson sizes."""
    lesson = lessons[LESSONS[knob]]
    meant = settings_of(lesson["settings"]["before"] if isinstance(lesson["settings"], dict) else lesson["settings"])
    for name in ("input", "launch", *({"workers": ["loss_every"], "loss_every": ["workers"]}[knob])):
        if name in meant and settings[name] != meant[name]:
            failures.append(f"{shown}: {LESSONS[knob]} has {name}={meant[name]}, the example {settings[name]}")


def check_train(name, arguments):
    shown = f"{name}: chokepoint {shlex.join(arguments)}"
    words, swept = without_sweeps(re.sub(r" --(trace|save|resume|steps)[= ]\S+| --(ladder|thorough)\b", "",
                                         " " + " ".join(arguments[1:])).split())
    if any(word.startswith("--ranks") for word in arguments):
        return
    found = train_json(*words, "--steps=2")
    if found is None:
        failures.append(f"{shown}: it does not train")
        return
    for sentence in found["without_effect"]:
        failures.append(f"{shown}: {sentence}")
    knobs = [knob for knob in swept if knob in LESSONS][:1]
    if not swept and "--loss-every=1" in arguments:
        knobs = ["loss_every"]
    for knob in knobs if len(swept) < 2 else []:
        check_lesson(shown, knob, settings_of(found["settings"]))


def check_conclusions(folder):
    """What README's two examples of train show: the loss is read so often, and the trace has the finding."""
    base = ["--input=decoded", "--workers=0", "--launch=graph"]
    sweep = train_json(*base, "--sweep", "loss_every=1,20", "--steps=40", "--repetitions=1")
    syncs = {value["value"]: value["rounds"][0]["syncs_per_step"] for value in sweep["values"]}
    if not (syncs["1"] == 1 and syncs["20"] <= 0.1):
        failures.append(f"README.md: loss_every=1,20 reads the loss {syncs} times per step")
    traced = train_json(*base, "--loss-every=1", "--steps=8", f"--trace={folder}/mine.json.gz")
    if "host_sync" not in [finding["id"] for finding in traced["findings"]]:
        failures.append(f"README.md: the trace of loss_every=1 shows {[one['id'] for one in traced['findings']]}")


listing = json.loads(ask("list", "--format=json"))
lessons = {scenario["name"]: scenario for scenario in listing["scenarios"]}
scenarios = [one[key] for one in [*listing["scenarios"], *listing["kernels"]] for key in ("name", "group")]
checked = 0
for document in documents:
    for words in calls(document.read_text()):
        arguments = of_program(words)
        if arguments is not None:
            checked += 1
            check(document.name, arguments, scenarios)
            if arguments[:1] == ["train"]:
                check_train(document.name, arguments)
        elif words[0].startswith("scripts/") and not (source / words[0]).is_file():
            failures.append(f"{document.name}: there is no {words[0]}")
if checked < 20:
    failures.append(f"only {checked} calls of chokepoint were found in the documents")
examples = list(help_examples())
for name, arguments in examples:
    check(name, arguments, scenarios)
    if arguments[0] == "train":
        check_train(name, arguments)
if len(examples) < 30:
    failures.append(f"the help of commands has only {len(examples)} examples")
with tempfile.TemporaryDirectory() as place:
    check_conclusions(place)
tour = [of_program(words) for words in calls((source / "README.md").read_text())]
tour = [arguments for arguments in tour if arguments and arguments[0] != "record"]
if len(tour) < 5:
    failures.append(f"README.md's tour has only {len(tour)} commands")
run_tour(tour)
print(f"{len(examples)} examples of --help, {checked} calls in {len(documents)} documents, {len(tour)} in the tour")
for failure in failures:
    print(failure)
sys.exit(bool(failures))
