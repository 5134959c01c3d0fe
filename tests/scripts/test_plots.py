#!/usr/bin/python3
"""scripts/plot.py: every kind of plot draws in both themes and forms, draws the figures of its files and
nothing else, keeps its texts apart, and answers bad input with one sentence.

usage: test_plots.py CHECKOUT
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

checkout = pathlib.Path(sys.argv.pop(1)).resolve()
try:
    import matplotlib
except ImportError:
    print("skipped: /usr/bin/python3 has no matplotlib (scripts/setup.sh --report installs it)")
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
    return {"name": f"a_scenario_of_long_name_{number}", "title": f"Doing what number {number} should not",
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


def sweep():
    values = [{"value": str(2 ** i), "refusal": None,
               "rounds": [{"step_time": 900.0 / (1 + i) + 17 * k} for k in (2, 0, 1)]} for i in range(12)]
    values.append({"value": "65536", "refusal": "too many", "rounds": []})
    return {"device": CONTEXT["device_name"], "knob": "workers", "interrupted": False, "values": values}


scratch = tempfile.TemporaryDirectory(prefix="plots.")
folder = pathlib.Path(scratch.name)


def put(name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


result, sweep_file = put("result.json", catalogue()), put("sweep.json", sweep())
benches = [put(f"bench-{i}.json", bench(i)) for i in (2, 0, 1, *range(3, 20))]
# Each kind with the arguments that it is tried with.
CASES = [["effects", result], ["effects", result, "--scenario", "a_scenario_of_long_name_9"],
         ["steps", result, "--scenario", "a_scenario_of_long_name_9"],
         ["steps", result, "--scenario", "a_scenario_of_long_name_4"],
         ["lesson", result, "--scenario", "a_scenario_of_long_name_9"],
         ["lesson", result, "--scenario", "a_scenario_of_long_name_5"],
         ["lesson", result, "--scenario", "a_scenario_of_long_name_3"],
         ["roofline", benches[0]], ["sweep", sweep_file], ["trend", *benches, "--row", "copy"]]


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
    def test_each_kind_draws_in_both_themes_and_forms_and_twice_the_same(self):
        self.assertEqual({case[0] for case in CASES}, set(plot.KINDS))
        for case in CASES:
            for theme in style.THEMES:
                for ending in ("svg", "png"):
                    with self.subTest(case=case[0], theme=theme, ending=ending):
                        files = [folder / f"{i}.{ending}" for i in range(2 if theme == "light" else 1)]
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
            self.assertIn(CONTEXT["device_name"], text)

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
            if row["metric"] == "step_time":
                self.assertEqual((row["effect"], row["interval"], row["before"], row["after"]),
                                 (one["effect"], one["interval"], one["step_time"]["before"],
                                  one["step_time"]["after"]))
        axes = figure.axes[0]
        widths = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in axes.patches
                  if bar.get_height() < 0.5}
        self.assertEqual(set(range(MANY)) - set(widths), {3, 4})
        for y, one in enumerate(made):
            if y not in (3, 4, 5, 6):
                self.assertAlmostEqual(widths[y], 1 / one["effect"])
        self.assertEqual(widths[5], 0)
        texts = [text for text, _ in texts_of(figure)]
        for text in ("none left", "79.5 KiB → 0 B", "almost none left", "no clear change",
                     "failed: the child ended by signal 11", "2.09x faster (1.88 to 2.29)"):
            self.assertIn(text, texts)

    def test_an_effect_is_told_as_the_console_does(self):
        for row, words in (
                (("step_time", "us", "shrinks", 1, 2, .5, [.4, .6]), "2.00x slower (1.67 to 2.50)"),
                (("items_per_second", "/s", "grows", 1, 2, 2, [2, 2]), "up 2.00x"),
                (("items_per_second", "/s", "grows", 2, 1, .5, [.4, .6]), "down 2.00x (1.67 to 2.50)"),
                (("copies_per_step", "", "shrinks", 3, 1, 3, None), "down 3.00x"),
                (("copies_per_step", "", "shrinks", 3, None, None, None), "")):
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
        found, figure = figure_of(CASES[8])
        line = next(line for line in figure.axes[0].lines if line.get_linestyle() == "-")
        self.assertEqual(list(line.get_ydata())[:12], [900.0 / (1 + i) + 17 for i in range(12)])
        self.assertIn("refused", [text for text, _ in texts_of(figure)])
        self.assertNotIn("knee", " ".join(text for text, _ in texts_of(figure)))
        with_knee = figure_of(["sweep", put("knee.json", {**sweep(), "knee": {"enough": "workers=8"}})])[1]
        self.assertIn("knee: workers 8 is enough", [text for text, _ in texts_of(with_knee)])

    def test_a_trend_is_in_the_order_of_its_dates(self):
        found, figure = figure_of(CASES[9])
        line = next(line for line in figure.axes[0].lines if line.get_linestyle() == "-")
        self.assertEqual(list(line.get_ydata()), [100.0 + i for i in range(20)])
        lacking = figure_of(["trend", result, *benches[:2], "--row", "copy"])[1]
        self.assertIn("1 of the files lack this row", [text for text, _ in texts_of(lacking)])

    def test_bad_input_is_one_sentence(self):
        whole = json.dumps(catalogue())
        cases = [(["effects", put("empty", "")], "the file is empty"),
                 (["effects", put("cut", whole[:len(whole) // 2])], "not whole, or no JSON"),
                 (["effects", put("other", {"traceEvents": []})], "no result of chokepoint run"),
                 (["effects", put("list", "[1]")], "no file of chokepoint"),
                 (["effects", benches[0]], "no result of chokepoint run"),
                 (["effects", put("none", {"chokepoint": {"scenarios": []}})], "measured no scenario"),
                 (["effects", str(folder / "absent")], "No such file"),
                 (["effects", str(folder), "--scenario", "nowhere"], "no scenario nowhere"),
                 (["steps", result], "which scenario? Give --scenario: a_scenario"),
                 (["roofline", result], "no limits of the device"),
                 (["roofline", put("roof", {**bench(), "benchmarks": []})], "no row of it"),
                 (["sweep", result], "no output of chokepoint train --sweep"),
                 (["sweep", put("void", {"knob": "workers", "values": []})], "no value of workers"),
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
        self.assertIn("scripts/setup.sh --report", done.stderr)
        done = run("effects", result, "-o", folder / "figures.json", PYTHONPATH=str(hidden))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(json.loads((folder / "figures.json").read_text())["rows"]), MANY)


unittest.main()
