"""Walks pydantic's core schemas. Only this module knows which keys of a node contain other nodes.

The structure of the nodes is that of pydantic-core 2.46 and 2.50.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel

Node: TypeAlias = Mapping[str, Any]
Definitions: TypeAlias = Mapping[str, Node]

WRAPPER = "toolshape wrapper"
"""The tag of the only branch of a wrapper union (see ``tighten``); this tag appears in the locations of errors."""
CHOICES = "toolshape_choices"
"""The key in a node's metadata that lists the JSON values of an enum or literal."""
TAGS = "toolshape_tags"
"""The key in a discriminated union's metadata that lists the names of an optional tag."""
MAPS = frozenset({"dict", "ordered-dict", "counter", "frozendict"})
"""The node types whose values are objects with arbitrary keys; pydantic-core added the last three in 2.50."""
NOT_SCHEMAS = frozenset({"cls", "config", "default", "expected", "function", "members", "metadata", "serialization"})
"""The keys of a node that hold the user's objects, not schemas."""
TRANSPARENT = frozenset(
    {"nullable", "default", "definitions", "custom-error", "function-after", "function-before", "function-wrap",
     "model-field", "dataclass-field", "typed-dict-field", "named-tuple-field", "missing-sentinel"}
)  # fmt: skip
"""The types of nodes that wrap another node without changing its kind of value."""


def core_nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every node of a pydantic core schema, outermost first; the user's own objects are not searched."""
    if isinstance(schema, Mapping):
        is_node = isinstance(schema.get("type"), str)  # otherwise a map with the user's keys, such as fields
        if is_node:
            yield schema
        for key, value in schema.items():
            if not is_node or key not in NOT_SCHEMAS:
                yield from core_nodes(value)
    elif isinstance(schema, (list, tuple)):
        for value in schema:
            yield from core_nodes(value)


def rebuild(
    schema: Any,
    change: Callable[[Node, Node | None], Node],
    left_alone: frozenset[str] = NOT_SCHEMAS,
    config: Node | None = None,
) -> Any:
    """Rebuild a core schema by passing every node to ``change``, innermost first; parts that stay equal are shared.

    Args:
        schema: A core schema, or a part of one.
        change: Takes a node with rebuilt children, and the config of the pydantic model around it; returns a new node.
        left_alone: The node keys whose values stay unchanged.
        config: The config around ``schema``.
    """
    if isinstance(schema, Mapping):
        is_node = isinstance(schema.get("type"), str)
        config = schema.get("config", config) if is_node else config
        changed = {
            key: new_value
            for key, value in schema.items()
            if not (is_node and key in left_alone)
            and (new_value := rebuild(value, change, left_alone, config)) is not value
        }
        with_changed_children = {**schema, **changed} if changed else schema
        return change(with_changed_children, config) if is_node else with_changed_children
    if isinstance(schema, (list, tuple)):
        items = [rebuild(value, change, left_alone, config) for value in schema]
        is_unchanged = all(new_item is old_item for new_item, old_item in zip(items, schema, strict=True))
        return schema if is_unchanged else type(schema)(items)
    return schema


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


def takes_no_alias(config: Node | None) -> bool:
    """Whether fields are validated only by their own names, never by an alias."""
    return config is not None and config.get("validate_by_alias") is False


def sets_extra(cls: type[Any]) -> bool:
    """Whether a model, dataclass or TypedDict itself configures how to treat unknown fields."""
    return class_config(cls).get("extra") is not None


def class_config(cls: type[Any]) -> Mapping[str, Any]:
    """Return the configuration that a model, dataclass or TypedDict itself declares."""
    own_config: Any = getattr(cls, "model_config" if issubclass(cls, BaseModel) else "__pydantic_config__", None)
    return own_config if isinstance(own_config, Mapping) else {}
