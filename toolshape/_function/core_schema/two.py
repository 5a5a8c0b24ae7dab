"""Makes the two core schemas that arguments are validated with: *full*, and *structure*.

*Full* is the author's model. Everywhere but in the author's places it is strict, and refuses what
pydantic would accept even in strict mode (see ``tighten``). In the author's places stands the
schema as the author wrote it, in pydantic's own mode: the author's code is given what the model
wrote, and decides. Strictness is a property of the nodes, so both stand in one schema, and one run
decides. Of a chain, only the first step is given what the model wrote: the others are given what
the step before made of it.

*Structure* is the same without the author's code. It says which places of a value have the wrong
kind, and runs nothing of the author's, so it can be asked again after each coercion. Where the
author's code crashes, *structure, looked through* asks the schema behind that code.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic_core import SchemaValidator, core_schema

from toolshape._function.core_schema.authors import (
    holds_authors_code,
    is_authors_code,
    is_authors_function,
    is_authors_place,
    side_of_author,
)
from toolshape._function.core_schema.nodes import (
    LEFT_ALONE,
    NOT_SCHEMAS,
    Definitions,
    Node,
    definitions_of,
    rebuild,
    sets_extra,
)
from toolshape._function.core_schema.tighten import tighten_node
from toolshape._function.core_schema.unchanged import Inside, check_unchanged
from toolshape._function.core_schema.validation_context import in_context

_STRICT = frozenset(
    {"int", "float", "bool", "str", "bytes", "date", "datetime", "time", "timedelta", "decimal",
    "uuid", "url",
     "multi-host-url", "list", "set", "frozenset", "tuple", "dict", "frozendict", "ordered-dict",
     "counter", "deque",
     "enum", "lax-or-strict", "complex", "fraction", "model", "dataclass", "typed-dict",
     "model-fields"}
)  # fmt: skip
"""The node types whose key ``strict`` has an effect in pydantic-core
2.50 and means JSON's own type.
"""
_CHECKED, _AS_IS = "/checked", "/as is"
"""What is appended to a definition's name for the author's places: one
definition cannot be strict and lax.
"""


def compile_validator(schema: Any, config: Node | None = None) -> SchemaValidator:
    """Compile a core schema; nested models that are built already are not reused,
    because theirs are not rewritten.
    """
    return cast(
        "SchemaValidator", cast("Any", SchemaValidator)(schema, config, _use_prebuilt=False)
    )


def with_definitions(node: Node, definitions: Definitions) -> Node:
    """Return a part of a core schema that can be compiled by itself."""
    if not definitions:
        return node
    return {"type": "definitions", "schema": node, "definitions": list(definitions.values())}


def full_schema(core: Node, config: Node | None = None) -> Any:
    """Return the author's model with strictness set on its nodes.

    Args:
        core: A widened core schema, or a part of one.
        config: The config of the pydantic model around the part.
    """
    definitions = definitions_of(core)
    places: list[Node] = []

    def at_place(node: Node, config: Node | None) -> Any:
        if (lax := side_of_author(node)) is not None:
            return rebuild(_with_ref(lax, node), change, LEFT_ALONE, config, at_place)
        if node["type"] == "chain":
            first, *rest = node["steps"]
            steps = [_authors_copy(step, definitions, config, is_checked=False) for step in rest]
            places.extend(rest)
            return {**node, "steps": [rebuild(first, change, LEFT_ALONE, config, at_place), *steps]}
        if is_authors_code(_inside_class(node)):
            inner = rebuild(node["schema"], change, LEFT_ALONE, _closed_config(node), at_place)
            return {**_strictly(node, config), "schema": inner}
        if not is_authors_place(node, definitions):
            if node["type"] != "default" or not validates_default(node, config):
                return None
            inner = rebuild(node["schema"], change, LEFT_ALONE, config, at_place)
            return {**_default_in_python(node, definitions, config), "schema": inner}
        places.append(node)
        copy = _authors_copy(node, definitions, config, is_checked=node["type"] != "union")
        return _with_ref(copy, node)

    def change(node: Node, config: Node | None) -> Node:
        return tighten_node(definitions, _strictly(node, config), config)

    made = rebuild(core, change, LEFT_ALONE, config, at_place)
    if not (places and definitions):
        return made
    copies = [
        {
            **_authors_copy(node, definitions, None, is_checked=ending == _CHECKED),
            "ref": name + ending,
        }
        for ending in (_CHECKED, _AS_IS)
        for name, node in definitions.items()
    ]
    return {**made, "definitions": [*made["definitions"], *copies]}


def structure_schema(core: Node, config: Node | None = None, *, through: bool = False) -> Any:
    """Return the author's model without the author's code.

    Args:
        core: A widened core schema, or a part of one.
        config: The config of the pydantic model around the part.
        through: Whether the schema behind a before or wrap validator stands in the validator's
            place. By default, any value is accepted there.
    """
    definitions = definitions_of(core)
    is_replaced = _is_after if not through else _is_passing

    def at_place(node: Node, config: Node | None) -> Any:
        inner = node["schema"] if is_replaced(node) else side_of_author(node)
        inner = node["steps"][0] if node["type"] == "chain" else inner
        if inner is not None:
            return rebuild(_with_ref(inner, node), change, LEFT_ALONE, config, at_place)
        inmost = node["schema"] if node["type"] in ("model", "dataclass") else node
        while is_replaced(inmost):
            inmost = inmost["schema"]
        is_any = is_authors_code(inmost) or (
            node["type"] == "union" and holds_authors_code(node, definitions)
        )
        return _with_ref(core_schema.any_schema(), node) if is_any else None

    def change(node: Node, config: Node | None) -> Node:
        return tighten_node(definitions, _strictly(_without_code(node), config), config)

    return rebuild(core, change, LEFT_ALONE, config, at_place)


def _is_after(node: Node) -> bool:
    return node["type"] == "function-after" and is_authors_function(node)


def _is_passing(node: Node) -> bool:
    return node["type"] in (
        "function-after",
        "function-before",
        "function-wrap",
    ) and is_authors_function(node)


_AUTHORS_KEYS = frozenset(
    {
        "post_init",
        "custom_init",
        "validate_default",
        "default_factory",
        "default_factory_takes_data",
    }
)


def _without_code(node: Node) -> Node:
    """Return a node that runs nothing of the author's when a value is made."""
    if node.keys() & _AUTHORS_KEYS:
        kept = {key: value for key, value in node.items() if key not in _AUTHORS_KEYS}
        if node["type"] == "default":
            node = {"default": None, **kept}
        else:
            node = kept
    if node.get("config", {}).get("validate_default"):
        node = {**node, "config": {**node["config"], "validate_default": False}}
    return node


def _with_ref(node: Any, replaced: Node) -> Any:
    """Return a node under the name by which others refer to the node that it replaces."""
    if "ref" in replaced:
        return {**node, "ref": replaced["ref"]}
    return node


def _strictly(node: Node, config: Node | None) -> Node:
    """Return a node that accepts only JSON's own type, whatever its author
    declared; errors name places by alias.
    """
    if node.get("config", {}).get("loc_by_alias") is False:
        node = {**node, "config": {**node["config"], "loc_by_alias": True}}
    if node["type"] not in _STRICT or (node["type"] == "str" and takes_numbers(node, config)):
        return node
    return {**node, "strict": True}


def takes_numbers(node: Node, config: Node | None) -> bool | None:
    """Whether the author lets a string be read from a number; ``None`` if the author says
    nothing.
    """
    own: bool | None = node.get("coerce_numbers_to_str")
    if own is None:
        return (config or {}).get("coerce_numbers_to_str")
    return own


def _authors_copy(
    node: Node, definitions: Definitions, config: Node | None, *, is_checked: bool
) -> Node:
    """Return a copy of an author's place, whose references lead to copies of the definitions.

    Args:
        node: The node.
        definitions: The definitions of the core schema.
        config: The config of the pydantic model around the node.
        is_checked: Whether before and wrap validators check what they pass on unchanged.
    """
    # What is refused inside a union would let another branch win, and what is refused where a
    # default stands in for errors would become that default. There, the author's code decides, as
    # it does in pydantic.
    config = _closed_config(node) if "config" in node else config
    has_check = is_checked and node["type"] in ("function-before", "function-wrap")
    has_check = has_check and is_authors_code(node)
    is_decided = node["type"] == "union" or (is_authors_code(node) and not has_check)
    inner_is_checked = is_checked and not is_decided

    def copy(value: Any) -> Any:
        if isinstance(value, Mapping):
            if isinstance(value.get("type"), str):
                return _authors_copy(value, definitions, config, is_checked=inner_is_checked)
            return {key: copy(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(copy, value))
        return value

    copied: dict[str, Any] = {
        key: value if key in NOT_SCHEMAS else copy(value)
        for key, value in node.items()
        if key != "ref"
    }
    if "schema_ref" in copied:
        copied["schema_ref"] += _CHECKED if inner_is_checked else _AS_IS
    if node.get("config", {}).get("loc_by_alias") is False:
        copied["config"] = {**node["config"], "loc_by_alias": True}
    copied |= _own_extra(copied)
    if has_check:
        inside = with_definitions(node["schema"], definitions)
        copied["function"] = check_unchanged(node, _compile_later(inside, config))
    return copied


def _inside_class(node: Node) -> Node:
    """Return what stands inside a class, behind validators that run afterwards; an
    empty node for any other node.
    """
    if node["type"] not in ("model", "dataclass"):
        return {"type": ""}
    inner: Node = node["schema"]
    while _is_after(inner):
        inner = inner["schema"]
    return inner


def _closed_config(node: Node) -> Node:
    """Return the config of a class for checks: unknown fields are refused, unless the
    class says what becomes of them.
    """
    config: Node = node.get("config", {})
    if "cls" in node and not sets_extra(node["cls"]):
        return {**config, "extra_fields_behavior": "forbid"}
    return config


def _own_extra(node: Node) -> Node:
    """Return the keys by which a class that says nothing of unknown fields
    ignores them, as pydantic does.

    A dataclass or a TypedDict of a module without pydantic inherits the config of the model around
    it: here that of the arguments, which forbids such fields. Structure still says so of what the
    author's code passes on.
    """
    if node["type"] not in ("dataclass", "typed-dict") or sets_extra(node.get("cls", object)):
        return {}
    config = {**node.get("config", {}), "extra_fields_behavior": "ignore"}
    if node["type"] == "dataclass":
        return {"config": config}
    is_said = "extras_schema" in node or getattr(node.get("cls"), "__closed__", None)
    if is_said:
        return {}
    return {"config": config, "extra_behavior": "ignore"}


def _compile_later(inside: Node, config: Node | None) -> Inside:
    """Return what compiles the structure of a part of a core schema when it is first asked for."""
    return Inside(
        functools.cache(lambda: compile_validator(structure_schema(inside, config), config)),
        functools.cache(
            lambda: compile_validator(structure_schema(inside, config, through=True), config)
        ),
    )


def validates_default(node: Node, config: Node | None) -> bool:
    """Whether pydantic validates the default of a node when it is used."""
    own = node.get("validate_default")
    return bool((config or {}).get("validate_default") if own is None else own)


def _default_in_python(node: Node, definitions: Definitions, config: Node | None) -> Node:
    """Return a node that validates its default as what it is: the
    author's Python object, and no JSON.
    """
    validator = functools.cache(
        lambda: compile_validator(with_definitions(node["schema"], definitions), config)
    )

    def valid(value: Any) -> Any:
        return in_context(validator().validate_python)(value)

    factory = node.get("default_factory")
    if factory is None:
        make: Callable[..., Any] = lambda: valid(node["default"])  # noqa: E731 - one of three
    elif node.get("default_factory_takes_data"):
        make = lambda data: valid(factory(data))  # noqa: E731
    else:
        make = lambda: valid(factory())  # noqa: E731
    kept = {key: value for key, value in node.items() if key != "default"}
    return {**kept, "default_factory": make, "validate_default": False}
