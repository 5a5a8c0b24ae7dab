"""A message of any provider in; the same for another one out, each change on record.

Text stays. Calls are written anew in the form that the other provider is sent, results as it wants them. What only its
author can read does not go along: reasoning, signatures, calls that the provider ran itself.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from toolshape._history.log import Log
from toolshape._history.neighbours import merged_neighbours
from toolshape._parts import File, Image, Part, Text, by_media_type, is_taken, kind_of, named
from toolshape._wire.content import context_of, keys_beside
from toolshape._wire.histories import Histories, HistoryRuleName
from toolshape.messages import (
    MediaPart,
    Message,
    MessagePart,
    Origin,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    part_path,
    with_parts,
)

_DATED = re.compile(r"|[-@]latest|[-@]\d{4}(\d{2}|\d{4}|-\d{2}-\d{2})?")
_FAULTS: Mapping[HistoryRuleName, tuple[str, str]] = {
    "unknown_tool": ("calls a tool that is not here", "it is sent as it was"),
    "malformed_arguments": ("has arguments that are no JSON object", "they are sent inside one"),
    "ambiguous_arguments": ("may have been written for other schemas", "its arguments are sent as they are read now"),
    "invalid_arguments": ("has arguments that the tool refuses", "they are sent as they are"),
}


class Carrier(NamedTuple):
    """Whom messages are written for.

    ``fingerprint`` is that of the tools that it is sent. ``write`` gives a call the name and arguments that this
    provider is sent, and what is wrong with it, if anything; ``fits`` says whether it is read with these tools as it
    was meant.
    """

    provider: str
    model: str | None
    fingerprint: str | None
    histories: Histories
    carries: frozenset[str]
    write: Callable[[ToolCallPart], tuple[ToolCallPart, HistoryRuleName | None]]
    fits: Callable[[ToolCallPart], bool]


def carried(message: Message, to: Carrier, log: Log) -> Message:
    """A message as this provider may be sent it; its own as it came.

    Its own messages go back as they came, to another model without what only the model that wrote them can read.
    """
    origin = message.origin
    if origin is not None and origin.provider == to.provider and message.raw is not None:
        if not _is_same_model(origin, to.model):
            message = _without_opaque(message, to, log)
        return message if origin.fingerprint in (None, to.fingerprint) else _with_these_tools(message, to, log)
    parts: list[MessagePart] = []
    for one in message.parts:
        parts += _part(one, message, to, log)
    return replace(message, parts=tuple(parts), raw=None)


def _is_same_model(origin: Origin, model: str | None) -> bool:
    """Whether two names may be one model's: one is the other with a date."""
    if origin.model is None or model is None:
        return True
    short, long = sorted((origin.model.rpartition("/")[2], model.rpartition("/")[2]), key=len)
    return long.startswith(short) and _DATED.fullmatch(long[len(short) :]) is not None


def _without_opaque(message: Message, to: Carrier, log: Log) -> Message:
    """A message of another model of this provider: without its reasoning and signatures."""
    if "foreign_reasoning" in log.rules.off:
        return message
    author = message.origin.model if message.origin else ""
    kept: list[MessagePart] = []
    for one in message.parts:
        opaque = [key for key in to.histories.opaque_keys if isinstance(one.raw, dict) and one.raw.get(key)]
        if opaque or isinstance(one, ReasoningPart):
            fault = f"{author} alone can read what is opaque here"
            log.repaired("foreign_reasoning", part_path(message, one), fault, f"it does not go to {to.model}")
        if isinstance(one, ReasoningPart):
            continue
        kept.append(replace(one, raw={key: one.raw[key] for key in one.raw if key not in opaque}) if opaque else one)
    return with_parts(message, kept)


def _with_these_tools(message: Message, to: Carrier, log: Log) -> Message:
    """A message that was written with other tools, its calls in the form of these where that is another."""

    def change(one: MessagePart) -> MessagePart:
        if not isinstance(one, ToolCallPart) or one.arguments is None or to.fits(one):
            return one
        call, fault = to.write(one)
        if fault == "unknown_tool":  # its tool is gone: what was said stays
            return one
        made = f"the call of {one.wire_name} was made with other tools"
        log.repaired("other_tools", part_path(message, one), made, "it is written for these")
        return replace(call, raw=None)

    return with_parts(message, map(change, message.parts))


def _part(part: MessagePart, message: Message, to: Carrier, log: Log) -> list[MessagePart]:
    path = part_path(message, part)
    match part:
        case TextPart():
            _name_the_rest(part.raw, path, log)
            return [part if part.raw is None else replace(part, raw=None)]
        case ReasoningPart():
            log.repaired("foreign_reasoning", path, "only the model that wrote it can read reasoning", "it is left out")
            return []
        case ProviderPart():
            what = f"{part.kind!r} of {message.origin.provider}" if message.origin else repr(part.kind)
            log.repaired("foreign_part", path, f"{what} is known there alone", "it is left out")
            return []
        case MediaPart():
            _name_the_rest(part.raw, path, log)
            context = context_of(part.raw)
            about = [TextPart(text=context, path=part.path)] if context else []
            return [*about, _media(part, message, to, log, path)]
        case ToolCallPart():
            _name_the_rest(part.raw, path, log)
            call, fault = to.write(part)
            if fault is not None:
                wrong, remedy = _FAULTS[fault]
                log.repaired(fault, path, f"the call of {part.wire_name} ({part.id!r}) {wrong}", remedy)
            return [replace(call, raw=None, has_id=to.histories.has_call_ids)]
        case ToolResultPart():
            _name_the_rest(part.raw, path, log)
            pieces = tuple(_result_piece(one, to, log, path) for one in part.parts)
            kept = tuple(one for one in pieces if not isinstance(one, Text) or one.text.strip())
            return [replace(part, parts=kept, raw=None, has_id=to.histories.has_call_ids, call_raw=None)]


def _name_the_rest(raw: Any, path: str, log: Log) -> None:
    """Name what stands beside a text, a medium, a call or a result and is left out, as signatures and citations."""
    if rest := keys_beside(raw):
        fault = f"{', '.join(map(repr, rest))} beside it is known to its provider alone"
        log.repaired("foreign_part", path, fault, "it is left out")


def _result_piece(part: Part, to: Carrier, log: Log, path: str) -> Part:
    """A part of a result; the name of an image or file where the provider has no place for it."""
    if isinstance(part, Text):
        return part
    part = _by_its_type(part, path, log)
    if kind_of(part) in to.carries and is_taken(part, to.histories.media_types):
        return part
    log.repaired("media_as_text", path, f"{part.media_type} has no place in a result", "it is named, not sent")
    return Text(named(part)) if to.carries else part


def _media(part: MediaPart, message: Message, to: Carrier, log: Log, path: str) -> MessagePart:
    """An image or file; its name where the provider, or the role, has no place for it."""
    media = _by_its_type(part.media, path, log)
    kind = f"{kind_of(media)}_url" if media.url else kind_of(media)
    is_carried = kind in to.histories.input_kinds and is_taken(media, to.histories.media_types)
    if message.role == "user" and is_carried:
        return replace(part, media=media, raw=None)
    log.repaired("media_as_text", path, f"{media.media_type} has no place here", "it is named, not sent")
    return TextPart(text=named(media), path=part.path)


def _by_its_type(media: Image | File, path: str, log: Log) -> Image | File:
    """A PDF that was given as an image is a file: the other provider looks at the media type."""
    found = by_media_type(media)
    if type(found) is not type(media):
        what, other = ("an image", "a file") if isinstance(media, Image) else ("a file", "an image")
        log.repaired("media_kind", path, f"{what} has the media type {media.media_type}", f"it is sent as {other}")
    return found


def joined(messages: Sequence[Message], apart: Collection[int] = ()) -> list[Message]:
    """Put what was written for a provider that sends each part, or each result, by itself into one message a turn.

    Args:
        messages: The messages.
        apart: The ``id()`` of those that begin a turn, as what the user said before them has been left out.
    """
    return merged_neighbours(messages, lambda last, message: _in_one_turn(last, message, apart))


def _in_one_turn(last: Message, message: Message, apart: Collection[int]) -> Message | None:
    is_made = last.raw is None and message.raw is None and id(message) not in apart
    if not is_made or last.role != message.role or message.role not in ("assistant", "tool"):
        return None
    parts = (replace(part, path=part_path(message, part)) for part in message.parts)  # repairs name where they stood
    return replace(last, parts=(*last.parts, *parts), finish=message.finish)
