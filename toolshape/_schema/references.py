"""Resolves ``$ref``, lists references, and prunes unused definitions."""

from collections.abc import Callable
from typing import Any, TypeAlias

from toolshape._records.calls import JsonSchema
from toolshape._schema.keywords import HOLDS_SCHEMAS, subschemas

Resolve: TypeAlias = Callable[[Any], Any]
"""Follows a chain of ``$ref`` to a definition, as far as possible;
returns any other node unchanged.
"""


def is_reference(node: Any) -> bool:
    """Whether a schema is a reference, with or without siblings."""
    return isinstance(node, dict) and isinstance(node.get("$ref"), str)


def definition_name(reference: str) -> str:
    """Return the name of the definition that a reference points to."""
    return reference.rpartition("/")[2]


def mentions(node: Any, *words: str) -> bool:
    """Whether one of these keywords occurs anywhere in a schema; a field or a
    value with this name counts too.
    """
    pending = [node]
    while pending:
        inner = pending.pop()
        if isinstance(inner, dict):
            if any(word in inner for word in words):
                return True
            pending += inner.values()
        elif isinstance(inner, list):
            pending += inner
    return False


def references(node: Any) -> set[str]:
    """Return the names of the definitions that a schema refers to.

    Defaults, enums and examples are not searched.
    """
    return {definition_name(inner["$ref"]) for inner in referring_nodes(node)}


def referring_nodes(node: Any) -> list[JsonSchema]:
    """Return the nodes of a schema that have a ``$ref``, in order."""
    nodes: list[JsonSchema] = []
    _collect(node, nodes)
    return nodes


def _collect(node: Any, found: list[JsonSchema]) -> None:
    if not isinstance(node, dict):
        return
    if "$ref" in node and is_reference(node):
        found.append(node)
    if not HOLDS_SCHEMAS.isdisjoint(node):
        for child in subschemas(node):
            _collect(child, found)


def wrap_in_field(schema: JsonSchema, name: str) -> JsonSchema:
    """Return the schema of an object whose only field has the given schema;
    the definitions stay at the root.
    """
    value = {key: inner for key, inner in schema.items() if key != "$defs"}
    if "$defs" in schema:
        definitions = {"$defs": schema["$defs"]}
    else:
        definitions = {}
    return {"type": "object", "properties": {name: value}, "required": [name], **definitions}


def at_pointer(root: Any, reference: str) -> Any:
    """Return the target of a local reference (``#`` and a JSON pointer), or
    ``None`` if it does not resolve.
    """
    start, *steps = reference.split("/")
    if start != "#":
        return None
    for escaped_step in steps:
        step = escaped_step.replace("~1", "/").replace("~0", "~")
        if isinstance(root, list) and step.isdecimal() and int(step) < len(root):
            root = root[int(step)]
        elif isinstance(root, dict) and step in root:
            root = root[step]
        else:
            return None
    return root


def resolver(schema: JsonSchema) -> Resolve:
    """Return a function that follows a chain of ``$ref`` to a definition of
    the schema, as far as possible.
    """
    return lambda node: follow(node, lambda name: schema.get("$defs", {}).get(name), schema)


def follow(node: Any, find: Callable[[str], Any], root: JsonSchema) -> Any:
    """Follow references; the siblings of a ``$ref`` override the keywords of its target."""
    for _ in range(100):
        if not is_reference(node):
            return node
        if node["$ref"] == "#":
            target = root
        else:
            target = find(definition_name(node["$ref"]))
        if target is None:
            return node
        if not isinstance(target, dict):
            return target
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def prune(schema: JsonSchema) -> JsonSchema:
    """Return the schema without its unused definitions."""
    definitions = schema.get("$defs")
    if not definitions:
        return {key: value for key, value in schema.items() if key != "$defs"}
    used_names: set[str] = set()
    pending_names = references({key: value for key, value in schema.items() if key != "$defs"})
    while pending_names:
        name = pending_names.pop()
        if name not in used_names and name in definitions:
            used_names.add(name)
            pending_names |= references(definitions[name])
    used_definitions = {name: node for name, node in definitions.items() if name in used_names}
    return {
        **{k: v for k, v in schema.items() if k != "$defs"},
        **({"$defs": used_definitions} if used_definitions else {}),
    }
