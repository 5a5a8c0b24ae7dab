"""One row a provider: a response and what it says; results and the messages they become. Both directions are tested."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """``calls`` are (id, name, arguments) in ``response``; ``messages`` answer them with "one" and an error.

    An id that is empty is made up; where it is sent, it stands as ``MADE_UP``. ``finish`` is the provider's own word.
    """

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
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "one",
        "arguments": '{"x": 1}',
    },
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
_OBJECTS_MESSAGE = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"function": {"name": "one", "arguments": {"x": 1}}, "id": "call_1"},
        {"function": {"name": "two", "arguments": {}}},
    ],
}
_COHERE_MESSAGE = {
    "role": "assistant",
    "tool_plan": "I will call both.",
    "tool_calls": [
        {"id": "one_1", "type": "function", "function": {"name": "one", "arguments": '{"x": 1}'}},
        {"id": "two_2", "type": "function", "function": {"name": "two", "arguments": "{}"}},
    ],
}
_MISTRAL_MESSAGE = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "FI5qQGzDE", "function": {"name": "one", "arguments": '{"x": 1}'}, "index": 0},
        {"id": "null", "function": {"name": "two", "arguments": {}}, "index": 1},
    ],
}
_MISTRAL_NAMED = {
    **_MISTRAL_MESSAGE,
    "tool_calls": [
        _MISTRAL_MESSAGE["tool_calls"][0],
        {**_MISTRAL_MESSAGE["tool_calls"][1], "id": "MADE_UP"},
    ],
}
_OURS = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"
_GRPC_MESSAGE = {
    "role": "ROLE_ASSISTANT",
    "tool_calls": [
        {"id": "call_1", "type": _OURS, "function": {"name": "one", "arguments": '{"x": 1}'}},
        {
            "id": "ws_1",
            "type": "TOOL_CALL_TYPE_WEB_SEARCH_TOOL",
            "function": {"name": "web_search", "arguments": "{}"},
        },
        {"id": "call_2", "type": _OURS, "function": {"name": "two", "arguments": "{}"}},
    ],
}
_STEPS = [
    {"type": "thought", "signature": "c2ln"},
    {"type": "function_call", "id": "fc_1", "name": "one", "arguments": {"x": 1}},
    {"type": "function_call", "id": "fc_2", "name": "two", "arguments": {}},
]
_OPENAI_FORM = (
    "openai", "azure", "deepseek", "groq", "xai", "openrouter", "together", "fireworks", "cerebras", "vllm", "sglang", "llama-cpp", "lm-studio", "copilot",
    "moonshot",
)  # fmt: skip
_PLAIN = [
    {"id": "a", "name": "one", "arguments": {"x": 1}},
    {"id": "b", "name": "two", "arguments": None},
]
_ERROR = "two failed for an internal reason (reference REF)."

_REALTIME_OUTPUT = [
    {
        "id": "item_1",
        "type": "function_call",
        "status": "completed",
        "name": "one",
        "call_id": "call_1",
        "arguments": '{"x": 1}',
    },
    {
        "id": "item_2",
        "type": "function_call",
        "status": "completed",
        "name": "two",
        "call_id": "call_2",
        "arguments": "{}",
    },
]
_LIVE_CALLS = [
    {"id": "function-call-1", "name": "one", "args": {"x": 1}},
    {"id": "function-call-2", "name": "two", "args": {}},
]

ROWS = [
    *(
        Row(
            provider=provider,
            response={
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": "gpt",
                "choices": [
                    {
                        "index": 0,
                        "message": _OPENAI_MESSAGE,
                        "finish_reason": "tool_calls",
                        "logprobs": None,
                    }
                ],
            },
            calls=[("call_1", "one", '{"x": 1}'), ("call_2", "two", "")],
            finish="tool_calls",
            assistant=[_OPENAI_MESSAGE],
            messages=[
                {"role": "tool", "tool_call_id": "call_1", "content": "one"},
                {
                    "role": "tool",
                    "tool_call_id": "call_2",
                    "content": f"Error [tool_crashed]: {_ERROR}",
                },
            ],
        )
        for provider in _OPENAI_FORM
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
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_2",
                        "content": _ERROR,
                        "is_error": True,
                    },
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
            {
                "type": "function_call_output",
                "call_id": "call_2",
                "output": f"Error [tool_crashed]: {_ERROR}",
            },
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
                        {
                            "functionResponse": {
                                "name": "one",
                                "id": "c1",
                                "response": {"output": "one"},
                            }
                        },
                        {"functionResponse": {"name": "two", "response": {"error": _ERROR}}},
                    ],
                }
            ],
        )
        for provider in ("gemini", "gemini-openapi", "vertex")
    ),
    Row(
        provider="gemini-interactions",
        response={
            "id": "v1_1",
            "object": "interaction",
            "model": "gemini",
            "status": "requires_action",
            "steps": _STEPS,
        },
        calls=[("fc_1", "one", {"x": 1}), ("fc_2", "two", {})],
        finish="requires_action",
        assistant=_STEPS,
        messages=[
            {"type": "function_result", "call_id": "fc_1", "name": "one", "result": "one"},
            {
                "type": "function_result",
                "call_id": "fc_2",
                "name": "two",
                "result": _ERROR,
                "is_error": True,
            },
        ],
    ),
    Row(
        provider="mistral",
        response={
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "mistral",
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            "choices": [{"index": 0, "message": _MISTRAL_MESSAGE, "finish_reason": "tool_calls"}],
        },
        calls=[("FI5qQGzDE", "one", '{"x": 1}'), ("", "two", {})],
        finish="tool_calls",
        assistant=[_MISTRAL_NAMED],
        messages=[
            {"role": "tool", "tool_call_id": "FI5qQGzDE", "name": "one", "content": "one"},
            {
                "role": "tool",
                "tool_call_id": "MADE_UP",
                "name": "two",
                "content": f"Error [tool_crashed]: {_ERROR}",
            },
        ],
    ),
    Row(
        provider="cohere",
        response={"id": "1", "finish_reason": "TOOL_CALL", "message": _COHERE_MESSAGE},
        calls=[("one_1", "one", '{"x": 1}'), ("two_2", "two", "{}")],
        finish="TOOL_CALL",
        assistant=[_COHERE_MESSAGE],
        messages=[
            {"role": "tool", "tool_call_id": "one_1", "content": "one"},
            {"role": "tool", "tool_call_id": "two_2", "content": f"Error [tool_crashed]: {_ERROR}"},
        ],
    ),
    Row(
        provider="ollama",
        response={
            "model": "qwen",
            "message": _OBJECTS_MESSAGE,
            "done": True,
            "done_reason": "stop",
        },
        calls=[("call_1", "one", {"x": 1}), ("", "two", {})],
        finish="stop",
        assistant=[_OBJECTS_MESSAGE],
        messages=[
            {"role": "tool", "tool_name": "one", "content": "one", "tool_call_id": "call_1"},
            {"role": "tool", "tool_name": "two", "content": f"Error [tool_crashed]: {_ERROR}"},
        ],
    ),
    Row(
        provider="huggingface",
        response=_OBJECTS_MESSAGE,
        calls=[("call_1", "one", {"x": 1}), ("", "two", {})],
        finish=None,
        assistant=[_OBJECTS_MESSAGE],
        messages=[
            {"role": "tool", "name": "one", "content": "one", "tool_call_id": "call_1"},
            {"role": "tool", "name": "two", "content": f"Error [tool_crashed]: {_ERROR}"},
        ],
    ),
    Row(
        provider="xai:grpc",
        response={
            "id": "1",
            "outputs": [{"finish_reason": "REASON_TOOL_CALLS", "message": _GRPC_MESSAGE}],
        },
        calls=[("call_1", "one", '{"x": 1}'), ("call_2", "two", "{}")],
        finish="REASON_TOOL_CALLS",
        assistant=[_GRPC_MESSAGE],
        messages=[
            {"role": "ROLE_TOOL", "tool_call_id": "call_1", "content": [{"text": "one"}]},
            {
                "role": "ROLE_TOOL",
                "tool_call_id": "call_2",
                "content": [{"text": f"Error [tool_crashed]: {_ERROR}"}],
            },
        ],
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
                    {
                        "toolResult": {
                            "toolUseId": "tooluse_2",
                            "content": [{"text": _ERROR}],
                            "status": "error",
                        }
                    },
                ],
            }
        ],
    ),
    Row(
        provider="mcp",
        response={
            "jsonrpc": "2.0",
            "id": 7,
            "method": "tools/call",
            "params": {"name": "one", "arguments": {"x": 1}},
        },
        calls=[("7", "one", {"x": 1})],
        finish=None,
        assistant=[],
        messages=[
            {
                "content": [{"type": "text", "text": "one"}],
                "isError": False,
                "structuredContent": {"result": "one"},
                "resultType": "complete",
            }
        ],
    ),
    Row(
        provider="json-schema",
        response=_PLAIN,
        calls=[("a", "one", {"x": 1}), ("b", "two", None)],
        finish=None,
        assistant=_PLAIN,
        messages=[
            {"id": "a", "name": "one", "result": "one"},
            {"id": "b", "name": "two", "error": _ERROR},
        ],
    ),
    Row(
        provider="openai-realtime",
        response={
            "type": "response.done",
            "event_id": "event_1",
            "response": {
                "id": "resp_1",
                "object": "realtime.response",
                "status": "completed",
                "output": _REALTIME_OUTPUT,
            },
        },
        calls=[("call_1", "one", '{"x": 1}'), ("call_2", "two", "{}")],
        finish="completed",
        assistant=[{"type": "conversation.item.create", "item": item} for item in _REALTIME_OUTPUT],
        messages=[
            {
                "type": "conversation.item.create",
                "item": {"type": "function_call_output", "call_id": "call_1", "output": "one"},
            },
            {
                "type": "conversation.item.create",
                "item": {
                    "type": "function_call_output",
                    "call_id": "call_2",
                    "output": f"Error [tool_crashed]: {_ERROR}",
                },
            },
        ],
    ),
    Row(
        provider="gemini-live",
        response={"toolCall": {"functionCalls": _LIVE_CALLS}},
        calls=[("function-call-1", "one", {"x": 1}), ("function-call-2", "two", {})],
        finish=None,
        assistant=[{"toolCall": {"functionCalls": _LIVE_CALLS}}],
        messages=[
            {
                "toolResponse": {
                    "functionResponses": [
                        {"id": "function-call-1", "name": "one", "response": {"output": "one"}},
                        {"id": "function-call-2", "name": "two", "response": {"error": _ERROR}},
                    ]
                }
            }
        ],
    ),
]
