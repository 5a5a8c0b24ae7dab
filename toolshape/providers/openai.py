"""OpenAI Chat Completions. Types read in openai 3.51.0 on 2026-11-20; server texts from the issues named."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape import rewrites, rules
from toolshape.calls import JsonObject, Message, Result, Spec, WireCall
from toolshape.errors import ResponseError
from toolshape.lens import everywhere
from toolshape.provider import Choice, NameRule, Provider, Reading, member, plain

_LOOKS_AROUND = re.compile(r"\(\?")
# Structured Outputs guide, Feb and Aug 2026, and the refusals named. "default" has been accepted in 2026, and refused in
# 2025 (dotnet/extensions#6266): it is said instead. Lengths: coder/mux#1220, 2025-12. uniqueItems: mastra#23321, 2026-09.
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
STRICT_KEYWORDS = (
    "$ref", "$defs", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum",
    "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern",
    "properties", "required", "type",
)  # fmt: skip
STRICT = (
    *rewrites.STRUCTURE,
    everywhere(rewrites.every_object_has_properties),
    everywhere(rewrites.optional_as_nullable),
    everywhere(rewrites.say_default),
    everywhere(rewrites.say_formats_but(*FORMATS)),
    everywhere(rewrites.say_instead("pattern", unless=lambda _, pattern: not _LOOKS_AROUND.search(pattern))),
    everywhere(rewrites.only_keywords(*STRICT_KEYWORDS)),
    everywhere(rewrites.lone_references),
)


def envelope(spec: Spec, strict: bool) -> JsonObject:
    function: JsonObject = {"name": spec.name, "parameters": spec.parameters}
    if spec.description:
        function["description"] = spec.description
    if strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    said: JsonObject = {"tools": tools}
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
    return Reading([_as_sent(message)], calls, member(choices[0], "finish_reason"))


def _call(call: Any) -> WireCall:
    function = member(call, "function")
    if function is None:  # {"type": "custom"}: free text, for a tool that is not ours
        custom = member(call, "custom")
        return WireCall(member(call, "id"), member(custom, "name") or "", member(custom, "input"), call)
    return WireCall(member(call, "id") or "", member(function, "name") or "", member(function, "arguments"), call)


def encode(results: Sequence[Result]) -> list[Message]:
    """One message a call, directly after the assistant's: every id must be answered. There is no error flag."""
    return [
        {"role": "tool", "tool_call_id": result.call.id, "content": content(result)}
        if not _is_legacy(result.call.raw)
        else {"role": "function", "name": result.call.wire_name, "content": content(result)}  # the legacy form
        for result in results
    ]


def _is_legacy(call: Any) -> bool:
    """The function_call of 2023: a name and arguments with nothing around them."""
    return member(call, "name") is not None and member(call, "arguments") is not None


def _as_sent(message: Any) -> Message:
    """The message without what the SDK's ``parse`` has added to it, which no request takes."""
    sent: Message = plain(message)
    if not isinstance(message, dict):
        sent.pop("parsed", None)
        for call in sent.get("tool_calls") or ():
            call.get("function", {}).pop("parsed_arguments", None)
    return sent


_ERROR_MARK = re.compile(r" *Error \[[a-z_]+\]: ")


def content(result: Result) -> str:
    if result.error is not None:
        return f"Error [{result.error.code}]: {result.text}"
    # A value that looks like the mark is moved one space, so that the mark can be trusted and the value read back.
    return f" {result.text}" if _ERROR_MARK.match(result.text) else result.text


OPENAI = Provider(
    name="openai",
    family="openai-chat",
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; openai 3.51.0 FunctionDefinition, read 2026-11-20",
    ),
    # langchainjs#9804 and home-generative-agent#545; items: opencode#20273 and others.
    refuses=(rules.root_is_object, rules.root_without_combinators, rules.arrays_have_items, rules.references_resolve),
    refuses_strict=(
        rules.root_has_properties,
        rules.closed,
        rules.all_required,
        rules.typed,
        rules.known_keywords(*STRICT_KEYWORDS, "default", "title"),  # the last two have been accepted in 2026
        rules.known_formats(*FORMATS),
    ),
    lenient=(),
    strict=STRICT,
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    encode=encode,
)

# Fine-tuned models and Azure take none of these (Structured Outputs guide, 2026; Azure's page of 2025-01).
_MOVED = (
    "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems",
    "maxItems",
)  # fmt: skip
MINIMAL = (
    *STRICT,
    everywhere(rewrites.say_instead(*_MOVED)),
)

PROVIDERS = (
    OPENAI,
    replace(OPENAI, name="openai:minimal", strict=MINIMAL),
    replace(OPENAI, name="openai:string-enums", strict=(*STRICT, everywhere(rewrites.enum_as_strings))),
)
