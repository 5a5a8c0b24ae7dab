"""Imitates the server of Gemini's Interactions API.

From the types in google-genai 3.4.0, read on 2026-11-22.
"""

import base64
import json
from collections.abc import Iterator
from typing import Any

from toolshape._families.gemini import server as gemini_server
from toolshape._families.gemini_interactions.messages import write_call
from toolshape._families.gemini_interactions.schema import CHOICES
from toolshape._families.openai.server import read_function
from toolshape._families.wire.server import (
    Address,
    Completion,
    Endpoint,
    RequestProbe,
    RequestRead,
    Server,
)
from toolshape._families.wire.server_json import (
    as_list,
    as_object,
    mode_for_word,
    sent_calls,
    split_text,
    strings_in,
)
from toolshape._records.calls import ChoiceMode, JsonObject

ADDRESS = Address(
    "https://generativelanguage.googleapis.com/v1beta/interactions",
    {"x-goog-api-key": "{key}"},
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    {"generation_config": {"max_output_tokens": 1}},
    "google-genai 3.6.1, 2026-11-25",
)
ENDPOINT = Endpoint(
    r".*/interactions",
    "named-sse",
    event_key="event_type",
    versions=gemini_server.VERSIONS,
    variables=gemini_server.VARIABLES,
)


def read_request(body: JsonObject) -> RequestRead:
    """Read the tools and the choice in a request."""
    entries = as_list(body.get("tools"))
    tools = tuple(
        read_function(entry, f"tools[{at}]", at, entry)
        for at, entry in enumerate(entries)
        if isinstance(entry, dict) and entry.get("type") == "function"
    )
    choice = as_object(body.get("generation_config")).get("tool_choice")
    allowed = as_object(as_object(choice).get("allowed_tools"))
    mode: ChoiceMode | None = "auto"
    if choice != "validated":
        mode = mode_for_word(CHOICES, allowed.get("mode") if allowed else choice)
    if mode == "required":
        names = strings_in(as_list(allowed.get("tools")))
    else:
        names = ()
    steps = body.get("input")
    if isinstance(steps, dict):
        raw_steps: list[Any] = [steps]
    else:
        raw_steps = as_list(steps)
    if isinstance(steps, str):
        raw_steps = [{"type": "user_input", "content": [{"type": "text", "text": steps}]}]
    return RequestRead(
        body=body,
        tools=tools,
        messages=tuple(step for step in raw_steps if isinstance(step, dict)),
        native=len(entries) - len(tools),
        mode=None if names else mode,
        names=names,
        is_strict=choice == "validated",
    )


def respond(said: Completion) -> JsonObject:
    """Write an interaction: a step with a signed thought if there are calls,
    then the text, then the calls.
    """
    calls, is_malformed = sent_calls(said)
    seed = said.id
    steps: list[JsonObject] = []
    if calls:
        steps.append({"type": "thought", "signature": base64.b64encode(seed.encode()).decode()})
    if said.text:
        steps.append({"type": "model_output", "content": [{"type": "text", "text": said.text}]})
    steps += [write_call(call.id, call.wire_name, call.arguments) for call in calls]
    status = "requires_action" if calls else "completed"
    if is_malformed or said.finish == "error":
        status = "failed"
    elif said.finish == "length":
        status = "incomplete"
    input_tokens, output_tokens = said.usage or (1, 1)
    return {
        "id": f"v1_{seed}",
        "object": "interaction",
        "created": "2026-01-01T00:00:00Z",
        "updated": "2026-01-01T00:00:00Z",
        "model": said.model,
        "status": status,
        "steps": steps,
        "usage": {
            "total_input_tokens": input_tokens,
            "total_output_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
        },
    }


def unfold(body: JsonObject) -> Iterator[JsonObject]:
    """Split an interaction into stream events: each step starts, arrives in
    pieces if possible, and stops.
    """
    started_body = {**body, "steps": [], "status": "in_progress"}
    yield {"event_type": "interaction.created", "interaction": started_body}
    steps: list[JsonObject] = body.get("steps") or []
    for index, step in enumerate(steps):
        deltas: list[JsonObject] = list(_deltas(step))
        bare_step: JsonObject = {
            key: value for key, value in step.items() if key not in _IN_PIECES or not deltas
        }
        if deltas and "arguments" in step:
            empty_arguments: JsonObject = {"arguments": {}}
        else:
            empty_arguments = {}
        yield {"event_type": "step.start", "index": index, "step": {**bare_step, **empty_arguments}}
        for delta in deltas:
            yield {"event_type": "step.delta", "index": index, "delta": delta}
        yield {"event_type": "step.stop", "index": index}
    yield {"event_type": "interaction.completed", "interaction": {**body, "steps": []}}


_IN_PIECES = ("arguments", "content", "signature")


def _deltas(step: JsonObject) -> Iterator[JsonObject]:
    """Yield the deltas for a step: the pieces of its arguments or its text, or its whole
    signature.
    """
    content = as_list(step.get("content"))
    if step.get("type") == "function_call" and isinstance(step.get("arguments"), dict):
        for piece in split_text(json.dumps(step["arguments"], ensure_ascii=False)):
            yield {"type": "arguments_delta", "arguments": piece}
    elif step.get("type") == "thought" and step.get("signature"):
        yield {"type": "thought_signature", "signature": step["signature"]}
    elif len(content) == 1 and as_object(content[0]).keys() == {"type", "text"}:
        for piece in split_text(content[0]["text"]):
            yield {"type": "text", "text": piece}


def _with_function(kind: str) -> JsonObject:
    return {"tools": [{"type": "function", "name": "probe", "parameters": {"type": kind}}]}


SERVER = Server(
    endpoint=ENDPOINT,
    read_request=read_request,
    respond=respond,
    unfold=unfold,
    error=gemini_server.error,
    probes=(RequestProbe(_with_function("array"), _with_function("object")),),
    address=ADDRESS,
)
