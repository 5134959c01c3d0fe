#!/usr/bin/python3
"""The page of `chokepoint job --out` in a browser: its heat map shows the rank that a finding names, zooms and is told by
keys, fits a phone and a desk in both themes, prints, and has no serious fault for those who use a keyboard or a reader.

usage: test_job_browser.py PROGRAM MAKE_JOB FOLDER

FOLDER keeps axe (axe-core-python, of PyPI) from run to run.
"""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(3))
MAKE_JOB = os.path.abspath(sys.argv.pop(2))
PROGRAM = os.path.abspath(sys.argv.pop(1))
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from browser import axe_source, open_browser, runs_foreign_scripts, serious_faults, show, wait  # noqa: E402
import made_ranks  # noqa: E402

from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

EVIL = "<script>window.evil = 1</script><img src=x onerror='window.evil = 1'>"
LATE, RANKS = 517, 1024
SPREAD_US = (1000, 1200, 1400, 1600, 1800)  # what five ranks compute in a step, of which 10 us are gaps


def run(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = open_browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        digests = cls.folder / "digests"
        subprocess.run([MAKE_JOB, digests, str(RANKS), "late_rank", str(LATE)], check=True, capture_output=True)
        run("job", digests, "-o", cls.folder / "late.html")
        cls.json = json.loads(run("job", digests, "--format=json", "--map"))
        traces = made_ranks.write(str(cls.folder), 4, computes_us=[1000, 1500, 1000, 1000])
        run("digest", *traces, f"--node={EVIL}", "-o", cls.folder / "evil.digest")
        run("digest", traces[0], "--job=other", "-o", cls.folder / "other.digest")
        run("job", cls.folder / "evil.digest", cls.folder / "other.digest", "-o", cls.folder / "evil.html", code=2)
        spread = cls.folder / "spread"
        spread.mkdir()
        run("digest", *made_ranks.write(str(spread), len(SPREAD_US), computes_us=SPREAD_US), "-o", spread / "all.digest")
        run("job", spread / "all.digest", "-o", cls.folder / "spread.html")

    def show(self, name, width=1440, dark=False):
        show(self.browser, self.folder / f"{name}.html", width, dark=dark)

    def wait(self, script, *arguments):
        wait(self.browser, script, *arguments)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def range(self):
        canvas = self.find(".heat-map canvas")
        return int(canvas.get_attribute("data-from")), int(canvas.get_attribute("data-to"))

    def wait_span(self, most):
        """Until so many ranks are shown."""
        self.wait("const shown = document.querySelector('.heat-map canvas').dataset;"
                  "return Math.abs(shown.to - shown.from - arguments[0]) <= 1", most)

    def pixel(self, x, y):
        """Red, green and blue at shares of the width and height of the cells."""
        return self.browser.execute_script("""
            const canvas = document.querySelector('.heat-map canvas'), left = canvas.width < 560 ? 66 : 130;
            const at = [left + (canvas.width - 14 - left) * arguments[0], 22 + (canvas.height - 24) * arguments[1]];
            return [...canvas.getContext('2d').getImageData(...at, 1, 1).data].slice(0, 3)""", x, y)

    def tearDown(self):
        severe = [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(severe, [])

    # --- The map ---

    def test_the_rank_that_is_named_is_shown_and_chosen(self):
        self.show("late")
        self.assertIn(f"Rank {LATE} on node064 is late", self.find(".finding").text)
        self.assertEqual(self.find(".rank h3").text, f"Rank {LATE} on node064")
        self.assertEqual(self.range(), (0, RANKS))
        # Its line is darker than those around it, though two ranks share a pixel.
        late, other = (sum(self.pixel(0.55, share)) for share in ((LATE + 0.5) / RANKS, (LATE + 40.5) / RANKS))
        self.assertLess(late, other - 150)

    def test_values_are_those_of_the_json(self):
        self.show("late")
        layer = next(one for one in self.json["map"]["layers"] if one["name"] == "late")
        row = self.json["map"]["ranks"].index(LATE)
        mean = sum(layer["ns"][row * layer["columns"]:(row + 1) * layer["columns"]]) / layer["columns"]
        shown = self.find(".rank tbody tr td:nth-child(2)").text
        value, unit = shown.split()
        self.assertEqual(unit, "ms")
        self.assertLess(abs(float(value) * 1e6 / mean - 1), 0.06)

    def test_the_chosen_rank_has_a_timeline(self):
        self.show("late")
        canvas = self.find(".rank .timeline canvas")
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        # Ten steps of 105 ms, though each length is known to two digits only.
        self.assertAlmostEqual(int(canvas.get_attribute("data-to")) / 1e9, 1.05, delta=0.05)
        self.assertEqual([one.text for one in self.browser.find_elements(By.CSS_SELECTOR, ".timeline .legend > *")],
                         ["own time", "waits for others", "transfer"])
        # The row under the steps; its first bar is own time.
        ActionChains(self.browser).move_to_element_with_offset(
            canvas, 115 - canvas.size["width"] // 2, 22 + 20 + 20 + 10 - canvas.size["height"] // 2).perform()
        self.assertIn("own time\nstart 0 ns\nduration", self.find("#tip").text)
        before = canvas.get_attribute("data-to")
        self.find(".timeline button[data-zoom='2']").click()
        self.wait("return document.querySelector('.timeline canvas').dataset.to !== arguments[0]", before)

    def test_it_zooms_by_buttons_keys_and_names(self):
        self.show("late")
        self.find(".heat-map button[data-zoom='2']").click()
        self.wait_span(RANKS / 2)
        low, high = self.range()
        self.assertTrue(low < LATE < high)
        self.find(".heat-map button[data-zoom='0']").click()
        self.wait_span(RANKS)
        canvas = self.find(".heat-map canvas")
        canvas.send_keys("+", Keys.ARROW_DOWN)
        self.wait("return document.querySelector('.rank h3').textContent === arguments[0]", f"Rank {LATE + 1} on node064")
        for text, title in (("node003", "Rank 24 on node003"), ("700", "Rank 700 on node087")):
            find = self.find(".find")
            find.clear()
            find.send_keys(text, Keys.ENTER)
            self.wait("return document.querySelector('.rank h3').textContent === arguments[0]", title)
            self.wait_span(24)
        find = self.find(".find")
        find.clear()
        find.send_keys("nowhere", Keys.ENTER)
        self.wait("return document.querySelector('.found').textContent === 'not there'")
        self.find("button[data-show]").click()
        self.wait("return document.querySelector('.rank h3').textContent.includes(arguments[0])", str(LATE))

    def test_what_is_under_the_pointer_is_told_and_chosen(self):
        self.show("late")
        self.find("button[data-show]").click()
        self.wait_span(24)
        canvas = self.find(".heat-map canvas")
        low, high = self.range()
        place = (LATE + 3.5 - low) / (high - low)
        ActionChains(self.browser).move_to_element_with_offset(
            canvas, 0, int(22 + (canvas.size["height"] - 24) * place - canvas.size["height"] / 2)).click().perform()
        self.assertIn(f"rank {LATE + 3} on node065, step 10", self.find("#tip").text)
        self.assertEqual(self.find(".rank h3").text, f"Rank {LATE + 3} on node065")

    def test_another_layer_is_another_picture(self):
        self.show("late")
        picture = "return document.querySelector('.heat-map canvas').toDataURL()"
        before = self.browser.execute_script(picture)
        Select(self.find(".layer")).select_by_value("waits")
        self.wait("return document.querySelector('.heat-map canvas').toDataURL() !== arguments[0]", before)
        # It waits less than the others: its peers wait for it.
        self.assertIn("-", self.find(".least").text)

    def test_ranks_stand_on_both_sides_of_the_median(self):
        self.show("spread")
        Select(self.find(".layer")).select_by_value("kernel")
        self.browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        least, _, middle, _, most = [self.pixel(0.45, (row + 0.5) / len(SPREAD_US)) for row in range(len(SPREAD_US))]
        self.assertGreater(least[2], least[0] + 40)  # blue: less than the median
        self.assertGreater(min(middle), 240)
        self.assertGreater(most[0], most[2] + 40)
        self.find(".find").send_keys("0", Keys.ENTER)
        self.wait("return document.querySelector('.rank h3').textContent.startsWith('Rank 0 ')")
        rows = [row.text for row in self.browser.find_elements(By.CSS_SELECTOR, ".rank tbody tr")]
        kernels = next(row for row in rows if row.startswith("kernels ")).split()[1:]
        for at, wanted in ((0, 0.99), (2, 1.39), (4, -0.4)):
            value = float(kernels[at]) * {"ms": 1, "us": 1e-3}[kernels[at + 1]]
            self.assertAlmostEqual(value, wanted, delta=0.04, msg=rows)

    # --- The page ---

    def test_the_page_runs_its_own_scripts_only(self):
        self.show("late")
        self.assertFalse(runs_foreign_scripts(self.browser))

    def test_names_are_text(self):
        self.show("evil")
        self.assertIsNone(self.browser.execute_script("return window.evil || null"))
        self.assertIn("<script>", self.find(".rank h3").text)
        self.assertIn("Left out: ", self.find("main").text)

    def test_a_page_fits_its_screen(self):
        for name, width, dark in (("late", 360, True), ("late", 1280, False), ("late", 1440, True), ("evil", 360, False)):
            self.show(name, width, dark)
            self.assertLessEqual(self.browser.execute_script("return document.documentElement.scrollWidth"), width)

    def test_the_theme_changes_and_the_picture_with_it(self):
        self.show("late")
        look = "return document.querySelector('.heat-map canvas').toDataURL()"
        seen = [self.browser.execute_script(look)]
        for name in ("light", "dark"):
            self.find("#theme").click()
            self.assertEqual(self.find("#theme").text, f"Theme: {name}")
            seen.append(self.browser.execute_script(look))
        self.assertEqual(seen[0], seen[1])
        self.assertNotEqual(seen[1], seen[2])

    def test_it_prints(self):
        self.show("late", dark=True)
        printed = self.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        self.assertGreater(len(base64.b64decode(printed["data"])), 20000)
        self.browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.browser.execute_script("return getComputedStyle(document.documentElement).colorScheme"), "light")
        self.assertTrue(self.find("details").get_attribute("open"))
        self.browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.browser.execute_script("return getComputedStyle(document.documentElement).colorScheme"), "dark")

    def test_axe_finds_no_serious_fault(self):
        axe = axe_source(FOLDER)
        if not axe:
            self.skipTest("pip could not install axe-core-python")
        for name, width, dark in (("late", 1440, False), ("evil", 360, True)):
            self.show(name, width, dark)
            self.assertEqual(serious_faults(self.browser, axe), [], (name, width, dark))


unittest.main()
