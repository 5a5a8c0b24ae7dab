"""Anthropic Messages. Types read in anthropic 2.10.0 on 2026-11-20; server texts from the issues named."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolshape._calls import Finish, JsonObject, JsonSchema, Namespace, Spec, WireCall, WireMessage
from toolshape._families.anthropic import messages, server
from toolshape._results import Result
from toolshape._schema import checks as rules
from toolshape._schema import constrained as structure
from toolshape._schema import limits, rewrites
from toolshape._schema.checks import cited
from toolshape._schema.lens import Place
from toolshape._schema.values import append_text, as_json
from toolshape._schema.walk import everywhere, inlined
from toolshape._wire.bodies import hold_unless_whole, member, plain, release_held
from toolshape._wire.ids import with_call_ids
from toolshape._wire.provider import (
    Budget,
    Choice,
    Completed,
    Deferral,
    Facts,
    NameRule,
    OutboundCall,
    Provider,
    Reading,
    unsupported,
)
from toolshape._wire.request_checks import required_fields, schemas_are_objects, unique_names
from toolshape._wire.server import request_rules

_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


# Structured outputs documentation, 2026-07. Bounds, lengths and recursion are 400 there; oneOf and prefixItems are not
# documented, so they are not sent.
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
STRICT_KEYWORDS = (
    "additionalProperties", "anyOf", "const", "default", "description", "enum", "format", "items", "minItems",
    "pattern", "properties", "required", "title", "type",
)  # fmt: skip
_COMPLEX_PATTERN = re.compile(r"\(\?|\\[1-9bB]|\{\d*,?\d{3,}")
STRICT = (
    structure.patterns_as_maps,  # first: no arrow is lifted from a pattern
    inlined(rewrites.recursion_as_json_text),
    *structure.STRUCTURE,
    everywhere(rewrites.every_object_has_properties),
    everywhere(rewrites.close_objects),
    everywhere(rewrites.say_formats_but(*FORMATS)),
    everywhere(rewrites.say_instead("minItems", unless=lambda _, least: least in (0, 1))),
    everywhere(rewrites.say_instead("pattern", unless=lambda _, pattern: not _COMPLEX_PATTERN.search(pattern))),
    everywhere(rewrites.only_keywords(*STRICT_KEYWORDS)),
)


def few_items(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001 - a check
    """Arrays have a ``minItems`` of 0 or 1."""
    return None if node.get("minItems", 0) in (0, 1) else "minItems must be 0 or 1"


def simple_pattern(node: JsonSchema, at: Place) -> str | None:  # noqa: ARG001
    """No lookaround, back reference, word boundary or large repetition."""
    return "the pattern is too complex" if _COMPLEX_PATTERN.search(str(node.get("pattern", ""))) else None


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


def _deferred(entry: JsonObject, _: bool | Namespace) -> JsonObject:
    """There are no groups."""
    return {**entry, "defer_loading": True}


DEFERRAL = Deferral(
    mark=_deferred,
    is_marked=lambda entry: entry.get("defer_loading") is True,
    search={"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
    is_search=lambda tool: str(member(tool, "type")).startswith("tool_search_tool_"),
    evidence="ToolParam and ToolSearchToolBm25_20251119Param of anthropic 2.12.0, 2026-11-22; nearai/ironclaw#7274: "
    "a request whose tools are all deferred is refused",
)


# ToolChoiceParam's "any" and "tool" are refused by these models (errors page, 2026).
_NEVER_FORCED = re.compile(r"mythos|opus-5[.-]5|fable-5[.-]1")


def refuse_forced(choice: Choice) -> None:
    """Refuse what some models refuse: that a tool must be called."""
    if (choice.names or choice.mode == "required") and choice.model and _NEVER_FORCED.search(choice.model):
        message = f"{choice.model} does not support a forced tool call: leave it out"
        raise unsupported(choice, "choice", message, "Anthropic's errors page, 2026")


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """The parallel switch lives inside ``tool_choice``, and "none" has no such switch (ToolChoiceParam, 2.10.0).

    A choice among several tools is unsupported: only those tools are sent.
    """
    refuse_forced(choice)
    if not choice.names and choice.mode is None and choice.parallel is None:
        return {"tools": tools}
    tool_choice: JsonObject = {"type": _CHOICES[choice.mode or ("required" if choice.names else "auto")]}
    if len(choice.names) == 1:
        tool_choice = {"type": "tool", "name": choice.names[0]}
    if choice.parallel is not None and tool_choice["type"] != "none":
        tool_choice["disable_parallel_tool_use"] = not choice.parallel
    return {"tools": list(choice.chosen) if len(choice.names) > 1 else tools, "tool_choice": tool_choice}


def whole(body: Any) -> Any:
    """A response, a message of history, or one block that is a call; ``None`` if it is none of these."""
    content = member(body, "content")
    if isinstance(content, list):
        is_history = member(body, "role") == "assistant" and any(member(one, "type") == "tool_use" for one in content)
        return body if member(body, "type") == "message" or is_history else None
    return {"content": [body]} if member(body, "type") == "tool_use" else None


def recognises(body: Any) -> bool:
    return whole(body) is not None


def read(body: Any) -> Reading | None:
    body = whole(body)
    if body is None:
        return None
    content = member(body, "content")
    # server_tool_use blocks are the provider's own calls, run by it.
    calls = [_call(block) for block in content if member(block, "type") == "tool_use"]
    # A message may not have empty content: a response without any has no turn to send back.
    sent, calls = with_call_ids(
        [_sendable(block) for block in plain(content)],
        calls,
        lambda block: block.get("type") == "tool_use",
        lambda block, call_id: {**block, "id": call_id},
    )
    assistant = [{"role": "assistant", "content": sent}] if content else []
    ends_in_call = bool(content) and member(content[-1], "type") == "tool_use"
    return Reading(assistant, calls, member(body, "stop_reason"), ends_in_call=ends_in_call)


def _call(block: Any) -> WireCall:
    return WireCall(member(block, "id") or "", member(block, "name") or "", member(block, "input"), block)


def _sendable(block: JsonObject) -> JsonObject:
    """A block as a request takes it: arguments that were cut off are text, and are sent back inside an object."""
    text = block.get("input")
    return {**block, "input": {"INVALID_JSON": text}} if isinstance(text, str) else block


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """A block is complete when it stops; until then the input of a call is the text that has come."""
    kind = event.get("type")
    if kind == "message_start":
        body.update({**event["message"], "content": list(event["message"].get("content") or ())})
        body.update({"x-blocks": {}, "x-calls": {}})  # somebody's stream holds several responses: the last one counts
    content = body.setdefault("content", [])
    body.setdefault("type", "message")
    places: dict[Any, int] = body.setdefault("x-blocks", {})
    positions: dict[int, int] = body.setdefault("x-calls", {})
    at = places.get(event.get("index"), -1)
    if kind == "content_block_start":
        places[event.get("index")] = len(content)
        if event["content_block"].get("type") == "tool_use":
            positions[len(content)] = len(positions)
        content.append(_begun(event["content_block"]))
    elif kind == "content_block_delta" and 0 <= at < len(content):
        _join(content[at], event["delta"])
    elif kind == "content_block_stop" and 0 <= at < len(content):
        text = content[at].get("input")
        if isinstance(text, str):
            content[at]["input"] = as_json(text or "{}")
        if at in positions:
            return hold_unless_whole(body, positions[at], _call(content[at]), text)
    elif kind == "message_delta":
        body.update({key: value for key, value in event["delta"].items() if value is not None})
        return release_held(body, FINISHES.get(str(body.get("stop_reason")), "other"))
    elif kind == "error":
        body["stop_reason"] = "error"
    return ()


def _begun(block: JsonObject) -> JsonObject:
    is_call = block.get("type", "").endswith("tool_use") and not block.get("input")
    return {**block, "input": ""} if is_call else dict(block)


def _join(block: JsonObject, delta: JsonObject) -> None:
    for key, value in delta.items():
        name = "input" if key == "partial_json" else key
        if key in ("text", "thinking", "signature", "partial_json"):
            block[name] = block.get(name) or ""
            if isinstance(block[name], str):
                append_text(block, name, value)
        elif key == "citation":
            block["citations"] = block.get("citations") or []
            block["citations"].append(value)


def say(calls: Sequence[OutboundCall]) -> list[WireMessage]:
    blocks = [{"type": "tool_use", "id": one.id, "name": one.wire_name, "input": one.arguments} for one in calls]
    return [{"role": "assistant", "content": blocks}]


def encode(results: Sequence[Result]) -> list[WireMessage]:
    """All results in one user message, directly after the assistant's, in its order; anything else is a 400."""
    return [{"role": "user", "content": [_block(result) for result in results]}]


def _block(result: Result) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": result.call.id, "content": result.text}
    if result.parts:
        block["content"] = [messages.piece(one) for one in result.parts]
    if result.error is not None:
        block["is_error"] = True
    return block


DIALECT = cited(
    "structured outputs documentation, 2026-07",
    rules.closed,
    rules.typed,
    rules.no_recursion,
    rules.known_keywords(*STRICT_KEYWORDS, "$ref", "$defs", "definitions", "allOf"),
    rules.known_formats(*FORMATS),
    few_items,
    simple_pattern,
)


FINISHES: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "error": "error",
}
ANTHROPIC = Provider(
    name="anthropic",
    family="anthropic",
    form="anthropic",
    names=NameRule(
        # What is documented is safe, and the server takes more.
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; tool use documentation, 2026; 128 in claude-code#96152, 2026-09",
        longest_accepted=128,
    ),
    refuses=(
        *cited(
            "claude-code#44788, 2026; recorded 400s",
            rules.root_is_object,
            rules.root_without("anyOf", "oneOf", "allOf"),
        ),
        *cited("vscode#286415, 2026", rules.references_resolve),
        *cited("n8n#30590 and claude-code#79418, 2026", rules.keys(KEY, only_root=True)),
    ),
    refuses_strict=(
        *DIALECT,
        # A request may hold one more of each, by the documentation; one schema with all of them was too complex.
        *cited("recorded 400s, 2026", limits.at_most(optional=23, unions=15)),
    ),
    budget=Budget(
        tools=20, optional=24, unions=16, evidence="structured outputs documentation, 2026-07; recorded 400s, 2026"
    ),
    deferral=DEFERRAL,
    examples="input_examples",
    lenient=(structure.wrapped_root, KEYS),
    strict=(structure.wrapped_root, KEYS, *STRICT),
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes=FINISHES,
    fold=fold,
    carries=frozenset({"image", "file"}),
    say=say,
    encode=encode,
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="an object",
        malformed="nothing: an object arrives; with `eager_input_streaming`, broken text may",
        declined="`stop_reason` `end_turn`, or `refusal`",
        strict="`strict`",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    refuses_request=(
        *request_rules(
            "anthropic 2.12.0 MessageCreateParams, 2026-11-22", required_fields("max_tokens", "messages", "model")
        ),
        *request_rules("a recorded 400; LibreChat#13162, 2026", unique_names),
        *request_rules("a recorded 400 of claude-sonnet-4-6, 2026", schemas_are_objects),
    ),
    request_fields=server.REQUEST_FIELDS,
    respond=server.respond,
    unfold=server.unfold,
    error=server.error,
    wordings=server.WORDINGS,
)

# The constraints that a strict schema cannot hold; put in descriptions in lenient ones too, as the SDK's helper does.
_MOVED = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems",
    "minItems", "uniqueItems",
)  # fmt: skip
DESCRIBED = (
    *ANTHROPIC.lenient,
    everywhere(rewrites.say_instead(*_MOVED)),
)

PROVIDERS = (ANTHROPIC, replace(ANTHROPIC, name="anthropic:described", lenient=DESCRIBED))
