#!/usr/bin/python3
"""The page of `chokepoint report` in a browser: it filters, sorts, zooms and tells what is under the pointer,
fits a phone and a desk, and has no serious fault for those who use a keyboard or a reader.

usage: test_report_browser.py PROGRAM FOLDER

FOLDER keeps axe (axe-core-python, of PyPI) from run to run.
"""
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(2))
PROGRAM = os.path.abspath(sys.argv.pop(1))
EVIL = "</script><script>window.evil = 1</script><!--<img src=x onerror='window.evil = 1'>"
SIZES = ((360, 740), (1440, 900))


sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import made_ranks  # noqa: E402
from browser import axe_source, open_browser, runs_foreign_scripts, serious_faults  # noqa: E402

from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402


def slow_trace():
    """Steps of 300 us: the host loads for 120, logs for 120 and launches a kernel of 60."""
    events = []
    for step in range(20):
        at, host = 300 * step, {"pid": 9, "tid": 9, "ph": "X"}
        events += [
            {**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": at, "dur": 300},
            {**host, "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
             "ts": at + 1, "dur": 120},
            {**host, "cat": "user_annotation", "name": "log", "ts": at + 130, "dur": 120},
            {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 285, "dur": 10,
             "args": {"correlation": step + 1}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 296, "dur": 60,
             "args": {"correlation": step + 1}}]
    return {"traceEvents": events}


MIB = 1 << 20


def snapshot():
    """Five lines that hold 1 to 5 MiB each, of two functions, and memory that runs out twice."""
    entries, blocks = [], []
    for number in range(5):
        frames = [{"name": EVIL if number == 4 else "linear", "filename": f"/home/me/model_{number % 2}.py", "line": number},
                  {"name": "main", "filename": "/home/me/train.py", "line": 90}]
        entries.append({"action": "alloc", "addr": (1 << 30) + (number << 24), "size": (number + 1) * MIB, "stream": 0,
                        "time_us": 10**15 + 100 * number, "frames": frames})
        if number % 2 == 1:
            entries.append({"action": "oom", "device_free": 5 * MIB, "size": 900 * MIB, "stream": 0,
                            "time_us": 10**15 + 100 * number + 50})
        blocks.append({"address": (1 << 30) + (number << 24), "size": (number + 1) * MIB, "requested_size": (number + 1) * MIB,
                       "state": "active_allocated", "frames": frames})
    blocks.append({"address": 1 << 31, "size": 30 * MIB, "requested_size": 0, "state": "inactive", "frames": []})
    return {"segments": [{"device": 0, "address": 1 << 30, "total_size": 45 * MIB, "blocks": blocks}],
            "device_traces": [entries]}


def evil_trace():
    """Steps of 100 us; in each an operator and a kernel of 60 us, 10 us after its start, with a name like that."""
    events = []
    for step in range(4):
        host = {"pid": 9, "tid": 9, "ph": "X"}
        events += [
            {**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": 100 * step, "dur": 100},
            {**host, "cat": "cpu_op", "name": EVIL, "ts": 100 * step + 1, "dur": 20},
            {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 100 * step + 5, "dur": 4,
             "args": {"correlation": step + 1}},
            {"ph": "X", "cat": "kernel", "name": EVIL, "pid": 0, "tid": 7, "ts": 100 * step + 10, "dur": 60,
             "args": {"correlation": step + 1}}]
    return {"traceEvents": events}


def hostile_trace():
    """Fifteen kernels a step, of which three have names that a script could trip over, in a step of 100 us."""
    names = ["__proto__", "constructor", EVIL, *(f"k_{number}" for number in range(12))]
    events = []
    for step in range(4):
        host = {"pid": 9, "tid": 9, "ph": "X"}
        events += [{**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": 10**15 + 100 * step, "dur": 100},
                   {**host, "cat": "user_annotation", "name": "__proto__", "ts": 10**15 + 100 * step + 1, "dur": 90}]
        for number, name in enumerate(names):
            at, correlation = 10**15 + 100 * step + 5 * number + 2, 100 * step + number + 1
            events += [{**host, "cat": "cpu_op", "name": name, "ts": at, "dur": 4},
                       {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 1, "dur": 1,
                        "args": {"correlation": correlation}},
                       {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 2, "dur": 1,
                        "args": {"correlation": correlation, "grid": [2**31 - 1, 1, 1]}}]
    return {"traceEvents": events}


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = open_browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        made = subprocess.run([PROGRAM, "run", "launch_overhead", "checkpointing", "strict_fp32",
                               "--device=cpu", "--quick", "--repetitions=2", f"--out={cls.folder / 'made'}"],
                              capture_output=True, text=True, check=False)
        assert made.returncode in (0, 1, 3), made.stderr
        (cls.folder / "evil.json").write_text(json.dumps(evil_trace()))
        (cls.folder / "slow.json").write_text(json.dumps(slow_trace()))
        (cls.folder / "memory.pickle").write_bytes(pickle.dumps(snapshot()))
        hostile = cls.folder / "<" / "script><img src=x onerror='window.evil = 1'>.json"  # the path closes a script
        hostile.parent.mkdir()
        hostile.write_text(json.dumps(hostile_trace()))
        (cls.folder / "ranks").mkdir()
        made_ranks.write(cls.folder / "ranks", 2, computes_us=(1000, 3000))
        for name, source in (("hostile", hostile), ("ranks", "ranks"), ("made", "made"), ("evil", "evil.json"), ("slow", "slow.json"), ("memory", "memory.pickle")):
            subprocess.run([PROGRAM, "report", cls.folder / source, "-o", cls.folder / f"{name}.html"],
                           capture_output=True, check=True)

    def show(self, name, width=1440, height=900, dark=False, fragment=""):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.browser.get("about:blank")
        self.browser.get(f"file://{self.folder / name}.html{fragment}")
        self.wait("return document.documentElement.dataset.ready === 'yes'")

    def wait(self, script, *arguments):
        WebDriverWait(self.browser, 60).until(lambda browser: browser.execute_script(script, *arguments))

    def open_all(self):
        self.browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
        self.wait("return [...document.querySelectorAll('details.scenario')].every((one) => one.dataset.drawn)")

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def names(self):
        return [row.get_dom_attribute("data-name") for row in
                self.browser.find_elements(By.CSS_SELECTOR, "#scenarios tbody tr") if row.is_displayed()]

    def tearDown(self):
        severe = [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(severe, [])

    # --- The overview ---

    def test_rows_are_filtered_by_text_and_by_verdict(self):
        self.show("made")
        self.assertEqual(len(self.names()), 3)
        self.find("#filter").send_keys("check")
        self.assertEqual(self.names(), ["checkpointing"])
        self.assertEqual(self.find("#shown").text, "shown: 1 of 3")
        self.assertFalse(self.find("#s-launch_overhead").is_displayed())
        self.show("made", 360)
        self.find("#filter").send_keys("check")
        self.assertEqual(self.names(), ["checkpointing"])
        self.find("#filter").send_keys(Keys.CONTROL, "a", Keys.DELETE)
        Select(self.find("#kind")).select_by_visible_text("skipped")
        self.assertEqual(self.names(), ["strict_fp32"])

    def test_a_heading_sorts_and_unknown_effects_come_last(self):
        self.show("made")
        heading = self.find("#scenarios th:nth-child(2)")
        for order, wanted in (("descending", True), ("ascending", False)):
            heading.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
            self.assertEqual(heading.get_attribute("aria-sort"), order)
            values = self.browser.execute_script(
                "return [...document.querySelectorAll('#scenarios tbody tr')].map((row) => row.cells[1].dataset.sort)")
            self.assertEqual(values[2], "")
            self.assertEqual(sorted(map(float, values[:2]), reverse=wanted), list(map(float, values[:2])))

    def test_a_row_opens_its_scenario(self):
        self.show("made")
        self.find("a[href='#s-checkpointing']").click()
        self.wait("return document.getElementById('s-checkpointing').dataset.drawn === 'yes'")
        self.assertTrue(self.find("#s-checkpointing .chart.memory svg").is_displayed())

    # --- The timeline ---

    def view(self, canvas):
        return [float(canvas.get_attribute(f"data-{end}")) for end in ("from", "to")]

    def zoomed(self, canvas, before):
        WebDriverWait(self.browser, 30).until(lambda _: self.view(canvas) != before)
        return self.view(canvas)

    def test_the_timeline_zooms_and_pans_by_button_key_wheel_and_pointer(self):
        self.show("made", fragment="#s-launch_overhead")
        canvas = self.find("#s-launch_overhead canvas")
        whole = at = self.view(canvas)
        self.find("#s-launch_overhead button[data-zoom='2']").click()
        at = self.zoomed(canvas, at)
        self.assertAlmostEqual(at[1] - at[0], (whole[1] - whole[0]) / 2, delta=2)
        canvas.send_keys("+")
        span = at[1] - at[0]
        at = self.zoomed(canvas, at)
        self.assertAlmostEqual(at[1] - at[0], span / 1.5, delta=2)
        for key, sign in ((Keys.ARROW_LEFT, -1), (Keys.ARROW_RIGHT, 1)):
            before = at
            canvas.send_keys(key)
            at = self.zoomed(canvas, at)
            self.assertGreater(sign * (at[0] - before[0]), 0)
            self.assertAlmostEqual(at[1] - at[0], before[1] - before[0], delta=2)
        before = at
        ActionChains(self.browser).drag_and_drop_by_offset(canvas, -60, 0).perform()
        at = self.zoomed(canvas, at)
        self.assertGreater(at[0], before[0])
        before = at
        ActionChains(self.browser).key_down(Keys.CONTROL).scroll_from_origin(
            ScrollOrigin.from_element(canvas), 0, -100).key_up(Keys.CONTROL).perform()
        at = self.zoomed(canvas, at)
        self.assertLess(at[1] - at[0], before[1] - before[0])
        picture = self.browser.execute_script("return arguments[0].toDataURL()", canvas)
        canvas.send_keys("0")
        self.assertEqual(self.zoomed(canvas, at), whole)
        self.assertNotEqual(picture, self.browser.execute_script("return arguments[0].toDataURL()", canvas))

    # Steps 0 to 2 are drawn: 300 us over the canvas, from the labels' 110 px on. The middle of the first kernel is at
    # 40 us. Rows of 20 px, below an axis of 22 and a head of 20: steps, operators, calls, the stream.
    def test_the_pointer_is_told_name_start_and_duration(self):
        self.show("evil")
        canvas = self.find("canvas")
        size = canvas.size
        x, y = 110 + (size["width"] - 110) * 40 / 300, 22 + 20 + 3 * 20 + 10
        ActionChains(self.browser).move_to_element_with_offset(
            canvas, int(x - size["width"] / 2), int(y - size["height"] / 2)).perform()
        text = self.find("#tip").text
        self.assertIn(EVIL, text)
        self.assertIn("start 10 us (ts 10 us in the file)", text)
        self.assertIn("duration 60 us", text)
        self.assertIn("stream 7: computation", text)
        ActionChains(self.browser).move_to_element(self.find("h1")).perform()
        self.assertFalse(self.find("#tip").is_displayed())

    # One call of 4 us in each of the three steps that are drawn.
    def test_what_is_sought_is_counted_and_added_up(self):
        self.show("evil")
        for text, found in (("CUDAlaunch", "3, 12 us"), ("nowhere", "not there")):
            self.find(".timeline .find").clear()
            self.find(".timeline .find").send_keys(text)
            self.wait("return document.querySelector('.timeline .found').textContent === arguments[0]", found)

    # Steps 1 to 3 are drawn, from 300 us on. The gap of step 2 is from 656 us to 896 us.
    def test_a_gap_is_shown_in_the_timeline(self):
        self.show("slow")
        canvas, cells = self.find("canvas"), self.browser.find_elements(By.CSS_SELECTOR, ".gaps td:first-child")
        self.assertEqual([len(cell.find_elements(By.TAG_NAME, "button")) for cell in cells], [0, 1, 1, 1, 0, 0, 0, 0])
        cells[2].find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
        self.wait("return arguments[0].dataset.from > 0", canvas)
        self.assertEqual(self.view(canvas), [116_000, 836_000])

    # --- A snapshot of memory ---

    def test_memory_is_drawn_by_line_with_marks_where_it_ran_out(self):
        self.show("memory")
        names = [one.text for one in self.browser.find_elements(By.CSS_SELECTOR, ".over-time .legend span")]
        self.assertEqual(len(names), 6)
        self.assertEqual(names[-1], "memory ran out")
        marks = self.browser.find_elements(By.CSS_SELECTOR, ".over-time .mark line")
        self.assertEqual(len(marks), 2)
        first, second = (float(one.get_attribute("x1")) for one in marks)
        self.assertAlmostEqual((first - 62) / (second - 62), 150 / 350, delta=0.01)
        tops = self.browser.execute_script("""
            return [...document.querySelectorAll('.over-time polygon')].map((one) =>
                Math.min(...one.getAttribute('points').split(' ').map((point) => Number(point.split(',')[1]))))""")
        self.assertEqual(tops, sorted(tops, reverse=True))

    def test_a_call_of_the_peak_tells_what_it_holds_and_is_enlarged(self):
        self.show("memory")
        calls = self.browser.find_elements(By.CSS_SELECTOR, ".flame .call")
        self.assertEqual(len(calls), 6)
        whole, largest = (one.find_element(By.TAG_NAME, "rect").size["width"] for one in calls[:2])
        self.assertAlmostEqual(largest / whole, 5 / 15, delta=0.01)
        ActionChains(self.browser).move_to_element(calls[1]).perform()
        self.assertIn(f"me/model_0.py:4 {EVIL[:60]}", self.find("#tip").text)
        self.assertIn("\n5 MiB, 33.3% of the peak", self.find("#tip").text)
        calls[1].click()
        self.wait("return document.querySelectorAll('.flame .call').length === 2")
        widths = [one.size["width"] for one in self.browser.find_elements(By.CSS_SELECTOR, ".flame .call rect")]
        self.assertEqual(widths[0], widths[1])
        self.find(".flame .all").click()
        self.wait("return document.querySelectorAll('.flame .call').length === 6")
        self.assertIsNone(self.browser.execute_script("return window.evil"))

    # --- The page ---

    def test_switches_leave_causes_out(self):
        self.show("slow")
        boxes = self.browser.find_elements(By.CSS_SELECTOR, ".what-if input")
        self.assertGreaterEqual(len(boxes), 2)
        recorded, left = self.browser.find_elements(By.CSS_SELECTOR, ".what-if .bar")
        width, text = left.size["width"], self.find(".what-if .step").text
        self.assertLess(width, recorded.size["width"])
        parts = [one.size["width"] for one in recorded.find_elements(By.TAG_NAME, "i")]
        self.assertAlmostEqual(sum(parts), recorded.size["width"], delta=1)
        self.assertAlmostEqual(parts[0] / sum(parts), 60 / 300, delta=0.02)  # busy; the rest is hatched
        self.assertIn("gradient", self.find(".what-if .rest").value_of_css_property("background-image"))
        self.assertRegex(self.find(".what-if .end").text, "^30[0-9] us$")
        self.assertIn("without data_loading:", self.find(".what-if p").text)
        for box in boxes[1:]:
            box.click()
        self.assertLess(left.size["width"], width)
        self.assertNotEqual(self.find(".what-if .step").text, text)
        for box in boxes:
            box.click()
        self.assertEqual(recorded.size["width"], left.size["width"])
        self.assertTrue(self.find(".what-if .step").text.endswith("1.00x"))
        self.assertIn("as recorded:", self.find(".what-if p").text)

    # --- Tables, links and keys ---

    def kernels(self):
        rows = self.browser.find_elements(By.CSS_SELECTOR, ".kernels tbody tr")
        return [row.find_element(By.CSS_SELECTOR, ".name").text for row in rows]

    def test_a_table_is_filtered_and_shown_whole(self):
        self.show("hostile")
        self.assertEqual(len(self.kernels()), 10)
        button = self.find(".kernels button")
        self.assertEqual(button.text, "All 15")
        for pressed, count in (("true", 15), ("false", 10)):
            button.click()
            self.assertEqual((button.get_attribute("aria-pressed"), len(self.kernels())), (pressed, count))
        field = self.find(".kernels input")
        field.send_keys("K_1")
        self.assertEqual(sorted(self.kernels()), ["k_1", "k_10", "k_11"])
        self.assertEqual(self.find(".kernels [role=status]").text, "3 of 15")
        field.send_keys("nowhere")
        self.assertEqual(self.find(".kernels tbody").text, "No row has this.")

    def test_a_link_has_what_was_chosen_and_nothing_else(self):
        self.show("hostile")
        self.find(".kernels input").send_keys("k_1")
        self.find(".timeline .find").send_keys("k_2")
        self.find("button[data-zoom='2']").click()
        canvas = self.find("canvas")
        whole = self.view(canvas)
        at = self.zoomed(canvas, whole) if whole[0] == 0 else whole
        found = "return document.querySelector('.timeline .found').textContent"
        self.wait(found)
        counted = self.browser.execute_script(found)
        fragment = self.browser.execute_script("return location.hash")
        self.assertRegex(fragment, r"^#t-1\.kernels\.trace=k_1&t-1\.find=k_2&t-1\.range=\d+-\d+$")
        self.show("hostile", fragment=fragment)
        self.wait("return Number(document.querySelector('canvas').dataset.from) === arguments[0]", at[0])
        self.assertEqual(self.view(self.find("canvas")), at)
        self.assertEqual(sorted(self.kernels()), ["k_1", "k_10", "k_11"])
        self.wait(f"{found} === arguments[0]", counted)
        self.find("details.scenario > summary").click()
        self.wait("return new URLSearchParams(location.hash.slice(1)).has('open') === false")

    def test_a_rank_opens_its_trace_and_a_link_keeps_it_open(self):
        self.show("ranks")
        slow = self.find("p[data-slow]").get_dom_attribute("data-slow")
        self.assertEqual(slow, "1")
        self.assertEqual([row.text for row in self.browser.find_elements(By.CSS_SELECTOR, "tr.slow a")], ["rank 1"])
        self.assertTrue(self.find("#t-2").get_dom_attribute("open") is not None)
        self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, "#t-1 > :not(summary)")), 0)  # not made yet
        self.find("a[href='#t-1']").click()
        self.wait("return document.getElementById('t-1').dataset.drawn === 'yes'")
        self.assertTrue(self.find("#t-1 canvas").is_displayed())
        self.find("#t-2 > summary").click()
        self.wait("return location.hash === '#open=t-1'")
        self.show("ranks", fragment="#open=t-1")
        self.assertEqual([self.find(f"#t-{number}").get_property("open") for number in (1, 2)], [True, False])

    def test_keys_walk_the_calls_of_a_peak(self):
        self.show("memory")
        chart = self.find(".flame .chart")
        chart.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertIn("me/model_0.py:4", self.find("#tip").text)
        chart.send_keys(Keys.ENTER)
        self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, ".flame .call")), 2)
        chart.send_keys(Keys.ESCAPE)
        self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, ".flame .call")), 6)

    def test_names_of_members_and_paths_are_text(self):
        self.show("hostile")
        self.open_all()
        self.find(".kernels button").click()
        self.assertLessEqual({"__proto__", "constructor", EVIL}, set(self.kernels()))
        self.assertIn("</script><img", self.find("h2").text.replace("\n", ""))
        self.assertIsNone(self.browser.execute_script("return window.evil"))
        self.assertEqual(self.browser.find_elements(By.TAG_NAME, "img"), [])
        self.assertNotRegex(self.find("main").text, r"undefined|NaN|\[object")
        self.assertIn("in the file", self.tip_of_the_first_step())

    def tip_of_the_first_step(self):
        canvas = self.find("canvas")
        ActionChains(self.browser).move_to_element_with_offset(canvas, 0, 52 - canvas.size["height"] // 2).perform()
        return self.find("#tip").text

    def test_the_page_runs_its_own_scripts_only(self):
        self.show("evil")
        self.assertFalse(runs_foreign_scripts(self.browser))

    def test_names_of_traces_run_nothing(self):
        self.show("evil")
        self.open_all()
        self.assertIsNone(self.browser.execute_script("return window.evil"))
        self.assertIn(EVIL, self.find("main").text)

    def test_the_theme_changes_and_the_pictures_with_it(self):
        self.show("made", fragment="#s-checkpointing")
        look = "return [getComputedStyle(document.body).backgroundColor, arguments[0].toDataURL()]"
        canvas = self.find("#s-checkpointing canvas")
        seen = [self.browser.execute_script(look, canvas)]
        for name in ("light", "dark", "auto"):
            self.find("#theme").click()
            self.assertEqual(self.find("#theme").text, f"Theme: {name}")
            seen.append(self.browser.execute_script(look, canvas))
        self.assertEqual(seen[0], seen[1])
        self.assertNotEqual(seen[1][0], seen[2][0])
        self.assertNotEqual(seen[1][1], seen[2][1])
        self.assertEqual(seen[3], seen[0])

    def test_nothing_overflows_and_no_text_is_small(self):
        for name in ("made", "evil", "memory", "hostile", "ranks"):
            for width, height in SIZES:
                self.show(name, width, height)
                self.open_all()
                self.assertLessEqual(self.browser.execute_script("return document.documentElement.scrollWidth"), width)
                wide = self.browser.execute_script("""
                    const inside = (one) => one.closest('.scroll, pre');
                    return [...document.querySelectorAll('main *')].filter((one) => !inside(one)
                        && one.getBoundingClientRect().right > window.innerWidth + 1).map((one) => one.outerHTML)""")
                self.assertEqual(wide, [], (name, width))
                small = self.browser.execute_script("""
                    return [...document.querySelectorAll('body *')].filter((one) => [...one.childNodes].some((node) =>
                        node.nodeType === 3 && node.textContent.trim()) && !['SCRIPT', 'STYLE'].includes(one.tagName)
                        && parseFloat(getComputedStyle(one).fontSize) < 12).map((one) => one.outerHTML)""")
                self.assertEqual(small, [], (name, width))
                self.assertEqual(self.hidden_cells(), [], (name, width))

    def hidden_cells(self):
        """Tables that are wider than what is shown of them, and cells that are nowhere."""
        return self.browser.execute_script("""
            const wide = [...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1);
            const gone = [...document.querySelectorAll('main td')].filter((one) => one.textContent.trim()
                && one.getClientRects().length === 0);
            return [...wide, ...gone].map((one) => one.outerHTML)""")

    def test_paper_has_every_column(self):
        for name in ("made", "evil", "memory", "hostile", "ranks"):
            for width in (717, 739):  # of A4 and Letter, less the margins
                self.show(name, width)
                self.open_all()
                self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
                self.assertEqual(self.hidden_cells(), [], (name, width))
                self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    def test_it_prints_every_section(self):
        self.show("made")
        closed = "return document.querySelectorAll('details:not([open])').length"
        before = self.browser.execute_script(closed)
        self.assertGreater(before, 1)
        self.browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.browser.execute_script(closed), 0)
        self.wait("return [...document.querySelectorAll('canvas')].every((one) => one.dataset.to > 0)")
        self.browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.browser.execute_script(closed), before)

    def test_axe_finds_no_serious_fault(self):
        axe = axe_source(FOLDER)
        if not axe:
            self.skipTest("pip could not install axe-core-python")
        for name, width, dark in (("made", 1440, False), ("made", 360, True), ("ranks", 1440, True),
                                  ("memory", 1440, False), ("memory", 360, True)):
            self.show(name, width, dark=dark, fragment="#s-checkpointing")
            self.wait("return document.querySelector('[data-drawn]') !== null")
            self.assertEqual(serious_faults(self.browser, axe), [], (name, width, dark))


unittest.main()
