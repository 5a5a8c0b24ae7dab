"""Conditions on an argument for which more than one value is right."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from toolshape._records.errors import UsageError
from toolshape._schema.values import WrittenText, is_same_value


@dataclass(frozen=True, slots=True)
class Matcher:
    """A condition on a value that a function would receive. Differences show the text of ``says``.

    ``accepts`` receives the value as JSON data (dicts, lists, strings, numbers). If
    ``may_be_left_out`` is true, the model may omit the argument, even if the argument has no
    default.
    """

    says: str
    accepts: Callable[[Any], bool] = field(repr=False, compare=False)
    may_be_left_out: bool = False

    def __repr__(self) -> str:
        return self.says


def _number_in(value: Any) -> float | Decimal | None:
    """Return the number that a function would receive, or ``None``.

    A ``WrittenText`` holds a Decimal.
    """
    if isinstance(value, WrittenText):
        number = value.value
    else:
        number = value
    if isinstance(number, (int, float, Decimal)) and not isinstance(number, bool):
        return number
    return None


def anything() -> Matcher:
    """Match any value. The model may also omit the argument."""
    return Matcher("anything()", lambda _: True, may_be_left_out=True)


def one_of(*values: Any, left_out: bool = False) -> Matcher:
    """Match any of several JSON values or matchers.

    Args:
        *values: The values.
        left_out: Whether the model may also omit an argument that has no default. If the argument
            has a default, the default must match.
    """
    return Matcher(
        f"one_of({', '.join(map(repr, values))})",
        lambda given: any(
            value.accepts(given) if isinstance(value, Matcher) else is_same_value(value, given)
            for value in values
        ),
        left_out,
    )


def close_to(value: float, *, within: float | None = None) -> Matcher:
    """Match a number near another number.

    Args:
        value: The number.
        within: The largest allowed distance. The default is one millionth of the number.
    """
    tolerance = abs(value) * 1e-6 if within is None else within

    def accepts(given: Any) -> bool:
        number = _number_in(given)
        try:
            if isinstance(number, Decimal):
                return abs(number - Decimal(str(value))) <= Decimal(str(tolerance))
            return number is not None and abs(number - value) <= tolerance
        except (
            ArithmeticError,
            ValueError,
        ):
            # The integer is too large for a float, or the Decimal is NaN.
            return False

    return Matcher(
        f"close_to({value!r})" if within is None else f"close_to({value!r}, within={within!r})",
        accepts,
    )


def matching(pattern: str) -> Matcher:
    """Match a string in which a regular expression finds a match.

    To ignore case, put ``(?i)`` into the pattern.
    """
    compiled = re.compile(pattern)
    return Matcher(
        f"matching({pattern!r})",
        lambda given: isinstance(given, str) and compiled.search(given) is not None,
    )


def containing(*items: Any) -> Matcher:
    """Match a string or a list that contains all items, or an object that has all items as keys."""

    def accepts(given: Any) -> bool:
        if isinstance(given, str):
            return all(isinstance(item, str) and item in given for item in items)
        if isinstance(given, dict):
            return all(isinstance(item, str) and item in given for item in items)
        return isinstance(given, list) and all(
            any(is_same_value(item, element) for element in given) for item in items
        )

    return Matcher(f"containing({', '.join(map(repr, items))})", accepts)


def where(predicate: Callable[[Any], bool], says: str = "") -> Matcher:
    """Match a value for which a function returns true.

    Args:
        predicate: The function. It receives the value as JSON data (dicts, lists, strings,
            numbers), not as JSON text.
        says: The text that describes this condition in a reported ``Difference``. The default is
            the function's name.

    If the function raises an exception, the test is at fault and not the model: ``Case.compare``
    raises ``UsageError``, and ``evaluate`` reports the trial as ``failed``. If it raises for every
    value that the argument can have, ``evaluate`` raises before it asks a model.
    """
    shown = f"where({says or getattr(predicate, '__name__', 'predicate')})"

    def accepts(given: Any) -> bool:
        try:
            return bool(predicate(given))
        except Exception as error:
            # Without the value and the message, which may quote a secret.
            raise UsageError(
                f"{shown} raised {type(error).__name__}: a predicate must take any value"
            ) from error

    return Matcher(shown, accepts)
