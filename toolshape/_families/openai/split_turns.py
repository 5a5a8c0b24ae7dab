"""Reads responses of servers that spread one turn over several choices: they are one message.

GitHub's Copilot puts the text of Claude's turn into the first choice and each call into a further
one (zeroclaw#2136, nanobot#1555, copilot-api#81; read 2026-11-28). Everywhere else a further choice
is an alternative, whose calls must not run.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from toolshape._families.openai import OPENAI, responses
from toolshape._families.wire.bodies import member, to_plain_json
from toolshape._families.wire.ending import Ending
from toolshape._families.wire.provider import Completed, Read, TextDelta
from toolshape._records.calls import JsonObject
from toolshape._schema.values import is_whole


def read(body: Any) -> Read | None:
    return responses.read(_as_one_choice(body))


def ending(body: JsonObject) -> Ending:
    return responses.ending(_as_one_choice(body))


def _as_one_choice(body: Any) -> Any:
    """Return a response whose choices are joined: texts in their order, and then all calls."""
    choices = member(body, "choices")
    if not isinstance(choices, list) or len(choices) < 2:  # noqa: PLR2004 - more than one
        return body
    plain: JsonObject = to_plain_json(body)
    whole: JsonObject = {}
    for at, choice in enumerate(plain["choices"]):
        event = {"choices": [_in_first_choice({"index": at, **choice})]}
        # The fold of a stream joins messages: a whole one is a stream of one event.
        tuple(responses.fold(whole, event))
    error = {"error": whole["error"]} if "error" in whole else {}  # of a choice, for example
    return {**plain, **error, "choices": whole["choices"]}


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Merge an event as if there were one choice.

    Each choice has an end of its own. At an end, the calls of other choices may not be whole yet,
    so only those are returned that are, and none of them twice.
    """
    if any(map(_is_further, event.get("choices") or ())):
        body["x-split"] = True
    completed = responses.fold(body, _in_one_choice(event))
    if "x-split" not in body or not completed:
        return _first_time(body, completed)
    return _first_time(body, [entry for entry in completed if is_whole(entry[1].arguments)])


def _first_time(body: JsonObject, completed: Iterable[Completed]) -> Iterable[Completed]:
    if not completed:
        return ()
    done: set[int] = body.setdefault("x-done", set())
    new = [entry for entry in completed if entry[0] not in done]
    done.update(position for position, _ in new)
    return new


def text_delta(event: JsonObject) -> TextDelta:
    return responses.text_delta(_in_one_choice(event))


def _in_one_choice(event: JsonObject) -> JsonObject:
    choices = event.get("choices") or ()
    if not any(map(_is_further, choices)):
        return event
    return {**event, "choices": [_in_first_choice(choice) for choice in choices]}


def _is_further(choice: JsonObject) -> bool:
    return bool(choice.get("index", 0) != 0)


def _in_first_choice(choice: JsonObject) -> JsonObject:
    """Return a choice as a part of the first one; its calls have places that no other choice
    has.
    """
    number, fields = choice.get("index", 0), dict(choice)
    for key in ("delta", "message"):
        calls = (choice.get(key) or {}).get("tool_calls")
        if calls:
            places = [call.get("index", at) for at, call in enumerate(calls)]
            placed = [
                {**call, "index": (number, place) if number else place}
                for call, place in zip(calls, places, strict=True)
            ]
            fields[key] = {**choice[key], "tool_calls": placed}
    return {**fields, "index": 0}


RESPONSE = replace(OPENAI.response, read=read, fold=fold, ending=ending, text_delta=text_delta)
