"""Recorded conversations: no finding where the provider answered 200, read and written back equal, sent on to others."""

import collections
import copy
import os

import pytest
from shared import corpus
from test_exchanges import anything_named, reader, response_of

from toolshape import Conversation, ResponseError, explain
from toolshape._families import get
from toolshape.messages import ToolCallPart

OTHERS = (
    "openai", "openai-responses", "anthropic", "gemini", "vertex", "gemini-interactions", "bedrock", "mistral", "cohere",
    "ollama", "deepseek", "groq", "huggingface", "xai:grpc",
)  # fmt: skip
TARGETS = (
    OTHERS
    if os.environ.get("TOOLSHAPE_EVERY")
    else ("openai", "anthropic", "gemini", "bedrock", "mistral")
)
FILES = ("provider_exchanges.jsonl", "provider_exchanges_stream.jsonl")
# What stands in a recorded request in place of a real id, so that no rule on ids can be held against it.
REDACTED = "REDACTED"
# Rows of other kinds: the recorder left the request out, cut it, or kept it in frames of a socket.
TRIMMED = "[trimmed]"


def provider_of(row):
    return "vertex" if row["surface"] == "gemini" and row["provider"] == "vertex" else reader(row)


def requests(file):
    """(line, row, request) of those with a history in them."""
    for line, row in enumerate(corpus(file), 1):
        request = row["request"]
        if not isinstance(request, dict) or row["surface"] not in KEYS:
            continue
        if request.get(KEYS[row["surface"]]) and request[KEYS[row["surface"]]] != TRIMMED:
            yield line, row, {key: value for key, value in request.items() if value != TRIMMED}


KEYS = {
    "openai-chat": "messages", "anthropic-messages": "messages", "bedrock-invoke": "messages", "writer": "messages",
    "bedrock-converse": "messages", "cohere-v2": "messages", "ollama-native": "messages", "openai-responses": "input",
    "gemini": "contents", "gemini-interactions": "input", "xai-grpc (protobuf shown as JSON)": "messages",
}  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_recorded_histories(file):
    """Each was answered with 200: nothing to find, and every message goes back as the object that it was."""
    counts = collections.Counter()
    for line, row, request in requests(file):
        bound = anything_named({"x"}).bind(provider_of(row))
        found = [
            check_message
            for check_message in bound.check_messages(request, model=row["model"])
            if REDACTED not in check_message.message
        ]
        assert not found, (line, row["provider"], found)
        before = copy.deepcopy(request)
        messages = request[KEYS[row["surface"]]]
        if isinstance(messages, list) and not bound.check_messages(request, model=row["model"]):
            repaired = bound.repair_messages(request, model=row["model"])
            assert all(
                message is other for message, other in zip(repaired.messages, messages, strict=True)
            )
        assert request == before
        counts[row["surface"]] += 1
    print(f"\n{sum(counts.values())} histories: {dict(counts)}")
    assert sum(counts.values()) > 300


@pytest.mark.parametrize("file", FILES)
def test_recorded_conversations_go_on_elsewhere(file):
    """The request, the response and the results that followed it, as far as they were recorded: no finding anywhere."""
    counts = collections.Counter()
    for line, row, request in requests(file):
        provider = provider_of(row)
        conversation = _conversation(row, request, provider)
        for other in TARGETS:
            sent = conversation.request(other, model="some-model")
            found = conversation.tools.bind(other).check_messages(sent, model="some-model")
            assert not found, (line, provider, other, found)
        own = conversation.request(provider, model=row["model"])[get(provider).histories.key]
        joins_roles = get(provider).histories.rule(
            "same_role", None
        )  # the next question joins the results
        if not conversation.repairs and not joins_roles:
            given = [
                item.raw
                for item in conversation
                if item.raw is not None and isinstance(item.raw, dict)
            ]
            assert [item for item in given if "role" in item or "type" in item] == [
                item for item in own if item in given
            ], line
        counts[provider] += 1
    print(f"\n{sum(counts.values())} conversations at {len(TARGETS)} other providers")


def _conversation(row, request, provider):
    """What was recorded, and a next question, so that it can be sent."""
    conversation = Conversation(anything_named({"x"}))
    conversation.read(request, provider, model=row["model"])
    names = {
        part.wire_name
        for item in conversation
        for part in item.parts
        if isinstance(part, ToolCallPart)
    }
    names |= {call["name"] for call in row["calls"] if call["name"]}
    conversation = Conversation(anything_named({name for name in names if name} or {"x"}))
    conversation.read(request, provider, model=row["model"])
    if "stream" not in row["id"] and isinstance(row["response_body"], (str, dict)):
        try:
            spoken = conversation.tools.bind(provider).plan(response_of(row)).results
        except ResponseError:  # a stream, which tests/corpora/test_streams.py reads
            spoken = None
        if spoken is not None and spoken._assistant:
            conversation.read(list(spoken._assistant), provider, model=row["model"])
            if (
                row.get("next_request_tool_results")
                and conversation.messages[-1].role == "assistant"
            ):
                conversation.read(_results(row, provider), provider, model=row["model"])
    conversation.user("And now?")
    return conversation


def _results(row, provider):
    """The results of the next request, as messages."""
    given = [
        next_request_tool_result
        for next_request_tool_result in row["next_request_tool_results"]
        if isinstance(next_request_tool_result, dict)
    ]
    if provider in ("anthropic", "bedrock"):
        return [{"role": "user", "content": given}]
    if provider in ("gemini", "vertex"):
        return [{"role": "user", "parts": given}]
    return given


LIMITS, REQUESTS, HISTORIES = (10, 11, 12, 13, 14), (15, 16), (19, 20, 35, 64)
MODELS = (21, 22, 23, 24, 67)
KINDS = {
    **dict.fromkeys(LIMITS, "limits"), **dict.fromkeys(REQUESTS, "request"), **dict.fromkeys(HISTORIES, "history"),
    **dict.fromkeys(MODELS, "model"),
}  # fmt: skip


def test_recorded_rejections_are_explained():
    """Each of the right kind; a refused schema names its tool or place where the text does."""
    for number, row in enumerate(corpus("provider_rejections.jsonl")):
        failure = explain(row["error_body"])
        assert failure.kind == KINDS.get(number, "schema"), (number, failure)
        assert failure.retryable is (failure.kind == "model")
        assert failure.message
        if "Invalid schema for function" in str(row["error_body"]):
            assert failure.tool, (number, failure)
