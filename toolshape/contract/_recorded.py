"""Counts the calls that contract changes break in a replayed trace, by tool and by change."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from toolshape.contract._compare import Change, Diff, is_about
from toolshape.trace._replay import Replay

_BREAKING = frozenset({"now_refused", "now_unreadable", "other_calls", "other_tool"})


class BrokenCalls(NamedTuple):
    """The numbers of recorded calls that the tools accepted then and refuse now.

    ``by_change`` has a count for each change, in the order of the changes. A call that several
    changes break counts for each of them. ``unreadable`` is the number of lines that are not trace
    records, and ``not_compared`` is the number of calls whose record is incomplete.
    """

    calls: int
    broken: int
    by_tool: Mapping[str, int]
    by_change: tuple[int, ...]
    not_compared: int
    unreadable: int

    def __str__(self) -> str:
        tool_counts = ", ".join(
            f"{count} to {tool}" for tool, count in sorted(self.by_tool.items()) if tool
        )
        parts = [
            (
                f"{self.broken} of {self.calls} recorded calls "
                f"break{f': {tool_counts}' if tool_counts else ''}"
            )
        ]
        parts += [f"{self.not_compared} not compared"] if self.not_compared else []
        parts += [f"{self.unreadable} lines are not trace records"] if self.unreadable else []
        return "; ".join(parts)


def broken_calls(found: Diff, replayed: Replay) -> BrokenCalls:
    """Count the recorded calls that break, by the changes that break them.

    Args:
        found: The changes to the contract.
        replayed: The replay of a trace with the current tools. Record the trace with
            ``keep="all"``: by default, a trace keeps only responses with failures, and calls that
            failed then do not count as broken.
    """
    refusals = [replay for replay in replayed.changes if replay.kind in _BREAKING]
    by_change = [
        sum(replay.tool == change.tool and _breaks(change, replay.paths) for replay in refusals)
        for change in found.changes
    ]
    return BrokenCalls(
        calls=replayed.calls, broken=len(refusals),
        by_tool=Counter(replay.tool for replay in refusals),
        by_change=tuple(by_change), not_compared=replayed.not_compared,
        unreadable=len(replayed.unreadable),
    )  # fmt: skip


def with_recorded(found: Diff, replayed: Replay) -> Diff:
    """Return the changes, with one more for each tool whose recorded calls break
    although no change explains it.

    Args:
        found: The changes to the contract.
        replayed: The replay of a trace with the current tools.
    """
    unexplained = Counter(
        replay.tool
        for replay in replayed.changes
        if replay.kind in _BREAKING
        and not any(
            change.tool == replay.tool and _breaks(change, replay.paths) for change in found.changes
        )
    )
    added = [
        Change("recorded_calls", "breaking", tool, "", f"{count} accepted", f"{count} refused")
        for tool, count in sorted(unexplained.items())
    ]
    return Diff(changes=(*added, *found.changes))


def _breaks(change: Change, paths: tuple[str, ...]) -> bool:
    """Return whether a change explains a refusal at these paths; a refused call
    to a removed tool has no paths.
    """
    if change.level not in ("breaking", "unknown"):
        return False
    return not paths or any(is_about(path, change.path) for path in paths)
