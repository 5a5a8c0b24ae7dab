"""Measures a server's grammars: is the schema of each keyword accepted, and do all answers fit it?"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from toolshape._cli.rulebook.endpoint import Ask, NoAnswerError
from toolshape._families.openai.probes import complete_answer, drawn_answer
from toolshape._records.errors import UsageError

SEEDS = (1, 2, 3, 4)
"""The seeds of the answers; "kept" says that no answer of theirs broke the constraint."""
_REFUSALS = ("status 400", "status 422")
_FORMATS = (
    Draft202012Validator.FORMAT_CHECKER
)  # it knows times and moments only beside rfc3339-validator


class Kept(NamedTuple):
    """What a server does with a keyword; ``kept`` is ``None`` if no answer came to its end, or nobody here can judge it."""

    keyword: str
    accepted: bool
    kept: bool | None


def _of(schema: Any) -> dict[str, Any]:
    """An object with one field of a schema."""
    return {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "additionalProperties": False,
    }


def _text(**more: Any) -> dict[str, Any]:
    return _of({"type": "string", **more})


def _list(**more: Any) -> dict[str, Any]:
    return _of({"type": "array", "items": {"type": "boolean"}, **more})


_BOOLEAN = {"type": "boolean"}
_INTEGER = {"type": "integer", "minimum": 100, "maximum": 999}
_WITH_A = {"type": "object", "properties": {"a": _BOOLEAN}, "required": ["a"]}
CASES: dict[str, dict[str, Any]] = {
    "enum": _of({"enum": ["a", 1, None]}),
    "const": _of({"const": "x"}),
    "anyOf": _of({"anyOf": [_INTEGER, _BOOLEAN]}),
    "oneOf": _of({"oneOf": [_INTEGER, _BOOLEAN]}),
    "allOf": _of({"allOf": [_WITH_A, {"type": "object", "properties": {"b": _BOOLEAN}, "required": ["b"]}]}),
    "a list of types": _of({"type": ["boolean", "null"]}),
    "$ref": {"$defs": {"P": _of(_BOOLEAN)}, **_of({"$ref": "#/$defs/P"})},
    "a field that may be missing": {"type": "object", "properties": {"a": _BOOLEAN, "b": _BOOLEAN}, "required": ["b"], "additionalProperties": False},
    "a schema that is true": _of(True),
    "minLength": _text(minLength=30, maxLength=40),
    "maxLength": _text(maxLength=4),
    "minLength from 2000 on": _text(minLength=3000),
    "maxLength 2000": _text(maxLength=2000),
    "pattern, anchored": _text(pattern="^[A-C]{3}$"),
    "pattern with alternatives": _text(pattern="^(ab|cd){1,4}$"),
    "maxLength beside pattern": _text(pattern="^(ab|cd)+$", maxLength=4),
    "pattern without anchors": _text(pattern="abc"),
    "pattern with \\d": _text(pattern="^\\d{2}$"),
    "pattern with \\w": _text(pattern="^\\w{3}$"),
    "pattern with repeated é": _text(pattern="^é{2}$"),
    "minimum, integer": _of({"type": "integer", "minimum": 100}),
    "maximum, integer": _of({"type": "integer", "maximum": 50}),
    "maximum below zero, no minimum": _of({"type": "integer", "maximum": -100}),
    "exclusiveMinimum, integer": _of({"type": "integer", "exclusiveMinimum": 100}),
    "exclusiveMaximum, integer": _of({"type": "integer", "exclusiveMaximum": 50}),
    "minimum, number": _of({"type": "number", "minimum": 100}),
    "multipleOf": _of({"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 9999}),
    "minItems": _list(minItems=4, maxItems=6),
    "maxItems": _list(maxItems=2),
    "minItems from 2000 on": _list(minItems=3000),
    "uniqueItems": _of({"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 4}, "minItems": 3, "maxItems": 4, "uniqueItems": True}),
    "prefixItems": _of({"type": "array", "prefixItems": [_BOOLEAN, {"type": "null"}], "minItems": 2, "maxItems": 2}),
    "prefixItems with items: false": _of({"type": "array", "prefixItems": [_BOOLEAN, {"type": "null"}], "items": False, "minItems": 2}),
    "format uuid": _text(format="uuid"),
    "format time": _text(format="time"),
    "format email": _text(format="email"),
    "format ipv4": _text(format="ipv4"),
    "minProperties": {"type": "object", "additionalProperties": _BOOLEAN, "minProperties": 2},
    "patternProperties": {"type": "object", "patternProperties": {"^a": _BOOLEAN}, "additionalProperties": False},
}  # fmt: skip


def measure(keyword: str, model: str, ask: Ask) -> Kept:
    """Ask a server for a few answers under the schema of a keyword.

    Raises:
        UsageError: The server does not answer at all.
    """
    schema = CASES[keyword]
    judge = Draft202012Validator(schema, format_checker=_FORMATS)
    fits: list[bool] = []
    for seed in SEEDS:
        try:
            text = complete_answer(ask(drawn_answer(model, schema, seed)))
        except NoAnswerError as error:
            if not str(error).startswith(_REFUSALS):
                raise UsageError(f"the server does not answer: {error}") from error
            return Kept(keyword, accepted=False, kept=None)
        if text is not None:
            fits.append(_fits(text, judge))
    is_judged = bool(fits) and _formats_in(schema) <= _FORMATS.checkers.keys()
    return Kept(keyword, accepted=True, kept=all(fits) if is_judged else None)


def _formats_in(schema: Any) -> set[str]:
    fields = schema.get("properties", {}).values()
    return {field["format"] for field in fields if isinstance(field, dict) and "format" in field}


def _fits(text: str, judge: Any) -> bool:
    try:
        return bool(judge.is_valid(json.loads(text)))
    except ValueError:
        return False


def keywords(model: str, ask: Ask) -> Iterator[Kept]:
    """Measure each keyword."""
    for keyword in CASES:
        yield measure(keyword, model, ask)
