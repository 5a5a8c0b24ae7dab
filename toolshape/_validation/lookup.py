"""Finds the nodes of a schema that describe a place in a value; a place in a union has several nodes."""

import json
import re
from collections.abc import Iterable
from typing import Any

from toolshape._calls import JsonSchema
from toolshape._schema.references import resolver
from toolshape._schema.write_only import is_secret
from toolshape._validation.faults import Location

MASKED = "[hidden]"
"""The text that is shown in place of a value that may be secret."""
_MOST_NODES = 50
_MOST_LOOKED_AT = 500
_DEEPEST = 16  # nested unions and references at one place


def nodes_at(schema: JsonSchema, location: Location) -> list[JsonSchema]:
    """Return the schema's nodes for a place in a value; a place that is a union or inside a union has several nodes."""
    return nodes_at_steps(schema, location)[-1]


def nodes_at_steps(schema: JsonSchema, location: Location) -> list[list[JsonSchema]]:
    """Return the nodes for the root and for each step of a location, in order."""
    resolve = resolver(schema)
    nodes_by_step = [_expand(schema, resolve, _DEEPEST)]
    for step in location:
        children = [child_of(node, step) for node in nodes_by_step[-1]]
        nodes_by_step.append([node for child in children for node in _expand(child, resolve, _DEEPEST)][:_MOST_NODES])
    return nodes_by_step


def _expand(node: Any, resolve: Any, depth: int) -> list[JsonSchema]:
    """Expand a node into its ``anyOf``, ``oneOf`` and ``allOf`` branches; follow references."""
    # This walk uses a stack instead of recursion, because schemas may be recursive and wide. Three limits bound the
    # walk: the number of nodes found, the number of nodes visited, and the depth of unions and references. Branches are
    # pushed in reverse, so they are popped in the order of the schema.
    open_nodes: list[JsonSchema] = []
    pending, visited_count = [(node, depth)], 0
    while pending and len(open_nodes) < _MOST_NODES and visited_count < _MOST_LOOKED_AT:
        branch, depth_left = pending.pop()
        visited_count += 1
        branch = resolve(branch)
        if not isinstance(branch, dict) or not depth_left:
            continue
        branches = [inner for key in ("anyOf", "oneOf", "allOf") for inner in branch.get(key, ())]
        own_keywords = {key: value for key, value in branch.items() if key not in ("anyOf", "oneOf", "allOf")}
        if not branches or own_keywords.keys() & _SAYS_SOMETHING or is_secret(own_keywords):
            open_nodes.append(branch)
        pending += [(inner, depth_left - 1) for inner in reversed(branches)]
    return open_nodes


_SAYS_SOMETHING = frozenset({"type", "properties", "items", "prefixItems", "enum", "const", "additionalProperties"})


def child_of(node: JsonSchema, step: int | str) -> Any:
    """Return the schema of a node's field or item, or ``None`` if the node describes no such field or item."""
    if isinstance(step, int):
        prefix = node.get("prefixItems", [])
        return prefix[step] if step < len(prefix) else node.get("items")
    if step in node.get("properties", {}):
        return node["properties"][step]
    return node.get("additionalProperties")


def location_of(path: str) -> Location:
    """Parse a path such as ``lines[1].qty`` into a location."""
    steps = re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)
    return tuple(int(number) if number else name for number, name in steps)


def property_names(nodes: Iterable[JsonSchema]) -> list[str]:
    """Return the names of the properties of all nodes, in order."""
    return list(dict.fromkeys(name for node in nodes for name in node.get("properties", ())))


class Secrets:
    """Finds the places in a value that may hold a secret, according to a schema.

    Such a place is marked as ``writeOnly`` or as a password, or contains a place that is marked.
    """

    def __init__(self, schema: JsonSchema) -> None:
        self.schema = schema
        text = json.dumps(schema, default=str)
        self.are_there = '"writeOnly"' in text or '"password"' in text

    def may_be_at(self, location: Location) -> bool:
        """Return whether a value must be hidden: if the schema has any secret, only unmarked scalars may be shown."""
        if not self.are_there:
            return False
        nodes_along = nodes_at_steps(self.schema, location)
        if any(len(nodes) >= _MOST_NODES for nodes in nodes_along):  # nodes beyond the limit may be secret
            return True
        return not nodes_along[-1] or any(map(_is_marked, nodes_along)) or not all(map(is_scalar, nodes_along[-1]))

    def visible(self, location: Location) -> Location:
        """Cut a location off after the first secret step, because the keys inside a secret object are secret too."""
        if not self.are_there:
            return location
        nodes_along = nodes_at_steps(self.schema, location)
        return next(
            (location[:step_count] for step_count, nodes in enumerate(nodes_along) if any(map(is_secret, nodes))),
            location,
        )

    def masked(self, value: Any, location: Location = ()) -> Any:
        """Return a copy of a value in which ``MASKED`` replaces each part that may be secret."""
        if not self.are_there:
            return value
        if isinstance(value, (dict, list)) and any(map(_is_marked, nodes_at_steps(self.schema, location))):
            return MASKED  # the whole object or array is secret
        if isinstance(value, dict):
            return {name: self.masked(item, (*location, name)) for name, item in value.items()}
        if isinstance(value, list):
            return [self.masked(item, (*location, number)) for number, item in enumerate(value)]
        return MASKED if self.may_be_at(location) else value


def _is_marked(nodes: Iterable[JsonSchema]) -> bool:
    return any(map(is_secret, nodes))


def is_scalar(node: JsonSchema) -> bool:
    """Return whether a node describes only scalars; a string that contains JSON with a schema does not count."""
    kinds = node.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    return (
        bool(kinds or node.keys() & {"enum", "const"})
        and not kinds & {"object", "array"}
        and "contentSchema" not in node
    )
