"""Makes the record of a turn from its results, at one moment, while threads run calls.

``state.moment`` copies everything that may change under one lock, and nothing here looks at the
results' own state again: a call cannot be both running and answered in one record. A state that
means something only in this process becomes one that is true in any other: a call that runs here
is ``elsewhere`` for whoever restores the turn, since nobody can tell there how far it gets.

A call has three forms that must not be mixed: as the model wrote it, as it was edited, and as the
function would receive it. The record keeps what the model wrote and how it was read, so that the
reader of another process makes the rest again. A call that was restored and not touched since is
written as it stood in the record before (``StoredTarget``), whatever tools are here.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from toolshape._families.wire.bodies import to_plain_json
from toolshape._plan import state
from toolshape._plan.plan_state import (
    AnswerState,
    PlanState,
    StoredCallState,
    StoredState,
    StoredTarget,
)
from toolshape._plan.result_json import store_result, through_json
from toolshape._plan.results import (
    CallEntry,
    Results,
    StoredAnswer,
    kept_of_results,
    may_hold_secret,
)
from toolshape._plan.state import Moment, State
from toolshape._records.calls import Call, JsonObject, Strictness
from toolshape._records.identity import canonical_json
from toolshape._records.result import Result
from toolshape._tools.handler import Handler

_STORED: Mapping[State, StoredState] = {
    "ready": "ready",
    "claimed": "ready",
    "asking": "ready",  # only the ledger was being asked: nothing was called
    "pending": "pending",
    "given away": "pending",
    "approved": "approved",
    "running": "elsewhere",  # whoever restores the turn does not know how far the call gets
    "elsewhere": "elsewhere",
    "cancelled": "cancelled",
}


def snapshot(results: Results, decided: Mapping[int, State] | None = None) -> PlanState:
    """Return the record of a turn at this moment.

    Args:
        results: The results of the turn.
        decided: The states that count instead, by position. ``None`` leaves out what was decided:
            each call is then as the model wrote it.
    """
    now, controls = state.moment(results), results._controls
    kept = kept_of_results(results)
    calls = tuple(
        replace(
            _call_state(now, position, decided),
            is_secret=may_hold_secret(results, now.calls[position]),
        )
        for position in range(len(now.calls))
    )
    return PlanState(
        provider=getattr(results.provider, "name", ""),
        strict=_strictness(now),
        calls=calls,
        finish=results.finish,
        finish_raw=None if results.finish_raw is None else str(results.finish_raw),
        scope=getattr(controls, "scope", None),
        unnamed=getattr(controls, "unnamed", None),
        assistant=tuple(map(to_plain_json, results._assistant)),
        answer=_answer_state(results),
        usage=kept.usage,
        warnings=kept.ending.warnings,
        is_stale=getattr(controls, "is_stale", False),
    )


def _strictness(now: Moment) -> Strictness:
    for call in now.calls:
        if isinstance(call.reader, (Handler, StoredTarget)):
            return call.reader.bound_strict
    return "auto"


def _answer_state(results: Results) -> AnswerState | None:
    answer = getattr(results, "_answer", None)
    if answer is None:
        return None
    if isinstance(answer, StoredAnswer):
        return answer.state
    stored: AnswerState = results._answered_by.stored(answer)
    return stored


def _call_state(
    now: Moment,
    position: int,
    decided: Mapping[int, State] | None,
) -> StoredCallState:
    call, result, original = now.calls[position], now.answers[position], now.written[position]
    found = now.states[position] if decided is None else decided.get(position, now.states[position])
    if decided is None and result is None and original is not call:
        call = original  # the edit is undone, and what was decided on it
        found = "pending" if found == "ready" and _may_wait(call) else found
    entry = now.entries.get(position)
    target = call.reader if entry is None or call is original else entry[2]
    stands_for: Any = target if entry is None else entry[2]
    if isinstance(stands_for, StoredTarget):
        return _kept(stands_for, found, result)
    if isinstance(original.reader, StoredTarget):
        first = original.reader.call
        written, is_canonical = first.written, first.is_canonical
    else:
        written, is_canonical = original.arguments_raw, _is_canonical(original)
    base = StoredCallState(
        id=call.id,
        tool=call.name,
        wire_name=call.wire_name,
        raw=to_plain_json(call.raw),  # it may be an object of the SDK
        written=to_plain_json(written),
        is_canonical=is_canonical,
        state="answered" if result is not None else _STORED.get(found, "ready"),
        is_edited=call is not original,
        is_answer=target is not None and target.is_answer,
    )
    if result is not None:
        output = target.record.output if isinstance(target, Handler) else None
        shown = target.received(call.arguments_raw) if base.is_answer and target else None
        return replace(base, result=store_result(result, output), shown=shown)
    arguments = _arguments(call, target, entry)
    return replace(base, **arguments._asdict())


def _kept(target: StoredTarget, found: State, result: Result | None) -> StoredCallState:
    if result is not None:
        return replace(target.call, state="answered", result=store_result(result, None))
    return replace(target.call, state=_STORED.get(found, "ready"))


def _may_wait(call: Call) -> bool:
    return isinstance(call.reader, Handler) and bool(call.reader.approve)


def _is_canonical(call: Call) -> bool:
    return isinstance(call.reader, Handler) and call.reader.back is None


class _Arguments(NamedTuple):
    """The arguments of a call that is not answered; see ``CallState``."""

    given: Any = None
    is_given_canonical: bool = False
    shown: JsonObject | None = None
    exact: str = ""
    unstorable: str = ""


def _arguments(call: Call, target: Any, entry: CallEntry | None) -> _Arguments:
    """Return the arguments in a form that validates to exactly what the function
    gets: as received, or as validated.
    """
    if not isinstance(target, Handler):
        if target is None:
            received = None
        else:
            received = target.received(call.arguments_raw)
        return _Arguments(shown=received, unstorable="its results were pickled")
    handler, why = target, "its arguments change when they are validated a second time"
    shown: JsonObject | None = None
    try:
        if entry is not None and entry[1] is call:
            validated = entry[3]
        else:
            validated = handler.validate(call.arguments_raw)[0]
        shown = handler.shown(validated)
        expected = exact_digest(handler, validated)
        for candidate, reader in (
            (call.arguments_raw, handler),
            (handler.record.source.sparse(validated), handler.canonical),
        ):
            given = through_json(candidate)
            if _digest_or_nothing(reader, given) == expected:
                return _Arguments(given, reader.back is None, shown, expected)
    except Exception as error:  # a validator of the user's may raise anything
        why = str(error)
    return _Arguments(shown=shown, unstorable=why)


def exact_digest(handler: Handler, validated: Any) -> str:
    """Return a digest that differs whenever validated arguments differ.

    Raises:
        TypeError: A value cannot be written as JSON.
    """
    return hashlib.sha256(
        canonical_json(handler.record.source.exact(validated)).encode()
    ).hexdigest()


def _digest_or_nothing(handler: Handler, given: Any) -> str:
    try:
        return exact_digest(handler, handler.validate(given)[0])
    except Exception:  # a validator of the user's may raise anything
        return ""
