"""Holds measurements as rows, and writes the rows as tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from timing import Spread

__all__ = ["Row", "as_markdown"]

TITLES: Mapping[str, str] = {
    "call": "One call, in ratio to its floor",
    "definition": "Defining a tool, in ratio to what pydantic and docstring-parser take for the same function",
    "export": "Exporting 1,000 unchanged tools again, microseconds a tool",
    "import": "Importing, in ratio to importing the names that toolshape uses",
    "memory": "Memory of a tool beyond its pydantic model, after export to one provider, KB",
    "growth": "Growth: the exponent by which a cost grows",
    "instructions": "Instructions of one call, in ratio to its floor (callgrind)",
    "loop": "What surrounds a call, in ratio to a validated call or to the floor that is named, by time",
    "loop instructions": "The same by instructions (callgrind)",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure: the median, its quartiles if it was measured often, and the goal if there is one."""

    part: str
    what: str
    subject: str
    spread: Spread
    goal: float | None = None
    note: str = ""

    @property
    def is_reached(self) -> bool:
        """Return whether the median is within the goal."""
        return self.goal is None or self.spread.median <= self.goal


def as_markdown(rows: Iterable[Row]) -> str:
    """Return a table for each part, with a line for each measurement and a column for each subject."""
    lines: list[str] = []
    for part, part_rows in groupby(rows, key=lambda row: row.part):
        table = list(part_rows)
        subjects = list(dict.fromkeys(row.subject for row in table))
        lines += ["", f"### {TITLES[part]}", ""]
        lines += [f"| | {' | '.join(subjects)} | |", f"|---|{'---|' * len(subjects)}---|"]
        for label in dict.fromkeys(row.what for row in table):
            cells = {row.subject: row for row in table if row.what == label}
            note = next((row.note for row in cells.values() if row.note), "")
            cell_texts = [_cell(cells[subject]) if subject in cells else "" for subject in subjects]
            lines.append(f"| {label} | {' | '.join(cell_texts)} | {note} |")
    return "\n".join(lines).lstrip("\n") + "\n"


def _cell(row: Row) -> str:
    spread = row.spread
    text = f"{_figure(spread.median)}"
    if spread.low != spread.high:
        text += f" ({_figure(spread.low)} to {_figure(spread.high)})"
    if row.goal is None:
        return text
    return f"{text}, goal {row.goal:g}" if row.is_reached else f"**{text}, goal {row.goal:g}**"


def _figure(value: float) -> str:
    return f"{value:#.3g}".rstrip(".")
