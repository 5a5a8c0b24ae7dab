"""Measures a server's grammars: whether each keyword is accepted, and whether answers fit it."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from toolshape._cli.rulebook.endpoint import AskEndpoint, NoResponseError
from toolshape._families.openai.probes import complete_answer, drawn_answer
from toolshape._records.errors import UsageError

SEEDS = (1, 2, 3, 4)
"""The seeds of the answers; "kept" says that no answer of theirs broke the constraint."""
_REFUSALS = ("status 400", "status 422")
_FAILURE = "status 500"
# It knows times and moments only beside rfc3339-validator.
_FORMATS = Draft202012Validator.FORMAT_CHECKER


class KeptKeyword(NamedTuple):
    """What a server does with a keyword; ``kept`` is ``None`` if no answer came to its
    end, or nobody here can judge it.
    """

    keyword: str
    accepted: bool
    kept: bool | None


def one_field(schema: Any) -> dict[str, Any]:
    """An object with one field of a schema."""
    return {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "additionalProperties": False,
    }


def text_field(**more: Any) -> dict[str, Any]:
    return one_field({"type": "string", **more})


def list_field(**more: Any) -> dict[str, Any]:
    return one_field({"type": "array", "items": {"type": "boolean"}, **more})


_BOOLEAN = {"type": "boolean"}
_INTEGER = {"type": "integer", "minimum": 100, "maximum": 999}
_WITH_A = {"type": "object", "properties": {"a": _BOOLEAN}, "required": ["a"]}
CASES: dict[str, dict[str, Any]] = {
    "enum": one_field({"enum": ["a", 1, None]}),
    "const": one_field({"const": "x"}),
    "anyOf": one_field({"anyOf": [_INTEGER, _BOOLEAN]}),
    "oneOf": one_field({"oneOf": [_INTEGER, _BOOLEAN]}),
    "allOf": one_field({"allOf": [_WITH_A, {"type": "object", "properties": {"b": _BOOLEAN},
    "required": ["b"]}]}),
    "a list of types": one_field({"type": ["boolean", "null"]}),
    "$ref": {"$defs": {"P": one_field(_BOOLEAN)}, **one_field({"$ref": "#/$defs/P"})},
    "a field that may be missing": {"type": "object", "properties": {"a": _BOOLEAN, "b": _BOOLEAN},
    "required": ["b"], "additionalProperties": False},
    "a schema that is true": one_field(True),
    "minLength": text_field(minLength=30, maxLength=40),
    "maxLength": text_field(maxLength=4),
    "minLength from 2000 on": text_field(minLength=3000),
    "maxLength 2000": text_field(maxLength=2000),
    "pattern, anchored": text_field(pattern="^[A-C]{3}$"),
    "pattern with alternatives": text_field(pattern="^(ab|cd){1,4}$"),
    "maxLength beside pattern": text_field(pattern="^(ab|cd)+$", maxLength=4),
    "pattern without anchors": text_field(pattern="abc"),
    "pattern with \\d": text_field(pattern="^\\d{2}$"),
    "pattern with \\w": text_field(pattern="^\\w{3}$"),
    "pattern with repeated é": text_field(pattern="^é{2}$"),
    "pattern with a range that holds a quote": text_field(pattern="^[ -~]{20,30}$"),
    "minimum, integer": one_field({"type": "integer", "minimum": 100}),
    "maximum, integer": one_field({"type": "integer", "maximum": 50}),
    "maximum below zero, no minimum": one_field({"type": "integer", "maximum": -100}),
    "exclusiveMinimum, integer": one_field({"type": "integer", "exclusiveMinimum": 100}),
    "exclusiveMaximum, integer": one_field({"type": "integer", "exclusiveMaximum": 50}),
    "minimum, number": one_field({"type": "number", "minimum": 100}),
    "multipleOf": one_field({"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 9999}),
    "minItems": list_field(minItems=4, maxItems=6),
    "maxItems": list_field(maxItems=2),
    "minItems from 2000 on": list_field(minItems=3000),
    "uniqueItems": one_field({"type": "array", "items": {"type": "integer", "minimum": 1,
    "maximum": 4}, "minItems": 3, "maxItems": 4, "uniqueItems": True}),
    "prefixItems": one_field({"type": "array", "prefixItems": [_BOOLEAN, {"type": "null"}],
    "minItems": 2, "maxItems": 2}),
    "prefixItems with items: false": one_field({"type": "array", "prefixItems": [_BOOLEAN,
    {"type": "null"}], "items": False, "minItems": 2}),
    "format uuid": text_field(format="uuid"),
    "format time": text_field(format="time"),
    "format email": text_field(format="email"),
    "format ipv4": text_field(format="ipv4"),
    "minProperties": {"type": "object", "additionalProperties": _BOOLEAN, "minProperties": 2},
    "patternProperties": {"type": "object", "patternProperties": {"^a": _BOOLEAN},
    "additionalProperties": False},
}  # fmt: skip


def measure(keyword: str, model: str, ask: AskEndpoint) -> KeptKeyword:
    """Ask a server for a few answers under the schema of a keyword.

    A server that fails over what its grammar let the model write does not keep the keyword.

    Raises:
        UsageError: The server does not answer at all.
    """
    schema = CASES[keyword]
    judge = Draft202012Validator(schema, format_checker=_FORMATS)
    fits: list[bool] = []
    for seed in SEEDS:
        try:
            text = complete_answer(ask(drawn_answer(model, schema, seed)))
        except NoResponseError as error:
            if str(error).startswith(_REFUSALS):
                return KeptKeyword(keyword, accepted=False, kept=None)
            if not str(error).startswith(_FAILURE) or not _answers(model, ask):
                raise UsageError(f"the server does not answer: {error}") from error
            fits.append(False)
            continue
        if text is not None:
            fits.append(_fits(text, judge))
    is_judged = bool(fits) and _formats_in(schema) <= _FORMATS.checkers.keys()
    return KeptKeyword(keyword, accepted=True, kept=all(fits) if is_judged else None)


def _answers(model: str, ask: AskEndpoint) -> bool:
    """Whether the server answers under a schema that all of them keep."""
    try:
        ask(drawn_answer(model, one_field(_BOOLEAN), SEEDS[0]))
    except NoResponseError:
        return False
    return True


def _formats_in(schema: Any) -> set[str]:
    fields = schema.get("properties", {}).values()
    return {field["format"] for field in fields if isinstance(field, dict) and "format" in field}


def _fits(text: str, judge: Any) -> bool:
    try:
        return bool(judge.is_valid(json.loads(text)))
    except ValueError:
        return False


def keywords(model: str, ask: AskEndpoint) -> Iterator[KeptKeyword]:
    """Measure each keyword."""
    for keyword in CASES:
        yield measure(keyword, model, ask)
