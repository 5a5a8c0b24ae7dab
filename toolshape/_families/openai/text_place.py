"""Where the text of a model stands in a response of OpenAI's form."""

from collections.abc import Sequence

from toolshape._families.wire.content import visible_text
from toolshape._families.wire.provider import TextPlace
from toolshape._records.calls import JsonObject, WireMessage


def text_of(messages: Sequence[WireMessage]) -> str:
    return visible_text(messages[-1])


def entries_in(messages: Sequence[WireMessage]) -> Sequence[JsonObject]:
    [message] = messages
    return message["tool_calls"]  # type: ignore[no-any-return]


def with_calls(
    messages: Sequence[WireMessage], text: str, reasoning: str, entries: Sequence[JsonObject]
) -> list[WireMessage]:
    """Return the messages with these calls before those that the server parsed."""
    *others, message = messages
    server_calls = message.get("tool_calls") or ()
    kept = {
        key: value for key, value in message.items() if key not in ("tool_calls", "content", "role")
    }
    if reasoning:
        kept.setdefault("reasoning_content", reasoning)
    calls = [*entries, *server_calls]
    return [*others, {"role": "assistant", **kept, "content": text, "tool_calls": calls}]


def _is_last(event: JsonObject) -> bool:
    choices = event.get("choices")
    return (
        isinstance(choices, list) and bool(choices) and choices[0].get("finish_reason") is not None
    )


TEXT_PLACE = TextPlace(text_of, entries_in, with_calls, _is_last)
