"""Checks JSON Schema keywords in bounded time, as strictly as toolshape checks the arguments of a decorated tool.

Needs the extra ``schema``.
"""

import contextlib
import contextvars
import functools
import re
from collections.abc import Callable, Generator, Iterator
from typing import Any

from pydantic_core import SchemaValidator, core_schema

try:
    from jsonschema import Draft202012Validator as Draft202012Validator  # noqa: PLC0414 - re-exported
    from jsonschema import ValidationError as SchemaError
    from jsonschema.validators import extend
except ImportError as error:
    raise ImportError(
        "tools from definitions need jsonschema: pip install 'toolshape[schema]'"
    ) from error

from toolshape._schema.patterns import is_bounded
from toolshape._schema.values import is_same_text
from toolshape._validation.apply_coercions import TooMuchWrongError

_MOST_REFUSED = 2_000  # the maximum number of rejected parts of a value


class _CheckedReferences:
    """The errors found so far, keyed by reference and part of the value, and the number of rejected parts."""

    __slots__ = ("errors", "refused")

    def __init__(self) -> None:
        self.errors: dict[tuple[str, int], list[Any]] = {}
        self.refused = 0


_CHECKED_REFERENCES: contextvars.ContextVar[_CheckedReferences] = contextvars.ContextVar(
    "toolshape_checked_references"
)


@contextlib.contextmanager
def references_checked_once() -> Generator[None]:
    """Within this context, check each part of a value against each reference only once.

    The work then grows with the sizes of the schema and the value, not with the number of paths between them.
    """
    token = _CHECKED_REFERENCES.set(_CheckedReferences())
    try:
        yield
    finally:
        _CHECKED_REFERENCES.reset(token)


def _ref(validator: Any, reference: str, instance: Any, schema: Any) -> Iterator[Any]:
    checked, key = _CHECKED_REFERENCES.get(), (reference, id(instance))
    if key not in checked.errors:
        checked.errors[
            key
        ] = []  # a definition that refers to itself must not check this part again
        errors = list(
            Draft202012Validator.VALIDATORS["$ref"](validator, reference, instance, schema)
        )
        checked.errors[key] = errors
        checked.refused += bool(errors)
        if checked.refused > _MOST_REFUSED:
            raise TooMuchWrongError
        yield from errors
    elif checked.errors[key]:
        first_error = checked.errors[key][0]
        repeated_details = {
            "validator": first_error.validator,
            "validator_value": first_error.validator_value,
            "instance": instance,
        }
        yield SchemaError(first_error.message, **repeated_details)


def _is_integer(_checker: Any, value: Any) -> bool:
    """Whether a value is an integer; toolshape coerces ``3.0`` and records the coercion, as for a decorated tool."""
    return isinstance(value, int) and not isinstance(value, bool)


def _enum(_validator: Any, options: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not any(is_same_text(instance, option) for option in options):
        yield SchemaError(f"{instance!r} is not one of the options")


def _const(_validator: Any, option: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not is_same_text(instance, option):
        yield SchemaError(f"{instance!r} is not the constant")


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _search(pattern)(instance):
        yield SchemaError(f"{instance[:60]!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Any, instance: Any, _schema: Any
) -> Iterator[Any]:
    for pattern, inner in patterns.items() if isinstance(instance, dict) else ():
        for key, value in instance.items():
            if _search(pattern)(key):
                yield from validator.descend(value, inner, path=key, schema_path=pattern)


def _additional_properties(validator: Any, asked: Any, instance: Any, schema: Any) -> Iterator[Any]:
    keys = additional_keys(schema, instance) if isinstance(instance, dict) else []
    if isinstance(asked, dict):
        for key in keys:
            yield from validator.descend(instance[key], asked, path=key)
    elif not asked and keys:
        yield SchemaError(f"{keys[0][:60]!r} is unknown")


def additional_keys(schema: Any, instance: Any) -> list[str]:
    """Return the keys of an object that a schema does not name and that match none of its patterns."""
    named_keys, searches = (
        schema.get("properties", {}),
        [_search(pattern) for pattern in schema.get("patternProperties", ())],
    )
    return [
        key
        for key in instance
        if key not in named_keys and not any(search(key) for search in searches)
    ]


@functools.lru_cache(maxsize=256)
def _search(pattern: str) -> Callable[[str], bool]:
    """Compile a search for a pattern with Rust's engine, which takes linear time, or else with Python's engine.

    If Python's engine may take too long for a string, the pattern is not checked and counts as matched.
    """
    try:
        validator = SchemaValidator(core_schema.str_schema(pattern=pattern))
    except Exception:  # look-around and back-references need Python's engine
        compiled = re.compile(pattern)
        return lambda text: not is_bounded(pattern, text) or compiled.search(text) is not None
    return lambda text: _is_valid(validator, text)


def _is_valid(validator: SchemaValidator, text: str) -> bool:
    try:
        return validator.isinstance_python(text)
    except ValueError:  # the string contains half of a surrogate pair
        return False


def _unique(_validator: Any, unique: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """Check ``uniqueItems`` in linear time, with JSON Schema's definition of equality."""
    if (
        unique
        and isinstance(instance, list)
        and len({_comparison_key(item) for item in instance}) < len(instance)
    ):
        yield SchemaError("the items are not unique")


def _comparison_key(value: Any) -> Any:
    if isinstance(value, dict):
        return frozenset((key, _comparison_key(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(_comparison_key, value))
    return (isinstance(value, bool), value)


_KEYWORDS: dict[str, Any] = {
    "$ref": _ref,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique,
}
Validator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {**_KEYWORDS, "enum": _enum, "const": _const},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
StandardValidator: Any = extend(Draft202012Validator, _KEYWORDS)  # type: ignore[no-untyped-call]
"""Like ``Validator``, but ``3.0`` is an integer and equals ``3``, as JSON Schema defines."""
