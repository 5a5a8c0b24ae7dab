"""Detects schemas whose validation may take exponential time, and values too deep to validate against them."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolshape._calls import JsonSchema
from toolshape._schema.recursion import recursive_groups
from toolshape._schema.references import references

if TYPE_CHECKING:
    from toolshape._schema.lens import Change, Place

DEEPEST = 12
"""The maximum depth of a value if its schema may backtrack: each level doubles a validator's work."""


def may_backtrack(schema: JsonSchema) -> bool:
    """Whether a recursive definition contains a union of several objects, or of several arrays."""
    definitions = schema.get("$defs", {})
    inside = recursive_groups(definitions).keys()
    if not inside:
        return False
    found: list[str] = []

    def look(node: JsonSchema, at: "Place") -> "Change | None":
        branches = [at.resolve(branch) for branch in (*node.get("anyOf", ()), *node.get("oneOf", ()))]
        recursive = [branch for branch in branches if isinstance(branch, dict) and references(branch) & inside]
        kinds = [branch.get("type") for branch in recursive]
        found.extend(at.path for kind in ("object", "array") if kinds.count(kind) > 1)
        return None

    from toolshape._schema.walk import everywhere  # noqa: PLC0415 - few schemas contain themselves

    everywhere(look, constraints=True)(schema)
    return bool(found)


_LONGEST_AND_DEEPEST = 2_000_000
"""The limit for length times depth: a recursive union validates rejected parts once more at each level."""


def unions_recur(schema: JsonSchema) -> bool:
    """Whether a recursive definition contains a union."""
    definitions = schema.get("$defs", {})
    groups = recursive_groups(definitions)
    return any('"anyOf"' in text or '"oneOf"' in text for text in (json.dumps(definitions[name]) for name in groups))


def is_too_deep(text: str | bytes, value: Callable[[], Any]) -> bool:
    """Whether a text is too deeply nested for its length, given a schema with recursive unions.

    Args:
        text: The JSON text.
        value: Returns the parsed text. It is called only if the number of brackets leaves the answer open.
    """
    opened = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    return len(text) * opened > _LONGEST_AND_DEEPEST and len(text) * depth_of(value()) > _LONGEST_AND_DEEPEST


def depth_of(value: Any) -> int:
    """Return the nesting depth of a JSON value."""
    level, depth = [value], 0
    while level := [
        inner
        for item in level
        if isinstance(item, (dict, list))
        for inner in (item.values() if isinstance(item, dict) else item)
    ]:
        depth += 1
    return depth
