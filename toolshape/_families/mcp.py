"""MCP by the revisions of its specification (modelcontextprotocol repository, 2026-08-22)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from toolshape._families.wire.bodies import member, result_json
from toolshape._families.wire.provider import (
    Choice,
    Codec,
    Facts,
    NameRule,
    Provider,
    Reading,
    RequestForm,
    ResponseForm,
    SchemaRules,
    never_streamed,
    unsupported,
)
from toolshape._records.calls import Effect, JsonObject, JsonSchema, Spec, WireCall, WireMessage
from toolshape._records.mcp_results import McpParts
from toolshape._records.parts import File, Image, Part, Text, encoded
from toolshape._records.result import Result
from toolshape._schema import checks as rules, constrained as structure
from toolshape._schema.checks import cited
from toolshape._schema.references import resolver, wrap_in_field
from toolshape._schema.union_branches import are_disjoint
from toolshape._schema.walk import compose, inline_all_but_recursion

# References are legal, but clients fail on them (copilot-cli#1876, codex#3152, claude-code#76040),
# so all references that are not recursive are inlined.
INLINED = (inline_all_but_recursion,)
_RESULT = "result"
"""The key for a value that is not an object, in the output schema and in structured content."""
_NO_OBJECT = {"type": ["string", "number", "boolean", "array", "null"]}
_NULL = {"type": "null"}


def envelope(spec: Spec, strict: bool) -> JsonObject:
    """Write an entry that clients of every revision accept.

    Until 2025-11-25, the root of an output schema must say ``"type": "object"`` explicitly. If one
    root does not, a client refuses the whole list of tools (official SDK 2.3.0 with
    ``mode="legacy"``, seen 2026-11-22). So a value that is not an object goes into ``result``.
    """
    tool = envelope_of_any_output(spec, strict)
    if "outputSchema" in tool:
        tool["outputSchema"] = _object_output(tool["outputSchema"])
    return tool


def _object_output(schema: JsonSchema) -> JsonSchema:
    """Return a schema whose root is an object: objects stay as they are, other
    values go into the field ``result``.
    """
    # There are three cases: all values are objects, no value is an object, or only some values are
    # objects. In the third case, the root admits both forms.
    resolve = resolver(schema)
    if are_disjoint(schema, _NO_OBJECT, resolve):
        if "type" in schema:
            return schema
        return {"type": "object", **schema}
    wrapped = wrap_in_field(schema, _RESULT)
    if are_disjoint(schema, {"type": "object"}, resolve):
        return wrapped
    value, field = (
        wrapped["properties"][_RESULT],
        {key: wrapped[key] for key in ("properties", "required")},
    )
    shared_keywords = {key: inner for key, inner in wrapped.items() if key not in field}
    return {
        **shared_keywords,
        "anyOf": [{**value, "type": "object"} if "type" in value else value, field],
    }


def envelope_of_any_value(spec: Spec, strict: bool) -> JsonObject:
    """Write an entry for 2026-07-28: the output schema may be any schema.

    If a tool may return null, all its values go into ``result``: the official SDK 2.3.0 omits
    structured content that is null, and refuses a result without structured content (2026-11-23).
    """
    tool = envelope_of_any_output(spec, strict)
    schema = tool.get("outputSchema")
    if schema is None or are_disjoint(schema, _NULL, resolver(schema)):
        return tool
    return {**tool, "outputSchema": wrap_in_field(schema, _RESULT)}


def envelope_of_any_output(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - there is no strict form
    """Write an entry with the tool's output schema.

    The schema has inlined references and no wrapper.
    """
    tool: JsonObject = {"name": spec.name, "inputSchema": spec.parameters}
    if spec.title:
        tool["title"] = spec.title
    if spec.description:
        tool["description"] = spec.description
    if spec.output is not None:
        tool["outputSchema"] = compose(INLINED)(spec.output).schema
    if hints := _annotations(spec.effects):
        tool["annotations"] = hints
    return tool


def _annotations(effects: frozenset[Effect]) -> JsonObject:
    """Return hints for clients (ToolAnnotations, all revisions since 2025-03-26).

    If a hint is missing, its default applies.
    """
    hints: JsonObject = {}
    if effects & {"read", "write", "destructive"}:
        hints["readOnlyHint"] = not effects & {"write", "destructive"}
    if effects & {"write", "destructive"}:
        hints["destructiveHint"] = "destructive" in effects
    if "idempotent" in effects:
        hints["idempotentHint"] = True
    if effects & {"open_world", "closed_world"}:
        hints["openWorldHint"] = "open_world" in effects
    return hints


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    if choice.names or choice.mode not in (None, "auto") or choice.parallel is False:
        raise unsupported(
            choice,
            "choice",
            "a server cannot make the client's choice: leave out choice= and parallel=",
        )
    return {"tools": tools}


def recognises(body: Any) -> bool:
    """Return whether a body is a ``tools/call`` request, or its parameters as
    the SDK passes them to a handler.
    """
    return _is_params(body) or (
        member(body, "method") == "tools/call" and member(body, "params") is not None
    )


def _is_params(body: Any) -> bool:
    return type(body).__name__ == "CallToolRequestParams"


def _is_plain_params(body: Any) -> bool:
    """Return whether a body is a dict of request parameters.

    Other families have calls of this form, so ``read`` accepts such a dict, but ``recognises`` does
    not.
    """
    return (
        isinstance(body, dict) and isinstance(body.get("name"), str) and not body.keys() - _PARAMS
    )


_PARAMS = frozenset(
    {
        "name",
        "arguments",
        "_meta",
        "meta",
        "task",
        "input_responses",
        "request_state",
        "inputResponses",
        "requestState",
    }
)
"""The fields of CallToolRequestParams in the official SDK 2.3.0 and in the
specification until 2026-07-28.
"""


def read(body: Any) -> Reading | None:
    if type(body) is dict and body.get("method") == "tools/call":
        params = body.get("params")
    else:
        params = None
    if type(params) is dict:  # a server makes this dict for each call
        return _reading(body.get("id"), params.get("name"), params.get("arguments"), body)
    is_plain = params is None and _is_plain_params(body)
    if params is None and not (is_plain or recognises(body)):
        return None
    if is_plain or _is_params(body):
        params = body
    else:
        params = member(body, "params")
    return _reading(member(body, "id"), member(params, "name"), member(params, "arguments"), body)


def _reading(number: Any, name: Any, arguments: Any, body: Any) -> Reading:
    return Reading(
        [], [WireCall("" if number is None else str(number), name, arguments, body)], None
    )


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    """Write a request for each call."""
    return [
        {
            "jsonrpc": "2.0",
            "id": call.id,
            "method": "tools/call",
            "params": {"name": call.wire_name, "arguments": call.arguments},
        }
        for call in calls
    ]


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    """Write a CallToolResult for each result, in a form that clients of every revision can read.

    Revisions from 2026-07-28 on require ``resultType``, and all earlier revisions allow further
    fields in a result.
    """
    return [
        {**_write_result(result, is_wrapped=True), "resultType": "complete"} for result in results
    ]


def write_results_until_2025_11_25(results: Sequence[Result]) -> list[WireMessage]:
    """Write results for revisions until 2025-11-25: structured content is an object,
    and there is no ``resultType``.
    """
    return [_write_result(result, is_wrapped=True) for result in results]


def write_results_of_any_value(results: Sequence[Result]) -> list[WireMessage]:
    """Write results for 2026-07-28: structured content is any value except null.

    If a tool may return null, all its values go into ``result``.
    """
    return [
        {**_write_result(result, is_wrapped=False), "resultType": "complete"} for result in results
    ]


def _write_result(result: Result, *, is_wrapped: bool) -> WireMessage:
    """Write the text, and the value as structured content, which a client
    validates against the output schema.

    An error is also written as a result (SEP-1303). ``is_wrapped``: clients take only an object as
    structured content, so any other value is a member of one.
    """
    message: WireMessage = {
        "content": [{"type": "text", "text": result.text}],
        "isError": result.error is not None,
    }
    parts = result.parts
    if parts:
        if isinstance(parts, McpParts):
            blocks = parts.content
        else:
            blocks = None
        pieces = parts if blocks is None else blocks
        message["content"] = [
            piece if isinstance(piece, dict) else _write_piece(piece) for piece in pieces
        ]
        if isinstance(parts, McpParts):
            is_value = parts.is_structured and result.error is None
            if is_value and _is_accepted(result.value, is_wrapped):
                message["structuredContent"] = result.value
            if parts.meta:
                message["_meta"] = parts.meta
        return message
    # ``is_text`` is ``None`` for a text that was cut or marked: the value cannot be read out of it.
    is_complete = result.is_text is not None or isinstance(result.value, str)
    if result.error is None and is_complete:
        value = result_json(result)
        if is_wrapped:
            is_bare = isinstance(value, dict)
        else:
            is_bare = not _may_be_null(result, value)
        message["structuredContent"] = value if is_bare else {_RESULT: value}
    return message


def _may_be_null(result: Result, value: Any) -> bool:
    reader = result.call.reader
    return value is None or (reader is not None and reader.may_return_null)


def _is_accepted(structured: Any, is_wrapped: bool) -> bool:
    """Return whether a client accepts this structured content: clients before
    2026-07-28 accept only an object.
    """
    return not is_wrapped or isinstance(structured, dict)


def _write_piece(part: Part) -> JsonObject:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if part.url:
        name = part.name if isinstance(part, File) else "image"
        return {"type": "resource_link", "uri": part.url, "name": name, "mimeType": part.media_type}
    if isinstance(part, Image):
        return {"type": "image", "data": encoded(part), "mimeType": part.media_type}
    if part.media_type.startswith("audio/"):  # AudioContent, all revisions since 2025-03-26
        return {"type": "audio", "data": encoded(part), "mimeType": part.media_type}
    resource = {
        "uri": f"file:///{quote(part.name)}",
        "blob": encoded(part),
        "mimeType": part.media_type,
    }
    return {"type": "resource", "resource": resource}


MCP = Provider(
    name="mcp",
    family="mcp",
    form="mcp",
    names=NameRule(
        pattern=r"[A-Za-z0-9_.-]+",
        longest=128,
        evidence="1 to 128 of A-Z a-z 0-9 _ . -; specification 2025-11-25 (SHOULD)",
    ),
    schema=SchemaRules(
        refuses=cited("schema of every revision", rules.root_is_object),
        # Before 2026-07-28, a root has only properties and required.
        lenient=(
            structure.wrap_root,
            *INLINED,
        ),
        strict=None,
    ),
    request=RequestForm(
        examples="schema",
        lacks=frozenset({"execution"}),
        advertises_output=True,
        envelope=envelope,
        keywords=request,
    ),
    codec=Codec(
        carries=frozenset({"image", "file", "audio", "video"}),
        write_calls=write_calls,
        write_results=write_results,
    ),
    response=ResponseForm(recognises=recognises, read=read, finishes={}, fold=never_streamed),
    facts=Facts(
        arguments="an object, or nothing",
        malformed="nothing: a JSON-RPC error answers the request",
        declined="no `tools/call`",
        strict="none",
        needs="`ttlMs` and `cacheScope` around the list of tools (2026-07-28)",
    ),
)
MCP_2025_11_25 = replace(
    MCP,
    name="mcp:2025-11-25",
    request=replace(MCP.request, lacks=frozenset()),
    codec=replace(MCP.codec, write_results=write_results_until_2025_11_25),
)

PROVIDERS = (
    MCP,
    replace(
        MCP,
        name="mcp:2026-07-28",
        schema=replace(MCP.schema, lenient=INLINED),
        request=replace(MCP.request, envelope=envelope_of_any_value),
        codec=replace(MCP.codec, write_results=write_results_of_any_value),
    ),
    MCP_2025_11_25,
    replace(
        MCP_2025_11_25,
        name="mcp:2025-06-18",
        request=replace(MCP_2025_11_25.request, lacks=frozenset({"execution", "icons"})),
    ),
    replace(MCP, name="mcp:refs", schema=replace(MCP.schema, lenient=(structure.wrap_root,))),
)
