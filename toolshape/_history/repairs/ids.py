"""Replaces call ids that the provider rejects: malformed ids, missing ids and duplicates."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolshape._families.wire.histories import IN_ONE_MESSAGE, Histories, HistoryRule
from toolshape._families.wire.ids import generated_id
from toolshape._history.log import Log
from toolshape.messages import (
    Message,
    MessagePart,
    ToolCallPart,
    ToolResultPart,
    calls_in,
    part_path,
    results_in,
)


class Ids:
    """Keeps the ids in use, and counts the replacements for each original id."""

    __slots__ = ("issued", "used")

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.issued: dict[str, int] = {}

    def copy(self) -> "Ids":
        """Return an independent copy."""
        ids_copy = Ids()
        ids_copy.used, ids_copy.issued = set(self.used), dict(self.issued)
        return ids_copy

    def new(self, given: str, pattern: str) -> str:
        """Return a replacement for an id, derived only from the id, its number of
        replacements, and the ids in use.
        """
        self.issued[given] = self.issued.get(given, 0) + 1
        seed, position = (
            hashlib.sha256(f"{given}\0{self.issued[given]}".encode(errors="replace")).digest(),
            0,
        )
        while (candidate := generated_id(seed, position)) in self.used or (
            pattern and not re.fullmatch(pattern, candidate)
        ):
            position += 1
        return candidate

    def sent(self, given: str, rule: HistoryRule | None) -> str:
        """Return the id to send for a call: the original id, or a replacement if
        the rule rejects the original.
        """
        if rule is None or re.fullmatch(rule.pattern, given):
            return given
        return self.new(given, rule.pattern)


def replace_ids(
    messages: Sequence[Message], log: Log, ids: Ids, calls: Mapping[int, ToolCallPart]
) -> list[Message]:
    """Replace ids that the provider rejects because they are malformed, missing or duplicates.

    Args:
        messages: The messages, in which calls and results are already paired.
        log: The log to which this function adds the repairs.
        ids: The ids in preceding messages. This function updates the object in place.
        calls: The call that each result answers, by the ``id()`` of the result.
    """
    # The first pass handles the calls, because each result must get the final id of its call.
    new_ids: dict[int, str] = {}
    for message in messages:
        ids_in_message: set[str] = set()
        for call in calls_in(message):
            sent_id = _id_for_call(call, message, log, ids, ids_in_message)
            ids.used.add(sent_id)
            ids_in_message.add(sent_id)
            if sent_id != call.id or _lacks_id(call, log):
                new_ids[id(call)] = sent_id
    for message in messages:
        for result in results_in(message):
            answered_call = calls.get(id(result))
            if answered_call is None:
                continue
            if id(answered_call) in new_ids:
                new_ids[id(result)] = new_ids[id(answered_call)]
            elif result.raw is not None and _lacks_id(result, log):
                fault, path = "a result has no id", part_path(message, result)
                log.repaired(
                    "call_id", path, fault, f"it gets the id of its call, {answered_call.id!r}"
                )
                new_ids[id(result)] = answered_call.id
    if not new_ids:
        return list(messages)
    return [_replace_ids_in_message(message, new_ids, log.rules.histories) for message in messages]


def _replace_ids_in_message(
    message: Message, new: Mapping[int, str], histories: Histories
) -> Message:
    if not any(id(part) in new for part in message.parts):
        return message
    parts = tuple(
        _with_id(part, new[id(part)], histories) if id(part) in new else part
        for part in message.parts
    )
    # Compare by value, because the raw part and the raw message are equal but separate objects
    # after from_json.
    is_whole_message = len(parts) == 1 and message.parts[0].raw == message.raw
    return replace(
        message, parts=parts, raw=parts[0].raw if histories.is_items or is_whole_message else None
    )


def _with_id(part: MessagePart, given: str, histories: Histories) -> MessagePart:
    if not isinstance(part, (ToolCallPart, ToolResultPart)):
        return part
    if histories.with_id is None or part.raw is None:
        raw = None
    else:
        raw = histories.with_id(part.raw, given)
    return replace(part, id=given, raw=raw, has_id=True)


def _lacks_id(part: ToolCallPart | ToolResultPart, log: Log) -> bool:
    """Return whether a call or result came without an id, or with an empty id,
    although the provider requires an id.
    """
    if "call_id" not in log.rules or part.has_id:
        return False
    with_id = log.rules.histories.with_id
    return part.raw is None or with_id is None or with_id(part.raw, "") is not None


def _id_for_call(part: ToolCallPart, message: Message, log: Log, ids: Ids, inside: set[str]) -> str:
    rule = log.rules.active.get("call_id")
    path = part_path(message, part)
    pattern = rule.pattern if rule is not None else ""
    if _lacks_id(part, log):
        if part.id not in ids.used:
            new_id = ids.sent(part.id, rule)
        else:
            new_id = ids.new(part.id, pattern)
        log.repaired(
            "call_id", path, f"the call of {part.wire_name} has no id", f"it is sent as {new_id!r}"
        )
        return new_id
    if rule is not None and part.has_id and not re.fullmatch(rule.pattern, part.id):
        new_id = ids.new(part.id, pattern)
        log.repaired(
            "call_id", path, f"the provider rejects the id {part.id!r}", f"it is sent as {new_id!r}"
        )
        return new_id
    duplicate_rule = log.rules.active.get("duplicate_id")
    if duplicate_rule is not None and part.id in (
        inside if duplicate_rule.pattern == IN_ONE_MESSAGE else ids.used
    ):
        new_id = ids.new(part.id, pattern)
        log.repaired(
            "duplicate_id",
            path,
            f"another call has the id {part.id!r}",
            f"it is sent as {new_id!r}",
        )
        return new_id
    return part.id
