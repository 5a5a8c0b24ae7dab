"""Streams in Cohere's form, as an emulator and gateways send them."""

import pytest

from toolshape import Conversation, Registry, tool


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return city


def content(kind, **piece):
    return {"type": kind, "index": 0, "delta": {"message": {"content": piece}}}


START = {"type": "message-start", "delta": {"message": {"role": "assistant"}}}
END = {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}


@pytest.mark.parametrize(
    "events",
    [
        [content("content-start", type="text", text=""), content("content-delta", text="It is "), content("content-delta", text="fine.")],
        [content("content-start", type="text"), content("content-delta", type="text", text="It is "), content("content-delta", type="text", text="fine.")],
        [content("content-delta", text="It is "), content("content-delta", text="fine.")],
        [content("content-start", type="thinking", thinking=""), content("content-delta", type="thinking", thinking="Hm."), content("content-start", type="text"), content("content-delta", type="text", text="It is fine.")],
    ],
    ids=["usual", "the type in each piece", "no beginning", "thinking before it"],
)  # fmt: skip
def test_the_answer_of_a_stream_is_not_lost(events):
    chat = Conversation(Registry([weather]))
    chat.user("How is Bonn?")
    collector = chat.collector("cohere")
    for event in (START, *events, END):
        collector.feed(event)
    collector.close()
    assert collector.text == "It is fine."
    results = chat.dispatch(collector)
    assert (results.finish, chat.messages[-1].text) == ("stop", "It is fine.")
    assert not results.warnings
