"""Merges neighbouring messages that belong together."""

from collections.abc import Callable, Iterable

from toolshape.messages import Message


def merged_neighbours(
    messages: Iterable[Message], merge: Callable[[Message, Message], Message | None]
) -> list[Message]:
    """Merge neighbouring messages wherever ``merge`` returns a merged message.

    Args:
        messages: The messages, in order.
        merge: Returns the message that replaces two neighbours, or ``None`` to keep both.
    """
    kept: list[Message] = []
    for message in messages:
        merged = merge(kept[-1], message) if kept else None
        if merged is None:
            kept.append(message)
        else:
            kept[-1] = merged
    return kept
