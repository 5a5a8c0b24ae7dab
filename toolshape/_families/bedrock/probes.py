"""Pairs of requests: one that a rule of Converse refuses, and one like it that it accepts."""

from typing import Any

from toolshape._families.wire.server import RequestProbe
from toolshape._records.calls import JsonObject

_TOOL: JsonObject = {
    "toolSpec": {"name": "probe", "inputSchema": {"json": {"type": "object", "properties": {}}}}
}
_BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def _with_call(given: Any) -> JsonObject:
    result = {"toolUseId": "call00001", "content": [{"text": "ok"}]}
    messages = [
        {"role": "user", "content": [{"text": "Go."}]},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "call00001", "name": "probe", "input": given}}],
        },
        {"role": "user", "content": [{"toolResult": result}]},
    ]
    return {"toolConfig": {"tools": [_TOOL]}, "messages": messages}


def _after_thinking(thought: JsonObject) -> JsonObject:
    thinking = {"reasoningContent": {"reasoningText": thought}}
    messages = [
        {"role": "user", "content": [{"text": "Go."}]},
        {"role": "assistant", "content": [thinking, {"text": "Done."}]},
        {"role": "user", "content": [{"text": "Go on."}]},
    ]
    return {"messages": messages}


def _thinking_request(choice: str) -> JsonObject:
    return {
        "toolConfig": {"tools": [_TOOL], "toolChoice": {choice: {}}},
        "additionalModelRequestFields": _BUDGET,
        "inferenceConfig": {"maxTokens": 1025},
    }


PROBES = (
    RequestProbe(
        {"toolConfig": {"tools": [{"type": "function", "function": {"name": "probe"}}]}},
        {"toolConfig": {"tools": [_TOOL]}},
    ),
    RequestProbe(_with_call("a"), _with_call({})),
    RequestProbe(
        _after_thinking({"text": "Hm."}), _after_thinking({"text": "Hm.", "signature": "c2ln"})
    ),
    RequestProbe(
        _after_thinking({"text": "Hm.", "signature": ""}), _after_thinking({"text": "Hm."})
    ),
    RequestProbe(_thinking_request("any"), _thinking_request("auto")),
    RequestProbe({"toolConfig": {"tools": []}}, {"toolConfig": {"tools": [_TOOL]}}),
)
MODELS = ("anthropic.claude-opus-5-5", "amazon.nova-premier-v1:0")
