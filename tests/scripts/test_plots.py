#!/usr/bin/python3
"""scripts/plot.py: every kind of plot draws in both themes and forms, draws the figures of its files and
nothing else, keeps its texts apart, and answers bad input with one sentence.

usage: test_plots.py PROGRAM CHECKOUT
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

program, checkout = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
try:
    import matplotlib
except ImportError:
    print("skipped: /usr/bin/python3 has no matplotlib (scripts/setup.sh --plots installs it)")
    sys.exit(77)
sys.dont_write_bytecode = True
sys.path.insert(0, str(checkout / "scripts"))
import plot
from plots import read, style

MANY = 31  # scenarios of the whole catalogue
CONTEXT = {"date": "2026-01-02T03:04:05+00:00", "commit": "0123456789ab",
           "device_name": "CPU device (a processor with quite a long name, 128 cores)"}


def expectation(metric, unit, before, after, effect, **more):
    return {"metric": metric, "unit": unit, "direction": "shrinks", "before": before, "after": after,
            "effect": effect, "interval": effect and [0.9 * effect, 1.2 * effect], "outcome": "met",
            "is_cost": False, **more}


def scenario(number):
    """Made figures, each of its own."""
    effect = 0.8 + number / 7
    before = 50 * 1.5 ** (number % 25)
    steps = [[[int(1e3 * before * (1 + (7 * i + 3 * window + number) % 11 / (4 + side))) for i in range(13)]
              for window in range(9)] for side in range(2)]
    return {"name": f"a_scenario_of_long_name_{number}",
            "title": f"Doing what number {number} should not <b>&amp;</b>, for $1 or $_2",
            "verdict": "reproduced", "reason": "", "knob": "some_setting", "before": "0", "after": "many",
            "effect": effect, "interval": [0.9 * effect, 1.1 * effect],
            "step_time": {"before": before, "after": before / effect, "unit": "us"},
            "expectations": [expectation("step_time", "us", before, before / effect, effect)],
            "samples": {variant: [{"step_ns": window} for window in windows]
                        for variant, windows in zip(("before", "after"), steps)}}


def catalogue():
    made = [scenario(number) for number in range(MANY)]
    nothing = {"effect": None, "interval": None, "step_time": {"before": None, "after": None},
               "expectations": [], "samples": {"before": [], "after": []}}
    made[3].update(nothing, verdict="skipped", reason="it shows only on machines of another kind " * 5)
    made[4].update(nothing, verdict="failed", reason="the child ended by signal 11")
    made[5]["expectations"] = [expectation("memory_growth_bytes", "B", 81408, 0, None),
                               expectation("step_time", "us", 1, 2, .5, outcome="not bound")]
    made[6]["expectations"] = [expectation("activation_peak_bytes", "B", 22544384, 1024, 22016)]
    made[7].update(effect=1.0, interval=[0.5, 4])
    return {"context": CONTEXT, "benchmarks": [], "chokepoint": {"schema": 1, "scenarios": made}}


def aggregate(name, number, **more):
    return {"name": f"{name}_median", "run_name": name, "run_type": "aggregate", "aggregate_name": "median",
            "real_time": 100.0 + number, "time_unit": "us", **more}


def bench(number=0):
    kinds = (("gemm", 8e7, 30), ("gelu_forward", 2e6, .5), ("attention", 3e7, 9),
             ("softmax_backward_with_a_long_name", 1e6, .3))
    rows = [aggregate(f"{kind}_{dtype}/{size}", 0, flops_per_second=speed * faster * size,
                      bytes_per_second=1e9 * size / intensity)
            for kind, speed, intensity in kinds for dtype, faster in (("fp32", 1), ("bf16", 3))
            for size in (256, 1024)]
    rows += [{"name": "copy", "run_name": "copy", "run_type": "iteration", "real_time": 100.0 + number + i,
              "time_unit": "us"} for i in range(5)]
    return {"context": {**CONTEXT, "date": f"2026-01-{1 + number:02}T00:00:00",
                        "roof_bytes_per_second": "1e10", "roof_flops_per_second_fp32": "1e11",
                        "roof_flops_per_second_bf16": "1.1e11"},
            "benchmarks": [*rows, aggregate("copy", number)]}


PHASES = {"forward": 400, "backward": 500}  # us
MEMORY = [100, 300, 500, 700, 600, 400, 200, 100]  # KiB of activations, at equal distances in a step


def trace(steps=4):
    """A small trace of chokepoint's kind: phases, launches, kernels, a thread that loads, and memory."""
    def event(name, category, start, duration, thread, process=7, **more):
        return {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": start,
                "dur": duration, "args": more}

    events, launch = [], 0
    for step in range(steps):
        begin = 10000 + 1000 * step
        events.append(event(f"ProfilerStep#{step}", "user_annotation", begin, 1000, 7))
        events.append(event("DataLoader <script>", "cpu_op", begin + 20, 700, 8))
        at = begin + 10
        for phase, duration in PHASES.items():
            events.append(event(phase, "user_annotation", at, duration, 7))
            for i in range(4):
                launch += 1
                events.append(event("cudaLaunchKernel", "cuda_runtime", at + 20 + 90 * i, 30, 7,
                                    correlation=launch))
                events.append(event("a_kernel", "kernel", at + 60 + 90 * i, 50, 1, 0, correlation=launch,
                                    device=0, stream=1))
            at += duration
        for i, kib in enumerate(MEMORY):
            events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 7, "tid": 7,
                           "s": "t", "ts": begin + 15 + 110 * i,
                           "args": {"Device Type": 1, "Device Id": 0, "Addr": 1, "Bytes": 1024,
                                    "Total Allocated": (kib + 50) * 1024, "Total Reserved": 1 << 20,
                                    "Category": "activations", "Category Allocated": kib * 1024}})
    return {"schemaVersion": 1, "traceEvents": events,
            "deviceProperties": [{"id": 0, "name": CONTEXT["device_name"]}]}


def sweep(second=(None,)):
    """A sweep of two knobs where `second` has values of the other."""
    values, rows = [], []
    for column in range(12):
        for other in second:
            settings = {"workers": str(2 ** column), **({} if other is None else {"batch": str(other)})}
            rates = [1e4 * (1 + column) / (4 + column) + 17 * k + (other or 0) for k in (2, 0, 1)]
            values.append({"settings": settings, "refusal": None,
                           "rounds": [{"items_per_second": rate} for rate in rates]})
            name = "/".join(["train", *(f"{knob}:{value}" for knob, value in settings.items())])
            rows.append({**aggregate(name, 0), "items_per_second": rates[2]})
    if len(second) == 1:
        values.append({"settings": {"workers": "65536"}, "refusal": "too many", "rounds": []})
    return {"context": CONTEXT, "benchmarks": rows, "interrupted": False, "values": values}


KNEE = {"enough": "workers=512", "best": "workers=2048", "share": 0.955, "is_clear": True}


scratch = tempfile.TemporaryDirectory(prefix="plots.")
folder = pathlib.Path(scratch.name)


def put(name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


result, sweep_file = put("result.json", catalogue()), put("sweep.json", sweep())
benches = [put(f"bench-{i}.json", bench(i)) for i in (2, 0, 1, *range(3, 20))]
for variant in ("before", "after"):
    put(f"{variant}.json", trace())
with_traces = catalogue()
with_traces["chokepoint"]["scenarios"][9]["traces"] = {"before": "before.json", "after": "after.json"}
with_traces["chokepoint"]["scenarios"][10]["traces"] = {"before": "before.json", "after": "gone.json"}
result_of_traces = put("result-of-traces.json", with_traces)
READER = ["--program", str(program)]
kernels = [put(f"{name}.json", subprocess.run([program, "kernel", name, "--format=json"], capture_output=True, text=True,
                                              check=True).stdout)
           for name in ("bank_conflicts_before", "bank_conflicts_after")]
# Each kind with the arguments that it is tried with.
CASES = [["effects", result], ["effects", result, "--scenario", "a_scenario_of_long_name_9"],
         ["steps", result, "--scenario", "a_scenario_of_long_name_9"],
         ["steps", result, "--scenario", "a_scenario_of_long_name_4"],
         ["lesson", result, "--scenario", "a_scenario_of_long_name_9"],
         ["lesson", result, "--scenario", "a_scenario_of_long_name_5"],
         ["lesson", result, "--scenario", "a_scenario_of_long_name_3"],
         ["roofline", benches[0]], ["sweep", sweep_file], ["trend", *benches, "--row", "copy", *READER],
         ["sweep", put("grid.json", {**sweep((4, 8, 600)), "knee": KNEE})],
         *([kind, result_of_traces, "--scenario", f"a_scenario_of_long_name_{number}", *READER]
           for kind in ("timeline", "memory") for number in (9, 10)),
         ["kernel", *kernels],
         ["timeline", str(folder / "before.json"), *READER], ["memory", str(folder / "before.json"), *READER]]


def figure_of(case, theme="light"):
    """The figures, and the drawn figure."""
    options = plot.arguments([*case, "-o", "unused.svg"])
    kind = plot.KINDS[options.kind]
    found = kind.data(options)
    with style.themed(theme):
        figure = kind.draw(found, theme)
        figure.canvas.draw()
        return found, figure


def texts_of(figure):
    """The texts that are drawn, with their places in pixels."""
    renderer, seen, draw = figure.canvas.get_renderer(), [], matplotlib.text.Text.draw

    def record(text, *arguments, **more):
        if text.get_visible() and text.get_text().strip():
            seen.append((text.get_text(), text.get_window_extent(renderer)))
        return draw(text, *arguments, **more)

    with unittest.mock.patch.object(matplotlib.text.Text, "draw", record):
        figure.draw(renderer)
    return seen


def run(*arguments, **environment):
    return subprocess.run([str(checkout / "scripts/plot.py"), *map(str, arguments)], capture_output=True,
                          text=True, env={**os.environ, **environment}, timeout=120)


class Plots(unittest.TestCase):
    def test_each_kind_draws_in_both_themes_and_forms_twice_the_same(self):
        self.assertEqual({case[0] for case in CASES}, set(plot.KINDS))
        for case in CASES:
            for theme, ending, times in (("light", "svg", 2), ("light", "png", 1), ("dark", "svg", 1)):
                with self.subTest(case=case[0], theme=theme, ending=ending):
                    files = [folder / f"{i}.{ending}" for i in range(times)]
                    for file in files:
                        plot.main([*case, "-o", str(file), "--theme", theme])
                    self.assertEqual(files[0].read_bytes(), files[-1].read_bytes())
                    self.look(case, files[0])

    def look(self, case, file):
        options = plot.arguments([*case, "-o", "unused.svg"])
        found = plot.KINDS[options.kind].data(options)
        drawn = file.read_bytes()
        self.assertIn(plot.figures_hash(found).encode(), drawn)
        if file.suffix == ".png":
            self.assertTrue(drawn.startswith(b"\x89PNG\r\n\x1a\n"))
        else:
            text = "".join(xml.etree.ElementTree.fromstring(drawn).itertext())
            self.assertIn("bank_conflicts_before" if case[0] == "kernel" else CONTEXT["device_name"], text)

    def test_texts_are_inside_the_picture_apart_and_large(self):
        for case in CASES:
            with self.subTest(case=case[:2]):
                figure = figure_of(case)[1]
                texts = texts_of(figure)
                self.assertGreater(len(texts), 2)
                self.assertGreaterEqual(min(text.get_fontsize() for text in figure.findobj(
                    matplotlib.text.Text)), 10)
                for text, box in texts:
                    self.assertTrue(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.width + .5
                                    and box.y1 <= figure.bbox.height + .5, f"outside: {text} {box}")
                for i, (text, box) in enumerate(texts):
                    for other, place in texts[i + 1:]:
                        self.assertFalse(box.padded(-1).overlaps(place.padded(-1)), f"{text} on {other}")

    def test_colours_differ_from_their_background(self):
        def light(color):
            parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
                     for part in matplotlib.colors.to_rgb(color)]
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

        for name, colors in style.THEMES.items():
            for key, least in (("text", 7), ("muted", 4.5), ("before", 3), ("after", 3), ("third", 3)):
                pair = sorted((light(colors[key]), light(colors["background"])))
                # WCAG 2.1, success criteria 1.4.3 and 1.4.11.
                self.assertGreaterEqual((pair[1] + 0.05) / (pair[0] + 0.05), least, f"{name} {key}")

    def test_bars_are_those_of_the_file(self):
        found, figure = figure_of(CASES[0])
        made = catalogue()["chokepoint"]["scenarios"]
        self.assertEqual([row["name"] for row in found["rows"]], [one["name"] for one in made])
        for row, one in zip(found["rows"], made):
            self.assertEqual((row["metric"], row["effect"], row["interval"], row["before"], row["after"]),
                             ("step_time", one["effect"], one["interval"], one["step_time"]["before"],
                              one["step_time"]["after"]))
        axes = figure.axes[0]
        widths = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in axes.patches
                  if bar.get_height() < 0.5}
        self.assertEqual(set(range(MANY)) - set(widths), {3, 4})
        for y, one in enumerate(made):
            if y not in (3, 4):
                self.assertAlmostEqual(widths[y], 1 / one["effect"])
        texts = [text for text, _ in texts_of(figure)]
        # The metrics that a scenario is about stand beside the time of its step.
        for text in ("memory_growth_bytes none left", "activation_peak_bytes almost none left", "no change (within 4.00x)",
                     "failed: the child ended by signal 11", "2.09x faster (1.88 to 2.29)"):
            self.assertIn(text, texts)

    def test_an_effect_is_told_as_the_console_does(self):
        for row, words in (
                (("step_time", "us", "shrinks", 1, 2, .5, [.4, .6]), "2.00x slower (1.67 to 2.50)"),
                (("items_per_second", "/s", "grows", 1, 2, 2, [2, 2]), "up 2.00x"),
                (("items_per_second", "/s", "grows", 2, 1, .5, [.4, .6]), "down 2.00x (1.67 to 2.50)"),
                (("copies_per_step", "", "shrinks", 3, 1, 3, None), "down 3.00x"),
                (("step_time", "us", "shrinks", 2, 1, 1.4, [.9, 2], .75), "unclear (all within 2.00x)"),
                (("copies_per_step", "", "shrinks", 3, None, None, None), "not measured")):
            self.assertEqual(plot.effects.words(plot.effects.row(*row)), words)

    def test_every_step_is_drawn_once(self):
        found, figure = figure_of(CASES[2])
        made = catalogue()["chokepoint"]["scenarios"][9]["samples"]
        drawn = sorted(x for line in figure.axes[1].lines for x in line.get_xdata())
        meant = sorted(time / 1e3 for windows in made.values() for window in windows
                       for time in window["step_ns"])
        self.assertEqual(drawn, meant)
        for axes in figure.axes[:1]:
            marks = {round(line.get_xdata()[0], 6) for line in axes.lines}
            self.assertEqual(marks, {round(found["step_time"][side], 6) for side in ("before", "after")})

    def test_points_of_a_roofline_are_those_of_the_file(self):
        _, figure = figure_of(CASES[7])
        drawn = sorted(y for line in figure.axes[0].lines if line.get_marker() not in ("None", "")
                       for y in line.get_ydata())
        self.assertEqual(drawn, sorted(row["flops_per_second"] for row in bench()["benchmarks"]
                                       if "flops_per_second" in row))

    def test_rounds_and_knee_of_a_sweep_are_those_of_the_file(self):
        _, figure = figure_of(CASES[8])
        line = next(line for line in figure.axes[0].lines if line.get_linestyle() == "-")
        medians = [row["items_per_second"] for row in sweep()["benchmarks"]]
        self.assertEqual(list(line.get_ydata())[:12], medians)
        dots = sorted(y for line in figure.axes[0].lines if line.get_marker() == "o"
                      for y in line.get_ydata())
        self.assertEqual(dots, sorted(one["items_per_second"] for value in sweep()["values"]
                                      for one in value["rounds"]))
        self.assertIn("refused", [text for text, _ in texts_of(figure)])
        self.assertNotIn("Knee", " ".join(text for text, _ in texts_of(figure)))
        knee = figure_of(["sweep", put("knee.json", {**sweep(), "knee": KNEE})])[1]
        self.assertIn("Knee: workers=512 is enough, 96% of the best, workers=2048",
                      [text for text, _ in texts_of(knee)])
        ring = next(line for line in knee.axes[0].lines if line.get_label() == "knee: enough")
        self.assertEqual([*ring.get_xdata(), *ring.get_ydata()], [9, medians[9]])

    def test_a_kernel_is_drawn_as_it_was_counted(self):
        """A column of the tile: one bank has the words of all lanes, and each lane its place there."""
        found, figure = figure_of(["kernel", *kernels])
        before, after = found["runs"]
        self.assertIn("line 20 takes 32 passes", before["findings"][0])
        self.assertEqual(after["findings"], [])
        kinds = [rectangle[4] for rectangle in before["pictures"][0]["rectangles"]]
        self.assertEqual((kinds.count("lane"), kinds.count("waste")), (32, 1))
        hot = [(line["number"], line["passes"]["text"]) for line in before["lines"] if line["passes"]["heat"] == 4]
        self.assertEqual(hot, [(20, "32 / 1")])
        self.assertEqual([line["passes"]["heat"] for line in after["lines"]], [0] * len(after["lines"]))
        shapes = sum(len(picture["rectangles"]) for one in found["runs"] for picture in one["pictures"])
        self.assertEqual(len(figure.axes[0].patches), shapes + 4 * sum(len(one["lines"]) for one in found["runs"]))

    def diagnosis(self, steps):
        done = subprocess.run([program, "diagnose", "--format=json", f"--timeline={steps}",
                               folder / "before.json"], capture_output=True, check=True)
        return json.loads(done.stdout)["traces"][0]

    def test_a_timeline_is_that_of_the_diagnosis(self):
        found, figure = figure_of([*CASES[-2], "--steps", "2"])
        facts, lanes = self.diagnosis(2)["timeline"], found["panels"][0]["lanes"]
        self.assertEqual(found["panels"][0]["duration_ns"], 2_000_000)
        self.assertEqual([lane["label"] for lane in lanes], ["loop: phases", "loop: calls",
                                                             "thread 1: operators", "stream 1",
                                                             "device idle"])
        for lane, row in zip(lanes, (row for row in facts["rows"] if row["kind"] != "steps")):
            self.assertEqual(lane["kind"], row["kind"])
            self.assertEqual([bar[:2] for bar in lane["bars"]],
                             [[start, min(duration, 2_000_000 - start)]  # an idle bar may end later
                              for start, duration in zip(row["start_ns"], row["duration_ns"])])
        self.assertEqual({bar[2] for bar in lanes[0]["bars"]}, set(PHASES))
        drawn = sum(len(bars.get_paths()) for bars in figure.axes[0].collections)
        idle = len(lanes[-1]["bars"])  # drawn once more, behind the stream
        self.assertEqual(drawn, sum(len(lane["bars"]) for lane in lanes) + idle + len(lanes))

    def test_memory_is_that_of_the_diagnosis(self):
        found, _ = figure_of([*CASES[-1], "--steps", "2"])
        one, facts = found["panels"][0], self.diagnosis(2)["memory"][0]
        self.assertEqual(one["categories"]["activations"], [1024 * kib for kib in 2 * MEMORY])
        self.assertEqual(one["allocated_bytes"], [1024 * (50 + kib) for kib in 2 * MEMORY])
        self.assertEqual(one["peak_bytes"], facts["peak_bytes"])
        self.assertEqual(plot.memory.layers(one)["uncategorised"], [50 * 1024] * 2 * len(MEMORY))
        self.assertEqual([name for name, _, _ in plot.memory.runs(one["phases"])], 2 * list(PHASES))

    def test_a_trace_that_is_missing_is_told(self):
        for kind in ("timeline", "memory"):
            case = [kind, result_of_traces, "--scenario", "a_scenario_of_long_name_10", *READER]
            texts = " ".join(text for text, _ in texts_of(figure_of(case)[1]))
            self.assertIn("gone.json is not a file beside the result", texts)

    def test_two_traces_of_one_name_are_both_drawn(self):
        (folder / "second").mkdir()
        other = put("second/before.json", trace(3))
        first = str(folder / "before.json")
        found, _ = figure_of(["timeline", first, other, *READER])
        self.assertEqual([one["label"] for one in found["panels"]], [first, other])

    def test_a_trend_is_in_the_order_of_its_dates(self):
        found, figure = figure_of(CASES[9])
        line = next(line for line in figure.axes[0].lines if line.get_linestyle() == "-")
        self.assertEqual(list(line.get_ydata()), [100.0 + i for i in range(20)])
        lacking = figure_of(["trend", result, *benches[:2], "--row", "copy", *READER])[1]
        self.assertIn("1 of the files lack this row", [text for text, _ in texts_of(lacking)])

    def test_a_trend_joins_only_what_compare_compares(self):
        """Two machines and, on the first, two workloads: three lines, none of which joins two of them."""
        def made(number, cache, pixels, time):
            row = {"name": "x/after", "run_name": "x/after", "run_type": "iteration", "time_unit": "us"}
            return put(f"trend-{number}.json", {
                "context": {"date": f"2026-01-0{number}T10:00:00+00:00", "device_name": "CPU", "num_cpus": 2,
                            "caches": [{"type": "Data", "level": 1, "size": cache}]},
                "benchmarks": [{**row, "repetition_index": 0, "real_time": time, "cpu_time": time},
                               {**row, "name": "x/after_median", "run_type": "aggregate", "aggregate_name": "median",
                                "real_time": time, "cpu_time": time}],
                "chokepoint": {"scenarios": [{"name": "x", "settings": {"after": f"jpeg_pixels={pixels} seed=1"}}]}})
        files = [made(1, 32768, 112, 1360), made(2, 49152, 96, 670), made(3, 32768, 112, 1370),
                 made(4, 32768, 96, 700), made(5, 49152, 96, 680)]
        found, figure = figure_of(["trend", *files, "--row", "x/after", *READER])
        self.assertEqual([point["series"] for point in found["points"]], [0, 1, 0, 2, 1])
        self.assertIn("its caches", found["gaps"][0])
        lines = [list(line.get_xdata()) for line in figure.axes[0].lines if line.get_linestyle() == "-"]
        self.assertEqual(lines, [[0, 2], [1, 4], [3]])
        self.assertIn("3 lines, which do not compare", " ".join(text for text, _ in texts_of(figure)))
        same = [made(6, 32768, 112, 1360), made(7, 32768, 96, 700)]
        found, _ = figure_of(["trend", *same, "--row", "x/after", *READER])
        self.assertEqual(found["gaps"], ["other work: jpeg_pixels 112 and 96"])
        twice = json.loads(pathlib.Path(files[0]).read_text(encoding="utf-8"))
        twice["benchmarks"] += twice["benchmarks"]
        done = run("trend", put("twice.json", twice), "--row", "x/after", *READER, "-o", folder / "twice.svg")
        self.assertEqual(done.returncode, 2)
        self.assertIn("two benchmarks are called x/after", done.stderr)

    def test_names_may_hold_anything(self):
        device = "bell \u0007, \u4e2d, $x_1$, \ud800, </text><script>"
        odd = {**catalogue(), "context": {**CONTEXT, "device_name": device}}
        done = run("effects", put("odd-names.json", odd), "-o", folder / "odd.svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        drawn = xml.etree.ElementTree.parse(folder / "odd.svg").getroot()
        self.assertIn("bell , \u4e2d, $x_1$, ?, </text><script>", "".join(drawn.itertext()))
        self.assertFalse([one for one in drawn.iter() if one.tag.endswith("script")])

    def test_bad_input_is_one_sentence(self):
        whole = json.dumps(catalogue())
        cases = [(["effects", put("empty", "")], "the file is empty"),
                 (["effects", put("cut", whole[:len(whole) // 2])], "not whole, or no JSON"),
                 (["effects", put("other", {"traceEvents": []})], "no result of chokepoint run"),
                 (["effects", put("list", "[1]")], "no file of chokepoint"),
                 (["effects", benches[0]], "no result of chokepoint run"),
                 (["kernel", result], "no kernel --format=json"), (["kernel", *kernels, result], "2 kernels at most"),
                 (["effects", put("odd", {"chokepoint": {"scenarios": [{"name": "a", "expectations": 1}]}})],
                  "not as this version of chokepoint writes it"),
                 (["effects", put("interval", {"chokepoint": {"scenarios": [{**scenario(1), "interval": [1]}]}})],
                  "not as this version of chokepoint writes it"),
                 (["effects", put("none", {"chokepoint": {"scenarios": []}})], "measured no scenario"),
                 (["effects", str(folder / "absent")], "No such file"),
                 (["effects", str(folder), "--scenario", "nowhere"], "no scenario nowhere"),
                 (["steps", result], "which scenario? Give --scenario: a_scenario"),
                 (["steps", result, "--scenario", "a", "--scenario", "b"], "shows one; give one name"),
                 (["roofline", result], "no limits of the device"),
                 (["roofline", put("roof", {**bench(), "benchmarks": []})], "no row of it"),
                 (["sweep", benches[0]], "no output of chokepoint train --sweep"),
                 (["sweep", put("void", {**sweep(), "values": []})], "no value was measured"),
                 (["timeline", result_of_traces, "--scenario", "a_scenario_of_long_name_3"], "no trace of"),
                 (["timeline", str(folder / "empty"), *READER], "empty"),
                 (["timeline", result, *READER], "which scenario?"),
                 (["timeline", *3 * [str(folder / "before.json")]], "give one trace or two"),
                 (["memory", put("bare.json", {"traceEvents": trace()["traceEvents"][:2]}), *READER],
                  "does not have memory"),
                 (["trend", result, "--row", "copy"], "no file has the row copy")]
        (folder / "binary").write_bytes(b"\x89PNG\xff\xfe")
        cases.append((["effects", str(folder / "binary")], "no JSON"))
        for arguments, sentence in cases:
            with self.subTest(sentence=sentence):
                out = folder / "never.svg"
                done = run(*arguments, "-o", out)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(sentence, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertFalse(out.exists())
        self.assertEqual(run("timeline", folder / "before.json", "--program", "/nonexistent", "-o",
                             folder / "never.svg").returncode, 3)
        os.mkfifo(folder / "pipe.svg")
        done = run("effects", result, "-o", folder / "pipe.svg")
        self.assertEqual((done.returncode, done.stderr), (2, f"plot.py: {folder}/pipe.svg: it exists and is not a file\n"))
        self.assertEqual(run("effects", result, "-o", "picture.gif").returncode, 2)
        self.assertEqual(run("effects", result, "-o", folder / "no/folder.svg").returncode, 2)
        self.assertEqual(run("pie", result, "-o", "picture.svg").returncode, 2)

    def test_without_matplotlib_one_sentence_says_what_to_install(self):
        hidden = folder / "hidden"
        hidden.mkdir()
        (hidden / "matplotlib.py").write_text("raise ImportError\n")
        done = run("effects", result, "-o", folder / "never.svg", PYTHONPATH=str(hidden))
        self.assertEqual(done.returncode, 3)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("scripts/setup.sh --plots", done.stderr)
        done = run("effects", result, "-o", folder / "figures.json", PYTHONPATH=str(hidden))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(json.loads((folder / "figures.json").read_text())["rows"]), MANY)


unittest.main()
