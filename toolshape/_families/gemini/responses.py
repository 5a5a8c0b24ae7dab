"""Reads responses from Google Gemini's generateContent, and assembles its streams.

The types come from google-genai 3.3.0, read on 2026-11-20. The server's messages come from the
cited issues.
"""

import re
from collections.abc import Iterable
from typing import Any

from toolshape._families.gemini.messages import function_call, read_call
from toolshape._families.wire.bodies import make_room, member, to_plain_json
from toolshape._families.wire.ending import Ending, error_words, malformed, other_choice
from toolshape._families.wire.ids import is_plain_id, with_call_ids
from toolshape._families.wire.provider import NOTHING_CUT, Completed, Read, Reading, TextDelta
from toolshape._families.wire.usage import count_at, total, usage_of
from toolshape._records.calls import JsonObject
from toolshape._records.errors import ResponseError
from toolshape._records.result import ResponseWarning, Usage
from toolshape._schema.values import append_text, join_halves, read_json, write_json


def as_response(body: Any) -> Any:
    """Return a response unchanged; wrap a model's message or a call in a response;
    return ``None`` for other bodies.
    """
    if isinstance(member(body, "candidates"), list) or _feedback(body):
        return body
    if member(body, "role") == "model" and isinstance(member(body, "parts"), list):
        return {"candidates": [{"content": body}]}
    if function_call(body) is not None and member(body, "role") is None:
        return {"candidates": [{"content": {"role": "model", "parts": [to_plain_json(body)]}}]}
    return None


_FEEDBACK = ("promptFeedback", "prompt_feedback")


def _feedback(body: Any) -> Any:
    """Return what the server says of a prompt, under the name that JSON has for it, or the SDK."""
    for name in _FEEDBACK:
        feedback = member(body, name)
        if isinstance(feedback, dict) or hasattr(feedback, "block_reason"):
            return feedback
    return None


def recognises(body: Any) -> bool:
    return as_response(body) is not None


def read(body: Any) -> Read | None:
    """Read the calls.

    One candidate of JSON whose calls are whole is returned as it came; see ``_read_any``.
    """
    if type(body) is dict:
        try:
            [candidate] = body["candidates"]
            content = candidate["content"]
            calls: list[tuple[str, str, Any, Any]] = []
            # What is not known here goes to the other reader, because half a call must not run, and
            # a prompt that was blocked has no answer.
            for part in content["parts"]:
                if "functionCall" in part:
                    call = part["functionCall"]
                    call_id = call["id"] if "id" in call else ""  # noqa: SIM401 - get takes three times as long
                    name = call["name"]
                    is_whole = "willContinue" not in call and "will_continue" not in call
                    if not (call_id.isascii() and name and is_whole):
                        break
                    calls.append((call_id, name, call["args"], part))
                elif "function_call" in part:
                    break
            else:
                finish = candidate["finishReason"]
                is_usual = content["role"] == "model" and body.keys().isdisjoint(_FEEDBACK)
                if content["parts"] and is_usual and type(finish) is str and finish:
                    return [content], calls, finish, NOTHING_CUT, True
        except (LookupError, TypeError, ValueError, AttributeError):
            pass
    return _read_any(body)


def _read_any(body: Any) -> Reading | None:
    body = as_response(body)
    if body is None:
        return None
    candidates = member(body, "candidates")
    feedback = _feedback(body)
    if blocked := member(feedback, "blockReason") or member(feedback, "block_reason"):
        return Reading([], [], str(getattr(blocked, "value", blocked)))
    if not candidates:
        raise ResponseError("the response has no candidates", body=body)
    content = member(candidates[0], "content")
    if content is not None:
        parts = member(content, "parts") or ()
    else:
        parts = ()
    calls = [read_call(part) for part in parts if function_call(part) is not None]
    finish = member(candidates[0], "finishReason") or member(candidates[0], "finish_reason")
    # Parallel calls must be sent back in one message, because only the first part has the signature
    # (js-genai#1275).
    if content is not None and member(content, "parts"):
        assistant: list[JsonObject] = [{**to_plain_json(content), "role": "model"}]
    else:
        assistant = []
    # A missing id stays missing.
    if any(call.id != "" and not is_plain_id(call.id) for call in calls):
        sent_parts, calls = with_call_ids(
            assistant[0]["parts"],
            calls,
            lambda part: function_call(part) is not None,
            _with_id,
            leaves_out=True,
        )
        assistant = [{**assistant[0], "parts": sent_parts}]
    cut_positions = frozenset(at for at, call in enumerate(calls) if _continues(call.raw))
    return Reading(
        assistant,
        calls,
        None if finish is None else str(getattr(finish, "value", finish)),
        cut_positions,
    )


def _continues(part: Any) -> bool:
    """Whether more of a call's arguments was to follow."""
    call = function_call(part)
    return bool(member(call, "willContinue") or member(call, "will_continue"))


def _with_id(part: JsonObject, call_id: str) -> JsonObject:
    if "functionCall" in part:
        key = "functionCall"
    else:
        key = "function_call"
    return {**part, key: {**part[key], "id": call_id}}


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Merge an event.

    A call arrives whole, or in pieces with JSON paths until ``willContinue`` is no longer set.
    """
    completed: list[Completed] = []
    candidate = body.setdefault("candidates", [{"content": {"role": "model", "parts": []}}])[0]
    parts = candidate["content"]["parts"]
    if usage := event.get("usageMetadata") or event.get("usage_metadata"):
        body["usageMetadata"] = usage
    _keep_what_was_said(body, candidate, event)
    for event_candidate in event.get("candidates") or ():
        if event_candidate.get("index", 0) != 0:
            if any(map(function_call, _parts(event_candidate))):
                body.setdefault("x-other", set()).add(event_candidate["index"])
            continue
        for part in _parts(event_candidate):
            completed += _join(body, parts, part)
        for key in ("finishReason", "finish_reason"):
            if event_candidate.get(key):
                candidate["finishReason"] = event_candidate[key]
                completed = completed if event_candidate[key] != "MAX_TOKENS" else []
    return completed


def _keep_what_was_said(body: JsonObject, candidate: JsonObject, event: JsonObject) -> None:
    """Keep an error, what the server says of the prompt, and what it says of the end.

    Raises:
        ResponseError: The event is a message of a session, which is no response.
    """
    if event.get("error"):
        body["error"] = event["error"]
        candidate["finishReason"] = "ERROR"
    if feedback := _feedback(event):
        body["promptFeedback"] = feedback
    for event_candidate in event.get("candidates") or ():
        words = event_candidate.get("finishMessage") or event_candidate.get("finish_message")
        if words and event_candidate.get("index", 0) == 0:
            candidate["finishMessage"] = words
    if _LIVE & event.keys():
        raise ResponseError(
            "this is a message of the Live API, not an event of a stream", body=event
        )


def _join(body: JsonObject, parts: list[JsonObject], part: JsonObject) -> list[Completed]:
    """Append a part, or add it to the open call; return the call that this part completes, if
    any.
    """
    call = function_call(part)
    if call is None:
        _append_part(parts, dict(part))
        return []
    # "x-open" holds a call that the next part continues; "x-calls" counts the calls so far.
    open_call = body.get("x-open")
    if open_call is None or call.get("name"):
        open_call = {**{key: value for key, value in part.items() if key != "function_call"}}
        open_call["functionCall"] = {
            key: call[key] for key in ("id", "name", "args") if call.get(key) is not None
        }
        parts.append(open_call)
        body["x-calls"] = body.get("x-calls", 0) + 1
    for piece in call.get("partialArgs") or ():
        _put_at_path(open_call["functionCall"].setdefault("args", {}), piece)
    body["x-open"] = open_call if call.get("willContinue") else None
    if call.get("willContinue"):
        return []
    # Parse the arguments again, because ``read_json`` keeps numbers exact.
    if "args" in open_call["functionCall"]:
        open_call["functionCall"]["args"] = read_json(write_json(open_call["functionCall"]["args"]))
    return [(body["x-calls"] - 1, read_call(open_call))]


def _append_part(parts: list[JsonObject], part: JsonObject) -> None:
    """Append a part as it came; half of a character at its beginning goes to the half before it."""
    before, text = parts[-1].get("text") if parts else None, part.get("text")
    if isinstance(before, str) and isinstance(text, str):
        whole = join_halves(before[-1:] + text[:1])
        if len(whole) == 1 and before and text:
            parts[-1]["text"], part["text"] = before[:-1] + whole, text[1:]
    if part != {"text": ""} or text == "":
        parts.append(part)


_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


def _put_at_path(arguments: JsonObject, piece: JsonObject) -> None:
    """Store a value at its JSON path; strings arrive in pieces, so append
    each piece to the string so far.
    """
    matches = _STEP.findall(piece["jsonPath"])
    steps = [
        int(index) if index else name or re.sub(r"\\(.)", r"\1", quoted or other)
        for name, index, quoted, other in matches
    ]
    value = next((piece[key] for key in _VALUES if key in piece), None)
    value = None if "nullValue" in piece else value
    container: Any = arguments
    for step, next_step in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, int):
            make_room(container, step, lambda: None)
        if isinstance(step, int):
            existing = container[step]
        else:
            existing = container.get(step)
        if next_step is None and isinstance(existing, str) and isinstance(value, str):
            existing = None  # while a variable refers to the string, append_text would copy it
            append_text(container, step, value)
        elif next_step is None:
            container[step] = value
        else:
            if existing is None:
                if isinstance(next_step, int):
                    existing = []
                else:
                    existing = {}
            container[step] = container = existing


def text_delta(event: JsonObject) -> TextDelta:
    """Return the text in an event's parts; the text of thoughts counts as reasoning."""
    texts = {False: "", True: ""}
    for candidate in event.get("candidates") or ():
        if candidate.get("index", 0) == 0:
            for part in (candidate.get("content") or {}).get("parts") or ():
                texts[bool(part.get("thought"))] += part.get("text") or ""
    return TextDelta(texts[False], texts[True])


_LIVE = frozenset({"toolCall", "tool_call", "serverContent", "server_content", "setupComplete", "setup_complete"})  # fmt: skip
"""The keys of messages in a session, which is no stream of one response
(google-genai 3.6, ``LiveServerMessage``).
"""
_MALFORMED = frozenset(
    {"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "TOO_MANY_TOOL_CALLS", "UNEXPECTED_TOOL_CALL"}
)  # fmt: skip


def _parts(candidate: JsonObject) -> Iterable[JsonObject]:
    return (candidate.get("content") or {}).get("parts") or ()


def ending(body: JsonObject) -> Ending:
    """Find an error, a call that the provider could not read, and calls of other candidates.

    ``finishMessage`` holds what the model wrote (hermes-agent#83886, gemini-cli#12674;
    google-genai 3.6, 2026-11-27).
    """
    candidates = [item for item in body.get("candidates") or () if isinstance(item, dict)]
    first = candidates[0] if candidates else {}
    reason = first.get("finishReason") or first.get("finish_reason")
    words = first.get("finishMessage") or first.get("finish_message")
    warnings: tuple[ResponseWarning, ...] = ()
    if reason in _MALFORMED:
        warnings = (malformed(reason, words),)
    others = body.get("x-other", ()) or [
        item for item in candidates[1:] if any(map(function_call, _parts(item)))
    ]
    if others:
        warnings += (other_choice(len(others)),)
    if reason == "ERROR":
        error = error_words(body.get("error"), words)
    else:
        error = None
    return Ending(error, warnings=warnings)


def usage(body: Any) -> Usage | None:
    """Read Gemini's usage: the prompt holds what was cached, and the
    candidates leave out the thoughts.

    Source: ``GenerateContentResponseUsageMetadata`` in google-genai, 2026-11-23.
    """
    node = member(body, "usageMetadata") or member(body, "usage_metadata")
    thoughts = count_at(node, "thoughtsTokenCount", "thoughts_token_count")
    return usage_of(
        total(
            count_at(node, "promptTokenCount", "prompt_token_count"),
            count_at(node, "toolUsePromptTokenCount", "tool_use_prompt_token_count"),
        ),
        total(count_at(node, "candidatesTokenCount", "candidates_token_count"), thoughts),
        count_at(node, "cachedContentTokenCount", "cached_content_token_count"),
        thoughts,
    )
