"""Converts data that holds objects of an SDK anywhere inside."""

from collections.abc import Mapping
from typing import Any

from toolshape._families.wire.bodies import to_plain_json
from toolshape._records.errors import ResponseError


def as_json(node: Any) -> Any:
    """Return JSON data, with the SDK's objects in it written as JSON, too.

    Raises:
        ResponseError: The data is nested too deeply.
    """
    try:
        return _as_json(node)
    except RecursionError as error:
        raise ResponseError("the data is nested too deeply", body=node) from error


def _as_json(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {key: _as_json(value) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return [_as_json(item) for item in node]
    return to_plain_json(node)
