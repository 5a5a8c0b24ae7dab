"""Spans of a file's bytes, worked on by any executor of ``concurrent.futures``, and what each gives, in their order."""

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from toolshape._errors import UsageError

Executors: TypeAlias = Executor | Callable[[], Executor]
"""An executor, or what makes one anew when it breaks: ``ProcessPoolExecutor``, a Dask client's ``get_executor``."""
R = TypeVar("R")
_MOST_IN_TURN = 64  # spans that are under way at once
_MOST_BREAKS = 3  # in a row, without a span that was finished between them


class Span(NamedTuple):
    """The lines of a file that begin in some bytes of it: from ``begin``, before ``end``."""

    path: str
    begin: int
    end: int


def spans_of(path: str, length: int, size: int) -> list[Span]:
    """A file in spans of some bytes each; the same whoever works on them.

    Args:
        path: The file.
        length: Its length in bytes.
        size: The length of a span in bytes.
    """
    return [Span(path, begin, min(begin + size, length)) for begin in range(0, length, size)]


def lines_in(span: Span) -> Iterator[bytes]:
    """The lines that begin in a span.

    A span looks no further than its own end for a line that begins in it: a line that is longer than many spans is read
    once, by the span that it begins in.
    """
    with Path(span.path).open("rb") as file:
        if span.begin:  # the rest of a line that began before; nothing of it, where one ends just there
            file.seek(span.begin - 1)
            file.readline(span.end - span.begin + 1)
        while file.tell() < span.end and (line := file.readline()):
            yield line


def over_spans(work: Callable[[Span], R], spans: Sequence[Span], executor: Executors | None) -> Iterator[R]:
    """What ``work`` gives of each span, in their order.

    Args:
        work: Takes a span, and can be pickled; it raises nothing.
        spans: The spans.
        executor: Who works; without one, this thread does. A callable is asked for another when one breaks, and the
            spans that were lost are sent again.

    Raises:
        UsageError: An executor broke that cannot be made anew, or each that was made did.
    """
    if executor is None:
        yield from map(work, spans)
        return
    done = breaks = 0
    while done < len(spans):
        finished = done
        try:
            with _made(executor) as pool:
                for result in _in_order(pool, work, spans[done:]):
                    done += 1
                    yield result
        except _LostError as error:
            breaks = 1 if done > finished else breaks + 1
            last = f"the span that ends at byte {spans[done - 1].end}" if done else "no span"
            if isinstance(executor, Executor):
                message = f"the executor broke, and {last} was the last to be finished: pass a callable that makes one"
                raise UsageError(message) from error.__cause__
            if breaks == _MOST_BREAKS:
                message = f"{breaks} executors broke one after another, and {last} was the last to be finished"
                raise UsageError(message) from error.__cause__


class _LostError(Exception):
    """What was sent to an executor came to nothing; the cause is its error."""


@contextlib.contextmanager
def _made(executor: Executors) -> Generator[Executor]:
    """The executor that was given, which stays open, or one of our own."""
    if isinstance(executor, Executor):
        yield executor
        return
    with executor() as pool:
        yield pool


def _in_order(pool: Executor, work: Callable[[Span], R], spans: Sequence[Span]) -> Iterator[R]:
    """What is done of each span, in their order, some of them under way at once.

    Raises:
        _LostError: The executor broke; what it had finished was given before.
    """
    waiting: list[Future[Any]] = []
    left = iter(spans)
    try:
        while True:
            with _lost():
                for span in left:
                    waiting.append(pool.submit(work, span))
                    if len(waiting) == _MOST_IN_TURN:
                        break
            if not waiting:
                return
            with _lost():
                result = waiting[0].result()
            waiting.pop(0)
            yield result
    finally:
        for one in waiting:
            one.cancel()


@contextlib.contextmanager
def _lost() -> Generator[None]:
    try:
        yield
    except (BrokenExecutor, CancelledError, OSError, RuntimeError) as error:
        raise _LostError from error
    except Exception as error:
        # The work itself raises nothing: whatever came is the executor's own, as Dask's KilledWorker.
        if type(error).__module__.partition(".")[0] in ("distributed", "tornado"):
            raise _LostError from error
        raise
