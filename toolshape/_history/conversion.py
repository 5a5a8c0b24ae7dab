"""A conversation that grows in; the messages of a request to one provider, each converted once, out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from toolshape._calls import WireMessage
from toolshape._errors import Problem
from toolshape._history.carry import Carrier, carried, joined
from toolshape._history.contents import without_item_id
from toolshape._history.log import Log, Rules
from toolshape._history.order import begins_turn, wire_role
from toolshape._history.pairing import LateResultError
from toolshape._history.repair import RepairState, invalidated, repaired
from toolshape.messages import Message, ReasoningPart, Repair, ToolCallPart, ToolResultPart, results_in


class Converted(NamedTuple):
    """The messages of a request: ``system`` are those that stand beside the others."""

    messages: list[WireMessage]
    system: list[Message]
    repairs: list[Repair]
    problems: list[Problem]


class Conversion:
    """What has been made of a conversation for one provider so far.

    Up to ``done``, nothing that follows changes it: every call before is answered, and what comes next begins a message
    of its own. A late result changes it all the same: then all is made anew.
    """

    __slots__ = ("carrier", "done", "is_begun", "progress", "repairs", "rules", "system", "thinks", "wires")

    def __init__(self, rules: Rules, carrier: Carrier) -> None:
        self.rules = rules
        self.carrier = carrier
        self.thinks = False
        self._begin()

    def _begin(self) -> None:
        self.done = 0
        self.wires: list[WireMessage] = []
        self.system: list[Message] = []
        self.repairs: list[Repair] = []
        self.progress = RepairState()
        self.is_begun = False

    def of(self, messages: Sequence[Message]) -> Converted:
        """The conversation as the messages of a request."""
        if not self.thinks and "missing_reasoning" in self.rules and _thinks(messages[self.done :], self.carrier):
            self.thinks = True
            self._begin()
        try:
            return self._of(messages, self._settled(messages))
        except LateResultError:
            self._begin()
        try:
            return self._of(messages, self._settled(messages))
        except LateResultError:  # in what is not settled: all is looked through at once
            self._begin()
            return self._of(messages, 0)

    def _settled(self, messages: Sequence[Message]) -> int:
        """How far nothing that follows changes what is made of the messages."""
        end = _settled(messages, self.done, joins_roles="same_role" in self.rules)
        if "missing_signature" not in self.rules:
            return end
        question = max((at for at in range(self.done, len(messages)) if begins_turn(messages[at])), default=self.done)
        return min(end, question)  # calls of the current turn need signatures, those before it do not

    def _of(self, messages: Sequence[Message], end: int) -> Converted:
        if end > self.done:
            log = Log(self.rules)
            wires, system = self._converted(messages[self.done : end], log, self.progress, is_end=False)
            self.wires = _appended(self.wires, wires, self.rules)
            self.system += system
            self.repairs += self._finished(log, messages)
            self.is_begun = self.is_begun or any(one.role != "system" for one in messages[self.done : end])
            self.done = end
        log = Log(self.rules)
        wires, system = self._converted(messages[self.done :], log, self.progress.copy(), is_end=True)
        repairs = [*self.repairs, *self._finished(log, messages)]
        return Converted(_appended(self.wires, wires, self.rules), [*self.system, *system], repairs, log.problems)

    def _finished(self, log: Log, messages: Sequence[Message]) -> list[Repair]:
        """The repairs in order, with the signatures that each invalidates: those that were made before it was."""
        repairs = log.repairs()
        if not repairs or "signed_prefix" not in self.rules:
            return repairs
        own = [one if _is_of(one, self.carrier) else replace(one, parts=()) for one in messages]
        return invalidated(own, repairs)

    def _converted(
        self, messages: Sequence[Message], log: Log, progress: RepairState, *, is_end: bool
    ) -> tuple[list[WireMessage], list[Message]]:
        histories = self.rules.histories
        own, apart = self._all_carried(messages, log)
        system: list[Message] = []
        if histories.system is not None:
            own, system = self._without_system(own, log, is_begun=self.is_begun)
        last = progress.previous
        found = repaired(joined(own, apart), log, progress, is_end=is_end, thinks=self.thinks)
        if found and last is not None and "same_role" in self.rules and wire_role(last) == wire_role(found[0]):
            _named_if_both_came(last, found[0], log)
        wires: list[WireMessage] = []
        for message in found:
            wires += [message.raw] if message.raw is not None else histories.write(message)
        return wires, system

    def _all_carried(self, messages: Sequence[Message], log: Log) -> tuple[list[Message], set[int]]:
        """The messages for this provider, and the ``id()`` of those before which nothing is left of another's message.

        Where reasoning is left out, the items of its turn go without their ids, by which the provider would ask for it.
        """
        own: list[Message] = []
        apart: set[int] = set()
        is_apart = is_unthought = False
        for message in messages:
            carried_message = self._carried(message, log)
            is_unthought = is_unthought and message.role == "assistant"
            if carried_message is None:
                is_apart = is_apart or message.role in ("system", "user")
                is_unthought = is_unthought or any(isinstance(part, ReasoningPart) for part in message.parts)
                continue
            if is_unthought and "item_without_reasoning" not in self.rules.off and self.rules.histories.item_ids:
                carried_message = without_item_id(carried_message, log)
            if is_apart:
                apart.add(id(carried_message))
            is_apart = False
            own.append(carried_message)
        return own, apart

    def _carried(self, message: Message, log: Log) -> Message | None:
        """A message for this provider; ``None`` where nothing is left of it, or nothing was in it."""
        own = carried(message, self.carrier, log)
        if own.parts or own.raw is not None or own.role == "system":
            return own
        if not message.parts:
            log.repaired("empty_message", message.path, "a message has no content", "it is left out")
        return None

    def _without_system(
        self, messages: list[Message], log: Log, *, is_begun: bool
    ) -> tuple[list[Message], list[Message]]:
        """The messages but for the system prompts that stand beside them."""
        others: list[Message] = []
        system: list[Message] = []
        for message in messages:
            is_between = is_begun or bool(others)
            if (
                message.role != "system"
                or (message.raw is not None and message.origin is not None and _has_role(message))
                or (is_between and self.rules.histories.is_system_first)
            ):
                others.append(message)
            else:
                if is_between:
                    fault = "a system prompt stands between other messages"
                    log.repaired("system_moved", message.path, fault, "it is put to the one at the beginning")
                system.append(message)
        return others, system


def _is_of(message: Message, to: Carrier) -> bool:
    return message.origin is not None and message.origin.provider == to.provider


def _has_role(message: Message) -> bool:
    """Whether a system prompt came among the messages, and not beside them."""
    raw: Any = message.raw
    return isinstance(raw, dict) and "role" in raw


def _named_if_both_came(last: Message, first: Message, log: Log) -> None:
    """Name that two messages become one, as it is named where both are looked at together."""
    if last.raw is not None and first.raw is not None:
        log.repaired("same_role", first.path, "two messages have one role", "they are put into one")


def _appended(before: list[WireMessage], wires: list[WireMessage], rules: Rules) -> list[WireMessage]:
    """One list after another; where roles must alternate, what is left of neighbours of one role becomes one message."""
    if not before or not wires or "same_role" not in rules or before[-1].get("role") != wires[0].get("role"):
        return [*before, *wires]
    last, first = before[-1], wires[0]
    return [*before[:-1], {**last, "content": [*last["content"], *first["content"]]}, *wires[1:]]


def _thinks(messages: Sequence[Message], to: Carrier) -> bool:
    return any(isinstance(part, ReasoningPart) for one in messages if _is_of(one, to) for part in one.parts)


def _settled(messages: Sequence[Message], done: int, *, joins_roles: bool) -> int:
    """How far nothing that follows changes what is made of the messages: up to one that begins another, all calls answered."""
    found = done
    waiting: set[str] = set()
    for at in range(done, len(messages)):
        message = messages[at]
        if at > done and not results_in(message) and not _may_join(messages[at - 1], message, joins_roles=joins_roles):
            if message.role != "assistant":
                waiting.clear()
            if not waiting:
                found = at
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                waiting.add(part.id)
            elif isinstance(part, ToolResultPart):
                waiting.discard(part.id)
    return found


def _may_join(last: Message, message: Message, *, joins_roles: bool) -> bool:
    """Whether two messages may become one."""
    if joins_roles:
        return wire_role(last) == wire_role(message) or not last.parts or not message.parts
    return last.role == message.role == "assistant" or not message.parts
