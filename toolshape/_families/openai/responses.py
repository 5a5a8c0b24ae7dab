"""OpenAI Chat Completions. Types read in openai 3.51.0 on 2026-11-20; server texts from the issues named."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolshape._calls import EARLY, Finish, JsonObject, Spec, WireCall, WireMessage, new_record
from toolshape._errors import ResponseError
from toolshape._families.openai import messages, server
from toolshape._parts import Image, Text, by_media_type, is_taken, kind_of, named
from toolshape._results import Result
from toolshape._schema import checks as rules
from toolshape._schema import constrained as structure
from toolshape._schema import limits, rewrites
from toolshape._schema.checks import cited
from toolshape._schema.values import append_text, is_whole
from toolshape._schema.walk import everywhere
from toolshape._wire.bodies import member, plain
from toolshape._wire.ids import is_plain_id, with_call_ids
from toolshape._wire.provider import Choice, Completed, Facts, Limit, NameRule, OutboundCall, Provider, Read, Reading
from toolshape._wire.request_checks import required_fields
from toolshape._wire.server import request_rules
from toolshape.messages import MediaPart

_LOOKS_AROUND = re.compile(r"\(\?<?[=!]")  # no automaton decodes these
# Structured Outputs guide, Feb and Aug 2026, and the refusals cited here. "default" was refused in 2025
# (dotnet/extensions#6266) and accepted in 2026: it goes into the description. Lengths: coder/mux#1220, 2025-12.
# uniqueItems: mastra#23321, 2026-09.
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
_NOTHING_CUT = frozenset[int]()


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
    """For vendors without ``allowed_tools``: to choose among several tools, only those are sent."""
    if len(choice.names) > 1:
        return _said(list(choice.chosen), "required", choice)
    return request(tools, choice)


def _function(name: str) -> JsonObject:
    return {"type": "function", "function": {"name": name}}


def _said(tools: list[JsonObject], tool_choice: Any, choice: Choice) -> JsonObject:
    body: JsonObject = {"tools": tools}
    if tool_choice is not None:
        body["tool_choice"] = tool_choice
    if choice.parallel is not None:
        body["parallel_tool_calls"] = choice.parallel
    return body


def whole(body: Any) -> Any:
    """A response; one made of a message or of one call; ``None`` if it is none of these."""
    if isinstance(member(body, "choices"), list):
        return body
    is_plain = isinstance(member(body, "content"), str) or member(body, "function_call") is not None
    if member(body, "role") == "assistant" and (is_plain or isinstance(member(body, "tool_calls"), list)):
        return {"choices": [{"message": body}]}
    if member(member(body, "function") or member(body, "custom"), "name") is not None:
        return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [plain(body)]}}]}
    return None


def recognises(body: Any) -> bool:
    return whole(body) is not None


def read(body: Any) -> Read | None:
    """Read the first choice: each of several (``n``) is another possible answer, not one more."""
    if type(body) is dict:  # the usual case: JSON, every call with an id
        try:
            choices: list[JsonObject] = body["choices"]
            choice = choices[0]
            message = choice["message"]
            calls = []
            for one in message["tool_calls"]:
                call_id, function = one["id"], one["function"]
                if not call_id or not call_id.isascii():
                    break
                calls.append((call_id, function["name"], function["arguments"], one))
            else:
                if calls and "function_call" not in message and message["role"] == "assistant":
                    return [message], calls, choice["finish_reason"], _NOTHING_CUT, True
        except (LookupError, TypeError, AttributeError):
            pass
    return _read_any(body)


def _read_any(body: Any) -> Reading | None:
    response = whole(body)
    if response is None:
        return None
    choices = member(response, "choices")
    message = member(choices[0], "message") if choices else None
    if message is None:
        raise ResponseError("a chat completion without choices[0].message", body=body)
    # Presence of tool_calls decides, not finish_reason: a forced call has come with "stop".
    listed = member(message, "tool_calls")
    found = [call(one) for one in listed] if isinstance(listed, list) else []
    finish, legacy = member(choices[0], "finish_reason"), member(message, "function_call")
    # Some gateways append a call without name and id: it is ignored, and not sent back.
    calls = [one for one in found if one.id or one.wire_name]
    if not calls and legacy is not None and member(legacy, "name"):  # some gateways send it with an empty name
        calls = [WireCall("", member(legacy, "name"), member(legacy, "arguments"), legacy)]
    assistant = as_assistant(_as_sent(message))
    if len(calls) < len(found):
        real = [one for one, read_one in zip(assistant["tool_calls"], found, strict=True) if read_one in calls]
        assistant = {**assistant, "tool_calls": real} if real else _without_calls(assistant)
    if not all(is_plain_id(one.id) for one in calls) and assistant.get("tool_calls"):
        sent = [plain(one) for one in assistant["tool_calls"]]
        sent, calls = with_call_ids(sent, calls, lambda _: True, lambda one, call_id: {**one, "id": call_id})
        assistant = {**assistant, "tool_calls": sent}
    return Reading([assistant], calls, finish)


def as_assistant(message: WireMessage) -> WireMessage:
    """What a model said, under the role of the assistant, whatever a gateway has put there."""
    if message.get("role") == "assistant":
        return message
    return {"role": "assistant", **{key: value for key, value in message.items() if key != "role"}}


def _without_calls(message: WireMessage) -> WireMessage:
    """A message may not have an empty list of calls."""
    return {key: value for key, value in message.items() if key != "tool_calls"}


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """A call is complete when the response ends, or once the next call has begun and its own text is a whole object.

    Fragments of several calls may alternate: a call whose text is not yet whole may go on after the next has begun.
    """
    choice = body.setdefault("choices", [{"index": 0, "message": {"role": "assistant", "content": None}}])[0]
    places: dict[Any, int] = body.setdefault("x-places", {})
    calls = choice["message"].get("tool_calls", [])
    begun, finish = len(calls), None
    if event.get("error") and not event.get("choices"):
        choice["finish_reason"] = "error"
    for one in event.get("choices") or ():
        if one.get("index", 0) != 0:
            continue
        delta = one.get("delta") or one.get("message") or {}
        for key, value in delta.items():
            if key != "tool_calls":
                _join(choice["message"], key, value)
        for part in delta.get("tool_calls") or ():
            _join_call(places, calls, part)
        if calls:
            choice["message"]["tool_calls"] = calls
        if one.get("finish_reason"):
            choice["finish_reason"] = finish = one["finish_reason"]
    if finish is not None:
        return _at_the_end(choice["message"], FINISHES.get(str(finish), "other"))
    before = range(max(begun - 1, 0), len(calls) - 1) if len(calls) > begun else ()
    return [(at, call(calls[at])) for at in before if is_whole(calls[at]["function"]["arguments"])]


def _at_the_end(message: WireMessage, finish: Finish) -> list[Completed]:
    """The calls of a response that has ended; those that are whole, where it ended before its time."""
    found, legacy = list(map(call, message.get("tool_calls") or ())), message.get("function_call")
    if not found and isinstance(legacy, dict) and legacy.get("name"):
        found = [WireCall("", legacy["name"], legacy["arguments"], legacy)]
    return [(at, one) for at, one in enumerate(found) if finish not in EARLY or is_whole(one.arguments)]


_WHOLE = ("role", "id", "name", "type")


def _join(message: WireMessage, key: str, value: Any) -> None:
    if isinstance(value, str) and key not in _WHOLE and isinstance(message.get(key), str):
        append_text(message, key, value)  # before a variable refers to the text, which would be copied then
        return
    before = message.get(key)
    if value is None or key in _WHOLE:  # some gateways send "role": "" with each chunk after the first
        message[key] = before if before is not None and value in (None, "") else value
    elif key == "function_call" and isinstance(value, dict):  # the legacy form
        if not isinstance(before, dict):
            before = message[key] = {"name": "", "arguments": ""}
        for part in ("name", "arguments"):
            if isinstance(value.get(part), str):
                append_text(before, part, value[part])
    elif isinstance(before, list) and isinstance(value, list):
        before.extend(value)
    else:
        message[key] = list(value) if isinstance(value, list) else value


def _join_call(places: dict[Any, int], calls: list[JsonObject], part: JsonObject) -> None:
    """Fragments belong to a call by index; a gateway may give all calls the same index, and each its own id."""
    index, function = part.get("index"), part.get("function") or {}
    by_id = ("id", part.get("id")) if part.get("id") else None
    at = places.get(by_id, places.get(index, -1) if index is not None else -1)
    begun = calls[at]["function"]["name"] if at >= 0 else ""
    is_new_id = at >= 0 and part.get("id") and calls[at].get("id") and part["id"] != calls[at]["id"]
    is_other = function.get("name") and (is_new_id or (begun and function["name"] != begun))
    if at < 0 and index is None and calls and not part.get("id") and not function.get("name"):
        at = len(calls) - 1
    if at < 0 and not part.get("id") and not function.get("name"):
        return  # a gateway's call that is none
    if at < 0 or is_other:
        places[index] = len(calls)
        if by_id is not None:
            places[by_id] = len(calls)
        kept = {key: value for key, value in part.items() if key not in ("index", "function") and value is not None}
        arguments = function.get("arguments")
        made = {"name": function.get("name") or "", "arguments": "" if arguments is None else arguments}
        calls.append({"type": "function", **kept, "function": made})
        return
    call = calls[at]
    call["id"] = call.get("id") or part.get("id")
    if index is not None:  # later fragments without an id belong to it
        places[index] = at
    call["function"]["name"] = call["function"]["name"] or function.get("name") or ""
    if isinstance(function.get("arguments"), str) and isinstance(call["function"]["arguments"], str):
        append_text(call["function"], "arguments", function["arguments"])


def say(calls: Sequence[OutboundCall]) -> list[WireMessage]:
    tool_calls = [
        {
            "id": one.id,
            "type": "function",
            "function": {"name": one.wire_name, "arguments": json.dumps(one.arguments, ensure_ascii=False)},
        }
        for one in calls
    ]
    return [{"role": "assistant", "content": None, "tool_calls": tool_calls}]


def call(call: Any) -> WireCall:
    """A call in a message, of a function or of a custom tool."""
    function = member(call, "function")
    if function is None:  # {"type": "custom"}: free text, for a tool that is not ours
        custom = member(call, "custom")
        return WireCall(member(call, "id") or "", member(custom, "name") or "", member(custom, "input"), call)
    return new_record(
        WireCall, (member(call, "id") or "", member(function, "name") or "", member(function, "arguments"), call)
    )


def encode(results: Sequence[Result]) -> list[WireMessage]:
    """One message a call, directly after the assistant's: every id must be answered. There is no error flag.

    A tool's message holds texts only: images and files follow in one message of the user's.
    """
    answers: list[WireMessage] = []
    shown: list[JsonObject] | None = None
    for result in results:
        call, _, error, _, _, text, _, parts, _, _ = result
        if error is not None or "Error [" in text:
            text = content(result)
        raw = call.raw
        if (type(raw) is dict and "function" in raw) or not _is_legacy(raw):
            answers.append({"role": "tool", "tool_call_id": call.id, "content": text})
        else:
            answers.append({"role": "function", "name": call.wire_name, "content": text})
        if parts:
            shown = shown or []
            shown += _shown(result)
    return [*answers, {"role": "user", "content": shown}] if shown else answers


def _shown(result: Result) -> list[JsonObject]:
    parts = [one for one in result.parts if not isinstance(one, Text)]
    if not parts:
        return []
    said: list[JsonObject] = [
        {"type": "text", "text": f"From the result of {result.call.wire_name} ({result.call.id}):"}
    ]
    types = messages.HISTORIES.media_types
    for one in map(by_media_type, parts):
        if not isinstance(one, Image) and not one.data:
            said.append({"type": "text", "text": one.url})
        elif kind_of(one) in ("audio", "video") and not is_taken(one, types):
            said.append({"type": "text", "text": named(one)})
        else:
            said.append(messages.media_piece(MediaPart(media=one)))
    return said


def _is_legacy(call: Any) -> bool:
    """The function_call of 2023: a name and arguments with nothing around them."""
    return member(call, "name") is not None and member(call, "arguments") is not None


def _as_sent(message: Any) -> WireMessage:
    """The message without what the SDK's ``parse`` has added to it, which no request takes."""
    if isinstance(message, dict):
        return message
    sent: WireMessage = plain(message)
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
FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refusal",
    "model_length": "length",  # Mistral
    "error": "error",
}
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
    lenient=(structure.wrapped_root_with_items,),
    strict=STRICT,
    most_tools=Limit(128, "oh-my-openagent#2848, 2026-03"),
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    carries=frozenset({"image", "file", "audio"}),
    finishes=FINISHES,
    fold=fold,
    say=say,
    encode=encode,
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="JSON text",
        malformed='the text as the model wrote it; `""` for no arguments',
        declined="no `tool_calls`; perhaps `message.refusal`",
        strict="`function.strict`, off by default",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    refuses_request=request_rules(
        "openai 3.54.0 CompletionCreateParams, 2026-11-22", required_fields("model", "messages")
    ),
    request_fields=server.REQUEST_FIELDS,
    respond=server.respond,
    unfold=server.unfold,
    error=server.error,
    wordings=server.WORDINGS,
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
# page of 2025-01): older models and Azure are assumed to keep both limits.
OLDER = replace(
    OPENAI,
    strict=MINIMAL,
    longest_description=Limit(1024, "sentry-mcp#106, 2025"),
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
        lenient=(
            *OPENAI.lenient,
            everywhere(rewrites.all_of_merged_or_described),  # each part must be of one type
            everywhere(rewrites.enum_as_strings),
        ),
        strict=(*STRICT, everywhere(rewrites.enum_as_strings)),
    ),
)
