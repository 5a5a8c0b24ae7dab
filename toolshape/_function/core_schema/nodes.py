"""Walks pydantic's core schemas. Only this module knows which keys of a node contain other nodes.

The structure of the nodes is that of pydantic-core 2.46 and 2.50.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel

Node: TypeAlias = Mapping[str, Any]
Definitions: TypeAlias = Mapping[str, Node]

WRAPPER = "\ue000toolshape wrapper"
"""The tag of the only branch of a wrapper union (see ``tighten``).

It is a step in the locations of errors, so it begins with a character that stands for nothing,
which no key of a value does.
"""
CHOICES = "toolshape_choices"
"""The key in a node's metadata that lists the JSON values of an enum or literal."""
TAGS = "toolshape_tags"
"""The key in a discriminated union's metadata that lists the names of an optional tag."""
KEYS = "toolshape_keys"
"""The key in the metadata of a map's keys that holds the node which the lookup of
keys replaced (see ``widen``).
"""
MAPS = frozenset({"dict", "ordered-dict", "counter", "frozendict"})
"""The node types whose values are objects with arbitrary keys;
pydantic-core added the last three in 2.50.
"""
NOT_SCHEMAS = frozenset(
    {"cls", "config", "default", "expected", "function", "members", "metadata", "serialization"}
)
"""The keys of a node that hold the user's objects, not schemas."""
LEFT_ALONE = NOT_SCHEMAS | {"keys_schema"}
"""The keys of a node that no rewrite enters: a map itself checks its
keys, which are strings in JSON.
"""
TRANSPARENT = frozenset(
    {"nullable", "default", "definitions", "custom-error", "function-after", "function-before",
    "function-wrap",
     "model-field", "dataclass-field", "typed-dict-field", "named-tuple-field", "missing-sentinel"}
)  # fmt: skip
"""The types of nodes that wrap another node without changing its kind of value."""


def core_nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every node of a pydantic core schema, outermost first; the
    user's own objects are not searched.

    A node with a name is yielded each time, but what is inside only the first time: along many
    paths, the same classes would be searched once for each path.
    """
    return _nodes_in(schema, set())


def _nodes_in(schema: Any, entered: set[str]) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, dict):
        # Otherwise a map with the user's keys, such as fields.
        is_node = isinstance(schema.get("type"), str)
        if is_node:
            yield schema
            name = schema.get("ref")
            if name is not None:
                if name in entered:
                    return
                entered.add(name)
        for key, value in schema.items():
            if isinstance(value, _CONTAINERS) and not (is_node and key in NOT_SCHEMAS):
                yield from _nodes_in(value, entered)
    elif isinstance(schema, (list, tuple)):
        for value in schema:
            if isinstance(value, _CONTAINERS):
                yield from _nodes_in(value, entered)


_CONTAINERS = (dict, list, tuple)
"""What holds nodes: pydantic-core takes no other mappings and sequences."""


def rebuild(
    schema: Any,
    change: Callable[[Node, Node | None], Node],
    left_alone: frozenset[str] = NOT_SCHEMAS,
    config: Node | None = None,
    replace: Callable[[Node, Node | None], Any] | None = None,
) -> Any:
    """Rebuild a core schema by passing every node to ``change``, innermost first;
    parts that stay equal are shared.

    Args:
        schema: A core schema, or a part of one.
        change: Takes a node with rebuilt children, and the config of the pydantic model around it;
            returns a new node.
        left_alone: The node keys whose values stay unchanged.
        config: The config around ``schema``.
        replace: Takes a node before its children, and the config around it; returns what stands in
            its place, or ``None`` if the node is rebuilt.
    """
    # A part that stays equal is the same object afterwards: most of a schema is not copied, and
    # ``is`` tells what changed. A node with a name is rebuilt once: along many paths, the same
    # classes would be rebuilt once for each path.
    made: dict[tuple[str, int], Any] = {}

    def visit(value: Any, config: Node | None) -> Any:
        if not isinstance(value, dict):
            items = [
                visit(item, config) if isinstance(item, _CONTAINERS) else item for item in value
            ]
            is_unchanged = all(map(operator.is_, items, value))
            return value if is_unchanged else type(value)(items)
        if not isinstance(value.get("type"), str):
            return with_children(value, config, frozenset())
        name = value.get("ref")
        if name is not None and (name, id(config)) in made:
            return made[name, id(config)]
        node = None if replace is None else replace(value, config)
        if node is None:
            inner_config = value.get("config", config)
            node = change(with_children(value, inner_config, left_alone), inner_config)
        if name is not None:
            made[name, id(config)] = node
        return node

    def with_children(node: Node, config: Node | None, left_alone: frozenset[str]) -> Node:
        changed = {
            key: new_value
            for key, value in node.items()
            if isinstance(value, _CONTAINERS)
            and key not in left_alone
            and (new_value := visit(value, config)) is not value
        }
        return {**node, **changed} if changed else node

    return visit(schema, config) if isinstance(schema, _CONTAINERS) else schema


def definitions_of(schema: Node) -> Definitions:
    """Return the definitions of a core schema by the names that its references use."""
    return {node["ref"]: node for node in schema.get("definitions", ())}


def inner_node(node: Node, definitions: Definitions) -> Node | None:
    """Return the node inside a wrapper, or ``None`` for any other node."""
    inner: Node
    match node["type"]:
        case "definition-ref":
            inner = definitions[node["schema_ref"]]
        case "json-or-python":
            inner = node["json_schema"]
        case "lax-or-strict":
            inner = node["strict_schema"]
        case "chain":
            inner = node["steps"][-1]
        case "tagged-union" if WRAPPER in node["choices"]:
            inner = node["choices"][WRAPPER]
        case "model" if node.get("root_model"):
            inner = node["schema"]
        case kind if kind in TRANSPARENT:
            inner = node["schema"]
        case _:
            return None
    return inner


def steps_inside(node: Node) -> Iterator[tuple[str, Any]]:
    """Yield the nodes inside a node, each with its step in a value: a key, ``[]`` for
    each item, ``{}`` for each value.

    A wrapper, a branch of a union and a step of a chain have the empty step.
    """
    fields: Any = node.get("fields")
    if isinstance(fields, dict):
        fields = [{**field, "name": name} for name, field in fields.items()]
    for field in fields or ():
        yield _key(field), field["schema"]
    items: Any = node.get("items_schema")
    for item in items if isinstance(items, list) else [items]:
        if item is not None:
            yield "[]", item
    for key in ("values_schema", "extras_schema"):
        if isinstance(node.get(key), dict):
            yield "{}", node[key]
    for inner in _in_place(node):
        yield "", inner


def _in_place(node: Node) -> Iterator[Any]:
    """Yield the nodes that check the value of a node itself: wrapped nodes, branches and steps."""
    choices: Any = node.get("choices", ())
    for choice in choices.values() if isinstance(choices, dict) else choices:
        yield choice[0] if isinstance(choice, tuple) else choice
    yield from node.get("steps", ())
    # Of pydantic's own types, the strict side is always strict: only the node itself tells what was
    # declared.
    for key in ("json_schema", "lax_schema", "schema"):
        if isinstance(node.get(key), dict):
            yield node[key]


def _key(field: Any) -> str:
    alias = field.get("validation_alias")
    key: str = alias if isinstance(alias, str) else field["name"]
    return key


def takes_no_alias(config: Node | None) -> bool:
    """Whether fields are validated only by their own names, never by an alias."""
    return config is not None and config.get("validate_by_alias") is False


def sets_extra(cls: type[Any]) -> bool:
    """Whether a model, dataclass or TypedDict itself configures how to treat unknown fields."""
    return class_config(cls).get("extra") is not None


def class_config(cls: type[Any]) -> Mapping[str, Any]:
    """Return the configuration that a model, dataclass or TypedDict itself declares."""
    own_config: Any = getattr(
        cls, "model_config" if issubclass(cls, BaseModel) else "__pydantic_config__", None
    )
    return own_config if isinstance(own_config, Mapping) else {}
