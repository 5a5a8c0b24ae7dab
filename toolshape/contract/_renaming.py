"""Detects renamings: matches removed tools and parameters with added ones."""

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from toolshape.contract._differences import Step, differences
from toolshape.contract._lock import Locked

_ALIKE = 0.6  # the smallest ratio of ``difflib`` at which two texts count as similar


def renamed_tools(gone: Iterable[Locked], come: Iterable[Locked]) -> dict[str, str]:
    """Return the new names of renamed tools, by the old name.

    A tool is a renamed one if it has the same description, or the same arguments with a similar name and description.
    """
    names: dict[str, str] = {}
    left = list(come)
    for before in gone:
        alike = [
            tool for tool in left if not differences(before.parameters, tool.parameters) or _says_same(before, tool)
        ]
        alike = [tool for tool in alike if _says_same(before, tool) or _is_alike(before, tool)]
        if alike:
            best = max(alike, key=lambda tool: _alikeness(before.name, tool.name))
            names[before.name] = best.name
            left.remove(best)
    return names


def _says_same(before: Locked, after: Locked) -> bool:
    return bool(before.description) and before.description == after.description


def _alikeness(before: str, after: str) -> float:
    return difflib.SequenceMatcher(None, before, after).ratio()


def _is_alike(before: Locked, after: Locked) -> bool:
    pairs = (before.name, after.name), (before.description, after.description)
    return all(_alikeness(*pair) >= _ALIKE for pair in pairs)


class Renaming(NamedTuple):
    """A renamed parameter, as the steps that removed and added it."""

    removed: Step
    added: Step


def with_renamings(steps: list[Step]) -> list[Step | Renaming]:
    """Join a removed and an added parameter into a renaming if their schemas are the same and their object is, too."""
    added = [step for step in steps if step.keyword == "added"]
    result: list[Step | Renaming] = []
    for step in steps:
        if step.keyword == "added" and step not in added:
            continue
        same = (
            [
                candidate
                for candidate in added
                if _holder(candidate.path) == _holder(step.path) and not differences(step.before, candidate.after)
            ]
            if step.keyword == "removed"
            else []
        )
        if same:
            by_name = [_alikeness(_name(step.path), _name(candidate.path)) for candidate in same]
            best = (
                same[by_name.index(max(by_name))] if max(by_name) >= _ALIKE else same[0]
            )  # no similar name: the first
            added.remove(best)
            result.append(Renaming(step, best))
        elif step.keyword != "added":
            result.append(step)
    return [*result, *added]


def _name(path: str) -> str:
    return path.rpartition(".")[2]


def _holder(path: str) -> str:
    return path.rpartition(".")[0]
