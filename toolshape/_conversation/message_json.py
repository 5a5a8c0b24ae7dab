"""Converts messages to JSON and back, in the form of OpenTelemetry's GenAI conventions.

The JSON has members that the conventions do not know. The form follows the input messages in open-
telemetry/semantic-conventions-genai, read 2026-11-22.
"""

import base64
from typing import cast

from toolshape._records.calls import JsonObject
from toolshape._records.parts import File, Image, Part, Text
from toolshape._records.result import Usage
from toolshape._schema.bytes_json import from_json_value, to_json_value
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
)


def message_to_json(message: Message) -> JsonObject:
    """Convert a message to JSON."""
    message_json: JsonObject = {
        "role": message.role,
        "parts": [_part_to_json(part) for part in message.parts],
    }
    if message.finish is not None:
        message_json["finish_reason"] = message.finish
    if message.usage is not None:
        message_json["usage"] = message.usage._asdict()
    if (origin := message.origin) is not None:
        message_json["origin"] = {
            "provider": origin.provider,
            "model": origin.model,
            "fingerprint": origin.fingerprint,
        }
    if message.holds_secret:
        message_json["holds_secret"] = True
    if message.raw is not None:
        message_json["raw"] = to_json_value(message.raw)
    return message_json


def _part_to_json(part: MessagePart) -> JsonObject:
    if part.raw is not None:
        base: JsonObject = {"raw": to_json_value(part.raw)}
    else:
        base = {}
    if part.path:
        base["path"] = part.path
    match part:
        case TextPart():
            return {"type": "text", "content": part.text, **base}
        case ReasoningPart():
            return {"type": "reasoning", "content": part.text, **base}
        case MediaPart():
            return {**_media_to_json(part.media), **base}
        case ProviderPart():
            return {"type": "provider", "kind": part.kind, **base}
        case ToolCallPart():
            own_members = {
                "tool": part.name,
                "canonical": to_json_value(part.arguments),
                "fault": part.fault,
                "has_id": part.has_id,
            }
            call = {
                "id": part.id,
                "name": part.wire_name,
                "arguments": to_json_value(part.arguments_raw),
                **own_members,
            }
            return {"type": "tool_call", **call, **base}
        case ToolResultPart():
            result_members: JsonObject = {
                "error": part.code,
                "is_text": part.is_text,
                "has_id": part.has_id,
            }
            if part.parts:
                result_members["parts"] = [_media_to_json(piece) for piece in part.parts]
            answer = {
                "id": part.id,
                "name": part.wire_name,
                "response": part.text,
                **result_members,
            }
            return {"type": "tool_call_response", **answer, **base}


def _media_to_json(part: Part) -> JsonObject:
    if isinstance(part, Text):
        return {"type": "text", "content": part.text}
    kind = {
        "modality": "image" if isinstance(part, Image) else "document",
        "mime_type": part.media_type,
    }
    if isinstance(part, File):
        name_member = {"name": part.name}
    else:
        name_member = {}
    if part.url:
        return {"type": "uri", **kind, "uri": part.url, **name_member}
    return {"type": "blob", **kind, "content": base64.b64encode(part.data).decode(), **name_member}


def message_from_json(given: JsonObject) -> Message:
    """Read a message from the JSON that ``message_to_json`` wrote.

    Raises:
        KeyError, TypeError, ValueError: The JSON is not a message.
    """
    origin = given.get("origin")
    if given["role"] not in ("system", "user", "assistant", "tool"):
        raise ValueError(f"{given['role']!r} is not a role")
    return Message(
        role=given["role"],
        parts=tuple(_part_from_json(part) for part in given["parts"]),
        origin=None if origin is None else Origin(**origin),
        raw=from_json_value(given.get("raw")),
        finish=given.get("finish_reason"),
        usage=_usage_from_json(given.get("usage")),
        holds_secret=bool(given.get("holds_secret")),
    )


def _usage_from_json(given: JsonObject | None) -> Usage | None:
    if given is None:
        return None
    return Usage(**given)


def _part_from_json(given: JsonObject) -> MessagePart:
    raw, path = from_json_value(given.get("raw")), str(given.get("path", ""))
    match given["type"]:
        case "text":
            return TextPart(text=_text(given, "content"), raw=raw, path=path)
        case "reasoning":
            return ReasoningPart(text=_text(given, "content"), raw=raw, path=path)
        case "tool_call":
            return ToolCallPart(
                id=_text(given, "id"),
                wire_name=_text(given, "name"),
                arguments_raw=from_json_value(given["arguments"]),
                name=given.get("tool"),
                arguments=from_json_value(given.get("canonical")),
                fault=given.get("fault"),
                has_id=given.get("has_id", True),
                raw=raw,
                path=path,
            )
        case "tool_call_response":
            return ToolResultPart(
                id=_text(given, "id"),
                wire_name=_text(given, "name"),
                text=_text(given, "response"),
                code=given.get("error"),
                is_text=given.get("is_text"),
                parts=tuple(_media_from_json(piece) for piece in given.get("parts", ())),
                has_id=given.get("has_id", True),
                raw=raw,
                path=path,
            )
        case "uri" | "blob":
            return MediaPart(
                media=cast("Image | File", _media_from_json(given)), raw=raw, path=path
            )
        case "provider":
            return ProviderPart(kind=_text(given, "kind"), raw=raw, path=path)
        case other:
            raise ValueError(f"{other!r} is not a type of message part")


def _text(given: JsonObject, name: str) -> str:
    if not isinstance(given[name], str):
        raise TypeError(f"{name} must be a string, not {type(given[name]).__name__}")
    return str(given[name])


def _media_from_json(given: JsonObject) -> Part:
    if given["type"] == "text":
        return Text(given["content"])
    data = base64.b64decode(given.get("content", ""))
    if given["modality"] == "image":
        return Image(data, given["mime_type"], given.get("uri", ""))
    return File(data, given["mime_type"], given.get("name", "file"), given.get("uri", ""))
