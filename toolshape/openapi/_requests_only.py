"""Takes out of a schema what only responses have: fields that are read-only.

Such a field may be marked where it stands or behind references, in one part of an ``allOf``, and be
required by another part, by a branch or by another field. So each object is looked at with
everything that speaks of it, and nothing is taken out before all have been seen.
"""

from collections.abc import Iterator
from typing import Any

from toolshape._records.calls import JsonObject
from toolshape._schema.keywords import BY_NAME

_DATA = ("const", "default", "enum", "example", "examples")
_BRANCHES = ("anyOf", "oneOf")
_CONDITIONS = ("if", "then", "else", "not")
_DEEPEST = 20  # references and parts on the way to one field


def drop_read_only(schema: JsonObject) -> None:
    """Take the read-only fields out of the arguments of a schema, in place.

    Args:
        schema: The schema of all arguments, whose references lead to its own ``$defs``.
    """
    _Objects(schema.get("$defs", {})).drop(schema)


class _Objects:
    """The objects of one schema, and what is to be taken out of them."""

    def __init__(self, definitions: JsonObject) -> None:
        self.definitions = definitions
        self.gone: list[tuple[JsonObject, str]] = []
        self.seen: set[tuple[int, frozenset[str]]] = set()

    def drop(self, schema: JsonObject) -> None:
        roots = [schema.get("properties"), self.definitions]
        for holder in roots:
            for node in holder.values() if isinstance(holder, dict) else ():
                for inner in _schemas_in(node):
                    self.strip(inner, frozenset())
        for properties, name in self.gone:
            properties.pop(name, None)

    def strip(self, node: Any, inherited: frozenset[str]) -> None:
        """Let nothing that speaks of an object require a field that is gone."""
        # What holds for the object holds for each part and branch, and nothing of a branch for the
        # object: a field that one branch marks may be another's to require.
        node = self.target(node)
        if not node:
            return
        gone = inherited | self.read_only_names(node, 0)
        if not gone or (id(node), gone) in self.seen:
            return
        self.seen.add((id(node), gone))
        properties = node.get("properties")
        for name in gone & _names(properties):
            self.gone.append((properties, name))
        if isinstance(node.get("required"), list):
            node["required"] = [name for name in node["required"] if not _is_in(name, gone)]
        dependent = node.get("dependentRequired")
        if isinstance(dependent, dict):
            node["dependentRequired"] = {
                name: [each for each in needed if not _is_in(each, gone)]
                for name, needed in dependent.items()
                if isinstance(needed, list)
            }
        for keyword in ("allOf", *_BRANCHES):
            for part in _list(node.get(keyword)):
                self.strip(part, gone)
        for keyword in _CONDITIONS:
            self.strip(node.get(keyword), gone)

    def read_only_names(self, node: JsonObject, depth: int) -> frozenset[str]:
        """Return the names of the read-only fields of an object, also those of its parts."""
        properties = node.get("properties")
        found: set[str] = set()
        if isinstance(properties, dict):
            found |= {name for name, inner in properties.items() if self.is_read_only(inner, 0)}
        for part in _list(node.get("allOf")) if depth < _DEEPEST else ():
            found |= self.read_only_names(self.target(part), depth + 1)
        return frozenset(found)

    def is_read_only(self, node: Any, depth: int) -> bool:
        """Whether a field is marked, where it stands, behind references, or in a part."""
        if not isinstance(node, dict) or depth > _DEEPEST:
            return False
        if node.get("readOnly") is True:
            return True
        parts = _list(node.get("allOf"))
        if "$ref" in node:
            parts = [*parts, self.definitions.get(_name_of(node["$ref"]))]
        return any(self.is_read_only(part, depth + 1) for part in parts)

    def target(self, node: Any) -> JsonObject:
        """Return what a reference leads to; an empty schema if it leads nowhere."""
        for _ in range(_DEEPEST):
            if not isinstance(node, dict):
                break
            if "$ref" not in node:
                return node
            node = self.definitions.get(_name_of(node["$ref"]))
        return {}


def _name_of(reference: Any) -> str:
    return str(reference).rpartition("/")[2].replace("~1", "/").replace("~0", "~")


def _names(properties: Any) -> frozenset[str]:
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def _is_in(name: Any, names: frozenset[str]) -> bool:
    return isinstance(name, str) and name in names


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _schemas_in(node: Any) -> Iterator[JsonObject]:
    """Yield a schema and those inside it; data is none, and a field may be called like a keyword."""
    pending: list[tuple[Any, bool]] = [(node, False)]
    while pending:
        current, holds_by_name = pending.pop()
        if isinstance(current, dict):
            if not holds_by_name:
                yield current
            pending += [
                (inner, not holds_by_name and key in BY_NAME)
                for key, inner in current.items()
                if holds_by_name or key not in _DATA
            ]
        elif isinstance(current, list):
            pending += [(inner, False) for inner in current]
