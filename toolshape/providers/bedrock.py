"""AWS Bedrock Converse. Read in botocore 1.44.5, bedrock-runtime/2023-09-30, on 2026-11-20."""

from collections.abc import Sequence
from typing import Any

from toolshape import rules
from toolshape.calls import JsonObject, Message, Result, Spec, WireCall
from toolshape.errors import ExportError, Problem
from toolshape.provider import Choice, NameRule, Provider, Reading, member
from toolshape.providers import anthropic


def envelope(spec: Spec, strict: bool) -> JsonObject:
    """A description has at least one character; the schema is an object, never a text."""
    tool: JsonObject = {"name": spec.name, "inputSchema": {"json": spec.parameters}}
    if spec.description:
        tool["description"] = spec.description
    if strict:
        tool["strict"] = True
    return {"toolSpec": tool}


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    config: JsonObject = {"tools": tools}
    if choice.choice == "none" or choice.parallel is False:
        said = "no choice of none" if choice.choice == "none" else "no switch for parallel calls"
        problem = Problem(path="choice", rule="choice", message=f"Bedrock has {said}: leave it out")
        raise ExportError(provider="bedrock", tool=None, problems=[problem])
    if choice.is_name:
        config["toolChoice"] = {"tool": {"name": choice.choice}}
    elif choice.choice is not None:
        config["toolChoice"] = {"auto": {}} if choice.choice == "auto" else {"any": {}}
    return {"toolConfig": config}


def recognises(body: Any) -> bool:
    return member(member(body, "output"), "message") is not None


def read(body: Any) -> Reading:
    message = member(member(body, "output"), "message")
    uses = [(block, member(block, "toolUse")) for block in member(message, "content") or ()]
    calls = [
        WireCall(member(use, "toolUseId"), member(use, "name"), member(use, "input"), block)
        for block, use in uses
        if use is not None and member(use, "type") != "server_tool_use"
    ]
    return Reading([message], calls, member(body, "stopReason"))


def encode(results: Sequence[Result]) -> list[Message]:
    """All results in the next user message. ``json`` takes objects only (haystack#3766): text says everything."""
    return [{"role": "user", "content": [{"toolResult": _result(result)} for result in results]}]


def _result(result: Result) -> JsonObject:
    said: JsonObject = {"toolUseId": result.call.id, "content": [{"text": result.text or " "}]}
    if result.error is not None:
        said["status"] = "error"
    return said


BEDROCK = Provider(
    name="bedrock",
    family="bedrock",
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; botocore 1.44.5 ToolName",
    ),
    # Keywords are the model's own business; the strict subset is documented as Claude's.
    refuses=(rules.root_is_object,),
    refuses_strict=anthropic.ANTHROPIC.refuses_strict,
    lenient=(anthropic.KEYS,),
    strict=(anthropic.KEYS, *anthropic.STRICT),
    envelope=envelope,
    request=request,
    recognises=recognises,
    read=read,
    encode=encode,
)

PROVIDERS = (BEDROCK,)
