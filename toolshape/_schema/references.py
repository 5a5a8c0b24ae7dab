"""The one place that follows ``$ref``: resolves, lists and prunes the definitions of a schema."""

from collections.abc import Callable
from typing import Any, TypeAlias

from toolshape._calls import JsonSchema

Resolve: TypeAlias = Callable[[Any], Any]
"""Follows a ``$ref`` to its definition, as far as there is one; any other node is itself."""

_VALUES = frozenset({"default", "enum", "const", "examples", "example"})
_BY_NAME = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})


def is_reference(node: Any) -> bool:
    """Whether a schema is a reference, whatever stands beside it."""
    return isinstance(node, dict) and isinstance(node.get("$ref"), str)


def definition_name(reference: str) -> str:
    """The name of the definition that a reference leads to."""
    return reference.rpartition("/")[2]


def mentions(node: Any, keyword: str) -> bool:
    """Whether a keyword stands anywhere in a schema; a field or a value of that name counts, too."""
    if isinstance(node, list):
        return any(mentions(inner, keyword) for inner in node)
    return isinstance(node, dict) and (keyword in node or any(mentions(inner, keyword) for inner in node.values()))


def references(node: Any) -> set[str]:
    """The names of the definitions that a schema refers to; what stands in a default or a choice is a value."""
    return {definition_name(one["$ref"]) for one in referring(node)}


def referring(node: Any) -> list[JsonSchema]:
    """The nodes of a schema that refer to a definition, in their order."""
    found: list[JsonSchema] = []
    _collect(node, found)
    return found


def _collect(node: Any, found: list[JsonSchema]) -> None:
    if isinstance(node, list):
        for value in node:
            _collect(value, found)
    if not isinstance(node, dict):
        return
    if "$ref" in node and is_reference(node):
        found.append(node)
    for keyword, value in node.items():
        if isinstance(value, (dict, list)) and keyword not in _VALUES:
            inner = value.values() if keyword in _BY_NAME and isinstance(value, dict) else (value,)
            for one in inner:
                _collect(one, found)


def at_pointer(root: Any, reference: str) -> Any:
    """What a local reference, a JSON pointer after ``#``, leads to; ``None`` where it leads nowhere."""
    start, *steps = reference.split("/")
    if start != "#":
        return None
    for written in steps:
        step = written.replace("~1", "/").replace("~0", "~")
        if isinstance(root, list) and step.isdecimal() and int(step) < len(root):
            root = root[int(step)]
        elif isinstance(root, dict) and step in root:
            root = root[step]
        else:
            return None
    return root


def resolver(schema: JsonSchema) -> Resolve:
    """What follows a ``$ref`` to its definition in a schema, as far as there is one."""
    return lambda node: follow(node, lambda name: schema.get("$defs", {}).get(name), schema)


def follow(node: Any, find: Callable[[str], Any], root: JsonSchema) -> Any:
    """Follow references; siblings of a ``$ref`` lie on top of what it leads to."""
    for _ in range(100):
        if not is_reference(node):
            return node
        target = root if node["$ref"] == "#" else find(definition_name(node["$ref"]))
        if target is None:
            return node
        if not isinstance(target, dict):
            return target
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def pruned(schema: JsonSchema) -> JsonSchema:
    """The schema without the definitions that nothing refers to."""
    definitions = schema.get("$defs")
    if not definitions:
        return {key: value for key, value in schema.items() if key != "$defs"}
    used: set[str] = set()
    waiting = references({key: value for key, value in schema.items() if key != "$defs"})
    while waiting:
        name = waiting.pop()
        if name not in used and name in definitions:
            used.add(name)
            waiting |= references(definitions[name])
    kept = {name: node for name, node in definitions.items() if name in used}
    return {**{k: v for k, v in schema.items() if k != "$defs"}, **({"$defs": kept} if kept else {})}
