"""Reads what the page shows: result.json, and of traces and lessons what the program says as JSON."""
import dataclasses
import json
import os
import subprocess

from common import outside

TIMELINE_STEPS = 3
VARIANTS = ("before", "after")
ARCHES = (80, 90, 100)


class Unreadable(Exception):
    """Nothing can be shown; the sentence says why."""


@dataclasses.dataclass
class Gathered:
    result: dict | None = None  # result.json
    path: str = ""  # of the result, or of the only trace
    lessons: dict = dataclasses.field(default_factory=dict)  # by scenario, as `list` has them
    traces: dict = dataclasses.field(default_factory=dict)  # by (scenario, variant), as `diagnose` has them
    missing: dict = dataclasses.field(default_factory=dict)  # by the same: why there is none
    files: list = dataclasses.field(default_factory=list)  # diagnoses of traces without a result
    kernels: dict = dataclasses.field(default_factory=dict)  # by pair: step, words, what `kernel` counts, for each step
    snapshots: list = dataclasses.field(default_factory=list)  # of memory, as `diagnose` has them
    run: dict | None = None  # those are ranks of one run, as `diagnose` has it
    troubles: list = dataclasses.field(default_factory=list)  # sentences: what could not be read
    notes: list = dataclasses.field(default_factory=list)  # sentences: what is missing in the result


def ask(program, arguments):
    """The JSON that the program prints, None where it prints nothing, and its errors, a line each."""
    asked = subprocess.run([program, *arguments], capture_output=True, check=False)
    errors = [line.removeprefix("chokepoint: ").removeprefix("diagnose: ")
              for line in asked.stderr.decode(errors="replace").splitlines()]
    if asked.returncode < 0:
        errors.append(f"{arguments[0]} was ended by signal {-asked.returncode}")
    try:
        return json.loads(asked.stdout), errors
    except ValueError:
        return None, errors


def diagnose(program, paths):
    """The diagnosis of these files, {} if there is none, and its errors."""
    said, errors = ask(program, ["diagnose", "--format=json", f"--timeline={TIMELINE_STEPS}", "--what-if",
                         "--", *paths])
    return said or {}, errors


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError):
        return None


def result_path(argument):
    """The result that is meant, "" if it is none."""
    if os.path.isdir(argument):
        argument = os.path.join(argument, "result.json")
    return argument if os.path.basename(argument) == "result.json" and os.path.isfile(argument) else ""


def member(value, *names):
    """The value that is there; None where anything on the way is missing, or no object."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def scenarios_of(result):
    """The scenarios of a result; None if it is no result of run."""
    scenarios = member(result, "chokepoint", "scenarios")
    return [one for one in scenarios if isinstance(one, dict) and isinstance(one.get("name"), str)] \
        if isinstance(scenarios, list) else None


def kernels_of(result):
    """The pairs of kernels of a result."""
    kernels = member(result, "chokepoint", "kernels")
    return [one for one in kernels if isinstance(one, dict) and isinstance(one.get("name"), str)] \
        if isinstance(kernels, list) else []


def gather_kernels(gathered, program, listed):
    """Executes the kernels of the pairs again, for their lines and accesses. A name is given to the program only if it is
    one that it lists."""
    known = {one["name"] for one in listed.get("kernels", [])}
    for one in kernels_of(gathered.result):
        if one["name"] not in known or one.get("arch") not in ARCHES:
            continue
        runs = []
        for step in ("before", "between", "after"):
            if not isinstance(one.get(step), str):
                continue
            found, errors = ask(program, ["kernel", f"{one['name']}_{step}", f"--arch={one['arch']}", "--format=json"])
            gathered.notes += errors
            if found:
                runs.append((step, one[step], found))
        gathered.kernels[one["name"]] = runs


def trace_path(folder, scenario, variant):
    """Where a variant's trace is, and why there is none."""
    name = member(scenario, "traces", variant)
    if not isinstance(name, str):
        return "", member(scenario, "tracing", variant, "reason") or "the run recorded no trace of it"
    path = outside.beside(folder, name)
    return (path, "") if path else ("", f"{name} is not beside the result any more")


def gather_result(program, path):
    gathered = Gathered(result=read_json(path), path=path)
    scenarios = scenarios_of(gathered.result)
    if scenarios is None:
        why = "it is no JSON" if gathered.result is None else "it is not a result of chokepoint run"
        gathered.result = None
        gathered.troubles.append(f"{path}: {why}")
        return gathered
    listed, errors = ask(program, ["list", "--format=json"])
    gathered.lessons = {lesson["name"]: lesson for lesson in (listed or {}).get("scenarios", [])}
    gathered.notes += errors
    gather_kernels(gathered, program, listed or {})
    folder = os.path.dirname(path)
    for scenario in scenarios:
        for variant in VARIANTS:
            gather_trace(gathered, program, folder, scenario, variant)
    if not scenarios and not kernels_of(gathered.result):
        gathered.notes.append("The result holds no scenario: the run ended before one was measured.")
    return gathered


def gather_trace(gathered, program, folder, scenario, variant):
    key = scenario["name"], variant
    path, why = trace_path(folder, scenario, variant)
    if path:
        said, errors = diagnose(program, [path])
        if said.get("traces"):
            gathered.traces[key] = said["traces"][0]
            return
        why = "; ".join(errors) or "it could not be read"
        gathered.troubles.append(why)
    gathered.missing[key] = why


def gather(program, arguments):
    """All that the page shows of these results and traces. Unreadable: it shows nothing."""
    results = [result_path(argument) for argument in arguments]
    if len(arguments) == 1 and results[0]:
        return gather_result(program, results[0])
    if any(results):
        raise Unreadable(f"{next(filter(None, results))} is a result: a page has one result, or traces")
    for argument in arguments:
        # `diagnose` looks up by itself where the traces of a run are that was repeated.
        is_of_run = os.path.basename(os.path.dirname(argument)) == "traces"
        if argument != "-" and not os.path.exists(argument) and not is_of_run:
            raise Unreadable(f"{argument}: No such file or directory")
    gathered = Gathered(path=arguments[0])
    said, gathered.troubles = diagnose(program, arguments)
    gathered.files, gathered.run = said.get("traces", []), said.get("run")
    gathered.snapshots = said.get("snapshots", [])
    return gathered
