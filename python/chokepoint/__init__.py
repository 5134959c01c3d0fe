"""chokepoint from Python: what slows down a training, from traces of PyTorch's profiler.

    found = chokepoint.diagnose("worker0.pt.trace.json")     # a dictionary, as docs/diagnosis.md has it
    chokepoint.report("worker0.pt.trace.json", out="worker0.html")

    with chokepoint.recording(steps=8) as seen:              # in a notebook
        train(model, loader)
    seen                                                     # the page, in the cell

Each call runs the program and reads what it prints, so nothing of it is loaded into this process but the recorder.
"""
from chokepoint._kernel import kernel
from chokepoint._program import PROGRAM, Error, diagnose, report, version
from chokepoint._recording import recording

__version__: str = version()

__all__ = ["PROGRAM", "Error", "diagnose", "kernel", "recording", "report"]
