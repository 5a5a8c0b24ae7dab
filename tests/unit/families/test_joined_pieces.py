"""What a stream of Chat Completions brings in pieces that are neither text nor calls is there at its end."""

import copy

import pytest

from toolshape import Registry


def chunk(**delta):
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
    }


def message_of(provider, *chunks):
    collector = Registry().bind(provider).collector()
    for each in chunks:
        collector.feed(each)
    collector.close()
    return collector.plan().results.turn[0], collector


def test_an_audio_answer_is_joined():
    """As the SDK's own accumulator joins it; each piece names what it brings, and nothing else."""
    message, _ = message_of(
        "openai",
        chunk(role="assistant", audio={"id": "a1", "transcript": "Hel"}),
        chunk(audio={"transcript": "lo", "data": "AAA"}),
        chunk(audio={"data": "BBB"}),
        chunk(audio={"expires_at": 1}),
    )
    assert message["audio"] == {
        "id": "a1", "transcript": "Hello", "data": "AAABBB", "expires_at": 1
    }  # fmt: skip


THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}


@pytest.mark.parametrize("provider", ["mistral", "openai"])
@pytest.mark.parametrize(
    ("pieces", "content"),
    [
        ([[THINKING], "Hel", "lo"], [THINKING, {"type": "text", "text": "Hello"}]),
        (["Hello", [THINKING]], [{"type": "text", "text": "Hello"}, THINKING]),
        (["", [THINKING], "", "Hello"], [THINKING, {"type": "text", "text": "Hello"}]),
        (["Hel", "lo"], "Hello"),
    ],
)
def test_parts_and_text_are_kept_in_their_order(provider, pieces, content):
    """Mistral streams its thinking as parts, and its answer as text."""
    chunks = [chunk(content=piece) for piece in pieces]
    message, collector = message_of(provider, chunk(role="assistant"), *chunks)
    assert message["content"] == content
    assert collector.text == ("" if content == [THINKING] else "Hello")


def test_an_event_that_was_fed_stays_as_it_came():
    """Observers get the events, and a trace replays them: nothing may grow in them."""
    events = [
        chunk(role="assistant", content=[{"type": "text", "text": "a"}], audio={"data": "A"}),
        chunk(content="b", audio={"data": "B"}),
        chunk(content=[THINKING, {"type": "text", "text": "c"}]),
        chunk(content="d"),
    ]
    as_they_came = copy.deepcopy(events)
    message, _ = message_of("mistral", *events)
    assert message["content"] == [
        {"type": "text", "text": "ab"}, THINKING, {"type": "text", "text": "cd"}
    ]  # fmt: skip
    assert message["audio"] == {"data": "AB"}
    assert events == as_they_came


def test_what_is_repeated_is_not_joined():
    """Results of a content filter come again with each chunk, as texts that do not grow."""
    safe = {"hate": {"filtered": False, "severity": "safe"}}
    message, _ = message_of(
        "openai",
        chunk(role="assistant", content="a", content_filter_results=safe),
        chunk(content="b", content_filter_results=safe),
    )
    assert (message["content"], message["content_filter_results"]) == ("ab", safe)
