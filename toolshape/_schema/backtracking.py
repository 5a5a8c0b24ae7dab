"""Decides whether validation may take time exponential in depth, and which values are then too deep to validate."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolshape._calls import JsonSchema
from toolshape._schema.recursion import recursive_groups
from toolshape._schema.references import references

if TYPE_CHECKING:
    from toolshape._schema.lens import Change, Place

DEEPEST = 12
"""The most levels of a value whose schema may backtrack: each level doubles what a validator tries."""


def may_backtrack(schema: JsonSchema) -> bool:
    """Whether a schema has a union of several objects, or of several arrays, inside a definition that contains itself."""
    definitions = schema.get("$defs", {})
    inside = recursive_groups(definitions).keys()
    if not inside:
        return False
    found: list[str] = []

    def look(node: JsonSchema, at: "Place") -> "Change | None":
        branches = [at.resolve(branch) for branch in (*node.get("anyOf", ()), *node.get("oneOf", ()))]
        alike = [one for one in branches if isinstance(one, dict) and references(one) & inside]
        kinds = [one.get("type") for one in alike]
        found.extend(at.path for kind in ("object", "array") if kinds.count(kind) > 1)
        return None

    from toolshape._schema.walk import everywhere  # noqa: PLC0415 - few schemas contain themselves

    everywhere(look, constraints=True)(schema)
    return bool(found)


_LONGEST_AND_DEEPEST = 2_000_000
"""The limit for length times depth: a recursive union validates what it refuses once more at each level."""


def unions_recur(schema: JsonSchema) -> bool:
    """Whether a definition that contains itself has a union in it."""
    definitions = schema.get("$defs", {})
    groups = recursive_groups(definitions)
    return any('"anyOf"' in text or '"oneOf"' in text for text in (json.dumps(definitions[name]) for name in groups))


def is_too_deep(text: str | bytes, value: Callable[[], Any]) -> bool:
    """Whether a text is nested too deeply for its length, where unions contain themselves.

    Args:
        text: The text.
        value: Reads it.
    """
    opened = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    return len(text) * opened > _LONGEST_AND_DEEPEST and len(text) * depth_of(value()) > _LONGEST_AND_DEEPEST


def depth_of(value: Any) -> int:
    """How deep a JSON value is nested."""
    level, depth = [value], 0
    while level := [
        inner
        for one in level
        if isinstance(one, (dict, list))
        for inner in (one.values() if isinstance(one, dict) else one)
    ]:
        depth += 1
    return depth
