"""Selects tools of a registry by names, patterns and tags, and combines the settings of two registries."""

import fnmatch
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from toolshape._errors import UsageError, did_you_mean
from toolshape._options import labels
from toolshape._tool import Tool

_UNSAID: Mapping[str, Any] = MappingProxyType(
    {"strict": "auto", "coerce": None, "feedback": "lines", "default_effect": None}
)
"""The default settings of a registry."""


def selected(
    tools: Iterable[Tool[..., Any]],
    names: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    exclude: Collection[str] = (),
) -> list[Tool[..., Any]]:
    """Return the tools that match one of the names and one of the tags, and are not excluded, in their order.

    Args:
        tools: All tools.
        names: Names, or patterns with ``*``, ``?`` and ``[...]``. ``None`` matches every name.
        tags: Tags. ``None`` matches every tool.
        exclude: Names or patterns of tools to leave out.

    Raises:
        KeyError: A name or pattern matches no tool, or no tool has a tag.
        UsageError: A name or pattern is not a string.
    """
    there = {tool.name: tool for tool in tools}
    wanted = set(there) if names is None else _meant(there, labels(names))
    left_out = _meant(there, labels(exclude))
    marks = None if tags is None else labels(tags)
    known = {tag for tool in there.values() for tag in tool.tags}
    for tag in sorted((marks or frozenset()) - known, key=str):
        hint = did_you_mean(str(tag), known)
        raise KeyError(f"no tool has the tag {tag!r}" + (f" ({hint})" if hint else f"; there are {sorted(known)}"))
    return [
        tool
        for name, tool in there.items()
        if name in wanted - left_out and (marks is None or not tool.tags.isdisjoint(marks))
    ]


def _meant(there: Collection[str], given: Iterable[str]) -> set[str]:
    meant: set[str] = set()
    patterns: list[Any] = list(given)
    if wrong := [value for value in patterns if not isinstance(value, str)]:
        raise UsageError(f"select tools by names and patterns (strings), not by {type(wrong[0]).__name__}")
    for pattern in sorted(patterns):
        matches = {pattern} if pattern in there else {name for name in there if fnmatch.fnmatchcase(name, pattern)}
        if not matches:
            raise no_such_tool(pattern, there)
        meant |= matches
    return meant


def joined_settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Combine the settings of two registries. A setting that differs from the default takes precedence.

    Raises:
        UsageError: Both registries change the same setting, to different values.
    """
    joined: dict[str, Any] = {}
    for name, default in _UNSAID.items():
        changed = [value for value in (one[name], other[name]) if value != default]
        if len(changed) == 2 and changed[0] != changed[1]:  # noqa: PLR2004 - both registries
            raise UsageError(
                f"one registry has {name}={changed[0]!r}, the other {name}={changed[1]!r}: use the same value in both"
            )
        joined[name] = changed[0] if changed else default
    return joined


def no_such_tool(name: object, there: Collection[str]) -> KeyError:
    """Return the error for an unknown tool name, with the closest match."""
    hint = did_you_mean(str(name), there)
    return KeyError(f"there is no tool {name!r}" + (f" ({hint})" if hint else f"; there are {list(there)}"))
