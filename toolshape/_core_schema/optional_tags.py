"""Makes a discriminated union decide its branch even where the tag is left out."""

import enum
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from toolshape._core_schema.enum_values import choices_of
from toolshape._core_schema.nodes import MAPS, TAGS, WRAPPER, Definitions, Node, inside


def with_optional_tag(node: Node, definitions: Definitions) -> Node:
    """Let a tagged union choose the only branch that fits the fields, where a tag with a default is left out.

    pydantic requires the tag in any case, although its schema says that it may be left out.
    """
    names = tag_names(node["discriminator"])
    choices = {_json_of(tag): branch for tag, branch in node["choices"].items()}
    node = node if choices.keys() == node["choices"].keys() else {**node, "choices": choices}
    optional = {tag: _without_tag(branch, names, definitions) for tag, branch in choices.items()}
    if not names or not any(optional.values()) or None in choices:  # null may be a tag, or say that there is none
        return node

    def tag_of(value: Any) -> Any:
        if not isinstance(value, dict):
            return next((found for name in names if (found := getattr(value, name, None)) is not None), None)
        if given := [name for name in names if name in value]:
            return value[given[0]]
        ways = [
            (tag, fields) for tag, every in optional.items() for fields in every if _requires_no_more(value, fields)
        ]
        fitting = [tag for tag, fields in ways if _fits(value, fields, definitions)] or _nearest(value, ways)
        return fitting[0] if len(fitting) == 1 else None

    return {**node, "discriminator": tag_of, "metadata": {**node.get("metadata", {}), TAGS: names}}


def _json_of(tag: Any) -> Any:
    """A tag as its JSON value: pydantic cannot match a tag that is an enum member but no string or integer."""
    return tag.value if isinstance(tag, enum.Enum) and not isinstance(tag, (str, int)) else tag


_Fields: TypeAlias = Mapping[str, tuple[bool, Node]]
"""From the name that is sent to whether a field is required, and its node; ``_OPEN`` stands for any others."""


def _without_tag(branch: Node, names: tuple[str, ...], definitions: Definitions) -> list[_Fields]:
    """The fields beside the tag of each object that a branch admits without one."""
    every = _fields_of_each_object(branch, definitions)
    return [
        {name: field for name, field in fields.items() if name not in names}
        for fields in every
        if not any(fields[name][0] for name in names if name in fields)
    ]


def tag_names(discriminator: Any) -> tuple[str, ...]:
    """The names of the field that tells branches apart; with an alias, they are paths, its own name first."""
    if isinstance(discriminator, list):
        return tuple(path[0] for path in discriminator if len(path) == 1 and isinstance(path[0], str))
    return (discriminator,) if isinstance(discriminator, str) else ()


_OPEN = "*"
_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "float": (int, float), "bool": (bool,), "none": (type(None),),
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "named-tuple"), (list,)),
    **dict.fromkeys((*MAPS, "model", "dataclass", "typed-dict", "tagged-union"), (dict,)),
}  # fmt: skip


def _fields_of_each_object(node: Node, definitions: Definitions) -> list[dict[str, tuple[bool, Node]]]:
    """The fields of each object that a node admits."""
    config: Node = {}
    while node["type"] not in ("model-fields", "dataclass-args", "typed-dict"):
        if node["type"] == "tagged-union" and WRAPPER not in node["choices"]:
            return [
                found for branch in node["choices"].values() for found in _fields_of_each_object(branch, definitions)
            ]
        config = node.get("config", config)
        inner = node.get("schema") if node["type"] in ("model", "dataclass") else inside(node, definitions)
        if inner is None:
            return []
        node = inner
    is_mapping = isinstance(node["fields"], Mapping)
    listed: Iterable[Any] = node["fields"].items() if is_mapping else [(one["name"], one) for one in node["fields"]]
    found = {_OPEN: (False, node)} if config.get("extra_fields_behavior") in ("allow", "ignore") else {}
    for name, field in listed:
        alias = field.get("validation_alias", name)
        has_default = field["schema"]["type"] == "default"
        found[alias if isinstance(alias, str) else name] = (
            not has_default and field.get("required", True),
            field["schema"],
        )
    return [found]


def _nearest(value: dict[str, Any], ways: list[tuple[Any, _Fields]]) -> list[Any]:
    """The branches that leave the fewest fields of a value unknown; if it is only one, its errors are reported."""
    unknown = [(len(value.keys() - fields.keys()), tag) for tag, fields in ways]
    return [tag for count, tag in unknown if count == min(unknown, key=lambda pair: pair[0])[0]]


def _requires_no_more(value: dict[str, Any], fields: _Fields) -> bool:
    return all(name in value for name, (is_required, _) in fields.items() if is_required)


def _fits(value: dict[str, Any], fields: _Fields, definitions: Definitions) -> bool:
    is_known = _OPEN in fields or value.keys() <= fields.keys()
    return is_known and all(
        _may_be(item, fields[name][1], definitions) for name, item in value.items() if name in fields
    )


def _may_be(value: Any, node: Node, definitions: Definitions) -> bool:
    """Whether a value may be of the JSON type of a node, without looking inside."""
    while node["type"] not in _TYPES:
        if node["type"] in ("literal", "enum"):
            return any(type(value) is type(one) and value == one for one in choices_of(node).values)
        if value is None and node["type"] == "nullable":
            return True
        inner = inside(node, definitions)
        if inner is None:
            return True
        node = inner
    kinds = _TYPES[node["type"]]
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
