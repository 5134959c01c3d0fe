"""chokepoint from Python: what slows down a training, from traces of PyTorch's profiler.

    found = chokepoint.diagnose("worker0.pt.trace.json")     # a dictionary, as docs/diagnosis.md has it
    found.to_dataframe()                                     # one row per finding
    chokepoint.report("worker0.pt.trace.json", out="worker0.html")

    with chokepoint.recording(steps=8) as seen:              # in a notebook
        train(model, loader)
    seen                                                     # the page, in the cell

Each call runs the program and reads what it prints, so nothing of it is loaded into this process but the recorder.
"""
import importlib
from typing import Any

from chokepoint._diagnosis import Diagnosis, Finding, Findings
from chokepoint._kernel import kernel
from chokepoint._program import PROGRAM, Error, compare, diagnose, report, version
from chokepoint._recording import recording

__version__: str = version()

__all__ = ["PROGRAM", "Diagnosis", "Error", "Finding", "Findings", "compare", "diagnose", "kernel", "recording", "report"]


def __getattr__(name: str) -> Any:
    """The callbacks' modules are imported when they are asked for: each needs the library that it is for."""
    if name in ("lightning", "transformers"):
        return importlib.import_module(f"chokepoint.{name}")
    raise AttributeError(f"module 'chokepoint' has no attribute {name!r}")
