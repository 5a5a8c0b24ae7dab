"""Calls that have not begun in; those that may run now, checked, taken, and in the order that their effects ask for, out."""

import contextlib
import itertools
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel

from toolshape._calls import Call, Coercion
from toolshape._dispatch.handler import Handler
from toolshape._dispatch.hook_kinds import Hook, check_hooks
from toolshape._errors import UsageError
from toolshape._execution.run import refuse_running_loop
from toolshape._record import require
from toolshape._results import PendingCall, Results, controls_of, place_of, ready_at
from toolshape._tool import record_of

Ready: TypeAlias = tuple[int, Call, Handler, BaseModel, tuple[Coercion, ...]]
"""A call that may run: its position, the call, its handler, its validated arguments, and the coercions.

A NamedTuple here was measured at 8 % of the dispatch of a scalar call.
"""


class Taken(list[Ready]):
    """Calls that nobody else runs any more."""


class Stage(Taken):
    """Some of them, which run before the others or after."""


CLAIMING = threading.Lock()  # held for a moment, by whoever takes calls to run, or decides on them


def taken(
    results: Results,
    only: Iterable[Call | PendingCall | str] | None,
    inject: Mapping[str, Any],
    limit: int | None,
    guard: Hook | None = None,
    *,
    is_async: bool,
) -> Taken:
    """Take the calls to run from those that wait, in their order, once it is certain that they can be run.

    Args:
        results: Those of the plan.
        only: Which calls; ``None`` for all.
        inject: The values of injected parameters.
        limit: How many are to run at once.
        guard: What is put around each of them, outside of its hooks.
        is_async: Whether a loop is to run them.

    Raises:
        UsageError: One cannot; none was taken.
    """
    most: Any = limit
    if most is not None and not (type(most) is int and most > 0):
        raise UsageError(f"limit= is how many calls run at once, 1 or more, not {limit!r}")
    found: list[Ready] = list(results.waiting)
    if only is not None:
        named = (ready_at(results.waiting, position) for position in sorted(chosen(results, only, "only=")))
        found = [ready for ready in named if ready is not None]
    check(found, inject, is_async=is_async)
    with CLAIMING:  # another may have taken some meanwhile, or decided on them
        waiting = list(results.waiting)
        found = [ready for ready in found if ready_at(waiting, ready[0]) is ready]
        results.waiting = _without(waiting, found)
    if guard is None:
        return Taken(found)
    return Taken((position, call, handler.under(guard), model, rest) for position, call, handler, model, rest in found)


def _without(waiting: list[Ready], taken_out: Sequence[Ready]) -> list[Ready]:
    """The calls that still wait, when these do not; one of many is taken out without looking at the others."""
    if len(taken_out) == 1:
        del waiting[place_of(waiting, taken_out[0][0])]
        return waiting
    gone = {ready[0] for ready in taken_out}
    return [ready for ready in waiting if ready[0] not in gone]


def chosen(results: Results, given: Any, what: str) -> set[int]:
    """The positions of the calls that are named: calls, calls that wait for approval, or ids.

    Raises:
        UsageError: One is no call of these results, or was edited since.
    """
    if isinstance(given, (str, Call, PendingCall)):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, (bytes, dict)):
        raise UsageError(f"{what} takes calls of plan.calls or their ids, not {type(given).__name__}")
    found: set[int] = set()
    for one in given:
        at = _places(results, one.call if isinstance(one, PendingCall) else one)
        if not at:
            raise UsageError(
                f"{what} names {one!r}, which is no call of this plan, or was edited since: pass calls of plan.calls or plan.pending, or ids"
            )
        found.update(at)
    return found


def _places(results: Results, call: Any) -> list[int]:
    """The positions of a call, or of those with an id, from an index: plans of many calls are decided on one by one."""
    key = call if isinstance(call, str) else id(call)
    places = controls_of(results).places
    found = places.get(key, [])
    if found and (isinstance(call, str) or results.calls[found[0]] is call):
        return found
    places = {}
    for position, own in enumerate(results.calls):
        places.setdefault(own.id, []).append(position)
        places.setdefault(id(own), []).append(position)
    controls_of(results).places = places
    return places.get(key, [])


def check(ready: Sequence[Ready], inject: Mapping[str, Any], *, is_async: bool) -> None:
    """Check that all of these can be run.

    Raises:
        UsageError: One cannot.
    """
    for _, _, handler, _, _ in ready:
        if not is_async:
            refuse_running_loop(handler.kind, handler.name)
        if handler.has_needs:
            require(record_of(handler.tool), inject)
    if ready:
        check_hooks(ready[0][2].hooks, is_async=is_async)


@contextlib.contextmanager
def put_back(results: Results, ready: Iterable[Ready]) -> Generator[None]:
    """Where the run is broken off, let these calls wait again; a ``try`` around the whole of it costs more."""
    try:
        yield
    except BaseException:
        wait_again(results, ready)
        raise


def wait_again(results: Results, ready: Iterable[Ready]) -> None:
    """Let calls that were taken be run by somebody else."""
    with CLAIMING:
        results.waiting = sorted([*results.waiting, *ready], key=lambda one: one[0])


def wait_for_ledger(results: Results, ready: Iterable[Ready]) -> None:
    """Let calls wait again that were not run as the ledger could not be asked."""
    not_run: list[Ready] = []
    for one in ready:
        answer = results.answers[one[0]]
        if answer is not None and answer.error is not None and answer.error.code == "not_run":
            results.answers[one[0]] = None
            not_run.append(one)
    if not_run:
        wait_again(results, not_run)


@contextlib.contextmanager
def running(results: Results) -> Generator[None]:
    """While some calls of a plan run that has others which wait for approval: it cannot be paused."""
    controls = getattr(results, "controls", None)
    if controls is None:
        yield
        return
    with CLAIMING:
        controls.running += 1
    try:
        yield
    finally:
        with CLAIMING:
            controls.running -= 1


def not_begun(ready: Sequence[Ready], position: int) -> Iterator[Ready]:
    """The calls that come after the one at a position, looked for only if somebody asks: those that run last do, too."""
    return (one for one in ready if one[0] > position or one[2].runs_last)


def stages(ready: Sequence[Ready]) -> list[Stage]:
    """Calls in the groups that are run one after another: each that writes or destroys is one by itself."""
    found: list[Stage] = []
    is_open = False
    for one in ready:
        if one[2].runs_alone or not is_open:
            found.append(Stage())
        found[-1].append(one)
        is_open = not one[2].runs_alone
    return found


def is_mixed(ready: Sequence[Ready]) -> bool:
    """Whether what runs alone stands among what is run last."""
    return any(one[2].runs_last for one in ready) and any(one[2].runs_alone for one in ready)


def after(groups: Sequence[Stage], number: int) -> Iterator[Ready]:
    """The calls of the groups after one, counted only if somebody asks."""
    return (one for group in itertools.islice(groups, number + 1, None) for one in group)
