"""Reads responses of Ollama's ``/api/chat``, and assembles its streams.

The types come from ollama 0.6.3 and from the server's source of 2026-08-21, read on 2026-11-22.
"""

from collections.abc import Iterable
from typing import Any

from toolshape._families.ollama.messages import read_call
from toolshape._families.openai import responses as openai_bodies
from toolshape._families.wire.bodies import member, to_plain_json
from toolshape._families.wire.ending import Ending, error_words
from toolshape._families.wire.ids import is_plain_id, with_call_ids
from toolshape._families.wire.provider import NOTHING_CUT, Completed, Read, Reading, TextDelta
from toolshape._families.wire.usage import count_at, usage_of
from toolshape._records.calls import JsonObject
from toolshape._records.result import Usage
from toolshape._schema.values import append_text


def as_response(body: Any) -> Any:
    """Return a response, or wrap a message or a single call in a response;
    return ``None`` for any other body.
    """
    if member(body, "done") is not None and member(body, "message") is not None:
        return body
    if member(body, "role") == "assistant" and isinstance(member(body, "tool_calls"), list):
        return {"message": body}
    function = member(body, "function")
    is_call = member(function, "name") is not None
    if is_call:
        return {"message": {"role": "assistant", "content": "", "tool_calls": [body]}}
    return None


def recognises(body: Any) -> bool:
    return as_response(body) is not None


def read(body: Any) -> Read | None:
    """Read the calls.

    A message of JSON with calls and text is returned as it came; see ``_read_any``.
    """
    if type(body) is dict:
        try:
            message = body["message"]
            calls: list[tuple[str, str, Any, Any]] = []
            for call in message["tool_calls"] if "tool_calls" in message else ():  # noqa: SIM401 - as below
                call_id = call["id"] if "id" in call else ""  # noqa: SIM401 - get takes three times as long
                function = call["function"]
                name = function["name"]
                if not (call_id.isascii() and name) or call_id == "null":
                    break
                calls.append((call_id, name, function["arguments"], call))
            else:
                is_usual = type(message["content"]) is str and message["role"] == "assistant"
                if is_usual and body["done"] is not None:
                    return [message], calls, body["done_reason"], NOTHING_CUT, True
        except (LookupError, TypeError, AttributeError):
            pass
    return _read_any(body)


def _read_any(body: Any) -> Reading | None:
    """Read the calls. Servers before 2025 send no ids, and the Python client drops ids."""
    body = as_response(body)
    if body is None:
        return None
    message = member(body, "message")
    all_calls = [read_call(call) for call in member(message, "tool_calls") or ()]
    calls = [call for call in all_calls if not openai_bodies.is_stray(call)]
    sent = openai_bodies.with_content(openai_bodies.as_assistant(to_plain_json(message)))
    if len(calls) < len(all_calls):
        sent = openai_bodies.without_strays(sent, all_calls)
    # A missing id stays missing.
    if any(call.id != "" and not is_plain_id(call.id) for call in calls):
        items, calls = with_call_ids(
            to_plain_json(sent["tool_calls"]),
            calls,
            lambda _: True,
            lambda call, call_id: {**call, "id": call_id},
            leaves_out=True,
        )
        sent = {**sent, "tool_calls": items}
    return Reading([sent], calls, member(body, "done_reason"))


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Merge an event. Calls arrive whole, and more than one chunk may hold calls."""
    message = body.setdefault("message", {"role": "assistant", "content": ""})
    piece = event.get("message") or {}
    for key in ("content", "thinking"):
        if piece.get(key):
            message.setdefault(key, "")
            append_text(message, key, piece[key])
    call_count = len(message.get("tool_calls", ()))
    if piece.get("tool_calls"):
        message.setdefault("tool_calls", []).extend(piece["tool_calls"])
    if event.get("error"):
        body["done_reason"] = "error"
    body.update({key: value for key, value in event.items() if key != "message"})
    body.setdefault("done", False)
    new_calls = list(enumerate(map(read_call, piece.get("tool_calls") or ()), call_count))
    if event.get("done_reason") != "length":
        return new_calls
    return new_calls[:-1]


def text_delta(event: JsonObject) -> TextDelta:
    """Return the text of a chunk's message."""
    piece = event.get("message") or {}
    return TextDelta(piece.get("content") or "", piece.get("thinking") or "")


def ending(body: JsonObject) -> Ending:
    """Find the error of a stream that broke: ``{"error": ...}`` is its last line (the
    server's source of 2026-08-21).
    """
    return Ending(error_words(body.get("error")))


def is_last(event: JsonObject) -> bool:
    """Whether an event is the last of its response."""
    return event.get("done") is True or event.get("done_reason") is not None


def usage(body: Any) -> Usage | None:
    """Read Ollama's counts, which stand in the response itself."""
    return usage_of(count_at(body, "prompt_eval_count"), count_at(body, "eval_count"))
