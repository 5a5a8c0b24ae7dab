"""Functions from JSON value to JSON value, lifted to the members of objects and the items of arrays."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from toolshape._schema.values import UnreadableError

Arrow: TypeAlias = Callable[[Any], Any]
Dropped: TypeAlias = frozenset[tuple[tuple[str, ...], frozenset[str]]]
"""For an arrow that only drops null fields: of each object, the names of all fields, and of those dropped."""


def chained(arrows: Sequence[Arrow]) -> Arrow | None:
    """One after the other; ``None`` if there is none."""
    if not arrows:
        return None
    if len(arrows) == 1:
        return arrows[0]

    def chain(value: Any) -> Any:
        for arrow in arrows:
            value = arrow(value)
        return value

    return chain


def _at(step: int | str, arrow: Arrow, item: Any) -> Any:
    """What an arrow makes of a member; where it cannot read it, the error says where that stands."""
    try:
        return arrow(item)
    except UnreadableError as error:
        error.location = (step, *error.location)
        raise


def in_object(arrows: Mapping[str, Arrow | None]) -> Arrow | None:
    """On the named fields of an object."""
    active = {name: arrow for name, arrow in arrows.items() if arrow is not None}
    if not active:
        return None

    def lifted(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: _at(key, active[key], item) if key in active else item for key, item in value.items()}

    return lifted


def in_others(known: frozenset[str], arrow: Arrow | None) -> Arrow | None:
    """On the other fields of an object."""
    if arrow is None:
        return None

    def lifted(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: item if key in known else _at(key, arrow, item) for key, item in value.items()}

    return lifted


def in_matching(arrows: Mapping[str, Arrow | None], matches: Callable[[str, str], bool]) -> Arrow | None:
    """On the fields of an object whose names match a pattern."""
    active = {pattern: arrow for pattern, arrow in arrows.items() if arrow is not None}
    if not active:
        return None

    def lifted(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        found = dict(value)
        for pattern, arrow in active.items():
            for key in value:
                if matches(pattern, key):
                    found[key] = _at(key, arrow, found[key])
        return found

    return lifted


def in_array(prefix: Sequence[Arrow | None], rest: Arrow | None) -> Arrow | None:
    """On the items of an array, by their place."""
    if rest is None and not any(prefix):
        return None

    def lifted(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        arrows = [*prefix, *[rest] * (len(value) - len(prefix))]
        pairs = enumerate(zip(arrows, value, strict=False))
        return [_at(index, arrow, item) if arrow else item for index, (arrow, item) in pairs]

    return lifted
