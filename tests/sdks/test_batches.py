"""What is written for batches is judged by the SDKs' own types, and results are read as their objects, too.

The SDKs of OpenAI's form have no type for a line, so its body is judged, without unknown keys.
"""

import json
from typing import Any

import anthropic.types.messages as anthropic_types
import mistralai.client.models as mistral_types
import openai.types.chat.completion_create_params as chat_types
import openai.types.responses
import openai.types.responses.response_create_params as responses_types
import pytest
from anthropic.types.messages.batch_create_params import Request
from google.genai import types as genai_types
from judges import forced, judged
from pydantic import TypeAdapter, ValidationError
from zoo import CASES

import toolshape

TOOLS = toolshape.Registry([case.function for case in CASES.values()][:100])
USER = [{"role": "user", "content": "hi"}]
CHAT = chat_types.CompletionCreateParamsNonStreaming
RESPONSES = responses_types.ResponseCreateParamsNonStreaming


def judge(kind: Any, value: Any) -> None:
    """Validate without unknown keys, which a TypedDict alone would drop.

    pydantic-core 2.46 panics at a whole request of Responses, so that is judged by its parts.
    """
    if kind is RESPONSES:
        assert value.keys() <= {*RESPONSES.__required_keys__, *RESPONSES.__optional_keys__}
        judged("openai-responses", value)
        for entry in value["tools"]:
            forced(TypeAdapter(openai.types.responses.ToolParam).validate_python(entry))
        return
    forced(TypeAdapter(list[kind], config={"extra": "forbid"}).validate_python([value]))


@pytest.mark.parametrize("choice", [None, "required"])
@pytest.mark.parametrize(
    ("provider", "body", "kind"),
    [
        ("openai", {"messages": USER}, CHAT),
        ("azure", {"messages": USER}, CHAT),
        ("groq", {"messages": USER}, CHAT),
        ("cerebras", {"messages": USER}, CHAT),
        ("together", {"messages": USER}, CHAT),
        ("openai-responses", {"input": USER}, RESPONSES),
    ],
)
def test_openais_kin(provider: str, body: Any, kind: Any, choice: str | None) -> None:
    bound = TOOLS.bind(provider)
    entry = bound.batch_line("r1", {**bound.request(choice=choice), **body, "model": "m"})
    judge(kind, json.loads(json.dumps(entry))["body"])
    with pytest.raises((ValidationError, AssertionError)):
        judge(kind, {**entry["body"], "tols": []})


def test_anthropic() -> None:
    bound = TOOLS.bind("anthropic")
    request = {**bound.request(), "model": "m", "max_tokens": 9, "messages": USER}
    entry = bound.batch_line("r1", request)
    judge(Request, entry)
    with pytest.raises(ValidationError):
        judge(Request, {**entry, "method": "POST"})


def test_mistral() -> None:
    bound = TOOLS.bind("mistral")
    entry = bound.batch_line("r1", {**bound.request(), "messages": USER})
    mistral_types.BatchRequest.model_validate(entry)
    mistral_types.ChatCompletionRequest.model_validate({"model": "m", **entry["body"]})


def test_gemini() -> None:
    bound = TOOLS.bind("gemini")
    entry = bound.batch_line("r1", {**bound.request(), "contents": "hi"})
    assert genai_types.InlinedRequest.model_validate(entry).metadata == {"key": "r1"}


@pytest.mark.parametrize(
    "result",
    [
        {"type": "errored", "error": {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}},
        {"type": "canceled"},
        {"type": "expired"},
    ],
    ids=lambda result: result["type"],
)  # fmt: skip
def test_an_error_is_told_alike_for_an_object_and_for_its_json(result: Any) -> None:
    line = {"custom_id": "r1", "result": result}
    made = anthropic_types.MessageBatchIndividualResponse.model_validate(line)
    told = [
        (read.custom_id, str(read.error))
        for read in TOOLS.bind("anthropic").read_batch(
            [line, json.dumps({**line, "custom_id": "r2"})]
        )
    ]
    [of_object] = TOOLS.bind("anthropic").read_batch([made])
    assert isinstance(of_object.error, toolshape.ResponseError)
    assert [("r1", str(of_object.error)), ("r2", told[0][1])] == told
    assert result["type"] in told[0][1]
