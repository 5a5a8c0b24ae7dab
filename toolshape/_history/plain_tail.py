"""Writes the end of a history in which no rule acts, each message looked at once."""

import re
from collections.abc import Mapping, Sequence

from toolshape._families.wire.histories import HistoryRuleName
from toolshape._history.carry import Carrier, is_same_model
from toolshape._history.log import Log, Rules
from toolshape._history.repair import RepairState
from toolshape._history.repairs.pairs import copy_call_form
from toolshape._history.repairs.parts import (
    CONTENT_RULES,
    TOOL_RULES,
    Repairer,
    blank_text,
    missing_signature,
)
from toolshape._records.calls import WireMessage
from toolshape.messages import (
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    results_in,
)

_NOT_HERE: frozenset[HistoryRuleName] = frozenset({"content_beside_calls", "missing_reasoning"})
"""Rules that act on what is plain elsewhere. Where one is active, no history is plain."""
_OF_TEXTS: Mapping[HistoryRuleName, Repairer] = {"blank_text": blank_text}
_OF_RESULTS = {
    name: TOOL_RULES[name]
    for name in ("tool_name", "media_in_result", "empty_error", "call_without_id")
}
_OF_ANSWERS = {**CONTENT_RULES, **_OF_TEXTS}
_OF_CALLS = {
    **_OF_ANSWERS,
    **{
        name: TOOL_RULES[name]
        for name in ("malformed_arguments", "tool_name", "call_without_id", "text_after_call")
    },
    "missing_signature": missing_signature,
}
"""The rules that speak of one message, by what it holds: a user's texts, results,
answers without and with calls.
"""


def may_be_plain(rules: Rules) -> bool:
    """Return whether histories can be plain under these rules."""
    return _NOT_HERE.isdisjoint(rules.active)


class PlainTail:
    """The wire form of the messages after a repaired history, as long as no rule acts on them.

    Nearly every conversation is of three kinds of messages: a user's text, an answer of the model
    that is asked again, with the same tools, and the results of its calls in their order. No rule
    changes such messages, and none of them can change by what follows. So they need neither the
    passes of ``repaired`` nor a copy of its state.

    There is no second set of rules. What a rule says of one message is asked of that rule: it must
    return the same object. The rules that speak of several messages (pairs, ids, order) have three
    checks in their place: the roles of neighbours, ids that are new, and results that stand in the
    order of their calls. Whatever else comes ends the tail, and ``repaired`` takes the messages
    from where the tail began.

    ``wires`` holds the messages as they are sent, and ``length`` counts the messages that they
    stand for.
    """

    __slots__ = (
        "_before",
        "_carrier",
        "_has_thought",
        "_ids",
        "_log",
        "_of_answers",
        "_of_calls",
        "_of_results",
        "_of_texts",
        "_role",
        "_rules",
        "_waiting",
        "length",
        "wires",
    )

    def __init__(self, rules: Rules, carrier: Carrier, before: RepairState) -> None:
        self._rules, self._carrier, self._before, self._log = rules, carrier, before, Log(rules)
        self._of_texts, self._of_results, self._of_answers, self._of_calls = (
            [rule for name, rule in known.items() if name in rules]
            for known in (_OF_TEXTS, _OF_RESULTS, _OF_ANSWERS, _OF_CALLS)
        )
        self._role = "" if before.previous is None else before.previous.role
        self._ids: set[str] = set()
        self._waiting: list[ToolCallPart] = []
        self._has_thought = False  # whether a reasoning item waits for the item that it led to
        self.length = 0
        self.wires: list[WireMessage] = []

    def extend(self, messages: Sequence[Message], begin: int) -> bool:
        """Write the messages that are new; return whether all are plain, and the
        history may end with the last one.

        Args:
            messages: The history.
            begin: The position at which the tail begins.
        """
        if self._before.server_calls:
            return False
        for position in range(begin + self.length, len(messages)):
            if not self._write(messages[position]):
                return False
            self.length += 1
        return not self._waiting and not self._has_thought and self._role in ("user", "tool")

    def _write(self, message: Message) -> bool:
        """Write a message if it is plain; otherwise, nothing has changed."""
        if not message.parts or not self._may_follow(message):
            return False
        if message.role == "assistant":
            wires = self._answer(message)
        elif message.role == "tool":
            wires = self._results(message)
        else:
            wires = self._text_of_user(message)
        if wires is None:
            return False
        self.wires += wires
        self._role = message.role
        return True

    def _may_follow(self, message: Message) -> bool:
        """Return whether no rule of order speaks of this message after the one before it."""
        before, rules = self._role, self._rules
        if message.role == "assistant":
            return before != "" and (before != "assistant" or rules.histories.is_items)
        if self._has_thought or message.role == "system":
            return False
        if message.role == "tool":
            return before == "assistant"
        if "same_role" in rules and before in ("user", "tool"):
            return False
        return not ("user_after_result" in rules and self._follows_results())

    def _follows_results(self) -> bool:
        previous = self._before.previous
        if self.length or previous is None:
            return self._role == "tool"
        return bool(results_in(previous))

    def _is_untouched(self, message: Message, rules: Sequence[Repairer]) -> bool:
        return all(rule(message, self._log) is message for rule in rules)

    def _text_of_user(self, message: Message) -> list[WireMessage] | None:
        if self._waiting or message.raw is not None:
            return None
        for part in message.parts:
            if type(part) is not TextPart or part.raw is not None:
                return None
        if not self._is_untouched(message, self._of_texts):
            return None
        return self._carrier.histories.write(message)

    def _answer(self, message: Message) -> list[WireMessage] | None:
        """Return an answer of this model as it came, if its calls have
        ids that are new and can be sent.
        """
        origin, to = message.origin, self._carrier
        if (
            message.raw is None
            or origin is None
            or origin.provider != to.provider
            or origin.fingerprint != to.fingerprint
            or not is_same_model(origin, to.model)
        ):
            return None
        calls: list[ToolCallPart] = []
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls.append(part)
            elif not isinstance(part, (TextPart, ReasoningPart)):
                return None
        rules = self._of_calls if calls else self._of_answers
        if not self._are_new(calls) or not self._is_untouched(message, rules):
            return None
        self._ids.update(call.id for call in calls)
        self._waiting += calls
        is_thought = type(message.parts[0]) is ReasoningPart and len(message.parts) == 1
        self._has_thought = is_thought and "reasoning_alone" in self._rules
        return [message.raw]

    def _are_new(self, calls: Sequence[ToolCallPart]) -> bool:
        if not calls:
            return True
        active = self._rules.active
        id_rule, is_checked = active.get("call_id"), "duplicate_id" in active
        waiting = {call.id for call in self._waiting}
        for call in calls:
            if call.id in waiting:
                return False
            waiting.add(call.id)
            if is_checked and (call.id in self._ids or call.id in self._before.ids.used):
                return False
            if id_rule is not None and not (call.has_id and re.fullmatch(id_rule.pattern, call.id)):
                return False
        return True

    def _results(self, message: Message) -> list[WireMessage] | None:
        """Return the results of all calls that wait, if they stand in the order of the
        calls, in the form of the calls.
        """
        if message.raw is not None or len(message.parts) != len(self._waiting):
            return None
        results: list[ToolResultPart] = []
        for part, call in zip(message.parts, self._waiting, strict=True):
            if type(part) is not ToolResultPart or part.id != call.id or part.parts or part.raw:
                return None
            results.append(copy_call_form(part, call))
        sent = Message(role="tool", parts=tuple(results), path=message.path)
        if not self._is_untouched(sent, self._of_results):
            return None
        self._waiting = []
        return self._carrier.histories.write(sent)
