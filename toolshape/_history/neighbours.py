"""Merges neighbouring messages in a history."""

from collections.abc import Callable, Iterable

from toolshape.messages import Message


def merge_neighbours(messages: Iterable[Message], merge: Callable[[Message, Message], Message | None]) -> list[Message]:
    """Merge neighbouring messages wherever ``merge`` returns a merged message.

    Args:
        messages: The messages, in order.
        merge: A function that returns the message to replace two neighbours, or ``None`` to keep both neighbours.
    """
    merged_messages: list[Message] = []
    for message in messages:
        merged = merge(merged_messages[-1], message) if merged_messages else None
        if merged is None:
            merged_messages.append(message)
        else:
            merged_messages[-1] = merged
    return merged_messages
