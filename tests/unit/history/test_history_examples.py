"""The examples table: what is stored of one provider makes exactly this request of another."""

import copy
from collections import Counter

import pytest
from history_examples import EXAMPLES, PROVIDERS, with_ids

from toolshape import Conversation, Registry, tool


@tool
def find(city: str) -> str:
    """Find the weather of a city."""
    return city


@tool
def note(text: str) -> str:
    """Keep a note."""
    return text


TOOLS = Registry([find, note])
NAMES = [f"{example.source} to {example.target}: {example.name}" for example in EXAMPLES]


def asked(conversation, example):
    """What is sent, but for the tools, and the names of the rules that changed something."""
    request, tools = conversation.request(example.target), TOOLS.request(example.target)
    if example.target == "gemini":
        request["config"] = {
            key: value for key, value in request["config"].items() if key not in tools["config"]
        }
    sent = {
        key: value
        for key, value in request.items()
        if key not in tools or (key == "config" and value)
    }
    return sent, sorted({repair.rule for repair in conversation.repairs})


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_the_request_is_the_one_in_the_table(example):
    """Read and asked, and restored from JSON and asked, each with the repairs that the table names."""
    conversation = Conversation(TOOLS)
    conversation.read(copy.deepcopy(example.stored), example.source)
    restored = Conversation.from_json(conversation.to_json(), TOOLS)
    request, repairs = asked(conversation, example)
    assert request == with_ids(example.expected, request, {})
    assert repairs == sorted(example.repairs)
    assert asked(restored, example) == (request, repairs)
    findings = TOOLS.bind(example.target).check_messages(request)
    assert findings == []


def test_there_are_ten_rows_for_each_pair():
    """Of the six providers, and each with itself."""
    counts = Counter((example.source, example.target) for example in EXAMPLES)
    assert counts == {(source, target): 10 for source in PROVIDERS for target in PROVIDERS}
    for source in PROVIDERS:
        assert len({example.name for example in EXAMPLES if example.source == source}) == 10
