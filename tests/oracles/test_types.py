"""Every type that pydantic has, given wire values of every kind: judged by pydantic's ``TypeAdapter`` and by jsonschema."""

import base64
import collections
import dataclasses
import datetime
import functools
import json
import re
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import jsonschema
import pytest
from annotations import ANNOTATIONS, SECRETS, WRAPPERS, evaluated
from lanes import Case, check_drawn, check_kept, in_blocks
from pydantic import BaseModel, TypeAdapter, ValidationError

from toolshape import CallError, DefinitionError, Registry, Result, Tool, tool

LANE = "types"
pytestmark = pytest.mark.filterwarnings("ignore")  # some of the types are deprecated

TEXTS = [
    "null", "true", "false", "0", "1", "-1", "5", "1.0", "1.5", "1.10", "-0.0", "1e3", "1E400", "1e-999999999999999999999",
    "1e999999999999999999999", "12345678901234567890", "0.1000000000000000000001", "1e308", "2130706433", '""', '" "', '"a"',
    '"A"', '"5"', '"5 "', '" 5"', '"+5"', '"-5"', '"05"', '"1_000"', '"1__0"', '"_1"', '"\\u0663"', '"\\uff15"', '"\\u00bd"',
    '"1.5"', '"1.50"', '"1,5"', '".5"', '"5."', '"1e3"', '"1E+3"', '"0x10"', '"1/3"', '" 1/3 "', '"1_0/3"', '"1/0"', '"Infinity"',
    '"-inf"', '"nan"', '"sNaN"', '"true"', '"True"', '"false"', '"yes"', '"null"', '"None"', '"1+2j"', '" 1+2j "', '"(1_0+2j)"',
    '"nanj"', '"1_0j"', '"\\u0663j"', '"red"', '"RED"', '"Red"', '"crimson"', '"get"', '"2026-11-23"', '"2026-1-3"',
    '"2026-11-23T00:00:00"', '"2026-11-23T00:00:00Z"', '"20261123"', '"1700000000"', '"1700000000.5"', '"-1"', '"9999-12-31"',
    '"0000-01-01"', '"2026-13-01"', '"12:30"', '"P1D"', '"P1W"', '"PT1H"', '"1 day"', '"24:00:00"', '"999999999 days"',
    '"P999999999999D"', '"12345678-1234-5678-1234-567812345678"', '"{12345678-1234-5678-1234-567812345678}"',
    '"urn:uuid:12345678-1234-5678-1234-567812345678"', '"12345678123456781234567812345678"', '"127.0.0.1"', '" 127.0.0.1"',
    '"127.0.0.01"', '"::1"', '"::1%eth0"', '"10.0.0.0/8"', '"10.0.0.1/8"', '"10.0.0.0/255.0.0.0"', '"127.1"',
    '"https://example.com"', '"https://"', '"http://\\u00e9.com"', '"a@example.com"', '"Ann <a@example.com>"', '"a@b"',
    '"aGk="', '"aGk"', '"aG k="', '"aGk=\\n"', '"aGk=aGk="', '"a"', '"*"', '"_-8="', '"/+8="', '"\\u0000"', '"\\n"',
    '"\\ud83d\\ude00"', '"[1, 2]"', '"{\\"a\\": 1}"', '"{\\"a\\": 1, \\"a\\": 2}"', '"NaN"', '"1KiB"', '"1 kb"', '"-1 KB"', '"1_0 KB"',
    '"math.cos"', '"os:nothing"', '"/tmp"', '"/etc/hostname"', '"~"', "[]", "{}", "[null]", "[1]", '["a"]', '["1"]', "[[1]]", "[1, 2, 2]",
    '[1, "a"]', '["1", 2]', '{"a": 1}', '{"x": 1}', '{"x": "1"}', '{"x": 1, "z": 2}', '{"y": null}', '{"x": null}', '{"1": 1}',
    '{"1": 1, "01": 2}', '{"1_0": 1}', '{"true": 1}', '{"root": ["a"]}', '{"value": 1}', '{"a": {"b": 5}}', '{"a": [1, 2, 3]}',
    '{"k": {"x": 1}}', '{"firstName": "a", "first_name": "b"}', '{"kind": "mail"}', '{"kind": "MAIL", "address": "a"}',
    '{"kind": null, "address": "a"}', '{"": 1}', '{"a": 1, "a": 2}', '[{"key": "a", "value": 1}]', "[[[[[[1]]]]]]",
    json.dumps("a" * 5000), json.dumps("/" + "a/" * 3000), json.dumps("9" * 400), "9" * 400, json.dumps("\x00/etc"),
]  # fmt: skip
"""Wire values of every kind, most of them odd."""

DEFAULTS = ["None", "[]", "{}", "5", "'x'", "set()", "MISSING"]


@functools.lru_cache(maxsize=4_000)
def _case_of(
    annotation: str, default: str | None, approve: bool
) -> tuple[Tool[..., Any], list[Any], Any, Any] | None:
    """The tool with one parameter of this type, what it got last, pydantic's judge and jsonschema's."""
    got: list[Any] = []
    try:
        kind = evaluated(annotation)
        judge: TypeAdapter[Any] = TypeAdapter(kind)
        judge.json_schema()
    except Exception:  # not every type may stand in every place
        return None

    def f(x: Any) -> str:
        got[:] = [x]
        return "ok"

    f.__annotations__ = {"x": kind}
    if default is not None:
        f.__defaults__ = (evaluated(default),)
    try:
        made = tool(approve=approve)(f)
    except DefinitionError:
        return None
    return made, got, judge, _JUDGE(_with_sets_of_any(made.input_schema))


def _with_sets_of_any(schema: Any) -> Any:
    """The schema without ``uniqueItems``: a set takes an item twice, and what the function gets is the same set."""
    if isinstance(schema, list):
        return [_with_sets_of_any(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _with_sets_of_any(value)
        for key, value in schema.items()
        if key != "uniqueItems" or value is not True
    }


def _content(validator: Any, schema: Any, text: Any, _: Any) -> Iterator[Any]:
    """What a text holds fits its ``contentSchema``, which jsonschema itself does not assert."""
    if isinstance(text, str):
        try:
            value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_json)
        except ValueError as error:
            yield jsonschema.ValidationError(str(error))
        else:
            yield from validator.descend(value, schema)


def _unique(pairs: list[tuple[str, Any]]) -> Any:
    return dict(pairs) if len(dict(pairs)) == len(pairs) else _no_json("a key comes twice")


def _no_json(word: str) -> Any:
    raise ValueError(word)


_JUDGE: Any = jsonschema.validators.extend(
    jsonschema.Draft202012Validator, {"contentSchema": _content}
)


def draw(random: Random) -> Case | None:
    """Draw a type, bare or in another, and a value: one of its own, one of its own changed, or any."""
    annotation = random.choice(list(ANNOTATIONS))
    text = random.choice(ANNOTATIONS[annotation])
    if random.random() < 0.5:
        text = random.choice(TEXTS) if random.random() < 0.6 else _changed(text, random)
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        wrapper = random.choice(list(WRAPPERS))
        annotation, text = wrapper.replace("{}", annotation), WRAPPERS[wrapper](text)
        if random.random() < 0.1:
            text = _changed(text, random)
    default = random.choice(DEFAULTS) if random.random() < 0.1 else None
    way = random.choice(("call", "call", "edit"))
    return (
        {"annotation": annotation, "default": default, "text": text, "way": way}
        if _is_tool(annotation, default)
        else None
    )


def _is_tool(annotation: str, default: str | None) -> bool:
    return _case_of(annotation, default, False) is not None


def _changed(text: str, random: Random) -> str:
    """A JSON text with another value at one of its places, or a key or an item more."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    other = random.choice(TEXTS)
    if isinstance(value, dict) and value:
        key = random.choice(list(value))
        parts = {name: json.dumps(item) for name, item in value.items()}
        what = random.randrange(4)
        if what == 0:
            parts["misspelt"] = other
        elif what == 1:
            del parts[key]
        else:
            parts[key] = other if what == 2 else _changed(parts[key], random)
        return "{" + ", ".join(f"{json.dumps(name)}: {item}" for name, item in parts.items()) + "}"
    if isinstance(value, list) and value:
        items = [json.dumps(item) for item in value]
        place = random.randrange(len(items))
        items[place : place + random.randrange(2)] = [
            random.choice((other, _changed(items[place], random)))
        ]
        return "[" + ", ".join(items) + "]"
    return json.dumps(text) if random.random() < 0.3 else other


def check(case: Case) -> str | None:
    """Compare one call with what pydantic and jsonschema say of it."""
    made = _case_of(case["annotation"], case["default"], False)
    if made is None:
        return None
    subject, got, judge, schema = made
    arguments = f'{{"x": {case["text"]}}}'
    result = _called(subject, arguments, got)
    if result.error is not None:
        return _refused(result, case, judge, schema)
    given = got[0]
    if not result.coercions:
        difference = _taken(case, given, judge, schema)
        if difference is not None:
            return difference
    return (
        _again(case, subject, result, given, got)
        if case["way"] == "call"
        else _edited(case, arguments, result, given)
    )


def _called(subject: Tool[..., Any], arguments: str, got: list[Any]) -> Result:
    got.clear()
    [result] = Registry([subject]).dispatch({"name": subject.name, "arguments": arguments})
    return result


def _refused(result: Result, case: Case, judge: Any, schema: Any) -> str | None:
    assert result.error is not None
    if result.error.code not in ("invalid_arguments", "malformed_arguments"):
        return f"the value caused {result.error.code}: {result.text}"
    if _is_plain(case["text"]) and _is_valid(schema, case["text"], checks_formats=True):
        try:
            value = judge.validate_json(case["text"], strict=True)
        except Exception:  # pydantic lets several kinds through
            return None
        if _excused(case, REFUSED) or not _is_exact(case["text"]):
            return None
        return f"refused, although pydantic gives {value!r:.200} and the schema admits it: {result.text}"
    return None


def _taken(case: Case, given: Any, judge: Any, schema: Any) -> str | None:
    if not _is_valid(schema, case["text"]) and not _excused(case, TAKEN):
        return f"ran with {given!r:.200}, which the schema refuses, without a coercion"
    # In the author's places pydantic's own mode decides (docs/coercion.md): what it takes laxly is not left out.
    modes = (False,) if "OnErrorOmit" in case["annotation"] else (True, False)
    for strict in modes:
        try:
            value = judge.validate_json(case["text"], strict=strict)
        except ValidationError:
            continue
        except Exception as error:  # pydantic lets several kinds through
            return f"ran with {given!r:.200}, where pydantic raises {type(error).__name__}"
        if same(given, value) or _excused(case, OTHER) or not _is_exact(case["text"]):
            return None
        return f"ran with {given!r:.200}, where pydantic gives {value!r:.200}"
    if _excused(case, TAKEN) or not _is_exact(
        case["text"]
    ):  # pydantic has only the float of a number
        return None
    return f"ran with {given!r:.200}, which pydantic refuses"


def _again(
    case: Case, subject: Tool[..., Any], result: Result, given: Any, got: list[Any]
) -> str | None:
    """The tool takes its own ``Result.arguments``, and its function gets the same."""
    if _excused(case, AGAIN):
        return None
    shown = result.arguments
    try:
        text = json.dumps(shown, allow_nan=False)
    except (TypeError, ValueError) as error:
        return f"the arguments of the result are no JSON ({error}): {shown!r:.200}"
    if SECRETS.search(case["annotation"]):
        return (
            f"the arguments show a secret: {text:.200}"
            if re.search("hunter2|424242", text)
            else None
        )
    if _excused(case, AGAIN):
        return None
    again = _called(subject, text, got)
    if not again.ok:
        return f"refuses its own arguments {text:.200}: {again.text}"
    return (
        None
        if same(given, got[0])
        else f"got {given!r:.200}, and {got[0]!r:.200} from its own arguments {text:.200}"
    )


def _edited(case: Case, arguments: str, result: Result, given: Any) -> str | None:
    """A plan takes the arguments that it shows as an edit, and the function gets the same."""
    made = _case_of(case["annotation"], case["default"], True)
    assert made is not None
    subject, got, _, _ = made
    plan = Registry([subject]).plan(
        {"name": subject.name, "arguments": arguments}, provider="json-schema"
    )
    [waits] = plan.pending
    shown = json.dumps(waits.arguments)
    if waits.arguments != result.arguments:
        return f"pending shows {shown:.200}, the result {result.arguments!r:.200}"
    if SECRETS.search(case["annotation"]):
        return (
            f"the arguments show a secret: {shown:.200}"
            if re.search("hunter2|424242", shown)
            else None
        )
    if _excused(case, AGAIN) or not _is_exact(case["text"]):
        return None
    try:
        edited = plan.edit(waits, waits.arguments)
    except CallError as error:
        return f"an edit with the arguments that are shown is refused ({shown:.200}): {error}"
    plan.approve(edited)
    got.clear()
    [ran] = plan.run()
    if not ran.ok:
        return f"the edited call failed: {ran.text}"
    return (
        None
        if same(given, got[0])
        else f"got {given!r:.200}, and {got[0]!r:.200} after an edit with {shown:.200}"
    )


def _is_plain(text: str) -> bool:
    """Whether the text is JSON that says one thing: no key comes twice."""
    try:
        json.loads(text, object_pairs_hook=_unique, parse_constant=_no_json)
    except ValueError:
        return False
    return True


def _is_exact(text: str) -> bool:
    """Whether floats hold the numbers of the text: others are refused where a type is not known to take them."""
    numbers: list[bool] = []
    value = json.loads(
        text,
        parse_float=lambda number: numbers.append(_holds(number)),
        parse_int=_count_digits(numbers),
    )
    return all(numbers) and (not isinstance(value, str) or not _is_plain(value) or _is_exact(value))


def _count_digits(numbers: list[bool]) -> Any:
    return lambda number: numbers.append(len(number) < 300)


def _holds(number: str) -> bool:
    try:
        return decimal_of(number) == decimal_of(repr(float(number)))
    except ArithmeticError:
        return False


def decimal_of(text: str) -> Any:
    """A number by its digits."""
    import decimal

    return decimal.Decimal(text)


_NUMERIC = re.compile(r"\s*[+-]?[0-9_.]+([eE][+-]?[0-9]+)?\s*")
_FORMATS = jsonschema.FormatChecker(())
_FORMATS.checks("date", raises=ValueError)(
    lambda value: (
        not isinstance(value, str)
        or ("-" in value and datetime.date.fromisoformat(value[:10]) is not None)
    )  # since Python 3.11 it reads 20261123
)
for _name in ("date-time", "time", "duration"):
    _FORMATS.checks(_name)(lambda value: not (isinstance(value, str) and _NUMERIC.fullmatch(value)))


@_FORMATS.checks("base64", raises=ValueError)
def _is_base64(value: Any) -> bool:
    return (
        not isinstance(value, str)
        or base64.b64decode(value.encode("ascii"), validate=True) is not None
    )


@_FORMATS.checks("base64url", raises=ValueError)
def _is_base64url(value: Any) -> bool:
    return not isinstance(value, str) or _is_base64(
        re.sub("[+/]", "!", value).replace("-", "+").replace("_", "/")
    )


def _is_valid(schema: Any, text: str, *, checks_formats: bool = False) -> bool:
    value = {"x": json.loads(text)}
    try:
        return schema.evolve(format_checker=_FORMATS if checks_formats else None).is_valid(value)
    except (RecursionError, OverflowError):
        return False


def same(one: Any, other: Any) -> bool:
    """Whether a function could not tell two values apart."""
    if (
        isinstance(one, Iterator)
        or isinstance(other, Iterator)
        or type(one).__name__ == "ValidatorIterator"
    ):
        return True
    if type(other).__name__ == "ValidatorIterator":
        return same(one, list(other))
    if isinstance(one, BaseModel) and isinstance(other, BaseModel):
        return (
            type(one) is type(other)
            and same(one.__dict__, other.__dict__)
            and same(one.model_extra or {}, other.model_extra or {})
        )
    if dataclasses.is_dataclass(one) and type(one) is type(other):
        fields = [field.name for field in dataclasses.fields(one)]
        return all(same(getattr(one, name, None), getattr(other, name, None)) for name in fields)
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple, collections.deque)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return repr(one) == repr(other)
    if type(one).__name__ == "Decimal":
        return bool(one == other)
    return bool(one == other)


Gaps = dict[str, str]
_NAMES = "a field is taken by all the names that the author gave it, and the schema has one of them"
_CHOICES = "pydantic finds no member for the JSON of a choice that is no scalar: the tool does"
TAKEN: Gaps = {
    **dict.fromkeys(("ByPath", "ByIndex", "ByChoice", "Camel"), _NAMES),
    **dict.fromkeys(("Literal[b", "Literal[Colour", "Mixed"), _CHOICES),
    "Json[pydantic.Secret[": "a secret inside of JSON text is validated laxly, as its validator is written in Python",
    "Json[Annotated[int, BeforeValidator": "inside of JSON text, what a validator in Python stands before is read laxly",
    "strict=False": "the author asks that texts are taken, too",
    "OnErrorOmit": "the author asks that items are left out that are invalid",
    "Pair": "pydantic takes a named tuple from an object with its names, and no row says so",
    "discriminator='kind'": "a tag with a default may be left out, as the schema says; pydantic requires it",
}
"""Annotations whose tool takes more than its schema or pydantic, with the reason."""
REFUSED: Gaps = {
    "Iterable": "pydantic validates the items when they are read, inside the function",
}
"""Annotations whose tool refuses more."""
OTHER: Gaps = {
    **dict.fromkeys(
        ("ByPath", "ByIndex"), "the schema has the field's own name, which pydantic does not know"
    ),
    **dict.fromkeys(
        ("decimal.Decimal, str", "fractions.Fraction, str"),
        "a text that is not a number as JSON writes it is a text",
    ),
}
"""Annotations whose function gets another value than pydantic gives."""
AGAIN: Gaps = {
    "AllowInfNan": "the author allows infinities, which JSON does not have",
    "fractions.Fraction": "a fraction above 10**100 may be sent as a number, and its text has more digits than are taken",
}
"""Annotations whose values are not written so that they can be read again."""


def _excused(case: Case, gaps: Gaps) -> bool:
    return any(name in case["annotation"] for name in gaps)


def test_every_annotation_makes_a_tool() -> None:
    """Every annotation of the list is drawn: none is left out in silence."""
    assert [
        annotation
        for annotation in ANNOTATIONS
        if not _is_tool(annotation, None) and annotation not in NO_TOOLS
    ] == []
    assert len(ANNOTATIONS) >= 130


NO_TOOLS: Gaps = {"bytearray": "pydantic has no JSON Schema for it"}


def test_kept() -> None:
    """The cases that differed once."""
    check_kept(LANE, check)


@in_blocks
def test_drawn(block: int) -> None:
    """A fresh draw."""
    check_drawn(LANE, block, draw, check)
