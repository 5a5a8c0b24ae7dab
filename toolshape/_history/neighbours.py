"""Messages in; the same with neighbours that belong together as one message each, out."""

from collections.abc import Callable, Iterable

from toolshape.messages import Message


def merged_neighbours(
    messages: Iterable[Message], merge: Callable[[Message, Message], Message | None]
) -> list[Message]:
    """Merge messages with those before them.

    Args:
        messages: The messages.
        merge: Makes one message of the last one and the next; ``None`` where they stay two.
    """
    found: list[Message] = []
    for message in messages:
        merged = merge(found[-1], message) if found else None
        if merged is None:
            found.append(message)
        else:
            found[-1] = merged
    return found
