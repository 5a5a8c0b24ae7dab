"""Plans recorded responses with the current tools, and reports changes.

No tool is run.
"""

import functools
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from toolshape._bound.registry import Registry
from toolshape._bound.targets import TargetError, make_absolute, registry_of
from toolshape._records.errors import UsageError
from toolshape.trace._changes import Change, compare_response
from toolshape.trace._spans import Executors, Span, lines_in, process_spans, spans_of
from toolshape.trace._stages import is_whole_line, parse_line, why_unreadable

_SPAN = 1 << 18  # In bytes: a few hundred responses, which take a few hundredths of a second.
_LEAST_SPANS = (
    16  # A short file is cut into at least this many spans, unless the spans would be too short.
)
_SHORTEST_SPAN = 1 << 14
_MOST_SHOWN = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """The changes since a trace was recorded.

    The result does not depend on the executor, and contains no times.

    ``responses`` and ``calls`` count the responses and calls in the trace. ``not_compared`` counts
    the calls that could not be compared, for example because the trace does not hold their secrets.
    ``unreadable`` lists the numbers of the lines that could not be read, for example unfinished
    lines. ``str()`` lists the changes, regressions first.
    """

    responses: int
    calls: int
    not_compared: int
    unreadable: tuple[int, ...]
    changes: tuple[Change, ...]

    @property
    def regressions(self) -> tuple[Change, ...]:
        """The changes in which a call that worked now fails or works differently."""
        return tuple(change for change in self.changes if change.is_regression)

    def to_json_lines(self) -> str:
        """Return JSON lines: one line with the counts, then one line
        for each change with its stages.
        """
        counts = {
            "responses": self.responses, "calls": self.calls, "not_compared": self.not_compared,
            "unreadable": list(self.unreadable), "changes": len(self.changes),
            "regressions": len(self.regressions),
        }  # fmt: skip
        lines = [counts, *(change.as_json() for change in self.changes)]
        return "".join(f"{json.dumps(line, ensure_ascii=False, default=str)}\n" for line in lines)

    def __str__(self) -> str:
        ordered = [
            *self.regressions,
            *(change for change in self.changes if not change.is_regression),
        ]
        lines = [
            f"{'regression' if change.is_regression else 'change'}: {change}"
            for change in ordered[:_MOST_SHOWN]
        ]
        if len(ordered) > _MOST_SHOWN:
            lines.append(f"... and {len(ordered) - _MOST_SHOWN} more")
        counts = [
            f"{self.responses} responses",
            f"{self.calls} calls",
            f"{len(self.changes)} changes",
        ]
        counts.append(f"{len(self.regressions)} of them regressions")
        counts += [f"{self.not_compared} not compared"] if self.not_compared else []
        counts += [f"{len(self.unreadable)} lines unreadable"] if self.unreadable else []
        return "\n".join([*lines, ", ".join(counts)])


class _Part(NamedTuple):
    """The result of one span, with lines numbered from 1.

    ``failure`` tells why the tools could not be loaded.
    """

    lines: int
    responses: int
    calls: int
    not_compared: int
    unreadable: tuple[int, ...]
    changes: tuple[Change, ...]
    failure: str = ""


def replay(
    path: str | os.PathLike[str], tools: Registry | str, executor: Executors | None = None
) -> Replay:
    """Plan each recorded response with the current tools, and report what changed. No tool is run.

    Args:
        path: A trace that ``record_to`` wrote.
        tools: The current tools: a registry, or a string ``"module:name"`` or ``"path.py:name"``.
            Each worker imports the registry that the string names.
        executor: An executor of ``concurrent.futures``, or a callable that makes an executor, for
            example ``ProcessPoolExecutor`` or the ``get_executor`` of a Dask client. Its workers
            process spans of the file, so each worker must be able to open the file. If an executor
            from a callable breaks, the callable is called again, and the lost spans are repeated.

    Raises:
        UsageError: The file does not exist, none of its lines can be read, the tools cannot be
            loaded, or the executor broke. If ``executor`` is a callable, the error is raised only
            after several executors in a row broke.
    """
    trace_file = Path(path).absolute()
    if isinstance(tools, Registry) and executor is not None:
        raise UsageError(
            "the workers of an executor import the tools: pass tools= as 'module:name'"
        )
    if not trace_file.is_file():
        raise UsageError(f"there is no file {trace_file}")
    length = trace_file.stat().st_size
    size = min(_SPAN, max(length // _LEAST_SPANS, _SHORTEST_SPAN))
    spans = spans_of(str(trace_file), length, size)
    if isinstance(tools, Registry):
        registry_or_target: Registry | str = tools
    else:
        registry_or_target = make_absolute(tools)
    if not spans and isinstance(registry_or_target, str):
        registry_of(registry_or_target)  # no worker would notice that the tools cannot be loaded
    parts = process_spans(functools.partial(_replay_span, registry_or_target), spans, executor)
    merged = _merge_parts(parts)
    if merged.unreadable and not merged.responses:
        raise UsageError(
            f"no line of {trace_file} can be read: {why_unreadable(_first_line(trace_file))}"
        )
    return merged


def _first_line(place: Path) -> bytes:
    """Return the first line that is not empty. If the line is long, return only its beginning."""
    with place.open("rb") as file:
        return next((line for line in iter(lambda: file.readline(_SPAN), b"") if line.strip()), b"")


def _merge_parts(parts: Iterable[_Part]) -> Replay:
    """Merge the results of the spans. Lines are then numbered from the beginning of the file.

    Raises:
        UsageError: A worker could not load the tools.
    """
    lines = responses = calls = not_compared = 0
    unreadable: list[int] = []
    changes: list[Change] = []
    for part in parts:
        if part.failure:
            raise UsageError(part.failure)
        unreadable += [lines + number for number in part.unreadable]
        changes += [replace(change, line=lines + change.line) for change in part.changes]
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
    """Load the tools, once in each worker.

    Raises:
        TargetError: The tools cannot be loaded.
    """
    return registry_of(target)


def _replay_span(tools: Registry | str, span: Span) -> _Part:
    """Replay the lines of one span."""
    try:
        if isinstance(tools, Registry):
            registry = tools
        else:
            registry = _registry(tools)
    except TargetError as error:
        return _Part(0, 0, 0, 0, (), (), str(error))
    number = responses = calls = not_compared = 0
    unreadable: list[int] = []
    changes: list[Change] = []
    for number, line in enumerate(lines_in(span), start=1):
        if not line.strip():
            continue
        try:
            if is_whole_line(line):
                recorded = parse_line(line, number)
            else:
                recorded = None
        except UsageError:
            recorded = None
        if recorded is None:
            unreadable.append(number)
            continue
        result = compare_response(recorded, registry)
        responses, calls, not_compared = (
            responses + 1,
            calls + result.calls,
            not_compared + result.not_compared,
        )
        changes += result.changes
    return _Part(number, responses, calls, not_compared, tuple(unreadable), tuple(changes))
