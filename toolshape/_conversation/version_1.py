"""Reads the open turn out of what version 1 of ``Conversation.to_json`` stored.

It stored the states of calls beside the provider's messages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolshape._bound.bound import bound_tools_of
from toolshape._bound.registry import Registry
from toolshape._conversation.open_turn import StoredTurn, turn_to_json
from toolshape._families import get
from toolshape._families.receive import read_response
from toolshape._history.outbound import histories_of
from toolshape._plan.plan_state import HIDDEN, PlanState, StoredCallState, StoredState, unsigned
from toolshape._plan.planning import plan_calls
from toolshape._plan.result_json import outcome_of_part
from toolshape._plan.snapshot import snapshot
from toolshape._records.calls import JsonObject
from toolshape.messages import Message, ToolCallPart, calls_in, results_in

_STATES: Mapping[str, StoredState] = {
    "ready": "ready",
    "pending": "pending",
    "begun": "elsewhere",
    "answered": "answered",
}


def upgraded(
    messages: Sequence[Message], body: JsonObject, tools: Registry
) -> tuple[list[Message], JsonObject]:
    """Return the messages and the other members of a stored conversation as version 2 stores them.

    Raises:
        UsageError: The tools cannot be bound to the provider of the open turn.
        KeyError, TypeError, ValueError: The open turn is not a stored turn.
    """
    secret = set(body.get("hidden", ()))
    marked = [
        replace(message, holds_secret=True) if position in secret else message
        for position, message in enumerate(messages)
    ]
    stored = body.get("open")
    if stored is None or all(call["state"] == "answered" for call in stored["calls"]):
        return marked, {key: value for key, value in body.items() if key != "open"}
    turn = StoredTurn(state=_record(marked, stored, tools), messages=stored["messages"])
    return marked, {**body, "open": turn_to_json(turn)}


def _record(messages: Sequence[Message], stored: JsonObject, tools: Registry) -> PlanState:
    if messages and messages[-1].role == "tool":
        results = list(results_in(messages[-1]))
    else:
        results = []
    said = messages[:-1] if results else messages
    said = said[max(len(said) - stored["messages"], 0) :]
    record = _planned(said, stored, tools)
    if [call.id for call in record.calls] != [call["id"] for call in stored["calls"]]:
        raise ValueError("the calls of the open turn are not the calls in the messages")
    answered = iter(results)
    calls = [
        _with_state(call, about, answered)
        for call, about in zip(record.calls, stored["calls"], strict=True)
    ]
    return replace(record, calls=tuple(calls))


def _planned(said: Sequence[Message], stored: JsonObject, tools: Registry) -> PlanState:
    """Return the record of the turn as its response was planned; without the
    response, of the calls in the messages.
    """
    raw: list[Any] = [message.raw for message in said]
    if None in raw or not raw:
        parts = [part for message in said for part in calls_in(message)]
        calls = tuple(map(_hidden_call, parts))
        return PlanState(
            provider=stored["provider"], strict=stored["strict"], calls=calls, is_stale=True
        )
    bound = tools.bind(get(stored["provider"]), stored["strict"])
    tools_here = bound_tools_of(bound)
    is_items = histories_of(bound.provider).is_items
    reading = read_response(tools_here.reader, raw if is_items else raw[-1])
    results = plan_calls(bound.provider, reading, tools_here.handlers)
    return unsigned(snapshot(results), secrets=True)


def _hidden_call(part: ToolCallPart) -> StoredCallState:
    return StoredCallState(
        id=part.id,
        tool=part.name,
        wire_name=part.wire_name,
        raw=part.raw,
        written=part.arguments_raw,
        is_canonical=False,
        state="pending",
        shown=part.arguments,
        is_secret=True,
        unstorable=HIDDEN,
    )


def _with_state(call: StoredCallState, about: JsonObject, answered: Any) -> StoredCallState:
    state = _STATES[about["state"]]
    if state != "answered":
        if call.result is not None:  # the tool is not here, or refuses the call now
            why = "its tool is not here, or refuses these arguments now"
            call = replace(call, tool=about["name"], result=None, unstorable=why)
        return replace(call, state="pending" if call.state == "pending" else state)
    part = next(answered, None)
    if part is None:
        return call
    return replace(call, state=state, result=outcome_of_part(part))
