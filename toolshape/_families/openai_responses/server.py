"""Imitates the server of the Responses API.

From the types of openai 3.54.0 (2026-11-22) and recorded errors.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from toolshape._families.openai import server as openai
from toolshape._families.openai_responses.messages import write_any_call, write_search
from toolshape._families.openai_responses.probes import PROBES
from toolshape._families.wire.server import (
    Address,
    Completion,
    Endpoint,
    RequestFault,
    RequestRead,
    SentTool,
    Wording,
    request_rules,
)
from toolshape._families.wire.server_json import (
    as_list,
    as_object,
    split_text,
    strings_in,
)
from toolshape._records.calls import JsonObject, WireCall, plain_text
from toolshape._records.found import SEARCH_NAME

ADDRESS = Address(
    "https://api.openai.com/v1/responses",
    {"authorization": "Bearer {key}"},
    ("OPENAI_API_KEY",),
    {"max_output_tokens": 16},  # the smallest value that the API accepts
    "openai 3.57.0, 2026-11-25",
)
ENDPOINT = Endpoint(r".*/responses", "named-sse", variables=openai.VARIABLES)


def read_request(body: JsonObject) -> RequestRead:
    """Read the tools and the choice from a request.

    Only tools with ``"strict": true`` count as strict.

    Without ``strict``, the server decides.
    """
    entries = as_list(body.get("tools"))
    tools = list(_functions(entries, "tools"))
    items = body.get("input")
    messages = [{"role": "user", "content": items}] if isinstance(items, str) else as_list(items)
    chat_request = openai.read_request(
        {**body, "tools": [], "tool_choice": _as_chat(body.get("tool_choice"))}
    )
    return chat_request._replace(
        body=body,
        tools=tuple(tools),
        messages=tuple(message for message in messages if isinstance(message, dict)),
        native=sum(
            as_object(entry).get("type") not in ("function", "namespace")
            and not _is_client_search(as_object(entry))
            for entry in entries
        ),
        is_strict=any(tool.is_strict for tool in tools),
        wants_usage=True,
    )


def _functions(given: list[Any], path: str) -> Iterator[SentTool]:
    """Yield the functions in a list of tools, including the functions in groups."""
    for at, entry in enumerate(given):
        if isinstance(entry, dict) and entry.get("type") == "function":
            yield openai.read_function(entry, f"{path}[{at}]", at, entry)
        elif isinstance(entry, dict) and entry.get("type") == "custom":
            yield openai.read_custom(entry, f"{path}[{at}]", at, entry)
        elif isinstance(entry, dict) and _is_client_search(entry):
            yield openai.read_function({**entry, "name": SEARCH_NAME}, f"{path}[{at}]", at, entry)
        elif isinstance(entry, dict) and entry.get("type") == "namespace":
            yield from _functions(as_list(entry.get("tools")), f"{path}[{at}].tools")


def _is_client_search(entry: JsonObject) -> bool:
    """Whether a tool is a search that the client does, which a model calls without a name."""
    return entry.get("type") == "tool_search" and entry.get("execution") == "client"


def deferral_and_search(request: RequestRead) -> Iterator[RequestFault]:
    """Check that deferred tools and the search that finds them are sent together."""
    has_search = any(
        as_object(entry).get("type") == "tool_search"
        for entry in as_list(request.body.get("tools"))
    )
    is_of_client = any(
        _is_client_search(as_object(entry)) for entry in as_list(request.body.get("tools"))
    )
    deferred = [tool for tool in request.tools if tool.entry.get("defer_loading") is True]
    if deferred and not has_search:
        message = "a deferred tool needs tool_search in the same request"
        yield RequestFault(
            f"{deferred[0].path}.defer_loading", "deferral", message, tool=str(deferred[0].name)
        )
    elif has_search and not deferred and not is_of_client:
        yield RequestFault(
            "tools", "tool_search", "tool_search needs a deferred tool in the same request"
        )


def functions_have_names(request: RequestRead) -> Iterator[RequestFault]:
    """Check that each function has a name. In Chat Completions, the name is one level deeper."""
    for tool in request.tools:
        if tool.name is None:
            path = f"{tool.path}.name"
            yield RequestFault(
                path, "required_fields", f"{path} is required", number=tool.number, subject=path
            )


def _as_chat(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return choice
    entries = as_list(choice.get("tools")) or [choice]
    names = strings_in(
        as_object(entry).get("name")
        for entry in entries
        if as_object(entry).get("type") in ("function", "custom")
    )
    functions = [{"function": {"name": name}} for name in names]
    return {"allowed_tools": {"mode": choice.get("mode", "required"), "tools": functions}}


def respond(said: Completion) -> JsonObject:
    """Write a response; each item has its own id and status."""
    is_cut = said.finish == "length"
    seed = said.id
    output: list[JsonObject] = []
    if said.text:
        content = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        output.append(
            {"id": f"msg_{seed}", "type": "message", "role": "assistant", "content": [content]}
        )
    output += map(_call_item, said.calls)
    for at, item in enumerate(output):
        item["status"] = "incomplete" if is_cut and at == len(output) - 1 else "completed"
    reason = {"length": "max_output_tokens", "refusal": "content_filter"}.get(said.finish)
    status, details = ("incomplete", {"reason": reason}) if reason else ("completed", None)
    body: JsonObject = {
        "id": f"resp_{seed}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": details,
        "instructions": None,
        "metadata": {},
        "model": said.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }
    if said.usage is not None:
        input_tokens, output_tokens = said.usage
        body["usage"] = {
            "input_tokens": input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input_tokens + output_tokens,
        }
    return body


def _call_item(call: WireCall) -> JsonObject:
    """Write the item of a call; the call of a search names the tool that the request offers."""
    if _is_client_search(as_object(call.raw)):
        return {"id": f"tsc_{call.id}", **write_search(call.id, call.arguments)}
    prefix = "fc" if plain_text(call.arguments) is None else "ctc"
    return {"id": f"{prefix}_{call.id}", **write_any_call(call)}


def unfold(body: JsonObject) -> Iterator[JsonObject]:
    """Split a response into its events, and number the events."""
    for number, event in enumerate(_events(body)):
        yield {**event, "sequence_number": number}


_BEFORE: dict[str, JsonObject] = {
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
    "message": {"content": []},
}


def _events(body: JsonObject) -> Iterator[JsonObject]:
    started_response = {key: value for key, value in body.items() if key != "usage"}
    started_response.update(output=[], status="in_progress", incomplete_details=None)
    yield {"type": "response.created", "response": started_response}
    yield {"type": "response.in_progress", "response": started_response}
    for index, item in enumerate(body["output"]):
        location = {"output_index": index, "item_id": item.get("id")}
        kind = item["type"]
        empty_fields = _BEFORE.get(kind, {})
        started_item = {
            **item,
            **empty_fields,
            **({"status": "in_progress"} if "status" in item else {}),
        }
        yield {"type": "response.output_item.added", "output_index": index, "item": started_item}
        if kind == "function_call":
            yield from _call_events(item, location)
        elif kind == "custom_tool_call":
            for piece in split_text(item["input"]):
                yield {"type": "response.custom_tool_call_input.delta", **location, "delta": piece}
            done = "response.custom_tool_call_input.done"
            yield {"type": done, **location, "input": item["input"]}
        elif kind == "message":
            yield from _text_events(item, location)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{body['status']}", "response": body}


def _call_events(item: JsonObject, place: JsonObject) -> Iterator[JsonObject]:
    for piece in split_text(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
    done_fields = {"name": item["name"], "arguments": item["arguments"]}
    yield {"type": "response.function_call_arguments.done", **place, **done_fields}


def _text_events(item: JsonObject, place: JsonObject) -> Iterator[JsonObject]:
    for index, content in enumerate(item["content"]):
        kind = content.get("type")
        if kind not in _PARTS:
            continue
        key, name = _PARTS[kind]
        if kind == "output_text":
            extra_fields: JsonObject = {"logprobs": []}
        else:
            extra_fields = {}
        part_location = {**place, "content_index": index}
        yield {"type": "response.content_part.added", **part_location, "part": {**content, key: ""}}
        for piece in split_text(content[key]):
            yield {
                "type": f"response.{name}.delta",
                **part_location,
                "delta": piece,
                **extra_fields,
            }
        yield {"type": f"response.{name}.done", **part_location, key: content[key], **extra_fields}
        yield {"type": "response.content_part.done", **part_location, "part": content}


_PARTS = {"output_text": ("text", "output_text"), "refusal": ("refusal", "refusal")}
"""For each type of message part: the key of its text, and its name in events."""


# openai 3.54.0 ResponseCreateParams, 2026-11-22.
REQUEST_FIELDS = frozenset(
    {
        "access_programs", "background", "background_options", "context_management", "conversation",
        "image", "include",
        "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "model",
        "moderation",
        "parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store",
        "stream", "stream_options",
        "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation",
        "user",
    }
)  # fmt: skip

WORDINGS: dict[str, Wording] = {
    **openai.WORDINGS,
    **openai.output_wordings("text.format.schema", "invalid_json_schema"),
    **dict.fromkeys(
        ("unanswered_call", "open_turn"),
        Wording("No tool output found for function call {subject}.", param="input"),
    ),
    "deferral": Wording(
        "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.",
        param="tools",
    ),
    "tool_search": Wording(
        "Invalid Value: 'tools.tool_search'. tools.tool_search requires at least one deferred "
        "tool.",
        param="tools",
    ),
    "required_fields": Wording(
        "Missing required parameter: '{subject}'.",
        code="missing_required_parameter",
        param="{subject}",
    ),
    "orphan_result": Wording(
        "No tool call found for function call output with call_id {subject}.", param="input"
    ),
    "call_id": Wording(
        "Invalid '{path}.call_id': string too long. Expected a string with maximum length 64, "
        "but got a string with length "
        "{given} instead.",
        code="string_above_max_length",
        param="{path}.call_id",
    ),
}

SERVER = replace(
    openai.SERVER,
    endpoint=ENDPOINT,
    read_request=read_request,
    refuses=(
        *request_rules(
            "justrach/codegraff#746 and Wei-Shaw/sub2api#5942, 2026; read 2026-11-23",
            deferral_and_search,
        ),
        *request_rules(
            "microsoft/autogen#6935, 2025-08; GCWing/OpenBitFun#806, 2026-05", functions_have_names
        ),
    ),
    fields=REQUEST_FIELDS,
    respond=respond,
    unfold=unfold,
    wordings=WORDINGS,
    probes=PROBES,
    address=ADDRESS,
)
