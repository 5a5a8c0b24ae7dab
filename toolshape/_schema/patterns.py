"""Reads patterns by their steps: the work of matching one, and the characters that fit it."""

import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolshape._schema.ecma import NotTranslatedError, to_python

re_parser: Any = importlib.import_module(
    "re._parser" if sys.version_info >= (3, 11) else "sre_parse"
)
"""Python's regular expression parser; the standard library exports it only under private names."""


_MOST_PATHS = 1_000_000  # the maximum number of steps of Python's engine to match one text
_ENDLESS = 10_000_000  # more paths than this are not told apart
_MOST_SUMMED = (
    64  # a repetition of something with several paths that may run longer counts as endless
)
_NO_LIMIT = 1 << 32  # the parser's own word for a repetition without an end is about this large


def is_bounded(pattern: str, length: int) -> bool:
    """Whether Python's engine certainly matches a text of this length in bounded time.

    A backtracking engine tries, at each position, the paths through a pattern one after the other.
    Their number is a product: a repetition has a path for each count that it allows, and a choice
    one for each branch.

    Raises:
        re.error: Python cannot parse the pattern.
    """
    return (length + 1) * _paths(_parsed(pattern), length) <= _MOST_PATHS


def longest_bounded(pattern: str, most: int = 1_000_000) -> int:
    """Return the length up to which ``is_bounded`` holds, at most ``most``; -1 if it never does."""
    if is_bounded(pattern, most):
        return most
    shortest, longest = -1, most
    while longest - shortest > 1:
        middle = (shortest + longest) // 2
        if is_bounded(pattern, middle):
            shortest = middle
        else:
            longest = middle
    return shortest


@functools.lru_cache(256)
def _parsed(pattern: str) -> Any:
    return re_parser.parse(pattern)


def _paths(parsed: Any, length: int) -> int:
    """Return how many paths lead through a parsed pattern for a text of
    this length, at most ``_ENDLESS``.
    """
    total = 1
    for operator, argument in parsed:
        name = str(operator)
        if name in _REPEATS:
            least = int(argument[0])
            most = min(int(argument[1]), least + length)
            factor = _paths_of_repeat(least, most, _paths(argument[2], length))
        elif name == "BRANCH":
            factor = sum(_paths(part, length) for part in argument[1])
        elif name == "GROUPREF_EXISTS":
            factor = _ENDLESS
        elif name == "GROUPREF":
            factor = length + 1  # the comparison itself
        else:
            inside = _inside(name, argument)
            if inside is None:
                factor = 1
            else:
                factor = _paths(inside, length)
        total = min(total * factor, _ENDLESS)
    return total


def _paths_of_repeat(least: int, most: int, inside: int) -> int:
    if inside == 1:
        return most - least + 1
    if most > _MOST_SUMMED:
        return _ENDLESS
    return sum(min(inside**count, _ENDLESS) for count in range(least, most + 1))


def count_states(pattern: str) -> int | None:
    """Return the states of an automaton for a pattern of ECMA-262, with
    counted repetitions written out.

    The work of an engine that does not backtrack is at most this number times the length of the
    text. ``None`` if the pattern cannot be parsed.
    """
    parsed = _parsed_as_ecma(pattern)
    if parsed is None:
        return None
    return _states(parsed)


def _states(parsed: Any) -> int:
    total = 1
    for operator, argument in parsed:
        name = str(operator)
        if name in _REPEATS:
            if int(argument[1]) < _NO_LIMIT >> 1:
                times = int(argument[1])
            else:
                times = int(argument[0]) + 1
            total += max(1, times) * _states(argument[2])
        elif name == "BRANCH":
            total += sum(_states(part) for part in argument[1])
        else:
            inside = _inside(name, argument)
            total += 1 if inside is None else _states(inside)
    return total


def lengths_of_whole(pattern: str) -> tuple[int, int] | None:
    """Return the least and the greatest length of a text that a pattern matches as a whole.

    ``None`` if the pattern may also match a part of a text, or cannot be parsed.
    """
    parsed = _parsed_as_ecma(pattern)
    if parsed is None:
        return None
    steps = list(parsed)
    is_whole = len(steps) > 1 and _is_anchor(steps[0], "BEGINNING") and _is_anchor(steps[-1], "END")
    return parsed.getwidth() if is_whole else None


def steps_of_whole(pattern: str) -> frozenset[str] | None:
    r"""Return the kinds of steps of a pattern that matches whole texts,
    in the words of Python's parser.

    ``NOT_IN`` stands for a class of all characters but some, as the dot is, and ``PROPERTY`` for a
    class such as ``\p{L}``. ``None`` if the pattern may also match a part of a text, or cannot be
    parsed.
    """
    if lengths_of_whole(pattern) is None:
        return None
    found = set(_kinds(list(_parsed_as_ecma(pattern))[1:-1]))
    return frozenset(found | {"PROPERTY"} if _PROPERTY.search(pattern) else found)


def _kinds(parsed: Any) -> Iterator[str]:
    for name, argument in _steps(parsed):
        is_negated = name == "IN" and str(argument[0][0]) == "NEGATE"
        yield "NOT_IN" if is_negated else name


def _steps(parsed: Any) -> Iterator[tuple[str, Any]]:
    """Yield all steps of a parsed pattern, those within repetitions, choices and groups too."""
    for operator, argument in parsed:
        name = str(operator)
        yield name, argument
        if name in _REPEATS:
            yield from _steps(argument[2])
        elif name == "BRANCH":
            for part in argument[1]:
                yield from _steps(part)
        elif (inside := _inside(name, argument)) is not None:
            yield from _steps(inside)


def steps_of_json_signs(pattern: str) -> frozenset[str]:
    """Return the kinds of steps of a pattern that match characters which JSON escapes.

    These are the quote, the backslash and the control characters. An engine that compares a pattern
    with the JSON text, and not with the string in it, lets them through unescaped. Empty also for
    a pattern that cannot be parsed.
    """
    parsed = _parsed_as_ecma(pattern)
    if parsed is None:
        return frozenset()
    return frozenset(
        name
        for name, argument in _steps(parsed)
        if any(_matches(name, argument, code) for code in _JSON_SIGNS)
    )


_JSON_SIGNS = (*range(0x20), ord('"'), ord("\\"))


def _matches(name: str, argument: Any, code: int) -> bool:
    """Whether a step matches this one character; an anchor matches none."""
    if name == "IN":
        members = [(str(kind), value) for kind, value in argument]
        is_member = any(_matches(kind, value, code) for kind, value in members)
        return is_member is not (members[0][0] == "NEGATE")
    matches = _CHARACTERS.get(name)
    return matches is not None and matches(argument, code)


def _is_in_category(category: Any, code: int) -> bool:
    """Whether a character that JSON escapes is in a category: of those, only white space may be."""
    is_inside = "SPACE" in str(category) and chr(code).isspace()
    return is_inside is not ("NOT_" in str(category))


_CHARACTERS: Mapping[str, Callable[[Any, int], bool]] = {
    "ANY": lambda _, code: code != ord("\n"),
    "LITERAL": lambda literal, code: bool(literal == code),
    "NOT_LITERAL": lambda literal, code: bool(literal != code),
    "RANGE": lambda bounds, code: bool(bounds[0] <= code <= bounds[1]),
    "CATEGORY": _is_in_category,
}


def _is_anchor(step: Any, word: str) -> bool:
    return str(step[0]) == "AT" and word in str(step[1])


def _parsed_as_ecma(pattern: str) -> Any:
    r"""Parse a pattern of ECMA-262; a class such as ``\p{L}`` counts as one character."""
    try:
        return _parsed(to_python(_PROPERTY.sub(".", pattern)))
    except (NotTranslatedError, RecursionError, OverflowError, re.error):
        return None


_PROPERTY = re.compile(r"\\[pP]\{[A-Za-z_=0-9]+\}")
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})


def _inside(name: str, argument: Any) -> Any:
    """Return the pattern within a group or a look-around; ``None`` for anything else."""
    if name == "ATOMIC_GROUP":
        return argument
    if name in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        return argument[-1]
    return None
