"""Changes and the replay of a trace in; how many recorded calls break, of each tool and by each change, out."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from toolshape.contract._compare import Change, Diff, is_about
from toolshape.trace import Replay

_BREAKING = frozenset({"now_refused", "now_unreadable", "other_calls", "other_tool"})


class BrokenCalls(NamedTuple):
    """How many of the recorded calls that were taken are refused now.

    ``by_change`` stands in the order of the changes: a call that several places of which are refused counts at each.
    ``unreadable`` are lines that are none of a trace; ``not_compared`` are calls of which too little was kept.
    """

    calls: int
    broken: int
    by_tool: Mapping[str, int]
    by_change: tuple[int, ...]
    not_compared: int
    unreadable: int

    def __str__(self) -> str:
        named = ", ".join(f"{count} of {tool}" for tool, count in sorted(self.by_tool.items()) if tool)
        said = [f"{self.broken} of {self.calls} recorded calls break{f': {named}' if named else ''}"]
        said += [f"{self.not_compared} not compared"] if self.not_compared else []
        said += [f"{self.unreadable} lines are none of a trace"] if self.unreadable else []
        return "; ".join(said)


def broken_calls(found: Diff, replayed: Replay) -> BrokenCalls:
    """Count the recorded calls that break, by the changes that break them.

    Args:
        found: What has changed.
        replayed: The replay of a trace with the tools now; one that was recorded with ``keep="all"``, as calls that
            failed already do not break.
    """
    refused = [one for one in replayed.changes if one.kind in _BREAKING]
    by_change = [
        sum(one.tool == change.tool and _breaks(change, one.paths) for one in refused) for change in found.changes
    ]
    return BrokenCalls(
        calls=replayed.calls, broken=len(refused), by_tool=Counter(one.tool for one in refused),
        by_change=tuple(by_change), not_compared=replayed.not_compared, unreadable=len(replayed.unreadable),
    )  # fmt: skip


def _breaks(change: Change, paths: tuple[str, ...]) -> bool:
    """Whether what is refused at these places is refused for a change; a tool that has gone is refused at none."""
    if change.level not in ("breaking", "unknown"):
        return False
    return not paths or any(is_about(path, change.path) for path in paths)
