"""MCP tools, by revision of the specification (modelcontextprotocol repository, 2026-08-22)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape import rewrites, rules
from toolshape.calls import JsonObject, Message, Result, Spec, WireCall
from toolshape.errors import ExportError, Problem
from toolshape.lens import compose, inlined
from toolshape.provider import Choice, NameRule, Provider, Reading, member

# References are legal, and clients fail on them (copilot-cli#1876, codex#3152, claude-code#76040): only recursion
# keeps one.
INLINED = (inlined(rewrites.recursion_kept),)


def envelope(spec: Spec, strict: bool) -> JsonObject:  # noqa: ARG001 - there is no strict form
    """2026-07-28: an output schema may be any schema."""
    tool: JsonObject = {"name": spec.name, "inputSchema": spec.parameters}
    if spec.title:
        tool["title"] = spec.title
    if spec.description:
        tool["description"] = spec.description
    if spec.output is not None:
        tool["outputSchema"] = compose(INLINED)(spec.output).schema
    return tool


def envelope_with_object_output(spec: Spec, strict: bool) -> JsonObject:
    """Until 2025-11-25 the root of an output schema is an object, said in so many words."""
    tool = envelope(spec, strict)
    if tool.get("outputSchema", {}).get("type") != "object":
        tool.pop("outputSchema", None)
    return tool


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    if choice.choice in (None, "auto") and choice.parallel is not False:
        return {"tools": tools}
    problem = Problem(path="choice", rule="choice", message="a server cannot choose for its client: leave it out")
    raise ExportError(provider="mcp", tool=None, problems=[problem])


def recognises(body: Any) -> bool:
    return member(body, "method") == "tools/call" and member(body, "params") is not None


def read(body: Any) -> Reading:
    params = member(body, "params")
    call = WireCall(str(member(body, "id") or ""), member(params, "name"), member(params, "arguments"), body)
    return Reading([], [call], None)


def encode(results: Sequence[Result]) -> list[Message]:
    """A CallToolResult for each; errors are results, so that the model sees them (SEP-1303)."""
    return [
        {
            "content": [{"type": "text", "text": result.text}],
            "isError": result.error is not None,
            "resultType": "complete",
        }
        for result in results
    ]


def encode_without_type(results: Sequence[Result]) -> list[Message]:
    """``resultType`` came with 2026-07-28."""
    return [{key: value for key, value in message.items() if key != "resultType"} for message in encode(results)]


MCP = Provider(
    name="mcp",
    family="mcp",
    names=NameRule(
        pattern=r"[A-Za-z0-9_.-]+",
        longest=128,
        evidence="1 to 128 of A-Z a-z 0-9 _ . -; specification 2025-11-25 (SHOULD)",
    ),
    refuses=(rules.root_is_object,),
    lenient=INLINED,
    strict=None,
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    encode=encode,
)
MCP_2025_11_25 = replace(MCP, name="mcp:2025-11-25", envelope=envelope_with_object_output, encode=encode_without_type)

PROVIDERS = (
    MCP,
    MCP_2025_11_25,
    replace(MCP_2025_11_25, name="mcp:2025-06-18"),
    replace(MCP, name="mcp:refs", lenient=()),
)
