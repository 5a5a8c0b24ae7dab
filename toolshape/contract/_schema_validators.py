"""Compiles functions that validate values against a schema, and check formats as tools do.

Needs jsonschema.
"""

import json
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from functools import cache
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from re import Pattern
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

import pydantic
from jsonschema import ValidationError as SchemaError
from jsonschema.exceptions import FormatError
from jsonschema.validators import extend
from pydantic import StringConstraints, TypeAdapter
from referencing.exceptions import Unresolvable

from toolshape._validation.faults import path_of
from toolshape._validation.jsonschema_keywords import Validator, checking
from toolshape.contract._inclusion import DECIMAL, FREE_FORMATS, LIMITED_DECIMAL

Formats: TypeAlias = Literal["open", "checked", "certain"]
"""How to check formats. ``open`` does not check them, like JSON Schema.

``checked`` refuses a string if every type with this format refuses it. ``certain`` refuses a string
if any type with this format may refuse it, and refuses every string of an unknown format.
"""
_TYPES: dict[str, Any] = {
    "date": date, "date-time": datetime, "duration": timedelta, "time": time, "ipv4": IPv4Address,
    "ipv6": IPv6Address,
    "ipv4network": IPv4Network, "ipv6network": IPv6Network, "ipv4interface": IPv4Interface,
    "ipv6interface": IPv6Interface, "ipvanyaddress": pydantic.IPvAnyAddress,
    "ipvanynetwork": pydantic.IPvAnyNetwork,
    "ipvanyinterface": pydantic.IPvAnyInterface, "uuid": UUID, "uuid1": pydantic.UUID1,
    "uuid3": pydantic.UUID3,
    "uuid4": pydantic.UUID4, "uuid5": pydantic.UUID5, "uuid6": pydantic.UUID6,
    "uuid7": pydantic.UUID7,
    "uuid8": pydantic.UUID8, "email": pydantic.EmailStr, "name-email": pydantic.NameEmail,
    "uri": pydantic.AnyUrl,
    "base64": pydantic.Base64Str, "base64url": pydantic.Base64UrlStr, "regex": Pattern[str],
    DECIMAL: Annotated[str, StringConstraints(pattern=r"^-?(0|[1-9][0-9]{0,8})([.][0-9]{1,8})?$")],
    # The limits are not in the schema.
    LIMITED_DECIMAL: Annotated[str, StringConstraints(min_length=1, max_length=0)],
}  # fmt: skip
"""The types for which pydantic writes these formats (2.14.3, tested by
exporting each type, 2026-11-23).
"""
_TIMES = frozenset({"date", "date-time", "duration", "time"})
_CERTAIN: dict[str, Any] = {"uri": pydantic.HttpUrl}


class _SchemaChecker:
    """Checks formats for jsonschema, which calls ``check``."""

    def __init__(self, formats: Formats) -> None:
        self._formats = formats

    def check(self, value: object, name: str) -> None:
        """Check that a string has a format.

        Raises:
            FormatError: The string does not have the format, or (with ``certain``) the format is
                unknown.
        """
        if not isinstance(value, str) or name in FREE_FORMATS:
            return
        adapter = _adapter(name, self._formats)
        if adapter is None:
            if self._formats == "certain":
                raise FormatError(f"the format {name} is unknown")
            return
        try:
            if name in _TIMES and re.fullmatch(r"[-+]?[0-9.]+", value):
                raise ValueError("tools reject a number of seconds as a time")  # noqa: TRY301 - one handler for both
            adapter.validate_json(json.dumps(value), strict=True)
        except ValueError as error:
            raise FormatError(f"the string does not match the format {name}") from error


@cache
def _adapter(name: str, formats: Formats) -> TypeAdapter[Any] | None:
    types = {**_TYPES, **_CERTAIN} if formats == "certain" else _TYPES
    try:
        return TypeAdapter(types[name]) if name in types else None
    except ImportError:  # email-validator is not installed, so no tool checks addresses
        return None


def _validate_content(validator: Any, schema: Any, value: Any, node: Any) -> Iterator[SchemaError]:
    """Validate the JSON in a string against ``contentSchema``: pydantic does, but
    JSON Schema does not require this.
    """
    if isinstance(value, str) and node.get("contentMediaType") == "application/json":
        try:
            yield from validator.descend(json.loads(value), schema)
        except (ValueError, RecursionError):
            yield SchemaError("the text is not JSON")


_ContentValidator: Any = extend(Validator, {"contentSchema": _validate_content})  # type: ignore[no-untyped-call]


@cache
def _validator(text: str, formats: Formats) -> Any:
    if formats == "open":
        return Validator(json.loads(text))
    checker: Any = _SchemaChecker(formats)
    return _ContentValidator(json.loads(text), format_checker=checker)


def compile_admission(schema: Any, formats: Formats = "open") -> Callable[[Any], bool]:
    """Compile a function that returns whether a schema admits a value.

    An endlessly recursive schema admits no value.

    Args:
        schema: The schema.
        formats: How to check formats.
    """
    validator = _validator(json.dumps(schema, sort_keys=True), formats)

    def admits(value: Any) -> bool:
        try:
            with checking():
                return bool(validator.is_valid(value))
        except (RecursionError, Unresolvable):
            return False

    return admits


def compile_refused_paths(schema: Any) -> Callable[[Any], list[str]]:
    """Compile a function that returns the paths at which a schema refuses a value."""
    validator = _validator(json.dumps(schema, sort_keys=True), "open")

    def refused_paths(value: Any) -> list[str]:
        with checking():
            return [path_of(tuple(error.absolute_path)) for error in validator.iter_errors(value)]

    return refused_paths
