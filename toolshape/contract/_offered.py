"""Compares a tool that somebody else offers with what it was when the lock was written."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from toolshape._bound.registry import Registry
from toolshape._tools.tool import Tool
from toolshape.contract._compare import Change, Diff, diff
from toolshape.contract._lock import Contract

OnChange: TypeAlias = Literal["refuse"] | Callable[[Diff], bool | Awaitable[bool]]
"""What decides on a tool that is not what the lock says: ``"refuse"``, or a function
that returns whether to take it.
"""


def changes_since(lock: Contract, tool: Tool[..., Any]) -> Diff:
    """Return how one tool differs from what a lock says of its name.

    A name that is not in the lock is the change ``tool_added``; it is never taken for another tool
    that was renamed. What providers are sent is not compared: it is this library's, and changes
    with its versions.

    Args:
        lock: The contract.
        tool: The tool as it is offered now.
    """
    locked = lock.tools.get(tool.name)
    if locked is None:
        added = Change("tool_added", "behaviour", tool.name, "", None, tool.description)
        return Diff(changes=(added,))
    nothing_sent: Mapping[str, str] = MappingProxyType({})
    alone = Contract({tool.name: locked._replace(fingerprints=nothing_sent)}, ())
    return diff(Registry([tool]), alone)


def is_harmless_change(changes: Diff) -> bool:
    """Whether a model reads the same words, and every call is understood as before."""
    return len(changes.of("compatible")) == len(changes.changes)
