"""A turn that a server spreads over several choices is one message; everywhere else a further choice is an alternative."""

import itertools

import pytest

from toolshape import Registry, ResponseError, tool


@tool
def weather(city: str) -> str:
    """Say the weather of a city."""
    return f"{city}: sun"


def call(call_id, city):
    function = {"name": "weather", "arguments": f'{{"city": "{city}"}}'}
    return {"id": call_id, "type": "function", "function": function}


MESSAGES = [
    {"role": "assistant", "content": "Let me look."},
    {"role": "assistant", "content": None, "tool_calls": [call("a", "Bonn")]},
    {"role": "assistant", "content": None, "tool_calls": [call("b", "Rome")]},
]
BODY = {
    "choices": [
        {"index": at, "finish_reason": "tool_calls", "message": message}
        for at, message in enumerate(MESSAGES)
    ]
}
TURN = [
    {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [call("a", "Bonn"), call("b", "Rome")],
    },
    {"role": "tool", "tool_call_id": "a", "content": "Bonn: sun"},
    {"role": "tool", "tool_call_id": "b", "content": "Rome: sun"},
]
TOOLS = Registry([weather])


def test_the_choices_are_one_message():
    results = TOOLS.bind("copilot").dispatch(BODY)
    assert (results.turn, results.warnings) == (TURN, ())


def test_a_choice_without_a_number_has_its_place():
    choices = [
        {key: choice[key] for key in ("finish_reason", "message")} for choice in BODY["choices"]
    ]
    assert TOOLS.bind("copilot").dispatch({"choices": choices}).turn == TURN


def test_elsewhere_no_call_of_a_further_choice_runs():
    results = TOOLS.bind("openai").dispatch(BODY)
    assert (len(results), [warning.rule for warning in results.warnings]) == (0, ["other_choice"])


def pieces(at, message):
    """The events of one choice; the arguments of a call come in three pieces, the first of which is empty."""
    yield {"role": "assistant", "content": message["content"]}
    for whole in message.get("tool_calls", ()):
        text = whole["function"]["arguments"]
        begun = {**whole, "index": 0, "function": {"name": "weather", "arguments": ""}}
        yield {"tool_calls": [begun]}
        for part in (text[:5], text[5:]):
            yield {"tool_calls": [{"index": 0, "function": {"arguments": part}}]}
    yield None


def events(at, message):
    for delta in pieces(at, message):
        end = {} if delta else {"finish_reason": "tool_calls"}
        yield {"index": at, "delta": delta or {}, **end}


@pytest.mark.parametrize("order", ["after", "beside", "together"])
def test_a_stream_is_the_same(order):
    """Choice after choice, one piece of each in turn, and all pieces of a moment in one event."""
    streams = [list(events(at, message)) for at, message in enumerate(MESSAGES)]
    moments = [[piece for piece in moment if piece] for moment in itertools.zip_longest(*streams)]
    sent = {
        "after": [[piece] for stream in streams for piece in stream],
        "beside": [[piece] for moment in moments for piece in moment],
        "together": moments,
    }[order]
    collector = TOOLS.bind("copilot").collector()
    called = [found.id for choices in sent for found in collector.feed({"choices": choices})]
    called += [found.id for found in collector.close()]
    assert called == ["a", "b"]
    results = collector.plan().run()
    assert (results.turn, results.warnings, collector.text) == (TURN, (), "Let me look.")


def test_a_call_that_is_cut_off_is_not_handed_out():
    collector = TOOLS.bind("copilot").collector()
    begun = {
        "id": "a",
        "index": 0,
        "type": "function",
        "function": {"name": "weather", "arguments": '{"ci'},
    }
    sent = [
        {"index": 1, "delta": {"tool_calls": [begun]}},
        {"index": 0, "delta": {}, "finish_reason": "tool_calls"},
    ]
    assert [found for piece in sent for found in collector.feed({"choices": [piece]})] == []
    [result] = collector.plan().run()
    assert result.error is not None


def test_an_error_of_a_choice_is_not_lost():
    error = {"code": 502, "message": "the model went away"}
    choices = [
        BODY["choices"][0],
        {"index": 1, "message": {"role": "assistant"}, "finish_reason": "error"},
    ]
    for at in (0, 1):
        broken = [
            {**choice, **({"error": error} if number == at else {})}
            for number, choice in enumerate(choices)
        ]
        with pytest.raises(ResponseError, match="went away"):
            TOOLS.bind("copilot").dispatch({"choices": broken})
