"""Imitates the server of Chat Completions.

From the types of openai 3.54.0 (2026-11-22) and recorded errors.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from toolshape._families.openai import probes
from toolshape._families.openai.messages import write_any_call
from toolshape._families.wire.request_checks import (
    choice_has_tools,
    chosen_tools_exist,
    required_fields,
    tools_not_empty,
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
    mode_for_word,
    request_id,
    split_text,
    strings_in,
)
from toolshape._records.calls import PLAIN_TEXT, ChoiceMode, Finish, JsonObject

FINISHES: dict[Finish, str] = {
    "stop": "stop", "tool_calls": "tool_calls", "length": "length", "refusal": "content_filter",
    "error": "error",
    "other": "stop",
}  # fmt: skip
CHOICES: dict[ChoiceMode, str] = {"auto": "auto", "none": "none", "required": "required"}

VARIABLES = {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": KEY}
ENDPOINT = Endpoint(
    r"(?:.*/deployments/(?P<model>[^/]+)|.*)/chat/completions",
    "sse",
    is_done=True,
    variables=VARIABLES,
)


def read_function(function: JsonObject, path: str, number: int, entry: JsonObject) -> SentTool:
    """Read a function in the form of OpenAI and similar vendors."""
    return SentTool(
        path=path,
        number=number,
        name=function.get("name"),
        description=str(function.get("description") or ""),
        schema_path=f"{path}.parameters",
        schema=function.get("parameters"),
        is_strict=function.get("strict") is True,
        entry=entry,
    )


def read_custom(custom: JsonObject, path: str, number: int, entry: JsonObject) -> SentTool:
    """Read a custom tool. The model writes plain text, so the schema only says so."""
    text = {
        "type": "object",
        "properties": {PLAIN_TEXT: {"type": "string"}},
        "required": [PLAIN_TEXT],
        "additionalProperties": False,
    }
    return SentTool(
        path=path,
        number=number,
        name=custom.get("name"),
        description=str(custom.get("description") or ""),
        schema_path=path,
        schema=text,
        is_strict=False,
        entry=entry,
    )


def read_request(body: JsonObject, words: Mapping[ChoiceMode, str] = CHOICES) -> RequestRead:
    """Read the tools and the choice from a request.

    Args:
        body: The request.
        words: The provider's word for each mode of a choice.
    """
    entries = as_list(body.get("tools"))
    tools: list[SentTool] = []
    for position, entry in enumerate(map(as_object, entries)):
        if isinstance(entry.get("function"), dict):
            tools.append(
                read_function(entry["function"], f"tools[{position}].function", position, entry)
            )
        elif isinstance(entry.get("custom"), dict):
            tools.append(read_custom(entry["custom"], f"tools[{position}].custom", position, entry))
    # A choice of one tool has no mode, and requires it. A choice among several has one, and where
    # that is "auto" the model may also call none, which is as if no tool was chosen.
    choice, names = body.get("tool_choice"), tuple[str, ...]()
    mode = mode_for_word(words, choice)
    if isinstance(choice, dict):
        allowed_tools = as_object(choice.get("allowed_tools"))
        mode = mode_for_word(words, allowed_tools.get("mode"))
        if allowed_tools:
            chosen_tools = as_list(allowed_tools.get("tools"))
        else:
            chosen_tools = [choice]
        chosen_names = strings_in(
            as_object(as_object(tool).get(kind)).get("name")
            for tool in chosen_tools
            for kind in ("function", "custom")
        )
        names = chosen_names if mode != "auto" else ()
    parallel = body.get("parallel_tool_calls")
    if not isinstance(parallel, bool):
        parallel = None
    return RequestRead(
        body=body,
        tools=tuple(tools),
        messages=tuple(
            message for message in as_list(body.get("messages")) if isinstance(message, dict)
        ),
        native=len(entries) - len(tools),
        mode=None if names else mode,
        names=names,
        parallel=parallel,
        is_strict=any(tool.is_strict for tool in tools) or body.get("strict_tools") is True,
        wants_usage=as_object(body.get("stream_options")).get("include_usage") is True,
    )


def read_counted_request(
    body: JsonObject, words: Mapping[ChoiceMode, str] = CHOICES
) -> RequestRead:
    """Read a request for a server whose streams always report the token counts,
    even if the request does not ask.
    """
    return read_request(body, words)._replace(wants_usage=True)


def usage(said: Completion) -> JsonObject:
    """Return the token counts of a response as the key ``usage``, or ``{}`` if the
    response does not report them.
    """
    if said.usage is None:
        return {}
    prompt, completion = said.usage
    return {
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
    }


def respond(said: Completion) -> JsonObject:
    """Write a completion."""
    message: JsonObject = {
        "role": "assistant",
        "content": said.text or (None if said.calls else ""),
    }
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    if said.calls:
        message["tool_calls"] = [write_any_call(call) for call in said.calls]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": FINISHES[said.finish],
    }
    base = {
        "id": f"chatcmpl-{said.id}",
        "object": "chat.completion",
        "created": 1,
        "model": said.model,
    }
    return {**base, "choices": [choice], **usage(said)}


def unfold(body: JsonObject) -> Iterator[JsonObject]:
    """Split a completion into chunks: the role, then text and arguments in
    pieces, and last the finish reason.
    """
    return _chunks(body, is_whole=False)


def unfold_whole_calls(body: JsonObject) -> Iterator[JsonObject]:
    """Split a completion into chunks, each call in one chunk."""
    return _chunks(body, is_whole=True)


_STREAMED = ("reasoning_content", "reasoning", "content", "refusal")


def _chunks(body: JsonObject, *, is_whole: bool) -> Iterator[JsonObject]:
    base = {key: value for key, value in body.items() if key not in ("choices", "usage")}
    base["object"] = "chat.completion.chunk"
    choice = body["choices"][0]
    message = choice["message"]

    def chunk(delta: JsonObject, finish: str | None = None) -> JsonObject:
        return {
            **base,
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        }

    # The first chunk holds everything that is not streamed, with the streamed fields as empty
    # texts, as the server sends them: a reader must add to what came first. Some servers send calls
    # whole (``is_whole``), whatever their length.
    streamed_keys = [key for key in _STREAMED if isinstance(message.get(key), str)]
    other_fields = {
        key: value for key, value in message.items() if key not in (*streamed_keys, "tool_calls")
    }
    yield chunk({**other_fields, **dict.fromkeys(streamed_keys, "")})
    for key in streamed_keys:
        for piece in split_text(message[key]):
            yield chunk({key: piece})
    for index, call in enumerate(message.get("tool_calls") or ()):
        if is_whole:
            yield chunk({"tool_calls": [{**call, "index": index}]})
            continue
        part, key = ("custom", "input") if "custom" in call else ("function", "arguments")
        arguments: Any = call[part].get(key)
        text = arguments if isinstance(arguments, str) else ""
        if text:
            started_part = {**call[part], key: ""}
        else:
            started_part = call[part]
        yield chunk({"tool_calls": [{**call, "index": index, part: started_part}]})
        for piece in split_text(text):
            yield chunk({"tool_calls": [{"index": index, part: {key: piece}}]})
    yield chunk({}, choice.get("finish_reason"))
    if "usage" in body:
        yield {**base, "choices": [], "usage": body["usage"]}


_TYPES = {
    401: ("invalid_request_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    429: ("requests", "rate_limit_exceeded"),
}


def error(refusal: Refusal) -> ErrorReply:
    """Write the headers and the body of an error, as OpenAI and similar vendors do."""
    error_type = "server_error" if refusal.status >= 500 else "invalid_request_error"  # noqa: PLR2004 - an HTTP status
    error_type, code = _TYPES.get(refusal.status, (error_type, None))
    body = {
        "message": refusal.message,
        "type": error_type,
        "param": refusal.param,
        "code": refusal.code or code,
    }
    return {"x-request-id": request_id(refusal.message)}, {"error": body}


# openai 3.54.0 CompletionCreateParams, 2026-11-22.
REQUEST_FIELDS = frozenset(
    {
        "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs",
        "max_completion_tokens",
        "max_tokens", "messages", "metadata", "modalities", "model", "moderation", "n",
        "parallel_tool_calls", "prediction",
        "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
        "reasoning_effort",
        "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream",
        "stream_options",
        "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity",
        "web_search_options",
    }
)  # fmt: skip

_SCHEMA = "Invalid schema for function '{tool}': "
_IN = _SCHEMA + "In context={context}, "
_CODE = "invalid_function_parameters"


def _schema_wording(message: str) -> Wording:
    return Wording(message, code=_CODE, param="{param}")


WORDINGS: dict[str, Wording] = {
    "closed": _schema_wording(
        _IN + "'additionalProperties' is required to be supplied and to be false."
    ),
    "all_required": _schema_wording(
        _IN + "'required' is required to be supplied and to be an array including every key in "
        "properties. "
        "Missing '{subject}'."
    ),
    "root_has_properties": _schema_wording(_IN + "object schema missing properties."),
    "arrays_have_items": _schema_wording(_IN + "array schema missing items."),
    "keywords": _schema_wording(_IN + "'{subject}' is not permitted."),
    "formats": _schema_wording(_IN + "'{subject}' is not a valid format."),
    "typed": _schema_wording(_IN + "schema must have a 'type' key."),
    "root_is_object": _schema_wording(
        _SCHEMA + "schema must be a JSON Schema of 'type: \"object\"', got 'type: {given}'."
    ),
    "root_without_combinators": _schema_wording(
        _SCHEMA
        + "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at "
        "the top level."
    ),
    "name": Wording(
        "Invalid '{path}': string does not match pattern. Expected a string that matches the "
        "pattern '^[a-zA-Z0-9_-]+$'.",
        code="invalid_value",
        param="{path}",
    ),
    "description": Wording(
        "Invalid '{path}': string too long. Expected a string with maximum length {most}, but "
        "got a string with length "
        "{given} instead.",
        code="string_above_max_length",
        param="{path}",
    ),
    "most_tools": Wording(
        "Invalid 'tools': array too long. Expected an array with maximum length {most}, but got "
        "an array with length "
        "{given} instead.",
        code="array_above_max_length",
        param="tools",
    ),
    **dict.fromkeys(
        ("unanswered_call", "open_turn"),
        Wording(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The "
            "following tool_call_ids did not have response messages: {subject}",
            param="messages",
        ),
    ),
    "orphan_result": Wording(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'.",
        param="messages",
    ),
    "unique_names": Wording("Tool names must be unique."),
}


def output_wordings(param: str, code: str | None) -> dict[str, Wording]:
    """Return the wordings for the answer's schema: the wordings for a tool's schema,
    but with a different beginning.
    """
    return {
        f"output:{rule}": Wording(
            wording.message.replace(_SCHEMA, "Invalid schema for response_format '{tool}': "),
            code=code,
            param=param,
        )
        for rule, wording in WORDINGS.items()
        if wording.message.startswith(_SCHEMA)
    }


def entries_have_types(request: RequestRead) -> Iterator[RequestFault]:
    """Check that each entry in the list of tools has a type."""
    for number, entry in enumerate(as_list(request.body.get("tools"))):
        if "type" not in as_object(entry):
            path = f"tools[{number}].type"
            yield RequestFault(
                path, "entry_type", "the entry has no type", number=number, subject=path
            )


def calls_not_empty(request: RequestRead) -> Iterator[RequestFault]:
    """Check that no message has an empty list of calls."""
    for number, message in enumerate(as_list(request.body.get("messages"))):
        if as_object(message).get("tool_calls") == []:
            path = f"messages[{number}].tool_calls"
            yield RequestFault(
                path, "empty_array", "the list of calls is empty: leave it out", subject=path
            )


def calls_have_names(request: RequestRead) -> Iterator[RequestFault]:
    """Check that no call in a message has an empty name."""
    for number, message in enumerate(as_list(request.body.get("messages"))):
        for position, call in enumerate(as_list(as_object(message).get("tool_calls"))):
            if as_object(as_object(call).get("function")).get("name") == "":
                path = f"messages[{number}].tool_calls[{position}].function.name"
                yield RequestFault(path, "empty_string", "the call has no name", subject=path)


# For each rule, one or two users reported a refused request, and servers that imitate OpenAI's
# server have the rule.
REQUEST_RULES = (
    *request_rules(
        "dnakov/anon-kode#20, 2025; vllm-project/vllm#39780, 2026-04 (accepted in "
        "local-inference-lab/vllm#193, "
        "2026-07)",
        tools_not_empty,
    ),
    *request_rules(
        "RageAgainstThePixel/OpenAI-DotNet#479, 2025; writer/writer-framework#1013, 2025-07",
        choice_has_tools("tool_choice"),
    ),
    *request_rules(
        "vLLM, which checks as OpenAI does (sgl-project/sglang#28862, 2026-06)", chosen_tools_exist
    ),
    *request_rules("openai/openai-cookbook#1248, 2024", entries_have_types),
    *request_rules(
        "openai/openai-node#1341, 2025-02; home-assistant/core#118577, 2024", calls_not_empty
    ),
    *request_rules("continuedev/continue#11645, 2026", calls_have_names),
)
_EMPTY = (
    "Invalid '{subject}': empty array. Expected an array with minimum length 1, but got an empty "
    "array instead."
)
REQUEST_WORDINGS = {
    "empty_array": Wording(_EMPTY, code="empty_array", param="{subject}"),
    "empty_string": Wording(
        "Invalid '{subject}': empty string. Expected a string with minimum length 1, but got an "
        "empty string instead.",
        code="empty_string",
        param="{subject}",
    ),
    "choice_without_tools": Wording(
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are "
        "specified.",
        param="tool_choice",
    ),
    "entry_type": Wording(
        "Missing required parameter: '{subject}'.",
        code="missing_required_parameter",
        param="{subject}",
    ),
}

SERVER = Server(
    endpoint=ENDPOINT,
    read_request=read_request,
    refuses=(
        *request_rules(
            "openai 3.54.0 CompletionCreateParams, 2026-11-22", required_fields("model", "messages")
        ),
        *REQUEST_RULES,
    ),
    fields=REQUEST_FIELDS,
    respond=respond,
    unfold=unfold,
    error=error,
    wordings={**WORDINGS, **REQUEST_WORDINGS, **output_wordings("response_format", None)},
    probes=probes.PROBES,
    address=probes.OPENAI_ADDRESS,
)
VENDOR_SERVER = replace(SERVER, refuses=(), fields=frozenset(), wordings={}, address=None)
"""The server of vendors for which toolshape knows only the form of requests and responses."""
