"""Google Gemini, Interactions. Types read in google-genai 3.3.0 on 2026-11-20."""

from collections.abc import Sequence
from typing import Any

from toolshape.calls import JsonObject, Message, Result, Spec, WireCall
from toolshape.provider import Choice, Facts, Provider, Reading, member, plain, unsayable
from toolshape.providers import gemini

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
        raise unsayable(choice, "parallel", "Gemini has no switch for parallel calls: leave it out")
    said: Any = None
    if choice.names:
        said = {"allowed_tools": {"mode": "any", "tools": list(choice.names)}}
    elif choice.mode is not None:
        said = _CHOICES[choice.mode]
    if choice.is_strict and said in (None, "auto"):
        said = "validated"
    return {"tools": tools} if said is None else {"tools": tools, "generation_config": {"tool_choice": said}}


def recognises(body: Any) -> bool:
    return isinstance(member(body, "steps"), list) and member(body, "status") is not None


def read(body: Any) -> Reading:
    steps = member(body, "steps")
    calls = [
        WireCall(member(step, "id") or "", member(step, "name") or "", member(step, "arguments"), step)
        for step in steps
        if member(step, "type") == "function_call"
    ]
    return Reading(plain(steps), calls, member(body, "status"))


def encode(results: Sequence[Result]) -> list[Message]:
    """A step for each, linked by the call's id, with an error flag; the result is a text."""
    return [_step(result) for result in results]


def _step(result: Result) -> JsonObject:
    step: JsonObject = {"type": "function_result", "call_id": result.call.id, "name": result.call.wire_name}
    step["result"] = result.text
    if result.error is not None:
        step["is_error"] = True
    return step


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
    encode=encode,
    facts=Facts(
        arguments="an object",
        malformed="no call: `status` `failed` or `incomplete`",
        declined="no `function_call` step; `status` `completed`",
        strict="the request's choice `validated`",
        needs="`previous_interaction_id`, or all steps of the conversation as they came",
    ),
)

PROVIDERS = (GEMINI_INTERACTIONS,)
