"""What has come of a call is a beginning of its final arguments, in every split, at every provider."""

import json

import pytest
from beginnings import begins
from zoo import CASES

from toolshape import Registry, tool
from toolshape._bound.bound import bound_tools_of
from toolshape._plan.partial_calls import partial_call
from toolshape._records.calls import Call
from toolshape._records.errors import ExportError
from toolshape.provider import Completion, available, get, never_streamed

PROVIDERS = (
    "openai",
    "anthropic",
    "gemini",
    "gemini-openapi",
    "cohere",
    "ollama:server",
    "bedrock",
    "openai:minimal",
)


@pytest.mark.parametrize(("partial", "final", "is_one"), [
    ("ab", "abc", True), ("b", "abc", False), ([1, "a"], [1, "ab", 2], True), ([2], [1], False), ({}, {"a": None}, True),
    ({"a": None}, {}, False), (1, 12, False), (True, 1, False), ([{"a": "x"}], [{"a": "xy", "b": 1}], True), ("[", [], False),
])  # fmt: skip
def test_what_a_beginning_is(partial, final, is_one):
    """The judge of this law."""
    assert begins(partial, final) is is_one


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", CASES)
def test_every_split_is_a_beginning(provider, name):
    """Of the arguments of each function of the zoo, strict and lenient, in the form that the provider is sent."""
    case = CASES[name]
    for strict in ("auto", False, True):
        try:
            bound_tools = bound_tools_of(Registry([tool(case.function)]).bind(provider, strict))
        except ExportError:
            continue
        [(wire_name, shape)] = bound_tools.shapes.items()
        handler = bound_tools.handlers.find(wire_name)
        sent = json.loads(json.dumps(case.arguments))
        text = json.dumps(sent if shape.out is None else shape.out(sent))
        final = Call("c", shape.name, wire_name, text, provider, None, handler).arguments
        sizes = set[int]()
        for end in range(len(text) + 1):
            arguments = partial_call(
                Call("c", shape.name, wire_name, text[:end], provider, None, handler)
            ).arguments
            assert begins(arguments, final), (text[:end], arguments, final)
            sizes.add(len(arguments))
        assert (
            max(sizes) >= min(len(final), len(json.loads(text))) - 1
        )  # all but what is still open


def test_a_text_grows_character_by_character():
    """And a number is there once it cannot go on."""

    @tool
    def note(text: str, times: int = 1) -> str:
        """Write it down."""
        return text * times

    seen = []
    collector = Registry([note]).bind("openai").collector()
    begun = {"index": 0, "id": "c1", "function": {"name": "note", "arguments": ""}}
    collector.feed({"choices": [{"index": 0, "delta": {"tool_calls": [begun]}}]})
    for piece in ('{"te', 'xt": "a', "b\\", "n12", '", "times": 1', "2", "}"):
        collector.feed(
            {
                "choices": [
                    {
                        "index": 0,
                        "delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]},
                    }
                ]
            }
        )
        [partial] = collector.partial()
        assert (partial.id, partial.name) == ("c1", "note")
        seen.append(partial.arguments)
    assert seen == [
        {}, {"text": "a"}, {"text": "ab"}, {"text": "ab\n12"}, {"text": "ab\n12"}, {"text": "ab\n12"}, {"text": "ab\n12", "times": 12},
    ]  # fmt: skip
    collector.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    assert collector.partial() == ()


STREAMING = [
    name
    for name in available()
    if get(name).server is not None and get(name).response.fold is not never_streamed
]


@pytest.mark.parametrize("provider", STREAMING)
def test_the_text_of_a_stream_comes_in_pieces(provider):
    """Of every provider that streams: what its server says, taken apart into its events, and read piece by piece."""
    server = get(provider).server
    said = Completion(
        model="m", id="1", text="The kettle was sent on Monday.", reasoning="", is_streamed=True
    )
    body = server.respond(said)
    collector, text = Registry([tool(ship)]).bind(provider).collector(), ""
    for event in server.unfold(body):
        assert collector.feed(event) == []
        text += collector.new_text
    assert (text, collector.thinking) == ("The kettle was sent on Monday.", "")


def ship(order_id: str) -> str:
    """Ship it."""
    return order_id
