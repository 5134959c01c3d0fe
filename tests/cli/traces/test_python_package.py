#!/usr/bin/env python3
"""`import chokepoint`: diagnoses, pages and recordings from Python, beside a stand-in for PyTorch.

usage: test_python_package.py PROGRAM SOURCE
"""
import gzip
import json
import os
import pathlib
import pickle
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from checking import check, end  # noqa: E402

program, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
os.environ["PATH"] = os.path.dirname(program) + os.pathsep + os.environ["PATH"]
sys.path[:0] = [str(source / "python"), str(source / "tests/fixtures/torch_stand_in")]

import torch  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

import chokepoint  # noqa: E402


def refuses(code, words, call, *arguments):
    try:
        call(*arguments)
    except chokepoint.Error as error:
        check(error.code == code and words in str(error), f"{error.code}: {error}")
    else:
        check(False, f"{words}: no error")


def train(optimizer, steps):
    for _ in DataLoader(range(steps)):
        optimizer.zero_grad()
        optimizer.step()


def check_recordings(folder):
    """In the midst of a program: its optimizers were made before, and one has a step of its own."""
    optimizer, scheduled = torch.optim.SGD(), torch.optim.Adam()
    scheduled.step = scheduled.step
    before = torch.optim.SGD.__dict__["step"], DataLoader([1]).__iter__().__class__.__dict__["__next__"]
    for name, each in (("plain", optimizer), ("scheduled", scheduled)):
        with chokepoint.recording(steps=5, stack_steps=1, wait=3, folder=str(folder / name)) as seen:
            train(each, 40)
        check(seen.steps == 5 and seen.why == "", f"{name}: {seen.steps}, {seen.why}")
        trace, = seen.diagnose()["traces"]
        check(trace["steps"]["count"] == 5 and trace["lines_from"], f"{name}: {trace['steps']}")
        check("Bottleneck" in str(seen), f"{name}: {seen}")
        check(json.loads((folder / name / "record.json").read_text())["processes"][0]["phase"] == "done", name)
        shown = seen._repr_html_()
        check(shown.startswith(("<iframe", "<pre>")) and "optimizer" in shown.lower(), f"{name}: {shown[:80]}")
    after = torch.optim.SGD.__dict__["step"], DataLoader([1]).__iter__().__class__.__dict__["__next__"]
    check(before == after, "functions of PyTorch stay wrapped")
    check(not any(type(each).__name__ == "Finder" and type(each).__module__ == "chokepoint_recorder"
                  for each in sys.meta_path), "the finder stays")
    with chokepoint.recording(folder=str(folder / "short")) as seen:
        train(optimizer, 4)
    check(seen.steps == 0 and "after 4 steps" in seen.why and "Nothing was recorded" in str(seen), f"short: {seen.why}")
    check("Nothing was recorded" in seen._repr_html_(), "short: the cell")
    check("wait=1 starts it" in seen.why and "--" not in seen.why, f"short: {seen.why}")
    check(repr(seen).startswith("<chokepoint.recording: nothing was recorded: the program ended"), f"short: {seen!r}")
    refuses(2, "nothing was recorded: the program ended after 4 steps", seen.diagnose)
    with chokepoint.recording(folder=str(folder / "none")) as seen:
        pass
    check("no step is known" in seen.why and "step=forward" in str(seen), f"none: {seen.why}")
    try:
        chokepoint.recording(step="batch")
    except ValueError as error:
        check("not 'batch'" in str(error), f"{error}")
    else:
        check(False, "a step that does not exist is taken")
    return folder / "plain"


def check_findings(recorded, path):
    """Findings are dictionaries with attributes."""
    said = chokepoint.diagnose(recorded)
    trace, = said["traces"]
    check(said.findings == trace["findings"] and len(said.findings) > 0, f"{said.findings}")
    check(json.loads(json.dumps(said))["traces"][0]["findings"] == trace["findings"], "no dictionary any more")
    for one in said.findings:
        check((one.name, one.severity, one.gain, one.rank) == (one["id"], one["severity"], one["predicted_gain"], None), f"{one!r}")
        check(one.place == (one["where"] or {"text": ""})["text"] and one.file == str(path), f"{one!r}")
        check(repr(one).startswith(f"<Finding {one.name}, {one.severity}"), f"{one!r}")
    ranks = chokepoint.diagnose(*ranks_of(path))
    check(ranks["is_run"] and ranks.findings == ranks["run"]["findings"], f"ranks: {ranks.findings}")
    snapshot = recorded.parent / "snapshot.pickle"
    snapshot.write_bytes(pickle.dumps({"segments": [], "device_traces": [[]], "allocator_settings": {}}))
    check(chokepoint.diagnose(snapshot)["snapshots"][0]["file"] == str(snapshot), "a snapshot")


def ranks_of(path):
    """The trace as that of two ranks."""
    with gzip.open(path) as file:
        trace = json.load(file)
    for rank in (0, 1):
        trace["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": 2}
        name = path.parent.parent / f"rank{rank}.json"
        name.write_text(json.dumps(trace))
        yield name


def check_comparing(recorded, path):
    """Traces are explained, results are compared."""
    for base, new in ((recorded, recorded), (path, [path])):
        why, = chokepoint.compare(base, new)["explanations"]
        check(why["change_ns"] == 0 and why["base"] == str(path), f"{why}")
    result = source / "results/tour"
    rows = chokepoint.compare(result, [result / "result.json"], options=["--filter=before", "--noise=2%"])
    check("explanations" not in rows and rows["rows"], f"{rows}")
    refuses(2, "no-result", chokepoint.compare, "no-result", path)


def main():
    check(re.fullmatch(r"\d+\.\d+\.\d+", chokepoint.__version__), f"version {chokepoint.__version__}")
    with tempfile.TemporaryDirectory(prefix="chokepoint-python-") as name:
        folder = pathlib.Path(name)
        recorded = check_recordings(folder)
        path = recorded / "trace.pt.trace.json.gz"
        said = chokepoint.diagnose(path)
        with gzip.open(path) as file:
            given = chokepoint.diagnose(file.read())
        check(said["traces"][0]["findings"] == given["traces"][0]["findings"], "bytes say something else")
        check(chokepoint.diagnose(path, timeline=1)["traces"][0]["timeline"] is not None, "no timeline")
        refuses(2, "No such file", chokepoint.diagnose, folder / "nothing.json")
        refuses(2, "nothing.json", chokepoint.report, folder / "nothing.json")
        check_findings(recorded, path)
        check_comparing(recorded, path)
    end()


main()
