"""Decides which tools of others are taken under a lock, and remembers each decision."""

import inspect
import logging
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from toolshape._plan.steps import Steps
from toolshape._records.calls import JsonObject
from toolshape._records.errors import UsageError
from toolshape._records.identity import canonical_json
from toolshape._tools.tool import Tool
from toolshape.contract._compare import Diff
from toolshape.contract._lock import Contract, load_lock
from toolshape.contract._offered import OnChange, changes_since, is_harmless_change


class Pins:
    """A lock, what decides on a tool that differs from it, and the decisions so far."""

    def __init__(self, lock: Contract | Path | str, on_change: OnChange, source: str) -> None:
        """Read the lock.

        Args:
            lock: The lock, or the path of its file.
            on_change: What decides on a tool that is not what the lock says.
            source: Who defines the tools, as the log says it: ``"an MCP server"``.

        Raises:
            UsageError: The file is not a lock file.
        """
        self._source = source
        given: Any = lock
        if not isinstance(given, (str, Path, Contract)):
            raise UsageError(
                f"lock= is a Contract or the path of a lock file, not {type(given).__name__}"
            )
        given_rule: Any = on_change
        if given_rule != "refuse" and not callable(given_rule):
            raise UsageError(f'on_change= is "refuse" or a function, not {given_rule!r}')
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

    async def taken(self, tools: Iterable[Tool[..., Any]], steps: Steps) -> set[str]:
        """Return the names of the tools that are taken.

        The function that decides is asked once for each form of a tool: a server may list its tools
        at any time.

        Raises:
            UsageError: The function that decides is async, and no event loop runs this.
        """
        taken: set[str] = set()
        for tool in tools:
            form = canonical_json(_form_of(tool))
            decided = self._decided.get(tool.name)
            if decided is None or decided[0] != form:
                decided = self._decided[tool.name] = form, await self._takes(tool, steps)
            if decided[1]:
                taken.add(tool.name)
        return taken

    async def _takes(self, tool: Tool[..., Any], steps: Steps) -> bool:
        changes = changes_since(self._lock, tool)
        if is_harmless_change(changes):
            return True
        if isinstance(self._on_change, str):  # "refuse"
            _tell(
                f"a tool of {self._source} is left out, since it is not what the lock says", changes
            )
            return False
        answer = self._on_change(changes)
        if inspect.isawaitable(answer):
            if not steps.is_loop:
                if inspect.iscoroutine(answer):
                    answer.close()
                raise UsageError("on_change= is async, and nothing here can wait for it")
            answer = await answer
        is_taken = bool(answer)
        if not is_taken:
            _tell(f"a tool of {self._source} is left out, as on_change decided", changes)
        return is_taken

    def tell_missing(self, offered: Collection[str]) -> None:
        """Log the tools of the lock that are not offered, once."""
        missing = frozenset(self._lock.tools.keys() - set(offered))
        for name in sorted(missing - self._missing):
            logging.getLogger("toolshape").warning(
                "%s has no tool %r, which the lock has", self._source, name
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
