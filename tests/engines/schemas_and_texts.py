"""The schemas that are measured, with instances for each; a judge tells the valid ones from the rest."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from toolshape._cli.rulebook.keywords import CASES as RULEBOOK, list_field, one_field, text_field


class Text(str):
    """A text as it stands, for what ``json.dumps`` would never write, as ``1e-5`` and what is no JSON."""

    __slots__ = ()


class Case(NamedTuple):
    """A schema and instances, most of them just beyond the keyword that the case is named for."""

    schema: Any
    instances: list[Any]
    judged_by: Any = None
    """A schema that says the same in words that Python's judge can read; else ``schema`` itself."""


def texts(instance: Any) -> list[str]:
    """All ways to write an instance: compact and spaced, characters beyond ASCII bare and escaped."""
    if isinstance(instance, Text):
        return [str(instance)]
    styles = [
        {"separators": separators, "ensure_ascii": ascii_only}
        for separators in ((",", ":"), (", ", ": "))
        for ascii_only in (False, True)
    ]
    return list(dict.fromkeys(json.dumps(instance, **style) for style in styles))


def split(case: Case) -> tuple[list[Any], list[Any]]:
    """The valid instances of a case and the invalid ones."""
    schema = case.schema if case.judged_by is None else case.judged_by
    judge = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    valid: list[Any] = []
    invalid: list[Any] = []
    for instance in case.instances:
        (valid if _fits(texts(instance)[0], judge) else invalid).append(instance)
    return valid, invalid


def _fits(text: str, judge: Any) -> bool:
    try:
        return bool(judge.is_valid(json.loads(text)))
    except ValueError:
        return False


def _v(*values: Any) -> list[Any]:
    """Objects with the field ``v``; a ``Text`` is put in as it stands."""
    return [
        Text(f'{{"v":{value}}}') if isinstance(value, Text) else {"v": value} for value in values
    ]


def _around(*bounds: int) -> list[Any]:
    """Integers near some bounds and far from them."""
    near = [bound + step for bound in bounds for step in (-11, -2, -1, 0, 1, 2, 11)]
    far = [
        sign * size for sign in (1, -1) for size in (0, 1, 7, 9, 42, 99, 500, 1000, 12345, 10**12)
    ]
    return _v(*dict.fromkeys(near + far))


def _long(*lengths: int) -> list[Any]:
    """Strings of some lengths, of plain, accented, escaped and astral characters."""
    return _v(
        *(
            character * length
            for length in lengths
            for character in ("x", "é", "\n", '"', "\\", " ", "😀")
        )
    )


def _booleans(*lengths: int) -> list[Any]:
    return _v(
        *([True] * length for length in lengths),
        *([True, False] * (length // 2) for length in lengths),
    )


_ANY = [
    None,
    True,
    False,
    0,
    1,
    2,
    -1,
    1.5,
    99,
    100,
    999,
    1000,
    "",
    "a",
    "b",
    "x",
    "xx",
    "ab",
    "1",
    "null",
    "true",
]
_ANY += [[], [None], [1], ["a"], {}, {"a": True}, {"b": True}, {"a": 1}, {"x": None}]
_WORDS = [
    "",
    "a",
    "b",
    "ab",
    "ba",
    "aa",
    "abc",
    "ABC",
    "AAA",
    "ABCA",
    "AB",
    "aAB",
    " ABC",
    "ABC ",
    "A1B",
    "DDD",
    "cd",
]
_WORDS += [
    "abcd",
    "cdab",
    "abab",
    "ababab",
    "abababab",
    "ababababab",
    "abcdabcdab",
    "abc abc",
    "xabcx",
    "aabbcc",
    "abx",
]
_WORDS += [
    "12",
    "1",
    "123",
    "1a",
    "a1",
    "٣٤",
    "0",
    "00",
    "é",
    "éé",
    "ééé",
    "eé",
    "a_1",
    "a-b",
    "abé",
    "foo bar",
    "😀😀",
]
_TWO = [{"a": a, "b": b} for a in (True, False, 1, "x", None) for b in (True, False, 0)]
_ONE = [
    {},
    {"a": True},
    {"b": True},
    {"b": False},
    {"b": 1},
    {"a": 1, "b": True},
    {"c": True},
    {"b": True, "c": True},
]
_BOOLEAN_LISTS = [
    list(row) for row in ([], [True], [False], [True, True], [True, False], [False, False, True])
]
_UNEQUAL = [
    [True, False, True],
    [True, True, True],
    [False, True, True, False],
    [True, False, True, False],
]
_PAIRS = [
    [True, None],
    [False, None],
    [None, None],
    [None, True],
    [True],
    [None],
    [],
    [True, None, 1],
    [True, None, None],
]
_PAIRS += [
    [1, None],
    [True, False],
    [True, "a"],
    ["a", None],
    [True, None, True, None],
    [True, 0],
    [{}, None],
    [[], None],
]
_NAMED = [
    {},
    {"a": True},
    {"a1": True},
    {"b": True},
    {"A": True},
    {"ab": True, "ac": False},
    {"a": 1},
    {"a": "x"},
]
_NAMED += [
    {"a": None},
    {"ba": True},
    {"": True},
    {"a": True, "b": True},
    {"b": True, "a": True},
    {"xa": True, "a": True},
]
_REAL = [
    99.999,
    99.5,
    -100.5,
    0.001,
    100.0,
    100.5,
    250.25,
    1e300,
    Text("1e1"),
    Text("100e-5"),
    Text("1e2"),
    Text("1e3"),
]
_REAL += [
    Text("99.9999999999"),
    Text("-1e9"),
    Text("1E+2"),
    Text("100.0000001"),
    Text("0e9"),
    Text("-0"),
    Text("100e-0"),
]

_INSTANCES: dict[str, list[Any]] = {
    "enum": _v(*_ANY),
    "const": _v(*_ANY),
    "anyOf": _v(*_ANY, 101, 500, 998, 10000, Text("1e1")),
    "oneOf": _v(*_ANY, 101, 500, 998, 10000, Text("1e1")),
    "allOf": _v(*_TWO, *_ONE, {}, 1, "a", [], None, Text('{"a":true}{"b":true}')),
    "a list of types": _v(*_ANY),
    "$ref": _v(*_v(*_ANY), *_ANY),
    "a field that may be missing": [*_TWO, *_ONE],
    "a schema that is true": [*_v(*_ANY), {}, {"w": 1}, {"v": 1, "w": 2}],
    "minLength": _long(0, 1, 2, 29, 30, 35, 40, 41, 60),
    "maxLength": _long(0, 1, 3, 4, 5, 6, 8, 30) + _v("😀" * 4 + "x", "é" * 5, "a\\b\\c", "\n\n\n\n\n", Text('"\\u0061bcde"')),
    "minLength from 2000 on": _v("", "x", "x" * 1999, "x" * 2000, "x" * 2999, "x" * 3000, "x" * 3001),
    "maxLength 2000": _v("", "x", "x" * 1999, "x" * 2000, "x" * 2001, "x" * 2500, "x" * 4001),
    "pattern, anchored": _v(*_WORDS),
    "pattern with alternatives": _v(*_WORDS),
    "maxLength beside pattern": _v(*_WORDS),
    "pattern without anchors": _v(*_WORDS),
    "pattern with \\d": _v(*_WORDS),
    "pattern with \\w": _v(*_WORDS),
    "pattern with repeated é": _v(*_WORDS),
    "pattern with a range that holds a quote": _v("a b" * 8, 'a "b" ' * 4, "a\\b" * 7, "a\tb" * 7, "é" * 20, "x" * 31, Text('"' + 'a "b",' * 4 + '"'), Text('"' + "a\\" * 12 + '"')),
    "minimum, integer": _around(100),
    "maximum, integer": _around(50),
    "maximum below zero, no minimum": _around(-100),
    "exclusiveMinimum, integer": _around(100),
    "exclusiveMaximum, integer": _around(50),
    "minimum, number": _around(100) + _v(*_REAL),
    "multipleOf": _v(*range(-14, 30), 98, 99, 700, 701, 9996, 9997, 9999, 10003),
    "minItems": _booleans(0, 1, 2, 3, 4, 5, 6, 7, 8, 20),
    "maxItems": _booleans(0, 1, 2, 3, 4, 5, 10, 30),
    "minItems from 2000 on": _booleans(0, 1, 20, 1999, 2000, 2998, 3000, 3002),
    "uniqueItems": _v(*_UNEQUAL, [1, 2, 3], [4, 3, 2, 1], [1, 1, 2], [3, 2, 3, 1], [2, 2, 2]),
    "prefixItems": _v(*_PAIRS),
    "prefixItems with items: false": _v(*_PAIRS),
    "minProperties": [*_NAMED, {"a": True, "b": False, "c": True}, {"x": True}, {"y": False}, {"a b": True, "": False}],
    "patternProperties": _NAMED,
}  # fmt: skip

_DATES = [
    "2024-02-29",
    "2023-12-31",
    "1999-01-01",
    "2023-02-29",
    "2024-02-30",
    "2024-13-01",
    "2024-00-10",
    "2024-01-00",
]
_DATES += [
    "2024-01-32",
    "2024-04-31",
    "2024-1-1",
    "24-01-01",
    "20240101",
    "2024/01/01",
    "",
    "abc",
    "2024-01",
    "2024-01-01T",
]
_CLOCKS = [
    "12:30:00Z",
    "23:59:59+02:00",
    "00:00:00.123Z",
    "24:00:00Z",
    "12:60:00Z",
    "12:30:61Z",
    "12:30:00",
    "12:30Z",
    "",
]
_CLOCKS += [
    "1:30:00Z",
    "12:30:00+25:00",
    "12:30:00+2",
    "noon",
    "12.30.00Z",
    "12:30:00 Z",
    "99:99:99Z",
    "12:30:00.Z",
]
_MOMENTS = [
    f"{day}T{clock}" for day in ("2024-02-29", "2023-02-29", "2024-13-01") for clock in _CLOCKS
]
_MOMENTS += ["2024-02-29", "2024-02-29 noon", "", "2024-02-29T", "20240229T123000Z"]
_SPANS = [
    "P1D",
    "PT1H",
    "P1Y2M3DT4H5M6S",
    "P2W",
    "P",
    "PT",
    "1D",
    "",
    "P1",
    "PD",
    "P1D1Y",
    "PT1D",
    "P1H",
    "one day",
    "P1YT",
]
_MAILS = [
    "a@example.com",
    "first.last@example.org",
    "x+y@example.co",
    "",
    "a",
    "example.com",
    "a at b.com",
    "a#b",
    "first.last",
]
_MAILS += ["mail", "a.b.c", "x+y", "1", " ", "a_example.com", "postmaster"]
_HOSTS = [
    "example.com",
    "a.b.c.example.org",
    "xn--bcher-kva.example",
    "",
    "-a.com",
    "a-.com",
    "a..b",
    "a b.com",
    "a_b.com",
]
_HOSTS += ["a" * 64 + ".com", ".com", "ex!ample.com", "a/b", "x@y.com", "a." * 130 + "com"]
_QUADS = [
    "127.0.0.1",
    "255.255.255.255",
    "0.0.0.0",
    "256.0.0.1",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.a",
    "",
    "01.2.3.4",
    "1..2.3",
]
_QUADS += ["300.1.1.1", "1.2.3.256", "1.2.3.999", "a", "1.2.3.4/8", "::1", " 1.2.3.4", "1.2.3.04"]
_SIXES = [
    "::1",
    "2001:db8::8a2e:370:7334",
    "1:2:3:4:5:6:7:8",
    "::",
    "1:2:3",
    "1:2:3:4:5:6:7:8:9",
    "::1::",
    "g::1",
    "12345::",
]
_SIXES += ["", "127.0.0.1", ":::", "1::2::3", "1:2:3:4:5:6:7:", "abc", "::ffff:256.1.1.1"]
_LINKS = [
    "https://example.com",
    "http://a.example/b?c=d#e",
    "mailto:a@example.com",
    "urn:isbn:0451450523",
    "",
    "example",
]
_LINKS += [
    "//a.b",
    "/a/b",
    "a b",
    "http://a b.com",
    "1http://a.com",
    ":a",
    "http://a.com/<>",
    "http://[::1",
    "http://a.com/%zz",
]
_IDS = [
    "123e4567-e89b-12d3-a456-426614174000",
    "00000000-0000-0000-0000-000000000000",
    "",
    "a",
    "123e4567",
]
_IDS += [
    "123e4567e89b12d3a456426614174000",
    "123e4567-e89b-12d3-a456-42661417400",
    "123e4567-e89b-12d3-a456-4266141740000",
]
_IDS += [
    "g23e4567-e89b-12d3-a456-426614174000",
    "{123e4567-e89b-12d3-a456-426614174000}",
    "123e4567-e89b12-d3-a456-426614174000",
]
_FORMATS = {
    "date": _DATES, "date-time": _MOMENTS, "time": _CLOCKS, "duration": _SPANS, "email": _MAILS, "hostname": _HOSTS,
    "ipv4": _QUADS, "ipv6": _SIXES, "uri": _LINKS, "uuid": _IDS,
}  # fmt: skip

_TREE = {"type": "object", "properties": {"n": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/T"}, {"type": "null"}]}}, "required": ["n", "next"], "additionalProperties": False}  # fmt: skip
_A_B = {"a": {"type": "boolean"}, "b": {"type": "boolean"}}
_ABC = [
    {},
    {"a": True},
    {"b": True},
    {"a": True, "b": False},
    {"b": False, "a": True},
    {"a": False},
    {"a": False, "b": True},
]
_NESTED = [
    {"n": 1, "next": None},
    {"n": 1, "next": {"n": 2, "next": None}},
    {"n": 1},
    {"n": 1, "next": 3},
    {"n": "a", "next": None},
]
_NESTED += [
    {"n": 1, "next": {"n": 2}},
    {"n": 1, "next": {"n": 2, "next": {"n": "x", "next": None}}},
    {"next": None},
    {},
]
_NESTED += [
    {"n": 1, "next": {}},
    {"n": 1, "next": {"n": 2, "next": {"n": 3, "next": {}}}},
    {"n": 1, "next": None, "m": 1},
]
_HALVES = [
    0,
    0.5,
    1,
    1.5,
    -2.5,
    100,
    100.5,
    0.25,
    0.1,
    1.3,
    2.75,
    -0.7,
    33.333,
    Text("5e-2"),
    Text("1e-1"),
    Text("25e-2"),
    Text("0.50"),
]
_BROKEN = [
    Text('""""'),
    Text('"\n\n"'),
    Text('"a"c"'),
    Text('"a\\c"'),
    Text('"a\nc"'),
    Text('"b"b"'),
    Text('"\\"'),
]
_MIXED = [Text("1.0"), Text('"\\u0061"'), Text("1e0"), Text("1.5"), Text("true"), Text("null")]

_MORE: dict[str, Case] = {
    "format unknown (google-datetime)": Case(text_field(format="google-datetime"), _v(*_WORDS[:8], "2024-01-01T00:00:00Z")),
    "pattern with look-ahead, no string fits": Case(text_field(pattern="^(?=a)b"), _v(*_WORDS)),
    "pattern with look-ahead": Case(text_field(pattern="^(?=.*1)[a-z0-9]+$"), _v(*_WORDS)),
    "pattern with negative look-ahead": Case(text_field(pattern="^(?!ab)[a-z]+$"), _v(*_WORDS)),
    "pattern with \\b": Case(text_field(pattern="\\babc\\b"), _v(*_WORDS, "abc!", "(abc)")),
    "pattern with \\p{L}": Case(text_field(pattern="^\\p{L}+$"), _v(*_WORDS), text_field(pattern="^[A-Za-zé]+$")),
    "pattern, not greedy": Case(text_field(pattern="^a+?b*?$"), _v(*_WORDS, "aab", "aabb", "bbb")),
    "pattern with back-reference": Case(text_field(pattern="^(a|b)\\1$"), _v(*_WORDS, "bb")),
    "pattern with (?:…) and \\s": Case(text_field(pattern="^(?:ab)\\s(?:c|d)$"), _v(*_WORDS, "ab c", "ab  c", "ab\td", "abc")),
    "pattern with a negated class": Case(text_field(pattern="^[^a]{2}$"), _v(*_WORDS, '""', "\\\\", "\n\n", "a\n", *_BROKEN)),
    "pattern with a dot": Case(text_field(pattern="^a.c$"), _v(*_WORDS, "a\\c", 'a"c', "a\nc", "aéc", "a😀c", "ac", "abbc", *_BROKEN)),
    "pattern with a quote": Case(text_field(pattern='^a"[bc]$'), _v(*_WORDS, 'a"b', 'a"c', 'a"d', Text('"a"b"'), Text('"a"c"'), *_BROKEN)),
    "pattern anchored at its start alone": Case(text_field(pattern="^ab"), _v(*_WORDS)),
    "pattern with an escaped slash and dash": Case(text_field(pattern="^a\\/b\\-c$"), _v("a/b-c", "a\\/b\\-c", "ab", "a/b", "a-b/c")),
    "contains": Case(one_field({"type": "array", "contains": {"const": 1}}), _v([], [1], [2, 1], [2], ["1"], [None], [[1]], [2, 3], [True])),
    "uniqueItems, integers": Case(one_field({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}), _v([], [1], [1, 2], [1, 1], [2, 1, 2], [0, 0, 0], [1, 2, 3, 3], [1, 2, 3])),
    "not, a value": Case(one_field({"type": "string", "not": {"enum": ["a", "ab"]}}), _v(*_WORDS)),
    "not, a type": Case(one_field({"not": {"type": "string"}}), _v(*_ANY)),
    "not, a pattern": Case(one_field({"type": "string", "not": {"pattern": "^a"}}), _v(*_WORDS)),
    "minContains": Case(one_field({"type": "array", "items": {"type": "integer"}, "contains": {"const": 1}, "minContains": 2}), _v([], [1], [1, 1], [2, 1], [1, 2, 1], [2, 2])),
    "if/then": Case({"type": "object", "properties": _A_B, "if": {"required": ["a"]}, "then": {"required": ["b"]}}, _ABC),
    "dependentRequired": Case({"type": "object", "properties": _A_B, "dependentRequired": {"a": ["b"]}}, _ABC),
    "dependentSchemas": Case({"type": "object", "properties": _A_B, "dependentSchemas": {"a": {"required": ["b"]}}}, _ABC),
    "propertyNames": Case({"type": "object", "additionalProperties": {"type": "boolean"}, "propertyNames": {"pattern": "^a"}}, _NAMED),
    "propertyNames alone": Case({"type": "object", "propertyNames": {"pattern": "^a"}}, _NAMED),
    "maxProperties": Case({"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 1}, _NAMED),
    "maxProperties with properties": Case({"type": "object", "properties": _A_B, "additionalProperties": False, "maxProperties": 1}, _ABC),
    "minProperties with properties": Case({"type": "object", "properties": _A_B, "additionalProperties": False, "minProperties": 1}, _ABC),
    "unevaluatedProperties": Case({"allOf": [{"type": "object", "properties": _A_B}], "unevaluatedProperties": False}, [*_ABC, {"c": 1}, {"a": True, "c": 1}]),
    "maximum, number": Case(one_field({"type": "number", "maximum": 50}), _around(50) + _v(*_REAL)),
    "exclusiveMinimum, number": Case(one_field({"type": "number", "exclusiveMinimum": 0}), _around(0) + _v(*_REAL)),
    "minimum and maximum, number": Case(one_field({"type": "number", "minimum": 0, "maximum": 1}), _around(0, 1) + _v(*_REAL, 0.5, 1.01, -0.01)),
    "multipleOf, number": Case(one_field({"type": "number", "multipleOf": 0.5}), _v(*_HALVES)),
    "multipleOf without bounds": Case(one_field({"type": "integer", "multipleOf": 7}), _v(*range(-14, 30), 700, 701)),
    "recursion": Case({"$defs": {"T": _TREE}, "$ref": "#/$defs/T"}, _NESTED),
    "recursion through #": Case({**_TREE, "properties": {"n": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}, _NESTED),
    "additionalProperties: schema": Case({"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": {"type": "integer"}}, [{}, {"a": True}, {"b": 1}, {"a": True, "b": 1}, {"b": True}, {"a": 1}, {"a": True, "b": "x"}, {"aa": True}, {"b": 1, "c": None}, {"b": 1.5}]),
    "additionalProperties not named": Case({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}, [{"a": True}, {"a": True, "b": 1}, {"a": False, "z": {"y": []}}, {"a": 1}, {}, {"b": 1}, Text('{"a":true,"a":1}')]),
    "additionalProperties: false": Case({"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": False}, [{}, {"a": True}, {"b": True}, {"a": True, "b": 1}, {"": 1}, {"aa": True}, {"A": True}]),
    "required": Case({"type": "object", "properties": _A_B, "required": ["a", "b"]}, _ABC),
    "required without properties": Case({"type": "object", "required": ["a"]}, [{}, {"a": 1}, {"b": 1}, {"b": 1, "a": 2}, {"a": None}, {"c": {"a": 1}}]),
    "enum of mixed values": Case(one_field({"enum": ["a", 1, 1.5, None, True, [1], {"x": 1}]}), _v(*_ANY, {"x": 1}, [1, 1], {"x": 1, "y": 2}, *_MIXED)),
    "enum of hard strings": Case(one_field({"enum": ['"', "\\", "\n", "é", "😀", ""]}), _v('"', "\\", "\n", "é", "😀", "", "n", "/", "e", "\\n")),
    "maxLength 100000": Case(text_field(maxLength=100000), _v("", "x" * 10, "x" * 2001, "x" * 100000, "x" * 100001, "x" * 100100)),
    "maxItems 5000": Case(list_field(maxItems=5000), _booleans(0, 2, 22, 4998, 5000, 5002, 6000)),
    "contentEncoding": Case(text_field(contentEncoding="base64", contentMediaType="text/plain"), _v("", "YWJj", "a b", "é")),
    "schema true": Case(True, _ANY),
    "schema {}": Case({}, _ANY),
    "schema false": Case(False, _ANY),
    "a schema that is {}": Case(one_field({}), [*_v(*_ANY), {}, {"w": 1}, None, Text('{"v":true')]),
    "a schema that is false": Case(one_field(False), _v(*_ANY)),
    "type missing beside properties": Case({"properties": {"a": {"type": "boolean"}}, "required": ["a"]}, [{"a": True}, {"a": 1}, {}, {"b": 1}, 1, "a", None, [1]]),
    "type missing beside minLength": Case(one_field({"minLength": 3}), _v("", "ab", "abc", "abcd", 1, None, [1], {})),
    "type missing beside minimum": Case(one_field({"minimum": 3}), _v(2, 3, 4, -5, 2.5, "a", None, [1])),
    "nullable enum": Case(one_field({"type": ["string", "null"], "enum": ["a", "b", None]}), _v(*_ANY)),
    "nullable enum, null not listed": Case(one_field({"type": ["string", "null"], "enum": ["a", "b"]}), _v(*_ANY)),
    "type and enum at odds in part": Case(one_field({"type": "string", "enum": ["a", 1]}), _v(*_ANY)),
    "pattern + maxLength": Case(text_field(pattern="^[a-z]+$", maxLength=3), _v(*_WORDS)),
    "pattern + minLength": Case(text_field(pattern="^[a-z]+$", minLength=3), _v(*_WORDS)),
    "format + minLength": Case(text_field(format="hostname", minLength=12), _v(*_HOSTS, "a.com", "ab.example.com")),
    "format + maxLength": Case(text_field(format="email", maxLength=10), _v("a@b.co", "a@example.com", "x+yyyyyyyy@example.org")),
    "format + pattern": Case(text_field(format="date", pattern="^2024"), _v(*_DATES)),
    "enum + pattern": Case(one_field({"type": "string", "enum": ["a", "b1"], "pattern": "1$"}), _v(*_WORDS, "b1", "a1")),
    "const + maxLength": Case(one_field({"enum": ["a", "abcd"], "maxLength": 2}), _v("a", "abcd", "ab")),
    "anyOf beside properties": Case({"type": "object", "properties": _A_B, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, _ABC),
    "anyOf beside properties, closed": Case({"type": "object", "properties": _A_B, "additionalProperties": False, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, _ABC),
    "anyOf beside a bound": Case(one_field({"type": "integer", "minimum": 10, "anyOf": [{"maximum": 20}, {"minimum": 90}]}), _around(10, 20, 90)),
    "oneOf that overlaps": Case(one_field({"oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "maximum": 10}]}), _around(0, 10)),
    "allOf of refs": Case({"$defs": {"A": {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}, "B": {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"]}}, "allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}, [*_TWO, *_ONE, Text('{"a":true}{"b":true}')]),
    "allOf of one ref": Case({"$defs": {"A": {"type": "integer", "minimum": 10}}, **one_field({"allOf": [{"$ref": "#/$defs/A"}]})}, _around(10)),
    "allOf of bounds": Case(one_field({"type": "integer", "allOf": [{"minimum": 10}, {"maximum": 20}]}), _around(10, 20)),
    "allOf of patterns": Case(one_field({"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "b$"}]}), _v(*_WORDS, "acb", "a b")),
    "$ref with siblings": Case({"$defs": {"S": {"type": "string"}}, **one_field({"$ref": "#/$defs/S", "maxLength": 3})}, _v(*_WORDS)),
    "$ref with a description": Case({"$defs": {"S": {"type": "boolean"}}, **one_field({"$ref": "#/$defs/S", "description": "x", "default": True})}, _v(*_ANY)),
    "$ref into definitions": Case({"definitions": {"S": {"type": "boolean"}}, **one_field({"$ref": "#/definitions/S"})}, _v(*_ANY)),
    "$ref into properties": Case({"type": "object", "properties": {"a": {"type": "boolean"}, "v": {"$ref": "#/properties/a"}}, "required": ["a", "v"], "additionalProperties": False}, [{"a": True, "v": value} for value in _ANY]),
    "$anchor": Case({"$defs": {"S": {"$anchor": "s", "type": "boolean"}}, **one_field({"$ref": "#s"})}, _v(*_ANY)),
    "items as a schema true": Case(one_field({"type": "array", "items": True, "maxItems": 2}), _v([], [1], [1, "a"], [1, 2, 3], [[], {}, None])),
    "an object without properties": Case(one_field({"type": "object"}), _v({}, {"a": 1}, {"a": {"b": []}}, 1, None, [], "a")),
    "items missing": Case(one_field({"type": "array", "maxItems": 2}), _v([], [1], [1, "a"], [1, 2, 3], [[], {}, None])),
    "prefixItems left open": Case(one_field({"type": "array", "prefixItems": [{"type": "boolean"}]}), _v([], [True], [True, 1, "a"], [1], ["a", 1], [None])),
    "description, title, default, examples": Case(one_field({"type": "boolean", "title": "t", "description": "d", "default": True, "examples": [True], "deprecated": False, "readOnly": True}), _v(*_ANY)),
}  # fmt: skip


def _format_cases() -> Iterator[tuple[str, Case]]:
    for name, instances in _FORMATS.items():
        yield f"format {name}", Case(text_field(format=name), _v(*instances))


CASES: dict[str, Case] = {
    **{name: Case(RULEBOOK[name], instances) for name, instances in _INSTANCES.items()},
    **dict(_format_cases()),
    **_MORE,
}

_TWO_KEYS = {
    "type": "object",
    "properties": _A_B,
    "required": ["a", "b"],
    "additionalProperties": False,
}
STYLES: dict[str, tuple[Any, str]] = {
    "compact": (_TWO_KEYS, '{"a":true,"b":true}'),
    "spaced": (_TWO_KEYS, '{"a": true, "b": true}'),
    "indented by 2": (_TWO_KEYS, '{\n  "a": true,\n  "b": true\n}'),
    "indented by 4 tabs": (_TWO_KEYS, '{\n\t\t\t\t"a": true,\n\t\t\t\t"b": true\n}'),
    "spaces before a colon": (_TWO_KEYS, '{"a" : true, "b" : true}'),
    "20 spaces": (_TWO_KEYS, '{"a":' + " " * 20 + 'true,"b":true}'),
    "white space at the start": (_TWO_KEYS, ' {"a":true,"b":true}'),
    "newline at the end": (_TWO_KEYS, '{"a":true,"b":true}\n'),
    "keys in another order": (_TWO_KEYS, '{"b":true,"a":true}'),
    "a key twice": (_TWO_KEYS, '{"a":true,"b":true,"a":true}'),
    "a letter escaped": (text_field(), '{"v":"\\u0061"}'),
    "a slash escaped": (text_field(), '{"v":"\\/"}'),
    "a newline escaped": (text_field(), '{"v":"\\n"}'),
    "a newline bare (no JSON)": (text_field(), '{"v":"\n"}'),
    "a bare accent": (text_field(), '{"v":"é"}'),
    "a bare astral character": (text_field(), '{"v":"😀"}'),
    "a key escaped": (one_field({"type": "boolean"}), '{"\\u0076":true}'),
    "an integer as 1.0": (one_field({"type": "integer"}), '{"v":1.0}'),
    "an integer as 1e2": (one_field({"type": "integer"}), '{"v":1e2}'),
    "an integer of 40 digits": (one_field({"type": "integer"}), '{"v":' + "1" * 40 + "}"),
    "minus zero": (one_field({"type": "integer"}), '{"v":-0}'),
    "a number as 1E+2": (one_field({"type": "number"}), '{"v":1E+2}'),
    "a leading zero (no JSON)": (one_field({"type": "integer"}), '{"v":01}'),
    "a list of 50": (list_field(), '{"v":[' + ",".join(["true"] * 50) + "]}"),
    "a key beyond those named": ({"type": "object", "properties": _A_B}, '{"a":true,"c":1}'),
    "text after the end (no JSON)": (_TWO_KEYS, '{"a":true,"b":true}}'),
}  # fmt: skip
"""Ways to write an answer: a schema and a text that fits it, save where the name says otherwise."""
