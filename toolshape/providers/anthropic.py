"""Anthropic Messages. Types read in anthropic 2.10.0 on 2026-11-20; server texts from the issues named."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape import rewrites, rules
from toolshape.calls import JsonObject, Message, Result, Spec, WireCall
from toolshape.lens import everywhere, inlined
from toolshape.provider import Choice, NameRule, Provider, Reading, member, plain

_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


# Structured outputs documentation, 2026-07. Bounds, lengths and recursion are 400 there; oneOf and prefixItems are not
# documented, so they are not sent.
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
STRICT_KEYWORDS = (
    "additionalProperties", "anyOf", "const", "default", "description", "enum", "format", "items", "minItems",
    "pattern", "properties", "required", "title", "type",
)  # fmt: skip
_COMPLEX_PATTERN = re.compile(r"\(\?|\\[1-9bB]|\{\d{3,}")
STRICT = (
    inlined(rewrites.recursion_as_json_text),
    *rewrites.STRUCTURE,
    everywhere(rewrites.every_object_has_properties),
    everywhere(rewrites.close_objects),
    everywhere(rewrites.say_formats_but(*FORMATS)),
    everywhere(rewrites.say_instead("minItems", unless=lambda _, least: least in (0, 1))),
    everywhere(rewrites.say_instead("pattern", unless=lambda _, pattern: not _COMPLEX_PATTERN.search(pattern))),
    everywhere(rewrites.only_keywords(*STRICT_KEYWORDS)),
)
# n8n#30590 and claude-code#79418: property keys of the root are checked, those below are not.
KEY = r"[a-zA-Z0-9_.-]{1,64}"
KEYS = everywhere(rewrites.rename_keys(KEY, only_root=True))


def envelope(spec: Spec, strict: bool) -> JsonObject:
    tool: JsonObject = {"name": spec.name, "input_schema": spec.parameters}
    if spec.description:
        tool["description"] = spec.description
    if strict:
        tool["strict"] = True
    return tool


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """The parallel switch lives inside ``tool_choice``, and "none" has no such switch (ToolChoiceParam, 2.10.0)."""
    if choice.choice is None and choice.parallel is None:
        return {"tools": tools}
    said: JsonObject = (
        {"type": "tool", "name": choice.choice} if choice.is_name else {"type": _CHOICES[choice.choice or "auto"]}
    )
    if choice.parallel is not None and said["type"] != "none":
        said["disable_parallel_tool_use"] = not choice.parallel
    return {"tools": tools, "tool_choice": said}


def recognises(body: Any) -> bool:
    return member(body, "type") == "message" and isinstance(member(body, "content"), list)


def read(body: Any) -> Reading:
    content = member(body, "content")
    # server_tool_use blocks are the provider's own calls, run by it.
    calls = [
        WireCall(member(block, "id"), member(block, "name") or "", member(block, "input"), block)
        for block in content
        if member(block, "type") == "tool_use"
    ]
    # A message may not have empty content: a response without any has no turn to send back.
    assistant = [{"role": "assistant", "content": plain(content)}] if content else []
    return Reading(assistant, calls, member(body, "stop_reason"))


def encode(results: Sequence[Result]) -> list[Message]:
    """All results in one user message, directly after the assistant's, in its order; anything else is a 400."""
    return [{"role": "user", "content": [_block(result) for result in results]}]


def _block(result: Result) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": result.call.id, "content": result.text}
    if result.error is not None:
        block["is_error"] = True
    return block


ANTHROPIC = Provider(
    name="anthropic",
    family="anthropic-messages",
    names=NameRule(
        # The documents say 64, the server 128 (claude-code#96152, 2026-09): what is documented is safe.
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; tool use documentation, 2026",
    ),
    refuses=(
        rules.root_is_object,
        rules.root_without_combinators,
        rules.references_resolve,
        rules.keys(KEY, only_root=True),
    ),
    refuses_strict=(
        rules.closed,
        rules.typed,
        rules.no_recursion,
        rules.known_keywords(*STRICT_KEYWORDS, "$ref", "$defs", "definitions", "allOf"),
        rules.known_formats(*FORMATS),
        rules.at_most(optional=24, unions=16),
    ),
    lenient=(KEYS,),
    strict=(KEYS, *STRICT),
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    encode=encode,
)

# The constraints that a strict schema cannot hold, said in lenient ones too, as the SDK's own helper does.
_MOVED = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems",
    "minItems", "uniqueItems",
)  # fmt: skip
DESCRIBED = (
    KEYS,
    everywhere(rewrites.say_instead(*_MOVED)),
)

PROVIDERS = (ANTHROPIC, replace(ANTHROPIC, name="anthropic:described", lenient=DESCRIBED))
