"""``Fault``: what a validator found wrong with a value, and where."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Fault", "Location", "path_of"]

Location: TypeAlias = tuple[int | str, ...]


class Fault(NamedTuple):
    """What a validator has against a value.

    ``at`` is the place as the validator names it, ``location`` where that is in the JSON, ``found`` what stands there.
    ``rule`` is the validator's own word for what was broken; ``missing`` and ``unknown`` are ours for fields.
    ``message`` is the author's sentence, where there is one; ``otherwise`` is the validator's, for want of a better.
    """

    at: Location
    location: Location
    found: Any
    rule: str
    message: str = ""
    otherwise: str = ""


def path_of(location: Sequence[int | str]) -> str:
    """A place as people write it: ``lines[1].qty``."""
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path
