"""A callback for the Trainer of Transformers: Trainer(..., callbacks=[chokepoint.transformers.Callback()])."""
from typing import Any

from transformers import TrainerCallback

from chokepoint._recording import Recorded


class Callback(Recorded, TrainerCallback):  # type: ignore[misc]
    """Records some steps of train(); then `diagnosis` has the findings, and the first rank prints the page.

    Its arguments are those of chokepoint.recording().
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        self.begin()

    def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        self.end(state.is_world_process_zero)
