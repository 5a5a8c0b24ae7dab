"""A paired history in; the same with ids that the provider takes, each for one call alone, out."""

import hashlib
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape.history.log import Log
from toolshape.messages import Message, MessagePart, ToolCallPart, ToolResultPart
from toolshape.wire.histories import HistoryRule
from toolshape.wire.ids import generated_id

__all__ = ["Ids", "with_ids"]

_KEYS = frozenset({"id", "tool_call_id", "call_id", "tool_use_id", "toolUseId", "callId"})


class Ids:
    """The ids that have been used, how often each came that was issued anew, and what calls were sent that wait for results."""

    __slots__ = ("issued", "last", "used", "waiting")

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.issued: dict[str, int] = {}
        self.last: dict[str, str] = {}
        self.waiting: dict[str, deque[str]] = {}

    def copy(self) -> "Ids":
        """The same, to be changed on its own."""
        made = Ids()
        made.used, made.issued = set(self.used), dict(self.issued)
        made.last = dict(self.last)
        made.waiting = {key: deque(value) for key, value in self.waiting.items()}
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


def with_ids(messages: Sequence[Message], log: Log, ids: Ids) -> list[Message]:
    """Issue ids anew where the provider refuses them: for their form, or because a call has it already."""
    found: list[Message] = []
    for message in messages:
        parts = message.parts
        if any(isinstance(part, (ToolCallPart, ToolResultPart)) for part in parts):
            parts = tuple(_with_id(part, message, log, ids) for part in parts)
        if all(new is old for new, old in zip(parts, message.parts, strict=True)):
            found.append(message)
            continue
        raw = message.raw
        if log.rules.histories.is_items or (
            len(parts) == 1 and parts[0].raw is not None and message.parts[0].raw is raw
        ):
            raw = parts[0].raw
        else:
            raw = None
        found.append(replace(message, parts=parts, raw=raw))
    return found


def _with_id(part: MessagePart, message: Message, log: Log, ids: Ids) -> MessagePart:
    if isinstance(part, ToolCallPart):
        new = _of_call(part, message, log, ids)
        ids.used.add(new)
        ids.waiting.setdefault(part.id, deque()).append(new)
        if new != part.id:
            ids.last[part.id] = new
        elif part.id in ids.last:
            del ids.last[part.id]
        return part if new == part.id else replace(part, id=new, raw=_renamed(part.raw, part.id, new))
    if isinstance(part, ToolResultPart):
        waiting = ids.waiting.get(part.id)
        new = ids.last.get(part.id, part.id) if waiting is None else waiting.popleft()
        if waiting is not None and not waiting:
            del ids.waiting[part.id]
        return part if new == part.id else replace(part, id=new, raw=_renamed(part.raw, part.id, new))
    return part


def _of_call(part: ToolCallPart, message: Message, log: Log, ids: Ids) -> str:
    rule = log.rules.active.get("call_id")
    path = f"{message.path}.{part.path}" if part.path else message.path
    pattern = rule.pattern if rule is not None else ""
    if rule is not None and part.has_id and not re.fullmatch(rule.pattern, part.id):
        new = ids.new(part.id, pattern)
        log.repaired("call_id", path, f"the id {part.id!r} is refused: it is sent as {new!r}")
        return new
    if part.id in ids.used and "duplicate_id" in log.rules:
        new = ids.new(part.id, pattern)
        log.repaired("duplicate_id", path, f"the id {part.id!r} has been used: it is sent as {new!r}")
        return new
    return part.id


def _renamed(raw: Any, old: str, new: str) -> Any:
    """What the provider sent of a call or result, with another id in it."""
    if not isinstance(raw, dict):
        return None
    return {
        key: new if key in _KEYS and value == old else _renamed(value, old, new) if isinstance(value, dict) else value
        for key, value in raw.items()
    }
