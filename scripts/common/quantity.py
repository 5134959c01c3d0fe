"""Numbers for people, as harness/base/figures/quantity.c prints them: three digits and a unit."""
import math

UNKNOWN = "–"

PREFIXES = (("", 1), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15))
SCALES = {"ns": (("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9)),
          "us": (("ns", 1e-3), ("us", 1), ("ms", 1e3), ("s", 1e6)),
          "B": (("B", 1), ("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30)),
          **{unit: tuple((prefix + unit, size) for prefix, size in PREFIXES) for unit in ("B/s", "FLOP/s", "Hz")}}


def is_known(value):
    """Whether a JSON value is a number; null stands for what was not measured."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def digits(value):
    """Three digits, without an exponent."""
    return f"{value:.{2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0}f}"


def scale(value, unit):
    """The name and the size of the unit in which `value` is read best."""
    least = 0.9995 if unit in ("B/s", "FLOP/s", "Hz") else 1
    found = unit, 1
    for name, size in SCALES.get(unit, ()):
        if abs(value) >= least * size or name == SCALES[unit][0][0]:
            found = name, size
    return found


def quantity(value, unit=""):
    """1420 us is "1.42 ms"."""
    if not is_known(value):
        return UNKNOWN
    if unit == "ns":
        return quantity(value / 1e3, "us")
    if value == 0:
        return f"0 {unit}".rstrip()
    if unit not in SCALES and abs(value) < 0.01:
        return f"{value:.1g} {unit}".rstrip()
    name, size = scale(value, unit)
    if size == 1 and unit in ("us", "B") and value == round(value):
        return f"{value:.0f} {name}"
    return f"{digits(value / size)} {name}".rstrip()


def time(ns):
    return quantity(ns, "ns")


def size(bytes_):
    return quantity(bytes_, "B")


def factor(value):
    return f"{digits(value)}x" if is_known(value) else UNKNOWN


def share(value):
    return f"{100 * value:.1f}%" if is_known(value) else UNKNOWN


def count(value):
    return f"{value:,.0f}" if is_known(value) else UNKNOWN
