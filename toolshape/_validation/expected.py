"""Looks up what a core schema expects at a place: types, choices and fields, for coercions."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from toolshape._function.arguments import write_default
from toolshape._function.core_schema.authors import is_authors_code
from toolshape._function.core_schema.enum_values import choices_of
from toolshape._function.core_schema.nodes import (
    CHOICES,
    MAPS,
    TAGS,
    TRANSPARENT,
    WRAPPER,
    Definitions,
    Node,
    definitions_of,
    inner_node,
)
from toolshape._function.core_schema.optional_tags import tag_names
from toolshape._function.core_schema.two import takes_numbers
from toolshape._schema.places import Location
from toolshape._validation.coercion import COERCE, SCALARS, Expected

Compile: TypeAlias = Callable[[Node, "Node | None"], Any]

_KINDS: Mapping[str, frozenset[str]] = {
    "str": frozenset({"string"}),
    "int": frozenset({"integer"}),
    "float": frozenset({"number"}),
    "bool": frozenset({"boolean"}),
    "decimal": frozenset({"decimal"}),
    **dict.fromkeys(
        ("date", "datetime", "time", "timedelta", "uuid", "url", "bytes", "complex", "fraction"),
        frozenset({"text"}),
    ),
    "literal": frozenset({"choice"}),
    "enum": frozenset({"choice"}),
    **dict.fromkeys(
        ("list", "set", "frozenset", "deque", "generator"), frozenset({"array", "list"})
    ),
    "tuple": frozenset({"array"}),
    "json": frozenset({"json"}),
    **dict.fromkeys((*MAPS, "model", "dataclass", "typed-dict"), frozenset({"object"})),
    **dict.fromkeys(("named-tuple", "call"), frozenset({"array", "object"})),
}
_WITH_FIELDS = frozenset(
    {"model", "dataclass", "typed-dict", "named-tuple", "call", "tagged-union"}
)
_MOST_KEPT = 256
_LONGEST_STEP = 100


class _Unwrapped:
    """A core schema node without its wrappers, and the options that the wrappers set."""

    __slots__ = (
        "config",
        "default",
        "has_default",
        "is_behind_code",
        "node",
        "nullable",
        "strict",
        "switched",
    )

    def __init__(self, config: Node | None) -> None:
        self.node: Node = {}
        self.default: Node | None = None
        self.config = config
        self.nullable = self.has_default = self.strict = self.is_behind_code = False
        self.switched: dict[str, bool] = {}


def compile_expected(schema: Node, compile_part: Compile) -> Callable[[Location], Expected | None]:
    """Compile a lookup from a location in pydantic's errors to what the schema expects there.

    For a location inside a union, the lookup returns the union itself, because it cannot tell which
    branch was meant.

    Args:
        schema: The core schema.
        compile_part: A function that compiles a ``Checker`` from a part of the schema and the
            config for this part.
    """
    find = _ExpectedPlaces(schema, compile_part)
    cache: dict[
        Location, Expected
    ] = {}  # calls that need coercion look up the same places repeatedly

    def expected(location: Location) -> Expected | None:
        place = cache.get(location)
        if place is None:
            place = find(location)
            # Do not cache long, invented keys.
            is_short = all(len(str(step)) <= _LONGEST_STEP for step in location)
            if place is not None and is_short:
                if len(cache) == _MOST_KEPT:
                    cache.clear()
                cache[location] = place
        return place

    return expected


class _ExpectedPlaces:
    """Looks up what one core schema expects at each place."""

    def __init__(self, schema: Node, compile_part: Compile) -> None:
        self.schema = schema
        self.compile_part = compile_part
        self.definitions = definitions_of(schema)

    # pydantic's location also has steps that are not in the JSON value: the tag of a union branch,
    # and a ``WRAPPER`` step for each check that ``tighten`` puts around a node. The walk consumes
    # the steps one by one, and ``place`` keeps the steps that are in the JSON value. The walk ends
    # at a union without tags, because the next step only names a branch of the union.
    def __call__(self, location: Location) -> Expected | None:
        unwrapped = _unwrap(self.schema, self.definitions, None)
        place: list[int | str] = []
        switched = dict(unwrapped.switched)
        steps = list(location)
        while steps:
            if steps[0] == WRAPPER:
                steps.pop(0)
                continue
            kind = unwrapped.node["type"]
            if kind == "union":
                break
            if (
                kind == "tagged-union"
                and (tagged_branch := _tagged_branch(unwrapped.node, steps[0])) is not None
            ):
                inner: Node | None = tagged_branch
                steps.pop(0)
            else:
                step = steps.pop(0)
                inner = _child_node(unwrapped.node, step)
                place.append(step)
            if inner is None:
                return None
            in_object = kind in _WITH_FIELDS
            unwrapped = _unwrap(inner, self.definitions, unwrapped.config)
            # Items and map values cannot be omitted.
            unwrapped.has_default = unwrapped.has_default and in_object
            switched |= unwrapped.switched
        expected = _build_expected(unwrapped, tuple(place), switched, self.branches(unwrapped))
        if expected is None:
            return None
        if unwrapped.node["type"] == "json" and "schema" in unwrapped.node:
            expected = expected._replace(
                content=functools.partial(
                    self.compile_part, unwrapped.node["schema"], unwrapped.config
                )
            )
        if unwrapped.node["type"] == "tagged-union":
            expected = expected._replace(
                fields=functools.partial(self.names_in_branches, unwrapped.node)
            )
        is_exact_place = expected.location == location and not (expected.strict or switched)
        is_scalar = is_exact_place and bool(expected.kinds) and expected.kinds <= SCALARS
        default = functools.partial(self.default_of, unwrapped)
        return expected._replace(
            steps=len(location) - len(steps),
            is_behind_code=unwrapped.is_behind_code,
            is_scalar=is_scalar,
            default=default,
        )

    def names_in_branches(self, node: Node) -> list[str]:
        """Return the field names of all branches of a discriminated union."""
        branches = [
            _unwrap(choice, self.definitions, None).node for choice in node["choices"].values()
        ]
        return [name for branch in branches for name, _ in named_fields(branch)]

    def default_of(self, unwrapped: _Unwrapped) -> Any:
        """Return a field's default as JSON data; ``None`` if the field has no
        default, or if a function creates it.
        """
        node = unwrapped.default
        if node is None:
            return None
        return write_default(node, self.definitions, unwrapped.config)

    def branches(self, unwrapped: _Unwrapped) -> tuple[Any, ...]:
        """Return a checker for each branch of a union."""
        if unwrapped.node["type"] != "union":
            return ()
        choices = [
            choice[0] if isinstance(choice, tuple) else choice
            for choice in unwrapped.node["choices"]
        ]
        return tuple(self.compile_part(choice, unwrapped.config) for choice in choices)


def _tagged_branch(node: Node, step: int | str) -> Node | None:
    return next(
        (
            inner
            for tag, inner in node["choices"].items()
            if str(getattr(tag, "value", tag)) == str(step)
        ),
        None,
    )


def _build_expected(
    unwrapped: _Unwrapped,
    location: Location,
    switched: Mapping[str, bool],
    branches: tuple[Any, ...],
) -> Expected | None:
    node, kind = unwrapped.node, str(unwrapped.node["type"])
    kinds, choices, tags = _KINDS.get(kind, frozenset()), (), tuple[str, ...]()
    listed_choices = node.get("metadata", {}).get(CHOICES)
    if kind == "function-plain":
        if listed_choices is None:
            return None
        # An ``enum.Flag`` with too many combinations to list has no choices here. It accepts any
        # integer of its bits.
        kinds, choices = frozenset({"choice" if listed_choices else "integer"}), listed_choices
    if kind == "union":
        kinds = frozenset({"union"})
    elif kind == "tagged-union":
        kinds, choices = frozenset({"object"}), tuple(node["choices"])
        optional_tags = node.get("metadata", {}).get(TAGS, ())
        tags = optional_tags or tag_names(node["discriminator"])
    elif kind in ("literal", "enum"):
        choices = tuple(choices_of(node).values)
    elif (
        kind == "tuple" and node.get("variadic_item_index") == 0 and len(node["items_schema"]) == 1
    ):
        kinds = frozenset({"array", "list"})
    return Expected(
        location=location,
        kinds=kinds,
        choices=choices,
        nullable=unwrapped.nullable or kind == "none",
        has_default=unwrapped.has_default,
        strict=unwrapped.strict,
        switched=switched,
        fields=lambda: [name for name, _ in named_fields(node)],
        tags=tags,
        has_optional_tag=kind == "tagged-union" and TAGS in node.get("metadata", {}),
        branches=branches,
    )


def _unwrap(node: Node, definitions: Definitions, config: Node | None) -> _Unwrapped:
    """Follow the wrappers of a node inwards, and collect what they set."""
    # The config of a class is for its fields; the one around it decides about the class itself. Of
    # a chain only the first step gets what the model wrote.
    unwrapped = _Unwrapped(config)
    # Until a lax-or-strict node: inside such a node, pydantic sets ``strict``, not the author.
    is_authors = True
    while True:
        kind = node["type"]
        unwrapped.strict = unwrapped.strict or (is_authors and node.get("strict") is True)
        unwrapped.switched |= node.get("metadata", {}).get(COERCE, {})
        unwrapped.nullable = unwrapped.nullable or kind == "nullable"
        unwrapped.default = (
            node if unwrapped.default is None and kind == "default" else unwrapped.default
        )
        unwrapped.has_default = (
            unwrapped.has_default or kind == "default" or node.get("required") is False
        )
        around = unwrapped.config
        if kind in ("model", "dataclass", "typed-dict"):
            unwrapped.config = node.get("config", unwrapped.config)
        is_authors = is_authors and kind != "lax-or-strict"
        unwrapped.is_behind_code = unwrapped.is_behind_code or (
            kind in ("function-before", "function-wrap") and is_authors_code(node)
        )
        if kind == "chain":
            inner = node["steps"][0]
        else:
            inner = inner_node(node, definitions)
        if inner is None:
            unwrapped.strict = unwrapped.strict or (is_authors and _is_strict_by(around, node))
            if kind == "str" and takes_numbers(node, around) is False:
                unwrapped.switched = {**unwrapped.switched, "text_from_integer": False}
            unwrapped.node = (
                {**node, "schema": _inmost(node["schema"])}
                if kind in ("model", "dataclass")
                else node
            )
            return unwrapped
        node = inner


def _is_strict_by(config: Node | None, node: Node) -> bool:
    """Whether the config around a node makes it strict: the author says so
    for all that it holds at once.
    """
    is_said = node.get("strict") is not None or node["type"] == "tagged-union"
    return not is_said and bool((config or {}).get("strict"))


def _inmost(node: Node) -> Node:
    """Return the node inside a model's validators that holds the fields."""
    while node["type"] in TRANSPARENT:
        node = node["schema"]
    return node


def _child_node(node: Node, step: int | str) -> Node | None:
    kind = node["type"]
    if kind in ("model", "dataclass"):
        return _child_node(node["schema"], step)
    if kind in ("model-fields", "typed-dict", "dataclass-args", "named-tuple", "call", "arguments"):
        fields_by_name = node.get("fields")
        if (
            isinstance(fields_by_name, Mapping)
            and step in fields_by_name
            and _input_name(str(step), fields_by_name[step]) == step
        ):
            return fields_by_name[step]  # type: ignore[no-any-return]
        fields = named_fields(node)
        if isinstance(step, int):
            if step < len(fields):
                return fields[step][1]
            return None
        named_field = next(
            (field for name, field in fields if name == step), None
        ) or _by_another_name(node, step)
        return named_field or node.get("extras_schema")
    return _item(node, step)


def _item(node: Node, step: int | str) -> Node | None:
    """Return the schema for an item of an array or a value of a map."""
    if node["type"] in MAPS:
        return node.get("values_schema") if isinstance(step, str) else None
    items = node.get("items_schema")
    if isinstance(step, str):
        return None
    if node["type"] != "tuple" or items is None:
        return items
    variadic_index = node.get("variadic_item_index")
    position = step if variadic_index is None else min(step, variadic_index)
    return items[position] if position < len(items) else None


def named_fields(node: Node) -> list[tuple[str, Node]]:
    """Return the fields of a node, under the names that a language model writes."""
    if node["type"] in ("model", "dataclass"):
        return named_fields(node["schema"])
    if node["type"] == "call":
        return named_fields(node["arguments_schema"])
    if node["type"] == "arguments":
        return [
            (argument.get("alias", argument["name"]), argument["schema"])
            for argument in node["arguments_schema"]
        ]
    fields = node.get("fields", ())
    named = (
        fields.items()
        if isinstance(fields, Mapping)
        else [(field["name"], field) for field in fields]
    )
    return [(_input_name(name, field), field) for name, field in named]


def _by_another_name(node: Node, step: str) -> Node | None:
    """Return the field that has ``step`` as its Python name or as one of several aliases."""
    fields = node.get("fields", {})
    items = (
        fields.items()
        if isinstance(fields, Mapping)
        else [(field["name"], field) for field in fields]
    )
    return next((field for name, field in items if name == step or [step] in _paths(field)), None)


def _paths(field: Node) -> list[Any]:
    paths = field.get("validation_alias", ())
    if isinstance(paths, list):
        return list(paths)
    return []


def _input_name(name: str, field: Node) -> str:
    alias = field.get("validation_alias", name)
    if isinstance(alias, str):
        return alias
    return next(
        (path[0] for path in _paths(field) if isinstance(path, list) and len(path) == 1), name
    )
