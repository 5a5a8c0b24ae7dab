"""Reads the calls that a server left in the text of its response, and the calls that the server parsed."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from toolshape._families.text.format import TextFormat
from toolshape._families.text.formats import FORMATS
from toolshape._families.text.reading import Schemas, read_with_ids
from toolshape._families.text.responses import advance, as_message, piece_in
from toolshape._families.wire.content import visible_text
from toolshape._families.wire.provider import (
    Codec,
    Completed,
    Provider,
    Read,
    ResponseForm,
    TextDelta,
)
from toolshape._records.calls import JsonObject


def with_text_calls(provider: Provider, name: str) -> Provider | None:
    """Return a provider that also reads calls in the text of its responses.

    Returns ``None`` if no format has this name, or if the provider's servers leave no calls in the text.
    """
    text_format = FORMATS.get(name)
    if text_format is None or provider.response.left_calls is None or provider.response.takes_text:
        return None
    # A call in the text gets an id that the server's calls have not: the ids that some models write
    # count from 0 in each response, as do those of their servers.
    text_format = replace(text_format, needs_ids=True, id_form="")
    form = _form(provider.response, provider.codec, text_format, {})
    return replace(provider, name=f"{provider.name}+{name}", response=form)


def _form(
    base: ResponseForm, codec: Codec, text_format: TextFormat, schemas: Schemas
) -> ResponseForm:
    return replace(
        base,
        read=partial(_read, base, codec, text_format, schemas),
        fold=partial(_fold, base, text_format, schemas),
        for_schemas=partial(_form, base, codec, text_format),
    )


def _read(
    base: ResponseForm, codec: Codec, text_format: TextFormat, schemas: Schemas, body: Any
) -> Read | None:
    """Return the calls in the text, followed by the calls that the server parsed: a model writes its text first."""
    reading = base.read(body)
    if reading is None:
        return None
    messages, calls, finish, cut_positions, ends_in_call = reading
    if not messages:
        return reading
    *other_messages, message = messages
    text_reading, ids = read_with_ids(text_format, visible_text(message), schemas)
    if not text_reading.calls:
        return reading
    other_fields = {key: value for key, value in message.items() if key != "tool_calls"}
    text_message, text_calls = as_message(text_format, text_reading, ids, other_fields)
    server_calls = list(message.get("tool_calls") or ())
    calls_with_objects = [
        call._replace(arguments=written["function"]["arguments"])
        for call, written in zip(text_calls, text_message["tool_calls"], strict=True)
    ]
    (wire_message,) = codec.write_calls(
        calls_with_objects
    )  # in the form in which the server writes its own calls
    written = wire_message["tool_calls"]
    text_calls = [call._replace(raw=raw) for call, raw in zip(text_calls, written, strict=True)]
    text_call_count = len(text_calls)
    cut_positions = frozenset(
        {position for position, call in enumerate(text_reading.calls) if call.is_cut}
        | {text_call_count + position for position in cut_positions}
    )
    if finish in ("stop", None):
        finish = "tool_calls"
    assistant = {**text_message, "tool_calls": [*written, *server_calls]}
    return (
        [*other_messages, assistant],
        [*text_calls, *calls],
        finish,
        cut_positions,
        ends_in_call or not calls,
    )


def _fold(
    base: ResponseForm,
    text_format: TextFormat,
    schemas: Schemas,
    body: JsonObject,
    event: JsonObject,
) -> Iterable[Completed]:
    """Merge an event, and return the calls that it completes.

    A call in the text is complete as soon as its text ends. The calls that the server parsed come after all calls in
    the text, so their positions are known only when the response ends.
    """
    server_calls: list[Completed] = body.setdefault("x-server-calls", [])
    server_calls += base.fold(body, event)
    delta = base.text_delta(event)
    has_ended = piece_in(event)[2] is not None
    text_reading, completed = advance(body, text_format, schemas, delta.text, has_ended=has_ended)
    body["x-delta"] = TextDelta(text_reading.text, delta.thinking + text_reading.reasoning)
    if has_ended:
        completed += [(body["x-calls"] + position, call) for position, call in server_calls]
    return completed
