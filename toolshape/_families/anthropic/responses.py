"""Reads responses of Anthropic's Messages API, and assembles its streams.

The types come from anthropic 2.10.0, read on 2026-11-20. The server's messages are from the cited
issues.
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
from toolshape._families.wire.ending import Ending, error_words, not_over, unread
from toolshape._families.wire.ids import with_call_ids
from toolshape._families.wire.provider import (
    NO_TEXT,
    NOTHING_CUT,
    Completed,
    Read,
    Reading,
    TextDelta,
)
from toolshape._families.wire.usage import count_at, total, usage_of
from toolshape._records.calls import Finish, JsonObject
from toolshape._records.result import ResponseWarning, Usage
from toolshape._schema.values import append_text, as_json


def as_message(body: Any) -> Any:
    """Return a response, a message from a history or a call block as a
    message; ``None`` for any other body.
    """
    content = member(body, "content")
    if isinstance(content, list):
        is_history = member(body, "role") == "assistant" and any(
            member(block, "type") == "tool_use" for block in content
        )
        if member(body, "type") == "message" or is_history:
            return body
        return None
    if member(body, "type") == "tool_use":
        return {"content": [body]}
    return None


def recognises(body: Any) -> bool:
    return as_message(body) is not None


_PLAIN_BLOCKS = frozenset({"text", "thinking", "redacted_thinking"})


def read(body: Any) -> Read | None:
    """Read the calls.

    A message of JSON in which every block is known is returned as it came; see ``_read_any``.
    """
    if type(body) is dict:
        try:
            calls: list[tuple[str, str, Any, Any]] = []
            kind = ""
            for block in body["content"]:
                kind = block["type"]
                if kind == "tool_use":
                    call_id, name, arguments = block["id"], block["name"], block["input"]
                    if not (call_id.isascii() and call_id and name and type(arguments) is dict):
                        break
                    calls.append((call_id, name, arguments, block))
                elif kind not in _PLAIN_BLOCKS:
                    break
            else:
                if kind and body["type"] == "message":
                    message = {"role": "assistant", "content": [*body["content"]]}
                    return [message], calls, body["stop_reason"], NOTHING_CUT, kind == "tool_use"
        except (LookupError, TypeError, AttributeError):
            pass
    return _read_any(body)


def _read_any(body: Any) -> Reading | None:
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
    if content:
        assistant = [{"role": "assistant", "content": sent_blocks}]
    else:
        assistant = []
    ends_in_call = bool(content) and member(content[-1], "type") == "tool_use"
    return Reading(assistant, calls, member(body, "stop_reason"), ends_in_call=ends_in_call)


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Merge an event.

    The input of a call is the text received so far, until the stop event for its block arrives,
    unless its start holds the whole input.
    """
    kind = event.get("type")
    if kind == "message_start":
        body.update({**event["message"], "content": list(event["message"].get("content") or ())})
        # Some streams hold several responses: the last response counts.
        body.update({"x-blocks": {}, "x-calls": {}})
    # "x-blocks" maps the index in an event to a position in the content. "x-calls" maps a position
    # in the content to a position among the calls.
    content = body.setdefault("content", [])
    body.setdefault("type", "message")
    content_positions: dict[Any, int] = body.setdefault("x-blocks", {})
    call_positions: dict[int, int] = body.setdefault("x-calls", {})
    at = content_positions.get(event.get("index"), -1)
    if kind == "content_block_start":
        if not (0 <= at < len(content) and _is_started_again(content[at], event["content_block"])):
            content_positions[event.get("index")] = len(content)
            _begin_block(content, call_positions, event["content_block"])
    elif kind == "content_block_delta" and 0 <= at < len(content):
        _join(content[at], event["delta"])
    elif kind == "content_block_stop" and 0 <= at < len(content):
        text = content[at].get("input")
        if isinstance(text, str):
            content[at]["input"] = as_json(text or "{}")
        if at in call_positions:
            return hold_unless_complete(body, call_positions[at], read_call(content[at]), text)
    elif kind == "message_delta":
        # Counts are of the whole response so far, so the last ones count; ``None`` means that
        # nothing is said.
        counts = {
            key: value for key, value in (event.get("usage") or {}).items() if value is not None
        }
        body["usage"] = {**(body.get("usage") or {}), **counts}
        body.update({key: value for key, value in event["delta"].items() if value is not None})
        return release_held(body, FINISHES.get(str(body.get("stop_reason")), "other"))
    elif kind == "error":
        body["error"] = event.get("error")
        body["stop_reason"] = "error"
    return ()


def _is_started_again(block: JsonObject, started: JsonObject) -> bool:
    """Whether a gateway has doubled the event that starts a block with an id."""
    return "id" in started and (block.get("type"), block.get("id")) == (
        started.get("type"),
        started["id"],
    )


def _begin_block(
    content: list[JsonObject], call_positions: dict[int, int], block: JsonObject
) -> None:
    kind = block.get("type", "")
    if kind == "tool_use":
        call_positions[len(content)] = len(call_positions)
    is_call = kind.endswith("tool_use") and not block.get("input")
    content.append({**block, "input": ""} if is_call else dict(block))


def _join(block: JsonObject, delta: JsonObject) -> None:
    for key, value in delta.items():
        name = "input" if key == "partial_json" else key
        if key in ("text", "thinking", "signature", "partial_json"):
            block[name] = block.get(name) or ""
            if isinstance(block[name], str):
                append_text(block, name, value)
        elif block.get("type") == "compaction" and key != "type":
            # Arrives whole (the SDK's accumulator).
            block[key] = value
        elif key == "citation":
            block["citations"] = block.get("citations") or []
            block["citations"].append(value)


def text_delta(event: JsonObject) -> TextDelta:
    """Return the text in an event: in a delta, or in the start of a block that already holds
    text.
    """
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
    "pause_turn": "continue",
    "compaction": "continue",
    "error": "error",
}

_NO_CALLS_OF_TOOLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def ending(body: JsonObject) -> Ending:
    """Find an error, a turn that the server has only interrupted, and calls of an unknown kind.

    ``pause_turn`` and ``compaction`` (beta) ask for the same messages again, with this one at their
    end (anthropic 2.14.0, ``types/stop_reason.py`` and ``types/beta/beta_stop_reason.py``,
    2026-11-27).
    """
    reason = body.get("stop_reason")
    warnings: list[ResponseWarning] = []
    if FINISHES.get(str(reason)) == "continue":
        warnings.append(
            not_over(reason, "send the messages again, with this response at their end")
        )
    if reason == "tool_use":
        blocks = [block for block in body.get("content") or () if isinstance(block, dict)]
        kinds = [block.get("type") for block in blocks]
        warnings += [
            unread(f"a block of the kind {str(kind)!r}")
            for kind in kinds
            if str(kind).endswith("_use") and kind not in _NO_CALLS_OF_TOOLS
        ]
        if not warnings and "tool_use" not in kinds:
            warnings.append(unread("the call that the stop reason tool_use speaks of"))
    if reason == "error":
        error = error_words(body.get("error"))
    else:
        error = None
    return Ending(error, warnings=tuple(warnings))


def usage(body: Any) -> Usage | None:
    """Read Anthropic's usage: ``input_tokens`` leaves out what was read
    from the cache or written to it.

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
