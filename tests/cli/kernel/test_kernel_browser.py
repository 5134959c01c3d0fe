#!/usr/bin/python3
"""The pages of `chokepoint kernel --out`, and of a report of pairs of kernels, in a browser: each fits a phone and a desk in
both themes, shows lanes against sectors and banks, and the source beside its counts; names in a file are text; it has no
serious fault for those who use a keyboard or a reader.

usage: test_kernel_browser.py PROGRAM SOURCE FOLDER

FOLDER keeps axe (axe-core-python, of PyPI) from run to run.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(3))
SOURCE = pathlib.Path(sys.argv.pop(2)).resolve()
PROGRAM = os.path.abspath(sys.argv.pop(1))
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from browser import axe_source, open_browser, serious_faults, show, wait  # noqa: E402

from selenium.webdriver.common.by import By  # noqa: E402

EVIL = "<script>window.evil = 1</script><img src=x onerror='window.evil = 1'>"
RUNS = ("uncoalesced_access", "bank_conflicts")


def kernel(*arguments, code=0):
    done = subprocess.run([PROGRAM, "kernel", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = open_browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in RUNS:
            (cls.folder / f"{name}.json").write_text(kernel(f"{name}_before", "--format=json"))
            kernel(f"{name}_after", f"--beside={cls.folder / name}.json", "-o", cls.folder / f"{name}.html")
        broken = SOURCE / "tests/lab/kernel/samples/broken/ptx/broken.ptx"
        kernel(broken, "--kernel=odd_float4", "--args=f32[256]:iota,f32[128]", f"--out={cls.folder}/broken.html", code=1)
        before = json.loads((cls.folder / "bank_conflicts.json").read_text())
        before["kernel"] = before["file"] = before["findings"][0]["text"] = before["samples"][0]["instruction"] = EVIL
        (cls.folder / "evil.json").write_text(json.dumps(before))
        subprocess.run([PROGRAM, "run", *RUNS, "serial_reduction", f"--out={cls.folder}/result"], check=True,
                       capture_output=True)
        subprocess.run([PROGRAM, "report", cls.folder / "result", "-o", cls.folder / "report.html"], check=True,
                       capture_output=True)
        before["code"] = [EVIL] * len(before["code"])
        kernel("bank_conflicts_after", f"--beside={cls.folder}/evil.json", f"--out={cls.folder}/evil.html")

    def show(self, name, width=1440, dark=False):
        show(self.browser, self.folder / f"{name}.html", width, dark=dark)

    def count(self, selector):
        return len(self.browser.find_elements(By.CSS_SELECTOR, selector))

    def open_all(self):
        self.browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
        wait(self.browser, "return [...document.querySelectorAll('.kernel-pair')].every((one) => one.dataset.drawn)")

    def tearDown(self):
        severe = [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(severe, [])

    def test_lanes_stand_against_sectors(self):
        self.show("uncoalesced_access")
        before, after = self.browser.find_elements(By.CSS_SELECTOR, ".pair:last-of-type > section")[-2:]
        for side, sectors in ((before, 32), (after, 4)):
            first = side.find_element(By.CSS_SELECTOR, "figure")
            self.assertEqual(len(first.find_elements(By.CSS_SELECTOR, "rect.waste")), sectors)
            self.assertEqual(len(first.find_elements(By.CSS_SELECTOR, "rect.lane")), 32)
            self.assertIn(f"{sectors} sectors where 4 would do", first.text)
            self.assertIn(f"{32 * sectors} bytes moved, 128 wanted", first.text)

    def test_lanes_stand_against_banks(self):
        self.show("bank_conflicts")
        figures = [one for one in self.browser.find_elements(By.CSS_SELECTOR, "figure") if "shared memory" in one.text]
        self.assertIn("32 passes where 1 would do", figures[0].text)
        self.assertEqual(len(figures[0].find_elements(By.CSS_SELECTOR, "rect.waste")), 1)

    def test_a_report_shows_each_step_of_a_lesson(self):
        self.show("report")
        pair = self.browser.find_element(By.CSS_SELECTOR, "[data-pair=serial_reduction]")
        self.assertEqual(pair.get_attribute("open"), None)
        pair.find_element(By.TAG_NAME, "summary").click()
        wait(self.browser, "return arguments[0].querySelectorAll('.code').length === 3", pair)
        self.assertIn("between: a tree in shared memory", pair.text)
        self.assertIn("sums[blockIdx.x] = values[0];", pair.text)
        self.open_all()
        banks = self.browser.find_element(By.CSS_SELECTOR, "[data-pair=bank_conflicts]")
        self.assertEqual(len(banks.find_element(By.TAG_NAME, "figure").find_elements(By.CSS_SELECTOR, "rect.waste")), 1)
        cells = self.browser.find_elements(By.CSS_SELECTOR, "[data-kernel=serial_reduction] .number")
        self.assertEqual([cell.text for cell in cells[:3]], ["16,384", "1,600", "64"])

    def test_the_source_is_beside_its_counts(self):
        self.show("uncoalesced_access")
        self.assertEqual(self.count(".code"), 2)
        hot = self.browser.find_element(By.CSS_SELECTOR, ".heat4")
        row = hot.find_element(By.XPATH, "..")
        self.assertIn("32 / 4", hot.text)
        self.assertIn("out[row * columns + column]", row.text)

    def test_what_is_wrong_is_said(self):
        self.show("broken")
        self.assertIn("a misaligned access at broken.cu:", self.browser.find_element(By.TAG_NAME, "main").text)

    def test_names_are_text(self):
        self.show("evil")
        self.assertIsNone(self.browser.execute_script("return window.evil || null"))
        self.assertIn("<script>", self.browser.find_element(By.TAG_NAME, "main").text)

    def test_a_page_fits_its_screen(self):
        for name in (*RUNS, "broken", "report"):
            for width in (360, 1440):
                for dark in (False, True):
                    self.show(name, width, dark)
                    self.open_all()
                    wide = self.browser.execute_script("return document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, (name, width))

    def test_the_theme_has_a_button(self):
        self.show("uncoalesced_access")
        paper = "return getComputedStyle(document.body).backgroundColor"
        light = self.browser.execute_script(paper)
        button = self.browser.find_element(By.ID, "theme")
        button.click()
        button.click()
        self.assertEqual(button.text, "Theme: dark")
        self.assertNotEqual(self.browser.execute_script(paper), light)

    def test_axe_finds_no_serious_fault(self):
        axe = axe_source(FOLDER)
        if not axe:
            self.skipTest("pip could not install axe-core-python")
        for name, width, dark in (("uncoalesced_access", 1440, False), ("uncoalesced_access", 360, True),
                                  ("bank_conflicts", 1440, True), ("broken", 360, False), ("report", 1440, False),
                                  ("report", 360, True)):
            self.show(name, width, dark)
            self.open_all()
            self.assertEqual(serious_faults(self.browser, axe), [], (name, width, dark))


unittest.main()
