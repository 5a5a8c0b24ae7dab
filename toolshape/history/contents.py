"""One message in; the same as the provider takes its parts, out: texts, calls, results, reasoning."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from toolshape.history.log import Log
from toolshape.messages import (
    MediaPart,
    Message,
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    part_path,
)
from toolshape.parts import Text, as_text
from toolshape.wire.histories import HistoryRuleName

__all__ = ["CONTENT_RULES", "TOOL_RULES", "blank_text", "missing_reasoning", "missing_signature"]

Repairer: TypeAlias = Callable[[Message, Log], Message]
SENTINEL = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""``skip_thought_signature_validator`` as base64, which Gemini 3 takes in place of a signature."""
_SIGNATURES = ("thoughtSignature", "thought_signature")
_ITEM_IDS = {"function_call": "fc", "reasoning": "rs"}


def _without(message: Message, dropped: list[Any]) -> Message:
    gone = {id(one) for one in dropped}
    return replace(message, parts=tuple(one for one in message.parts if id(one) not in gone), raw=None)


def blank_text(message: Message, log: Log) -> Message:
    """Texts of nothing but white space are left out."""
    blank = [one for one in message.parts if isinstance(one, TextPart) and not one.text.strip()]
    if not blank or message.role == "system":
        return message
    for one in blank:
        log.repaired("blank_text", part_path(message, one), "a text is blank: it is left out")
    return _without(message, blank)


def text_after_call(message: Message, log: Log) -> Message:
    """Texts and images stand before the calls."""
    calls = [at for at, one in enumerate(message.parts) if isinstance(one, ToolCallPart)]
    if message.role != "assistant" or not calls:
        return message
    after = [one for one in message.parts[calls[0] :] if isinstance(one, (TextPart, MediaPart))]
    if not after:
        return message
    log.repaired(
        "text_after_call", part_path(message, after[0]), "something stands after a call: it is moved before it"
    )
    others = [one for one in message.parts[calls[0] :] if not isinstance(one, (TextPart, MediaPart))]
    return replace(message, parts=(*message.parts[: calls[0]], *after, *others), raw=None)


def malformed_arguments(message: Message, log: Log) -> Message:
    """Arguments that are no object go inside one."""
    parts = list(message.parts)
    for at, one in enumerate(parts):
        is_own = isinstance(one, ToolCallPart) and one.raw is not None
        if is_own and isinstance(one, ToolCallPart) and not isinstance(one.arguments_raw, (dict, type(None))):
            log.repaired(
                "malformed_arguments", part_path(message, one), "arguments are no object: they are put into one"
            )
            parts[at] = replace(one, raw=None)
    return message if parts == list(message.parts) else replace(message, parts=tuple(parts), raw=None)


def refused_reasoning(message: Message, log: Log) -> Message:
    """Reasoning that the provider takes from nobody is left out."""
    pattern = log.rules.active["refused_reasoning"].pattern
    refused = [
        one
        for one in message.parts
        if isinstance(one, ReasoningPart)
        and (not pattern or (isinstance(one.raw, dict) and any(re.fullmatch(pattern, str(key)) for key in one.raw)))
    ]
    for one in refused:
        log.repaired("refused_reasoning", part_path(message, one), "reasoning is refused: it is left out")
    return _without(message, refused) if refused else message


def missing_reasoning(message: Message, log: Log) -> Message:
    """A message with calls says what was thought, if only that nothing is known of it."""
    if not any(isinstance(one, ToolCallPart) for one in message.parts):
        return message
    known = [one for one in message.parts if isinstance(one, ReasoningPart)]
    if known or (isinstance(message.raw, dict) and "reasoning_content" in message.raw):
        return message
    log.repaired("missing_reasoning", message.path, "reasoning is required beside calls: it is given as empty")
    empty = ReasoningPart(text="", raw={"reasoning_content": ""})
    return replace(message, parts=(empty, *message.parts), raw=None)


def media_in_result(message: Message, log: Log) -> Message:
    """Images and files of results go where the provider looks for them."""
    changed: list[MessagePart] = []
    for one in message.parts:
        if not isinstance(one, ToolResultPart) or all(isinstance(part, Text) for part in one.parts):
            changed.append(one)
        elif log.rules.histories.joins:  # there is no other place for it
            log.repaired(
                "media_in_result", part_path(message, one), "an image stands in a result: it is named, not sent"
            )
            changed.append(replace(one, text=as_text(one.parts), parts=(), is_text=True, raw=None))
        elif one.raw is not None:
            log.repaired(
                "media_in_result", part_path(message, one), "an image stands in a result: it is moved, or named"
            )
            changed.append(replace(one, raw=None))
        else:
            changed.append(one)
    is_same = all(new is old for new, old in zip(changed, message.parts, strict=True))
    return message if is_same else replace(message, parts=tuple(changed), raw=None)


def empty_error(message: Message, log: Log) -> Message:
    """An error says something."""
    changed: list[MessagePart] = []
    for one in message.parts:
        if isinstance(one, ToolResultPart) and one.code is not None and not one.text.strip() and not one.parts:
            log.repaired("empty_error", part_path(message, one), "an error has no text: it is given one")
            changed.append(replace(one, text="It failed, without saying why.", raw=None))
        else:
            changed.append(one)
    is_same = all(new is old for new, old in zip(changed, message.parts, strict=True))
    return message if is_same else replace(message, parts=tuple(changed), raw=None)


def item_id(message: Message, log: Log) -> Message:
    """The id of an item is the provider's own: a call does without, reasoning is left out."""
    raw: Any = message.raw
    kind = raw.get("type") if isinstance(raw, dict) else None
    prefix = _ITEM_IDS.get(str(kind))
    if prefix is None or not isinstance(raw.get("id"), str) or raw["id"].startswith(prefix):
        return message
    if kind == "reasoning":
        log.repaired("item_id", message.path, f"the id {raw['id']!r} of reasoning is another's: it is left out")
        return replace(message, parts=(), raw=None)
    log.repaired("item_id", message.path, f"the id {raw['id']!r} of an item is another's: it is left out")
    bare = {key: value for key, value in raw.items() if key != "id"}
    return replace(message, parts=tuple(replace(one, raw=bare) for one in message.parts), raw=bare)


def tool_name(message: Message, log: Log) -> Message:
    """Names of tools that are refused are written with other letters."""
    pattern = log.rules.active["tool_name"].pattern
    changed: list[MessagePart] = []
    for one in message.parts:
        if (
            not isinstance(one, (ToolCallPart, ToolResultPart))
            or not one.wire_name
            or re.fullmatch(pattern, one.wire_name)
        ):
            changed.append(one)
            continue
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", one.wire_name)[:64]
        name = name if re.fullmatch(pattern, name) else f"t_{name}"[:64]
        if isinstance(one, ToolCallPart):
            log.repaired(
                "tool_name", part_path(message, one), f"the name {one.wire_name!r} is refused: it is sent as {name!r}"
            )
        changed.append(replace(one, wire_name=name, raw=None))
    is_same = all(new is old for new, old in zip(changed, message.parts, strict=True))
    return message if is_same else replace(message, parts=tuple(changed), raw=None)


def missing_signature(message: Message, log: Log) -> Message:
    """The first call of a message that the provider did not sign is marked as such."""
    for at, one in enumerate(message.parts):
        if not isinstance(one, ToolCallPart):
            continue
        if isinstance(one.raw, dict) and any(one.raw.get(key) for key in _SIGNATURES):
            return message
        own: dict[str, Any] = {"id": one.id} if one.has_id and log.rules.histories.has_call_ids else {}
        call = {"functionCall": {**own, "name": one.wire_name, "args": one.arguments_raw or {}}}
        note = "a call has no signature: it is marked to be taken as it is, which may cost quality"
        log.repaired("missing_signature", part_path(message, one), note)
        signed = replace(one, raw={**(one.raw or call), _SIGNATURES[0]: SENTINEL})
        return replace(message, parts=(*message.parts[:at], signed, *message.parts[at + 1 :]), raw=None)
    return message


def call_without_id(message: Message, log: Log) -> Message:
    """Ids are left out where they are refused."""
    changed: list[MessagePart] = []
    for one in message.parts:
        if isinstance(one, (ToolCallPart, ToolResultPart)) and isinstance(one.raw, dict) and _has_id(one.raw):
            log.repaired("call_without_id", part_path(message, one), f"the id {one.id!r} is refused: it is left out")
            changed.append(replace(one, raw=_bare(one.raw), has_id=False))
        else:
            changed.append(one)
    is_same = all(new is old for new, old in zip(changed, message.parts, strict=True))
    return message if is_same else replace(message, parts=tuple(changed), raw=None)


def _has_id(raw: dict[str, Any]) -> bool:
    return any(isinstance(inner, dict) and inner.get("id") for inner in raw.values())


def _bare(raw: dict[str, Any]) -> dict[str, Any]:
    return {
        key: {name: one for name, one in inner.items() if name != "id"} if isinstance(inner, dict) else inner
        for key, inner in raw.items()
    }


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
