"""Decides whether Python's regular expression engine matches a pattern in bounded time."""

import functools
import sys
from typing import Any

if sys.version_info >= (3, 11):
    from re import _parser as _re_parser  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
else:
    import sre_parse as _re_parser

re_parser: Any = _re_parser
"""Python's regular expression parser; the standard library exports it only under private names."""


_FEW_TIMES = 10
_MOST_MATCHING = 1_000_000  # the maximum number of steps to match one string


def is_bounded(pattern: str, text: str) -> bool:
    """Whether Python can match a string in bounded time, because the pattern's repetitions are few and not nested.

    Raises:
        re.error: Python cannot parse the pattern.
    """
    repetitions = _repetitions(pattern)
    return repetitions is not None and (len(text) + 1) ** (repetitions + 1) <= _MOST_MATCHING


@functools.lru_cache(256)
def _repetitions(pattern: str) -> int | None:
    """Count a pattern's open-ended repetitions, or return ``None`` if they are nested or it has back-references."""
    return _repetitions_in(re_parser.parse(pattern), inside=False)


# A backtracking engine retries the rest of a pattern for every length that an open-ended repetition can take. With n
# such repetitions in sequence, matching a text of length L takes about (L + 1) ** (n + 1) steps, as in ``is_bounded``.
# A repetition or a choice inside a repetition takes exponential time, and back-references have no useful bound: for
# both, the count is ``None``. A lookaround is tried at every position of the text, so it counts as one more repetition.
def _repetitions_in(parsed: Any, *, inside: bool) -> int | None:
    count = 0
    for operator, argument in parsed:
        name = str(operator)
        is_repeat = name in _REPEATS
        is_open = is_repeat and int(argument[1]) - int(argument[0]) > _FEW_TIMES
        if (inside and (is_repeat or name == "BRANCH")) or name in _REFERS_BACK:
            return None
        parts = [
            _repetitions_in(part, inside=inside or is_open) for part in _parts_of(name, argument)
        ]
        if None in parts:
            return None
        looks_around = name in _LOOKS_AROUND
        count += is_open + looks_around + sum(part for part in parts if part is not None)
    return count


_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_REFERS_BACK = frozenset({"GROUPREF", "GROUPREF_EXISTS"})
_LOOKS_AROUND = frozenset({"ASSERT", "ASSERT_NOT"})


def _parts_of(name: str, argument: Any) -> list[Any]:
    """Return the subpatterns of one operator of a parsed pattern."""
    if name == "BRANCH":
        return list(argument[1])
    if name == "ATOMIC_GROUP":
        return [argument]
    return [argument[-1]] if name in {*_REPEATS, *_LOOKS_AROUND, "SUBPATTERN"} else []
