"""Imitates the server of Ollama's ``/api/chat``.

From ollama 0.6.3 and the server's source of 2026-08-21.
"""

from collections.abc import Iterator
from typing import Any

from toolshape._families.ollama.messages import write_call
from toolshape._families.openai import server as openai_server
from toolshape._families.wire.request_checks import required_fields
from toolshape._families.wire.server import (
    Address,
    Completion,
    Endpoint,
    ErrorReply,
    Refusal,
    RequestProbe,
    Server,
    request_rules,
)
from toolshape._families.wire.server_json import arguments_text, sent_calls, split_text
from toolshape._records.calls import Finish, JsonObject

_FINISHES: dict[Finish, str] = {"length": "length"}


ADDRESS = Address(
    "http://localhost:11434/api/chat",
    {},
    (),
    {"stream": False, "options": {"num_predict": 1}},
    "ollama 0.6.3, 2026-11-25",
)
ENDPOINT = Endpoint(
    r".*/api/chat", "ndjson", streams=True, variables={"OLLAMA_HOST": "{url}"}, http="httpx"
)


def respond(said: Completion) -> JsonObject:
    """Write a response.

    If a call's arguments are not an object, the model's text becomes content instead of a call.
    """
    calls, _ = sent_calls(said)
    malformed = [
        arguments_text(call) for call in said.calls if not isinstance(call.arguments, dict)
    ]
    message: JsonObject = {"role": "assistant", "content": "".join([said.text, *malformed])}
    if calls:
        message["tool_calls"] = [
            write_call(call.id, call.wire_name, call.arguments, index=at)
            for at, call in enumerate(calls)
        ]
    input_tokens, output_tokens = said.usage or (1, 1)
    return {
        "model": said.model,
        "created_at": "2026-01-01T00:00:00Z",
        "message": message,
        "done": True,
        "done_reason": _FINISHES.get(said.finish, "stop"),
        "total_duration": 1,
        "load_duration": 1,
        "prompt_eval_count": input_tokens,
        "prompt_eval_duration": 1,
        "eval_count": output_tokens,
        "eval_duration": 1,
    }


def unfold(body: JsonObject) -> Iterator[JsonObject]:
    """Split a response into lines: text in pieces, each call whole, and last the
    finish reason and the token counts.
    """
    base: JsonObject = {key: body[key] for key in ("model", "created_at") if key in body}
    message = body["message"]
    for key in ("thinking", "content"):
        for piece in split_text(message.get(key) or ""):
            yield {
                **base,
                "message": {"role": "assistant", "content": "", key: piece},
                "done": False,
            }
    for call in message.get("tool_calls") or ():
        yield {
            **base,
            "message": {"role": "assistant", "content": "", "tool_calls": [call]},
            "done": False,
        }
    yield {**body, "message": {"role": "assistant", "content": ""}}


def error(refusal: Refusal) -> ErrorReply:
    """Write the body of an error."""
    return {}, {"error": refusal.message}


_TOOL = {
    "type": "function",
    "function": {"name": "probe", "parameters": {"type": "object", "properties": {}}},
}


_USER = {"role": "user", "content": "Go."}


def _with_message(**more: str) -> JsonObject:
    return {"messages": [_USER, {"role": "assistant", "content": "Done.", **more}, _USER]}


def _with_call(given: Any) -> JsonObject:
    call = {"function": {"name": "probe", "arguments": given}}
    result = {"role": "tool", "tool_name": "probe", "content": "ok"}
    return {
        "tools": [_TOOL],
        "messages": [_USER, {"role": "assistant", "tool_calls": [call]}, result],
    }


SERVER = Server(
    endpoint=ENDPOINT,
    read_request=openai_server.read_counted_request,
    refuses=request_rules("ollama 0.6.3 ChatRequest, 2026-11-22", required_fields("model")),
    respond=respond,
    unfold=unfold,
    error=error,
    probes=(
        RequestProbe(_with_call("a"), _with_call({})),
        RequestProbe(_with_message(thinking="Hm."), _with_message()),
    ),
    models=("gpt-oss:120b-cloud",),
    address=ADDRESS,
)
