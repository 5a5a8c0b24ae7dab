"""Requests that break one rule of the Responses API each, and accepted twins."""

from typing import Any

from toolshape._families.wire.server import RequestProbe
from toolshape._records.calls import JsonObject

_TOOL: JsonObject = {
    "type": "function",
    "name": "probe",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}
_DEFERRED: JsonObject = {**_TOOL, "defer_loading": True}
_SEARCH: JsonObject = {"type": "tool_search"}
_USER = {"role": "user", "content": "Go."}
_THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}


def _with_call(**more: Any) -> JsonObject:
    call = {
        "type": "function_call",
        "call_id": "call00001",
        "name": "probe",
        "arguments": "{}",
        **more,
    }
    result = {"type": "function_call_output", "call_id": "call00001", "output": "ok"}
    return {"tools": [_TOOL], "input": [_USER, call, result]}


PROBES = (
    RequestProbe(
        {"tools": [{"type": "function", "function": {"name": "probe"}}]}, {"tools": [_TOOL]}
    ),
    RequestProbe({"tools": [_DEFERRED]}, {"tools": [_DEFERRED, _SEARCH]}),
    RequestProbe({"tools": [_TOOL, _SEARCH]}, {"tools": [_DEFERRED, _SEARCH]}),
    RequestProbe(_with_call(id="call00001"), _with_call()),
    RequestProbe(_with_call(arguments={}), _with_call()),
    RequestProbe({"input": [_USER, _THOUGHT, _USER]}, {"input": [_USER, _USER]}),
)
