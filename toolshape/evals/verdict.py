"""``Verdict``: what became of one case, and every difference that was found."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolshape.calls import Coercion

__all__ = ["RIGHT", "Difference", "DifferenceKind", "Label", "Verdict"]

Label: TypeAlias = Literal["right", "right_after_coercion", "wrong", "failed"]
RIGHT: frozenset[Label] = frozenset({"right", "right_after_coercion"})
"""The labels of a case that was answered as it should be."""
DifferenceKind: TypeAlias = Literal[
    "missing_call", "extra_call", "forbidden_call", "unknown_tool", "refused_arguments", "value", "order"
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Where a call is not as it was expected.

    ``path`` is a place in the arguments; ``expected`` and ``actual`` are values as the function would get them, a matcher,
    or the arguments of a whole call.
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

    ``label``: ``right``; ``right_after_coercion``, what was called is right once it is coerced; ``wrong``; or ``failed``,
    where no response came that could be looked at, and ``error`` says why. ``score`` is from 0 to 1: the share of the
    expected calls that were made, each by the share of its arguments, an extra call counting as one that is wrong.
    ``finish`` is why the last response ended; ``steps`` is how often the model was asked. ``track`` is the name of the set
    of tools, where several were given.
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
