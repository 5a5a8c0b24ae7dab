"""Imitates the server of Anthropic's Messages API.

From the types of anthropic 2.12.0 (2026-11-22) and recorded errors.
"""

import json
from collections.abc import Iterator

from toolshape._families.anthropic.messages import write_call
from toolshape._families.anthropic.probes import MODELS, PROBES
from toolshape._families.anthropic.schema import CHOICES
from toolshape._families.wire.request_checks import (
    no_forced_call,
    required_fields,
    schemas_are_objects,
    unique_names,
)
from toolshape._families.wire.server import (
    Address,
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
    mode_for_word,
    request_id,
    split_text,
    strings_in,
)
from toolshape._records.calls import Finish, JsonObject

_FINISHES: dict[Finish, str] = {
    "stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "refusal": "refusal",
    "error": "end_turn",
    "other": "end_turn",
}  # fmt: skip


ADDRESS = Address(
    "https://api.anthropic.com/v1/messages",
    {"x-api-key": "{key}", "anthropic-version": "2026-10-21"},
    ("ANTHROPIC_API_KEY",),
    {"max_tokens": 1},
    "anthropic 2.14.0, 2026-11-25",
)
ENDPOINT = Endpoint(
    r".*/messages", "named-sse", variables={"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": KEY}
)


def read_request(body: JsonObject) -> RequestRead:
    """Read the tools and the choice from a request.

    A tool with a type other than "custom" is Anthropic's own.
    """
    entries = as_list(body.get("tools"))
    tools = [
        SentTool(
            path=f"tools[{at}]",
            number=at,
            name=entry.get("name"),
            description=str(entry.get("description") or ""),
            schema_path=f"tools[{at}].input_schema",
            schema=entry.get("input_schema", {}),
            is_strict=entry.get("strict") is True,
            entry=entry,
        )
        for at, entry in enumerate(entries)
        if isinstance(entry, dict) and entry.get("type") in (None, "custom")
    ]
    choice = as_object(body.get("tool_choice"))
    if choice.get("type") == "tool":
        names = strings_in([choice.get("name")])
    else:
        names = ()
    parallel = choice.get("disable_parallel_tool_use")
    return RequestRead(
        body=body,
        tools=tuple(tools),
        messages=tuple(
            message for message in as_list(body.get("messages")) if isinstance(message, dict)
        ),
        native=len(entries) - len(tools),
        mode=mode_for_word(CHOICES, choice.get("type")),
        names=names,
        parallel=not parallel if isinstance(parallel, bool) else None,
        is_strict=any(tool.is_strict for tool in tools),
    )


def entries_are_custom(request: RequestRead) -> Iterator[RequestFault]:
    """Check that no tool is in OpenAI's form."""
    for at, entry in enumerate(as_list(request.body.get("tools"))):
        if as_object(entry).get("type") == "function":
            message = "this is another provider's entry: the type must be custom, or left out"
            yield RequestFault(f"tools[{at}]", "entry_type", message, number=at, subject="function")


def _thinks(request: RequestRead) -> bool:
    return as_object(request.body.get("thinking")).get("type") == "enabled"


def respond(said: Completion) -> JsonObject:
    """Write a message.

    If arguments are not an object, a stream holds their text, but a whole message holds ``{}``.
    """
    if said.text:
        content: list[JsonObject] = [{"type": "text", "text": said.text}]
    else:
        content = []
    for call in said.calls:
        if said.is_streamed or isinstance(call.arguments, dict):
            arguments = call.arguments
        else:
            arguments = {}
        content.append(write_call(call.id, call.wire_name, arguments))
    input_tokens, output_tokens = said.usage or (1, 1)
    return {
        "id": f"msg_{said.id}",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": content,
        "stop_reason": _FINISHES[said.finish],
        "stop_sequence": None,
        "usage": {"input_tokens": input_tokens, "output_tokens": output_tokens},
    }


def unfold(body: JsonObject) -> Iterator[JsonObject]:
    """Split a message into its events: each block starts, arrives in pieces, and stops."""
    usage = {**body.get("usage", {}), "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {**body, "content": [], "stop_reason": None, "usage": usage},
    }
    yield {"type": "ping"}
    for index, block in enumerate(body["content"]):
        started_block = {
            **block,
            **{
                key: empty
                for key, empty in _STREAMED.get(block["type"], {}).items()
                if key in block
            },
        }
        yield {"type": "content_block_start", "index": index, "content_block": started_block}
        for delta in _deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": body.get("stop_sequence")}
    output_tokens = body.get("usage", {}).get("output_tokens", 1)
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output_tokens}}
    yield {"type": "message_stop"}


_STREAMED: dict[str, JsonObject] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
    "server_tool_use": {"input": {}},
}
"""For each type of block, the members that arrive in pieces. Blocks of other types arrive whole."""


def _deltas(block: JsonObject) -> Iterator[JsonObject]:
    if block["type"] in ("text", "thinking"):
        for piece in split_text(block[block["type"]]):
            yield {"type": f"{block['type']}_delta", block["type"]: piece}
        if block.get("signature"):
            yield {"type": "signature_delta", "signature": block["signature"]}
    if block["type"] not in ("tool_use", "server_tool_use"):
        return
    arguments = block["input"]
    yield {"type": "input_json_delta", "partial_json": ""}
    for piece in split_text(
        arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    ):
        yield {"type": "input_json_delta", "partial_json": piece}


_TYPES = {
    401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 504: "timeout_error",
    529: "overloaded_error",
}  # fmt: skip


def error(refusal: Refusal) -> ErrorReply:
    """Write the headers and the body of an error."""
    kind = "api_error" if refusal.status >= 500 else "invalid_request_error"  # noqa: PLR2004 - an HTTP status
    detail = {"type": refusal.code or _TYPES.get(refusal.status, kind), "message": refusal.message}
    error_id = request_id(refusal.message)
    return {"request-id": error_id}, {"type": "error", "error": detail, "request_id": error_id}


# The fields of anthropic 2.12.0 MessageCreateParams, 2026-11-22, and further fields from recorded
# requests.
REQUEST_FIELDS = frozenset(
    {
        "billing_policy", "cache_control", "compaction", "container", "context_management",
        "diagnostics", "fallback_credit_token", "fallbacks", "inference_geo", "max_tokens",
        "mcp_servers",
        "messages", "metadata", "model", "output_config", "output_format", "service_tier", "speed",
        "stop_sequences", "stream",
        "system", "temperature", "thread", "thinking", "tool_choice", "tools", "top_k", "top_p",
        "user_profile_id", "workspace_id",
    }
)  # fmt: skip

WORDINGS: dict[str, Wording] = {
    "root_is_object": Wording("tools.{number}.custom.input_schema.type: Input should be 'object'"),
    "root_is_object:missing": Wording("tools.{number}.custom.input_schema.type: Field required"),
    "root_without_combinators": Wording(
        "tools.{number}.custom.input_schema: input_schema does not support oneOf, allOf, or "
        "anyOf at the top level"
    ),
    "property_keys": Wording(
        "tools.{number}.custom.input_schema.properties: Property keys should match pattern "
        "'^[a-zA-Z0-9_.-]{{1,64}}$'"
    ),
    "no_recursion": Wording(
        "tools.{number}.custom: Invalid schema: Circular reference detected in schema "
        "definitions: {subject} -> {subject}. "
        "Self-referencing or mutually-referencing definitions are not supported."
    ),
    "grammar": Wording(
        "Schema is too complex for compilation. Try reducing the number of tools or simplifying "
        "tool schemas."
    ),
    "schema": Wording(
        "tools.{number}.custom.input_schema: Input does not match the expected shape."
    ),
    "unique_names": Wording("tools: Tool names must be unique."),
    "name": Wording(
        "tools.{number}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
    ),
    "strict_tools": Wording(
        "Too many strict tools ({given}). The maximum number of strict tools supported is "
        "{most}. Try reducing the number "
        "of tools marked as strict."
    ),
    "strict_optional": Wording(
        "Schemas contains too many optional parameters ({given}), which would make grammar "
        "compilation inefficient. Reduce "
        "the number of optional parameters in your tool schemas (limit: {most})."
    ),
    "strict_unions": Wording(
        "Schemas contains too many parameters with union types ({given} parameters with type "
        "arrays or anyOf). This causes "
        "exponential compilation cost. Reduce the number of nullable or union-typed parameters "
        "(limit: {most} parameters "
        "with unions)."
    ),
    **dict.fromkeys(
        ("unanswered_call", "open_turn"),
        Wording(
            "{message_path}: `tool_use` ids were found without `tool_result` blocks immediately "
            "after: {subject}. Each `tool_use` block "
            "must have a corresponding `tool_result` block in the next message."
        ),
    ),
    "orphan_result": Wording(
        "{message_path}: unexpected `tool_use_id` found in `tool_result` blocks: {subject}. Each "
        "`tool_result` block must have a "
        "corresponding `tool_use` block in the previous message."
    ),
    "choice": Wording('tool_choice: type "tool" and "any" are not supported for this model.'),
    "forced_while_thinking": Wording(
        "Thinking may not be enabled when tool_choice forces tool use."
    ),
    "required_fields": Wording("{subject}: Field required"),
    "unknown_field": Wording("{subject}: Extra inputs are not permitted"),
}

SERVER = Server(
    endpoint=ENDPOINT,
    read_request=read_request,
    refuses=(
        *request_rules(
            "anthropic 2.12.0 MessageCreateParams, 2026-11-22",
            required_fields("max_tokens", "messages", "model"),
        ),
        *request_rules("a recorded 400; LibreChat#13162, 2026", unique_names),
        *request_rules("a recorded 400 of claude-sonnet-4-6, 2026", schemas_are_objects),
        *request_rules("dirac-run/dirac#57, 2026-04", entries_are_custom),
        *request_rules(
            "mastra-ai/mastra#7507, 2025-09; llm-exe/llm-exe#721, 2026-08: not if adaptive",
            no_forced_call(_thinks),
        ),
    ),
    fields=REQUEST_FIELDS,
    respond=respond,
    unfold=unfold,
    error=error,
    wordings=WORDINGS,
    probes=PROBES,
    models=MODELS,
    address=ADDRESS,
)
