"""chokepoint: the findings of `diagnose --format=json`, those that it calls worth acting on."""
import json

# As a fix has to gain before `corpus` calls it measurable (LEAST_EFFECT_PERCENT in harness/base/figures/statistics.h).
LEAST_GAIN = 1.05


def names_it(finding):
    """Whether it is said to matter: a minor one does unless it is a guess, or promises a gain that could not be
    measured."""
    return finding["severity"] in ("critical", "major") or (
        finding["severity"] == "minor" and finding["confidence"] != "low" and
        (finding["predicted_gain"] or LEAST_GAIN) >= LEAST_GAIN)


def read(text):
    """The causes, and what two of them gain together where a replay knows."""
    trace = json.loads(text)["traces"][0]
    named = [(finding["id"], finding["predicted_gain"]) for finding in trace["findings"] if names_it(finding)]
    rows = trace.get("what_if", {}).get("rows", [])
    pairs = [("+".join(row["causes"]), row["gain"]) for row in rows if len(row["causes"]) == 2]
    return named + (pairs if named else [])


def diagnoser(make, name, _script, program, _vocabulary, _seed):
    if program is None:
        return make(name, None, skipped="there is no chokepoint: --program names it")
    return make(name, lambda path: [program, "diagnose", "--what-if", "--format=json", path], read)
