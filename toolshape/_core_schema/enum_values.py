"""Finds the JSON values of an enum or a literal in a core schema, and the members that they stand for."""

import enum
import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from pydantic_core import PydanticKnownError, to_jsonable_python

from toolshape._core_schema.nodes import Node

_MOST_COMBINATIONS = 64
_SCALARS = (str, int, float, bool, type(None))


class Choices(NamedTuple):
    """The values of an enum or a literal.

    ``values`` are the JSON values, ``members`` what they become, in the same order. ``is_plain``: pydantic itself
    finds the member for each value. ``mask`` has the bits of a flag with more combinations than are listed.
    """

    values: list[Any]
    members: list[Any]
    is_plain: bool
    mask: int | None = None
    cls: type[Any] | None = None


def choices_of(node: Node) -> Choices:
    """The choices of an ``enum`` or ``literal`` node."""
    if node["type"] == "literal":
        expected = _distinct(node["expected"])
        values = [json_of_choice(one.value if isinstance(one, enum.Enum) else one) for one in expected]
        return Choices(values, expected, all(type(one) in _SCALARS for one in expected))
    cls, members = node["cls"], _distinct(node["members"])
    if issubclass(cls, enum.Flag):
        return _of_flag(cls, members)
    values = [json_of_choice(one.value) for one in members]
    return Choices(values, members, all(isinstance(one.value, _SCALARS) for one in members))


def _distinct(choices: Sequence[Any]) -> list[Any]:
    """The choices without those that are another by a second name: pydantic lists an enum's aliases as members."""
    return [one for place, one in enumerate(choices) if not any(one is other for other in choices[:place])]


def _of_flag(cls: type[enum.Flag], members: Sequence[enum.Flag]) -> Choices:
    """Every combination, where they are few."""
    found = {0}
    for bits in [int(one.value) for one in members]:
        if len(found) <= _MOST_COMBINATIONS:
            found |= {one | bits for one in found}
    if len(found) > _MOST_COMBINATIONS:
        mask = _combined(-1, members)
        return Choices([int(one.value) for one in members], list(members), False, mask, cls)
    values = sorted(found)
    return Choices(values, [cls(value) for value in values], False)


def _combined(value: int, members: Sequence[enum.Flag]) -> int:
    """The bits of all members that are contained in a value, or of every member for ``-1``."""
    bits = 0
    for one in members:
        bits |= int(one.value) if value == -1 or int(one.value) & value == int(one.value) else 0
    return bits


def json_of_choice(value: Any) -> Any:
    """The JSON of an enum's value; a set in an order that is the same in every process."""
    plain = (
        sorted(value, key=lambda item: (type(item).__name__, repr(item))) if isinstance(value, AbstractSet) else value
    )
    return to_jsonable_python(plain)


def as_text(value: Any) -> str:
    """A text that tells JSON values apart, by type as well: ``1``, ``1.0`` and ``true`` have different texts."""
    return json.dumps(value, sort_keys=True)


def key_of(value: Any) -> str:
    """A JSON value as the key of an object."""
    return value if isinstance(value, str) else json.dumps(value)


def lookup_of(choices: Choices, texts: Mapping[str, Any] | None = None) -> Callable[[Any], Any]:
    """A function from a JSON value to the member that it means; a member is itself.

    Args:
        choices: The choices.
        texts: The members by the keys that mean them, where keys are read.
    """
    listed = ", ".join(map(as_text, choices.values))
    pairs = list(zip(choices.values, choices.members, strict=True))
    whole = {as_text(int(value)): one for value, one in pairs if type(value) is float and value.is_integer()}
    found = texts or {**whole, **{as_text(value): one for value, one in pairs}}  # 1 is as good as 1.0

    def find(value: Any) -> Any:
        if any(type(value) is type(member) and value == member for member in choices.members):
            return value
        try:
            if choices.mask is not None and choices.cls is not None:
                return _of_bits(choices.cls, choices.members, value if texts is None else int(value))
            return found[as_text(value) if texts is None else value]
        except (LookupError, TypeError, ValueError):
            raise PydanticKnownError("enum", {"expected": listed}) from None

    return find


def _of_bits(cls: type[Any], members: Sequence[Any], value: Any) -> Any:
    if type(value) is not int or value < 0 or _combined(value, members) != value:
        raise LookupError(value)
    return cls(value)
