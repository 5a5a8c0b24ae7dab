"""Removes the defaults that may contain secrets: the defaults at places that a schema marks as secret."""

from collections.abc import Iterator
from typing import Any

from toolshape._calls import JsonSchema
from toolshape._schema.references import definition_name

_DEEPEST = 16


def is_secret(node: Any) -> bool:
    """Whether a node marks its value as secret: ``writeOnly``, or the format ``password``."""
    return isinstance(node, dict) and (node.get("writeOnly") is True or node.get("format") == "password")


def without_secret_defaults(schema: JsonSchema) -> JsonSchema:
    """Return the schema without defaults that contain secrets; unchanged parts are shared with the original."""
    cleaned: JsonSchema = _clean(schema, schema.get("$defs", {}))
    return cleaned


def _clean(node: Any, definitions: JsonSchema) -> Any:
    if isinstance(node, list):
        items = [_clean(item, definitions) for item in node]
        return node if all(new is old for new, old in zip(items, node, strict=True)) else items
    if not isinstance(node, dict):
        return node
    changed = {key: new for key, value in node.items() if (new := _clean_keyword(key, value, definitions)) is not value}
    cleaned = {**node, **changed} if changed else node
    if "default" in node and _holds_secret(node["default"], node, definitions, _DEEPEST):
        return {key: value for key, value in cleaned.items() if key != "default"}
    return cleaned


_VALUES = frozenset({"default", "examples", "enum", "const"})
_BY_NAME = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})


def _clean_keyword(keyword: str, value: Any, definitions: JsonSchema) -> Any:
    if keyword in _VALUES:
        return value
    if keyword not in _BY_NAME or not isinstance(value, dict):
        return _clean(value, definitions)
    cleaned = {name: _clean(inner, definitions) for name, inner in value.items()}
    return value if all(cleaned[name] is inner for name, inner in value.items()) else cleaned


def _holds_secret(value: Any, node: Any, definitions: JsonSchema, depth: int) -> bool:
    """Whether a part of the value may be at a place that the schema marks as secret.

    It also returns true if the value is nested too deeply to search.
    """
    if is_secret(node) or not depth:
        return True
    if not isinstance(node, dict):
        return False
    if any(keyword in node and _is_marked_in(node[keyword]) for keyword in _LOOKED_THROUGH):
        return True
    return any(_holds_secret(part, inner, definitions, depth - 1) for part, inner in _inside(value, node, definitions))


_LOOKED_THROUGH = (
    "patternProperties", "unevaluatedProperties", "unevaluatedItems", "if", "then", "else", "dependentSchemas",
    "contains", "contentSchema", "not", "propertyNames",
)  # fmt: skip


def _is_marked_in(node: Any) -> bool:
    """Whether any part of a subschema is marked as secret; used if the subschema may describe any part of a value."""
    if isinstance(node, dict):
        return is_secret(node) or any(map(_is_marked_in, node.values()))
    return any(map(_is_marked_in, node)) if isinstance(node, list) else False


def _inside(value: Any, node: JsonSchema, definitions: JsonSchema) -> Iterator[tuple[Any, Any]]:
    """Yield the parts of a value with their schemas; for a reference or a branch, the part is the whole value."""
    if isinstance(node.get("$ref"), str):
        yield value, definitions.get(definition_name(node["$ref"]))
    for keyword in ("anyOf", "oneOf", "allOf"):
        for branch in node.get(keyword, ()):
            yield value, branch
    if isinstance(value, dict):
        properties = node.get("properties", {})
        for key, item in value.items():
            yield item, properties.get(key, node.get("additionalProperties"))
    if isinstance(value, list):
        prefix = node.get("prefixItems", [])
        for index, item in enumerate(value):
            yield item, prefix[index] if index < len(prefix) else node.get("items")
