"""OpenAI Chat Completions. Types read in openai 3.51.0 on 2026-11-20; server texts from the issues named."""

import re
from collections.abc import Sequence
from typing import Any

from toolshape.calls import JsonObject, Message, Result, Spec, WireCall
from toolshape.errors import ResponseError
from toolshape.provider import Choice, NameRule, Provider, Reading, member, plain


def envelope(spec: Spec) -> JsonObject:
    function: JsonObject = {"name": spec.name, "parameters": spec.parameters}
    if spec.description:
        function["description"] = spec.description
    return {"type": "function", "function": function}


def choose(choice: Choice) -> JsonObject:
    said: JsonObject = {}
    if choice.is_name:
        said["tool_choice"] = {"type": "function", "function": {"name": choice.choice}}
    elif choice.choice is not None:
        said["tool_choice"] = choice.choice
    if choice.parallel is not None:
        said["parallel_tool_calls"] = choice.parallel
    return said


def recognises(body: Any) -> bool:
    return isinstance(member(body, "choices"), list)


def read(body: Any) -> Reading:
    """Read the first choice: each of several (``n``) is another possible answer, not one more."""
    choices = member(body, "choices")
    message = member(choices[0], "message") if choices else None
    if message is None:
        raise ResponseError("a chat completion without choices[0].message", body=body)
    # Presence of tool_calls decides, not finish_reason: a forced call has come with "stop".
    calls = [_call(call) for call in member(message, "tool_calls") or ()]
    legacy = member(message, "function_call")
    if not calls and legacy is not None and member(legacy, "name"):  # some gateways send it with an empty name
        calls = [WireCall("", member(legacy, "name"), member(legacy, "arguments"), legacy)]
    return Reading([plain(message)], calls, member(choices[0], "finish_reason"))


def _call(call: Any) -> WireCall:
    function = member(call, "function")
    if function is None:  # {"type": "custom"}: free text, for a tool that is not ours
        custom = member(call, "custom")
        return WireCall(member(call, "id"), member(custom, "name") or "", member(custom, "input"), call)
    return WireCall(member(call, "id"), member(function, "name") or "", member(function, "arguments"), call)


def encode(results: Sequence[Result]) -> list[Message]:
    """One message a call, directly after the assistant's: every id must be answered. There is no error flag."""
    return [
        {"role": "tool", "tool_call_id": result.call.id, "content": _content(result)}
        if result.call.id
        else {"role": "function", "name": result.call.wire_name, "content": _content(result)}  # the legacy form
        for result in results
    ]


_ERROR_MARK = re.compile(r" *Error \[[a-z_]+\]: ")


def _content(result: Result) -> str:
    if result.error is not None:
        return f"Error [{result.error.code}]: {result.text}"
    # A value that looks like the mark is moved one space, so that the mark can be trusted and the value read back.
    return f" {result.text}" if _ERROR_MARK.match(result.text) else result.text


OPENAI = Provider(
    name="openai",
    family="openai-chat",
    names=NameRule(
        pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"),
        evidence="1 to 64 of a-z A-Z 0-9 _ -; openai 3.51.0 FunctionDefinition, read 2026-11-20",
    ),
    envelope=envelope,
    choose=choose,
    recognises=recognises,
    read=read,
    encode=encode,
)

PROVIDERS = (OPENAI,)
