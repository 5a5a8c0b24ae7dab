"""What was found in a history, collected while it is gone through: repairs that were made, and what none can repair."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from toolshape._errors import Problem
from toolshape._wire.histories import Histories, HistoryRule, HistoryRuleName
from toolshape._wire.provider import NameRule
from toolshape.messages import Repair


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one provider that hold for one model and are switched on."""

    histories: Histories
    names: NameRule
    active: Mapping[str, HistoryRule]
    off: frozenset[str]

    def __contains__(self, name: object) -> bool:
        return name in self.active

    def evidence(self, name: HistoryRuleName) -> str:
        """The evidence of a rule; none of one that is not the provider's."""
        return self.active[name].evidence if name in self.active else ""


def rules_of(histories: Histories, names: NameRule, model: str | None, off: frozenset[str] = frozenset()) -> Rules:
    """The rules that hold for a model, without those that are switched off."""
    active: dict[str, HistoryRule] = {
        one.name: one for one in histories.rules if one.holds(model) and one.name not in off
    }
    return Rules(histories, names, active, off)


class _Noted(NamedTuple):
    rule: HistoryRuleName
    path: str
    fault: str
    remedy: str


def _place(found: _Noted | Problem) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", found.path)))


class Log:
    """The repairs and problems of one history, in the order in which they were found."""

    __slots__ = ("_faults", "problems", "rules")

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.problems: list[Problem] = []
        self._faults: list[_Noted] = []

    def repaired(self, rule: HistoryRuleName, path: str, fault: str, remedy: str) -> None:
        """Note a repair: what was wrong, and what was done."""
        self._faults.append(_Noted(rule, path, fault, remedy))

    def refused(self, rule: HistoryRuleName, path: str, message: str, hint: str) -> None:
        """Note what cannot be repaired."""
        self.problems.append(
            Problem(path=path, rule=rule, message=message, hint=hint, evidence=self.rules.evidence(rule))
        )

    def repairs(self) -> list[Repair]:
        """The repairs in the order of their places."""
        return [
            Repair(path=one.path, rule=one.rule, note=f"{one.fault}: {one.remedy}")
            for one in sorted(self._faults, key=_place)
        ]

    def findings(self) -> list[Problem]:
        """Everything as problems, each with the evidence of its rule, in the order of their places."""
        found = [
            Problem(
                path=one.path,
                rule=one.rule,
                message=one.fault,
                hint=f"a repair: {one.remedy}",
                evidence=self.rules.evidence(one.rule),
            )
            for one in self._faults
        ]
        return sorted([*found, *self.problems], key=_place)
