"""Converts single messages between providers, and records each change.

Text is kept. Calls and results are rewritten in the form of the target provider. Content that only
its author can read is removed: reasoning, signatures, and calls that the provider ran itself.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from toolshape._families.wire.content import document_context, unread_keys
from toolshape._families.wire.histories import Histories, HistoryRuleName
from toolshape._history.log import Log
from toolshape._history.outbound import CallWriter
from toolshape._history.repairs.order import merge_neighbours
from toolshape._records.parts import (
    File,
    Image,
    Part,
    Text,
    by_media_type,
    is_taken,
    media_kind_of,
    named,
)
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
    "unknown_tool": ("calls an unknown tool", "it is sent unchanged"),
    "malformed_arguments": ("has arguments that are not a JSON object", "they are wrapped in one"),
    "ambiguous_arguments": (
        "may have been written for other schemas",
        "its arguments are sent as they are read now",
    ),
    "invalid_arguments": ("has arguments that the tool rejects", "they are sent unchanged"),
}


class Carrier(NamedTuple):
    """The target that messages are converted for.

    ``fingerprint`` identifies the tools that the target is sent; ``calls`` writes calls of these
    tools.
    """

    provider: str
    model: str | None
    fingerprint: str | None
    histories: Histories
    carries: frozenset[str]
    calls: CallWriter


def carry_message(message: Message, to: Carrier, log: Log) -> Message:
    """Convert a message for the target provider.

    A provider's own messages are sent back verbatim, minus signatures and reasoning if the model
    changed.
    """
    origin = message.origin
    if origin is not None and origin.provider == to.provider and message.raw is not None:
        if not is_same_model(origin, to.model):
            message = _remove_opaque(message, to, log)
        if origin.fingerprint in (None, to.fingerprint):
            return message
        return _rewrite_foreign_calls(message, to, log)
    parts: list[MessagePart] = []
    for part in message.parts:
        parts += _carry_part(part, message, to, log)
    return replace(message, parts=tuple(parts), raw=None)


def is_same_model(origin: Origin, model: str | None) -> bool:
    """Whether two names may denote the same model: equal, or one is the other
    with a date or "latest" suffix.
    """
    if origin.model is None or model is None:
        return True
    shorter, longer = sorted((origin.model.rpartition("/")[2], model.rpartition("/")[2]), key=len)
    return longer.startswith(shorter) and _DATED.fullmatch(longer[len(shorter) :]) is not None


def _remove_opaque(message: Message, to: Carrier, log: Log) -> Message:
    """Remove reasoning and signatures from a message that another model of this provider wrote."""
    if "foreign_reasoning" in log.rules.off:
        return message
    author = message.origin.model if message.origin else ""
    kept_parts: list[MessagePart] = []
    for part in message.parts:
        opaque_keys = [
            key
            for key in to.histories.opaque_keys
            if isinstance(part.raw, dict) and part.raw.get(key)
        ]
        if opaque_keys or isinstance(part, ReasoningPart):
            fault = f"only {author} can read this reasoning or signature"
            log.repaired(
                "foreign_reasoning",
                part_path(message, part),
                fault,
                f"it is not sent to {to.model}",
            )
        if isinstance(part, ReasoningPart):
            continue
        kept_parts.append(
            replace(part, raw={key: part.raw[key] for key in part.raw if key not in opaque_keys})
            if opaque_keys
            else part
        )
    return with_parts(message, kept_parts)


def _rewrite_foreign_calls(message: Message, to: Carrier, log: Log) -> Message:
    """Rewrite calls that were made with other tools, if the current tools would misread them."""

    def change(part: MessagePart) -> MessagePart:
        if not isinstance(part, ToolCallPart) or part.arguments is None or to.calls.fits(part):
            return part
        call, fault = to.calls.write(part)
        if fault == "unknown_tool":  # The tool was removed: keep the call as a record.
            return part
        problem = f"the call of {part.wire_name} was made with other tools"
        log.repaired(
            "other_tools",
            part_path(message, part),
            problem,
            "it is rewritten for the current tools",
        )
        return replace(call, raw=None)

    return with_parts(message, map(change, message.parts))


def _carry_part(part: MessagePart, message: Message, to: Carrier, log: Log) -> list[MessagePart]:
    # Each kind loses its ``raw``, because that is the form of another provider; the target's writer
    # makes a new one. What stands in ``raw`` and nowhere else is therefore lost here, and must be
    # logged here.
    path = part_path(message, part)
    match part:
        case TextPart():
            _log_extra_keys(part.raw, path, log)
            return [part if part.raw is None else replace(part, raw=None)]
        case ReasoningPart():
            log.repaired(
                "foreign_reasoning", path, "only its author can read reasoning", "it is left out"
            )
            return []
        case ProviderPart():
            if message.origin:
                description = f"{part.kind!r} of {message.origin.provider}"
            else:
                description = repr(part.kind)
            log.repaired(
                "foreign_part", path, f"no other provider knows {description}", "it is left out"
            )
            return []
        case MediaPart():
            _log_extra_keys(part.raw, path, log)
            context = document_context(part.raw)
            if context:
                context_parts = [TextPart(text=context, path=part.path)]
            else:
                context_parts = []
            return [*context_parts, _carry_media(part, message, to, log, path)]
        case ToolCallPart():
            _log_extra_keys(part.raw, path, log)
            call, fault = to.calls.write(part)
            if fault is not None:
                problem, remedy = _FAULTS[fault]
                log.repaired(
                    fault, path, f"the call of {part.wire_name} ({part.id!r}) {problem}", remedy
                )
            return [replace(call, raw=None, has_id=to.histories.has_call_ids)]
        case ToolResultPart():
            _log_extra_keys(part.raw, path, log)
            pieces = tuple(_carry_result_piece(piece, to, log, path) for piece in part.parts)
            kept_pieces = tuple(
                piece for piece in pieces if not isinstance(piece, Text) or piece.text.strip()
            )
            return [
                replace(
                    part,
                    parts=kept_pieces,
                    raw=None,
                    has_id=to.histories.has_call_ids,
                    call_raw=None,
                )
            ]


def _log_extra_keys(raw: Any, path: str, log: Log) -> None:
    """Record the keys that the target provider is not sent, for example signatures and
    citations.
    """
    if extra_keys := unread_keys(raw):
        fault = f"no other provider knows {', '.join(map(repr, extra_keys))}"
        log.repaired("foreign_part", path, fault, "it is left out")


def _carry_result_piece(part: Part, to: Carrier, log: Log, path: str) -> Part:
    """Convert a part of a result.

    If the provider's results cannot hold an image or file, return its name as text.
    """
    if isinstance(part, Text):
        return part
    part = _match_media_type(part, path, log)
    if media_kind_of(part) in to.carries and is_taken(part, to.histories.media_types):
        return part
    log.repaired(
        "media_as_text", path, f"a result cannot hold {part.media_type}", "it is named, not sent"
    )
    if to.carries:
        return Text(named(part))
    return part


def _carry_media(
    part: MediaPart, message: Message, to: Carrier, log: Log, path: str
) -> MessagePart:
    """Convert an image or file.

    If the provider or the message's role cannot hold it, return its name as text.
    """
    media = _match_media_type(part.media, path, log)
    if media.url:
        kind = f"{media_kind_of(media)}_url"
    else:
        kind = media_kind_of(media)
    is_carried = kind in to.histories.input_kinds and is_taken(media, to.histories.media_types)
    if message.role == "user" and is_carried:
        return replace(part, media=media, raw=None)
    log.repaired(
        "media_as_text",
        path,
        f"this message cannot hold {media.media_type}",
        "it is named, not sent",
    )
    return TextPart(text=named(media), path=part.path)


def _match_media_type(media: Image | File, path: str, log: Log) -> Image | File:
    """Choose ``Image`` or ``File`` by the media type, as providers do: a PDF that
    was given as an image is a file.
    """
    typed_media = by_media_type(media)
    if type(typed_media) is not type(media):
        given_kind, sent_kind = (
            ("an image", "a file") if isinstance(media, Image) else ("a file", "an image")
        )
        log.repaired(
            "media_kind",
            path,
            f"{given_kind} has the media type {media.media_type}",
            f"it is sent as {sent_kind}",
        )
    return typed_media


def join_turns(messages: Sequence[Message], apart: Collection[int] = ()) -> list[Message]:
    """Merge converted messages of one turn: some providers send each part, or each
    result, as a separate message.

    Args:
        messages: The messages.
        apart: The ``id()`` of each message that starts a turn because a system or user message
            before it was left out.
    """
    return merge_neighbours(messages, lambda last, message: _merge_in_turn(last, message, apart))


def _merge_in_turn(last: Message, message: Message, apart: Collection[int]) -> Message | None:
    are_converted = last.raw is None and message.raw is None and id(message) not in apart
    if not are_converted or last.role != message.role or message.role not in ("assistant", "tool"):
        return None
    # The parts keep their original paths, because repairs refer to these paths.
    parts = (replace(part, path=part_path(message, part)) for part in message.parts)
    return replace(last, parts=(*last.parts, *parts), finish=message.finish)
