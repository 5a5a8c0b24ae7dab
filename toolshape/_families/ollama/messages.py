"""Reads and writes the messages of Ollama's ``/api/chat``.

The types come from ollama 0.6.3 and from the server's source of 2026-08-21, read on 2026-11-22.
"""

from collections.abc import Sequence
from typing import Any

from toolshape._families.openai import messages as openai_messages
from toolshape._families.wire.bodies import member
from toolshape._families.wire.content import (
    arguments_object,
    content_as_text,
    decode_base64,
    join_text,
)
from toolshape._families.wire.histories import AN_OBJECT, Histories, history_rules
from toolshape._records.calls import JsonObject, WireCall, WireMessage
from toolshape._records.parts import Image, Part, Text, by_media_type, encoded
from toolshape._records.result import Result
from toolshape.messages import (
    MediaPart,
    Message,
    MessagePart,
    ProviderPart,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
)


def read(item: JsonObject, path: str) -> Message:
    """Read a message in the form of Chat Completions, with ``images`` beside the text."""
    images = item.get("images")
    message = openai_messages.read(
        {key: value for key, value in item.items() if key != "images"}, path
    )
    parts: list[MessagePart] = []
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            text = content_as_text(item.get("content"))
            media = [image.media for image in _read_images(images) if isinstance(image, MediaPart)]
            if media:
                parts_with_images = (Text(text), *media)
            else:
                parts_with_images = ()
            part = ToolResultPart(  # noqa: PLW2901 - the same part, with its images
                id=part.id,
                wire_name=part.wire_name,
                text=part.text,
                code=part.code,
                parts=parts_with_images,
                raw=item,
            )
        parts.append(part)
    if message.role != "tool":
        parts += _read_images(images)
    return Message(role=message.role, parts=tuple(parts), raw=item, path=path)


def _read_images(images: Any) -> list[MessagePart]:
    """Read images from base64. A path stays as it is, because only the client can read it."""
    parts: list[MessagePart] = []
    if isinstance(images, list):
        entries: list[Any] = images
    else:
        entries = []
    for at, image in enumerate(entries):
        if isinstance(image, dict):
            data = image.get("value")
        else:
            data = image
        try:
            content = decode_base64(data)
            media = Image(content, _image_type(content))
            parts.append(MediaPart(media=media, raw={"images": [image]}, path=f"images[{at}]"))
        except ValueError:
            parts.append(ProviderPart(kind="images", raw={"images": [image]}, path=f"images[{at}]"))
    return parts


_BEGINNINGS = ((b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"), (b"RIFF", "image/webp"))


def _image_type(content: bytes) -> str:
    """Return the media type of an image by its first bytes, because Ollama's
    messages do not state the type.
    """
    return next(
        (media_type for beginning, media_type in _BEGINNINGS if content.startswith(beginning)),
        "image/png",
    )


def write_call(call_id: str, name: str, arguments: Any, **more: Any) -> JsonObject:
    """Write a call for a message, and leave out an empty id. Callers do not pass generated ids."""
    id_field: JsonObject = {"id": call_id} if call_id else {}
    return {**id_field, "function": {**more, "name": name, "arguments": arguments}}


def write_call_part(call: ToolCallPart) -> JsonObject:
    return write_call(call.id if call.has_id else "", call.wire_name, arguments_object(call))


def write(message: Message) -> list[WireMessage]:
    """Write each result as a separate message, then all other parts as one message."""
    results = [part for part in message.parts if isinstance(part, ToolResultPart)]
    messages: list[WireMessage] = [
        write_result_part(part) if part.raw is None else part.raw for part in results
    ]
    other_parts = [part for part in message.parts if not isinstance(part, ToolResultPart)]
    if other_parts or not results:
        messages.append(_write_message(message.role, other_parts))
    return messages


def _write_message(role: str, parts: Sequence[MessagePart]) -> WireMessage:
    message: WireMessage = {"role": role, "content": join_text(parts, role)}
    images: list[Any] = []
    calls: list[JsonObject] = []
    for part in parts:
        if isinstance(part, ToolCallPart):
            calls.append(write_call_part(part) if part.raw is None else part.raw)
        elif isinstance(part, MediaPart):
            images += [encoded(part.media)] if part.raw is None else part.raw["images"]
        elif isinstance(part, (ReasoningPart, ProviderPart)) and isinstance(part.raw, dict):
            images += part.raw.get("images", ())
            message.update({key: value for key, value in part.raw.items() if key != "images"})
    if images:
        message["images"] = images
    if calls:
        message["tool_calls"] = calls
    return message


HISTORIES = Histories(
    key="messages",
    read=read,
    write=write,
    with_id=openai_messages.with_id,
    input_kinds=frozenset({"image"}),
    rules=(
        *history_rules(
            "ollama/ollama#12395, 2025-09: models in the cloud",
            "unanswered_call",
            "open_turn",
            "orphan_result",
            "duplicate_result",
            "late_result",
            models=r"[:-]cloud$",
        ),
        *history_rules(
            "can1357/oh-my-pi#1000, 2026-05: models in the cloud",
            "refused_reasoning",
            models=r"[:-]cloud$",
        ),
        *history_rules(
            "ollama 0.6.3 Message.ToolCall: the arguments are required, and an object, 2026-11-22",
            "malformed_arguments",
            pattern=AN_OBJECT,
        ),
    ),
)


# --- leaf functions: one reader and one writer for calls, one writer for results


def read_call(call: Any) -> WireCall:
    function = member(call, "function")
    call_id = openai_messages.normalise_id(member(call, "id"))
    return WireCall(call_id, member(function, "name") or "", member(function, "arguments"), call)


def write_calls(calls: Sequence[WireCall]) -> list[WireMessage]:
    tool_calls = [write_call(call.id, call.wire_name, call.arguments) for call in calls]
    return [{"role": "assistant", "content": "", "tool_calls": tool_calls}]


_FORM = openai_messages.VendorForm(name_key="tool_name", sends_made_up_ids=False)


def write_results(results: Sequence[Result]) -> list[WireMessage]:
    """Write results. Ollama matches them to calls by name and order, and by id if the call had one.

    There is no error flag.
    """
    messages = openai_messages.write_results_as(_FORM, results)
    for at, result in enumerate(results):
        if result.parts:
            messages[at] = _with_images(messages[at], result.parts)
    return messages


def write_result_part(part: ToolResultPart) -> WireMessage:
    message = openai_messages.write_result_part(part, _FORM)
    return _with_images(message, part.parts)


def _with_images(message: WireMessage, parts: Sequence[Part]) -> WireMessage:
    """Return the message for a result, with the images from the result."""
    media = [by_media_type(part) for part in parts if not isinstance(part, Text)]
    images = [encoded(part) for part in media if isinstance(part, Image) and part.data]
    if images:
        return {**message, "images": images}
    return message
