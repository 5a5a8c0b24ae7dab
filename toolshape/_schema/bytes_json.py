"""Writes values that JSON has no form for, as bytes and infinities, as JSON, and reads them again."""

import base64
import math
from collections.abc import Mapping
from typing import Any, cast

_BYTES, _FLOAT = "$bytes", "$float"
"""The one member of an object that stands for bytes, or for a number that JSON does not have.

A member of such a name is written with one more ``$``.
"""
_OWN = frozenset({"bytes", "float"})
_NO_JSON = frozenset({"nan", "inf", "-inf"})


def to_json_value(value: Any) -> Any:
    """A value as JSON: bytes become an object."""
    if isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        return {f"${key}" if _is_own(key) else key: to_json_value(one) for key, one in given.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(one) for one in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {_BYTES: base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: str(float(value))}
    return value


def _is_own(key: Any) -> bool:
    """Whether a key is one of those that stand for what JSON does not have, or was written for a key that looks so."""
    return isinstance(key, str) and key[:1] == "$" and key.lstrip("$") in _OWN


def from_json_value(value: Any) -> Any:
    """A value that ``to_json_value`` wrote."""
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        if given.keys() == {_BYTES} and isinstance(given[_BYTES], str):
            return base64.b64decode(given[_BYTES])
        if given.keys() == {_FLOAT} and given[_FLOAT] in _NO_JSON:
            return float(given[_FLOAT])
        return {key[1:] if _is_own(key) else key: from_json_value(one) for key, one in given.items()}
    if isinstance(value, list):
        return [from_json_value(one) for one in value]
    return value
