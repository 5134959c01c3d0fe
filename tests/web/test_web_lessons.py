#!/usr/bin/python3
"""Kernel lessons, PTX of one's own and the quiz in chokepoint.html, in a browser: all kernels of lessons have the JSON of the
program, byte for byte, for each architecture and for what the sliders can ask for; sliders change what is shown; PTX is run,
and what is wrong in it is said, at its line; a kernel without end is cancelled; the quiz asks and marks as the program
does; nothing is fetched, and no serious fault is there for those who use a keyboard or a reader.

usage: test_web_lessons.py PROGRAM SOURCE FOLDER AXE

FOLDER keeps the build of scripts/web.sh from run to run, AXE the checker axe (axe-core-python, of PyPI).
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import unittest

SEED = int(os.environ.get("CHOKEPOINT_TEST_SEED") or random.randrange(1 << 30))
PROGRAM, SOURCE, FOLDER, AXE = (pathlib.Path(one).resolve() for one in sys.argv[1:])
sys.dont_write_bytecode = True
from built_page import build  # noqa: E402
from browser import axe_source, open_browser, serious_faults  # noqa: E402

from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

STRIDES = SOURCE / "kernels/strides/strides.ptx"
SAMPLES = SOURCE / "tests/lab/kernel/samples"
ENDLESS = """.version 7.0
.target sm_75
.address_size 64
.visible .entry endless()
{
again:
bra again;
}
"""


def program(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == code, (arguments, done.stderr)
    return done.stdout


def options(request):
    """A request of the page as options of `kernel`."""
    return [f"--{name}={value}" for name, value in request.items() if name not in ("file", "ptx", "source", "source_path")]


def flat(text):
    return " ".join(text.split())


class Lessons(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"CHOKEPOINT_TEST_SEED={SEED}")
        cls.browser = open_browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.set_script_timeout(60)
        cls.browser.get(PAGE.as_uri())
        cls.wait_ready()
        cls.browser.execute_script("window.testDesk = new Desk();")
        cls.lessons = json.loads(cls.ask("web_lessons", {}))["kernels"]

    @classmethod
    def wait(cls, script, *arguments):
        return WebDriverWait(cls.browser, 60).until(lambda browser: browser.execute_script(script, *arguments))

    @classmethod
    def wait_ready(cls):
        cls.wait("return document.documentElement.dataset.ready === 'yes'")

    @classmethod
    def ask(cls, name, request):
        return cls.browser.execute_async_script(
            "const done = arguments[2]; testDesk.ask(arguments[0], arguments[1]).then(done, (error) => done(`crash: ${error}`))",
            name, request)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def click(self, selector):
        self.browser.execute_script("document.querySelector(arguments[0]).click()", selector)

    def show(self, what):
        self.click(f"[data-show={what}]")
        self.wait_ready()

    def open(self, name):
        self.show("lessons")
        self.click(f"[data-open={name}]")
        self.wait("return document.querySelector('[data-lesson]')?.dataset.lesson === arguments[0]", name)

    def put(self, selector, value):
        self.browser.execute_script("""
            const field = document.querySelector(arguments[0]);
            field.value = arguments[1];
            field.dispatchEvent(new Event("input"));""", selector, value)

    def counted(self, name, column=1):
        """The count of that name in the table that is shown, once nothing runs."""
        self.wait("return document.querySelector('.counts') && !document.querySelector('[aria-busy]')")
        return self.browser.execute_script("""
            for (const row of document.querySelectorAll(".counts tbody tr"))
              if (row.cells[0].textContent === arguments[0]) return Number(row.cells[arguments[1]].dataset.exact);
            return null;""", name, column)

    # --- The same as the program ---

    def check_same(self, file, request):
        got = self.ask("web_kernel", {"file": file, **request})
        self.assertEqual(got, program("kernel", file, "--format=json", *options(request)), (file, request))

    def test_lessons_have_the_json_of_the_program(self):
        kernels = 0
        for lesson in self.lessons:
            for variant in lesson["launches"]:
                for arch in (80, 90, 100):
                    self.check_same(f"{lesson['name']}_{variant}", {"arch": arch})
                kernels += 1
        self.assertEqual((len(self.lessons), kernels), (14, 31))

    def test_knobs(self):
        """At their first values they give the lesson's launch; at others the program says the same, and nothing is wrong."""
        chance = random.Random(SEED)
        for lesson in self.lessons:
            knobs = self.browser.execute_script("return KNOBS[arguments[0]].knobs", lesson["name"])
            launch = "return KNOBS[arguments[0]].launch(arguments[1], arguments[2])"
            own = {name: row[0] for name, row in knobs.items()}
            other = {name: chance.randrange(least, min(most, 8 * least + step) + 1, step)
                     for name, (_, least, most, step) in knobs.items()}
            for variant, kept in lesson["launches"].items():
                self.assertEqual(self.browser.execute_script(launch, lesson["name"], own, variant), kept)
                request = self.browser.execute_script(launch, lesson["name"], other, variant)
                self.check_same(f"{lesson['name']}_{variant}", request)

    def test_strides(self):
        """The numbers that follow from arithmetic, for each kernel of kernels/strides."""
        self.open("strided_copy")
        for stride in (1, 2, 5, 8, 33):
            self.put("[data-knob=stride]", stride)
            self.assertEqual(self.counted("global loads: sectors per request"), min(4 * stride, 32))
        self.open("padded_tile")
        for pitch, passes in ((32, 32), (33, 1), (34, 2), (36, 4), (40, 8), (64, 32)):
            self.put("[data-knob=pitch]", pitch)
            self.assertEqual(self.counted("shared loads: passes per request"), passes)

    def test_sliders_change_what_is_shown(self):
        self.open("bank_conflicts")
        self.assertEqual((self.counted("shared loads: passes"), self.counted("shared loads: passes", 2)), (65536, 2048))
        self.put("[data-knob=size]", 64)
        self.assertEqual((self.counted("shared loads: passes"), self.counted("shared loads: passes", 2)), (4096, 128))
        self.assertIn("bank_conflicts", self.find(".kernels-shown .finding").text)
        # A launch that leaves the array is no error of the page: what is wrong is shown.
        self.open("few_loads_in_flight")
        self.put(".knob-field:nth-child(1) input[type=number]", 12)
        self.wait("return document.querySelector('.kernels-shown .bad-note')?.textContent.includes('out of bounds')")

    # --- PTX of one's own ---

    def run_ptx(self, text, **fields):
        self.open("ptx")
        self.browser.execute_script("document.querySelector('textarea').value = arguments[0]", text)
        for name, value in {"kernel": "", "grid": "1", "block": "32", "shared": "0", "args": "", **fields}.items():
            self.put(f"input[name={name}]", value)
        self.click("[data-run=ptx]")

    def test_ptx(self):
        args = "f32[4k]:small,f32[4k]:zero,i32:33"
        for registers in (16, 255):
            request = {"kernel": "padded_tile", "grid": "4", "block": "32,32", "shared": 4224, "args": args,
                       "registers": registers, "elements": 3}
            native = json.loads(program("kernel", STRIDES, "--format=json", *options(request)))
            path = native["source"]
            request.update(ptx=STRIDES.read_text(), source=STRIDES.with_suffix(".cu").read_text(), source_path=path)
            got = self.ask("web_kernel", {"file": str(STRIDES), **request})
            self.assertEqual(json.loads(got), native)
        self.run_ptx(STRIDES.read_text(), kernel="padded_tile", grid="4", block="32, 32", shared="4224", args=args)
        self.assertEqual(self.counted("shared loads: passes"), 128)

    def test_wrong_ptx_is_said_at_its_line(self):
        lines = STRIDES.read_text().split("\n")
        broken = next(i for i, line in enumerate(lines) if "bar.sync" in line)
        lines[broken] = "\twgmma.fence.sync.aligned;"
        self.run_ptx("\n".join(lines), kernel="padded_tile")
        self.wait("return document.querySelector('[role=status] .bad-note')")
        self.assertIn(f"pasted.ptx:{broken + 1}: unknown instruction wgmma", self.find("article [role=status]").text)
        self.assertEqual(self.browser.execute_script("""
            const area = document.querySelector("textarea");
            return area.value.slice(area.selectionStart, area.selectionEnd);"""), lines[broken])
        for fields, words in (({}, "more kernels than one"), ({"kernel": "other"}, "has no kernel other"),
                              ({"kernel": "strided_copy", "args": "f32[1k]"}, "takes 4 arguments, not 1"),
                              ({"kernel": "strided_copy", "args": "x7[2]"}, "no type that is known"),
                              ({"kernel": "strided_copy", "grid": "0"}, "one to three numbers")):
            self.run_ptx(STRIDES.read_text(), **fields)
            self.wait("return document.querySelector('[role=status] .bad-note')?.textContent.includes(arguments[0])", words)
        self.run_ptx("")
        self.wait("return document.querySelector('[role=status] .bad-note')?.textContent.includes('there is no PTX')")

    def test_what_is_wrong_in_a_kernel(self):
        self.run_ptx(STRIDES.read_text(), kernel="strided_copy", args="f32[16]:small,f32[32]:zero,i32:1,i32:0")
        self.wait("return document.querySelector('.kernels-shown .bad-note')?.textContent.includes('out of bounds')")

    def test_too_large_is_refused_with_a_sentence(self):
        for args in ("f32[1073741825]:zero", "f32[128M]:zero", "f32[1e12]:zero"):
            got = self.ask("web_kernel", {"file": "x.ptx", "ptx": STRIDES.read_text(), "kernel": "strided_copy",
                                          "args": f"{args},f32[1],i32:1,i32:0"})
            self.assertIn("which is the limit", json.loads(got)["error"])

    def test_a_kernel_without_end_is_cancelled(self):
        self.run_ptx(ENDLESS)
        self.wait("""const cancel = document.querySelector("article [role=status] button");
                     cancel?.click();
                     return cancel !== null""")
        self.wait("return document.querySelector('[role=status] .bad-note')?.textContent === 'Cancelled.'")
        self.open("no_reuse")
        self.assertGreater(self.counted("global loads: sectors"), 0)

    # --- The quiz ---

    def check_quiz(self, shown, seed, page, answers):
        text = flat(program("quiz", "--kernels", f"--seed={seed}", f"--page={page}", f"--answers={','.join(answers)}"))
        self.assertIn(flat(shown["shown"]), text)
        for question, mark in zip(shown["questions"], shown["marks"]):
            for words in (question["text"], *question["choices"], mark["reason"], question["form"] or ""):
                self.assertIn(flat(words), text)
        points = sum(mark["points"] for mark in shown["marks"])
        self.assertIn(f"Score: {points:g} of 3 It was {shown['name']}, {shown['variant']}.", text)

    def test_quiz_is_that_of_the_program(self):
        chance, points = random.Random(SEED), 0
        for seed in (1, chance.randrange(1 << 31)):
            for page in range(1, 7):
                answers = [chance.choice("abcde"), chance.choice("abcde"), f"{chance.uniform(1, 20):.2f}"]
                shown = json.loads(self.ask("web_quiz", {"seed": seed, "page": page, "answers": answers}))
                self.check_quiz(shown, seed, page, answers)
                right = [re.search(r"the answer is (\w)", mark["reason"])[1] for mark in shown["marks"][:2]]
                again = json.loads(self.ask("web_quiz", {"seed": seed, "page": page, "answers": [*right, "x"]}))
                self.assertEqual([mark["word"] for mark in again["marks"]], ["right", "right", "wrong"])
                points += sum(mark["points"] for mark in again["marks"])
        self.assertEqual(points, 24)
        self.assertIn("pages", json.loads(self.ask("web_quiz", {"seed": 1, "page": 1000}))["error"])

    def test_quiz_in_the_page(self):
        self.show("quiz")
        self.assertIn("A kernel of", self.find(".quiz-page").text)
        self.assertEqual(self.browser.execute_script("return document.querySelector('.marks').textContent"), "")
        self.click("[data-question='0'] input[value=a]")
        self.put("[name=answer-2]", "2")
        self.click("[data-mark]")
        self.wait("return document.querySelector('.marks h3')")
        expected = program("quiz", "--kernels", "--seed=1", "--answers=a,,2")
        self.assertIn(re.search(r"Score: \S+ of 3", expected)[0], self.find(".marks").text)
        self.click("[data-next]")
        self.wait("return document.querySelector('.marks')?.textContent === '' && document.querySelector('[name=page]').value === '2'")

    def test_quiz_about_traces_that_were_opened(self):
        result = SOURCE / "results/tour"
        self.browser.execute_script("document.getElementById('files').webkitdirectory = true")
        self.find("#files").send_keys(str(result))
        self.wait("return document.querySelector('[data-show=quiz-traces]')")
        self.wait_ready()
        self.click("[data-show=quiz-traces]")
        self.wait("return document.querySelector('.quiz-page')")
        self.click("[data-question='1'] input[value=b]")
        self.put("[name=answer-2]", "1.6")
        self.click("[data-mark]")
        self.wait("return document.querySelector('.marks h3')")
        expected = flat(program("quiz", f"--from={result}", "--seed=1", "--answers=,b,1.6"))
        self.assertIn(flat(self.find(".quiz-page").get_attribute("textContent")), expected)
        for mark in self.browser.find_elements(By.CSS_SELECTOR, ".marks .note"):
            self.assertIn(mark.text, expected)

    # --- The page ---

    def test_nothing_is_fetched(self):
        self.open("scalar_access")
        fetched = self.browser.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        self.assertEqual([name for name in fetched if not name.startswith("blob:")], [])

    def test_no_serious_fault(self):
        axe = axe_source(AXE)
        if not axe:
            self.skipTest("axe is not there")
        self.open("serial_reduction")
        self.counted("instructions of warps")
        self.assertEqual(serious_faults(self.browser, axe), [])
        self.open("ptx")
        self.assertEqual(serious_faults(self.browser, axe), [])
        self.show("quiz")
        self.assertEqual(serious_faults(self.browser, axe), [])


PAGE = build(SOURCE, FOLDER)
unittest.main(argv=sys.argv[:1])
