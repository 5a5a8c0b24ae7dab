"""Lets each class stand in a core schema once: used again, it becomes a reference.

Pydantic writes a nested model that is built already into the schema of each model that uses it. Its
validators are reused, so that costs pydantic nothing. Ours are compiled anew, and what uses one
class along many paths would be walked and compiled once for each path.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from toolshape._function.core_schema.nodes import NOT_SCHEMAS, Node


def share_repeated(core: Node, nodes: Iterable[Node]) -> Node:
    """Return a core schema in which each node with a name stands once; the
    same schema if that is so already.

    Args:
        core: The core schema.
        nodes: Its nodes, as ``core_nodes`` yields them.
    """
    names = Counter(node["ref"] for node in nodes if "ref" in node)
    repeated = {name for name, count in names.items() if count > 1}
    if not repeated:
        return core
    definitions: dict[str, Any] = {}
    schema: Any = core
    own: Any = ()
    if core["type"] == "definitions":
        schema, own = core["schema"], core["definitions"]
    made = _shared(schema, repeated, definitions)
    kept = [_shared(node, repeated - {node["ref"]}, definitions) for node in own]
    named = {node["ref"]: node for node in (*kept, *definitions.values())}
    return {"type": "definitions", "schema": made, "definitions": list(named.values())}


def _shared(value: Any, repeated: set[str], definitions: dict[str, Any]) -> Any:
    """Return a copy in which references stand for the repeated nodes,
    which are added to the definitions.
    """
    if isinstance(value, dict):
        is_node = isinstance(value.get("type"), str)
        name = value.get("ref") if is_node else None
        if name in repeated:
            if name not in definitions:
                definitions[name] = {}  # it may contain itself
                definitions[name] = _copy(value, repeated, definitions, is_node=True)
            return {"type": "definition-ref", "schema_ref": name}
        return _copy(value, repeated, definitions, is_node=is_node)
    if isinstance(value, (list, tuple)):
        return type(value)(_shared(item, repeated, definitions) for item in value)
    return value


def _copy(
    node: Node, repeated: set[str], definitions: dict[str, Any], *, is_node: bool
) -> dict[str, Any]:
    return {
        key: item if is_node and key in NOT_SCHEMAS else _shared(item, repeated, definitions)
        for key, item in node.items()
    }
