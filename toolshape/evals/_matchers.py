"""What an argument may be, where more than one value is right."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from toolshape._schema.values import WrittenText, is_same_value


@dataclass(frozen=True, slots=True)
class Matcher:
    """A condition on the value that a function would get, as JSON; ``says`` is what a difference shows of it.

    ``may_be_left_out``: where there is no default, the argument need not be given.
    """

    says: str
    accepts: Callable[[Any], bool] = field(repr=False, compare=False)
    may_be_left_out: bool = False

    def __repr__(self) -> str:
        return self.says


def _number_in(value: Any) -> float | Decimal | None:
    """The number that a function gets: JSON's, or a Decimal, which is written as a text."""
    number = value.value if isinstance(value, WrittenText) else value
    return number if isinstance(number, (int, float, Decimal)) and not isinstance(number, bool) else None


def anything() -> Matcher:
    """Any value, or none."""
    return Matcher("anything()", lambda _: True, may_be_left_out=True)


def one_of(*values: Any, left_out: bool = False) -> Matcher:
    """One of some values, each as JSON, or a matcher.

    Args:
        *values: The values.
        left_out: Whether the argument may also be left out, where the tool has no default for it.
    """
    return Matcher(
        f"one_of({', '.join(map(repr, values))})",
        lambda given: any(
            one.accepts(given) if isinstance(one, Matcher) else is_same_value(one, given) for one in values
        ),
        left_out,
    )


def close_to(value: float, *, within: float | None = None) -> Matcher:
    """A number near another.

    Args:
        value: The number.
        within: How far off it may be; a millionth of it by default.
    """
    far = abs(value) * 1e-6 if within is None else within

    def accepts(given: Any) -> bool:
        number = _number_in(given)
        try:
            if isinstance(number, Decimal):
                return abs(number - Decimal(str(value))) <= Decimal(str(far))
            return number is not None and abs(number - value) <= far
        except (ArithmeticError, ValueError):  # an integer beyond all floats, NaN of Decimal
            return False

    return Matcher(f"close_to({value!r})" if within is None else f"close_to({value!r}, within={within!r})", accepts)


def matching(pattern: str) -> Matcher:
    """A text that a regular expression finds, in any letter case where it says ``(?i)``."""
    found = re.compile(pattern)
    return Matcher(f"matching({pattern!r})", lambda given: isinstance(given, str) and found.search(given) is not None)


def containing(*items: Any) -> Matcher:
    """A text that contains all of these, a list that has all of these as items, or an object that has all as keys."""

    def accepts(given: Any) -> bool:
        if isinstance(given, str):
            return all(isinstance(one, str) and one in given for one in items)
        if isinstance(given, dict):
            return all(isinstance(one, str) and one in given for one in items)
        return isinstance(given, list) and all(any(is_same_value(one, other) for other in given) for one in items)

    return Matcher(f"containing({', '.join(map(repr, items))})", accepts)


def where(predicate: Callable[[Any], bool], says: str = "") -> Matcher:
    """A value that a function says yes to; one that it raises an error for is not.

    Args:
        predicate: Takes the value as JSON.
        says: What a difference shows of it; the function's name by default.
    """

    def accepts(given: Any) -> bool:
        try:
            return bool(predicate(given))
        except Exception:  # the predicate is the user's, and what it is given the model's
            return False

    return Matcher(f"where({says or getattr(predicate, '__name__', 'predicate')})", accepts)
