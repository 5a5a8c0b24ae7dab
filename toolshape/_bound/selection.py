"""Selects tools of a registry by names, patterns and tags, and merges settings."""

import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from toolshape._records.errors import UsageError, did_you_mean
from toolshape._tools.options import labels
from toolshape._tools.tool import Tool

_UNSAID: Mapping[str, Any] = MappingProxyType(
    {"strict": "auto", "coerce": None, "feedback": "lines", "default_effect": None}
)
"""The default settings of a registry."""


def select_tools(
    tools: Iterable[Tool[..., Any]],
    names: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    exclude: Collection[str] = (),
) -> list[Tool[..., Any]]:
    """Return the tools that match a name and a tag and are not excluded, in their original order.

    Args:
        tools: All tools.
        names: Names, or patterns with ``*``, ``?`` and ``[...]``. ``None`` matches every name.
        tags: Tags. ``None`` matches every tool.
        exclude: Names or patterns of tools to leave out.

    Raises:
        KeyError: A name, a pattern or a tag matches no tool.
        UsageError: A name or pattern is not a string.
    """
    tools_by_name = {tool.name: tool for tool in tools}
    labels_by_name = _Tags(tools_by_name)
    return [tools_by_name[name] for name in select_names(labels_by_name, names, tags, exclude)]


class _Tags(Mapping[str, frozenset[str]]):
    """The tags of tools by name; they are looked up only if somebody selects by tags."""

    def __init__(self, tools: Mapping[str, Tool[..., Any]]) -> None:
        self._tools = tools

    def __getitem__(self, name: str) -> frozenset[str]:
        return self._tools[name].tags

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)


def select_names(
    tags_of: Mapping[str, Collection[str]],
    names: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    exclude: Collection[str] = (),
) -> list[str]:
    """Return the names that match a name and a tag and are not excluded, in their original order.

    Args:
        tags_of: The tags of everything that there is, by name.
        names: Names, or patterns with ``*``, ``?`` and ``[...]``. ``None`` matches every name.
        tags: Tags. ``None`` matches everything.
        exclude: Names or patterns to leave out.

    Raises:
        KeyError: A name, a pattern or a tag matches nothing.
        UsageError: A name or pattern is not a string.
    """
    wanted_names = set(tags_of) if names is None else _match_names(tags_of, labels(names))
    left_out = _match_names(tags_of, labels(exclude))
    wanted_tags = None if tags is None else labels(tags)
    if wanted_tags is not None:
        _check_tags(wanted_tags, {tag for known in tags_of.values() for tag in known})
    return [
        name
        for name in tags_of
        if name in wanted_names - left_out
        and (wanted_tags is None or not wanted_tags.isdisjoint(tags_of[name]))
    ]


def _check_tags(wanted: frozenset[str], known: Collection[str]) -> None:
    for tag in sorted(wanted - set(known), key=str):
        hint = did_you_mean(str(tag), known)
        raise KeyError(
            f"no tool has the tag {tag!r}"
            + (f" ({hint})" if hint else f"; there are {sorted(known)}")
        )


def _match_names(there: Collection[str], given: Iterable[str]) -> set[str]:
    matched_names: set[str] = set()
    patterns: list[Any] = list(given)
    if invalid_values := [value for value in patterns if not isinstance(value, str)]:
        raise UsageError(
            "select tools by names and patterns (strings), not by "
            f"{type(invalid_values[0]).__name__}"
        )
    for pattern in sorted(patterns):
        if pattern in there:
            matches = {pattern}
        else:
            matches = {name for name in there if fnmatch.fnmatchcase(name, pattern)}
        if not matches:
            raise no_such_tool(pattern, there)
        matched_names |= matches
    return matched_names


def join_settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Combine the settings of two registries.

    A value that differs from the default takes precedence.

    Raises:
        UsageError: Both registries change the same setting, to different values.
    """
    joined: dict[str, Any] = {}
    for name, default in _UNSAID.items():
        changed_values = [value for value in (one[name], other[name]) if value != default]
        if len(changed_values) == 2 and changed_values[0] != changed_values[1]:  # noqa: PLR2004 - both registries
            raise UsageError(
                f"one registry has {name}={changed_values[0]!r}, the other "
                f"{name}={changed_values[1]!r}: use the same value in both"
            )
        joined[name] = changed_values[0] if changed_values else default
    return joined


def no_such_tool(name: object, there: Collection[str]) -> KeyError:
    """Return the error for an unknown tool name, with the closest match."""
    hint = did_you_mean(str(name), there)
    return KeyError(
        f"there is no tool {name!r}" + (f" ({hint})" if hint else f"; there are {list(there)}")
    )
