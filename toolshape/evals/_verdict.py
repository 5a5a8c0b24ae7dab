"""``Verdict``: what became of one case, and every difference that was found."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._calls import Coercion

Label: TypeAlias = Literal["right", "right_after_coercion", "wrong", "failed"]
RIGHT: frozenset[Label] = frozenset({"right", "right_after_coercion"})
"""The labels of a case that was answered as it should be."""
DifferenceKind: TypeAlias = Literal[
    "missing_call", "extra_call", "forbidden_call", "unknown_tool", "refused_arguments", "value", "order"
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Where a call is not as it was expected.

    ``path`` is a place in the arguments; ``expected`` and ``actual`` are values as the function would get them, a
    matcher, or the arguments of a whole call.
    """

    kind: DifferenceKind
    tool: str
    path: str = ""
    expected: Any = None
    actual: Any = None

    def __str__(self) -> str:
        place = f"{self.tool}.{self.path}" if self.path else self.tool
        match self.kind:
            case "value":
                return f"{place}: expected {self.expected!r}, got {self.actual!r}"
            case "missing_call":
                return f"{place}: not called with {self.expected!r}"
            case "refused_arguments":
                return f"{place}: refused: {self.actual!r}"
            case "unknown_tool":
                return f"{place}: there is no such tool"
            case "order":
                return f"{place}: called out of order"
            case _:
                return f"{place}: {self.kind.replace('_', ' ')} with {self.actual!r}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What became of a case at a model.

    ``label``: ``right``; ``right_after_coercion``, what was called is right once it is coerced; ``wrong``; or
    ``failed``, where no response came that could be looked at, and ``error`` says why. ``score`` is from 0 to 1: the
    share of the expected calls that were made, each by the share of its arguments, an extra call counting as one that
    is wrong. ``finish`` is why the last response ended; ``steps`` is how often the model was asked. ``track`` is the
    name of the set of tools, where several were given.
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


class Column(NamedTuple):
    """What reports show side by side: a model, with one set of tools where there are several."""

    track: str
    model: str

    def __str__(self) -> str:
        return f"{self.track} / {self.model}" if self.track else self.model


Numbered: TypeAlias = list[tuple[int, Verdict]]
"""Verdicts with their positions in the run."""


def by_column(verdicts: Iterable[Verdict]) -> dict[Column, dict[str, Numbered]]:
    """Sort verdicts by column and case, in the order in which both first come, in one pass."""
    found: dict[Column, dict[str, Numbered]] = {}
    for number, verdict in enumerate(verdicts):
        column = found.setdefault(Column(verdict.track, verdict.model), {})
        column.setdefault(verdict.case, []).append((number, verdict))
    return found
