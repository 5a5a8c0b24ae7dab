"""Fills in the defaults of a definition, where the model has left a field out.

Needs the extra ``schema``.

A model reads "(default: celsius)" in the schema, so leaving the field out means celsius. JSON
Schema itself gives ``default`` no effect. The rules here are those of validators that fill defaults
in, with three differences: references and ``allOf`` are followed, a union is entered where exactly
one branch admits the value, and a default that was filled in is not filled in again
(``{"default": {}}`` of a recursive field would have no end).
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from toolshape._records.calls import JsonSchema
from toolshape._schema.keywords import keywords
from toolshape._schema.lens import Place
from toolshape._schema.places import is_secret
from toolshape._schema.references import mentions, resolver
from toolshape._schema.values import copy_json
from toolshape._schema.walk import nodes_of
from toolshape._validation.jsonschema_checker import make_checkable
from toolshape._validation.jsonschema_keywords import StandardValidator, checking
from toolshape._validation.pattern_search import Searches

_MOST_BYTES = 1_000_000
"""The most that is filled in to one call. A small value can have many places for a large default.
"""
_DEEPEST = 64
_ABSENT = object()


class Filled(NamedTuple):
    """A default that can be used, and its size as JSON."""

    value: Any
    size: int


class _TooMuchError(Exception):
    """More would be filled in than is allowed."""


def defaults_of(schema: JsonSchema, searches: Searches) -> "Defaults | None":
    """Return the defaults of a schema; ``None`` if it has none.

    Args:
        schema: The canonical schema of the arguments.
        searches: The compiled patterns of the tool.
    """
    if mentions(schema, "default"):
        return Defaults(schema, searches)
    return None


def compile_fill(defaults: "Defaults") -> Callable[[Any], Any]:
    """Return a function that returns valid arguments with the defaults filled in.

    The function returns the arguments themselves if no default applies, if the filled arguments
    would be invalid, or if they would be too large. It never changes the arguments, and each
    default that it fills in is a copy.
    """

    def fill(arguments: Any) -> Any:
        try:
            filled = _Fill(defaults).value(defaults.schema, arguments, _DEEPEST)
        except (_TooMuchError, RecursionError):
            return arguments
        if filled is arguments or not defaults.admits(defaults.schema, filled):
            return arguments
        return filled

    return fill


def refused_defaults(defaults: "Defaults") -> Iterator[tuple[Place, Any]]:
    """Yield the place and the value of each default that its own schema refuses.

    ``null`` where null is not admitted means that there is no default, and is not yielded: most
    authors write it so.
    """
    for node, at in nodes_of(defaults.schema):
        default = node.get("default")
        if default is not None and not is_secret(node) and not defaults.admits(node, default):
            yield at, default


_MAY_BE_BROKEN = frozenset(keywords("applies", "constrains", at="place")) | {
    "maxProperties",
    "dependentRequired",
    "propertyNames",
}


def always_filled(defaults: "Defaults") -> frozenset[str]:
    """Return the fields of the arguments that have a value in every call,
    because their defaults are filled in.

    Filling in may make arguments invalid only if the schema speaks of which fields there are; then
    it is not certain.
    """
    if defaults.schema.keys() & _MAY_BE_BROKEN:
        return frozenset()
    found = [
        (name, filled)
        for name, node in defaults.schema.get("properties", {}).items()
        if (filled := defaults.of_field(node)) is not None
    ]
    if sum(filled.size for _, filled in found) > _MOST_BYTES // 2:
        return frozenset()
    return frozenset(name for name, _ in found)


class Defaults:
    """The defaults of one schema, each checked when it is first needed."""

    def __init__(self, schema: JsonSchema, searches: Searches) -> None:
        self.resolve = resolver(schema)
        self.searches = searches
        # Both by the ``id()`` of a node, which is a part of the schema, and so stays alive.
        self.known: dict[int, Filled | None] = {}
        self.validators: dict[int, Any] = {}
        self.schema = schema  # keeps the nodes alive

    @functools.cached_property
    def checkable(self) -> JsonSchema:
        return make_checkable(self.schema, self.searches)

    @functools.cached_property
    def validator(self) -> Any:
        return StandardValidator(self.checkable)

    def of_field(self, node: Any) -> Filled | None:
        """Return the default of a field that is left out."""
        if id(node) not in self.known:
            self.known[id(node)] = self.usable(node)
        return self.known[id(node)]

    def usable(self, node: Any) -> Filled | None:
        resolved = self.resolve(node)
        if not isinstance(resolved, dict) or is_secret(resolved):
            return None
        if "default" not in resolved:
            parts = [self.usable(part) for part in resolved.get("allOf", ())]
            return next((part for part in parts if part is not None), None)
        default = resolved["default"]
        if not self.admits(node, default):
            return None
        return Filled(default, len(json.dumps(default)))

    def admits(self, node: Any, value: Any) -> bool:
        """Whether a part of the schema admits a value; toolshape reads ``3.0`` as
        an integer, as JSON Schema does.
        """
        if _is_of_plain_type(node, value):
            return True
        if id(node) not in self.validators:
            part = node
            if isinstance(node, dict):
                definitions = self.checkable.get("$defs", {})
                part = {**make_checkable(node, self.searches), "$defs": definitions}
            self.validators[id(node)] = self.validator.evolve(schema=part)
        with checking(self.searches):
            return bool(self.validators[id(node)].is_valid(value))


def _is_of_plain_type(node: Any, value: Any) -> bool:
    """Whether a node says no more of its values than a type, and this value is of
    that type, as most defaults are.
    """
    if not isinstance(node, dict) or not node.keys() <= _SAYS_A_TYPE:
        return False
    kind = node.get("type")
    if kind == "number" and type(value) is int:
        return True
    return isinstance(kind, str) and _PLAIN_TYPES.get(type(value)) == kind


_SAYS_A_TYPE = frozenset({"type", "default", "description", "title", "examples"})
_PLAIN_TYPES: Mapping[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}


class _Fill:
    """Fills in the defaults of one value."""

    def __init__(self, defaults: Defaults) -> None:
        self.defaults = defaults
        self.bytes_left = _MOST_BYTES
        self.filled: list[Any] = []  # keeps the values alive, so that their ``id()`` stays theirs
        self.filled_ids: set[int] = set()

    def value(self, node: Any, value: Any, depth: int) -> Any:
        """Return a value with the defaults of a node filled in; the value
        itself if there are none to fill in.
        """
        node = self.defaults.resolve(node)
        if not depth or not isinstance(node, dict) or not isinstance(value, (dict, list)):
            return value
        if id(value) in self.filled_ids:
            return value
        for part in node.get("allOf", ()):
            value = self.value(part, value, depth - 1)
        for keyword in ("anyOf", "oneOf"):
            if keyword in node:
                fitting = [part for part in node[keyword] if self.defaults.admits(part, value)]
                if len(fitting) == 1:
                    value = self.value(fitting[0], value, depth - 1)
        if isinstance(value, dict):
            return self.fields(node.get("properties", {}), value, depth)
        return self.items(node, value, depth)

    def fields(self, properties: JsonSchema, value: dict[str, Any], depth: int) -> dict[str, Any]:
        changed: dict[str, Any] = {}
        for name, node in properties.items():
            if name not in value:
                inner = self.default(node)
            else:
                inner = self.value(node, value[name], depth - 1)
            if inner is not _ABSENT and inner is not value.get(name, _ABSENT):
                changed[name] = inner
        if changed:
            return {**value, **changed}
        return value

    def items(self, node: JsonSchema, value: list[Any], depth: int) -> list[Any]:
        prefix, rest = node.get("prefixItems", ()), node.get("items")
        filled = [
            self.value(prefix[index] if index < len(prefix) else rest, item, depth - 1)
            for index, item in enumerate(value)
        ]
        if any(map(_is_other, filled, value)):
            return filled
        return value

    def default(self, node: Any) -> Any:
        default = self.defaults.of_field(node)
        if default is None:
            return _ABSENT
        self.bytes_left -= default.size
        if self.bytes_left < 0:
            raise _TooMuchError
        value = copy_json(default.value)
        self.filled.append(value)
        self.filled_ids.add(id(value))
        return value


def _is_other(one: Any, other: Any) -> bool:
    return one is not other
