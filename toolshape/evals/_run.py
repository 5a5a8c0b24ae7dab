"""Holds the verdicts of an evaluation, counts and compares them, and reads and writes JSON."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from toolshape._records.calls import Coercion
from toolshape._records.errors import UsageError
from toolshape._records.result import Usage, add_usage, usage_text
from toolshape.evals._matchers import Matcher
from toolshape.evals._page import render_run
from toolshape.evals._verdict import (
    RIGHT,
    Column,
    Difference,
    DifferenceKind,
    Label,
    Numbered,
    Verdict,
    group_by_column,
)

_LONGEST_DIFFERENCE = 100
_LEAST_EVIDENCE = 0.05
# Assume that the runs differ in 20 cases, and that each of these cases favours the better run with
# a probability of 80 %. Then the sign test finds a difference in 80 % of comparisons.
_ENOUGH_CASES = 20


class Share(NamedTuple):
    """The number of right trials, with a 95% confidence interval (``low`` to ``high``)
    for the share of right trials.

    ``every`` is the share of cases that were right in all of their trials (pass^k, with k = the
    number of trials).
    """

    right: int
    total: int
    low: float
    high: float
    every: float

    def __str__(self) -> str:
        return (
            f"{self.right} of {self.total} ({self.low:.0%} to {self.high:.0%}), every trial: "
            f"{self.every:.0%}"
        )


class Comparison(NamedTuple):
    """The comparison of two runs of the same cases.

    ``better`` counts the cases in which the first run is right more often. ``worse`` counts the
    cases in which the first run is right less often. ``chance`` is the p-value of a two-sided sign
    test: if both runs were equally good, a split at least this uneven would have this probability.
    ``cases`` is the number of cases that both runs have.
    """

    better: int
    worse: int
    chance: float
    cases: int

    def __str__(self) -> str:
        if self.chance <= _LEAST_EVIDENCE:
            evidence = "a difference"
        elif self.cases < _ENOUGH_CASES:
            evidence = (
                f"{self.cases} {'case is' if self.cases == 1 else 'cases are'} too few to tell"
            )
        else:
            evidence = "no evidence of a difference"
        return f"better in {self.better}, worse in {self.worse}: {evidence} (p = {self.chance:.3f})"


def wilson(right: int, total: int) -> tuple[float, float]:
    """Return the 95% Wilson confidence interval for a share."""
    if not total:
        return 0.0, 1.0
    z = 1.959964
    share, square = right / total, z * z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = (
        z
        * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
        / (1 + square / total)
    )
    return max(middle - half, 0.0), min(middle + half, 1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """The verdicts of one evaluation, sorted by case, track, model and trial.

    ``str()`` returns a table.
    """

    verdicts: tuple[Verdict, ...]

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, in the order of the evaluation."""
        return tuple(dict.fromkeys(verdict.model for verdict in self.verdicts))

    @property
    def tracks(self) -> tuple[str, ...]:
        """The names of the sets of tools, in the order of the evaluation.

        Empty if ``evaluate`` got one registry.
        """
        return tuple(dict.fromkeys(verdict.track for verdict in self.verdicts if verdict.track))

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of the cases, in the order of the evaluation."""
        return tuple(dict.fromkeys(verdict.case for verdict in self.verdicts))

    def of(self, model: str | None = None, track: str | None = None) -> "Run":
        """Return a run with the verdicts of one model, one track, or both.

        Args:
            model: The name of a model. The default is all models.
            track: The name of a set of tools. The default is all sets.
        """
        selected = (
            verdict
            for verdict in self.verdicts
            if model in (None, verdict.model) and track in (None, verdict.track)
        )
        return Run(verdicts=tuple(selected))

    def share(self) -> Share:
        """Count the right trials. Failed trials count as not right."""
        in_every_trial: dict[str, bool] = {}
        right = 0
        for verdict in self.verdicts:
            is_right = verdict.label in RIGHT
            right += is_right
            in_every_trial[verdict.case] = in_every_trial.get(verdict.case, True) and is_right
        low, high = wilson(right, len(self.verdicts))
        if in_every_trial:
            every = sum(in_every_trial.values()) / len(in_every_trial)
        else:
            every = 0.0
        return Share(right, len(self.verdicts), low, high, every)

    def compare(self, other: "Run") -> Comparison:
        """Compare this run with another run, case by case. Cases that only one run has are ignored.

        Args:
            other: A run with the same models and tracks. Each case is compared separately for each
                model and track. If each run has only one model, for example ``run.of(model)``, the
                models may differ. The same applies to tracks.

        Raises:
            UsageError: The runs have several models (or tracks), and their models (or tracks)
                differ.
        """
        by_model = self._is_paired("model", self.models, other.models)
        by_track = self._is_paired("track", self.tracks, other.tracks)
        own_shares, other_shares = (
            _shares(run, by_model=by_model, by_track=by_track) for run in (self, other)
        )
        common_keys = own_shares.keys() & other_shares.keys()
        better = sum(own_shares[key] > other_shares[key] for key in common_keys)
        worse = sum(own_shares[key] < other_shares[key] for key in common_keys)
        return Comparison(better, worse, _sign_test(better, worse), len(common_keys))

    @staticmethod
    def _is_paired(what: str, mine: Sequence[str], theirs: Sequence[str]) -> bool:
        """Return whether a run has several models (or tracks), so each case is
        compared separately for each of them.

        Raises:
            UsageError: A run has several models (or tracks), and the runs differ in their models
                (or tracks).
        """
        is_paired = len(mine) > 1 or len(theirs) > 1
        if is_paired and set(mine) != set(theirs):
            raise UsageError(
                f"the runs have several {what}s, and the {what}s differ: choose one {what} with "
                "of()"
            )
        return is_paired

    def to_html(self, title: str = "Evaluation") -> str:
        """Return an HTML page that shows the run.

        The page loads no other files, and works without JavaScript.

        Args:
            title: The title of the page.
        """
        shares = {column: column_run.share() for column, column_run in runs_by_column(self).items()}
        return render_run(self, title, shares, [*compare_tracks(self), *compare_models(self)])

    def to_json_lines(self) -> str:
        """Return the verdicts as JSON lines: one line for each verdict."""
        return "".join(_line(_to_json(verdict)) for verdict in self.verdicts)

    @classmethod
    def from_json_lines(cls, given: str) -> "Run":
        """Read a run that ``to_json_lines`` wrote. Matchers in expected values are read as strings.

        Raises:
            UsageError: A line is not a verdict.
        """
        return cls(verdicts=tuple(_from_json(line) for line in given.split("\n") if line.strip()))

    def __str__(self) -> str:
        columns = group_by_column(self.verdicts)
        rows = [["case", *map(str, columns)]]
        rows += [
            [case, *(_cell(column.get(case, ())) for column in columns.values())]
            for case in self.cases
        ]
        rows.append(["all", *(str(_run_of(column).share()) for column in columns.values())])
        first_differences = [
            _first_difference(case, name, column.get(case, ()))
            for case in self.cases
            for name, column in columns.items()
        ]
        tracks = [f"{label}: {comparison}" for label, comparison in compare_tracks(self)]
        lines = [*_align_cells(rows), *filter(None, first_differences), *tracks]
        usage = add_usage(verdict.usage for verdict in self.verdicts)
        return "\n".join(lines if usage is None else [*lines, usage_text(usage)])


def compare_tracks(run: Run) -> Iterator[tuple[str, Comparison]]:
    """For each model, compare the first track with every other track.

    Yield a label and the comparison.
    """
    by_model: dict[str, list[tuple[str, Run]]] = {}
    for column, column_run in runs_by_column(run).items():
        by_model.setdefault(column.model, []).append((column.track, column_run))
    for model, ((first, first_run), *other_tracks) in by_model.items():
        model_suffix = f", {model}" if len(by_model) > 1 else ""
        for track, other_run in other_tracks:
            yield f"{first} beside {track}{model_suffix}", first_run.compare(other_run)


def compare_models(run: Run) -> Iterator[tuple[str, Comparison]]:
    """For each track, compare the first model with every other model.

    Yield a label and the comparison.
    """
    by_track: dict[str, list[tuple[str, Run]]] = {}
    for column, column_run in runs_by_column(run).items():
        by_track.setdefault(column.track, []).append((column.model, column_run))
    for track, ((first, first_run), *other_models) in by_track.items():
        track_suffix = f", {track}" if track else ""
        for model, other_run in other_models:
            yield f"{first} beside {model}{track_suffix}", first_run.compare(other_run)


def runs_by_column(run: Run) -> dict[Column, Run]:
    """Split a run by column, that is by track and model."""
    return {column: _run_of(cases) for column, cases in group_by_column(run.verdicts).items()}


def _run_of(column: Mapping[str, Numbered]) -> Run:
    return Run(
        verdicts=tuple(
            verdict for numbered_verdicts in column.values() for _, verdict in numbered_verdicts
        )
    )


def _cell(own: Iterable[tuple[int, Verdict]]) -> str:
    labels = [verdict.label for _, verdict in own]
    return f"{sum(label in RIGHT for label in labels)} of {len(labels)}"


def _first_difference(case: str, column: Column, own: Iterable[tuple[int, Verdict]]) -> str:
    """Return one line that describes the first verdict that is not right, or an
    empty string if all are right.
    """
    for _, verdict in own:
        if verdict.label not in RIGHT:
            fault = verdict.error or "; ".join(map(str, verdict.differences[:1]))
            return f"{case}, {column}, trial {verdict.trial + 1}: {fault[:_LONGEST_DIFFERENCE]}"
    return ""


def _shares(run: Run, *, by_model: bool, by_track: bool) -> dict[tuple[str, str, str], float]:
    """Return the share of right trials for each case.

    On request, separate the shares by model or track.
    """
    trials: dict[tuple[str, str, str], list[bool]] = {}
    for verdict in run.verdicts:
        model = verdict.model if by_model else ""
        key = (verdict.case, model, verdict.track if by_track else "")
        trials.setdefault(key, []).append(verdict.label in RIGHT)
    return {key: sum(rights) / len(rights) for key, rights in trials.items()}


def _sign_test(better: int, worse: int) -> float:
    """Return the p-value of a two-sided sign test: twice the smaller tail of a
    binomial distribution with p = 1/2.

    The loop adds the terms of the tail, from the largest down, until they no longer change the sum.
    Each term follows from the term before it, so only the first term needs factorials. The function
    works with their logarithms, because the factorials would overflow for long runs.
    """
    number, least = better + worse, min(better, worse)
    if better == worse:
        return 1.0
    choices = math.lgamma(number + 1) - math.lgamma(least + 1) - math.lgamma(number - least + 1)
    term = math.exp(choices - number * math.log(2))
    tail = 0.0
    for right in range(least, -1, -1):
        tail += term
        if term < tail * 1e-17:
            break
        term *= right / (number - right + 1)
    return min(2 * tail, 1.0)


def _align_cells(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _to_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "case": verdict.case,
        "model": verdict.model,
        "track": verdict.track,
        "trial": verdict.trial,
        "label": verdict.label,
        "score": verdict.score,
        "differences": [
            {
                "kind": difference.kind,
                "tool": difference.tool,
                "path": difference.path,
                "expected": _replace_matchers(difference.expected),
                "actual": _replace_matchers(difference.actual),
            }
            for difference in verdict.differences
        ],
        "coercions": [coercion._asdict() for coercion in verdict.coercions],
        "finish": verdict.finish,
        "error": verdict.error,
        "steps": verdict.steps,
        "question": verdict.question,
        "calls": list(verdict.calls),
        "answer": verdict.answer,
        "usage": None if verdict.usage is None else verdict.usage._asdict(),
    }


def _line(given: dict[str, Any]) -> str:
    text = json.dumps(given, ensure_ascii=False, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:  # The text contains a lone surrogate.
        text = json.dumps(given, default=str)
    return f"{text}\n"


def _from_json(line: str) -> Verdict:
    try:
        members = _check_members(json.loads(line), _VERDICT)
        calls, usage = members.pop("calls", ()), members.pop("usage", None)
        differences = tuple(
            Difference(**_check_members(entry, _DIFFERENCE)) for entry in members.pop("differences")
        )
        coercions = tuple(
            Coercion(**_check_members(entry, _COERCION)) for entry in members.pop("coercions")
        )
        return Verdict(
            **members,
            differences=differences,
            coercions=coercions,
            calls=tuple(map(str, calls)),
            usage=None if usage is None else Usage(**usage),
        )
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise UsageError(
            f"not a verdict of an evaluation ({error!r}): {line[:_LONGEST_DIFFERENCE]}"
        ) from error


def _is_text(given: Any) -> bool:
    return isinstance(given, str)


def _is_count(given: Any) -> bool:
    return type(given) is int and given >= 0


def _is_share(given: Any) -> bool:
    return type(given) in (int, float) and 0 <= given <= 1


def _is_list(given: Any) -> bool:
    return isinstance(given, list)


def _is_anything(_: Any) -> bool:
    return True


_Fields = dict[str, Callable[[Any], bool]]
_VERDICT: _Fields = {
    "case": _is_text,
    "model": _is_text,
    "track": _is_text,
    "trial": _is_count,
    "label": frozenset(get_args(Label)).__contains__,
    "score": _is_share,
    "differences": _is_list,
    "coercions": _is_list,
    "finish": lambda given: given is None or _is_text(given),
    "error": _is_text,
    "steps": lambda given: _is_count(given) and given > 0,
    "question": _is_text,
    "calls": _is_list,
    "answer": _is_text,
    "usage": _is_anything,
}
_DIFFERENCE: _Fields = {
    "kind": frozenset(get_args(DifferenceKind)).__contains__,
    "tool": _is_text,
    "path": _is_text,
    "expected": _is_anything,
    "actual": _is_anything,
}
_COERCION: _Fields = {
    "path": _is_text,
    "rule": _is_text,
    "before": _is_anything,
    "after": _is_anything,
}


def _check_members(given: dict[str, Any], fields: _Fields) -> dict[str, Any]:
    """Check that a JSON object has only members that ``to_json_lines`` writes,
    because reports show these members.

    Raises:
        TypeError: A member is unknown.
        ValueError: A member has a wrong value.
    """
    for name, value in given.items():
        if name not in fields:
            raise TypeError(f"unknown member {name!r}")
        if not fields[name](value):
            raise ValueError(f"{name} cannot be {value!r:.50}")
    return given


def _replace_matchers(value: Any) -> Any:
    """Replace each matcher in a value with the text that describes it."""
    if isinstance(value, dict):
        return {name: _replace_matchers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_replace_matchers(item) for item in value]
    if isinstance(value, Matcher):
        return value.says
    return value
