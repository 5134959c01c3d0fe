"""Numbers for people, as harness/base/quantity.c prints them: three significant digits and a unit."""
import math

UNKNOWN = "–"


def is_known(value):
    return isinstance(value, (int, float)) and math.isfinite(value)


def digits(value):
    """Three significant digits; numbers from 1000 on are whole."""
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude >= 3:
        return f"{value:,.0f}"
    text = f"{value:.{min(9, max(0, 2 - magnitude))}f}"
    return text


def scaled(value, units):
    """The largest of `units`, (name, size), that gives at least 1; else the smallest."""
    if not is_known(value):
        return UNKNOWN
    for name, size in units:
        if abs(value) >= 0.9995 * size:
            return f"{digits(value / size)} {name}"
    name, size = units[-1]
    return f"{digits(value / size)} {name}"


def time(ns):
    return scaled(ns, (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1)))


def microseconds(us):
    return time(us * 1e3) if is_known(us) else UNKNOWN


def size(bytes_):
    return scaled(bytes_, (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1)))


def share(value):
    return f"{100 * value:.1f}%" if is_known(value) else UNKNOWN


def factor(value):
    return f"{digits(value)}x" if is_known(value) else UNKNOWN


def effect(value):
    """A factor of the step time in words."""
    if not is_known(value) or value <= 0:
        return UNKNOWN
    return f"{factor(value)} faster" if value >= 1 else f"{factor(1 / value)} slower"


def count(value):
    return f"{value:,.0f}" if is_known(value) else UNKNOWN


def metric(value, unit):
    if unit == "us":
        return microseconds(value)
    if unit == "B":
        return size(value)
    return f"{digits(value)}{unit or ''}" if is_known(value) else UNKNOWN
