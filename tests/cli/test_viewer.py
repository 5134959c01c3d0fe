#!/usr/bin/env python3
"""The viewer's texts are those of scripts/common, its colours those of plots, its moments exact, and its files keep to what
viewer/README.md says.

usage: test_viewer.py CHECKOUT
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import unittest

CHECKOUT = pathlib.Path(sys.argv.pop(1)).resolve()
VIEWER = CHECKOUT / "viewer"
sys.dont_write_bytecode = True
sys.path.insert(0, str(CHECKOUT / "scripts"))
from common import change_text, colours, kernel_picture, quantity  # noqa: E402

SEED = int(os.environ.get("CHOKEPOINT_TEST_SEED", 1))
TEXTS = {"timeText": quantity.time, "sizeText": quantity.size, "factorText": quantity.factor, "shareText": quantity.share,
         "countText": quantity.count}
UNITS = ("", "ns", "us", "B", "B/s", "FLOP/s", "Hz", "FLOP", "sectors", "%")


def node(script, given):
    """What a script prints as JSON, of which `given` is the input."""
    files = [VIEWER / f"{name}.js" for name in ("text", "document", "parts", "change_text", "kernel_picture")]
    ran = subprocess.run(["node", "-e", script, *map(str, files)], check=False, input=given, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


SVG = "http://www.w3.org/2000/svg"  # a name that no one fetches
FORBIDDEN = ("</script", "<!--", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://",
             "https://")

LOADED = """
const fs = require("fs"), vm = require("vm");
vm.runInThisContext(process.argv.slice(1).map((one) => fs.readFileSync(one, "utf8")).join(""));
const given = fs.readFileSync(0, "utf8");
"""


def values():
    """Round numbers, numbers between two that can be shown, bounds of units, and any others."""
    drawn, found = random.Random(SEED), [0, 0.5, 1, 2.5, 0.125, 1e21, 1e22, 2**53, 1e300, 5e-324]
    for exponent in range(-9, 19):
        found += [part * 10.0 ** exponent for part in (1, 9.994999, 9.995, 99.95, 0.9995, 0.99949, 2.345, 1.125)]
    for power in (10, 20, 30, 40):
        found += [2**power, 2**power - 1, 2**power * 1.005]
    found += [number / 64 for number in range(1, 700)]
    found += [drawn.randrange(10**drawn.randrange(1, 19)) for _ in range(1000)]
    found += [drawn.random() * 10 ** drawn.randrange(-9, 19) for _ in range(2000)]
    known = [float(one) for one in found if quantity.is_known(one)]
    return [None, True, "3", *known, *[-one for one in known if one > 0]]


def changes():
    """Members of a result that changed, did not, or are unknown."""
    drawn = random.Random(SEED)
    ends = [None, 0, 0.2, 0.5, 0.951, 1, 1.003, 1.049, 1.051, 2, 20, 999.9, 1001]
    for _ in range(5000):
        effect, low, high = (drawn.choice([*ends, drawn.lognormvariate(0, 1)]) for _ in range(3))
        span = [low, high] if None not in (low, high) else None
        before = drawn.choice([None, 0, 1, 3, 5.5])
        after = drawn.choice([before, 0, 2, before / effect if before and effect else 7])
        yield {"before": before, "after": after, "effect": effect, "interval": drawn.choice([span, [low, low]]),
               "coverage": drawn.choice([None, 0, 0.5, 0.95, 0.951, 1]), "unit": drawn.choice(["us", "B", ""]),
               "direction": drawn.choice([None, "shrinks", "grows"])}


def counted_kernel():
    """Lines and samples as `kernel` counts them."""
    drawn = random.Random(SEED)
    def access(name):
        requests = drawn.randrange(3)
        return {"name": name, "requests": requests, "wanted": requests * drawn.randrange(5), "touched": requests * 32 + drawn.randrange(2)}
    lines = [{"file": drawn.choice(["a.cu", "b.cuh"]), "line": line, "instructions": drawn.randrange(9999),
              "lanes": drawn.randrange(99999), "accesses": [access(name) for name in ("global loads", "global stores",
              "shared loads", "local stores")]} for line in range(3, 40, 2)]
    samples = [{"line": drawn.randrange(9), "access": drawn.choice(["load", "store"]), "space": drawn.choice(["global", "shared"]),
                "argument": drawn.randrange(3), "bytes": drawn.choice([1, 4, 8, 16]), "mask": mask,
                "offsets": [4 * drawn.randrange(-9, 99) for _ in range(bin(mask).count("1"))], "instruction": "ld",
                "requests": drawn.randrange(9), "touched": 3, "wanted": 1, "touched_mean": drawn.random() * 40,
                "wanted_mean": drawn.random()} for mask in [drawn.getrandbits(32) for _ in range(60)]]
    return {"source": drawn.choice(["", "dir/a.cu"]), "code": drawn.choice([[], ["x"] * 30]), "code_first": 5, "lines": lines,
            "samples": samples}


def functions(text):
    """The functions and methods of a file, each with its lines: they end where one of the same indentation closes."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if re.match(r"(  )?((async )?function |(?!if|for|while|switch)\w+\()[^;]*\) \{$", line):
            indent = len(line) - len(line.lstrip())
            yield line, next(i for i in range(start, len(lines)) if lines[i].startswith(" " * indent + "}")) - start + 1


class Viewer(unittest.TestCase):
    def need_node(self):
        if not shutil.which("node"):
            self.skipTest("there is no node")

    def test_texts_are_those_of_python(self):
        self.need_node()
        cases = [[name, one] for name in TEXTS for one in values()] + \
            [["quantityText", one, unit] for unit in UNITS for one in values()]
        said = node(LOADED + "console.log(JSON.stringify(JSON.parse(given).map(([name, ...more]) => eval(name)(...more))))",
                    json.dumps(cases))
        for (name, *given), text in zip(cases, said):
            self.assertEqual(text, TEXTS.get(name, quantity.quantity)(*given), (name, given, SEED))
        self.assertEqual(len(said), len(cases))

    def test_changes_are_those_of_python(self):
        self.need_node()
        cases = list(changes())
        said = node(LOADED + "console.log(JSON.stringify(JSON.parse(given).map(effectWords)))", json.dumps(cases))
        for change, words in zip(cases, said):
            self.assertEqual(tuple(words), change_text.of_result(change), (change, SEED))
        self.assertGreater(len({effect for effect, _ in said}), 50)

    def test_kernels_are_those_of_python(self):
        self.need_node()
        found = counted_kernel()
        lines, shown, rows = node(LOADED + """
            const found = JSON.parse(given), rows = (sample) => rowsOfSample(sample).map(([number, { lanes, wanted }]) =>
                [number * (sample.space === "shared" ? 1 : SECTOR), [...lanes].sort((a, b) => a - b), wanted.size]);
            console.log(JSON.stringify([linesOf(found), samplesToShow(found, 8), found.samples.map(rows)]));""",
                                  json.dumps(found))
        for line, wanted in zip(lines, kernel_picture.lines_of(found)):
            self.assertEqual({"row": None, **line}, wanted, SEED)
        self.assertEqual(len(lines), len(kernel_picture.lines_of(found)))
        wanted = kernel_picture.pictures_of(found, 8)
        self.assertEqual([one["instruction"] for one in shown], [one["instruction"] for one in wanted])
        self.assertEqual([one["offsets"] for one in shown], [one["offsets"] for one in wanted])
        for sample, found_rows in zip(found["samples"], rows):
            by = kernel_picture.by_bank if sample["space"] == "shared" else kernel_picture.by_sector
            self.assertEqual(found_rows, [[first, sorted(lanes), count] for first, lanes, count in by(sample)], SEED)

    def test_moments_are_exact(self):
        self.need_node()
        name = 'a "start_ns": 1 \\" "end_ns":12345678901234567890'
        given = json.dumps({"name": name, name: 1, "start_ns": 1712345678901234567, "end_ns": 1712345678901234999,
                            "rows": [{"start_ns": [1, 2]}], "__proto__": {"start_ns": 7, "end_ns": None}})
        said = node(LOADED + """
            const found = parseDocument(given);
            console.log(JSON.stringify([nsBetween(found.start_ns, found.end_ns), found.start_ns, found]));""", given)
        self.assertEqual(said[:2], [432, "1712345678901234567"])
        self.assertEqual(said[2], {**json.loads(given), "start_ns": "1712345678901234567", "end_ns": "1712345678901234999"})

    def test_colours_are_those_of_plots(self):
        rules = re.findall(r"^\.c-(\w+) \{ background: (?:light-dark\()?(#\w{6})", (VIEWER / "colours.css").read_text(), re.M)
        self.assertEqual(dict(rules), {name: colours.colour(name) for name in [*colours.COLOURS, *colours.ALIKE]})

    def test_files_are_as_the_readme_says(self):
        lists = "scripts.txt", "scripts_web.txt", "styles.txt", "styles_web.txt"
        listed = "".join((VIEWER / name).read_text() for name in lists).split()
        self.assertEqual(sorted(listed), sorted({*listed}))
        self.assertEqual({path.name for path in VIEWER.iterdir() if path.suffix in (".js", ".css")} - {"worker.js"}, {*listed})
        for path in sorted(VIEWER.glob("*.js")):
            text = path.read_text()
            self.assertTrue(text.removeprefix('"use strict";\n').startswith("// "), path.name)
            self.assertEqual([word for word in FORBIDDEN if word in text.replace(SVG, "")], [], path.name)
            self.assertEqual([one for one in functions(text) if one[1] > 40], [], path.name)


unittest.main()
