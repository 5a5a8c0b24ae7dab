"""``Run``: the verdicts on some cases at some models, counted, compared, and written as lines of JSON."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from toolshape.calls import Coercion
from toolshape.errors import UsageError
from toolshape.evals.matchers import Matcher
from toolshape.evals.page import page_of
from toolshape.evals.verdict import RIGHT, Difference, Verdict

__all__ = ["Comparison", "Run", "Share", "wilson"]

_LONGEST_DIFFERENCE = 100
_LEAST_EVIDENCE = 0.05


class Share(NamedTuple):
    """How many of some trials were right, with the interval in which the true share lies in 95 of 100 such runs.

    ``every`` is the share of the cases that were right in each of their trials (pass^k, k being all of them).
    """

    right: int
    total: int
    low: float
    high: float
    every: float

    def __str__(self) -> str:
        return f"{self.right} of {self.total} ({self.low:.0%} to {self.high:.0%}), every trial: {self.every:.0%}"


class Comparison(NamedTuple):
    """Two runs of the same cases: how many of these are right more often in the one, and in the other.

    ``chance`` is a two-sided sign test's: how often as uneven a split, or one more so, comes of models that are as good.
    """

    better: int
    worse: int
    chance: float

    def __str__(self) -> str:
        evidence = "no evidence of a difference" if self.chance > _LEAST_EVIDENCE else "a difference"
        return f"better in {self.better}, worse in {self.worse}: {evidence} (p = {self.chance:.3f})"


def wilson(right: int, total: int) -> tuple[float, float]:
    """Wilson's interval at 95 per cent for a share."""
    if not total:
        return 0.0, 1.0
    z = 1.959964
    share, square = right / total, z * z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = z * math.sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
    return max(middle - half, 0.0), min(middle + half, 1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """The verdicts of one evaluation, by case, model and trial in this order. ``str()`` is a table."""

    verdicts: tuple[Verdict, ...]

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in the order in which they were given."""
        return tuple(dict.fromkeys(one.model for one in self.verdicts))

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases, in their order."""
        return tuple(dict.fromkeys(one.case for one in self.verdicts))

    def of(self, model: str) -> "Run":
        """The verdicts at one model."""
        return Run(verdicts=tuple(one for one in self.verdicts if one.model == model))

    def share(self) -> Share:
        """How many trials were right; those that failed count among them."""
        right = [one.label in RIGHT for one in self.verdicts]
        by_case = [all(one.label in RIGHT for one in self.verdicts if one.case == case) for case in self.cases]
        low, high = wilson(sum(right), len(right))
        return Share(sum(right), len(right), low, high, sum(by_case) / len(by_case) if by_case else 0.0)

    def compare(self, other: "Run") -> Comparison:
        """Compare with another run, case by case; a case that one of them lacks is left out.

        Args:
            other: A run of the same models, at each of which the cases are then compared; or, if either is of one model
                alone, as ``run.of(model)``, of another.

        Raises:
            UsageError: They are of several models, which are not the same.
        """
        by_model = len(self.models) > 1 or len(other.models) > 1
        if by_model and set(self.models) != set(other.models):
            raise UsageError("two runs of several models are compared where these are the same: choose one with of()")
        mine, theirs = (_shares(one, by_model=by_model) for one in (self, other))
        both = mine.keys() & theirs.keys()
        better = sum(mine[one] > theirs[one] for one in both)
        worse = sum(mine[one] < theirs[one] for one in both)
        return Comparison(better, worse, _sign_test(better, worse))

    def to_html(self, title: str = "Evaluation") -> str:
        """One page for people who look: it loads nothing, and works without JavaScript.

        Args:
            title: What the page is called.
        """
        return page_of(self, title)

    def to_json_lines(self) -> str:
        """Each verdict as a line of JSON."""
        return "".join(_line(_as_json(one)) for one in self.verdicts)

    @classmethod
    def from_json_lines(cls, given: str) -> "Run":
        """A run that ``to_json_lines`` wrote; where matchers were expected, there are their texts.

        Raises:
            UsageError: A line is no verdict.
        """
        return cls(verdicts=tuple(_of_json(line) for line in given.split("\n") if line.strip()))

    def __str__(self) -> str:
        head = ["case", *self.models]
        rows = [[case, *(self._cell(case, model) for model in self.models)] for case in self.cases]
        rows.append(["all", *(str(self.of(model).share()) for model in self.models)])
        lines = list(_aligned([head, *rows]))
        first = [self._first_difference(case, model) for case in self.cases for model in self.models]
        return "\n".join([*lines, *filter(None, first)])

    def _cell(self, case: str, model: str) -> str:
        own = [one for one in self.verdicts if one.case == case and one.model == model]
        return f"{sum(one.label in RIGHT for one in own)} of {len(own)}"

    def _first_difference(self, case: str, model: str) -> str:
        """What was wrong first, in a line."""
        for one in self.verdicts:
            if one.case == case and one.model == model and one.label not in RIGHT:
                said = one.error or "; ".join(map(str, one.differences[:1]))
                return f"{case}, {model}, trial {one.trial}: {said[:_LONGEST_DIFFERENCE]}"
        return ""


def _shares(run: Run, *, by_model: bool) -> dict[tuple[str, str], float]:
    """The share of the trials of each case that are right."""
    found: dict[tuple[str, str], list[bool]] = {}
    for one in run.verdicts:
        found.setdefault((one.case, one.model if by_model else ""), []).append(one.label in RIGHT)
    return {key: sum(each) / len(each) for key, each in found.items()}


def _sign_test(better: int, worse: int) -> float:
    """How often as uneven a split, or one more so, comes by chance."""
    number, least = better + worse, min(better, worse)
    tail: float = sum(math.comb(number, one) for one in range(least + 1)) / (1 << number)
    return min(2 * tail, 1.0)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _as_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "case": verdict.case,
        "model": verdict.model,
        "trial": verdict.trial,
        "label": verdict.label,
        "score": verdict.score,
        "differences": [
            {
                "kind": one.kind,
                "tool": one.tool,
                "path": one.path,
                "expected": _plain(one.expected),
                "actual": _plain(one.actual),
            }
            for one in verdict.differences
        ],
        "coercions": [one._asdict() for one in verdict.coercions],
        "finish": verdict.finish,
        "error": verdict.error,
        "steps": verdict.steps,
    }


def _line(given: dict[str, Any]) -> str:
    text = json.dumps(given, ensure_ascii=False, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        text = json.dumps(given, default=str)
    return f"{text}\n"


def _of_json(line: str) -> Verdict:
    try:
        given = json.loads(line)
        differences = tuple(Difference(**one) for one in given.pop("differences"))
        coercions = tuple(Coercion(**one) for one in given.pop("coercions"))
        return Verdict(**given, differences=differences, coercions=coercions)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"no verdict of an evaluation ({error!r}): {line[:_LONGEST_DIFFERENCE]}") from error


def _plain(value: Any) -> Any:
    """A value whose matchers are the texts of them."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.says if isinstance(value, Matcher) else value
