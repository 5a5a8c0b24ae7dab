"""Counts the JSON keys of a parsed model, so that the fast path finds repeated keys.

Parsing drops repeated keys. So if the JSON text repeats a key, it has more colons than the pydantic
model has keys.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from toolshape._function.core_schema.nodes import (
    CHOICES,
    Definitions,
    Node,
    definitions_of,
    inner_node,
)

KeyCount: TypeAlias = Callable[[Any], int]
_FieldCount: TypeAlias = tuple[str, KeyCount]


class UndecidableError(Exception):
    """The core schema does not determine how many keys a value had, or how to replace its nulls."""


KEYLESS = frozenset(
    {"str", "int", "float", "bool", "literal", "enum", "none", "bytes", "decimal", "uuid", "url",
    "complex",
     "date", "datetime", "time", "timedelta"}
)  # fmt: skip
"""The types of core schema nodes whose values contain no keys."""


def count_of_flat(model: Any) -> int:
    """Return the number of keys from which a pydantic model was parsed; its
    fields' values must contain no keys.
    """
    return len(model.__pydantic_fields_set__)


def compile_key_count(schema: Node) -> KeyCount | None:
    """Compile a function that counts the keys from which a pydantic model
    was parsed, or return ``None``.

    ``None`` means that counting is impossible: the model contains a union, an untyped map, or
    itself, or a user's validator may change a value that contains keys.
    """
    try:
        return _Compiler(definitions_of(schema)).count_of(schema, frozenset())
    except (UndecidableError, RecursionError):
        return None


class _Compiler:
    """Compiles the count functions of one core schema; it compiles each node once."""

    __slots__ = ("compiled", "definitions")

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.compiled: dict[
            int, KeyCount | None
        ] = {}  # by ``id()`` of the node; the core schema keeps the nodes alive

    def count_of(self, node: Node, seen: frozenset[str]) -> KeyCount | None:
        """Return the function that counts the keys in a node's value, or
        ``None`` if the value never has keys.

        Raises:
            UndecidableError: The validated value does not determine how many keys the JSON text
                had.
        """
        if id(node) not in self.compiled:
            self.compiled[id(node)] = self._compile(node, seen)
        return self.compiled[id(node)]

    def _compile(self, node: Node, seen: frozenset[str]) -> KeyCount | None:  # noqa: C901, PLR0911 - one per kind
        kind = node["type"]
        if kind in KEYLESS or CHOICES in node.get("metadata", {}):
            return None
        if kind in _AS_WHAT_IS_INSIDE and (inner := inner_node(node, self.definitions)) is not None:
            if kind != "definition-ref":
                return self.count_of(inner, seen)
            if node["schema_ref"] in seen:
                raise UndecidableError  # the node contains itself
            return self.count_of(inner, seen | {node["schema_ref"]})
        if kind == "function-after" and self.count_of(node["schema"], seen) is None:
            return None
        if kind == "nullable":
            return _count_unless_none(self.count_of(node["schema"], seen))
        if kind in ("list", "set", "frozenset") and "items_schema" in node:
            count_item = self.count_of(node["items_schema"], seen)
            if count_item is None or kind == "list":
                return count_item and _count_in_items(count_item)
        if (
            kind == "dict"
            and node.get("keys_schema", {}).get("type") == "str"
            and "values_schema" in node
        ):
            return _count_in_map(self.count_of(node["values_schema"], seen))
        is_plain = not (node.get("root_model") or node.get("custom_init") or node.get("post_init"))
        is_plain = is_plain and node.get("config", {}).get("extra_fields_behavior") != "allow"
        if kind == "model" and is_plain and node["schema"]["type"] == "model-fields":
            return self._compile_model(node["schema"], seen)
        raise UndecidableError

    def _compile_model(self, node: Node, seen: frozenset[str]) -> KeyCount:
        if node.get("extras_schema") is not None or node.get("extra_behavior") == "allow":
            raise UndecidableError
        if any(
            not isinstance(field.get("validation_alias", ""), str)
            for field in node["fields"].values()
        ):
            raise UndecidableError  # a field may be read from inside another field's value
        required: list[_FieldCount] = []
        optional: list[_FieldCount] = []
        for name, field in node["fields"].items():
            count_field = self.count_of(field["schema"], seen)
            if count_field is not None:
                is_optional = field["schema"]["type"] == "default"
                (optional if is_optional else required).append((name, count_field))
        if required or optional:
            return _count_in_fields(required, optional)
        return count_of_flat


_AS_WHAT_IS_INSIDE = frozenset(
    {
        "definitions",
        "default",
        "model-field",
        "definition-ref",
        "json-or-python",
        "lax-or-strict",
        "tagged-union",
    }
)


def _count_unless_none(count: KeyCount | None) -> KeyCount | None:
    return count and (lambda value: 0 if value is None else count(value))


def _count_in_items(of_item: KeyCount) -> KeyCount:
    if of_item is not count_of_flat:
        return lambda items: sum(map(of_item, items))

    # Most lists of models contain flat models, so inlining ``count_of_flat`` saves a call for each
    # item.
    def count(items: Any) -> int:
        keys = 0
        for item in items:
            keys += len(item.__pydantic_fields_set__)
        return keys

    return count


def _count_in_map(of_value: KeyCount | None) -> KeyCount:
    if of_value is None:
        return len
    return lambda values: len(values) + sum(map(of_value, values.values()))


def _count_in_fields(required: Sequence[_FieldCount], optional: Sequence[_FieldCount]) -> KeyCount:
    """Return the count function for a pydantic model whose fields contain keys.

    If a field has a default, the keys inside its value count only if the field was given.
    """
    only_field, count_only_field = (*required, *optional)[0]
    if len(required) == 1 and not optional:
        return lambda model: (
            len(model.__pydantic_fields_set__) + count_only_field(model.__dict__[only_field])
        )

    def count(model: Any) -> int:
        given_names, values = model.__pydantic_fields_set__, model.__dict__
        keys = len(given_names)
        for name, count_field in required:
            keys += count_field(values[name])
        for name, count_field in optional:
            if name in given_names:
                keys += count_field(values[name])
        return keys

    return count
