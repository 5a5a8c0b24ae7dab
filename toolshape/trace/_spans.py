"""Cuts a file into spans of lines, and processes them in order with any executor."""

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from toolshape._records.errors import UsageError

Executors: TypeAlias = Executor | Callable[[], Executor]
"""An executor, or a callable that makes one, such as ``ProcessPoolExecutor`` or a
Dask client's ``get_executor``.

If an executor breaks, ``process_spans`` can try again only with a callable.
"""
R = TypeVar("R")
_MOST_IN_TURN = 64  # The most spans that are in progress at once.
_MOST_BREAKS = (
    3  # Give up after this many broken executors in a row, if no span was finished between them.
)


class Span(NamedTuple):
    """The lines of a file whose first byte is between ``begin`` (included) and ``end``
    (excluded).
    """

    path: str
    begin: int
    end: int


def spans_of(path: str, length: int, size: int) -> list[Span]:
    """Cut a file into spans of equal length in bytes.

    Args:
        path: The file.
        length: The length of the file in bytes.
        size: The length of a span in bytes.
    """
    return [Span(path, begin, min(begin + size, length)) for begin in range(0, length, size)]


def lines_in(span: Span) -> Iterator[bytes]:
    """Yield the lines that begin in a span.

    The search for the first line stops at the end of the span. So even a line longer than many
    spans is read only once: by the span where it begins.
    """
    with Path(span.path).open("rb") as file:
        if span.begin:
            # Skip the rest of a line that began earlier. The read starts one byte early: if a line
            # begins exactly at ``begin``, the read then skips only the line break before that line.
            file.seek(span.begin - 1)
            file.readline(span.end - span.begin + 1)
        while file.tell() < span.end and (line := file.readline()):
            yield line


def process_spans(
    work: Callable[[Span], R], spans: Sequence[Span], executor: Executors | None
) -> Iterator[R]:
    """Yield the result of ``work`` for each span, in order.

    Args:
        work: The function for a span. It must be picklable and must not raise.
        spans: The spans.
        executor: The executor. If it is ``None``, the current thread does the work. If an executor
            from a callable breaks, the callable is called again, and the lost spans are sent again.

    Raises:
        UsageError: The executor broke, or several executors from the callable broke in a row.
    """
    if executor is None:
        yield from map(work, spans)
        return
    done_count = breaks = 0
    while done_count < len(spans):
        finished = done_count
        try:
            with _open_executor(executor) as pool:
                for result in _yield_in_order(pool, work, spans[done_count:]):
                    done_count += 1
                    yield result
        except _LostError as error:
            breaks = 1 if done_count > finished else breaks + 1
            if done_count:
                progress = f"the last finished span ends at byte {spans[done_count - 1].end}"
            else:
                progress = "no span was finished"
            if isinstance(executor, Executor):
                message = f"the executor broke ({progress}): pass a callable that makes executors"
                raise UsageError(message) from error.__cause__
            if breaks == _MOST_BREAKS:
                message = f"{breaks} executors broke in a row ({progress})"
                raise UsageError(message) from error.__cause__


class _LostError(Exception):
    """An executor broke and lost the spans in progress. ``__cause__`` is the executor's error."""


@contextlib.contextmanager
def _open_executor(executor: Executors) -> Generator[Executor]:
    """Yield the given executor and leave it open, or make an executor and close it afterwards."""
    if isinstance(executor, Executor):
        yield executor
        return
    with executor() as pool:
        yield pool


def _yield_in_order(
    pool: Executor, work: Callable[[Span], R], spans: Sequence[Span]
) -> Iterator[R]:
    """Yield the results of the spans in order. Several spans are in progress at once.

    Results are yielded strictly in order, so the caller knows after a break which spans to send
    again.

    Raises:
        _LostError: The executor broke. The results before the break were yielded.
    """
    waiting: list[Future[Any]] = []
    remaining_spans = iter(spans)
    try:
        while True:
            with _catch_loss():
                for span in remaining_spans:
                    waiting.append(pool.submit(work, span))
                    if len(waiting) == _MOST_IN_TURN:
                        break
            if not waiting:
                return
            with _catch_loss():
                result = waiting[0].result()
            waiting.pop(0)
            yield result
    finally:
        for future in waiting:
            future.cancel()


@contextlib.contextmanager
def _catch_loss() -> Generator[None]:
    try:
        yield
    except (BrokenExecutor, CancelledError, OSError, RuntimeError) as error:
        raise _LostError from error
    except Exception as error:
        # The work does not raise, so this error comes from the executor itself, for example Dask's
        # KilledWorker.
        if type(error).__module__.partition(".")[0] in ("distributed", "tornado"):
            raise _LostError from error
        raise
