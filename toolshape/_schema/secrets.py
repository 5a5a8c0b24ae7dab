"""Knows the places of a value that a schema marks as secret: masks them, drops defaults."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from toolshape._records.calls import JsonSchema
from toolshape._schema.keywords import BY_NAME, HOLDS_SCHEMAS, UNIONS, keywords
from toolshape._schema.places import (
    MOST_PLACES,
    Location,
    expanded,
    is_scalar,
    is_secret,
    nodes_at,
    nodes_at_steps,
)
from toolshape._schema.references import definition_name, resolver

MASKED = "[hidden]"
"""The text that is shown in place of a value that may be secret."""
_DEEPEST = 16


def without_secret_defaults(schema: JsonSchema) -> JsonSchema:
    """Return the schema without defaults that contain secrets; unchanged
    parts are shared with the original.
    """
    cleaned: JsonSchema = _clean(schema, schema.get("$defs", {}))
    return cleaned


def _clean(node: Any, definitions: JsonSchema) -> Any:
    if isinstance(node, list):
        items = [_clean(item, definitions) for item in node]
        if all(new is old for new, old in zip(items, node, strict=True)):
            return node
        return items
    if not isinstance(node, dict):
        return node
    changed = {
        key: new
        for key, value in node.items()
        if (new := _clean_keyword(key, value, definitions)) is not value
    }
    cleaned = {**node, **changed} if changed else node
    if "default" in node and _holds_secret(node["default"], node, definitions, _DEEPEST):
        return {key: value for key, value in cleaned.items() if key != "default"}
    return cleaned


def _clean_keyword(keyword: str, value: Any, definitions: JsonSchema) -> Any:
    if keyword not in HOLDS_SCHEMAS:
        return value
    if keyword not in BY_NAME or not isinstance(value, dict):
        return _clean(value, definitions)
    cleaned = {name: _clean(inner, definitions) for name, inner in value.items()}
    if all(cleaned[name] is inner for name, inner in value.items()):
        return value
    return cleaned


def _holds_secret(value: Any, node: Any, definitions: JsonSchema, depth: int) -> bool:
    """Whether a part of the value may be at a place that the schema marks as secret.

    It also returns true if the value is nested too deeply to search.
    """
    if is_secret(node) or not depth:
        return True
    if not isinstance(node, dict):
        return False
    if any(keyword in node and _is_marked_in(node[keyword]) for keyword in _LOOKED_THROUGH):
        return True
    return any(
        _holds_secret(part, inner, definitions, depth - 1)
        for part, inner in _inside(value, node, definitions)
    )


_LOOKED_THROUGH = (*keywords("constrains", "content"), "patternProperties", "propertyNames")


def _is_marked_in(node: Any) -> bool:
    """Whether any part of a subschema is marked as secret; used if the subschema
    may describe any part of a value.
    """
    if isinstance(node, dict):
        return is_secret(node) or any(map(_is_marked_in, node.values()))
    if isinstance(node, list):
        return any(map(_is_marked_in, node))
    return False


def _inside(value: Any, node: JsonSchema, definitions: JsonSchema) -> Iterator[tuple[Any, Any]]:
    """Yield the parts of a value with their schemas; for a reference or a
    branch, the part is the whole value.
    """
    if isinstance(node.get("$ref"), str):
        yield value, definitions.get(definition_name(node["$ref"]))
    for keyword in UNIONS:
        for branch in node.get(keyword, ()):
            yield value, branch
    if isinstance(value, dict):
        properties = node.get("properties", {})
        for key, item in value.items():
            yield item, properties.get(key, node.get("additionalProperties"))
    if isinstance(value, list):
        prefix = node.get("prefixItems", [])
        for index, item in enumerate(value):
            yield item, prefix[index] if index < len(prefix) else node.get("items")


class Secrets:
    """Finds the places in a value that may hold a secret, according to a schema.

    Such a place is marked as ``writeOnly`` or as a password, or contains a place that is marked.
    """

    def __init__(self, schema: JsonSchema, *, hides_all: bool = False) -> None:
        """Read a schema.

        Args:
            schema: The schema.
            hides_all: Whether a secret is known to be there although the schema marks none: then
                every value may be it.
        """
        self.schema = schema
        text = json.dumps(schema, default=str)
        is_marked = '"writeOnly": true' in text or '"format": "password"' in text
        self.hides_all = hides_all and not is_marked
        self.are_there = is_marked or hides_all

    def may_be_at(self, location: Location) -> bool:
        """Return whether a value must be hidden: if the schema has any secret, only
        unmarked scalars may be shown.
        """
        if not self.are_there or self.hides_all:
            return self.are_there
        nodes_along = self._nodes_along(location)
        # Nodes beyond the limit may be secret.
        if any(len(nodes) >= MOST_PLACES for nodes in nodes_along):
            return True
        described = nodes_at(self.schema, location)
        return (
            not described or any(map(_is_marked, nodes_along)) or not all(map(is_scalar, described))
        )

    def shows(self, value: Any, location: Location) -> bool:
        """Return whether a value that was found at a location may be shown,
        whatever the schema expects there.
        """
        is_misplaced = self.are_there and isinstance(value, (dict, list))
        return not is_misplaced and not self.may_be_at(location)

    def marks(self, location: Location) -> bool:
        """Return whether the schema marks the value at a location as secret, as a whole."""
        if self.hides_all:
            return bool(location)
        return _is_marked(self._nodes_along(location)[-1])

    def _nodes_along(self, location: Location) -> list[list[JsonSchema]]:
        return nodes_at_steps(self.schema, location, looks_everywhere=True)

    def hides_keys(self, location: Location) -> bool:
        """Return whether the names of the fields of an object at a location may be secret.

        That is so if the schema says it of the names, or describes no such place: what lies there
        may be misplaced.
        """
        if not self.are_there or self.hides_all:
            return self.hides_all and bool(location)
        nodes = self._nodes_along(location)[-1]
        resolve = resolver(self.schema)
        return not nodes or any(
            _is_marked(expanded(node["propertyNames"], resolve))
            for node in nodes
            if "propertyNames" in node
        )

    def visible(self, location: Location) -> Location:
        """Cut a location off after the first secret step, because the keys inside
        a secret object are secret too.
        """
        if not self.are_there or self.hides_all:
            if self.hides_all:
                return location[:1]
            return location
        for step_count, step in enumerate(location):
            if isinstance(step, str) and self.hides_keys(location[:step_count]):
                location = location[:step_count]
                break
        nodes_along = self._nodes_along(location)
        return next(
            (
                location[:step_count]
                for step_count, nodes in enumerate(nodes_along)
                if any(map(is_secret, nodes))
            ),
            location,
        )

    def masked(self, value: Any, location: Location = ()) -> Any:
        """Return a copy of a value in which ``MASKED`` replaces each part that may be secret."""
        if not self.are_there:
            return value
        if isinstance(value, (dict, list)) and any(map(_is_marked, self._nodes_along(location))):
            return MASKED  # the whole object or array is secret
        if isinstance(value, dict):
            hides_keys = self.hides_keys(location)
            return {
                f"{MASKED} {number}" if hides_keys else name: self.masked(item, (*location, name))
                for number, (name, item) in enumerate(value.items(), 1)
            }
        if isinstance(value, list):
            return [self.masked(item, (*location, number)) for number, item in enumerate(value)]
        if self.may_be_at(location):
            return MASKED
        return value


def _is_marked(nodes: Iterable[JsonSchema]) -> bool:
    return any(map(is_secret, nodes))
