"""Decides whether Python matches a regular expression in bounded time."""

import functools
import sys
from typing import Any

if sys.version_info >= (3, 11):
    from re import _parser as _re_parser  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
else:
    import sre_parse as _re_parser

re_parser: Any = _re_parser
"""The parser of regular expressions, which has no public name."""


_FEW_TIMES = 10
_MOST_MATCHING = 1_000_000  # steps of matching one text by a pattern


def is_bounded(pattern: str, text: str) -> bool:
    """Whether Python finds out in bounded time if a text matches: no repetition stands in another, few beside each other.

    Raises:
        re.error: It is no pattern that Python knows.
    """
    repeated = _repetitions(pattern)
    return repeated is not None and (len(text) + 1) ** (repeated + 1) <= _MOST_MATCHING


@functools.lru_cache(256)
def _repetitions(pattern: str) -> int | None:
    """How many repetitions without an end a pattern has; ``None`` where one stands in another, or it refers back."""
    return _repetitions_in(re_parser.parse(pattern), inside=False)


def _repetitions_in(parsed: Any, *, inside: bool) -> int | None:
    found = 0
    for operator, argument in parsed:
        name = str(operator)
        is_repeat = name in _REPEATS
        is_open = is_repeat and int(argument[1]) - int(argument[0]) > _FEW_TIMES
        if (inside and (is_repeat or name == "BRANCH")) or name in _REFERS_BACK:
            return None
        parts = [_repetitions_in(part, inside=inside or is_open) for part in _parts_of(name, argument)]
        if None in parts:
            return None
        is_anew = name in _LOOKS_AROUND  # at every place
        found += is_open + is_anew + sum(part for part in parts if part is not None)
    return found


_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_REFERS_BACK = frozenset({"GROUPREF", "GROUPREF_EXISTS"})
_LOOKS_AROUND = frozenset({"ASSERT", "ASSERT_NOT"})


def _parts_of(name: str, argument: Any) -> list[Any]:
    """What stands inside of a part of a parsed pattern."""
    if name == "BRANCH":
        return list(argument[1])
    if name == "ATOMIC_GROUP":
        return [argument]
    return [argument[-1]] if name in {*_REPEATS, *_LOOKS_AROUND, "SUBPATTERN"} else []
