"""A measured change in words: what harness/base/figures/change_text.c says, whose header explains it. test_change_text.py
compares both."""
import math

from . import quantity

LEAST_EFFECT = 1.05
ALMOST_NONE = 1000
WANTED_COVERAGE = 0.95


def inverse(value):
    return 1 / value if value else math.inf


def known(value):
    return value if quantity.is_known(value) else math.nan


def change_text(before, after, factor, low, high, coverage, is_time):
    """The effect and its interval. NaN stands for what is unknown."""
    shrinks = factor > 1
    special = special_words(before, after, factor, low, high)
    if special:
        return special, interval_words(low, high, coverage) if special == "no change" else ""
    if is_open(before, after, factor, low, high):
        near = 1 / LEAST_EFFECT <= factor <= LEAST_EFFECT
        return "no change" if near else "unclear", open_words(low, high, coverage)
    size = factor if shrinks else 1 / factor
    if size >= ALMOST_NONE:
        return f"almost none {'left' if shrinks else 'before'}", ""
    text = quantity.factor(size)
    if is_time:
        effect = f"{text} {'faster' if shrinks else 'slower'}"
    else:
        effect = f"{'down' if shrinks else 'up'} {text}"
    return effect, interval_words(*((low, high) if shrinks else (inverse(high), inverse(low))), coverage)


def special_words(before, after, factor, low, high):
    """Where no factor describes the change."""
    if not (math.isfinite(before) and math.isfinite(after)):
        return "not measured"
    if before == after and low == high:
        return "no change"
    if before != 0 and after == 0:
        return "none left"
    if before == 0 and after != 0:
        return "none before"
    return "" if factor > 0 and math.isfinite(factor) else "unclear"


def is_open(before, after, factor, low, high):
    shrinks = factor > 1
    return (low <= 1 <= high or (before <= after if shrinks else before >= after)
            or abs((factor if shrinks else 1 / factor) - 1) < 0.005)


def all_words(coverage):
    """Too few pairs have no interval of 95%: their range is of all of them."""
    return "" if coverage > WANTED_COVERAGE else "all "


def open_words(low, high, coverage):
    farther = max(high, inverse(low))
    if not math.isfinite(farther):
        return ""
    return f"{all_words(coverage)}within {quantity.factor(farther)}" if coverage > 0 else "one pair"


def interval_words(low, high, coverage):
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    if not coverage > 0:
        return "one pair"
    if low == high:
        return "exact"
    return f"{all_words(coverage)}{quantity.digits(low)} to {quantity.digits(high)}"


def of_result(change):
    """The same of the members of result.json: "before", "after", "effect", "interval", "coverage", "unit" and
    "direction", null where they are unknown."""
    before, after, factor = (known(change.get(name)) for name in ("before", "after", "effect"))
    low, high = (known(end) for end in change.get("interval") or (None, None))
    if change.get("direction") == "grows":
        factor, low, high = inverse(factor), inverse(high), inverse(low)
    coverage = change.get("coverage")
    return change_text(before, after, factor, low, high, 1 if coverage is None else coverage,
                       change.get("unit") == "us")
