"""Holds imported definitions against a lock, and says which of them are taken."""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from toolshape._plan import steps
from toolshape._records.errors import UsageError
from toolshape._tools.tool import Tool, read_all


class LockedTools(Protocol):
    """What a ``toolshape.contract.Contract`` is, for a room below contracts."""

    @property
    def tools(self) -> Mapping[str, Any]:
        """The tools of the lock, by name."""
        ...


Lock: TypeAlias = LockedTools | Path | str
TakesChange: TypeAlias = Literal["refuse"] | Callable[[Any], bool]
"""``"refuse"``, or a function that takes a tool's ``toolshape.contract.Diff``."""


def take_unchanged(
    tools: list[Tool[..., Any]], lock: Lock | None, on_change: TakesChange
) -> list[Tool[..., Any]]:
    """Return the tools that are what the lock says, and those that ``on_change`` takes.

    Args:
        tools: The tools as they are defined now. Under a lock, each is read.
        lock: A ``toolshape.contract.Contract``, or the path of a lock file. Without a lock, all
            tools are returned.
        on_change: What decides on a tool that is not what the lock says.

    Raises:
        DefinitionError: A definition cannot be read.
        UsageError: The lock cannot be read, ``on_change`` is async, or there is no lock to decide
            about.
    """
    if lock is None:
        if on_change != "refuse":
            raise UsageError("on_change= decides on what differs from a lock: pass lock=, too")
        return tools
    read_all(tools)
    # Contracts compare registries, so they stand above this room: they are loaded by their name.
    pins = importlib.import_module("toolshape.contract._pins").Pins(
        lock, on_change, "the definitions"
    )
    taken: set[str] = steps.run_here(pins.taken(tools, steps.HERE))
    return [tool for tool in tools if tool.name in taken]
