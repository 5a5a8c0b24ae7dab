"""Recognises schemas that certainly keep to draft 2020-12, faster than a full check.

jsonschema needs half a millisecond for each node, since the metaschema refers to itself
dynamically. Most definitions have a dozen keywords, each with the obvious kind of value. A schema
that is not recognised is checked in full.
"""

from collections.abc import Callable, Mapping
from typing import Any

from toolshape._schema.keywords import KEYWORDS, keywords

_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _are_names(value: Any) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(name, str) for name in value)
        and len(set(value)) == len(value)
    )


def _names_types(value: Any) -> bool:
    if isinstance(value, list) and value:
        names = value
    else:
        names = [value]
    return _are_names(names) and _TYPES.issuperset(names)


def _is_schema(value: Any) -> bool:
    return isinstance(value, bool) or is_plain_schema(value)


def _are_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _are_named_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


_IS_RIGHT: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(keywords(holds="schema"), _is_schema),
    **dict.fromkeys(keywords(holds="schemas"), _are_schemas),
    **dict.fromkeys(keywords(holds="by name"), _are_named_schemas),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _is_count),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_flag),
    **dict.fromkeys(("title", "description", "$comment", "format"), _is_text),
    "type": _names_types,
    "required": _are_names,
    "enum": lambda value: isinstance(value, list),
    "examples": lambda value: isinstance(value, list),
    "const": lambda _: True,
    "default": lambda _: True,
    "multipleOf": lambda value: _is_number(value) and value > 0,
    "$ref": lambda value: isinstance(value, str) and value.startswith("#/$defs/"),
}
_UNKNOWN_TO_IT = frozenset(keyword.name for keyword in KEYWORDS if keyword.since == "openapi")
"""Words that mean nothing in the metaschema, whatever their value."""


def is_plain_schema(schema: Any) -> bool:
    """Whether a schema certainly keeps to the metaschema; false if it uses a
    keyword that is not looked at here.
    """
    return isinstance(schema, dict) and all(
        _IS_RIGHT[keyword](value)
        if keyword in _IS_RIGHT
        else keyword in _UNKNOWN_TO_IT or keyword not in _ALL
        for keyword, value in schema.items()
    )


_ALL = frozenset(keyword.name for keyword in KEYWORDS)
"""The keywords of all drafts; the metaschema of the newest looks at
some words of earlier drafts, too.
"""
