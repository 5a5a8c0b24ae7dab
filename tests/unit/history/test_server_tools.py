"""The provider's own calls and results: what is sent holds pairs, however often a conversation asked before."""

import copy
from random import Random

import pytest

from toolshape import Conversation, HistoryError, Registry, tool


@tool
def find(q: str = "") -> str:
    """Find."""
    return q


TOOLS = Registry([find])
GO = {"role": "user", "content": "Go."}


def drawn(random):
    """A history in which the halves of the provider's own calls stand anywhere."""
    messages, count = [GO], 0
    for _ in range(random.randint(1, 6)):
        if random.random() < 0.4:
            messages.append(GO)
            continue
        blocks = []
        for kind in random.choices("suat", k=random.randint(1, 3)):
            count += 1
            own = f"srvtoolu_{random.randint(0, 3)}"
            blocks.append(
                {
                    "s": {"type": "server_tool_use", "id": own, "name": "web_search", "input": {}},
                    "a": {"type": "web_search_tool_result", "tool_use_id": own, "content": []},
                    "u": {"type": "tool_use", "id": f"toolu_{count}", "name": "find", "input": {}},
                    "t": {"type": "text", "text": "Ok."},
                }[kind]
            )
        messages.append({"role": "assistant", "content": blocks})
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "7"}
            for block in blocks
            if block["type"] == "tool_use"
        ]
        if results and random.random() < 0.8:
            messages.append({"role": "user", "content": results})
    return messages


def request_of(conversation):
    try:
        return conversation.request("anthropic")["messages"]
    except HistoryError as error:
        return [problem.rule for problem in error.problems]


def halves(messages):
    """For each turn, the calls of the provider's own without a later result, and the results without an earlier call."""
    turns, calls, waiting, orphans = [], set(), [], set()
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        if message["role"] == "user" and not any(
            block["type"] == "tool_result" for block in blocks
        ):
            turns.append((waiting, orphans))
            calls, waiting, orphans = set(), [], set()
        for block in blocks:
            if block["type"] == "server_tool_use":
                calls.add(block["id"])
                waiting.append(block["id"])
            elif block["type"] == "web_search_tool_result":
                answered = block["tool_use_id"]
                orphans |= {answered} - calls
                if answered in waiting:
                    waiting.remove(answered)
    return turns, (waiting, orphans)


@pytest.mark.parametrize("seed", range(300))
def test_the_halves_that_are_sent_have_their_other_half(seed):
    random = Random(seed)
    stored = drawn(random)
    grown = Conversation(TOOLS)
    for message in stored:
        grown.read([copy.deepcopy(message)], "anthropic")
        if random.random() < 0.6:
            request_of(grown)
    whole = Conversation(TOOLS)
    whole.read(copy.deepcopy(stored), "anthropic")
    sent = request_of(grown)
    assert sent == request_of(whole)
    if not isinstance(sent[0], str):
        closed, (_, orphans) = halves(sent)
        assert not orphans
        assert all(not waiting and not lost for waiting, lost in closed)
