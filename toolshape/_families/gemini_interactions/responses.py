"""Reads responses from Gemini's Interactions API, and assembles its streams.

The types come from google-genai 3.3.0, read on 2026-11-20.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from toolshape._families.gemini_interactions.messages import read_call, with_object_arguments
from toolshape._families.wire.bodies import (
    hold_unless_complete,
    member,
    release_held,
    to_plain_json,
)
from toolshape._families.wire.ending import NO_ENDING, Ending, error_words, malformed, not_over
from toolshape._families.wire.ids import with_call_ids
from toolshape._families.wire.provider import Completed, Reading, TextDelta
from toolshape._families.wire.usage import count_at, total, usage_of
from toolshape._records.calls import Finish, JsonObject
from toolshape._records.result import Usage
from toolshape._schema.values import append_text, as_json


def as_interaction(body: Any) -> Any:
    """Return an interaction unchanged; wrap steps with a call in an interaction;
    return ``None`` for other bodies.
    """
    if isinstance(member(body, "steps"), list) and member(body, "status") is not None:
        return body
    steps = body if isinstance(body, list) else [body]
    is_call = any(
        member(step, "type") == "function_call" and member(step, "call_id") is None
        for step in steps
    )
    if is_call:
        return {"steps": steps}
    return None


def recognises(body: Any) -> bool:
    return as_interaction(body) is not None


def read(body: Any) -> Reading | None:
    body = as_interaction(body)
    if body is None:
        return None
    steps = member(body, "steps")
    calls = [read_call(step) for step in steps if member(step, "type") == "function_call"]
    sent_steps, calls = with_call_ids(
        # An item without a type is not a step.
        [with_object_arguments(step) for step in to_plain_json(steps) if "type" in step],
        calls,
        lambda step: step.get("type") == "function_call",
        lambda step, call_id: {**step, "id": call_id},
    )
    return Reading(sent_steps, calls, member(body, "status"))


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Merge an event: a step starts, its arguments arrive as pieces of
    JSON text, and the step stops.
    """
    # Events name a step by its index, which may have gaps and come back, so ``x-places`` maps it to
    # a position in ``steps``. The last event repeats the interaction, often without its steps: then
    # those that came stay.
    kind = event.get("event_type") or event.get("type")
    steps = body.setdefault("steps", [])
    body.setdefault("status", "in_progress")
    step_positions: dict[Any, int] = body.setdefault("x-places", {})
    call_positions: dict[int, int] = body.setdefault("x-calls", {})
    at = step_positions.get(event.get("index"), -1)
    if kind == "error":
        body["error"] = event.get("error") or "the stream ended with an error"
        body["status"] = "failed"
    elif isinstance(event.get("interaction"), dict):
        body.update(
            {key: value for key, value in event["interaction"].items() if key != "steps" or value}
        )
        return release_held(body, FINISHES.get(str(body["status"]), "error"))
    elif kind == "step.start":
        step_positions[event.get("index")] = len(steps)
        if event["step"].get("type") == "function_call":
            call_positions[len(steps)] = len(call_positions)
        steps.append(dict(event["step"]))
        if steps[-1].get("type") == "function_call" and not steps[-1].get("arguments"):
            steps[-1]["arguments"] = ""
    elif kind == "step.delta" and 0 <= at < len(steps):
        _join(steps[at], event["delta"])
    elif kind == "step.stop" and at in call_positions:
        text = steps[at]["arguments"]
        if isinstance(text, str):
            steps[at]["arguments"] = as_json(text or "{}")
        return hold_unless_complete(body, call_positions[at], read_call(steps[at]), text)
    return ()


def _join(step: JsonObject, delta: JsonObject) -> None:
    """Merge a delta: arguments and text arrive in pieces, but a signature arrives whole."""
    if isinstance(delta.get("arguments"), str) and isinstance(step.get("arguments"), str):
        append_text(step, "arguments", delta["arguments"])
    elif "signature" in delta:
        step["signature"] = delta["signature"]
    elif isinstance(delta.get("text"), str):
        blocks = step["content"] = step.get("content") or [{"type": "text", "text": ""}]
        append_text(blocks[-1], "text", delta["text"])
    elif delta.get("type") == "thought_summary":
        step.setdefault("summary", []).append(delta.get("content"))


def text_delta(event: JsonObject) -> TextDelta:
    """Return the text in an event: a delta, or the start of a step that already holds content."""
    kind = event.get("event_type") or event.get("type")
    if kind == "step.start":
        step = event.get("step") or {}
        blocks, summaries = step.get("content") or (), step.get("summary") or ()
        is_output = step.get("type") == "model_output"
        return TextDelta(
            "".join(map(_block_text, blocks)) if is_output else "",
            "".join(map(_block_text, summaries)),
        )
    if kind == "step.delta":
        delta = event.get("delta") or {}
    else:
        delta = {}
    if delta.get("type") == "thought_summary":
        thinking = _block_text(delta.get("content"))
    else:
        thinking = ""
    return TextDelta(delta.get("text") or "", thinking)


def _block_text(block: Any) -> str:
    if isinstance(block, dict):
        return str(block.get("text") or "")
    return ""


FINISHES: Mapping[str, Finish] = {
    "completed": "stop",
    "requires_action": "tool_calls",
    "incomplete": "length",
    "budget_exceeded": "length",
    "failed": "error",
    "cancelled": "error",
}


def ending(body: JsonObject) -> Ending:
    """Find an error, and an interaction in the background that is not over
    (google-genai 3.6, 2026-11-27).
    """
    status = body.get("status")
    error = error_words(body.get("error"))
    if error is not None or status == "cancelled":
        return Ending(error or "the interaction was cancelled")
    if status == "failed":  # so ends a call that the server cannot read
        return Ending(warnings=(malformed(status),))
    if status == "in_progress" and "x-calls" not in body:
        later = not_over(status, "fetch the interaction by its id until its status is another")
        return Ending(finish="continue", warnings=(later,))
    return NO_ENDING


def usage(body: Any) -> Usage | None:
    """Read the usage of an interaction: its output leaves out the thoughts
    where the total has them apart.
    """
    node = member(body, "usage")
    given, output = count_at(node, "total_input_tokens"), count_at(node, "total_output_tokens")
    thoughts = count_at(node, "total_thought_tokens")
    own_use = count_at(node, "total_tool_use_tokens")
    if thoughts and total(given, own_use, output, thoughts) == count_at(node, "total_tokens"):
        output = total(output, thoughts)
    return usage_of(total(given, own_use), output, count_at(node, "total_cached_tokens"), thoughts)
