"""Reads the events of OpenAI's Realtime API, and the responses in them.

The types come from ``openai.types.realtime`` of openai 3.57.0; what servers send was recorded by
others (pydantic-ai's tests of OpenAI, Azure and xAI), read on 2026-11-28.
"""

# An item comes up to six times: in ``response.output_item.added`` and ``.done``, in two events of
# the conversation, in ``response.done``, and again when the client asks for it. Only two of them
# say that a model has just written it whole. ``response.output_item.done`` with the status
# ``completed`` is the first; ``response.done`` repeats it, for a program that missed the first. The
# events of the conversation also carry calls that the client itself wrote as history, and the end
# of the arguments also comes for a call that was cut off (docstrings of both events).

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolshape._families.openai_realtime.messages import created
from toolshape._families.openai_responses import responses
from toolshape._families.wire.bodies import member, to_plain_json
from toolshape._families.wire.ending import Ending, error_words
from toolshape._families.wire.provider import Read
from toolshape._families.wire.sessions import NOTHING, SessionCall, SessionEvent
from toolshape._records.calls import JsonObject
from toolshape._records.result import Usage
from toolshape._schema.values import append_text

_KINDS = (
    "response.", "conversation.", "session.", "input_audio_buffer.", "output_audio_buffer.",
    "rate_limits.", "mcp_list_tools.",
    "transcription_session.",
)  # fmt: skip
_STILL_ACTIVE = "conversation_already_has_active_response"
"""The code of the error for a ``response.create`` while another response is active
(openai/openai-agents-python#1466, read on 2026-11-28).
"""
_TEXT = frozenset(
    {"response.output_text.delta", "response.output_audio_transcript.delta", "response.text.delta",
    "response.audio_transcript.delta"}
)  # fmt: skip
"""The events that add to what the model says, with the names of older servers."""


def read_event(state: JsonObject, event: JsonObject) -> SessionEvent | None:
    """Read one event; ``state`` keeps the items that are still arriving, by their ids."""
    kind = event.get("type")
    if not isinstance(kind, str) or not (kind.startswith(_KINDS) or kind in ("error", "ping")):
        return None
    read = _READERS.get(kind)
    return NOTHING if read is None else read(state, event)


def _read_text(_: JsonObject, event: JsonObject) -> SessionEvent:
    return SessionEvent(text=str(event.get("delta") or ""))


def _read_error(_: JsonObject, event: JsonObject) -> SessionEvent:
    error = event.get("error")
    return SessionEvent(
        warning=error_words(error) or "an error without words",
        refuses_go_on=member(error, "code") == _STILL_ACTIVE,
    )


def _read_session(_: JsonObject, event: JsonObject) -> SessionEvent:
    model = member(event.get("session"), "model")
    return SessionEvent(model=model if isinstance(model, str) else None)


def _begin_response(state: JsonObject, event: JsonObject) -> SessionEvent:
    response = event.get("response")
    state["response"] = member(response, "id")
    # A response outside of the conversation says so by null, and leaves the conversation free.
    is_beside = isinstance(response, dict) and response.get("conversation_id", "") is None
    if is_beside or not state["response"]:
        return NOTHING
    return SessionEvent(began=str(state["response"]))


def _begin_item(state: JsonObject, event: JsonObject) -> SessionEvent:
    item = event.get("item")
    if isinstance(item, dict) and item.get("type") == "function_call":
        key = str(item.get("id") or item.get("call_id"))
        if key not in state.setdefault("ended", {}):
            begun = {"arguments": "", **item, "response": _response_of(state, event)}
            state.setdefault("items", {}).setdefault(key, begun)
    return NOTHING


def _grow_item(state: JsonObject, event: JsonObject) -> SessionEvent:
    item = state.get("items", {}).get(str(event.get("item_id") or event.get("call_id")))
    if item is not None and isinstance(event.get("delta"), str):
        append_text(item, "arguments", event["delta"])
    return NOTHING


def _response_of(state: JsonObject, event: JsonObject) -> str:
    """Return the id of an event's response: the last that began, where a server leaves it out."""
    return str(event.get("response_id") or state.get("response") or "")


def _end_of_item(state: JsonObject, event: JsonObject) -> SessionEvent:
    item = event.get("item")
    if not isinstance(item, dict) or item.get("type") != "function_call":
        return NOTHING
    _forget(state, item)
    if not _is_whole(item):  # cut off: its response says why
        return NOTHING
    return SessionEvent(calls=(_call_of(item, _response_of(state, event)),))


def _end_of_response(state: JsonObject, event: JsonObject) -> SessionEvent:
    response = event.get("response")
    if not isinstance(response, dict):
        return NOTHING
    response_id = str(response.get("id") or state.get("response") or "")
    status = response.get("status")
    items = [item for item in response.get("output") or () if isinstance(item, dict)]
    # Whole calls of a response count however it ended, unless it failed. A call that was cut off
    # counts only at the length limit, where an error lets the model write it again; after anything
    # else somebody is speaking, and waits for no answer.
    details = response.get("status_details")
    is_cut = status == "incomplete" and member(details, "reason") == "max_output_tokens"
    called = [item for item in items if item.get("type") == "function_call" and status != "failed"]
    for item in items:
        _forget(state, item)
    arriving = state.get("items", {})
    for key in [key for key, item in arriving.items() if item["response"] == response_id]:
        del arriving[key]
    return SessionEvent(
        calls=tuple(
            _call_of(item, response_id)._replace(is_cut=not _is_whole(item))
            for item in called
            if is_cut or _is_whole(item)
        ),
        ended=response_id,
        goes_on=status in ("completed", "incomplete"),
        warning=_failure(details) if status == "failed" else "",
    )


def _is_whole(item: JsonObject) -> bool:
    """Whether a call came to its end; a server may leave the status out, or send null."""
    return item.get("status") in (None, "completed")


def _failure(details: Any) -> str:
    return error_words(member(details, "error")) or "the response failed"


_READERS: Mapping[str, Callable[[JsonObject, JsonObject], SessionEvent]] = {
    **dict.fromkeys(_TEXT, _read_text),
    "session.created": _read_session,
    "session.updated": _read_session,
    "response.created": _begin_response,
    "response.output_item.added": _begin_item,
    "response.function_call_arguments.delta": _grow_item,
    "response.output_item.done": _end_of_item,
    "response.done": _end_of_response,
    "error": _read_error,
}


def _forget(state: JsonObject, item: JsonObject) -> None:
    """Forget what has arrived of an item that is whole, or was cut off."""
    key = str(item.get("id") or item.get("call_id"))
    state.setdefault("items", {}).pop(key, None)
    state.setdefault("ended", {})[key] = True


def _call_of(item: JsonObject, response_id: str) -> SessionCall:
    call_id = str(item.get("call_id") or item.get("id") or "")
    name, arguments = str(item.get("name") or ""), item.get("arguments", "")
    wire = (call_id, name, arguments, created(item))
    return SessionCall(response_id, wire)


def incomplete(state: JsonObject) -> Sequence[SessionCall]:
    """Return the calls that are still arriving."""
    return [_call_of(item, item["response"]) for item in state.get("items", {}).values()]


def _as_response(body: Any) -> JsonObject | None:
    """Return a response in the form of the Responses API; ``None`` for any other body.

    Calls that a client adds to a conversation, as its history, are a response of their own.
    """
    if member(body, "type") == "response.done":
        body = member(body, "response")
    events = body if isinstance(body, list) else [body]
    items = [member(event, "item") for event in events if _is_added_call(event)]
    if items and len(items) == len(events):
        return {"object": "response", "status": "completed", "output": to_plain_json(items)}
    if member(body, "object") != "realtime.response":
        return None
    response: JsonObject = to_plain_json(body)
    status = response.get("status")
    reason = member(response.get("status_details"), "reason")
    return {
        **response,
        "object": "response",
        "output": response.get("output") or [],
        "incomplete_details": {"reason": reason} if status == "incomplete" else None,
    }


def _is_added_call(event: Any) -> bool:
    is_created = member(event, "type") == "conversation.item.create"
    return bool(is_created and member(member(event, "item"), "type") == "function_call")


def recognises(body: Any) -> bool:
    return _as_response(body) is not None


def read(body: Any) -> Read | None:
    """Read the calls of a whole response, or of the event that ends one."""
    response = _as_response(body)
    reading = None if response is None else responses.read(response)
    if reading is None:
        return None
    assistant, calls, finish, cut, ends_in_call = reading
    wires = [(call[0], call[1], call[2], created(to_plain_json(call[3]))) for call in calls]
    return [created(item) for item in assistant], wires, finish, cut, ends_in_call


def ending(body: Any) -> Ending:
    """Find the error of a response that failed. One that was cancelled has ended for its user."""
    response = _as_response(body) or {}
    if response.get("status") != "failed":
        return Ending()
    details = response.get("status_details")
    return Ending(_failure(details))


def usage(body: Any) -> Usage | None:
    response = _as_response(body)
    return None if response is None else responses.usage(response)
