"""A server that counts in UTF-16, as JavaScript does, cuts a character in two: the halves are one again."""

import json

import pytest

from toolshape import Conversation, Registry, tool


@tool
def note(text: str) -> str:
    """Take a note."""
    return text


HIGH, LOW = "\ud83e", "\uddc0"
CHEESE = "\U0001f9c0"


def openai(delta, finish=None):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(arguments, **more):
    return {"tool_calls": [{"index": 0, "function": {"arguments": arguments}, **more}]}


TEXTS = {
    "openai": [openai({"role": "assistant", "content": f"a{HIGH}"}), openai({"content": f"{LOW}b"}), openai({}, "stop")],
    "anthropic": [
        {"type": "message_start", "message": {"role": "assistant", "type": "message", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"a{HIGH}"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"{LOW}b"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ],
    "gemini": [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": f"a{HIGH}"}]}}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": LOW}, {"text": "b"}]}, "finishReason": "STOP"}]},
    ],
    "ollama": [
        {"message": {"role": "assistant", "content": f"a{HIGH}"}, "done": False},
        {"message": {"role": "assistant", "content": f"{LOW}b"}, "done": True, "done_reason": "stop"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("provider", TEXTS)
def test_halves_of_a_text_are_joined(provider):
    chat = Conversation(Registry([note]))
    chat.user("Go.")
    collector = chat.collector(provider)
    for event in json.loads(json.dumps(TEXTS[provider])):
        collector.feed(event)
    collector.close()
    assert collector.text == f"a{CHEESE}b"
    chat.dispatch(collector)
    assert chat.messages[-1].text == f"a{CHEESE}b"


def test_halves_in_arguments_are_joined():
    collector = Registry([note]).bind("openai").collector()
    begin = {**call('{"text": "a')["tool_calls"][0], "id": "c1", "type": "function"}
    begin["function"] = {**begin["function"], "name": "note"}
    for piece in (openai({"role": "assistant", "tool_calls": [begin]}), openai(call(HIGH)), openai(call(LOW)), openai(call('"}')), openai({}, "tool_calls")):  # fmt: skip
        collector.feed(piece)
    collector.close()
    assert [result.value for result in collector.plan().run()] == [f"a{CHEESE}"]


@pytest.mark.parametrize("arguments", [f'{{"text": "{HIGH}"}}', {"text": HIGH}])
def test_a_half_alone_is_explained_to_the_model(arguments):
    [result] = Registry([note]).dispatch({"name": "note", "arguments": arguments})
    assert result.error.code == "malformed_arguments"
    assert result.text.endswith("half of a surrogate pair")
