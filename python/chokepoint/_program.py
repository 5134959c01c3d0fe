"""The program, and what it says as JSON."""
import json
import os
import shutil
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Union

from chokepoint._diagnosis import Diagnosis

Path = Union[str, "os.PathLike[str]"]


def _find() -> str:
    """The program of this package; else one that is installed."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "chokepoint")
    return own if os.path.exists(own) else shutil.which("chokepoint") or own


PROGRAM: str = _find()


class Error(Exception):
    """The program could not: its sentence, and its exit code (2 bad usage or bad input, 3 something is missing)."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


def run(arguments: List[str], given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """The program with these arguments. Error: its exit code is neither 0 nor 1, nor 3 beside an output: it cannot be told."""
    done = subprocess.run(["chokepoint", *arguments], executable=PROGRAM, input=given, capture_output=True, check=False)
    if done.returncode not in (0, 1) and not (done.returncode == 3 and done.stdout):
        raise Error(done.returncode, done.stderr.decode(errors="replace").strip())
    return done


def call(arguments: List[str], given: bytes = b"") -> str:
    """Its output."""
    return run(arguments, given).stdout.decode()


def version() -> str:
    """The version of this package; in a checkout, which has no package, that of the program; "": neither is there."""
    try:
        from importlib.metadata import version as of_package

        return of_package("chokepoint")
    except ImportError:
        return call(["--version"]).split()[-1] if os.path.exists(PROGRAM) else ""


def diagnose(*traces: Union[Path, bytes], timeline: int = 0) -> Diagnosis:
    """The findings in these traces, as `chokepoint diagnose --format=json` has them.

    traces: files, folders of them, recordings, or the bytes of one trace; a snapshot of PyTorch's memory (a pickle), too.
    Several files that are the ranks of a run are judged together.
    timeline: that many steps of each trace as a picture needs them; 0: none.
    """
    options = ["diagnose", "--format=json"] + ([f"--timeline={timeline}"] if timeline else [])
    texts = [trace for trace in traces if isinstance(trace, bytes)]
    if texts and len(traces) > 1:
        raise TypeError("bytes stand alone: give one trace as bytes, or files")
    names = ["-"] if texts else [os.fspath(trace) for trace in traces if not isinstance(trace, bytes)]
    return Diagnosis(json.loads(call([*options, "--", *names], texts[0] if texts else b"")))


def _is_trace(path: str) -> bool:
    """Whether it is a trace or a folder of traces, and no result."""
    if os.path.isdir(path):
        return not os.path.exists(os.path.join(path, "result.json"))
    with open(path, "rb") as file:
        begin = file.read(1 << 20)
    return begin.startswith((b"\x1f\x8b", b"SQLite format 3")) or b'"traceEvents"' in begin


def compare(base: Union[Path, Sequence[Path]], new: Union[Path, Sequence[Path]], explain: Optional[bool] = None,
            options: Sequence[str] = ()) -> Dict[str, Any]:
    """The document of `chokepoint compare --format=json`: of two results, or several of each side, which rows are slower; of two
    traces or recordings, why a step takes longer.

    explain: compare traces; None: if `base` is one.
    options: further ones of the program, such as "--metric=cpu_time".
    """
    sides = [[os.fspath(side)] if isinstance(side, (str, os.PathLike)) else [os.fspath(path) for path in side]
             for side in (base, new)]
    if explain is None:
        explain = os.path.exists(sides[0][0]) and _is_trace(sides[0][0])
    together: Dict[str, Any] = json.loads(call(["compare", "--format=json", *(["--explain"] if explain else []), *options,
                                                *sides[0], "--new", *sides[1]]))
    return together


def report(*paths: Path, out: Path = "report.html") -> str:
    """Writes a page about a result of `run`, or about traces, and returns its path."""
    call(["report", f"--out={os.fspath(out)}", "--", *map(os.fspath, paths)])
    return os.fspath(out)
