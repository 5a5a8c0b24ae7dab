"""Google Gemini, Interactions. Types read in google-genai 3.3.0 on 2026-11-20."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolshape._calls import Finish, JsonObject, Spec, WireCall, WireMessage
from toolshape._families.gemini import responses as gemini
from toolshape._families.gemini import server as gemini_server
from toolshape._families.gemini_interactions import messages, server
from toolshape._results import Result
from toolshape._schema.values import append_text, as_json
from toolshape._wire.bodies import hold_unless_whole, member, plain, release_held
from toolshape._wire.ids import with_call_ids
from toolshape._wire.provider import Choice, Completed, Facts, OutboundCall, Provider, Reading, unsupported

_CHOICES = {"auto": "auto", "none": "none", "required": "any"}


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - strict is a mode of the request
    tool: JsonObject = {"type": "function", "name": spec.name}
    if spec.description:
        tool["description"] = spec.description
    if spec.parameters.get("properties"):
        tool["parameters"] = spec.parameters
    return tool


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    if choice.parallel is False:
        raise unsupported(choice, "parallel", "Gemini has no switch for parallel calls: leave it out")
    tool_choice: Any = None
    if choice.names:
        tool_choice = {"allowed_tools": {"mode": "any", "tools": list(choice.names)}}
    elif choice.mode is not None:
        tool_choice = _CHOICES[choice.mode]
    if choice.is_strict and tool_choice in (None, "auto"):
        tool_choice = "validated"
    return (
        {"tools": tools} if tool_choice is None else {"tools": tools, "generation_config": {"tool_choice": tool_choice}}
    )


def whole(body: Any) -> Any:
    """An interaction, its steps, or one that is a call; ``None`` if it is none of these."""
    if isinstance(member(body, "steps"), list) and member(body, "status") is not None:
        return body
    steps = body if isinstance(body, list) else [body]
    is_call = any(member(step, "type") == "function_call" and member(step, "call_id") is None for step in steps)
    return {"steps": steps} if is_call else None


def recognises(body: Any) -> bool:
    return whole(body) is not None


def read(body: Any) -> Reading | None:
    body = whole(body)
    if body is None:
        return None
    steps = member(body, "steps")
    calls = [_call(step) for step in steps if member(step, "type") == "function_call"]
    sent, calls = with_call_ids(
        [_sendable(step) for step in plain(steps)],
        calls,
        lambda step: step.get("type") == "function_call",
        lambda step, call_id: {**step, "id": call_id},
    )
    return Reading(sent, calls, member(body, "status"))


def _call(step: Any) -> WireCall:
    return WireCall(member(step, "id") or "", member(step, "name") or "", member(step, "arguments"), step)


def _sendable(step: JsonObject) -> JsonObject:
    """Arguments that were cut off are text, and go back inside an object."""
    text = step.get("arguments")
    return {**step, "arguments": {"INVALID_JSON": text}} if isinstance(text, str) else step


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """A step starts, its arguments arrive as pieces of JSON text, and it stops."""
    kind = event.get("event_type") or event.get("type")
    steps = body.setdefault("steps", [])
    body.setdefault("status", "in_progress")
    places: dict[Any, int] = body.setdefault("x-places", {})
    positions: dict[int, int] = body.setdefault("x-calls", {})
    at = places.get(event.get("index"), -1)
    if kind == "error":
        body["status"] = "failed"
    elif isinstance(event.get("interaction"), dict):
        body.update({key: value for key, value in event["interaction"].items() if key != "steps" or value})
        return release_held(body, FINISHES.get(str(body["status"]), "error"))
    elif kind == "step.start":
        places[event.get("index")] = len(steps)
        if event["step"].get("type") == "function_call":
            positions[len(steps)] = len(positions)
        steps.append(dict(event["step"]))
        if steps[-1].get("type") == "function_call" and not steps[-1].get("arguments"):
            steps[-1]["arguments"] = ""
    elif kind == "step.delta" and 0 <= at < len(steps):
        _join(steps[at], event["delta"])
    elif kind == "step.stop" and at in positions:
        text = steps[at]["arguments"]
        if isinstance(text, str):
            steps[at]["arguments"] = as_json(text or "{}")
        return hold_unless_whole(body, positions[at], _call(steps[at]), text)
    return ()


def _join(step: JsonObject, delta: JsonObject) -> None:
    """Arguments and texts arrive in pieces, a signature whole."""
    if isinstance(delta.get("arguments"), str) and isinstance(step.get("arguments"), str):
        append_text(step, "arguments", delta["arguments"])
    elif "signature" in delta:
        step["signature"] = delta["signature"]
    elif isinstance(delta.get("text"), str):
        append_text(step.setdefault("content", [{"type": "text", "text": ""}])[-1], "text", delta["text"])
    elif delta.get("type") == "thought_summary":
        step.setdefault("summary", []).append(delta.get("content"))


def say(calls: Sequence[OutboundCall]) -> list[WireMessage]:
    return [{"type": "function_call", "id": one.id, "name": one.wire_name, "arguments": one.arguments} for one in calls]


def encode(results: Sequence[Result]) -> list[WireMessage]:
    """A step for each, linked by the call's id, with an error flag; the result is a text."""
    return [_step(result) for result in results]


def _step(result: Result) -> JsonObject:
    step: JsonObject = {"type": "function_result", "call_id": result.call.id, "name": result.call.wire_name}
    step["result"] = [messages.piece(one) for one in result.parts] or result.text
    if result.error is not None:
        step["is_error"] = True
    return step


FINISHES: Mapping[str, Finish] = {
    "completed": "stop",
    "requires_action": "tool_calls",
    "incomplete": "length",
    "budget_exceeded": "length",
    "failed": "error",
    "cancelled": "error",
}
GEMINI_INTERACTIONS = Provider(
    name="gemini-interactions",
    family="gemini-interactions",
    form="gemini-interactions",
    names=gemini.GEMINI.names,
    refuses=gemini.GEMINI.refuses,
    lenient=gemini.JSON_SCHEMA,
    strict=gemini.JSON_SCHEMA,
    most_tools=gemini.GEMINI.most_tools,
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes=FINISHES,
    fold=fold,
    carries=frozenset({"image", "file", "audio", "video"}),
    say=say,
    encode=encode,
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="an object",
        malformed="no call: `status` `failed` or `incomplete`",
        declined="no `function_call` step; `status` `completed`",
        strict="the request's choice `validated`",
        needs="`previous_interaction_id`, or all steps of the conversation as they came",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    respond=server.respond,
    unfold=server.unfold,
    error=gemini_server.error,
)

PROVIDERS = (GEMINI_INTERACTIONS,)
