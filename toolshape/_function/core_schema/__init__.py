"""Tightens pydantic's core schemas, and reads keys, enums, tags and defaults from them."""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._function.core_schema import null_defaults as null_defaults
else:  # most programs receive no nulls.
    __getattr__ = import_later(__name__, "null_defaults")
