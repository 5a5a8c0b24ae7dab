"""Encodes bytes, NaN and infinities as JSON objects, and decodes them."""

import base64
import math
from collections.abc import Mapping
from typing import Any, cast

_BYTES, _FLOAT = "$bytes", "$float"
"""The marker keys: ``{"$bytes": ...}`` encodes bytes, and
``{"$float": ...}`` encodes NaN or an infinity.

If one of the user's keys has this form, the encoder adds a ``$`` in front to escape the key.
"""
_OWN = frozenset({"bytes", "float"})
_NO_JSON = frozenset({"nan", "inf", "-inf"})


def to_json_value(value: Any) -> Any:
    """Encode a value as JSON: bytes, NaN and infinities become objects."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        return {
            f"${key}" if _is_marker(key) else key: to_json_value(item)
            for key, item in mapping.items()
        }
    if isinstance(value, (list, tuple)):
        return [to_json_value(item) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {_BYTES: base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: str(float(value))}
    return value


def _is_marker(key: Any) -> bool:
    """Whether a key is one of the two markers, or an escaped marker."""
    return isinstance(key, str) and key[:1] == "$" and key.lstrip("$") in _OWN


def from_json_value(value: Any) -> Any:
    """Decode a value that ``to_json_value`` encoded."""
    if isinstance(value, dict):
        mapping = cast("dict[str, Any]", value)
        if mapping.keys() == {_BYTES} and isinstance(mapping[_BYTES], str):
            return base64.b64decode(mapping[_BYTES])
        if mapping.keys() == {_FLOAT} and mapping[_FLOAT] in _NO_JSON:
            return float(mapping[_FLOAT])
        return {
            key[1:] if _is_marker(key) else key: from_json_value(item)
            for key, item in mapping.items()
        }
    if isinstance(value, list):
        return [from_json_value(item) for item in value]
    return value
