"""Messages as they were read in; the same with an id for every call and result out, linked by place where none came."""

from collections.abc import Sequence
from dataclasses import replace

from toolshape.messages import Message, MessagePart, ToolCallPart, ToolResultPart, calls_in, results_in
from toolshape.wire.ids import generated_id, id_seed

__all__ = ["linked"]


def linked(messages: Sequence[Message], before: Sequence[Message] = ()) -> list[Message]:
    """Give ids to calls that came without, and to results those of the calls that they answer.

    Args:
        messages: The messages, in their order.
        before: What stands before them, linked already; its last calls may be answered here.

    Returns:
        The messages; one that needs no id is the same object.
    """
    if all(_has_ids(message) for message in messages):
        return list(messages)
    waiting = _unanswered(before)
    found: list[Message] = []
    last: Message | None = before[-1] if before else None
    for message in messages:
        if message.role == "assistant" and (last is None or last.role != "assistant"):
            waiting.clear()  # a new turn: what waits from before is not what its results answer
        last = message
        position = len(before) + len(found)
        parts = tuple(_linked(part, waiting, position, at) for at, part in enumerate(message.parts))
        found.append(message if parts == message.parts else replace(message, parts=parts))
    return found


def _has_ids(message: Message) -> bool:
    return all(part.id for part in message.parts if isinstance(part, (ToolCallPart, ToolResultPart)))


def _unanswered(messages: Sequence[Message]) -> list[ToolCallPart]:
    """The calls of the last messages that no result has answered."""
    answered: set[str] = set()
    for message in reversed(messages):
        if calls := calls_in(message):
            return [call for call in calls if call.id not in answered]
        results = [one.id for one in results_in(message)]
        if not results:
            return []
        answered.update(results)
    return []


def _linked(part: MessagePart, waiting: list[ToolCallPart], position: int, at: int) -> MessagePart:
    """A part with its id. A result without one answers the first call of its name that waits, else the first of all."""
    if isinstance(part, ToolCallPart):
        call = part if part.id else replace(part, id=_made_id(part, position, at), has_id=False)
        waiting.append(call)
        return call
    if not isinstance(part, ToolResultPart):
        return part
    if part.id:
        waiting[:] = [call for call in waiting if call.id != part.id]
        return part
    named = [call for call in waiting if call.wire_name == part.wire_name]
    for call in named or (waiting if not part.wire_name else ()):
        waiting.remove(call)
        return replace(part, id=call.id, has_id=False)
    return replace(part, id=generated_id(id_seed(["result", part.wire_name, part.text]), position + at), has_id=False)


def _made_id(call: ToolCallPart, position: int, at: int) -> str:
    return generated_id(id_seed([call.wire_name, repr(call.arguments_raw), position]), at)
