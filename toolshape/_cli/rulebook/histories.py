"""Builds conversations that some providers refuse, each an accepted one with one change."""

from collections.abc import Iterator
from dataclasses import replace

from toolshape._records.parts import Image, Text
from toolshape.messages import (
    Message,
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_ID, _OTHER = "call00001", "call00002"
USER = Message(role="user", parts=(TextPart(text="Go."),))
SAID = Message(role="assistant", parts=(TextPart(text="Done."),))
CALL = ToolCallPart(
    id=_ID, wire_name="probe", arguments_raw={"a": "b"}, name="probe", arguments={"a": "b"}
)
RESULT = ToolResultPart(id=_ID, wire_name="probe", text="ok", is_text=True)
CALLED, ANSWERED = Message(role="assistant", parts=(CALL,)), Message(role="tool", parts=(RESULT,))
STEPS: tuple[Message, ...] = (
    *(USER, CALLED, ANSWERED),
    Message(role="assistant", parts=(replace(CALL, id=_OTHER),)),
    Message(role="tool", parts=(replace(RESULT, id=_OTHER),)),
)
"""A turn of two steps, each with a call and its result."""
ACCEPTED = (USER, CALLED, ANSWERED, SAID, USER)
"""A conversation that every provider accepts: a question, a call, its
result, an answer, and a question.
"""
_PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000")


def refused_histories() -> Iterator[tuple[Message, ...]]:
    """Yield conversations, each refused by at least one provider."""
    second = replace(CALL, id=_OTHER)
    both = _assistant(CALL, second)
    yield (USER, CALLED)
    yield (USER, CALLED, USER)
    yield (USER, CALLED, SAID, USER)
    yield (USER, ANSWERED, SAID, USER)
    yield (USER, CALLED, ANSWERED, ANSWERED, SAID, USER)
    yield (USER, CALLED, USER, ANSWERED, SAID, USER)
    yield (USER, CALLED, SAID, ANSWERED, USER)
    yield (USER, both, ANSWERED, SAID, USER)
    yield (USER, both, ANSWERED, _tool(replace(RESULT, id=_OTHER)), SAID, USER)
    yield (USER, _assistant(CALL, CALL), _tool(RESULT, RESULT), SAID, USER)
    yield (USER, CALLED, ANSWERED, CALLED, ANSWERED, SAID, USER)
    for wrong_id in ("a b!", "x" * 65, "x" * 41, "call_1", ""):
        yield (
            USER,
            _assistant(replace(CALL, id=wrong_id)),
            _tool(replace(RESULT, id=wrong_id)),
            SAID,
            USER,
        )
    for wrong_name in ("a b!", "x" * 129, ""):
        yield (USER, _assistant(replace(CALL, wire_name=wrong_name)), _tool(RESULT), SAID, USER)
    yield (
        USER,
        _assistant(replace(CALL, arguments_raw='{"a": ', arguments=None)),
        ANSWERED,
        SAID,
        USER,
    )
    yield (USER, _assistant(CALL, TextPart(text="After.")), ANSWERED, SAID, USER)
    yield (USER, _assistant(TextPart(text="Before."), CALL), ANSWERED, SAID, USER)
    yield (USER, CALLED, ANSWERED, USER)
    yield (USER, SAID)
    yield (USER, _assistant(TextPart(text="Done. ")))
    yield (USER, _assistant(TextPart(text="")), USER)
    yield (USER, _assistant(TextPart(text=" ")), USER)
    yield (USER, _assistant(), USER)
    yield (Message(role="user", parts=(TextPart(text=" "),)),)
    yield (Message(role="user", parts=()),)
    yield (SAID, USER)
    yield (USER, USER)
    yield (USER, Message(role="system", parts=(TextPart(text="Be brief."),)), USER)
    yield (USER, _assistant(ReasoningPart(text="Hm."), TextPart(text="Done.")), USER)
    yield (USER, _assistant(ReasoningPart(text="Hm.")), USER)
    yield (USER, _assistant(ReasoningPart(text="Hm."), CALL), ANSWERED, SAID, USER)
    yield (
        USER,
        CALLED,
        _tool(replace(RESULT, text="", code="tool_error", is_text=None)),
        SAID,
        USER,
    )
    image = Image(data=_PIXEL, media_type="image/png")
    yield (USER, CALLED, _tool(replace(RESULT, parts=(Text("See."), image))), SAID, USER)


def _assistant(*parts: MessagePart) -> Message:
    return Message(role="assistant", parts=parts)


def _tool(*parts: MessagePart) -> Message:
    return Message(role="tool", parts=parts)
