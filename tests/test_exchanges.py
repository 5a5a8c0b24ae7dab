"""Recorded responses of the real providers dispatch: the calls that were recorded, in messages that the SDKs take."""

import json
from typing import Any

import pytest
from shared import corpus
from test_providers import MESSAGE_TYPES, RESPONSE_TYPES, forced

from toolshape import Registry, ResponseError, tool

SDK_VENDORS = ("openai", "azure", "anthropic")
SURFACES = {"openai-chat": "openai", "anthropic-messages": "anthropic"}


def recorded(surface: str) -> list[dict[str, Any]]:
    rows = corpus("provider_exchanges.jsonl")
    return [
        row for row in rows if row["surface"] == surface and row["http_status"] == 200 and row["body_kind"] == "json"
    ]


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


@pytest.mark.parametrize("surface", SURFACES)
def test_recorded_responses(surface):
    """Ids, names and arguments equal the recorded ones, and reach the function; the turn passes the SDK's types."""
    provider = SURFACES[surface]
    seen = 0
    unlike: list[tuple[str, str]] = []
    refused: list[str] = []
    for row in recorded(surface):
        registry = anything_named({call["name"] for call in row["calls"] if call["name"]})
        try:
            results = registry.dispatch(row["response_body"], provider=provider)
        except ResponseError as error:
            unlike.append((row["id"], str(error)))
            continue
        ours = [(result.call.id, result.call.wire_name, as_json(result.call.arguments_raw)) for result in results]
        # A gateway fills the legacy function_call with an empty name: the recorder listed it, but it is no call.
        real = [call for call in row["calls"] if call["name"]]
        theirs = [(call["id"] or "", call["name"], as_json(call["arguments_raw"])) for call in real]
        if ours != theirs:
            unlike.append((row["id"], f"{ours} != {theirs}"))
            continue
        seen += 1
        for result, (_, _, arguments) in zip(results, theirs, strict=True):
            if isinstance(arguments, dict):
                assert json.loads(result.unwrap()) == arguments
            else:
                assert result.error.code in ("truncated_arguments", "malformed_arguments")
                refused.append(row["id"])
        # Vendors of the family leave out what the SDK's types require ("type" of a call); their turn is theirs.
        for message in results.turn if row["provider"] in SDK_VENDORS else results.messages:
            forced(MESSAGE_TYPES[provider].validate_python(message))
    print(f"{surface}: {seen} rows alike, {len(unlike)} unlike, {len(refused)} calls that are not JSON")
    assert not unlike
    assert seen > 50


@pytest.mark.parametrize("surface", SURFACES)
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
        assert [result.call[:4] for result in results] == [result.call[:4] for result in plain]
        assert [message for message in results.messages] == [message for message in plain.messages]
        for message in results.turn:
            forced(MESSAGE_TYPES[provider].validate_python(message))
        seen += 1
    assert seen > 20
