"""What pydantic accepts and toolshape refuses, each beside a valid value, at every kind of place."""

import datetime
import enum
import json
import uuid
from collections.abc import Generator, Iterable
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from typing_extensions import TypedDict
from zoo import Colour, Level, Line, Open, Order, Tree

from toolshape import Registry, Tool, tool


def taken(annotation: Any, text: str, **options: Any) -> Any:
    """The value that ``x`` gets for a JSON text, with the rules that coerced it; or the places of the problems."""

    def take(x):
        return x

    take.__annotations__["x"] = annotation
    return answer(tool(**options)(take), f'{{"x": {text}}}')


def answer(made: Tool[..., Any], arguments: str) -> Any:
    [result] = Registry([made]).dispatch({"name": made.name, "arguments": arguments})
    if result.error:
        assert result.error.code in ("invalid_arguments", "malformed_arguments")
        return [problem.path for problem in result.error.problems]
    return (result.value, *(coercion.rule for coercion in result.coercions))


class Inside(BaseModel):
    """Every hole in a model of the user's own, whose validator pydantic would take as it is."""

    f: float = 0.0
    at: datetime.datetime | None = None
    level: Level = Level.LOW
    one: Literal[1, "a"] = 1
    price: Decimal = Decimal(0)
    flags: dict[bool, int] = {}
    some: Iterable[int] = ()
    line: Line | None = None


# --- keys that come twice -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "text", "places"),
    [
        (Line, '{"sku": "a", "sku": "b"}', ["x.sku"]),
        (Line, '{"sku": "a", "qty": 1, "qty" : 1}', ["x.qty"]),
        (
            Order,
            '{"customer": "a", "lines": [{"sku": "a"}, {"sku": "b", "qty": 1, "qty": 2}]}',
            ["x.lines[1].qty"],
        ),
        (dict[str, int], '{"a": 1, "a": 2}', ["x.a"]),
        (dict[str, Any], '{"a": {"b": [{"c": 1, "c": 2}]}}', ["x.a.b[0].c"]),
        (Any, '[{"a": 1, "\\u0061": 2}]', ["x[0].a"]),
        (Tree, '{"name": "a", "children": [{"name": "b", "name": "c"}]}', ["x.children[0].name"]),
        (int | Line, '{"sku": "a: b", "sku": "c"}', ["x.sku"]),
        (str, '"a", "x": "b"', ["x"]),
    ],
)
def test_a_key_that_comes_twice_is_refused(annotation, text, places):
    """Which of the two is meant nobody knows, even where they are the same."""
    assert taken(annotation, text) == places


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (str, '"https://a:80/?b:c"'),
        (list[Line], '[{"sku": "a"}, {"sku": "b"}]'),
        (dict[str, str], '{"a": "b: c", "d": "e: f"}'),
        (datetime.datetime, '"2026-01-02T03:04:05Z"'),
        (Any, '{"a": {"a": {"a": ":"}}}'),
        (Open, '{"name": "a", "more": {"name": "b"}}'),
    ],
)
def test_colons_and_equal_names_elsewhere_are_fine(annotation, text):
    """Only two of a name in one object are two."""
    assert not isinstance(taken(annotation, text), list)


def test_keys_that_come_twice_in_nested_text_and_in_strict_form():
    """A payload encoded twice, JSON text for a place, and pairs that stand for a map."""
    take = tool(name="take")(lambda x: x)
    assert answer(take, json.dumps('{"x": 1, "x": 2}')) == ["x"]

    @tool(strict=True)
    def stock(items: dict[str, int], note: Any = None) -> dict[str, int]:
        return items

    def call(arguments: str) -> Any:
        call = {
            "id": "c",
            "type": "function",
            "function": {"name": "stock", "arguments": arguments},
        }
        registry = Registry([stock])
        registry.export("openai")
        return registry.dispatch(
            {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}
        )[0]

    pair = {"key": "a", "value": 1}
    assert call(json.dumps({"items": [pair], "note": None})).value == {"a": 1}
    [problem] = call(json.dumps({"items": [pair, pair], "note": None})).error.problems
    assert (problem.path, problem.message) == ("items[1].key", "duplicate key")
    assert call('{"items": [], "items": [], "note": null}').error.problems[0].path == "items"


# --- numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 400]
)
@pytest.mark.parametrize(
    ("annotation", "text", "place"),
    [
        (float, "%s", "x"),
        (float | list[str], "%s", "x"),
        (list[float], "[1.5, %s]", "x[1]"),
        (Inside, '{"f": %s}', "x.f"),
        (dict[str, Inside], '{"a": {"f": %s}}', "x.a.f"),
    ],
)
def test_numbers_that_json_cannot_say(annotation, text, place, number):
    """NaN, infinities, and what overflows to one."""
    assert taken(annotation, text % number) == [place]


@pytest.mark.parametrize("annotation", [Any, dict[str, Any], list, dict, Open])
def test_numbers_that_json_cannot_say_in_what_is_free(annotation):
    """In ``Any`` and in extra fields, too."""
    inner = "[NaN]" if annotation is list else '{"name": "a", "b": [1e999]}'
    assert isinstance(taken(annotation, inner), list)
    assert taken(float, "1e300") == (1e300,)


@pytest.mark.parametrize("text", ["true", "1.0", "false", "0.0"])
@pytest.mark.parametrize("annotation", [Level, Literal[1, 2], Literal[0, 1], Level | None])
def test_what_is_equal_is_not_the_same(annotation, text):
    """``true`` and ``1.0`` are equal to ``1`` in Python alone; a whole float is coerced on record."""
    found = taken(annotation, text)
    if text == "1.0":
        assert found[1:] == ("integral_float",)
        assert type(found[0]) in (int, Level)
    else:
        assert isinstance(found, list) or (text == "0.0" and found[1:] == ("integral_float",))
    assert taken(Inside, '{"level": true}') == ["x.level"]
    assert taken(Inside, '{"one": true}') == ["x.one"]


def test_choices_of_several_types_stay():
    """Each is taken as it is written."""
    choice = Literal[1, True, "a", None]
    for text, value in (("1", 1), ("true", True), ('"a"', "a"), ("null", None)):
        found = taken(choice, text)
        assert (found, type(found[0])) == ((value,), type(value))
    assert taken(Level | int, "1") == (Level.LOW,)
    assert taken(float | Literal[2], "2.0") == (2.0,)


class Hooked(enum.IntEnum):
    ONE = 1

    @classmethod
    def _missing_(cls, value):
        return cls.ONE


def test_an_enum_keeps_its_own_hook():
    """What it makes of a number is its own business."""
    assert taken(Hooked, "7") == (Hooked.ONE,)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.10", "1.10"), ("12.00", "12.00"), ("0.1234567890123456789", "0.1234567890123456789"), ("1e2", "1e2"),
        ('"1.10"', "1.10"), ("5", "5"), ("123456789012345678901234567890", "123456789012345678901234567890"),
    ],
)  # fmt: skip
def test_a_decimal_is_what_was_written(text, value):
    """A float on the way would lose digits and zeros."""
    assert str(taken(Decimal, text)[0]) == str(Decimal(value))
    assert str(taken(Inside, f'{{"price": {text}, "f": 0.5}}')[0].price) == str(Decimal(value))
    assert str(
        taken(dict[str, list[Decimal | None]], f'{{"a": [null, {text}]}}')[0]["a"][1]
    ) == str(Decimal(value))


def test_a_decimal_beside_a_slip_and_in_strict_form():
    """Coercing, and mapping a provider's form back, keep what was written."""
    found = taken(Inside, '{"price": 1.10, "level": "2"}')
    assert (str(found[0].price), found[1]) == ("1.10", "number_text")
    assert taken(Decimal | float, "1.10") == (1.1,)
    assert taken(Decimal | None, '"abc"') == ["x"]

    @tool(strict=True)
    def pay(amount: Decimal, note: str = "") -> str:
        return str(amount)

    registry = Registry([pay])
    registry.export("openai")
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "pay", "arguments": '{"amount": 1.10, "note": null}'},
    }
    [result] = registry.dispatch(
        {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}
    )
    assert result.value == "1.10"


# --- dates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ['"20261231"', '"-5"', '"1735689600"', '"1.5"', '"-1.5e3"', '"0"', "0", "1735689600"]
)
@pytest.mark.parametrize(
    "annotation", [datetime.datetime, datetime.date, datetime.time, datetime.timedelta]
)
def test_digits_are_no_time(annotation, text):
    """Pydantic counts seconds since 1970."""
    assert taken(annotation, text) == ["x"]
    assert taken(list[annotation | None], f"[null, {text}]") == ["x[1]"]
    assert taken(Inside, f'{{"at": {text}}}') == ["x.at"]


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (datetime.datetime, "2026-12-31T10:00:00Z"), (datetime.datetime, "2026-12-31 10:00"),
        (datetime.datetime, "2026-12-31T10:00:00.5+02:00"), (datetime.date, "2026-12-31"), (datetime.time, "10:00"),
        (datetime.timedelta, "PT5S"), (datetime.timedelta, "-P1D"), (datetime.timedelta, "10:00:00"),
    ],
)  # fmt: skip
def test_times_stay(annotation, text):
    """As ISO 8601 has them."""
    assert isinstance(taken(annotation, json.dumps(text))[0], annotation)
    assert isinstance(taken(annotation | int, json.dumps(text))[0], annotation)


def test_times_that_the_author_reads():
    """A validator of the author's may give a date itself."""
    day = Annotated[datetime.date, BeforeValidator(lambda text: datetime.date(int(text[:4]), 1, 1))]
    assert taken(day, '"20261231"') == (datetime.date(2026, 1, 1),)


# --- maps ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (dict[bool, int], '{"yes": 1}'),
        (dict[bool, int], '{"1": 1}'),
        (dict[int, int], '{"01": 1}'),
        (dict[int, int], '{"1": 1, "01": 2}'),
        (dict[int, int], '{" 1": 1}'),
        (dict[int, int], '{"1_0": 1}'),
        (dict[float, int], '{"1": 1, "1.0": 2}'),
        (dict[Level, int], '{"1": 1, "01": 2}'),
        (dict[datetime.date, int], '{"2026-01-01": 1, "2026-01-01T00:00:00": 2}'),
        (dict[Decimal, int], '{"1.0": 1, "1.00": 2}'),
        (
            dict[uuid.UUID, int],
            '{"12345678-1234-5678-1234-56781234567a": 1, "12345678-1234-5678-1234-56781234567A": 2}',
        ),
    ],
)
def test_keys_that_are_not_what_they_become(annotation, text):
    """Words for booleans, spellings of a number, and two keys that become one."""
    assert taken(annotation, text) == ["x"]
    assert taken(list[annotation], f"[{text}]") == ["x[0]"]


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (dict[bool, int], '{"true": 1, "false": 0}', {True: 1, False: 0}),
        (dict[int, int], '{"1": 1, "-10": 2}', {1: 1, -10: 2}),
        (dict[float, int], '{"1": 1, "2.5": 2}', {1.0: 1, 2.5: 2}),
        (dict[Colour, int], '{"red": 1}', {Colour.RED: 1}),
        (dict[Level, int], '{"1": 1}', {Level.LOW: 1}),
        (dict[datetime.date, int], '{"2026-01-01": 1}', {datetime.date(2026, 1, 1): 1}),
    ],
)
def test_keys_stay(annotation, text, value):
    """What they are written as."""
    assert taken(annotation, text) == (value,)


# --- what is lazy, and what is closed -----------------------------------------------------------------------------


def test_an_iterable_is_validated_before_the_call():
    """Not when the tool reads it, by half."""
    for annotation in (Iterable[int], Generator[int, None, None]):
        assert taken(annotation, '[1, "a"]') == ["x[1]"]
        assert list(taken(annotation, '[1, "2"]')[0]) == [1, 2]
    assert taken(Inside, '{"some": ["a"]}') == ["x.some[0]"]


class Keeps(TypedDict):
    a: int


class Ignores(BaseModel):
    model_config = ConfigDict(extra="ignore")

    a: int = 0
    inner: Keeps | None = None


class Checked(BaseModel):
    a: int
    seen: int = 0

    @field_validator("a")
    @classmethod
    def positive(cls, a: int) -> int:
        if a < 0:
            raise ValueError("must be positive")
        return a

    @model_validator(mode="before")
    @classmethod
    def renamed(cls, value: Any) -> Any:
        return (
            {"a" if key == "b" else key: item for key, item in value.items()}
            if isinstance(value, dict)
            else value
        )

    @model_validator(mode="after")
    def counted(self) -> "Checked":
        self.seen += 1
        return self


def test_models_of_the_users_are_closed_and_stay_themselves():
    """Unknown fields are refused where the model says nothing of them; its validators run as ever."""
    assert taken(Ignores, '{"a": 1, "z": 2}') == (Ignores(a=1),)
    assert taken(Ignores, '{"inner": {"a": 1, "z": 2}}') == ["x.inner.z"]
    assert taken(Checked, '{"a": 1}')[0].seen == 1
    assert taken(Checked, '{"b": 1}')[0].a == 1
    assert taken(Checked, '{"a": 1, "z": 1}') == ["x.z"]
    assert taken(Checked, '{"a": -1}') == ["x.a"]
    value = taken(Checked, '{"a": 1}')[0]
    assert type(value) is Checked
    assert (
        Checked.model_validate({"a": 1, "z": 1}).a == 1
    )  # elsewhere, the user's model is what it was


def test_a_field_declared_with_nan_may_have_it():
    """Where the author says so in so many words."""
    assert taken(Annotated[float, Field(allow_inf_nan=True)], "1e999") == (float("inf"),)


# --- the same for tools from definitions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "number"}, "NaN"),
        ({"type": "number"}, "1e999"),
        ({}, "[Infinity]"),
        ({"enum": [1, 2]}, "true"),
        ({"const": 1}, "true"),
        ({"type": "object", "properties": {"a": {}}}, '{"a": 1, "a": 1}'),
        ({"type": "array", "uniqueItems": True}, "[1, 1.0]"),
    ],
)
def test_definitions_have_no_such_holes(schema, text):
    """By their own schema, as exactly."""
    made = Tool.from_definition(
        {"name": "take", "parameters": {"type": "object", "properties": {"x": schema}}},
        lambda x=None: x,
    )
    assert [
        path.partition("[")[0].partition(".")[0] for path in answer(made, f'{{"x": {text}}}')
    ] == ["x"]


def test_a_whole_float_is_coerced_for_definitions_too():
    """On record, as for a decorated tool."""
    schema = {"type": "object", "properties": {"x": {"enum": [1, 2]}}}
    made = Tool.from_definition({"name": "take", "parameters": schema}, lambda x=None: x)
    assert answer(made, '{"x": 1.0}') == (1, "integral_float")


def test_null_beside_a_choice_that_is_spelt_so():
    """Two things may be meant by the text: none is taken."""
    from typing import Literal

    from toolshape import CallError, tool

    def f(x: Literal["NULL", "ALL"] | None) -> str | None:
        return x

    with pytest.raises(CallError):
        tool(f).call('{"x": "null"}')
    assert tool(f).call('{"x": "all"}') == "ALL"
    assert tool(f).call('{"x": null}') is None
