"""Whether a value may be tried twice at each of its levels: where branches of a union contain the union again."""

from typing import Any

from toolshape.calls import JsonSchema
from toolshape.lens import Change, Place, everywhere, references

__all__ = ["DEEPEST", "depth_of", "forks"]

DEEPEST = 12
"""How deep a value of a schema that forks may be nested: a validator tries twice as much with every level."""


def forks(schema: JsonSchema) -> bool:
    """Whether a schema has a union of several objects, or of several arrays, inside a definition that contains itself."""
    definitions = schema.get("$defs", {})
    inside = {name for name in definitions if name in _reached(name, definitions)}
    if not inside:
        return False
    found: list[str] = []

    def look(node: JsonSchema, at: Place) -> Change | None:
        branches = [at.resolve(branch) for branch in (*node.get("anyOf", ()), *node.get("oneOf", ()))]
        alike = [one for one in branches if isinstance(one, dict) and references(one) & inside]
        kinds = [one.get("type") for one in alike]
        found.extend(at.path for kind in ("object", "array") if kinds.count(kind) > 1)
        return None

    everywhere(look, constraints=True)(schema)
    return bool(found)


def _reached(name: str, definitions: JsonSchema) -> set[str]:
    """The definitions that one leads to."""
    reached: set[str] = set()
    waiting = references(definitions[name])
    while waiting:
        one = waiting.pop()
        if one not in reached and one in definitions:
            reached.add(one)
            waiting |= references(definitions[one])
    return reached


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
