"""Combines functions on JSON values: in a chain, at object members, at array items."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from toolshape._schema.values import UnreadableError

Arrow: TypeAlias = Callable[[Any], Any]
"""A function that maps a JSON value to another JSON value."""
Dropped: TypeAlias = frozenset[tuple[tuple[str, ...], frozenset[str]]]
"""For each object, the names of all its fields, and the names of the fields that
an arrow drops if they are null.
"""


def chain_arrows(arrows: Sequence[Arrow]) -> Arrow | None:
    """Return one arrow that applies all given arrows in order, or ``None`` if there are no
    arrows.
    """
    if not arrows:
        return None
    if len(arrows) == 1:
        return arrows[0]

    def chain(value: Any) -> Any:
        for arrow in arrows:
            value = arrow(value)
        return value

    return chain


def _apply_at(step: int | str, arrow: Arrow, item: Any) -> Any:
    """Apply an arrow to a member; if it raises ``UnreadableError``, prepend
    ``step`` to the error's location.
    """
    try:
        return arrow(item)
    except UnreadableError as error:
        error.location = (step, *error.location)
        raise


def in_object(arrows: Mapping[str, Arrow | None]) -> Arrow | None:
    """Return an arrow for objects that maps each field with the arrow of the same name."""
    active = {name: arrow for name, arrow in arrows.items() if arrow is not None}
    if not active:
        return None

    def lifted(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            key: _apply_at(key, active[key], item) if key in active else item
            for key, item in value.items()
        }

    return lifted


def in_others(known: frozenset[str], arrow: Arrow | None) -> Arrow | None:
    """Return an arrow that applies ``arrow`` to every object field that is not in ``known``."""
    if arrow is None:
        return None

    def lifted(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            key: item if key in known else _apply_at(key, arrow, item)
            for key, item in value.items()
        }

    return lifted


def in_matching(
    arrows: Mapping[str, Arrow | None], matches: Callable[[str, str], bool]
) -> Arrow | None:
    """Return an arrow that applies each arrow to the object fields whose
    names match the arrow's pattern.
    """
    active = {pattern: arrow for pattern, arrow in arrows.items() if arrow is not None}
    if not active:
        return None

    def lifted(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        result = dict(value)
        for pattern, arrow in active.items():
            for key in value:
                if matches(pattern, key):
                    result[key] = _apply_at(key, arrow, result[key])
        return result

    return lifted


def in_array(prefix: Sequence[Arrow | None], rest: Arrow | None) -> Arrow | None:
    """Return an arrow that applies the ``prefix`` arrows to the first items and
    ``rest`` to the remaining items.
    """
    if rest is None and not any(prefix):
        return None

    def lifted(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        arrows = [*prefix, *[rest] * (len(value) - len(prefix))]
        pairs = enumerate(zip(arrows, value, strict=False))
        return [_apply_at(index, arrow, item) if arrow else item for index, (arrow, item) in pairs]

    return lifted
