"""A tagged union in, one whose tag may be left out where its schema says so out."""

from collections.abc import Iterable, Mapping
from typing import Any

from toolshape.cores import TAGS, Definitions, Node, inside

__all__ = ["tag_names", "with_optional_tag"]


def with_optional_tag(node: Node, definitions: Definitions) -> Node:
    """A tagged union some of whose tags have a default: left out, the only branch is meant that has all the other fields.

    pydantic wants the tag in any case; its schema says that it may be left out.
    """
    names = tag_names(node["discriminator"])
    branches = {tag: _fields_of(branch, definitions) for tag, branch in node["choices"].items()}
    optional = {
        tag: {name: is_required for name, is_required in fields.items() if name not in names}
        for tag, fields in branches.items()
        if fields and not any(fields.get(name) for name in names)
    }
    if not names or not optional:
        return node

    def tag_of(value: Any) -> Any:
        if not isinstance(value, dict):
            return next((found for name in names if (found := getattr(value, name, None)) is not None), None)
        if given := [name for name in names if name in value]:
            return value[given[0]]
        fitting = [tag for tag, fields in optional.items() if _has_the_fields(value, fields)]
        return fitting[0] if len(fitting) == 1 else None

    return {**node, "discriminator": tag_of, "metadata": {**node.get("metadata", {}), TAGS: names}}


def tag_names(discriminator: Any) -> tuple[str, ...]:
    """The names of the field that tells branches apart; with an alias, they are paths, its own name first."""
    if isinstance(discriminator, list):
        return tuple(path[0] for path in discriminator if len(path) == 1 and isinstance(path[0], str))
    return (discriminator,) if isinstance(discriminator, str) else ()


_OPEN = "*"


def _fields_of(node: Node, definitions: Definitions) -> dict[str, bool]:
    """The fields of an object by all their names, and whether each is required; ``_OPEN`` where it takes any other."""
    config: Node = {}
    while node["type"] not in ("model-fields", "dataclass-args", "typed-dict"):
        config = node.get("config", config)
        inner = node.get("schema") if node["type"] in ("model", "dataclass") else inside(node, definitions)
        if inner is None:
            return {}
        node = inner
    listed: Iterable[Any] = (
        node["fields"].items()
        if isinstance(node["fields"], Mapping)
        else [(one["name"], one) for one in node["fields"]]
    )
    found = {_OPEN: False} if config.get("extra_fields_behavior") in ("allow", "ignore") else {}
    for name, field in listed:
        alias = field.get("validation_alias", name)
        is_required = (
            field.get("required", field["schema"]["type"] != "default") and field["schema"]["type"] != "default"
        )
        found[alias if isinstance(alias, str) else name] = is_required
    return found


def _has_the_fields(value: dict[str, Any], fields: Mapping[str, bool]) -> bool:
    is_known = _OPEN in fields or value.keys() <= fields.keys()
    return is_known and all(name in value for name, is_required in fields.items() if is_required)
