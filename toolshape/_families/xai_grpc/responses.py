"""Reads responses from xAI's gRPC protocol, which xAI's SDK uses, and assembles its streams.

Bodies are JSON with the protocol's fields, which come from xai-sdk 1.21.0, read on 2026-11-20.
"""

from collections.abc import Iterable
from typing import Any

from toolshape._families.openai import messages as openai_messages, responses as openai_bodies
from toolshape._families.wire.bodies import member, to_plain_json
from toolshape._families.wire.ids import is_plain_id, with_call_ids
from toolshape._families.wire.provider import Completed, Reading, TextDelta
from toolshape._families.xai_grpc.messages import OWN
from toolshape._records.calls import JsonObject
from toolshape._schema.values import append_text


def as_response(body: Any) -> Any:
    """Return a response unchanged; wrap a message or a call in a response;
    return ``None`` for other bodies.
    """
    outputs = member(body, "outputs")
    if isinstance(outputs, list) and all(
        member(output, "message") is not None for output in outputs
    ):
        return body
    if member(member(body, "function"), "name") is not None:
        body = {"role": "ROLE_ASSISTANT", "tool_calls": [body]}
    if member(body, "role") == "ROLE_ASSISTANT":
        return {"outputs": [{"message": body}]}
    return None


def recognises(body: Any) -> bool:
    return as_response(body) is not None


def read(body: Any) -> Reading | None:
    """Read the calls in the last output, without the calls that the server ran itself."""
    body = as_response(body)
    if body is None:
        return None
    outputs = member(body, "outputs")
    if not outputs:
        return Reading([], [], None)
    message = member(outputs[-1], "message")
    sent_calls = [
        to_plain_json(call) for call in _get_either(message, "tool_calls", "toolCalls") or ()
    ]
    calls = [openai_messages.read_call(call) for call in sent_calls if call.get("type") in OWN]
    assistant = openai_bodies.with_content({**to_plain_json(message), "role": "ROLE_ASSISTANT"})
    # The JSON name in protobuf; a request needs the field's original name.
    if "toolCalls" in assistant:
        assistant = {key: value for key, value in assistant.items() if key != "toolCalls"} | {
            "tool_calls": sent_calls
        }
    if not all(is_plain_id(call.id) for call in calls):
        sent_calls, calls = with_call_ids(
            sent_calls,
            calls,
            lambda call: call.get("type") in OWN,
            lambda call, call_id: {**call, "id": call_id},
        )
        assistant = {**assistant, "tool_calls": sent_calls}
    if isinstance(assistant.get("content"), str):  # in a request the content is a list
        assistant = {**assistant, "content": [{"text": assistant["content"]}]}
    finish = _get_either(outputs[-1], "finish_reason", "finishReason")
    return Reading([assistant], calls, finish)


def _get_either(node: Any, name: str, camel: str) -> Any:
    value = member(node, name)
    if value is None:
        return member(node, camel)
    return value


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Merge an event. Calls arrive whole, in the deltas of the outputs."""
    outputs = body.setdefault("outputs", [{"message": {"role": "ROLE_ASSISTANT"}}])
    message = outputs[0]["message"]
    completed: list[Completed] = []
    if event.get("usage"):
        body["usage"] = event["usage"]
    for output in event.get("outputs") or ():
        delta = output.get("delta") or {}
        if delta.get("tool_calls"):
            message.setdefault("tool_calls", []).extend(delta["tool_calls"])
            for call in delta["tool_calls"]:
                if call.get("type") in OWN:
                    completed.append((body.get("x-calls", 0), openai_messages.read_call(call)))
                    body["x-calls"] = body.get("x-calls", 0) + 1
        for key in ("content", "reasoning_content", "encrypted_content"):
            if delta.get(key):
                message.setdefault(key, "")
                append_text(message, key, delta[key])
        if output.get("finish_reason"):
            outputs[0]["finish_reason"] = output["finish_reason"]
    return completed


def text_delta(event: JsonObject) -> TextDelta:
    """Return the text and the reasoning in the deltas of all outputs."""
    deltas = [output.get("delta") or {} for output in event.get("outputs") or ()]
    return TextDelta(
        "".join(delta.get("content") or "" for delta in deltas),
        "".join(delta.get("reasoning_content") or "" for delta in deltas),
    )
