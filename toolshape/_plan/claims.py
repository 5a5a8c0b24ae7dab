"""Claims calls for a run: selects and checks them, and groups them by their effects."""

import contextlib
import itertools
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from typing import Any, TypeAlias

from pydantic import BaseModel

from toolshape._function.calling.call import refuse_running_loop
from toolshape._plan import state
from toolshape._plan.results import Results
from toolshape._records.calls import Call, Coercion
from toolshape._records.errors import UsageError
from toolshape._records.result import PendingCall
from toolshape._tools.handler import Handler
from toolshape._tools.hook_kinds import check_hooks
from toolshape._tools.record import refuse_uncallable
from toolshape._tools.tool import record_of

Ready: TypeAlias = tuple[int, Call, Handler, BaseModel, tuple[Coercion, ...]]
"""A validated call: its position, the call, its handler, its
validated arguments, and the coercions.

It is a plain tuple, because a NamedTuple cost 8 % of a scalar dispatch.
"""


class Stage(list[Ready]):
    """Claimed calls that run as one step, before or after the other stages."""


def claim_calls(
    results: Results,
    wanted: AbstractSet[int] | None,
    inject: Mapping[str, Any],
    limit: int | None,
    *,
    is_async: bool,
) -> list[Ready]:
    """Check that the calls can run, then claim them in call order.

    Args:
        results: The results of the plan.
        wanted: The positions of the calls to claim; ``None`` claims all.
        inject: The values of injected parameters.
        limit: How many calls run at once.
        is_async: Whether an event loop runs the calls.

    Raises:
        UsageError: A call cannot be run; no call was claimed.
    """
    limit_value: Any = limit
    if limit_value is not None and not (type(limit_value) is int and limit_value > 0):
        raise UsageError(
            f"limit= must be the number of calls that run at once, 1 or more, not {limit!r}"
        )
    for unasked in state.unasked_entries(results):
        if wanted is None or unasked[0] in wanted:
            state.record_rule_decision(
                results, unasked, must_wait=unasked[2].record.must_wait(unasked[3], inject)
            )
    if wanted is None:
        entries: list[Ready] = state.claimable(results)
    else:
        entries = [
            entry
            for position in sorted(wanted)
            if (entry := state.claimable_at(results, position)) is not None
        ]
    check_runnable(entries, inject, is_async=is_async)
    return state.claim(results, entries)


def wanted_positions(
    results: Results, only: Iterable[Call | PendingCall | str] | None
) -> AbstractSet[int] | None:
    """Return the positions of the calls that ``only=`` names; ``None`` if it is not given.

    Raises:
        UsageError: A call is not in these results, was edited since, or holds the answer in a type.
    """
    if only is None:
        return None
    state.controls_of(results)  # a plan without controls is claimed as a whole
    return chosen_positions(results, only, "only=")


def chosen_positions(results: Results, given: Any, what: str) -> set[int]:
    """Return the positions of the calls that the caller names, as calls, pending calls, or ids.

    Raises:
        UsageError: A call is not in these results, or was edited since.
    """
    if isinstance(given, (str, Call, PendingCall)):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, (bytes, dict)):
        raise UsageError(
            f"{what} takes calls from plan.calls or their ids, not {type(given).__name__}"
        )
    positions: set[int] = set()
    for call in given:
        call_positions = _positions_of(
            results, call.call if isinstance(call, PendingCall) else call
        )
        if not call_positions:
            raise UsageError(
                f"{what} names {call!r}, which is not a call of this plan, or was edited since: "
                "pass calls from plan.calls or plan.pending, or their ids"
            )
        for position in call_positions:
            reader = results.calls[position].reader
            if reader is not None and reader.is_answer:
                raise UsageError(
                    f"{what} names the call that holds the answer "
                    f"{results.calls[position].name}, which is never run"
                )
        positions.update(call_positions)
    return positions


def _positions_of(results: Results, call: Any) -> list[int]:
    """Return the positions of a call object, or of all calls with this id; an
    index makes repeated look-ups fast.
    """
    key = call if isinstance(call, str) else id(call)
    controls = state.controls_of(results)
    positions = controls.places.get(key, [])
    if positions and (isinstance(call, str) or results.calls[positions[0]] is call):
        return positions
    positions_by_key: dict[int | str, list[int]] = {}
    for position, plan_call in enumerate(results.calls):
        positions_by_key.setdefault(plan_call.id, []).append(position)
        positions_by_key.setdefault(id(plan_call), []).append(position)
    controls.places = positions_by_key
    return positions_by_key.get(key, [])


def check_runnable(ready: Sequence[Ready], inject: Mapping[str, Any], *, is_async: bool) -> None:
    """Check that all of these calls can be run.

    Raises:
        UsageError: A call cannot run with this driver or these injected values.
    """
    for _, _, handler, _, _ in ready:
        if not is_async:
            refuse_running_loop(handler.kind, handler.name)
        if handler.has_needs:
            refuse_uncallable(record_of(handler.tool), inject)
    if ready:
        check_hooks(ready[0][2].hooks, is_async=is_async)


@contextlib.contextmanager
def release_on_error(results: Results, ready: Iterable[Ready]) -> Generator[None]:
    """Release these calls if the run is interrupted.

    The fast path does not use this, because a ``try`` costs time.
    """
    try:
        yield
    except BaseException:
        state.give_back(results, ready)
        raise


def calls_still_to_run(ready: Sequence[Ready], position: int) -> Iterator[Ready]:
    """Iterate over the calls that run after the call at a position: later
    calls, and all calls that run last.
    """
    return (entry for entry in ready if entry[0] > position or entry[2].runs_last)


def group_stages(ready: Sequence[Ready]) -> list[Stage]:
    """Group calls into stages that run one after another; a call that writes or
    destroys forms a separate stage.
    """
    groups: list[Stage] = []
    is_open = False
    for entry in ready:
        if entry[2].runs_alone or not is_open:
            groups.append(Stage())
        groups[-1].append(entry)
        is_open = not entry[2].runs_alone
    return groups


def is_mixed(ready: Sequence[Ready]) -> bool:
    """Whether some of these calls run alone, and some run last."""
    return any(entry[2].runs_last for entry in ready) and any(
        entry[2].runs_alone for entry in ready
    )


def calls_after(groups: Sequence[Stage], number: int) -> Iterator[Ready]:
    """Iterate over the calls of all stages after this stage."""
    return (entry for group in itertools.islice(groups, number + 1, None) for entry in group)
