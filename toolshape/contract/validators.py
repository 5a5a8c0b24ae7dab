"""A schema in; what validates values by it, formats included as tools check them, out. Needs jsonschema."""

import json
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

from jsonschema import FormatChecker
from pydantic import TypeAdapter
from referencing.exceptions import Unresolvable

from toolshape.definitions.jsonschema_keywords import Validator, references_checked_once
from toolshape.validation.faults import path_of

__all__ = ["admission", "refused_at"]

_TYPES: dict[str, Any] = {
    "date": date, "date-time": datetime, "duration": timedelta, "ipv4": IPv4Address, "ipv6": IPv6Address, "time": time,
    "uuid": UUID,
}  # fmt: skip
"""What pydantic writes these formats for."""


def _formats() -> FormatChecker:
    checker = FormatChecker(formats=())
    for name, kind in _TYPES.items():
        checker.checks(name, raises=ValueError)(_format(TypeAdapter(kind)))
    return checker


def _format(adapter: TypeAdapter[Any]) -> Callable[[object], bool]:
    def admits(value: object) -> bool:
        if isinstance(value, str):
            adapter.validate_json(json.dumps(value), strict=True)
        return True

    return admits


@cache
def _validator(text: str, checks_formats: bool) -> Any:
    return Validator(json.loads(text), format_checker=_formats() if checks_formats else None)


def admission(schema: Any, *, checks_formats: bool = False) -> Callable[[Any], bool]:
    """Compile a check of whether a schema admits a value; one that cannot be followed to its end admits none.

    Args:
        schema: The schema.
        checks_formats: Whether a text has to be of the format that the schema names, which JSON Schema leaves open.
    """
    validator = _validator(json.dumps(schema, sort_keys=True), checks_formats)

    def admits(value: Any) -> bool:
        try:
            with references_checked_once():
                return bool(validator.is_valid(value))
        except (RecursionError, Unresolvable):
            return False

    return admits


def refused_at(schema: Any) -> Callable[[Any], list[str]]:
    """Compile what says at which paths a schema refuses a value."""
    validator = _validator(json.dumps(schema, sort_keys=True), False)

    def refused(value: Any) -> list[str]:
        with references_checked_once():
            return [path_of(tuple(error.absolute_path)) for error in validator.iter_errors(value)]

    return refused
