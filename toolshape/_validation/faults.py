"""A violation that a validator found in a value, and its location as a path."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from toolshape._schema.places import Location
from toolshape._validation.violations import Violation


class Fault(NamedTuple):
    """One violation that a validator found in a value.

    ``at`` is the location as the validator names it. ``location`` is the location in the JSON
    value, and ``found`` is the value there. ``rule`` is the validator's name for the violated rule;
    toolshape adds the names ``missing`` and ``unknown``, for fields. ``message`` is reported
    unchanged. ``otherwise`` is the wording to report if the schema gives no better wording.
    ``node`` is the violated part of the schema, if the validator knows it. ``violation`` is what
    the validator's error means, if it says that.
    """

    at: Location
    location: Location
    found: Any
    rule: str
    message: str = ""
    otherwise: str = ""
    node: Any = None
    violation: Violation | None = None


def path_of(location: Sequence[int | str]) -> str:
    """Return a location as a readable path: ``lines[1].qty``."""
    path = ""
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path
