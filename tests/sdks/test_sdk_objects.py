"""Objects of the SDKs, where JSON may stand as well."""

import json

import anthropic.types
import cohere
import mcp_types._v2026_07_28 as mcp
import ollama
import openai.types.chat
import openai.types.responses
import pytest
from google.genai import types as genai

from toolshape import Registry, Tool, tool

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_sdk_objects_are_definitions():
    """What an MCP client lists."""
    listed = mcp.Tool.model_validate(
        {"name": "w", "inputSchema": PARAMETERS, "annotations": {"readOnlyHint": True}}
    )
    made = Tool.from_definition(listed)
    assert (made.input_schema, made.effects) == (PARAMETERS, {"read"})


def test_parsed_responses_go_back_as_they_came():
    """What the SDK's ``parse`` adds is no part of a request."""
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    }
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    parsed = openai.types.chat.ParsedChatCompletion[None].model_validate(body)
    parsed.choices[0].message.parsed = None
    parsed.choices[0].message.tool_calls[0].function.parsed_arguments = {"a": 1}
    results = Registry([tool(name="f")(lambda: 1)]).dispatch(parsed)
    assert results.turn[0] == message


def _of_openai():
    chat = openai.types.chat
    function = {"name": "f", "arguments": "{}"}
    call = {"id": "c", "type": "function", "function": function}
    message = chat.ChatCompletionMessage(role="assistant", tool_calls=[call])
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    return chat.ChatCompletion(
        id="x", object="chat.completion", created=1, model="m", choices=[choice]
    )


def _of_responses():
    call = openai.types.responses.ResponseFunctionToolCall(
        type="function_call", call_id="c", name="f", arguments="{}"
    )
    return openai.types.responses.Response(
        id="r",
        object="response",
        created_at=1,
        model="m",
        status="completed",
        output=[call],
        parallel_tool_calls=True,
        tool_choice="auto",
        tools=[],
    )


def _of_anthropic():
    types = anthropic.types
    call = types.ToolUseBlock(type="tool_use", id="t", name="f", input={})
    usage = types.Usage(input_tokens=1, output_tokens=1)
    return types.Message(
        id="m",
        type="message",
        role="assistant",
        model="c",
        content=[call],
        stop_reason="tool_use",
        usage=usage,
    )


def _of_gemini():
    part = genai.Part(function_call=genai.FunctionCall(name="f", args={}))
    content = genai.Content(role="model", parts=[part])
    return genai.GenerateContentResponse(
        candidates=[genai.Candidate(content=content, finish_reason="STOP")]
    )


def _of_ollama():
    call = ollama.Message.ToolCall(
        function=ollama.Message.ToolCall.Function(name="f", arguments={})
    )
    message = ollama.Message(role="assistant", content="", tool_calls=[call])
    return ollama.ChatResponse(model="m", done=True, done_reason="stop", message=message)


def _of_cohere():
    """Its types have defaults for the role and the type, which a dump of what was set leaves out."""
    call = cohere.ToolCallV2(id="c", function=cohere.ToolCallV2Function(name="f", arguments="{}"))
    message = cohere.AssistantMessageResponse(tool_calls=[call])
    return cohere.V2ChatResponse(id="x", finish_reason="TOOL_CALL", message=message)


@pytest.mark.parametrize(
    ("provider", "make"),
    [
        ("openai", _of_openai), ("openai-responses", _of_responses), ("anthropic", _of_anthropic), ("gemini", _of_gemini),
        ("ollama", _of_ollama), ("cohere", _of_cohere),
    ],
)  # fmt: skip
def test_objects_that_an_app_makes_itself_are_read(provider, make):
    """As a test of an app does; the assistant's message is JSON, and goes back as the role that it is."""
    results = Registry([tool(name="f")(lambda: 1)]).bind(provider).dispatch(make())
    assert [result.value for result in results] == [1]
    assert type(results[0].call.raw) is dict
    assert json.dumps(results.turn)
