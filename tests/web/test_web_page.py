#!/usr/bin/python3
"""chokepoint.html in Chromium: files that are dropped give byte for byte what the program prints, nothing goes over a
network, and what goes wrong is said.

usage: test_web_page.py PROGRAM SOURCE FOLDER [TRACES...]

FOLDER keeps the build of scripts/web.sh from run to run. With TRACES, folders of them, each file in these is compared, and
nothing else is tested.
"""
import gzip
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

PROGRAM, SOURCE, FOLDER = (os.path.abspath(one) for one in sys.argv[1:4])
TRACES = [pathlib.Path(one).absolute() for one in sys.argv[4:]]
SEEDS = pathlib.Path(SOURCE, "tests/fuzz")
PAGE_MOST = 1500000
LEVELS = ["--timeline=3", "--what-if"]

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "tests/cli"))
from browser import open_browser, runs_foreign_scripts  # noqa: E402
from built_page import build  # noqa: E402


def program(folder, *arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, check=False)


def as_program(folder, names):
    """What the program prints of files, as JSON, and its sentences about those that it cannot read."""
    told = program(folder, "diagnose", *names, "--format=json", *LEVELS)
    if b"is a digest" in told.stderr:
        told = program(folder, "diagnose", *names, "--format=json")
    return told.stdout.decode(), told.stderr.decode()


class Page:
    """The page in a browser, with files as a user chooses them."""

    def __init__(self, address):
        self.browser = open_browser(("browser", "performance"))
        self.browser.set_script_timeout(300)
        self.browser.get(address)
        self.wait("document.documentElement.dataset.ready === 'yes'")

    def run(self, script, *values):
        """The value of an async function's body, or its error as {"error": message}."""
        return self.browser.execute_async_script(
            f"const done = arguments[arguments.length - 1]; (async (...values) => {{ {script} }})(...arguments)"
            ".then(done, (error) => done({ error: error.message }));", *values)

    def wait(self, condition):
        self.run(f"while (!({condition})) await new Promise((go) => setTimeout(go, 10));")

    def choose(self, paths, field="files"):
        """Files in a field of their own, which opens nothing."""
        self.browser.execute_script("""
            document.getElementById("chosen")?.remove();
            document.body.append(h("input", { type: "file", id: "chosen", multiple: true, ...arguments[0] }));""",
                                    {"webkitdirectory": True} if field == "folder" else {})
        self.browser.find_element("id", "chosen").send_keys("\n".join(map(str, paths)))

    def diagnosis(self, paths):
        """(JSON, sentences) of these files."""
        self.choose(paths)
        found = self.run("""
            const { files, names } = chosenFiles(document.getElementById("chosen").files);
            const { count, troubles } = await tracesDesk.open(files, names);
            return { text: count > 0 ? await tracesDesk.diagnosis() : "", troubles };""")
        return ("", [found["error"]]) if "error" in found else (found["text"], found["troubles"])

    def drop(self, paths):
        """As a user does, and waits for what is drawn."""
        self.choose(paths)
        self.run("""
            const transfer = new DataTransfer(), { files } = document.getElementById("chosen");
            for (const file of files) transfer.items.add(file);
            document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));""")
        self.wait("document.documentElement.dataset.ready === 'yes' && document.querySelector('#root header')")
        return self.browser.find_element("id", "root").text

    def addresses(self):
        """All that the browser has asked for since the last time."""
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        return [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]


def samples(folder):
    """Small files of every kind, each in `folder`."""
    for path in [*SEEDS.glob("seeds/*"), *SEEDS.glob("seeds_snapshots/*"), *SEEDS.glob("seeds_results/words.json")]:
        shutil.copy(path, folder)
    pathlib.Path(folder, "step.json.gz").write_bytes(gzip.compress(SEEDS.joinpath("seeds/step.json").read_bytes()))
    pathlib.Path(folder, "empty.json").write_bytes(b"")
    program(folder, "digest", "step.json", "-o", "step.digest", "--node=n")
    return sorted(pathlib.Path(folder).iterdir())


class Together(unittest.TestCase):
    def assert_same(self, page, folder, paths):
        names = [str(path.relative_to(folder)) for path in paths]
        text, sentences = as_program(folder, names)
        got, troubles = page.diagnosis(paths)
        with self.subTest(files=names):
            self.assertEqual(got == text, True, f"{names}: {got[:300]!r} is not {text[:300]!r}")
            for sentence in troubles:
                self.assertIn(sentence, sentences)
            self.assertTrue(text or troubles)


class Alone(Together):
    """The one file, as it is opened from a disk."""

    @classmethod
    def setUpClass(cls):
        cls.address = pathlib.Path(FOLDER, "chokepoint.html").as_uri()
        cls.page = Page(cls.address)
        cls.folder = tempfile.mkdtemp()
        cls.paths = samples(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.page.browser.quit()
        shutil.rmtree(cls.folder)

    def path(self, name):
        return pathlib.Path(self.folder, name)

    def test_size(self):
        self.assertLess(pathlib.Path(FOLDER, "chokepoint.html").stat().st_size, PAGE_MOST)

    def test_each_file(self):
        self.assertGreater(len(self.paths), 20)
        for path in self.paths:
            self.assert_same(self.page, self.folder, [path])

    def test_files_together(self):
        self.assert_same(self.page, self.folder, [self.path(one) for one in ("step.json", "pairs.json", "broken.json")])
        self.assert_same(self.page, self.folder, [self.path(one) for one in ("step.json", "leak.pickle")])

    def test_questions(self):
        names = ["step.json", "step.json.gz"]
        self.page.diagnosis([self.path(one) for one in names])
        self.page.run("opened = {};")
        got = self.page.run("return await deskWhatIf(['host_sync', 'data_loading'], 1);")
        told = json.loads(program(self.folder, "diagnose", *names, "--format=json", "--what-if=host_sync,data_loading").stdout)
        self.assertEqual(got, told["traces"][1]["what_if"])
        got = self.page.run("return await deskTimeline(1, 3);")
        self.assertEqual(got, json.loads(as_program(self.folder, names)[0])["traces"][1]["timeline"])
        got = self.page.run("return await deskWhatIf(['no_such_cause']);")
        self.assertIn("there is no cause no_such_cause", got["error"])
        names = ["step.json", "python.json"]
        self.page.diagnosis([self.path(one) for one in names])
        told = program(self.folder, "compare", *names, "--explain", "--format=json")
        got = self.page.run("return await tracesDesk.compare(...values);", *names)
        if told.stdout:
            self.assertEqual(got, json.loads(told.stdout)["explanations"])
        else:
            self.assertIn(got["error"], told.stderr.decode())

    def test_dropped_files(self):
        shown = self.page.drop([self.path("step.json")])
        for finding in json.loads(as_program(self.folder, ["step.json"])[0])["traces"][0]["findings"]:
            self.assertIn(finding["id"], shown)
        shown = self.page.drop([self.path("empty.json")])
        self.assertIn(self.page.diagnosis([self.path("empty.json")])[1][0], shown)

    def steps(self, name, step_us):
        """A trace of eight steps, whose kernel takes all but 40 us."""
        self.path(name).write_text(json.dumps({"traceEvents": [
            event for step in range(8) for event in (
                {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 9,
                 "ts": step_us * step, "dur": step_us},
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": step_us * step + 5,
                 "dur": 4, "args": {"correlation": step + 1}},
                {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": step_us * step + 10,
                 "dur": step_us - 40, "args": {"correlation": step + 1}})]}))
        return self.path(name)

    def test_two_traces_are_compared(self):
        self.page.drop([self.steps("long.json", 100), self.steps("longer.json", 140)])
        self.page.run("document.querySelector('[data-compare]').click();")
        self.page.wait("document.querySelector('[data-compare]').disabled === false")
        shown = self.page.run("return document.querySelector('[data-compare]').closest('section').textContent;")
        told, = json.loads(program(self.folder, "compare", "long.json", "longer.json", "--explain",
                                   "--format=json").stdout)["explanations"]
        self.assertTrue(told["because"])
        self.assertIn(f"Why: {told['because']}.", shown)
        self.assertIn("A step takes 140 us, and took 100 us: +40 us, +40.0%.", shown)
        self.page.run("""
            const sides = [...document.querySelectorAll("[data-side]")];
            for (const one of sides) one.selectedIndex = 0;
            document.querySelector("[data-compare]").click();""")
        self.page.wait("document.querySelector('[data-compare]').disabled === false")
        self.assertIn("+0 us", self.page.run(
            "return document.querySelector('[data-compare]').closest('section').textContent;"))

    def test_what_is_drawn_asks_the_desk(self):
        self.page.drop([self.steps("long.json", 100)])
        drawn = "Number(document.querySelector('.timeline canvas').dataset.to)"
        self.assertEqual(self.page.run(f"return {drawn};"), 300_000)
        button = "[...document.querySelectorAll('.timeline button')].at(-1)"
        self.assertEqual(self.page.run(f"return {button}.textContent;"), "All 8 steps")
        for to in (800_000, 300_000):
            self.page.run(f"{button}.click();")
            self.page.wait(f"{drawn} === {to}")
        self.assertIn("A digest does not hold kernels", self.page.drop([self.path("step.digest")]))

    def test_result_with_its_traces(self):
        """As `report` gathers it: chosen as files, and as a folder."""
        result = pathlib.Path(SOURCE, "results/nvidia-h100")
        traces = sorted((result / "traces").iterdir())[:4]
        self.assertTrue(traces)
        copy = pathlib.Path(self.folder, "copy")
        (copy / "traces").mkdir(parents=True)
        for path in [result / "result.json", *traces]:
            shutil.copy(path, copy / path.relative_to(result))
        self.page.choose([result / "result.json", *traces])
        read = "return await openDocument(chosenFiles(document.getElementById('chosen').files));"
        files = self.page.run(read)
        self.page.choose([copy], "folder")
        folder = self.page.run(read)
        shutil.rmtree(copy)
        drawn = self.page.run("""
            await show(values[0], document.getElementById("root"));
            for (const one of document.querySelectorAll("details.scenario")) { one.open = true; openSection(one); }
            return document.querySelectorAll("[data-bottleneck]").length;""", files)
        self.assertEqual(drawn, len(traces))
        for got in (files, folder):
            self.assertEqual(got["result"], json.loads((result / "result.json").read_text()))
            self.assertEqual(len([1 for one in got["diagnoses"].values() for _ in one.values()]), len(traces))
            self.assertIn("pageable_copies", got["lessons"])
        self.assertEqual(files["missing"], folder["missing"])

    def test_no_network(self):
        self.page.drop([self.path("step.json")])
        self.assertFalse(runs_foreign_scripts(self.page.browser))
        for address in ("http://127.0.0.1:9/", self.address):
            self.assertIn("error", self.page.run("await fetch(values[0]);", address))
        asked = [one for one in self.page.addresses() if not one.startswith(("blob:", "data:"))]
        self.assertEqual(set(asked) - {"http://127.0.0.1:9/"}, {self.address})

    def test_clicks_are_answered_meanwhile(self):
        """Frames of the page are drawn while the worker works."""
        loop = json.loads(self.path("step.json").read_text())
        loop["traceEvents"] *= 4000
        large = pathlib.Path(self.folder, "large.json")
        large.write_text(json.dumps(loop))
        self.page.choose([large])
        frames = self.page.run("""
            const { files, names } = chosenFiles(document.getElementById("chosen").files);
            let frames = 0, ended = false;
            tracesDesk.open(files, names).then(() => { ended = true; });
            while (!ended) { await new Promise((go) => setTimeout(go, 1)); frames++; }
            return frames;""")
        large.unlink()
        self.assertGreater(frames, 5)

    def test_cancel(self):
        self.page.diagnosis([self.path("step.json")])
        got = self.page.run("""
            const asked = tracesDesk.diagnosis();
            tracesDesk.cancel();
            return await asked;""")
        self.assertEqual(got, {"error": "stopped"})
        self.assert_same(self.page, self.folder, [self.path("step.json")])

    def test_crash(self):
        """The program ends midway. The page says so, and goes on with another one."""
        self.page.browser.execute_script("""
            tracesDesk.open = () => tracesDesk.request("call", "no_such_function");""")
        shown = self.page.drop([self.path("step.json")])
        self.page.browser.execute_script("delete tracesDesk.open;")
        self.assertIn("which is a defect of chokepoint", shown)
        link = self.page.browser.find_element("css selector", "[data-crash] a")
        self.assertEqual(link.get_attribute("download"), "step.json.first-bytes")
        self.assertTrue(link.get_attribute("href").startswith("blob:"))
        self.assert_same(self.page, self.folder, [self.path("step.json")])


class Site(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments):
        super().__init__(*arguments, directory=os.path.join(FOLDER, "site"))

    def log_message(self, *_):
        pass


class Served(Together):
    """The same as files of a server."""

    def test_served_page(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        with tempfile.TemporaryDirectory() as folder:
            page = Page(address)
            for path in samples(folder)[:4]:
                self.assert_same(page, folder, [path])
            asked = {one for one in page.addresses() if not one.startswith(("blob:", "data:"))}
            page.browser.quit()
        server.shutdown()
        server.server_close()
        self.assertEqual([one for one in asked if not one.startswith(address)], [])


def compare_all():
    """Each file of the folders; returns how many differ."""
    page, differ, count = Page(pathlib.Path(FOLDER, "chokepoint.html").as_uri()), 0, 0
    for folder in TRACES:
        for path in sorted(one for one in folder.rglob("*") if one.is_file()):
            text, sentences = as_program(path.parent, [path.name])
            got, troubles = page.diagnosis([path])
            same = got == text and all(sentence in sentences for sentence in troubles)
            count, differ = count + 1, differ + (not same)
            if not same:
                print(f"differs: {path}: {troubles} {sentences}")
    page.browser.quit()
    print(f"{count} files, {differ} differ")
    return differ


if __name__ == "__main__":
    build(SOURCE, FOLDER)
    if TRACES:
        sys.exit(compare_all() > 0)
    unittest.main(argv=sys.argv[:1])
