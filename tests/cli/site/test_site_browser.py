#!/usr/bin/python3
"""The pages of `report --site` in a browser: the index leads to each page and back, a history is a graph that a pointer and
the keyboard read, a fleet is a grid, names are text, nothing is loaded, and there is no serious fault for those who use a
keyboard or a reader; on a desk and on a phone, light and dark.

usage: test_site_browser.py PROGRAM SOURCE MAKE_JOB FOLDER

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

PROGRAM, SOURCE, MAKE_JOB, FOLDER = (os.path.abspath(sys.argv.pop(1)) for _ in range(4))
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import browser  # noqa: E402
import site_folder  # noqa: E402

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

WIDTHS = ((1440, False), (390, True))


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.open_browser(("browser", "performance"))
        cls.addClassCleanup(cls.browser.quit)
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        site_folder.make(cls.folder / "results", pathlib.Path(SOURCE), MAKE_JOB)
        done = subprocess.run([PROGRAM, "report", cls.folder / "results", f"--site={cls.folder}/site"], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, done.stderr
        pages = json.loads((cls.folder / "site/index.json").read_text(encoding="utf-8"))["site"]["pages"]
        cls.pages = {one["name"]: one["page"] for one in pages}

    def tearDown(self):
        severe = [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(severe, [])

    def show(self, name, width=1440, dark=False):
        browser.show(self.browser, self.folder / "site" / self.pages.get(name, name), width, dark=dark)

    def ready(self):
        browser.wait(self.browser, "return document.documentElement.dataset.ready === 'yes'")

    def requests(self):
        """Addresses that were asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        return [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def wait_for(self, selector, count):
        """Until there are so many: a section is filled after it was opened."""
        browser.wait(self.browser, "return document.querySelectorAll(arguments[0]).length === arguments[1]", selector, count)

    def script(self, text):
        return self.browser.execute_script(f"return {text}")

    # --- The index ---

    def test_the_index_leads_to_each_page_and_back(self):
        self.show("index.html")
        self.assertEqual(sorted(link.text for link in self.all(".pages a")), sorted(site_folder.PAGES))
        self.requests()
        for name in site_folder.PAGES:
            self.find(f'.pages a[href="{self.pages[name]}"]').click()
            self.ready()
            self.assertGreater(len(self.find("main").text), 40, name)
            self.assertEqual(self.script("window.evil === undefined && document.images.length"), 0)
            self.find('header a[href="index.html"]').click()
            self.ready()
        site = (self.folder / "site").as_uri()
        self.assertEqual(sorted(self.requests()), sorted(
            [f"{site}/{page}" for page in self.pages.values()] + len(self.pages) * [f"{site}/index.html"]))

    def test_what_is_wrong_comes_first_and_rows_are_filtered(self):
        self.show("index.html")
        tones = [row.get_attribute("class").split()[1] for row in self.all(".pages .verdict")]
        self.assertEqual(tones, sorted(tones, key=["bad", "doubtful", "plain", "good"].index))
        Select(self.find("#kind")).select_by_visible_text("history")
        self.assertEqual(self.find("#shown").text, "shown: 2 of 7")
        self.find("#filter").send_keys("img onerror")
        self.assertEqual(self.find("#shown").text, "shown: 1 of 7")
        self.find("#left-out summary").click()
        self.wait_for("#left-out li", len(site_folder.LEFT_OUT))

    # --- A history ---

    def test_a_history_marks_the_change_with_its_commit(self):
        self.show("results/history.jsonl")
        self.assertIn("Not passed: 1 slower", self.find("main .note").text)
        self.assertEqual([link.text for link in self.all(".rows td:first-child a")], ["decode/32", "gelu"])
        section = self.find("details.scenario[open]")
        self.assertEqual(section.get_attribute("data-row"), "decode/32")
        marks = section.find_elements(By.CSS_SELECTOR, ".chart text.change")
        self.assertEqual(len(marks), 1)
        self.assertRegex(marks[0].text, rf"^\+20\.\d% {site_folder.commit(site_folder.STEP_RUN)}$")
        self.assertEqual(len(section.find_elements(By.CSS_SELECTOR, ".chart circle.run")), site_folder.RUNS)
        self.assertEqual(len(section.find_elements(By.CSS_SELECTOR, ".chart rect.band")), 2)

    def test_a_run_is_read_by_keys_and_by_pointer(self):
        self.show("results/history.jsonl")
        chart, told = self.find(".chart.history"), self.find("figure [role=status]")
        chart.send_keys(Keys.HOME)
        self.assertIn(f"Run 1 of {site_folder.RUNS}, 2026-03-01, {site_folder.commit(0)}", told.text)
        for _ in range(site_folder.STEP_RUN):
            chart.send_keys(Keys.ARROW_RIGHT)
        self.assertRegex(told.text, rf"^Run {site_folder.STEP_RUN + 1} .*it changed by \+20\.\d% here$")
        chart.send_keys(Keys.END, Keys.ARROW_RIGHT)
        self.assertIn(f"Run {site_folder.RUNS} of", told.text)
        self.script("""(() => { const chart = document.querySelector('.chart.history'), at = chart.getBoundingClientRect();
            chart.dispatchEvent(new PointerEvent('pointermove', { clientX: at.left + 76, clientY: at.top + 50 })); })()""")
        self.assertIn("Run 1 of", told.text)

    def test_the_table_says_what_the_graph_shows(self):
        self.show("results/history.jsonl")
        next(one for one in self.all("details.scenario[open] summary") if "as a table" in one.text).click()
        self.wait_for('[aria-label="Table of runs"] tbody tr', site_folder.RUNS)
        rows = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
                for row in self.all('[aria-label="Table of runs"] tbody tr')]
        self.assertEqual([row[4] for row in rows], ["1"] * site_folder.STEP_RUN + ["2"] * (site_folder.RUNS - site_folder.STEP_RUN))
        self.assertEqual(rows[0][3], "1.00 ms")
        self.assertEqual([row[0] for row in rows if row[5]], [str(site_folder.STEP_RUN + 1)])

    def test_a_closed_row_opens_from_the_overview_and_hides_with_it(self):
        self.show("results/history.jsonl")
        self.all(".rows td:first-child a")[1].click()
        self.wait_for("details.scenario[open]", 2)
        Select(self.find("#kind")).select_by_visible_text("slower")
        self.assertEqual([one.is_displayed() for one in self.all("details.scenario")], [True, False])

    # --- A fleet ---

    def test_a_fleet_names_the_odd_one_in_words_and_in_the_grid(self):
        self.show("results/fleet")
        self.assertEqual(self.find("main .note").text, f"Out: node{site_folder.SLOW_NODE} (gemm 20% less)")
        self.assertEqual(len(self.all("table.fleet tbody tr")), 20)
        self.assertEqual([cell.text for cell in self.all("table.fleet .out")], ["▲ −20.2%"])
        self.find('section input[type=search], main input[type=search]').send_keys("node1")
        self.assertEqual(len(self.all("table.fleet tbody tr")), 11)

    # --- All pages ---

    def test_pages_fit_run_no_other_script_and_have_no_serious_fault(self):
        axe = browser.axe_source(pathlib.Path(FOLDER))
        for name in ("index.html", "results/history.jsonl", "results/fleet", "results/rounds"):
            for width, dark in WIDTHS:
                self.show(name, width, dark)
                self.assertLessEqual(self.script("document.documentElement.scrollWidth"), width, (name, width))
                if axe:
                    self.assertEqual(browser.serious_faults(self.browser, axe), [], (name, width))
            self.assertFalse(browser.runs_foreign_scripts(self.browser))
        if not axe:
            print("without axe: it could not be installed")


if __name__ == "__main__":
    unittest.main()
