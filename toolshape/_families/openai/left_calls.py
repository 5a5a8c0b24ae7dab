"""Warns of calls that a server left in the text of a message."""

from toolshape._calls import WireMessage
from toolshape._results import ResponseWarning
from toolshape._wire.content import visible_text


def left_calls(message: WireMessage, provider: str) -> tuple[ResponseWarning, ...]:
    """Return a warning if the text of a message contains the opening mark of a call."""
    text = visible_text(message)
    if not text:
        return ()
    from toolshape._families.text.left import left_in_text  # noqa: PLC0415 - the formats import this family

    return left_in_text(text, provider)
