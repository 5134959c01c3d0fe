"""Reads what the plots are drawn from: result files, `bench`, `train --sweep`, and `diagnose`.

Whatever is no such file is an InputError with one sentence. Figures are taken as they are in the files:
what is computed from measurements, chokepoint computes."""

import json
import pathlib


class InputError(Exception):
    """Bad input or usage, in a sentence."""
    exit_code = 2


class MissingError(Exception):
    """A library or a program is missing."""
    exit_code = 3


def load(path):
    """The object in a JSON file; a folder stands for the result.json in it."""
    path = pathlib.Path(path)
    if path.is_dir():
        path = path / "result.json"
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: this is no JSON, nor any other text") from None
    if not text.strip():
        raise InputError(f"{path}: the file is empty")
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not whole, or no JSON: {error}") from None
    if not isinstance(loaded, dict):
        raise InputError(f"{path}: this is JSON, but no file of chokepoint")
    return loaded


def result(path):
    """A result file of `run`."""
    loaded = load(path)
    own = loaded.get("chokepoint")
    if not isinstance(own, dict) or not isinstance(own.get("scenarios"), list):
        raise InputError(f"{path}: this is no result of chokepoint run")
    if not own["scenarios"]:
        raise InputError(f"{path}: the run measured no scenario")
    for scenario in own["scenarios"]:
        if not isinstance(scenario, dict) or not isinstance(scenario.get("name"), str):
            raise InputError(f"{path}: a scenario in it has no name")
    return loaded


def names(loaded):
    return [scenario["name"] for scenario in loaded["chokepoint"]["scenarios"]]


def one_name(options):
    """The name that --scenario gives, None if there is none."""
    given = options.scenario or [None]
    if len(given) > 1:
        raise InputError(f"--scenario: a picture of {options.kind} shows one; give one name")
    return given[0]


def scenario(path, name):
    """The named scenario of a result; the only one if there is no name."""
    loaded = result(path)
    if name is None:
        if len(names(loaded)) > 1:
            raise InputError(f"{path}: which scenario? Give --scenario: {', '.join(names(loaded))}")
        return loaded["chokepoint"]["scenarios"][0]
    for one in loaded["chokepoint"]["scenarios"]:
        if one["name"] == name:
            return one
    raise InputError(f"{path}: it has no scenario {name}, only {', '.join(names(loaded))}")


def rows(path):
    """The rows of a file of Google Benchmark's format: `bench`, `run`, or another program's."""
    loaded = load(path)
    if not isinstance(loaded.get("benchmarks"), list) or not isinstance(loaded.get("context"), dict):
        raise InputError(f"{path}: this is no file of Google Benchmark's format")
    return loaded["context"], loaded["benchmarks"]


def origin(context):
    """Device, commit and day of a file, for the line below the title."""
    device = context.get("device_name") or context.get("cpu_model") or context.get("host_name") or "?"
    parts = [str(device), str(context.get("date", ""))[:10]]
    if context.get("commit"):
        parts.append(f"commit {context['commit']}")
    return " · ".join(part for part in parts if part)
