"""Who else says what is wrong with a request: the SDKs' own types, botocore's model with its patterns, mistral-common."""

import functools
import json
import re
from typing import Any

import anthropic.types
import botocore.loaders
import botocore.model
import botocore.validate
import cohere.types
import google.genai.types
import ollama
import openai.types.chat
import openai.types.responses
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from mistralai.client import models as mistral
from ollama._client import _copy_messages
from pydantic import TypeAdapter

MISTRAL_VERSIONS = ("v3", "v7", "v11", "v13", "v15")


def judged(provider: str, request: dict[str, Any], version: str = "v11") -> None:
    """Raise what the authority for a provider raises."""
    judge = JUDGES[provider]
    judge(request)
    if provider == "mistral":
        mistral_common(request, version)


def forced(value: Any) -> Any:
    """Walk into pydantic's lazy iterators, which check nothing until then."""
    if isinstance(value, dict):
        return {key: forced(item) for key, item in value.items()}
    if isinstance(value, (str, bytes, int, float, type(None))) or hasattr(value, "model_dump"):
        return value
    return [forced(item) for item in value]


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _openai(request: dict[str, Any]) -> None:
    for message in request["messages"]:
        forced(_adapter(openai.types.chat.ChatCompletionMessageParam).validate_python(message))


def _responses(request: dict[str, Any]) -> None:
    for item in request["input"]:
        forced(_adapter(openai.types.responses.ResponseInputItemParam).validate_python(item))


def _anthropic(request: dict[str, Any]) -> None:
    for message in request["messages"]:
        forced(_adapter(anthropic.types.MessageParam).validate_python(message))


def _gemini(request: dict[str, Any]) -> None:
    for content in request["contents"]:
        google.genai.types.Content.model_validate_json(json.dumps(content))


def _cohere(request: dict[str, Any]) -> None:
    for message in request["messages"]:
        forced(_adapter(cohere.types.ChatMessageV2).validate_python(message))


def _ollama(request: dict[str, Any]) -> None:
    for message in _copy_messages(
        request["messages"]
    ):  # as the client does: it wraps images, and validates
        assert isinstance(message, ollama.Message)


def _mistral(request: dict[str, Any]) -> None:
    kinds = {
        "assistant": mistral.AssistantMessage, "system": mistral.SystemMessage, "tool": mistral.ToolMessage,
        "user": mistral.UserMessage,
    }  # fmt: skip
    for message in request["messages"]:
        kinds[message["role"]].model_validate(message)


def mistral_common(request: dict[str, Any], version: str) -> None:
    """The validator that Mistral publishes, as its servers run it."""
    parsed: Any = ChatCompletionRequest.from_openai(request["messages"], model="model")
    get_validator(TokenizerVersion(version), ValidationMode.serving).validate_request(parsed)


@functools.cache
def _converse() -> Any:
    model = botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    return (
        botocore.model.ServiceModel(model, "bedrock-runtime")
        .operation_model("Converse")
        .input_shape
    )


def _bedrock(request: dict[str, Any]) -> None:
    request = {"modelId": "model", **request}
    report = botocore.validate.ParamValidator().validate(request, _converse())
    assert not report.has_errors(), report.generate_report()
    _patterns(request, _converse(), "")


def _patterns(value: Any, shape: Any, path: str) -> None:
    """The patterns and lengths, which botocore leaves to the service."""
    if shape.type_name == "structure" and isinstance(value, dict):
        for key, inner in value.items():
            if key in shape.members:
                _patterns(inner, shape.members[key], f"{path}.{key}")
    elif shape.type_name == "list":
        for at, inner in enumerate(value):
            _patterns(inner, shape.member, f"{path}[{at}]")
    elif shape.type_name == "string" and isinstance(value, str):
        assert len(value) <= shape.metadata.get("max", len(value)), (path, value)
        assert re.fullmatch(shape.metadata.get("pattern", ".*"), value, re.DOTALL), (path, value)
        assert not shape.metadata.get("enum") or value in shape.metadata["enum"], (path, value)


JUDGES: dict[str, Any] = {
    "openai": _openai,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "vertex": _gemini,
    "bedrock": _bedrock,
    "mistral": _mistral,
    "cohere": _cohere,
    "ollama": _ollama,
}
