"""Widens a core schema: what the canonical JSON Schema admits, pydantic shall be able to read.

Pydantic does not read some values that its own JSON Schema admits: a member of an enum by its JSON
value, a field by the name in the schema, an object without its optional tag.
"""

import functools
import operator
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import core_schema

from toolshape._function.core_schema.enum_values import choices_of, lookup_of
from toolshape._function.core_schema.map_keys import key_rule
from toolshape._function.core_schema.nodes import (
    CHOICES,
    KEYS,
    LEFT_ALONE,
    MAPS,
    Definitions,
    Node,
    definitions_of,
    rebuild,
    takes_no_alias,
)
from toolshape._function.core_schema.optional_tags import with_optional_tag
from toolshape._function.core_schema.two import compile_validator, full_schema


def prepare(model: type[BaseModel]) -> None:
    """Give a pydantic model its widened core schema, and compile it as *full*,
    before anything else refers to it.
    """
    untyped_model = cast("Any", model)
    untyped_model.__pydantic_core_schema__ = widened = widen(model.__pydantic_core_schema__)
    untyped_model.__pydantic_validator__ = compile_validator(full_schema(widened))


def widen(schema: Any) -> Any:
    """Return a widened core schema, or the same object if nothing changes."""
    return rebuild(schema, functools.partial(_widen_node, definitions_of(schema)), LEFT_ALONE)


def _widen_node(definitions: Definitions, node: Node, config: Node | None) -> Node:
    match node["type"]:
        case "model-fields" | "typed-dict" | "dataclass-args":
            return _use_schema_names(node, config)
        case "literal" | "enum" if not choices_of(node).is_plain:
            return _widen_by_lookup(node)
        case "tagged-union" if not callable(node["discriminator"]):
            return with_optional_tag(node, definitions)
        case kind if kind in MAPS:
            return _use_key_lookup(node, definitions)
        case "generator":  # pydantic validates the items only when the tool reads them
            list_schema = core_schema.list_schema(
                node.get("items_schema"),
                min_length=node.get("min_length"),
                max_length=node.get("max_length"),
            )
            return {
                **core_schema.json_or_python_schema(cast("Any", list_schema), cast("Any", node)),
                **({"metadata": node["metadata"]} if "metadata" in node else {}),
            }
        case _:
            return node


def _use_schema_names(node: Node, config: Node | None) -> Node:
    original_fields = node["fields"]
    if not isinstance(original_fields, Mapping):
        renamed = [_accept_schema_name(field["name"], field, config) for field in original_fields]
        if all(map(operator.is_, renamed, original_fields)):
            return node
        return {**node, "fields": renamed}
    fields = {
        name: _accept_schema_name(name, field, config) for name, field in original_fields.items()
    }
    if all(fields[name] is field for name, field in original_fields.items()):
        return node
    return {**node, "fields": fields}


def _accept_schema_name(name: str, field: Node, config: Node | None) -> Node:
    """Make a field accept its name in the canonical schema: its alias, or its
    own name if the alias is a path.
    """
    alias = field.get("validation_alias")
    if alias is None or isinstance(alias, str):
        if alias is not None and takes_no_alias(config):
            return {**field, "validation_alias": name}
        return field
    if alias and isinstance(alias[0], list):
        paths: list[Any] = alias
    else:
        paths = [alias]
    if any(len(path) == 1 and isinstance(path[0], str) for path in paths) and not takes_no_alias(
        config
    ):
        return field
    return {**field, "validation_alias": name if takes_no_alias(config) else [[name], *paths]}


def _use_key_lookup(node: Node, definitions: Definitions) -> Node:
    """Replace the keys of a map with a lookup if pydantic cannot read them from strings itself."""
    keys = node.get("keys_schema")
    read = key_rule(keys, definitions).read
    if read is None:
        return node
    lookup = core_schema.no_info_plain_validator_function(read, metadata={KEYS: keys})
    return {**node, "keys_schema": lookup}


def _widen_by_lookup(node: Node) -> Node:
    """Replace an enum or literal with a lookup from JSON values to members
    that pydantic cannot find itself.
    """
    choices = choices_of(node)
    outer_keys = {key: node[key] for key in ("ref", "serialization") if key in node}
    metadata = {
        **node.get("metadata", {}),
        CHOICES: tuple(choices.values) if choices.mask is None else (),
    }
    lookup = core_schema.no_info_plain_validator_function(lookup_of(choices))
    return {**lookup, **outer_keys, "metadata": metadata}
