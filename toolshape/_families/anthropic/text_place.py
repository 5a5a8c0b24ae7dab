"""Where a model's text stands in a message of Anthropic's form.

Open models have it, too: llama.cpp and vLLM serve this form.
"""

from collections.abc import Sequence

from toolshape._families.anthropic.messages import with_object_arguments
from toolshape._families.wire.content import visible_text
from toolshape._families.wire.provider import TextPlace
from toolshape._records.calls import JsonObject, WireMessage


def _text_of(messages: Sequence[WireMessage]) -> str:
    return visible_text(messages[-1])


def _entries_in(messages: Sequence[WireMessage]) -> Sequence[JsonObject]:
    [message] = messages
    return [with_object_arguments(block) for block in message["content"]]


def _with_calls(
    messages: Sequence[WireMessage],
    text: str,
    reasoning: str,  # noqa: ARG001 - without a signature, reasoning cannot be sent back
    entries: Sequence[JsonObject],
) -> list[WireMessage]:
    """Return the message with one text, then these calls, then the blocks that came after."""
    *others, message = messages
    blocks: list[JsonObject] = message["content"]
    first = next((at for at, block in enumerate(blocks) if block.get("type") == "text"), 0)
    texts = [{"type": "text", "text": text}] if text else []
    after = [block for block in blocks[first:] if block.get("type") != "text"]
    return [*others, {**message, "content": [*blocks[:first], *texts, *entries, *after]}]


def _is_last(event: JsonObject) -> bool:
    return event.get("type") in ("message_delta", "message_stop")


TEXT_PLACE = TextPlace(_text_of, _entries_in, _with_calls, _is_last)
