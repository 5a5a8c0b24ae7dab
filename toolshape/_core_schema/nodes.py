"""The walk over pydantic's core schemas: the only module that knows which keys of a node lead to other nodes.

Read in pydantic-core 2.46 and 2.50.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel

Node: TypeAlias = Mapping[str, Any]
Definitions: TypeAlias = Mapping[str, Node]

WRAPPER = "toolshape wrapper"
"""The tag of the one branch of a wrapper (see ``tighten``), as it stands in the locations of errors."""
CHOICES = "toolshape_choices"
"""The key of a node's metadata that lists the JSON values of an enum or literal."""
TAGS = "toolshape_tags"
"""The key of a discriminated union's metadata that lists the names of a tag that may be left out."""
MAPS = frozenset({"dict", "ordered-dict", "counter", "frozendict"})
"""The kinds that are objects with any keys; the last three since pydantic-core 2.50."""
NOT_SCHEMAS = frozenset({"cls", "config", "default", "expected", "function", "members", "metadata", "serialization"})
"""The keys of a node that lead to what the user wrote."""
TRANSPARENT = frozenset(
    {"nullable", "default", "definitions", "custom-error", "function-after", "function-before", "function-wrap", "model-field",
     "dataclass-field", "typed-dict-field", "named-tuple-field", "missing-sentinel"}
)  # fmt: skip
"""The types of nodes that wrap another and do not change what the value is."""


def core_nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every node of a pydantic core schema, outermost first; never a value the user wrote."""
    if isinstance(schema, Mapping):
        is_node = isinstance(schema.get("type"), str)  # else a map whose keys are the user's: fields, choices
        if is_node:
            yield schema
        for key, value in schema.items():
            if not is_node or key not in NOT_SCHEMAS:
                yield from core_nodes(value)
    elif isinstance(schema, (list, tuple)):
        for value in schema:
            yield from core_nodes(value)


def rebuilt(
    schema: Any,
    change: Callable[[Node, Node | None], Node],
    left_alone: frozenset[str] = NOT_SCHEMAS,
    config: Node | None = None,
) -> Any:
    """The same core schema with every node changed, innermost first; what need not change is shared with the original.

    Args:
        schema: A core schema, or a part of one.
        change: What becomes of a node whose children are changed already, given the config of the model it stands in.
        left_alone: The keys of a node that are not looked into.
        config: The config that the whole stands in.
    """
    if isinstance(schema, Mapping):
        is_node = isinstance(schema.get("type"), str)
        config = schema.get("config", config) if is_node else config
        changed = {
            key: made
            for key, value in schema.items()
            if not (is_node and key in left_alone) and (made := rebuilt(value, change, left_alone, config)) is not value
        }
        inner = {**schema, **changed} if changed else schema
        return change(inner, config) if is_node else inner
    if isinstance(schema, (list, tuple)):
        made_items = [rebuilt(value, change, left_alone, config) for value in schema]
        same = all(one is other for one, other in zip(made_items, schema, strict=True))
        return schema if same else type(schema)(made_items)
    return schema


def definitions_of(schema: Node) -> Definitions:
    """What the references in a core schema lead to, by name."""
    return {node["ref"]: node for node in schema.get("definitions", ())}


def inside(node: Node, definitions: Definitions) -> Node | None:
    """The node inside a wrapper; ``None`` for any other node."""
    found: Node
    match node["type"]:
        case "definition-ref":
            found = definitions[node["schema_ref"]]
        case "json-or-python":
            found = node["json_schema"]
        case "lax-or-strict":
            found = node["strict_schema"]
        case "chain":
            found = node["steps"][-1]
        case "tagged-union" if WRAPPER in node["choices"]:
            found = node["choices"][WRAPPER]
        case "model" if node.get("root_model"):
            found = node["schema"]
        case kind if kind in TRANSPARENT:
            found = node["schema"]
        case _:
            return None
    return found


def takes_no_alias(config: Node | None) -> bool:
    """Whether fields are validated by their own names alone."""
    return config is not None and config.get("validate_by_alias") is False


def sets_extra(cls: type[Any]) -> bool:
    """Whether a model, dataclass or TypedDict itself says what to do with fields it does not know."""
    return class_config(cls).get("extra") is not None


def class_config(cls: type[Any]) -> Mapping[str, Any]:
    """The configuration that a model, dataclass or TypedDict declares itself."""
    own: Any = getattr(cls, "model_config" if issubclass(cls, BaseModel) else "__pydantic_config__", None)
    return own if isinstance(own, Mapping) else {}
