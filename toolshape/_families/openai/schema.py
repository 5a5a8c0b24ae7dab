"""Writes tools and choices for Chat Completions, and the rewrites of its strict dialect.

The types come from openai 3.51.0, read on 2026-11-20. The server's messages are from the cited
issues.
"""

import re
from collections.abc import Sequence
from typing import Any

from toolshape._families.wire.provider import Choice, NameRule
from toolshape._records.calls import Grammar, JsonObject, Spec
from toolshape._schema import checks as rules, constrained as structure, rewrites
from toolshape._schema.checks import cited
from toolshape._schema.lens import Pass, each
from toolshape._schema.walk import everywhere

# Constrained decoding uses automata, which cannot look around.
_LOOKS_AROUND = re.compile(r"\(\?<?[=!]")
# Sources: OpenAI's Structured Outputs guide (Feb and Aug 2026) and the rejections cited below.
# OpenAI rejected "default" in 2025 (dotnet/extensions#6266) and accepted it in 2026, so toolshape
# moves it into the description. On lengths, see coder/mux#1220, 2025-12; on uniqueItems, see
# mastra#23321, 2026-09.
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
STRICT_KEYWORDS = (
    "$ref", "$defs", "additionalProperties", "anyOf", "const", "description", "enum",
    "exclusiveMaximum",
    "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems", "minimum",
    "multipleOf", "pattern",
    "properties", "required", "type",
)  # fmt: skip
ACCEPTED = ("$schema", "default", "title")
"""Keywords that OpenAI's documentation does not list, but that the server
accepted in recorded requests of 2026.
"""


def objects_of(*allowed: str) -> tuple[Pass, ...]:
    """Return the rewrites of the strict form for a server that takes these keywords in it."""
    return (
        *structure.STRUCTURE,
        everywhere(rewrites.every_object_has_properties),
        everywhere(rewrites.optional_as_nullable),
        everywhere(
            each(
                rewrites.say_default,
                rewrites.say_formats_but(*FORMATS),
                rewrites.say_instead(
                    "pattern", unless=lambda _, pattern: not _LOOKS_AROUND.search(pattern)
                ),
                rewrites.only_keywords(*allowed),
                rewrites.lone_references,
            )
        ),
    )


OBJECTS = objects_of(*STRICT_KEYWORDS)


def envelope(spec: Spec, strict: bool) -> JsonObject:
    function: JsonObject = {"name": spec.name, "parameters": spec.parameters}
    if spec.description:
        function["description"] = spec.description
    if strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def free_text(spec: Spec) -> JsonObject:
    """Write a custom tool (``ChatCompletionCustomToolParam`` of openai 3.57.0, read on
    2026-11-27).
    """
    custom: JsonObject = {"name": spec.name}
    if spec.description:
        custom["description"] = spec.description
    if isinstance(spec.free_text, Grammar):
        custom["format"] = {"type": "grammar", "grammar": spec.free_text._asdict()}
    return {"type": "custom", "custom": custom}


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    chosen = [_chosen(name, choice.chosen) for name in choice.names]
    if len(chosen) > 1:
        allowed_tools = {"mode": "required", "tools": chosen}
        return _request_body(
            tools, {"type": "allowed_tools", "allowed_tools": allowed_tools}, choice
        )
    return _request_body(tools, chosen[0] if chosen else choice.mode, choice)


def _chosen(name: str, entries: Sequence[JsonObject]) -> JsonObject:
    is_custom = any(entry.get("custom", {}).get("name") == name for entry in entries)
    if is_custom:
        return {"type": "custom", "custom": {"name": name}}
    return _function(name)


def request_without_subsets(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Write a request for vendors without ``allowed_tools``: if a choice names
    several tools, send only these tools.
    """
    if len(choice.names) > 1:
        return _request_body(list(choice.chosen), "required", choice)
    return request(tools, choice)


def request_with_words(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """Write a request for servers that take only a word as the choice: if it
    names tools, send only these tools.
    """
    if choice.names:
        return _request_body(list(choice.chosen), "required", choice)
    return request(tools, choice)


def _function(name: str) -> JsonObject:
    return {"type": "function", "function": {"name": name}}


def _request_body(tools: list[JsonObject], tool_choice: Any, choice: Choice) -> JsonObject:
    body: JsonObject = {"tools": tools}
    if tool_choice is not None:
        body["tool_choice"] = tool_choice
    if choice.parallel is not None:
        body["parallel_tool_calls"] = choice.parallel
    return body


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
STRICT = (structure.wrap_root, *OBJECTS)
STRICT_WITH_LENGTHS = (
    structure.wrap_root,
    *objects_of(*STRICT_KEYWORDS, "minLength", "maxLength"),
)
"""The strict form for engines that keep the lengths of texts."""
# Fine-tuned models and Azure accept none of these keywords (Structured Outputs guide, 2026; Azure's
# page of 2025-01).
MOVED = (
    "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minItems", "maxItems",
)  # fmt: skip
MINIMAL = (
    *STRICT,
    everywhere(rewrites.say_instead(*MOVED)),
)
