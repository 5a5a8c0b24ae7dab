"""Approves, denies and edits calls of a plan that have not begun."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolshape._function.calling.failures import validation_error
from toolshape._plan import state
from toolshape._plan.claims import Ready, chosen_positions
from toolshape._plan.plan_state import StoredTarget
from toolshape._plan.resolve import error_result
from toolshape._plan.results import Results
from toolshape._records.calls import Call, Coercion, JsonObject
from toolshape._records.errors import CallError, UsageError
from toolshape._records.result import Result
from toolshape._schema.secrets import MASKED, Secrets
from toolshape._schema.values import copy_json
from toolshape._tools.handler import Handler


@dataclass(frozen=True)
class Deny:
    """The decision not to run a call.

    Args:
        text: The text that the model reads. If it is empty, the model reads that the call was not
            allowed.

    Raises:
        UsageError: ``text`` is not a string.
    """

    __module__ = "toolshape"

    text: str = ""

    def __post_init__(self) -> None:
        reason: Any = self.text
        if not isinstance(reason, str):
            raise UsageError(
                f"Deny takes a string, the text that the model reads, not {type(reason).__name__}"
            )


Decision: TypeAlias = bool | Deny | Mapping[str, Any]
"""``True`` approves a call, ``Deny(text)`` or ``False`` denies it, and a
dict of other arguments edits it.
"""
_STARS = "**********"  # the mask that pydantic shows in place of a secret


def hold_unapproved(results: Results, entries: Iterable[Ready]) -> None:
    """Mark the calls that need approval as pending."""
    pending = [
        entry for entry in entries if entry[2].approve and entry[2].record.must_wait(entry[3])
    ]
    if pending:
        state.hold(results, pending)


def approve(results: Results, given: Any, *, again: bool = False) -> None:
    """Approve calls, so ``run`` can run them.

    Args:
        results: The results of the plan.
        given: The calls.
        again: Whether the calls run even if they may have run before.

    Raises:
        UsageError: A call is not in these results, is running or answered, cannot run as it was
            shown, or may have run; no call was approved.
    """
    entries = _undecided_entries(results, given, "plan.approve")
    for entry in entries:
        if isinstance(entry[2], StoredTarget):
            raise _lost_error("plan.approve", entry[2])
        if not again and state.state_of(results, entry[0]) == "elsewhere":
            raise UsageError(
                f"plan.approve names {entry[1]!r}, which had begun when this turn was stored, "
                "and may have had its "
                "effect: run it with the ledger that records its calls, deny it, or pass "
                "again=True to run it once more"
            )
    if conflicts := state.approve(results, entries, again=again):
        raise _decided_elsewhere_error("plan.approve", conflicts[0][1])


def deny(results: Results, given: Any, why: str) -> None:
    """Deny calls that have not begun: answer them without running them.

    Raises:
        UsageError: A call is not in these results, or is running or answered.
    """
    state.deny(results, list_denials(results, given, why))
    state.notify_observer(results)  # the plan may be over now


def list_denials(results: Results, given: Any, why: str) -> list[tuple[Ready, Result]]:
    """Return the calls to deny, each with the result that denies the call.

    Raises:
        UsageError: A call is not in these results, or is running or answered.
    """
    reason: Any = why
    if not isinstance(reason, str):
        raise UsageError(
            f"plan.deny takes the reason for the model as a string, not {type(reason).__name__}"
        )
    return [
        (entry, _deny_result(entry, reason))
        for entry in _undecided_entries(results, given, "plan.deny")
    ]


def withdraw(results: Results, position: int, why: str) -> state.State:
    """Deny a call that the provider takes back, unless its tool has begun.

    Returns:
        The state of the call before; see ``state.withdraw``.
    """
    before = state.withdraw(results, position, lambda entry: _deny_result(entry, why))
    state.notify_observer(results)  # the plan may be over now
    return before


def _deny_result(ready: Ready, reason: str) -> Result:
    _, call, handler, validated, coercions = ready
    answer = error_result(call, CallError("denied", tool=call.wire_name, text=reason))
    return answer._replace(coercions=coercions, received=handler.shown(validated))


def edit(results: Results, given: Any, arguments: Mapping[str, Any]) -> Call:
    """Give a call other arguments, in canonical form; the tool's approval rule then
    decides again if the call waits.

    Raises:
        CallError: The arguments are invalid; the call is unchanged.
        UsageError: The call is not in these results, or is running or answered; ``given`` names
            several calls; or an argument is the mask of a secret.
    """
    values: Any = arguments
    if not isinstance(values, Mapping):
        raise UsageError(f"plan.edit takes the arguments as a dict, not {type(values).__name__}")
    entries = _undecided_entries(results, given, "plan.edit")
    if len(entries) != 1:
        raise UsageError(
            f"plan.edit takes one call, but {given!r} names {len(entries)} calls: pass one call "
            "from plan.pending"
        )
    old_entry: Ready = entries[0]
    if state.state_of(results, old_entry[0]) == "elsewhere":
        raise UsageError(
            f"plan.edit names {old_entry[1]!r}, which had begun when this turn was stored: "
            "approve it with again=True "
            "first, or deny it"
        )
    handler = _handler_of(old_entry[2]).canonical
    values, model, coercions = validate_edit(handler, values)
    edited = old_entry[1]._replace(arguments_raw=values, reader=handler)
    new_entry: Ready = (old_entry[0], edited, handler, model, coercions)
    if not state.replace(results, old_entry, new_entry, must_wait=handler.record.must_wait(model)):
        raise _decided_elsewhere_error("plan.edit", given)
    return edited


def _handler_of(target: Handler | StoredTarget) -> Handler:
    """Return the handler that validates edited arguments.

    Raises:
        UsageError: The tool is not here.
    """
    if isinstance(target, Handler):
        return target
    if target.handler is None:
        raise _lost_error("plan.edit", target)
    return target.handler


def _lost_error(what: str, target: StoredTarget) -> UsageError:
    return UsageError(
        f"{what}: {target.name} ({target.call.id}) cannot run as it was shown: {target.why}"
    )


def validate_edit(
    handler: Handler, arguments: Mapping[str, Any]
) -> tuple[JsonObject, Any, tuple[Coercion, ...]]:
    """Return a copy of edited arguments in canonical form, the
    validated arguments, and the coercions.

    Raises:
        CallError: The arguments are invalid.
        UsageError: An argument is the mask of a secret.
    """
    values = copy_json(dict(arguments))
    if _has_mask(values, handler.record.secrets):
        raise UsageError(
            "the edit contains the mask of a secret; pass the real value, or do not edit this call"
        )
    try:
        model, coercions = handler.validate(values)
    except BaseException as error:
        call_error = validation_error(error, tool=handler.name)
        raise call_error from call_error.__cause__
    return values, model, coercions


def _decided_elsewhere_error(what: str, named: Any) -> UsageError:
    return UsageError(
        f"{what} names {named!r}, which another thread or process has decided on meanwhile"
    )


def _has_mask(value: Any, secrets: Secrets, place: tuple[str | int, ...] = ()) -> bool:
    """Whether a value holds the mask of a secret at a place where the tool takes a secret."""
    if not secrets.are_there:
        return False
    if isinstance(value, dict):
        return any(_has_mask(item, secrets, (*place, name)) for name, item in value.items())
    if isinstance(value, list):
        return any(_has_mask(item, secrets, (*place, number)) for number, item in enumerate(value))
    return value in (MASKED, _STARS) and secrets.may_be_at(place)


def _undecided_entries(results: Results, given: Any, what: str) -> list[Ready]:
    """Return the entries of the given calls, in call order; none of them may have begun.

    Raises:
        UsageError: A call is not in these results, was edited, or is running or answered; or the
            plan was paused.
    """
    controls = state.controls_of(results)
    entries: list[Ready] = []
    for position in sorted(chosen_positions(results, given, what)):
        call_state = state.state_of(results, position)
        if call_state == "given away":
            raise UsageError(f"{what}: this plan was paused: pass the decisions to resume()")
        if call_state not in state.UNDECIDED:
            if results._answers[position] is not None:
                status = "is answered"
            else:
                status = "is running, or was interrupted"
            raise UsageError(f"{what} names {results.calls[position]!r}, which {status}")
        entries.append(controls.entries[position])
    return entries
