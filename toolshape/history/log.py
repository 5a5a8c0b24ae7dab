"""What was found in a history, collected while it is gone through: repairs that were made, and what none can repair."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from toolshape.errors import Problem
from toolshape.messages import Repair
from toolshape.wire.histories import Histories, HistoryRule, HistoryRuleName

__all__ = ["Log", "Rules", "rules_of"]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one provider that hold for one model and are switched on."""

    histories: Histories
    active: Mapping[str, HistoryRule]
    off: frozenset[str]

    def __contains__(self, name: object) -> bool:
        return name in self.active


def rules_of(histories: Histories, model: str | None, off: frozenset[str] = frozenset()) -> Rules:
    """The rules that hold for a model, without those that are switched off."""
    active: dict[str, HistoryRule] = {
        one.name: one for one in histories.rules if one.holds(model) and one.name not in off
    }
    return Rules(histories, active, off)


def _place(found: Repair | Problem) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", found.path)))


class Log:
    """The repairs and problems of one history, in the order in which they were found."""

    __slots__ = ("problems", "repairs", "rules")

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.repairs: list[Repair] = []
        self.problems: list[Problem] = []

    def repaired(self, rule: HistoryRuleName, path: str, note: str) -> None:
        """Note a repair."""
        self.repairs.append(Repair(path=path, rule=rule, note=note))

    def refused(self, rule: HistoryRuleName, path: str, message: str, hint: str) -> None:
        """Note what cannot be repaired."""
        found = self.rules.active.get(rule)
        evidence = found.evidence if found is not None else ""
        self.problems.append(Problem(path=path, rule=rule, message=message, hint=hint, evidence=evidence))

    def in_order(self) -> list[Repair]:
        """The repairs in the order of their places."""
        return sorted(self.repairs, key=_place)

    def findings(self) -> list[Problem]:
        """Everything as problems, each with the evidence of its rule."""
        found = [
            Problem(
                path=one.path,
                rule=one.rule,
                message=one.note.rpartition(": ")[0] or one.note,
                hint=f"a repair: {one.note.rpartition(': ')[2]}",
                evidence=self.rules.active[one.rule].evidence if one.rule in self.rules.active else "",
            )
            for one in self.repairs
        ]
        return sorted([*found, *self.problems], key=_place)
