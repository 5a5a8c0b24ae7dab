"""Mistral, chat completions: reads responses, and puts streams together. Types read in mistralai 3.7.0 and mistral-common 1.13.1 on 2026-11-20."""

from typing import Any

from toolshape._calls import JsonObject
from toolshape._families.openai import responses as openai_bodies
from toolshape._wire.provider import Completed, Read


def read(body: Any) -> Read | None:
    """Read it as OpenAI's; the SDK writes a missing id as the text "null"."""
    reading = openai_bodies.read(body)
    if reading is None:
        return None
    [message], calls, finish, _, _ = reading
    if all(call_id != "null" for call_id, *_ in calls):
        return reading
    nameless = [{**call, "id": "" if call.get("id") == "null" else call["id"]} for call in message["tool_calls"]]
    return openai_bodies.read({"choices": [{"message": {**message, "tool_calls": nameless}, "finish_reason": finish}]})


def fold(body: JsonObject, event: JsonObject) -> list[Completed]:
    return [(at, call._replace(id="") if call.id == "null" else call) for at, call in openai_bodies.fold(body, event)]
