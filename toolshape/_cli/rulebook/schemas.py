"""Builds schemas that some providers refuse: each is an accepted schema with one change."""

from collections.abc import Iterator
from typing import Any

from toolshape._records.calls import JsonSchema

TEXT: JsonSchema = {"type": "string"}


def with_field(field: Any, **more: Any) -> JsonSchema:
    """Return the schema of an object with one field, ``a``.

    A dialect that accepts the field accepts this schema.
    """
    schema = {
        "type": "object",
        "properties": {"a": field},
        "required": ["a"],
        "additionalProperties": False,
    }
    return {**schema, **more}


ACCEPTED = with_field(TEXT)
"""A schema that every provider accepts, with strict mode and without strict mode."""


def without_closing(schema: Any) -> Any:
    """Return a schema without ``additionalProperties``, a keyword that some dialects do not
    have.
    """
    if isinstance(schema, dict):
        return {
            key: without_closing(value)
            for key, value in schema.items()
            if key != "additionalProperties"
        }
    if isinstance(schema, list):
        return [without_closing(value) for value in schema]
    return schema


def refused_schemas() -> Iterator[JsonSchema]:
    """Yield schemas, each refused by at least one provider."""
    yield {"type": "array", "items": TEXT}
    yield {"type": "object", "additionalProperties": False}
    yield with_field(TEXT, anyOf=[{"required": ["a"]}])
    yield with_field(TEXT, oneOf=[{"required": ["a"]}])
    yield {key: value for key, value in ACCEPTED.items() if key != "additionalProperties"}
    yield with_field(TEXT, required=[])
    yield with_field(TEXT, required=["a", "b"])
    yield from map(with_field, _refused_fields())
    yield with_field({"$ref": "#/$defs/Missing"})
    yield with_field({"$ref": "#/$defs/A"}, **{"$defs": {"A": TEXT}})
    yield with_field({"$ref": "#/$defs/A", "title": "A"}, **{"$defs": {"A": TEXT}})
    node = {**with_field({"type": "array", "items": {"$ref": "#/$defs/Node"}})}
    yield with_field({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": node}})
    yield from _schemas_with_names(["a b!", "1a", "ä", "a" * 65, "a" * 129])
    yield from _large_schemas()


def _refused_fields() -> Iterator[Any]:
    closed = {"additionalProperties": False}
    yield {"type": "object", **closed}
    yield {"type": "object", "properties": {}, "required": [], **closed}
    yield {"type": "array"}
    yield {}
    yield True
    yield {"type": "integer", "enum": [1, 2]}
    yield {"anyOf": [TEXT, {"type": "integer"}], "description": "One of two."}
    yield {"type": ["string", "integer"]}
    yield {"type": "str"}
    yield {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
    yield {"type": "string", "format": "color"}
    yield {"type": "string", "pattern": "^(?=a)b"}
    yield {"type": "string", "contentEncoding": "base64"}
    yield {"type": "string", "maxLength": 2_000}
    yield {"not": TEXT}
    yield {"type": "array", "items": TEXT, "uniqueItems": True}
    yield {"type": "array", "items": TEXT, "minItems": 2}
    yield {"type": "array", "items": TEXT, "maxItems": 2}


def _schemas_with_names(names: list[str]) -> Iterator[JsonSchema]:
    for name in names:
        yield {
            "type": "object",
            "properties": {name: TEXT},
            "required": [name],
            "additionalProperties": False,
        }


def _large_schemas() -> Iterator[JsonSchema]:
    """Yield schemas that exceed a limit, the smallest first, because servers
    read and bill the whole schema.
    """
    for levels in (6, 11):
        deep: JsonSchema = ACCEPTED
        for _ in range(levels):
            deep = with_field(deep)
        yield deep
    yield with_field(
        {"type": "string", "enum": [f"{number:0>9}{'x' * 60}" for number in range(251)]}
    )
    yield with_field({"type": "string", "enum": [str(number) for number in range(1_001)]})
    for count in (25, 101, 501, 5_001):
        names = [f"f{number}" for number in range(count)]
        fields = dict.fromkeys(names, TEXT)
        yield {
            "type": "object",
            "properties": fields,
            "required": names,
            "additionalProperties": False,
        }
        if count == 25:  # noqa: PLR2004 - optional fields and unions are counted in tens
            yield {
                "type": "object",
                "properties": fields,
                "required": [],
                "additionalProperties": False,
            }
            unions = {name: {"anyOf": [TEXT, {"type": "integer"}]} for name in names}
            yield {
                "type": "object",
                "properties": unions,
                "required": names,
                "additionalProperties": False,
            }
