"""The corpus in results/league/, and the table in docs/league.md that comes from it."""
import gzip
import hashlib
import json
import os
import re

from league import table, truth

FOLDER = "results/league"
SCORES = "scores.json"
PAGE = "docs/league.md"
BYTES_MOST = 20_000_000
TABLE = re.compile(r"(<!-- league -->\n).*?(<!-- end of league -->\n)", re.DOTALL)
NOT_YET = "No corpus has been recorded for this table yet.\n"


def pack(folder):
    """Compresses the traces as far as gzip goes, leaves out where the program was, and seals the labels again."""
    labels = truth.read(folder)
    labels["context"].pop("executable", None)
    for item in labels["items"]:
        if item["trace"] is None:
            continue
        path = os.path.join(folder, item["trace"])
        with gzip.open(path) as file:
            content = gzip.compress(file.read(), 9, mtime=0)
        with open(path, "wb") as file:
            file.write(content)
        item["sha256"] = hashlib.sha256(content).hexdigest()
    with open(os.path.join(folder, "truth.json"), "w", encoding="utf-8") as file:
        file.write(sealed(labels))


def sealed(labels):
    zeros = "0" * 64
    text = json.dumps({**labels, "seal": zeros}, indent=1, ensure_ascii=False) + "\n"
    return text.replace(zeros, hashlib.sha256(text.encode()).hexdigest(), 1)


def size(folder):
    return sum(entry.stat().st_size for entry in os.scandir(folder))


def read_scores(source):
    """The scores, or None: there is no corpus."""
    path = os.path.join(source, FOLDER, SCORES)
    return truth.read_json(path)[1] if os.path.exists(path) else None


def words(scores):
    """What the page shows."""
    if scores is None:
        return NOT_YET
    corpus = scores["corpus"]
    made = (f"`{FOLDER}`: seed {corpus['seed']}, made by {corpus['program']} on {corpus['date'][:10]}, "
            f"seal `{corpus['seal'][:16]}`.")
    return f"{table.markdown(scores['diagnosers'])}\n{table.footing(scores)} {made}\n"


def filled(page, scores):
    """The page with the table of these scores. Unusable: it has no place for one."""
    if not TABLE.search(page):
        raise truth.Unusable(f"{PAGE} has no place for the table, <!-- league --> to <!-- end of league -->")
    return TABLE.sub(lambda found: found[1] + "\n" + words(scores) + "\n" + found[2], page)


def stale(source):
    """Why the page does not show the corpus; "" if it does."""
    with open(os.path.join(source, PAGE), encoding="utf-8") as file:
        page = file.read()
    scores = read_scores(source)
    if filled(page, scores) != page:
        return f"{PAGE} does not show {FOLDER}/{SCORES}"
    if scores is not None and truth.read(os.path.join(source, FOLDER))["seal"] != scores["corpus"]["seal"]:
        return f"{FOLDER}/{SCORES} is of another corpus than the one beside it"
    return ""
