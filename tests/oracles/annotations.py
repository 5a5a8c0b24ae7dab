"""Annotations of every kind that pydantic has, each with JSON texts of values that it may be given.

An annotation is the source of an expression over the names of this module, so that a case of the lane is JSON.
"""
# ruff: noqa: F401, PIE796, RUF036 - the expressions use what is imported; aliases and odd orders are cases, too

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import ipaddress
import json
import pathlib
import re
import typing
import uuid
from collections.abc import (
    Iterable,
    Mapping,
    MutableMapping,
    MutableSet,
    Sequence,
    Set as AbstractSet,
)
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, TypeVar, Union

import annotated_types
import pydantic
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    RootModel,
    StringConstraints,
    Tag,
)
from pydantic.alias_generators import to_camel
from typing_extensions import NotRequired, Required, TypedDict

__all__ = ["ANNOTATIONS", "SECRETS", "WRAPPERS", "evaluated"]

MISSING: Any = getattr(pydantic, "MISSING", None)  # since 2.14
T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    CRIMSON = "red"  # an alias of RED
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2
    TOP = 2


class Word(str, enum.Enum):
    YES = "yes"
    NO = "no"


class Mixed(enum.Enum):
    TEXT = "1"
    NUMBER = 1
    NOTHING = None
    PAIR = (1, 2)
    HALF = 0.5


class Rights(enum.IntFlag):
    READ = 1
    WRITE = 2
    BOTH = 3
    RUN = 4


class Marks(enum.Flag):
    A = 1
    B = 2


class Point(BaseModel):
    x: int
    y: int = 0


class Named(BaseModel):
    first_name: str = Field(alias="firstName")
    age: Optional[int] = Field(None, validation_alias="years")
    tags: list[str] = []


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    long_name: int
    other_name: str = "o"


class Generated(BaseModel):
    model_config = ConfigDict(
        alias_generator=AliasGenerator(validation_alias=lambda name: f"in_{name}")
    )
    value: int


class ByPath(BaseModel):
    y: int = Field(0, validation_alias=AliasPath("a", "b"))


class ByIndex(BaseModel):
    y: int = Field(0, validation_alias=AliasPath("a", 0))


class ByChoice(BaseModel):
    y: int = Field(validation_alias=AliasChoices("why", AliasPath("deep", "y"), "y"))


class Plain(BaseModel):
    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    y: int = Field(alias="why")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int


class OpenDates(BaseModel):
    __pydantic_extra__: dict[str, datetime.date]
    model_config = ConfigDict(extra="allow")
    x: int


class Loose(BaseModel):
    model_config = ConfigDict(extra="ignore")
    x: int


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    x: int


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    x: int
    d: Optional[datetime.date] = None


class Shouting(BaseModel):
    model_config = ConfigDict(str_to_upper=True, str_strip_whitespace=True)
    word: str
    keys: dict[str, int] = {}


class Binary(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    data: bytes


class Hexed(BaseModel):
    model_config = ConfigDict(ser_json_bytes="hex", val_json_bytes="hex")
    data: bytes


class Timed(BaseModel):
    model_config = ConfigDict(ser_json_timedelta="float")
    wait: datetime.timedelta


class Serialised(BaseModel):
    when: datetime.date
    secret_note: str = Field("", exclude=True)

    @pydantic.field_serializer("when")
    def _when(self, value: datetime.date) -> str:
        return f"on {value}"


class Whole(BaseModel):
    a: int = 1

    @pydantic.model_serializer
    def _whole(self) -> str:
        return "whole"


class Checked(BaseModel):
    low: int
    high: int

    @pydantic.model_validator(mode="after")
    def _ordered(self) -> "Checked":
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Computed(BaseModel):
    a: int

    @pydantic.computed_field
    def twice(self) -> int:
        return 2 * self.a


class Left(BaseModel):
    a: Union[int, MISSING] = MISSING
    b: Union[str, None, MISSING] = MISSING


class Tags(RootModel[list[str]]):
    pass


class Price(RootModel[decimal.Decimal]):
    pass


class Table(RootModel[dict[str, Point]]):
    pass


class Maybe(RootModel[Optional[int]]):
    root: Optional[int] = None


class Box(BaseModel, Generic[T]):
    item: T
    more: list[T] = []


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


class Mail(BaseModel):
    kind: Literal["mail"] = "mail"
    address: str


class Phone(BaseModel):
    kind: Literal["phone"]
    number: str


class Fax(BaseModel):
    kind: Literal["fax"] = Field("fax", alias="kind")
    number: int


class Wrapped(BaseModel):
    inner: Union[Point, Tags, None] = None
    price: Price = Price(decimal.Decimal("1.5"))


@dataclasses.dataclass
class Data:
    a: int
    b: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Computing:
    a: int
    b: int = dataclasses.field(init=False, default=5)


@dataclasses.dataclass(frozen=True)
class Slotted:
    __slots__ = ("a",)
    a: int


@pydantic.dataclasses.dataclass
class Pdata:
    a: int = Field(alias="A")
    when: Optional[datetime.datetime] = None


class Typed(TypedDict):
    a: int
    b: NotRequired[str]


class Partial(TypedDict, total=False):
    a: int
    b: Required[Annotated[str, Field(alias="B")]]


class Pair(NamedTuple):
    a: int
    b: str = "b"


class Untyped(NamedTuple):
    when: datetime.date
    data: Point


Old = collections.namedtuple("Old", "a b")  # noqa: PYI024 - without annotations on purpose
UserId = typing.NewType("UserId", int)


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("odd")
    return value


def _of_kind(value: Any) -> str:
    return "n" if isinstance(value, (int, float)) and not isinstance(value, bool) else "t"


ANNOTATIONS: dict[str, list[str]] = {
    # --- scalars
    "int": ["0", "5", "-3", "12345678901234567890"],
    "float": ["0.5", "1", "-2e3", "1e308"],
    "bool": ["true", "false"],
    "str": ['"a"', '""', '"5"', '"\\u00e9"'],
    "bytes": ['"a"', '"\\u00e9"', '""', '"1.50"'],
    "bytearray": ['"a"'],
    "None": ["null"],
    "Any": ["null", "5", '{"a": [1]}', '"x"', "1.10"],
    "object": ["null", "5", '{"a": 1}'],
    "complex": ['"1+2j"', '"3"', "1.5", '"(1+2j)"', '"1e5j"'],
    "decimal.Decimal": ["1.50", '"1.50"', '"5"', "5", '"-0.0"', '"1E+3"', "1e2", '"0.1"'],
    "fractions.Fraction": ['"1/3"', '"0.5"', "1", "0.25"],
    "datetime.date": ['"2026-11-23"', '"2000-02-29"'],
    "datetime.time": ['"12:30"', '"12:30:01.5"', '"12:30:00Z"'],
    "datetime.datetime": ['"2026-11-23T12:30:00"', '"2026-11-23T12:30:00+02:00"', '"2026-11-23 12:30"'],
    "datetime.timedelta": ['"P1DT2H"', '"PT5S"', '"1 day, 00:00:01"', '"-P1D"', "5", "1.5"],
    "uuid.UUID": ['"12345678-1234-5678-1234-567812345678"', '"12345678123456781234567812345678"'],
    "pathlib.Path": ['"a/b"', '""', '"/tmp"'],
    "pathlib.PurePosixPath": ['"a/b"'],
    "re.Pattern": ['"a+"', '"["'],
    "re.Pattern[str]": ['"^a$"'],
    "re.Pattern[bytes]": ['"a"'],
    "ipaddress.IPv4Address": ['"127.0.0.1"'],
    "ipaddress.IPv6Address": ['"::1"'],
    "ipaddress.IPv4Network": ['"10.0.0.0/8"'],
    "ipaddress.IPv6Network": ['"fe80::/64"'],
    "ipaddress.IPv4Interface": ['"10.0.0.1/8"'],
    "ipaddress.IPv6Interface": ['"fe80::1/64"'],
    "UserId": ["5"],
    # --- pydantic.types
    "pydantic.StrictStr": ['"a"'],
    "pydantic.StrictInt": ["5"],
    "pydantic.StrictFloat": ["0.5", "1"],
    "pydantic.StrictBool": ["true"],
    "pydantic.StrictBytes": ['"a"'],
    "pydantic.conint(gt=0, le=10)": ["1", "10"],
    "pydantic.conint(multiple_of=5)": ["10"],
    "pydantic.confloat(ge=0, lt=1)": ["0.5", "0"],
    "pydantic.condecimal(max_digits=4, decimal_places=2)": ['"12.50"', "1.25", '"0.5"'],
    "pydantic.condecimal(gt=0)": ['"12.50"', "1.25"],
    "pydantic.constr(min_length=1, max_length=3)": ['"ab"'],
    "pydantic.constr(pattern='^a+$')": ['"aa"'],
    "pydantic.constr(strip_whitespace=True, to_lower=True)": ['" AB "', '"ab"'],
    "pydantic.conbytes(min_length=1)": ['"ab"'],
    "pydantic.conlist(int, min_length=1, max_length=2)": ["[1]", "[1, 2]"],
    "pydantic.conset(int, min_length=1)": ["[1]", "[1, 1, 2]"],
    "pydantic.confrozenset(str, max_length=2)": ['["a"]'],
    "pydantic.condate(gt=datetime.date(2020, 1, 1))": ['"2026-01-01"'],
    "pydantic.PositiveInt": ["1"],
    "pydantic.NegativeFloat": ["-1.5"],
    "pydantic.NonNegativeInt": ["0"],
    "pydantic.FiniteFloat": ["1.5"],
    "pydantic.UUID4": ['"7b0b3a4c-3d0f-4d8e-9f6a-1c2d3e4f5a6b"'],
    "pydantic.UUID7": ['"01890a5d-ac96-774b-bcce-b302099a8057"'],
    "pydantic.FilePath": ['"/etc/hostname"', '"/etc/passwd"', '"nowhere"'],
    "pydantic.DirectoryPath": ['"/tmp"', '"nowhere"'],
    "pydantic.NewPath": ['"/tmp/toolshape-no-such-file"', '"/tmp"'],
    "pydantic.SocketPath": ['"/tmp"'],
    "pydantic.Json": ['"{\\"a\\": 1}"', '"5"', '"null"', '"[1.10]"'],
    "pydantic.Json[list[int]]": ['"[1, 2]"', '"[]"'],
    "pydantic.Json[decimal.Decimal]": ['"1.50"', '"\\"1.50\\""'],
    "pydantic.Json[Point]": ['"{\\"x\\": 1}"'],
    "pydantic.Json[str]": ['"\\"a\\""'],
    "pydantic.SecretStr": ['"hunter2"'],
    "pydantic.SecretBytes": ['"hunter2"'],
    "pydantic.Secret[int]": ["42424242"],
    "pydantic.Secret[dict[str, int]]": ['{"hunter2": 42424242}'],
    "pydantic.Secret[Point]": ['{"x": 42424242}'],
    "pydantic.Secret[list[str]]": ['["hunter2"]'],
    "pydantic.PaymentCardNumber": ['"4242424242424242"'],
    "pydantic.ByteSize": ["1024", '"1KiB"', '"5 MB"', '"1.5gb"', '"10"'],
    "pydantic.PastDate": ['"2000-01-01"'],
    "pydantic.FutureDate": ['"2999-01-01"'],
    "pydantic.PastDatetime": ['"2000-01-01T00:00:00"'],
    "pydantic.FutureDatetime": ['"2999-01-01T00:00:00"'],
    "pydantic.AwareDatetime": ['"2026-01-01T00:00:00Z"'],
    "pydantic.NaiveDatetime": ['"2026-01-01T00:00:00"'],
    "pydantic.Base64Bytes": ['"aGk="', '"/+8="', '""'],
    "pydantic.Base64Str": ['"aGk="', '""'],
    "pydantic.Base64UrlBytes": ['"aGk="', '"_-8="'],
    "pydantic.Base64UrlStr": ['"aGk="'],
    "pydantic.JsonValue": ["null", "5", '{"a": [1.5, "x"]}', "[]"],
    "pydantic.ImportString": ['"math.cos"', '"math"'],
    "list[pydantic.OnErrorOmit[int]]": ["[1, 2]"],
    # --- pydantic.networks
    "pydantic.AnyUrl": ['"https://example.com/a b"', '"foo://x"', '"https://example.com"'],
    "pydantic.AnyHttpUrl": ['"http://example.com"'],
    "pydantic.HttpUrl": ['"https://example.com"', '"https://EXAMPLE.com/%7Ea?q=1#f"'],
    "pydantic.FileUrl": ['"file:///a"'],
    "pydantic.FtpUrl": ['"ftp://a"'],
    "pydantic.WebsocketUrl": ['"wss://a"'],
    "pydantic.PostgresDsn": ['"postgres://user:pass@localhost:5432/foobar"'],
    "pydantic.RedisDsn": ['"redis://localhost"', '"redis://:pass@localhost"'],
    "pydantic.MongoDsn": ['"mongodb://mongodb0.example.com:27017"'],
    "pydantic.KafkaDsn": ['"kafka://localhost:9092"'],
    "pydantic.AmqpDsn": ['"amqp://user:pass@host:5672/v"'],
    "pydantic.MySQLDsn": ['"mysql://user:pass@host/db"'],
    "pydantic.ClickHouseDsn": ['"clickhouse://user:pass@host:9000/db"'],
    "pydantic.EmailStr": ['"a@example.com"', '"A@EXAMPLE.com"'],
    "pydantic.NameEmail": ['"Ann <a@example.com>"', '"a@example.com"', '"\\"A, B\\" <a@example.com>"'],
    "pydantic.IPvAnyAddress": ['"127.0.0.1"', '"::1"'],
    "pydantic.IPvAnyInterface": ['"10.0.0.1/8"', '"10.0.0.1"'],
    "pydantic.IPvAnyNetwork": ['"10.0.0.0/8"', '"fe80::/64"'],
    # --- choices
    "Colour": ['"red"', '"blue"'],
    "Level": ["1", "2"],
    "Word": ['"yes"'],
    "Mixed": ['"1"', "1", "null", "[1, 2]", "0.5"],
    "Rights": ["0", "1", "3", "7"],
    "Marks": ["1", "3"],
    "Literal[1, 'a', None, True]": ["1", '"a"', "null", "true"],
    "Literal['GET', 'get', 'PUT']": ['"GET"', '"get"'],
    "Literal[Colour.RED, 'x']": ['"red"', '"x"'],
    "Literal[b'a', b'b']": ['"a"'],
    "Literal[1]": ["1"],
    # --- containers
    "list": ["[]", '[1, "a"]'],
    "dict": ["{}", '{"a": 1}'],
    "tuple": ["[1]"],
    "set": ["[1, 2]"],
    "frozenset": ["[1]"],
    "set[int]": ["[1, 2, 2]"],
    "set[datetime.date]": ['["2026-01-01", "2025-01-01"]'],
    "frozenset[str]": ['["b", "a"]'],
    "tuple[int, str]": ['[1, "a"]'],
    "tuple[int, ...]": ["[]", "[1, 2]"],
    "tuple[()]": ["[]"],
    "collections.deque[int]": ["[1]"],
    "collections.OrderedDict[str, int]": ['{"b": 1, "a": 2}'],
    "collections.defaultdict[str, list[int]]": ['{"a": [1]}'],
    "collections.Counter[str]": ['{"a": 2}'],
    "dict[int, str]": ['{"1": "a"}', '{"-5": "b"}'],
    "dict[float, int]": ['{"1.5": 1}'],
    "dict[bool, int]": ['{"true": 1}'],
    "dict[datetime.date, int]": ['{"2026-01-01": 1}'],
    "dict[uuid.UUID, int]": ['{"12345678-1234-5678-1234-567812345678": 1}'],
    "dict[decimal.Decimal, int]": ['{"1.50": 1}'],
    "dict[Colour, int]": ['{"red": 1}'],
    "dict[Level, int]": ['{"1": 1}'],
    "dict[Literal['a', 'b'], int]": ['{"a": 1}'],
    "dict[pydantic.constr(pattern='^k'), int]": ['{"ka": 1}'],
    "Mapping[str, Point]": ['{"a": {"x": 1}}'],
    "MutableMapping[str, int]": ['{"a": 1}'],
    "Sequence[int]": ["[1]"],
    "Sequence[Point]": ['[{"x": 1}]'],
    "Iterable[int]": ["[1, 2]"],
    "AbstractSet[int]": ["[1]"],
    "MutableSet[int]": ["[1]"],
    # --- classes
    "Point": ['{"x": 1}', '{"x": 1, "y": 2}'],
    "Named": ['{"firstName": "a"}', '{"firstName": "a", "years": 3, "tags": ["t"]}', '{"firstName": "a", "years": null}'],
    "Camel": ['{"longName": 1}', '{"long_name": 1}', '{"longName": 1, "otherName": "x"}'],
    "Generated": ['{"in_value": 1}'],
    "ByPath": ['{"a": {"b": 5}}', '{"a": {"b": 5, "misspelt": 1}}', '{"y": 5}', "{}"],
    "ByIndex": ['{"a": [1]}', '{"a": [1, 2]}', '{"y": 5}', "{}"],
    "ByChoice": ['{"why": 1}', '{"y": 1}', '{"deep": {"y": 1}}', '{"deep": {"y": 1, "z": 2}}'],
    "Plain": ['{"y": 1}', '{"why": 1}'],
    "Open": ['{"x": 1}', '{"x": 1, "z": [1]}'],
    "OpenDates": ['{"x": 1, "z": "2026-01-01"}'],
    "Loose": ['{"x": 1}', '{"x": 1, "z": 2}'],
    "Frozen": ['{"x": 1}'],
    "Strict": ['{"x": 1}', '{"x": 1, "d": "2026-01-01"}'],
    "Shouting": ['{"word": " a "}', '{"word": "a", "keys": {"b": 1}}'],
    "Binary": ['{"data": "aGk="}', '{"data": "/+8="}'],
    "Hexed": ['{"data": "6869"}'],
    "Timed": ['{"wait": "PT5S"}'],
    "Serialised": ['{"when": "2026-01-01"}', '{"when": "2026-01-01", "secret_note": "n"}'],
    "Whole": ['{"a": 5}', "{}"],
    "Checked": ['{"low": 1, "high": 2}', '{"low": 2, "high": 1}'],
    "Computed": ['{"a": 1}'],
    "Left": ["{}", '{"a": 1}', '{"b": null}'],
    "Tags": ['["a"]', "[]"],
    "Price": ['"1.50"', "1.50"],
    "Table": ['{"a": {"x": 1}}'],
    "Maybe": ["5", "null"],
    "Box[int]": ['{"item": 1}', '{"item": 1, "more": [2]}'],
    "Box[Tags]": ['{"item": ["a"]}'],
    "Tree": ['{"name": "a", "children": [{"name": "b"}]}'],
    "Wrapped": ["{}", '{"inner": {"x": 1}}', '{"inner": ["a"], "price": "2.50"}'],
    "Data": ['{"a": 1}', '{"a": 1, "b": ["x"]}'],
    "Computing": ['{"a": 1}'],
    "Slotted": ['{"a": 1}'],
    "Pdata": ['{"A": 1, "when": "2026-01-01T00:00:00"}', '{"A": 1}'],
    "Typed": ['{"a": 1}', '{"a": 1, "b": "x"}'],
    "Partial": ['{"B": "x"}', '{"B": "x", "a": 1}'],
    "Pair": ['[1, "x"]', "[1]", '{"a": 1}'],
    "Untyped": ['["2026-01-01", {"x": 1}]'],
    "Old": ["[1, 2]"],
    # --- unions
    "Union[int, str]": ["1", '"1"'],
    "Union[int, float, None]": ["1", "1.5", "null"],
    "Union[bytes, decimal.Decimal]": ['"a"', "1.50", '"1.50"'],
    "Union[decimal.Decimal, str]": ['"1.50"', "1.50", '"x"'],
    "Union[datetime.date, str]": ['"2026-01-01"', '"x"'],
    "Union[datetime.date, datetime.datetime]": ['"2026-01-01"', '"2026-01-01T10:00:00"'],
    "Union[uuid.UUID, int]": ['"12345678-1234-5678-1234-567812345678"', "1"],
    "Union[Point, Data]": ['{"x": 1}', '{"a": 1}'],
    "Union[Point, list[Point]]": ['{"x": 1}', '[{"x": 1}]'],
    "Union[list[int], set[str]]": ["[1]", '["a"]'],
    "Union[datetime.timedelta, str]": ['"PT5S"', "5", "1.5"],
    "Union[fractions.Fraction, str]": ['"1/3"', "0.5"],
    "Union[complex, decimal.Decimal]": ['"1j"', "0.5", '"5"'],
    "Union[pydantic.Base64Bytes, Point]": ['"aGk="', '{"x": 1}'],
    "Union[Tags, dict[str, int]]": ['["a"]', '{"root": 1}'],
    "Annotated[int, BeforeValidator(lambda value: value)]": ["5"],
    "Union[Colour, Level]": ['"red"', "1"],
    "Union[int, MISSING]": ["1"],
    "Annotated[Union[Mail, Phone], Field(discriminator='kind')]": [
        '{"kind": "mail", "address": "a"}', '{"kind": "phone", "number": "1"}', '{"address": "a"}'
    ],
    "Annotated[Union[Phone, Fax], Field(discriminator='kind')]": ['{"kind": "fax", "number": 1}', '{"kind": "phone", "number": "1"}'],
    "Annotated[Union[Annotated[float, Tag('n')], Annotated[str, Tag('t')]], Discriminator(_of_kind)]": ["1.5", '"a"'],
    # --- Annotated
    "Annotated[int, annotated_types.Gt(0)]": ["1"],
    "Annotated[str, annotated_types.Len(1, 3)]": ['"ab"'],
    "Annotated[list[int], annotated_types.MinLen(1)]": ["[1]"],
    "Annotated[str, StringConstraints(to_upper=True)]": ['"a"'],
    "Annotated[int, AfterValidator(_even)]": ["2", "3"],
    "Annotated[int, Field(default=5)]": ["1"],
    "list[Annotated[int, Field(default=5)]]": ["[1]", "[1, null]"],
    "Annotated[int, Field(strict=False)]": ["1", '"1"'],
    "Annotated[str, Field(strict=True)]": ['"a"'],
    "Annotated[decimal.Decimal, Field(gt=0, max_digits=5)]": ['"1.50"', "1.50"],
    "Annotated[datetime.timedelta, Field(gt=datetime.timedelta(0))]": ['"PT5S"'],
    "Annotated[bytes, pydantic.EncodedBytes(encoder=pydantic.Base64Encoder)]": ['"aGk="'],
    "Annotated[float, pydantic.AllowInfNan(True)]": ["1.5"],
    "Annotated[list[int], pydantic.FailFast()]": ["[1]"],
    "Annotated[dict[str, Any], Field(min_length=1)]": ['{"a": 1.5}'],
}  # fmt: skip
"""Annotations, each with texts of values, most of which it takes."""

SECRETS = re.compile("Secret")
"""Found in annotations whose values are masked wherever they are shown."""


def _same(value: str) -> str:
    return value


WRAPPERS: dict[str, typing.Callable[[str], str]] = {
    "{}": _same,
    "Optional[{}]": _same,
    "list[{}]": lambda value: f"[{value}]",
    "dict[str, {}]": lambda value: f'{{"k": {value}}}',
    "tuple[int, {}]": lambda value: f"[1, {value}]",
    "tuple[{}, ...]": lambda value: f"[{value}, {value}]",
    "field({})": lambda value: f'{{"value": {value}}}',
    "optional_field({})": lambda value: f'{{"value": {value}}}',
    "aliased_field({})": lambda value: f'{{"theValue": {value}}}',
    "root({})": _same,
    "data({})": lambda value: f'{{"value": {value}}}',
    "typed({})": lambda value: f'{{"value": {value}}}',
    "Box[{}]": lambda value: f'{{"item": {value}}}',
    "Union[{}, Point]": _same,
    "Union[None, list[{}]]": lambda value: f"[{value}]",
    "Annotated[{}, Field(description='d')]": _same,
    "list[Optional[{}]]": lambda value: f"[{value}, null]",
    "pydantic.Json[{}]": lambda value: json.dumps(value),
}
"""What an annotation may stand in, and where its value then stands."""


def field(annotation: Any) -> Any:
    """A model with one required field."""
    return pydantic.create_model("Holder", value=(annotation, ...))


def optional_field(annotation: Any) -> Any:
    """A model with one field that may be left out."""
    return pydantic.create_model("Holder", value=(Optional[annotation], None), other=(int, 1))


def aliased_field(annotation: Any) -> Any:
    """A model whose field is called otherwise in JSON."""
    return pydantic.create_model("Holder", value=(annotation, Field(alias="theValue")))


def root(annotation: Any) -> Any:
    """A RootModel."""
    return RootModel[annotation]


def data(annotation: Any) -> Any:
    """A dataclass with one field."""
    return dataclasses.make_dataclass("Holder", [("value", annotation)])


def typed(annotation: Any) -> Any:
    """A TypedDict with one key."""
    return TypedDict("Holder", {"value": annotation})


_NAMES = dict(globals())


@functools.cache
def evaluated(text: str) -> Any:
    """The annotation that a text says."""
    return eval(text, _NAMES)
