"""What somebody decides of the calls of a plan in; calls that may run, that are answered, or that wait, out."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from toolshape.calls import Call
from toolshape.dispatch.resolve import error_result
from toolshape.dispatch.waiting import CLAIMING, Ready, chosen
from toolshape.errors import CallError, UsageError
from toolshape.execution.failures import validation_error
from toolshape.results import Result, Results, controls_of
from toolshape.schema.values import copied
from toolshape.validation.lookup import MASKED, Secrets

__all__ = ["Decision", "approve", "deny", "edit", "hold"]

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
        for position in sorted(_undecided(results, given, "plan.approve")):
            if position in (held := controls_of(results).held):
                ready: Any = held.pop(position)
                results.waiting = sorted([*results.waiting, ready], key=_position)


def deny(results: Results, given: Any, why: str) -> None:
    """Answer calls that have not begun: they are not run.

    Raises:
        UsageError: One is no call of these, or is answered or running.
    """
    reason: Any = why
    if not isinstance(reason, str):
        raise UsageError(f"plan.deny takes what the model is to read as a text, not {type(reason).__name__}")
    found = [_found(results, position) for position in sorted(_undecided(results, given, "plan.deny"))]
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
        if must_wait:
            controls_of(results).held[old[0]], controls_of(results).plan = ready, plan
        else:
            results.waiting = sorted([*results.waiting, ready], key=_position)
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


def _position(ready: tuple[Any, ...]) -> int:
    position: int = ready[0]
    return position


def _found(results: Results, position: int) -> Ready:
    held = controls_of(results).held.get(position)
    found: Any = held or next(one for one in results.waiting if one[0] == position)
    return found  # type: ignore[no-any-return]


def _is_still(results: Results, ready: Ready) -> bool:
    return ready is controls_of(results).held.get(ready[0]) or any(ready is one for one in results.waiting)


def _take_out(results: Results, position: int) -> None:
    controls_of(results).held.pop(position, None)
    results.waiting = [one for one in results.waiting if one[0] != position]


def _undecided(results: Results, given: Any, what: str) -> set[int]:
    """The positions of calls that have not begun.

    Raises:
        UsageError: One has.
    """
    positions = chosen(results, given, what)
    waiting = {one[0] for one in results.waiting} | controls_of(results).held.keys()
    if any(len(controls_of(results).held.get(position, "held")) == 1 for position in positions):
        raise UsageError(f"{what}: this plan was paused: decide where it is resumed")
    for position in sorted(positions - waiting):
        answer = results.answers[position]
        said = "is running, or was broken off" if answer is None else "is answered"
        raise UsageError(f"{what} names {results.calls[position]!r}, which {said}")
    return positions
