"""Stores and restores the open turn of a conversation: an assistant message with at least one unanswered call."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from toolshape._bound.bound import Bound, bound_tools_of, observe_resumed
from toolshape._families.receive import read_response
from toolshape._history.outbound import histories_of, result_part_of
from toolshape._plan import state
from toolshape._plan.planning import plan_calls
from toolshape._plan.results import Results
from toolshape._plan.state import State
from toolshape._records.calls import JsonObject
from toolshape._records.errors import CallError, CallErrorCode, Problem, UsageError
from toolshape._records.result import Result
from toolshape._tools.handler import Handler
from toolshape.messages import Message, ToolResultPart, calls_in, results_in

_WAYS_OUT = "approve, deny or edit the call and call run(), or pause the conversation"
_LEFT: frozenset[State] = frozenset({"pending", "approved", "given away"})
_UNANSWERED: frozenset[State] = frozenset(
    {"ready", "claimed", "asking", "running", "cancelled", *_LEFT}
)


@dataclass(frozen=True, kw_only=True)
class OpenTurn:
    """The assistant's last turn, which is kept until each of its calls has a result.

    ``number`` is the number of the turn in the conversation. ``is_restored`` tells whether the turn was read from JSON;
    if so, its unanswered calls may have run since the JSON was written. ``begun`` holds the positions of the calls that
    had begun when the JSON was written.
    """

    results: Results
    number: int
    is_restored: bool = False
    begun: frozenset[int] = frozenset()


def is_open(turn: OpenTurn) -> bool:
    """Whether a call of the turn is running, waits for approval, or is approved but has not run.

    A restored turn is also open if a call that needs no approval is unanswered: this process has not run the call.
    """
    if hasattr(turn.results, "controls") and turn.results.controls.runs:
        return True
    states = {state.state_of(turn.results, position) for position in range(len(turn.results))}
    return bool(states & _LEFT) or (turn.is_restored and "ready" in states)


def answered_message(turn: OpenTurn) -> Message | None:
    """Return the results that exist so far as one message, or ``None`` if there are none."""
    answers = [answer for answer in turn.results.answers if answer is not None]
    return Message(role="tool", parts=tuple(map(result_part_of, answers))) if answers else None


def waiting_calls(turn: OpenTurn) -> list[str]:
    """Return the names and ids of the unanswered calls."""
    calls, answers = turn.results.calls, turn.results.answers
    return [
        f"{call.name} ({call.id})"
        for call, answer in zip(calls, answers, strict=True)
        if answer is None
    ]


def refusal_message(waiting: Sequence[str]) -> str:
    """Return the error message that says why a conversation with an open turn cannot continue, and what to do."""
    return f"{', '.join(waiting)} still waits, and the conversation cannot continue without its result: {_WAYS_OUT}"


def problems_of(waiting: Sequence[str], path: str) -> list[Problem]:
    """Return one ``Problem`` for each unanswered call."""
    return [
        Problem(
            path=path, rule="open_turn", message=f"{call_label} has no result yet", hint=_WAYS_OUT
        )
        for call_label in waiting
    ]


def turn_to_json(turn: OpenTurn) -> JsonObject:
    """Return the JSON that stores an open turn: the facts that the messages of the conversation do not contain.

    The JSON is not signed, so anyone who stores it can change it. It therefore records which calls wait, but never that
    a call was approved or edited.
    """
    states: list[State] = [
        state.state_of(turn.results, position) for position in range(len(turn.results))
    ]
    return {
        "provider": turn.results.provider.name,
        "strict": next(
            (entry[2].bound_strict for entry in state.every_entry(turn.results)), "auto"
        ),
        "messages": len(turn.results.assistant),
        "calls": [
            {"id": call.id, "name": call.name, "state": _stored_state(call_state)}
            for call, call_state in zip(turn.results.calls, states, strict=True)
        ],
    }


def _stored_state(found: State) -> str:
    if found not in _UNANSWERED:
        return "answered"
    return "pending" if found in _LEFT else "ready" if found in {"ready", "claimed"} else "begun"


def stored_waiting_calls(stored: JsonObject) -> list[str]:
    """Return the names and ids of the unanswered calls in a stored turn."""
    return [
        f"{call['name']} ({call['id']})" for call in stored["calls"] if call["state"] != "answered"
    ]


def restore_turn(
    stored: JsonObject, number: int, bound: Bound, messages: Sequence[Message], context: Any
) -> OpenTurn:
    """Restore the open turn of a stored conversation.

    Args:
        stored: The JSON that ``turn_to_json`` returned.
        number: The number of the turn.
        bound: The tools, bound to the stored provider with the stored strictness.
        messages: The messages of the conversation. The last messages hold the calls and their results so far.
        context: What validators of arguments read as ``info.context``.

    Raises:
        UsageError: The messages do not contain the stored calls in their original form, or a call that waits is not valid
            without a context.
    """
    parts = list(results_in(messages[-1])) if messages and messages[-1].role == "tool" else []
    assistant_messages = [*messages[:-1]] if parts else [*messages]
    assistant_messages = assistant_messages[max(len(assistant_messages) - stored["messages"], 0) :]
    raw_messages = [message.raw for message in assistant_messages]
    if not raw_messages or None in raw_messages or not any(map(calls_in, assistant_messages)):
        raise UsageError(
            "the messages do not contain the waiting calls unchanged: call resume() with the token from pause()"
        )
    is_items = histories_of(bound.provider).is_items
    reading = read_response(
        bound_tools_of(bound).reader, raw_messages if is_items else raw_messages[-1]
    )
    handlers = bound_tools_of(bound).handlers.in_context(context)
    results = plan_calls(bound.provider, reading, handlers)
    calls = stored["calls"]
    if [call.id for call in results.calls] != [call["id"] for call in calls]:
        raise UsageError(
            "the waiting calls differ from the calls in the messages: the stored conversation was changed"
        )
    if context is None:
        _require_no_context(results, calls)
    results.assistant = raw_messages
    _restore(results, calls, parts)
    observe_resumed(bound, results)
    begun_positions = frozenset(
        position for position, call in enumerate(calls) if call["state"] == "begun"
    )
    return OpenTurn(results=results, number=number, is_restored=True, begun=begun_positions)


def _require_no_context(results: Results, calls: Sequence[Mapping[str, Any]]) -> None:
    """Require that each call that waits is valid, as it was; a validator of the author's may need its context.

    Raises:
        UsageError: A call cannot be validated without a context. The stored turn is kept, and the call still waits.
    """
    for call, stored_call, answer in zip(results.calls, calls, results.answers, strict=True):
        if answer is None or stored_call["state"] == "answered":
            continue
        if isinstance(call.reader, Handler) and call.reader.runs_code:
            raise UsageError(
                f"the arguments of {call.wire_name} ({call.id}) were valid when the conversation was stored, and are not "
                "now: if its validators read info.context, call plan(context=...) first"
            )


def _restore(
    results: Results, calls: Sequence[Mapping[str, Any]], parts: Sequence[ToolResultPart]
) -> None:
    """Give the calls of a response that was planned again their stored answers and states."""
    entries = {entry[0]: entry for entry in state.every_entry(results)}
    entries_by_state: dict[State, list[Any]] = {"ready": [], "pending": []}
    stored_parts = iter(parts)
    for position, call in enumerate(calls):
        entry = entries.get(position)
        if call["state"] == "answered":
            part = next(stored_parts, None)
            if part is not None:
                results.answers[position] = _result_of(results, position, part)
        elif entry is not None:
            must_wait = call["state"] == "pending" or state.state_of(results, position) == "pending"
            entries_by_state["pending" if must_wait else "ready"].append(entry)
    state.restore_controls(results, entries_by_state, {})
    results.is_plain = False


def _result_of(results: Results, position: int, part: ToolResultPart) -> Result:
    call = results.calls[position]
    value: Any = part.text if part.is_text else None
    if part.code is None and part.is_text is False:
        try:
            value = json.loads(part.text)
        except ValueError:
            value = None
    error = (
        None
        if part.code is None
        else CallError(cast("CallErrorCode", part.code), tool=call.wire_name)
    )
    is_text, parts = part.is_text, part.parts
    return Result(call, value, error, text=part.text, is_text=is_text, parts=parts, replayed=True)


def check_guarded(turn: OpenTurn) -> None:
    """Check that a restored turn can run without a ledger: no unanswered call may repeat a write.

    Raises:
        UsageError: An unanswered call may have run, and a second run may repeat its write.
    """
    if not turn.is_restored:
        return
    for entry in state.every_entry(turn.results):
        handler = entry[2]
        is_harmless = not handler.tool.effects.isdisjoint(("read", "idempotent"))
        may_write = handler.runs_alone or (
            (bool(handler.approve) or entry[0] in turn.begun) and not is_harmless
        )
        if may_write and turn.results.answers[entry[0]] is None:
            raise UsageError(
                f"{entry[1].name} ({entry[1].id}) may have run since this conversation was stored: pass the ledger "
                "that records its calls as ledger=, or call resume() with the token that pause() returned"
            )
