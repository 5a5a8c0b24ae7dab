"""A JSON Schema in; a function that says of most values that it admits, and of no others, that they are admitted, out.

A full validator takes fifty times as long. Whatever this does not know, in a schema or in a value, is left to that.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from toolshape._calls import JsonSchema

Admits: TypeAlias = Callable[[Any], bool]
"""``True``: the schema admits the value. ``False``: nothing is known."""
_SAYS_NOTHING = frozenset({"$comment", "$schema", "default", "deprecated", "description", "examples", "title"})
_LOOKED_AT = frozenset(
    {"$defs", "$ref", "additionalProperties", "anyOf", "enum", "items", "properties", "required", "type"}
)
_TYPES: Mapping[str, Admits] = {
    "string": lambda value: type(value) is str,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) is int or (type(value) is float and math.isfinite(value)),
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
}


def compile_quick_check(schema: JsonSchema) -> Admits | None:
    """Compile the check; ``None`` where the schema has a keyword that it does not know."""
    try:
        return _compiled(schema, schema.get("$defs", {}), {})
    except (_UnknownError, RecursionError):
        return None


class _UnknownError(Exception):
    """The schema says something that is not looked at."""


def _compiled(node: Any, definitions: Mapping[str, Any], known: dict[str, list[Admits]]) -> Admits:
    if node is True:
        return _is_json
    if not isinstance(node, dict) or node.keys() - _SAYS_NOTHING - _LOOKED_AT:
        raise _UnknownError
    checks: list[Admits] = []
    if "$ref" in node:
        checks.append(_reference(str(node["$ref"]), definitions, known))
    if "anyOf" in node:
        branches = [_compiled(one, definitions, known) for one in node["anyOf"]]
        checks.append(lambda value: any(branch(value) for branch in branches))
    if "enum" in node:
        if not all(type(one) is str for one in node["enum"]):  # 1 and True are equal to Python
            raise _UnknownError
        words = frozenset(node["enum"])
        checks.append(lambda value: type(value) is str and value in words)
    if "type" in node:
        checks.append(_of_type(node, definitions, known))
    elif node.keys() & {"properties", "required", "additionalProperties", "items"}:
        raise _UnknownError
    if not checks:
        return _is_json
    return checks[0] if len(checks) == 1 else lambda value: all(check(value) for check in checks)


def _reference(ref: str, definitions: Mapping[str, Any], known: dict[str, list[Admits]]) -> Admits:
    """The check of a definition, which may be inside of itself."""
    name = ref.removeprefix("#/$defs/")
    if ref == name or name not in definitions or "/" in name or "~" in name or "%" in name:
        raise _UnknownError
    if name not in known:
        known[name] = []
        known[name].append(_compiled(definitions[name], definitions, known))
    found = known[name]
    return lambda value: found[0](value)  # noqa: PLW0108 - it may not be there yet


def _of_type(node: JsonSchema, definitions: Mapping[str, Any], known: dict[str, list[Admits]]) -> Admits:
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    if any(kind not in _TYPES for kind in kinds):
        raise _UnknownError
    made = {
        kind: _object(node, definitions, known)
        if kind == "object"
        else _array(node, definitions, known)
        if kind == "array"
        else _TYPES[kind]
        for kind in kinds
    }
    found = list(made.values())
    return found[0] if len(found) == 1 else lambda value: any(check(value) for check in found)


def _array(node: JsonSchema, definitions: Mapping[str, Any], known: dict[str, list[Admits]]) -> Admits:
    item = _compiled(node.get("items", True), definitions, known)
    return lambda value: type(value) is list and all(map(item, value))


def _object(node: JsonSchema, definitions: Mapping[str, Any], known: dict[str, list[Admits]]) -> Admits:
    inner = {name: _compiled(one, definitions, known) for name, one in node.get("properties", {}).items()}
    required = frozenset(node.get("required", ()))
    others = node.get("additionalProperties", True)
    other = None if others is False else _compiled(others, definitions, known)

    def admits(value: Any) -> bool:
        if type(value) is not dict or not required <= value.keys():
            return False
        for name, one in value.items():
            check = inner.get(name, other)
            if check is None or not check(one):
                return False
        return True

    return admits


def _is_json(value: Any) -> bool:
    """Whether a value without a schema is JSON that can be sent: every number of it is finite."""
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is dict:
        return all(map(_is_json, value.values()))
    return type(value) is not list or all(map(_is_json, value))
