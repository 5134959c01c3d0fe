"""A callback for Lightning: Trainer(callbacks=[chokepoint.lightning.Callback()])."""
import importlib.util
import sys
from typing import Any

from chokepoint._recording import Recorded

# The package that the program uses: lightning, or the older pytorch_lightning, whose trainers take their own callbacks.
_package = "lightning.pytorch"
if "lightning" not in sys.modules and ("pytorch_lightning" in sys.modules or importlib.util.find_spec("lightning") is None):
    _package = "pytorch_lightning"
_Callback: Any = importlib.import_module(_package).Callback


class Callback(Recorded, _Callback):  # type: ignore[misc]
    """Records some steps of fit(); then `diagnosis` has the findings, and the first rank prints the page.

    Its arguments are those of chokepoint.recording().
    """

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.begin()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self.end(trainer.is_global_zero)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.end(trainer.is_global_zero)
