"""Imitates the server of OpenAI's Realtime API.

From the types of openai 3.57.0 and recorded errors.
"""

from collections.abc import Collection, Iterator
from typing import Any

from toolshape._families.openai import server as openai
from toolshape._families.openai_responses.messages import write_any_call
from toolshape._families.wire.server import Completion
from toolshape._families.wire.server_json import as_list, as_object, split_text
from toolshape._families.wire.sessions import ClientMessage, SessionServer
from toolshape._records.calls import JsonObject

_CONVERSATION = "conv_1"


def _open(model: str) -> list[JsonObject]:
    session = {"id": "sess_1", "object": "realtime.session", "type": "realtime", "model": model}
    return [{"type": "session.created", "session": session}]


def _read(message: JsonObject, waiting: Collection[str]) -> ClientMessage:
    match message.get("type"):
        case "session.update":
            return _read_update(as_object(message.get("session")))
        case "conversation.item.create":
            return _read_item(as_object(message.get("item")), waiting)
        case "response.create":
            return ClientMessage(asks=True)
        case _:
            return ClientMessage()


def _read_update(session: JsonObject) -> ClientMessage:
    said = ({"type": "session.updated", "session": {"object": "realtime.session", **session}},)
    if "tools" not in session:
        return ClientMessage(said=said)
    entries = [as_object(entry) for entry in as_list(session["tools"])]
    for at, entry in enumerate(entries):
        if "strict" in entry:
            words = f"Unknown parameter: 'session.tools[{at}].strict'."
            return ClientMessage(refusal=("unknown_parameter", words, "livekit/agents#3210, 2025"))
    tools = tuple(
        openai.read_function(entry, f"session.tools[{at}]", at, entry)
        for at, entry in enumerate(entries)
        if entry.get("type") == "function"
    )
    return ClientMessage(tools=tools, said=said)


def _read_item(item: JsonObject, waiting: Collection[str]) -> ClientMessage:
    said = tuple(
        {"type": kind, "previous_item_id": None, "item": {"id": "item_of_client", **item}}
        for kind in ("conversation.item.added", "conversation.item.done")
    )
    if item.get("type") != "function_call_output":
        return ClientMessage(said=said)
    call_id = str(item.get("call_id"))
    if call_id not in waiting:
        words = f"Tool call ID '{call_id}' not found in conversation."
        return ClientMessage(
            refusal=("invalid_tool_call_id", words, "livekit/agents#3344, 2025-09")
        )
    return ClientMessage(answered=(call_id,), said=said)


def _respond(said: Completion) -> list[JsonObject]:
    """Write a response as its events; each item comes as often as from the server."""
    response_id, is_cut = f"resp_{said.id}", said.finish == "length"
    items: list[JsonObject] = []
    if said.text:
        content = [{"type": "output_text", "text": said.text}]
        items.append(
            {"id": f"msg_{said.id}", "type": "message", "role": "assistant", "content": content}
        )
    items += [{"id": f"item_{call.id}", **write_any_call(call)} for call in said.calls]
    for at, item in enumerate(items):
        item["object"] = "realtime.item"
        item["status"] = "incomplete" if is_cut and at == len(items) - 1 else "completed"
    begun = {"id": response_id, "object": "realtime.response", "conversation_id": _CONVERSATION}
    events: list[JsonObject] = [
        {"type": "response.created", "response": {**begun, "status": "in_progress", "output": []}}
    ]
    for at, item in enumerate(items):
        events += _item_events(item, {"response_id": response_id, "output_index": at})
    details = {"type": "incomplete", "reason": "max_output_tokens"} if is_cut else None
    done = {
        **begun,
        "status": "incomplete" if is_cut else "completed",
        "status_details": details,
        "output": items,
    }
    return [*events, {"type": "response.done", "response": done}]


def _item_events(item: JsonObject, where: JsonObject) -> Iterator[JsonObject]:
    of_item = {**where, "item_id": item["id"]}
    is_call = item["type"] == "function_call"
    empty: JsonObject = {"arguments": ""} if is_call else {"content": []}
    begun = {**item, "status": "in_progress", **empty}
    yield {"type": "response.output_item.added", **where, "item": begun}
    yield {"type": "conversation.item.added", "previous_item_id": None, "item": begun}
    if is_call:
        of_call = {**of_item, "call_id": item["call_id"]}
        for piece in split_text(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **of_call, "delta": piece}
        ended: Any = {"name": item["name"], "arguments": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **of_call, **ended}
    else:
        text = item["content"][0]["text"]
        for piece in split_text(text):
            delta = {"type": "response.output_text.delta", **of_item, "content_index": 0}
            yield {**delta, "delta": piece}
        yield {"type": "response.output_text.done", **of_item, "content_index": 0, "text": text}
    yield {"type": "conversation.item.done", "previous_item_id": None, "item": item}
    yield {"type": "response.output_item.done", **where, "item": item}


def _refuse(code: str, words: str) -> JsonObject:
    error = {"type": "invalid_request_error", "code": code, "message": words, "param": None}
    return {"type": "error", "error": error}


SERVER = SessionServer(
    opens=_open, read=_read, respond=_respond, refuse=_refuse, sends_cut_calls=True
)
