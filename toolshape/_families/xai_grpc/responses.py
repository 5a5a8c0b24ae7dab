"""xAI over gRPC, as its SDK speaks it. The protocol's fields as JSON, read in xai-sdk 1.21.0 on 2026-11-20."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from toolshape._calls import JsonObject, Spec, WireMessage
from toolshape._families.openai import responses as openai
from toolshape._families.openai import vendors as openai_vendors
from toolshape._families.xai_grpc import messages
from toolshape._results import Result
from toolshape._schema.values import append_text
from toolshape._wire.bodies import member, plain
from toolshape._wire.ids import is_plain_id, with_call_ids
from toolshape._wire.provider import Choice, Completed, OutboundCall, Reading

_MODES = {"auto": "TOOL_MODE_AUTO", "none": "TOOL_MODE_NONE", "required": "TOOL_MODE_REQUIRED"}
_OWN = ("", None, "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL")


def envelope(spec: Spec, strict: bool) -> JsonObject:
    """The parameters are JSON text."""
    function = openai.envelope(spec, strict)["function"]
    return {"function": {**function, "parameters": json.dumps(spec.parameters, separators=(",", ":"))}}


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """A choice among several tools is unsupported: only those tools are sent."""
    body: JsonObject = {"tools": list(choice.chosen) if len(choice.names) > 1 else tools}
    if len(choice.names) == 1:
        body["tool_choice"] = {"function_name": choice.names[0]}
    elif choice.names or choice.mode is not None:
        body["tool_choice"] = {"mode": _MODES[choice.mode or "required"]}
    if choice.parallel is not None:
        body["parallel_tool_calls"] = choice.parallel
    return body


def whole(body: Any) -> Any:
    """A response, or one made of a message; ``None`` if it is neither."""
    outputs = member(body, "outputs")
    if isinstance(outputs, list) and all(member(output, "message") is not None for output in outputs):
        return body
    if member(member(body, "function"), "name") is not None:
        body = {"role": "ROLE_ASSISTANT", "tool_calls": [body]}
    return {"outputs": [{"message": body}]} if member(body, "role") == "ROLE_ASSISTANT" else None


def recognises(body: Any) -> bool:
    return whole(body) is not None


def read(body: Any) -> Reading | None:
    """The calls of the last output, without those that the server ran itself."""
    body = whole(body)
    if body is None:
        return None
    outputs = member(body, "outputs")
    if not outputs:
        return Reading([], [], None)
    message = member(outputs[-1], "message")
    sent = [plain(call) for call in _either(message, "tool_calls", "toolCalls") or ()]
    calls = [openai.call(call) for call in sent if call.get("type") in _OWN]
    assistant = {**plain(message), "role": "ROLE_ASSISTANT"}
    if not all(is_plain_id(call.id) for call in calls):
        sent, calls = with_call_ids(
            sent, calls, lambda call: call.get("type") in _OWN, lambda call, call_id: {**call, "id": call_id}
        )
        assistant = {**assistant, "tool_calls": sent}
    if isinstance(assistant.get("content"), str):  # in a request the content is a list
        assistant = {**assistant, "content": [{"text": assistant["content"]}]}
    finish = _either(outputs[-1], "finish_reason", "finishReason")
    return Reading([assistant], calls, finish)


def _either(node: Any, name: str, camel: str) -> Any:
    found = member(node, name)
    return member(node, camel) if found is None else found


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Calls come whole, in deltas of the output."""
    outputs = body.setdefault("outputs", [{"message": {"role": "ROLE_ASSISTANT"}}])
    message = outputs[0]["message"]
    done: list[Completed] = []
    for output in event.get("outputs") or ():
        delta = output.get("delta") or {}
        if delta.get("tool_calls"):
            message.setdefault("tool_calls", []).extend(delta["tool_calls"])
            for call in delta["tool_calls"]:
                if call.get("type") in _OWN:
                    done.append((body.get("x-calls", 0), openai.call(call)))
                    body["x-calls"] = body.get("x-calls", 0) + 1
        for key in ("content", "reasoning_content", "encrypted_content"):
            if delta.get(key):
                message.setdefault(key, "")
                append_text(message, key, delta[key])
        if output.get("finish_reason"):
            outputs[0]["finish_reason"] = output["finish_reason"]
    return done


def say(calls: Sequence[OutboundCall]) -> list[WireMessage]:
    [message] = openai.say(calls)
    tool_calls = [{**call, "type": _OWN[-1]} for call in message["tool_calls"]]
    return [{"role": "ROLE_ASSISTANT", "tool_calls": tool_calls}]


def encode(results: Sequence[Result]) -> list[WireMessage]:
    """Text only; there is no error flag."""
    return [
        {"role": "ROLE_TOOL", "tool_call_id": result.call.id, "content": [{"text": openai.content(result)}]}
        for result in results
    ]


XAI_GRPC = replace(
    openai_vendors.XAI,
    name="xai:grpc",
    family="xai:grpc",
    form="xai:grpc",
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes={
        "REASON_STOP": "stop",
        "REASON_TOOL_CALLS": "tool_calls",
        "REASON_MAX_LEN": "length",
        "REASON_MAX_CONTEXT": "length",
    },
    fold=fold,
    say=say,
    carries=frozenset(),
    encode=encode,
    histories=messages.HISTORIES,
    endpoint=None,  # gRPC, and no fake speaks it
    read_request=None,
    respond=None,
    unfold=None,
    error=None,
)

PROVIDERS = (XAI_GRPC,)
