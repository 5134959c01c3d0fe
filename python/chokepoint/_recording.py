"""Recording from within a program: a notebook, or a script that says where its training is."""
import html
import importlib
import json
import os
import sys
import tempfile
from types import ModuleType, TracebackType
from typing import Any, Optional, Type

from chokepoint._diagnosis import Diagnosis
from chokepoint._program import PROGRAM, Error, call, diagnose, report


def _recorder() -> ModuleType:
    """The module that `chokepoint record` uses, in the program's folder."""
    folder = os.path.dirname(os.path.realpath(PROGRAM))
    for place in ("scripts", os.path.join("..", "share", "chokepoint")):
        path = os.path.join(folder, place, "recorder")
        if os.path.exists(os.path.join(path, "chokepoint_recorder.py")):
            sys.path.insert(0, path)
            try:
                return importlib.import_module("chokepoint_recorder")
            finally:
                sys.path.remove(path)
    raise Error(3, f"the recorder is not beside {PROGRAM}: install chokepoint again")


class recording:
    """Records a few of the training steps that are done within it, and shows what slows them down.

    wait: steps before the recording, which warm up and are timed.
    steps: those that are recorded plainly, for times; stack_steps: those with stacks, for lines of code.
    folder: where the traces go; a new temporary folder if not given.
    step: "forward" if each call of the model is one.

    The steps are found as `chokepoint record` finds them (docs/record.md). A notebook shows it as a page. diagnose(), report()
    and compare() of this package take a recording in place of its folder.
    """

    def __init__(self, steps: int = 8, stack_steps: int = 2, wait: int = 10, folder: Optional[str] = None,
                 step: str = "optimizer") -> None:
        if step not in ("optimizer", "forward"):
            raise ValueError(f"step is optimizer or forward, not {step!r}")
        self.folder = folder or tempfile.mkdtemp(prefix="chokepoint-record-")
        os.makedirs(self.folder, exist_ok=True)
        self.is_over = False
        self._module = _recorder()
        self._recorder = self._module.Recorder(self.folder, wait, steps, stack_steps, by_forward=step == "forward")

    def __enter__(self) -> "recording":
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler's own lines fill the cell
        self._module.start(self._recorder)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.is_over = True
        self._recorder.ended()
        self._module.stop(self._recorder)
        with open(os.path.join(self.folder, "record.json"), "w", encoding="utf-8") as file:
            json.dump({"schema": self._module.SCHEMA, "command": sys.argv, "processes": [self._recorder.note()]}, file)

    @property
    def steps(self) -> int:
        """How many steps were recorded plainly; 0: none was, and `why` says why."""
        return sum(part["steps"] for part in self._recorder.files if part["part"] == "plain")

    @property
    def why(self) -> str:
        """Why less was recorded than was asked for; "": all is there."""
        why = str(self._recorder.shortfall()).replace("--", "")  # an option of the command is an argument here
        if why == "" and self.steps == 0:
            return "no PyTorch was imported" if "torch" not in sys.modules else "it is not over"
        return why

    def diagnose(self) -> Diagnosis:
        """The findings of the recorded steps, as chokepoint.diagnose() has them. Error: nothing was recorded."""
        if self.steps == 0:
            raise Error(2, f"nothing was recorded: {self.why}")
        return diagnose(self.folder)

    def report(self, out: str = "report.html") -> str:
        """Writes the page of the recorded steps, and returns its path."""
        return report(self.folder, out=out)

    def __fspath__(self) -> str:
        return self.folder

    def __repr__(self) -> str:
        said = f"{self.steps} steps in {self.folder}" if self.steps > 0 else f"nothing was recorded: {self.why}"
        return f"<chokepoint.recording: {said}>"

    def __str__(self) -> str:
        if self.steps == 0:
            return f"Nothing was recorded: {self.why}"
        return call(["diagnose", "--", self.folder])

    def _repr_html_(self) -> str:
        """For a notebook: the report in a frame."""
        if self.steps > 0:
            try:
                with open(self.report(os.path.join(self.folder, "report.html")), encoding="utf-8") as file:
                    page = html.escape(file.read(), quote=True)
                return f'<iframe srcdoc="{page}" style="width: 100%; height: 50em; border: 0"></iframe>'
            except Error:
                pass
        return f"<pre>{html.escape(str(self))}</pre>"


class Recorded:
    """The common part of trainers' callbacks: they record some steps of a training, and then print the page.

    recording: the recording, from the training's start on; diagnosis: its findings, once the training has ended, or None.
    how: arguments of chokepoint.recording().
    """

    def __init__(self, **how: Any) -> None:
        super().__init__()
        self.how = how
        self.recording: Optional[recording] = None
        self.diagnosis: Optional[Diagnosis] = None

    def begin(self) -> None:
        self.end(False)
        self.recording, self.diagnosis = recording(**self.how), None
        self.recording.__enter__()

    def end(self, is_first_rank: bool = True) -> None:
        """The training has ended; the first rank prints its page."""
        if self.recording is None or self.recording.is_over:
            return
        self.recording.__exit__(None, None, None)
        try:
            if self.recording.steps > 0:
                self.diagnosis = self.recording.diagnose()
            if is_first_rank:
                print(self.recording)
        except Error as error:  # the training goes on
            print(f"chokepoint: {error}", file=sys.stderr)
