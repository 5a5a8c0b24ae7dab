"""OpenAI Responses. Types read in openai 3.51.0 on 2026-11-20; dialect and names as in Chat Completions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape.calls import JsonObject, Message, Result, Spec, WireCall
from toolshape.provider import Choice, Facts, Reading, member, plain
from toolshape.providers import openai


def envelope(spec: Spec, strict: bool) -> JsonObject:
    """Strict is said either way: left out, the server makes the schema strict as it sees fit (chatlas#255)."""
    tool: JsonObject = {"type": "function", "name": spec.name, "parameters": spec.parameters, "strict": strict}
    if spec.description:
        tool["description"] = spec.description
    return tool


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    said = openai.request(tools, choice)
    functions = [{"type": "function", "name": name} for name in choice.names]
    if len(functions) > 1:
        said["tool_choice"] = {"type": "allowed_tools", "mode": "required", "tools": functions}
    elif functions:
        said["tool_choice"] = functions[0]
    return said


def recognises(body: Any) -> bool:
    return member(body, "object") == "response" and isinstance(member(body, "output"), list)


def read(body: Any) -> Reading:
    output = member(body, "output")
    # Two ids: results are linked by call_id, never by id.
    calls = [
        WireCall(member(item, "call_id"), member(item, "name"), member(item, "arguments"), item)
        for item in output
        if member(item, "type") == "function_call"
    ]
    return Reading(plain(output), calls, member(body, "status"))


def encode(results: Sequence[Result]) -> list[Message]:
    return [
        {"type": "function_call_output", "call_id": result.call.id, "output": openai.content(result)}
        for result in results
    ]


OPENAI_RESPONSES = replace(
    openai.OPENAI,
    name="openai-responses",
    family="openai-responses",
    form="openai-responses",
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    encode=encode,
    facts=Facts(
        arguments="JSON text",
        malformed='the text as the model wrote it; `""` for no arguments',
        declined="no `function_call` item; perhaps a `refusal` part of a message",
        strict="`strict`, always said: left out, the server decides",
    ),
)

PROVIDERS = (
    OPENAI_RESPONSES,
    replace(
        OPENAI_RESPONSES,
        name="openai-responses:minimal",
        strict=openai.OLDER.strict,
        refuses_strict=openai.OLDER.refuses_strict,
        longest_description=openai.OLDER.longest_description,
    ),
)
