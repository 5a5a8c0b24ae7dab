"""Tools or parameters that have gone, and others that have come, in; which of them are the same by another name, out."""

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from toolshape.contract._differences import Step, differences
from toolshape.contract._lock import Locked

_ALIKE = 0.6  # of two names, as ``difflib`` counts


def renamed_tools(gone: Iterable[Locked], come: Iterable[Locked]) -> dict[str, str]:
    """Which tool that is there now is one that was there before, by the old name: the same arguments, and words or name alike."""
    found: dict[str, str] = {}
    left = list(come)
    for before in gone:
        alike = [one for one in left if not differences(before.parameters, one.parameters) or _says_same(before, one)]
        alike = [one for one in alike if _says_same(before, one) or _is_alike(before, one)]
        if alike:
            best = max(alike, key=lambda one: _alikeness(before.name, one.name))
            found[before.name] = best.name
            left.remove(best)
    return found


def _says_same(one: Locked, other: Locked) -> bool:
    return bool(one.description) and one.description == other.description


def _alikeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _is_alike(one: Locked, other: Locked) -> bool:
    pairs = (one.name, other.name), (one.description, other.description)
    return all(_alikeness(*pair) >= _ALIKE for pair in pairs)


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
            by_name = [_alikeness(_name(step.path), _name(one.path)) for one in same]
            best = same[by_name.index(max(by_name))] if max(by_name) >= _ALIKE else same[0]  # in the order of both
            added.remove(best)
            found.append(Renaming(step, best))
        elif step.keyword != "added":
            found.append(step)
    return [*found, *added]


def _name(path: str) -> str:
    return path.rpartition(".")[2]


def _holder(path: str) -> str:
    return path.rpartition(".")[0]
