"""Compiles a fast validator that never accepts an invalid value, and may miss a valid one.

The full validator takes fifty times as long. It decides if this check does not support a keyword,
or returns false for a value.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from toolshape._records.calls import JsonSchema

AdmitsQuickly: TypeAlias = Callable[[Any], bool]
"""``True``: the schema admits the value. ``False``: the check cannot tell."""
_SAYS_NOTHING = frozenset(
    {"$comment", "$schema", "default", "deprecated", "description", "examples", "title"}
)
_LOOKED_AT = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "enum",
        "items",
        "properties",
        "required",
        "type",
    }
)
_TYPES: Mapping[str, AdmitsQuickly] = {
    "string": lambda value: type(value) is str,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) is int or (type(value) is float and math.isfinite(value)),
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
}


def compile_quick_check(schema: JsonSchema) -> AdmitsQuickly | None:
    """Compile the check, or return ``None`` if it does not support a keyword of the schema."""
    try:
        return _compile(schema, schema.get("$defs", {}), {})
    except (_UnknownError, RecursionError):
        return None


class _UnknownError(Exception):
    """The check does not support a part of the schema."""


def _compile(
    node: Any, definitions: Mapping[str, Any], known: dict[str, list[AdmitsQuickly]]
) -> AdmitsQuickly:
    if node is True:
        return _is_json
    if not isinstance(node, dict) or node.keys() - _SAYS_NOTHING - _LOOKED_AT:
        raise _UnknownError
    checks: list[AdmitsQuickly] = []
    if "$ref" in node:
        checks.append(_compile_reference(str(node["$ref"]), definitions, known))
    if "anyOf" in node:
        branches = [_compile(branch, definitions, known) for branch in node["anyOf"]]
        checks.append(lambda value: any(branch(value) for branch in branches))
    if "enum" in node:
        if not all(type(choice) is str for choice in node["enum"]):  # in Python, 1 == True
            raise _UnknownError
        allowed_strings = frozenset(node["enum"])
        checks.append(lambda value: type(value) is str and value in allowed_strings)
    if "type" in node:
        checks.append(_compile_type(node, definitions, known))
    elif node.keys() & {"properties", "required", "additionalProperties", "items"}:
        raise _UnknownError
    if not checks:
        return _is_json
    return checks[0] if len(checks) == 1 else lambda value: all(check(value) for check in checks)


def _compile_reference(
    ref: str, definitions: Mapping[str, Any], known: dict[str, list[AdmitsQuickly]]
) -> AdmitsQuickly:
    """Return the check for a definition, which may be recursive.

    The check is stored in a list and looked up when it runs. If the reference is recursive, the
    check is still being compiled at this point, but the list already exists.
    """
    name = ref.removeprefix("#/$defs/")
    if ref == name or name not in definitions or "/" in name or "~" in name or "%" in name:
        raise _UnknownError
    if name not in known:
        known[name] = []
        known[name].append(_compile(definitions[name], definitions, known))
    compiled = known[name]
    return lambda value: compiled[0](value)  # noqa: PLW0108 - the list may still be empty


def _compile_type(
    node: JsonSchema, definitions: Mapping[str, Any], known: dict[str, list[AdmitsQuickly]]
) -> AdmitsQuickly:
    if isinstance(node["type"], list):
        kinds = node["type"]
    else:
        kinds = [node["type"]]
    if any(kind not in _TYPES for kind in kinds):
        raise _UnknownError
    checks = [_compile_kind(kind, node, definitions, known) for kind in dict.fromkeys(kinds)]
    if len(checks) == 1:
        return checks[0]
    return lambda value: any(check(value) for check in checks)


def _compile_kind(
    kind: str,
    node: JsonSchema,
    definitions: Mapping[str, Any],
    known: dict[str, list[AdmitsQuickly]],
) -> AdmitsQuickly:
    if kind == "object":
        return _compile_object(node, definitions, known)
    if kind == "array":
        return _compile_array(node, definitions, known)
    return _TYPES[kind]


def _compile_array(
    node: JsonSchema, definitions: Mapping[str, Any], known: dict[str, list[AdmitsQuickly]]
) -> AdmitsQuickly:
    item = _compile(node.get("items", True), definitions, known)
    return lambda value: type(value) is list and all(map(item, value))


def _compile_object(
    node: JsonSchema, definitions: Mapping[str, Any], known: dict[str, list[AdmitsQuickly]]
) -> AdmitsQuickly:
    checks_by_name = {
        name: _compile(schema, definitions, known)
        for name, schema in node.get("properties", {}).items()
    }
    required = frozenset(node.get("required", ()))
    additional_schema = node.get("additionalProperties", True)
    if additional_schema is False:
        check_other = None
    else:
        check_other = _compile(additional_schema, definitions, known)

    def admits(value: Any) -> bool:
        if type(value) is not dict or not required <= value.keys():
            return False
        for name, item in value.items():
            check = checks_by_name.get(name, check_other)
            if check is None or not check(item):
                return False
        return True

    return admits


def _is_json(value: Any) -> bool:
    """Whether JSON can represent a value that has no schema: every
    number in the value must be finite.
    """
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is dict:
        return all(map(_is_json, value.values()))
    return type(value) is not list or all(map(_is_json, value))
