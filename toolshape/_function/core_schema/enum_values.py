"""Finds the JSON values of an enum or a literal, and the members that they stand for."""

import enum
import json
from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from typing import Any, NamedTuple

from pydantic_core import PydanticKnownError, to_jsonable_python

from toolshape._function.core_schema.nodes import Node

_MOST_COMBINATIONS = 64
_SCALARS = (str, int, float, bool, type(None))


class Choices(NamedTuple):
    """The values of an enum or a literal.

    ``values`` are the JSON values. ``members`` are the matching Python values, in the same order.
    ``is_plain`` is true if pydantic itself finds the member for each value. If a flag has too many
    combinations to list, ``mask`` has the bits of all members.
    """

    values: list[Any]
    members: list[Any]
    is_plain: bool
    mask: int | None = None
    cls: type[Any] | None = None


def choices_of(node: Node) -> Choices:
    """Return the choices of an ``enum`` or ``literal`` node."""
    if node["type"] == "literal":
        expected = _distinct_choices(node["expected"])
        values = [
            json_of_choice(choice.value if isinstance(choice, enum.Enum) else choice)
            for choice in expected
        ]
        return Choices(values, expected, all(type(choice) in _SCALARS for choice in expected))
    cls, members = node["cls"], _distinct_choices(node["members"])
    if issubclass(cls, enum.Flag):
        return _choices_of_flag(cls, members)
    values = [json_of_choice(member.value) for member in members]
    return Choices(values, members, all(isinstance(member.value, _SCALARS) for member in members))


def _distinct_choices(choices: Sequence[Any]) -> list[Any]:
    """Return the choices without repetitions: pydantic lists an enum's
    aliases as if they were members.
    """
    return [
        choice
        for index, choice in enumerate(choices)
        if not any(choice is earlier for earlier in choices[:index])
    ]


def _choices_of_flag(cls: type[enum.Flag], members: Sequence[enum.Flag]) -> Choices:
    """Return every combination of a flag's members, or the members and a mask if
    there are too many combinations.
    """
    combinations = {0}
    for bits in [int(member.value) for member in members]:
        if len(combinations) <= _MOST_COMBINATIONS:
            combinations |= {combination | bits for combination in combinations}
    if len(combinations) > _MOST_COMBINATIONS:
        mask = _combine_bits(-1, members)
        return Choices([int(member.value) for member in members], list(members), False, mask, cls)
    values = sorted(combinations)
    return Choices(values, [cls(value) for value in values], False)


def _combine_bits(value: int, members: Sequence[enum.Flag]) -> int:
    """Combine the bits of every member that ``value`` contains in
    full; ``-1`` contains all members.
    """
    bits = 0
    for member in members:
        bits |= (
            int(member.value)
            if value == -1 or int(member.value) & value == int(member.value)
            else 0
        )
    return bits


def json_of_choice(value: Any) -> Any:
    """Convert an enum's value to JSON; a set is sorted, because its own
    order differs between processes.
    """
    if isinstance(value, AbstractSet):
        ordered = sorted(value, key=lambda item: (type(item).__name__, repr(item)))
    else:
        ordered = value
    return to_jsonable_python(ordered)


def key_as_text(value: Any) -> str:
    """Serialise a JSON value; values of different types get different strings, such
    as ``1``, ``1.0`` and ``true``.
    """
    return json.dumps(value, sort_keys=True)


def written_key(value: Any) -> str:
    """Return the object key for a JSON value."""
    if isinstance(value, str):
        return value
    return json.dumps(value)


def lookup_of(choices: Choices, texts: Mapping[str, Any] | None = None) -> Callable[[Any], Any]:
    """Return a function that converts a JSON value to its member, and returns a member unchanged.

    Args:
        choices: The values and members of an enum or a literal.
        texts: The members by object key, if the function converts object keys instead of values.
    """
    choices_text = ", ".join(map(key_as_text, choices.values))
    pairs = list(zip(choices.values, choices.members, strict=True))
    # If a member is 1.0, the JSON value 1 is accepted too.
    members_of_whole_floats = {
        key_as_text(int(value)): member
        for value, member in pairs
        if type(value) is float and value.is_integer()
    }
    members_by_text = texts or {
        **members_of_whole_floats,
        **{key_as_text(value): member for value, member in pairs},
    }

    def find(value: Any) -> Any:
        if any(type(value) is type(member) and value == member for member in choices.members):
            return value
        try:
            if choices.mask is not None and choices.cls is not None:
                return _flag_from_bits(
                    choices.cls, choices.members, value if texts is None else int(value)
                )
            return members_by_text[key_as_text(value) if texts is None else value]
        except (LookupError, TypeError, ValueError):
            raise PydanticKnownError("enum", {"expected": choices_text}) from None

    return find


def _flag_from_bits(cls: type[Any], members: Sequence[Any], value: Any) -> Any:
    if type(value) is not int or value < 0 or _combine_bits(value, members) != value:
        raise LookupError(value)
    return cls(value)
