"""Finds schemas whose validation may take exponential time, and values too deep for them."""

import json
from collections.abc import Callable
from typing import Any

from toolshape import _schema
from toolshape._records.calls import JsonSchema
from toolshape._schema.recursion import recursive_groups
from toolshape._schema.references import references

DEEPEST = 12
"""The maximum depth of a value if validation may backtrack: each level doubles a validator's work.
"""


def may_backtrack(schema: JsonSchema) -> bool:
    """Whether a union has two or more object branches, or array branches, that
    refer to recursive definitions.
    """
    definitions = schema.get("$defs", {})
    recursive_names = recursive_groups(definitions).keys()
    if not recursive_names:
        return False
    for node, at in _schema.walk.nodes_of(schema, constraints=True):
        branches = [
            at.resolve(branch) for branch in (*node.get("anyOf", ()), *node.get("oneOf", ()))
        ]
        recursive = [
            branch
            for branch in branches
            if isinstance(branch, dict) and references(branch) & recursive_names
        ]
        kinds = [branch.get("type") for branch in recursive]
        if kinds.count("object") > 1 or kinds.count("array") > 1:
            return True
    return False


_LONGEST_AND_DEEPEST = 2_000_000
"""The maximum of a JSON text's length times its depth: recursive unions validate
rejected parts again at each level.
"""


def unions_recur(schema: JsonSchema) -> bool:
    """Whether a recursive definition contains a union."""
    definitions = schema.get("$defs", {})
    groups = recursive_groups(definitions)
    return any(
        '"anyOf"' in text or '"oneOf"' in text
        for text in (json.dumps(definitions[name]) for name in groups)
    )


def is_too_deep(text: str | bytes, value: Callable[[], Any]) -> bool:
    """Whether JSON text is too deeply nested for its length, given a schema with recursive unions.

    Args:
        text: The JSON text.
        value: A function that returns the parsed text. It is called only if counting brackets is
            not enough.
    """
    if isinstance(text, str):
        opening_brackets = text.count("[") + text.count("{")
    else:
        opening_brackets = text.count(b"[") + text.count(b"{")
    return (
        len(text) * opening_brackets > _LONGEST_AND_DEEPEST
        and len(text) * depth_of(value()) > _LONGEST_AND_DEEPEST
    )


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
