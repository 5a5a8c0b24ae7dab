"""One row a provider: a response and what it says; results and the messages they become. Both directions are tested."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """``calls`` are (id, name, arguments) in ``response``; ``messages`` answer them with "one" and an error."""

    provider: str
    response: Any
    calls: list[tuple[str, str, Any]]
    finish: str | None
    assistant: list[dict[str, Any]]
    messages: list[dict[str, Any]]


_OPENAI_MESSAGE = {
    "role": "assistant",
    "content": None,
    "refusal": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "one", "arguments": '{"x": 1}'}},
        {"id": "call_2", "type": "function", "function": {"name": "two", "arguments": ""}},
    ],
}
_ANTHROPIC_CONTENT = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "text", "text": "Let me see."},
    {"type": "tool_use", "id": "toolu_1", "name": "one", "input": {"x": 1}},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    {"type": "tool_use", "id": "toolu_2", "name": "two", "input": {}},
]
_RESPONSES_OUTPUT = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "one", "arguments": '{"x": 1}'},
    {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "two", "arguments": "{}"},
]
_GEMINI_CONTENT = {
    "role": "model",
    "parts": [
        {"functionCall": {"name": "one", "args": {"x": 1}, "id": "c1"}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "two"}},
    ],
}
_BEDROCK_MESSAGE = {
    "role": "assistant",
    "content": [
        {"text": "Let me see."},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "one", "input": {"x": 1}}},
        {"toolUse": {"toolUseId": "tooluse_2", "name": "two", "input": {}}},
    ],
}
_PLAIN = [{"id": "a", "name": "one", "arguments": {"x": 1}}, {"id": "b", "name": "two", "arguments": None}]
_ERROR = "two failed for an internal reason (reference REF)."

ROWS = [
    Row(
        provider="openai",
        response={
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt",
            "choices": [{"index": 0, "message": _OPENAI_MESSAGE, "finish_reason": "tool_calls", "logprobs": None}],
        },
        calls=[("call_1", "one", '{"x": 1}'), ("call_2", "two", "")],
        finish="tool_calls",
        assistant=[_OPENAI_MESSAGE],
        messages=[
            {"role": "tool", "tool_call_id": "call_1", "content": "one"},
            {"role": "tool", "tool_call_id": "call_2", "content": f"Error [tool_crashed]: {_ERROR}"},
        ],
    ),
    Row(
        provider="anthropic",
        response={
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": _ANTHROPIC_CONTENT,
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
        calls=[("toolu_1", "one", {"x": 1}), ("toolu_2", "two", {})],
        finish="tool_use",
        assistant=[{"role": "assistant", "content": _ANTHROPIC_CONTENT}],
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": _ERROR, "is_error": True},
                ],
            }
        ],
    ),
    Row(
        provider="openai-responses",
        response={
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": "gpt",
            "status": "completed",
            "output": _RESPONSES_OUTPUT,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        },
        calls=[("call_1", "one", '{"x": 1}'), ("call_2", "two", "{}")],
        finish="completed",
        assistant=_RESPONSES_OUTPUT,
        messages=[
            {"type": "function_call_output", "call_id": "call_1", "output": "one"},
            {"type": "function_call_output", "call_id": "call_2", "output": f"Error [tool_crashed]: {_ERROR}"},
        ],
    ),
    *(
        Row(
            provider=provider,
            response={"candidates": [{"content": _GEMINI_CONTENT, "finishReason": "STOP"}]},
            calls=[("c1", "one", {"x": 1}), ("", "two", None)],
            finish="STOP",
            assistant=[_GEMINI_CONTENT],
            messages=[
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "one", "id": "c1", "response": {"output": "one"}}},
                        {"functionResponse": {"name": "two", "response": {"error": _ERROR}}},
                    ],
                }
            ],
        )
        for provider in ("gemini", "gemini-openapi")
    ),
    Row(
        provider="bedrock",
        response={"output": {"message": _BEDROCK_MESSAGE}, "stopReason": "tool_use", "usage": {}},
        calls=[("tooluse_1", "one", {"x": 1}), ("tooluse_2", "two", {})],
        finish="tool_use",
        assistant=[_BEDROCK_MESSAGE],
        messages=[
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "one"}]}},
                    {"toolResult": {"toolUseId": "tooluse_2", "content": [{"text": _ERROR}], "status": "error"}},
                ],
            }
        ],
    ),
    Row(
        provider="mcp",
        response={"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "one", "arguments": {"x": 1}}},
        calls=[("7", "one", {"x": 1})],
        finish=None,
        assistant=[],
        messages=[{"content": [{"type": "text", "text": "one"}], "isError": False, "resultType": "complete"}],
    ),
    Row(
        provider="json-schema",
        response=_PLAIN,
        calls=[("a", "one", {"x": 1}), ("b", "two", None)],
        finish=None,
        assistant=_PLAIN,
        messages=[{"id": "a", "name": "one", "result": "one"}, {"id": "b", "name": "two", "error": _ERROR}],
    ),
]
