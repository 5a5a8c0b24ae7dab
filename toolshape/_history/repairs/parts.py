"""Repairs the parts of a message (text, calls, results, reasoning), a function a rule."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from toolshape._families.wire.content import arguments_object, unread_keys
from toolshape._families.wire.histories import A_TEXT, JSON_TEXT, HistoryRuleName
from toolshape._history.log import Log
from toolshape._records.calls import plain_text
from toolshape._records.parts import Text, as_text
from toolshape._schema.values import as_json
from toolshape.messages import (
    MediaPart,
    Message,
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    calls_in,
    part_path,
    with_parts,
)

Repairer: TypeAlias = Callable[[Message, Log], Message]


def blank_text(message: Message, log: Log) -> Message:
    """Remove text parts that the provider rejects as blank, also inside
    results; keep those with a signature.
    """
    if message.role == "system":
        return message
    pattern = log.rules.active["blank_text"].pattern or r"(?s).*\S.*"
    opaque = log.rules.histories.opaque_keys
    kept_parts: list[MessagePart] = []
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            kept_parts.append(_without_blank_texts(part, message, log))
            continue
        is_signed = isinstance(part.raw, dict) and any(part.raw.get(key) for key in opaque)
        if isinstance(part, TextPart) and not re.fullmatch(pattern, part.text) and not is_signed:
            log.repaired(
                "blank_text", part_path(message, part), "a text part is blank", "it is left out"
            )
        else:
            kept_parts.append(part)
    return with_parts(message, kept_parts)


def _without_blank_texts(part: ToolResultPart, message: Message, log: Log) -> ToolResultPart:
    """Remove the blank texts among the blocks of a result."""
    without_blank = log.rules.histories.without_blank
    if without_blank is None or not isinstance(part.raw, dict):
        return part
    raw = without_blank(part.raw)
    if raw is part.raw:
        return part
    path = part_path(message, part)
    log.repaired("blank_text", path, "a text in a result is blank", "it is left out")
    return replace(part, raw=raw)


def text_after_call(message: Message, log: Log) -> Message:
    """Move text and media that follow a call before the first call."""
    if message.role == "assistant":
        late_parts = parts_after_calls(message.parts)
    else:
        late_parts = []
    if not late_parts:
        return message
    path = part_path(message, late_parts[0])
    log.repaired(
        "text_after_call", path, "text or media follows a call", "it is moved before the call"
    )
    return with_parts(message, move_calls_last(message.parts))


def parts_after_calls(parts: Sequence[MessagePart]) -> list[MessagePart]:
    """Return the text and media parts that follow a call."""
    first_call_index = next(
        (index for index, part in enumerate(parts) if isinstance(part, ToolCallPart)), len(parts)
    )
    return [part for part in parts[first_call_index:] if isinstance(part, (TextPart, MediaPart))]


def move_calls_last(parts: Sequence[MessagePart]) -> tuple[MessagePart, ...]:
    """Return the parts in an order in which all text and media come before the first call."""
    first_call_index = next(
        (index for index, part in enumerate(parts) if isinstance(part, ToolCallPart)), len(parts)
    )
    other_parts = (
        part for part in parts[first_call_index:] if not isinstance(part, (TextPart, MediaPart))
    )
    return (*parts[:first_call_index], *parts_after_calls(parts), *other_parts)


def malformed_arguments(message: Message, log: Log) -> Message:
    """Drop the wire form of a call whose arguments have another form than the provider
    takes: the encoder writes them.

    Arguments that are absent or null become an empty object, what is no object is wrapped in one,
    and an object becomes text where the provider takes text.
    """
    form = log.rules.active["malformed_arguments"].pattern

    def change(part: MessagePart) -> MessagePart:
        if not isinstance(part, ToolCallPart) or part.raw is None:
            return part
        found = _fault_of_arguments(part.arguments_raw, form)
        if found is None:
            return part
        log.repaired("malformed_arguments", part_path(message, part), *found)
        if form == JSON_TEXT and isinstance(part.arguments_raw, str):
            return replace(part, arguments_raw=arguments_object(part), raw=None)
        return replace(part, raw=None)

    return with_parts(message, map(change, message.parts))


def _fault_of_arguments(given: object, form: str) -> tuple[str, str] | None:
    """Return what is wrong with the arguments of a call, and what is done;
    ``None`` if the provider takes them.
    """
    if plain_text(given) is not None:
        return None
    if given is None:
        missing = ("the arguments are missing", "an empty object is sent")
        return missing if form else None
    if form not in (A_TEXT, JSON_TEXT):
        wrapped = ("the arguments are not an object", "they are wrapped in an object")
        return None if isinstance(given, dict) else wrapped
    if not isinstance(given, str):
        return "the arguments are not text", "they are written as JSON"
    if form == A_TEXT or not given or isinstance(as_json(given), dict):
        return None
    return "the arguments are not valid JSON", "they are wrapped in an object"


def unsigned_reasoning(message: Message, log: Log) -> Message:
    """Remove reasoning without a signature, which an interrupted stream or a gateway leaves
    behind.
    """
    keys = re.compile(log.rules.active["unsigned_reasoning"].pattern)
    kept_parts: list[MessagePart] = []
    for part in message.parts:
        if isinstance(part, ReasoningPart) and _is_unsigned(part.raw, keys):
            path = part_path(message, part)
            log.repaired("unsigned_reasoning", path, "reasoning has no signature", "it is left out")
        else:
            kept_parts.append(part)
    return with_parts(message, kept_parts)


def _is_unsigned(node: object, keys: re.Pattern[str]) -> bool:
    """Whether no key that matches has a value, at any depth."""
    if not isinstance(node, dict):
        return True
    return not any(
        bool(value) if keys.fullmatch(key) else not _is_unsigned(value, keys)
        for key, value in node.items()
    )


def blank_signature(message: Message, log: Log) -> Message:
    """Remove the key of a signature that is empty."""
    key = log.rules.active["blank_signature"].pattern

    def change(part: MessagePart) -> MessagePart:
        if (
            not isinstance(part, ReasoningPart)
            or (raw := _without_blank(part.raw, key)) == part.raw
        ):
            return part
        path = part_path(message, part)
        log.repaired("blank_signature", path, "the signature is empty", "it is left out")
        return replace(part, raw=raw)

    return with_parts(message, map(change, message.parts))


def _without_blank(node: object, key: str) -> object:
    if not isinstance(node, dict):
        return node
    return {
        name: _without_blank(value, key) for name, value in node.items() if name != key or value
    }


def refused_reasoning(message: Message, log: Log) -> Message:
    """Remove reasoning that the provider never accepts as input."""
    pattern = log.rules.active["refused_reasoning"].pattern
    kept_parts: list[MessagePart] = []
    for part in message.parts:
        keys = part.raw if isinstance(part.raw, dict) else {}
        is_rejected = not pattern or any(re.fullmatch(pattern, str(key)) for key in keys)
        if isinstance(part, ReasoningPart) and is_rejected:
            log.repaired(
                "refused_reasoning",
                part_path(message, part),
                "reasoning is rejected",
                "it is left out",
            )
        else:
            kept_parts.append(part)
    return with_parts(message, kept_parts)


def missing_reasoning(message: Message, log: Log) -> Message:
    """Add empty reasoning to a message that has calls but no reasoning, because
    the provider requires this field.
    """
    key = log.rules.active["missing_reasoning"].pattern
    has_reasoning = any(isinstance(part, ReasoningPart) for part in message.parts)
    if (
        has_reasoning
        or not calls_in(message)
        or (isinstance(message.raw, dict) and key in message.raw)
    ):
        return message
    log.repaired(
        "missing_reasoning", message.path, "calls require reasoning", "empty reasoning is added"
    )
    return with_parts(message, (ReasoningPart(text="", raw={key: ""}), *message.parts))


def media_in_result(message: Message, log: Log) -> Message:
    """If results cannot hold images and files, move these out of the results, or
    replace them with their names.
    """
    has_no_other_place = log.rules.histories.joins

    def change(part: MessagePart) -> MessagePart:
        if not isinstance(part, ToolResultPart) or all(
            isinstance(piece, Text) for piece in part.parts
        ):
            return part
        if part.raw is None and not has_no_other_place:
            return part
        if has_no_other_place:
            remedy = "only its name is sent"
        else:
            remedy = "it is moved out, or only its name is sent"
        log.repaired(
            "media_in_result",
            part_path(message, part),
            "a result contains an image or file",
            remedy,
        )
        if has_no_other_place:
            return replace(part, text=as_text(part.parts), parts=(), is_text=True, raw=None)
        return replace(part, raw=None)

    return with_parts(message, map(change, message.parts))


def empty_error(message: Message, log: Log) -> Message:
    """Add a message to an error that has no text."""

    def change(part: MessagePart) -> MessagePart:
        if (
            not isinstance(part, ToolResultPart)
            or part.code is None
            or part.text.strip()
            or part.parts
        ):
            return part
        log.repaired(
            "empty_error", part_path(message, part), "an error has no text", "a message is added"
        )
        return replace(part, text="The tool failed without an error message.", raw=None)

    return with_parts(message, map(change, message.parts))


def item_id(message: Message, log: Log) -> Message:
    """Remove each item id that the provider did not issue.

    If the item is reasoning, remove the whole item.
    """
    if not isinstance(message.raw, dict):
        return message
    raw = message.raw
    prefix = log.rules.histories.item_ids.get(str(raw.get("type")))
    if prefix is None or not isinstance(raw.get("id"), str) or raw["id"].startswith(prefix):
        return message
    log.repaired(
        "item_id",
        message.path,
        f"the provider did not issue the item id {raw['id']!r}",
        "it is left out",
    )
    if all(isinstance(part, ReasoningPart) for part in message.parts):
        return with_parts(message, ())
    raw_without_id = {key: value for key, value in raw.items() if key != "id"}
    return replace(
        message,
        parts=tuple(replace(part, raw=raw_without_id) for part in message.parts),
        raw=raw_without_id,
    )


def drop_item_id(message: Message, log: Log) -> Message:
    """Remove the id of an item whose reasoning is missing, because an item
    with an id needs its reasoning.
    """
    raw = message.raw
    if not isinstance(raw, dict) or not raw.get("id"):
        return message
    fault = f"the reasoning that led to {raw['id']!r} is missing"
    log.repaired("item_without_reasoning", message.path, fault, "it is sent without its id")
    # Without its id, a text item becomes a plain message, as applications write messages.
    if not calls_in(message):
        extra_keys = [
            key
            for part in message.parts
            if isinstance(part, TextPart)
            for key in unread_keys(part.raw)
        ]
        if extra_keys:
            fault = f"only items can hold {', '.join(map(repr, extra_keys))}"
            log.repaired("foreign_part", message.path, fault, "it is left out")
        texts = (
            replace(part, raw=None) if isinstance(part, TextPart) else part
            for part in message.parts
        )
        return replace(message, parts=tuple(texts), raw=None)
    raw_without_id = {key: value for key, value in raw.items() if key != "id"}
    return replace(
        message,
        parts=tuple(replace(part, raw=raw_without_id) for part in message.parts),
        raw=raw_without_id,
    )


def tool_name(message: Message, log: Log) -> Message:
    """Replace tool names that the provider rejects with names that it accepts."""
    names = log.rules.names

    def change(part: MessagePart) -> MessagePart:
        if not isinstance(part, (ToolCallPart, ToolResultPart)) or not part.wire_name:
            return part
        name = names.wire_name(part.wire_name)
        if name is None or name == part.wire_name:
            return part
        if isinstance(part, ToolCallPart):
            fault = f"the provider rejects the name {part.wire_name!r}"
            log.repaired("tool_name", part_path(message, part), fault, f"it is sent as {name!r}")
        return replace(part, wire_name=name, raw=None)

    return with_parts(message, map(change, message.parts))


def trailing_space(message: Message, log: Log) -> Message:
    """Strip white space from the end of the last text, because the model continues this text."""
    last = message.parts[-1] if message.parts else None
    if not isinstance(last, TextPart) or last.text == (text := last.text.rstrip()):
        return message
    log.repaired(
        "trailing_space",
        part_path(message, last),
        "the last text ends in white space",
        "it is stripped",
    )
    if isinstance(last.raw, dict) and "text" in last.raw:
        raw = {**last.raw, "text": text}
    else:
        raw = None
    return with_parts(message, (*message.parts[:-1], replace(last, text=text, raw=raw)))


def missing_signature(message: Message, log: Log) -> Message:
    """If the first call in a message has no signature from the provider, mark it as unsigned."""
    histories = log.rules.histories
    first_call = next(iter(calls_in(message)), None)
    if first_call is None or histories.write_unsigned is None:
        return message
    if isinstance(first_call.raw, dict) and any(
        first_call.raw.get(key) for key in histories.opaque_keys
    ):
        return message
    remedy = "it is marked as unsigned, which may reduce the quality of answers"
    log.repaired(
        "missing_signature", part_path(message, first_call), "a call has no signature", remedy
    )
    marked_call = replace(first_call, raw=histories.write_unsigned(first_call))
    return with_parts(
        message, (marked_call if part is first_call else part for part in message.parts)
    )


def call_without_id(message: Message, log: Log) -> Message:
    """Remove the ids of calls and results if the provider rejects ids."""
    with_id = log.rules.histories.with_id

    def change(part: MessagePart) -> MessagePart:
        if not isinstance(part, (ToolCallPart, ToolResultPart)) or part.raw is None:
            return part
        if with_id is None:
            raw_without_id = None
        else:
            raw_without_id = with_id(part.raw, None)
        if raw_without_id == part.raw:
            return part
        log.repaired(
            "call_without_id",
            part_path(message, part),
            f"the id {part.id!r} is rejected",
            "it is left out",
        )
        return replace(part, raw=raw_without_id, has_id=False)

    return with_parts(message, map(change, message.parts))


TOOL_RULES: Mapping[HistoryRuleName, Repairer] = {
    "malformed_arguments": malformed_arguments,
    "tool_name": tool_name,
    "media_in_result": media_in_result,
    "empty_error": empty_error,
    "call_without_id": call_without_id,
    "text_after_call": text_after_call,
}
"""The repairs for messages with calls or results.

``missing_signature`` and ``missing_reasoning`` are not listed, because they also depend on other
messages.
"""

CONTENT_RULES: Mapping[HistoryRuleName, Repairer] = {
    "refused_reasoning": refused_reasoning,
    "unsigned_reasoning": unsigned_reasoning,
    "blank_signature": blank_signature,
    "item_id": item_id,
}
"""The repairs for all messages. These repairs run before ``TOOL_RULES``."""
