"""Adds up the tokens that the recorded responses of a trace name."""

import os
from collections.abc import Iterator
from pathlib import Path

from toolshape._bound.registry import Registry
from toolshape._families import get
from toolshape._records.errors import ResponseError, UsageError
from toolshape._records.result import Usage, add_usage
from toolshape.trace._stages import RecordedResponse, is_whole_line, parse_line


def recorded_usage(path: str | os.PathLike[str]) -> tuple[int, Usage | None]:
    """Return how many responses a trace holds, and the tokens of all of them.

    Args:
        path: A trace that ``record_to`` wrote with ``keep="all"``. Other traces do not hold the
            counts.

    Raises:
        UsageError: There is no such file, or a line of it is no line of a trace.
    """
    usages = [_usage_of(recorded) for recorded in _lines(Path(path))]
    return len(usages), add_usage(usages)


def _lines(path: Path) -> Iterator[RecordedResponse]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip() or not is_whole_line(line):  # a line that is being written
                    continue
                recorded = parse_line(line, number)
                if not recorded.continues:  # else an earlier line has the same response
                    yield recorded
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _usage_of(recorded: RecordedResponse) -> Usage | None:
    bound = Registry().bind(get(recorded.provider))
    try:
        if recorded.stream is None:
            return bound.plan(recorded.response).results.usage
        collector = bound.collector()
        for piece in recorded.response or ():
            collector.feed(piece)
        return collector.plan().results.usage
    except ResponseError:  # it was not recorded, or was no response
        return None
