"""Imitates the server of Bedrock's Converse API.

From the types in botocore 1.44.5 (2026-11-22) and recorded errors.
"""

import json
from collections.abc import Iterator

from toolshape._families.bedrock.messages import write_call
from toolshape._families.bedrock.probes import MODELS, PROBES
from toolshape._families.wire.request_checks import (
    no_forced_call,
    no_foreign_keys,
    required_fields,
    schemas_are_objects,
)
from toolshape._families.wire.server import (
    Completion,
    Endpoint,
    ErrorReply,
    Refusal,
    RequestFault,
    RequestRead,
    SentTool,
    Server,
    Wording,
    request_rules,
)
from toolshape._families.wire.server_json import (
    KEY,
    as_list,
    as_object,
    request_id,
    sent_calls,
    split_text,
    strings_in,
)
from toolshape._records.calls import ChoiceMode, Finish, JsonObject

_FINISHES: dict[Finish, str] = {
    "stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens",
    "refusal": "content_filtered",
    "error": "malformed_model_output", "other": "end_turn",
}  # fmt: skip


ENDPOINT = Endpoint(
    r"/model/(?P<model>[^/]+)/(?P<verb>converse|converse-stream)",
    "event-stream",
    streaming_verb="converse-stream",
    variables={
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "{url}",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": KEY,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    },
)


def read_request(body: JsonObject) -> RequestRead:
    """Read the tools and the choice in a request."""
    config = as_object(body.get("toolConfig"))
    tools: list[SentTool] = []
    native_count = 0
    for at, entry in enumerate(as_list(config.get("tools"))):
        spec = as_object(entry).get("toolSpec")
        native_count += "systemTool" in as_object(entry)
        if not isinstance(spec, dict):
            continue
        path = f"toolConfig.tools.{at}.toolSpec"
        tool = SentTool(
            path=path,
            number=at,
            name=spec.get("name"),
            description=str(spec.get("description") or ""),
            schema_path=f"{path}.inputSchema.json",
            schema=as_object(spec.get("inputSchema")).get("json"),
            is_strict=spec.get("strict") is True,
            entry=entry,
        )
        tools.append(tool)
    choice = as_object(config.get("toolChoice"))
    names = strings_in([as_object(choice.get("tool")).get("name")])
    mode: ChoiceMode | None = None
    if not names and "any" in choice:
        mode = "required"
    elif not names and "auto" in choice:
        mode = "auto"
    return RequestRead(
        body=body,
        tools=tuple(tools),
        messages=tuple(
            message for message in as_list(body.get("messages")) if isinstance(message, dict)
        ),
        native=native_count,
        mode=mode,
        names=names,
        is_strict=any(tool.is_strict for tool in tools),
    )


def tools_are_some(request: RequestRead) -> Iterator[RequestFault]:
    """Check that ``toolConfig``, if present, holds at least one tool."""
    config = request.body.get("toolConfig")
    if isinstance(config, dict) and not as_list(config.get("tools")):
        message = "toolConfig has no tools: leave it out"
        yield RequestFault("toolConfig.tools", "empty_array", message, subject="toolConfig.tools")


def _thinks(request: RequestRead) -> bool:
    model_fields = as_object(request.body.get("additionalModelRequestFields"))
    return as_object(model_fields.get("thinking")).get("type") == "enabled"


def respond(said: Completion) -> JsonObject:
    """Write a response, and leave out calls whose arguments are not objects."""
    calls, is_malformed = sent_calls(said)
    if said.text:
        content: list[JsonObject] = [{"text": said.text}]
    else:
        content = []
    content += [write_call(call.id, call.wire_name, call.arguments) for call in calls]
    input_tokens, output_tokens = said.usage or (1, 1)
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "malformed_tool_use" if is_malformed else _FINISHES[said.finish],
        "usage": {
            "inputTokens": input_tokens,
            "outputTokens": output_tokens,
            "totalTokens": input_tokens + output_tokens,
        },
        "metrics": {"latencyMs": 1},
    }


def unfold(body: JsonObject) -> Iterator[JsonObject]:
    """Split a response into the events of its stream; the key of each event is its name."""
    message = body["output"]["message"]
    yield {"messageStart": {"role": message["role"]}}
    for index, block in enumerate(message["content"]):
        index_field = {"contentBlockIndex": index}
        if tool_use := block.get("toolUse"):
            start = {"toolUse": {key: value for key, value in tool_use.items() if key != "input"}}
            yield {"contentBlockStart": {**index_field, "start": start}}
        for delta in _deltas(block):
            yield {"contentBlockDelta": {**index_field, "delta": delta}}
        yield {"contentBlockStop": index_field}
    yield {"messageStop": {"stopReason": body["stopReason"]}}
    yield {"metadata": {key: body[key] for key in ("usage", "metrics") if key in body}}


def _deltas(block: JsonObject) -> Iterator[JsonObject]:
    if "text" in block:
        for piece in split_text(block["text"]):
            yield {"text": piece}
    elif "toolUse" in block:
        arguments = block["toolUse"]["input"]
        for piece in split_text(
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        ):
            yield {"toolUse": {"input": piece}}
    elif "reasoningContent" in block:
        reasoning = block["reasoningContent"]
        for key, value in reasoning.get("reasoningText", {}).items():
            yield {"reasoningContent": {key: value}}
        if "redactedContent" in reasoning:
            yield {"reasoningContent": {"redactedContent": reasoning["redactedContent"]}}


_TYPES = {
    400: "ValidationException", 401: "UnrecognizedClientException", 403: "AccessDeniedException",
    404: "ResourceNotFoundException", 408: "ModelTimeoutException", 424: "ModelErrorException",
    429: "ThrottlingException", 503: "ServiceUnavailableException",
    529: "ServiceUnavailableException",
}  # fmt: skip


def error(refusal: Refusal) -> ErrorReply:
    """Write the headers and the body of an error; the kind of the error is in a header."""
    kind = refusal.code or _TYPES.get(refusal.status, "InternalServerException")
    return {"x-amzn-errortype": kind, "x-amzn-requestid": request_id(refusal.message)}, {
        "message": refusal.message
    }


# botocore 1.44.5 ConverseRequest, 2026-11-22; ``modelId`` is in the URL.
REQUEST_FIELDS = frozenset(
    {
        "additionalModelRequestFields", "additionalModelResponseFieldPaths", "guardrailConfig",
        "inferenceConfig",
        "messages", "modelId", "outputConfig", "performanceConfig", "promptVariables",
        "requestMetadata", "serviceTier",
        "system", "toolConfig",
    }
)  # fmt: skip

WORDINGS: dict[str, Wording] = {
    "root_is_object": Wording("The value at {path}.type must be one of the following: object."),
    "schema": Wording(
        "The format of the value at {path} is invalid. Provide a json object for the field and "
        "try again."
    ),
    **dict.fromkeys(
        ("unanswered_call", "open_turn"),
        Wording("Expected toolResult blocks at {message_path} for the following Ids: {subject}"),
    ),
    "empty_array": Wording(
        "1 validation error detected: Value at 'toolConfig.tools' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1"
    ),
    "forced_while_thinking": Wording(
        "The model returned the following errors: Thinking may not be enabled when tool_choice "
        "forces tool use."
    ),
    "tools_missing": Wording(
        "The toolConfig field must be defined when using toolUse and toolResult content blocks."
    ),
}

SERVER = Server(
    endpoint=ENDPOINT,
    read_request=read_request,
    refuses=(
        *request_rules("botocore 1.44.5 ConverseRequest, 2026-11-22", required_fields("modelId")),
        *request_rules("a recorded 400: a json object is to be provided", schemas_are_objects),
        *request_rules(
            "botocore 1.44.8 Tool: a union of toolSpec, systemTool and cachePoint, 2026-11-25",
            no_foreign_keys(
                lambda body: as_list(as_object(body.get("toolConfig")).get("tools")),
                "toolConfig.tools.{at}",
                *("type", "function", "name", "description", "parameters", "input_schema"),
            ),
        ),
        *request_rules(
            "botocore 1.44.5 ToolConfiguration: at least one; Portkey-AI/gateway#1124, 2025-06",
            tools_are_some,
        ),
        *request_rules(
            "can1357/oh-my-pi#341, 2026-03, about Claude Sonnet 4.6", no_forced_call(_thinks)
        ),
    ),
    fields=REQUEST_FIELDS,
    respond=respond,
    unfold=unfold,
    error=error,
    wordings=WORDINGS,
    probes=PROBES,
    models=MODELS,
)
