#!/usr/bin/env python3
"""`corpus` makes traces that do not say what they are, and labels that say what was measured, under seals.

usage: test_corpus.py PROGRAM SOURCE
"""
import gzip
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
COUNT = 5  # of four items in a row one has two causes and one has none
failures = []


def check(condition, text, *shown):
    if not condition:
        failures.append(text)
        print(f"FAILED: {text}", *shown, sep="\n    ")


def call(*arguments, code=0, **more):
    done = subprocess.run([program, "corpus", *arguments], capture_output=True, text=True, check=False, **more)
    check(done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}", done.stderr)
    return done


def make(folder, seed, count, *more, code=0):
    return call("--device=cpu", f"--seed={seed}", f"--count={count}", "--repetitions=1", f"--out={folder}", *more,
                code=code)


def read(folder):
    return json.loads((folder / "truth.json").read_text())


def labels(truth):
    """All that is drawn, and nothing that is measured. The device chooses a size where the label says role or auto."""
    return [(item["name"], item["kind"], item["seed"], item["settings"],
             [(cause["scenario"], cause["findings"], cause["before"], cause["after"]) for cause in item["causes"]])
            for item in truth["items"]]


def check_seals(folder, truth):
    text = (folder / "truth.json").read_text()
    zeroed = text.replace(truth["seal"], "0" * 64)
    check(zeroed != text and hashlib.sha256(zeroed.encode()).hexdigest() == truth["seal"], "the seal is another")
    for item in truth["items"]:
        found = hashlib.sha256((folder / item["trace"]).read_bytes()).hexdigest()
        check(found == item["sha256"], f"{item['trace']}: the SHA-256 is another")


def check_hidden(folder, truth, scenarios):
    """The names of files, and what a trace says of itself, are the same for every cause."""
    names = sorted(path.name for path in folder.iterdir())
    check(names == [*(f"{i + 1:04d}.json.gz" for i in range(len(truth["items"]))), "truth.json"], "the files", names)
    members = set()
    for item in truth["items"]:
        text = gzip.decompress((folder / item["trace"]).read_bytes()).decode()
        trace = json.loads(text)
        check(trace["traceName"] == item["name"], f"{item['name']}: it is called {trace['traceName']}")
        check("settings" not in trace["chokepoint"], f"{item['name']}: it states its settings")
        members.add(frozenset(trace))
        # Text of a hundred megabytes in all: an expression is a minute's work, the first look is not.
        said = [name for name in scenarios if name in text and re.search(rf"\b{name}\b", text)]
        check(not said, f"{item['name']}: it says {said}")
        for word in [f"{cause['knob']}={cause[side]}" for cause in item["causes"] for side in ("before", "after")]:
            check(word not in text, f"{item['name']}: it says {word}")
        check("before" not in text.split("traceEvents")[0], f"{item['name']}: it says before")
    check(len(members) == 1, "traces state different things of themselves", members)


def check_labels(truth, known):
    """Each item has the settings that its causes need, and what was measured of them."""
    kinds = {"healthy": 0, "one": 1, "two": 2}
    for item in truth["items"]:
        name, causes = item["name"], item["causes"]
        check(len(causes) == kinds[item["kind"]], f"{name}: {item['kind']} with {len(causes)} causes")
        check(item["reason"] is None and item["measurable"] in (True, False), f"{name}: {item['reason']}")
        check((item["same"] is not None) == (item["kind"] == "healthy"), f"{name}: A/A")
        check((item["together"] is not None) == (item["kind"] == "two"), f"{name}: both fixes")
        settings = dict(word.split("=") for word in item["settings"].split())
        for cause in causes:
            scenario = known[cause["scenario"]]
            wrong = settings[cause["knob"]]
            if "cores" not in cause["before"]:  # the device's number stands for that
                check(wrong == scenario["before"], f"{name}: {cause['knob']} is {wrong}, not {scenario['before']}")
            check(set(cause["findings"]) <= {f["id"] for f in scenario["findings"]}, f"{name}: findings", cause)
            check(cause["gain"]["metric"] == "step_time", f"{name}: the gain is of {cause['gain']['metric']}")
        for effect in [*(cause["gain"] for cause in causes), item["together"], item["same"]]:
            # A single pair: the factor is that of its two sides.
            if effect:
                check(abs(effect["before"] / effect["after"] / effect["factor"] - 1) < 1e-9, f"{name}: a gain", effect)
    check(truth["count"] == len(truth["items"]), "items are missing")
    drawn = {cause["scenario"] for item in truth["items"] for cause in item["causes"]}
    check(drawn <= {row["scenario"] for row in truth["vocabulary"]}, "the vocabulary lacks a cause")


def no_pairs_no_claim(truth):
    """A single pair gives no interval: nothing of that corpus is measurable but what is healthy."""
    for item in truth["items"]:
        check(item["measurable"] == (item["kind"] == "healthy"), f"{item['name']}: measurable, of one pair")


def the_league_reads_it(folder):
    league = [sys.executable, str(source / "scripts/league.py"), f"--program={program}", str(folder), "chokepoint",
              "random", "--format=json"]
    done = subprocess.run(league, capture_output=True, text=True, check=False)
    check(done.returncode == 0, "the league does not take it", done.stderr)
    result = json.loads(done.stdout)
    check([row["score"]["failures"] for row in result["diagnosers"]] == [0, 0], "a diagnoser failed", result)
    text = (folder / "truth.json").read_text()
    (folder / "truth.json").write_text(text.replace('"kind":\t"healthy"', '"kind":\t"one"', 1))
    done = subprocess.run(league, capture_output=True, text=True, check=False)
    check(done.returncode == 2 and "not as it was sealed" in done.stderr, "a changed label", done.stderr)
    (folder / "truth.json").write_text(text)


def the_same_seed_has_the_same_labels(folder, first):
    make(folder / "again", 11, 2)
    again = read(folder / "again")
    check(labels(again) == labels(first)[:2], "the same seed, other labels", labels(again), labels(first)[:2])
    make(folder / "other", 12, 1)
    other = read(folder / "other")
    check(labels(other) != labels(again)[:1], "another seed, the same labels")


def a_corpus_is_never_written_over(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said = make(folder, 13, 2, code=2).stderr
    check("is there already" in said and "--out=" in said, "what is said of a corpus that is there", said)
    check(before == {path.name: path.read_bytes() for path in folder.iterdir()}, "a corpus was changed")


def bad_usage_is_refused(folder):
    for arguments, said in [((), "--out="), (("--count=0", "--out=x"), "1 to 9999"), (("--out=",), "--out="),
                            (("--count=many", "--out=x"), "many"), (("item_sync", "--out=x"), "options only"),
                            (("--seed=-1", "--out=x"), "--seed=-1"), (("--device=tpu", "--out=x"), "tpu")]:
        done = call(*arguments, code=2, cwd=folder)
        check(said in done.stderr, f"{arguments}: it does not say {said}", done.stderr)
    check(not (folder / "x").exists(), "bad usage makes a folder")
    (folder / "file").write_text("")
    check("--out=" in make(folder / "file", 1, 1, code=2).stderr, "a file instead of a folder")
    check((folder / "file").read_text() == "", "the file was changed")


def interrupt(folder, after):
    """A signal as soon as `after` is there; the exit code and what is said."""
    child = subprocess.Popen([program, "corpus", "--device=cpu", "--seed=11", "--count=50", "--repetitions=1",
                              f"--out={folder}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (folder / after).exists() and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate()
    return child.returncode, said


def an_interrupt_keeps_what_is_whole(folder):
    code, said = interrupt(folder / "some", "0002.json.gz")
    check(code == 130 and "stopped by an interrupt" in said, f"exit code {code}", said)
    truth = read(folder / "some")
    check(len(truth["items"]) >= 1, "nothing is left")
    check_seals(folder / "some", truth)
    named = {"truth.json", *(item["trace"] for item in truth["items"])}
    left = {path.name for path in (folder / "some").iterdir()}
    check(named == left, "files that no label names", left - named)
    code, said = interrupt(folder / "none", "truth.json")
    if "there is no corpus" in said:  # else an item was complete sooner
        check(code == 130 and list((folder / "none").iterdir()) == [], "an empty corpus is left")


def a_killed_corpus_goes_on(folder):
    """Killed once an item is whole, then until the next is; other options are refused, and nothing is lost."""
    place = folder / "killed"
    arguments = ("--device=cpu", "--seed=18446744073709551615", "--repetitions=1", f"--out={place}")
    for after in ("0002.json.gz", "0003.json.gz"):
        child = subprocess.Popen([program, "corpus", *arguments, "--count=3"], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        while not (place / after).exists() and child.poll() is None:
            time.sleep(0.01)
        child.kill()
        child.wait()
        before = read(place)["items"]
        check(len(before) >= int(after[:4]) - 1, "an item is lost", len(before))
        if len(before) == 3:
            break
        said = make(place, 5, 3, code=2).stderr
        check("of another seed" in said, "another seed is taken", said)
        said = call("--device=cpu", "--seed=18446744073709551615", "--repetitions=2", "--count=3", f"--out={place}",
                    code=2).stderr
        check("of another protocol" in said, "another protocol is taken", said)
        check(read(place)["items"] == before, "a refusal changes items")
    if len(read(place)["items"]) < 3:
        call(*arguments, "--count=3")
    truth = read(place)
    check(truth["items"][:len(before)] == before, "an item is another after going on")
    check_seals(place, truth)
    check(sorted(path.name for path in place.iterdir()) == [*(f"000{i}.json.gz" for i in (1, 2, 3)), "truth.json"],
          "what is left", list(place.iterdir()))
    said = call(*arguments, "--count=3", code=2).stderr
    check("is there already, with 3 items" in said, "a whole corpus", said)
    changed = (place / "truth.json").read_text()
    (place / "truth.json").write_text(changed.replace('"count":\t3', '"count":\t4'))
    said = call(*arguments, "--count=4", code=2).stderr
    check("not as a corpus was sealed" in said, "a truth that was changed", said)
    (place / "truth.json").write_text(changed)
    (place / "0002.json.gz").write_bytes(b"another")
    said = call(*arguments, "--count=4", code=2).stderr
    check("its item 2 is not as it was made" in said, "a trace that was changed", said)


def a_full_disk_is_an_error_and_what_is_there_stays_whole(folder):
    """As where a file may not grow: before the first item, and with it."""
    for most in (1024, 4096):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        done = subprocess.run([program, "corpus", "--device=cpu", "--count=1", f"--out={folder / 'full'}"],
                              capture_output=True, text=True, check=False, preexec_fn=limit)
        check(done.returncode == 2 and "cannot write" in done.stderr, f"a full disk: {done.returncode}", done.stderr)
        check(done.stdout == "", "a full disk has traces", done.stdout)
        check(not (folder / "full").exists() or list((folder / "full").iterdir()) == [], "a full disk leaves files")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    listed = json.loads(subprocess.run([program, "list", "--format=json"], capture_output=True, check=True).stdout)
    known = {scenario["name"]: scenario for scenario in listed["scenarios"]}
    done = make(folder / "one", 11, COUNT)
    check(f"{COUNT} traces:" in done.stdout, "the summary", done.stdout)
    truth = read(folder / "one")
    check(not any(scenario in done.stdout for scenario in known), "the summary gives labels away", done.stdout)
    check_seals(folder / "one", truth)
    check_hidden(folder / "one", truth, known)
    check_labels(truth, known)
    no_pairs_no_claim(truth)
    the_league_reads_it(folder / "one")
    the_same_seed_has_the_same_labels(folder, truth)
    a_corpus_is_never_written_over(folder / "one")
    bad_usage_is_refused(folder)
    an_interrupt_keeps_what_is_whole(folder)
    a_killed_corpus_goes_on(folder)
    a_full_disk_is_an_error_and_what_is_there_stays_whole(folder)
sys.exit(bool(failures))
