"""Collects the repairs that were made in one history, and the problems that cannot be repaired."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from toolshape._families.wire.histories import Histories, HistoryRule, HistoryRuleName
from toolshape._families.wire.provider import NameRule
from toolshape._records.errors import Problem
from toolshape.messages import Repair


@dataclass(frozen=True, slots=True)
class Rules:
    """The history rules of one provider that apply to one model and are not switched off."""

    histories: Histories
    names: NameRule
    active: Mapping[str, HistoryRule]
    off: frozenset[str]
    always_thinks: bool = False

    def __contains__(self, name: object) -> bool:
        return name in self.active

    def evidence(self, name: HistoryRuleName) -> str:
        """Return the evidence for a rule, or an empty string if the rule is not active."""
        if name in self.active:
            return self.active[name].evidence
        return ""


def rules_of(
    histories: Histories, names: NameRule, model: str | None, off: frozenset[str] = frozenset()
) -> Rules:
    """Return the rules that apply to a model, without the rules that are switched off."""
    active: dict[str, HistoryRule] = {
        rule.name: rule for rule in histories.rules if rule.holds(model) and rule.name not in off
    }
    if "missing_reasoning" in active:
        always = active["missing_reasoning"].always
    else:
        always = ""
    always_thinks = bool(always) and re.search(always, model or "") is not None
    return Rules(histories, names, active, off, always_thinks)


class _Noted(NamedTuple):
    rule: HistoryRuleName
    path: str
    fault: str
    remedy: str


def _place(entry: _Noted | Problem) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", entry.path)))


class Log:
    """Collects the repairs and the problems in one history, in the order
    in which toolshape finds them.
    """

    __slots__ = ("_faults", "problems", "rules")

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.problems: list[Problem] = []
        self._faults: list[_Noted] = []

    def repaired(self, rule: HistoryRuleName, path: str, fault: str, remedy: str) -> None:
        """Record a repair: what was wrong (``fault``), and what was done (``remedy``)."""
        self._faults.append(_Noted(rule, path, fault, remedy))

    def refused(self, rule: HistoryRuleName, path: str, message: str, hint: str) -> None:
        """Record a problem that cannot be repaired."""
        self.problems.append(
            Problem(
                path=path, rule=rule, message=message, hint=hint, evidence=self.rules.evidence(rule)
            )
        )

    def repairs(self) -> list[Repair]:
        """Return the repairs, sorted by their position in the history."""
        return [
            Repair(path=entry.path, rule=entry.rule, note=f"{entry.fault}: {entry.remedy}")
            for entry in sorted(self._faults, key=_place)
        ]

    def findings(self) -> list[Problem]:
        """Return all repairs and problems as problems with evidence, sorted by
        their position in the history.
        """
        repairable = [
            Problem(
                path=entry.path,
                rule=entry.rule,
                message=entry.fault,
                hint=f"a repair: {entry.remedy}",
                evidence=self.rules.evidence(entry.rule),
            )
            for entry in self._faults
        ]
        return sorted([*repairable, *self.problems], key=_place)
