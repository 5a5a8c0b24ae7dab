"""What we send, against the types of mistralai, cohere, ollama, groq, xai-sdk and google-genai's interactions."""

import importlib
import json
import os
from types import ModuleType
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from rows import ROWS
from test_providers import forced, one, two
from zoo import CASES

from toolshape import Registry

REGISTRY = Registry(case.function for case in CASES.values())
ROW = {row.provider: row for row in ROWS}


def sdk(name: str) -> ModuleType:
    if os.environ.get("TOOLSHAPE_ALL_INSTALLED"):  # where all are promised, none is skipped
        return importlib.import_module(name)
    return pytest.importorskip(
        name, reason=f"{name} is not installed: pip install 'toolshape[sdks]'"
    )


def payloads(provider: str, strict: bool | str) -> list[Any]:
    return [tool.export(provider, strict=strict) for tool in REGISTRY]


def choices(provider: str, *asked: Any) -> list[Any]:
    return [
        REGISTRY.subset(names=["nested", "maps"]).request(provider, choice=word) for word in asked
    ]


@pytest.mark.parametrize("strict", [False, True])
def test_mistral(strict):
    """Nothing is dropped by the SDK's models; strictly, an unknown choice would be refused."""
    models = sdk("mistralai.client.models")
    for payload in payloads("mistral", strict):
        assert (
            models.Tool.model_validate(payload).model_dump(mode="json", exclude_unset=True)
            == payload
        )
    adapter = TypeAdapter(models.ChatCompletionRequestToolChoice)
    for request in choices("mistral", "auto", "none", "required", "nested", ["nested", "maps"]):
        adapter.validate_python(request["tool_choice"], strict=True)
    results = Registry([one, two]).dispatch(
        models.ChatCompletionResponse.model_validate(ROW["mistral"].response), provider="mistral"
    )
    assert [result.call.wire_name for result in results] == ["one", "two"]
    for message in results.messages:
        assert models.ToolMessage.model_validate(message).model_dump(exclude_unset=True) == message


def test_mistral_common():
    """The server's own request validator: names, ids, schemas, and that each call has its result."""
    validator = sdk("mistral_common.protocol.instruct.validator")
    request = sdk("mistral_common.protocol.instruct.request")
    errors = sdk("mistral_common.exceptions")
    serving = validator.ValidationMode.serving
    call = {
        "id": "FI5qQGzDE",
        "type": "function",
        "function": {"name": "one", "arguments": '{"x": 1}'},
    }
    other = {"id": "abcdefghi", "type": "function", "function": {"name": "two", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call, other]}
    results = Registry([one, two]).dispatch({"choices": [{"message": message}]}, provider="mistral")

    def body(messages: list[Any]) -> Any:
        said = {"model": "m", "messages": [{"role": "user", "content": "q"}, *messages]}
        tools = Registry([one, two]).request("mistral", choice="required")
        return request.ChatCompletionRequest.model_validate({**said, **tools})

    for version in ("V3", "V11", "V13"):
        check = getattr(validator, f"MistralRequestValidator{version}")(
            mode=serving
        ).validate_request
        check(body(results.turn))
        with pytest.raises(errors.MistralCommonException):
            check(body(results.turn[:-1]))
    check = validator.MistralRequestValidatorV13(mode=serving).validate_request
    said = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
    for strict in (False, True):
        for payload in payloads("mistral", strict):
            check(request.ChatCompletionRequest.model_validate({**said, "tools": [payload]}))


@pytest.mark.parametrize("strict", [False, True])
def test_cohere(strict):
    """Its models keep what they do not know, so the keys are compared with those that they do."""
    cohere = sdk("cohere")
    v2 = sdk("cohere.v2.types")
    for payload in payloads("cohere", strict):
        read = cohere.ToolV2.model_validate(payload)
        assert set(payload) == set(cohere.ToolV2.model_fields)
        assert set(payload["function"]) <= set(type(read.function).model_fields)
        assert json.loads(read.model_dump_json(exclude_unset=True)) == payload
    for request in choices("cohere", "auto", "none", "required", "nested"):
        assert request.get("tool_choice", "REQUIRED") in ("REQUIRED", "NONE")
    results = Registry([one, two]).dispatch(
        v2.V2ChatResponse.model_validate(ROW["cohere"].response)
    )
    assert [result.call.wire_name for result in results] == ["one", "two"]
    messages = TypeAdapter(cohere.types.ChatMessageV2)
    for message in results.turn:
        messages.validate_python(message)
    for message in results.messages:
        cohere.ToolChatMessageV2.model_validate(message)


def test_ollama():
    """Its client drops what it does not know, in silence: nothing of ours vanishes."""
    ollama = sdk("ollama")
    for payload in payloads("ollama", False):
        sent = ollama.Tool.model_validate(payload).model_dump(exclude_unset=True, by_alias=True)
        assert json.loads(json.dumps(sent)) == payload
    nested = REGISTRY["nested"].export("ollama:server")
    assert ollama.Tool.model_validate(nested).model_dump(exclude_unset=True) != nested
    results = Registry([one, two]).dispatch(
        ollama.ChatResponse.model_validate(ROW["ollama"].response)
    )
    assert [result.call.wire_name for result in results] == ["one", "two"]
    for message in results.turn:
        ollama.Message.model_validate(message)


@pytest.mark.parametrize("strict", [False, True])
def test_groq(strict):
    """Typed dictionaries, their lazy parts forced."""
    chat = sdk("groq.types.chat")
    tools = TypeAdapter(chat.ChatCompletionToolParam)
    for payload in payloads("groq", strict):
        assert forced(tools.validate_python(payload, strict=True)) == payload
    adapter = TypeAdapter(chat.ChatCompletionToolChoiceOptionParam)
    for request in choices("groq", "auto", "none", "required", "nested", ["nested", "maps"]):
        assert adapter.validate_python(request["tool_choice"]) == request["tool_choice"]
    results = Registry([one, two]).dispatch(
        chat.ChatCompletion.model_validate(ROW["groq"].response), provider="groq"
    )
    messages = TypeAdapter(chat.ChatCompletionMessageParam)
    for message in results.turn:
        forced(messages.validate_python(message))


@pytest.mark.parametrize("strict", [False, True])
def test_xai(strict):
    """Its protocol buffers refuse every field that they do not have."""
    proto = sdk("xai_sdk.proto").chat_pb2
    parse = sdk("google.protobuf.json_format").ParseDict
    for tool, payload in zip(REGISTRY, payloads("xai:grpc", strict), strict=True):
        read = parse(payload, proto.Tool())
        shown = tool.export("xai", strict=strict)["function"]
        assert json.loads(read.function.parameters) == shown["parameters"]
        assert (read.function.name, read.function.strict) == (shown["name"], strict)
    for request in choices("xai:grpc", "auto", "none", "required", "nested"):
        parse(request["tool_choice"], proto.ToolChoice())
    row = ROW["xai:grpc"]
    response = parse(row.response, proto.GetChatCompletionResponse())
    for form in (row.response, response, sdk("xai_sdk.chat").Response(response, 0)):
        results = Registry([one, two]).dispatch(form)
        assert [(result.call.id, result.call.wire_name) for result in results] == [
            ("call_1", "one"),
            ("call_2", "two"),
        ]
        for message in results.turn:
            parse(message, proto.Message())


def test_gemini_interactions():
    """Its models take unknown keys, so what they know is compared."""
    gi = pytest.importorskip(
        "google.genai.interactions", reason="this google-genai has no interactions"
    )
    function = TypeAdapter(gi.FunctionParam)
    for payload in payloads("gemini-interactions", False):
        assert function.validate_python(payload) == payload
    for request in choices(
        "gemini-interactions", "auto", "none", "required", "nested", ["nested", "maps"]
    ):
        gi.GenerationConfig.model_validate(request["generation_config"], strict=True)
    with pytest.raises(ValidationError):
        gi.GenerationConfig.model_validate({"tool_choice": "required"}, strict=True)
    results = Registry([one, two]).dispatch(
        gi.Interaction.model_validate(ROW["gemini-interactions"].response)
    )
    assert [result.call.arguments_raw for result in results] == [{"x": 1}, {}]
    for step in results.messages:
        gi.FunctionResultStep.model_validate(step)
