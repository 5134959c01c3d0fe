#!/usr/bin/env python3
"""`explain all --format=markdown` is valid Markdown, with every lesson in it, and the effects of a result.

Anchors are those that GitHub and pandoc's gfm give to headings.

usage: test_hand_out.py PROGRAM SOURCE
"""
import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from checking import check, end  # noqa: E402

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(source / "scripts"))
from common import change_text

RESULT = "results/cpu-xeon-amx-2cores"
# A result's path is printed: here it has all that Markdown could take for its own.
ODD = "a *b* _c_ [d](#nowhere) `k` |<i> \\ #e"


def explain(*arguments):
    ran = subprocess.run([program, "explain", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         check=False)
    check(ran.returncode == 0 and not ran.stderr, f"{arguments}: exit code {ran.returncode}: {ran.stderr}")
    return ran.stdout


def split(text):
    """The lines outside the fences, and the code in them by language."""
    outside, blocks, language = [], [], None
    for line in text.splitlines():
        if line.startswith("```"):
            if language is None:
                language = line[3:]
                blocks.append((language, []))
            else:
                check(line == "```", f"a fence ends with {line}")
                language = None
        elif language is None:
            outside.append(line)
        else:
            blocks[-1][1].append(line)
    check(language is None, "a fence is not closed")
    return outside, [(language, "\n".join(lines) + "\n") for language, lines in blocks]


def unescaped(text):
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


def anchor(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", unescaped(heading).lower()).replace(" ", "-")


def links(outside):
    return [(unescaped(text), target) for line in outside
            for text, target in re.findall(r"(?<!\\)\[((?:[^\]\\]|\\.)*)\]\(([^)]*)\)", line)]


def check_links(outside):
    """Every heading has an anchor of its own; the contents list all lessons, in their order."""
    headings = [re.fullmatch(r"#{1,6} (\S.*)", line)[1] for line in outside if line.startswith("#")]
    anchors = [anchor(heading) for heading in headings]
    check(len(set(anchors)) == len(anchors), f"anchors twice: {sorted(one for one in anchors if anchors.count(one) > 1)}")
    lessons = [unescaped(heading) for heading in headings if ": " in heading]
    listed = links(outside)
    check([text for text, _ in listed] == lessons, "the contents are not the lessons")
    for text, target in listed:
        check(target[:1] == "#" and target[1:] in anchors, f"{text}: {target} leads nowhere")
    return lessons


def check_spacing(text):
    """No heading and no list stands right below a paragraph: some readers take it for a part of it."""
    for above, line in zip(text.splitlines(), text.splitlines()[1:]):
        starts = line.startswith("## ") or (line.startswith("- ") and not above.startswith("- "))
        check(not starts or above == "", f"no empty line above {line}")


def part(text, title):
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def check_lesson(text, scenario, result):
    """The lesson's words, both variants as they are, and the effects."""
    title = f"{scenario['name']}: {scenario['title']}"
    lesson = part(text, title)
    outside, blocks = split(lesson)
    words = [unescaped(line) for line in outside]
    for name, member in (("Symptom", "symptom"), ("Cause", "cause"), ("Fix", "fix"), ("Look for", "look"),
                         ("Cost", "cost")):
        check(f"- **{name}**: {scenario[member]}" in words, f"{title}: no {name}")
    python = [code for language, code in blocks if language == "python"]
    check(python == [f"# {side}\n{scenario['pytorch'][side]}" for side in ("before", "after")],
          f"{title}: the lines of PyTorch differ")
    for code in python:
        ast.parse(code)
    shell = "".join(code for language, code in blocks if language == "sh")
    check(f" run {scenario['name']}\n" in shell and shell.count(" train ") == 2, f"{title}: commands are missing")
    check(all(language in ("python", "sh") for language, _ in blocks), f"{title}: a language that is not known")
    measured = [one for one in result["chokepoint"]["scenarios"] if one["name"] == scenario["name"]]
    for row in measured[0]["expectations"] if measured else []:
        if not isinstance(row["before"], (int, float)):
            continue
        effect, interval = change_text.of_result({**row, "coverage": measured[0].get("coverage")})
        check(f"- **{row['metric']}**: {effect}{f' ({interval})' if interval else ''}" in words,
              f"{title}: {row['metric']} was {effect}")
    return bool(measured and measured[0]["expectations"])


def check_kernels(text, kernel):
    """The words of a pair of kernels, the lines in each language that has some, and each count with its metric."""
    title = f"{kernel['name']}: {kernel['title']}"
    outside, blocks = split(part(text, title))
    words = [unescaped(line) for line in outside]
    for name, member in (("Symptom", "symptom"), ("Cause", "cause"), ("Fix", "fix"), ("Look for", "look"),
                         ("Cost", "cost")):
        check(f"- **{name}**: {kernel[member]}" in words, f"{title}: no {name}")
    for language, members, comment in (("cuda", ["cuda"], "//"), ("python", ["triton", "pytorch"], "#")):
        lines = [f"{comment} {side}\n{kernel[member][side]}" for member in members for side in ("before", "after")
                 if kernel[member][side] is not None]
        check([code for fence, code in blocks if fence == language] == lines, f"{title}: the lines of {language} differ")
    for member in ("triton", "pytorch"):
        check(kernel[member]["instead"] is None or any(kernel[member]["instead"] in line for line in words),
              f"{title}: it does not say why there is no {member}")
    for row in kernel["foretold"]:
        check(any(line.startswith(f"- **{row['count']}**: {row['meaning']}: ") and row["metric"] in line
                  for line in words), f"{title}: no {row['count']}")
    check(f" run {kernel['name']}\n" in "".join(code for fence, code in blocks if fence == "sh"), f"{title}: no command")


def check_whole(folder):
    odd = pathlib.Path(folder) / ODD
    shutil.copytree(source / RESULT, odd)
    text = explain("all", "--format=markdown", f"--result={odd}")
    outside, _ = split(text)
    lessons = check_links(outside)
    check_spacing(text)
    listing = json.loads(subprocess.run([program, "list", "--format=json"], stdout=subprocess.PIPE, check=True).stdout)
    scenarios, kernels = listing["scenarios"], listing["kernels"]
    result = json.loads((odd / "result.json").read_text())
    effects = sum(check_lesson(text, scenario, result) for scenario in scenarios)
    check(effects > 20, f"only {effects} effects are quoted")
    check(sum(str(odd) in unescaped(line) for line in outside) == effects, "the result is not named with each effect")
    for kernel in kernels:
        check_kernels(text, kernel)
    check(len(lessons) > len(scenarios) + len(kernels) + 30, f"only {len(lessons)} lessons")
    for lesson in lessons[len(scenarios) + len(kernels):]:
        check("- **Threshold**: " in part(text, lesson), f"{lesson}: no threshold")


def check_parts():
    """Less than all of it."""
    one = explain("item_sync", "--format=markdown")
    check(one.startswith("## item_sync: ") and "Contents" not in one, "one lesson has no contents")
    check(split(one)[1][0][0] == "python", "one lesson has its lines")
    finding = explain("host_sync", "--format=markdown")
    check(finding.startswith("## host_sync: ") and "- **Shown by**: item_sync, " in finding, "a finding")
    memory = check_links(split(explain("memory", "--format=markdown"))[0])
    check(len(memory) == explain("memory").count("The one difference") > 3, f"the lessons of a group: {memory}")
    findings = explain("findings", "--format=markdown")
    check("- **Threshold**: " in findings and "- **Look for**: " not in findings, "findings alone")


with tempfile.TemporaryDirectory() as place:
    check_whole(place)
check_parts()
end()
