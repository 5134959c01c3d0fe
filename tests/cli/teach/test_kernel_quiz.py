#!/usr/bin/env python3
"""`quiz --kernels` asks about kernels without a result, hides which they are, and marks answers by what it counted; `run`
counts what it should, and refuses what makes no sense of kernels.

usage: test_kernel_quiz.py PROGRAM
"""
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from checking import check, end  # noqa: E402

program = os.path.abspath(sys.argv[1])
WITHOUT_A_FACTOR = {"register_spills", "redundant_barriers"}


def call(*arguments, folder=None, code=0):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, cwd=folder)
    check(done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}: {done.stderr}")
    return done.stdout if code == 0 else done.stderr


def check_page(page, entry, lesson, titles):
    """The counts come first and name nothing; the right choices are the lesson's, or the last ones."""
    shown, _, asked = page.partition("### Question 1")
    choices = re.findall(r"^- \*\*([a-e])\*\*: (.*)$", asked.replace("\\", ""), flags=re.MULTILINE)
    wanted = [lesson["title"], lesson["look"]] if entry["variant"] == "before" else ["nothing of these"]
    right = [text for letter, text in choices[:5] if letter == entry["answers"][0]]
    right += [text for letter, text in choices[5:] if letter == entry["answers"][1]]
    check(len(choices) == 10, f"{entry}: five choices each")
    check(right[:len(wanted)] == wanted, f"{entry}: {right}, not {wanted}")
    check("global_loads" in shown.replace("\\", ""), f"{entry}: the page has no counts")
    for text in titles:
        check(text not in shown, f"{entry}: the page says {text}")


def check_quiz(folder, lessons):
    sheet = ("quiz", "--kernels", "--sheet=99", "--seed=3")
    said = call(*sheet, f"--out={folder}/one")
    files = {path.name: path.read_text() for path in pathlib.Path(folder, "one").iterdir()}
    key = json.loads(files["key.json"])["sets"]
    call(*sheet, f"--out={folder}/two")
    for entry in key:
        check_page(files[entry["page"]], entry, lessons[entry["scenario"]], [one["title"] for one in lessons.values()])
        check((entry["answers"][2] == 1) == (entry["variant"] == "after"), f"{entry}: the factor")
    check({path.name: path.read_text() for path in pathlib.Path(folder, "two").iterdir()} == files,
          "the same seed makes another sheet")
    check(f"no more than {len(key)} kernels" in said, f"it does not say how many there are: {said}")
    befores = {entry["scenario"] for entry in key if entry["variant"] == "before"}
    check(befores == set(lessons) - WITHOUT_A_FACTOR, f"asked about {befores}")
    for page, entry in enumerate(key[:2], 1):
        answers = ",".join(map(str, entry["answers"]))
        text = call("quiz", "--kernels", "--seed=3", f"--page={page}", f"--answers={answers}")
        check("Score: 3 of 3" in text, f"{entry}: {text[-300:]}")
        check(f"{entry['scenario']}: " in text.partition("Score")[2], f"{entry}: no lesson")
    for arguments, part in ((["--from=x"], "takes no result"), (["--page=99"], "kernels to ask about")):
        check(part in call("quiz", "--kernels", *arguments, code=2), f"{arguments}: {part}")


def check_report(folder, kernels):
    """The page has all pairs, and a run of each kernel."""
    done = subprocess.run([program, "report", "all", "--out=page.html"], capture_output=True, text=True, check=False,
                          cwd=folder)
    check(done.returncode == 0, f"no page: {done.stderr}")
    packed = re.search('id="document">([^<]*)<', pathlib.Path(folder, "page.html").read_text())[1]
    document = json.loads(zlib.decompress(base64.b64decode(packed)))
    check(document["result"]["chokepoint"]["kernels"] == kernels, "the page has other pairs")
    steps = {one["name"]: [step for step in ("before", "between", "after") if one.get(step)] for one in kernels}
    check({name: [run["step"] for run in runs] for name, runs in document["pairs"].items()} == steps,
          "the page lacks a run of a kernel")
    check(document["notes"] == [], document["notes"])


def check_run(folder, lessons):
    text = call("run", "gpu_kernels", "--arch=100", "--out=all", folder=folder)
    result = json.loads(pathlib.Path(folder, "all/result.json").read_text())
    kernels = result["chokepoint"]["kernels"]
    check([one["name"] for one in kernels] == list(lessons), "the result has other lessons than list")
    check({one["verdict"] for one in kernels} == {"as foretold"} and {one["arch"] for one in kernels} == {100},
          "a count is not as foretold")
    check(f"{len(lessons)} pairs of kernels: {len(lessons)} as predicted" in text and "nothing was timed" in text, text)
    check("faster" not in text and "slower" not in text, "the table speaks of times")
    document = (pathlib.Path(__file__).parents[3] / "docs/gpu-kernels.md").read_text()
    for line in re.search(r"```text\n(.*?)```", document, re.DOTALL)[1].splitlines():
        check(" ".join(line.split()) in " ".join(text.split()), f"docs/gpu-kernels.md shows {line}")
    variants = sum(2 + (one["between"] is not None) for one in kernels)
    check(len(result["benchmarks"]) == variants * 6, "two repetitions and four aggregates per variant")
    check(text.count("Between, ") == variants - 2 * len(lessons) > 1, "the table lacks a step between")
    check(result["chokepoint"]["scenarios"] == [], "there are scenarios")
    compared = call("compare", "all", "all", "--metric=bank_conflicts", folder=folder)
    check(f"{variants} same" in compared, compared)
    call("run", "--like=all", "--out=again", folder=folder)
    again = json.loads(pathlib.Path(folder, "again/result.json").read_text())["chokepoint"]["kernels"]
    check(len(again) == len(lessons), "--like takes no kernels")
    check_report(folder, kernels)
    for arguments, part in ((["run", "bank_conflicts", "--aa"], "--aa compares times"),
                            (["run", "bank_conflicts", "--ranks=2"], "no ranks"),
                            (["run", "bank_conflicts", "--arch=70"], "80, 90 or 100"),
                            (["run", "bank_conflikts"], "did you mean bank_conflicts?"),
                            (["exec", "bank_conflicts"], "which run takes")):
        check(part in call(*arguments, folder=folder, code=2), f"{arguments}: the error does not say {part}")
    explained = call("explain", "bank_conflicts", "--result=all", folder=folder)
    for part in ("In CUDA C", "Not there:", "l1tex__data_bank_conflicts", "Counted earlier", "sm_100"):
        check(part in explained, f"explain does not say {part}")
    hand_out = call("explain", "gpu_kernels", "--format=markdown")
    check(all(f"{name.replace('_', chr(92) + '_')}: " in hand_out or f"{name}: " in hand_out for name in lessons),
          "the hand-out lacks a lesson")


listed = {one["name"]: one for one in json.loads(call("list", "--format=json"))["kernels"]}
check(len(listed) >= 12, f"only {len(listed)} lessons")
with tempfile.TemporaryDirectory() as place:
    check_quiz(place, listed)
    check_run(place, listed)
end()
