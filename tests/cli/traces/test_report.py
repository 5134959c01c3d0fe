#!/usr/bin/python3
"""`chokepoint report`: the page's figures are those of result.json and of diagnose, whatever is broken or missing
is said on it, and no text can become markup.

usage: test_report.py PROGRAM
"""
import base64
import gzip
import html.parser
import json
import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from browser import open_browser, rendered  # noqa: E402
from nsys_export import Export  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))
MIB = 1 << 20
EVIL = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>"


def document_of(text):
    """The document in the file of a page."""
    packed = re.search(r'id="document">([^<]*)</script>', text)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed, validate=True)))


class Page(html.parser.HTMLParser):
    """The elements of a page as a browser draws it: tag, attributes, and the attributes of all those around."""

    VOID = ("meta", "input", "link", "br", "img")

    def __init__(self, text, document):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.scripts, self.text, self.document = [], [], [], [], document
        self.feed(text)
        assert self.open == [], self.open

    def handle_starttag(self, tag, attributes):
        around = {}
        for _, of_parent in self.open:
            around.update(of_parent)
        self.elements.append((tag, dict(attributes), around))
        if tag not in self.VOID:
            self.open.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "script":
            self.scripts[-1] += data
        else:
            self.text.append(data)

    def values(self, attribute, **around):
        """The values of an attribute of all elements within those that have these attributes."""
        wanted = {name.replace("_", "-"): value for name, value in around.items()}
        return [attributes[attribute] for _, attributes, parents in self.elements
                if attribute in attributes and wanted.items() <= {**parents, **attributes}.items()]

    def said(self):
        return " ".join(" ".join(self.text).split())


def run(*arguments, expect=0, **more):
    ran = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, **more)
    assert ran.returncode == expect, f"{arguments}: {ran.returncode}, not {expect}: {ran.stderr}"
    return ran


def numbers(values):
    return [float(value) for value in values]


def made_trace(name, rank=None, world=2, steps=4, last=100):
    """Steps of 100 us, each with a kernel of 60 us of that name, launched by a call within an operator; the last
    step may be longer."""
    events = []
    for step in range(steps):
        at = 100 * step
        host = {"pid": 9, "tid": 9, "ph": "X"}
        events += [
            {**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": at,
             "dur": last if step == steps - 1 else 100},
            {**host, "cat": "cpu_op", "name": name, "ts": at + 1, "dur": 20},
            {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 5, "dur": 4,
             "args": {"correlation": step + 1}},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 10, "dur": 60,
             "args": {"correlation": step + 1, "grid": [3, 2, 1], "block": [64, 1, 1]}}]
    head = {} if rank is None else {"distributedInfo": {"rank": rank, "world_size": world}}
    return {**head, "traceEvents": events}


def made_snapshot(name, times=True, history=True):
    """Ten steps that take 2 MiB each and give 1 back, on a line of that name, and then ask for too much."""
    frames = [{"name": "linear", "filename": "/usr/lib/python3/dist-packages/torch/nn/functional.py", "line": 2},
              {"name": name, "filename": "/home/me/train.py", "line": 34},
              {"name": "<module>", "filename": "/home/me/train.py", "line": 90}]
    entries, blocks = [], []
    for step in range(10):
        for number in range(2):
            address = (1 << 30) + (2 * step + number << 20)
            entries.append({"action": "alloc", "addr": address, "size": MIB, "stream": 0, "frames": frames})
        entries.append({"action": "free_completed", "addr": address, "size": MIB, "stream": 0})
        blocks.append({"address": address - MIB, "size": MIB, "requested_size": MIB, "state": "active_allocated",
                       "frames": frames})
    entries.append({"action": "oom", "device_free": 5 * MIB, "size": 900 * MIB, "stream": 0})
    for number, entry in enumerate(entries if times else []):
        entry["time_us"] = 10**15 + 50 * number
    segments = [{"device": 0, "address": 1 << 30, "total_size": 40 * MIB, "segment_pool_id": (0, 0), "blocks":
                 blocks + [{"address": 1 << 31, "size": 30 * MIB, "requested_size": 0, "state": "inactive", "frames": []}]}]
    return pickle.dumps({"segments": segments, "device_traces": [entries if history else []]})


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.browser = open_browser()
        cls.addClassCleanup(cls.browser.quit)
        ran = subprocess.run([PROGRAM, "run", "launch_overhead", "checkpointing", "strict_fp32",
                              "--device=cpu", "--quick", "--repetitions=2", f"--out={cls.folder / 'made'}"],
                             capture_output=True, text=True, check=False)
        assert ran.returncode in (0, 1, 3), ran.stderr
        cls.table = ran.stdout

    def report(self, *inputs, expect=0):
        out = self.folder / "page.html"
        out.unlink(missing_ok=True)
        ran = run("report", *inputs, "-o", out, expect=expect)
        return self.page(out), ran

    def page(self, path):
        text = pathlib.Path(os.fsdecode(path)).read_text()
        return Page(rendered(self.browser, path), document_of(text))

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def copy(self, name):
        target = self.folder / name
        shutil.copytree(self.folder / "made", target)
        return target

    def diagnosis(self, path):
        return json.loads(run("diagnose", path, "--format=json", "--timeline=3", "--what-if").stdout)["traces"][0]

    def test_figures_are_those_of_the_result_and_of_diagnose(self):
        page, _ = self.report(self.folder / "made")
        result = json.loads((self.folder / "made/result.json").read_text())
        self.assertEqual(page.document["result"], result)
        self.assertEqual(len(page.document["diagnoses"]), 3)
        for scenario in result["chokepoint"]["scenarios"]:
            name = scenario["name"]
            row = page.values("data-sort", data_name=name)
            self.assertIn(scenario["verdict"], row)
            if scenario["verdict"] == "skipped":
                self.assertEqual(page.document["diagnoses"][name], {})
                continue
            self.assertEqual(numbers(page.values("data-sort", data_name=name, data_value="effect")),
                             [scenario["effect"]])
            for metric in {expectation["metric"] for expectation in scenario["expectations"]}:
                shown = page.values("data-exact", data_scenario=name, data_metric=metric)
                wanted = [expectation[key] for expectation in scenario["expectations"] for key in ("before", "after", "effect")
                          if expectation["metric"] == metric and expectation[key] is not None]
                self.assertEqual(numbers(shown), wanted)
            printed, left_out = ({expectation["metric"] for expectation in scenario["expectations"]
                                  if (expectation["outcome"] == "not bound") == is_left_out}
                                 for is_left_out in (False, True))
            for metric in printed - left_out:
                for words in page.values("data-words", data_scenario=name, data_metric=metric):
                    self.assertIn(words, self.table)
            for variant in ("before", "after"):
                trace = self.diagnosis(self.folder / "made" / scenario["traces"][variant])
                self.assertEqual(page.document["diagnoses"][name][variant]["traces"], [trace])
                self.check_trace(page, trace, name, variant)
                busy = scenario.get("utilisation", {}).get(variant, {}).get("busy_share")
                self.assertEqual(numbers(page.values("data-sort", data_name=name, data_value=f"busy-{variant}")),
                                 [trace["window"]["busy_share"] if busy is None else busy])
            samples = [sum(len(sample["step_ns"]) for sample in scenario["samples"][variant]) for variant in ("before", "after")]
            self.assertEqual(len(page.values("stroke-opacity", data_scenario=name)), sum(min(400, one) for one in samples))
            gains = [finding["predicted_gain"] for finding in scenario["findings"]["before"]
                     if finding["predicted_gain"] and finding["predicted_gain"] > 1]
            self.assertEqual(numbers(page.values("data-exact", data_scenario=name, data_findings="before")), gains)
            words = [finding["bottleneck"] for finding in scenario["findings"]["before"]
                     if finding["bottleneck"] != "none"]
            self.assertEqual(list(page.values("data-bottleneck", data_scenario=name, data_findings="before")),
                             (words + ["unclear"])[:1])
            self.assertLessEqual(set(page.values("data-measured", data_scenario=name)),
                                 {str(scenario["findings"]["measured_gain"])})

    def check_trace(self, page, trace, name, variant):
        at = ("before", "after").index(variant)
        for part, mean in trace["steps"]["parts"].items():
            shown = page.values("data-exact", data_scenario=name, data_breakdown="steps", data_part=part)
            self.assertEqual(float(shown[at]) if shown else 0, mean)
        for cause, idle in {**trace["window"]["causes"], "busy": trace["window"]["busy_ns"]}.items():
            shown = page.values("data-exact", data_scenario=name, data_breakdown="device", data_part=cause)
            self.assertEqual(float(shown[at]) if shown else 0, idle)
        for phase in trace["phases"]:
            shown = page.values("data-exact", data_scenario=name, data_phase=phase["name"])
            self.assertEqual(numbers(shown[2 * at:2 * at + 2]), [phase["host_ns"], phase["device_ns"]])
        places = [one["where"]["text"] for one in trace["findings"] + trace["gaps"][:8] if one["where"]]
        self.assertTrue(places or not trace["gaps"])
        for place in places:
            self.assertIn(place, page.said())
        kernels = [row for row in trace["kernels"] if row["kind"] in ("computation", "communication")][:10]
        others = [row for row in trace["kernels"] if row["kind"] not in ("computation", "communication")][:3]
        shown = page.values("data-exact", data_scenario=name, data_variant=variant)
        wanted = [row["total_ns"] for row in kernels + others]
        wanted += [row["device_ns"] for row in trace["operator_kinds"][:10]]
        wanted += [row["device_total_ns"] for row in trace["operators"][:10]]
        wanted += [row["duration_ns"] for row in trace["gaps"][:8]]
        self.assertEqual(numbers(shown), wanted)

    def test_a_trial_is_a_table_of_its_arms(self):
        arm = {"name": "workers", "cause": "data_loading", "is_fix": True, "text": "num_workers=2", "effect": 1.5,
               "interval": [1.4, 1.6], "predicted_gain": 1.7, "verdict": "gain", "reason": "", "place": "train.py:3",
               "advice": EVIL}
        without = {**arm, "name": "no_log", "is_fix": False, "effect": None, "interval": [None, None], "verdict": "unclear",
                   "reason": "two rounds"}
        trial = {"step_ns": 2e6, "disturbed": "", "arms": [arm, without, {**arm, "name": "odd", "interval": [1]}]}
        page, _ = self.report(self.write("try/result.json", {"context": {}, "chokepoint": {"trial": trial}}))
        self.assertEqual(page.values("data-arm"), ["workers", "no_log"])
        self.assertEqual(page.values("data-sort", data_arm="workers"),
                         ["data_loading", "workers", "1.5", "1.7", "gain"])
        for words in ("A step takes 2.00 ms", "num_workers=2 1.50x 1.40 to 1.60 1.70x gain", EVIL,
                      "without it (no_log) – – 1.70x unclear: two rounds", "odd is not as this version"):
            self.assertIn(words, page.said())

    def test_the_page_needs_nothing_else_and_is_small(self):
        page, _ = self.report(self.folder / "made")
        text = (self.folder / "page.html").read_text()
        self.assertLess(len(re.search('id="document">([^<]*)<', text)[1]), 3e5)  # three scenarios
        for tag, attributes, _ in page.elements:
            self.assertNotIn(tag, ("link", "img", "iframe", "object"))
            self.assertNotIn("src", attributes)
            self.assertTrue(attributes.get("href", "#").startswith("#"), attributes)
        self.assertNotIn("url(", text)
        self.assertNotIn("@import", text)
        self.assertNotIn("http:", text.replace("http://www.w3.org/2000/svg", ""))
        ids = page.values("id")
        self.assertEqual(len(ids), len(set(ids)))

    def test_names_cannot_become_markup(self):
        trace = self.write("evil.json", made_trace(EVIL))
        healthy, _ = self.report(self.write("plain.json", made_trace("gemm")))
        page, _ = self.report(trace)
        count = [tag for tag, _, _ in healthy.elements].count("script")
        self.assertEqual([tag for tag, _, _ in page.elements].count("script"), count)
        self.assertNotIn("img", [tag for tag, _, _ in page.elements])
        self.assertIn(EVIL, page.said())
        self.assertFalse(any(name.startswith("on") for _, attributes, _ in page.elements for name in attributes))

        made = self.copy("evil")
        result = json.loads((made / "result.json").read_text())
        for scenario in result["chokepoint"]["scenarios"]:
            scenario.update(reason=EVIL, title=EVIL, knob=EVIL, verdict=EVIL)
        result["context"]["device_name"] = EVIL
        self.write("evil/result.json", result)
        page, _ = self.report(made)
        self.assertNotIn("img", [tag for tag, _, _ in page.elements])
        self.assertIn(EVIL, page.said())

    def test_a_column_without_any_value_is_left_out(self):
        trace = made_trace("gemm")
        said = self.report(self.write("plain.json", trace))[0].said()
        self.assertIn("Operators by kind", said)
        for word in ("and shape", "shapes", "roofline"):
            self.assertNotIn(word, said)
        for event in trace["traceEvents"]:
            if event["cat"] == "cpu_op":
                event["args"] = {"Input Dims": [[8, 16], [16, 4]]}
        said = self.report(self.write("shapes.json", trace))[0].said()
        for word in ("Operators by kind and shape", "shapes"):
            self.assertIn(word, said)

    def test_a_finding_on_waits_says_how_much_of_the_idle_time_it_counts(self):
        events = []
        for step in range(20):  # of 300 us: a launch, a wait of 100 us for the kernel, work of the host
            at, host = 300 * step, {"pid": 9, "tid": 9, "ph": "X"}
            events += [
                {**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": at, "dur": 300},
                {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at, "dur": 4,
                 "args": {"correlation": step + 1}},
                {**host, "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "ts": at + 10, "dur": 100},
                {**host, "cat": "cpu_op", "name": "log", "ts": at + 112, "dur": 180},
                {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 8, "dur": 100,
                 "args": {"correlation": step + 1}}]
        path = self.write("waits.json", {"traceEvents": events})
        window = self.diagnosis(path)["window"]
        page = self.report(path)[0]
        self.assertIn("host_sync", page.values("data-finding"))
        share = 100 * window["after_wait_ns"] / (window["busy_ns"] + window["idle_ns"])
        self.assertGreater(share, 50)
        self.assertIn(f"whatever its cause here: at most {share:.1f}% of the time", page.said())
        self.assertNotIn("at most", self.report(self.write("plain.json", made_trace("gemm")))[0].said())

    def test_what_others_may_have_hidden_is_not_counted(self):
        made = self.copy("hidden")
        result = json.loads((made / "result.json").read_text())
        for verdict, wanted in (("not reproduced", False), ("undecided", True)):
            for scenario in result["chokepoint"]["scenarios"][:2]:
                scenario["verdict"] = verdict
                for expectation in scenario["expectations"]:
                    expectation["outcome"] = "not met"
            self.write("hidden/result.json", result)
            said = self.report(made)[0].said()
            self.assertEqual(("? not counted" in said, "✗ not met" in said), (wanted, not wanted))

    def test_one_trace_and_ranks(self):
        page, _ = self.report(self.write("plain.json", made_trace("gemm")))
        self.assertIn("16 events", page.said())
        self.assertEqual(page.values("data-exact", data_breakdown="steps", data_part="kernel"), ["60000"])
        ranks = [self.write(f"ranks/rank{rank}.json", made_trace("gemm", rank)) for rank in range(2)]
        page, _ = self.report(*ranks)
        self.assertIn("Ranks of one run", page.said())
        self.assertEqual(len(page.values("data-trace")), 2)
        self.assertEqual(self.report(self.folder / "ranks")[0].said().count("rank 1 of 2"), 1)
        page, _ = self.report(*ranks, self.folder / "plain.json")
        self.assertIn("Ranks of one run", page.said())
        self.assertIn("plain.json", page.said())
        page, _ = self.report(self.folder / "plain.json", ranks[0])
        self.assertNotIn("Ranks", page.said())

    def test_the_mix_of_a_transformer_and_the_answers_are_those_of_diagnose(self):
        trace = made_trace("gemm")
        for number, name in enumerate(("layer_norm", "softmax", "adamw_f32")):
            for step in range(4):
                trace["traceEvents"].append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7,
                                             "ts": 100 * step + 70 + 5 * number, "dur": 5})
        path = self.write("transformer.json", trace)
        page, found = self.report(path)[0], self.diagnosis(path)
        self.assertEqual(numbers(page.values("data-exact", data_mix="trace")),
                         [row["total_ns"] for row in found["mix"]["kinds"] if row["count"]])
        self.assertEqual(sum(row["total_ns"] for row in found["mix"]["kinds"]), 4 * 75000)
        for row in found["mix"]["layers"]:
            self.assertIn(f"{row['name']} {100 * row['share']:.1f}% {100 * row['usual_share']:.1f}%", page.said())
        self.assertIn(found["mix"]["source"], page.said())
        self.assertEqual(page.values("data-answer"), [f"{row['id']} {row['answer']}" for row in found["checklist"]])
        plain = self.write("plain.json", made_trace("gemm"))
        self.assertIsNone(self.diagnosis(plain)["mix"])
        self.assertNotIn("Device work by kind", self.report(plain)[0].said())

    def drawn_device(self, page):
        """The first device of a snapshot as its picture needs it."""
        return self.browser.execute_script("return drawnDevice(arguments[0])",
                                           page.document["diagnosis"]["snapshots"][0]["devices"][0])

    def snapshot(self, name, *arguments):
        path = self.folder / f"{name}.pickle"
        path.write_bytes(made_snapshot(*arguments))
        return path

    def test_a_snapshot_of_memory(self):
        path = self.snapshot("memory", "step")
        page, _ = self.report(path)
        device = json.loads(run("diagnose", path, "--format=json").stdout)["snapshots"][0]["devices"][0]
        drawn = self.drawn_device(page)
        self.assertEqual(drawn["calls"], device["calls"])
        self.assertEqual([call["bytes"] for call in drawn["calls"]], 3 * [11 * MIB])
        self.assertEqual(drawn["curve"]["allocated_bytes"], device["curve"]["live_bytes"])
        self.assertEqual(drawn["categories"], [{"name": "me/train.py:34 step", "bytes": device["sites"][0]["bytes"]}])
        self.assertEqual([mark["at_ns"] for mark in drawn["marks"]], [30 * 50_000])
        self.assertEqual((drawn["has_times"], drawn["until_ns"]), (True, 30 * 50_000))
        self.assertEqual(page.values("data-exact", data_line="me/train.py:34 step"), [str(11 * MIB)])
        self.assertEqual(page.values("data-exact", data_oom="30"), [str(900 * MIB)])
        self.assertEqual(page.values("data-exact", data_part="pieces"), [str(30 * MIB)])
        self.assertEqual(page.values("data-finding"), [one["id"] for one in device["findings"]])
        self.assertIn("activation_memory", page.values("data-finding"))
        drawn = self.drawn_device(self.report(self.snapshot("bare", "step", False))[0])
        self.assertEqual((drawn["has_times"], drawn["until_ns"], drawn["marks"][0]["at_ns"]), (False, 31, 30))
        page, _ = self.report(self.snapshot("none", "step", False, False))
        self.assertIn("It has no history", page.said())
        page, _ = self.report(self.snapshot("evil", EVIL))
        self.assertNotIn("img", [tag for tag, _, _ in page.elements])
        self.assertIn(EVIL, page.said())

    def test_a_snapshot_beside_a_trace_has_its_findings_there(self):
        page, _ = self.report(self.write("plain.json", made_trace("gemm")), self.snapshot("memory", "step"))
        self.assertIn("activation_memory", page.values("data-finding", data_trace=str(self.folder / "plain.json")))
        self.assertEqual(page.values("data-finding", data_snapshot=str(self.folder / "memory.pickle")), [])
        self.assertIn("They stand among those of the trace", page.said())
        (self.folder / "cut.pickle").write_bytes(made_snapshot("step")[:-20])
        page, _ = self.report(self.folder / "plain.json", self.folder / "cut.pickle", expect=2)
        self.assertEqual(page.values("data-snapshot"), [])
        self.assertIn("the file is cut", page.said())

    def test_an_export_of_nsight_systems_is_drawn_as_a_trace_is(self):
        trace, export = made_trace("gemm"), Export()
        trace["traceEvents"] = [event for event in trace["traceEvents"] if event["cat"] != "cpu_op"]
        for event in trace["traceEvents"]:
            start, end = 1000 * event["ts"], 1000 * (event["ts"] + event["dur"])
            if event["cat"] == "kernel":
                export.kernel("gemm", start, end, event["args"]["correlation"], 9, (3, 2, 1), (64, 1, 1))
            elif event["cat"] == "cuda_runtime":
                export.call("cudaLaunchKernel_v7000", start, end, event["args"]["correlation"], 9, 9)
            else:
                export.range(event["name"], start, end, 9, 9)
        export.write(self.folder / "same.sqlite")
        ours, theirs = (self.report(path)[0].document["diagnosis"]["traces"][0]["timeline"]
                        for path in (self.write("same.json", trace), self.folder / "same.sqlite"))
        self.assertEqual(ours, theirs)
        self.assertGreater(len(ours["rows"]), 3)

    def test_the_slowest_of_many_steps_is_drawn(self):
        page, _ = self.report(self.write("long.json", made_trace("gemm", steps=1000, last=900)))
        times = page.document["diagnosis"]["traces"][0]["steps"]["duration_ns"]
        drawn = self.browser.execute_script("return drawnTimes(arguments[0])", times)
        self.assertEqual([len(drawn), drawn[0], drawn[-1]], [400, 100_000, 900_000])

    def test_what_is_missing_is_said(self):
        made = self.copy("gone")
        result = json.loads((made / "result.json").read_text())
        first = result["chokepoint"]["scenarios"][0]
        os.unlink(made / first["traces"]["after"])
        page, _ = self.report(made)
        self.assertIn(f"No trace of after: {first['traces']['after']} is not beside the result any more", page.said())
        cut = made / first["traces"]["before"]
        text = gzip.decompress(cut.read_bytes())
        cut.write_bytes(gzip.compress(text[:len(text) // 2]))
        self.assertIn("The file is incomplete: ", self.report(made)[0].said())
        cut.write_bytes(b"nonsense")
        page, ran = self.report(made, expect=2)
        self.assertIn("not a trace", page.said())
        self.assertIn("not a trace", ran.stderr)
        first.update(verdict="failed", reason="it crashed", effect=None, interval=None, expectations=[],
                     findings=None, traces=None, tracing=None, samples={"before": [], "after": []})
        del first["balance"], first["losses"]
        self.write("gone/result.json", result)
        page, _ = self.report(made)
        self.assertIn("it crashed", page.said())
        self.assertIn("failed", page.values("data-kind"))

    def test_a_result_and_a_trace_without_anything_give_a_page(self):
        for name, content, said in (
                ("empty/result.json", {"context": {}, "benchmarks": [], "chokepoint": {"schema": 1, "scenarios": []}},
                 "the run ended before one was measured"),
                ("none.json", {"traceEvents": []}, "The trace holds no device work")):
            self.assertIn(said, self.report(self.write(name, content))[0].said())
        odd = {"chokepoint": {"scenarios": [None, {"name": 1}, {"name": "x"}, {"name": "item_sync", "traces": {}}]}}
        page, _ = self.report(self.write("odd/result.json", odd))
        self.assertEqual(page.values("data-name"), ["x", "item_sync"])

    def test_without_anything_that_can_be_read_there_is_no_page(self):
        out = self.folder / "page.html"
        out.write_text("older")
        bench = self.write("bench.json", {"benchmarks": [{"name": "x"}]})
        for name, content, said in (
                ("other/result.json", {"benchmarks": [{"name": "x"}]}, "not a result of chokepoint run"),
                ("array/result.json", [1, 2], "not a result of chokepoint run"),
                ("broken/result.json", '{"context": ', "it is no JSON"),
                ("bench.json", bench.read_text(), "this is a result of benchmarks"),
                ("nothing.json", "", "not a trace")):
            ran = run("report", self.write(name, content), "-o", out, expect=2)
            self.assertRegex(ran.stderr, f"^chokepoint: report: [^\n]*{said}[^\n]*\n$")
        ran = run("report", bench, self.folder / "nothing.json", "-o", out, expect=2)
        self.assertEqual(len(ran.stderr.splitlines()), 3)
        self.assertIn("so there is no page", ran.stderr)
        self.assertEqual(out.read_text(), "older")

    def test_a_scenario_of_another_form_is_left_out_and_named(self):
        result = json.loads((self.folder / "made/result.json").read_text())
        name, second = (one["name"] for one in result["chokepoint"]["scenarios"][:2])
        refused = 0
        for key, value in (("samples", {"before": [1]}), ("samples", {"before": [{"step_ns": ["x"]}]}),
                           ("expectations", [1]), ("interval", [1]), ("effect", {}), ("traces", "x"),
                           ("tracing", [1]), ("verdict", [1]), ("utilisation", 1), ("findings", 1)):
            made = json.loads(json.dumps(result))
            made["chokepoint"]["scenarios"][0][key] = value
            path = self.write("odd-members/result.json", made)
            out = self.folder / "page.html"
            ran = subprocess.run([PROGRAM, "report", str(path), "-o", str(out)], capture_output=True, text=True,
                                 check=False)
            page = self.page(out)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertIn(second, page.values("data-scenario"))
            if name not in page.values("data-scenario"):
                refused += 1
                self.assertIn(f"{name} is not as this version", page.said())
        self.assertGreaterEqual(refused, 5)

    def test_names_that_are_no_text_are_shown_all_the_same(self):
        path = os.path.join(os.fsencode(self.folder), b"not-utf8-\xff.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(made_trace("half a \ud800 pair"), file)
        out = os.path.join(os.fsencode(self.folder), b"page-\xff.html")
        ran = subprocess.run([PROGRAM, "report", path, "-o", out], capture_output=True, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))
        self.assertIn(b"page-?.html", ran.stdout)
        self.assertIn("not-utf8-", self.page(out).said())

    def test_an_interrupt_leaves_the_older_page(self):
        older = self.write("interrupted/page.html", "older")
        pipe = self.folder / "interrupted/trace.json"
        os.mkfifo(pipe)
        ran = subprocess.Popen([PROGRAM, "report", pipe, "-o", older], stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        with open(pipe, "w", encoding="utf-8") as given:  # it reads now, or waits for more
            given.write('{"traceEvents": [')
            given.flush()
            ran.send_signal(signal.SIGINT)
            self.assertEqual(ran.wait(), -signal.SIGINT)
        ran.stderr.close()
        self.assertEqual((older.read_text(), sorted(os.listdir(older.parent))), ("older", ["page.html", "trace.json"]))

    def test_bad_usage_is_one_sentence(self):
        plain = self.write("plain.json", made_trace("gemm"))
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for arguments, code, said in (
                ((), 2, "a result or a trace is missing"),
                ((self.folder / "nowhere.json",), 2, "nowhere.json: No such file or directory"),
                ((self.folder / "made", plain), 2, "a page has one result, or traces"),
                ((plain, "-o", self.folder), 2, "it exists and is not a file"),
                ((plain, "-o", pipe), 2, "it exists and is not a file"),
                ((plain, "-o", ""), 2, "cannot write"),
                ((plain, "-o", self.folder / "none/page.html"), 2, "none/page.html: No such file"),
                ((plain, "--outt=x"), 2, "did you mean --out?")):
            ran = run("report", *arguments, expect=code)
            self.assertRegex(ran.stderr, "^chokepoint: report: [^\n]*\n$")
            self.assertIn(said, ran.stderr)


if __name__ == "__main__":
    unittest.main()
