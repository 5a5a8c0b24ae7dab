"""Runs a function with validated arguments: returns its value, or raises ``CallError``."""

import typing

from toolshape._lazy import import_later

if typing.TYPE_CHECKING:
    from toolshape._function.calling import (
        aio as aio,
        concurrency as concurrency,
        limited as limited,
    )
else:  # asyncio takes a sixth as long to import as pydantic, and many programs run no loop.
    __getattr__ = import_later(__name__, "aio", "concurrency", "limited")
