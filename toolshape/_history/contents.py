"""One message in; the same as the provider takes its parts, out: texts, calls, results, reasoning."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from toolshape._history.log import Log
from toolshape._parts import Text, as_text
from toolshape._wire.content import keys_beside
from toolshape._wire.histories import HistoryRuleName
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
    """Texts of nothing but white space are left out, or empty ones; not one that holds the signature of what it ends."""
    if message.role == "system":
        return message
    pattern = log.rules.active["blank_text"].pattern or r"(?s).*\S.*"
    opaque = log.rules.histories.opaque_keys
    kept: list[MessagePart] = []
    for one in message.parts:
        is_signed = isinstance(one.raw, dict) and any(one.raw.get(key) for key in opaque)
        if isinstance(one, TextPart) and not re.fullmatch(pattern, one.text) and not is_signed:
            log.repaired("blank_text", part_path(message, one), "a text is blank", "it is left out")
        else:
            kept.append(one)
    return with_parts(message, kept)


def text_after_call(message: Message, log: Log) -> Message:
    """Texts and images stand before the calls."""
    after = behind_calls(message.parts) if message.role == "assistant" else []
    if not after:
        return message
    path = part_path(message, after[0])
    log.repaired("text_after_call", path, "something stands after a call", "it is moved before it")
    return with_parts(message, calls_last(message.parts))


def behind_calls(parts: Sequence[MessagePart]) -> list[MessagePart]:
    """The texts and images that stand after a call."""
    first = next((at for at, part in enumerate(parts) if isinstance(part, ToolCallPart)), len(parts))
    return [part for part in parts[first:] if isinstance(part, (TextPart, MediaPart))]


def calls_last(parts: Sequence[MessagePart]) -> tuple[MessagePart, ...]:
    """The parts with the texts and images before the first call."""
    first = next((at for at, part in enumerate(parts) if isinstance(part, ToolCallPart)), len(parts))
    others = (part for part in parts[first:] if not isinstance(part, (TextPart, MediaPart)))
    return (*parts[:first], *behind_calls(parts), *others)


def malformed_arguments(message: Message, log: Log) -> Message:
    """Arguments that are no object go inside one."""

    def change(one: MessagePart) -> MessagePart:
        if not isinstance(one, ToolCallPart) or one.raw is None or isinstance(one.arguments_raw, (dict, type(None))):
            return one
        path = part_path(message, one)
        log.repaired("malformed_arguments", path, "arguments are no object", "they are put into one")
        return replace(one, raw=None)

    return with_parts(message, map(change, message.parts))


def refused_reasoning(message: Message, log: Log) -> Message:
    """Reasoning that the provider takes from nobody is left out."""
    pattern = log.rules.active["refused_reasoning"].pattern
    kept: list[MessagePart] = []
    for one in message.parts:
        keys = one.raw if isinstance(one.raw, dict) else {}
        is_meant = not pattern or any(re.fullmatch(pattern, str(key)) for key in keys)
        if isinstance(one, ReasoningPart) and is_meant:
            log.repaired("refused_reasoning", part_path(message, one), "reasoning is refused", "it is left out")
        else:
            kept.append(one)
    return with_parts(message, kept)


def missing_reasoning(message: Message, log: Log) -> Message:
    """A message with calls says what was thought, if only that nothing is known of it."""
    key = log.rules.active["missing_reasoning"].pattern
    is_known = any(isinstance(one, ReasoningPart) for one in message.parts)
    if is_known or not calls_in(message) or (isinstance(message.raw, dict) and key in message.raw):
        return message
    log.repaired("missing_reasoning", message.path, "reasoning is required beside calls", "it is given as empty")
    return with_parts(message, (ReasoningPart(text="", raw={key: ""}), *message.parts))


def media_in_result(message: Message, log: Log) -> Message:
    """Images and files of results go where the provider looks for them."""
    has_no_other_place = log.rules.histories.joins

    def change(one: MessagePart) -> MessagePart:
        if not isinstance(one, ToolResultPart) or all(isinstance(part, Text) for part in one.parts):
            return one
        if one.raw is None and not has_no_other_place:
            return one
        remedy = "it is named, not sent" if has_no_other_place else "it is moved, or named"
        log.repaired("media_in_result", part_path(message, one), "an image stands in a result", remedy)
        if has_no_other_place:
            return replace(one, text=as_text(one.parts), parts=(), is_text=True, raw=None)
        return replace(one, raw=None)

    return with_parts(message, map(change, message.parts))


def empty_error(message: Message, log: Log) -> Message:
    """An error says something."""

    def change(one: MessagePart) -> MessagePart:
        if not isinstance(one, ToolResultPart) or one.code is None or one.text.strip() or one.parts:
            return one
        log.repaired("empty_error", part_path(message, one), "an error has no text", "it is given one")
        return replace(one, text="It failed, without saying why.", raw=None)

    return with_parts(message, map(change, message.parts))


def item_id(message: Message, log: Log) -> Message:
    """The id of an item is the provider's own: a call does without, reasoning is left out."""
    if not isinstance(message.raw, dict):
        return message
    raw = message.raw
    prefix = log.rules.histories.item_ids.get(str(raw.get("type")))
    if prefix is None or not isinstance(raw.get("id"), str) or raw["id"].startswith(prefix):
        return message
    log.repaired("item_id", message.path, f"the id {raw['id']!r} of an item is another's", "it is left out")
    if all(isinstance(one, ReasoningPart) for one in message.parts):
        return with_parts(message, ())
    bare = {key: value for key, value in raw.items() if key != "id"}
    return replace(message, parts=tuple(replace(one, raw=bare) for one in message.parts), raw=bare)


def without_item_id(message: Message, log: Log) -> Message:
    """An item without its id, by which the provider would ask for the reasoning that led to it."""
    raw = message.raw
    if not isinstance(raw, dict) or not raw.get("id"):
        return message
    fault = f"the reasoning that led to {raw['id']!r} is not here"
    log.repaired("item_without_reasoning", message.path, fault, "it is sent without its id")
    if not calls_in(message):  # a text without an id is a message as an application writes it, and no item
        beside = [key for part in message.parts if isinstance(part, TextPart) for key in keys_beside(part.raw)]
        if beside:
            fault = f"{', '.join(map(repr, beside))} beside it are those of an item"
            log.repaired("foreign_part", message.path, fault, "it is left out")
        texts = (replace(part, raw=None) if isinstance(part, TextPart) else part for part in message.parts)
        return replace(message, parts=tuple(texts), raw=None)
    bare = {key: value for key, value in raw.items() if key != "id"}
    return replace(message, parts=tuple(replace(part, raw=bare) for part in message.parts), raw=bare)


def tool_name(message: Message, log: Log) -> Message:
    """Names of tools that are refused are written with other letters."""
    names = log.rules.names

    def change(one: MessagePart) -> MessagePart:
        if not isinstance(one, (ToolCallPart, ToolResultPart)) or not one.wire_name:
            return one
        name = names.wire_name(one.wire_name)
        if name is None or name == one.wire_name:
            return one
        if isinstance(one, ToolCallPart):
            fault = f"the name {one.wire_name!r} is refused"
            log.repaired("tool_name", part_path(message, one), fault, f"it is sent as {name!r}")
        return replace(one, wire_name=name, raw=None)

    return with_parts(message, map(change, message.parts))


def trailing_space(message: Message, log: Log) -> Message:
    """The text that the model is to go on with does not end in white space."""
    last = message.parts[-1] if message.parts else None
    if not isinstance(last, TextPart) or last.text == (text := last.text.rstrip()):
        return message
    log.repaired("trailing_space", part_path(message, last), "the last text ends in white space", "that is left out")
    raw = {**last.raw, "text": text} if isinstance(last.raw, dict) and "text" in last.raw else None
    return with_parts(message, (*message.parts[:-1], replace(last, text=text, raw=raw)))


def missing_signature(message: Message, log: Log) -> Message:
    """The first call of a message that the provider did not sign is marked as such."""
    histories = log.rules.histories
    first = next(iter(calls_in(message)), None)
    if first is None or histories.write_unsigned is None:
        return message
    if isinstance(first.raw, dict) and any(first.raw.get(key) for key in histories.opaque_keys):
        return message
    remedy = "it is marked to be taken as it is, which may cost quality"
    log.repaired("missing_signature", part_path(message, first), "a call has no signature", remedy)
    marked = replace(first, raw=histories.write_unsigned(first))
    return with_parts(message, (marked if one is first else one for one in message.parts))


def call_without_id(message: Message, log: Log) -> Message:
    """Ids are left out where they are refused."""
    with_id = log.rules.histories.with_id

    def change(one: MessagePart) -> MessagePart:
        if not isinstance(one, (ToolCallPart, ToolResultPart)) or one.raw is None:
            return one
        bare = None if with_id is None else with_id(one.raw, None)
        if bare == one.raw:
            return one
        log.repaired("call_without_id", part_path(message, one), f"the id {one.id!r} is refused", "it is left out")
        return replace(one, raw=bare, has_id=False)

    return with_parts(message, map(change, message.parts))


TOOL_RULES: Mapping[HistoryRuleName, Repairer] = {
    "malformed_arguments": malformed_arguments,
    "tool_name": tool_name,
    "media_in_result": media_in_result,
    "empty_error": empty_error,
    "call_without_id": call_without_id,
    "text_after_call": text_after_call,
}
"""The rules of messages with calls or results. ``missing_signature`` and ``missing_reasoning`` look at others, too."""

CONTENT_RULES: Mapping[HistoryRuleName, Repairer] = {
    "refused_reasoning": refused_reasoning,
    "item_id": item_id,
}
"""The rules of all messages, which come before those."""
