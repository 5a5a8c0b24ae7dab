"""The judgement of one trial of a case, with every difference from the expected calls."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._records.calls import Coercion
from toolshape._records.result import Usage

Label: TypeAlias = Literal["right", "right_after_coercion", "wrong", "failed"]
RIGHT: frozenset[Label] = frozenset({"right", "right_after_coercion"})
"""The labels of right verdicts."""
DifferenceKind: TypeAlias = Literal[
    "missing_call",
    "extra_call",
    "forbidden_call",
    "unknown_tool",
    "refused_arguments",
    "value",
    "order",
    "missing_answer",
    "refused_answer",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One difference between an expected call and an actual call, or between the
    expected and the actual answer.

    ``tool`` is the name of the tool, or of the output if the answers differ. ``path`` shows where
    in the arguments or the answer they differ. ``expected`` and ``actual`` are values as the
    function would receive them, or the arguments of a whole call. ``expected`` may also be a
    matcher. If the arguments or the answer were refused, ``actual`` is the reason.
    """

    kind: DifferenceKind
    tool: str
    path: str = ""
    expected: Any = None
    actual: Any = None

    def __str__(self) -> str:  # noqa: PLR0911 - one line per kind
        if self.path:
            place = f"{self.tool}.{self.path}"
        else:
            place = self.tool
        match self.kind:
            case "value":
                return f"{place}: expected {self.expected!r}, got {self.actual!r}"
            case "missing_call":
                return f"{place}: not called with {self.expected!r}"
            case "missing_answer":
                return f"{place}: no answer, expected {self.expected!r}"
            case "refused_arguments" | "refused_answer":
                return f"{place}: refused: {self.actual!r}"
            case "unknown_tool":
                return f"{place}: there is no such tool"
            case "order":
                return f"{place}: called out of order"
            case _:
                return f"{place}: {self.kind.replace('_', ' ')} with {self.actual!r}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The judgement of one trial of a case with a model.

    ``label`` is ``right``, ``right_after_coercion`` (right, but only after coercion), ``wrong``, or
    ``failed`` (a request failed or its response could not be read, and ``error`` is the reason).
    ``score`` is from 0 to 1: the share of expected calls that were made, each weighted by its share
    of right arguments. An expected answer counts as a call. An extra call counts as a wrong call.
    ``finish`` is the reason why the last response ended. ``steps`` is the number of requests.
    ``track`` is the name of the set of tools, if there are several sets. ``evaluate`` also keeps
    the ``question``, the ``calls`` of all responses as they may be seen, the last text of the model
    (``answer``), and the tokens of all responses (``usage``).
    """

    case: str
    label: Label
    score: float
    differences: tuple[Difference, ...] = ()
    coercions: tuple[Coercion, ...] = ()
    finish: str | None = None
    error: str = ""
    model: str = ""
    trial: int = 0
    steps: int = 1
    track: str = ""
    question: str = ""
    calls: tuple[str, ...] = ()
    answer: str = ""
    usage: Usage | None = None


class Column(NamedTuple):
    """A column of a report: a model, and the set of tools (track) if there are several sets."""

    track: str
    model: str

    def __str__(self) -> str:
        if self.track:
            return f"{self.track} / {self.model}"
        return self.model


Numbered: TypeAlias = list[tuple[int, Verdict]]
"""Verdicts with their positions in the run."""


def group_by_column(verdicts: Iterable[Verdict]) -> dict[Column, dict[str, Numbered]]:
    """Group verdicts by column and case.

    Columns and cases stay in the order in which they first appear.
    """
    columns: dict[Column, dict[str, Numbered]] = {}
    for number, verdict in enumerate(verdicts):
        column = columns.setdefault(Column(verdict.track, verdict.model), {})
        column.setdefault(verdict.case, []).append((number, verdict))
    return columns
