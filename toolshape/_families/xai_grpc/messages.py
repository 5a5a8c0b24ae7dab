"""Reads and writes messages for xAI's gRPC protocol, with the protocol's fields as JSON.

The types come from xai-sdk 1.21.0, read on 2026-11-22.
"""

import json
from collections.abc import Sequence
from typing import Any

from toolshape._families.openai import messages as openai_messages
from toolshape._families.wire.content import (
    arguments_text,
    call_part,
    content_as_text,
    media_from_url,
    result_part,
    result_text,
    split_error_mark,
)
from toolshape._families.wire.histories import Histories
from toolshape._records.calls import JsonObject, WireCall, WireMessage
from toolshape._records.parts import data_url
from toolshape._records.result import Result
from toolshape.messages import (
    MediaPart,
    Message,
    MessagePart,
    ProviderPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_ROLES: dict[str, Any] = {
    "ROLE_SYSTEM": "system",
    "ROLE_DEVELOPER": "system",
    "ROLE_ASSISTANT": "assistant",
    "ROLE_TOOL": "tool",
}
_NAMES = {
    "system": "ROLE_SYSTEM",
    "user": "ROLE_USER",
    "assistant": "ROLE_ASSISTANT",
    "tool": "ROLE_TOOL",
}
OWN = ("", None, "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL")
_REASONING = ("reasoning_content", "encrypted_content")


def read(item: JsonObject, path: str) -> Message:
    """Convert a wire message to a ``Message``.

    Calls that the server ran itself become provider parts.
    """
    role = _ROLES.get(str(item.get("role")), "user")
    content = item.get("content")
    if role == "tool":
        text, code = split_error_mark(content_as_text(content))
        part = result_part(item.get("tool_call_id"), item.get("name"), text, code=code, raw=item)
        return Message(role="tool", parts=(part,), raw=item, path=path)
    reasoning = {key: item[key] for key in _REASONING if item.get(key)}
    parts: list[MessagePart] = []
    if reasoning:
        parts.append(
            ReasoningPart(
                text=str(reasoning.get("reasoning_content", "")),
                raw=reasoning,
                path=next(iter(reasoning)),
            )
        )
    entries = [{"text": content}] if isinstance(content, str) else content or ()
    parts += [_piece(piece, f"content[{at}]") for at, piece in enumerate(entries)]
    for at, call in enumerate(item.get("tool_calls") or ()):
        call_path = f"tool_calls[{at}]"
        if call.get("type") not in OWN:
            parts.append(
                ProviderPart(kind=str(call["type"]), raw={"tool_calls": [call]}, path=call_path)
            )
            continue
        parts.append(call_part(openai_messages.read_call(call), call_path))
    return Message(role=role, parts=tuple(parts), raw=item, path=path)


def _piece(piece: Any, path: str) -> MessagePart:
    if isinstance(piece, dict) and isinstance(piece.get("text"), str):
        return TextPart(text=piece["text"], raw=piece, path=path)
    if isinstance(piece, dict):
        image = piece.get("image_url")
    else:
        image = None
    if isinstance(image, dict):
        url = image.get("image_url")
    else:
        url = None
    media = media_from_url(url) if isinstance(url, str) else None
    if media is not None:
        return MediaPart(media=media, raw=piece, path=path)
    if isinstance(piece, dict):
        kind = next(iter(piece), "")
    else:
        kind = type(piece).__name__
    return ProviderPart(kind=str(kind), raw={"content": [piece]}, path=path)


def write_call(call_id: str, name: str, arguments: str) -> JsonObject:
    """Write a call for a message, with its arguments as JSON text."""
    return {**openai_messages.write_call(call_id, name, arguments), "type": OWN[-1]}


def write_call_part(call: ToolCallPart) -> JsonObject:
    return write_call(call.id, call.wire_name, arguments_text(call))


def write(message: Message) -> list[WireMessage]:
    """Write each result as a separate message, then all other parts as one message."""
    results = [part for part in message.parts if isinstance(part, ToolResultPart)]
    messages: list[WireMessage] = [
        write_result(part.id, result_text(part), part.code) if part.raw is None else part.raw
        for part in results
    ]
    other_parts = [part for part in message.parts if not isinstance(part, ToolResultPart)]
    if other_parts or not results:
        messages.append(_written(_NAMES[message.role], other_parts))
    return messages


def _written(role: str, parts: Sequence[MessagePart]) -> WireMessage:
    # A part that came from this provider is sent back as it came. Parts of one kind are gathered,
    # because the message has one field for each kind; a part that only the provider knows may hold
    # several kinds.
    message: WireMessage = {"role": role}
    content: list[Any] = []
    calls: list[JsonObject] = []
    for part in parts:
        if isinstance(part, ToolCallPart):
            calls.append(write_call_part(part) if part.raw is None else part.raw)
        elif isinstance(part, TextPart):
            content.append({"text": part.text} if part.raw is None else part.raw)
        elif isinstance(part, MediaPart):
            image_part = {"image_url": {"image_url": data_url(part.media), "detail": "DETAIL_AUTO"}}
            content.append(image_part if part.raw is None else part.raw)
        elif isinstance(part, ProviderPart) and isinstance(part.raw, dict):
            content += part.raw.get("content", ())
            calls += part.raw.get("tool_calls", ())
        elif isinstance(part, ReasoningPart) and isinstance(part.raw, dict):
            message.update(part.raw)
    if content:
        message["content"] = content
    if calls:
        message["tool_calls"] = calls
    return message


HISTORIES = Histories(
    key="messages",
    read=read,
    write=write,
    with_id=openai_messages.with_id,
    input_kinds=frozenset({"image", "image_url"}),
)


# --- leaf functions: one reader and one writer for calls, one writer for results


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    texts = [json.dumps(call.arguments, ensure_ascii=False) for call in calls]
    tool_calls = [
        write_call(call.id, call.wire_name, text) for call, text in zip(calls, texts, strict=True)
    ]
    return [{"role": "ROLE_ASSISTANT", "tool_calls": tool_calls}]


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    return [
        write_result(
            result.call.id, result.text, None if result.error is None else result.error.code
        )
        for result in results
    ]


def write_result(call_id: str, text: str, code: str | None) -> WireMessage:
    """Write a result as a message, which can hold only text.

    It has no error flag, so errors get a mark in the text.
    """
    content = [{"text": openai_messages.add_error_mark(text, code)}]
    return {"role": "ROLE_TOOL", "tool_call_id": call_id, "content": content}
