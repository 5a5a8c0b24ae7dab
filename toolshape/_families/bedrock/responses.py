"""AWS Bedrock Converse. Read in botocore 1.44.5, bedrock-runtime/2023-09-30, on 2026-11-20."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolshape._calls import Finish, JsonObject, Spec, WireCall, WireMessage
from toolshape._families.anthropic import responses as anthropic
from toolshape._families.bedrock import messages, server
from toolshape._results import Result
from toolshape._schema import checks as rules
from toolshape._schema.checks import cited
from toolshape._schema.values import append_text, as_json
from toolshape._wire.bodies import hold_unless_whole, make_room, member, release_held, result_json
from toolshape._wire.ids import with_call_ids
from toolshape._wire.provider import Choice, Completed, Facts, NameRule, OutboundCall, Provider, Reading, unsupported
from toolshape._wire.request_checks import required_fields, schemas_are_objects
from toolshape._wire.server import request_rules


def envelope(spec: Spec, strict: bool) -> JsonObject:
    """A description has at least one character; the schema is an object, never a text."""
    tool: JsonObject = {"name": spec.name, "inputSchema": {"json": spec.parameters}}
    if spec.description:
        tool["description"] = spec.description
    if strict:
        tool["strict"] = True
    return {"toolSpec": tool}


def gather(tools: list[JsonObject]) -> list[JsonObject]:
    """Each entry of the list has one key, so a cache point becomes an entry of its own, after its tool."""
    return [{key: value} for tool in tools for key, value in tool.items()]


# toolChoice.tool is for Claude 3 and Nova (ToolChoice, botocore 1.44.5); an inference profile does not say what it is.
_NAMES_NO_TOOL = re.compile(r"claude-(v2|instant)|titan|(^|\.)(mistral|meta|cohere|ai21|deepseek|qwen|openai)\.")


def request(tools: list[JsonObject], choice: Choice) -> JsonObject:
    """A choice among several tools is unsupported: only those tools are sent."""
    anthropic.refuse_forced(choice)
    if choice.mode == "none":
        raise unsupported(choice, "choice", 'Bedrock does not support "none": ask in the prompt, the tools must stay')
    if choice.parallel is False:
        raise unsupported(choice, "parallel", "Bedrock has no switch for parallel calls: leave it out")
    config: JsonObject = {"tools": list(choice.chosen) if len(choice.names) > 1 else tools}
    if len(choice.names) == 1:
        if choice.model and _NAMES_NO_TOOL.search(choice.model):
            raise unsupported(choice, "choice", f"{choice.model} takes no choice of a tool: ask for it in the prompt")
        config["toolChoice"] = {"tool": {"name": choice.names[0]}}
    elif choice.names or choice.mode is not None:
        config["toolChoice"] = {"auto": {}} if choice.mode == "auto" else {"any": {}}
    return {"toolConfig": config}


def whole(body: Any) -> Any:
    """A response, a message of history, or one block that is a call; ``None`` if it is none of these."""
    if member(member(body, "output"), "message") is not None:
        return body
    content = member(body, "content")
    if isinstance(content, list) and any(member(block, "toolUse") is not None for block in content):
        return {"output": {"message": body}}
    if member(body, "toolUse") is not None:
        return {"output": {"message": {"role": "assistant", "content": [body]}}}
    return None


def recognises(body: Any) -> bool:
    return whole(body) is not None


def read(body: Any) -> Reading | None:
    body = whole(body)
    if body is None:
        return None
    message = member(member(body, "output"), "message")
    content: list[Any] = list(member(message, "content") or [])
    calls = [_call(block) for block in content if _is_call(block)]
    ends_in_call = bool(content) and member(content[-1], "toolUse") is not None
    sent, calls = with_call_ids(
        [_sendable(block) for block in content],
        calls,
        _is_call,
        lambda block, call_id: {**block, "toolUse": {**block["toolUse"], "toolUseId": call_id}},
    )
    return Reading(
        [{**message, "role": "assistant", "content": sent}],
        calls,
        member(body, "stopReason"),
        ends_in_call=ends_in_call,
    )


def _is_call(block: Any) -> bool:
    """Whether a block is a call to answer, and not one that the provider runs itself."""
    use = member(block, "toolUse")
    return use is not None and member(use, "type") != "server_tool_use"


def _call(block: Any) -> WireCall:
    use = member(block, "toolUse")
    return WireCall(member(use, "toolUseId") or "", member(use, "name"), member(use, "input"), block)


def _sendable(block: JsonObject) -> JsonObject:
    """Arguments that were cut off are text, and go back inside an object."""
    use = block.get("toolUse")
    if not use or not isinstance(use.get("input"), str):
        return block
    return {**block, "toolUse": {**use, "input": {"INVALID_JSON": use["input"]}}}


def fold(body: JsonObject, event: JsonObject) -> Iterable[Completed]:
    """A block is complete when it stops; until then the input of a call is the text that has come."""
    message = body.setdefault("output", {}).setdefault("message", {"role": "assistant", "content": []})
    content = message["content"]
    positions: dict[int, int] = body.setdefault("x-calls", {})
    start, delta, stop = (event.get(f"contentBlock{name}") for name in ("Start", "Delta", "Stop"))
    if stop_reason := _stop_reason(event):
        body["stopReason"] = stop_reason
    at = next((one.get("contentBlockIndex", 0) for one in (start, delta, stop) if one is not None), -1)
    if at >= len(content):
        make_room(content, at, dict)
    if start is not None:
        content[at] = {key: dict(value) for key, value in start.get("start", {}).items()}
        if "toolUse" in content[at]:
            content[at]["toolUse"].setdefault("input", "")
        if _is_call(content[at]):
            positions.setdefault(at, len(positions))
    elif delta is not None:
        _join(content[at], delta.get("delta", {}))
    elif stop is not None and "toolUse" in content[at]:
        use = content[at]["toolUse"]
        text = use["input"]
        if isinstance(text, str):
            use["input"] = as_json(text or "{}")
        if at in positions:
            return hold_unless_whole(body, positions[at], _call(content[at]), text)
    return release_held(body, FINISHES.get(str(stop_reason), "other")) if stop_reason else ()


def _stop_reason(event: JsonObject) -> Any:
    if event.get("messageStop"):
        return event["messageStop"].get("stopReason")
    return "error" if any(name.endswith("Exception") for name in event) else None


def _join(block: JsonObject, delta: JsonObject) -> None:
    for key, value in delta.items():
        if isinstance(value, (str, bytes)):
            block.setdefault(key, value[:0])
            append_text(block, key, value)
        elif key == "citation":  # a request takes none beside a text
            continue
        elif isinstance(value, dict):
            _join(block.setdefault(key, {}) if key != "reasoningContent" else _reasoning(block, value), value)
        else:
            block[key] = value


def _reasoning(block: JsonObject, value: JsonObject) -> JsonObject:
    """Where a reasoning delta goes: text and signature under ``reasoningText``, redacted content beside it."""
    thought: JsonObject = block.setdefault("reasoningContent", {})
    return thought if "redactedContent" in value else thought.setdefault("reasoningText", {})


def say(calls: Sequence[OutboundCall]) -> list[WireMessage]:
    uses = [{"toolUse": {"toolUseId": one.id, "name": one.wire_name, "input": one.arguments}} for one in calls]
    return [{"role": "assistant", "content": uses}]


def encode(results: Sequence[Result]) -> list[WireMessage]:
    """All results in the next user message. ``json`` takes objects only (haystack#3766); the rest is text."""
    return [{"role": "user", "content": [{"toolResult": _result(result)} for result in results]}]


def _result(result: Result) -> JsonObject:
    # A nested "__type" is refused (bifrost#5762): such a result goes as text.
    value = result_json(result) if result.text[:1] == "{" else None
    is_object = isinstance(value, dict) and '"__type"' not in result.text
    content = [{"json": value} if is_object and result.error is None else {"text": result.text or " "}]
    if result.parts:
        content = [messages.piece(one) for one in result.parts]
    tool_result: JsonObject = {"toolUseId": result.call.id, "content": content}
    if result.error is not None:
        tool_result["status"] = "error"
    return tool_result


FINISHES: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
    "error": "error",
}
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
    finishes=FINISHES,
    fold=fold,
    carries=frozenset({"image", "file", "video"}),
    say=say,
    encode=encode,
    histories=messages.HISTORIES,
    facts=Facts(
        arguments="an object",
        malformed="no call: `stopReason` `malformed_tool_use`",
        declined="`stopReason` `end_turn`, or `guardrail_intervened`",
        strict="`toolSpec.strict`, at newer models",
        needs="`toolConfig` in every request whose history holds a call",
    ),
    endpoint=server.ENDPOINT,
    read_request=server.read_request,
    refuses_request=(
        *request_rules("botocore 1.44.5 ConverseRequest, 2026-11-22", required_fields("modelId")),
        *request_rules("a recorded 400: a json object is to be provided", schemas_are_objects),
    ),
    request_fields=server.REQUEST_FIELDS,
    respond=server.respond,
    unfold=server.unfold,
    error=server.error,
    wordings=server.WORDINGS,
)

PROVIDERS = (BEDROCK,)
