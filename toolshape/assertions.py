"""The validator of JSON Schema, with assertions that are as exact as a decorated tool's, in bounded time.

Needs the extra ``schema``.
"""

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from pydantic_core import SchemaValidator, core_schema

try:
    from jsonschema import Draft202012Validator
    from jsonschema import ValidationError as SchemaError
    from jsonschema.validators import extend
except ImportError as error:
    raise ImportError("tools from definitions need jsonschema: pip install 'toolshape[schema]'") from error

__all__ = ["Draft202012Validator", "Validator", "additional"]


def _is_integer(_checker: Any, value: Any) -> bool:
    """``3.0`` is no integer here, so that it is mended on record, as for a decorated tool."""
    return isinstance(value, int) and not isinstance(value, bool)


def _enum(_validator: Any, options: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not any(_same(instance, one) for one in options):
        yield SchemaError(f"{instance!r} is none of the options")


def _const(_validator: Any, option: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not _same(instance, option):
        yield SchemaError(f"{instance!r} is not the constant")


def _same(one: Any, other: Any) -> bool:
    """Whether two values are written alike: ``1.0`` and ``true`` are not ``1``, as for a decorated tool."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _search(pattern)(instance):
        yield SchemaError(f"{instance[:60]!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    for pattern, inner in patterns.items() if isinstance(instance, dict) else ():
        for key, value in instance.items():
            if _search(pattern)(key):
                yield from validator.descend(value, inner, path=key, schema_path=pattern)


def _additional_properties(validator: Any, asked: Any, instance: Any, schema: Any) -> Iterator[Any]:
    keys = additional(schema, instance) if isinstance(instance, dict) else []
    if isinstance(asked, dict):
        for key in keys:
            yield from validator.descend(instance[key], asked, path=key)
    elif not asked and keys:
        yield SchemaError(f"{keys[0][:60]!r} is unknown")


def additional(schema: Any, instance: Any) -> list[str]:
    """The keys of an object that a schema neither names nor has a pattern for."""
    known, searches = schema.get("properties", {}), [_search(one) for one in schema.get("patternProperties", ())]
    return [key for key in instance if key not in known and not any(search(key) for search in searches)]


@functools.lru_cache(maxsize=256)
def _search(pattern: str) -> Callable[[str], bool]:
    """Look for a pattern in time that grows with the text alone, where Rust's engine knows it; else as Python does."""
    try:
        validator = SchemaValidator(core_schema.str_schema(pattern=pattern))
    except Exception:  # look-around and back-references, which take Python's engine
        compiled = re.compile(pattern)
        return lambda text: compiled.search(text) is not None
    return lambda text: _is_valid(validator, text)


def _is_valid(validator: SchemaValidator, text: str) -> bool:
    try:
        return validator.isinstance_python(text)
    except ValueError:  # half a surrogate pair
        return False


def _unique(_validator: Any, unique: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As the standard has it, in one go over the items."""
    if unique and isinstance(instance, list) and len({_key(item) for item in instance}) < len(instance):
        yield SchemaError("items that are not unique")


def _key(value: Any) -> Any:
    if isinstance(value, dict):
        return frozenset((key, _key(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(_key, value))
    return (isinstance(value, bool), value)


Validator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "enum": _enum,
        "const": _const,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique,
    },
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
