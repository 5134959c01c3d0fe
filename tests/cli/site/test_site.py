#!/usr/bin/env python3
"""`report --site`: the pages and the index of a folder of results, what is left out and why, exit codes, a site that is made
again, and that nothing is written or removed but its own pages.

usage: test_site.py PROGRAM SOURCE MAKE_JOB
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.dont_write_bytecode = True
import site_folder  # noqa: E402

PROGRAM, SOURCE, MAKE_JOB = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))


def document(page):
    """The document that a page shows."""
    text = re.search(r'id="document">([^<]*)<', page.read_text(encoding="utf-8"))[1]
    return json.loads(zlib.decompress(base64.b64decode(text)))


def tree(folder):
    """All that is in a folder, links by what they lead to."""
    return {path: os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            for path in sorted(pathlib.Path(folder).rglob("*"))}


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.made)
        site_folder.make(cls.made / "results", pathlib.Path(SOURCE), MAKE_JOB)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.site = self.folder / "site"

    def report(self, *what, code=0, says=""):
        done = subprocess.run([PROGRAM, "report", *map(str, what), f"--site={self.site}"], capture_output=True, text=True,
                              check=False, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(says, done.stderr)
        if code == 0:
            self.assertEqual(done.stderr, "")
        return done

    def index(self):
        return json.loads((self.site / "index.json").read_text(encoding="utf-8"))["site"]

    def histories(self, *names):
        """A folder with these histories, which takes little time."""
        folder = self.folder / "few"
        folder.mkdir(exist_ok=True)
        for name in names:
            site_folder.history(folder / name)
        return folder

    # --- What is in it ---

    def test_each_kind_has_its_page_and_the_index_says_what_matters(self):
        before = tree(self.made)
        self.report(self.made / "results")
        pages = self.index()["pages"]
        self.assertEqual({one["name"]: (one["kind"], one["tone"]) for one in pages}, site_folder.PAGES)
        self.assertEqual(sorted(one.name for one in self.site.iterdir()),
                         sorted([one["page"] for one in pages] + ["index.html", "index.json"]))
        self.assertEqual(document(self.site / "index.html")["site"], self.index())
        self.assertEqual(tree(self.made), before)
        found = {one["name"]: one for one in pages}
        self.assertEqual(found["results/history.jsonl"]["commit"], site_folder.commit(site_folder.RUNS - 1))
        self.assertRegex(found["results/history.jsonl"]["sentence"],
                         rf"^decode/32 is slower, \+20\.\d% since 2026-03-\d+, {site_folder.commit(site_folder.STEP_RUN)}$")
        self.assertIn(f"node{site_folder.SLOW_NODE}", found["results/fleet"]["sentence"])
        self.assertIn("Rank 17", found["results/job"]["sentence"])
        self.assertIn("reproduced", found["results/new"]["sentence"])
        self.assertEqual(found["results/rounds"]["sentence"], "2 rows in 2 files")

    def test_pages_show_what_the_commands_say(self):
        self.report(self.made / "results")
        pages = {one["name"]: document(self.site / one["page"]) for one in self.index()["pages"]}
        for name, command, member in (("history.jsonl", ("history", "show"), "history"), ("fleet", ("fleet",), "fleet"),
                                      ("job", ("job", "--map"), "job")):
            said = subprocess.run([PROGRAM, *command, self.made / "results" / name, "--format=json"], capture_output=True,
                                  check=False)
            self.assertEqual(pages[f"results/{name}"][member].keys(), json.loads(said.stdout).keys())
        self.assertEqual(pages["results/history.jsonl"]["history"]["rows"][0]["changes"][0]["run"], site_folder.STEP_RUN)
        self.assertEqual(pages["results/old"]["result"]["context"]["device"], "cuda")
        self.assertEqual(pages["results/rounds"]["benchmarks"][0]["rows"][0]["name"], "BM_<b>sum</b>")
        self.assertEqual([one["of_site"] for one in pages.values()], [True] * len(pages))

    def test_what_has_no_page_is_listed_with_the_reason(self):
        self.report(self.made / "results")
        left_out = {one["name"]: one["reason"] for one in self.index()["left_out"]}
        self.assertEqual(left_out.keys(), site_folder.LEFT_OUT.keys())
        for name, reason in site_folder.LEFT_OUT.items():
            self.assertIn(reason, left_out[name])

    def test_names_of_pages_are_plain(self):
        folder = self.histories("a b.jsonl", "a-b.jsonl", "\u00fc.jsonl", ".hidden.jsonl", "-.jsonl", "x" * 200 + ".jsonl")
        self.report(folder)
        names = [one["page"] for one in self.index()["pages"]]
        self.assertEqual(len(names), 5)
        for name in names:
            self.assertRegex(name, r"^few[-A-Za-z0-9_.]*\.html$")
            self.assertTrue((self.site / name).is_file())
        self.assertEqual(len(set(names)), 5)

    def test_a_page_that_cannot_be_made_is_named_and_the_others_are_there(self):
        folder = self.histories("h.jsonl")
        (folder / "cut.jsonl").write_text('{"row": "x", "metric": "y", "value": 1\n', encoding="utf-8")
        self.report(folder, code=2, says="few/cut.jsonl")
        pages = {one["name"]: one for one in self.index()["pages"]}
        self.assertEqual((pages["few/cut.jsonl"]["page"], pages["few/cut.jsonl"]["verdict"]), ("", "could not be made"))
        self.assertTrue((self.site / pages["few/h.jsonl"]["page"]).is_file())
        with open(folder / "h.jsonl", "a", encoding="utf-8") as file:
            file.write("rubbish\n")
        (folder / "cut.jsonl").unlink()
        self.report(folder, code=2, says="not whole")
        self.assertIn("1 damaged line", document(self.site / pages["few/h.jsonl"]["page"])["troubles"][0])

    def test_one_of_several_files_of_benchmarks_that_cannot_be_read_is_named(self):
        folder = self.folder / "rows"
        folder.mkdir()
        for name, row in (("whole", {"name": "x", "real_time": 1, "time_unit": "us"}), ("odd", {"name": 1})):
            (folder / f"{name}.json").write_text(json.dumps({"context": {}, "benchmarks": [row]}), encoding="utf-8")
        self.report(folder, code=2, says='odd.json: an entry of "benchmarks" has no name')
        page = self.index()["pages"][0]["page"]
        self.assertRegex(document(self.site / page)["troubles"][0], "odd.json: an entry")

    # --- The folder of the site ---

    def test_a_site_is_replaced_and_pages_of_what_is_gone_are_removed(self):
        folder = self.histories("a.jsonl", "b.jsonl")
        self.report(folder)
        first = tree(self.site)
        self.report(folder)
        self.assertEqual(tree(self.site), first)
        (self.site / "CNAME").write_text("example.org\n", encoding="utf-8")
        (folder / "b.jsonl").unlink()
        self.report(folder)
        self.assertEqual(sorted(one.name for one in self.site.iterdir()),
                         ["CNAME", "few-a.jsonl.html", "index.html", "index.json"])

    def test_a_site_that_was_killed_is_put_right_by_the_next(self):
        folder = self.histories(*(f"{name}.jsonl" for name in "abcdef"))
        self.report(folder)
        whole = tree(self.site)
        for pages in range(3):
            shutil.rmtree(self.site)
            with subprocess.Popen([PROGRAM, "report", folder, f"--site={self.site}"], stdout=subprocess.DEVNULL) as process:
                while process.poll() is None and len(list(self.site.glob("few-*.html"))) <= pages:
                    pass
                process.kill()
            self.report(folder)
            self.assertEqual(tree(self.site), whole)

    def test_a_folder_with_other_files_is_refused(self):
        folder = self.histories("a.jsonl")
        self.site.mkdir()
        (self.site / "thesis.tex").write_text("", encoding="utf-8")
        self.report(folder, code=2, says="give an empty folder")
        (self.site / "index.json").write_text('{"pages": []}', encoding="utf-8")
        self.report(folder, code=2, says="give an empty folder")
        self.assertEqual(sorted(one.name for one in self.site.iterdir()), ["index.json", "thesis.tex"])

    def test_only_pages_of_the_site_are_replaced_or_removed(self):
        folder = self.histories("a.jsonl")
        outside = self.folder / "outside.html"
        outside.write_text("mine", encoding="utf-8")
        self.site.mkdir()
        pages = [{"page": name} for name in ("../outside.html", str(outside), "link.html", "notes.txt", ".git.html", "gone.html")]
        (self.site / "index.json").write_text(json.dumps({"site": {"pages": pages}}), encoding="utf-8")
        (self.site / "link.html").symlink_to(outside)
        (self.site / "few-a.jsonl.html").write_text("mine as well", encoding="utf-8")
        for name in ("notes.txt", ".git.html", "gone.html"):
            (self.site / name).write_text(name, encoding="utf-8")
        self.report(folder)
        self.assertEqual(outside.read_text(encoding="utf-8"), "mine")
        self.assertEqual((self.site / "few-a.jsonl.html").read_text(encoding="utf-8"), "mine as well")
        self.assertEqual(self.index()["pages"][0]["page"], "few-a.jsonl-2.html")
        self.assertEqual(sorted(one.name for one in self.site.iterdir()), [
            ".git.html", "few-a.jsonl-2.html", "few-a.jsonl.html", "index.html", "index.json", "link.html", "notes.txt"])

    def test_a_link_in_the_place_of_a_page_is_replaced_and_not_followed(self):
        folder = self.histories("a.jsonl")
        self.report(folder)
        outside = self.folder / "outside.html"
        outside.write_text("mine", encoding="utf-8")
        for name in ("few-a.jsonl.html", "index.html", "index.json"):
            kept = (self.site / name).read_bytes()
            (self.site / name).unlink()
            if name == "index.json":  # it says which pages are the site's
                (self.site / name).write_bytes(kept)
            else:
                (self.site / name).symlink_to(outside)
        self.report(folder)
        self.assertEqual(outside.read_text(encoding="utf-8"), "mine")
        self.assertFalse(any(one.is_symlink() for one in self.site.iterdir()))

    def test_the_site_may_be_in_the_folder_that_it_shows(self):
        folder = self.histories("a.jsonl")
        self.site = folder / "public"
        self.report(folder)
        self.report(folder)
        self.assertEqual([one["name"] for one in self.index()["pages"]], ["few/a.jsonl"])
        self.assertEqual(self.index()["left_out"], [])

    def test_what_is_not_there(self):
        self.report(self.folder / "absent", code=2, says="absent")
        self.assertFalse(self.site.exists())
        self.report(code=2, says="missing")
        empty = self.folder / "empty"
        empty.mkdir()
        self.report(empty)
        self.assertEqual(self.index(), {"pages": [], "left_out": []})

    def test_a_page_and_a_site_at_once_are_refused(self):
        self.site = self.folder / "site"
        self.report(self.histories("a.jsonl"), f"--out={self.folder}/page.html", code=2, says="--site")


class Workflow(unittest.TestCase):
    """examples/github-site.yml, over a program that plays the benchmarks of two commits."""

    def setUp(self):
        self.text = (pathlib.Path(SOURCE) / "examples/github-site.yml").read_text(encoding="utf-8")
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def step(self, name):
        """What a step runs."""
        block = re.search(rf"- name: {re.escape(name)}\n +run: (?:\|\n((?: {{10}}.*\n)+)|(.*))", self.text)
        return block[1] or block[2]

    def test_its_steps_make_a_site_of_what_was_measured(self):
        for name in ("chokepoint/build", "code/build", "results"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "chokepoint/build/chokepoint").symlink_to(PROGRAM)
        bench = self.folder / "code/build/my_bench"
        row = {"name": "BM_sum", "run_type": "iteration", "real_time": 5, "cpu_time": 5, "time_unit": "us"}
        written = {"context": {"date": "2026-03-02T10:00:00+00:00", "num_cpus": 2}, "benchmarks": [row]}
        bench.write_text(f"""#!/bin/sh
for word; do case $word in --benchmark_out=*) echo '{json.dumps(written)}' >"${{word#*=}}" ;; esac; done
""", encoding="utf-8")
        bench.chmod(0o755)
        for words in (("init", "-q"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")):
            subprocess.run(["git", "-C", self.folder / "code", *words], check=True)
        head = subprocess.run(["git", "-C", self.folder / "code", "rev-parse", "--short=12", "HEAD"], check=True,
                              capture_output=True, text=True).stdout.strip()
        steps = [self.step(name) for name in ("Measure, and add to the history", "Make the site",
                                              "Is a benchmark slower than it was?")]
        for step in steps:
            done = subprocess.run(["bash", "-eo", "pipefail", "-c", step], cwd=self.folder, capture_output=True, text=True,
                                  env={**os.environ, "GITHUB_STEP_SUMMARY": str(self.folder / "summary")}, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        pages = json.loads((self.folder / "site/index.json").read_text(encoding="utf-8"))["site"]["pages"]
        self.assertEqual({one["kind"]: one["commit"] for one in pages}, {"history": head, "benchmarks": ""})
        self.assertIn("too few runs", (self.folder / "summary").read_text(encoding="utf-8"))

    def test_it_may_do_no_more_than_it_has_to(self):
        for used in re.findall(r"uses: (.*)", self.text):
            self.assertRegex(used, r"^[\w/-]+@[0-9a-f]{40} # v[\d.]+$")
        self.assertIn("\npermissions: {}\n", self.text)
        self.assertNotIn("pull_request", re.sub("#.*", "", self.text))
        self.assertIn("build.sh --program", self.text)


if __name__ == "__main__":
    unittest.main()
