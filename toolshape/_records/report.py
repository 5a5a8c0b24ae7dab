"""Reports how tools differ from their wire form, as a table for people and as data for programs."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from toolshape._records.calls import Finding, JsonObject, Loss
from toolshape._records.shown import escape_invisible

Severity: TypeAlias = Literal["mapped_back", "enforced", "not_enforced", "lost"]
_SEVERITIES: dict[str, Severity] = {
    "renamed": "mapped_back",
    "reshaped": "mapped_back",
    "moved": "not_enforced",
    "dropped": "not_enforced",
    "widened": "not_enforced",
    "narrowed": "lost",
}


class Entry(NamedTuple):
    """One difference or finding about a tool's form for a provider.

    ``severity`` is one of:

    - ``mapped_back``: the wire form differs, and toolshape converts it back in every call;
    - ``enforced``: the provider's engine was measured to keep these constraints
      (``kept_by_engine``);
    - ``not_enforced``: the provider does not enforce the constraint (at most, the model reads it),
      but toolshape validates it. Every other finding is ``not_enforced``;
    - ``lost``: a model can no longer send the value.

    ``rule`` is the schema keyword, or the name of the finding.
    """

    tool: str
    path: str
    rule: str
    kind: str
    severity: Severity
    note: str


class Report:
    """The differences between tools and their form for a provider.

    ``str()`` returns a table, ``data`` holds JSON.
    """

    __slots__ = ("entries",)

    def __init__(self, differences: Iterable[tuple[str, Loss | Finding]]) -> None:
        self.entries = tuple(_entry(tool, difference) for tool, difference in differences)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<Report: {len(self)} entries>"

    def __str__(self) -> str:
        if self.entries:
            return table(Entry._fields, self.entries)
        return "nothing changed, nothing found"

    @property
    def data(self) -> list[JsonObject]:
        """The entries as a list of JSON objects."""
        return [entry._asdict() for entry in self.entries]

    @property
    def json(self) -> str:
        """The entries as JSON text."""
        return json.dumps(self.data, ensure_ascii=False, indent=2)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format rows as a table with aligned columns."""
    lines = [[escape_invisible(cell) for cell in line] for line in (head, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    padded = (
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]
        )
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


def _entry(tool: str, difference: Loss | Finding) -> Entry:
    if isinstance(difference, Finding):
        path, rule, message = difference
        if rule == "kept_by_engine":
            severity: Severity = "enforced"
        else:
            severity = "not_enforced"
        return Entry(tool, path, rule, "finding", severity, message)
    if difference.ambiguous:
        note = f"{difference.note}; canonical and wire form may look alike"
    else:
        note = difference.note
    return Entry(
        tool,
        difference.path,
        difference.keyword,
        difference.kind,
        _SEVERITIES[difference.kind],
        note,
    )
