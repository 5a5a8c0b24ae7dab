"""Applies a provider's rules for the order of roles, and for the parts a message may mix."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from toolshape._history.log import Log
from toolshape._history.repairs.parts import (
    missing_reasoning,
    missing_signature,
    move_calls_last,
    parts_after_calls,
    trailing_space,
)
from toolshape._records.parts import Text
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
    """Return the role of a message on the wire, for providers that send results as user
    messages.
    """
    if message.role == "tool":
        return "user"
    return message.role


def order_messages(
    messages: Sequence[Message], log: Log, previous: Message | None, *, is_end: bool, thinks: bool
) -> list[Message]:
    """Apply the provider's rules about the order of messages.

    The steps run in this order, because each step relies on the earlier steps:

    1. If the provider does not join messages, separate the results in a message from its other
       parts.
    2. Handle each message in turn. Drop reasoning that has no item after it, and messages that
       earlier repairs emptied. If the provider rejects a system message at its position, convert it
       to a user message. Insert the messages that the provider requires between two neighbours.
       Separate text from calls.
    3. Check signatures and reasoning, which depend on the parts that now precede each call.
    4. Merge result messages that hold images, and neighbours with the same role.
    5. If no messages follow, check the last message. Otherwise the end of the history is not known
       yet.

    If ``messages`` continue a history that was already repaired, ``previous`` is the last message
    of that history.

    Args:
        messages: The messages.
        log: The log to which this function adds the repairs.
        previous: The preceding message, or ``None`` at the beginning.
        is_end: Whether no messages follow.
        thinks: Whether the model's reasoning is part of the history.
    """
    ordered: list[Message] = []
    rules = log.rules
    if not rules.histories.joins:
        messages = [
            split_message for message in messages for split_message in _split_results(message)
        ]
    for index, message in enumerate(messages):
        last_message = ordered[-1] if ordered else previous
        is_alone = (
            "reasoning_alone" in rules
            and _is_lone_reasoning(message)
            and _next_item(messages, index) is None
        )
        if is_alone:
            fault = "no item follows the reasoning"
            log.repaired("reasoning_alone", message.path, fault, "it is left out")
            continue
        # Earlier repairs emptied this message, and recorded the reason.
        if not message.parts and message.raw is None:
            continue
        message = _system_as_user(message, last_message, log)  # noqa: PLW2901 - the same message, perhaps in another role
        ordered += _fillers_before(last_message, message, log)
        ordered += _split_calls(message, log) if "content_beside_calls" in rules else [message]
    ordered = _add_missing_reasoning(
        _mark_unsigned_calls(ordered, log, is_end=is_end), log, thinks=thinks
    )
    if not rules.histories.joins:
        ordered = merge_neighbours(ordered, _merge_media)
    if "same_role" in rules:
        ordered = _merge_same_roles(ordered, log)
    if ordered and is_end and ordered[-1].role == "assistant" and "trailing_space" in rules:
        ordered[-1] = trailing_space(ordered[-1], log)
    last_message = ordered[-1] if ordered else previous
    is_last = (
        is_end
        and last_message is not None
        and last_message.role == "assistant"
        and not calls_in(last_message)
    )
    if (
        last_message is not None
        and is_last
        and "last_is_assistant" in rules
        and not _may_end_history(last_message, log)
    ):
        log.refused(
            "last_is_assistant",
            last_message.path,
            "the last message is an assistant message",
            "append a user message",
        )
    return ordered


def _split_results(message: Message) -> list[Message]:
    """Split a message that mixes results with other parts into a tool message and a user
    message.
    """
    results = results_in(message)
    if message.raw is not None or not results or len(results) == len(message.parts):
        return [message]
    other_parts = tuple(part for part in message.parts if not isinstance(part, ToolResultPart))
    return [
        replace(message, role="tool", parts=tuple(results)),
        replace(message, role="user", parts=other_parts),
    ]


def _may_end_history(message: Message, log: Log) -> bool:
    """Return whether an assistant message may end the history.

    The rule lists the keys and the kinds of provider parts that allow this end. The message must
    set such a key to true, or its last part must be such a provider part, because the provider
    continues this part itself.
    """
    raw: Any = message.raw
    pattern = log.rules.active["last_is_assistant"].pattern
    if not pattern:
        return False
    last_part = message.parts[-1] if message.parts else None
    if isinstance(last_part, ProviderPart) and re.fullmatch(pattern, last_part.kind):
        return True
    return isinstance(raw, dict) and any(
        raw[key] is True for key in raw if re.fullmatch(pattern, str(key))
    )


def _is_lone_reasoning(message: Message) -> bool:
    return len(message.parts) == 1 and isinstance(message.parts[0], ReasoningPart)


def _next_item(messages: Sequence[Message], at: int) -> Message | None:
    """Return the assistant message to which the reasoning at this position belongs, or ``None``."""
    for message in messages[at + 1 :]:
        if message.role != "assistant":
            return None
        if not _is_lone_reasoning(message):
            return message
    return None


def _fillers_before(last: Message | None, message: Message, log: Log) -> list[Message]:
    """Return the filler messages that the provider requires between ``last`` and ``message``."""
    rules = log.rules
    if last is None and message.role == "assistant":
        if "first_is_assistant" in rules:
            rule: Any = "first_is_assistant"
        else:
            rule = "call_placement"
        if rule in rules and (rule != "call_placement" or calls_in(message)):
            remedy = f"the user message {OPENING!r} is inserted before it"
            log.repaired(rule, message.path, "an assistant message may not come first", remedy)
            return [Message(role="user", parts=(TextPart(text=OPENING),), path=message.path)]
    if last is None or message.role != "user" or "user_after_result" not in rules:
        return []
    if not results_in(last) or results_in(message):
        return []
    remedy = f"the assistant message {BRIDGE!r} is inserted between them"
    log.repaired("user_after_result", message.path, "a user message follows a result", remedy)
    return [Message(role="assistant", parts=(TextPart(text=BRIDGE),), path=message.path)]


def _system_as_user(message: Message, last: Message | None, log: Log) -> Message:
    """If the provider rejects a system prompt after an assistant message or a
    result, convert it to a user message.
    """
    if (
        message.role != "system"
        or last is None
        or last.role in ("system", "user")
        or "system_between" not in log.rules
    ):
        return message
    log.repaired(
        "system_between",
        message.path,
        "a system prompt follows the assistant",
        "it is sent as a user message",
    )
    return replace(message, role="user", raw=None)


def _split_calls(message: Message, log: Log) -> list[Message]:
    """If an assistant message mixes text with calls, move the calls to a second message."""
    other_parts = [part for part in message.parts if not isinstance(part, ToolCallPart)]
    calls, has_text = (
        calls_in(message),
        any(isinstance(part, TextPart) and part.text for part in other_parts),
    )
    if message.role != "assistant" or not calls or not has_text:
        return [message]
    log.repaired(
        "content_beside_calls",
        message.path,
        "a message has text and calls",
        "it is sent as two messages",
    )
    return [with_parts(message, other_parts), with_parts(message, calls)]


def _mark_unsigned_calls(messages: list[Message], log: Log, *, is_end: bool) -> list[Message]:
    """Mark unsigned calls in messages that have no wire form, and in
    all messages of the current turn.
    """
    if "missing_signature" not in log.rules:
        return messages
    if is_end:
        turn = max(
            (index for index, message in enumerate(messages) if begins_turn(message)), default=-1
        )
    else:
        turn = len(messages)
    return [
        missing_signature(message, log)
        if message.role == "assistant"
        and (index > turn or message.raw is None)
        and not _continues_calls(messages, index)
        else message
        for index, message in enumerate(messages)
    ]


def _continues_calls(messages: list[Message], at: int) -> bool:
    """Return whether a received message continues the calls of the previous message,
    so its calls need no signature.
    """
    previous_message = messages[at - 1] if at else None
    return (
        previous_message is not None
        and previous_message.role == "assistant"
        and messages[at].raw is not None
        and bool(calls_in(previous_message))
    )


def _add_missing_reasoning(messages: list[Message], log: Log, *, thinks: bool) -> list[Message]:
    """Add empty reasoning to messages that have calls but no reasoning.

    If ``thinks`` is false, change only messages without a wire form, because the encoder writes
    these messages. A model that always thinks needs no sign of it.
    """
    if "missing_reasoning" not in log.rules:
        return messages
    thinks = thinks or log.rules.always_thinks
    return [
        missing_reasoning(message, log) if thinks or message.raw is None else message
        for message in messages
    ]


def begins_turn(message: Message) -> bool:
    """Return whether a message begins a turn, that is, whether it is
    a user message without results.
    """
    return message.role == "user" and bool(message.parts) and not results_in(message)


def _merge_same_roles(messages: list[Message], log: Log) -> list[Message]:
    """Merge neighbouring messages that have the same role."""

    def merge(last: Message, message: Message) -> Message | None:
        if wire_role(last) != wire_role(message):
            return None
        if last.raw is not None and message.raw is not None:
            log.repaired(
                "same_role", message.path, "two neighbours have the same role", "they are merged"
            )
        if last.role == message.role:
            role = last.role
        else:
            role = wire_role(last)
        parts: tuple[MessagePart, ...] = (*last.parts, *message.parts)
        if role == "assistant" and "text_after_call" in log.rules and parts_after_calls(parts):
            fault = "its text would follow a call in the previous message"
            log.repaired("text_after_call", message.path, fault, "it is moved before the call")
            parts = move_calls_last(parts)
        return replace(last, role=role, parts=parts, raw=None)

    return merge_neighbours(messages, merge)


def _merge_media(last: Message, message: Message) -> Message | None:
    """Merge neighbouring result messages if either holds media: the encoder must
    not write media between results.
    """
    if not (last.role == message.role == "tool") or not (_has_media(last) or _has_media(message)):
        return None
    return with_parts(last, (*last.parts, *message.parts))


def _has_media(message: Message) -> bool:
    return any(
        result.raw is None and any(not isinstance(part, Text) for part in result.parts)
        for result in results_in(message)
    )


def merge_neighbours(
    messages: Iterable[Message], merge: Callable[[Message, Message], Message | None]
) -> list[Message]:
    """Merge neighbouring messages wherever ``merge`` returns a merged message.

    Args:
        messages: The messages, in order.
        merge: A function that returns the message to replace two neighbours, or ``None`` to keep
            both neighbours.
    """
    merged_messages: list[Message] = []
    for message in messages:
        if merged_messages:
            merged = merge(merged_messages[-1], message)
        else:
            merged = None
        if merged is None:
            merged_messages.append(message)
        else:
            merged_messages[-1] = merged
    return merged_messages
