"""The labels of a corpus that `chokepoint corpus` made, checked against their seals."""
import hashlib
import json
import os
import re

from common import outside

SCHEMA = 1
SEAL = re.compile(r'("seal":\s*")([0-9a-f]{64})(")')


class Unusable(Exception):
    """A sentence that says why a corpus cannot be scored."""


def digest(path):
    hashed = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            hashed.update(piece)
    return hashed.hexdigest()


def seal_of(text):
    """The seal that `text` has, and the one that it should have."""
    found = SEAL.search(text)
    if not found:
        return None, None
    return found[2], hashlib.sha256(SEAL.sub(rf"\g<1>{'0' * 64}\g<3>", text, count=1).encode()).hexdigest()


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Unusable(f"{path} is not text") from error
    try:
        return text, json.loads(text)
    except ValueError as error:
        raise Unusable(f"{path} is not JSON: {error}") from error


def check_trace(folder, item, path):
    name = item["trace"]
    if os.path.basename(name) != name or (os.path.exists(os.path.join(folder, name))
                                          and not outside.beside(folder, name)):
        raise Unusable(f"{path}: {name!r} is not the name of a trace beside it")
    try:
        found = digest(os.path.join(folder, name))
    except OSError as error:
        raise Unusable(f"cannot read {os.path.join(folder, name)}: {error.strerror}") from error
    if found != item["sha256"]:
        raise Unusable(f"{os.path.join(folder, name)} is not the trace that was sealed: its SHA-256 is {found}, not "
                       f"{item['sha256']}")


def read(folder, path=None):
    """The truth of a corpus, whose traces are in `folder`. Unusable: it cannot be read, or something was changed."""
    path = path or os.path.join(folder, "truth.json")
    text, truth = read_json(path)
    if not isinstance(truth, dict) or truth.get("schema") != SCHEMA or not all(
            isinstance(truth.get(name), list) for name in ("items", "vocabulary")):
        raise Unusable(f"{path} has no labels that this version reads (schema {SCHEMA})")
    seal, meant = seal_of(text)
    if seal is None or seal != meant:
        raise Unusable(f"{path} is not as it was sealed: a label, a gain or a checksum was changed")
    try:
        for item in truth["items"]:
            if item["trace"] is not None:
                check_trace(folder, item, path)
    except (KeyError, TypeError) as error:
        raise Unusable(f"{path} lacks a member of an item: {error}") from error
    return truth


def scored(truth):
    """The items that a diagnoser can be judged by."""
    return [item for item in truth["items"] if item["trace"] is not None and item["measurable"]]


def words(truth):
    """Every finding that stands for a cause somewhere, each once, in a fixed order; by the group of its scenario."""
    groups = {}
    for row in truth["vocabulary"]:
        for word in [*row["findings"], row["scenario"]]:
            groups.setdefault(word, set()).add(row["group"])
    return groups
