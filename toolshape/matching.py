"""Which branch of a union a value belongs to, and whether two branches can be told apart at all."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

__all__ = ["apart", "fits", "same"]

Resolve: TypeAlias = Callable[[Any], Any]

_DEPTH = 64  # of a schema that refers to itself without consuming any of the value


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same, to the type: ``1`` is not ``true``, but ``1`` is ``1.0``."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def fits(value: Any, schema: Any, resolve: Resolve, depth: int = _DEPTH) -> bool:  # noqa: C901, PLR0911 - a line a keyword
    """Whether a JSON value is of the form a schema asks for, all the way down; formats are not looked at."""
    if not isinstance(schema, dict):
        return schema is not False
    if not depth:
        return True
    if "$ref" in schema:
        target = resolve(schema)
        return not isinstance(target, dict) or "$ref" in target or fits(value, target, resolve, depth - 1)
    if value is None and schema.get("nullable") is True:
        return True
    if "const" in schema and not same(value, schema["const"]):
        return False
    if "enum" in schema and not any(same(value, option) for option in schema["enum"]):
        return False
    if "type" in schema and not _types(value) & _asked(schema):
        return False
    for keyword, combine in (("anyOf", any), ("oneOf", any), ("allOf", all)):
        if keyword in schema and not combine(fits(value, branch, resolve, depth - 1) for branch in schema[keyword]):
            return False
    if isinstance(value, dict):
        return _object_fits(value, schema, resolve, depth)
    if isinstance(value, list):
        return _array_fits(value, schema, resolve, depth)
    return _scalar_fits(value, schema)


def _types(value: Any) -> set[str]:
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, (int, float)):
        return {"number", "integer"} if math.isfinite(value) and value == int(value) else {"number"}
    names: dict[type, str] = {str: "string", type(None): "null", dict: "object", list: "array"}
    return {name for kind, name in names.items() if isinstance(value, kind)}


def _asked(schema: Mapping[str, Any]) -> set[str]:
    asked = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {str(name).lower() for name in asked}


def _object_fits(value: dict[str, Any], schema: Mapping[str, Any], resolve: Resolve, depth: int) -> bool:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    names = schema.get("propertyNames", True)
    return (
        all(name in value for name in schema.get("required", ()))
        and schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", math.inf)
        and all(fits(item, properties.get(name, others), resolve, depth) for name, item in value.items())
        and all(fits(name, names, resolve, depth) for name in value)
    )


def _array_fits(value: list[Any], schema: Mapping[str, Any], resolve: Resolve, depth: int) -> bool:
    prefix = schema.get("prefixItems", [])
    rest = schema.get("items", True)
    return schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf) and all(
        fits(item, prefix[index] if index < len(prefix) else rest, resolve, depth) for index, item in enumerate(value)
    )


def _scalar_fits(value: Any, schema: Mapping[str, Any]) -> bool:
    if isinstance(value, str):
        shortest, longest = schema.get("minLength", 0), schema.get("maxLength", math.inf)
        return shortest <= len(value) <= longest and _matches(schema.get("pattern"), value)
    if isinstance(value, bool) or value is None:
        return True
    return (
        schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
        and schema.get("exclusiveMinimum", -math.inf) < value < schema.get("exclusiveMaximum", math.inf)
        if not isinstance(schema.get("exclusiveMinimum"), bool)
        else True
    )


def _matches(pattern: Any, value: str) -> bool:
    try:
        return not isinstance(pattern, str) or re.search(pattern, value) is not None
    except re.error:  # another dialect of regular expressions
        return True


def apart(one: Any, other: Any, resolve: Resolve, depth: int = 8) -> bool:  # noqa: PLR0911 - a line a form
    """Whether surely no value fits both schemas."""
    one, other = resolve(one), resolve(other)
    if not isinstance(one, dict) or not isinstance(other, dict) or not depth:
        return one is False or other is False
    for keyword in ("anyOf", "oneOf"):
        for first, second in ((one, other), (other, one)):
            if keyword in first:
                return all(apart(branch, second, resolve, depth - 1) for branch in first[keyword])
    first_values, second_values = _values(one), _values(other)
    if first_values is not None:
        return not any(fits(value, other, resolve) for value in first_values)
    if second_values is not None:
        return not any(fits(value, one, resolve) for value in second_values)
    if "type" not in one or "type" not in other:
        return False
    shared = _wide(_asked(one)) & _wide(_asked(other))
    if shared == {"object"}:
        return _objects_apart(one, other, resolve, depth)
    if shared == {"array"}:
        return _arrays_apart(one, other, resolve, depth)
    return not shared


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _wide(types: set[str]) -> set[str]:
    return types | {"number"} if "integer" in types else types


def _objects_apart(one: Mapping[str, Any], other: Mapping[str, Any], resolve: Resolve, depth: int) -> bool:
    for first, second in ((one, other), (other, one)):
        known = second.get("properties", {})
        for name in first.get("required", ()):
            inner = first.get("properties", {}).get(name, True)
            outer = known.get(name, second.get("additionalProperties", True))
            if outer is False or (name in known and apart(inner, outer, resolve, depth - 1)):
                return True
    return False


def _arrays_apart(one: Mapping[str, Any], other: Mapping[str, Any], resolve: Resolve, depth: int) -> bool:
    if one.get("minItems", 0) > other.get("maxItems", math.inf) or other.get("minItems", 0) > one.get(
        "maxItems", math.inf
    ):
        return True
    both_have_some = one.get("minItems", 0) > 0 or other.get("minItems", 0) > 0
    first, second = ((schema.get("prefixItems") or [schema.get("items", True)])[0] for schema in (one, other))
    return both_have_some and apart(first, second, resolve, depth - 1)
