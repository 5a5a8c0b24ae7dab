"""A paired history in; the same with ids that the provider takes, each for one call alone, out."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolshape._history.log import Log
from toolshape._wire.histories import IN_ONE_MESSAGE, Histories, HistoryRule
from toolshape._wire.ids import generated_id
from toolshape.messages import Message, MessagePart, ToolCallPart, ToolResultPart, calls_in, part_path, results_in


class Ids:
    """The ids that have been used, and how often each came that was issued anew."""

    __slots__ = ("issued", "used")

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.issued: dict[str, int] = {}

    def copy(self) -> "Ids":
        """The same, to be changed on its own."""
        made = Ids()
        made.used, made.issued = set(self.used), dict(self.issued)
        return made

    def new(self, given: str, pattern: str) -> str:
        """Another id for a call: the same each time for the same id at the same time of its coming."""
        self.issued[given] = self.issued.get(given, 0) + 1
        seed, position = hashlib.sha256(f"{given}\0{self.issued[given]}".encode(errors="replace")).digest(), 0
        while (made := generated_id(seed, position)) in self.used or (pattern and not re.fullmatch(pattern, made)):
            position += 1
        return made

    def sent(self, given: str, rule: HistoryRule | None) -> str:
        """The id that a call is sent with: its own, or another where a rule refuses that."""
        if rule is None or re.fullmatch(rule.pattern, given):
            return given
        return self.new(given, rule.pattern)


def with_ids(messages: Sequence[Message], log: Log, ids: Ids, calls: Mapping[int, ToolCallPart]) -> list[Message]:
    """Issue ids anew where the provider refuses them: for their form, or because a call has it already.

    Args:
        messages: The messages.
        log: Takes what is repaired.
        ids: The ids before them; changed in place.
        calls: The calls that results answer, by the ``id()`` of the result.
    """
    new: dict[int, str] = {}
    for message in messages:
        inside: set[str] = set()
        for call in calls_in(message):
            given = _of_call(call, message, log, ids, inside)
            ids.used.add(given)
            inside.add(given)
            if given != call.id or _lacks_id(call, log):
                new[id(call)] = given
    for message in messages:
        for answer in results_in(message):
            asked = calls.get(id(answer))
            if asked is None:
                continue
            if id(asked) in new:
                new[id(answer)] = new[id(asked)]
            elif answer.raw is not None and _lacks_id(answer, log):
                fault, path = "a result has no id", part_path(message, answer)
                log.repaired("call_id", path, fault, f"it is given that of its call, {asked.id!r}")
                new[id(answer)] = asked.id
    if not new:
        return list(messages)
    return [_renewed(message, new, log.rules.histories) for message in messages]


def _renewed(message: Message, new: Mapping[int, str], histories: Histories) -> Message:
    if not any(id(part) in new for part in message.parts):
        return message
    parts = tuple(_with_id(part, new[id(part)], histories) if id(part) in new else part for part in message.parts)
    is_one = len(parts) == 1 and message.parts[0].raw == message.raw  # the same object, but after from_json
    return replace(message, parts=parts, raw=parts[0].raw if histories.is_items or is_one else None)


def _with_id(part: MessagePart, given: str, histories: Histories) -> MessagePart:
    if not isinstance(part, (ToolCallPart, ToolResultPart)):
        return part
    raw = None if histories.with_id is None or part.raw is None else histories.with_id(part.raw, given)
    return replace(part, id=given, raw=raw, has_id=True)


def _lacks_id(part: ToolCallPart | ToolResultPart, log: Log) -> bool:
    """Whether a call or a result came without an id, or with an empty one, where the provider asks for one."""
    if "call_id" not in log.rules or part.has_id:
        return False
    with_id = log.rules.histories.with_id
    return part.raw is None or with_id is None or with_id(part.raw, "") is not None


def _of_call(part: ToolCallPart, message: Message, log: Log, ids: Ids, inside: set[str]) -> str:
    rule = log.rules.active.get("call_id")
    path = part_path(message, part)
    pattern = rule.pattern if rule is not None else ""
    if _lacks_id(part, log):
        new = ids.sent(part.id, rule) if part.id not in ids.used else ids.new(part.id, pattern)
        log.repaired("call_id", path, f"the call of {part.wire_name} has no id", f"it is sent as {new!r}")
        return new
    if rule is not None and part.has_id and not re.fullmatch(rule.pattern, part.id):
        new = ids.new(part.id, pattern)
        log.repaired("call_id", path, f"the id {part.id!r} is refused", f"it is sent as {new!r}")
        return new
    same = log.rules.active.get("duplicate_id")
    if same is not None and part.id in (inside if same.pattern == IN_ONE_MESSAGE else ids.used):
        new = ids.new(part.id, pattern)
        log.repaired("duplicate_id", path, f"the id {part.id!r} has been used", f"it is sent as {new!r}")
        return new
    return part.id
