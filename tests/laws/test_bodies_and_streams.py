"""Arguments are read alike however they come: as text, as an object in a body's text, and streamed in pieces."""

import json
import os
import sys
from decimal import Decimal

import fuzzing_bodies
import pytest
import rendering
from seeds import fails, run_each

from toolshape import Registry
from toolshape._schema.values import WrittenFloat, WrittenObject, read_json, write_json

CASES = 200_000 if os.environ.get("TOOLSHAPE_EVERY") else 3_000
CHUNKS = 10
# Each Python has cases of its own; a whole run has the same each time.
FIRST = 0 if os.environ.get("TOOLSHAPE_EVERY") else sys.version_info[1] * 10_000_000


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_form_is_read_alike(chunk):
    """The same outcome and the same value as of OpenAI's text."""
    size = CASES // CHUNKS
    run_each(fuzzing_bodies.one, range(FIRST + chunk * size, FIRST + (chunk + 1) * size))


def test_a_case_can_fail(monkeypatch):
    """The comparison is one: a reader that forgets a key is found."""
    monkeypatch.setattr("toolshape._families.wire.bodies.read_json", lambda text: json.loads(text))
    assert any(fails(fuzzing_bodies.one, seed, AssertionError) for seed in range(400))


def pay(amount: Decimal, n: int = 0) -> Decimal:
    return amount


@pytest.mark.parametrize("provider", [*rendering.TEXTS, *rendering.OBJECTS])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"amount":0.1234567890123456789}', Decimal("0.1234567890123456789")),
        ('{"amount":1.50}', Decimal("1.50")),
        ('{"amount":1,"amount":2}', "invalid_arguments"),
        ('{"amount":{"a":1,"a":2}}', "invalid_arguments"),
        ('{"amount":1,"n":3.0}', Decimal(1)),
        ('{"amount":1,"n":3.0000000000000000001}', "invalid_arguments"),
        ('{"amount":1,"n":9007199254740993.0}', "invalid_arguments"),
        ('{"amount":NaN}', "invalid_arguments"),
    ],
)
def test_keys_and_digits(provider, text, told):
    """No key that came twice, and no digit, is lost between the body and the function."""
    render = (rendering.TEXTS | rendering.OBJECTS)[provider]
    for body in (render([("c", "pay", text)]), render([("c", "pay", text)]).encode()):
        [result] = Registry([pay]).bind(provider, strict=False).dispatch(body)
        assert (result.value if result.ok else result.error.code) == told
        if result.ok:
            assert str(result.value) == str(told)
    if told == "invalid_arguments" and "{" not in text[1:]:
        assert [problem.path for problem in result.error.problems] in (["amount"], ["n"])


@pytest.mark.parametrize("provider", rendering.STREAMS)
def test_keys_and_digits_in_a_stream(provider):
    """The same of what comes in pieces."""
    for text, told in (
        ('{"amount":0.1234567890123456789}', Decimal("0.1234567890123456789")),
        ('{"amount":1,"amount":2}', None),
    ):
        calls = [("c", "pay", text)]
        deltas = [(0, text[:9]), (0, text[9:])]
        collector = Registry([pay]).bind(provider, strict=False).collector()
        for event in rendering.STREAMS[provider](calls, deltas):
            collector.feed(f"data: {event}\n\n")
        [result] = collector.plan().run()
        assert result.value == told
        assert (result.error.code if result.error else None) == (
            None if told else "invalid_arguments"
        )


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":{"b":1.50},"a":[{"c":1e400}]}',
        '{"d":0.1234567890123456789,"e":' + "1" * 5000 + "}",
        '{"a":"\\ud800"}',
    ],
)
def test_reader_and_writer(text):
    """What is read is written as it was; a plain value is a plain dict."""
    value = read_json(text)
    assert write_json(value) == text
    assert type(read_json('{"a":[1,1.5,{"b":null}]}')) is dict
    assert isinstance(value, dict)


def test_what_was_written_can_be_pickled():
    """A call keeps it in another process."""
    import pickle

    value = read_json('{"a":1.50,"a":[{"b":1e400}]}')
    again = pickle.loads(pickle.dumps(value))
    assert type(again) is WrittenObject
    assert type(again.pairs[0][1]) is WrittenFloat
    assert write_json(again) == write_json(value)
