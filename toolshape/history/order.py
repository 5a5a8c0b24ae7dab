"""Messages in, each of which the provider takes; in an order that it takes, out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape.history.contents import missing_reasoning, missing_signature
from toolshape.history.log import Log
from toolshape.messages import Message, ReasoningPart, Role, TextPart, ToolCallPart, ToolResultPart
from toolshape.parts import Text

__all__ = ["begins_turn", "in_order", "wire_role"]

BRIDGE = "Noted."
OPENING = "Continue."


def wire_role(message: Message) -> Role:
    """The role of a message where results are the user's."""
    return "user" if message.role == "tool" else message.role


def in_order(
    messages: Sequence[Message], log: Log, previous: Message | None, *, is_end: bool, thinks: bool
) -> list[Message]:
    """Keep the provider's rules on what may follow what.

    Args:
        messages: The messages.
        log: Takes what is repaired.
        previous: The message before them; ``None`` at the beginning.
        is_end: Whether nothing follows.
        thinks: Whether the model's reasoning is part of the history.
    """
    found: list[Message] = []
    rules = log.rules
    for at, message in enumerate(messages):
        last = found[-1] if found else previous
        is_alone = "reasoning_alone" in rules and _is_lone_reasoning(message) and _next_item(messages, at) is None
        if is_alone:
            log.repaired(
                "reasoning_alone", message.path, "reasoning stands without the item that follows it: it is left out"
            )
            continue
        if not message.parts and message.role != "system" and message.raw is None:  # what was in it has been named
            continue
        message = _in_role(message, last, log)  # noqa: PLW2901 - the same message
        found += _between(last, message, log)
        found += _apart(message, log) if "content_beside_calls" in rules else [message]
    found = _thought_through(_signed(found, log, is_end=is_end), log, thinks=thinks)
    if not rules.histories.joins:
        found = _with_media_last(found)
    if "same_role" in rules:
        found = _alternating(found, log)
    last = found[-1] if found else previous
    if is_end and last is not None and last.role == "assistant" and "last_is_assistant" in rules:
        is_open = any(isinstance(part, ToolCallPart) for part in last.parts)
        if not is_open:
            hint = "append a message of the user"
            log.refused("last_is_assistant", last.path, "the last message is the assistant's", hint)
    return found


def _is_lone_reasoning(message: Message) -> bool:
    return len(message.parts) == 1 and isinstance(message.parts[0], ReasoningPart)


def _next_item(messages: Sequence[Message], at: int) -> Message | None:
    """The item of the assistant that reasoning belongs to."""
    for message in messages[at + 1 :]:
        if message.role != "assistant":
            return None
        if not _is_lone_reasoning(message):
            return message
    return None


def _between(last: Message | None, message: Message, log: Log) -> list[Message]:
    """What is put before a message, so that it may follow the last one."""
    rules = log.rules
    is_call = any(isinstance(part, ToolCallPart) for part in message.parts)
    if last is None and message.role == "assistant":
        rule: Any = "first_is_assistant" if "first_is_assistant" in rules else "call_placement"
        if rule in rules and (rule != "call_placement" or is_call):
            log.repaired(
                rule, message.path, f"the assistant may not stand here: {OPENING!r} of the user is put before it"
            )
            return [Message(role="user", parts=(TextPart(text=OPENING),), path=message.path)]
    if last is None or message.role != "user" or "user_after_result" not in rules:
        return []
    is_answered = any(isinstance(part, ToolResultPart) for part in last.parts)
    if not is_answered or any(isinstance(part, ToolResultPart) for part in message.parts):
        return []
    log.repaired(
        "user_after_result", message.path, f"the user follows a result: {BRIDGE!r} of the assistant is put between them"
    )
    return [Message(role="assistant", parts=(TextPart(text=BRIDGE),), path=message.path)]


def _in_role(message: Message, last: Message | None, log: Log) -> Message:
    """A system prompt between other messages, as the user's where none may stand there."""
    if message.role != "system" or last is None or last.role in ("system", "user") or "system_between" not in log.rules:
        return message
    log.repaired("system_between", message.path, "a system prompt follows the assistant: it is sent as the user's")
    return replace(message, role="user", raw=None)


def _apart(message: Message, log: Log) -> list[Message]:
    """Calls in a message of their own."""
    calls = tuple(part for part in message.parts if isinstance(part, ToolCallPart))
    others = tuple(part for part in message.parts if not isinstance(part, ToolCallPart))
    if message.role != "assistant" or not calls or not any(isinstance(part, TextPart) and part.text for part in others):
        return [message]
    log.repaired("content_beside_calls", message.path, "text stands beside calls: they are sent as two messages")
    return [replace(message, parts=others, raw=None), replace(message, parts=calls, raw=None)]


def _signed(messages: list[Message], log: Log, *, is_end: bool) -> list[Message]:
    """Mark calls that have no signature: those that were made here, and all of the current turn."""
    if "missing_signature" not in log.rules:
        return messages
    turn = max((at for at, one in enumerate(messages) if begins_turn(one)), default=-1) if is_end else len(messages)
    return [
        missing_signature(one, log) if one.role == "assistant" and (at > turn or one.raw is None) else one
        for at, one in enumerate(messages)
    ]


def _thought_through(messages: list[Message], log: Log, *, thinks: bool) -> list[Message]:
    """Say of calls that nothing is known of what was thought: of those made here, and where others are thought through."""
    if "missing_reasoning" not in log.rules:
        return messages
    return [missing_reasoning(one, log) if thinks or one.raw is None else one for one in messages]


def begins_turn(message: Message) -> bool:
    """Whether a message begins a turn: it is the user's, and answers no call."""
    is_answer = any(isinstance(part, ToolResultPart) for part in message.parts)
    return message.role == "user" and bool(message.parts) and not is_answer


def _alternating(messages: list[Message], log: Log) -> list[Message]:
    """Put neighbours of one role into one message."""
    found: list[Message] = []
    for message in messages:
        last = found[-1] if found else None
        if last is None or wire_role(last) != wire_role(message):
            found.append(message)
            continue
        if last.raw is not None and message.raw is not None:
            log.repaired("same_role", message.path, "two messages have one role: they are put into one")
        results = [part for part in message.parts if isinstance(part, ToolResultPart)]
        role: Role = wire_role(last) if not results or last.role != "tool" or message.role != "tool" else "tool"
        found[-1] = replace(last, role=role, parts=(*last.parts, *message.parts), raw=None)
    return found


def _with_media_last(messages: list[Message]) -> list[Message]:
    """Put results beside which images are written together, so that no image stands between two of them."""
    found: list[Message] = []
    for message in messages:
        last = found[-1] if found else None
        if last is None or not (last.role == message.role == "tool") or not (_has_media(last) or _has_media(message)):
            found.append(message)
        else:
            found[-1] = replace(last, parts=(*last.parts, *message.parts), raw=None)
    return found


def _has_media(message: Message) -> bool:
    return any(
        isinstance(part, ToolResultPart) and part.raw is None and any(not isinstance(one, Text) for one in part.parts)
        for part in message.parts
    )
