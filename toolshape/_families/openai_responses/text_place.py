"""Where a model's text stands in OpenAI's Responses, which llama.cpp and vLLM serve, too."""

from collections.abc import Sequence

from toolshape._families.wire.content import visible_text
from toolshape._families.wire.provider import TextPlace
from toolshape._records.calls import JsonObject, WireMessage


def _is_text(item: WireMessage) -> bool:
    return item.get("type") == "message"


def _text_of(items: Sequence[WireMessage]) -> str:
    return "".join(visible_text(item) for item in items if _is_text(item))


def _with_calls(
    items: Sequence[WireMessage],
    text: str,
    reasoning: str,  # noqa: ARG001 - an item of reasoning has an id that only the server gives
    entries: Sequence[JsonObject],
) -> list[WireMessage]:
    """Return the items with one text in the first message, then these calls, then the others."""
    first = next((at for at, item in enumerate(items) if _is_text(item)), 0)
    part = {"type": "output_text", "text": text, "annotations": []}
    texts = [{**items[first], "content": [part]}] if text else []
    after = [item for item in items[first:] if not _is_text(item)]
    return [*items[:first], *texts, *entries, *after]


def _is_last(event: JsonObject) -> bool:
    kinds = ("response.completed", "response.incomplete", "response.failed")
    return event.get("type") in kinds


TEXT_PLACE = TextPlace(_text_of, lambda items: items, _with_calls, _is_last)
