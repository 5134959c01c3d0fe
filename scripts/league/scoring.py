"""The worth of an answer.

- The first three causes of an answer count. Findings that may be there without the bottleneck, too (`left_behind`), are
  neither right nor wrong: they are taken out first.
- The first cause is right if it shows one of the item's bottlenecks. The part is right if it is of the same group.
- Both are named if each of two bottlenecks is among the three.
- A false alarm is any cause of a healthy trace.
- A predicted gain is compared with the measured one of the same bottleneck, where the step time is what its fix is
  for: the median of how far the larger is from the smaller. So is what both fixes of two bottlenecks gain together.
- A diagnoser that crashes, takes too long or answers with something else has named nothing, which is right nowhere,
  not even on a healthy trace.
"""
import math
import statistics

CAUSES_MOST = 3


def accepted(cause):
    return {cause["scenario"], *cause["findings"]}


def countable(item, causes):
    """The causes of an answer that count."""
    own = set().union(*(accepted(cause) for cause in item["causes"]))
    neutral = set().union(*(cause["left_behind"] for cause in item["causes"])) - own
    counted = []
    for word, gain in causes:
        if "+" not in word and word not in neutral and word not in [seen for seen, _ in counted]:
            counted.append((word, gain))
    return counted[:CAUSES_MOST]


def off_by(predicted, measured):
    """The larger over the smaller, less 1."""
    return math.exp(abs(math.log(predicted / measured))) - 1


def gain_error(cause, named):
    """How far predicted and measured are apart; None: there is nothing to compare."""
    if cause["effect"] is None or cause["effect"]["metric"] != "step_time":
        return None
    for word, gain in named:
        if word in accepted(cause) and gain is not None:
            return off_by(gain, cause["gain"]["factor"])
    return None


def together_error(item, causes):
    """The same for both fixes of two bottlenecks."""
    first, second = (accepted(cause) for cause in item["causes"])
    if item["together"] is None or item["together"]["metric"] != "step_time":
        return None
    for words, gain in causes:
        one, plus, other = words.partition("+")
        if plus and gain is not None and ((one in first and other in second) or (one in second and other in first)):
            return off_by(gain, item["together"]["factor"])
    return None


def judge(item, answer, groups):
    """One answer: what it was right about. `answer` has "causes", or "failure"."""
    failed = answer["failure"] is not None
    named = [] if failed else countable(item, answer["causes"])
    row = {"item": item["name"], "kind": item["kind"], "named": [word for word, _ in named],
           "failure": answer["failure"]}
    if item["kind"] == "healthy":
        row["false_alarm"] = failed or bool(named)
        return row
    right = [accepted(cause) for cause in item["causes"]]
    first = named[0][0] if named else None
    row["causes"] = [cause["scenario"] for cause in item["causes"]]
    row["first_right"] = any(first in words for words in right)
    row["part_right"] = row["first_right"] or bool(groups.get(first, set()) & {c["group"] for c in item["causes"]})
    if item["kind"] == "two":
        row["both_named"] = all(words & set(row["named"]) for words in right)
        row["together_error"] = together_error(item, answer["causes"])
    else:
        row["gain_error"] = gain_error(item["causes"][0], named)
    return row


def wilson(right, count):
    """The 95% interval of a share (Wilson, "Probable inference ...", JASA 1927)."""
    if count == 0:
        return None
    z, share = 1.959964, right / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return [max(0.0, middle - half), min(1.0, middle + half)]


def share(rows, key):
    asked = [row[key] for row in rows if key in row]
    return {"right": sum(asked), "of": len(asked), "share": sum(asked) / len(asked) if asked else None,
            "interval": wilson(sum(asked), len(asked))}


def middle(rows, key):
    errors = [row[key] for row in rows if row.get(key) is not None]
    return {"median": statistics.median(errors) if errors else None, "of": len(errors)}


def total(rows, answers):
    seconds = [answer["seconds"] for answer in answers]
    return {
        "first_right": share(rows, "first_right"),
        "part_right": share(rows, "part_right"),
        "both_named": share(rows, "both_named"),
        "false_alarms": share(rows, "false_alarm"),
        "gain_error": middle(rows, "gain_error"),
        "together_error": middle(rows, "together_error"),
        "seconds": statistics.median(seconds) if seconds else None,
        "peak_bytes": max((answer["peak_bytes"] for answer in answers), default=None),
        "peak_is_bound": bool(answers) and all(answer["peak_is_bound"] for answer in answers),
        "failures": sum(row["failure"] is not None for row in rows),
    }


def chance(items, vocabulary, healthy=0.25):
    """The share of first causes that are right by chance.py: a word of `words`, if it answers at all. A word that is
    neither right nor wrong is passed over for the second."""
    words = {word for row in vocabulary for word in row["findings"]}
    shares = []
    for item in items:
        if item["kind"] == "healthy":
            continue
        own = set().union(*(accepted(cause) for cause in item["causes"])) & words
        neutral = (set().union(*(cause["left_behind"] for cause in item["causes"])) & words) - own
        second = len(own) / (len(words) - 1) if len(words) > 1 else 0
        shares.append((1 - healthy) * (len(own) + len(neutral) * second) / len(words))
    return statistics.mean(shares) if shares else None
