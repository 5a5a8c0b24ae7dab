"""Finds the parts of a schema that describe a place in a value: several, where a union is on the way."""

import json
import re
from collections.abc import Iterable
from typing import Any

from toolshape._calls import JsonSchema
from toolshape._schema.references import resolver
from toolshape._schema.write_only import is_secret
from toolshape._validation.faults import Location

MASKED = "[hidden]"
"""What stands for a value that may be a secret."""
_MOST_NODES = 50
_MOST_LOOKED_AT = 500
_DEEPEST = 16  # unions and references that lead to no place


def nodes_at(schema: JsonSchema, location: Location) -> list[JsonSchema]:
    """The schema's nodes for a place in a value: several where branches of a union may stand there."""
    return along(schema, location)[-1]


def along(schema: JsonSchema, location: Location) -> list[list[JsonSchema]]:
    """The nodes for the root and for each step of a location, in order."""
    resolve = resolver(schema)
    found = [_open(schema, resolve, _DEEPEST)]
    for step in location:
        inner = [child_of(node, step) for node in found[-1]]
        found.append([node for one in inner for node in _open(one, resolve, _DEEPEST)][:_MOST_NODES])
    return found


def _open(node: Any, resolve: Any, depth: int) -> list[JsonSchema]:
    """A node expanded into its ``anyOf``, ``oneOf`` and ``allOf`` branches, references followed, up to a bound."""
    found: list[JsonSchema] = []
    waiting, looked_at = [(node, depth)], 0
    while waiting and len(found) < _MOST_NODES and looked_at < _MOST_LOOKED_AT:
        one, left = waiting.pop()
        looked_at += 1
        one = resolve(one)
        if not isinstance(one, dict) or not left:
            continue
        branches = [branch for key in ("anyOf", "oneOf", "allOf") for branch in one.get(key, ())]
        rest = {key: value for key, value in one.items() if key not in ("anyOf", "oneOf", "allOf")}
        if not branches or rest.keys() & _SAYS_SOMETHING or is_secret(rest):
            found.append(one)
        waiting += [(branch, left - 1) for branch in reversed(branches)]
    return found


_SAYS_SOMETHING = frozenset({"type", "properties", "items", "prefixItems", "enum", "const", "additionalProperties"})


def child_of(node: JsonSchema, step: int | str) -> Any:
    """What a node says of one of its fields or items; ``None`` if nothing."""
    if isinstance(step, int):
        prefix = node.get("prefixItems", [])
        return prefix[step] if step < len(prefix) else node.get("items")
    if step in node.get("properties", {}):
        return node["properties"][step]
    return node.get("additionalProperties")


def location_of(path: str) -> Location:
    """The location that a path names, as ``lines[1].qty``."""
    found = re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)
    return tuple(int(number) if number else name for number, name in found)


def property_names(nodes: Iterable[JsonSchema]) -> list[str]:
    """The fields that they name, in order."""
    return list(dict.fromkeys(name for node in nodes for name in node.get("properties", ())))


class Secrets:
    """Finds the places that may hold a secret: one marked ``writeOnly`` or as a password, or one around it."""

    def __init__(self, schema: JsonSchema) -> None:
        self.schema = schema
        text = json.dumps(schema, default=str)
        self.are_there = '"writeOnly"' in text or '"password"' in text

    def may_be_at(self, location: Location) -> bool:
        """Whether the value at a location must be hidden: in a schema with secrets, only unmarked scalars are not."""
        if not self.are_there:
            return False
        nodes_along = along(self.schema, location)
        if any(len(nodes) >= _MOST_NODES for nodes in nodes_along):  # there may be more, which were not looked at
            return True
        return not nodes_along[-1] or any(map(_is_marked, nodes_along)) or not all(map(is_scalar, nodes_along[-1]))

    def visible(self, location: Location) -> Location:
        """A location up to the first secret: the keys of a secret object are a part of it."""
        if not self.are_there:
            return location
        nodes_along = along(self.schema, location)
        return next((location[:at] for at, nodes in enumerate(nodes_along) if any(map(is_secret, nodes))), location)

    def masked(self, value: Any, location: Location = ()) -> Any:
        """A value with ``MASKED`` in each place that may hold a secret."""
        if not self.are_there:
            return value
        if isinstance(value, (dict, list)) and any(map(_is_marked, along(self.schema, location))):
            return MASKED  # whatever it holds, the place is secret as a whole
        if isinstance(value, dict):
            return {name: self.masked(one, (*location, name)) for name, one in value.items()}
        if isinstance(value, list):
            return [self.masked(one, (*location, number)) for number, one in enumerate(value)]
        return MASKED if self.may_be_at(location) else value


def _is_marked(nodes: Iterable[JsonSchema]) -> bool:
    return any(map(is_secret, nodes))


def is_scalar(node: JsonSchema) -> bool:
    """Whether a node describes scalars only, and no text that holds JSON of a schema of its own."""
    kinds = node.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    return (
        bool(kinds or node.keys() & {"enum", "const"})
        and not kinds & {"object", "array"}
        and "contentSchema" not in node
    )
