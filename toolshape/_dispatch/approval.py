"""What somebody decides of the calls of a plan in; calls that may run, that are answered, or that wait, out."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from toolshape._calls import Call
from toolshape._dispatch.resolve import error_result
from toolshape._dispatch.waiting import CLAIMING, Ready, chosen
from toolshape._errors import CallError, UsageError
from toolshape._execution.failures import validation_error
from toolshape._results import Result, Results, controls_of, place_of, ready_at
from toolshape._schema.values import copied
from toolshape._validation.lookup import MASKED, Secrets

Decision: TypeAlias = bool | str | Mapping[str, Any]
"""``True`` approves of a call, ``False`` or a text for the model denies it, other arguments edit it."""
_STARS = "**********"  # what pydantic shows of a secret


def hold(results: Results, plan: object) -> None:
    """Keep back the calls that somebody has to approve of."""
    held = {one[0]: one for one in results.waiting if one[2].approve and one[2].record.must_wait(one[3])}
    if held:
        controls_of(results).held, controls_of(results).plan = held, plan
        results.waiting = [ready for ready in results.waiting if ready[0] not in held]


def approve(results: Results, given: Any) -> None:
    """Let calls run.

    Raises:
        UsageError: One is no call of these, or is answered.
    """
    with CLAIMING:
        held = controls_of(results).held
        positions = sorted(_undecided(results, given, "plan.approve"))
        _put_back(results, [held.pop(position) for position in positions if position in held])


def deny(results: Results, given: Any, why: str) -> None:
    """Answer calls that have not begun: they are not run.

    Raises:
        UsageError: One is no call of these, or is answered or running.
    """
    reason: Any = why
    if not isinstance(reason, str):
        raise UsageError(f"plan.deny takes what the model is to read as a text, not {type(reason).__name__}")
    named = (_found(results, position) for position in sorted(_undecided(results, given, "plan.deny")))
    found = [ready for ready in named if ready is not None]  # else another thread has taken it by now
    answers = [_denied(ready, reason) for ready in found]
    with CLAIMING:
        for ready, answer in zip(found, answers, strict=True):
            if _is_still(results, ready):
                _take_out(results, ready[0])
                results.answers[ready[0]] = answer


def _denied(ready: Ready, reason: str) -> Result:
    _, call, handler, validated, coercions = ready
    answer = error_result(call, CallError("denied", tool=call.wire_name, text=reason))
    return answer._replace(coercions=coercions, received=handler.written(validated))


def edit(results: Results, given: Any, arguments: Mapping[str, Any], plan: object) -> Call:
    """Give a call other arguments, in canonical form; whether it has to be approved of is asked anew.

    Raises:
        CallError: The tool does not take them; the call is what it was.
        UsageError: It is no call of these, or is answered or running; or it is several, or a secret is the mask of one.
    """
    values: Any = arguments
    if not isinstance(values, Mapping):
        raise UsageError(f"plan.edit takes the arguments as a dict, not {type(values).__name__}")
    positions = _undecided(results, given, "plan.edit")
    if len(positions) != 1:
        raise UsageError(f"plan.edit takes one call, and {given!r} is {len(positions)}: pass one of plan.pending")
    old = _found(results, positions.pop())
    if old is None:
        raise UsageError(f"plan.edit names {given!r}, which somebody else decided on meanwhile")
    handler, values = old[2].canonical, copied(dict(values))
    if _has_mask(values, handler.record.secrets):
        raise UsageError("an edit holds what is shown in place of a secret: write the secret itself, or leave the call")
    try:
        model, coercions = handler.validate(values)
    except BaseException as error:
        refused = validation_error(error, tool=handler.name)
        raise refused from refused.__cause__
    edited = old[1]._replace(arguments_raw=values, reader=handler)
    ready: Ready = (old[0], edited, handler, model, coercions)
    must_wait = handler.record.must_wait(model)
    with CLAIMING:
        if not _is_still(results, old):
            raise UsageError(f"plan.edit names {given!r}, which somebody else decided on meanwhile")
        _take_out(results, old[0])
        results.calls[old[0]] = edited
        controls_of(results).places[id(edited)] = [old[0]]
        if must_wait:
            controls_of(results).held[old[0]], controls_of(results).plan = ready, plan
        else:
            _put_back(results, [ready])
    return edited


def _has_mask(value: Any, secrets: Secrets, place: tuple[str | int, ...] = ()) -> bool:
    """Whether a place of a secret has what is shown there."""
    if not secrets.are_there:
        return False
    if isinstance(value, dict):
        return any(_has_mask(one, secrets, (*place, name)) for name, one in value.items())
    if isinstance(value, list):
        return any(_has_mask(one, secrets, (*place, number)) for number, one in enumerate(value))
    return value in (MASKED, _STARS) and secrets.may_be_at(place)


def _put_back(results: Results, ready: Sequence[Any]) -> None:
    """Let calls run, in the order of their positions, wherever the others stand."""
    waiting = list(results.waiting)  # another thread may be reading
    if len(ready) == 1:
        waiting.insert(place_of(waiting, ready[0][0]), ready[0])
    else:
        waiting = sorted([*waiting, *ready], key=itemgetter(0))
    results.waiting = waiting


def _found(results: Results, position: int) -> Ready | None:
    found: Any = controls_of(results).held.get(position) or ready_at(results.waiting, position)
    return found  # type: ignore[no-any-return]


def _is_still(results: Results, ready: Ready) -> bool:
    position = ready[0]
    return ready is controls_of(results).held.get(position) or ready is ready_at(results.waiting, position)


def _take_out(results: Results, position: int) -> None:
    controls_of(results).held.pop(position, None)
    if ready_at(results.waiting, position) is not None:
        waiting = list(results.waiting)  # another thread may be reading
        del waiting[place_of(waiting, position)]
        results.waiting = waiting


def _undecided(results: Results, given: Any, what: str) -> set[int]:
    """The positions of calls that have not begun.

    Raises:
        UsageError: One has.
    """
    positions = chosen(results, given, what)
    held = controls_of(results).held
    if any(len(held.get(position, "held")) == 1 for position in positions):
        raise UsageError(f"{what}: this plan was paused: decide where it is resumed")
    for position in sorted(positions):
        if position in held or ready_at(results.waiting, position) is not None:
            continue
        answer = results.answers[position]
        said = "is running, or was broken off" if answer is None else "is answered"
        raise UsageError(f"{what} names {results.calls[position]!r}, which {said}")
    return positions
