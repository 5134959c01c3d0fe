#!/usr/bin/env python3
"""Changes and numbers have the same words in scripts/common as in C: the cases are those of the tests in C.

usage: test_change_text.py CHECKOUT
"""
import math
import pathlib
import re
import sys
import unittest

CHECKOUT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(CHECKOUT / "scripts"))
from common import change_text, quantity

NUMBERS = {"NAN": math.nan, "INFINITY": math.inf}


def number(text):
    return NUMBERS[text] if text in NUMBERS else float(text)


class Words(unittest.TestCase):
    def test_changes(self):
        source = (CHECKOUT / "tests/base/figures/test_change_text.c").read_text()
        rows = re.findall(r'\{ \{ ([^}]*) \}, "([^"]*)", "([^"]*)",\s+"([^"]*)" \}', source)
        self.assertGreater(len(rows), 15)
        for figures, time, amount, interval in rows:
            figures = [number(text) for text in figures.split(", ")]
            self.assertEqual(change_text.change_text(*figures, True), (time, interval), figures)
            self.assertEqual(change_text.change_text(*figures, False), (amount, interval), figures)

    def test_quantities(self):
        source = (CHECKOUT / "tests/base/figures/test_quantity.c").read_text()
        rows = re.findall(r'\{ ([-+.e\d]+), "([^"]*)", "([^"]*)" \}', source)
        self.assertGreater(len(rows), 15)
        for value, unit, text in rows:
            self.assertEqual(quantity.quantity(float(value), unit), text, (value, unit))

    def test_members_of_a_result(self):
        for change, words in (
                ({"before": 3, "after": 2, "effect": 1.5, "interval": [1.4, 1.6], "unit": "us"},
                 ("1.50x faster", "1.40 to 1.60")),
                ({"before": 2, "after": 3, "effect": 1.5, "interval": [1.4, 1.6], "unit": "", "direction": "grows"},
                 ("up 1.50x", "1.40 to 1.60")),
                ({"before": 3, "after": 0, "effect": None, "interval": None, "unit": "B"}, ("none left", "")),
                ({"before": None, "after": None, "effect": None, "interval": None}, ("not measured", "")),
                ({"before": 0, "after": 3, "effect": None, "interval": None, "direction": "grows"},
                 ("none before", ""))):
            self.assertEqual(change_text.of_result(change), words)


unittest.main()
