"""``replay``: the responses of a trace planned again with the tools of today; what changed, and nothing is run."""

import functools
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from toolshape._errors import UsageError
from toolshape._registry import Registry
from toolshape._targets import TargetError, absolute, registry_of
from toolshape.trace._changes import Change, compared
from toolshape.trace._spans import Executors, Span, lines_in, over_spans, spans_of
from toolshape.trace._stages import is_whole_line, parse_line, why_unreadable

_SPAN = 1 << 18  # bytes of a span: some hundred responses, a few hundredths of a second
_LEAST_SPANS = 16  # of a file that is shorter
_SHORTEST_SPAN = 1 << 14
_MOST_SHOWN = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """What has changed since a trace was recorded: the same, whoever worked on it, and without times.

    ``responses`` and ``calls`` count those of the trace. ``not_compared`` are calls of which too little was kept, as of
    secrets. ``unreadable`` are the lines that are none of a trace, as one that a process left unfinished. ``str()``
    lists the changes, regressions first.
    """

    responses: int
    calls: int
    not_compared: int
    unreadable: tuple[int, ...]
    changes: tuple[Change, ...]

    @property
    def regressions(self) -> tuple[Change, ...]:
        """The changes by which a call that worked does not, or works otherwise."""
        return tuple(one for one in self.changes if one.is_regression)

    def to_json_lines(self) -> str:
        """A line for the counts, and one for each change with its stages, as JSON."""
        counts = {
            "responses": self.responses, "calls": self.calls, "not_compared": self.not_compared,
            "unreadable": list(self.unreadable), "changes": len(self.changes), "regressions": len(self.regressions),
        }  # fmt: skip
        lines = [counts, *(one.as_json() for one in self.changes)]
        return "".join(f"{json.dumps(one, ensure_ascii=False, default=str)}\n" for one in lines)

    def __str__(self) -> str:
        ordered = [*self.regressions, *(one for one in self.changes if not one.is_regression)]
        lines = [f"{'regression' if one.is_regression else 'change'}: {one}" for one in ordered[:_MOST_SHOWN]]
        if len(ordered) > _MOST_SHOWN:
            lines.append(f"... and {len(ordered) - _MOST_SHOWN} more")
        counts = [f"{self.responses} responses", f"{self.calls} calls", f"{len(self.changes)} changes"]
        counts.append(f"{len(self.regressions)} of them regressions")
        counts += [f"{self.not_compared} not compared"] if self.not_compared else []
        counts += [f"{len(self.unreadable)} lines unreadable"] if self.unreadable else []
        return "\n".join([*lines, ", ".join(counts)])


class _Part(NamedTuple):
    """What was found in one span; its lines are counted from 1. ``failure`` is why the tools could not be had."""

    lines: int
    responses: int
    calls: int
    not_compared: int
    unreadable: tuple[int, ...]
    changes: tuple[Change, ...]
    failure: str = ""


def replay(path: str | os.PathLike[str], tools: Registry | str, executor: Executors | None = None) -> Replay:
    """Plan each recorded response again, and say what changed; no tool is run.

    Args:
        path: What ``record`` wrote.
        tools: The tools of today: a registry, or ``"module:name"`` or ``"path.py:name"`` of one, which each worker
            imports.
        executor: An executor of ``concurrent.futures``, or a callable that makes one, as ``ProcessPoolExecutor`` or the
            ``get_executor`` of a Dask client. Its workers are given spans of the file, which each must be able to open.
            A callable is asked for another executor when one breaks, and what was lost is done again.

    Raises:
        UsageError: There is no such file, nothing of it can be read, there are no such tools, or an executor broke that
            was not given as a callable.
    """
    place = Path(path).absolute()
    if isinstance(tools, Registry) and executor is not None:
        raise UsageError("an executor's workers import the tools: pass them as 'module:name'")
    if not place.is_file():
        raise UsageError(f"there is no file {place}")
    length = place.stat().st_size
    size = min(_SPAN, max(length // _LEAST_SPANS, _SHORTEST_SPAN))
    spans = spans_of(str(place), length, size)
    given = tools if isinstance(tools, Registry) else absolute(tools)
    parts = over_spans(functools.partial(_replayed, given), spans, executor)
    found = _merged(parts)
    if found.unreadable and not found.responses:
        raise UsageError(f"nothing of {place} can be read: {why_unreadable(_first_line(place))}")
    return found


def _first_line(place: Path) -> bytes:
    """The first line that is not empty, or its beginning."""
    with place.open("rb") as file:
        return next((line for line in iter(lambda: file.readline(_SPAN), b"") if line.strip()), b"")


def _merged(parts: Iterable[_Part]) -> Replay:
    """The parts as one, lines counted from the beginning of the file.

    Raises:
        UsageError: A worker could not have the tools.
    """
    lines = responses = calls = not_compared = 0
    unreadable: list[int] = []
    changes: list[Change] = []
    for part in parts:
        if part.failure:
            raise UsageError(part.failure)
        unreadable += [lines + one for one in part.unreadable]
        changes += [replace(one, line=lines + one.line) for one in part.changes]
        lines, responses, calls = lines + part.lines, responses + part.responses, calls + part.calls
        not_compared += part.not_compared
    return Replay(
        responses=responses,
        calls=calls,
        not_compared=not_compared,
        unreadable=tuple(unreadable),
        changes=tuple(changes),
    )


@functools.lru_cache(maxsize=4)
def _registry(target: str) -> Registry:
    """The tools, imported once by each worker.

    Raises:
        TargetError: They cannot be.
    """
    return registry_of(target)


def _replayed(tools: Registry | str, span: Span) -> _Part:
    """What is found in the lines of one span."""
    try:
        registry = tools if isinstance(tools, Registry) else _registry(tools)
    except TargetError as error:
        return _Part(0, 0, 0, 0, (), (), str(error))
    number = responses = calls = not_compared = 0
    unreadable: list[int] = []
    changes: list[Change] = []
    for number, line in enumerate(lines_in(span), start=1):
        if not line.strip():
            continue
        try:
            one = parse_line(line, number) if is_whole_line(line) else None
        except UsageError:
            one = None
        if one is None:
            unreadable.append(number)
            continue
        found = compared(one, registry)
        responses, calls, not_compared = responses + 1, calls + found.calls, not_compared + found.not_compared
        changes += found.changes
    return _Part(number, responses, calls, not_compared, tuple(unreadable), tuple(changes))
