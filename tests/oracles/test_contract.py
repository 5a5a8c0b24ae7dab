"""The lane *contract*: pairs of tools, each verdict of ``diff`` and ``diff_contracts`` checked by calling both tools.

A call that the old tool takes and the new tool refuses must be ``breaking`` or ``unknown``. A ``breaking`` change must
have a witness that the old tool takes and the new tool refuses. Equal tools must have no change, and each other default
or description must be reported.
"""

import copy
import datetime
import decimal
import enum
import itertools
import json
import pathlib
import typing
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Annotated, Any, Literal, Optional

import pydantic
import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import extend
from lanes import BLOCKS, Case, check_drawn, check_kept
from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model

from toolshape import Registry, Tool, ToolshapeError, tool
from toolshape.contract import Diff, diff, diff_contracts, make_contract

# A float with a whole value is a number, which our tools coerce to an integer.
Judge: Any = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: type(value) is int
    ),
)


class Colour(enum.Enum):
    """A colour."""

    RED = "r"
    BLUE = "b"


class Shade(enum.Enum):
    """A colour."""

    RED = "r"
    GREEN = "g"


Shade.__name__ = Shade.__qualname__ = (
    "Colour"  # the same definition in a later version of the module
)


class Day(enum.Enum):
    FIRST = "2024-01-01"
    LAST = "2024-12-31"


class Line(BaseModel):
    sku: str
    quantity: int = 1
    colour: Colour = Colour.RED


Longer = create_model(
    "Line", sku=(str, ...), quantity=(int, 1), colour=(Shade, Shade.RED), note=(str, "")
)
Shorter = create_model("Line", sku=(str, Field(max_length=3)), quantity=(int, 2))


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    sku: str


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


class Words(RootModel[list[str]]):
    pass


class Counts(RootModel[dict[str, int]]):
    pass


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str = ""


NAMES = {name: getattr(pydantic, name) for name in pydantic.__all__} | vars(typing) | globals()
NAMES |= {module.__name__: module for module in (datetime, decimal, pathlib, uuid)}

# Values of JSON that a type may take, by the source of the type. Two types of this table that have equal schemas take the
# same values: what only a validator refuses is no part of a contract.
TYPES: dict[str, list[Any]] = {
    "str": ["", "abc", "today", "5", "x" * 40, "2024-01-01"],
    "int": [0, 5, -3, 10**7],
    "float": [0.5, 3, -1e9],
    "bool": [True, False],
    "None": [None],
    "Any": [None, 5, "abc", [1], {"a": 1}],
    "Literal['today', 'tomorrow']": ["today", "tomorrow"],
    "Literal['today']": ["today"],
    "Literal['2024-01-01']": ["2024-01-01"],
    "Literal['2024-01-01', 'today']": ["2024-01-01", "today"],
    "Literal['https://example.com/']": ["https://example.com/"],
    "Literal['a@example.com', 'none']": ["a@example.com", "none"],
    "Literal['12345678-1234-4678-9234-567812345678']": ["12345678-1234-4678-9234-567812345678"],
    "Literal['P1D']": ["P1D"],
    "Literal['12:00:00', 'noon']": ["12:00:00", "noon"],
    "Literal['1.5']": ["1.5"],
    "Literal[1, 2]": [1, 2],
    "Literal[1, 'a', None]": [1, "a", None],
    "Colour": ["r", "b"],
    "Shade": ["r", "g"],
    "Day": ["2024-01-01", "2024-12-31"],
    "datetime.date": ["2024-01-01"],
    "datetime.datetime": ["2024-01-01T12:00:00", "2024-01-01T12:00:00Z"],
    "datetime.time": ["12:00:00"],
    "datetime.timedelta": ["P1D", "PT3S"],
    "uuid.UUID": ["12345678-1234-4678-9234-567812345678", "12345678-1234-1678-9234-567812345678"],
    "UUID4": ["12345678-1234-4678-9234-567812345678"],
    "HttpUrl": ["https://example.com/"],
    "AnyUrl": ["https://example.com/", "ftp://example.com/"],
    "EmailStr": ["a@example.com"],
    "NameEmail": ["a@example.com", "A <a@example.com>"],
    "IPvAnyAddress": ["127.0.0.1", "::1"],
    "pathlib.Path": ["a/b", "today"],
    "bytes": ["abc"],
    "Base64Bytes": ["YWJj"],
    "SecretStr": ["abc"],
    "Json[int]": ["5"],
    "decimal.Decimal": [1.5, "1.5", 3, "1e5"],
    "Annotated[decimal.Decimal, Field(gt=0)]": [1.5, "1.5"],
    "Annotated[str, Field(max_length=5)]": ["", "abc"],
    "Annotated[str, Field(min_length=2, max_length=30)]": ["abc", "2024-01-01"],
    "Annotated[str, Field(pattern='^[a-z]+$')]": ["abc", "today"],
    "Annotated[str, Field(pattern='^[a-z0-9]+$')]": ["abc", "5"],
    "Annotated[int, Field(ge=0, le=10)]": [0, 5, 10],
    "Annotated[int, Field(gt=0)]": [5, 10**7],
    "Annotated[int, Field(multiple_of=5)]": [0, 5, 10],
    "Annotated[float, Field(lt=1)]": [0.5, -1e9],
    "Line": [{"sku": "abc"}, {"sku": "abcdef", "quantity": 5, "colour": "b"}],
    "Longer": [{"sku": "abc"}, {"sku": "abcdef", "colour": "g", "note": "x"}],
    "Shorter": [{"sku": "abc"}, {"sku": "abc", "quantity": 5}],
    "Open": [{"sku": "abc"}, {"sku": "abc", "more": [1]}],
    "Tree": [{"name": "a"}, {"name": "a", "children": [{"name": "b"}]}],
    "Words": [[], ["abc"]],
    "Counts": [{}, {"a": 5}],
    "Annotated[Cat | Dog, Field(discriminator='kind')]": [
        {"kind": "cat"},
        {"kind": "dog", "name": "abc"},
    ],
    "Cat | Dog": [{"kind": "cat", "lives": 5}, {"kind": "dog"}],
    "Cat": [{"kind": "cat"}],
    "tuple[int, str]": [[5, "abc"]],
    "tuple[int, ...]": [[], [5, 0]],
    "set[int]": [[], [5, 0]],
    "frozenset[str]": [["abc", "r"]],
    "dict[int, str]": [{"5": "abc"}],
    "dict[datetime.date, int]": [{"2024-01-01": 5}],
    "dict[Annotated[str, Field(pattern='^x')], int]": [{"xa": 5}],
}
# What holds a type, and how the values of the type stand in it.
WRAPPERS: dict[str, Callable[[Any, Any], Any]] = {
    "Optional[{}]": lambda value, chance: chance.choice([value, None]),
    "list[{}]": lambda value, chance: [value] * chance.randrange(3),
    "Annotated[list[{}], Field(max_length=2)]": lambda value, _: [value],
    "dict[str, {}]": lambda value, _: {"today": value},
    "tuple[{}, int]": lambda value, _: [value, 5],
    "{} | list[int]": lambda value, chance: chance.choice([value, [5]]),
    "{} | int": lambda value, chance: chance.choice([value, 5]),
    "create_model('Held', inner=({}, ...), other=(int, 0))": lambda value, _: {"inner": value},
    "create_model('Held', inner=({0}, ...), again=(list[{0}], []))": lambda value, _: {
        "inner": value,
        "again": [value],
    },
    "RootModel[{}]": lambda value, _: value,
}
JUNK: list[Any] = [
    None,
    True,
    0,
    5,
    0.5,
    "",
    "today",
    "5",
    [],
    ["today"],
    {},
    {"a": 5},
    {"sku": "abc"},
]
FAMILIES = [
    [name for name, values in TYPES.items() if all(isinstance(value, kind) for value in values)]
    for kind in (str, (int, float), dict, list)
]

Parameter = dict[str, Any]
"""``name``, ``type``, ``optional`` and ``said``, the description; and ``default`` where it has one that is not null."""


@cache
def evaluated(source: str) -> Any:
    """The type that a source writes."""
    return eval(source, NAMES)


def built(parameters: list[Parameter], rest: str) -> Registry:
    """A registry of one function with these parameters."""
    body: dict[str, Any] = {"Annotated": Annotated, "Field": Field, "Optional": Optional}
    written = []
    for number, parameter in enumerate(sorted(parameters, key=lambda each: each["optional"])):
        kind = evaluated(parameter["type"])
        if parameter["optional"] and "default" not in parameter:
            kind = Optional[kind]
        body[f"T{number}"] = (
            Annotated[kind, Field(description=parameter["said"])] if parameter["said"] else kind
        )
        default = f" = {parameter.get('default')!r}" if parameter["optional"] else ""
        written.append(f"{parameter['name']}: T{number}{default}")
    written += [f"**more: {rest}"] if rest else []
    exec(
        f"def work({', '.join(written)}) -> str:\n    'Work.'\n    return ''",
        {**NAMES, **body},
        body,
    )
    return Registry([tool(body["work"])])


# --- drawing ------------------------------------------------------------------------------------------------------


def a_type(chance: Random, choices: list[str] | None = None) -> str:
    source = chance.choice(choices or list(TYPES))
    return chance.choice(list(WRAPPERS)).format(source) if chance.random() < 0.3 else source


def a_parameter(chance: Random, name: str) -> Parameter:
    found: Parameter = {
        "name": name,
        "type": a_type(chance),
        "optional": chance.random() < 0.4,
        "said": "",
    }
    if (
        found["optional"]
        and found["type"] in ("str", "int", "Colour", "Literal[1, 2]")
        and chance.random() < 0.7
    ):
        found["default"] = values_of(chance, found["type"])
        if found["type"] == "Colour":
            del found["default"]
    if chance.random() < 0.3:
        found["said"] = chance.choice(["First.", "Second."])
    return found


def values_of(chance: Random, source: str) -> Any:
    """A value of JSON that a type may take."""
    if source in TYPES:
        return copy.deepcopy(chance.choice(TYPES[source]))
    for written, wrapped in WRAPPERS.items():
        for inner, values in TYPES.items():
            if written.format(inner) == source:
                return wrapped(copy.deepcopy(chance.choice(values)), chance)
    return chance.choice(JUNK)


def another_type(chance: Random, source: str) -> str:
    """A type whose values have something to do with those of a type."""
    inner = next((name for name in TYPES if name == source), None)
    families = [family for family in FAMILIES if inner in family]
    how = chance.random()
    if inner is not None and how < 0.2:
        return chance.choice(list(WRAPPERS)).format(inner)
    if families and how < 0.8:
        return chance.choice(families[0])
    for written in WRAPPERS:
        for name in TYPES:
            if written.format(name) == source and how < 0.8:
                near = next((family for family in FAMILIES if name in family), list(TYPES))
                return written.format(chance.choice(near))
    return a_type(chance)


def changed(chance: Random, old: list[Parameter]) -> list[Parameter]:
    """Parameters after one to three changes."""
    new = copy.deepcopy(old)
    for _ in range(chance.randint(1, 3)):
        parameter = chance.choice(new) if new else None
        match chance.randrange(9):
            case 0:
                new.append(
                    {**a_parameter(chance, f"n{len(new)}"), "optional": chance.random() < 0.7}
                )
            case 1 if parameter and len(new) > 1:
                new.remove(parameter)
            case 2 if parameter:
                parameter["optional"] = not parameter["optional"]
                parameter.pop("default", None)
            case 3 if parameter:
                parameter["said"] = chance.choice(["", "First.", "Third."])
            case 4 if parameter and "default" in parameter:
                parameter["default"] = values_of(chance, parameter["type"])
            case 5 if parameter:
                parameter["name"] = chance.choice(["n7", f"{parameter['name']}_s"])
            case _ if parameter:
                parameter["type"] = another_type(chance, parameter["type"])
                parameter.pop("default", None)
    return new


def drawn_tools(chance: Random) -> Case | None:
    old = [a_parameter(chance, name) for name in "abc"[: chance.randint(1, 3)]]
    if chance.random() < 0.4:  # the same type at several places
        shared = a_type(chance, ["Colour", "Shade", "Line", "Tree", "Words", "Day"])
        for parameter in old:
            parameter["type"] = shared
            parameter.pop("default", None)
    new = changed(chance, old)
    names = [parameter["name"] for parameter in new]
    if len(set(names)) < len(names):
        return None
    rest = chance.choice(["", "", "", "", "int", "Any"])
    given = {"rest": [rest, chance.choice([rest, rest, "", "Any", "int"])]}
    calls = [a_call(chance, old, new, rest) for _ in range(40)]
    return {"kind": "tools", "old": old, "new": new, **given, "calls": calls}


def a_call(chance: Random, old: list[Parameter], new: list[Parameter], rest: str) -> dict[str, Any]:
    later = {parameter["name"]: parameter["type"] for parameter in new}
    call: dict[str, Any] = {}
    for parameter in old:
        if parameter["optional"] and chance.random() < 0.4:
            continue
        source = (
            later.get(parameter["name"], parameter["type"])
            if chance.random() < 0.3
            else parameter["type"]
        )
        call[parameter["name"]] = (
            chance.choice(JUNK) if chance.random() < 0.1 else values_of(chance, source)
        )
    if rest and chance.random() < 0.5:
        # Names that the new tool has are no part of the contract of a tool that takes whatever else.
        call["other" if rest == "Any" else chance.choice(["other", *later])] = chance.choice(
            [5, "abc"]
        )
    return call


def drawn_definitions(chance: Random) -> Case | None:
    definitions = {name: a_schema(chance, 1, {}) for name in ("X", "Y")}
    old = an_object(chance, 0, definitions)
    old["$defs"] = definitions
    new = copy.deepcopy(old)
    for _ in range(chance.randint(1, 2)):
        rewrite(chance, new)
    values = [
        a_value(chance, schema, schema, 0)
        for schema in itertools.islice(itertools.cycle([old, new]), 60)
    ]
    return {
        "kind": "definitions",
        "old": old,
        "new": new,
        "calls": [value for value in values if isinstance(value, dict)],
    }


def a_schema(chance: Random, depth: int, definitions: Any) -> Any:  # noqa: C901 - a line for each kind
    if definitions and chance.random() < 0.2:
        beside = chance.choice([{}, {}, {"description": "Said."}, {"default": 5}])
        return {"$ref": f"#/$defs/{chance.choice(list(definitions))}", **beside}
    match chance.randrange(14 if depth < 3 else 9):
        case 0 | 1:
            return {
                "type": "string",
                **chance.choice([{}, {"minLength": 2}, {"maxLength": 3}, {"pattern": "^[a-c]+$"}]),
            }
        case 2:
            return {"type": "string", "format": chance.choice(["date", "email", "uri", "uuid"])}
        case 3 | 4:
            limits = [
                {},
                {"minimum": 3},
                {"maximum": 5},
                {"multipleOf": 2},
                {"exclusiveMinimum": 0},
            ]
            return {"type": chance.choice(["integer", "number"]), **chance.choice(limits)}
        case 5:
            return chance.choice(
                [
                    {"enum": ["a", "b", 5]},
                    {"enum": ["a"]},
                    {"const": "a"},
                    {"type": "string", "enum": ["a", "bb"]},
                ]
            )
        case 6:
            return {"type": chance.choice(["boolean", "null"])}
        case 7:
            return {
                "type": chance.choice(
                    [["string", "null"], ["integer", "string"], ["array", "object"]]
                )
            }
        case 8:
            return chance.choice([{}, True])
        case 9:
            return an_array(chance, depth, definitions)
        case 10:
            key = chance.choice(["anyOf", "anyOf", "oneOf", "allOf"])
            return {
                key: [a_schema(chance, depth + 1, definitions) for _ in range(chance.randint(1, 3))]
            }
        case 11:
            kind = chance.choice([{"type": "string"}, {"type": "integer"}])
            inner = a_schema(chance, depth + 1, definitions)
            return {
                **kind,
                **chance.choice(
                    [
                        {"not": inner},
                        {"if": inner, "then": {"maximum": 5}, "else": {"maxLength": 2}},
                    ]
                ),
            }
        case _:
            return an_object(chance, depth, definitions)


def an_array(chance: Random, depth: int, definitions: Any) -> Any:
    found: dict[str, Any] = {"type": "array", "items": a_schema(chance, depth + 1, definitions)}
    if chance.random() < 0.2:
        found["prefixItems"] = [a_schema(chance, depth + 1, definitions) for _ in range(2)]
    more = [{"minItems": 1}, {"maxItems": 2}, {"uniqueItems": True}, {"contains": {"const": "a"}}]
    return found | (chance.choice(more) if chance.random() < 0.3 else {})


def an_object(chance: Random, depth: int, definitions: Any) -> Any:
    names = chance.sample(["a", "b", "ab", "c"], chance.randint(1, 3))
    found: dict[str, Any] = {
        "type": "object",
        "properties": {name: a_schema(chance, depth + 1, definitions) for name in names},
    }
    found["required"] = [name for name in names if chance.random() < 0.4]
    if chance.random() < 0.5:
        found["additionalProperties"] = chance.choice([False, False, True, {"type": "integer"}])
    more = [
        {"minProperties": 1}, {"maxProperties": 2}, {"patternProperties": {"^a": a_schema(chance, 3, definitions)}},
        {"propertyNames": {"maxLength": 2}}, {"dependentRequired": {"a": ["b"]}},
    ]  # fmt: skip
    return found | (chance.choice(more) if chance.random() < 0.25 else {})


def places(node: Any, holder: Any = None, key: Any = None) -> Iterator[tuple[Any, Any]]:
    """Each schema in a schema, as what holds it and the key."""
    if holder is not None and isinstance(node, (dict, bool)):
        yield holder, key
    if isinstance(node, dict):
        for name in ("properties", "$defs", "patternProperties"):
            for inner in node.get(name, {}):
                yield from places(node[name][inner], node[name], inner)
        for name in ("items", "additionalProperties", "not", "if", "then", "else", "contains"):
            if name in node:
                yield from places(node[name], node, name)
        for name in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for at in range(len(node.get(name, []))):
                yield from places(node[name][at], node[name], at)


def rewrite(chance: Random, schema: Any) -> None:
    """Change one schema inside a schema: another, or the same with one keyword more, less or different."""
    holder, key = chance.choice(list(places(schema)))
    node = holder[key]
    if not isinstance(node, dict) or not node or chance.random() < 0.3:
        holder[key] = a_schema(chance, 2, schema["$defs"] if chance.random() < 0.3 else {})
        return
    keyword = chance.choice(list(node))
    match keyword:
        case (
            "minimum"
            | "maximum"
            | "minLength"
            | "maxLength"
            | "minItems"
            | "maxItems"
            | "exclusiveMinimum"
        ):
            node[keyword] += chance.choice([-1, 1, 2])
        case "required" | "enum" if len(node[keyword]) > 1:
            node[keyword] = node[keyword][1:]
        case "additionalProperties":
            node[keyword] = chance.choice([True, False, {"type": "string"}])
        case "properties":
            node[keyword][chance.choice(["b", "new"])] = a_schema(chance, 3, {})
        case "$ref" | "items":
            node.setdefault("description", "Changed.")
        case _:
            del node[keyword]


def a_value(chance: Random, node: Any, root: Any, depth: int) -> Any:  # noqa: C901, PLR0912 - a line for each kind
    """A value that a schema probably admits."""
    if not isinstance(node, dict) or depth > 8 or chance.random() < 0.05:
        return copy.deepcopy(
            chance.choice(["a", "bb", "abcd", 0, 5, 4, 2.5, None, True, [], ["a"], {}, {"a": 5}])
        )
    if "$ref" in node:
        return a_value(chance, root["$defs"][node["$ref"].rpartition("/")[2]], root, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in node:
            return a_value(chance, chance.choice(node[key]), root, depth + 1)
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return chance.choice(node["enum"])
    kind = node.get("type", chance.choice(["string", "integer"]))
    match chance.choice(kind) if isinstance(kind, list) else kind:
        case "string":
            return chance.choice(
                ["", "a", "bb", "ccc", "abcd", "Q!", "2024-01-01", "a@example.com"]
            )
        case "integer":
            return chance.choice([-1, 0, 1, 2, 3, 4, 5, 6])
        case "number":
            return chance.choice([-0.5, 0, 2, 2.5, 5, 6])
        case "boolean":
            return chance.random() < 0.5
        case "null":
            return None
        case "array":
            first = [a_value(chance, each, root, depth + 1) for each in node.get("prefixItems", [])]
            return first + [
                a_value(chance, node.get("items", {}), root, depth + 1)
                for _ in range(chance.randrange(4))
            ]
        case _:
            own = node.get("properties", {})
            chosen = [
                name for name in own if name in node.get("required", []) or chance.random() < 0.6
            ]
            found = {name: a_value(chance, own[name], root, depth + 1) for name in chosen}
            if chance.random() < 0.2:
                found[chance.choice(["other", "ab", "zzz"])] = chance.choice(["a", 5])
            return found


def drawn(chance: Random) -> Case | None:
    return drawn_tools(chance) if chance.random() < 0.5 else drawn_definitions(chance)


# --- checking -----------------------------------------------------------------------------------------------------


def took(tools: Registry, arguments: Any) -> bool:
    """Whether a tool takes arguments as they are."""
    [result] = tools.dispatch({"name": "work", "arguments": copy.deepcopy(arguments)})
    return result.ok and not result.coercions


def refuses(tools: Registry, arguments: Any) -> bool:
    return not tools.dispatch({"name": "work", "arguments": copy.deepcopy(arguments)})[0].ok


def checked(case: Case) -> str | None:
    try:
        return difference_of(case)
    except (
        RecursionError
    ):  # a definition that refers to nothing but itself: the judge follows it for ever
        return None


def difference_of(case: Case) -> str | None:
    try:
        if case["kind"] == "tools":
            old, new = (
                built(case[which], rest)
                for which, rest in zip(("old", "new"), case["rest"], strict=True)
            )
        else:
            old, new = (
                Registry(
                    [
                        Tool.from_definition(
                            {"name": "work", "inputSchema": case[which]}, lambda **_: ""
                        )
                    ]
                )
                for which in ("old", "new")
            )
    except ToolshapeError:
        return None  # a function or a definition that is no tool
    before, after = make_contract(old), make_contract(new)
    schemas = [contract.tools["work"].parameters for contract in (before, after)]
    found = {"with the tool": diff(new, before), "by two locks": diff_contracts(before, after)}
    for how, changes in found.items():
        difference = equal_tools(changes, schemas) or witnesses(
            changes, old, new, schemas, is_live=how == "with the tool"
        )
        if difference is None and not changes.is_breaking:
            difference = unseen(case, old, new, schemas)
        if difference is None and case["kind"] == "tools":
            difference = words(case, changes)
        if difference is not None:
            return f"{how}: {difference}; {[(change.path, change.kind, change.level) for change in changes.changes]}"
    return None


def equal_tools(changes: Diff, schemas: list[Any]) -> str | None:
    is_equal = json.dumps(schemas[0]) == json.dumps(schemas[1])
    if is_equal == (not changes):
        return None
    if not is_equal and expanded(schemas[0], schemas[0]) == expanded(schemas[1], schemas[1]):
        return None  # definitions by other names
    return "equal tools have changed" if is_equal else "another tool has not changed"


def expanded(node: Any, root: Any, depth: int = 0) -> Any:
    """A schema in which definitions stand where they are referred to; objects without the order of their keywords."""
    if isinstance(node, list):
        return [expanded(each, root, depth) for each in node]
    if not isinstance(node, dict) or depth > 5:
        return {} if node is True else node
    if isinstance(node.get("$ref"), str):
        target = root.get("$defs", {}).get(node["$ref"].rpartition("/")[2], {})
        beside = {key: value for key, value in node.items() if key != "$ref"}
        both = {**target, **beside} if isinstance(target, dict) else beside
        return expanded(
            both, root, depth + ("$ref" not in both)
        )  # a definition that only refers is no level
    plain = {
        key: expanded(value, root, depth)
        for key, value in node.items()
        if key not in ("$defs", "properties")
    }
    if "properties" in node:
        plain["properties"] = [
            [name, expanded(value, root, depth)] for name, value in node["properties"].items()
        ]
    for key in ("required", "enum", "anyOf"):
        if isinstance(plain.get(key), list):
            plain[key] = sorted({json.dumps(each, sort_keys=True) for each in plain[key]})
    return plain


def has_bounded_decimal(schema: Any) -> bool:
    """Whether a text may be a Decimal with a bound, which the schema of the text does not say: pydantic knows it alone."""
    if isinstance(schema, dict):
        bounds = {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}
        branches = [branch for branch in schema.get("anyOf") or () if isinstance(branch, dict)]
        is_bounded = any(
            branch.get("type") == "number" and branch.keys() & bounds for branch in branches
        )
        return (
            is_bounded and any("pattern" in branch for branch in branches)
        ) or has_bounded_decimal([*schema.values()])
    return isinstance(schema, list) and any(map(has_bounded_decimal, schema))


def witnesses(
    changes: Diff, old: Registry, new: Registry, schemas: list[Any], *, is_live: bool
) -> str | None:
    for change in changes.of("breaking"):
        if change.witness is None:
            return f"{change} has no witness"
        # To JSON Schema, 5.0 is an integer.
        if not Draft202012Validator(schemas[0]).is_valid(change.witness):
            return f"the old schema refuses the witness of {change}"
        if refuses(old, change.witness) and not has_bounded_decimal(schemas[0]):
            return f"the old tool refuses the witness of {change}"
        if is_live and not refuses(new, change.witness):
            return f"the new tool takes the witness of {change}"
        if (
            not is_live
            and Judge(schemas[1]).is_valid(change.witness)
            and not refuses(new, change.witness)
        ):
            return f"the new schema admits the witness of {change}"
    return None


def unseen(case: Case, old: Registry, new: Registry, schemas: list[Any]) -> str | None:
    """A call that was taken and is refused now."""
    if is_hidden(case, schemas):
        return None
    for call in case["calls"]:
        if took(old, call) and refuses(new, call) and not gives_unnamed(call, *schemas, schemas):
            return f"{json.dumps(call)} was taken, and is refused now"
    return None


def gives_unnamed(value: Any, old: Any, new: Any, roots: list[Any], depth: int = 0) -> bool:
    """Whether a value gives a name that only the new schema has, to an open object: it is no part of the contract."""
    old, new = (resolved(node, root) for node, root in zip((old, new), roots, strict=True))
    if not (isinstance(old, dict) and isinstance(new, dict)) or depth > 8:
        return False
    for item, other in itertools.product(branches(old), branches(new)):
        if (item is old) != (other is new) and gives_unnamed(value, item, other, roots, depth + 1):
            return True
        if (
            item is not old
            and other is not new
            and gives_unnamed(value, item, other, roots, depth + 1)
        ):
            return True
    if isinstance(value, list):
        return any(
            gives_unnamed(each, item_at(old, at), item_at(new, at), roots, depth + 1)
            for at, each in enumerate(value)
        )
    if not isinstance(value, dict):
        return False
    own, others = old.get("properties", {}), new.get("properties", {})
    is_open = old.get("additionalProperties", True) in (True, {}) and (own or not depth)
    if is_open and any(name in others and name not in own for name in value):
        return True
    return any(
        gives_unnamed(value[name], own.get(name), others.get(name), roots, depth + 1)
        for name in value
    )


def item_at(node: Any, at: int) -> Any:
    """The schema of an item by its place."""
    first = node.get("prefixItems", [])
    return first[at] if at < len(first) else node.get("items")


def resolved(node: Any, root: Any) -> Any:
    while isinstance(node, dict) and "$ref" in node:
        node = root["$defs"].get(node["$ref"].rpartition("/")[2])
    return node


def branches(node: Any) -> list[Any]:
    return [node, *(each for key in ("anyOf", "oneOf", "allOf") for each in node.get(key, []))]


def is_hidden(case: Case, schemas: list[Any]) -> bool:
    """Whether a parameter has another type with an equal schema: only a validator tells the types apart."""
    if case["kind"] != "tools":
        return False
    types = {parameter["name"]: parameter["type"] for parameter in case["old"]}
    both = [schema.get("properties", {}) for schema in schemas]
    return any(
        parameter["type"] != types.get(parameter["name"], parameter["type"])
        and expanded(both[0].get(parameter["name"]), schemas[0])
        == expanded(both[1].get(parameter["name"]), schemas[1])
        for parameter in case["new"]
    )


def words(case: Case, changes: Diff) -> str | None:
    """A default or a description of a parameter that is kept, and of which nothing is reported."""
    later = {parameter["name"]: parameter for parameter in case["new"]}
    told = {(change.path, change.kind.partition("_")[0]) for change in changes.changes}
    for before in case["old"]:
        after = later.get(before["name"])
        if after is None or after["type"] != before["type"] or "|" in before["type"]:
            continue
        if before["said"] != after["said"] and (before["name"], "description") not in told:
            return f"another description of {before['name']} is not reported"
        has_another = (
            before["optional"]
            and after["optional"]
            and before.get("default") != after.get("default")
        )
        if has_another and (before["name"], "default") not in told:
            return f"another default of {before['name']} is not reported"
    return None


def test_kept() -> None:
    check_kept("contract", checked)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_verdicts(block: int) -> None:
    check_drawn("contract", block, drawn, checked)
