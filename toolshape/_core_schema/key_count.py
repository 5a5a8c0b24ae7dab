"""Counts the keys that a validated model was given, so that the fast path notices a key that came twice.

A repeated key is lost in the model, so the JSON text then has more colons than the model has keys.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from toolshape._core_schema.nodes import CHOICES, Definitions, Node, definitions_of, inside

KeyCount: TypeAlias = Callable[[Any], int]
_FieldCount: TypeAlias = tuple[str, KeyCount]


class UndecidableError(Exception):
    """The answer cannot be derived from the core schema."""


KEYLESS = frozenset(
    {"str", "int", "float", "bool", "literal", "enum", "none", "bytes", "decimal", "uuid", "url", "complex",
     "date", "datetime", "time", "timedelta"}
)  # fmt: skip
"""The kinds of values that hold no keys."""


def count_of_flat(model: Any) -> int:
    """The keys that a model was given whose fields hold no keys themselves."""
    return len(model.__pydantic_fields_set__)


def compile_key_count(schema: Node) -> KeyCount | None:
    """Compile a function that counts the keys behind a validated model; ``None`` where the model does not show them.

    It does not if it contains a union, an untyped map, itself, or a value that a user validator may have changed.
    """
    try:
        return _Compiler(definitions_of(schema)).count_of(schema, frozenset())
    except (UndecidableError, RecursionError):
        return None


class _Compiler:
    """Compiles the counts of one core schema, each node once."""

    __slots__ = ("compiled", "definitions")

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.compiled: dict[int, KeyCount | None] = {}  # by node, which the core schema holds

    def count_of(self, node: Node, seen: frozenset[str]) -> KeyCount | None:
        """The count of the keys in a value of a node; ``None`` where it never has any.

        Raises:
            UndecidableError: A validated value does not tell.
        """
        if id(node) not in self.compiled:
            self.compiled[id(node)] = self._compile(node, seen)
        return self.compiled[id(node)]

    def _compile(self, node: Node, seen: frozenset[str]) -> KeyCount | None:  # noqa: C901, PLR0911 - a line a kind
        kind = node["type"]
        if kind in KEYLESS or CHOICES in node.get("metadata", {}):
            return None
        if kind in _AS_WHAT_IS_INSIDE and (inner := inside(node, self.definitions)) is not None:
            if kind != "definition-ref":
                return self.count_of(inner, seen)
            if node["schema_ref"] in seen:
                raise UndecidableError  # it contains itself
            return self.count_of(inner, seen | {node["schema_ref"]})
        if kind == "function-after" and self.count_of(node["schema"], seen) is None:
            return None
        if kind == "nullable":
            return _unless_none(self.count_of(node["schema"], seen))
        if kind in ("list", "set", "frozenset") and "items_schema" in node:
            of_item = self.count_of(node["items_schema"], seen)
            if of_item is None or kind == "list":
                return of_item and _in_each(of_item)
        if kind == "dict" and node.get("keys_schema", {}).get("type") == "str" and "values_schema" in node:
            return _of_map(self.count_of(node["values_schema"], seen))
        is_plain = not (node.get("root_model") or node.get("custom_init") or node.get("post_init"))
        if kind == "model" and is_plain and node["schema"]["type"] == "model-fields":
            return self._of_model(node["schema"], seen)
        raise UndecidableError

    def _of_model(self, node: Node, seen: frozenset[str]) -> KeyCount:
        if node.get("extras_schema") is not None or node.get("extra_behavior") == "allow":
            raise UndecidableError
        if any(not isinstance(field.get("validation_alias", ""), str) for field in node["fields"].values()):
            raise UndecidableError  # a field may be read out of another's value
        required: list[_FieldCount] = []
        optional: list[_FieldCount] = []
        for name, field in node["fields"].items():
            of_field = self.count_of(field["schema"], seen)
            if of_field is not None:
                is_optional = field["schema"]["type"] == "default"
                (optional if is_optional else required).append((name, of_field))
        return _of_fields(required, optional) if required or optional else count_of_flat


_AS_WHAT_IS_INSIDE = frozenset(
    {"definitions", "default", "model-field", "definition-ref", "json-or-python", "lax-or-strict", "tagged-union"}
)


def _unless_none(count: KeyCount | None) -> KeyCount | None:
    return count and (lambda value: 0 if value is None else count(value))


def _in_each(of_item: KeyCount) -> KeyCount:
    if of_item is not count_of_flat:
        return lambda items: sum(map(of_item, items))

    def count(items: Any) -> int:  # nearly every list of models: no frame for each of them
        keys = 0
        for item in items:
            keys += len(item.__pydantic_fields_set__)
        return keys

    return count


def _of_map(of_value: KeyCount | None) -> KeyCount:
    return len if of_value is None else lambda values: len(values) + sum(map(of_value, values.values()))


def _of_fields(required: Sequence[_FieldCount], optional: Sequence[_FieldCount]) -> KeyCount:
    """The count of a model some of whose fields hold keys; those with a default only where they were given."""
    only, of_only = (*required, *optional)[0]
    if len(required) == 1 and not optional:
        return lambda model: len(model.__pydantic_fields_set__) + of_only(model.__dict__[only])

    def count(model: Any) -> int:
        given, values = model.__pydantic_fields_set__, model.__dict__
        keys = len(given)
        for name, of_field in required:
            keys += of_field(values[name])
        for name, of_field in optional:
            if name in given:
                keys += of_field(values[name])
        return keys

    return count
