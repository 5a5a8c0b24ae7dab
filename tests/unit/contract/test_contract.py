"""What has changed of tools: each keyword narrowed, widened and rewritten, at three depths; with a call that shows what breaks."""

import cProfile
import json
import subprocess
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import assume, given, settings, strategies as st
from jsonschema import Draft202012Validator
from jsonschema.validators import extend
from pydantic import BaseModel, EmailStr, Field, HttpUrl, IPvAnyAddress, SecretStr
from test_quick_check import SCHEMAS, VALUES

from toolshape import CallError, Registry, Tool, UsageError, tool
from toolshape._families.names import available
from toolshape.contract import (
    Change,
    Contract,
    ContractError,
    Locked,
    assert_contract,
    diff,
    diff_contracts,
    dump_lock,
    load_lock,
    make_contract,
    request_cost,
)
from toolshape.contract._compare import is_about
from toolshape.contract._inclusion import Proof

# As tools take integers: 1.0 is a number, which may be coerced.
Strict: Any = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: type(value) is int
    ),
)
LOCK = Path(__file__).parent / "tools.lock.json"

STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
OBJECT: dict[str, Any] = {
    "type": "object",
    "properties": {"a": STRING, "b": INTEGER},
    "required": ["a"],
}
CLOSED = {**OBJECT, "additionalProperties": False}
ARRAY = {"type": "array", "items": INTEGER}
# A narrow form and a wide one, by the keyword that differs.
NARROWER = {
    "type: integer of number": (INTEGER, NUMBER),
    "type: one of two": (STRING, {"type": ["string", "null"]}),
    "type: string of anything": (STRING, {}),
    "type: integer of text": ({"type": "integer"}, {"anyOf": [INTEGER, STRING]}),
    "enum": ({"enum": ["a", "b"]}, {"enum": ["a", "b", "c"]}),
    "enum of text": ({"type": "string", "enum": ["a"]}, STRING),
    "const": ({"const": 1}, {"enum": [1, 2]}),
    "const of numbers": ({"const": 1}, INTEGER),
    "minimum": ({**INTEGER, "minimum": 3}, {**INTEGER, "minimum": 1}),
    "minimum of none": ({**NUMBER, "minimum": 0}, NUMBER),
    "maximum": ({**NUMBER, "maximum": 5}, {**NUMBER, "maximum": 5.5}),
    "exclusiveMinimum": ({**NUMBER, "exclusiveMinimum": 1}, {**NUMBER, "minimum": 1}),
    "exclusiveMaximum": ({**INTEGER, "exclusiveMaximum": 5}, {**INTEGER, "maximum": 5}),
    "multipleOf": ({**INTEGER, "multipleOf": 4}, {**INTEGER, "multipleOf": 2}),
    "multipleOf of none": ({**NUMBER, "multipleOf": 0.5}, NUMBER),
    "minLength": ({**STRING, "minLength": 3}, {**STRING, "minLength": 2}),
    "maxLength": ({**STRING, "maxLength": 4}, {**STRING, "maxLength": 9}),
    "pattern": ({**STRING, "pattern": "^[a-c]+$"}, STRING),
    "minItems": ({**ARRAY, "minItems": 2}, {**ARRAY, "minItems": 1}),
    "maxItems": ({**ARRAY, "maxItems": 2}, {**ARRAY, "maxItems": 5}),
    "uniqueItems": ({**ARRAY, "uniqueItems": True}, ARRAY),
    "items": (ARRAY, {"type": "array", "items": NUMBER}),
    "items of anything": (ARRAY, {"type": "array"}),
    "prefixItems": (
        {"type": "array", "prefixItems": [INTEGER, STRING]}, {"type": "array", "prefixItems": [NUMBER, STRING]}
    ),
    "prefixItems of none": ({"type": "array", "prefixItems": [INTEGER]}, {"type": "array"}),
    "contains": ({"type": "array", "contains": {"const": 5}}, {"type": "array"}),
    "required": ({**OBJECT, "required": ["a", "b"]}, OBJECT),
    "additionalProperties": (CLOSED, OBJECT),
    "additionalProperties of a kind": ({**OBJECT, "additionalProperties": INTEGER}, {**OBJECT, "additionalProperties": NUMBER}),
    "properties": ({**OBJECT, "properties": {"a": STRING, "b": {**INTEGER, "minimum": 0}}}, OBJECT),
    "properties: one less": ({**CLOSED, "properties": {"a": STRING}}, CLOSED),
    "minProperties": ({**OBJECT, "minProperties": 2}, OBJECT),
    "maxProperties": ({**OBJECT, "maxProperties": 2}, {**OBJECT, "maxProperties": 3}),
    "propertyNames": ({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}}, {"type": "object"}),
    "patternProperties": (
        {"type": "object", "patternProperties": {"^x": INTEGER}}, {"type": "object", "patternProperties": {"^x": NUMBER}}
    ),
    "dependentRequired": ({**OBJECT, "dependentRequired": {"a": ["b"]}}, OBJECT),
    "anyOf": ({"anyOf": [STRING, INTEGER]}, {"anyOf": [STRING, INTEGER, {"type": "null"}]}),
    "anyOf within": ({"anyOf": [{**STRING, "maxLength": 3}, INTEGER]}, {"anyOf": [STRING, INTEGER]}),
    "oneOf": ({"oneOf": [STRING, INTEGER]}, {"oneOf": [STRING, INTEGER, ARRAY]}),
    "allOf": ({"allOf": [INTEGER, {"minimum": 5}]}, {"allOf": [INTEGER, {"minimum": 3}]}),
    "not": ({**STRING, "not": {"const": "amber"}}, STRING),
    "if": ({**INTEGER, "if": {"minimum": 5}, "then": {"maximum": 7}}, INTEGER),
    "nothing": ({"not": {}}, STRING),
}  # fmt: skip
EQUAL = {
    "order of an enum": ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}),
    "order of required": ({**OBJECT, "required": ["a", "b"]}, {**OBJECT, "required": ["b", "a"]}),
    "one type in a list": (STRING, {"type": ["string"]}),
    "a const and an enum of one": ({"const": "a"}, {"enum": ["a"]}),
    "types and a union": ({"type": ["string", "null"]}, {"anyOf": [STRING, {"type": "null"}]}),
    "the order of a union": ({"anyOf": [STRING, INTEGER]}, {"anyOf": [INTEGER, STRING]}),
    "bounds of integers": ({**INTEGER, "exclusiveMinimum": 0}, {**INTEGER, "minimum": 1}),
    "open, and said so": (OBJECT, {**OBJECT, "additionalProperties": True}),
    "a limit that limits nothing": (STRING, {**STRING, "minLength": 0}),
    "no items, and any items": ({"type": "array"}, {"type": "array", "items": {}}),
    "all of one": ({"allOf": [INTEGER]}, INTEGER),
    "words": (STRING, {**STRING, "description": "said", "title": "T"}),
}  # fmt: skip
PLACES = {
    "a parameter": lambda node: {"p": node},
    "in a list in a record": lambda node: {
        "p": {
            "type": "object",
            "properties": {"q": {"type": "array", "items": node}},
            "required": ["q"],
        }
    },
    "in a map in a union in a list": lambda node: {
        "p": {
            "type": "array",
            "items": {
                "anyOf": [{"type": "null"}, {"type": "object", "additionalProperties": node}]
            },
        }
    },
}


def a_tool(properties: dict[str, Any], definitions: Any = None, **more: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["p"],
        "additionalProperties": False,
    }
    if definitions:
        schema["$defs"] = definitions
    return {"name": "work", "description": "Work.", "inputSchema": schema, **more}


def tools_of(*definitions: dict[str, Any]) -> Registry:
    return Registry([Tool.from_definition(definition, coerce=False) for definition in definitions])


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    """By the live tools, and by the two contracts alone: with one outcome."""
    old, new = make_contract(tools_of(before)), tools_of(after)
    live, dead = diff(new, old), diff_contracts(old, make_contract(new))
    assert [(change.kind, change.level, change.path) for change in live.changes] == [
        (change.kind, change.level, change.path) for change in dead.changes
    ]
    return list(live.changes)


def check_witness(change: Change, before: dict[str, Any], after: dict[str, Any]) -> None:
    assert change.witness is not None
    assert Draft202012Validator(before["inputSchema"]).is_valid(change.witness)
    assert not Draft202012Validator(after["inputSchema"]).is_valid(change.witness)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("keyword", NARROWER)
def test_what_is_narrower_breaks_and_what_is_wider_does_not(keyword, place):
    narrow, wide = (a_tool(PLACES[place](node)) for node in NARROWER[keyword])
    found = changes(wide, narrow)
    assert {item.level for item in found} == {"breaking"}, found
    for item in found:
        check_witness(item, wide, narrow)
    wider = changes(narrow, wide)
    assert not [item for item in wider if item.level == "breaking"]
    if keyword not in (
        "not",
        "if",
        "contains",
        "nothing",
        "dependentRequired",
        "pattern",
        "patternProperties",
    ):
        assert {item.level for item in wider} == {"compatible"}, wider


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", EQUAL)
def test_an_equal_rewriting_breaks_nothing(name, place):
    one, other = (a_tool(PLACES[place](node)) for node in EQUAL[name])
    for found in (changes(one, other), changes(other, one)):
        assert {each.level for each in found} <= {"compatible", "behaviour"}, found
        assert not [
            each
            for each in found
            if each.level == "behaviour" and each.kind not in ("description", "title")
        ]


@settings(max_examples=400, deadline=None)
@given(wide=SCHEMAS, narrow=SCHEMAS, value=VALUES)
def test_what_is_proved_to_be_included_is(wide, narrow, value):
    def admits(schema: Any, one: Any) -> bool:
        return Draft202012Validator(schema).is_valid(one)

    roots = [{"$defs": {"x": STRING, "y": {"type": "array", "items": {"$ref": "#/$defs/y"}}}}] * 2
    if (
        Proof(*roots, admits).includes(wide, narrow)
        and isinstance(narrow, dict)
        and isinstance(wide, dict)
    ):
        whole_narrow, whole_wide = {**narrow, **roots[0]}, {**wide, **roots[0]}
        if Draft202012Validator(whole_narrow).is_valid(value):
            assert Draft202012Validator(whole_wide).is_valid(value)


# --- tools --------------------------------------------------------------------------------------------------------


class Line(BaseModel):
    sku: str
    quantity: Annotated[int, Field(ge=1, le=10)] = 1


def before() -> Registry:
    @tool(effects=["write"])
    def order(
        customer: str, lines: list[Line], how: Literal["post", "van"] = "post", days: int = 1
    ) -> str:
        """Order goods."""
        return customer

    @tool
    def fetch_page(url: str) -> str:
        """Fetch a page."""
        return url

    return Registry([order, fetch_page])


def levels(found: Any) -> dict[tuple[str, str, str], str]:
    return {(change.tool, change.path, change.kind): change.level for change in found.changes}


def test_the_same_tools_have_not_changed():
    found = diff(before(), make_contract(before(), ["openai", "anthropic"]))
    assert not found
    assert str(found) == "nothing has changed"


def test_what_happens_to_tools_and_parameters():
    @tool(effects=["destructive"])
    def order(
        customer: str,
        lines: list[Line],
        how: Literal["post"] = "post",
        num_days: int = 1,
        note: str = "none",
    ) -> int:
        """Order some goods."""
        return 1

    @tool
    def fetch_pages(url: str) -> str:
        """Fetch a page."""
        return url

    @tool
    def ping() -> str:
        """Ping."""
        return ""

    found = diff(
        Registry([ping, fetch_pages, order]), make_contract(before(), ["openai", "anthropic"])
    )
    assert levels(found) == {
        ("order", "how", "enum"): "breaking",
        ("order", "days", "parameter_renamed"): "breaking",
        ("order", "note", "parameter_added"): "compatible",
        ("order", "", "description"): "behaviour",
        ("order", "", "effects"): "behaviour",
        ("order", "", "output"): "behaviour",
        ("fetch_page", "", "tool_renamed"): "breaking",
        ("ping", "", "tool_added"): "compatible",
    }
    [renamed] = [change for change in found.changes if change.kind == "parameter_renamed"]
    assert (renamed.before, renamed.after) == ("days", "num_days")
    assert "days" in renamed.witness
    assert all(
        change.providers == ("openai", "anthropic")
        for change in found.changes
        if change.tool == "order"
    )
    for change in found.changes:
        if change.level == "breaking" and change.tool == "order":
            assert before()["order"].call(change.witness) == change.witness["customer"]
            with pytest.raises(Exception, match="invalid"):
                Registry([order])["order"].call(change.witness)


def test_what_has_another_name_is_recognised_by_more_than_letters():
    old = tools_of(a_tool({"p": STRING, "start": INTEGER, "end": INTEGER}))
    new = tools_of(a_tool({"p": STRING, "begin": INTEGER, "finish": INTEGER}))
    found = [
        (change.before, change.after)
        for change in diff(new, make_contract(old)).changes
        if change.kind == "parameter_renamed"
    ]
    assert found == [("start", "begin"), ("end", "finish")]
    listed = {**a_tool({"p": STRING}), "name": "list_orders", "description": "List orders."}
    other = {**listed, "name": "list_users", "description": "Delete everything that there is."}
    kinds = {
        change.kind for change in diff(tools_of(other), make_contract(tools_of(listed))).changes
    }
    assert kinds == {"tool_removed", "tool_added"}


def test_a_tool_with_a_name_and_words_of_its_own_is_another_tool():
    """Half of the letters are alike, in the names and in the descriptions."""
    old = {**a_tool({"p": STRING}), "name": "read_file", "description": "Read a file."}
    new = {**a_tool({"p": STRING}), "name": "mail_line", "description": "Mail a line."}
    assert [
        change.kind for change in diff(tools_of(new), make_contract(tools_of(old))).changes
    ] == [
        "tool_removed",
        "tool_added",
    ]
    near = {**old, "name": "read_files", "description": "Read files."}
    assert [
        change.kind for change in diff(tools_of(near), make_contract(tools_of(old))).changes
    ] == [
        "tool_renamed",
        "description",
    ]


@pytest.mark.parametrize(
    ("path", "place", "is_about_it", "is_below_it"),
    [
        ("a.b", "a.b", True, True), ("a.b.c", "a.b", True, True), ("a", "a.b", True, False), ("", "a", True, False),
        ("a[3].b", "a[].b", True, True), ("a[3]", "a[].b", True, False), ("a.x.b", "a{}.b", True, True),
        ("a.b", "a.c", False, False), ("ab", "a", False, False), ("a", "", True, True), ("a.b", "a (not)", True, True),
    ],
)  # fmt: skip
def test_what_is_wrong_at_a_path_is_about_a_place(path, place, is_about_it, is_below_it):
    assert is_about(path, place) is is_about_it
    assert is_about(path, place, is_below=True) is is_below_it


def test_order_is_behaviour():
    @tool
    def order(
        lines: list[Line], customer: str, days: int = 1, how: Literal["van", "post"] = "post"
    ) -> str:
        """Order goods."""
        return customer

    old = before()
    found = diff(Registry([old["fetch_page"], tool(effects=["write"])(order)]), make_contract(old))
    assert {change.level for change in found.changes} == {"behaviour"}
    assert {(change.tool, change.kind) for change in found.changes} == {
        ("", "order"),
        ("order", "order"),
    }


def test_what_is_coerced_now_is_no_breaking():
    """The function gets something else."""

    def then(amount: int, note: str | None = None) -> str:
        """Pay."""

    def now(amount: int, note: str = "none") -> str:
        """Pay."""

    found = diff(
        Registry([tool(name="pay")(now)]), make_contract(Registry([tool(name="pay")(then)]))
    )
    assert levels(found)[("pay", "note", "type")] == "behaviour"
    [changed] = [change for change in found.changes if change.kind == "type"]
    assert changed.witness["note"] is None


def test_a_tool_that_is_gone_breaks_its_calls():
    found = diff(Registry([before()["order"]]), make_contract(before()))
    assert levels(found) == {("fetch_page", "", "tool_removed"): "breaking"}
    assert set(found.changes[0].witness) == {"url"}
    assert found.is_breaking


def test_what_only_a_provider_is_sent_otherwise_is_said():
    old = make_contract(before(), ["openai"])
    other = {
        name: tool._replace(fingerprints={"openai": "another"}) for name, tool in old.tools.items()
    }
    found = diff_contracts(Contract(other, old.providers), old)
    assert [(change.kind, change.level, change.providers) for change in found.changes] == [
        ("sent", "behaviour", ("openai",))
    ] * 2


def test_a_parameter_that_is_called_as_a_keyword_is_one():
    """Its changes are not taken for words."""
    narrow, wide = (
        a_tool({"p": STRING, "title": {**STRING, "maxLength": 2}}),
        a_tool({"p": STRING, "title": STRING}),
    )
    [found] = changes(wide, narrow)
    assert (found.path, found.kind, found.level) == ("title", "maxLength", "breaking")
    [found] = changes(
        a_tool({"p": STRING, "description": STRING}), a_tool({"p": STRING, "description": INTEGER})
    )
    assert (found.path, found.level) == ("description", "breaking")


def test_what_is_open_and_has_other_names_now():
    """Where the old names are taken still, as others, and the new ones are asked for."""

    def changing(*names: str, required: bool) -> dict[str, Any]:
        schema = {
            "type": "object",
            "properties": dict.fromkeys(names, STRING),
            "required": list(names) * required,
        }
        return {"name": "convert", "inputSchema": schema}

    old, new = (
        changing("from_currency", "to_currency", required=True),
        changing("base", "target", required=True),
    )
    found = changes(old, new)
    assert [(item.kind, item.level) for item in found] == [("parameter_renamed", "breaking")] * 2
    for item in found:
        check_witness(item, old, new)
    typed = changes(changing("day", required=False), changing("days", required=False))
    # A number was taken as "days", but the old schema does not name it.
    assert [(item.kind, item.level) for item in typed] == [("parameter_renamed", "behaviour")]


def test_a_definition_that_breaks_where_it_is_used_a_second_time():
    """At the first place something else holds already."""

    def used(definition: Any) -> dict[str, Any]:
        first = {"allOf": [{"$ref": "#/$defs/D"}, {"const": "a"}]}
        return a_tool({"p": first, "q": {"$ref": "#/$defs/D"}}, {"D": definition})

    old, new = used(STRING), used({**STRING, "enum": ["a"]})
    assert [(change.path, change.level) for change in changes(new, old)] == [
        ("p", "compatible"),
        ("q", "compatible"),
    ]
    [breaking, alone] = changes(old, new)
    assert (breaking.path, breaking.level, alone.path, alone.level) == (
        "q",
        "breaking",
        "p",
        "compatible",
    )
    check_witness(breaking, old, new)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    old=SCHEMAS,
    new=SCHEMAS,
    definitions=st.lists(st.sampled_from([STRING, INTEGER, ARRAY, CLOSED]), min_size=4),
    value=VALUES,
)
def test_nothing_that_is_refused_now_is_kept_silent(old, new, definitions, value):
    assume(".0" not in json.dumps([old, new]))  # whether 2.0 is among [2] depends on whom one asks
    arguments = {"p": value}
    before = a_tool({"p": old}, dict(zip("xy", definitions, strict=False)))
    after = a_tool({"p": new}, dict(zip("xy", definitions[2:], strict=False)))
    taken, taken_now = (Strict(item["inputSchema"]).is_valid for item in (before, after))
    found = diff_contracts(*(make_contract(tools_of(item)) for item in (before, after)))
    assert found.is_breaking or not taken(arguments) or taken_now(arguments)
    for item in found.of("breaking"):
        assert taken(item.witness)
        assert not taken_now(item.witness)


ANY_OBJECT = {"type": "object"}
BASE = {**ANY_OBJECT, "properties": {"a": INTEGER}}
CLOSED_AND_PATTERNED = {
    **ANY_OBJECT,
    "properties": {"a": {}},
    "patternProperties": {"^x": {}},
    "additionalProperties": False,
}
# What is narrower, with the definitions of both, in ways that a comparison keyword by keyword does not see.
HIDDEN: dict[str, tuple[Any, Any, Any, Any]] = {
    "what nothing evaluates": (
        {**ANY_OBJECT, "properties": {"a": INTEGER, "b": INTEGER}, "unevaluatedProperties": False},
        {**BASE, "unevaluatedProperties": False}, None, None,
    ),
    "how many it contains": (
        {"type": "array", "contains": {"const": 5}, "minContains": 0}, {"type": "array", "contains": {"const": 5}}, None, None,
    ),
    "a definition beside properties": (
        {"$ref": "#/$defs/B", "properties": {"c": INTEGER}}, {"$ref": "#/$defs/B", "properties": {"c": INTEGER}},
        {"B": BASE}, {"B": {**ANY_OBJECT, "properties": {"a": {**INTEGER, "maximum": 3}}}},
    ),
    "a definition beside required": (
        {"$ref": "#/$defs/B", "required": ["c"]}, {"$ref": "#/$defs/B", "required": ["c"]},
        {"B": BASE}, {"B": {**BASE, "required": ["z"]}},
    ),
    "a definition beside a wider limit": (
        {"$ref": "#/$defs/X", "maximum": 5}, {"$ref": "#/$defs/X", "maximum": 50},
        {"X": {**INTEGER, "maximum": 10}}, {"X": {**INTEGER, "maximum": 3}},
    ),
    "what a property called title asks for": (
        {**ANY_OBJECT, "dependentRequired": {"title": ["b"]}}, {**ANY_OBJECT, "dependentRequired": {"title": ["c"]}}, None, None,
    ),
    "what a property asks for now": (
        {**ANY_OBJECT, "dependentRequired": {"a": ["b"]}}, {**ANY_OBJECT, "dependentRequired": {"a": ["b", "c"]}}, None, None,
    ),
    "what a schema asks for now": (
        {**ANY_OBJECT, "dependentSchemas": {"a": {"required": ["b"]}}},
        {**ANY_OBJECT, "dependentSchemas": {"a": {"required": ["b", "c"]}}}, None, None,
    ),
    "which names there may be, beside a pattern": (
        {**CLOSED_AND_PATTERNED}, {**CLOSED_AND_PATTERNED, "propertyNames": {"enum": ["a"]}}, None, None,
    ),
    "what a definition asks for beside a property": (
        {**ANY_OBJECT, "dependentSchemas": {"a": {"$ref": "#/$defs/X"}}},
        {**ANY_OBJECT, "dependentSchemas": {"a": {"$ref": "#/$defs/X"}}},
        {"X": {**ANY_OBJECT, "required": ["b"]}}, {"X": {**ANY_OBJECT, "required": ["c"]}},
    ),
    "one is not true": ({"const": [1]}, {"const": [True]}, None, None),
    "true is no number": ({"enum": [0, "auto"]}, {"enum": [False, "auto"]}, None, None),
    "steps beyond what floats hold": ({**INTEGER, "multipleOf": 2**53 + 1}, {**INTEGER, "multipleOf": 2}, None, None),
    "a long text": (STRING, {**STRING, "maxLength": 5000}, None, None),
    "a long list": (ARRAY, {**ARRAY, "maxItems": 3000}, None, None),
    "a limit of what is not": (
        {"not": {**STRING, "maxLength": 3}}, {"not": {**STRING, "maxLength": 4}}, None, None,
    ),
    "two branches that meet": (
        {"oneOf": [{**INTEGER, "maximum": 5}, {**INTEGER, "minimum": 10}]},
        {"oneOf": [{**INTEGER, "maximum": 5}, {**INTEGER, "minimum": 3}]}, None, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_narrower_without_showing_it(name):
    before, after, *definitions = HIDDEN[name]
    old, new = a_tool({"p": before}, definitions[0]), a_tool({"p": after}, definitions[1])
    breaking = [change for change in changes(old, new) if change.level == "breaking"]
    assert breaking
    for item in breaking:
        assert Strict(old["inputSchema"]).is_valid(item.witness)
        assert not Strict(new["inputSchema"]).is_valid(item.witness)


class Cash(BaseModel):
    kind: Literal["cash"] = "cash"
    note: str = ""


class Card(BaseModel):
    kind: Literal["card"] = "card"
    limit: int = 1


class Cheque(BaseModel):
    kind: Literal["cheque"] = "cheque"
    bank: str = ""


class LongCard(BaseModel):
    kind: Literal["card"] = "card"
    limit: int | None = 1


TWO = Annotated[Cash | Card, Field(discriminator="kind")]
THREE = Annotated[Cash | Card | Cheque, Field(discriminator="kind")]
WIDER = Annotated[Cash | LongCard, Field(discriminator="kind")]


def paying(annotation: Any) -> Registry:
    def pay(p: Any) -> str:
        """Pay."""
        return ""

    pay.__annotations__["p"] = annotation
    return Registry([tool(pay)])


@pytest.mark.parametrize(
    ("before", "after", "level"),
    [
        (str, date, "breaking"), (date, str, "compatible"), (str, UUID, "breaking"), (datetime, date, "breaking"),
        (str, Path, "compatible"), (Path, str, "compatible"), (str, SecretStr, "compatible"), (str, bytes, "compatible"),
        (Literal[0, "auto"], Literal[False, "auto"], "breaking"), (TWO, THREE, "compatible"), (THREE, TWO, "breaking"),
        (list[TWO], list[THREE], "compatible"), (TWO, WIDER, "compatible"), (TWO, Cash | Card, "compatible"),
        (Cash | Card, TWO, "breaking"),
    ],
)  # fmt: skip
def test_what_functions_take(before, after, level):
    found = diff(paying(after), make_contract(paying(before)))
    assert {change.level for change in found.changes} == {level}
    for item in found.of("breaking"):
        paying(before)["pay"].call(item.witness)
        with pytest.raises(CallError):
            paying(after)["pay"].call(item.witness)


class Colour(Enum):
    RED = "r"
    BLUE = "b"


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrap",
    [
        lambda kind: kind,
        lambda kind: kind | None,
        lambda kind: list[kind],
        lambda kind: dict[str, kind],
    ],
)
@pytest.mark.parametrize(
    "new",
    [date, datetime, time, timedelta, UUID, HttpUrl, EmailStr, IPvAnyAddress, Decimal, date | int],
)
def test_listed_texts_that_become_a_format(wrap, new):
    for old in (Literal["today"], Literal["today", "2024-01-01"], Colour):
        found = diff(paying(wrap(new)), make_contract(paying(wrap(old))))
        assert {each.level for each in found.changes} == {"breaking"}
        for each in found.changes:
            paying(wrap(old))["pay"].call(each.witness)
            with pytest.raises(CallError):
                paying(wrap(new))["pay"].call(each.witness)
        assert diff_contracts(
            make_contract(paying(wrap(old))), make_contract(paying(wrap(new)))
        ).is_breaking


@pytest.mark.parametrize(
    ("text", "new"),
    [("2024-01-01", date), ("https://example.com/", HttpUrl), ("a@example.com", EmailStr), ("1.5", Decimal),
     ("PT3S", timedelta), ("127.0.0.1", IPvAnyAddress)],
)  # fmt: skip
def test_listed_texts_of_a_format_are_compatible_when_the_tool_takes_them(text, new):
    assert {
        each.level for each in diff(paying(new), make_contract(paying(Literal[text]))).changes
    } == {"compatible"}


@pytest.mark.parametrize(
    ("old", "new", "live", "dead"),
    [
        (str, Decimal, "breaking", "breaking"), (list[str], list[Decimal], "breaking", "breaking"),
        (str, Decimal | None, "breaking", "breaking"), (int, Decimal, "compatible", "compatible"),
        (str, float | str, "compatible", "unknown"), (Decimal, str | None, "breaking", "breaking"),
        (Decimal, UUID, "breaking", "breaking"), (Decimal, Decimal | None, "compatible", "compatible"),
        (int, Annotated[Decimal, Field(max_digits=3)], "unknown", "compatible"),
    ],
)  # fmt: skip
def test_texts_that_become_decimals(old, new, live, dead):
    """Its schema is a number or a text of a number: no other text is taken."""
    was, now = paying(old), paying(new)
    assert {each.level for each in diff(now, make_contract(was)).changes} == {live}
    assert {
        each.level for each in diff_contracts(make_contract(was), make_contract(now)).changes
    } == {dead}


@pytest.mark.parametrize("new", [date, datetime, time, timedelta])
def test_numbers_in_a_text_are_no_time(new):
    contracts = make_contract(paying(Literal["1.5"])), make_contract(paying(new))
    assert diff_contracts(*contracts).is_breaking
    assert diff(paying(new), contracts[0]).is_breaking


def test_each_parameter_of_one_enum_or_model_is_compared():
    def moved(
        a: Colour = Colour.RED,
        b: Colour = Colour.RED,
        lines: list[Line] = [],
        line: Line | None = None,
    ) -> str:
        """Move."""

    def later(
        a: Colour = Colour.RED,
        b: Annotated[Colour, Field(description="To.")] = Colour.BLUE,
        lines: list[Line] = [],
        line: Annotated[Line | None, Field(description="One.")] = None,
    ) -> str:
        """Move it."""

    old, new = Registry([tool(name="move")(moved)]), Registry([tool(name="move")(later)])
    for providers in ([], ["openai"]):
        found = diff(new, make_contract(old, providers))
        assert [(each.path, each.kind) for each in found.changes] == [
            ("", "description"), ("b", "description"), ("b", "default"), ("line", "description"),
        ]  # fmt: skip
        assert all(each.providers == tuple(providers) for each in found.changes)


def test_what_changes_in_a_definition_is_reported_at_each_place():
    def used(quantity: Any, **more: Any) -> dict[str, Any]:
        line = {"type": "object", "properties": {"quantity": quantity}, "required": ["quantity"]}
        order = {
            "type": "object",
            "properties": {
                "first": {"$ref": "#/$defs/L"},
                "more": {"type": "array", "items": {"$ref": "#/$defs/L"}},
            },
        }
        return a_tool(
            {"p": {"$ref": "#/$defs/O"}, "q": {"$ref": "#/$defs/L"}}, {"L": line, "O": order}
        )

    found = changes(used(INTEGER), used({**INTEGER, "maximum": 3}))
    places = ["p.first.quantity", "p.more[].quantity", "q.quantity"]
    assert [(each.path, each.kind, each.level) for each in found] == [
        (place, "maximum", "breaking") for place in places
    ]
    for each in found:
        check_witness(each, used(INTEGER), used({**INTEGER, "maximum": 3}))
    said = changes(used(INTEGER), used({**INTEGER, "description": "How many."}))
    assert [(each.path, each.kind) for each in said] == [(place, "description") for place in places]


@pytest.mark.parametrize(
    "keyword", ["not", "if", "contains", "propertyNames", "patternProperties", "dependentSchemas"]
)
def test_words_wherever_they_stand_are_reported(keyword):
    def said(text: str) -> dict[str, Any]:
        inner = {"type": "string", "description": text}
        return a_tool(
            {
                "p": {
                    keyword: {"^x": inner}
                    if keyword in ("patternProperties", "dependentSchemas")
                    else inner
                }
            }
        )

    [found] = changes(said("Old."), said("New."))
    assert (found.kind, found.level, found.before, found.after) == (
        "description",
        "behaviour",
        "Old.",
        "New.",
    )


def opened(**more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": STRING, **more}}


@pytest.mark.parametrize("place", PLACES)
def test_an_optional_name_that_comes_to_an_open_object_breaks_nothing(place):
    """What a schema does not name is no part of the contract."""
    [found] = changes(a_tool(PLACES[place](opened())), a_tool(PLACES[place](opened(b=INTEGER))))
    assert (found.kind, found.level) == ("parameter_added", "compatible")
    for other in (
        {**opened(b=INTEGER), "required": ["b"]},
        {**opened(), "additionalProperties": INTEGER},
    ):
        [found] = changes(a_tool(PLACES[place](opened())), a_tool(PLACES[place](other)))
        assert found.level == "breaking"


def test_names_of_the_arguments_themselves_and_names_that_are_data():
    def taking(**properties: Any) -> dict[str, Any]:
        return {"name": "work", "inputSchema": {"type": "object", "properties": properties}}

    assert [each.level for each in changes(taking(), taking(note=STRING))] == ["compatible"]
    several = changes(taking(a=opened()), taking(a=opened(b=INTEGER, c=INTEGER), note=STRING))
    assert [each.level for each in several] == ["compatible"] * 3
    data, typed = {"type": "object"}, {"type": "object", "additionalProperties": INTEGER}
    for free in (data, typed):  # any name of a map is data
        [found] = changes(
            a_tool({"p": free}), a_tool({"p": {**free, "properties": {"note": STRING}}})
        )
        assert found.level == "breaking"
    named = {"allOf": [opened(), {"properties": {"b": STRING}}]}  # another branch names it
    assert (
        changes(
            a_tool({"p": named}),
            a_tool({"p": {"allOf": [opened(b=INTEGER), {"properties": {"b": STRING}}]}}),
        )[0].level
        == "breaking"
    )


def test_an_optional_name_in_an_open_definition_that_contains_itself():
    def node(**more: Any) -> dict[str, Any]:
        inner = {
            "type": "object",
            "properties": {"v": STRING, **more, "next": {"$ref": "#/$defs/N"}},
        }
        return a_tool({"p": {"$ref": "#/$defs/N"}}, {"N": inner})

    assert [(each.path, each.level) for each in changes(node(), node(note=STRING))] == [
        ("p.note", "compatible")
    ]


def test_names_that_patterns_find_are_not_proved_by_what_is_left():
    open_names = {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False}
    one = {**open_names, "properties": {"x1": INTEGER}}
    [found] = changes(a_tool({"p": open_names}), a_tool({"p": one}))
    assert found.level == "breaking"
    check_witness(found, a_tool({"p": open_names}), a_tool({"p": one}))


def test_a_tool_that_asks_for_its_strict_form_is_compared_as_well():
    @tool(strict=True)
    def restock(items: dict[str, int], note: str = "none") -> str:
        """Restock."""
        return ""

    assert not diff(Registry([restock]), make_contract(Registry([restock]), ["openai"]))


def test_a_default_that_is_another_value_is_told():
    def ring(loud: bool | int = 0) -> str:
        """Ring."""

    def ring_now(loud: bool | int = False) -> str:
        """Ring."""

    [found] = diff(
        Registry([tool(name="ring")(ring_now)]), make_contract(Registry([tool(ring)]))
    ).changes
    assert (found.kind, found.level) == ("default", "behaviour")


def test_definitions_that_contain_themselves():
    def node(value: Any) -> dict[str, Any]:
        inner = {
            "type": "object",
            "properties": {"v": value, "next": {"$ref": "#/$defs/N"}},
            "required": ["v"],
        }
        return a_tool({"p": {"$ref": "#/$defs/N"}}, {"N": inner})

    [found] = changes(node(INTEGER), node({**INTEGER, "maximum": 3}))
    assert (found.kind, found.level, found.path) == ("maximum", "breaking", "p.v")
    check_witness(found, node(INTEGER), node({**INTEGER, "maximum": 3}))
    assert [change.level for change in changes(node({**INTEGER, "maximum": 3}), node(INTEGER))] == [
        "compatible"
    ]
    renamed = json.loads(
        json.dumps(node(INTEGER)).replace("$defs/N", "$defs/M").replace('"N"', '"M"')
    )
    assert changes(node(INTEGER), renamed) == []


# --- the file -----------------------------------------------------------------------------------------------------


def test_a_lock_comes_again_as_it_was(tmp_path):
    contract = make_contract(before(), ["openai", "mcp"])
    path = tmp_path / "tools.lock.json"
    path.write_text(dump_lock(contract), encoding="utf-8")
    assert load_lock(path) == contract
    assert dump_lock(load_lock(path)) == dump_lock(contract)


def a_lock(**changed: Any) -> str:
    entry = {"parameters": {"type": "object", "properties": {}}, **changed}
    return json.dumps({"version": 1, "providers": [], "tools": {"a": entry}})


@pytest.mark.parametrize(
    "parameters",
    [
        {"properties": {"a": {"type": "string", "pattern": "("}}},
        {"properties": {"a": {"type": "number", "maximum": 10**400}}},
        {"properties": {"a": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"$ref": "#/$defs/X"}}},
        {"properties": {"a": {"$ref": "#/$defs/Y"}}},
    ],
)
def test_a_lock_whose_schema_nobody_can_use_is_compared_all_the_same(parameters, tmp_path):
    """Somebody has edited it: nothing is said that is not so."""
    path = tmp_path / "tools.lock.json"
    path.write_text(a_lock(parameters={"type": "object", **parameters}), encoding="utf-8")

    @tool
    def a(b: int) -> str:
        """A."""

    assert diff(Registry([a]), load_lock(path)).is_breaking


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "create it with toolshape lock"),
        ("{", "is not a toolshape lock file"),
        ('{"version": 2}', "has version 2"),
        ('{"version": 1, "tools": {"a": {}}, "providers": []}', "is not a toolshape lock file"),
        ("[]", "is not a toolshape lock file"),
        (
            '{"version": true, "tools": {}, "providers": []}',
            "version: Input should be a valid integer",
        ),
        ("[" * 100_000, "is not a toolshape lock file"),
        (a_lock(parameters="x"), "tools.a.parameters: Input should be"),
        (a_lock(parameters={"type": "string"}), "tools.a.parameters: the type is not object"),
        (
            a_lock(parameters={"type": "object", "properties": []}),
            r"is not a toolshape lock file \(\[\] is not",
        ),
        (
            a_lock(parameters={"type": "object", "properties": {"a": {"minimum": "x"}}}),
            "'x' is not of type 'number'",
        ),
        (a_lock(parameters={"type": "object", "required": "how"}), "'how' is not of type 'array'"),
        (a_lock(effects="read"), "tools.a.effects"),
        (a_lock(fingerprints={"openai": "1"}), "the names differ from the names in providers"),
        (a_lock(more=1), "tools.a.more: Extra inputs"),
    ],
)
def test_what_is_no_lock_is_refused(content, said, tmp_path):
    path = tmp_path / "tools.lock.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        load_lock(path)


@pytest.mark.slow
def test_the_work_grows_with_the_tools():
    """Counted in calls of functions: four times the tools take no more than about four times as many."""

    def many(count: int, most: int) -> Registry:
        def made(number: int) -> Any:
            def work(
                a: Annotated[int, Field(le=most)], b: list[Line], c: Literal["x", "y"] = "x"
            ) -> str:
                """Work."""

            return tool(name=f"work_{number}")(work)

        return Registry([made(number) for number in range(count)])

    def calls_of(count: int) -> int:
        old, new = make_contract(many(count, 10), ["openai"]), many(count, 5)
        for tools in (
            many(count, 10),
            new,
        ):  # what a tool compiles at its first use is not what is compared
            diff(tools, old)
        profile = cProfile.Profile()
        found = profile.runcall(diff, new, old)
        assert [change.level for change in found.changes] == ["breaking"] * count
        return sum(entry.callcount for entry in profile.getstats())

    assert calls_of(40) < 4.4 * calls_of(10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        {**STRING, "minLength": 10**12},
        {"type": "array", "minItems": 10**9},
        {
            "type": "array",
            "minItems": 10**6,
            "items": {"type": "array", "minItems": 10**6, "items": STRING},
        },
    ],
)
def test_the_work_is_bounded_however_much_a_lock_asks_for(asked):
    """Counted in calls of functions."""
    old, new = (
        {"type": "object", "properties": {"p": node}, "required": ["p"]}
        for node in (asked, INTEGER)
    )
    contracts = [
        Contract({"t": Locked("t", None, "T.", item, None, (), (), None, {})}, ())
        for item in (old, new)
    ]
    profile = cProfile.Profile()
    assert profile.runcall(diff_contracts, *contracts).is_breaking
    assert sum(entry.callcount for entry in profile.getstats()) < 10_000_000


def test_a_lock_is_the_same_on_every_python():
    """Its bytes stand in a file; ``TOOLSHAPE_UPDATE=1 pytest`` writes them, where a change is meant."""
    assert_contract(before(), LOCK, providers=["openai", "anthropic", "gemini", "mcp"])
    assert LOCK.read_text(encoding="utf-8") == dump_lock(
        make_contract(before(), load_lock(LOCK).providers)
    )


# --- in tests, at the command line, for code hosts ----------------------------------------------------------------

SHOP = """
from typing import Literal
from toolshape import Registry, tool

@tool
def order(customer: str, how: Literal["post", "van"] = "post") -> str:
    "Order."
    return customer

tools = Registry([order])
"""
TEST = """
from pathlib import Path
from shop import tools
from toolshape.contract import assert_contract

def test_contract():
    assert_contract(tools, Path(__file__).parent / "tools.lock.json", providers=["openai"])
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    return tmp_path


def narrowed(place):
    (place / "shop.py").write_text(
        SHOP.replace('"post", "van"', '"post"').replace("Order.", "Order it."), encoding="utf-8"
    )


def run(place, *arguments):
    given = [sys.executable, "-m", *arguments]
    return subprocess.run(given, cwd=place, capture_output=True, text=True, timeout=60, check=False)


def test_whom_a_lock_was_written_for_is_not_forgotten(tmp_path, monkeypatch):
    lock = tmp_path / "tools.lock.json"
    assert_contract(before(), lock, providers=["openai"])
    with pytest.raises(UsageError, match="was written for openai, not for openai, anthropic"):
        assert_contract(before(), lock, providers=["openai", "anthropic"])
    monkeypatch.setenv("TOOLSHAPE_UPDATE", "0")
    with pytest.raises(ContractError):
        assert_contract(Registry([before()["order"]]), lock)
    monkeypatch.setenv("TOOLSHAPE_UPDATE", "1")
    assert_contract(before(), lock)
    assert load_lock(lock).providers == ("openai",)
    lock.write_text("{", encoding="utf-8")
    assert_contract(before(), lock)
    assert load_lock(lock).providers == ()
    with pytest.raises(UsageError, match="cannot be written"):
        assert_contract(before(), tmp_path / "nowhere" / "tools.lock.json")


def test_rules_of_coercion_are_part_of_it():
    def ship(a: int) -> str:
        """Ship."""

    usual, none = Registry([tool(ship)]), Registry([tool(ship, coerce=False)])
    old = make_contract(none)
    assert old.tools["ship"].coerce == ()
    assert not diff(none, old)
    [found] = diff(usual, old).changes
    assert (found.kind, found.level) == ("coerce", "behaviour")
    [found] = diff(none, make_contract(usual)).changes
    assert (found.kind, found.level) == ("coerce", "unknown")
    assert diff(Registry([tool(ship)], coerce=False), old).changes == ()


def test_a_text_from_elsewhere_does_not_turn_a_line_around():
    def named(description: str) -> Registry:
        return tools_of({**a_tool({"p": STRING}), "description": description})

    found = str(diff(named("\x1b[31m\u202eaway\nthere"), make_contract(named("here \ud800"))))
    assert "\\u001b[31m\\u202eaway there" in found
    assert found.isascii()


@pytest.mark.slow
def test_in_a_test(shop):
    """The first time it is written; a change fails with what breaks, until it is written anew."""
    (shop / "test_shop.py").write_text(TEST, encoding="utf-8")
    options = ["pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(shop)]
    assert run(shop, *options).returncode == 0
    assert load_lock(shop / "tools.lock.json").providers == ("openai",)
    narrowed(shop)
    failed = run(shop, *options)
    assert failed.returncode == 1
    assert "breaking: order.how: enum" in failed.stdout
    assert "refused now" in failed.stdout
    assert run(shop, *options, "--toolshape-update").returncode == 0
    assert run(shop, *options).returncode == 0


@pytest.mark.slow
def test_at_the_command_line(shop):
    locked = run(shop, "toolshape", "lock", "shop:tools", "--to", "openai", "--to", "mcp")
    assert (locked.returncode, locked.stdout) == (0, "tools.lock.json: 1 tool\n")
    same = run(shop, "toolshape", "diff", "shop:tools", "--against", "tools.lock.json")
    assert (same.returncode, same.stdout) == (0, "nothing has changed\n")
    recorded = "from shop import tools\nfrom toolshape.trace import record_to\ntools.observe(record_to('calls.jsonl', keep='all'))\n"
    for how in ("post", "van", "van"):
        function = {"name": "order", "arguments": json.dumps({"customer": "a", "how": how})}
        call = {"id": "1", "type": "function", "function": function}
        body = {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}
        recorded += f"tools.dispatch({body!r}, provider='openai')\n"
    (shop / "record.py").write_text(recorded, encoding="utf-8")
    assert run(shop, "record").returncode == 0
    narrowed(shop)
    found = run(
        shop,
        "toolshape",
        "diff",
        "shop:tools",
        "--against",
        "tools.lock.json",
        "--sarif",
        "o.sarif",
        "--calls",
        "calls.jsonl",
    )
    assert found.returncode == 1, found.stderr
    assert found.stdout.splitlines()[-2:] == [
        "1 breaking, 1 behaviour",
        "2 of 3 recorded calls break: 2 to order",
    ]
    assert found.stdout.splitlines()[0].endswith("; 2 recorded calls")
    counted = run(
        shop,
        "toolshape",
        "diff",
        "shop:tools",
        "--against",
        "tools.lock.json",
        "--json",
        "--calls",
        "calls.jsonl",
    )
    assert [load["calls"] for load in json.loads(counted.stdout)] == [2, 0]
    unread = run(
        shop,
        "toolshape",
        "diff",
        "shop:tools",
        "--against",
        "tools.lock.json",
        "--calls",
        "shop.py",
    )
    assert (unread.returncode, unread.stdout) == (2, "")
    assert "shop.py can be read: line 1 is not a line of a trace" in unread.stderr
    (shop / "mixed.jsonl").write_text((shop / "calls.jsonl").read_text() + "x\n")
    mixed = run(
        shop,
        "toolshape",
        "diff",
        "shop:tools",
        "--against",
        "tools.lock.json",
        "--calls",
        "mixed.jsonl",
    )
    assert "recorded calls break: 2 to order; 1 lines are not trace records" in mixed.stdout
    [first, second] = json.loads(
        run(
            shop, "toolshape", "diff", "shop:tools", "--against", "tools.lock.json", "--json"
        ).stdout
    )
    assert (first["kind"], first["level"], first["witness"]["how"]) == ("enum", "breaking", "van")
    assert (second["kind"], second["providers"]) == ("description", ["openai", "mcp"])
    sarif = json.loads((shop / "o.sarif").read_text(encoding="utf-8"))
    [result, _] = sarif["runs"][0]["results"]
    assert (sarif["version"], result["level"], result["ruleId"]) == ("2.1.0", "error", "enum")
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("shop.py", 5)
    rules = sarif["runs"][0]["tool"]["driver"]["rules"]
    assert all(
        rules[result["ruleIndex"]]["id"] == result["ruleId"]
        for result in sarif["runs"][0]["results"]
    )


def test_a_page_is_written(shop):
    assert run(shop, "toolshape", "lock", "shop:tools").returncode == 0
    narrowed(shop)
    done = run(
        shop,
        "toolshape",
        "page",
        "shop:tools",
        "--to",
        "openai",
        "--against",
        "tools.lock.json",
        "-o",
        "o.html",
    )
    assert (done.returncode, done.stdout) == (0, "o.html: 1 tool\n")
    page = (shop / "o.html").read_text(encoding="utf-8")
    assert "1 breaking, 1 behaviour" in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["diff", "shop:tools"], "pass --to PROVIDER or --against"),
        (["diff", "shop:tools", "--against", "nothing.json"], "create it with toolshape lock"),
        (
            ["diff", "shop:tools", "--to", "openai", "--sarif", "o.sarif"],
            "--calls, --sarif and --answer need --against",
        ),
        (["lock", "shop:tools", "--to", "opneai"], "openai"),
        (["lock", "shop:tools", "-o", "nowhere/x.json"], "nowhere/x.json cannot be written"),
        (["page", "shop:tools", "-o", "nowhere/x.html"], "nowhere/x.html cannot be written"),
    ],
)
def test_a_wrong_command_is_said(shop, arguments, said):
    done = run(shop, "toolshape", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


# --- what tools cost ----------------------------------------------------------------------------------------------


class Counting:
    """Counts characters, as a client of each SDK would count tokens."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.messages = self.responses = self.input_tokens = self

    def __call__(self, **request: Any) -> Any:
        self.asked.append(request)
        return type(
            "Counted",
            (),
            {"input_tokens": 10 + sum(len(json.dumps(item)) for item in request.get("tools", ()))},
        )


def test_the_parts_of_a_bill_add_up():
    found = request_cost(before().bind("openai"), "gpt-5.5")
    assert [cost.tool for cost in found.costs] == ["order", "fetch_page"]
    for cost in found.costs:
        assert sum(cost.parts.values()) == cost.characters
        assert cost.tokens is None
    assert sum(cost.share for cost in found.costs) == pytest.approx(1)
    assert found.characters == sum(cost.characters for cost in found.costs)
    assert str(found).splitlines()[0].split() == ["tool", "tokens", "characters", "share"]


@pytest.mark.parametrize("provider", ["openai-responses", "anthropic"])
def test_a_client_counts_with_and_without_each_tool(provider):
    counting = Counting()
    client = type("Client", (), {})()
    if provider == "anthropic":
        client.messages = type("Messages", (), {"count_tokens": staticmethod(counting)})
    else:
        inner = type("Tokens", (), {"count": staticmethod(counting)})
        client.responses = type("Responses", (), {"input_tokens": inner})
    bound = before().bind(provider)
    found = request_cost(bound, "a-model", client)
    sizes = {entry["name"]: len(json.dumps(entry)) for entry in bound.export()}
    assert {cost.tool: cost.tokens for cost in found.costs} == sizes
    assert found.tokens == sum(sizes.values())
    assert len(counting.asked) == 4
    assert all(item["model"] == "a-model" for item in counting.asked)


@pytest.mark.parametrize("provider", available())
def test_the_parts_are_found_wherever_a_provider_has_them(provider):
    for cost in request_cost(before().bind(provider), "m").costs:
        assert cost.parts["name"] == len(cost.tool)
        assert cost.parts["description"]
        assert cost.parts["parameters: the rest"] > 40
        assert sum(cost.parts.values()) == cost.characters


@pytest.mark.parametrize("said", [None, -1, "12", True, 1.9, float("nan")])
def test_who_counts_says_a_number(said):
    with pytest.raises(UsageError, match="not a whole number of tokens"):
        request_cost(before().bind("openai"), "m", lambda request: said)


def test_a_client_is_of_the_provider_and_not_async():
    async def count(**request: Any) -> Any:
        return 1

    messages = type("Messages", (), {"count_tokens": staticmethod(count)})
    client = type("Client", (), {"messages": messages})()
    with pytest.raises(UsageError, match="must not be async"):
        request_cost(before().bind("anthropic"), "m", client)
    with pytest.raises(UsageError, match=r"bound to bedrock: use bind\('anthropic'\)"):
        request_cost(before().bind("bedrock"), "m", client)


def test_a_function_counts_too_and_nothing_else_does():
    found = request_cost(
        before().bind("openai"), "m", lambda request: 7 * len(request.get("tools", ()))
    )
    assert [cost.tokens for cost in found.costs] == [7, 7]
    with pytest.raises(UsageError, match="count= must be a client"):
        request_cost(before().bind("openai"), "m", 5)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("Search.", "Find.", "Search. -> Find."),
        ("Search. " * 40, "Search. " * 40 + "Then \u202email it.", "… Search. Search. Search. -> … Search. Search. Search. Then \\u202email it."),
        ("", "word " * 200, " -> " + ("word " * 200)[:600] + "…"),
        (" ".join(map(str, range(90))), " ".join(map(str, range(100))), "… 87 88 89 -> … 87 88 89 90 91 92 93 94 95 96 97 98 99"),
        ("a b a " * 30, "a b a " * 29, "… a b a a b a -> … a b a"),
    ],
)  # fmt: skip
def test_of_a_long_text_the_words_that_differ_are_shown(before, after, shown):
    """What was put into the middle of a description stands on the line, with nothing that a terminal obeys."""
    assert str(Change("description", "behaviour", "t", "", before, after)) == (
        f"behaviour: t: description: {shown}"
    )
