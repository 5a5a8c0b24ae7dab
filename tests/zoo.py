"""Functions of every kind and every type, each with a call that is right."""

import asyncio
import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import ipaddress
import pathlib
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypeVar, Union

import annotated_types
import pydantic
from pydantic import BaseModel, ConfigDict, Field, RootModel, SecretStr
from typing_extensions import NotRequired, TypeAliasType, TypedDict, Unpack

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Line(BaseModel):
    sku: str
    qty: int = 1


class Order(BaseModel):
    customer: str
    lines: list[Line]
    express: bool = False


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str


class Aliased(BaseModel):
    identifier: str = Field(alias="_id")


class Page(BaseModel, Generic[T]):
    items: list[T]
    more: bool = False


class Tags(RootModel[list[str]]):
    pass


@dataclasses.dataclass
class Point:
    lat: float
    lon: float = 0.0


class Filter(TypedDict):
    region: str
    limit: NotRequired[int]


class Pair(NamedTuple):
    left: int
    right: str = "r"


UserId = NewType("UserId", int)
Json = TypeAliasType("Json", Union[dict[str, "Json"], list["Json"], str, int, float, bool, None])
Pet = Annotated[Union[Cat, Dog], Field(discriminator="kind")]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """A function, arguments as a model would write them, and what the function must see."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    seen: Any


CASES: dict[str, Case] = {}


def case(arguments: dict[str, Any], seen: Any) -> Callable[[T], T]:
    def keep(function: T) -> T:
        CASES[function.__name__] = Case(function=function, arguments=arguments, seen=seen)
        return function

    return keep


@case({}, None)
def nothing():
    return None


@case({"s": "a", "i": 1, "f": 1.5, "b": True}, ("a", 1, 1.5, True))
def scalars(s: str, i: int, f: float, b: bool):
    return s, i, f, b


@case({"s": "a"}, ("a", 3, None, "c"))
def defaults(s: str, i: int = 3, maybe: int | None = None, unit: Literal["c", "f"] = "c"):
    return s, i, maybe, unit


@case({"x": None}, (None, 5))
def nullable(x: int | None, y: int | None = 5):
    return x, y


@case({"x": "a"}, "a")
def optional_literal(x: Optional[Literal["a", "b"]] = None):
    return x


@case({"colour": "red", "level": 2, "mixed": 1}, (Colour.RED, Level.HIGH, 1))
def enums(colour: Colour, level: Level, mixed: Literal["a", 1, None, True]):
    return colour, level, mixed


@case(
    {"order": {"customer": "A", "lines": [{"sku": "x"}]}},
    Order(customer="A", lines=[Line(sku="x")]),
)
def nested(order: Order):
    return order


@case(
    {"tree": {"name": "a", "children": [{"name": "b"}]}}, Tree(name="a", children=[Tree(name="b")])
)
def recursive(tree: Tree):
    return tree


@case({"pet": {"kind": "dog", "tricks": ["sit"]}}, Dog(kind="dog", tricks=["sit"]))
def discriminated(pet: Pet):
    return pet


@case({"x": {"sku": "a"}}, Line(sku="a"))
def union_of_models(x: Union[Line, Point]):
    return x


@case({"x": "a", "y": 1}, ("a", 1))
def union_of_scalars(x: int | str, y: int | str):
    return x, y


@case(
    {"point": {"lat": 1.5}, "keep": {"region": "eu"}, "pair": [1, "b"]},
    (Point(1.5), {"region": "eu"}, Pair(1, "b")),
)
def records(point: Point, keep: Filter, pair: Pair):
    return point, keep, pair


@case({"x": {"_id": "a"}}, Aliased(_id="a"))
def aliased_field(x: Aliased):
    return x


@case({"page": {"items": [1]}, "tags": ["a"]}, (Page[int](items=[1]), Tags(["a"])))
def generic_and_root(page: Page[int], tags: Tags):
    return page, tags


@case({"x": {"name": "a", "more": 1}}, Open(name="a", more=1))
def open_model(x: Open):
    return x


@case({"user": 5}, 5)
def new_type(user: UserId):
    return user


@case(
    {"at": "2026-01-02T03:04:05Z", "day": "2026-01-02", "time": "03:04:05Z", "span": "PT1H"},
    (
        datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
        datetime.date(2026, 1, 2),
        datetime.time(3, 4, 5, tzinfo=datetime.timezone.utc),
        datetime.timedelta(hours=1),
    ),
)
def times(at: datetime.datetime, day: datetime.date, time: datetime.time, span: datetime.timedelta):
    return at, day, time, span


@case(
    {
        "u": "12345678-1234-5678-1234-567812345678",
        "d": "1.50",
        "b": "ab",
        "p": "/tmp/x",
        "c": "1+2j",
    },
    (
        uuid.UUID("12345678-1234-5678-1234-567812345678"),
        decimal.Decimal("1.50"),
        b"ab",
        pathlib.Path("/tmp/x"),
        1 + 2j,
    ),
)
def precise(u: uuid.UUID, d: decimal.Decimal, b: bytes, p: pathlib.Path, c: complex):
    return u, d, b, p, c


@case({"t": [1, "a"], "v": [1, 2], "p": [1, 2]}, ((1, "a"), (1, 2), (1, 2)))
def tuples(t: tuple[int, str], v: tuple[int, ...], p: tuple[int, int]):
    return t, v, p


@case({"s": [1, 2], "f": ["a"]}, ({1, 2}, frozenset({"a"})))
def sets(s: set[int], f: frozenset[str]):
    return s, f


@case(
    {"m": {"a": 1}, "n": {"1": ["x"]}, "o": {"k": {"sku": "s"}}},
    ({"a": 1}, {1: ["x"]}, {"k": Line(sku="s")}),
)
def maps(m: dict[str, int], n: dict[int, list[str]], o: dict[str, Line]):
    return m, n, o


@case({"e": {"red": 1}}, {Colour.RED: 1})
def enum_keys(e: dict[Colour, int]):
    return e


@case(
    {"s": ["a"], "m": {"a": 1}, "bare": [1, "a"], "free": {"a": [1]}, "grid": [[1, "x"]]},
    (["a"], {"a": 1}, [1, "a"], {"a": [1]}, [[1, "x"]]),
)
def abstract(s: Sequence[str], m: Mapping[str, int], bare: list, free: dict, grid: list[list[Any]]):
    return s, m, bare, free, grid


@case(
    {"x": {"any": ["thing", 1, None]}, "j": [1, {"a": None}]},
    ({"any": ["thing", 1, None]}, [1, {"a": None}]),
)
def anything(x: Any, j: Json):
    return x, j


@case(
    {"n": 5, "s": "ab", "l": [1], "f": 0.5, "m": 4},
    (5, "ab", [1], 0.5, 4),
)
def constrained(
    n: Annotated[int, Field(ge=1, le=9)],
    s: Annotated[str, Field(min_length=1, max_length=5, pattern="^[a-z]+$")],
    l: Annotated[list[int], Field(min_length=1, max_length=3)],
    f: Annotated[float, annotated_types.Gt(0), annotated_types.Lt(1)],
    m: Annotated[int, Field(multiple_of=2)] = 2,
):
    return n, s, l, f, m


@case({"secret": "s"}, SecretStr("s"))
def secret(secret: SecretStr):
    return secret


@case({"a": 1, "b": 2, "c": 3}, (1, 2, 3))
def positional_only(a: int, b: int = 5, /, c: int = 7):
    return a, b, c


@case({"a": 1, "b": 2, "rest": [3, 4], "k": 5}, (1, 2, (3, 4), 5))
def var_positional(a: int, b: int = 0, *rest: int, k: int):
    return a, b, rest, k


@case({"a": 1, "x": 2, "y": 3}, (1, {"x": 2, "y": 3}))
def var_keyword(a: int, **kwargs: int):
    return a, kwargs


@case({"region": "eu"}, {"region": "eu"})
def unpacked_keyword(**keep: Unpack[Filter]):
    return keep


@case(
    {
        "self_": 1,
        "model_dump": 2,
        "schema": 3,
        "_id": 4,
        "title": 5,
        "properties": 6,
        "required": 7,
        "type": 8,
        "copy": 9,
    },
    (1, 2, 3, 4, 5, 6, 7, 8, 9),
)
def awkward_names(
    self_: int,
    model_dump: int,
    schema: int,
    _id: int,
    title: int,
    properties: int,
    required: int,
    type: int,
    copy: int,
):
    return self_, model_dump, schema, _id, title, properties, required, type, copy


@case(
    {"model_config": 1, "__private": 2, "args": 3, "kwargs": 4, "cls": 5, "model_fields": 6},
    (1, 2, 3, 4, 5, 6),
)
def more_awkward_names(
    model_config: int, __private: int, args: int, kwargs: int, cls: int, model_fields: int
):
    return model_config, __private, args, kwargs, cls, model_fields


MISSING = object()


@case({}, (MISSING, ..., [1], None, Colour.RED))
def odd_defaults(
    a: Any = MISSING,
    b: Any = ...,
    c: list[int] = [1],
    d: int = None,
    e: Colour = Colour.RED,
    n: float = float("nan"),
):
    assert n != n
    return a, b, c, d, e


@case({"order": {"customer": "A", "lines": []}}, 7)
def with_field_defaults(
    order: Order, limit: int = Field(default_factory=lambda: 7, description="At most.")
):
    return limit


@case({"postponed": {"sku": "a"}, "maybe": [1]}, (Line(sku="a"), [1]))
def strings(postponed: "Line", maybe: "list[int] | None" = None):
    return postponed, maybe


@case({"x": 1}, 1)
async def coroutine(x: int) -> int:
    await asyncio.sleep(0)
    return x


@case({"n": 3}, [0, 1, 2])
def generator(n: int) -> Iterator[int]:
    yield from range(n)


@case({"n": 3}, [0, 1, 2])
async def async_generator(n: int) -> AsyncIterator[int]:
    for i in range(n):
        yield i


@case({"n": 0}, [])
def empty_generator(n: int) -> Iterator[int]:
    yield from range(n)


@case({"n": 2}, [0, 1])
def lazy_list(n: int) -> Iterable[int]:
    return iter(range(n))


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@case({"x": 1}, 1)
@logged
def wrapped(x: int) -> int:
    return x


@case({"x": 1}, 1)
@logged
async def wrapped_coroutine(x: int) -> int:
    return x


@case({"unannotated": [1]}, ([1], 5))
def unannotated(unannotated, other=5):
    return unannotated, other


class Named(BaseModel):
    """Fields called as our own rewrites call theirs, and as keywords are."""

    key: str
    value: int
    additional_properties: str = ""
    item_1: int = 0
    rest: list[int] = []
    enum: Literal["a"] = "a"


class TypedExtras(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int] = Field(init=False)

    name: str


class Forest(BaseModel):
    trees: dict[str, "Forest"] = {}


class Husband(BaseModel):
    wife: Optional["Wife"] = None


class Wife(BaseModel):
    husband: Optional[Husband] = None


class Loose(TypedDict, total=False):
    a: int
    b: str | None


class Spaced(BaseModel):
    spaced: int = Field(alias="a b")
    dotted: str = Field("x", alias="a.b")
    dashed: str = Field("y", alias="a-b")
    umlaut: int = Field(0, alias="größe")


@dataclasses.dataclass
class Box:
    point: Optional[Point] = None
    points: list[Point] = dataclasses.field(default_factory=list)


class Flag(enum.Enum):
    ON = True
    OFF = False


class Odd(enum.Enum):
    ONE = 1
    TEXT = "1"
    HALF = 0.5


@case(
    {"x": {"key": "k", "value": 1}, "m": {"k": {"key": "a", "value": 2}}},
    (Named(key="k", value=1), {"k": Named(key="a", value=2)}),
)
def our_own_names(x: Named, m: dict[str, Named]):
    return x, m


@case({"x": {"name": "a", "n": 1}}, TypedExtras(name="a", n=1))
def typed_extras(x: TypedExtras):
    return x


@case({"f": {"trees": {"a": {"trees": {}}}}}, Forest(trees={"a": Forest()}))
def recursive_map(f: Forest):
    return f


@case({"h": {"wife": {"husband": None}}}, Husband(wife=Wife(husband=None)))
def mutual(h: Husband):
    return h


@case({"x": {"b": None}, "y": [{}]}, ({"b": None}, [{}]))
def loose_typed_dict(x: Loose, y: list[Loose]):
    return x, y


@case({"x": {"a b": 1}, "y b": 2}, (Spaced(**{"a b": 1}), 2))
def keys_to_rename(x: Spaced, y: Annotated[int, Field(alias="y b")] = 0):
    return x, y


@case({"b": {"point": {"lat": 1.0}}, "c": None}, (Box(point=Point(1.0)), None))
def optional_records(b: Box, c: Box | None = None):
    return b, c


@case({"x": 2, "y": False, "z": 1, "f": True, "o": "1"}, (2, False, 1, Flag.ON, Odd.TEXT))
def odd_choices(
    x: Literal[1, 2], y: Literal[True, False], z: Literal[1, 2, 3] | None, f: Flag, o: Odd
):
    return x, y, z, f, o


@case({"xs": [1, "a", None, {"sku": "s"}]}, [1, "a", None, Line(sku="s")])
def list_of_unions(xs: list[int | str | Line | None]):
    return xs


@case({"m": {"a": [1, "x"]}, "t": [[1, 2], {"k": 1}]}, ({"a": (1, "x")}, ((1, 2), {"k": 1})))
def tuples_in_maps(m: dict[str, tuple[int, str]], t: tuple[tuple[int, int], dict[str, int]]):
    return m, t


@case(
    {"pets": [{"kind": "cat", "lives": 9}], "home": {"a": {"kind": "dog", "tricks": []}}},
    ([Cat(kind="cat", lives=9)], {"a": Dog(kind="dog", tricks=[])}),
)
def discriminated_deep(pets: list[Pet], home: dict[str, Pet] = {}):
    return pets, home


@case({"m": {"a": 1}, "n": {"x": {"y": 1}}}, ({"a": 1}, {"x": {"y": 1}}))
def constrained_maps(
    m: Annotated[dict[str, int], Field(min_length=1, max_length=2)], n: dict[str, dict[str, int]]
):
    return m, n


@case({"a": 1, "b": 9, "c": 0.5}, (1, 9, 0.5))
def exclusive(
    a: Annotated[int, Field(gt=0)],
    b: Annotated[int, Field(lt=10)],
    c: Annotated[float, Field(gt=0, lt=1)],
):
    return a, b, c


@case({"m": {"a": 1}, "k": {"red": [1]}}, ({"a": 1}, {Colour.RED: [1]}))
def literal_keys(m: dict[Literal["a", "b"], int], k: dict[Colour, list[int]] | None = None):
    return m, k


@case({"x": None, "y": [1], "z": {"a": None}}, (None, [1], {"a": None}))
def null_everywhere(
    x: list[int] | None, y: list[int | None] | None = None, z: dict[str, int | None] | None = None
):
    return x, y, z


@case({"x": [[1], [2, 3]]}, ([[1], [2, 3]],))
def nested_lists(*, x: list[list[int]], y: Annotated[list[str], Field(max_length=2)] = []):
    return (x,)


@case({"s": ["red"], "d": [1]}, ({Colour.RED}, collections.deque([1])))
def collections_of(s: set[Colour], d: collections.deque[int]):
    return s, d


@case(
    {"u": "https://example.com/", "i": "127.0.0.1", "p": "a+"},
    (pydantic.AnyUrl("https://example.com/"), ipaddress.IPv4Address("127.0.0.1"), re.compile("a+")),
)
def formatted(u: pydantic.AnyUrl, i: ipaddress.IPv4Address, p: re.Pattern[str]):
    return u, i, p


@case({"a": 3}, 3)
def many_optionals(
    a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0, f: int = 0, g: int = 0, h: int = 0, i: int = 0, j: int = 0,
    k: int = 0, l: int = 0, m: int = 0, n: int = 0, o: int = 0, p: int = 0, q: int = 0, r: int = 0, s: int = 0, t: int = 0,
    u: int = 0, v: int = 0, w: int = 0, x: int = 0, y: int = 0,
):  # fmt: skip
    return a + y


@case({"x": {"items": [{"kids": []}]}, "n": "x"}, ({"items": [{"kids": []}]}, "x"))
def free_beside_named(x: dict[str, list[dict[str, Any]]], n: str = "n"):
    return x, n


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    v: int = Field(alias="V")


class ByBoth(BaseModel):
    model_config = ConfigDict(validate_by_alias=True, validate_by_name=True)
    v: int = Field(alias="V")


class ByPath(BaseModel):
    v: int = Field(validation_alias=pydantic.AliasPath("p", "q"))
    w: int = Field(2, validation_alias=pydantic.AliasChoices("one", "other"))


@dataclasses.dataclass
class SetByItself:
    a: int
    b: int = dataclasses.field(init=False, default=7)


class TaggedCat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class TaggedDog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str


class Short(NamedTuple):
    a: int
    b: str = "x"
    c: Optional[int] = None


class Behind(BaseModel):
    m: dict[int, int] = {}
    d: dict[Literal[1, 2], datetime.date] = {}
    s: set[int] = set()
    t: tuple[int, datetime.date] | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def pre(cls, value: Any) -> Any:
        return value


class OfTuples(enum.Enum):
    PAIR = (1, 2)
    SET = frozenset({"a", "b", "c"})
    NONE = None
    EXACT = decimal.Decimal("1.50")


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class ManyRights(enum.IntFlag):
    A, B, C, D, E, F, G = (2**index for index in range(7))


class Numbered(enum.Enum):
    ONE = 1
    TWO = 2


class Plus(BaseModel):
    op: Literal["plus"]
    args: list["Term"]


class Minus(BaseModel):
    op: Literal["minus"]
    arg: "Term"


class Leaf(BaseModel):
    op: Literal["leaf"]
    value: int


Term = Annotated[Union[Plus, Minus, Leaf], Field(discriminator="op")]
Plus.model_rebuild()
Minus.model_rebuild()


@dataclasses.dataclass
class Sets:
    tags: set[str] = dataclasses.field(default_factory=lambda: {"c", "a", "b"})


@case({"x": {"v": 1}}, ByName(v=1))
def fields_by_name(x: ByName):
    return x


@case({"x": {"V": 2}}, ByBoth(V=2))
def fields_by_both(x: ByBoth):
    return x


@case({"x": 1, "y": {"v": 2, "one": 3}}, (1, ByPath(p={"q": 2}, one=3)))
def aliased_by_a_path(
    x: Annotated[int, Field(validation_alias=pydantic.AliasPath("p", "q"))], y: ByPath
):
    return x, y


@case({"x": {"a": 1}}, SetByItself(1))
def set_by_itself(x: SetByItself):
    return x


@case(
    {"x": {"lives": 3}, "y": {"kind": "dog", "name": "a"}},
    (TaggedCat(lives=3), TaggedDog(name="a")),
)
def tags_with_defaults(
    x: Annotated[TaggedCat | TaggedDog, Field(discriminator="kind")],
    y: Annotated[TaggedCat | TaggedDog, Field(discriminator="kind")] | None = None,
):
    return x, y


@case({"p": [1], "q": [[1, "b", 3]]}, (Short(1), [Short(1, "b", 3)]))
def short_tuples(p: Short, q: list[Short] = []):
    return p, q


@case(
    {"x": {"m": {"1": 2}, "d": {"1": "2026-01-02"}, "s": [1], "t": [1, "2026-01-02"]}},
    Behind(m={1: 2}, d={1: datetime.date(2026, 1, 2)}, s={1}, t=(1, datetime.date(2026, 1, 2))),
)
def behind_a_validator(x: Behind):
    return x


@case(
    {"x": [1, 2], "y": ["a", "b", "c"], "z": "1.50", "n": 1},
    (OfTuples.PAIR, OfTuples.SET, OfTuples.EXACT, Numbered.ONE),
)
def odd_enums(x: OfTuples, y: OfTuples, z: OfTuples, n: Literal[Numbered.ONE]):
    return x, y, z, n


@case({"x": 3, "y": 64, "z": [0]}, (Rights.READ | Rights.WRITE, ManyRights.G, [Rights(0)]))
def flags(x: Rights, y: ManyRights, z: list[Rights] = []):
    return x, y, z


@case(
    {
        "n": {"1": 1}, "b": {"true": 1}, "f": {"1.5": 1}, "o": {"7": 1}, "l": {"1": 1, "a": 2}, "e": {"1": 1}, "t": {"[1, 2]": 1},
        "c": {"a": 2}, "d": {"1": 2}, "r": {"3": 1},
    },
    (
        {1: 1}, {True: 1}, {1.5: 1}, {7: 1}, {1: 1, "a": 2}, {Level.LOW: 1}, {OfTuples.PAIR: 1},
        collections.Counter({"a": 2}), {1: 2}, {Rights.READ | Rights.WRITE: 1},
    ),
)  # fmt: skip
def keys_of_every_kind(
    n: collections.OrderedDict[int, int],
    b: dict[bool, int],
    f: Mapping[float, int],
    o: dict[Optional[int], int],
    l: dict[Literal[1, "a"], int],
    e: dict[Level, int],
    t: dict[OfTuples, int],
    c: collections.Counter[str],
    d: collections.defaultdict[int, int],
    r: dict[Rights, int],
):
    return n, b, f, o, l, e, t, c, d, r


@case({"order": None, "size": "1", "x": None}, (None, "1", None))
def nulls_and_choices(
    order: Literal["asc", "desc", None] = "asc",
    size: Literal[1, "auto"] | str = "auto",  # noqa: PYI051 - the text 1 is another value than the number
    x: Optional[int] = Field(default_factory=lambda: 7),
):
    return order, size, x


@case({"e": {"op": "minus", "arg": {"op": "plus", "args": [{"op": "leaf", "value": 1}]}}}, None)
def mutually_recursive(e: Term):
    assert e.arg.args[0].value == 1


@case({"x": '{"a": 1}', "y": '[1, {"b": null}]'}, ({"a": 1}, [1, {"b": None}]))
def json_in_text(x: pydantic.Json[dict[str, int]], y: pydantic.Json = None):
    return x, y


@case({"x": []}, ((), Sets({"a", "b", "c"})))
def nothing_and_sets(x: tuple[()] = (), y: Sets = Sets()):
    return x, y


@case({"a": 1}, "int")
@functools.singledispatch
def dispatching(a: int):
    return "int"


class Dispatching:
    @functools.singledispatchmethod
    def dispatching_method(self, a: int, b: int = 2):
        return a + b


case({"a": 1}, 3)(Dispatching().dispatching_method)


@case({"tags": ["a"], "loose": {"b": 1}}, (["a"], {"b": 1}))
def after_validators(
    tags: Annotated[list[str], pydantic.AfterValidator(lambda tags: tags or None)],
    loose: Annotated[dict[str, int], pydantic.BeforeValidator(lambda value: value)] = {},
    n: Annotated[int, pydantic.AfterValidator(lambda n: n or None)] = 3,
):
    return tags, loose
