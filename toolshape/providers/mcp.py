"""MCP tools, by revision of the specification (modelcontextprotocol repository, 2026-08-22)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from toolshape.calls import Effect, JsonObject, Spec, WireCall, WireMessage
from toolshape.parts import File, Image, Part, Text, encoded
from toolshape.results import Result
from toolshape.schema import checks as rules
from toolshape.schema import constrained as structure
from toolshape.schema.checks import cited
from toolshape.schema.walk import compose, inlined_but_recursion
from toolshape.wire.bodies import member, result_json
from toolshape.wire.provider import (
    Choice,
    Facts,
    NameRule,
    OutboundCall,
    Provider,
    Reading,
    never_streamed,
    unsupported,
)

# References are legal, and clients fail on them (copilot-cli#1876, codex#3152, claude-code#76040): only recursion
# keeps one.
INLINED = (inlined_but_recursion,)


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - there is no strict form
    """2026-07-28: an output schema may be any schema."""
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
    """Hints for clients (ToolAnnotations, all revisions since 2025-03-26); of what is not said, the default holds."""
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


def envelope_with_object_output(spec: Spec, strict: bool) -> JsonObject:
    """Until 2025-11-25 the root of an output schema must say ``"type": "object"`` explicitly."""
    tool = envelope(spec, strict)
    if tool.get("outputSchema", {}).get("type") != "object":
        tool.pop("outputSchema", None)
    return tool


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    if choice.names or choice.mode not in (None, "auto") or choice.parallel is False:
        raise unsupported(choice, "choice", "a server cannot choose for its client: leave it out")
    return {"tools": tools}


def recognises(body: Any) -> bool:
    return member(body, "method") == "tools/call" and member(body, "params") is not None


def read(body: Any) -> Reading | None:
    if not recognises(body):
        return None
    params = member(body, "params")
    number = member(body, "id")
    call = WireCall("" if number is None else str(number), member(params, "name"), member(params, "arguments"), body)
    return Reading([], [call], None)


def say(calls: Sequence[OutboundCall]) -> list[WireMessage]:
    """A request for each."""
    return [
        {
            "jsonrpc": "2.0",
            "id": one.id,
            "method": "tools/call",
            "params": {"name": one.wire_name, "arguments": one.arguments},
        }
        for one in calls
    ]


def encode(results: Sequence[Result]) -> list[WireMessage]:
    """A CallToolResult for each; errors are results, so that the model sees them (SEP-1303)."""
    return [{**_result(result, any_value=True), "resultType": "complete"} for result in results]


def encode_objects(results: Sequence[Result]) -> list[WireMessage]:
    """Until 2025-11-25: structured content is an object, and ``resultType`` is not known."""
    return [_result(result, any_value=False) for result in results]


def _result(result: Result, *, any_value: bool) -> WireMessage:
    """The text, and the value itself as structured content, which a client checks against the output schema."""
    message: WireMessage = {"content": [{"type": "text", "text": result.text}], "isError": result.error is not None}
    if result.parts:
        message["content"] = [_piece(one) for one in result.parts]
        return message
    is_told = result.is_text is not None or isinstance(result.value, str)  # not cut, and not marked
    if result.error is None and is_told and (any_value or isinstance(result_json(result), dict)):
        message["structuredContent"] = result_json(result)
    return message


def _piece(part: Part) -> JsonObject:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if part.url:
        name = part.name if isinstance(part, File) else "image"
        return {"type": "resource_link", "uri": part.url, "name": name, "mimeType": part.media_type}
    if isinstance(part, Image):
        return {"type": "image", "data": encoded(part), "mimeType": part.media_type}
    resource = {"uri": f"file:///{quote(part.name)}", "blob": encoded(part), "mimeType": part.media_type}
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
    refuses=cited("schema of every revision", rules.root_is_object),
    lenient=INLINED,
    strict=None,
    examples="schema",
    lacks=frozenset({"execution"}),
    advertises_output=True,
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    finishes={},
    fold=never_streamed,
    carries=frozenset({"image", "file"}),
    say=say,
    encode=encode,
    facts=Facts(
        arguments="an object, or nothing",
        malformed="nothing: a JSON-RPC error answers it",
        declined="no `tools/call`",
        strict="none",
        needs="`ttlMs` and `cacheScope` around the list of tools (2026-07-28)",
    ),
)
MCP_2025_11_25 = replace(
    MCP,
    name="mcp:2025-11-25",
    lenient=(structure.wrapped_root, *INLINED),  # until 2026-07-28 the root says properties and required alone
    lacks=frozenset(),
    envelope=envelope_with_object_output,
    encode=encode_objects,
)

PROVIDERS = (
    MCP,
    MCP_2025_11_25,
    replace(MCP_2025_11_25, name="mcp:2025-06-18", lacks=frozenset({"execution", "icons"})),
    replace(MCP, name="mcp:refs", lenient=()),
)
