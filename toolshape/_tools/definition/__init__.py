"""Reads tool definitions from elsewhere, in any provider's format, and validates calls."""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._tools.definition import (
        build as build,
        bundle as bundle,
        executor as executor,
    )
else:  # most programs have no foreign definitions, whose reader loads all formats and an extra.
    __getattr__ = import_later(__name__, "build", "bundle", "executor")
