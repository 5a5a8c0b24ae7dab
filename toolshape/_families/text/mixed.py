"""Joins the calls that a server left in the text with those that it parsed."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from toolshape._families.openai.unparsed import left_calls
from toolshape._families.text.format import TextFormat
from toolshape._families.text.formats import FORMATS
from toolshape._families.text.reading import Schemas, read_with_ids
from toolshape._families.text.responses import advance, as_message
from toolshape._families.text.templates import TEMPLATE_MARKS
from toolshape._families.wire.provider import (
    Codec,
    Completed,
    Provider,
    Read,
    ResponseForm,
    TextDelta,
    TextPlace,
)
from toolshape._records.calls import JsonObject


def with_text_calls(provider: Provider, name: str) -> Provider | None:
    """Return a provider that also reads calls in the text of its responses.

    Returns ``None`` if no format has this name, or if the provider's servers leave no calls in the
    text.
    """
    text_format, place = FORMATS.get(name), provider.response.text_place
    if text_format is None or place is None:
        return None
    # A call in the text gets an id that the server's calls have not: the ids that some models write
    # count from 0 in each response, as do those of their servers.
    text_format = replace(text_format, needs_ids=True, id_form="")
    form = _form(provider.response, provider.codec, place, text_format, {})
    return replace(provider, name=f"{provider.name}+{name}", response=form)


def _form(
    base: ResponseForm,
    codec: Codec,
    place: TextPlace,
    text_format: TextFormat,
    schemas: Schemas,
) -> ResponseForm:
    return replace(
        base,
        read=partial(_read, base, codec, place, text_format, schemas),
        fold=partial(_fold, base, place, text_format, schemas),
        for_schemas=partial(_form, base, codec, place, text_format),
        left_calls=base.left_calls or left_calls,
        template_marks=TEMPLATE_MARKS.get(text_format.name, ()),
    )


def _read(
    base: ResponseForm,
    codec: Codec,
    place: TextPlace,
    text_format: TextFormat,
    schemas: Schemas,
    body: Any,
) -> Read | None:
    """Return the calls in the text, followed by the calls that the server parsed:
    a model writes its text first.
    """
    reading = base.read(body)
    if reading is None:
        return None
    messages, calls, finish, cut_positions, ends_in_call = reading
    if not messages:
        return reading
    found, ids = read_with_ids(text_format, place.text(messages), schemas)
    if not found.calls:
        return reading
    _, text_calls = as_message(text_format, found, ids, {})
    objects = [call._replace(arguments=call.raw["function"]["arguments"]) for call in text_calls]
    entries = place.entries(codec.write_calls(objects))
    text_calls = [call._replace(raw=raw) for call, raw in zip(text_calls, entries, strict=True)]
    cut_in_text = {position for position, call in enumerate(found.calls) if call.is_cut}
    cut_positions = frozenset(
        cut_in_text | {len(text_calls) + position for position in cut_positions}
    )
    # A call that is complete in the text is a call, whatever the server says of the end.
    ends_in_call = ends_in_call if calls else bool(cut_in_text)
    if finish in ("stop", None) and "tool_calls" in base.finishes:
        finish = "tool_calls"
    assistant = place.with_calls(messages, found.text.strip(), found.reasoning.strip(), entries)
    return assistant, [*text_calls, *calls], finish, cut_positions, ends_in_call


def _fold(
    base: ResponseForm,
    place: TextPlace,
    text_format: TextFormat,
    schemas: Schemas,
    body: JsonObject,
    event: JsonObject,
) -> Iterable[Completed]:
    """Merge an event, and return the calls that it completes.

    A call in the text is complete as soon as its text ends. The calls that the server parsed come
    after all calls in the text, so their positions are known only when the response ends.
    """
    server_calls: dict[int, Any] = body.setdefault("x-server-calls", {})
    server_calls.update(base.fold(body, event))  # an event may complete a call again
    delta = body.pop("x-delta", None) or base.text_delta(event)
    has_ended = place.is_last(event)
    found, completed = advance(body, text_format, schemas, delta.text, has_ended=has_ended)
    body["x-delta"] = TextDelta(found.text, delta.thinking + found.reasoning)
    if has_ended:
        text_calls = body["x-text-calls"]
        completed += [(text_calls + position, call) for position, call in server_calls.items()]
    return completed
