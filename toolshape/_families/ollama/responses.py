"""Ollama, ``/api/chat``. Read in ollama 0.6.3 and the server's source (2026-08-21) on 2026-11-20."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from toolshape._calls import JsonObject, JsonSchema, Spec, WireCall, WireMessage
from toolshape._families.ollama import messages, server
from toolshape._families.openai import responses as openai
from toolshape._families.openai import server as openai_server
from toolshape._parts import Image, Text, by_media_type, encoded
from toolshape._results import Result
from toolshape._schema import checks as rules
from toolshape._schema import constrained as structure
from toolshape._schema import rewrites
from toolshape._schema.arrows import in_object
from toolshape._schema.checks import cited
from toolshape._schema.lens import MARKS, Change, Place
from toolshape._schema.values import append_text
from toolshape._schema.walk import everywhere, inlined
from toolshape._wire.bodies import member, plain
from toolshape._wire.ids import is_plain_id, with_call_ids
from toolshape._wire.provider import Choice, Completed, Facts, NameRule, OutboundCall, Provider, Reading, unsupported
from toolshape._wire.request_checks import required_fields
from toolshape._wire.server import request_rules

# The server's ToolProperty keeps these and drops the rest in silence; nothing is enforced.
SERVER_KEYWORDS = ("anyOf", "description", "enum", "items", "properties", "required", "type")
SERVER = (
    structure.wrapped_root,
    structure.patterns_as_maps,  # first: no arrow is lifted from a pattern
    inlined(rewrites.recursion_as_json_text),
    *structure.STRUCTURE,
    everywhere(rewrites.const_as_enum),
    everywhere(rewrites.say_default),
    everywhere(rewrites.open_objects),
    everywhere(rewrites.only_keywords(*SERVER_KEYWORDS)),
)
# The Python client keeps less of a parameter still (Tool.Function.Parameters.Property): an object or a choice among the
# parameters would arrive as {}.
CLIENT_KEYWORDS = frozenset({"type", "items", "description", "enum"})


def plain_fields(node: JsonSchema, at: Place) -> Change | None:
    """Parameters that are objects or unions become JSON text, where a provider sends only scalars and arrays."""
    if not at.is_root:
        return None
    changes = {
        name: rewrites.of_a_form(inner, Place(path=name, keyword="properties", resolve=at.resolve))
        for name, inner in node.get("properties", {}).items()
        if isinstance(inner, dict) and inner.keys() - {*MARKS, *CLIENT_KEYWORDS}
    }
    if not changes:
        return None
    shown = {**node["properties"], **{name: change.node for name, change in changes.items()}}
    return Change(
        node={**node, "properties": shown},
        back=in_object({name: change.back for name, change in changes.items()}),
        out=in_object({name: change.out for name, change in changes.items()}),
        losses=tuple(loss for change in changes.values() for loss in change.losses),
    )


def client_keywords(node: JsonSchema, at: Place) -> str | None:
    """The client keeps four keywords of a parameter, and drops the rest in silence."""
    properties = node.get("properties", {}).items() if at.is_root else ()
    lost = [(name, key) for name, inner in properties for key in inner if key not in CLIENT_KEYWORDS]
    return f"the client drops {lost[0][1]} of {lost[0][0]!r}" if lost else None


CLIENT = (*SERVER, everywhere(rewrites.null_as_type), everywhere(plain_fields))


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - there is no strict form
    return openai.envelope(spec, strict=False)


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """There is no tool_choice: "none" is sending no tools, and no call can be forced."""
    if choice.parallel is False:
        raise unsupported(choice, "parallel", "Ollama has no switch for parallel calls: leave it out")
    if choice.mode == "required" or choice.names:
        raise unsupported(
            choice, "choice", "Ollama cannot be made to call a tool: bind a subset, and ask in the prompt"
        )
    return {} if choice.mode == "none" else {"tools": tools}


def whole(body: Any) -> Any:
    """A response; one made of a message or of one call; ``None`` if it is none of these."""
    if member(body, "done") is not None and member(body, "message") is not None:
        return body
    if member(body, "role") == "assistant" and isinstance(member(body, "tool_calls"), list):
        return {"message": body}
    function = member(body, "function")
    is_call = member(function, "name") is not None
    return {"message": {"role": "assistant", "content": "", "tool_calls": [body]}} if is_call else None


def recognises(body: Any) -> bool:
    return whole(body) is not None


def read(body: Any) -> Reading | None:
    """The calls; the id is absent before 2025, and dropped by the Python client."""
    body = whole(body)
    if body is None:
        return None
    message = member(body, "message")
    calls = [_call(one) for one in member(message, "tool_calls") or ()]
    sent = openai.as_assistant(plain(message))
    if any(call.id != "" and not is_plain_id(call.id) for call in calls):  # one that came without stays without
        items, calls = with_call_ids(
            plain(sent["tool_calls"]),
            calls,
            lambda _: True,
            lambda one, call_id: {**one, "id": call_id},
            leaves_out=True,
        )
        sent = {**sent, "tool_calls": items}
    return Reading([sent], calls, member(body, "done_reason"))


def _call(call: Any) -> WireCall:
    function = member(call, "function")
    call_id = member(call, "id")
    return WireCall(
        "" if call_id is None else call_id, member(function, "name") or "", member(function, "arguments"), call
    )


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """Calls come whole; several chunks may each carry some."""
    message = body.setdefault("message", {"role": "assistant", "content": ""})
    piece = event.get("message") or {}
    for key in ("content", "thinking"):
        if piece.get(key):
            message.setdefault(key, "")
            append_text(message, key, piece[key])
    begun = len(message.get("tool_calls", ()))
    if piece.get("tool_calls"):
        message.setdefault("tool_calls", []).extend(piece["tool_calls"])
    if event.get("error"):
        body["done_reason"] = "error"
    body.update({key: value for key, value in event.items() if key != "message"})
    body.setdefault("done", False)
    new = list(enumerate(map(_call, piece.get("tool_calls") or ()), begun))
    return new if event.get("done_reason") != "length" else new[:-1]


def say(calls: Sequence[OutboundCall]) -> list[WireMessage]:
    tool_calls = [{"id": one.id, "function": {"name": one.wire_name, "arguments": one.arguments}} for one in calls]
    return [{"role": "assistant", "content": "", "tool_calls": tool_calls}]


def encode(results: Sequence[Result]) -> list[WireMessage]:
    """Linked by name and order, and by the id where there was one. There is no error flag."""
    return [_message(result) for result in results]


def _message(result: Result) -> WireMessage:
    message: WireMessage = {"role": "tool", "tool_name": result.call.wire_name, "content": openai.content(result)}
    media = [by_media_type(one) for one in result.parts if not isinstance(one, Text)]
    if images := [encoded(one) for one in media if isinstance(one, Image) and one.data]:
        message["images"] = images
    has_own = member(result.call.raw, "id") not in (None, "")  # an id that we made up is none of the model's
    return {**message, "tool_call_id": result.call.id} if has_own else message


OLLAMA = Provider(
    name="ollama",
    family="ollama",
    form="ollama",
    names=NameRule(pattern=r"(?s).+", longest=10_000, evidence="any name; the server's source, 2026-08-21"),
    refuses=(
        *cited("ollama 0.6.3 Tool", rules.root_is_object, client_keywords, is_refused=False),
        *cited("the server's source, 2026-08-21", rules.known_keywords(*SERVER_KEYWORDS), is_refused=False),
    ),
    lenient=CLIENT,
    strict=None,
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes={"stop": "stop", "length": "length", "error": "error"},
    fold=fold,
    carries=frozenset({"image"}),
    say=say,
    encode=encode,
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="an object",
        malformed="text: what does not parse is no call",
        declined="no `tool_calls`; `done_reason` is `stop` with and without",
        strict="none; nothing is enforced",
    ),
    endpoint=server.ENDPOINT,
    read_request=openai_server.read_counted_request,
    refuses_request=request_rules("ollama 0.6.3 ChatRequest, 2026-11-22", required_fields("model")),
    respond=server.respond,
    unfold=server.unfold,
    error=server.error,
)

PROVIDERS = (
    OLLAMA,
    replace(
        OLLAMA,
        name="ollama:server",
        lenient=SERVER,
        refuses=(
            *cited(
                "the server's source, 2026-08-21",
                rules.root_is_object,
                rules.known_keywords(*SERVER_KEYWORDS),
                is_refused=False,
            ),
        ),
    ),
)
