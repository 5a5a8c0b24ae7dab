"""A schema in; the same without the defaults of write-only places, which may be secrets, out."""

from collections.abc import Iterator
from typing import Any

from toolshape._calls import JsonSchema
from toolshape._schema.references import definition_name

_DEEPEST = 16


def is_secret(node: Any) -> bool:
    """Whether a node says that what stands there is not to be shown."""
    return isinstance(node, dict) and (node.get("writeOnly") is True or node.get("format") == "password")


def without_secret_defaults(schema: JsonSchema) -> JsonSchema:
    """The same schema, without such defaults; what need not change is shared."""
    made: JsonSchema = _without(schema, schema.get("$defs", {}))
    return made


def _without(node: Any, definitions: JsonSchema) -> Any:
    if isinstance(node, list):
        items = [_without(item, definitions) for item in node]
        return node if all(one is other for one, other in zip(items, node, strict=True)) else items
    if not isinstance(node, dict):
        return node
    changed = {key: made for key, value in node.items() if (made := _of_keyword(key, value, definitions)) is not value}
    found = {**node, **changed} if changed else node
    if "default" in node and _holds_secret(node["default"], node, definitions, _DEEPEST):
        return {key: value for key, value in found.items() if key != "default"}
    return found


_VALUES = frozenset({"default", "examples", "enum", "const"})
_BY_NAME = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})


def _of_keyword(keyword: str, value: Any, definitions: JsonSchema) -> Any:
    if keyword in _VALUES:
        return value
    if keyword not in _BY_NAME or not isinstance(value, dict):
        return _without(value, definitions)
    made = {name: _without(inner, definitions) for name, inner in value.items()}
    return value if all(made[name] is inner for name, inner in value.items()) else made


def _holds_secret(value: Any, node: Any, definitions: JsonSchema, depth: int) -> bool:
    """Whether something in a value stands where the schema has a mark."""
    if is_secret(node) or not depth:
        return True
    if not isinstance(node, dict):
        return False
    if any(keyword in node and _is_marked_in(node[keyword]) for keyword in _LOOKED_THROUGH):
        return True
    return any(_holds_secret(part, inner, definitions, depth - 1) for part, inner in _inside(value, node, definitions))


_LOOKED_THROUGH = (
    "patternProperties", "unevaluatedProperties", "unevaluatedItems", "if", "then", "else", "dependentSchemas", "contains",
    "contentSchema", "not", "propertyNames",
)  # fmt: skip


def _is_marked_in(node: Any) -> bool:
    """Whether a subschema holds a secret mark anywhere: for keywords that cannot be tied to one part of a value."""
    if isinstance(node, dict):
        return is_secret(node) or any(map(_is_marked_in, node.values()))
    return any(map(_is_marked_in, node)) if isinstance(node, list) else False


def _inside(value: Any, node: JsonSchema, definitions: JsonSchema) -> Iterator[tuple[Any, Any]]:
    """The parts of a value and what the schema says of each; the same value for what a node consists of."""
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
