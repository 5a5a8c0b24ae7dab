"""Holds the tools of a server against a lock, and remembers what was
decided about each form of a tool.

Needs the extra ``schema``.
"""

import inspect
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolshape._records.calls import JsonObject
from toolshape._records.identity import canonical_json
from toolshape._tools.tool import Tool
from toolshape.contract import Contract, Diff, load_lock
from toolshape.contract._offered import OnChange, changes_since, is_harmless_change


class Pins:
    """A lock, what decides on a tool that differs from it, and the decisions so far."""

    def __init__(self, lock: Contract | Path | str, on_change: OnChange) -> None:
        """Read the lock.

        Raises:
            UsageError: The file is not a lock file.
        """
        self._lock: Contract = load_lock(lock) if isinstance(lock, (str, Path)) else lock
        self._on_change = on_change
        self._decided: dict[str, tuple[str, bool]] = {}
        self._missing: frozenset[str] = frozenset()

    def known(self, tools: Iterable[Tool[..., Any]]) -> set[str]:
        """Return the names of the tools that have been taken in exactly this form."""
        return {
            tool.name
            for tool in tools
            if self._decided.get(tool.name) == (canonical_json(_form_of(tool)), True)
        }

    async def taken(self, tools: Iterable[Tool[..., Any]]) -> set[str]:
        """Return the names of the tools that are taken.

        The function that decides is asked once for each form of a tool: a server may list its tools
        at any time.
        """
        taken: set[str] = set()
        offered: set[str] = set()
        for tool in tools:
            offered.add(tool.name)
            form = canonical_json(_form_of(tool))
            decided = self._decided.get(tool.name)
            if decided is None or decided[0] != form:
                decided = self._decided[tool.name] = form, await self._takes(tool)
            if decided[1]:
                taken.add(tool.name)
        self._tell_missing(frozenset(self._lock.tools.keys() - offered))
        return taken

    async def _takes(self, tool: Tool[..., Any]) -> bool:
        changes = changes_since(self._lock, tool)
        if is_harmless_change(changes):
            return True
        if isinstance(self._on_change, str):  # "refuse"
            _tell(
                "a tool of an MCP server is left out, since it is not what the lock says", changes
            )
            return False
        answer = self._on_change(changes)
        is_taken = bool(await answer if inspect.isawaitable(answer) else answer)
        if not is_taken:
            _tell("a tool of an MCP server is left out, as on_change decided", changes)
        return is_taken

    def _tell_missing(self, missing: frozenset[str]) -> None:
        for name in sorted(missing - self._missing):
            logging.getLogger("toolshape").warning(
                "an MCP server does not offer the tool %r of the lock", name
            )
        self._missing = missing


def _form_of(tool: Tool[..., Any]) -> JsonObject:
    spec = tool.spec
    return {
        "title": spec.title,
        "description": spec.description,
        "parameters": spec.parameters,
        "output": spec.output,
        "effects": sorted(spec.effects),
        "examples": list(spec.examples),
    }


def _tell(reason: str, changes: Diff) -> None:
    for change in changes.changes:
        if change.level != "compatible":
            logging.getLogger("toolshape").warning("%s: %s", reason, change)
