"""What we send, against the types and models of the providers' own SDKs; lenient and strict, over the whole zoo."""

import re
from typing import Any

import anthropic.types
import botocore.loaders
import botocore.model
import botocore.validate
import mcp_types._v2025_11_25 as mcp_2025
import mcp_types._v2026_07_28 as mcp_2026
import openai.types.chat
import openai.types.responses
import pytest
from pydantic import TypeAdapter
from rows import ROWS
from test_providers import forced, one, two
from zoo import CASES

from toolshape import Registry
from toolshape._families import get
from toolshape._tools.tool import as_tool

genai = pytest.importorskip(
    "google.genai.types", reason="google-genai does not install beside this pydantic"
)
REGISTRY = Registry(case.function for name, case in CASES.items() if name != "many_optionals")
SHAPES = (
    botocore.model.ServiceModel(
        botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2", "2023-09-30")
    )
    .operation_model("Converse")
    .input_shape.members
)


def adapter(kind: Any):
    checked = TypeAdapter(kind)
    return lambda payload: forced(checked.validate_python(payload))


def bedrock_tool(payload: Any) -> Any:
    bedrock(SHAPES["toolConfig"].members["tools"].member, payload)
    return payload


def bedrock_message(payload: Any) -> Any:
    bedrock(SHAPES["messages"].member, payload)
    return payload


def bedrock(shape: Any, payload: Any) -> None:
    """Botocore's validator, and the pattern and max that it skips."""
    report = botocore.validate.ParamValidator().validate(payload, shape)
    assert not report.has_errors(), report.generate_report()
    for name, member in getattr(shape, "members", {}).items():
        if name in payload and member.type_name in ("structure", "string"):
            value = payload[name]
            if (
                member.type_name == "structure"
                and isinstance(value, dict)
                and not member.metadata.get("document")
            ):
                bedrock(member, value)
            elif member.type_name == "string":
                assert re.fullmatch(member.metadata.get("pattern", ".*"), value, re.DOTALL), (
                    name,
                    value,
                )
                assert len(value) <= member.metadata.get("max", len(value)), (name, value)


def gemini_tool(payload: Any) -> Any:
    return genai.Tool.model_validate(payload)


TOOLS = {
    "openai": adapter(openai.types.chat.ChatCompletionToolUnionParam),
    "openai-responses": adapter(openai.types.responses.FunctionToolParam),
    "anthropic": adapter(anthropic.types.ToolParam),
    "gemini": gemini_tool,
    "gemini-openapi": gemini_tool,
    "bedrock": bedrock_tool,
    "mcp": lambda entry: (mcp_2026.Tool.model_validate(entry), mcp_2025.Tool.model_validate(entry)),
    "mcp:2026-07-28": mcp_2026.Tool.model_validate,
    "mcp:2025-11-25": mcp_2025.Tool.model_validate,
}
MESSAGES = {
    "openai-responses": adapter(openai.types.responses.ResponseInputItemParam),
    "gemini": genai.Content.model_validate,
    "gemini-openapi": genai.Content.model_validate,
    "bedrock": bedrock_message,
    "mcp": lambda value: (
        mcp_2026.CallToolResult.model_validate(value),
        mcp_2025.CallToolResult.model_validate(value),
    ),
    "mcp:2026-07-28": mcp_2026.CallToolResult.model_validate,
}


@pytest.mark.parametrize("strict", [False, "auto", True])
@pytest.mark.parametrize("provider", TOOLS)
def test_tools(provider, strict):
    """Every function of the zoo, as each provider's own types have it."""
    if strict is True and provider.startswith("mcp"):
        pytest.skip("MCP has no strict form")
    found = get(provider)
    for each in REGISTRY:
        for payload in found.request.gather([each.export(provider, strict=strict)]):
            TOOLS[provider](payload)


def test_gemini_config():
    """A whole request of google-genai, with the choice in it."""
    for choice in (None, "auto", "none", "required", "nested"):
        config = REGISTRY.request("gemini-openapi", choice=choice, strict=True)["config"]
        genai.GenerateContentConfig.model_validate(config)
    mixed = REGISTRY.request("gemini", native=[{"googleSearch": {}}])["config"]
    assert (
        genai.GenerateContentConfig.model_validate(
            mixed
        ).tool_config.include_server_side_tool_invocations
        is True
    )
    config = SHAPES["toolConfig"]
    for choice in (None, "auto", "required", "nested"):
        bedrock(config, REGISTRY.request("bedrock", choice=choice)["toolConfig"])


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.provider in MESSAGES], ids=lambda row: row.provider
)
def test_turns(row):
    """What goes back, results and errors, passes the types."""
    turn = Registry([one, two]).dispatch(row.response, provider=row.provider).turn
    assert turn
    for message in turn:
        MESSAGES[row.provider](message)


def test_gemini_sdk_objects():
    """A response object of google-genai reads as the JSON it came from."""
    row = next(row for row in ROWS if row.provider == "gemini")
    response = genai.GenerateContentResponse.model_validate(row.response)
    results = Registry([one, two]).dispatch(response)
    assert [(result.call.wire_name, result.call.arguments_raw) for result in results] == [
        ("one", {"x": 1}),
        ("two", None),
    ]
    for message in results.turn:
        genai.Content.model_validate(message)


def test_the_schemas_that_mcp_requires():
    """The root is an object said to be one, whatever the function."""
    for case in CASES.values():
        payload = as_tool(case.function).export("mcp")
        assert payload["inputSchema"]["type"] == "object"
        assert "$ref" not in str(payload["inputSchema"]) or case.function.__name__ in (
            "recursive",
            "anything",
            "recursive_map",
            "mutual",
            "mutually_recursive",
        )
