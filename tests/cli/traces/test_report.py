#!/usr/bin/env python3
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
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zlib

from nsys_export import Export

PROGRAM = os.path.abspath(sys.argv.pop(1))
MIB = 1 << 20
EVIL = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>"


class Page(html.parser.HTMLParser):
    """The elements of a page: tag, attributes, and the attributes of all those around."""

    VOID = ("meta", "input", "link", "br", "img")

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.scripts, self.text = [], [], [], []
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

    def data(self):
        """The data that the browser draws."""
        return [json.loads(zlib.decompress(base64.b64decode(text)))
                for (_, attributes, _), text in zip([one for one in self.elements if one[0] == "script"],
                                                    self.scripts) if attributes.get("class") == "data"]


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
        ran = subprocess.run([PROGRAM, "run", "launch_overhead", "checkpointing", "too_many_workers",
                              "--device=cpu", "--quick", "--repetitions=2", f"--out={cls.folder / 'made'}"],
                             capture_output=True, text=True, check=False)
        assert ran.returncode in (0, 1), ran.stderr
        cls.table = ran.stdout

    def report(self, *inputs, expect=0):
        out = self.folder / "page.html"
        out.unlink(missing_ok=True)
        ran = run("report", *inputs, "-o", out, expect=expect)
        return Page(out.read_text()), ran

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
        data = page.data()
        self.assertEqual(len(data), 3)
        for number, scenario in enumerate(result["chokepoint"]["scenarios"]):
            name = scenario["name"]
            row = page.values("data-sort", data_name=name)
            self.assertIn(scenario["verdict"], row)
            if scenario["verdict"] == "skipped":
                self.assertEqual(data[number]["before"], None)
                continue
            self.assertEqual(numbers(page.values("data-sort", data_name=name, data_value="effect")),
                             [scenario["effect"]])
            for metric in {expectation["metric"] for expectation in scenario["expectations"]}:
                shown = page.values("data-exact", data_scenario=name, data_metric=metric)
                wanted = [expectation[key] for expectation in scenario["expectations"]
                          for key in ("before", "after", "effect") if expectation["metric"] == metric]
                self.assertEqual([None if one == "None" else float(one) for one in shown], wanted)
            printed, left_out = ({expectation["metric"] for expectation in scenario["expectations"]
                                  if (expectation["outcome"] == "not bound") == is_left_out}
                                 for is_left_out in (False, True))
            for metric in printed - left_out:
                for words in page.values("data-words", data_scenario=name, data_metric=metric):
                    self.assertIn(words, self.table)
            for variant in ("before", "after"):
                trace = self.diagnosis(self.folder / "made" / scenario["traces"][variant])
                self.check_trace(page, trace, data[number][variant], name, variant)
                samples = sorted(one for sample in scenario["samples"][variant] for one in sample["step_ns"])
                drawn = data[number]["samples"][variant]
                self.assertEqual([len(drawn), drawn[0], drawn[-1]],
                                 [min(400, len(samples)), samples[0], samples[-1]])
                self.assertEqual(drawn if len(samples) > 400 else samples, [one for one in drawn if one in samples])
                busy = scenario.get("utilisation", {}).get(variant, {}).get("busy_share")
                self.assertEqual(numbers(page.values("data-sort", data_name=name, data_value=f"busy-{variant}")),
                                 [trace["window"]["busy_share"] if busy is None else busy])
            gains = [finding["predicted_gain"] for finding in scenario["findings"]["before"]
                     if finding["predicted_gain"] and finding["predicted_gain"] > 1]
            self.assertEqual(numbers(page.values("data-exact", data_scenario=name, data_findings="before")), gains)
            words = [finding["bottleneck"] for finding in scenario["findings"]["before"]
                     if finding["bottleneck"] != "none"]
            self.assertEqual(list(page.values("data-bottleneck", data_scenario=name, data_findings="before")),
                             (words + ["unclear"])[:1])
            self.assertLessEqual(set(page.values("data-measured", data_scenario=name)),
                                 {str(scenario["findings"]["measured_gain"])})

    def check_trace(self, page, trace, drawn, name, variant):
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
        self.assertEqual(drawn["timeline"]["rows"], trace["timeline"]["rows"])
        self.assertEqual(int(drawn["timeline"]["start_ns"]), trace["timeline"]["start_ns"])
        self.assertEqual([one["peak_bytes"] for one in drawn["memory"]],
                         [one["peak_bytes"] for one in trace["memory"]])

    def test_the_page_needs_nothing_else_and_is_small(self):
        page, _ = self.report(self.folder / "made")
        text = (self.folder / "page.html").read_text()
        self.assertLess(len(text.encode()), 3e6 / 10)
        for tag, attributes, _ in page.elements:
            self.assertNotIn(tag, ("link", "img", "iframe", "object"))
            self.assertNotIn("src", attributes)
            self.assertTrue(attributes.get("href", "#").startswith("#"), attributes)
        self.assertNotIn("url(", text)
        self.assertNotIn("@import", text)
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
        self.assertIn(EVIL, page.data()[0]["trace"]["timeline"]["names"])
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
        self.assertEqual(len(page.data()), 2)
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

    def snapshot(self, name, *arguments):
        path = self.folder / f"{name}.pickle"
        path.write_bytes(made_snapshot(*arguments))
        return path

    def test_a_snapshot_of_memory(self):
        path = self.snapshot("memory", "step")
        page, _ = self.report(path)
        device = json.loads(run("diagnose", path, "--format=json").stdout)["snapshots"][0]["devices"][0]
        drawn = page.data()[0]["devices"][0]
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
        drawn = self.report(self.snapshot("bare", "step", False))[0].data()[0]["devices"][0]
        self.assertEqual((drawn["has_times"], drawn["until_ns"], drawn["marks"][0]["at_ns"]), (False, 31, 30))
        page, _ = self.report(self.snapshot("none", "step", False, False))
        self.assertIn("It has no history", page.said())
        page, _ = self.report(self.snapshot("evil", EVIL))
        self.assertNotIn("img", [tag for tag, _, _ in page.elements])
        self.assertIn(EVIL, page.said())

    def test_a_snapshot_beside_a_trace_has_its_findings_there(self):
        page, _ = self.report(self.write("plain.json", made_trace("gemm")), self.snapshot("memory", "step"))
        self.assertEqual(len(page.data()), 2)
        self.assertIn("activation_memory", page.values("data-finding", data_trace=str(self.folder / "plain.json")))
        self.assertEqual(page.values("data-finding", data_snapshot=str(self.folder / "memory.pickle")), [])
        self.assertIn("They stand among those of the trace", page.said())
        (self.folder / "cut.pickle").write_bytes(made_snapshot("step")[:-20])
        page, _ = self.report(self.folder / "plain.json", self.folder / "cut.pickle", expect=2)
        self.assertEqual(len(page.data()), 1)
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
        ours, theirs = (self.report(path)[0].data()[0]["trace"]["timeline"]
                        for path in (self.write("same.json", trace), self.folder / "same.sqlite"))
        self.assertEqual(ours, theirs)
        self.assertGreater(len(ours["rows"]), 3)

    def test_the_slowest_of_many_steps_is_drawn(self):
        page, _ = self.report(self.write("long.json", made_trace("gemm", steps=1000, last=900)))
        drawn = page.data()[0]["samples"]["trace"]
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
        self.assertIn("failed", page.values("data-verdict"))

    def test_other_files_give_a_page_too(self):
        for name, content, said in (
                ("empty/result.json", {"context": {}, "benchmarks": [], "chokepoint": {"schema": 1, "scenarios": []}},
                 "the run ended before one was measured"),
                ("other/result.json", {"benchmarks": [{"name": "x"}]}, "not a result of chokepoint run"),
                ("array/result.json", [1, 2], "not a result of chokepoint run"),
                ("broken/result.json", '{"context": ', "it is no JSON"),
                ("bench.json", {"benchmarks": [{"name": "x"}]}, "this is a result of benchmarks"),
                ("nothing.json", "", "not a trace"),
                ("none.json", {"traceEvents": []}, "The trace holds no device work")):
            path = self.write(name, content)
            page, _ = self.report(path, expect=0 if name in ("empty/result.json", "none.json") else 2)
            self.assertIn(said, page.said(), name)
        odd = {"chokepoint": {"scenarios": [None, {"name": 1}, {"name": "x"}, {"name": "item_sync", "traces": {}}]}}
        page, _ = self.report(self.write("odd/result.json", odd))
        self.assertEqual(page.values("data-name"), ["x", "item_sync"])

    def test_a_scenario_of_another_form_is_left_out_and_named(self):
        result = json.loads((self.folder / "made/result.json").read_text())
        name, second = (one["name"] for one in result["chokepoint"]["scenarios"][:2])
        refused = 0
        for key, value in (("samples", {"before": [1]}), ("samples", {"before": [{"step_ns": [1e999]}]}),
                           ("expectations", [1]), ("interval", [1]), ("effect", {}), ("traces", "x"),
                           ("tracing", [1]), ("verdict", [1]), ("utilisation", 1), ("findings", 1)):
            made = json.loads(json.dumps(result))
            made["chokepoint"]["scenarios"][0][key] = value
            path = self.write("odd-members/result.json", made)
            out = self.folder / "page.html"
            ran = subprocess.run([PROGRAM, "report", str(path), "-o", str(out)], capture_output=True, text=True,
                                 check=False)
            page = Page(out.read_text())
            self.assertIn(second, page.values("data-scenario"))
            if ran.returncode == 0:
                self.assertIn(name, page.values("data-scenario"))
            else:
                refused += 1
                self.assertEqual(ran.returncode, 2)
                self.assertRegex(ran.stderr, f"^chokepoint: report: [^\n]*{name} is not as this version of chokepoint "
                                             "writes it[^\n]*\n$")
                self.assertIn(f"{name} is not as this version", page.said())
                self.assertNotIn(name, page.values("data-scenario"))
        self.assertGreaterEqual(refused, 5)

    def test_names_that_are_no_text_are_shown_all_the_same(self):
        path = os.path.join(os.fsencode(self.folder), b"not-utf8-\xff.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(made_trace("half a \ud800 pair"), file)
        out = os.path.join(os.fsencode(self.folder), b"page-\xff.html")
        ran = subprocess.run([PROGRAM, "report", path, "-o", out], capture_output=True, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))
        self.assertIn(b"page-?.html", ran.stdout)
        with open(out, encoding="utf-8") as file:
            self.assertIn("not-utf8-", Page(file.read()).said())

    def test_an_interrupt_leaves_the_older_page(self):
        folder = self.folder / "interrupted"
        plain = self.write("interrupted/plain.json", made_trace("gemm"))
        older = self.write("interrupted/page.html", "older")
        program = self.write("interrupted/program", "#!/bin/sh\nkill -INT $PPID\n")
        program.chmod(0o755)
        names = sorted(os.listdir(folder))
        script = pathlib.Path(PROGRAM).parent / "scripts/report.py"
        ran = subprocess.run(["python3", script, f"--program={program}", "--command=report", f"--out={older}", plain],
                             capture_output=True, text=True, check=False,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.assertEqual((ran.returncode, ran.stderr),
                         (130, "chokepoint: report: stopped by an interrupt; no page was written\n"))
        self.assertEqual((older.read_text(), sorted(os.listdir(folder))), ("older", names))

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
                ((plain, "-o", ""), 2, "cannot be written"),
                ((plain, "-o", self.folder / "none/page.html"), 2, "cannot be written: No such file"),
                ((plain, "--outt=x"), 2, "did you mean --out?")):
            ran = run("report", *arguments, expect=code)
            self.assertRegex(ran.stderr, "^chokepoint: report: [^\n]*\n$")
            self.assertIn(said, ran.stderr)
        without = self.write("without/jinja2.py", "raise ImportError").parent
        ran = run("report", plain, expect=3,
                  env={**os.environ, "PYTHONPATH": str(without), "CHOKEPOINT_REPORT_AGAIN": "1"})
        self.assertRegex(ran.stderr, "^chokepoint: report: [^\n]*Jinja2; scripts/setup.sh --report installs it[^\n]*\n$")
        ran = run("report", plain, expect=3, env={**os.environ, "PATH": str(self.folder)})
        self.assertIn("python3 cannot be started", ran.stderr)


def has_jinja():
    return any(subprocess.run([python, "-c", "import jinja2"], capture_output=True, check=False).returncode == 0
               for python in ("python3", "/usr/bin/python3") if shutil.which(python))


if __name__ == "__main__":
    if not has_jinja():
        print("skipped: python3 has no Jinja2 (scripts/setup.sh --report installs it)")
        sys.exit(77)
    unittest.main()
