#!/usr/bin/env python3
"""The league's scores, on a corpus made here and with diagnosers that answer as they are told.

usage: test_league.py SOURCE
"""
import gzip
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

source = pathlib.Path(sys.argv[1]).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(source / "scripts"))
from league import frozen, kineto, plugin_rules, scoring

failures = []
# scenario: part, findings, what the fix leaves behind
CAUSES = {
    "item_sync": ("syncs", ["host_sync"], ["data_loading"]),
    "launch_overhead": ("launches", ["launch_bound", "small_kernels"], []),
    "loader_workers": ("data", ["data_loading"], ["host_sync"]),
    "slow_collate": ("data", ["data_loading", "data_jitter"], []),
    "leak": ("memory", ["memory_growth"], ["launch_bound"]),
    "cache_flush": ("memory", ["allocation_churn"], []),
}


def check(condition, text, *shown):
    if not condition:
        failures.append(text)
        print(f"FAILED: {text}", *shown, sep="\n    ")


def effect(factor, metric="step_time"):
    return {"metric": metric, "before": 100.0 * factor, "after": 100.0, "factor": factor, "low": factor * 0.95,
            "high": factor * 1.05, "coverage": 0.97}


def cause(name, factor, metric="step_time"):
    group, findings, left = CAUSES[name]
    return {"scenario": name, "group": group, "findings": findings, "left_behind": left, "knob": "k", "before": "a",
            "after": "b", "gain": effect(1.0 if metric != "step_time" else factor), "effect": effect(factor, metric),
            "measurable": True}


def item(number, *causes, measurable=True, trace=True):
    name = f"{number:04d}"
    return {"name": name, "trace": f"{name}.json.gz" if trace else None, "sha256": None,
            "kind": ("healthy", "one", "two")[len(causes)], "causes": list(causes),
            "together": effect(3.0) if len(causes) == 2 else None, "same": None if causes else effect(1.0),
            "measurable": measurable, "reason": None if trace else "it could not", "seed": number, "settings": "k=a",
            "seconds": 1.0}


ITEMS = [
    item(1, cause("item_sync", 1.5)),
    item(2, cause("launch_overhead", 2.0)),
    item(3, cause("leak", 50.0, "memory_growth_bytes")),
    item(4, cause("item_sync", 1.2), cause("launch_overhead", 1.4)),
    item(5),
    item(6),
    item(7, cause("loader_workers", 1.01), measurable=False),
    item(8, cause("cache_flush", 1.3), trace=False),
]


def seal(truth):
    zeros = "0" * 64
    text = json.dumps({**truth, "seal": zeros})
    return text.replace(zeros, hashlib.sha256(text.encode()).hexdigest(), 1)


def make(folder, items):
    folder.mkdir()
    for one in items:
        if one["trace"]:
            content = gzip.compress(json.dumps({"traceName": one["name"], "traceEvents": []}).encode(), 1, mtime=0)
            (folder / one["trace"]).write_bytes(content)
            one["sha256"] = hashlib.sha256(content).hexdigest()
    vocabulary = [{"scenario": name, "group": group, "findings": findings}
                  for name, (group, findings, _) in CAUSES.items()]
    context = {"device_name": "made", "library_version": "chokepoint 0", "date": "2026-01-02T03:04:05",
               "executable": "/home/me/chokepoint", "num_cpus": 2, "load_avg": [0.25, 1, 1]}
    truth = {"schema": 1, "seal": "", "seed": 1, "count": len(items), "context": context,
             "protocol": {"pairs": 6, "window_seconds": 0.1}, "vocabulary": vocabulary, "items": items}
    (folder / "truth.json").write_text(seal(truth))
    return truth


def league(*arguments, code=0):
    done = subprocess.run([sys.executable, str(source / "scripts/league.py"), *map(str, arguments)], text=True,
                          capture_output=True, check=False)
    check(done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}", done.stderr, done.stdout)
    return done


def diagnoser(folder, name, answers, otherwise=""):
    """A script that prints what is told for each item, or otherwise runs as Python."""
    path = folder / f"{name}.py"
    path.write_text(f"import os, signal, sys, time\nanswers = {answers!r}\n"
                    "trace = os.path.basename(sys.argv[1]).split('.')[0]\n"
                    f"{otherwise or 'print(answers.get(trace, str()))'}\n")
    return f"cmd:{sys.executable} {path}"


def score_of(corpus, *diagnosers, code=0):
    result = json.loads(league(corpus, *diagnosers, "--format=json", "--timeout=20", code=code).stdout)
    return result, [row["score"] for row in result["diagnosers"]]


RIGHT = {"0001": "host_sync 1.5", "0002": "small_kernels 2.2", "0003": "memory_growth",
         "0004": "launch_bound 1.4\nhost_sync 1.2\nlaunch_bound+item_sync 3.3\ndata_loading+host_sync 9",
         "0005": "healthy"}
# The first named is what the fix leaves behind, then the right one; the scenario's name does as well.
NEUTRAL = {"0001": "data_loading\nitem_sync", "0002": "launch_overhead", "0003": "launch_bound\nmemory_growth 1.0",
           "0004": "# no answer\ndata_loading\nhost_sync\nslow_collate\nlaunch_bound"}
WRONG = {name: "data_jitter 1.3\nallocation_churn" for name in ("0001", "0002", "0003", "0004", "0005", "0006")}
# A cause of the same part; one of the two; a false alarm.
HALF = {"0001": "host_sync 3", "0002": "memory_growth", "0003": "allocation_churn", "0004": "host_sync", "0005":
        "launch_bound"}


def answers_are_scored(folder):
    corpus = folder / "corpus"
    names = [("right", RIGHT), ("neutral", NEUTRAL), ("wrong", WRONG), ("half", HALF)]
    result, scores = score_of(corpus, *(diagnoser(folder, name, answers) for name, answers in names))
    check(result["scored"] == 6 and result["kinds"] == {"one": 3, "two": 1, "healthy": 2}, "what is scored", result)
    check(result["left_out"] == {"not_measurable": 1, "no_trace": 1}, "what is left out", result["left_out"])
    found = {name: {key: score[key]["share"] for key in ("first_right", "part_right", "both_named", "false_alarms")}
             for (name, _), score in zip(names, scores, strict=True)}
    meant = {"right": (1, 1, 1, 0), "neutral": (1, 1, 1, 0), "wrong": (0, 0.0, 0, 1), "half": (0.5, 0.75, 0, 0.5)}
    for name, shares in meant.items():
        check(tuple(found[name].values()) == shares, f"{name}: {found[name]}, not {shares}")
    # Items of one bottleneck each: 1.5 is right, 2.2 of 2 is 10% off. Memory has no time to gain.
    check(scores[0]["gain_error"]["of"] == 2 and math.isclose(scores[0]["gain_error"]["median"], 0.05),
          "the gain of right", scores[0]["gain_error"])
    check(math.isclose(scores[3]["gain_error"]["median"], 1.0), "3x of 1.5x is 100% off", scores[3]["gain_error"])
    # Item 4 gains 3 with both fixes: 3.3 is 10% off.
    check(scores[0]["together_error"]["of"] == 1 and math.isclose(scores[0]["together_error"]["median"], 0.1),
          "the gain of both", scores[0]["together_error"])
    check(scores[3]["together_error"]["of"] == 0, "nobody said what both gain", scores[3]["together_error"])
    check(scores[1]["gain_error"] == {"median": None, "of": 0}, "no gain was named", scores[1]["gain_error"])
    for score in scores:
        check(score["seconds"] > 0 and score["peak_bytes"] > 1e6 and score["failures"] == 0, "what it took", score)


def what_goes_wrong_names_nothing(folder):
    corpus = folder / "corpus"
    cases = [("crash", "os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
             ("error", "sys.exit('no such thing')", "exits with 1: no such thing"),
             ("hang", "time.sleep(1000)", "more than 0.5 s"),
             ("prose", "print('I think it is the loader.')", "is not a cause"),
             ("number", "print('host_sync much')", "no number"),
             ("negative", "print('host_sync -2')", "no factor"),
             ("both", "print('host_sync+launch_bound')", "is not a cause"),
             ("endless", "[print('host_sync') for _ in range(1000)]", "is not a cause")]
    for name, body, why in cases:
        result = json.loads(league(corpus, diagnoser(folder, name, {}, body), "--format=json",
                                   f"--timeout={0.5 if name == 'hang' else 20}", code=1).stdout)
        row = result["diagnosers"][0]
        check(row["score"]["failures"] == 6 and row["score"]["first_right"]["right"] == 0, f"{name}: it scores", row)
        check(row["score"]["false_alarms"]["right"] == 2, f"{name}: healthy traces count for it", row)
        check(all(why in answer["failure"] for answer in row["answers"]), f"{name}: why", row["answers"][0])
    result, _ = score_of(corpus, "cmd:/no/such/program", code=1)
    check("cannot be started" in result["diagnosers"][0]["answers"][0]["failure"], "a program that is missing")


def is_running(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def a_hanging_diagnosers_children_end_too(folder):
    mark = folder / "mark"
    script = folder / "parent.sh"
    script.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! >>{mark}\nwait\n")
    script.chmod(0o755)
    league(folder / "corpus", f"cmd:{script}", "--timeout=1", code=1)
    children = mark.read_text().split()
    deadline = time.monotonic() + 60  # a signal takes a moment to end a process
    for child in children:
        while is_running(child) and time.monotonic() < deadline:
            time.sleep(0.01)
        check(not is_running(child), f"child {child} outlives its time")
    check(children, "no child was started")


def what_was_changed_is_noticed(folder):
    corpus = folder / "corpus"
    right = diagnoser(folder, "right", RIGHT)
    text = (corpus / "truth.json").read_text()
    trace = (corpus / "0002.json.gz").read_bytes()
    changes = [("a label", "truth.json", text.replace('"item_sync"', '"slow_collate"', 1).encode(), "as it was sealed"),
               ("a gain", "truth.json", text.replace('"factor": 1.5', '"factor": 1.6', 1).encode(), "as it was sealed"),
               ("the seal", "truth.json", text.replace('"seal": "', '"seal": "f', 1).encode(), "as it was sealed"),
               ("no seal", "truth.json", text.replace('"seal"', '"sale"', 1).encode(), "as it was sealed"),
               ("a trace", "0002.json.gz", trace + b"x", "not the trace that was sealed"),
               ("a missing trace", "0002.json.gz", None, "cannot read"),
               ("no JSON", "truth.json", b"{", "is not JSON"),
               ("no text", "truth.json", b"\xff\xfe", "is not text"),
               ("another schema", "truth.json", text.replace('"schema": 1', '"schema": 9', 1).encode(), "schema"),
               ("a list", "truth.json", b"[]", "no labels"),
               ("no truth", "truth.json", None, "cannot read")]
    for name, file, content, said in changes:
        kept = (corpus / file).read_bytes()
        if content is None:
            (corpus / file).unlink()
        else:
            check(content != kept, f"{name}: nothing was changed")
            (corpus / file).write_bytes(content)
        done = league(corpus, right, code=2)
        check(said in done.stderr and done.stdout == "", f"{name}: it says", done.stderr)
        (corpus / file).write_bytes(kept)
    apart = folder / "apart.json"
    (corpus / "truth.json").rename(apart)
    league(corpus, right, f"--truth={apart}")
    apart.rename(corpus / "truth.json")
    outside = {**json.loads(text), "items": [{**ITEMS[0], "trace": "../x.json.gz"}]}
    (corpus / "truth.json").write_text(seal(outside))
    check("name of a trace beside it" in league(corpus, right, code=2).stderr, "a trace of another folder")
    nothing = {**json.loads(text), "items": [ITEMS[6]]}
    (corpus / "truth.json").write_text(seal(nothing))
    check("no trace with a measurable cause" in league(corpus, right, code=2).stderr, "nothing to score")
    (corpus / "truth.json").write_text(text)


def chance_scores_at_chance(folder):
    """Four hundred traces, of which a third of the causes leave something behind."""
    names = list(CAUSES)
    items = []
    for number in range(1, 401):
        causes = [cause(names[number % len(names)], 1.5)]
        if number % 4 == 0:
            causes.append(cause(names[(number + 1) % len(names)], 1.5))
        items.append(item(number, *([] if number % 4 == 2 else causes)))
    make(folder / "many", items)
    vocabulary = [{"scenario": name, "group": row[0], "findings": row[1]} for name, row in CAUSES.items()]
    sys.path.insert(0, str(source / "scripts/league"))
    from league import chance
    words = sorted({word for row in vocabulary for word in row["findings"]})
    rows, said = [], 0
    for one in items:  # as chance.py does, without a process for each
        drawn = subprocess_free_answer(chance, folder / "many" / one["trace"], words)
        said += bool(drawn)
        rows.append(scoring.judge(one, {"causes": [(word, None) for word in drawn], "failure": None}, {}))
    first = scoring.share(rows, "first_right")
    meant = scoring.chance(items, vocabulary)
    sigma = math.sqrt(meant * (1 - meant) / first["of"])
    check(abs(first["share"] - meant) < 4 * sigma, f"chance is {meant}, and it was right in {first}")
    check(abs(said / 400 - 0.75) < 4 * math.sqrt(0.75 * 0.25 / 400), f"it named something {said} times of 400")
    check(0.05 < meant < 0.3, f"chance is {meant}")
    few = folder / "few"
    make(few, items[:8])
    one, again = (score_of(few, "random", f"--seed={seed}")[0]["diagnosers"][0]["answers"] for seed in (1, 1))
    check([row["named"] for row in one] == [row["named"] for row in again], "the same seed guesses something else")


def subprocess_free_answer(chance, path, words):
    import contextlib
    import io
    said = io.StringIO()
    kept, sys.argv = sys.argv, ["chance.py", "1", *words, str(path)]
    try:
        with contextlib.redirect_stdout(said):
            chance.main()
    finally:
        sys.argv = kept
    return said.getvalue().split()


def the_table_is_printed_and_written(folder):
    corpus, right = folder / "corpus", diagnoser(folder, "right", RIGHT)
    text = league(corpus, right, "hta").stdout
    check("100% (51–100)" in text and "first cause right" in text, "the table", text)
    check("6 traces of made: 3 with one bottleneck, 1 with two, 2 healthy." in text, "what it is of", text)
    check("the load was 0.2 on 2 processors" in text, "whether the machine was quiet", text)
    check("1 more are left out" in text and "1 have no trace" in text, "what is left out", text)
    lines = league(corpus, right, "--format=markdown").stdout.splitlines()
    check(lines[0].startswith("| diagnoser |") and lines[0].count("|") == lines[2].count("|"), "Markdown", lines)
    out = folder / "table.md"
    league(corpus, right, "--format=markdown", f"--out={out}")
    check(out.read_text().splitlines()[0] == lines[0], "--out has something else")
    missing = league(corpus, right, "--out=/no/such/folder/x", code=2).stderr
    check("cannot write" in missing, "a folder that is not there", missing)


def twins_are_drawn_from_a_seed():
    """The draws of scripts/league_twins.py; nothing is trained."""
    import league_twins
    from twins import TWINS
    findings = {name: {name} for name in TWINS}
    findings["slow_collate"] = findings["loader_workers"]

    def draws(seed, count):
        return list(league_twins.draw(seed, count, list(TWINS), findings))

    drawn = draws(7, 40)
    check(drawn == draws(7, 40) and drawn[:12] == draws(7, 12), "another draw of the same seed")
    check(drawn != draws(8, 40), "the same draw of another seed")
    for four in range(0, 40, 4):
        kinds = sorted(kind for kind, _, _ in drawn[four:four + 4])
        check(kinds == ["healthy", "one", "one", "two"], "the kinds of four items", kinds)
    for kind, causes, settings in drawn:
        check(len(causes) == {"healthy": 0, "one": 1, "two": 2}[kind], f"{kind} with {causes}")
        check(all(getattr(settings, TWINS[name].knob) == TWINS[name].after for name in causes), "a cause, fixed", causes)
        wrong = league_twins.with_causes(settings, causes)
        check(all(getattr(wrong, TWINS[name].knob) == TWINS[name].before for name in causes), "a cause", causes)
        check(kind != "two" or not findings[causes[0]] & findings[causes[1]], "two with the same finding", causes)
    ones = [causes[0] for kind, causes, _ in drawn if kind == "one"]
    check(len(set(ones[:len(TWINS)])) == len(TWINS), "one comes again before all others", ones)
    measured = league_twins.gain([3.0, 2.0, 4.0], [1.0, 1.0, 2.0])
    check((measured["low"], measured["factor"], measured["high"]) == (2, 2, 3), "a gain", measured)
    sealed = league_twins.seal({"seal": "0" * 64, "items": []})
    check(json.loads(sealed)["seal"] == hashlib.sha256(
        sealed.replace(json.loads(sealed)["seal"], "0" * 64).encode()).hexdigest(), "the seal", sealed)


def bad_usage_is_refused(folder):
    corpus = folder / "corpus"
    for arguments, said in [((corpus, "nobody"), "there is no diagnoser"), ((corpus,), "DIAGNOSER"),
                            ((folder / "no", "random"), "cannot read"), ((corpus, "cmd:"), "needs a command"),
                            ((corpus, "random", "--timeout=0"), "timeout"), ((corpus, "random", "--fast"), "--fast"),
                            ((corpus, "random", "--format=xml"), "xml")]:
        done = league(*arguments, code=2)
        check(said in done.stderr and "Traceback" not in done.stderr, f"{arguments}: it does not say {said}",
              done.stderr)
    check("Exit codes" in league("--help").stdout, "--help")
    done = json.loads(league(corpus, "chokepoint", "--program=/no/such", "--format=json").stdout)["diagnosers"][0]
    built = done["skipped"] is None  # the checkout may have a build
    check(built or "--program" in done["skipped"], "a program that is missing", done)


STAND_IN = """import shutil, sys
if sys.argv[1] == 'corpus':
    shutil.copytree({corpus!r}, next(a for a in sys.argv if a.startswith('--out='))[6:])
    sys.exit({code})
finding = dict(id={finding!r}, severity='major', predicted_gain=1.5)
print(__import__('json').dumps(dict(traces=[dict(findings=[finding])])))
"""


def stand_in(folder, finding="host_sync", code=0):
    """It plays chokepoint: its corpus is the one that was made here, and its diagnosis is always the same."""
    path = folder / "stand_in"
    text = STAND_IN.format(corpus=str(folder / "corpus"), code=code, finding=finding)
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return f"--program={path}"


def freeze(checkout, *arguments, code=0):
    script = source / "scripts/freeze_league.py"
    done = subprocess.run([sys.executable, str(script), f"--source={checkout}", *arguments], capture_output=True,
                          text=True, check=False)
    check(done.returncode == code, f"freeze {arguments}: exit code {done.returncode}, not {code}", done.stderr)
    return done.stderr


def the_table_of_the_docs_comes_from_the_corpus(folder):
    checkout = folder / "checkout"
    (checkout / "docs").mkdir(parents=True)
    (checkout / "results").mkdir()
    page, kept = checkout / "docs/league.md", checkout / "results/league"
    page.write_text("# A page\n\n<!-- league -->\n\nold\n\n<!-- end of league -->\n\nthe rest\n")
    check("does not show" in freeze(checkout, "--check", code=1), "a table of nothing")
    freeze(checkout, stand_in(folder), "chokepoint", "random")
    text = page.read_text()
    check("/home/me" not in (kept / "truth.json").read_text(), "the labels name a folder of whoever made them")
    check("| chokepoint | 50% (" in text and "old" not in text and text.endswith("\n\nthe rest\n"), "the table", text)
    freeze(checkout, "--check", stand_in(folder))
    for changed, said, code in [(text.replace("50%", "60%", 1), "does not show", 1),
                                (text.replace("<!-- league", "<!-- "), "no place", 2)]:
        page.write_text(changed)
        check(said in freeze(checkout, "--check", code=code), f"a page that was changed: {said}")
    page.write_text(text)
    other = stand_in(folder, "launch_bound")
    check("answers otherwise" in freeze(checkout, "--check", other, code=1), "another answer")
    freeze(checkout, "--score", stand_in(folder, "launch_bound"), "chokepoint")
    freeze(checkout, "--check", stand_in(folder, "launch_bound"))
    check(page.read_text() != text and "random" not in page.read_text(), "it was not scored again")
    trace = kept / "0001.json.gz"
    content = trace.read_bytes()
    check(gzip.decompress(content) == gzip.decompress((folder / "corpus/0001.json.gz").read_bytes()), "a trace changed")
    trace.write_bytes(content + b"x")
    check("not the trace that was sealed" in freeze(checkout, "--check", code=2), "a trace that was changed")
    trace.write_bytes(content)
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    freeze(checkout, stand_in(folder, code=1), code=1)
    check(before == {path.name: path.read_bytes() for path in kept.iterdir()}, "a failure replaces the corpus")
    check(sorted(path.name for path in (checkout / "results").iterdir()) == ["league"], "something is left behind")
    large = folder / "corpus/0006.json.gz"
    large.write_bytes(gzip.compress(os.urandom(frozen.BYTES_MOST), 0))
    labels = json.loads((folder / "corpus/truth.json").read_text())
    labels["items"][5]["sha256"] = hashlib.sha256(large.read_bytes()).hexdigest()
    (folder / "corpus/truth.json").write_text(seal(labels))
    check("20 MB are the most" in freeze(checkout, stand_in(folder), code=1), "a large corpus")
    check(before == {path.name: path.read_bytes() for path in kept.iterdir()}, "a large corpus replaces the other")


def event(category, name, begin, end, **arguments):
    return {"ph": "X", "cat": category, "name": name, "ts": begin, "dur": end - begin, "args": arguments}


def the_plugins_rules_are_read_from_a_steps_times():
    """Steps of 100 us; the limits are those that the plugin publishes."""
    step = event("user_annotation", "ProfilerStep#1", 0, 100)
    gpu = {"computeMajor": 9, "totalGlobalMem": 1000}

    def causes(*events, device=gpu):
        return plugin_rules.causes({"deviceProperties": [device], "traceEvents": [step, *events]}, kineto)
    busy = event("kernel", "relu", 0, 60)
    cases = [
        ("nothing", [busy], []),
        ("loading of 4%", [busy, event("user_annotation", "data", 60, 64)], []),
        ("loading of 6%", [busy, event("user_annotation", "data", 60, 66)], ["data_loading"]),
        ("the same under a kernel", [busy, event("user_annotation", "data", 50, 60)], []),
        ("the same under a call", [busy, event("cuda_runtime", "cudaLaunchKernel", 60, 70),
                                   event("user_annotation", "enumerate(DataLoader)#1", 60, 70)], []),
        ("half busy", [event("kernel", "relu", 0, 50)], []),
        ("less than half", [event("kernel", "relu", 0, 30), event("kernel", "relu", 20, 49)], ["small_kernels"]),
        ("products in fp32", [busy, event("kernel", "sgemm_fp32", 60, 70)], ["fp32_matmul"]),
        ("products in bf16", [busy, event("kernel", "gemm_bf16", 60, 70)], []),
        ("91% of the memory", [busy, {"ph": "i", "name": "[memory]", "args": {"Total Allocated": 910}}],
         ["activation_memory"]),
        ("89% of it", [busy, {"ph": "i", "name": "[memory]", "args": {"Total Allocated": 890}}], []),
    ]
    for name, events, meant in cases:
        check(causes(*events) == meant, f"{name}: {causes(*events)}, not {meant}")
    old = causes(busy, event("kernel", "sgemm_fp32", 60, 70), device={"computeMajor": 6})
    check(old == [], f"a device without Tensor Cores: {old}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    make(folder / "corpus", ITEMS)
    answers_are_scored(folder)
    what_goes_wrong_names_nothing(folder)
    a_hanging_diagnosers_children_end_too(folder)
    what_was_changed_is_noticed(folder)
    chance_scores_at_chance(folder)
    the_table_is_printed_and_written(folder)
    twins_are_drawn_from_a_seed()
    bad_usage_is_refused(folder)
    the_plugins_rules_are_read_from_a_steps_times()
    the_table_of_the_docs_comes_from_the_corpus(folder)
sys.exit(bool(failures))
