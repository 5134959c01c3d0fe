"""Findings of `chokepoint diagnose` in traces: of files, or of both variants of a scenario of a result."""

import json
import pathlib
import shutil
import subprocess

from common import outside

from . import read

STEPS = 3
FLAGS = {"--scenario": {"action": "append", "metavar": "NAME", "help": "of those in the result"},
         "--steps": {"type": int, "default": STEPS, "metavar": "N", "help": f"steps to show; {STEPS}"},
         "--program": {"metavar": "FILE", "help": "chokepoint, if neither build/chokepoint nor in PATH"}}


def program(options):
    built = pathlib.Path(__file__).resolve().parent.parent.parent / "build/chokepoint"
    found = options.program or (str(built) if built.exists() else shutil.which("chokepoint"))
    if not found:
        raise read.MissingError("chokepoint is needed to read traces: scripts/build.sh builds it, and "
                                "--program names one elsewhere")
    return found


def diagnose(options, path):
    """The facts of one trace."""
    command = [program(options), "diagnose", "--format=json", f"--timeline={options.steps}", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise read.MissingError(f"{command[0]}: {error.strerror}") from None
    try:
        return json.loads(done.stdout)["traces"][0]
    except (ValueError, LookupError):
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise read.InputError(" ".join(said).removeprefix("chokepoint: ")) from None


def of_result(options):
    """Title, and for each variant its label and the path of its trace, or why there is none."""
    scenario = read.scenario(options.inputs[0], read.one_name(options))
    folder, found = pathlib.Path(options.inputs[0]), []
    folder = folder if folder.is_dir() else folder.parent
    for variant in ("before", "after"):
        path = (scenario.get("traces") or {}).get(variant)
        label = f"{variant}: {scenario.get('knob')} {scenario.get(variant)}"
        if path is None:
            found.append((label, f"no trace was written ({scenario.get('verdict')})"))
        elif not outside.beside(folder, path):
            found.append((label, f"{path} is not a file beside the result"))
        else:
            found.append((label, folder / path))
    if not any(isinstance(path, pathlib.Path) for _, path in found):
        raise read.InputError(f"{options.inputs[0]}: no trace of {scenario['name']}: "
                              + "; ".join(dict.fromkeys(why for _, why in found)))
    return f"{scenario['name']}: {scenario.get('title') or ''}", found


def panels(options):
    """Title, and for each trace its label and its facts, or what is missing."""
    if len(options.inputs) > 2:
        raise read.InputError(f"{options.kind}: give one trace or two, or a result")
    if len(options.inputs) == 1 and (options.scenario or pathlib.Path(options.inputs[0]).is_dir()
                                     or pathlib.Path(options.inputs[0]).name == "result.json"):
        title, found = of_result(options)
    else:
        names = [pathlib.Path(path).name for path in options.inputs]
        labels = names if len(set(names)) == len(names) else options.inputs
        title, found = "", [(label, pathlib.Path(path)) for label, path in zip(labels, options.inputs)]
    return title, [(label, None, path) if isinstance(path, str) else (label, diagnose(options, path), None)
                   for label, path in found]
