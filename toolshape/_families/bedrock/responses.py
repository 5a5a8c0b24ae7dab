"""Reads responses of AWS Bedrock's Converse API, and assembles its streams.

The types come from botocore 1.44.5, bedrock-runtime/2023-09-30, read on 2026-11-20.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from toolshape._families.bedrock.messages import read_call, with_object_arguments
from toolshape._families.wire.bodies import hold_unless_complete, make_room, member, release_held
from toolshape._families.wire.ending import Ending, error_words, malformed, unread
from toolshape._families.wire.ids import with_call_ids
from toolshape._families.wire.provider import NOTHING_CUT, Completed, Read, Reading, TextDelta
from toolshape._families.wire.usage import count_at, total, usage_of
from toolshape._records.calls import Finish, JsonObject
from toolshape._records.result import Usage
from toolshape._schema.values import append_text, as_json


def as_response(body: Any) -> Any:
    """Return a response unchanged; wrap a message or a call block in a response;
    return ``None`` for other bodies.
    """
    if member(member(body, "output"), "message") is not None:
        return body
    content = member(body, "content")
    if isinstance(content, list) and any(member(block, "toolUse") is not None for block in content):
        return {"output": {"message": body}}
    if member(body, "toolUse") is not None:
        return {"output": {"message": {"role": "assistant", "content": [body]}}}
    return None


def recognises(body: Any) -> bool:
    return as_response(body) is not None


def read(body: Any) -> Read | None:
    """Read the calls.

    A message of JSON that a request accepts is returned as it came; see ``_read_any``.
    """
    if type(body) is dict:
        try:
            message, ends_in_call = body["output"]["message"], False
            calls: list[tuple[str, str, Any, Any]] = []
            # What is not known here goes to the other reader, because the server refuses a ``type``
            # in a block, and a call that it ran itself must not run again.
            for block in message["content"]:
                if type(block) is not dict or "type" in block or _UNKNOWN in block:
                    break
                ends_in_call = "toolUse" in block
                if ends_in_call:
                    use = block["toolUse"]
                    call_id, name, arguments = use["toolUseId"], use["name"], use["input"]
                    is_known = call_id.isascii() and call_id and type(arguments) is dict
                    if not is_known or ("type" in use and use["type"] == "server_tool_use"):
                        break
                    calls.append((call_id, name, arguments, block))
            else:
                if message["content"] and message["role"] == "assistant":
                    return [message], calls, body["stopReason"], NOTHING_CUT, ends_in_call
        except (LookupError, TypeError, AttributeError):
            pass
    return _read_any(body)


def _read_any(body: Any) -> Reading | None:
    body = as_response(body)
    if body is None:
        return None
    message = member(member(body, "output"), "message")
    given: list[Any] = list(member(message, "content") or [])
    content = [block for block in given if not isinstance(block, dict) or [*block] != [_UNKNOWN]]
    calls = [read_call(block) for block in content if _is_call(block)]
    ends_in_call = bool(content) and member(content[-1], "toolUse") is not None
    sent_blocks, calls = with_call_ids(
        [with_object_arguments(_sendable_block(block)) for block in content],
        calls,
        _is_call,
        lambda block, call_id: {**block, "toolUse": {**block["toolUse"], "toolUseId": call_id}},
    )
    return Reading(
        [{**message, "role": "assistant", "content": sent_blocks}],
        calls,
        member(body, "stopReason"),
        ends_in_call=ends_in_call,
    )


_UNKNOWN = "SDK_UNKNOWN_MEMBER"
"""The key under which botocore names a block that it is too old to know (botocore
1.44.8, ``parsers.py``, 2026-11-28).
"""


def _sendable_block(block: Any) -> Any:
    """Return a block for a request: without the ``type`` that gateways add,
    and without what botocore adds.
    """
    if not isinstance(block, dict) or block.keys().isdisjoint(("type", _UNKNOWN)):
        return block
    return {key: value for key, value in block.items() if key not in ("type", _UNKNOWN)}


def _is_call(block: Any) -> bool:
    """Return whether a block is a call for the caller to run, not a call
    that the provider runs itself.
    """
    tool_use = member(block, "toolUse")
    return tool_use is not None and member(tool_use, "type") != "server_tool_use"


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Merge an event.

    The input of a call is the text received so far, until the stop event for its block arrives.
    """
    message = body.setdefault("output", {}).setdefault(
        "message", {"role": "assistant", "content": []}
    )
    content = message["content"]
    call_positions: dict[int, int] = body.setdefault("x-calls", {})
    start, delta, stop = (event.get(f"contentBlock{name}") for name in ("Start", "Delta", "Stop"))
    body.update(event.get("metadata") or {})  # the counts, after the message has stopped
    if stop_reason := _stop_reason(event):
        body.update(stopReason=stop_reason, error=event if stop_reason == "error" else None)
    at = next(
        (part.get("contentBlockIndex", 0) for part in (start, delta, stop) if part is not None), -1
    )
    if at >= len(content):
        make_room(content, at, dict)
    if start is not None:
        content[at] = {key: dict(value) for key, value in start.get("start", {}).items()}
        if "toolUse" in content[at]:
            content[at]["toolUse"].setdefault("input", "")
        if _is_call(content[at]):
            call_positions.setdefault(at, len(call_positions))
    elif delta is not None:
        _join(content[at], delta.get("delta", {}))
    elif stop is not None and "toolUse" in content[at]:
        tool_use = content[at]["toolUse"]
        text = tool_use["input"]
        if isinstance(text, str):
            tool_use["input"] = as_json(text or "{}")
        if at in call_positions:
            return hold_unless_complete(body, call_positions[at], read_call(content[at]), text)
    return release_held(body, FINISHES.get(str(stop_reason), "other")) if stop_reason else ()


def _stop_reason(event: JsonObject) -> Any:
    if event.get("messageStop"):
        return event["messageStop"].get("stopReason")
    if any(name.endswith("Exception") for name in event):
        return "error"
    return None


def _join(block: JsonObject, delta: JsonObject) -> None:
    for key, value in delta.items():
        if isinstance(value, (str, bytes)):
            block.setdefault(key, value[:0])
            append_text(block, key, value)
        elif key == "citation":  # a request accepts no citation next to text
            continue
        elif isinstance(value, dict):
            _join(
                block.setdefault(key, {})
                if key != "reasoningContent"
                else _reasoning(block, value),
                value,
            )
        else:
            block[key] = value


def _reasoning(block: JsonObject, value: JsonObject) -> JsonObject:
    """Return the object that a reasoning delta extends: ``reasoningText``, or
    its parent for redacted content.
    """
    reasoning: JsonObject = block.setdefault("reasoningContent", {})
    return reasoning if "redactedContent" in value else reasoning.setdefault("reasoningText", {})


def text_delta(event: JsonObject) -> TextDelta:
    """Return the text and the reasoning in a delta."""
    delta = (event.get("contentBlockDelta") or {}).get("delta") or {}
    return TextDelta(
        delta.get("text") or "", (delta.get("reasoningContent") or {}).get("text") or ""
    )


FINISHES: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
    "error": "error",
}


def ending(body: JsonObject) -> Ending:
    """Find an exception in a stream, and a call that the provider could not read
    (botocore 1.44.5, ``StopReason``).
    """
    reason = body.get("stopReason")
    blocks = body.get("output", {}).get("message", {}).get("content") or ()
    unknown = [block[_UNKNOWN] for block in blocks if _UNKNOWN in block]
    warnings = tuple(
        unread(f"a block of the kind {member(each, 'name')!r}, which this botocore does not know,")
        for each in unknown
    )
    if reason in ("malformed_tool_use", "malformed_model_output"):
        return Ending(warnings=(malformed(reason), *warnings))
    if reason == "error":
        error = error_words(body.get("error"))
    else:
        error = None
    return Ending(error, warnings=warnings)


def usage(body: Any) -> Usage | None:
    """Read the usage of Bedrock's Converse: ``inputTokens`` leaves out what the
    cache holds (botocore's model).
    """
    node = member(body, "usage")
    cached = count_at(node, "cacheReadInputTokens")
    written = count_at(node, "cacheWriteInputTokens")
    return usage_of(
        total(count_at(node, "inputTokens"), cached, written),
        count_at(node, "outputTokens"),
        cached,
    )
