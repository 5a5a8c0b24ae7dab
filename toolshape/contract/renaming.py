"""Tools or parameters that have gone, and others that have come, in; which of them are the same by another name, out."""

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from toolshape.contract.differences import Step, differences
from toolshape.contract.lock import Locked

__all__ = ["Renaming", "renamed_tools", "with_renamings"]

_ALIKE = 0.6  # of two names, as ``difflib`` counts


def renamed_tools(gone: Iterable[Locked], come: Iterable[Locked]) -> dict[str, str]:
    """Which tool that is there now is one that was there before, by the old name: the same arguments, and words or name alike."""
    found: dict[str, str] = {}
    left = list(come)
    for before in gone:
        alike = [one for one in left if not differences(before.parameters, one.parameters) or _says_same(before, one)]
        alike = [one for one in alike if _says_same(before, one) or _names_alike(before.name, one.name)]
        if alike:
            best = max(alike, key=lambda one: _alikeness(before.name, one.name))
            found[before.name] = best.name
            left.remove(best)
    return found


def _says_same(one: Locked, other: Locked) -> bool:
    return bool(one.description) and one.description == other.description


def _alikeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _names_alike(one: str, other: str) -> bool:
    return _alikeness(one, other) >= _ALIKE


class Renaming(NamedTuple):
    """A parameter that has another name: the steps by which it went and came."""

    removed: Step
    added: Step


def with_renamings(steps: list[Step]) -> list[Step | Renaming]:
    """A parameter that has gone and one that has come are one, if they say the same and stand at the same place."""
    added = [step for step in steps if step.keyword == "added"]
    found: list[Step | Renaming] = []
    for step in steps:
        if step.keyword == "added" and step not in added:
            continue
        same = (
            [
                one
                for one in added
                if _holder(one.path) == _holder(step.path) and not differences(step.before, one.after)
            ]
            if step.keyword == "removed"
            else []
        )
        if same:
            best = max(same, key=lambda one: _alikeness(step.path, one.path))
            added.remove(best)
            found.append(Renaming(step, best))
        elif step.keyword != "added":
            found.append(step)
    return [*found, *added]


def _holder(path: str) -> str:
    return path.rpartition(".")[0]
