"""A core schema in, what counts the keys that a validated model was given out: a key that comes twice is one colon more."""

import functools
import keyword
from collections.abc import Callable
from typing import Any, TypeAlias

from toolshape.core_schema.nodes import CHOICES, Definitions, Node, definitions_of, inside

__all__ = ["KEYLESS", "KeyCount", "UndecidableError", "compile_key_count", "count_of_flat"]

KeyCount: TypeAlias = Callable[[Any], int]
_MOST_KEPT = 256
_DEEPEST = 15  # Python takes no more than twenty loops inside each other
_MOST_LINES = 500  # models that hold others twice, and so on


class UndecidableError(Exception):
    """A core schema does not tell what is asked of it."""


KEYLESS = frozenset(
    {"str", "int", "float", "bool", "literal", "enum", "none", "bytes", "decimal", "uuid", "url", "complex",
     "date", "datetime", "time", "timedelta"}
)  # fmt: skip
"""The kinds of values that hold no keys."""


def count_of_flat(model: Any) -> int:
    """The keys that a model without others inside was given."""
    return len(model.__pydantic_fields_set__)


def compile_key_count(schema: Node) -> KeyCount | None:
    """Count the keys that a validated model was given without looking at the JSON; ``None`` where it does not tell."""
    try:
        lines = _lines(schema, "model", _Scope(definitions_of(schema), frozenset(), 0))
    except UndecidableError:
        return None
    return count_of_flat if lines == [_given("model")] else _compiled("\n    ".join(lines))


@functools.lru_cache(_MOST_KEPT)
def _compiled(lines: str) -> KeyCount:
    """One function, written out, of what would else be one for each model in it, at twice the cost."""
    made: dict[str, KeyCount] = {}
    exec(f"def count_keys(model):\n    count = 0\n    {lines}\n    return count", made)  # noqa: S102 - its names are quoted, or identifiers
    return made["count_keys"]


class _Scope:
    """Where a value stands: among which definitions, and in how many others."""

    __slots__ = ("definitions", "depth", "seen")

    def __init__(self, definitions: Definitions, seen: frozenset[str], depth: int) -> None:
        self.definitions = definitions
        self.seen = seen
        self.depth = depth

    def deeper(self, reference: str | None = None) -> "_Scope":
        """Where what it holds stands.

        Raises:
            UntoldError: It contains itself, or goes very deep.
        """
        if self.depth == _DEEPEST or reference in self.seen:
            raise UndecidableError
        return _Scope(self.definitions, self.seen | ({reference} if reference else set()), self.depth + 1)


_AS_WHAT_IS_INSIDE = frozenset(
    {"definitions", "default", "model-field", "definition-ref", "json-or-python", "lax-or-strict", "tagged-union"}
)


def _given(value: str) -> str:
    return f"count += len({value}.__pydantic_fields_set__)"


def _block(head: str, lines: list[str]) -> list[str]:
    return [head, *(f"    {line}" for line in lines)] if lines else []


def _lines(node: Node, value: str, scope: _Scope) -> list[str]:  # noqa: PLR0911 - a line a kind
    """The statements that count the keys in the value of an expression; none where there are none.

    Raises:
        UntoldError: It is of a union, a map of anything, or whatever a validator of the author's may have changed.
    """
    kind = node["type"]
    if kind in KEYLESS or CHOICES in node.get("metadata", {}):
        return []
    if kind in _AS_WHAT_IS_INSIDE and (inner := inside(node, scope.definitions)) is not None:
        return _lines(inner, value, scope.deeper(node.get("schema_ref")) if kind == "definition-ref" else scope)
    if kind == "function-after" and not _lines(node["schema"], value, scope):
        return []
    if kind == "nullable":
        return _block(f"if {value} is not None:", _lines(node["schema"], value, scope))
    if kind in ("list", "set", "frozenset") and "items_schema" in node:
        lines = _in_each(node["items_schema"], value, scope)
        if not lines or kind == "list":
            return lines
    if kind == "dict" and node.get("keys_schema", {}).get("type") == "str" and "values_schema" in node:
        return [f"count += len({value})", *_in_each(node["values_schema"], f"{value}.values()", scope)]
    is_plain = not (node.get("root_model") or node.get("custom_init") or node.get("post_init"))
    if kind == "model" and is_plain and node["schema"]["type"] == "model-fields":
        return _in_model(node["schema"], value, scope, node["cls"])
    raise UndecidableError


def _in_each(item: Node, values: str, scope: _Scope) -> list[str]:
    name = f"item{scope.depth}"
    return _block(f"for {name} in {values}:", _lines(item, name, scope.deeper()))


def _is_plain_attribute(cls: type[Any], name: str) -> bool:
    """Whether an attribute is read from the instance alone, by this very name."""
    is_word = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
    getter: Any = cls.__getattribute__
    return is_word and not hasattr(cls, name) and getter is object.__getattribute__


def _in_model(node: Node, value: str, scope: _Scope, cls: type[Any]) -> list[str]:
    if node.get("extras_schema") is not None or node.get("extra_behavior") == "allow":
        raise UndecidableError
    if any(not isinstance(field.get("validation_alias", ""), str) for field in node["fields"].values()):
        raise UndecidableError  # a field may be read out of another's value
    lines = [_given(value)]
    for name, field in node["fields"].items():
        of_field = f"{value}.{name}" if _is_plain_attribute(cls, name) else f"{value}.__dict__[{name!r}]"
        inner = _lines(field["schema"], of_field, scope.deeper())
        is_optional = field["schema"]["type"] == "default"
        lines += _block(f"if {name!r} in {value}.__pydantic_fields_set__:", inner) if is_optional else inner
    if len(lines) > _MOST_LINES:
        raise UndecidableError
    return lines
