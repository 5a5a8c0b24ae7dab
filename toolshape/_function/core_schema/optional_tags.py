"""Lets a discriminated union choose its branch even if the tag is omitted."""

import enum
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from toolshape._function.core_schema.enum_values import choices_of
from toolshape._function.core_schema.nodes import MAPS, TAGS, WRAPPER, Definitions, Node, inner_node


def with_optional_tag(node: Node, definitions: Definitions) -> Node:
    """Let a tagged union choose the only branch that matches the fields if a
    tag with a default is omitted.

    pydantic always requires the tag, although the JSON Schema that pydantic generates makes it
    optional.
    """
    names = tag_names(node["discriminator"])
    choices = {_json_of(tag): branch for tag, branch in node["choices"].items()}
    node = node if choices.keys() == node["choices"].keys() else {**node, "choices": choices}
    objects_by_tag = {
        tag: _fields_without_tag(branch, names, definitions) for tag, branch in choices.items()
    }
    # A null tag would look like an omitted tag.
    if not names or not any(objects_by_tag.values()) or None in choices:
        return node

    # If the tag is omitted, a branch is chosen only if it alone fits. A branch is a candidate if
    # the value has every field that the branch requires. Candidates that match the types of all the
    # value's fields come first. If there are none, the candidates that declare most of the value's
    # fields come next, so pydantic reports the errors of the likely branch.
    def tag_of(value: Any) -> Any:
        if not isinstance(value, dict):
            return next(
                (tag for name in names if (tag := getattr(value, name, None)) is not None), None
            )
        if present_names := [name for name in names if name in value]:
            return value[present_names[0]]
        candidates = [
            (tag, fields)
            for tag, objects in objects_by_tag.items()
            for fields in objects
            if _requires_no_more(value, fields)
        ]
        fitting_tags = [
            tag for tag, fields in candidates if _fits(value, fields, definitions)
        ] or _nearest_tags(value, candidates)
        # Two tags may name one branch.
        fitting_branches = {id(choices[tag]) for tag in fitting_tags}
        if len(fitting_branches) == 1:
            return fitting_tags[0]
        return None

    return {**node, "discriminator": tag_of, "metadata": {**node.get("metadata", {}), TAGS: names}}


def _json_of(tag: Any) -> Any:
    """Return a tag's JSON value: pydantic cannot match an enum member that is
    neither a string nor an integer.
    """
    if isinstance(tag, enum.Enum) and not isinstance(tag, (str, int)):
        return tag.value
    return tag


_Fields: TypeAlias = Mapping[str, tuple[bool, Node]]
"""Maps a field's JSON name to whether the field is required, and its node.

``_OPEN`` as a name admits other fields.
"""


def _fields_without_tag(
    branch: Node, names: tuple[str, ...], definitions: Definitions
) -> list[_Fields]:
    """Return the fields, except the tag, of each object that a branch admits without a tag."""
    objects = _fields_of_each_object(branch, definitions)
    return [
        {name: field for name, field in fields.items() if name not in names}
        for fields in objects
        if not any(fields[name][0] for name in names if name in fields)
    ]


def tag_names(discriminator: Any) -> tuple[str, ...]:
    """Return the names of the discriminator field.

    If the field has an alias, pydantic gives a list of paths. The first path is the field's own
    name.
    """
    if isinstance(discriminator, list):
        return tuple(
            path[0] for path in discriminator if len(path) == 1 and isinstance(path[0], str)
        )
    if isinstance(discriminator, str):
        return (discriminator,)
    return ()


_OPEN = "*"
_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "float": (int, float), "bool": (bool,), "none": (type(None),),
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "named-tuple"), (list,)),
    **dict.fromkeys((*MAPS, "model", "dataclass", "typed-dict", "tagged-union"), (dict,)),
}  # fmt: skip


def _fields_of_each_object(
    node: Node, definitions: Definitions
) -> list[dict[str, tuple[bool, Node]]]:
    """Return the fields of each object that a node admits."""
    # Validators, defaults and references may lie around the fields in any number, so the walk goes
    # down to the node that lists them. A model that takes further fields has one more, ``_OPEN``: a
    # tag may come as one of these.
    config: Node = {}
    while node["type"] not in ("model-fields", "dataclass-args", "typed-dict"):
        if node["type"] == "tagged-union" and WRAPPER not in node["choices"]:
            return [
                fields
                for branch in node["choices"].values()
                for fields in _fields_of_each_object(branch, definitions)
            ]
        config = node.get("config", config)
        if node["type"] in ("model", "dataclass"):
            inner = node.get("schema")
        else:
            inner = inner_node(node, definitions)
        if inner is None:
            return []
        node = inner
    is_mapping = isinstance(node["fields"], Mapping)
    if is_mapping:
        listed_fields: Iterable[Any] = node["fields"].items()
    else:
        listed_fields = [(field["name"], field) for field in node["fields"]]
    if config.get("extra_fields_behavior") in ("allow", "ignore"):
        fields_by_name = {_OPEN: (False, node)}
    else:
        fields_by_name = {}
    for name, field in listed_fields:
        alias = field.get("validation_alias", name)
        has_default = field["schema"]["type"] == "default"
        fields_by_name[alias if isinstance(alias, str) else name] = (
            not has_default and field.get("required", True),
            field["schema"],
        )
    return [fields_by_name]


def _nearest_tags(value: dict[str, Any], ways: list[tuple[Any, _Fields]]) -> list[Any]:
    """Return the tags of the branches for which the fewest fields of a value are unknown."""
    unknown_counts = [(len(value.keys() - fields.keys()), tag) for tag, fields in ways]
    return [
        tag
        for count, tag in unknown_counts
        if count == min(unknown_counts, key=lambda pair: pair[0])[0]
    ]


def _requires_no_more(value: dict[str, Any], fields: _Fields) -> bool:
    return all(name in value for name, (is_required, _) in fields.items() if is_required)


def _fits(value: dict[str, Any], fields: _Fields, definitions: Definitions) -> bool:
    is_known = _OPEN in fields or value.keys() <= fields.keys()
    return is_known and all(
        _may_match(item, fields[name][1], definitions)
        for name, item in value.items()
        if name in fields
    )


def _may_match(value: Any, node: Node, definitions: Definitions) -> bool:
    """Whether a value may have the JSON type of a node; the contents of the value are not
    checked.
    """
    while node["type"] not in _TYPES:
        if node["type"] in ("literal", "enum"):
            return any(
                type(value) is type(choice) and value == choice
                for choice in choices_of(node).values
            )
        if value is None and node["type"] == "nullable":
            return True
        inner = inner_node(node, definitions)
        if inner is None:
            return True
        node = inner
    kinds = _TYPES[node["type"]]
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
