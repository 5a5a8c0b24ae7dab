"""Tools, and names or patterns for some of them, in; those that are meant, in their order, out."""

import fnmatch
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from toolshape._errors import UsageError, did_you_mean
from toolshape._options import labels
from toolshape._tool import Tool

_UNSAID: Mapping[str, Any] = MappingProxyType(
    {"strict": "auto", "coerce": None, "feedback": "lines", "undeclared": None}
)
"""The settings of a registry where nobody says them."""


def selected(
    tools: Iterable[Tool[..., Any]],
    names: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    exclude: Collection[str] = (),
) -> list[Tool[..., Any]]:
    """The tools with one of some names, and with one of some tags, that are not excluded.

    Args:
        tools: All of them.
        names: Names, or patterns with ``*``, ``?`` and ``[...]``; ``None`` for all.
        tags: Tags; ``None`` for all.
        exclude: Names, or patterns.

    Raises:
        KeyError: A name or a pattern is of no tool.
        UsageError: One is no text.
    """
    there = {tool.name: tool for tool in tools}
    wanted = set(there) if names is None else _meant(there, labels(names))
    left_out = _meant(there, labels(exclude))
    marks = None if tags is None else labels(tags)
    return [
        tool
        for name, tool in there.items()
        if name in wanted - left_out and (marks is None or not tool.tags.isdisjoint(marks))
    ]


def _meant(there: Collection[str], given: Iterable[str]) -> set[str]:
    found: set[str] = set()
    wanted: list[Any] = list(given)
    if wrong := [one for one in wanted if not isinstance(one, str)]:
        raise UsageError(f"a set of tools is said by names and patterns, not by {type(wrong[0]).__name__}")
    for one in sorted(wanted):
        meant = {one} if one in there else {name for name in there if fnmatch.fnmatchcase(name, one)}
        if not meant:
            raise no_such_tool(one, there)
        found |= meant
    return found


def joined_settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of two registries together: what one of them says, and the other says otherwise in nothing.

    Raises:
        UsageError: They say different things.
    """
    found: dict[str, Any] = {}
    for name, unsaid in _UNSAID.items():
        said = [value for value in (one[name], other[name]) if value != unsaid]
        if len(said) == 2 and said[0] != said[1]:  # noqa: PLR2004 - both of them
            raise UsageError(f"one registry has {name}={said[0]!r}, the other {name}={said[1]!r}: say the same in both")
        found[name] = said[0] if said else unsaid
    return found


def no_such_tool(name: object, there: Collection[str]) -> KeyError:
    """The error for a name that no tool has, with the one that may be meant."""
    hint = did_you_mean(str(name), there)
    return KeyError(f"there is no tool {name!r}" + (f" ({hint})" if hint else f"; there are {list(there)}"))
