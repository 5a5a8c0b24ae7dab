"""The messages of a conversation as records for all providers, in the terms of OpenTelemetry's GenAI conventions.

``Message`` and its parts are read from one provider's messages and written as another's. In JSON they have the form of
the conventions' input messages (open-telemetry/semantic-conventions-genai, read 2026-11-22), with further members.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from toolshape.calls import JsonObject
from toolshape.parts import File, Image, Part, Text

__all__ = [
    "CallFault",
    "MediaPart",
    "Message",
    "MessagePart",
    "Origin",
    "ProviderPart",
    "ReasoningPart",
    "Repair",
    "Repaired",
    "Role",
    "TextPart",
    "ToolCallPart",
    "ToolResultPart",
    "from_json_value",
    "message_from_json",
    "message_to_json",
    "to_json_value",
]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
CallFault: TypeAlias = Literal["unknown_tool", "malformed_arguments", "ambiguous_arguments"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Who wrote a message: the provider, the model, and the fingerprint of the tools that it was sent.

    It owns what is opaque in the message: signatures, encrypted reasoning and the like go back to it alone.
    """

    provider: str
    model: str | None = None
    tools: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPart:
    """A text. ``raw`` of every part is what the provider sent of it, ``path`` the place of that in its message."""

    text: str
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasoningPart:
    """What a model thought, as far as it is shown; ``raw`` may hold a signature or the encrypted rest."""

    text: str
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCallPart:
    """A call that a model made.

    ``wire_name`` and ``arguments_raw`` are what stood on the wire. ``name`` is the tool's own and ``arguments`` are
    canonical; both are ``None`` where no tool was found, and ``arguments`` where they could not be read. ``fault`` says
    what is wrong with it. ``has_id``: the id came with it, and was not made here.
    """

    id: str
    wire_name: str
    arguments_raw: Any
    name: str | None = None
    arguments: JsonObject | None = None
    fault: CallFault | None = None
    has_id: bool = True
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResultPart:
    """The answer to a call: ``text``, and the texts, images and files in it where there are others than that text.

    ``code`` is the error's, ``None`` where the call gave a value. ``is_text``: the text is a value that is a string, not
    the JSON of another value; ``None`` where that is not known. ``call_raw`` is what its provider sent of the call, where
    the result has to be in the same form.
    """

    id: str
    wire_name: str
    text: str
    code: str | None = None
    is_text: bool | None = None
    parts: tuple[Part, ...] = ()
    has_id: bool = True
    call_raw: Any = field(default=None, compare=False, repr=False)
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class MediaPart:
    """An image or a file."""

    media: Image | File
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderPart:
    """What only its provider knows, as a call that it ran itself: ``kind`` is the provider's name for it."""

    kind: str
    raw: Any = None
    path: str = field(default="", compare=False, repr=False)


MessagePart: TypeAlias = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | MediaPart | ProviderPart


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a conversation.

    ``origin`` says who wrote it, ``None`` where it was you or the application. ``raw`` is the message as it came, and
    ``None`` for one that was made here, or changed since. ``path`` is its place in what it was read from.
    """

    role: Role
    parts: tuple[MessagePart, ...]
    origin: Origin | None = None
    raw: Any = None
    finish: str | None = None
    path: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Repair:
    """One change of a history: at ``path``, for ``rule``, with what was done as ``note``.

    ``invalidates`` are the paths of reasoning whose signatures no longer hold, where the provider binds them to what
    stands before.
    """

    path: str
    rule: str
    note: str
    invalidates: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Repaired:
    """Messages as their provider takes them, and what was changed for that."""

    messages: list[Any]
    repairs: tuple[Repair, ...]


_BYTES = "$bytes"
"""The one member of an object that stands for bytes in JSON; a member that begins with it is written with one more ``$``."""


def to_json_value(value: Any) -> Any:
    """A value as JSON: bytes become an object."""
    if isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        return {f"${key}" if key.lstrip("$") == _BYTES[1:] else key: to_json_value(one) for key, one in given.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(one) for one in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {_BYTES: base64.b64encode(value).decode()}
    return value


def from_json_value(value: Any) -> Any:
    """A value that ``to_json_value`` wrote."""
    if isinstance(value, dict):
        given = cast("JsonObject", value)
        if given.keys() == {_BYTES} and isinstance(given[_BYTES], str):
            return base64.b64decode(given[_BYTES])
        return {key[1:] if key.lstrip("$") == _BYTES[1:] else key: from_json_value(one) for key, one in given.items()}
    if isinstance(value, list):
        return [from_json_value(one) for one in value]
    return value


def message_to_json(message: Message) -> JsonObject:
    """A message as JSON."""
    found: JsonObject = {"role": message.role, "parts": [_part_to_json(one) for one in message.parts]}
    if message.finish is not None:
        found["finish_reason"] = message.finish
    if (origin := message.origin) is not None:
        found["origin"] = {"provider": origin.provider, "model": origin.model, "tools": origin.tools}
    if message.raw is not None:
        found["raw"] = to_json_value(message.raw)
    return found


def _part_to_json(part: MessagePart) -> JsonObject:
    base: JsonObject = {"raw": to_json_value(part.raw)} if part.raw is not None else {}
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
            own = {"tool": part.name, "canonical": part.arguments, "fault": part.fault, "has_id": part.has_id}
            call = {"id": part.id, "name": part.wire_name, "arguments": to_json_value(part.arguments_raw), **own}
            return {"type": "tool_call", **call, **base}
        case ToolResultPart():
            answered: JsonObject = {"error": part.code, "is_text": part.is_text, "has_id": part.has_id}
            if part.parts:
                answered["parts"] = [_media_to_json(one) for one in part.parts]
            answer = {"id": part.id, "name": part.wire_name, "response": part.text, **answered}
            return {"type": "tool_call_response", **answer, **base}


def _media_to_json(part: Part) -> JsonObject:
    if isinstance(part, Text):
        return {"type": "text", "content": part.text}
    kind = {"modality": "image" if isinstance(part, Image) else "document", "mime_type": part.media_type}
    named = {"name": part.name} if isinstance(part, File) else {}
    if part.url:
        return {"type": "uri", **kind, "uri": part.url, **named}
    return {"type": "blob", **kind, "content": base64.b64encode(part.data).decode(), **named}


def message_from_json(given: JsonObject) -> Message:
    """A message that ``message_to_json`` wrote.

    Raises:
        KeyError, TypeError, ValueError: It is none.
    """
    origin = given.get("origin")
    if given["role"] not in ("system", "user", "assistant", "tool"):
        raise ValueError(f"{given['role']!r} is no role")
    return Message(
        role=given["role"],
        parts=tuple(_part_from_json(one) for one in given["parts"]),
        origin=None if origin is None else Origin(**origin),
        raw=from_json_value(given.get("raw")),
        finish=given.get("finish_reason"),
    )


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
                arguments=given.get("canonical"),
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
                parts=tuple(_media_from_json(one) for one in given.get("parts", ())),
                has_id=given.get("has_id", True),
                raw=raw,
                path=path,
            )
        case "uri" | "blob":
            return MediaPart(media=cast("Image | File", _media_from_json(given)), raw=raw, path=path)
        case "provider":
            return ProviderPart(kind=_text(given, "kind"), raw=raw, path=path)
        case other:
            raise ValueError(f"{other!r} is no part of a message")


def _text(given: JsonObject, name: str) -> str:
    if not isinstance(given[name], str):
        raise TypeError(f"{name} is a text, not {type(given[name]).__name__}")
    return str(given[name])


def _media_from_json(given: JsonObject) -> Part:
    if given["type"] == "text":
        return Text(given["content"])
    data = base64.b64decode(given.get("content", ""))
    if given["modality"] == "image":
        return Image(data, given["mime_type"], given.get("uri", ""))
    return File(data, given["mime_type"], given.get("name", "file"), given.get("uri", ""))
