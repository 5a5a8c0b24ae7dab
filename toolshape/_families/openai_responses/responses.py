"""OpenAI Responses. Types read in openai 3.51.0 on 2026-11-20; dialect and names as in Chat Completions."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from toolshape._calls import JsonObject, Namespace, Spec, WireCall, WireMessage
from toolshape._families.openai import responses as openai
from toolshape._families.openai_responses import messages, server
from toolshape._parts import Part, Text
from toolshape._results import Result
from toolshape._schema.values import append_text
from toolshape._wire.bodies import hold_unless_whole, make_room, member, plain
from toolshape._wire.ids import with_call_ids
from toolshape._wire.provider import Choice, Completed, Deferral, Facts, OutboundCall, Reading
from toolshape._wire.server import request_rules


def _refused_beside(native: Any, names: Collection[str]) -> str:
    if member(native, "type") == "tool_search" and member(native, "execution") == "client":
        return "a search that the client carries out has nobody here to answer it: leave its execution out"
    if member(native, "type") == "namespace":
        for tool in member(native, "tools") or ():
            if member(tool, "name") in names:
                return f"a call of {member(tool, 'name')!r} in that namespace would be taken for the tool of this name: rename one"
    return ""


def envelope(spec: Spec, strict: bool) -> JsonObject:
    """``strict`` is always sent: without it the server makes the schema strict in its own way (chatlas#255)."""
    tool: JsonObject = {"type": "function", "name": spec.name, "parameters": spec.parameters, "strict": strict}
    if spec.description:
        tool["description"] = spec.description
    return tool


def _deferred(entry: JsonObject, where: bool | Namespace) -> JsonObject:
    """A deferred function, or one in a group of its own: ``gathered`` puts those of one name together."""
    function = {**entry, "defer_loading": True}
    if not isinstance(where, Namespace):
        return function
    return {"type": "namespace", "name": where.name, "description": where.description, "tools": [function]}


def gathered(entries: list[JsonObject]) -> list[JsonObject]:
    """The entries, with one group for each name, where the first of it stands."""
    groups: dict[str, JsonObject] = {}
    found: list[JsonObject] = []
    for entry in entries:
        group = groups.setdefault(entry["name"], entry) if entry.get("type") == "namespace" else entry
        if group is entry:
            found.append(entry)
        else:
            group["description"] = group["description"] or entry["description"]
            group["tools"] += entry["tools"]
    return found


def _is_deferred(entry: JsonObject) -> bool:
    return entry.get("defer_loading") is True or any(map(_is_deferred, entry.get("tools") or ()))


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    body = openai.request(tools, choice)
    functions = [{"type": "function", "name": name} for name in choice.names]
    if len(functions) > 1:
        body["tool_choice"] = {"type": "allowed_tools", "mode": "required", "tools": functions}
    elif functions:
        body["tool_choice"] = functions[0]
    return body


_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}  # the latter is free text, for no tool of ours


def whole(body: Any) -> Any:
    """A response, its items, or one of them that is a call; ``None`` if it is none of these."""
    if member(body, "object") == "response" and isinstance(member(body, "output"), list):
        return body
    items = body if isinstance(body, list) else [body]
    return {"output": items} if any(_is_call(item) and member(item, "call_id") for item in items) else None


def _is_call(item: Any) -> bool:
    kind = member(item, "type")
    return isinstance(kind, str) and kind in _ARGUMENTS


def _call(item: Any) -> WireCall:
    arguments = member(item, _ARGUMENTS[member(item, "type")])
    return WireCall(member(item, "call_id") or "", member(item, "name"), arguments, item)


def recognises(body: Any) -> bool:
    return whole(body) is not None


def read(body: Any) -> Reading | None:
    """A response has a status and no reason; one that is incomplete says why."""
    body = whole(body)
    if body is None:
        return None
    output = member(body, "output")
    # Two ids: results are linked by call_id, never by id.
    calls = [_call(item) for item in output if _is_call(item)]
    why = member(member(body, "incomplete_details"), "reason")
    sent = [{key: value for key, value in item.items() if key != "parsed_arguments"} for item in plain(output)]
    sent = [{**item, "role": "assistant"} if item.get("type") == "message" else item for item in sent]
    sent, calls = with_call_ids(
        sent, calls, lambda item: item.get("type") in _ARGUMENTS, lambda item, call_id: {**item, "call_id": call_id}
    )
    cut = frozenset(at for at, call in enumerate(calls) if member(call.raw, "status") == "incomplete")
    return Reading(sent, calls, why or member(body, "status"), cut)


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Items arrive by their place; each is sent once more, whole, when it is done."""
    kind = str(event.get("type", ""))
    output = body.setdefault("output", [])
    positions: dict[int, int] = body.setdefault("x-calls", {})
    body.setdefault("object", "response")
    if isinstance(event.get("response"), dict):
        given = event["response"].get("output") or output
        whole_output = given if _calls_in(given) >= _calls_in(output) else output  # what was announced is kept
        body.update({**event["response"], "output": whole_output})
        return list(enumerate(map(_call, filter(_is_call, whole_output)))) if kind == "response.completed" else ()
    if kind == "error":
        body["status"] = "failed"
    at = event.get("output_index", len(output) - 1)
    if kind in ("response.output_item.added", "response.output_item.done"):
        make_room(output, at, lambda: {"type": "unknown"})
        output[at] = dict(event["item"])
        if not _is_call(output[at]):
            return ()
        position = positions.setdefault(at, len(positions))
        if not kind.endswith("done") or output[at].get("status") == "incomplete":
            return ()
        call = _call(output[at])
        return hold_unless_whole(body, position, call, call.arguments)
    if kind.endswith((".arguments.delta", "_arguments.delta", "_input.delta")) and 0 <= at < len(output):
        key = _ARGUMENTS.get(output[at].get("type", ""), "arguments")
        output[at].setdefault(key, "")
        append_text(output[at], key, event.get("delta", ""))
    return ()


def _calls_in(output: Sequence[JsonObject]) -> int:
    return sum(map(_is_call, output))


def say(calls: Sequence[OutboundCall]) -> list[WireMessage]:
    return [
        {
            "type": "function_call",
            "call_id": one.id,
            "name": one.wire_name,
            "arguments": json.dumps(one.arguments, ensure_ascii=False),
        }
        for one in calls
    ]


def encode(results: Sequence[Result]) -> list[WireMessage]:
    return [
        {
            "type": f"{member(result.call.raw, 'type') or 'function_call'}_output",
            "call_id": result.call.id,
            "output": [messages.piece(one) for one in _marked(result)] or openai.content(result),
        }
        for result in results
    ]


def _marked(result: Result) -> tuple[Part, ...]:
    """The parts of a result, the first text with the mark of an error where it is one: there is no flag."""
    if not result.parts:
        return ()
    first = result.parts[0] if isinstance(result.parts[0], Text) else None
    marked = openai.content(result._replace(text="" if first is None else first.text))
    if marked == ("" if first is None else first.text):
        return result.parts
    return (Text(marked), *(result.parts if first is None else result.parts[1:]))


OPENAI_RESPONSES = replace(
    openai.OPENAI,
    name="openai-responses",
    family="openai-responses",
    form="openai-responses",
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes={
        "completed": "stop",
        "max_output_tokens": "length",
        "content_filter": "refusal",
        "failed": "error",
        "cancelled": "error",
    },
    fold=fold,
    carries=frozenset({"image", "file"}),
    say=say,
    encode=encode,
    gather=gathered,
    deferral=Deferral(
        mark=_deferred,
        is_marked=_is_deferred,
        search={"type": "tool_search"},
        is_search=lambda tool: member(tool, "type") == "tool_search",
        refused=_refused_beside,
        evidence="FunctionToolParam, NamespaceToolParam and ToolSearchToolParam of openai 3.51.0, and the guide to tool "
        "search (gpt-5.4 and later), 2026-11-20; a search without a deferred tool, and one the other way round, is "
        "refused: justrach/codegraff#746, Wei-Shaw/sub2api#5942",
    ),
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="JSON text",
        malformed='the text as the model wrote it; `""` for no arguments',
        declined="no `function_call` item; perhaps a `refusal` part of a message",
        strict="`strict`, always said: left out, the server decides",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    refuses_request=request_rules(
        "justrach/codegraff#746 and Wei-Shaw/sub2api#5942, 2026; read 2026-11-23", server.deferral_and_search
    ),
    request_fields=server.REQUEST_FIELDS,
    respond=server.respond,
    unfold=server.unfold,
    wordings=server.WORDINGS,
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
