#!/usr/bin/env python3
"""`quiz` asks about traces of a real run, hides what they are, and marks answers by what that run measured.

usage: test_quiz.py PROGRAM
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from checking import check, end  # noqa: E402

program = os.path.abspath(sys.argv[1])
SCENARIOS = ["launch_overhead", "leak", "host_round_trip", "padding"]
NAMED_TWICE = "host_round_trip"  # a scenario and a finding


def call(*arguments, answers=None, code=0):
    done = subprocess.run([program, *arguments], input=answers or "", capture_output=True, text=True, check=False)
    check(done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}: {done.stderr}")
    return done.stdout if code == 0 else done.stderr


def sheet(folder, result, count, seed):
    said = call("quiz", f"--from={result}", f"--sheet={count}", f"--out={folder}", f"--seed={seed}")
    return said, {path.name: path.read_text() for path in sorted(folder.iterdir())}


def check_hidden(page, entry, knob, titles):
    """The part before the questions; these have titles of findings, right and wrong ones. An id that is no answer may
    be a word for a gap as well: host_work."""
    name, trace = entry["scenario"], page.partition("### Question 1")[0]
    check("### Kernels" in trace and "### Device" in trace, f"{name}: the page has no figures")
    # "launch" and "gelu" are knobs, and words for work that the trace shows: no setting of theirs is printed.
    for text in [f"{knob}=", f"--{knob}", "json.gz", "Bottleneck", "Findings", *titles]:
        check(text not in trace, f"{name}: the page says {text}")
    for word in [name, *answer_ids, *([knob] if "_" in knob else [])]:
        check(not re.search(rf"(?<![a-z_]){word}(?![a-z_])", trace), f"{name}: the page says {word}")


def check_choices(page, entry, result, titles):
    """The right choice is what the result found, and no other choice is."""
    lines = re.findall(r"^- \*\*([a-e])\*\*: (.*)$", page.replace("\\", ""), flags=re.MULTILINE)
    causes, places = lines[:5], lines[5:]
    found = {finding["id"] for finding in result["findings"][entry["variant"]]}
    check([letter for letter, _ in causes] == list("abcde") == [letter for letter, _ in places],
          f"{entry['page']}: five choices each")
    check(causes[4][1] == "nothing of these", f"{entry['page']}: nothing is the last choice")
    right = [letter for letter, title in causes if titles.get(title) in found]
    wanted = right if entry["variant"] == "before" else ["e"]
    check(wanted == entry["answers"][:1], f"{entry['page']}: {right} are in the result, the key has {entry['answers']}")
    check(entry["variant"] == "before" or not right, f"{entry['page']}: {right} are choices after the fix, and found")
    check((entry["answers"][1] == "e") == (entry["variant"] == "after"), f"{entry['page']}: where to look")


def check_key(files, results, knobs, titles):
    key = json.loads(files["key.json"])["sets"]
    check(len({(entry["scenario"], entry["variant"]) for entry in key}) == len(key), "a set is there twice")
    for entry in key:
        result = results[entry["scenario"]]
        check(entry["effect"] == result["effect"], f"{entry['page']}: the effect is not the result's")
        check(entry["interval"] == result["interval"], f"{entry['page']}: the interval is not the result's")
        factor = result["effect"] if entry["variant"] == "before" else 1
        check(entry["answers"][2] == factor, f"{entry['page']}: the factor")
        check(f"| {entry['page']} | {entry['scenario']} | {entry['variant']} |" in files["key.md"].replace("\\", ""),
              f"{entry['page']}: key.md says something else")
        check_hidden(files[entry["page"]], entry, knobs[entry["scenario"]], titles)
        check_choices(files[entry["page"]], entry, result, titles)
    return key


def marks(text):
    return re.findall(r"^ +(\d) (right|half right|wrong): ", text, flags=re.MULTILINE)


def timed(result):
    """Ids of findings before a fix whose gain was predicted."""
    scenarios = json.loads((pathlib.Path(result) / "result.json").read_text())["chokepoint"]["scenarios"]
    return {finding["id"] for one in scenarios for finding in (one["findings"] or {"before": []})["before"]
            if finding["predicted_gain"] is not None}


def check_marks(result, seed, page, entry):
    """A page of the sheet is what quiz --page asks about; the first, if it is not given."""
    quiz = ("quiz", f"--from={result}", f"--seed={seed}", *([f"--page={page}"] if page > 1 else []))
    letter, place, factor = entry["answers"]
    low, high = entry["interval"] if entry["variant"] == "before" else (factor, factor)
    half = max(factor * 1.3, high * 1.001)
    half = half if 1.16 < half / factor < 1.35 else min(factor * 0.7, low * 0.999)
    wrong = max(factor, high) * 3
    other = "a" if letter != "a" else "b"
    cases = [([letter, place, f"{factor}"], ["right"] * 3, "3 of 3"),
             ([letter.upper(), place, f"{factor * 1.1}x"], ["right"] * 3, "3 of 3"),
             ([other, place, f"{wrong}"], ["wrong", "right", "wrong"], "1 of 3"),
             (["f", "", "much"], ["wrong"] * 3, "0 of 3")]
    if 0.66 < half / factor < 1.34:
        cases.append(([letter, place, f"{half}"], ["right", "right", "half right"], "2.5 of 3"))
    # A finding may have the scenario's name: explain then goes on with that.
    lesson = call("explain", entry["scenario"], f"--result={result}").split(f"\n\n\n{entry['scenario']}: ")[0]
    for answers, expected, score in cases:
        typed = call(*quiz, answers="\n".join(answers) + "\n")
        given = call(*quiz, "--answers=" + ",".join(answers))
        for text in typed, given:
            check([word for _, word in marks(text)] == expected, f"{entry}: {answers}: {marks(text)}")
            check(f"Score: {score}" in text, f"{answers}: the score is not {score}")
            check(lesson in text, f"{answers}: no lesson")
    text = " ".join(call(*quiz, "--answers=f,,much").split())
    check(("diagnose predicted" in text) == (entry["variant"] == "before" and entry["finding"] in timed(result)),
          f"{entry}: what diagnose predicted")
    for named in '"f" is not a letter from a to e', "no answer", '"much" is not a factor':
        check(named in text, f"a malformed answer is not named: {named}")
    check(call(*quiz, "--answers=a") == call(*quiz, "--answers=a"), "the same seed asks something else")
    return any("half right" in case[1] for case in cases)


def ids_of_answers():
    """Of the findings that scenarios show."""
    listed = json.loads(call("list", "--format=json"))["scenarios"]
    return {finding["id"] for scenario in listed for finding in scenario["findings"]}


def titles_of_findings():
    """Ids by title, of all that the program finds."""
    text = call("explain")
    ids = re.findall(r"^  (\w+) ", text[text.index("findings: what"):], flags=re.MULTILINE)
    titles, findings = {}, call("explain", "findings")
    for name in ids:
        line = re.search(rf"^{name}: (.*(?:\n  .*)?)\n\n", findings, flags=re.MULTILINE)
        if line:
            titles[" ".join(line[1].split())] = name
    check(len(titles) > 20, f"explain lists {len(titles)} findings")
    return titles


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    results_folder = folder / "result"
    subprocess.run([program, "run", *SCENARIOS, "--quick", "--repetitions=2", "--device=cpu", f"--out={results_folder}"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # verdicts do not matter here
    entries = json.loads((results_folder / "result.json").read_text())["chokepoint"]["scenarios"]
    results = {entry["name"]: entry for entry in entries}
    knobs = {entry["name"]: entry["knob"] for entry in entries}
    titles, answer_ids = titles_of_findings(), ids_of_answers()
    check(len(answer_ids) > 15, f"scenarios show {answer_ids}")

    said, files = sheet(folder / "one", results_folder, 100, 5)
    key = check_key(files, results, knobs, titles)
    check(len(key) >= 4, f"only {len(key)} sets of 4 scenarios")
    after = sum(entry["variant"] == "after" for entry in key)
    check(f"{after} of {len(key)} pages are after the fix" in files["key.md"], "key.md: the share of pages after the fix")
    check(f"no more than {len(key)} traces" in said, f"fewer than were asked for, and it does not say so: {said}")
    check(sheet(folder / "two", results_folder, 100, 5)[1] == files, "the same seed makes another sheet")
    check(sheet(folder / "three", results_folder, 100, 6)[1] != files, "another seed makes the same sheet")
    for seed in range(6, 16):  # other choices
        key = check_key(sheet(folder / f"sheet{seed}", results_folder, 100, seed)[1], results, knobs, titles)
        afters = [entry["variant"] == "after" for entry in key]
        check(all(3 * sum(afters[:i]) <= i for i in range(len(afters) + 1)), f"too many are after the fix: {afters}")
    said, files = sheet(folder / "few", results_folder, 2, 5)
    check(set(files) == {"01.md", "02.md", "key.json", "key.md"} and "no more" not in said, f"two pages: {set(files)}")

    seen, halves, seed = set(), 0, 0
    while seed < 20 and (len(seen) < 4 or halves == 0):
        _, files = sheet(folder / f"seed{seed}", results_folder, 100, seed)
        for page, entry in enumerate(json.loads(files["key.json"])["sets"], 1):
            kind = (entry["variant"], entry["scenario"] == NAMED_TWICE)
            if kind not in seen:
                seen.add(kind)
                halves += check_marks(results_folder, seed, page, entry)
        seed += 1
    check({variant for variant, _ in seen} == {"before", "after"}, f"20 seeds draw only {seen}")
    check({twice for _, twice in seen} == {True, False}, f"20 seeds draw only {seen}")
    check(halves > 0, "no factor was half right")

    for arguments, part in (([f"--from={folder}/none"], "none"),
                            ([f"--from={folder}/none"], "run writes one"),
                            ([f"--from={results_folder}", "--page=99"], "traces to ask about"),
                            ([f"--from={results_folder}", "--sheet=2"], "--out=DIR belong together"),
                            ([f"--from={results_folder}", "--answers=a,b,1,2"], "there are 3 questions")):
        check(part in call("quiz", *arguments, code=2), f"{arguments}: the error does not say {part}")
    for trace in results_folder.glob("traces/*"):
        trace.unlink()
    check("no scenario with traces" in call("quiz", f"--from={results_folder}", code=2), "traces that are gone")

end()
