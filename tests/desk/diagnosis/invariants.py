"""What holds on every page, whatever the trace: broken(trace) lists what does not, for a trace of `diagnose --format=json`."""
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
    """The step that costs are a share of, in ns; None: it is not known."""
    window, count = trace["window"], trace["steps"]["count"]
    if trace["steps"]["untraced_ns"]:
        return trace["steps"]["untraced_ns"]
    return (window["busy_ns"] + window["idle_ns"]) / count if count else None


def costs_of(trace):
    return [finding for finding in trace["findings"]
            if finding["severity"] != "information" and finding["lost_ns_per_step"]]


IDLE = ("launch_bound", "data_loading", "data_jitter", "epoch_gap", "host_work", "host_sync", "logging_gap")


def idle_claimed(trace):
    """The idle time that findings say could be saved, per step, each moment once; it cannot be more than there is."""
    return sum(finding["lost_ns_per_step"] for finding in costs_of(trace)
               if finding["id"] in IDLE and not finding["once_fixed"] and
               "another finding has this time, too" not in finding["evidence"])


def broken(trace):
    found = [f"{name}: {share:.3f}" for name, share in shares_of(trace)
             if share is not None and not -ROUNDING <= share <= 1 + ROUNDING]
    whole = whole_of(trace)
    for finding in costs_of(trace):
        if whole and finding["lost_ns_per_step"] > whole * (1 + ROUNDING):
            found.append(f"{finding['id']} loses {finding['lost_ns_per_step'] / whole:.2f} steps")
        gain = finding["predicted_gain"]
        if gain is not None and not (math.isfinite(gain) and gain >= 1):
            found.append(f"{finding['id']} gains {gain}")
    idle = idle_claimed(trace)
    if whole and idle > 1.03 * (1 - trace["window"]["busy_share"]) * whole and \
            trace["device"]["count"] > 0:
        found.append(f"findings claim {idle / whole:.2f} of a step that is idle for {1 - trace['window']['busy_share']:.2f}")
    if trace["healthy"] and costs_of(trace):
        found.append(f"healthy, and {costs_of(trace)[0]['id']}")
    if sum(trace["window"]["causes"].values()) > trace["window"]["idle_ns"]:
        found.append("causes exceed the idle time")
    return found
