"""Imitates the server of Cohere's v2 chat API.

From the types of cohere 7.3.1 (2026-11-22) and recorded errors.
"""

from collections.abc import Iterator

from toolshape._families.cohere.schema import CHOICES
from toolshape._families.openai import probes as openai_probes, server as openai_server
from toolshape._families.openai.messages import write_call
from toolshape._families.wire.request_checks import entry_keys, required_fields
from toolshape._families.wire.server import (
    Address,
    Completion,
    Endpoint,
    ErrorReply,
    Refusal,
    RequestRead,
    Server,
    Wording,
    request_rules,
)
from toolshape._families.wire.server_json import KEY, arguments_text, request_id, split_text
from toolshape._records.calls import Finish, JsonObject

_FINISHES: dict[Finish, str] = {
    "stop": "COMPLETE", "tool_calls": "TOOL_CALL", "length": "MAX_TOKENS", "refusal": "ERROR",
    "error": "ERROR",
    "other": "COMPLETE",
}  # fmt: skip


ADDRESS = Address(
    "https://api.cohere.com/v2/chat",
    {"authorization": "Bearer {key}"},
    ("CO_API_KEY", "COHERE_API_KEY"),
    {"max_tokens": 1},
    "cohere 7.3.1, 2026-11-25",
)
ENDPOINT = Endpoint(
    r".*/chat", "named-sse", variables={"CO_API_URL": "{url}", "CO_API_KEY": KEY}, http="httpx"
)


def read_request(body: JsonObject) -> RequestRead:
    """Read the tools and the choice from a request."""
    request = openai_server.read_counted_request(body, CHOICES)
    if body.get("strict_tools") is not True:
        return request
    return request._replace(tools=tuple(tool._replace(is_strict=True) for tool in request.tools))


def respond(said: Completion) -> JsonObject:
    """Write a response. If there are calls, the text becomes their ``tool_plan``."""
    message: JsonObject = {"role": "assistant"}
    if said.calls:
        if said.text:
            message["tool_plan"] = said.text
        message["tool_calls"] = [
            write_call(call.id, call.wire_name, arguments_text(call)) for call in said.calls
        ]
    else:
        message["content"] = [{"type": "text", "text": said.text}]
    input_tokens, output_tokens = said.usage or (1, 1)
    counts = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    cost = {"billed_units": counts, "tokens": counts}
    return {
        "id": said.id,
        "finish_reason": _FINISHES[said.finish],
        "message": message,
        "usage": cost,
    }


def unfold(body: JsonObject) -> Iterator[JsonObject]:
    """Split a response into its events: the plan, the calls and the text arrive in pieces."""
    message = body["message"]
    yield {
        "type": "message-start",
        "id": body.get("id"),
        "delta": {"message": {"role": "assistant"}},
    }
    for piece in split_text(message.get("tool_plan") or ""):
        yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}}
    for index, call in enumerate(message.get("tool_calls") or ()):
        started_call = {**call, "function": {**call["function"], "arguments": ""}}
        yield {
            "type": "tool-call-start",
            "index": index,
            "delta": {"message": {"tool_calls": started_call}},
        }
        for piece in split_text(call["function"]["arguments"]):
            call_delta = {"function": {"arguments": piece}}
            yield {
                "type": "tool-call-delta",
                "index": index,
                "delta": {"message": {"tool_calls": call_delta}},
            }
        yield {"type": "tool-call-end", "index": index}
    for index, block in enumerate(message.get("content") or ()):
        kind = block["type"]
        yield {
            "type": "content-start",
            "index": index,
            "delta": {"message": {"content": {**block, kind: ""}}},
        }
        for piece in split_text(block[kind]):
            yield {
                "type": "content-delta",
                "index": index,
                "delta": {"message": {"content": {kind: piece}}},
            }
        yield {"type": "content-end", "index": index}
    end_delta = {"finish_reason": body["finish_reason"], "usage": body.get("usage")}
    yield {"type": "message-end", "id": body.get("id"), "delta": end_delta}


def error(refusal: Refusal) -> ErrorReply:
    """Write the headers and the body of an error."""
    error_id = request_id(refusal.message)
    return {"x-debug-trace-id": error_id}, {"id": error_id, "message": refusal.message}


# cohere 7.3.1 V2Client.chat, 2026-11-22.
REQUEST_FIELDS = frozenset(
    {
        "citation_options", "documents", "frequency_penalty", "k", "logprobs", "max_tokens",
        "messages", "model", "p",
        "presence_penalty", "priority", "raw_prompting", "reasoning_effort", "response_format",
        "safety_mode", "seed",
        "stop_sequences", "stream", "strict_tools", "temperature", "thinking", "tool_choice",
        "tools",
    }
)  # fmt: skip

WORDINGS: dict[str, Wording] = {
    "entry_keys": Wording("unknown field: parameter '{subject}' is not a valid field.", status=422),
    "unknown_field": Wording(
        "unknown field: parameter '{subject}' is not a valid field.", status=422
    ),
}

SERVER = Server(
    endpoint=ENDPOINT,
    read_request=read_request,
    refuses=(
        *request_rules(
            "cohere 7.3.1 V2ChatRequest, 2026-11-22", required_fields("model", "messages")
        ),
        *request_rules(
            "a recorded 422: parameter 'strict' is not a valid field",
            entry_keys("function", "name", "description", "parameters"),
        ),
    ),
    fields=REQUEST_FIELDS,
    probes=(openai_probes.KEY_TOO_MUCH,),
    address=ADDRESS,
    respond=respond,
    unfold=unfold,
    error=error,
    wordings=WORDINGS,
)
