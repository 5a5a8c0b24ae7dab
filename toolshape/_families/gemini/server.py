"""Imitates the server of Gemini's generateContent.

From the types in google-genai 3.4.0 (2026-11-22) and recorded errors.
"""

import base64
from collections.abc import Iterator
from typing import Any

from toolshape._families.gemini.messages import write_call
from toolshape._families.gemini.probes import MODELS, PROBES
from toolshape._families.gemini.schema import MODES
from toolshape._families.wire.request_checks import no_foreign_keys, required_fields
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
    seconds_text,
    sent_calls,
    split_text,
    strings_in,
)
from toolshape._records.calls import Finish, JsonObject

_FINISHES: dict[Finish, str] = {
    "stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY",
    "error": "MALFORMED_RESPONSE",
    "other": "OTHER",
}  # fmt: skip


# google-genai prefers GOOGLE_API_KEY to GEMINI_API_KEY, and warns if both are set. It calls Vertex
# AI only if it is configured for Vertex AI (google-genai 3.6.1, _api_client.py, 2026-11).
VARIABLES = {
    "GOOGLE_GEMINI_BASE_URL": "{url}",
    "GOOGLE_API_KEY": KEY,
    "GOOGLE_GENAI_USE_VERTEXAI": "false",
}
# If the caller does not pass vertexai=True, the client reads Gemini's address before it decides to
# call Vertex AI.
VERTEX_VARIABLES = {
    "GOOGLE_VERTEX_BASE_URL": "{url}",
    "GOOGLE_GEMINI_BASE_URL": "{url}",
    "GOOGLE_API_KEY": KEY,
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
}
VERSIONS = ("v1", "v1alpha", "v1beta")
"""The versions of the API that Google serves (google-genai 3.6.1 sends each of
them; ai.google.dev, API versions).
"""
ENDPOINT = Endpoint(
    r".*/(?:models|tunedModels|endpoints)/(?P<model>[^/:]+):(?P<verb>generateContent|"
    r"streamGenerateContent)",
    "sse",
    streaming_verb="streamGenerateContent",
    sse_query="alt=sse",
    versions=VERSIONS,
    variables=VARIABLES,
)


def _get_either(node: JsonObject, camel: str, snake: str) -> Any:
    """Return the value of a key in either spelling, because the server accepts both."""
    return node.get(camel, node.get(snake))


def read_request(body: JsonObject) -> RequestRead:
    """Read the declarations and the calling mode in a request.

    Each of the two parameter fields has its own dialect.
    """
    tools: list[SentTool] = []
    native_count = 0
    for at, entry in enumerate(as_list(body.get("tools"))):
        tool_entry = as_object(entry)
        declarations = _get_either(tool_entry, "functionDeclarations", "function_declarations")
        native_count += declarations is None
        for number, declaration in enumerate(as_list(declarations)):
            path = f"tools[{at}].function_declarations[{number}]"
            tools.append(_read_declaration(as_object(declaration), path, number))
    config = as_object(_get_either(body, "toolConfig", "tool_config"))
    calling_config = as_object(
        _get_either(config, "functionCallingConfig", "function_calling_config")
    )
    mode_word = str(calling_config.get("mode", "")).upper()
    mode = "auto" if mode_word == "VALIDATED" else mode_for_word(MODES, mode_word)
    names = strings_in(
        as_list(_get_either(calling_config, "allowedFunctionNames", "allowed_function_names"))
    )
    if mode != "required":
        names = ()
    elif names:  # they are the choice
        mode = None
    return RequestRead(
        body=body,
        tools=tuple(tools),
        messages=tuple(
            content for content in as_list(body.get("contents")) if isinstance(content, dict)
        ),
        native=native_count,
        mode=mode,
        names=names,
        is_strict=calling_config.get("mode") == "VALIDATED",
    )


def _read_declaration(declaration: JsonObject, path: str, number: int) -> SentTool:
    schema = _get_either(declaration, "parametersJsonSchema", "parameters_json_schema")
    is_json_schema = schema is not None
    dialect = "gemini" if is_json_schema else "gemini-openapi"
    if not is_json_schema:
        schema = declaration.get("parameters")
    return SentTool(
        path=path,
        number=number,
        name=declaration.get("name"),
        description=str(declaration.get("description") or ""),
        schema_path=f"{path}.parameters_json_schema" if is_json_schema else f"{path}.parameters",
        schema=schema,
        is_strict=False,
        entry=declaration,
        dialect=dialect,
    )


def respond(said: Completion) -> JsonObject:
    """Write a response with one candidate and a signature on its first call.

    Calls whose arguments are not objects are left out.
    """
    calls, is_malformed = sent_calls(said)
    if said.text:
        parts: list[JsonObject] = [{"text": said.text}]
    else:
        parts = []
    for at, call in enumerate(calls):
        part = write_call(call.id, call.wire_name, call.arguments)
        parts.append(part | {"thoughtSignature": _signature(call.id)} if at == 0 else part)
    if is_malformed:
        finish = "MALFORMED_FUNCTION_CALL"
    else:
        finish = _FINISHES[said.finish]
    candidate: JsonObject = {
        "content": {"parts": parts, "role": "model"},
        "finishReason": finish,
        "index": 0,
    }
    input_tokens, output_tokens = said.usage or (1, 1)
    counts = {
        "promptTokenCount": input_tokens,
        "candidatesTokenCount": output_tokens,
        "totalTokenCount": input_tokens + output_tokens,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": counts,
        "modelVersion": said.model,
        "responseId": said.id,
    }


def _signature(text: str) -> str:
    return base64.b64encode(f"signature of {text}".encode()).decode()


def unfold(body: JsonObject) -> Iterator[JsonObject]:
    """Split a response into chunks: text in pieces, each call whole.

    The last chunk holds the finish reason.

    Every chunk has parts, because Google's own chat stores each chunk as a message, and the server
    refuses an empty message.
    """
    base = {key: value for key, value in body.items() if key != "candidates"}
    if not body.get("candidates"):
        yield body
        return
    candidate = body["candidates"][0]
    parts: list[JsonObject] = []
    for part in as_object(candidate.get("content")).get("parts") or ():
        parts += (
            [{"text": piece} for piece in split_text(part["text"])]
            if part.keys() == {"text"}
            else [part]
        )
    for part in parts[:-1]:
        yield {**base, "candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]}
    last_candidate = {**candidate, "content": {"parts": parts[-1:], "role": "model"}}
    yield {**base, "candidates": [last_candidate if parts else candidate]}


STATUSES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip


def error(refusal: Refusal) -> ErrorReply:
    """Write Google's error body, whose details state how long to wait."""
    detail: JsonObject = {"code": refusal.status, "message": refusal.message}
    detail["status"] = refusal.code or STATUSES.get(refusal.status, "UNKNOWN")
    if refusal.retry_after is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        detail["details"] = [{"@type": kind, "retryDelay": f"{seconds_text(refusal.retry_after)}s"}]
    return {}, {"error": detail}


def choice_has_functions(request: RequestRead) -> Iterator[RequestFault]:
    """Check that a request has functions if it configures function calling;
    Gemini's own tools do not count.
    """
    config = as_object(request.body.get("toolConfig", request.body.get("tool_config")))
    if (
        config.get("functionCallingConfig", config.get("function_calling_config")) is not None
        and not request.tools
    ):
        path = "toolConfig.functionCallingConfig"
        yield RequestFault(path, "choice_without_tools", f"{path} needs functions", subject=path)


# The fields that google-genai 3.6.1 sends for GenerateContentConfig, 2026-11-25; ``model`` is in
# the URL.
REQUEST_FIELDS = frozenset(
    {
        "cachedContent", "contents", "continuationToken", "generationConfig", "labels", "model",
        "modelArmorConfig", "safetySettings",
        "serviceTier", "systemInstruction", "toolConfig", "tools",
    }
)  # fmt: skip

_PLACE = "* GenerateContentRequest.{path}{properties}"
WORDINGS: dict[str, Wording] = {
    "entry_keys": Wording(
        "Invalid JSON payload received. Unknown name \"{subject}\" at '{path}': Cannot find field."
    ),
    "name": Wording(
        "* GenerateContentRequest.{path}: Invalid function name. Must start with a letter or an "
        "underscore. Must be alphameric (a-z, A-Z, "
        "0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
    ),
    "keywords": Wording(
        "Invalid JSON payload received. Unknown name \"{subject}\" at '{path}{properties}': "
        "Cannot find field."
    ),
    "required_is_defined": Wording(_PLACE + ".required: property is not defined"),
    "arrays_have_items": Wording(_PLACE + ".items: missing field."),
    "string_enums": Wording(_PLACE + ".enum: only allowed for STRING type"),
    "formats": Wording(
        _PLACE + ".format: only 'enum' and 'date-time' are supported for STRING type"
    ),
    "typed": Wording(
        _PLACE + ".type: must be specified when not using one_of, any_of or all_of fields"
    ),
    "references_alone": Wording(
        "$ref was set alongside unsupported fields. If a schema node has $ref set, then only "
        "description and default can be "
        "set alongside it"
    ),
    "unanswered_call": Wording(
        "Please ensure that the number of function response parts is equal to the number of "
        "function call parts of the "
        "function call turn."
    ),
    "orphan_result": Wording(
        "Please ensure that function response turn comes immediately after a function call turn."
    ),
    "missing_signature": Wording(
        "Function call is missing a thought_signature in functionCall parts."
    ),
    "choice_without_tools": Wording(
        "Function calling config is set without function_declarations."
    ),
    "unknown_field": Wording(
        'Invalid JSON payload received. Unknown name "{subject}": Cannot find field.'
    ),
}

ADDRESS = Address(
    "https://generativelanguage.googleapis.com/v1beta/models/{model}:generateContent",
    {"x-goog-api-key": "{key}"},
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    {"generationConfig": {"maxOutputTokens": 1}},
    "google-genai 3.6.1, 2026-11-25",
)


def body_of(keywords: JsonObject) -> JsonObject:
    """Convert the keyword arguments for the SDK to a request body; most of
    ``config`` becomes ``generationConfig``.
    """
    config = as_object(keywords.get("config"))
    body = {key: value for key, value in keywords.items() if key != "config"}
    body |= {key: value for key, value in config.items() if key in REQUEST_FIELDS}
    generation_config = {key: value for key, value in config.items() if key not in REQUEST_FIELDS}
    if generation_config:
        return {**body, "generationConfig": generation_config}
    return body


SERVER = Server(
    endpoint=ENDPOINT,
    read_request=read_request,
    refuses=(
        *request_rules(
            "google-genai 3.4.0 generate_content, 2026-11-22", required_fields("contents")
        ),
        *request_rules(
            "langchain-ai/langchainjs#9412, 2025-11; github/github-mcp-server#1385, 2025-11",
            no_foreign_keys(
                lambda body: as_list(body.get("tools")),
                "tools[{at}]",
                *(
                    "type",
                    "function",
                    "name",
                    "description",
                    "parameters",
                    "input_schema",
                    "toolSpec",
                ),
            ),
        ),
        *request_rules(
            "musistudio/claude-code-router#1207, 2026-02; laravel/ai#259, 2026-03",
            choice_has_functions,
        ),
    ),
    fields=REQUEST_FIELDS,
    respond=respond,
    unfold=unfold,
    error=error,
    wordings=WORDINGS,
    probes=PROBES,
    models=MODELS,
    body_of=body_of,
    address=ADDRESS,
)
