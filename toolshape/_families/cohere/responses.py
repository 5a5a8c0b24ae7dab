"""Cohere v2 chat. Types read in cohere 7.3.1 on 2026-11-20; the strict dialect is in its documentation of 2025."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolshape._calls import Finish, JsonObject, Spec, WireMessage
from toolshape._families.cohere import server
from toolshape._families.openai import messages
from toolshape._families.openai import responses as openai
from toolshape._families.openai import server as openai_server
from toolshape._results import Result
from toolshape._schema import checks as rules
from toolshape._schema import constrained as structure
from toolshape._schema import rewrites
from toolshape._schema.checks import cited
from toolshape._schema.values import append_text, copied
from toolshape._schema.walk import everywhere, inlined
from toolshape._wire.bodies import hold_unless_whole, member, plain, release_held
from toolshape._wire.histories import Histories, history_rules
from toolshape._wire.provider import (
    Budget,
    Choice,
    Completed,
    Facts,
    NameRule,
    OutboundCall,
    Provider,
    Read,
    unsupported,
)
from toolshape._wire.request_checks import entry_keys, required_fields
from toolshape._wire.server import request_rules

# Structured outputs, 2025: no combinators, no bounds, no lengths, few formats; every object requires a field. That list
# is written for response schemas, and taken to hold for strict_tools.
FORMATS = ("date-time", "uuid", "date", "time")
STRICT_KEYWORDS = ("default", "description", "enum", "format", "items", "properties", "required", "title", "type")
STRICT = (
    structure.wrapped_root,
    structure.patterns_as_maps,  # first: no arrow is lifted from a pattern
    inlined(rewrites.recursion_as_json_text),
    everywhere(rewrites.const_as_enum),
    everywhere(rewrites.enum_as_strings),  # before null, which is unsupported here, is split off the choices
    *structure.STRUCTURE,
    everywhere(rewrites.null_left_out),
    everywhere(rewrites.one_required),
    everywhere(rewrites.union_as_json_text),
    everywhere(rewrites.say_formats_but(*FORMATS)),
    everywhere(rewrites.open_objects),
    everywhere(rewrites.only_keywords(*STRICT_KEYWORDS)),
)


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - strict is a flag of the request
    return openai.envelope(spec, strict=False)


# tool_choice is for Command R7B and newer (cohere 7.3.1, V2ChatRequest).
_WITHOUT_CHOICE = re.compile(r"command(-light|-nightly|-r|-r-plus|-r-0\d-2024|-r-plus-0\d-2024)?$")


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """``REQUIRED`` or ``NONE``, in upper case; to choose one tool or some, only these are sent."""
    if choice.parallel is False:
        raise unsupported(choice, "parallel", "Cohere has no switch for parallel calls: leave it out")
    is_said = choice.names or choice.mode in ("required", "none")
    if is_said and choice.model and _WITHOUT_CHOICE.match(choice.model):
        message = f"{choice.model} does not support a tool choice: leave it out"
        raise unsupported(choice, "choice", message, "cohere 7.3.1 V2ChatRequest: for Command R7B and newer")
    body: JsonObject = {"tools": list(choice.chosen) if choice.names else tools}
    if choice.names or choice.mode == "required":
        body["tool_choice"] = "REQUIRED"
    elif choice.mode == "none":
        body["tool_choice"] = "NONE"
    if choice.is_strict:
        body["strict_tools"] = True
    return body


def whole(body: Any) -> Any:
    """A response; one made of a message or of one call; ``None`` if it is none of these."""
    message = member(body, "message")
    is_ended = member(body, "finish_reason") is not None and member(body, "choices") is None
    if is_ended and member(message, "role") == "assistant":
        return body
    made = None if is_ended else openai.whole(body)
    return None if made is None or made is body else {"message": made["choices"][0]["message"]}


def recognises(body: Any) -> bool:
    return whole(body) is not None


def read(body: Any) -> Read | None:
    body = whole(body)
    if body is None:
        return None
    message = member(body, "message")
    return openai.read({"choices": [{"message": plain(message), "finish_reason": member(body, "finish_reason")}]})


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """A call starts, its arguments arrive in pieces, and it ends; each says by its index which it is."""
    message = body.setdefault("message", {"role": "assistant"})
    body.setdefault("finish_reason", "")
    places: dict[Any, int] = body.setdefault("x-places", {})
    calls = message.get("tool_calls", [])
    at = places.get(event.get("index"), len(calls) - 1)
    kind = event.get("type")
    delta = event.get("delta") or {}
    piece = delta.get("message") or {}
    if kind == "tool-plan-delta":
        message.setdefault("tool_plan", "")
        append_text(message, "tool_plan", piece.get("tool_plan", ""))
    elif kind == "tool-call-start":
        begun = copied(piece["tool_calls"])
        begun.setdefault("function", {}).setdefault("arguments", "")
        places[event.get("index")] = len(calls)
        message["tool_calls"] = calls
        calls.append(begun)
    elif kind == "tool-call-delta":
        append_text(calls[at]["function"], "arguments", piece["tool_calls"]["function"]["arguments"])
    elif kind == "tool-call-end":
        return hold_unless_whole(body, at, openai.call(calls[at]), calls[at]["function"]["arguments"])
    elif kind == "content-start":
        message.setdefault("content", []).append(dict(piece.get("content") or {}))
    elif kind == "content-delta" and message.get("content"):
        for key, value in (piece.get("content") or {}).items():
            message["content"][-1].setdefault(key, "")
            append_text(message["content"][-1], key, value)
    elif kind == "message-end":
        body["finish_reason"] = delta.get("finish_reason")
        return release_held(body, FINISHES.get(str(body["finish_reason"]), "other"))
    return ()


def say(calls: Sequence[OutboundCall]) -> list[WireMessage]:
    [message] = openai.say(calls)
    return [{key: value for key, value in message.items() if key != "content"}]


def _without_null(message: WireMessage) -> WireMessage:
    """A message without content has no such key."""
    return {key: value for key, value in message.items() if key != "content" or value is not None}


def encode(results: Sequence[Result]) -> list[WireMessage]:
    """One message a call. There is no error flag."""
    return [{"role": "tool", "tool_call_id": result.call.id, "content": openai.content(result)} for result in results]


FINISHES: Mapping[str, Finish] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "TOOL_CALL": "tool_calls",
    "MAX_TOKENS": "length",
    "ERROR": "error",
    "TIMEOUT": "error",
}
HISTORIES = Histories(
    key="messages",
    read=messages.read,
    write=lambda message, encode: [_without_null(one) for one in messages.write(message, encode)],
    input_kinds=frozenset({"image", "image_url"}),
    rules=(
        *history_rules(
            "oracle/langchain-oracle#10, 2025-08",
            "unanswered_call",
            "open_turn",
            "orphan_result",
            "duplicate_result",
            "late_result",
        ),
        *history_rules("cohere 7.3.1 ToolCallV2: the id is required, 2026-11-22", "call_id", pattern=r"(?s).+"),
    ),
)


COHERE = Provider(
    name="cohere",
    family="cohere",
    form="cohere",
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="no rule is documented: 1 to 64 of a-z A-Z 0-9 _ -, as elsewhere",
    ),
    refuses=cited("cohere 7.3.1 ToolV2Function", rules.root_is_object),
    refuses_strict=cited(
        "Cohere's structured outputs documentation, 2025",
        rules.known_keywords(*STRICT_KEYWORDS),
        rules.known_formats(*FORMATS),
        rules.typed,
        rules.one_type,
        rules.one_required,
    ),
    lenient=openai.OPENAI.lenient,
    strict=STRICT,
    budget=Budget(properties=200, is_shared=True, evidence="Cohere's structured outputs documentation, 2025"),
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes=FINISHES,
    fold=fold,
    say=say,
    encode=encode,
    histories=HISTORIES,
    facts=Facts(
        arguments="JSON text",
        malformed="the text as the model wrote it",
        declined="no `tool_calls`; `finish_reason` `COMPLETE`",
        strict="the request's `strict_tools`, for all tools",
        needs="`tool_plan` is replayed; `tool_choice` at Command R7B and newer",
    ),
    endpoint=server.ENDPOINT,
    read_request=openai_server.read_counted_request,
    refuses_request=(
        *request_rules("cohere 7.3.1 V2ChatRequest, 2026-11-22", required_fields("model", "messages")),
        *request_rules(
            "a recorded 422: parameter 'strict' is not a valid field",
            entry_keys("function", "name", "description", "parameters"),
        ),
    ),
    request_fields=server.REQUEST_FIELDS,
    respond=server.respond,
    unfold=server.unfold,
    error=server.error,
    wordings=server.WORDINGS,
)

PROVIDERS = (COHERE,)
