"""Recorded responses of the real providers: the calls that were recorded, in messages that the SDKs take."""

import collections
import json
import re
from typing import Any

import pytest
from shared import corpus
from test_providers import MESSAGE_TYPES, RESPONSE_TYPES, forced

from toolshape import Registry, tool

# Each surface, and who reads it; vendors that have a shape of their own are read by it.
SURFACES = {
    "openai-chat": "openai",
    "openai-responses": "openai-responses",
    "anthropic-messages": "anthropic",
    "bedrock-invoke": "anthropic",
    "bedrock-converse": "bedrock",
    "gemini": "gemini",
    "gemini-interactions": "gemini-interactions",
    "cohere-v2": "cohere",
    "ollama-native": "ollama",
    "writer": "openai",
    "xai-grpc (protobuf shown as JSON)": "xai:grpc",
}
VENDORS = (
    "mistral",
    "groq",
    "deepseek",
    "azure",
    "xai",
    "openrouter",
    "huggingface",
    "cerebras",
    "copilot",
)
TYPED = ("openai", "azure", "anthropic")
MADE_UP = re.compile("[0-9a-z]{9}")


def recorded(surface: str) -> list[dict[str, Any]]:
    rows = corpus("provider_exchanges.jsonl")
    return [row for row in rows if row["surface"] == surface and row["http_status"] in (200, None)]


def response_of(row: dict[str, Any]) -> Any:
    """The body; gRPC was recorded as a sample of it."""
    body = row["response_body"]
    if row["surface"].startswith("xai-grpc"):
        return (json.loads(body) if isinstance(body, str) else body)["response_sample"]["json"]
    return body


def reader(row: dict[str, Any]) -> str:
    if row["surface"] == "openai-chat" and row["provider"] in VENDORS:
        return row["provider"]
    return SURFACES[row["surface"]]


def anything_named(names: set[str]) -> Registry:
    def accept(**arguments: Any) -> str:
        return json.dumps(arguments, sort_keys=True)

    return Registry(tool(name=name)(accept) for name in sorted(names))


def as_json(arguments: Any) -> Any:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except ValueError:
            return arguments
    return {} if arguments is None else arguments


def real(row: dict[str, Any]) -> list[dict[str, Any]]:
    """A gateway fills the legacy function_call with an empty name: the recorder listed it, but it is no call."""
    return [call for call in row["calls"] if call["name"]]


@pytest.mark.parametrize("surface", SURFACES)
def test_recorded_responses(surface):
    """Ids, names and arguments equal the recorded ones, and reach the function; answers pass the SDK's types."""
    counts: collections.Counter[str] = collections.Counter()
    for row in recorded(surface):
        provider = reader(row)
        registry = anything_named({call["name"] for call in real(row)})
        results = registry.dispatch(response_of(row), provider=provider)
        theirs = [(call["id"], call["name"], as_json(call["arguments_raw"])) for call in real(row)]
        ours = [
            (result.call.id, result.call.wire_name, as_json(result.call.arguments_raw))
            for result in results
        ]
        assert [said[1:] for said in ours] == [said[1:] for said in theirs], row["id"]
        for (our_id, *_), (their_id, *_) in zip(ours, theirs, strict=True):
            assert our_id == their_id if their_id else MADE_UP.fullmatch(our_id), row["id"]
        counts["rows"] += 1
        for result, (_, _, arguments) in zip(list(results), theirs, strict=True):
            if result.ok:
                assert json.loads(result.value) == arguments
                counts["calls that ran"] += 1
            else:
                is_whole = isinstance(arguments, dict) and results.finish != "length"
                assert result.error.code in ("truncated_arguments", "malformed_arguments")
                assert not is_whole, row["id"]
                counts["calls that were cut off or are no JSON"] += 1
        assert len(results.messages) == 0 or results.messages[0]
        # Vendors of the family leave out what the SDK's types require ("type" of a call); their turn is theirs.
        for message in results.turn if row["provider"] in TYPED else results.messages:
            if provider in MESSAGE_TYPES:
                forced(MESSAGE_TYPES[provider].validate_python(message))
    print(surface, dict(counts))
    assert counts["calls that ran"]


# Where the next request holds something else, and why.
OTHERWISE = {
    "b46a65b79eb9": "the client answered one of four calls",
    "8db591abfdf3": "the conversation went on at Anthropic",
    "fbb9d0eca545": "the conversation went on at Gemini",
}


@pytest.mark.parametrize("surface", SURFACES)
def test_recorded_answers(surface):
    """Where the next request holds the results, ours are among them in the same shape, linked to the same calls."""
    seen = 0
    unlike = set()
    for row in recorded(surface):
        answers = row.get("next_request_tool_results")  # of the whole history, at some
        if not answers:
            continue
        registry = anything_named({call["name"] for call in real(row)})
        ours = registry.dispatch(response_of(row), provider=reader(row)).messages
        theirs = collections.Counter(shape for answer in answers for shape in shapes(answer))
        if collections.Counter(shape for our in ours for shape in shapes(our)) - theirs:
            unlike.add(row["id"])
        seen += 1
    print(surface, seen)
    assert unlike <= OTHERWISE.keys()


def shapes(message: Any) -> list[tuple[str, Any]]:
    """What links each result in a message to its call, in any family."""
    if "tool_call_id" in message:
        return [("tool", message["tool_call_id"])]
    if "call_id" in message:
        return [(message.get("type", ""), message["call_id"])]
    if "tool_use_id" in message:
        return [("tool_result", message["tool_use_id"])]
    if "toolResult" in message:
        return [("toolResult", message["toolResult"]["toolUseId"])]
    response = message.get("functionResponse") or message.get("function_response")
    if response:  # the recorded clients left ids out that they were given
        return [("functionResponse", response["name"])]
    inner = (
        message.get("content")
        if isinstance(message.get("content"), list)
        else message.get("parts", ())
    )
    return [shape for item in inner if isinstance(item, dict) for shape in shapes(item)]


@pytest.mark.parametrize("surface", ["openai-chat", "anthropic-messages"])
def test_recorded_responses_as_sdk_objects(surface):
    """The same through the SDK's own response types."""
    provider = SURFACES[surface]
    seen = 0
    for row in recorded(surface):
        if row["provider"] not in ("openai", "anthropic") or not row["calls"]:
            continue
        registry = anything_named({call["name"] for call in row["calls"]})
        response = RESPONSE_TYPES[provider].model_validate_json(row["response_body"])
        results = registry.dispatch(response)
        plain = registry.dispatch(row["response_body"])
        assert [result.call[1:4] for result in results] == [result.call[1:4] for result in plain]
        if all(call["id"] for call in row["calls"]):
            assert results.messages == plain.messages
        for message in results.turn:
            forced(MESSAGE_TYPES[provider].validate_python(message))
        seen += 1
    assert seen > 20
