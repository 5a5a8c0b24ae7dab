"""OpenAI Chat Completions. Types read in openai 3.51.0 on 2026-11-20; server texts from the issues named."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape import limits, rewrites, rules, structure
from toolshape.calls import JsonObject, Message, Result, Spec, WireCall
from toolshape.errors import ResponseError
from toolshape.lens import everywhere
from toolshape.provider import Choice, Facts, NameRule, Provider, Reading, member, plain
from toolshape.rules import cited

_LOOKS_AROUND = re.compile(r"\(\?<?[=!]")  # no automaton decodes these
# Structured Outputs guide, Feb and Aug 2026, and the refusals named. "default" has been accepted in 2026, and refused in
# 2025 (dotnet/extensions#6266): it is said instead. Lengths: coder/mux#1220, 2025-12. uniqueItems: mastra#23321, 2026-09.
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
STRICT_KEYWORDS = (
    "$ref", "$defs", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum",
    "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern",
    "properties", "required", "type",
)  # fmt: skip
OBJECTS = (
    *structure.STRUCTURE,
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
    if len(choice.names) > 1:
        allowed = {"mode": "required", "tools": [_function(name) for name in choice.names]}
        return _said(tools, {"type": "allowed_tools", "allowed_tools": allowed}, choice)
    return _said(tools, _function(choice.names[0]) if choice.names else choice.mode, choice)


def request_without_subsets(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """For vendors that have no ``allowed_tools``: to choose among some, only these are sent."""
    if len(choice.names) > 1:
        return _said(list(choice.chosen), "required", choice)
    return request(tools, choice)


def _function(name: str) -> JsonObject:
    return {"type": "function", "function": {"name": name}}


def _said(tools: list[JsonObject], tool_choice: Any, choice: Choice) -> JsonObject:
    said: JsonObject = {"tools": tools}
    if tool_choice is not None:
        said["tool_choice"] = tool_choice
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
    calls = [call(one) for one in member(message, "tool_calls") or ()]
    legacy = member(message, "function_call")
    if not calls and legacy is not None and member(legacy, "name"):  # some gateways send it with an empty name
        calls = [WireCall("", member(legacy, "name"), member(legacy, "arguments"), legacy)]
    return Reading([_as_sent(message)], calls, member(choices[0], "finish_reason"))


def call(call: Any) -> WireCall:
    """A call in a message, of a function or of a custom tool."""
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


NAMES = NameRule(
    pattern=r"[a-zA-Z0-9_-]+",
    longest=64,
    evidence="1 to 64 of a-z A-Z 0-9 _ -; openai 3.51.0 FunctionDefinition, read 2026-11-20",
)
ROOT = cited(
    "langchainjs#9804, 2026; home-generative-agent#545, 2026-08",
    rules.root_is_object,
    rules.root_without("anyOf", "oneOf", "allOf", "enum", "not", "const"),
)
GUIDE = "Structured Outputs guide, 2026-08"
STRICT = (structure.wrapped_root, *OBJECTS)
OPENAI = Provider(
    name="openai",
    family="openai",
    form="openai",
    names=NAMES,
    refuses=(
        *ROOT,
        *cited("opencode#20273, 2026", rules.arrays_have_items),
        *cited("vscode#286415, 2026", rules.references_resolve),
    ),
    refuses_strict=(
        *cited("a recorded 400: object schema missing properties", rules.root_has_properties),
        *cited(
            GUIDE,
            rules.closed,
            rules.all_required,
            rules.typed,
            rules.known_keywords(*STRICT_KEYWORDS, "default", "title"),  # the last two have been accepted in 2026
            rules.known_formats(*FORMATS),
            limits.sizes(properties=5000, levels=10),
            limits.long_enums(choices=250, characters=15_000),
        ),
    ),
    lenient=(structure.wrapped_root,),
    strict=STRICT,
    most_tools=128,  # oh-my-openagent#2848, 2026-03
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    encode=encode,
    facts=Facts(
        arguments="JSON text",
        malformed='the text as the model wrote it; `""` for no arguments',
        declined="no `tool_calls`; perhaps `message.refusal`",
        strict="`function.strict`, off by default",
    ),
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
# 1,024 characters of description were the most until 2025 (sentry-mcp#106), 100 properties and 5 levels too (Azure's
# page of 2025-01): older models and Azure are taken to hold on to both.
OLDER = replace(
    OPENAI,
    strict=MINIMAL,
    longest_description=1024,
    refuses_strict=(
        *OPENAI.refuses_strict,
        *cited(
            "Azure's page of 2025-01",
            rules.known_keywords(*(key for key in STRICT_KEYWORDS if key not in _MOVED), "default", "title"),
            limits.sizes(properties=100, levels=5),
        ),
    ),
)

PROVIDERS = (
    OPENAI,
    replace(OLDER, name="openai:minimal"),
    replace(
        OPENAI,
        name="openai:string-enums",
        lenient=(*OPENAI.lenient, everywhere(rewrites.enum_as_strings)),
        strict=(*STRICT, everywhere(rewrites.enum_as_strings)),
    ),
)
