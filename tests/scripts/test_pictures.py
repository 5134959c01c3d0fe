#!/usr/bin/python3
"""The pictures of README.md and docs/catalogue/ show the data in results/, and scripts/pictures.py --check
notices where they do not.

usage: test_pictures.py PROGRAM CHECKOUT
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

checkout = pathlib.Path(sys.argv.pop()).resolve()
program = str(pathlib.Path(sys.argv.pop()).resolve())
try:
    import matplotlib
except ImportError:
    matplotlib = None


def pictures(tree, *flags):
    done = subprocess.run([str(checkout / "scripts/pictures.py"), "--program", program, "--checkout",
                           str(tree), *flags], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def made_result(date, effects):
    scenarios = [{"name": name, "verdict": "reproduced" if effect else "skipped", "reason": "no GPU",
                  "knob": "k", "before": "0", "after": "1", "effect": effect, "interval": effect and [effect, effect],
                  "step_time": {"before": effect and 100 * effect, "after": effect and 100},
                  "samples": {"before": [{"step_ns": [1000, 2000]}], "after": [{"step_ns": [500, 700]}]}}
                 for name, effect in effects.items()]
    return {"context": {"date": date, "device_name": "a device"}, "chokepoint": {"scenarios": scenarios}}


class Committed(unittest.TestCase):
    def test_pictures_and_page_show_the_results(self):
        self.assertEqual(pictures(checkout, "--check"), (0, ""))

    def test_readme_shows_one_and_the_page_each(self):
        readme = (checkout / "README.md").read_text()
        page = (checkout / "docs/catalogue/README.md").read_text()
        for theme in ("light", "dark"):
            self.assertIn(f"docs/timeline.{theme}.svg", readme)
            self.assertIn(f"effects.{theme}.svg", page)
        shown = re.findall(r"\]\((\w+)\.svg\)", page)
        self.assertGreaterEqual(len(shown), 6)
        for name in shown:
            drawn = xml.etree.ElementTree.parse(checkout / f"docs/catalogue/{name}.svg")
            self.assertIn(name, "".join(drawn.getroot().itertext()))

    def test_a_table_of_readme_that_was_edited_is_noticed_and_mended(self):
        with tempfile.TemporaryDirectory() as tree:
            tree = pathlib.Path(tree)
            shutil.copytree(checkout / "results", tree / "results")
            shutil.copytree(checkout / "docs/catalogue", tree / "docs/catalogue")
            for name, row in (("README.md", "| `data`: reading"), ("README.md", "**GPUs.** In"),
                              ("docs/devices.md", "| [`results/cpu")):
                text = (checkout / name).read_text()
                self.assertIn(row, text)
                (tree / name).write_text(text.replace(row, row + " x", 1))
                code, said = pictures(tree, "--check")
                self.assertEqual(code, 1)
                self.assertIn(name, said)
                self.assertEqual(pictures(tree)[0], 0)
                self.assertEqual((tree / name).read_text(), text)
            (tree / "README.md").write_text("no tables")
            code, said = pictures(tree, "--check")
            self.assertNotEqual(code, 0)
            self.assertIn("it has no place for the table", said)

    def test_the_steps_of_readme_are_like_the_whole_run(self):
        """What the picture shows of before and after is as much faster as the result says, within 15%."""
        drawn = (checkout / "docs/timeline.light.svg").read_text()
        before, after = (float(time) for time in re.findall(r"loss_every \d+ · \d+ steps, ([\d.]+) ms", drawn))
        result = json.loads((checkout / "results/tour/result.json").read_text())
        self.assertAlmostEqual(before / after / result["chokepoint"]["scenarios"][0]["effect"], 1, delta=0.15)

    def test_the_pictures_of_pages_are_there_and_small(self):
        readme = (checkout / "README.md").read_text()
        sizes = [(checkout / path).stat().st_size for path in re.findall(r"\]\((docs/page-\w+\.png)\)", readme)]
        self.assertEqual(len(sizes), 3)
        self.assertLess(sum(sizes), 3e5)

    def test_they_are_small(self):
        for file in (checkout / "docs/catalogue").iterdir():
            self.assertLess(file.stat().st_size, 1e5 if file.name.startswith("effects.") else 3e4, file.name)
        self.assertLess(sum(file.stat().st_size for file in (checkout / "docs").glob("*.svg")), 3e5)


class Tree(unittest.TestCase):
    """A checkout of results only."""

    def setUp(self):
        if matplotlib is None:
            self.skipTest("/usr/bin/python3 has no matplotlib (scripts/setup.sh --plots installs it)")
        self.tree = pathlib.Path(tempfile.mkdtemp(prefix="pictures."))
        self.addCleanup(shutil.rmtree, self.tree)
        (self.tree / "docs").mkdir()
        self.put("one", made_result("2026-01-02", {"item_sync": 1.5, "small_batch": 2.5, "strict_fp32": None,
                                                   "no_such_scenario": 1.1}))
        self.folder = self.tree / "docs/catalogue"
        status, said = pictures(self.tree)
        self.assertEqual(status, 0, said)

    def put(self, machine, content):
        folder = self.tree / "results" / machine
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "result.json").write_text(json.dumps(content))

    def check(self, *named):
        status, said = pictures(self.tree, "--check")
        self.assertEqual(status, 1 if named else 0, said)
        self.assertEqual(len(said.splitlines()), len(named), said)
        for name in named:
            self.assertIn(name, said)

    def test_what_was_just_drawn_is_current(self):
        self.check()
        self.assertEqual({file.name for file in self.folder.iterdir()},
                         {"item_sync.svg", "small_batch.svg", "effects.light.svg", "effects.dark.svg",
                          "README.md"})
        page = (self.folder / "README.md").read_text()
        self.assertIn("![step_time: 1.50x faster](item_sync.svg)", page)
        self.assertIn("Not measured here: skipped, no GPU.", page)

    def test_other_figures_make_a_picture_old_and_only_that_is_drawn(self):
        kept = self.folder / "small_batch.svg"
        before = kept.stat().st_mtime_ns
        self.put("one", made_result("2026-01-02", {"item_sync": 1.6, "small_batch": 2.5, "strict_fp32": None}))
        self.check("item_sync.svg", "effects.light.svg", "effects.dark.svg", "README.md")
        self.assertEqual(pictures(self.tree)[0], 0)
        self.check()
        self.assertEqual(kept.stat().st_mtime_ns, before)

    def test_the_result_with_the_most_scenarios_counts_then_the_newest(self):
        self.put("two", made_result("2026-03-01", {"item_sync": 3.5}))
        self.check()
        self.put("three", made_result("2026-02-01", {"item_sync": 1.5, "small_batch": 2.5, "padding": 1.2}))
        status, said = pictures(self.tree)
        self.assertEqual(status, 0, said)
        self.assertIn("results/three", (self.folder / "README.md").read_text())
        self.put("four", made_result("2026-02-02", {"item_sync": 1.5, "small_batch": 2.5, "padding": 1.2}))
        self.assertEqual(pictures(self.tree)[0], 0)
        self.assertIn("results/four", (self.folder / "README.md").read_text())

    def test_what_is_missing_or_too_many_is_told(self):
        (self.folder / "item_sync.svg").unlink()
        (self.folder / "left_over.svg").write_text("<svg/>")
        self.check("item_sync.svg", "left_over.svg")
        (self.folder / "README.md").write_text("edited by hand")
        self.check("item_sync.svg", "left_over.svg", "README.md")
        self.assertEqual(pictures(self.tree)[0], 0)
        self.check()

    def test_without_results_or_program_one_sentence_says_so(self):
        shutil.rmtree(self.tree / "results")
        status, said = pictures(self.tree)
        self.assertEqual((status, len(said.splitlines())), (2, 1))
        status, said = pictures(checkout, "--program", "/nonexistent/chokepoint")
        self.assertEqual((status, len(said.splitlines())), (3, 1))


unittest.main()
