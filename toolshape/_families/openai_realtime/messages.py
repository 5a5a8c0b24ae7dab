"""Writes calls and results as the events that a client of OpenAI's Realtime API sends."""

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from toolshape._families.openai_responses.messages import write_any_call, write_result
from toolshape._records.calls import JsonObject, WireCall, WireMessage
from toolshape._records.result import Result

_ID = re.compile(r"[a-zA-Z0-9_-]{1,32}")
"""The ids that a client may give: "string too long. Expected a string with maximum length 32"
(several logs of the server, the newest read on 2026-11-28), and no other signs
(livekit/agents#5652, 2026-05).
"""


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    """Write calls of another provider's turn."""
    return [created({**write_any_call(call), "call_id": _short(call.id)}) for call in calls]


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    """Write results; an output is always a text."""
    return [created(_write_output(result)) for result in results]


def _write_output(result: Result) -> JsonObject:
    is_own = result.call.provider == "openai-realtime"
    call_id = result.call.id if is_own else _short(result.call.id)
    code = None if result.error is None else result.error.code
    item = write_result(call_id, result.text, code, (), result.call.raw)
    return {"type": "function_call_output", "call_id": call_id, "output": item["output"]}


def created(item: JsonObject) -> JsonObject:
    """Write an item as the event with which a client adds it to a conversation."""
    return {"type": "conversation.item.create", "item": item}


def _short(call_id: Any) -> str:
    """Return an id that the server takes, the same for a call and for its result."""
    text = str(call_id)
    if _ID.fullmatch(text):
        return text
    return f"call_{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:24]}"
