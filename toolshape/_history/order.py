"""Messages in, each of which the provider takes; in an order that it takes, out."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolshape._history.contents import behind_calls, calls_last, missing_reasoning, missing_signature, trailing_space
from toolshape._history.log import Log
from toolshape._history.neighbours import merged_neighbours
from toolshape._parts import Text
from toolshape.messages import (
    Message,
    MessagePart,
    ProviderPart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    calls_in,
    results_in,
    with_parts,
)

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
    if not rules.histories.joins:
        messages = [one for message in messages for one in _results_apart(message)]
    for at, message in enumerate(messages):
        last = found[-1] if found else previous
        is_alone = "reasoning_alone" in rules and _is_lone_reasoning(message) and _next_item(messages, at) is None
        if is_alone:
            fault = "reasoning stands without the item that follows it"
            log.repaired("reasoning_alone", message.path, fault, "it is left out")
            continue
        if not message.parts and message.role != "system" and message.raw is None:  # what was in it has been named
            continue
        message = _in_role(message, last, log)  # noqa: PLW2901 - the same message
        found += _between(last, message, log)
        found += _apart(message, log) if "content_beside_calls" in rules else [message]
    found = _thought_through(_signed(found, log, is_end=is_end), log, thinks=thinks)
    if not rules.histories.joins:
        found = merged_neighbours(found, _with_media)
    if "same_role" in rules:
        found = _alternating(found, log)
    if found and is_end and found[-1].role == "assistant" and "trailing_space" in rules:
        found[-1] = trailing_space(found[-1], log)
    last = found[-1] if found else previous
    is_last = is_end and last is not None and last.role == "assistant" and not calls_in(last)
    if last is not None and is_last and "last_is_assistant" in rules and not _goes_on_itself(last, log):
        log.refused(
            "last_is_assistant", last.path, "the last message is the assistant's", "append a message of the user"
        )
    return found


def _results_apart(message: Message) -> list[Message]:
    """Results in a message of their own, where what the user says follows in another one."""
    results = results_in(message)
    if message.raw is not None or not results or len(results) == len(message.parts):
        return [message]
    others = tuple(part for part in message.parts if not isinstance(part, ToolResultPart))
    return [replace(message, role="tool", parts=tuple(results)), replace(message, role="user", parts=others)]


def _goes_on_itself(message: Message, log: Log) -> bool:
    """Whether a message may be the last all the same: it says so, or it ends in what the provider itself goes on with."""
    raw: Any = message.raw
    pattern = log.rules.active["last_is_assistant"].pattern
    if not pattern:
        return False
    last = message.parts[-1] if message.parts else None
    if isinstance(last, ProviderPart) and re.fullmatch(pattern, last.kind):
        return True
    return isinstance(raw, dict) and any(raw[key] is True for key in raw if re.fullmatch(pattern, str(key)))


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
    if last is None and message.role == "assistant":
        rule: Any = "first_is_assistant" if "first_is_assistant" in rules else "call_placement"
        if rule in rules and (rule != "call_placement" or calls_in(message)):
            remedy = f"{OPENING!r} of the user is put before it"
            log.repaired(rule, message.path, "the assistant may not stand here", remedy)
            return [Message(role="user", parts=(TextPart(text=OPENING),), path=message.path)]
    if last is None or message.role != "user" or "user_after_result" not in rules:
        return []
    if not results_in(last) or results_in(message):
        return []
    remedy = f"{BRIDGE!r} of the assistant is put between them"
    log.repaired("user_after_result", message.path, "the user follows a result", remedy)
    return [Message(role="assistant", parts=(TextPart(text=BRIDGE),), path=message.path)]


def _in_role(message: Message, last: Message | None, log: Log) -> Message:
    """A system prompt between other messages, as the user's where none may stand there."""
    if message.role != "system" or last is None or last.role in ("system", "user") or "system_between" not in log.rules:
        return message
    log.repaired("system_between", message.path, "a system prompt follows the assistant", "it is sent as the user's")
    return replace(message, role="user", raw=None)


def _apart(message: Message, log: Log) -> list[Message]:
    """Calls in a message of their own."""
    others = [part for part in message.parts if not isinstance(part, ToolCallPart)]
    calls, has_text = calls_in(message), any(isinstance(part, TextPart) and part.text for part in others)
    if message.role != "assistant" or not calls or not has_text:
        return [message]
    log.repaired("content_beside_calls", message.path, "text stands beside calls", "they are sent as two messages")
    return [with_parts(message, others), with_parts(message, calls)]


def _signed(messages: list[Message], log: Log, *, is_end: bool) -> list[Message]:
    """Mark calls that have no signature: those that were made here, and all of the current turn."""
    if "missing_signature" not in log.rules:
        return messages
    turn = max((at for at, one in enumerate(messages) if begins_turn(one)), default=-1) if is_end else len(messages)
    return [
        missing_signature(one, log)
        if one.role == "assistant" and (at > turn or one.raw is None) and not _goes_on_with_calls(messages, at)
        else one
        for at, one in enumerate(messages)
    ]


def _goes_on_with_calls(messages: list[Message], at: int) -> bool:
    """Whether a message that came goes on with the calls of the one before: only the first call of a turn is signed."""
    last = messages[at - 1] if at else None
    return last is not None and last.role == "assistant" and messages[at].raw is not None and bool(calls_in(last))


def _thought_through(messages: list[Message], log: Log, *, thinks: bool) -> list[Message]:
    """Say of calls that nothing is known of what was thought: of those made here, and where others are thought through."""
    if "missing_reasoning" not in log.rules:
        return messages
    return [missing_reasoning(one, log) if thinks or one.raw is None else one for one in messages]


def begins_turn(message: Message) -> bool:
    """Whether a message begins a turn: it is the user's, and answers no call."""
    return message.role == "user" and bool(message.parts) and not results_in(message)


def _alternating(messages: list[Message], log: Log) -> list[Message]:
    """Put neighbours of one role into one message."""

    def merge(last: Message, message: Message) -> Message | None:
        if wire_role(last) != wire_role(message):
            return None
        if last.raw is not None and message.raw is not None:
            log.repaired("same_role", message.path, "two messages have one role", "they are put into one")
        role = last.role if last.role == message.role else wire_role(last)
        parts: tuple[MessagePart, ...] = (*last.parts, *message.parts)
        if role == "assistant" and "text_after_call" in log.rules and behind_calls(parts):
            fault = "its text would stand after a call of the message before it"
            log.repaired("text_after_call", message.path, fault, "it is moved before the call")
            parts = calls_last(parts)
        return replace(last, role=role, parts=parts, raw=None)

    return merged_neighbours(messages, merge)


def _with_media(last: Message, message: Message) -> Message | None:
    """Put results beside which images are written together, so that no image stands between two of them."""
    if not (last.role == message.role == "tool") or not (_has_media(last) or _has_media(message)):
        return None
    return with_parts(last, (*last.parts, *message.parts))


def _has_media(message: Message) -> bool:
    return any(
        part.raw is None and any(not isinstance(one, Text) for one in part.parts) for part in results_in(message)
    )
