"""Gives every call and result an id: results without an id are matched to calls by name and position."""

from collections.abc import Sequence
from dataclasses import replace

from toolshape._wire.ids import generated_id, id_seed
from toolshape.messages import Message, MessagePart, ToolCallPart, ToolResultPart, calls_in, results_in


def linked(messages: Sequence[Message], before: Sequence[Message] = ()) -> list[Message]:
    """Give a new id to each call without one, and give each result without an id the id of the call it answers.

    Args:
        messages: The messages, in their order.
        before: The preceding messages, already linked. ``messages`` may answer the last calls in them.

    Returns:
        The messages. A message that needs no id is returned as the same object.
    """
    waiting = _unanswered(before)
    if all(_has_ids(message) for message in messages) and all(call.has_id for call in waiting):
        return list(messages)
    own = {call.id for message in before for call in calls_in(message)}
    with_ids: list[Message] = []
    last: Message | None = before[-1] if before else None
    for message in messages:
        if message.role == "assistant" and (last is None or last.role != "assistant"):
            waiting.clear()  # A new turn begins. Its results do not answer calls of earlier turns.
        last = message
        position = len(before) + len(with_ids)
        parts = tuple(_linked(part, waiting, own, position, at) for at, part in enumerate(message.parts))
        with_ids.append(message if parts == message.parts else replace(message, parts=parts))
    return with_ids


def _has_ids(message: Message) -> bool:
    return all(part.id for part in message.parts if isinstance(part, (ToolCallPart, ToolResultPart)))


def _unanswered(messages: Sequence[Message]) -> list[ToolCallPart]:
    """Return the unanswered calls of the assistant's last turn, even if user messages follow it."""
    answered: set[str] = set()
    calls: list[ToolCallPart] = []
    for at, message in enumerate(reversed(messages)):
        if message.role == "assistant":
            calls[:0] = calls_in(message)
            follows = messages[-at - 2] if at + 1 < len(messages) else None
            if follows is None or follows.role != "assistant":
                break
        answered.update(result.id for result in results_in(message))
    return [call for call in calls if call.id not in answered]


def _linked(part: MessagePart, waiting: list[ToolCallPart], own: set[str], position: int, at: int) -> MessagePart:
    """Return the part with an id.

    A result without an id answers the first waiting call of the same name. If the result has no name either, it
    answers the first waiting call. Calls without an id of their own come first. A result whose id belongs to no call
    can only answer such a call.
    """
    if isinstance(part, ToolCallPart):
        call = part if part.id else replace(part, id=_made_id(part, position, at), has_id=False)
        waiting.append(call)
        own.add(call.id)
        return call
    if not isinstance(part, ToolResultPart):
        return part
    if part.id in own:
        waiting[:] = [call for call in waiting if call.id != part.id]
        return part
    without_id = [call for call in waiting if not call.has_id]
    candidates = without_id if part.id else [*without_id, *(call for call in waiting if call.has_id)]
    named = [call for call in candidates if call.wire_name == part.wire_name]
    for call in named or (candidates if not part.wire_name else ()):
        waiting.remove(call)
        return replace(part, id=call.id, has_id=False)
    if part.id:
        return part
    return replace(part, id=generated_id(id_seed(["result", part.wire_name, part.text]), position + at), has_id=False)


def _made_id(call: ToolCallPart, position: int, at: int) -> str:
    return generated_id(id_seed([call.wire_name, repr(call.arguments_raw), position]), at)
