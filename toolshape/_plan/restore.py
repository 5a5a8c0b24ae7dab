"""Makes results from the record of a turn: the way back from a token, a store and a pickle."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, cast

from toolshape._families.wire.provider import Provider
from toolshape._plan import state
from toolshape._plan.plan_state import (
    Lost,
    PlanState,
    StoredAnswerTarget,
    StoredCallState,
    StoredTarget,
)
from toolshape._plan.result_json import restore_result
from toolshape._plan.results import CallEntry, Results, StoredAnswer, restore_kept
from toolshape._plan.snapshot import exact_digest
from toolshape._plan.state import State
from toolshape._records.calls import Call, Coercion
from toolshape._records.errors import CallError, UsageError
from toolshape._records.identity import OutputRef
from toolshape._tools.handler import Handler, Handlers

FindOutput = Callable[[OutputRef], Any]
"""Returns the target that reads an output's answers; raises ``UsageError`` if this
process does not know the output.
"""


def restore(
    stored: PlanState, provider: Provider, handlers: Handlers, find_output: FindOutput
) -> Results:
    """Return the results of a stored turn.

    Every call keeps its place. A call that waits, and whose tool is not here or would get other
    arguments, can only be denied, or edited. A call that needed no approval is checked against its
    rule again, which may have changed.
    """
    results = Results()
    results.finish, results.finish_raw, results.provider = (
        stored.finish,
        stored.finish_raw,
        provider,
    )
    results.calls, results._answers, results._assistant = [], [], list(stored.assistant)
    restore_kept(results, stored.usage, stored.warnings)
    results._is_plain = False
    results._unknown_is_secret = any(call.tool is None and call.is_secret for call in stored.calls)
    answer_target = _restore_answer(results, stored, find_output)
    entries: dict[State, list[CallEntry]] = {}
    as_written: dict[int, Call] = {}
    unasked: list[int] = []
    for position, call_state in enumerate(stored.calls):
        if call_state.is_answer:
            target: Any = answer_target or StoredTarget(call=call_state)
        else:
            target = _tool_of(call_state, handlers)
        if call_state.result is not None:
            call = _call(call_state, stored.provider, target, call_state.written)
            results.calls.append(call)
            results._answers.append(restore_result(call, call_state.result, replayed=True))
            continue
        found, entry, original = _restore_call(position, call_state, stored, target)
        results.calls.append(entry[1])
        results._answers.append(None)
        if found == "ready" and isinstance(target, Handler) and target.record.approves_by_inject:
            found = "pending"  # a run has the injected values, and asks the rule again
            unasked.append(position)
        entries.setdefault(found, []).append(entry)
        if original is not None:
            as_written[position] = original
    controls = state.restore_controls(results, entries, as_written, unasked)
    controls.scope, controls.unnamed, controls.is_stale = (
        stored.scope,
        stored.unnamed,
        stored.is_stale,
    )
    return results


def _restore_answer(results: Results, stored: PlanState, find_output: FindOutput) -> Any:
    """Set the answer of restored results, and return the target that reads it, if
    this process knows the output.
    """
    if stored.answer is None:
        return None
    results._answer = StoredAnswer(stored.answer, find_output)
    results._answered_by = StoredAnswerTarget(stored.answer)
    try:
        results._answered_by = target = find_output(stored.answer.output)
    except UsageError:  # ``Results.output`` will say so, if anybody asks
        return None
    return target


def _tool_of(call: StoredCallState, handlers: Handlers) -> Handler | None:
    if call.tool is None:
        handler = None
    else:
        handler = handlers.find(call.wire_name)
    if handler is not None and handler.name == call.tool:
        return handler
    return None


def _call(stored: StoredCallState, provider: str, target: Any, arguments: Any) -> Call:
    if target is None and stored.tool is not None:  # the tool is not here any more
        target = StoredTarget(call=stored)
    elif isinstance(target, Handler) and stored.is_canonical:
        target = target.canonical
    return Call(stored.id, stored.tool, stored.wire_name, arguments, provider, stored.raw, target)


class _Restored(NamedTuple):
    """A call that is not answered: its state, its entry, and the call as the
    model wrote it, if it was edited.
    """

    state: State
    entry: CallEntry
    original: Call | None


def _restore_call(
    position: int, call: StoredCallState, stored: PlanState, handler: Handler | None
) -> _Restored:
    lost, made = _validated(call, handler)
    if made is None or handler is None:
        code, why = lost or ("tools_changed", "")
        target = StoredTarget(
            call=call, why=why, code=code, handler=handler, bound_strict=stored.strict
        )
        lost_call = _call(call, stored.provider, target, call.written)
        if call.state in ("elsewhere", "cancelled"):
            found: State = call.state
        else:
            found = "pending"
        return _Restored(found, (position, lost_call, target, None, ()), None)
    reader, validated, coercions = made
    original = _call(call, stored.provider, handler, call.written)
    if call.is_edited:
        given = original._replace(arguments_raw=call.given, reader=reader)
    else:
        given = original
    entry = position, given, reader, validated, coercions
    return _Restored(
        _state_now(call, reader, validated), entry, original if call.is_edited else None
    )


class _Made(NamedTuple):
    """The arguments of a call, validated again."""

    reader: Handler
    validated: Any
    coercions: tuple[Coercion, ...]


def _validated(
    call: StoredCallState, handler: Handler | None
) -> tuple[tuple[Lost, str] | None, _Made | None]:
    """Validate the arguments of a call again: they must be what was shown.

    Otherwise, return why they are not.
    """
    if call.unstorable:
        return ("arguments_changed", call.unstorable), None
    if handler is None:
        why = f"there is no tool {call.tool} here: deny it, or restore it where the tool is"
        return ("tools_changed", why), None
    if call.is_given_canonical:
        reader = handler.canonical
    else:
        reader = handler
    try:
        validated, coercions = reader.validate(call.given)
        is_same = exact_digest(reader, validated) == call.exact
    except Exception as error:  # a validator of the user's may raise anything
        return ("arguments_changed", _why_refused(error, reader)), None
    if not is_same:
        why = "its tool would now get other arguments than were shown: deny it, or edit it"
        return ("arguments_changed", why), None
    return None, _Made(reader, validated, coercions)


def _why_refused(error: Exception, handler: Handler) -> str:
    places = ""
    if isinstance(error, CallError) and error.problems:
        named = [f"{one.path or 'the arguments'} ({one.rule})" for one in error.problems]
        places = f" at {', '.join(named)}"
    context = "if its validators read info.context, pass context=; otherwise, "
    ways_out = f"{context if handler.runs_code else ''}deny it, or edit it"
    return f"its tool refuses these arguments now{places}: {ways_out}"


def _state_now(call: StoredCallState, handler: Handler, validated: Any) -> State:
    record = handler.record
    if (
        call.state == "ready"
        and not record.approves_by_inject
        and handler.approve
        and record.must_wait(validated)
    ):
        return "pending"
    return cast("State", call.state)


def has_lost_calls(results: Results) -> bool:
    """Whether the tool of a call that waits is not here, or cannot take the call."""
    return any(isinstance(entry[2], StoredTarget) for entry in state.every_entry(results))


def with_assistant(stored: PlanState, messages: list[Any]) -> PlanState:
    """Return a record with the assistant's messages that were stored beside it."""
    return replace(stored, assistant=tuple(messages))
