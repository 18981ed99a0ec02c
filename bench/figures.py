"""The lines of a report: what was measured, the figure, and the budget it has to keep."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Report:
    """Prints each line when it is known and remembers which missed its budget."""

    missed: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Begins a part."""
        print(f"\n{text}")

    def line(self, what: str, figure: float, unit: str, *, at_most: float | None = None, at_least: float | None = None) -> None:
        """One figure, and whether it keeps its budget."""
        budget = verdict = ""
        if at_most is not None:
            budget, kept = f"at most {at_most:g}", figure <= at_most
        elif at_least is not None:
            budget, kept = f"at least {at_least:g}", figure >= at_least
        else:
            kept = True
        if budget:
            verdict = "kept" if kept else "MISSED"
        if not kept:
            self.missed.append(what)
        print(f"  {what:<72} {figure:>10.4g} {unit:<8} {budget:<16} {verdict}".rstrip(), flush=True)

    def finish(self) -> int:
        """Says how it went; returns the exit code."""
        print(f"\n{len(self.missed)} budgets missed" + (": " + "; ".join(self.missed) if self.missed else ""))
        return 1 if self.missed else 0
