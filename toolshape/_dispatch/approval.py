"""Approve, deny or edit the pending calls of a plan."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolshape._calls import Call, Coercion, JsonObject
from toolshape._dispatch import state
from toolshape._dispatch.claims import Ready, chosen
from toolshape._dispatch.handler import Handler
from toolshape._dispatch.resolve import error_result
from toolshape._errors import CallError, UsageError
from toolshape._execution.failures import validation_error
from toolshape._results import Result, Results
from toolshape._schema.values import copied
from toolshape._validation.lookup import MASKED, Secrets


@dataclass(frozen=True)
class Deny:
    """The decision that a call is not run.

    Args:
        text: What the model reads; nothing, for a sentence that the call was not allowed.

    Raises:
        UsageError: The reason is not a text.
    """

    __module__ = "toolshape"

    text: str = ""

    def __post_init__(self) -> None:
        given: Any = self.text
        if not isinstance(given, str):
            raise UsageError(f"Deny takes the text that the model reads, not {type(given).__name__}")


Decision: TypeAlias = bool | Deny | Mapping[str, Any]
"""``True`` approves a call, ``Deny(text)`` or ``False`` denies it, and a dict of other arguments edits it."""
_STARS = "**********"  # what pydantic shows of a secret


def hold(results: Results, entries: Iterable[Ready]) -> None:
    """Make the calls pending that need approval."""
    held = [entry for entry in entries if entry[2].approve and entry[2].record.must_wait(entry[3])]
    if held:
        state.hold(results, held)


def approve(results: Results, given: Any) -> None:
    """Let calls run.

    Raises:
        UsageError: A call is not in these results, or is running or answered; no call was approved.
    """
    entries = _undecided(results, given, "plan.approve")
    if changed := state.approve(results, entries):
        raise _decided_elsewhere("plan.approve", changed[0][1])


def deny(results: Results, given: Any, why: str) -> None:
    """Answer calls that have not begun: they are not run.

    Raises:
        UsageError: A call is not in these results, or is running or answered.
    """
    state.deny(results, denials(results, given, why))
    state.tell(results)  # there may be nothing left to run


def denials(results: Results, given: Any, why: str) -> list[tuple[Ready, Result]]:
    """Return the answers that calls have once they are denied.

    Raises:
        UsageError: A call is not in these results, or is running or answered.
    """
    reason: Any = why
    if not isinstance(reason, str):
        raise UsageError(f"plan.deny takes what the model is to read as a text, not {type(reason).__name__}")
    return [(entry, _denied(entry, reason)) for entry in _undecided(results, given, "plan.deny")]


def _denied(ready: Ready, reason: str) -> Result:
    _, call, handler, validated, coercions = ready
    answer = error_result(call, CallError("denied", tool=call.wire_name, text=reason))
    return answer._replace(coercions=coercions, received=handler.written(validated))


def edit(results: Results, given: Any, arguments: Mapping[str, Any]) -> Call:
    """Give a call other arguments, in canonical form; the tool's rule decides again whether the call needs approval.

    Raises:
        CallError: The tool does not take them; the call is what it was.
        UsageError: The call is not in these results, is running or answered, or is several calls; or a secret is
            the mask of one.
    """
    values: Any = arguments
    if not isinstance(values, Mapping):
        raise UsageError(f"plan.edit takes the arguments as a dict, not {type(values).__name__}")
    entries = _undecided(results, given, "plan.edit")
    if len(entries) != 1:
        raise UsageError(f"plan.edit takes one call, and {given!r} is {len(entries)}: pass one of plan.pending")
    old: Ready = entries[0]
    handler = old[2].canonical
    values, model, coercions = checked_edit(handler, values)
    edited = old[1]._replace(arguments_raw=values, reader=handler)
    new: Ready = (old[0], edited, handler, model, coercions)
    if not state.replace(results, old, new, must_wait=handler.record.must_wait(model)):
        raise _decided_elsewhere("plan.edit", given)
    return edited


def checked_edit(handler: Handler, arguments: Mapping[str, Any]) -> tuple[JsonObject, Any, tuple[Coercion, ...]]:
    """Return a copy of edited arguments in canonical form, the validated arguments, and the coercions.

    Raises:
        CallError: The arguments are invalid.
        UsageError: A secret is the mask of one.
    """
    values = copied(dict(arguments))
    if _has_mask(values, handler.record.secrets):
        raise UsageError("the edit contains the mask of a secret; pass the real value, or do not edit this call")
    try:
        model, coercions = handler.validate(values)
    except BaseException as error:
        refused = validation_error(error, tool=handler.name)
        raise refused from refused.__cause__
    return values, model, coercions


def _decided_elsewhere(what: str, named: Any) -> UsageError:
    return UsageError(f"{what} names {named!r}, which another thread or process has decided on meanwhile")


def _has_mask(value: Any, secrets: Secrets, place: tuple[str | int, ...] = ()) -> bool:
    """Whether a place of a secret has what is shown there."""
    if not secrets.are_there:
        return False
    if isinstance(value, dict):
        return any(_has_mask(item, secrets, (*place, name)) for name, item in value.items())
    if isinstance(value, list):
        return any(_has_mask(item, secrets, (*place, number)) for number, item in enumerate(value))
    return value in (MASKED, _STARS) and secrets.may_be_at(place)


def _undecided(results: Results, given: Any, what: str) -> list[Ready]:
    """Return the calls that are named, in call order, if none of them has begun.

    Raises:
        UsageError: A call has been edited.
    """
    controls = state.controlled(results)
    entries: list[Ready] = []
    for position in sorted(chosen(results, given, what)):
        found = state.state_of(results, position)
        if found == "given away":
            raise UsageError(f"{what}: this plan was paused: decide where it is resumed")
        if found not in state.UNDECIDED:
            said = "is answered" if results.answers[position] is not None else "is running, or was broken off"
            raise UsageError(f"{what} names {results.calls[position]!r}, which {said}")
        entries.append(controls.entries[position])
    return entries
