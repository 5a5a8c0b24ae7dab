"""The open turn of a conversation: a message with an unanswered call, living or stored."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from toolshape._history.outbound import result_part_of
from toolshape._plan.plan_state import PlanState, from_json, to_json
from toolshape._plan.results import Results
from toolshape._plan.state import State
from toolshape._records.calls import JsonObject
from toolshape._records.errors import Problem
from toolshape._records.result import Result
from toolshape._records.shown import escape_invisible
from toolshape.messages import Message, calls_in

_WAYS_OUT = "approve, deny or edit the call and call run(), or pause the conversation"
_LEFT: tuple[State, ...] = ("ready", "pending", "approved", "given away", "elsewhere")


@dataclass(frozen=True, kw_only=True)
class OpenTurn:
    """The assistant's last turn, which is kept until each of its calls has a result.

    ``number`` is the number of the turn in the conversation, and ``messages`` counts its messages
    of the assistant. ``is_repeated`` says that its response was delivered before, so its results
    already stand in the conversation.
    """

    results: Results
    number: int
    messages: int
    is_repeated: bool = False


@dataclass(frozen=True, kw_only=True)
class StoredTurn:
    """The open turn of a restored conversation, until it is needed; ``messages``
    counts the assistant's messages.
    """

    state: PlanState
    messages: int


def is_turn_open(turn: OpenTurn) -> bool:
    """Whether a call of the turn is running, may run, waits for approval, or had begun
    elsewhere.
    """
    controls = turn.results._controls
    if controls is None:
        return bool(turn.results._waiting)
    return bool(controls.runs or any(map(controls.in_state.get, _LEFT)))


def answered_message(answers: Iterable[Result | None]) -> Message | None:
    """Return the results that exist so far as one message, or ``None`` if there are none."""
    parts = tuple(result_part_of(answer) for answer in answers if answer is not None)
    if parts:
        return Message(role="tool", parts=parts)
    return None


def waiting_calls(turn: OpenTurn) -> list[str]:
    """Return the names and ids of the unanswered calls."""
    calls, answers = turn.results.calls, turn.results._answers
    return [
        _label(call.name, call.id)
        for call, answer in zip(calls, answers, strict=True)
        if answer is None
    ]


def stored_waiting_calls(turn: StoredTurn) -> list[str]:
    """Return the names and ids of the unanswered calls in a stored turn."""
    return [_label(call.tool, call.id) for call in turn.state.calls if call.result is None]


def _label(name: str | None, call_id: str) -> str:
    return escape_invisible(f"{name} ({call_id})")


def refusal_message(waiting: Sequence[str]) -> str:
    """Return the error message that says why a conversation with an open turn
    cannot continue, and what to do.
    """
    return (
        f"{', '.join(waiting)} still waits, and the conversation cannot continue without its "
        f"result: {_WAYS_OUT}"
    )


def problems_of_waiting(waiting: Sequence[str], path: str) -> list[Problem]:
    """Return one ``Problem`` for each unanswered call."""
    return [
        Problem(
            path=path, rule="open_turn", message=f"{call_label} has no result yet", hint=_WAYS_OUT
        )
        for call_label in waiting
    ]


def turn_to_json(turn: StoredTurn) -> JsonObject:
    """Return the JSON that stores an open turn."""
    return {**to_json(turn.state), "messages": turn.messages}


def turn_from_json(given: Any) -> StoredTurn:
    """Read the JSON that ``turn_to_json`` wrote.

    Raises:
        ValueError: The value is not a stored turn.
    """
    if not isinstance(given, dict) or type(given.get("messages")) is not int:
        raise ValueError("the open turn is not a stored turn")
    body = dict(given)
    messages = body.pop("messages")
    return StoredTurn(state=from_json(body), messages=messages)


def assistant_messages(messages: Sequence[Message], turn: StoredTurn) -> Sequence[Message]:
    """Return the assistant's messages of a stored turn; the message
    with its results may follow them.

    Raises:
        ValueError: The calls in the messages are not the calls of the turn.
    """
    end = len(messages) - (1 if messages and messages[-1].role == "tool" else 0)
    found = messages[max(end - turn.messages, 0) : end]
    ids = [call.id for message in found for call in calls_in(message)]
    if ids != [call.id for call in turn.state.calls]:
        raise ValueError("the calls of the open turn are not the calls in the messages")
    return found
