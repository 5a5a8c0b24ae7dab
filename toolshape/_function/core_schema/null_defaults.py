"""Compiles a validator for which null means that a field with a default was left out.

It parses the JSON text only once.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, cast

from toolshape._function.core_schema.authors import is_authors_function
from toolshape._function.core_schema.key_count import (
    KEYLESS,
    KeyCount,
    UndecidableError,
    compile_key_count,
)
from toolshape._function.core_schema.nodes import (
    CHOICES,
    Definitions,
    Node,
    definitions_of,
    inner_node,
    rebuild,
)
from toolshape._function.core_schema.two import compile_validator, full_schema
from toolshape._schema.arrows import Dropped

Forget: TypeAlias = Callable[[Any], None]


class NullAdmitting(NamedTuple):
    """A pydantic model's validator that also accepts null for fields that have a
    default and do not admit null.

    ``count_keys`` counts the keys from which a result was parsed, including keys with null.
    ``forget`` then replaces the nulls in the result with defaults.
    """

    validate_json: Callable[..., Any]
    count_keys: KeyCount
    forget: Forget


def compile_null_admitting(core: Node, dropped: Dropped) -> NullAdmitting | None:
    """Compile a validator that accepts null for fields with a default.

    Args:
        core: The core schema.
        dropped: For each object, the fields that the lens drops if they are null. If the core
            schema would drop other fields, the result is ``None``.

    Returns:
        The validator, or ``None`` if some nulls cannot be replaced after validation.
    """
    definitions = definitions_of(core)
    opened_fields: set[tuple[tuple[str, ...], frozenset[str]]] = set()
    try:
        null_admitting_core = rebuild(
            core, lambda node, _: _open_to_null(node, definitions, opened_fields)
        )
        forget = _compile_forget(core, definitions, frozenset())
    except UndecidableError:
        return None
    count_keys = compile_key_count(null_admitting_core)
    if forget is None or count_keys is None or frozenset(opened_fields) != dropped:
        return None
    validator = compile_validator(full_schema(null_admitting_core))
    return NullAdmitting(validator.validate_json, count_keys, forget)


def _open_to_null(
    node: Node, definitions: Definitions, seen: set[tuple[tuple[str, ...], frozenset[str]]]
) -> Node:
    """Return a node whose fields with defaults also accept null; record these fields in
    ``seen``.
    """
    # The function replaces each null that means "left out" by the field's default. Such a field
    # then counts as not given, so nothing is looked for in it.
    if node["type"] != "model-fields":
        return node
    fields = node["fields"]
    names = {name: field.get("validation_alias", name) for name, field in fields.items()}
    if not all(isinstance(alias, str) for alias in names.values()):
        raise UndecidableError  # a field has several names
    dropped = [name for name, field in fields.items() if _is_dropped(field, definitions)]
    if not dropped:
        return node
    seen.add((tuple(names.values()), frozenset(names[name] for name in dropped)))
    return {
        **node,
        "fields": {**fields, **{name: _make_nullable(fields[name]) for name in dropped}},
    }


def _make_nullable(field: Node) -> Node:
    default = field["schema"]
    return {
        **field,
        "schema": {**default, "schema": {"type": "nullable", "schema": default["schema"]}},
    }


def _is_dropped(field: Node, definitions: Definitions) -> bool:
    """Whether null means that a field is omitted: the field has a default, and
    null is not one of its values.
    """
    default = field["schema"]
    return default["type"] == "default" and not _admits_null(default["schema"], definitions)


_NEVER_NULL = frozenset({*KEYLESS, "model", "list", "dict", "set", "frozenset"})


def _admits_null(node: Node, definitions: Definitions) -> bool:
    kind = node["type"]
    if kind in ("nullable", "none"):
        return True
    if CHOICES in node.get("metadata", {}):
        return None in node["metadata"][CHOICES]
    if kind in ("literal", "enum"):
        if kind == "literal":
            choices = node["expected"]
        else:
            choices = node["members"]
        return any(getattr(choice, "value", choice) is None for choice in choices)
    if kind in _NEVER_NULL:
        return False
    return _admits_null(_inside(node, definitions), definitions)


_PASSES_NULL_ON = frozenset(
    {"definition-ref", "lax-or-strict", "json-or-python", "tagged-union", "definitions", "default", "model-field",
     "nullable"}
)  # fmt: skip


def _inside(node: Node, definitions: Definitions) -> Node:
    """Return the node inside a wrapper that passes null through unchanged, so that
    the null can be replaced later.

    A user validator is not such a wrapper: it may itself return ``None`` or another value.

    Raises:
        UndecidableError: The node is not such a wrapper.
    """
    if node["type"] in _PASSES_NULL_ON:
        inner = inner_node(node, definitions)
    else:
        inner = None
    if inner is None:
        raise UndecidableError
    return inner


def _compile_forget(node: Node, definitions: Definitions, seen: frozenset[str]) -> Forget | None:
    """Return a function that replaces the nulls in a value, or ``None``
    if no null needs to be replaced.

    It supports the same nodes as ``compile_key_count``.
    """
    kind = node["type"]
    if kind in KEYLESS or kind == "none" or CHOICES in node.get("metadata", {}):
        return None
    if kind in ("list", "dict", "set", "frozenset"):
        item = node.get("values_schema" if kind == "dict" else "items_schema")
        forget = None if item is None else _compile_forget(item, definitions, seen)
        return None if forget is None else _forget_in_items(forget, in_values=kind == "dict")
    if kind == "model":
        if node.get("config", {}).keys() & _UNSUPPORTED_CONFIG:
            raise UndecidableError
        return _compile_forget_model(node["schema"], definitions, seen)
    if kind == "function-after":
        # The validator may read earlier fields, which may be null.
        takes_info = node["function"]["type"] != "no-info"
        if takes_info or is_authors_function(node):
            raise UndecidableError  # a call that is refused here is validated again, and the code would run twice
        if _compile_forget(node["schema"], definitions, seen) is not None:
            raise UndecidableError
        return None
    if kind == "definition-ref":
        if node["schema_ref"] in seen:
            raise UndecidableError  # the node contains itself
        seen |= {node["schema_ref"]}
    return _compile_forget(_inside(node, definitions), definitions, seen)


_UNSUPPORTED_CONFIG = frozenset({"validate_default", "validate_by_name", "populate_by_name"})


def _forget_in_items(forget: Forget, *, in_values: bool) -> Forget:
    def forget_each(items: Any) -> None:
        for item in items.values() if in_values else items:
            if item is not None:
                forget(item)

    return forget_each


def _compile_forget_model(
    node: Node, definitions: Definitions, seen: frozenset[str]
) -> Forget | None:
    if node["type"] != "model-fields":
        # Something of the author's stands between the model and its fields, and may read the nulls.
        raise UndecidableError
    fields = node["fields"].items()
    if any(field["schema"].get("default_factory_takes_data") for _, field in fields):
        raise UndecidableError  # the factory reads earlier fields
    dropped_defaults = [
        (name, _compile_default(field["schema"]))
        for name, field in fields
        if _is_dropped(field, definitions)
    ]
    forget_by_field = (
        (name, _compile_forget(field["schema"], definitions, seen)) for name, field in fields
    )
    inner_forgets = [(name, forget) for name, forget in forget_by_field if forget is not None]
    if not dropped_defaults and not inner_forgets:
        return None

    def forget_model(model: Any) -> None:
        values, given_names = model.__dict__, model.__pydantic_fields_set__
        for name, default in dropped_defaults:
            if values[name] is None and name in given_names:
                values[name] = default()
                given_names.discard(name)
        for name, forget in inner_forgets:
            if name in given_names and (value := values[name]) is not None:
                forget(value)

    return forget_model


def _compile_default(node: Node) -> Callable[[], Any]:
    if node.get("validate_default") or node.get("on_error", "raise") != "raise":
        raise UndecidableError
    if "default_factory" in node:
        return cast("Callable[[], Any]", node["default_factory"])
    default = node["default"]
    try:
        hash(default)
    except Exception:  # like pydantic, copy an unhashable default
        return lambda: copy.deepcopy(default)
    return lambda: default
