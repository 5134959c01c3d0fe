"""From what was gathered to HTML. Figures are shown as they are read: nothing is measured or judged here."""
import base64
import difflib
import hashlib
import json
import math
import pathlib
import zlib

import jinja2
import markupsafe

from common import change_text, colours, kernel_picture, quantity
from plots import effects
from report_page.sources import VARIANTS, kernels_of, scenarios_of

FOLDER = pathlib.Path(__file__).parent
SCRIPTS = ("theme.js", "packed.js", "charts.js", "canvas.js", "timeline.js", "flame.js", "page.js")
STYLES = ("style.css", "kernel.css")
ROWS_SHOWN = 10
GAPS_SHOWN = 8
STEPS_DRAWN = 200  # the first ones, a bar each
SAMPLES_DRAWN = 400  # of a variant: a picture cannot show more

PARTS = {"kernel": "kernels", "copy": "copies", "memset": "memsets", "communication": "communication",
         "runtime": "runtime calls", "data_loading": "data loading", "host": "other host work",
         "other": "nothing recorded"}
CAUSES = {"queued": "between queued work", "stalled": "queued work that waited", "unknown": "unknown cause",
          "outside": "host: code that no event covers", "operators": "host: operators",
          "loading": "host: loading data", "logging": "host: logging", "saving": "host: saving",
          "launching": "host: launching", "copying": "host: copying", "allocating": "host: allocating",
          "waiting": "host: waiting for the device", "first_use": "host: first use",
          "capturing": "host: capturing graphs", "host_work": "host: other work"}
VERDICTS = {"reproduced": ("good", "✓"), "not reproduced": ("bad", "✗"), "failed": ("bad", "✗"),
            "undecided": ("doubtful", "?"), "skipped": ("dim", "–")}
PAIR_PICTURES = 3  # of each kernel of a pair
ENVIRONMENT = ("date", "host_name", "cpu_model", "num_cpus", "cores_allowed", "memory_bytes", "kernel",
               "library_version", "commit", "device_name", "device_isa", "device_memory_bytes",
               "gemm_library", "cuda_driver", "cuda_runtime", "load_avg")


def numbers_of(mapping):
    return {name: value for name, value in (mapping or {}).items() if isinstance(value, (int, float))}


def ratio(part, whole):
    return part / whole if part is not None and whole else None


# --- A trace ---

def stacked(values, names, whole):
    """The parts of a bar that are something, with their share of `whole`."""
    return [{"id": name, "name": names.get(name, name), "ns": values[name],
             "share": ratio(values[name], whole)} for name in names if values.get(name)]


OPTIONAL = (("kernels", "grid"), ("kinds", "bound"), ("kinds", "input_dims"), ("gaps", "where"))


def columns(traces):
    """By member: whether a row of one of these traces has it."""
    return {member: any(row.get(member) for trace in traces.values() if trace for row in trace[rows])
            for rows, member in OPTIONAL}


def doubts(trace):
    """Reasons to doubt the figures of a trace: what its checks found, and what was mended."""
    found = []
    for check in trace["soundness"]["checks"]:
        if check["found"] is not None:
            text = check["found"] + (f"; {check['mended']}" if check["mended"] else "")
            found.append(f"{text[0].upper()}{text[1:]}.")
    return found


def switches(trace):
    """The causes that can be left out, and the step of each set of them that was replayed; None: there is none."""
    what_if = trace.get("what_if")
    if not what_if or not what_if["rows"]:
        return None
    recorded = {"causes": [], "step_ns": what_if["recorded_ns"], "busy_ns": what_if["recorded_busy_ns"], "gain": 1}
    rows = [{**row, "text": f"{quantity.time(row['step_ns'])}, {quantity.factor(row['gain'])}",
             "without": "without " + " and ".join(row["causes"]) if row["causes"] else "as recorded"}
            for row in [recorded, *what_if["rows"]]]
    return {"causes": what_if["causes"], "rows": rows, "json": json.dumps(rows)}


def after_wait(trace, window_ns):
    """The share of idle time after waits: the bar splits by cause what host_sync counts. None: no such finding."""
    has_finding = any(finding["id"] == "host_sync" for finding in trace["findings"])
    return ratio(trace["window"]["after_wait_ns"], window_ns) if has_finding else None


def view_trace(trace):
    """The part of a diagnosis that the templates show."""
    window, steps = trace["window"], trace["steps"]
    window_ns = window["busy_ns"] + window["idle_ns"]
    kernels = [row for row in trace["kernels"] if row["kind"] in ("computation", "communication")]
    copies = [row for row in trace["kernels"] if row["kind"] not in ("computation", "communication")]
    return {
        "raw": trace, "doubts": doubts(trace), "steps": steps, "window_ns": window_ns,
        "busy": window["busy_share"], "after_wait": after_wait(trace, window_ns),
        "parts": stacked(numbers_of(steps["parts"]), PARTS, steps["mean_ns"]),
        "device": stacked({"busy": window["busy_ns"], **window["causes"]}, {"busy": "busy", **CAUSES},
                          window_ns),
        "kernels": kernels[:ROWS_SHOWN], "kernel_count": len(kernels),
        "copies": copies[:ROWS_SHOWN], "copy_count": len(copies),
        "operators": trace["operators"][:ROWS_SHOWN], "operator_count": trace["operator_count"],
        "kinds": trace["operator_kinds"][:ROWS_SHOWN], "kind_count": trace["operator_kind_count"],
        "gaps": trace["gaps"][:GAPS_SHOWN], "memory": trace["memory"], "findings": trace["findings"],
        "switches": switches(trace), "mix": trace.get("mix"), "checklist": trace.get("checklist", []),
        "healthy": trace["healthy"], "bottleneck": trace["bottleneck"], "headline": trace["headline"],
    }


def drawn_trace(trace):
    """The part of a diagnosis that the browser draws. JavaScript's numbers are doubles, so moments go as text."""
    timeline = trace["timeline"]
    return {"timeline": {**timeline, "start_ns": str(timeline["start_ns"]),
                         "span_ns": timeline["end_ns"] - timeline["start_ns"]},
            "memory": [{**one, "until_ns": trace["window"]["end_ns"] - one["curve"]["start_ns"],
                        "curve": {**one["curve"], "start_ns": str(one["curve"]["start_ns"])}}
                       for one in trace["memory"]]}


def packed(data):
    """As text that no markup can hide in, and that is short."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


# --- A scenario ---

def drawn_times(times):
    """Sorted; of more than can be drawn evenly many."""
    times, last = sorted(times), len(times) - 1
    if len(times) <= SAMPLES_DRAWN:
        return times
    return [times[round(i * last / (SAMPLES_DRAWN - 1))] for i in range(SAMPLES_DRAWN)]


def step_times(scenario, variant):
    samples = (scenario.get("samples") or {}).get(variant) or []
    return [time for sample in samples for time in sample.get("step_ns") or []]


def lines_of(lesson):
    """The lines of PyTorch, those that the other side lacks marked."""
    before, after = ((lesson.get("pytorch") or {}).get(variant, "").splitlines() for variant in VARIANTS)
    lines = {"before": [], "after": []}
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        lines["before"] += [{"text": line, "changed": tag != "equal"} for line in before[a:b]]
        lines["after"] += [{"text": line, "changed": tag != "equal"} for line in after[c:d]]
    return lines


def threshold_text(expectation):
    texts = [(expectation.get("at_least"), "at least {}"), (expectation.get("at_most"), "at most {}")]
    found = [text.format(quantity.factor(value)) for value, text in texts if value is not None]
    for name, text in (("before_above", "before above {}"), ("after_below", "after below {}")):
        if expectation.get(name) is not None:
            found.append(text.format(quantity.quantity(expectation[name], expectation.get("unit") or "")))
    return ", ".join(found) or ("grows" if expectation.get("direction") == "grows" else "shrinks")


def outcome(expectation, scenario):
    """As the result has it, but what other programs or a quota may have hidden is not counted: the verdict is open."""
    stated = expectation.get("outcome")
    return "not counted" if stated == "not met" and scenario.get("verdict") == "undecided" else stated


def in_words(change, scenario):
    """The effect and its interval as `run` prints them; dashes for a scenario without."""
    effect, interval = change_text.of_result({**change, "coverage": scenario.get("coverage")})
    is_there = change.get("before") is not None
    return {"effect": effect if is_there else quantity.UNKNOWN, "interval": interval if is_there else ""}


UTILISATION = {"busy_share": "the device works", "mfu": "model FLOPs utilisation (MFU)",
               "bandwidth_share": "bandwidth of a copy, which misses the caches"}


def utilisation(scenario, variant, trace):
    """The shares that the result states; of how busy the device is, else that of the trace."""
    stated = (scenario.get("utilisation") or {}).get(variant) or {}
    shares = {name: stated.get(name) for name in UTILISATION}
    shares["doubt"] = stated.get("mfu_doubt")
    if (shares["mfu"] or 0) > 1:  # older results state it
        shares |= {"mfu": None, "doubt": "a step computed faster than the peak, which was measured too low"}
    if shares["busy_share"] is None and trace:
        shares["busy_share"] = trace["busy"]
    return shares


def view_scenario(gathered, scenario):
    name = scenario["name"]
    traces = {variant: view_trace(gathered.traces[name, variant]) if (name, variant) in gathered.traces else None
              for variant in VARIANTS}
    findings = scenario.get("findings") or {}
    times = {variant: step_times(scenario, variant) for variant in VARIANTS}
    drawn = {variant: drawn_trace(gathered.traces[name, variant]) if traces[variant] else None
             for variant in VARIANTS}
    drawn["samples"] = {variant: drawn_times(times[variant]) for variant in VARIANTS}
    lesson = gathered.lessons.get(name, {})
    tone, sign = VERDICTS.get(scenario.get("verdict"), ("doubtful", "?"))
    return {
        "name": name, "raw": scenario, "lesson": lesson, "lines": lines_of(lesson), "tone": tone, "sign": sign,
        "traces": traces, "missing": {variant: gathered.missing.get((name, variant)) for variant in VARIANTS},
        "findings": findings, "expected": {row["id"] for row in lesson.get("findings", [])},
        "tolerated": {row["id"] for row in lesson.get("findings_after", [])},
        "shares": {variant: utilisation(scenario, variant, traces[variant]) for variant in VARIANTS},
        "change": in_words({**(scenario.get("step_time") or {}), "effect": scenario.get("effect"),
                            "interval": scenario.get("interval")}, scenario),
        "about": effects.about_words({**scenario, "expectations": scenario.get("expectations") or []}),
        "expectations": [{**one, "threshold": threshold_text(one), "change": in_words(one, scenario),
                          "outcome": outcome(one, scenario)}
                         for one in scenario.get("expectations") or []],
        "sample_counts": {variant: len(times[variant]) for variant in VARIANTS},
        "packed": packed(drawn),
    }


# --- A snapshot ---

RESERVED = {"live": ("live", "end_bytes"), "rounding": ("lost to rounding", "rounding_bytes"),
            "pieces": ("free in pieces", "free_pieces_bytes"), "whole": ("in segments that hold nothing", "free_whole_bytes")}


def drawn_device(device):
    """The data that the browser draws: memory as that of a trace, and the calls at the peak. Without times events stand for them."""
    curve = device["curve"]
    has_times = curve["has_times"]
    at_ns = [1000 * at for at in curve["at_us"]] if has_times else curve["event"]
    marks = [{"at_ns": 1000 * one["at_us"] if has_times else one["event"],
              "text": f"{quantity.size(one['asked_bytes'])} were asked for, and the device had "
                      f"{quantity.size(one['device_free_bytes'])} free"} for one in device["out_of_memory"]]
    return {"peak_bytes": device["peak_bytes"], "device": device["device"], "has_times": has_times, "marks": marks,
            "until_ns": 1000 * (curve["end_us"] - curve["start_us"]) if has_times else device["events"],
            "categories": [{"name": site["line"], "bytes": site["bytes"]} for site in device["sites"] if site["bytes"]],
            "curve": {"at_ns": at_ns, "allocated_bytes": curve["live_bytes"]}, "calls": device["calls"]}


def view_snapshot(snapshot):
    """A snapshot of memory, by device."""
    devices = [{"raw": device, "sites": [site for site in device["sites"] if site["at_peak_bytes"]][:ROWS_SHOWN],
                "reserved": [{"id": name, "name": text, "bytes": device[member],
                              "share": ratio(device[member], device["reserved_bytes"])}
                             for name, (text, member) in RESERVED.items() if device[member]]}
               for device in snapshot["devices"]]
    return {"raw": snapshot, "devices": devices,
            "packed": packed({"devices": [drawn_device(device) for device in snapshot["devices"]]})}


def view_run(run):
    """The ranks beside each other, with the longest step for the bars; None: there is no run."""
    if not run:
        return None
    steps = [one["step_ns"] or 0 for one in run["ranks"]]
    slow = run["slow_rank"] or {}
    named = {slow.get("rank"), *slow.get("as_slow", [])} if slow.get("matters") else set()
    return {**run, "longest_ns": max([1, *steps]), "slow": named,
            "by_rank": {one["rank"]: one for one in run["ranks"]}}


def slow_file(gathered):
    """The number of the trace that is open at first: that of the rank the others wait for."""
    slow = ((gathered.run or {}).get("slow_rank") or {}).get("rank")
    return next((i for i, one in enumerate(gathered.files) if slow is not None and one["rank"] == slow), 0)


def log_place(factor, least, most):
    """The place of a factor on a logarithmic scale, in percent."""
    if factor is None or factor <= 0:
        return None
    low, high = math.log(least), math.log(most)
    return 100 * min(1, max(0, (math.log(factor) - low) / (high - low)))


def effect_scale(scenarios):
    """The bounds of the overview's scale: all intervals, and 1."""
    found = [bound for one in scenarios for bound in (one["raw"].get("interval") or [])
             + [one["raw"].get("effect")] if bound and bound > 0]
    return min([0.4, *found]), max([2.5, *found])


def scale_marks(least, most):
    """Round factors within the scale, 1 first, so far from each other that there is room for all."""
    marks = [1]
    for factor in (10, 100, 1000, 2, 5, 0.1, 0.5, 0.2, 20, 50, 0.01, 200, 500):
        at = log_place(factor, least, most)
        if least <= factor <= most and all(abs(at - log_place(mark, least, most)) >= 18 for mark in marks):
            marks.append(factor)
    return marks


# --- Kernels ---

def rectangle(x, y, width, height, kind):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}"/>'


def written(x, y, text, is_end):
    return f'<text x="{x}" y="{y}"{" class=" + chr(34) + "end" + chr(34) if is_end else ""}>{markupsafe.escape(text)}</text>'


def svg(picture):
    parts = [written(*one) for one in picture["texts"]] + [rectangle(*one) for one in picture["rectangles"]]
    return markupsafe.Markup(f'<svg viewBox="0 0 {picture["width"]} {picture["height"]}" role="img" '
                             f'aria-label="{markupsafe.escape(picture["label"])}">{"".join(parts)}</svg>')


def view_kernel(found, name, pictures_most):
    """The counts of `kernel`, as a page shows them."""
    counts, lines = found["counts"], kernel_picture.lines_of(found)
    pictures = [{**one, "svg": svg(one["picture"])} for one in kernel_picture.pictures_of(found, pictures_most)]
    return {**found, "name": name, "code": lines, "pictures": pictures,
            "has_local": any(line["row"] and line["local"]["text"] for line in lines),
            "lanes_mean": kernel_picture.ratio(counts["lanes"], counts["instructions"])}


def view_pairs(gathered):
    """The pairs of kernels of a result, with the runs of each step; none where they are not at hand."""
    return [{**one, "runs": [view_kernel(found, f"{step}: {words}", PAIR_PICTURES)
                             for step, words, found in gathered.kernels.get(one["name"], [])]}
            for one in kernels_of(gathered.result)]


# --- The page ---

def counted(value, unit):
    """A count of a kernel: whole numbers are written out."""
    whole = isinstance(value, (int, float)) and not unit and value == int(value)
    return quantity.count(value) if whole else quantity.quantity(value, unit)


def environment():
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True, undefined=jinja2.ChainableUndefined)
    made.globals.update(columns=columns)
    made.filters.update(time=quantity.time, bytes=quantity.size, share=quantity.share, factor=quantity.factor,
                        count=quantity.count, quantity=quantity.quantity, counted=counted,
                        label=lambda name: name.replace("_", " "))
    return made


def filled(template, scripts, styles, **content):
    """A page that needs no other file. By the script's digest its own policy lets that script run, and no other."""
    script = "\n".join((FOLDER / name).read_text() for name in scripts)
    style = "".join((FOLDER / name).read_text() for name in styles) + colours.style_sheet()
    return environment().get_template(template).render(
        **content, style=markupsafe.Markup(style), script=markupsafe.Markup(script),
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode())


MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, jinja2.TemplateError)


def render(gathered):
    """The page. A scenario that is not as `run` writes it becomes one of the troubles."""
    scenarios = scenarios_of(gathered.result) or []
    try:
        return page_of(gathered, scenarios)
    except MALFORMED:
        if not scenarios:
            raise
        return page_of(gathered, [one for one in scenarios if can_be_shown(gathered, one)])


def can_be_shown(gathered, scenario):
    try:
        page_of(gathered, [scenario])
    except MALFORMED as error:
        gathered.troubles.append(f"{gathered.path}: {scenario['name']} is not as this version of chokepoint writes "
                                 f"it ({type(error).__name__}: {error})")
        return False
    return True


def page_of(gathered, scenarios):
    """The page with these scenarios of the result."""
    scenarios = [view_scenario(gathered, one) for one in scenarios]
    files = [view_trace(one) for one in gathered.files]
    opened = slow_file(gathered)
    least, most = effect_scale(scenarios)
    context = (gathered.result or {}).get("context")
    context = context if isinstance(context, dict) else {}
    return filled(
        "page.html", SCRIPTS, STYLES,
        gathered=gathered, opened=opened, scenarios=scenarios, files=files, kernels=view_pairs(gathered),
        snapshots=[view_snapshot(one) for one in gathered.snapshots], variants=VARIANTS, context=context,
        facts=[(name, context[name]) for name in ENVIRONMENT if context.get(name) not in (None, "", "unknown")],
        utilisation=UTILISATION, place=lambda factor: log_place(factor, least, most),
        marks=scale_marks(least, most), causes=CAUSES,
        packed_files=[packed({"trace": drawn_trace(one), "steps": one["steps"]["duration_ns"][:STEPS_DRAWN],
                              "samples": {"trace": drawn_times(one["steps"]["duration_ns"])}})
                      for one in gathered.files], run=view_run(gathered.run))
