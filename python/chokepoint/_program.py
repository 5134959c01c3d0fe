"""The program, and what it says as JSON."""
import json
import os
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Union

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


def environment() -> Dict[str, str]:
    """`report` is made by this Python, which has Jinja2 if any has."""
    return {**os.environ, "CHOKEPOINT_PYTHON": sys.executable}


def call(arguments: List[str], given: bytes = b"") -> str:
    """The output of the program. Error: its exit code is neither 0 nor 1."""
    done = subprocess.run(["chokepoint", *arguments], executable=PROGRAM, input=given, capture_output=True, check=False, env=environment())
    if done.returncode not in (0, 1):
        raise Error(done.returncode, done.stderr.decode(errors="replace").strip())
    return done.stdout.decode()


def version() -> str:
    """The version of this package; in a checkout, which has no package, that of the program; "": neither is there."""
    try:
        from importlib.metadata import version as of_package

        return of_package("chokepoint")
    except ImportError:
        return call(["--version"]).split()[-1] if os.path.exists(PROGRAM) else ""


def diagnose(*traces: Union[Path, bytes], timeline: int = 0) -> Dict[str, Any]:
    """The findings in these traces, as `chokepoint diagnose --format=json` has them.

    traces: files, folders of them, or the bytes of one trace. Several files that are the ranks of a run are judged
    together.
    timeline: that many steps of each trace as a picture needs them; 0: none.
    """
    options = ["diagnose", "--format=json"] + ([f"--timeline={timeline}"] if timeline else [])
    texts = [trace for trace in traces if isinstance(trace, bytes)]
    if texts and len(traces) > 1:
        raise TypeError("bytes stand alone: give one trace as bytes, or files")
    names = ["-"] if texts else [os.fspath(trace) for trace in traces if not isinstance(trace, bytes)]
    result: Dict[str, Any] = json.loads(call([*options, "--", *names], texts[0] if texts else b""))
    return result


def report(*paths: Path, out: Path = "report.html") -> str:
    """Writes a page about a result of `run`, or about traces, and returns its path. It needs Jinja2
    (pip install 'chokepoint[report]')."""
    call(["report", f"--out={os.fspath(out)}", "--", *map(os.fspath, paths)])
    return os.fspath(out)
