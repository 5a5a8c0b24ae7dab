"""Reads calls from what holds a model's text: a string, a stream, a message, a body."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from toolshape._families import huggingface
from toolshape._families.ollama import responses as ollama
from toolshape._families.openai import responses as openai
from toolshape._families.openai.responses import FINISHES
from toolshape._families.openai.unparsed import left_calls
from toolshape._families.text.format import TextCall, TextFormat
from toolshape._families.text.reading import (
    Schemas,
    TextReading,
    ids_of,
    join_segments,
    make_scanner,
    read_with_ids,
)
from toolshape._families.text.templates import TEMPLATE_MARKS
from toolshape._families.wire.bodies import member, to_plain_json
from toolshape._families.wire.content import visible_text
from toolshape._families.wire.ids import IdsOfText, is_plain_id
from toolshape._families.wire.provider import Completed, Read, ResponseForm, TextDelta
from toolshape._records.calls import Finish, JsonObject, WireCall, WireMessage
from toolshape._records.errors import ResponseError
from toolshape._records.result import Usage
from toolshape._schema.values import as_json

if TYPE_CHECKING:
    from toolshape._families.text.scanner import Scanner

PIECES = "text_pieces"
"""The key under which the body of an assembled stream holds the pieces of text."""


def text_in(body: Any) -> tuple[str | None, Any, str | None]:
    """Return the text in a body, the message that holds the text (if there
    is one), and the finish reason.

    A body is a string, an assembled stream, a message, a chat completion, a completion, a result
    from a transformers pipeline or from text-generation-inference, or a response from Ollama.
    """
    if isinstance(body, (str, list)):
        if isinstance(body, list):
            return _text_in_list(body)
        return (body, None, None)
    pieces = member(body, PIECES)
    if isinstance(pieces, list):
        return "".join(pieces), None, member(body, "finish_reason")
    choices = member(body, "choices")
    if isinstance(choices, list) and choices:
        choice = choices[0]
    else:
        choice = body
    finish = member(choice, "finish_reason") or member(body, "done_reason")
    for key in ("text", "generated_text", "response"):
        if isinstance(member(choice, key), str):
            return member(choice, key), None, finish
    message = member(choice, "message") or choice
    is_model = member(message, "role") in ("assistant", "model", "ai")
    return (
        (visible_text({"content": member(message, "content")}) if is_model else None),
        message,
        finish,
    )


def _text_in_list(body: list[Any]) -> tuple[str | None, Any, str | None]:
    """Return the text in a list, which is either a list of messages or the
    result of a transformers pipeline.
    """
    if not body:
        return None, None, None
    generated_text = member(body[0], "generated_text")
    if generated_text is not None:
        return text_in(generated_text)
    if isinstance(body[-1], dict):
        return text_in(body[-1])
    return (None, None, None)


def recognises(body: Any) -> bool:
    """Return whether a body holds a model's text."""
    return text_in(body)[0] is not None


def read(text_format: TextFormat, schemas: Schemas, body: Any) -> Read | None:
    """Read the calls in the text, or the calls that a tokenizer already parsed into
    ``tool_calls``.
    """
    text, message, finish = text_in(body)
    if text is None:
        return None
    if message is not None and member(message, "tool_calls"):
        reading = huggingface.read(to_plain_json(message))
        if reading is None:
            return None
        return (*reading[:2], finish or reading[2], *reading[3:])
    text_reading, ids = read_with_ids(text_format, text, schemas)
    if message is None:
        other_fields = {}
    else:
        other_fields = to_plain_json(message)
    assistant, calls = as_message(text_format, text_reading, ids, other_fields)
    cut_positions = frozenset(
        position for position, call in enumerate(text_reading.calls) if call.is_cut
    )
    # From text-generation-inference.
    if finish is None or str(finish) in (
        "eos_token",
        "stop_sequence",
    ):
        finish = "tool_calls" if calls else "stop"
        if cut_positions:
            finish = "length"
    return [assistant], calls, finish, cut_positions, bool(cut_positions)


def as_message(
    text_format: TextFormat, found: TextReading, ids: Sequence[str], message: WireMessage
) -> tuple[WireMessage, list[WireCall]]:
    """Return an assistant message with the text, the reasoning and the calls;
    also return these calls as a list.

    The message has the form that chat templates need. In ``tool_calls``, the arguments are objects.
    The message always has content, because chat templates fail without content. ``ids`` are the ids
    that were made for the calls.
    """
    other_fields = {
        key: value for key, value in message.items() if key not in ("tool_calls", "content", "role")
    }
    content = found.text.strip() if found.calls else found.text
    assistant_message: WireMessage = {"role": "assistant", **other_fields, "content": content}
    if found.reasoning and "reasoning_content" not in other_fields:
        assistant_message["reasoning_content"] = found.reasoning.strip()
    if not found.calls:
        return assistant_message, []
    calls = [
        _wire_call(text_format, call, made) for call, made in zip(found.calls, ids, strict=True)
    ]
    assistant_message["tool_calls"] = [call.raw for call in calls]
    return assistant_message, calls


def _wire_call(text_format: TextFormat, call: TextCall, made_id: str) -> WireCall:
    """Return a call with its id, and as an entry of ``tool_calls``, in the
    form that chat templates accept.

    An id that was made up is in the entry only if the template needs one, or if the model wrote an
    id that cannot be sent.
    """
    has_own_id = is_plain_id(call.id)
    call_id = call.id if has_own_id else made_id
    if isinstance(call.arguments, str):
        arguments = as_json(call.arguments or "{}")
    else:
        arguments = call.arguments
    entry: JsonObject = {
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    if has_own_id or call.id or text_format.needs_ids:
        entry["id"] = call_id
    return WireCall(call_id, call.name, call.arguments, entry)


def fold(
    text_format: TextFormat, schemas: Schemas, body: JsonObject, event: JsonObject
) -> Iterable[Completed]:
    """Read the piece of text in an event, and return the calls that this piece completes.

    Raises:
        ResponseError: The event contains no piece of text.
    """
    piece, reasoning, finish = piece_in(event)
    if piece is None:
        raise ResponseError("not a piece of a model's text", body=event)
    body.setdefault(PIECES, []).append(piece)
    if finish is not None:
        body["finish_reason"] = finish
    body.update({key: event[key] for key in _COUNTS if event.get(key) is not None})
    has_ended = finish is not None or event.get("is_end") is True
    text_reading, completed = advance(body, text_format, schemas, piece, has_ended=has_ended)
    body["x-delta"] = TextDelta(text_reading.text, reasoning + text_reading.reasoning)
    return completed


def advance(
    body: JsonObject, text_format: TextFormat, schemas: Schemas, piece: str, *, has_ended: bool
) -> tuple[TextReading, list[Completed]]:
    """Scan a piece of streamed text; return the new text, reasoning and calls, and
    the new calls that are complete.

    Pieces after the end of the text are ignored. ``body`` keeps the scanner and the number of calls
    between pieces.
    """
    if "x-scanner" not in body:
        body["x-scanner"] = make_scanner(text_format, schemas)
        body.update({"x-text-calls": 0, "x-ids": IdsOfText(), "x-has-ended": False})
    if body["x-has-ended"]:
        return join_segments(()), []
    scanner: Scanner = body["x-scanner"]
    segments = [*scanner.feed(piece), *(scanner.close() if has_ended else ())]
    text_reading, made_ids = join_segments(segments), ids_of(segments, body["x-ids"])
    body["x-has-ended"] = has_ended
    first_position = body["x-text-calls"]
    body["x-text-calls"] += len(text_reading.calls)
    completed = [
        (first_position + offset, _wire_call(text_format, call, made_id))
        for offset, (call, made_id) in enumerate(zip(text_reading.calls, made_ids, strict=True))
        if not call.is_cut
    ]
    return text_reading, completed


def piece_in(event: JsonObject) -> tuple[str | None, str, str | None]:
    """Return the piece of text in an event, the reasoning that the server separated
    from it, and the finish reason.
    """
    if isinstance(event.get("text"), str):
        return event["text"], "", None
    choices = event.get("choices")
    if isinstance(choices, list):
        choice = choices[0] if choices else {}
        delta = choice.get("delta") or {}
        if isinstance(choice.get("text"), str):
            text = choice.get("text")
        else:
            text = delta.get("content")
        return (
            text or "",
            delta.get("reasoning_content") or delta.get("reasoning") or "",
            choice.get("finish_reason"),
        )
    message, token = event.get("message"), event.get("token")
    if isinstance(message, dict):
        return message.get("content") or "", message.get("thinking") or "", event.get("done_reason")
    if isinstance(token, dict) and isinstance(token.get("text"), str):  # text-generation-inference
        return (
            ("" if token.get("special") and not event.get("generated_text") else token["text"]),
            "",
            None,
        )
    if isinstance(event.get("response"), str):
        return event["response"], "", event.get("done_reason")
    return None, "", None


_COUNTS = ("usage", "prompt_eval_count", "eval_count")
"""The keys that hold the token counts in the events of servers that write a model's text."""


def text_usage(body: Any) -> Usage | None:
    """Read the usage beside a model's text: as OpenAI's Completions write it, or as Ollama does."""
    return openai.usage(body) or ollama.usage(body)


def form_of(text_format: TextFormat, schemas: Schemas) -> ResponseForm:
    """Return a response form that reads text in the format; ``schemas`` define
    the types of untyped arguments.
    """
    return ResponseForm(
        recognises=recognises,
        read=partial(read, text_format, schemas),
        fold=partial(fold, text_format, schemas),
        usage=text_usage,
        finishes=_FINISHES,
        takes_text=True,
        for_schemas=partial(form_of, text_format),
        left_calls=left_calls,
        template_marks=TEMPLATE_MARKS.get(text_format.name, ()),
    )


_FINISHES: dict[str, Finish] = {**FINISHES, "eos_token": "stop", "stop_sequence": "stop"}
