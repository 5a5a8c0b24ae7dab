"""Takes out of a schema what only responses have: fields that are read-only.

Such a field may be marked where it stands or behind references, in one part of an ``allOf``, and be
required by another part, by a branch or by another field. So each object is looked at with
everything that speaks of it, and nothing is taken out before all have been seen.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from toolshape._records.calls import JsonObject
from toolshape._records.errors import ToolError
from toolshape._schema.keywords import BY_NAME

_DATA = ("const", "default", "enum", "example", "examples")
_BRANCHES = ("anyOf", "oneOf", "if", "then", "else", "not")

_Names: TypeAlias = dict[int, set[str]]
"""Names by the ``id()`` of the schema that they are told of."""


class ReadOnly(NamedTuple):
    """The schema of all arguments, and its read-only fields, by the ``id()`` of an object's schema.

    A part of several objects has only those that it marks itself.
    """

    schema: JsonObject
    names: Mapping[int, Collection[str]]


def drop_read_only(schema: JsonObject) -> ReadOnly:
    """Take the read-only fields out of the arguments of a schema, in place.

    Args:
        schema: The schema of all arguments, whose references lead to its own ``$defs``.
    """
    # A mark holds for whatever has the marked schema as a part, and so do the names of an object's
    # fields. What is gone from an object is gone from each part and branch that speaks of it, and
    # nothing of a branch from the object: a field that one branch marks may be another's to
    # require.
    definitions = schema.get("$defs", {})
    nodes = {id(node): node for node in _schemas_of(schema.get("properties"), definitions)}
    parts = {key: list(map(id, _parts(node, definitions))) for key, node in nodes.items()}
    wholes = dict[int, list[int]]()
    for key, inner in parts.items():
        for part in inner:
            wholes.setdefault(part, []).append(key)
    marked = _spread(
        {key: {"readOnly"} for key, node in nodes.items() if node.get("readOnly") is True}, wholes
    )
    own = {key: _names_of(node, marked) for key, node in nodes.items()}
    branches = {key: [*parts[key], *_branches(node)] for key, node in nodes.items()}
    marks = _spread(own, wholes)
    for key, gone in _spread(marks, branches).items():
        if key in nodes:
            _take_out(nodes[key], gone)
    return ReadOnly(schema, marks)


def refuse_read_only(read_only: ReadOnly, arguments: JsonObject) -> None:
    """Check that no field is given that was taken out, which would be sent as one of any name.

    Raises:
        ToolError: One is.
    """
    # Only what holds for an object whatever else is in it, since of a branch it is not known
    # whether it is meant; null beside one schema is no other branch.
    definitions = read_only.schema.get("$defs", {})
    pending: list[tuple[Any, Any]] = [(read_only.schema, arguments)]
    seen = set[tuple[int, int]]()
    while pending:
        node, value = pending.pop()
        if not isinstance(node, dict) or (id(node), id(value)) in seen:
            continue
        seen.add((id(node), id(value)))
        pending += [(part, value) for part in _parts(node, definitions)]
        for keyword in ("anyOf", "oneOf"):
            branches = [each for each in _list(node.get(keyword)) if each != {"type": "null"}]
            pending += [(branch, value) for branch in branches if len(branches) == 1]
        if isinstance(value, list):
            pending += [(node.get("items"), item) for item in value]
        elif isinstance(value, dict):
            for name in value.keys() & read_only.names.get(id(node), ()):
                raise ToolError(f"{name} is read-only, which cannot be sent: leave it out")
            properties, others = node.get("properties"), node.get("additionalProperties")
            known = properties if isinstance(properties, dict) else {}
            pending += [(known.get(name, others), inner) for name, inner in value.items()]


def _spread(names: _Names, arrows: Mapping[int, Iterable[int]]) -> _Names:
    """Return the names with those that arrive along the arrows; each passes an arrow once."""
    found: _Names = {}
    pending = list(names.items())
    while pending:
        key, given = pending.pop()
        known = found.setdefault(key, set())
        new = given - known
        if new:
            known |= new
            pending += [(other, new) for other in arrows.get(key, ())]
    return found


def _parts(node: JsonObject, definitions: JsonObject) -> Iterator[Any]:
    """Yield what holds wherever a schema holds."""
    if "$ref" in node:
        name = str(node["$ref"]).rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        yield definitions.get(name)
    yield from _list(node.get("allOf"))


def _branches(node: JsonObject) -> Iterator[int]:
    """Yield the ``id()`` of what may speak of the object of a schema, if it holds."""
    for keyword in _BRANCHES:
        value = node.get(keyword)
        yield from map(id, value if isinstance(value, list) else [value])


def _names_of(node: JsonObject, marked: _Names) -> set[str]:
    properties = node.get("properties")
    if not isinstance(properties, dict):
        return set()
    return {name for name, inner in properties.items() if id(inner) in marked}


def _take_out(node: JsonObject, gone: set[str]) -> None:
    """Let an object neither have the fields that are gone nor require one."""
    properties, dependent = node.get("properties"), node.get("dependentRequired")
    if isinstance(properties, dict):
        for name in gone:
            properties.pop(name, None)
    if isinstance(node.get("required"), list):
        node["required"] = _without(node["required"], gone)
    if isinstance(dependent, dict):
        node["dependentRequired"] = {
            name: _without(needed, gone)
            for name, needed in dependent.items()
            if isinstance(needed, list)
        }


def _without(names: list[Any], gone: set[str]) -> list[Any]:
    return [name for name in names if not (isinstance(name, str) and name in gone)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _schemas_of(*holders: Any) -> Iterator[JsonObject]:
    """Yield the schemas under names, and those inside them.

    Data is no schema, and a field may be called like a keyword.
    """
    pending: list[tuple[Any, bool]] = [(holder, True) for holder in holders]
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
