"""Copies a schema that already is as ``normalise`` would leave it, as most definitions are.

Nine tenths of published definitions say a type at each node and use a dozen keywords with the
obvious kind of value. To normalise such a schema is three walks that change nothing. Here it is
looked at and copied in one; whatever is not known here makes it unsettled, and the other reader
reads all of it.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from toolshape._records.calls import Finding, JsonSchema
from toolshape._schema.values import copy_json

TYPE_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("object", "dict", "dictionary", "map", "hashmap", "struct"), "object"),
    **dict.fromkeys(("array", "list", "tuple", "set", "arraylist"), "array"),
    **dict.fromkeys(("string", "str", "char", "text"), "string"),
    **dict.fromkeys(("number", "float", "double", "decimal"), "number"),
    **dict.fromkeys(("integer", "int", "long", "short", "byte", "bigint"), "integer"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    "null": "null",
    # Gemini's gRPC form uses the numbers of the enum google.ai.generativelanguage.v1beta.Type
    **dict(
        zip(
            "1234567",
            ("string", "number", "integer", "boolean", "array", "object", "null"),
            strict=True,
        )
    ),
}
"""What authors call the types of JSON Schema, in small letters."""

_IMPLIES_TYPE = frozenset({"properties", "items"})
_MOST_NODES = 1_000  # larger schemas go to the other reader, which has a limit of its own
_DRAFTS = frozenset(
    f"{address}{end}"
    for address in (
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    )
    for end in ("", "#")
)
"""The drafts in which all keywords that are known here mean the same."""


class _UnsettledError(Exception):
    pass


def settled(schema: Any) -> tuple[JsonSchema, list[Finding]] | None:
    """Return a copy of a schema that needs no normalising, and its types that
    have another name; else ``None``.
    """
    numbers = itertools.count()
    findings: list[Finding] = []

    def copied(node: Any, path: str) -> JsonSchema:
        if type(node) is not dict or next(numbers) > _MOST_NODES:
            raise _UnsettledError
        copy: JsonSchema = {}
        for key, value in node.items():
            if key in _HOLDS:
                copy[key] = value
            elif value != [] or key != "required":
                copy[key] = _TAKES[key](value)
        for key, copy_inside in _HOLDS.items():  # the order in which a walk finds what it notes
            if key in copy:
                copy[key] = copy_inside(copy[key], path, copied)
        _settle_type(copy, node, path, findings)
        return copy

    try:
        if type(schema) is dict and schema.get("$schema") in _DRAFTS:
            schema = {key: value for key, value in schema.items() if key != "$schema"}
        return copied(schema, ""), findings
    except (_UnsettledError, LookupError, TypeError, RecursionError):
        return None


def _settle_type(copy: JsonSchema, node: JsonSchema, path: str, findings: list[Finding]) -> None:
    """Complete an array, and note a type that has another name.

    Raises:
        _UnsettledError: A type is implied, or the choices may be of another type.
    """
    kind = copy.get("type")
    if kind == "array":
        copy.setdefault("items", {})
    elif kind is None and not _IMPLIES_TYPE.isdisjoint(node):
        raise _UnsettledError
    if "enum" in copy and not (kind == "string" and all(map(_is_text, copy["enum"]))):
        raise _UnsettledError
    if kind is not None and node["type"].lower() != kind:
        message = f"{node['type']!r} is read as {kind}"
        findings.append(Finding(path=path, rule="dialect", message=message))


def _is_text(value: Any) -> bool:
    return type(value) is str


def _text(value: Any) -> str:
    if type(value) is not str:
        raise _UnsettledError
    return value


def _type(value: Any) -> str:
    return TYPE_NAMES[_text(value).lower()]


def _number(value: Any) -> int | float:
    if type(value) is not int and type(value) is not float:
        raise _UnsettledError
    return value


def as_count(value: Any) -> Any:
    """Return a count as an integer: JSON Schema takes 1.0 for one, and code that slices does
    not.
    """
    return int(value) if type(value) is float and value.is_integer() else value


def _count(value: Any) -> int | float:
    count: int | float = as_count(_number(value))
    return count


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise _UnsettledError
    return value


def _names(value: Any) -> list[str]:
    if type(value) is not list or not all(map(_is_text, value)) or len(set(value)) < len(value):
        raise _UnsettledError
    return [*value]


def _values(value: Any) -> list[Any]:
    if type(value) is not list or not value:
        raise _UnsettledError
    copy: list[Any] = copy_json(value)
    return copy


_Copied = Callable[[Any, str], JsonSchema]


def _field_schemas(value: Any, path: str, copied: _Copied) -> JsonSchema:
    if type(value) is not dict:
        raise _UnsettledError
    base = f"{path}." if path else ""
    return {name: copied(inner, base + name) for name, inner in value.items()}


def _branches(value: Any, path: str, copied: _Copied) -> list[JsonSchema]:
    if type(value) is not list or not value:
        raise _UnsettledError
    return [copied(inner, path) for inner in value]


def _schema_or_flag(value: Any, path: str, copied: _Copied) -> JsonSchema | bool:
    if type(value) is bool:
        return value
    return copied(value, f"{path}.*" if path else "*")


def _item_schema(value: Any, path: str, copied: _Copied) -> JsonSchema:
    return copied(value, f"{path}[]")


_HOLDS: Mapping[str, Callable[[Any, str, _Copied], Any]] = {
    "properties": _field_schemas,
    "additionalProperties": _schema_or_flag,
    "items": _item_schema,
    "anyOf": _branches,
    "oneOf": _branches,
}
_TAKES: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("title", "description", "format", "pattern"), _text),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _count),
    "multipleOf": _number,
    **dict.fromkeys(("uniqueItems",), _flag),
    **dict.fromkeys(("enum", "examples"), _values),
    "type": _type,
    "required": _names,
    "default": copy_json,
}
