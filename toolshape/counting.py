"""A core schema in, what counts the keys that a validated model was given out: a key that comes twice is one colon more."""

from collections.abc import Callable
from typing import Any, TypeAlias

from toolshape.cores import Definitions, Node, definitions_of, inside

__all__ = ["KEYLESS", "KeyCount", "UntoldError", "compile_key_count", "count_of_flat"]

KeyCount: TypeAlias = Callable[[Any], int]


def compile_key_count(schema: Node) -> KeyCount | None:
    """Count the keys that a validated model was given without looking at the JSON; ``None`` where it does not tell."""
    try:
        return _count(schema, definitions_of(schema), frozenset())
    except UntoldError:
        return None


class UntoldError(Exception):
    """A core schema does not tell what is asked of it."""


KEYLESS = frozenset(
    {"str", "int", "float", "bool", "literal", "enum", "none", "bytes", "decimal", "uuid", "url", "complex",
     "date", "datetime", "time", "timedelta"}
)  # fmt: skip
"""The kinds of values that hold no keys."""


_AS_WHAT_IS_INSIDE = frozenset(
    {"definitions", "default", "model-field", "definition-ref", "json-or-python", "lax-or-strict", "tagged-union"}
)


def _count(node: Node, definitions: Definitions, seen: frozenset[str]) -> KeyCount | None:  # noqa: PLR0911 - a line a kind
    kind = node["type"]
    if kind in KEYLESS:
        return None
    if kind == "definition-ref" and node["schema_ref"] in seen:
        raise UntoldError  # it contains itself
    if kind in _AS_WHAT_IS_INSIDE and (inner := inside(node, definitions)) is not None:
        return _count(inner, definitions, seen | {node.get("schema_ref", "")})
    if kind == "nullable":
        of_value = _count(node["schema"], definitions, seen)
        return None if of_value is None else _count_unless_none(of_value)
    if kind in ("list", "set", "frozenset") and "items_schema" in node:
        of_item = _count(node["items_schema"], definitions, seen)
        if of_item is None or kind == "list":
            return None if of_item is None else _count_each(of_item)
    if kind == "dict" and node.get("keys_schema", {}).get("type") == "str" and "values_schema" in node:
        of_value = _count(node["values_schema"], definitions, seen)
        return len if of_value is None else _count_map(of_value)
    if kind == "function-after" and _count(node["schema"], definitions, seen) is None:
        return None
    is_plain = not (node.get("root_model") or node.get("custom_init") or node.get("post_init"))
    if kind == "model" and is_plain and node["schema"]["type"] == "model-fields":
        return _count_of_model(node["schema"], definitions, seen)
    raise UntoldError  # unions, maps of anything, and all that a validator of the author's may have changed


def _count_unless_none(of_value: KeyCount) -> KeyCount:
    return lambda value: 0 if value is None else of_value(value)


def _count_each(of_item: KeyCount) -> KeyCount:
    if of_item is count_of_flat:
        return lambda items: sum([len(item.__pydantic_fields_set__) for item in items])
    return lambda items: sum([of_item(item) for item in items])


def _count_map(of_value: KeyCount) -> KeyCount:
    return lambda value: len(value) + sum([of_value(item) for item in value.values()])


def count_of_flat(model: Any) -> int:
    """The keys that a model without others inside was given."""
    return len(model.__pydantic_fields_set__)


def _count_of_model(node: Node, definitions: Definitions, seen: frozenset[str]) -> KeyCount:
    if node.get("extras_schema") is not None or node.get("extra_behavior") == "allow":
        raise UntoldError
    if any(not isinstance(field.get("validation_alias", ""), str) for field in node["fields"].values()):
        raise UntoldError  # a field may be read out of another's value
    counted = {name: _count(field["schema"], definitions, seen) for name, field in node["fields"].items()}
    inner = [(name, count) for name, count in counted.items() if count is not None]
    if not inner:
        return count_of_flat
    first, count_first = inner[0]

    def count_one(model: Any) -> int:
        given = model.__pydantic_fields_set__
        return len(given) + count_first(model.__dict__[first]) if first in given else len(given)

    def count_several(model: Any) -> int:
        given, values = model.__pydantic_fields_set__, model.__dict__
        return len(given) + sum([count(values[name]) for name, count in inner if name in given])

    return count_one if len(inner) == 1 else count_several
