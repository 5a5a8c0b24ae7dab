"""Results of tools: correct, compact, and never a crash of toolshape."""

import asyncio
import dataclasses
import datetime
import decimal
import enum
import json
import logging
import math
import uuid
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, SecretStr, computed_field
from responses import response
from zoo import Colour, Line, Point, Tree

from toolshape import CallError, Image, Registry, Text, ToolError, tool


class Order(BaseModel):
    id: uuid.UUID
    at: datetime.datetime
    total: decimal.Decimal

    @computed_field
    def name(self) -> str:
        return "名前"


ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
ORDER = Order(id=ID, at=AT, total=decimal.Decimal("1.50"))
ORDER_TEXT = '{"id":"12345678-1234-5678-1234-567812345678","at":"2026-01-02T03:04:05Z","total":"1.50","name":"名前"}'


class Word(str, enum.Enum):
    YES = "yes"


class UnsupportedError:
    pass


VALUES = [
    ("text", "text"),
    ("", ""),
    ('日本語 \n"quoted"', '日本語 \n"quoted"'),
    (None, "null"),
    (True, "true"),
    (5, "5"),
    (1.5, "1.5"),
    (math.nan, "null"),
    (-math.inf, "null"),
    ([math.nan, 1.0], "[null,1.0]"),
    ({"a": [1, {"b": None}]}, '{"a":[1,{"b":null}]}'),
    ({"名": "日本"}, '{"名":"日本"}'),
    (ID, str(ID)),
    (AT, "2026-01-02T03:04:05Z"),
    (datetime.timedelta(hours=1), "PT1H"),
    (decimal.Decimal("1.50"), "1.50"),
    ({1}, "[1]"),
    (frozenset({"a"}), '["a"]'),
    ((1, "a"), '[1,"a"]'),
    (b"caf\xc3\xa9", "café"),
    (b"\xff\xfe", "__4="),
    (Colour.RED, "red"),
    (Word.YES, "yes"),
    (Point(1.5), '{"lat":1.5,"lon":0.0}'),
    (Line(sku="a"), '{"sku":"a","qty":1}'),
    ([ORDER], f"[{ORDER_TEXT}]"),
    (ORDER, ORDER_TEXT),
    ({"order": ORDER}, f'{{"order":{ORDER_TEXT}}}'),
    (SecretStr("hidden"), "**********"),
    (2**70, str(2**70)),
]


@pytest.mark.parametrize("annotated", [True, False], ids=["annotated", "bare"])
@pytest.mark.parametrize(
    ("value", "text"),
    VALUES,
    ids=[type(value).__name__ + str(i) for i, (value, _) in enumerate(VALUES)],
)
def test_values_as_text(value, text, annotated):
    """With the return annotation or without: strings verbatim, anything else compact JSON in plain characters."""

    def give():
        return value

    if annotated:
        give.__annotations__["return"] = type(value)
    call = {"id": "c", "type": "function", "function": {"name": "give", "arguments": "{}"}}
    [result] = Registry([give]).dispatch({"role": "assistant", "tool_calls": [call]})
    assert result.ok, result.error.__cause__
    assert result.value is value
    assert result.text == text


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (int, {"type": "integer"}),
        (None, {"type": "null"}),
        (
            list[Colour],
            {
                "type": "array",
                "items": {"$ref": "#/$defs/Colour"},
                "$defs": {"Colour": {"type": "string", "enum": ["red", "green"]}},
            },
        ),
        (Any, None),
        (UnsupportedError, None),
        (Tree, ...),
        (Order, ...),
    ],
)
def test_output_schema(annotation, schema):
    """The return annotation in serialisation form; nothing where it says nothing."""

    def give():
        raise NotImplementedError

    give.__annotations__["return"] = annotation
    made = tool(give).output_schema
    if schema is not ...:
        assert made == schema
    if made is not None:
        Draft202012Validator.check_schema(made)
    if annotation is Order:
        Draft202012Validator(made).validate(json.loads(ORDER_TEXT))


def test_output_of_generators_is_what_they_yield():
    """An array, and so is the result."""

    def gen() -> Generator[int, None, str]:
        yield 1

    async def agen() -> AsyncIterator[Line]:
        yield Line(sku="a")

    def lazy() -> Iterator[int]:
        return iter([1])

    assert tool(gen).output_schema == {"type": "array", "items": {"type": "integer"}}
    assert tool(agen).output_schema["type"] == "array"
    assert tool(gen).call({}) == [1]
    assert asyncio.run(tool(agen).acall({})) == [Line(sku="a")]
    assert tool(lazy).output_schema["type"] == "array"


def test_a_return_annotation_that_nobody_defined():
    """Imported for the type checker only: a finding, not a refusal."""

    def give() -> "Nowhere":
        return 5

    made = tool(give)
    assert made.output_schema is None
    assert "unresolved_return" in [finding.rule for finding in made.findings]
    assert made.call({}) == 5


def loop_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


class Bad(BaseModel):
    x: Any


class Named(BaseModel):
    names: list[str]


@dataclasses.dataclass
class Plain:
    name: str


LONE = "caf\udce9"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (LONE, "caf\ufffd"),
        (["a", LONE], '["a","caf\ufffd"]'),
        ({LONE: [LONE]}, '{"caf\ufffd":["caf\ufffd"]}'),
        (Plain(LONE), '{"name":"caf\ufffd"}'),
        ([Plain(LONE), 1, None], '[{"name":"caf\ufffd"},1,null]'),
        (Named(names=[LONE, "b"]), '{"names":["caf\ufffd","b"]}'),
        ([Text(LONE), Image(b"x")], "caf\ufffd\n[image/png, 1 bytes]"),
        ("\ud83d\ude00", "\U0001f600"),
    ],
)
@pytest.mark.parametrize("is_typed", [True, False])
def test_half_of_a_surrogate_pair_is_replaced(value, text, is_typed):
    """As file names have them that are not UTF-8: no client can send one, and the rest is what was asked for."""

    def give():
        return value

    give.__annotations__["return"] = type(value) if is_typed else Any
    [result] = Registry([give]).dispatch({"name": "give", "arguments": {}})
    assert (result.error, result.text) == (None, text)
    json.dumps(result.text, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "value",
    [
        UnsupportedError(),
        {"a": UnsupportedError()},
        loop_itself(),
        Bad(x=UnsupportedError()),
        {(1, 2): object()},
        len,
    ],
)
def test_what_json_cannot_say(value, caplog):
    """The tool ran and said so; the value is there for the application, the reason in the log."""

    def give():
        return value

    [result] = Registry([give]).dispatch({"name": "give", "arguments": {}})
    assert (result.error.code, result.value is value) == ("unserialisable_result", True)
    assert result.error.reference in result.text
    assert result.error.reference in caplog.text
    assert "object at 0x" not in result.text


def test_a_value_unlike_its_annotation_is_written_all_the_same():
    """A tool that returns a dict for a model is the common case."""

    @tool
    def give() -> Line:
        return {"sku": "a"}  # type: ignore[return-value]

    [result] = Registry([give]).dispatch({"name": "give", "arguments": {}})
    assert result.text == '{"sku":"a"}'


def test_the_annotation_decides_what_is_shown():
    """A subclass's private fields stay private."""

    class Full(Line):
        margin: float = 0.5

    @tool
    def give() -> Line:
        return Full(sku="a")

    [result] = Registry([give]).dispatch({"name": "give", "arguments": {}})
    assert result.text == '{"sku":"a","qty":1}'


def test_tool_error_speaks_to_the_model():
    """In its own words, and says whether to try again."""

    @tool
    def pay() -> None:
        raise ToolError("The card has expired.", retryable=True)

    [result] = Registry([pay]).dispatch({"name": "pay", "arguments": {}})
    assert (result.error.code, result.text, result.error.retryable) == (
        "tool_error",
        "The card has expired.",
        True,
    )
    with pytest.raises(CallError, match="The card has expired"):
        result.unwrap()


CRASHES = [
    ValueError("dsn=postgres://u:secret@h"),
    KeyError("secret"),
    SystemExit("secret"),
    GeneratorExit(),
    AssertionError(),
    RecursionError("secret"),
    CallError("tool_error", tool="x", text="secret"),
    StopIteration("secret"),
]


@pytest.mark.parametrize("error", CRASHES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_crash_is_hidden_from_the_model(error, asynchronous, caplog):
    """Fixed words and a reference; the exception is on the result and, under the reference, in the log."""

    def boom():
        raise error

    registry = Registry([boom])
    call = {"name": "boom", "arguments": {}}
    with caplog.at_level(logging.ERROR, "toolshape"):
        [result] = (
            asyncio.run(registry.adispatch(call)) if asynchronous else registry.dispatch(call)
        )
    assert result.error.code == "tool_crashed"
    assert "secret" not in result.text
    assert result.error.reference in result.text
    assert result.error.reference in caplog.text
    cause = result.error.__cause__
    assert cause is error or cause.__cause__ is error  # a thread cannot hand StopIteration on


def test_an_interrupt_is_not_swallowed():
    """Ctrl-C ends the program; what has begun reads as cancelled, the rest as not run."""

    @tool
    def one() -> int:
        return 1

    @tool
    def stop() -> None:
        raise KeyboardInterrupt

    plan = (
        Registry([one, stop])
        .bind("json-schema")
        .plan([{"name": n, "arguments": {}} for n in ("one", "stop", "one")])
    )
    with pytest.raises(KeyboardInterrupt):
        plan.run()
    assert [result.error and result.error.code for result in plan.results] == [
        None,
        "cancelled",
        "not_run",
    ]
    assert len(plan.results.messages) == 3


@dataclasses.dataclass
class Loud:
    def __repr__(self) -> str:
        raise RuntimeError("no repr either")


def test_nothing_of_ours_depends_on_repr():
    """Values of users may not have one."""

    @tool
    def give() -> Any:
        return Loud()

    [result] = Registry([give]).dispatch({"name": "give", "arguments": {}})
    assert result.text == "{}"


def test_a_result_has_the_name_and_the_id_of_its_call():
    """The tool's own name, whatever it is sent as; of a tool that does not exist, the model's word."""
    shop = Registry([tool(name="shop.find")(lambda sku: sku)])
    bound = shop.bind("openai")
    [sent] = bound.names_by_wire_name()
    results = bound.dispatch(response((sent, {"sku": "a"}), ("wrong", {})))
    assert [(result.name, result.id) for result in results] == [
        ("shop.find", "call_0"),
        ("wrong", "call_1"),
    ]
