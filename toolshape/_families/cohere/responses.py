"""Reads responses of Cohere's v2 chat API, and assembles its streams.

The types come from cohere 7.3.1, read on 2026-11-20. Cohere's documentation of 2025 describes the
strict dialect.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from toolshape._families.openai import messages as openai_messages, responses as openai_bodies
from toolshape._families.wire.bodies import (
    hold_unless_complete,
    member,
    release_held,
    to_plain_json,
)
from toolshape._families.wire.ending import Ending, error_words
from toolshape._families.wire.provider import NO_TEXT, Completed, Read, TextDelta
from toolshape._families.wire.usage import count_at, usage_of
from toolshape._records.calls import Finish, JsonObject
from toolshape._records.result import Usage
from toolshape._schema.values import append_text, copy_json


def as_response(body: Any) -> Any:
    """Return a response, or wrap a message or a single call in a response;
    return ``None`` for any other body.
    """
    message = member(body, "message")
    is_ended = member(body, "finish_reason") is not None and member(body, "choices") is None
    if is_ended and member(message, "role") == "assistant":
        return body
    if is_ended:
        response = None
    else:
        response = openai_bodies.as_completion(body)
    if response is None or response is body:
        return None
    return {"message": response["choices"][0]["message"]}


def recognises(body: Any) -> bool:
    return as_response(body) is not None


def read(body: Any) -> Read | None:
    """Read the calls, as those of one choice in OpenAI's form; see ``_read_any`` for other
    bodies.
    """
    if type(body) is dict and "choices" not in body:
        try:
            message, finish = body["message"], body["finish_reason"]
            if type(message) is dict and message["role"] == "assistant" and finish is not None:
                return openai_bodies.read(
                    {"choices": [{"message": message, "finish_reason": finish}]}
                )
        except (LookupError, TypeError):
            pass
    return _read_any(body)


def _read_any(body: Any) -> Read | None:
    body = as_response(body)
    if body is None:
        return None
    message = member(body, "message")
    return openai_bodies.read(
        {
            "choices": [
                {"message": to_plain_json(message), "finish_reason": member(body, "finish_reason")}
            ]
        }
    )


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Merge an event: a call starts, its arguments arrive in pieces, it ends.

    Events identify the call by its index.
    """
    # Indexes count calls and blocks of text apart, and gateways leave them out, so ``x-places``
    # maps those that came, and a piece without one belongs to the last call. Only the last event
    # says how the response ended.
    message = body.setdefault("message", {"role": "assistant"})
    body.setdefault("finish_reason", "")
    call_positions: dict[Any, int] = body.setdefault("x-places", {})
    calls = message.get("tool_calls", [])
    at = call_positions.get(event.get("index"), len(calls) - 1)
    kind = event.get("type")
    delta = event.get("delta") or {}
    piece = delta.get("message") or {}
    if kind == "tool-plan-delta":
        message.setdefault("tool_plan", "")
        append_text(message, "tool_plan", piece.get("tool_plan", ""))
    elif kind == "tool-call-start" and not _is_started_again(
        calls, call_positions.get(event.get("index")), piece
    ):
        started_call = copy_json(piece["tool_calls"])
        started_call.setdefault("function", {}).setdefault("arguments", "")
        call_positions[event.get("index")] = len(calls)
        message["tool_calls"] = calls
        calls.append(started_call)
    elif kind == "tool-call-delta":
        append_text(
            calls[at]["function"], "arguments", piece["tool_calls"]["function"]["arguments"]
        )
    elif kind == "tool-call-end":
        return hold_unless_complete(
            body, at, openai_messages.read_call(calls[at]), calls[at]["function"]["arguments"]
        )
    elif kind == "content-start":
        message.setdefault("content", []).append(dict(piece.get("content") or {}))
    elif kind == "content-delta":
        _add_content(message, piece.get("content") or {})
    elif kind == "message-end":
        body["finish_reason"] = delta.get("finish_reason")
        body.update(usage=delta.get("usage"), error=delta.get("error"))
        return release_held(body, FINISHES.get(str(body["finish_reason"]), "other"))
    return ()


def _add_content(message: JsonObject, piece: JsonObject) -> None:
    """Add to the last block of the content; an emulator repeats the block's type in
    each piece, or starts no block.
    """
    blocks = message.setdefault("content", [])
    if not blocks:
        blocks.append({"type": "thinking" if "thinking" in piece else "text"})
    for key, value in piece.items():
        if key in ("text", "thinking"):
            blocks[-1].setdefault(key, "")
            append_text(blocks[-1], key, value)
        else:
            blocks[-1].setdefault(key, value)


def _is_started_again(calls: list[JsonObject], at: int | None, piece: JsonObject) -> bool:
    """Whether a gateway has doubled the event that starts a call."""
    return at is not None and calls[at].get("id") == piece["tool_calls"].get("id")


def text_delta(event: JsonObject) -> TextDelta:
    """Return the text in a content event.

    The text of the plan before the calls counts as reasoning.
    """
    piece = (event.get("delta") or {}).get("message") or {}
    if event.get("type") == "tool-plan-delta":
        return TextDelta(thinking=piece.get("tool_plan") or "")
    if event.get("type") in ("content-start", "content-delta"):
        content = piece.get("content")
    else:
        content = None
    if isinstance(content, dict):
        return TextDelta(content.get("text") or "", content.get("thinking") or "")
    return NO_TEXT


FINISHES: Mapping[str, Finish] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "TOOL_CALL": "tool_calls",
    "MAX_TOKENS": "length",
    "ERROR": "error",
    "TIMEOUT": "error",
}


def ending(body: JsonObject) -> Ending:
    """Find the error of a response that ended with one (cohere 7.3.1,
    ``ChatMessageEndEventDelta``, 2026-11-27).
    """
    return Ending(error_words(body.get("error")))


def usage(body: Any) -> Usage | None:
    """Read Cohere's usage: the tokens that the model read and wrote, not the billed units."""
    node = member(body, "usage")
    return usage_of(
        count_at(node, "tokens.input_tokens"),
        count_at(node, "tokens.output_tokens"),
        count_at(node, "cached_tokens"),
    )
