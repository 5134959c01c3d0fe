"""Rules that every page keeps for any trace: broken(trace) lists those that it breaks, for a trace of `diagnose --format=json`."""
import math

ROUNDING = 1e-6


def shares_of(trace):
    """Each figure that is a share, by its name."""
    window, steps = trace["window"], trace["steps"]
    yield "busy share", window["busy_share"]
    yield "headline", trace["bottleneck_share"]
    for kernel in trace["kernels"]:
        yield f"kernel {kernel['name']}", kernel["share"]
    for part, ns in steps["parts"].items():
        yield f"part {part}", ns / steps["mean_ns"] if ns is not None and steps["mean_ns"] else None
    window_ns = window["busy_ns"] + window["idle_ns"]
    for cause, ns in window["causes"].items():
        yield f"idle while {cause}", ns / window_ns if window_ns else None
    for threshold in trace["thresholds"]:
        if "share" in (threshold["figure"] or ""):
            yield f"threshold of {threshold['id']}", threshold["value"]


def whole_of(trace):
    """The step that costs are a share of, in ns; without steps, the whole window."""
    window, steps = trace["window"], trace["steps"]
    return steps["untraced_ns"] or (window["busy_ns"] + window["idle_ns"]) / max(1, steps["count"])


def costs_of(trace):
    return [finding for finding in trace["findings"]
            if finding["severity"] != "information" and finding["lost_ns_per_step"]]


IDLE = ("launch_bound", "data_loading", "data_jitter", "epoch_gap", "host_work", "host_sync", "logging_gap")


def shares_time(finding):
    return "this overlaps with another finding" in finding["evidence"]


def idle_claimed(trace):
    """The idle time that findings say could be saved, per step, each moment once; it cannot be more than there is."""
    return sum(finding["lost_ns_per_step"] for finding in costs_of(trace)
               if finding["id"] in IDLE and not finding["once_fixed"] and not shares_time(finding))


def launches_claimed(trace):
    """By how much launch_bound claims more than the idle time that the host causes, per step. It is not held against the
    time of launches alone: what the host does otherwise is hidden, too, where the step is launched at once, and in modelled
    loops (test_modelled_loops.py) the truth is that of the replay."""
    causes, window_ns = trace["window"]["causes"], trace["window"]["busy_ns"] + trace["window"]["idle_ns"]
    of_host = sum(ns for cause, ns in causes.items() if cause not in ("stalled", "unknown"))
    return max([finding["lost_ns_per_step"] for finding in costs_of(trace) if finding["id"] == "launch_bound"] +
               [0]) - (of_host / window_ns * whole_of(trace) if window_ns else 0)


LEAST = {"minor": 0, "major": 0.15, "critical": 0.5}


def disagreements(trace):
    """Cost, gain and severity say the same, and the headline is about the first finding."""
    whole = whole_of(trace)
    for finding in costs_of(trace):
        gain, lost = finding["predicted_gain"], finding["lost_ns_per_step"]
        if finding["once_fixed"] or not gain or not lost < whole:
            continue
        promised, said = whole / (whole - lost), f"{finding['id']}, {finding['severity']}: {gain:.2f}x"
        if abs(gain - promised) > 0.1 * (promised - 1) + 0.03:
            yield f"{said}, and what it loses is {promised:.2f}x"
        if 1 - 1 / gain < LEAST[finding["severity"]] - 0.01:
            yield f"{said} is not so much"
        if finding["severity"] == "minor" and finding["confidence"] != "low" and not shares_time(finding) and \
                1 - 1 / gain > LEAST["major"] + 0.01:
            yield f"{said} is more than that"
    first = trace["findings"][0] if trace["findings"] else None
    if first and first["bottleneck"] not in ("none", trace["bottleneck"]):
        yield f"the headline says {trace['bottleneck']}, and first comes {first['id']}"


def broken(trace):
    found = [f"{name}: {share:.3f}" for name, share in shares_of(trace)
             if share is not None and not -ROUNDING <= share <= 1 + ROUNDING]
    whole = whole_of(trace)
    for finding in costs_of(trace):
        if finding["lost_ns_per_step"] > whole * (1 + ROUNDING):
            found.append(f"{finding['id']} loses {finding['lost_ns_per_step'] / whole:.2f} steps")
        gain = finding["predicted_gain"]
        if gain is not None and not (math.isfinite(gain) and gain >= 1):
            found.append(f"{finding['id']} gains {gain}")
    idle = idle_claimed(trace)
    if whole and idle > 1.03 * (1 - trace["window"]["busy_share"]) * whole and \
            trace["device"]["count"] > 0:
        found.append(f"findings claim {idle / whole:.2f} of a step that is idle for {1 - trace['window']['busy_share']:.2f}")
    if launches_claimed(trace) > 0.01 * whole:
        found.append("launch_bound claims time that the host does not cause")
    found += disagreements(trace)
    if trace["healthy"] and costs_of(trace):
        found.append(f"healthy, and {costs_of(trace)[0]['id']}")
    if sum(trace["window"]["causes"].values()) > trace["window"]["idle_ns"]:
        found.append("causes exceed the idle time")
    return found
