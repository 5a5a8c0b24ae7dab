"""Requests that break one rule of the Messages API each, and accepted twins."""

from typing import Any

from toolshape._families.wire.server import RequestProbe
from toolshape._records.calls import JsonObject

_TOOL: JsonObject = {"name": "probe", "input_schema": {"type": "object", "properties": {}}}
_BUDGET = {"type": "enabled", "budget_tokens": 1024}


def _with_call(given: Any) -> JsonObject:
    call = {"type": "tool_use", "id": "call00001", "name": "probe", "input": given}
    result = {"type": "tool_result", "tool_use_id": "call00001", "content": "ok"}
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    return {"tools": [_TOOL], "messages": messages}


def _after(*blocks: JsonObject) -> JsonObject:
    content = [*blocks, {"type": "text", "text": "Done."}]
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "Go on."},
    ]
    return {"messages": messages}


_THOUGHT: JsonObject = {"type": "thinking", "thinking": "Hm."}
_SEARCH: JsonObject = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "probe"},
}


def _with_thinking(choice: str) -> JsonObject:
    return {
        "tools": [_TOOL],
        "tool_choice": {"type": choice},
        "thinking": _BUDGET,
        "max_tokens": 1025,
    }


PROBES = (
    RequestProbe(_with_call("a"), _with_call({})),
    RequestProbe(
        {"tools": [{"type": "function", "function": {"name": "probe"}}]}, {"tools": [_TOOL]}
    ),
    RequestProbe(_after(_THOUGHT), _after({**_THOUGHT, "signature": "c2ln"})),
    RequestProbe(_after(_SEARCH), _after()),
    RequestProbe(_with_thinking("any"), _with_thinking("auto")),
)
MODELS = ("claude-fable-5-1",)
