"""Reads responses of Anthropic's Messages API, and assembles its streams.

The types come from anthropic 2.10.0, read on 2026-11-20. The server's messages are from the cited issues.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from toolshape._families.anthropic.messages import read_call, with_object_arguments
from toolshape._families.wire.bodies import (
    hold_unless_complete,
    member,
    release_held,
    to_plain_json,
)
from toolshape._families.wire.ids import with_call_ids
from toolshape._families.wire.provider import NO_TEXT, Completed, Reading, TextDelta
from toolshape._families.wire.usage import count_at, total, usage_of
from toolshape._records.calls import Finish, JsonObject
from toolshape._records.result import Usage
from toolshape._schema.values import append_text, as_json


def as_message(body: Any) -> Any:
    """Return a response, a message from a history or a call block as a message; ``None`` for any other body."""
    content = member(body, "content")
    if isinstance(content, list):
        is_history = member(body, "role") == "assistant" and any(
            member(block, "type") == "tool_use" for block in content
        )
        return body if member(body, "type") == "message" or is_history else None
    return {"content": [body]} if member(body, "type") == "tool_use" else None


def recognises(body: Any) -> bool:
    return as_message(body) is not None


def read(body: Any) -> Reading | None:
    body = as_message(body)
    if body is None:
        return None
    content = member(body, "content")
    # server_tool_use blocks are the provider's own calls, which it runs itself.
    calls = [read_call(block) for block in content if member(block, "type") == "tool_use"]
    # A message may not have empty content, so a response without content is not sent back.
    sent_blocks, calls = with_call_ids(
        [with_object_arguments(block) for block in to_plain_json(content)],
        calls,
        lambda block: block.get("type") == "tool_use",
        lambda block, call_id: {**block, "id": call_id},
    )
    assistant = [{"role": "assistant", "content": sent_blocks}] if content else []
    ends_in_call = bool(content) and member(content[-1], "type") == "tool_use"
    return Reading(assistant, calls, member(body, "stop_reason"), ends_in_call=ends_in_call)


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Merge an event. The input of a call is the text received so far, until the stop event for its block arrives."""
    kind = event.get("type")
    if kind == "message_start":
        body.update({**event["message"], "content": list(event["message"].get("content") or ())})
        body.update(
            {"x-blocks": {}, "x-calls": {}}
        )  # some streams hold several responses: the last response counts
    # "x-blocks" maps the index in an event to a position in the content. "x-calls" maps a position in the content to a
    # position among the calls.
    content = body.setdefault("content", [])
    body.setdefault("type", "message")
    content_positions: dict[Any, int] = body.setdefault("x-blocks", {})
    call_positions: dict[int, int] = body.setdefault("x-calls", {})
    at = content_positions.get(event.get("index"), -1)
    if kind == "content_block_start":
        content_positions[event.get("index")] = len(content)
        if event["content_block"].get("type") == "tool_use":
            call_positions[len(content)] = len(call_positions)
        content.append(_start_block(event["content_block"]))
    elif kind == "content_block_delta" and 0 <= at < len(content):
        _join(content[at], event["delta"])
    elif kind == "content_block_stop" and 0 <= at < len(content):
        text = content[at].get("input")
        if isinstance(text, str):
            content[at]["input"] = as_json(text or "{}")
        if at in call_positions:
            return hold_unless_complete(body, call_positions[at], read_call(content[at]), text)
    elif kind == "message_delta":
        # Counts are of the whole response so far, so the last ones count; ``None`` means that nothing is said.
        counts = {
            key: value for key, value in (event.get("usage") or {}).items() if value is not None
        }
        body["usage"] = {**(body.get("usage") or {}), **counts}
        body.update({key: value for key, value in event["delta"].items() if value is not None})
        return release_held(body, FINISHES.get(str(body.get("stop_reason")), "other"))
    elif kind == "error":
        body["stop_reason"] = "error"
    return ()


def _start_block(block: JsonObject) -> JsonObject:
    is_call = block.get("type", "").endswith("tool_use") and not block.get("input")
    return {**block, "input": ""} if is_call else dict(block)


def _join(block: JsonObject, delta: JsonObject) -> None:
    for key, value in delta.items():
        name = "input" if key == "partial_json" else key
        if key in ("text", "thinking", "signature", "partial_json"):
            block[name] = block.get(name) or ""
            if isinstance(block[name], str):
                append_text(block, name, value)
        elif key == "citation":
            block["citations"] = block.get("citations") or []
            block["citations"].append(value)


def text_delta(event: JsonObject) -> TextDelta:
    """Return the text in an event: in a delta, or in the start of a block that already holds text."""
    piece = event.get("delta") or event.get("content_block") or {}
    if event.get("type") not in ("content_block_delta", "content_block_start"):
        return NO_TEXT
    return TextDelta(piece.get("text") or "", piece.get("thinking") or "")


FINISHES: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "error": "error",
}


def usage(body: Any) -> Usage | None:
    """Read Anthropic's usage: ``input_tokens`` leaves out what was read from the cache or written to it.

    Source: the SDK's ``types/usage.py`` and the page on prompt caching, 2026-11-23.
    """
    node = member(body, "usage")
    cached = count_at(node, "cache_read_input_tokens")
    written = count_at(node, "cache_creation_input_tokens")
    return usage_of(
        total(count_at(node, "input_tokens"), cached, written),
        count_at(node, "output_tokens"),
        cached,
        count_at(node, "output_tokens_details.thinking_tokens"),
    )
