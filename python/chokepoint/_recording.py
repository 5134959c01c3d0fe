"""Recording from within a program: a notebook, or a script that says where its training is."""
import html
import importlib
import json
import os
import sys
import tempfile
from types import ModuleType, TracebackType
from typing import Any, Dict, Optional, Type

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

    The steps are found as `chokepoint record` finds them (docs/record.md). A notebook shows it as a page.
    """

    def __init__(self, steps: int = 8, stack_steps: int = 2, wait: int = 10, folder: Optional[str] = None) -> None:
        self.folder = folder or tempfile.mkdtemp(prefix="chokepoint-record-")
        os.makedirs(self.folder, exist_ok=True)
        self._module = _recorder()
        self._recorder = self._module.Recorder(self.folder, wait, steps, stack_steps)

    def __enter__(self) -> "recording":
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler's own lines fill the cell
        self._module.start(self._recorder)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
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
        why = str(self._recorder.shortfall())
        if why == "" and self.steps == 0:
            return "no PyTorch was imported" if "torch" not in sys.modules else "it is not over"
        return why

    def diagnose(self) -> Dict[str, Any]:
        """The findings of the recorded steps, as chokepoint.diagnose() has them. Error: nothing was recorded."""
        if self.steps == 0:
            raise Error(2, f"nothing was recorded: {self.why}")
        return diagnose(self.folder)

    def report(self, out: str = "report.html") -> str:
        """Writes the page of the recorded steps, and returns its path."""
        return report(self.folder, out=out)

    def __str__(self) -> str:
        if self.steps == 0:
            return f"Nothing was recorded: {self.why}"
        return call(["diagnose", "--", self.folder])

    def _repr_html_(self) -> str:
        """For a notebook: the report in a frame, or the page as text if there is no Jinja2."""
        if self.steps > 0:
            try:
                with open(self.report(os.path.join(self.folder, "report.html")), encoding="utf-8") as file:
                    page = html.escape(file.read(), quote=True)
                return f'<iframe srcdoc="{page}" style="width: 100%; height: 50em; border: 0"></iframe>'
            except Error:
                pass
        return f"<pre>{html.escape(str(self))}</pre>"
