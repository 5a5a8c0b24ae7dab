"""Coercions and errors behind validators, defaults, aliases and tags: where pydantic sees another value than was sent."""

import dataclasses
import datetime
import decimal
import enum
import json
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import pydantic
import pytest
from jsonschema import Draft202012Validator
from pydantic import (
    AliasChoices,
    AliasPath,
    Base64Bytes,
    Base64UrlStr,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    ImportString,
    Json,
    NameEmail,
    RootModel,
    SecretStr,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict
from zoo import Level, Line

from toolshape import Registry, tool


def answer(annotation: Any, text: str, default: Any = ..., **options: Any) -> Any:
    """The value of ``x`` and the coercions, or the lines that a model reads."""

    def take(x):
        return x

    take.__annotations__["x"] = annotation
    take.__defaults__ = None if default is ... else (default,)
    [result] = Registry([tool(take)], **options).dispatch(
        {"name": "take", "arguments": f'{{"x": {text}}}'}
    )
    if result.error:
        return [result.error.code, *result.text.splitlines()[1:]]
    return result.value, [(coercion.path, coercion.rule) for coercion in result.coercions]


class Seen(BaseModel):
    """Everything behind a validator that looks first."""

    at: datetime.datetime | None = None
    time: datetime.time | None = None
    span: datetime.timedelta | None = None
    some: set[int] = set()
    pair: tuple[datetime.date, float] | None = None
    secret: SecretStr | None = None
    hidden: int = Field(0, exclude=True)
    q: int = 0

    @model_validator(mode="before")
    @classmethod
    def look(cls, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("written", "field", "value"),
    [
        (
            {"at": "2024-01-01T10:00Z"},
            "at",
            datetime.datetime(2024, 1, 1, 10, tzinfo=datetime.timezone.utc),
        ),
        ({"time": "10:00"}, "time", datetime.time(10)),
        ({"span": "PT60S"}, "span", datetime.timedelta(minutes=1)),
        ({"some": [3, 1, 200, -5]}, "some", {3, 1, 200, -5}),
        ({"pair": ["2024-01-01", 5]}, "pair", (datetime.date(2024, 1, 1), 5.0)),
        ({"pair": ["2024-01-01", 5], "secret": "s", "hidden": 1}, "hidden", 1),
    ],
)
def test_behind_a_before_validator_json_is_json(written, field, value):
    """Whatever pydantic would rather see there, and however it is spelt."""
    found, mends = answer(Seen, json.dumps(written))
    assert (getattr(found, field), mends) == (value, [])


def test_behind_a_before_validator_nothing_is_read_laxly():
    """Malformed arguments are coerced and recorded, or refused."""
    assert answer(Seen, '{"q": "5"}')[1] == [("x.q", "number_text")]
    for written in (
        '{"at": "20240101"}',
        '{"at": 5}',
        '{"q": "05"}',
        '{"some": ["a"]}',
        '{"pair": ["1", 5]}',
    ):
        assert answer(Seen, written)[0] == "invalid_arguments"


class Checked(BaseModel):
    v: int | str

    @field_validator("v")
    @classmethod
    def not_seven(cls, v: Any) -> Any:
        if v == 7:
            raise ValueError("not seven")
        return v


def test_a_validator_around_a_union():
    """It refuses at the union itself, not in a branch."""
    assert answer(Checked, '{"v": 7}') == ["invalid_arguments", "x.v: not seven"]
    assert answer(ByteSize, '"12 zorks"')[0] == "invalid_arguments"


class ById(BaseModel):
    id: int


class ByName(BaseModel):
    name: str


def test_an_extra_field_in_a_union_takes_nothing_else_with_it():
    """Only the field that nobody knows is left out, never the argument."""
    found = answer(
        ById | ByName | None, '{"id": 5, "why": "because"}', None, coerce={"ignore_extra": True}
    )
    assert found == (ById(id=5), [("x.why", "ignore_extra")])
    assert (
        answer(ById | ByName | None, '{"id": 5, "why": "because"}', None)[0] == "invalid_arguments"
    )


class Defaulted(BaseModel):
    level: Level = Field(Level.LOW, validate_default=True)
    counts: dict[int, int] = Field({1: 2}, validate_default=True)


class Real(float, enum.Enum):
    ONE = 1.0
    HALF = 0.5


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (Defaulted, "{}", Defaulted()),
        (
            Annotated[
                Level, BeforeValidator(lambda v: Level[v.upper()] if isinstance(v, str) else v)
            ],
            '"low"',
            Level.LOW,
        ),
        (
            Annotated[dict[int, int], BeforeValidator(lambda v: {int(k): n for k, n in v.items()})],
            '{"1": 2}',
            {1: 2},
        ),
        (Literal[Level.LOW], "1", Level.LOW),
        (dict[Level, int], '{"1": 1}', {Level.LOW: 1}),
        (Real, "1", Real.ONE),
    ],
)
def test_what_is_no_json_passes_the_wrappers(annotation, text, value):
    """Defaults, and what a validator of the author's makes, are not held to how JSON is written."""
    assert answer(annotation, text) == (value, [])


class Renamed(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    n: int = Field(alias="N")
    m: int = Field(0, validation_alias=AliasChoices("m1", "m2"))


class Upper(BaseModel):
    kind: Literal["A"] = Field(alias="Kind")
    n: int


class Lower(BaseModel):
    kind: Literal["B"] = Field(alias="Kind")
    n: int


Tagged = Annotated[Upper | Lower, Field(discriminator="kind")]


def test_other_names():
    """A field by its name beside its alias, by one alias of several, and the alias of a tag."""
    assert answer(Renamed, '{"n": "5", "m2": "6"}')[1] == [
        ("x.n", "number_text"),
        ("x.m2", "number_text"),
    ]
    assert answer(Tagged, '{"Kind": "a", "n": "5"}')[1] == [
        ("x.Kind", "enum_case"),
        ("x.n", "number_text"),
    ]
    assert answer(Tagged, '{"Kind": "z", "n": 5}') == [
        "invalid_arguments",
        'x.Kind: expected "A" or "B", got "z"',
    ]
    assert answer(Tagged, '{"n": 5}') == ["invalid_arguments", "x.Kind: required, but missing"]


class Priced(BaseModel):
    kind: Literal["a"]
    price: Decimal = Decimal(0)


class Weighed(BaseModel):
    kind: Literal["b"]
    weight: Decimal = Decimal(0)


def test_a_decimal_in_a_union_keeps_its_digits_or_is_refused():
    """Where it is not known whether a Decimal is meant, one that a float cannot hold is refused."""
    long = "0.10000000000000000001"
    told = Annotated[Priced | Weighed, Field(discriminator="kind")]
    assert answer(told, f'{{"kind": "b", "weight": {long}}}')[0].weight == Decimal(long)
    for annotation in (Priced | Weighed, Decimal | str):
        text = long if annotation != Priced | Weighed else f'{{"kind": "b", "weight": {long}}}'
        assert "write it as a string" in answer(annotation, text)[1]
        assert answer(annotation, text.replace(long, "0.5"))[1] == []
    assert answer(dict[str, Decimal], json.dumps(f'{{"a": {long}}}'))[0] == {"a": Decimal(long)}
    assert answer(dict[str, Decimal], json.dumps(f"{{a: {long},}}"), coerce={"repair_json": True})[
        0
    ]["a"] == Decimal(long)


class Counted(BaseModel):
    a: int
    b: int = 0

    def model_post_init(self, context: Any) -> None:
        self.b = self.a + 1


def test_a_model_that_fills_itself_hides_no_key_that_comes_twice():
    """What it was given is not counted by what it has."""
    assert answer(Counted, '{"a": 1, "a": 2}') == ["invalid_arguments", "x.a: duplicate key"]
    assert answer(Counted, '{"a": 1}')[0].b == 2
    assert answer(dict[str, int], json.dumps('{"a": 1, "a": 2}'))[0] == "invalid_arguments"


def test_keys_that_are_changed_do_not_collide():
    """By a validator of theirs, or by the config of the model that they stand in."""

    class Stripped(BaseModel):
        model_config = ConfigDict(str_strip_whitespace=True)

        d: dict[str, int]

    lowered = dict[Annotated[str, BeforeValidator(str.lower)], int]
    assert answer(lowered, '{"A": 1, "a": 2}')[0] == "invalid_arguments"
    assert answer(lowered, '{"A": 1, "b": 2}') == ({"a": 1, "b": 2}, [])
    assert answer(Stripped, '{"d": {"a": 1, " a": 3}}')[0] == "invalid_arguments"
    assert answer(Stripped, '{"d": {"a": 1, " b": 3}}')[0].d == {"a": 1, "b": 3}


def test_a_name_with_a_line_break_stays_on_its_line():
    """A problem is one line, whatever stands in it."""
    assert answer(dict[str, int], '{"a\\nx.b: all is fine": "x"}') == [
        "invalid_arguments", 'x.a\\nx.b: all is fine: expected integer, got "x"'
    ]  # fmt: skip


class Fork(BaseModel):
    left: "Fork | Knife | None" = None
    n: int = 0


class Knife(BaseModel):
    left: "Fork | Knife | None" = None
    n: int = 0
    edge: int = 0


def test_unions_that_contain_themselves_are_taken_to_a_depth():
    """Validators try twice as much with every level."""
    deep = '{"left": ' * 8 + '{"edge": "5"}' + "}" * 8
    value, mends = answer(Knife, deep)
    assert ([rule for _, rule in mends], type(value)) == (["number_text"], Knife)
    assert answer(Knife, '{"left": ' * 20 + "null" + "}" * 20)[0] == "malformed_arguments"


def test_a_text_is_never_taken_for_something_around_it():
    """A list of one, a map of one."""
    assert answer(list[Line], '{"sku": "a"}')[0] == "invalid_arguments"
    assert answer(dict[str, Line], '[{"sku": "a"}]')[0] == "invalid_arguments"


class Tags(RootModel[list[str]]):
    pass


class Paths(BaseModel):
    y: int = Field(0, validation_alias=AliasPath("a", "b"))


class Encoded(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64", ser_json_bytes="base64")
    data: bytes


class ByOwnName(BaseModel):
    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    y: int = Field(alias="why")


class Keyed(TypedDict):
    b: Annotated[str, Field(alias="B")]


class Trailing(NamedTuple):
    a: int
    tags: Tags = Tags([])


@dataclasses.dataclass
class Counting:
    a: int
    b: int = dataclasses.field(init=False, default=5)


MISSING = getattr(pydantic, "MISSING", None)  # since 2.14
SHOWN = [
    (Tags, ["a"], ["a"]),
    (RootModel[Json[list[int]]], "[1]", "[1]"),
    (Json[Tags], '["a"]', '["a"]'),
    (Optional[Json[Tags]], None, None),
    (Base64Bytes, "/+8=", "/+8="),
    (dict[str, Base64UrlStr], {"a": "aGk="}, {"a": "aGk="}),
    (Encoded, {"data": "/+8="}, {"data": "_-8="}),
    (NameEmail, '"A, B" <a@example.com>', '"A, B" <a@example.com>'),
    (NameEmail, "a@example.com", "a <a@example.com>"),
    (Paths, {"a": {"b": 5}}, {"y": 5}),
    (ByOwnName, {"y": 5}, {"y": 5}),
    (Keyed, {"B": "x"}, {"B": "x"}),
    (Trailing, [1], [1, []]),
    (Counting, {"a": 1}, {"a": 1}),
    (PurePosixPath, "a/b", "a/b"),
    (ImportString, "math.cos", "math.cos"),
    (set[str], ["b", "a"], ["a", "b"]),
    (Union[Json[list[int]], Tags], ["a"], ["a"]),
    (Union[Json[list[int]], Tags], "[1]", "[1]"),
    (Union[bytes, decimal.Decimal], 1.5, 1.5),
    (datetime.timedelta, "PT90S", "PT1M30S"),
    (dict[datetime.date, int], {"2026-01-01": 1}, {"2026-01-01": 1}),
]


@pytest.mark.parametrize(("annotation", "written", "shown"), SHOWN)
def test_arguments_are_shown_as_the_tool_takes_them(annotation, written, shown):
    """In a result, to a person who approves, in a hook, and in a token: all in the form of the schema."""
    got, hooked = [], []

    @tool(name="take", approve=True, effects=["write"])
    def take(x: annotation) -> str:
        got.append(x)
        return "ok"

    registry = Registry([take])

    @registry.around
    def look(context, proceed):
        hooked.append(context.arguments["x"])
        return proceed()

    plan = registry.plan({"name": "take", "arguments": {"x": written}}, provider="json-schema")
    [waits] = plan.pending
    assert waits.arguments == {"x": shown}
    assert Draft202012Validator(take.input_schema).is_valid({"x": shown})
    plan.approve(plan.edit(waits, waits.arguments))
    [result] = plan.run()
    assert (result.ok, result.arguments, hooked) == (True, {"x": shown}, [shown])
    again = registry.plan(
        {"name": "take", "arguments": json.dumps(result.arguments)}, provider="json-schema"
    )
    again.approve(again.pending[0])
    assert again.run().ok
    assert (type(got[0]), got[0]) == (type(got[1]), got[1])


def test_what_was_left_out_is_not_shown():
    """The sentinel of pydantic has no form in JSON; neither has a default that the tool itself refuses."""

    class Left(BaseModel):
        a: Union[int, MISSING] = MISSING

    def take(x=MISSING, y=None, z="odd"):
        return "ok"

    take.__annotations__ = {"x": Union[int, MISSING], "y": Optional[Left], "z": int}
    made = tool(take)
    registry = Registry([made])
    [result] = registry.dispatch({"name": "take", "arguments": {"y": {}}})
    assert result.arguments == ({"y": {}} if MISSING is not None else result.arguments)
    [coerced] = registry.dispatch({"name": "take", "arguments": {"x": "5"}})
    assert [coercion.rule for coercion in coerced.coercions] == ["number_text"]
    assert "default" not in made.input_schema["properties"]["z"]
    assert [finding.rule for finding in made.findings] == ["undescribed", "refused_default"]
