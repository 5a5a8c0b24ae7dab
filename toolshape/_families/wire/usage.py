"""Helps the families to read the token counts of a response, from JSON or from an SDK's object."""

from typing import Any

from toolshape._families.wire.bodies import member
from toolshape._records.result import Usage


def count_at(node: Any, *places: str) -> int | None:
    """Return the first whole number at one of these places, for
    example ``"details.cached_tokens"``.
    """
    if node is None:
        return None
    for place in places:
        outer, _, inner = place.partition(".")
        found = member(node, outer)
        if inner and found is not None:
            found = member(found, inner)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    return None


def total(*counts: int | None) -> int | None:
    """Return the sum of the counts that the wire has, or ``None`` if it has none of them."""
    known = [count for count in counts if count is not None]
    if known:
        return sum(known)
    return None


def usage_of(
    input_tokens: int | None,
    output_tokens: int | None,
    cached_tokens: int | None = None,
    reasoning_tokens: int | None = None,
) -> Usage | None:
    """Return the usage, or ``None`` if the wire says nothing about it."""
    usage = Usage(input_tokens, output_tokens, cached_tokens, reasoning_tokens)
    if usage == _NOTHING:
        return None
    return usage


_NOTHING = Usage()
