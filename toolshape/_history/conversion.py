"""Converts a growing conversation to requests for one provider.

Each message is converted once, then cached.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from toolshape._history.carry import Carrier, carry_message, join_turns
from toolshape._history.log import Log, Rules
from toolshape._history.plain_tail import PlainTail, may_be_plain
from toolshape._history.repair import RepairState, mark_invalidated, repaired
from toolshape._history.repairs.order import begins_turn, wire_role
from toolshape._history.repairs.pairs import LateResultError
from toolshape._history.repairs.parts import drop_item_id
from toolshape._history.repairs.server_tools import open_from
from toolshape._records.calls import WireMessage
from toolshape._records.errors import Problem
from toolshape.messages import (
    Message,
    ReasoningPart,
    Repair,
    ToolCallPart,
    ToolResultPart,
    results_in,
)


class Converted(NamedTuple):
    """The messages of a request.

    ``system`` holds the system prompts that the request sends in a separate field.
    """

    messages: list[WireMessage]
    system: list[Message]
    repairs: list[Repair]
    problems: list[Problem]


class Conversion:
    """The incremental conversion of one conversation for one provider.

    A conversation grows with each request, so converting it from the start every time would take
    quadratic time. The messages before ``done`` are settled: all their calls are answered, and the
    next message cannot be merged into them. Their wire form is cached, and ``progress`` holds the
    repair state after them. Each request converts only the messages after ``done``, on a copy of
    that state.

    Only two events change settled messages: a late result for one of their calls, and the first
    reasoning of the provider's own model (if the provider then requires reasoning with every call).
    Both discard the cache.

    In between stands the plain tail: messages after ``done`` on which no rule acts are looked at
    and written once, without the passes of a repair. When another message comes, they are converted
    with it.
    """

    __slots__ = (
        "carrier",
        "done",
        "has_tail",
        "is_begun",
        "progress",
        "repairs",
        "rules",
        "system",
        "tail",
        "thinks",
        "wires",
    )

    def __init__(self, rules: Rules, carrier: Carrier, *, has_tail: bool = True) -> None:
        """Begin a conversion; without a tail, every message takes the passes of a repair."""
        self.rules = rules
        self.has_tail = has_tail and may_be_plain(rules)
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
        self._begin_tail()

    def _begin_tail(self) -> None:
        self.tail = PlainTail(self.rules, self.carrier, self.progress) if self.has_tail else None

    def of(self, messages: Sequence[Message]) -> Converted:
        """Convert the conversation to the messages of a request."""
        tail = self.tail
        if tail is not None and tail.extend(messages, self.done):
            wires = [*self.wires, *tail.wires]
            return Converted(wires, [*self.system], [*self.repairs], [])
        if (
            not self.thinks
            and "missing_reasoning" in self.rules
            and _has_own_reasoning(messages[self.done :], self.carrier)
        ):
            self.thinks = True
            self._begin()
        try:
            return self._convert_from(messages, self._count_settled(messages))
        except LateResultError:
            self._begin()
        try:
            return self._convert_from(messages, self._count_settled(messages))
        except LateResultError:
            # A result within the unsettled part is late: convert everything in one pass.
            self._begin()
            return self._convert_from(messages, 0)

    def _count_settled(self, messages: Sequence[Message]) -> int:
        """Return the number of settled messages, which later messages cannot change."""
        if "server_tool_alone" in self.rules:
            open_at = self.done + open_from(messages[self.done :], self.rules)
            messages = messages[: open_at + 1]
        end = _settled_count(messages, self.done, joins_roles="same_role" in self.rules)
        if "missing_signature" not in self.rules:
            return end
        turn_start = max(
            (index for index in range(self.done, len(messages)) if begins_turn(messages[index])),
            default=self.done,
        )
        # Only calls of the current turn need signatures, and the next user message begins another
        # turn.
        return min(end, turn_start)

    def _convert_from(self, messages: Sequence[Message], end: int) -> Converted:
        if end > self.done:
            log = Log(self.rules)
            wires, system = self._convert(
                messages[self.done : end], log, self.progress, is_end=False
            )
            self.wires = _append_wires(self.wires, wires, self.rules)
            self.system += system
            self.repairs += self._list_repairs(log, messages)
            self.is_begun = self.is_begun or any(
                message.role != "system" for message in messages[self.done : end]
            )
            self.done = end
            self._begin_tail()
        log = Log(self.rules)
        wires, system = self._convert(messages[self.done :], log, self.progress.copy(), is_end=True)
        repairs = [*self.repairs, *self._list_repairs(log, messages)]
        return Converted(
            _append_wires(self.wires, wires, self.rules),
            [*self.system, *system],
            repairs,
            log.problems,
        )

    def _list_repairs(self, log: Log, messages: Sequence[Message]) -> list[Repair]:
        """Return the repairs in order, each with the paths of the target's own
        signatures that it invalidates.
        """
        repairs = log.repairs()
        if not repairs or "signed_prefix" not in self.rules:
            return repairs
        own_messages = [
            message if _is_of(message, self.carrier) else replace(message, parts=())
            for message in messages
        ]
        return mark_invalidated(own_messages, repairs)

    def _convert(
        self, messages: Sequence[Message], log: Log, progress: RepairState, *, is_end: bool
    ) -> tuple[list[WireMessage], list[Message]]:
        histories = self.rules.histories
        converted, turn_starts = self._carry_all(messages, log)
        system: list[Message] = []
        if histories.system is not None:
            converted, system = self._split_system(converted, log, is_begun=self.is_begun)
        last_message = progress.previous
        repaired_messages = repaired(
            join_turns(converted, turn_starts), log, progress, is_end=is_end, thinks=self.thinks
        )
        if (
            repaired_messages
            and last_message is not None
            and "same_role" in self.rules
            and wire_role(last_message) == wire_role(repaired_messages[0])
        ):
            _log_merge(last_message, repaired_messages[0], log)
        wires: list[WireMessage] = []
        for message in repaired_messages:
            wires += [message.raw] if message.raw is not None else histories.write(message)
        return wires, system

    def _carry_all(self, messages: Sequence[Message], log: Log) -> tuple[list[Message], set[int]]:
        """Convert every message for the target provider.

        If reasoning is left out, the items of its turn lose their ids, because the provider
        requires reasoning for an item with an id.

        Returns:
            The messages, and the ``id()`` of each message whose preceding system or user message
            was left out.
        """
        converted: list[Message] = []
        turn_starts: set[int] = set()
        is_apart = is_unthought = False
        for message in messages:
            carried_message = self._carry(message, log)
            is_unthought = is_unthought and message.role == "assistant"
            if carried_message is None:
                is_apart = is_apart or message.role in ("system", "user")
                is_unthought = is_unthought or any(
                    isinstance(part, ReasoningPart) for part in message.parts
                )
                continue
            if (
                is_unthought
                and "item_without_reasoning" not in self.rules.off
                and self.rules.histories.item_ids
            ):
                carried_message = drop_item_id(carried_message, log)
            if is_apart:
                turn_starts.add(id(carried_message))
            is_apart = False
            converted.append(carried_message)
        return converted, turn_starts

    def _carry(self, message: Message, log: Log) -> Message | None:
        """Convert a message for the target provider. Return ``None`` if no content is left."""
        converted = carry_message(message, self.carrier, log)
        if converted.parts or converted.raw is not None or converted.role == "system":
            return converted
        if not message.parts:
            log.repaired(
                "empty_message", message.path, "a message has no content", "it is left out"
            )
        return None

    def _split_system(
        self, messages: list[Message], log: Log, *, is_begun: bool
    ) -> tuple[list[Message], list[Message]]:
        """Split off the system prompts that the request sends in a separate field."""
        other_messages: list[Message] = []
        system_prompts: list[Message] = []
        for message in messages:
            is_between = is_begun or bool(other_messages)
            if (
                message.role != "system"
                or (message.raw is not None and message.origin is not None and _has_role(message))
                or (is_between and self.rules.histories.is_system_first)
            ):
                other_messages.append(message)
            else:
                if is_between:
                    fault = "a system prompt is between other messages"
                    log.repaired(
                        "system_moved", message.path, fault, "it is moved to the beginning"
                    )
                system_prompts.append(message)
        return other_messages, system_prompts


def _is_of(message: Message, to: Carrier) -> bool:
    return message.origin is not None and message.origin.provider == to.provider


def _has_role(message: Message) -> bool:
    """Whether a system prompt came as a message, not in a separate field."""
    raw: Any = message.raw
    return isinstance(raw, dict) and "role" in raw


def _log_merge(last: Message, first: Message, log: Log) -> None:
    """Record that the last cached message and the next message are merged;
    ``repaired`` records all other merges.
    """
    if last.raw is not None and first.raw is not None:
        log.repaired(
            "same_role", first.path, "two neighbours have the same role", "they are merged"
        )


def _append_wires(
    before: list[WireMessage], wires: list[WireMessage], rules: Rules
) -> list[WireMessage]:
    """Append wire messages.

    If roles must alternate and the two messages at the seam share a role, merge them.
    """
    if (
        not before
        or not wires
        or "same_role" not in rules
        or before[-1].get("role") != wires[0].get("role")
    ):
        return [*before, *wires]
    last, first = before[-1], wires[0]
    return [*before[:-1], {**last, "content": [*last["content"], *first["content"]]}, *wires[1:]]


def _has_own_reasoning(messages: Sequence[Message], to: Carrier) -> bool:
    return any(
        isinstance(part, ReasoningPart)
        for message in messages
        if _is_of(message, to)
        for part in message.parts
    )


def _settled_count(messages: Sequence[Message], done: int, *, joins_roles: bool) -> int:
    """Return the number of settled messages.

    This is the last position where no call waits for a result, and where the next message cannot be
    merged into the message before it. A user or system message ends a turn: calls that are
    unanswered at this point stay unanswered.
    """
    settled_count = done
    waiting: set[str] = set()
    for index in range(done, len(messages)):
        message = messages[index]
        if (
            index > done
            and not results_in(message)
            and not _may_join(messages[index - 1], message, joins_roles=joins_roles)
        ):
            if message.role != "assistant":
                waiting.clear()
            if not waiting:
                settled_count = index
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                waiting.add(part.id)
            elif isinstance(part, ToolResultPart):
                waiting.discard(part.id)
    return settled_count


def _may_join(last: Message, message: Message, *, joins_roles: bool) -> bool:
    """Whether two messages may be merged."""
    if joins_roles:
        return wire_role(last) == wire_role(message) or not last.parts or not message.parts
    return last.role == message.role == "assistant" or not message.parts
