"""The findings of `diagnose`: the dictionaries of docs/diagnosis.md, whose findings have attributes and are rows of a table."""
from typing import Any, Dict, List, Optional

# Columns of a table of findings; each is an attribute of Finding.
_COLUMNS = ("file", "rank", "name", "severity", "title", "gain", "lost_ms", "confidence", "place", "library", "evidence", "advice")


class Finding(Dict[str, Any]):
    """One finding: a dictionary with the members that docs/diagnosis.md has, of which the usual ones are attributes."""

    file: str = ""  # the trace or snapshot that it is of; "": the ranks of a run, together
    severity: str   # information, minor, major or critical
    title: str      # what is wrong
    evidence: str   # the numbers that decided, as a sentence
    advice: str     # what to do
    confidence: Optional[str]  # low, medium or high; None for snapshots
    rank: Optional[int]        # that it costs most, of the ranks of a run

    def __getattr__(self, name: str) -> Any:
        if name in Finding.__annotations__:
            return self.get(name)
        raise AttributeError(name)

    @property
    def name(self) -> str:
        """Its id, which `chokepoint explain` knows."""
        return str(self["id"])

    @property
    def gain(self) -> Optional[float]:
        """How many times as fast a step becomes by the advice, as predicted; None: no gain is."""
        return self.get("predicted_gain")

    @property
    def lost_ms(self) -> Optional[float]:
        """Milliseconds that it costs per step; None: it costs no time."""
        lost = self.get("lost_ns_per_step")
        return None if lost is None else lost / 1e6

    @property
    def place(self) -> str:
        """The user's line that most of the cost comes from, as the page names it; "": not known."""
        return str((self.get("where") or {}).get("text", ""))

    @property
    def library(self) -> str:
        """The line of an installed package in what `place` calls; "": none stands out."""
        return str((self.get("library") or {}).get("text", ""))

    def __repr__(self) -> str:
        gain = "" if self.gain is None else f", predicted gain {self.gain:.2f}x"
        return f"<Finding {self.name}, {self.severity}{gain}{', at ' if self.place else ''}{self.place}>"


class Findings(List[Finding]):
    """Findings, the most important first."""

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with one row per finding."""
        import pandas

        return pandas.DataFrame([[getattr(one, name) for name in _COLUMNS] for one in self], columns=list(_COLUMNS))


class Diagnosis(Dict[str, Any]):
    """The document of `chokepoint diagnose --format=json`, with each finding as a Finding."""

    def __init__(self, document: Dict[str, Any]) -> None:
        super().__init__(document)
        self.findings = Findings()
        """All of them: those of a run once, not again for each of its ranks."""
        run = self.get("run")
        parts = [(run, "")] if run else []
        parts += [(trace, trace["file"]) for trace in self["traces"]]
        parts += [(device, snapshot["file"]) for snapshot in self["snapshots"] for device in snapshot["devices"]]
        for part, file in parts:
            part["findings"] = Findings(map(Finding, part["findings"]))
            for finding in part["findings"]:
                finding.file = file
            if not run or part is run or "rank" not in part:
                self.findings.extend(part["findings"])

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with one row per finding."""
        return self.findings.to_dataframe()
