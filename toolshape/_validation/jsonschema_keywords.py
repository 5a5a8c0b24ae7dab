"""Checks JSON Schema keywords in bounded time, as strictly as arguments of functions.

Needs the extra ``schema``.
"""

import contextlib
import contextvars
from collections.abc import Generator, Iterator
from typing import Any

try:
    from jsonschema import (
        Draft202012Validator as Draft202012Validator,  # noqa: PLC0414 - re-exported
        ValidationError as SchemaError,
    )
    from jsonschema.validators import extend
except ImportError as error:
    raise ImportError(
        "tools from definitions need jsonschema: pip install 'toolshape[schema]'"
    ) from error

from toolshape._schema.values import is_equal
from toolshape._validation.apply_coercions import TooMuchWrongError
from toolshape._validation.pattern_search import LONGEST_KEY, Searches

_MOST_REFUSED = 2_000  # the maximum number of rejected parts of a value


class Checking:
    """The state of one check.

    Attributes:
        errors: The errors found so far, by reference and part of the value.
        refused: The number of rejected parts.
        searches: The tool's compiled patterns, to which the check adds.
        assumed: Whether a text counts as matching a pattern if finding out may take too long.
        reports: Whether such a text is an error, ``pattern_not_checked``.
        has_unchecked: Whether there was such a text.
    """

    __slots__ = ("assumed", "errors", "has_unchecked", "refused", "reports", "searches")

    def __init__(self, searches: Searches, *, assumed: bool, reports: bool) -> None:
        self.errors: dict[tuple[str, int], list[Any]] = {}
        self.refused = 0
        self.searches = searches
        self.assumed = assumed
        self.reports = reports
        self.has_unchecked = False

    def matches(self, pattern: str, text: str) -> bool | None:
        """Whether a text matches a pattern; ``None`` if deciding that may take too long."""
        matches = self.searches.of(pattern).matches(text)
        if matches is None:
            self.has_unchecked = True
        return matches


_CHECKING: contextvars.ContextVar[Checking] = contextvars.ContextVar("toolshape_checking")


@contextlib.contextmanager
def checking(
    searches: Searches | None = None, *, assumed: bool = True, reports: bool = False
) -> Generator[Checking]:
    """Within this context, check each part of a value against each reference only once.

    The work then grows with the sizes of the schema and the value, not with the number of paths
    between them. The arguments are those of ``Checking``.
    """
    state = Checking(
        Searches({}) if searches is None else searches, assumed=assumed, reports=reports
    )
    token = _CHECKING.set(state)
    try:
        yield state
    finally:
        _CHECKING.reset(token)


def _ref(validator: Any, reference: str, instance: Any, schema: Any) -> Iterator[Any]:
    checked, key = _CHECKING.get(), (reference, id(instance))
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
    """Whether a value is an integer; toolshape coerces ``3.0`` and records the
    coercion, as for a decorated tool.
    """
    return isinstance(value, int) and not isinstance(value, bool)


def _enum(_validator: Any, options: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not any(_is_meant(instance, option) for option in options):
        yield SchemaError(f"{instance!r} is not one of the options")


def _const(_validator: Any, option: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not _is_meant(instance, option):
        yield SchemaError(f"{instance!r} is not the constant")


def _is_meant(instance: Any, option: Any) -> bool:
    """Whether a value is an option as it is written, or an integer
    that an option writes as a float.

    Other numbers are equal by value only after a coercion, which is recorded: ``1.0`` for an option
    ``1``.
    """
    return is_equal(instance, option, _is_meant_scalar)


def _is_meant_scalar(one: Any, other: Any) -> bool:
    is_alike = type(one) is type(other) or (type(one) is int and type(other) is float)
    return is_alike and bool(one == other)


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    if not isinstance(instance, str):
        return
    state = _CHECKING.get()
    matches = state.matches(pattern, instance)
    if matches is None and state.reports:
        yield SchemaError(pattern, validator="pattern_not_checked")
    elif not (state.assumed if matches is None else matches):
        yield SchemaError(f"{instance[:60]!r} does not match {pattern[:200]!r}")


def _pattern_properties(
    validator: Any, patterns: Any, instance: Any, _schema: Any
) -> Iterator[Any]:
    state = _CHECKING.get()
    for pattern, inner in patterns.items() if isinstance(instance, dict) else ():
        for key, value in instance.items():
            matches = state.matches(pattern, key)
            if matches:
                yield from validator.descend(value, inner, path=key, schema_path=pattern)
            elif matches is None and state.reports:
                yield SchemaError(pattern, validator="pattern_not_checked")


def _additional_properties(validator: Any, asked: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        keys = additional_keys(schema, instance)
    else:
        keys = []
    if isinstance(asked, dict):
        for key in keys:
            yield from validator.descend(instance[key], asked, path=key)
    elif not asked and keys:
        yield SchemaError(f"{keys[0][:60]!r} is unknown")


def additional_keys(schema: Any, instance: Any) -> list[str]:
    """Return the keys of an object that a schema does not name and that
    certainly match none of its patterns.

    Works only within ``checking``.
    """
    named_keys, patterns = schema.get("properties", {}), schema.get("patternProperties", ())
    unnamed_keys = [key for key in instance if key not in named_keys]
    if not patterns:
        return unnamed_keys
    state = _CHECKING.get()
    return [
        key
        for key in unnamed_keys
        if all(state.matches(pattern, key) is False for pattern in patterns)
    ]


def _unevaluated_properties(
    validator: Any, asked: Any, instance: Any, schema: Any
) -> Iterator[Any]:
    """Check ``unevaluatedProperties``, but not in an object with a key that
    takes Python's engine too long.
    """
    state = _CHECKING.get()
    has_long_key = isinstance(instance, dict) and any(len(key) > LONGEST_KEY for key in instance)
    if state.searches.for_keys and has_long_key:
        state.has_unchecked = True
        return
    yield from Draft202012Validator.VALIDATORS["unevaluatedProperties"](
        validator, asked, instance, schema
    )


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
    "unevaluatedProperties": _unevaluated_properties,
    "uniqueItems": _unique,
}
Validator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {**_KEYWORDS, "enum": _enum, "const": _const},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
StandardValidator: Any = extend(Draft202012Validator, _KEYWORDS)  # type: ignore[no-untyped-call]
"""Like ``Validator``, but ``3.0`` is an integer and equals ``3``, as JSON Schema defines."""
