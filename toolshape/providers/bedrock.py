"""AWS Bedrock Converse. Read in botocore 1.44.5, bedrock-runtime/2023-09-30, on 2026-11-20."""

import re
from collections.abc import Sequence
from typing import Any

from toolshape import rules
from toolshape.calls import JsonObject, Message, Result, Spec, WireCall
from toolshape.provider import Choice, Facts, NameRule, Provider, Reading, member, unsayable
from toolshape.providers import anthropic
from toolshape.rules import cited


def envelope(spec: Spec, strict: bool) -> JsonObject:
    """A description has at least one character; the schema is an object, never a text."""
    tool: JsonObject = {"name": spec.name, "inputSchema": {"json": spec.parameters}}
    if spec.description:
        tool["description"] = spec.description
    if strict:
        tool["strict"] = True
    return {"toolSpec": tool}


def gather(tools: list[JsonObject]) -> list[JsonObject]:
    """Each member of the list has one key: a cache point that was asked for stands after its tool."""
    return [{key: value} for tool in tools for key, value in tool.items()]


# toolChoice.tool is for Claude 3 and Nova (ToolChoice, botocore 1.44.5); an inference profile does not say what it is.
_NAMES_NO_TOOL = re.compile(r"claude-(v2|instant)|titan|(^|\.)(mistral|meta|cohere|ai21|deepseek|qwen|openai)\.")


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """There is no choice among some tools: only these are sent."""
    anthropic.refuse_forced(choice)
    if choice.mode == "none":
        raise unsayable(choice, "choice", "Bedrock has no choice of none: say it in the prompt, the tools must stay")
    if choice.parallel is False:
        raise unsayable(choice, "parallel", "Bedrock has no switch for parallel calls: leave it out")
    config: JsonObject = {"tools": list(choice.chosen) if len(choice.names) > 1 else tools}
    if len(choice.names) == 1:
        if choice.model and _NAMES_NO_TOOL.search(choice.model):
            raise unsayable(choice, "choice", f"{choice.model} cannot be told which tool to call: say it in the prompt")
        config["toolChoice"] = {"tool": {"name": choice.names[0]}}
    elif choice.names or choice.mode is not None:
        config["toolChoice"] = {"auto": {}} if choice.mode == "auto" else {"any": {}}
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
    form="bedrock",
    names=NameRule(
        pattern=r"[a-zA-Z0-9_-]+",
        longest=64,
        evidence="1 to 64 of a-z A-Z 0-9 _ -; botocore 1.44.5 ToolName",
    ),
    # Keywords are the model's own business; the strict subset is documented as Claude's.
    refuses=cited("aws-sdk-net#3377; recorded 400s", rules.root_is_object),
    refuses_strict=anthropic.DIALECT,
    lenient=anthropic.ANTHROPIC.lenient,
    strict=anthropic.ANTHROPIC.strict,
    envelope=envelope,
    gather=gather,
    request=request,
    recognises=recognises,
    read=read,
    encode=encode,
    facts=Facts(
        arguments="an object",
        malformed="no call: `stopReason` `malformed_tool_use`",
        declined="`stopReason` `end_turn`, or `guardrail_intervened`",
        strict="`toolSpec.strict`, at newer models",
        needs="`toolConfig` in every request whose history holds a call",
    ),
)

PROVIDERS = (BEDROCK,)
