"""``Fault``: what a validator found wrong with a value, and where."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

Location: TypeAlias = tuple[int | str, ...]


class Fault(NamedTuple):
    """One thing that a validator found wrong with a value.

    ``at`` is the location as the validator names it, ``location`` the one in the JSON value, ``found`` what is there.
    ``rule`` is the validator's name for the rule that was broken; ``missing`` and ``unknown`` are our own, for fields.
    ``message`` is to be reported as it is; ``otherwise`` is reported only if the schema gives no better wording.
    ``node`` is the part of the schema that was broken, where the validator knows it.
    """

    at: Location
    location: Location
    found: Any
    rule: str
    message: str = ""
    otherwise: str = ""
    node: Any = None


def path_of(location: Sequence[int | str]) -> str:
    """A place as people write it: ``lines[1].qty``."""
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path
