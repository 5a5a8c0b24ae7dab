"""Finds the nodes of a schema that describe a place in a value; in a union, several."""

import re
from collections.abc import Iterable
from typing import Any, TypeAlias

from toolshape._records.calls import JsonSchema
from toolshape._schema.keywords import UNIONS, keywords
from toolshape._schema.references import resolver

Location: TypeAlias = tuple[int | str, ...]
"""A place in a value: the keys and positions on the way to it."""
MOST_PLACES = 50
"""The most nodes that are found for one place; nodes beyond may say more."""
_MOST_LOOKED_AT = 500
_SEVERAL = 2
_DEEPEST = 16  # nested unions and references at one place


NO_VALUE: Any = object()


def nodes_at(schema: JsonSchema, location: Location, value: Any = NO_VALUE) -> list[JsonSchema]:
    """Return the schema's nodes for a place in a value; a place that is a union or
    inside a union has several nodes.

    Args:
        schema: The schema.
        location: The place.
        value: The whole value, if it is known: branches that its tags exclude then have no nodes.
    """
    return nodes_at_steps(schema, location, value)[-1]


def nodes_at_steps(
    schema: JsonSchema,
    location: Location,
    value: Any = NO_VALUE,
    *,
    looks_everywhere: bool = False,
) -> list[list[JsonSchema]]:
    """Return the nodes for the root and for each step of a location, in order.

    Args:
        schema: The schema.
        location: The place in a value.
        value: The whole value, if it is known.
        looks_everywhere: Whether to return also the nodes that only constrain the place (``if``,
            ``not``, ``contains``), and those that may not apply to it. Who looks for secrets must
            see all of them; who tells a model what is expected needs only those that describe the
            value.
    """
    resolve = resolver(schema)
    find_children = _all_children if looks_everywhere else _described_child
    nodes_by_step = [_expand(schema, resolve, looks_everywhere)]
    for step in location:
        nodes = _tagged_as(value, nodes_by_step[-1])
        children = [child for node in nodes for child in find_children(node, step)]
        value = _inside(value, step)
        found = [node for child in children for node in _expand(child, resolve, looks_everywhere)]
        nodes_by_step.append(found[:MOST_PLACES])
    return nodes_by_step


def _tagged_as(value: Any, nodes: list[JsonSchema]) -> list[JsonSchema]:
    """Return the nodes whose constants a value has, such as the branch of its
    tag; all nodes if that is none.
    """
    if len(nodes) < _SEVERAL or not isinstance(value, dict):
        return nodes
    return [node for node in nodes if not _excludes(node, value)] or nodes


def _excludes(node: JsonSchema, value: dict[str, Any]) -> bool:
    return any(
        isinstance(inner, dict)
        and "const" in inner
        and value.get(name, inner["const"]) != inner["const"]
        for name, inner in node.get("properties", {}).items()
    )


def _inside(value: Any, step: int | str) -> Any:
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return NO_VALUE


def expanded(node: Any, resolve: Any) -> list[JsonSchema]:
    """Return all schemas that may apply to the same value as this one, such as its branches."""
    return _expand(node, resolve, True)


def _expand(node: Any, resolve: Any, looks_everywhere: bool) -> list[JsonSchema]:
    """Expand a node into the schemas that apply to the same value, such as
    its branches; follow references.
    """
    # This walk uses a stack instead of recursion, because schemas may be recursive and wide. Three
    # limits bound the walk: the number of nodes found, the number of nodes visited, and the depth
    # of unions and references. Branches are pushed in reverse, so they are popped in the order of
    # the schema.
    open_nodes: list[JsonSchema] = []
    pending, visited_count = [(node, _DEEPEST)], 0
    while pending and len(open_nodes) < MOST_PLACES and visited_count < _MOST_LOOKED_AT:
        branch, depth_left = pending.pop()
        visited_count += 1
        if looks_everywhere and not depth_left:  # what lies deeper may say anything
            open_nodes.append(_TOO_DEEP)
            continue
        if looks_everywhere and isinstance(branch, dict) and len(branch) > 1 and "$ref" in branch:
            # What stands beside a reference does not take back what its target says.
            pending.append(({"$ref": branch["$ref"]}, depth_left - 1))
        branch = resolve(branch)
        if not isinstance(branch, dict) or not depth_left:
            continue
        branches = [inner for key in UNIONS for inner in branch.get(key, ())]
        if looks_everywhere:
            branches += [branch[key] for key in _CONDITIONS if key in branch]
            branches += [
                inner for key in _CONDITIONS_BY_NAME for inner in branch.get(key, {}).values()
            ]
        own_keywords = {key: value for key, value in branch.items() if key not in UNIONS}
        says_something = looks_everywhere or not branches or own_keywords.keys() & _SAYS_SOMETHING
        if says_something or is_secret(own_keywords):
            open_nodes.append(branch)
        pending += [(inner, depth_left - 1) for inner in reversed(branches)]
    return open_nodes


_TOO_DEEP: JsonSchema = {"writeOnly": True}
_CONDITIONS = keywords("constrains", at="place", holds="schema")
_CONSTRAIN_CHILDREN = {
    kind: keywords("constrains", at="child", kind=kind) for kind in ("array", "object")
}
_CONDITIONS_BY_NAME = keywords("constrains", at="place", holds="by name")
_SAYS_SOMETHING = frozenset(
    {"type", "properties", "items", "prefixItems", "enum", "const", "additionalProperties"}
)


def child_of(node: JsonSchema, step: int | str) -> Any:
    """Return the schema of a node's field or item, or ``None`` if the node
    describes no such field or item.
    """
    if isinstance(step, int):
        prefix = node.get("prefixItems", [])
        if step < len(prefix):
            return prefix[step]
        return node.get("items")
    if step in node.get("properties", {}):
        return node["properties"][step]
    return node.get("additionalProperties")


def _described_child(node: JsonSchema, step: int | str) -> tuple[Any, ...]:
    return (child_of(node, step),)


def _all_children(node: JsonSchema, step: int | str) -> list[Any]:
    """Return every schema that may apply to a node's field or item; patterns
    count without a look at the name.
    """
    found = [child_of(node, step)]
    kind = "array" if isinstance(step, int) else "object"
    if kind == "object":
        found += node.get("patternProperties", {}).values()
    return found + [node[key] for key in _CONSTRAIN_CHILDREN[kind] if key in node]


def location_of(path: str) -> Location:
    """Parse a path such as ``lines[1].qty`` into a location."""
    steps = re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)
    return tuple(int(number) if number else name for number, name in steps)


def property_names(nodes: Iterable[JsonSchema]) -> list[str]:
    """Return the names of the properties of all nodes, in order."""
    return list(dict.fromkeys(name for node in nodes for name in node.get("properties", ())))


def is_scalar(node: JsonSchema) -> bool:
    """Return whether a node describes only scalars; a string that contains
    JSON with a schema does not count.
    """
    kinds = node.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    return (
        bool(kinds or node.keys() & {"enum", "const"})
        and not kinds & {"object", "array"}
        and "contentSchema" not in node
    )


def is_secret(node: Any) -> bool:
    """Whether a node marks its value as secret: ``writeOnly``, or the format ``password``."""
    return isinstance(node, dict) and (
        node.get("writeOnly") is True or node.get("format") == "password"
    )
