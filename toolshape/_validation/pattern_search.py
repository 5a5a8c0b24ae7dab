"""Compiles the search for a definition's pattern, in bounded time where it can."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic_core import SchemaError, SchemaValidator, core_schema

from toolshape._records.calls import JsonSchema
from toolshape._schema import ecma
from toolshape._schema.patterns import count_states, is_bounded, lengths_of_whole, longest_bounded
from toolshape._schema.references import mentions
from toolshape._schema.walk import nodes_of

_MOST_STATES = 20_000
_MOST_STEPS = 20_000_000  # states times characters; the engine takes up to 2 seconds for these
_ENDLESS = 1_000_000_000


class Search(NamedTuple):
    """The search for one pattern.

    ``find`` decides a text of at most ``longest`` characters. ``lengths`` are the shortest and the
    longest text that can match, if the pattern describes the whole text. ``note`` says in which
    other way the pattern is read.
    """

    find: Callable[[str], bool]
    longest: int
    lengths: tuple[int, int] | None = None
    note: str = ""

    @property
    def is_possible(self) -> bool:
        """Whether there are texts that can be decided."""
        return self.longest >= 0

    def matches(self, text: str) -> bool | None:
        """Whether a text matches; ``None`` if deciding that may take too long."""
        if self.lengths is not None and not self.lengths[0] <= len(text) <= self.lengths[1]:
            return False
        if len(text) > self.longest:
            return None
        return self.find(text)


class Searches(NamedTuple):
    """The patterns of one tool, each compiled when a text first meets it.

    ``are_any`` says whether the tool has patterns, and ``for_keys`` whether some of them are about
    keys. ``sees_keys`` says whether jsonschema may match keys by itself, with Python's engine, as
    it does for ``unevaluatedProperties``.
    """

    compiled: dict[str, Search]
    are_any: bool = True
    for_keys: bool = True
    sees_keys: bool = True

    @property
    def shortest_unchecked(self) -> int:
        """The length from which on a text, or JSON that holds it, may
        have a part that is not checked.
        """
        longest = [search.longest for search in self.compiled.values() if search.is_possible]
        if self.for_keys:
            longest.append(LONGEST_KEY)
        return min(longest, default=_ENDLESS) + 1

    def of(self, pattern: str) -> Search:
        """Return the search for a pattern."""
        search = self.compiled.get(pattern)
        if search is None:
            search = self.compiled[pattern] = compile_search(pattern)
        return search


def searches_for(schema: JsonSchema) -> Searches:
    """Return the place for the searches of a schema."""
    for_keys = mentions(schema, "patternProperties")
    sees_keys = not (for_keys and mentions(schema, "unevaluatedProperties")) or all(
        _is_soon_matched(pattern)
        for node, _ in nodes_of(schema, constraints=True)
        for pattern in node.get("patternProperties", ())
    )
    return Searches({}, for_keys or mentions(schema, "pattern"), for_keys, sees_keys)


LONGEST_KEY = 100
"""The longest key for which jsonschema itself matches patterns, with Python's
engine, to see what is evaluated.
"""


def _is_soon_matched(pattern: str) -> bool:
    try:
        return is_bounded(pattern, LONGEST_KEY)
    except (re.error, RecursionError, OverflowError):  # jsonschema would raise the error
        return False


def compile_search(pattern: str) -> Search:
    """Compile a search with Rust's engine, or else with Python's; nothing is
    compiled before its work is known.

    Rust's engine takes at most (states of the pattern) times (characters of the text) steps. That
    is linear, but not bounded: ``(?:.*a.{0,200}){20}c`` has 4,000 states. Python's engine may take
    exponential time, so it is asked only for texts for which ``longest_bounded`` proves that it
    ends soon.
    """
    if ecma.is_pythons(pattern):
        return _pythons_search(pattern, f"the pattern {pattern!r} is read as Python reads it")
    states = count_states(pattern)
    if states is None:
        return _pythons_search(pattern, f"{pattern!r} is no pattern of ECMA-262")
    if states > _MOST_STATES:
        return _no_search(f"the pattern {pattern[:80]!r} has {states} states")
    try:
        parts = [(_rust_validator(part), must_match) for part, must_match in ecma.to_rust(pattern)]
    except (ecma.NotTranslatedError, SchemaError):
        return _python_search(pattern)
    return Search(
        lambda text: all(_is_valid(part, text) is must_match for part, must_match in parts),
        _MOST_STEPS // states,
        lengths_of_whole(pattern),
    )


def _python_search(pattern: str) -> Search:
    """Compile the pattern for Python's engine, in the meaning of ECMA-262."""
    try:
        translated = ecma.to_python(pattern)
        compiled = re.compile(translated, re.ASCII)
    except (ecma.NotTranslatedError, re.error, RecursionError, OverflowError) as error:
        return _no_search(f"no engine here can compile the pattern {pattern[:80]!r} ({error})")
    return Search(
        lambda text: compiled.search(text) is not None,
        longest_bounded(translated),
        lengths_of_whole(pattern),
    )


def _pythons_search(pattern: str, note: str) -> Search:
    """Compile a pattern that is written for Python."""
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return _no_search(f"{note}, and Python cannot compile it ({error})")
    return Search(
        lambda text: compiled.search(text) is not None, longest_bounded(pattern), None, note
    )


def _no_search(note: str) -> Search:
    return Search(lambda _: True, -1, None, note)


def _rust_validator(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern))


def _is_valid(validator: Any, text: str) -> bool:
    try:
        return bool(validator.isinstance_python(text))
    except ValueError:  # the string contains half of a surrogate pair
        return False


def what_is_unchecked(pattern: str, search: Search, longest_text: int | None) -> str:
    """Return what is not checked of a pattern, or how it is read, in words for a
    finding; ``""`` if all is well.

    Args:
        pattern: The pattern.
        search: Its search.
        longest_text: The ``maxLength`` beside the pattern, if there is one.
    """
    if not search.is_possible:
        return f"{search.note}: it is sent, but not checked"
    longest = _ENDLESS if longest_text is None else longest_text
    if search.lengths is not None:
        longest = min(longest, search.lengths[1])
    if search.longest < min(longest, _ORDINARY_TEXT):
        limit = f"checked only in texts of at most {search.longest} characters"
        if search.note:
            return f"{search.note}, and {limit}"
        return f"the pattern {pattern[:80]!r} is {limit}"
    return search.note


_ORDINARY_TEXT = 1_000
"""A pattern that is checked in texts of this length causes no finding; a longer
text is a warning of its call.
"""
