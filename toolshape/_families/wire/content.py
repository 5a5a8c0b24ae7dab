"""Reads text, images and files from wire content, for several families."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from toolshape._families.wire.bodies import member
from toolshape._families.wire.provider import AnswerText
from toolshape._records.calls import JsonObject, WireCall, WireMessage
from toolshape._records.parts import File, Image, Part, Text, as_text, file_name_in_url
from toolshape._schema.values import as_json, as_plain_json
from toolshape.messages import (
    MediaPart,
    Message,
    MessagePart,
    ProviderPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_READ_KEYS = frozenset(
    {
        "type", "text", "id", "function", "custom", "name", "input", "arguments", "args", "call_id",
        "status", "index", "role",
        "content", "tool_use_id", "tool_call_id", "tool_name", "toolUseId", "is_error", "output",
        "result", "toolUse",
        "toolResult", "functionCall", "functionResponse", "function_call", "function_response",
        "images", "thought", "json",
        "response", "parts", "refusal", "transcript", "citationsContent", "guardContent",
        "searchResult", "title", "source",
        "context", "image", "document", "video", "audio", "format", "bytes", "media_type", "url",
        "image_url", "input_audio",
        "audio_url", "video_url", "document_url", "document_name", "file", "filename", "file_data",
        "file_url", "inlineData",
        "inline_data", "fileData", "mimeType", "mime_type", "data", "displayName", "display_name",
        "fileUri", "file_uri",
        "uri", "value", "execution", "tools",
    }
)  # fmt: skip
"""The keys that toolshape reads in text, media, call and result blocks,
and converts for other families.
"""
_DATA_KEYS = frozenset(
    {"input", "arguments", "args", "data", "json", "response", "output", "result"}
)
"""The keys whose values a model or a tool wrote.

The keys inside these values are not a provider's keys.
"""
_BLOCKS = frozenset(
    {
        "text", "input_text", "output_text", "image", "document", "search_result", "image_url",
        "input_image", "file",
        "input_file", "input_audio", "audio_url", "video_url", "document_url", "audio", "video",
    }
)  # fmt: skip
"""The types of the blocks that toolshape reads in the content of a result;
other blocks become JSON text.
"""
_USUAL = frozenset({("detail", "auto"), ("detail", "DETAIL_AUTO"), ("detail", "DETAIL_INVALID")})
"""Members that only state the provider's default. ``unread_keys`` ignores them."""
_ERROR_MARK = re.compile(r"Error \[([a-z_]+)\]: ")
_MOVED_MARK = re.compile(r" +Error \[[a-z_]+\]: ")


def media_from_url(
    url: str, *, name: str = "", kind: str = "image", media_type: str = ""
) -> Image | File | None:
    """Return the image or file that a URL holds or points to.

    Args:
        url: A web URL, or a data URL.
        name: The name of the file, if it is known.
        kind: What to return: ``"image"`` or ``"file"``.
        media_type: The media type, for a URL that does not state one.

    Returns:
        The part, or ``None`` if the bytes in the URL cannot be decoded.
    """
    head, comma, data = url.partition(",")
    if not url.startswith("data:") or not comma:
        if kind == "image":
            return Image(url=url)
        return File(
            b"", media_type or "application/pdf", name or file_name_in_url(url) or "file", url
        )
    stated_type, *options = head[len("data:") :].split(";")
    try:
        if "base64" in options:
            content = decode_base64(data)
        else:
            content = unquote_to_bytes(data)
    except ValueError:
        return None
    stated_type = stated_type or media_type or "text/plain"
    if kind == "image":
        return Image(content, stated_type)
    return File(content, stated_type, name or "file")


_SOUNDS = {"mp3": "audio/mpeg", "pcm": "audio/l16", "pcm16": "audio/l16"}
_FORMATS_OF_SOUND = {"audio/mpeg": "mp3"}


def audio_file(data: Any, form: str) -> File:
    """Return an audio file with this content (bytes, or base64 text) in
    this format, such as ``"wav"``.

    Raises:
        ValueError: The data are neither bytes nor base64.
    """
    return File(decode_base64(data), _SOUNDS.get(form, f"audio/{form}"), f"audio.{form}")


def audio_format(part: Image | File) -> str:
    """Return the name that Chat Completions uses for the format of an audio file."""
    return _FORMATS_OF_SOUND.get(part.media_type, part.media_type.partition("/")[2])


def decode_base64(data: Any) -> bytes:
    """Decode base64; return bytes unchanged.

    Raises:
        ValueError: The data are neither bytes nor base64.
    """
    if isinstance(data, (bytes, bytearray)):
        return bytes(data)
    try:
        return base64.b64decode(str(data).encode().translate(_URL_SAFE), validate=True)
    except binascii.Error as error:
        raise ValueError(f"invalid base64: {error}") from error


_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def content_as_text(content: Any) -> str:
    """Return content as text: a string unchanged, blocks as their texts joined by
    newlines, anything else as JSON.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            str(block.get("text", "")) if isinstance(block, dict) else str(block)
            for block in content
        )
    if content is None:
        return ""
    return json.dumps(content, ensure_ascii=False)


def join_text(parts: Iterable[MessagePart], role: str = "assistant") -> str:
    """Join the text parts of a message: without a separator for the assistant,
    as paragraphs for other roles.
    """
    return ("" if role == "assistant" else "\n\n").join(
        part.text for part in parts if isinstance(part, TextPart)
    )


def visible_text(message: WireMessage) -> str:
    """Return the text of a message: its content if the content is a string,
    otherwise its joined text parts.
    """
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, (list, tuple)) else ()
    return "".join(text for part in parts if isinstance(text := member(part, "text"), str))


def answer_text(assistant: Sequence[WireMessage]) -> AnswerText:
    """Return the text of the last message as the answer; reasoning blocks
    have no ``text`` and do not count.
    """
    return AnswerText(visible_text(assistant[-1]) if assistant else "")


def is_empty(value: Any) -> bool:
    """Return whether the value of a member is empty: some gateways send
    every key, even without a value.
    """
    if isinstance(value, dict):
        return all(map(is_empty, value.values()))
    return value is None or value is False or (isinstance(value, (str, list)) and not value)


def unread_keys(raw: Any) -> list[str]:
    """Return the keys that toolshape does not read in a text, media, call or
    result block, such as ``citations``.

    Keys with an empty value do not count. Keys in the source of a document, or in the blocks of a
    result, count too.
    """
    if not isinstance(raw, dict):
        return []
    keys: list[str] = []
    for key, value in raw.items():
        if is_empty(value) or (isinstance(value, str) and (key, value) in _USUAL):
            continue
        if key not in _READ_KEYS:
            keys.append(key)
        elif isinstance(value, dict) and key not in _DATA_KEYS:
            keys += unread_keys(value)
        elif isinstance(value, list):
            keys += [inner for block in value if _is_block(block) for inner in unread_keys(block)]
    return list(dict.fromkeys(keys))


def _is_block(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    return block.get("type") in _BLOCKS or (
        "type" not in block and not block.keys().isdisjoint(_READ_KEYS)
    )


def document_context(raw: Any) -> str:
    """Return the ``context`` of a document, which Anthropic and Bedrock show to the model as
    text.
    """
    if not isinstance(raw, dict):
        return ""
    document = raw.get("document", raw)
    if isinstance(document, dict):
        context = document.get("context")
    else:
        context = None
    if isinstance(context, str):
        return context
    return ""


def search_result_text(found: JsonObject) -> str:
    """Return a search result as text: its title, source, context and texts."""
    headings = [found.get(key) for key in ("title", "source", "name", "context")]
    contents = found.get("content")
    blocks = contents if isinstance(contents, list) else []
    if isinstance(contents, str):
        blocks = [contents]
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return "\n".join(text for text in (*headings, *texts) if isinstance(text, str) and text)


def content_list(content: Any, what: str = "content") -> list[Any]:
    """Convert content, which is a list, a tuple or ``None``, to a list;
    ``None`` becomes an empty list.

    Raises:
        ValueError: The content has another type, so the messages have the form of another provider.
    """
    if content is None:
        return []
    if isinstance(content, (list, tuple)):
        return list(content)
    raise ValueError(f"{what} must be a list, not {type(content).__name__}")


def as_result_parts(parts: Iterable[MessagePart]) -> tuple[Part, ...]:
    """Convert message parts to the parts of a result. A provider's own parts become JSON text."""
    result_parts: list[Part] = []
    for part in parts:
        if isinstance(part, MediaPart):
            context = document_context(part.raw)
            result_parts += [Text(context), part.media] if context else [part.media]
        else:
            result_parts.append(
                Text(part.text if isinstance(part, TextPart) else _as_json_text(part))
            )
    return tuple(result_parts)


def _as_json_text(part: MessagePart) -> str:
    return json.dumps(part.raw, ensure_ascii=False, default=lambda given: f"{type(given).__name__}")


def split_error_mark(text: str) -> tuple[str, str | None]:
    """Return a result's text without its error mark, and the code in the mark,
    or ``None`` if there is no mark.

    Families without an error flag use the mark.
    """
    if mark := _ERROR_MARK.match(text):
        return text[mark.end() :], mark[1]
    # ``add_error_mark`` writes a space before a value that looks like a mark: remove that space
    # again.
    return (text[1:] if _MOVED_MARK.match(text) else text), None


def without_error_mark(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts of a result without the error mark in the first part."""
    if not parts or not isinstance(parts[0], Text):
        return parts
    text, _ = split_error_mark(parts[0].text)
    return (*([Text(text)] if text else []), *parts[1:])


def arguments_text(call: ToolCallPart) -> str:
    """Return the arguments of a call as JSON text."""
    arguments = call.arguments_raw
    if isinstance(arguments, str):
        return arguments
    return json.dumps({} if arguments is None else arguments, ensure_ascii=False)


def arguments_object(call: ToolCallPart) -> JsonObject:
    """Return the arguments of a call as an object. If they are not an object, wrap them in one.

    Plain text stays as it is: ``CallWriter`` has left it only where the provider takes it.
    """
    arguments = call.arguments_raw
    if isinstance(arguments, str):
        value = as_json(arguments or "{}")
    else:
        value = arguments
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    return {"INVALID_JSON": arguments}


def result_part(call_id: Any, name: Any, text: str, **more: Any) -> ToolResultPart:
    """Build the message part for a result that a family's reader has read."""
    return ToolResultPart(id=id_as_text(call_id), wire_name=str(name or ""), text=text, **more)


def id_as_text(given: Any) -> str:
    """Return the id of a call or a result as a string, or an empty string if it is
    neither a string nor an integer.
    """
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    if isinstance(given, str):
        return given
    return ""


def call_part(call: WireCall, path: str) -> ToolCallPart:
    """Convert a call that a family's reader has read to a message part."""
    name = str(call.wire_name or "")
    return ToolCallPart(
        id=id_as_text(call.id),
        wire_name=name,
        arguments_raw=call.arguments,
        raw=call.raw,
        path=path,
    )


def read_system_prompt(given: Any, path: str) -> list[Message]:
    """Read a system prompt that is a string or a list of blocks."""
    if isinstance(given, str):
        if given:
            return [Message(role="system", parts=(TextPart(text=given),), path=path)]
        return []
    if not isinstance(given, list):
        return []
    parts: list[MessagePart] = []
    for at, block in enumerate(given):
        if isinstance(block, dict):
            text = block.get("text")
        else:
            text = block
        if isinstance(text, str):
            parts.append(TextPart(text=text, raw=block, path=f"[{at}]"))
        else:
            if isinstance(block, dict):
                kind = next((str(key) for key in block), "")
            else:
                kind = type(block).__name__
            parts.append(ProviderPart(kind=kind, raw=block, path=f"[{at}]"))
    if parts:
        return [Message(role="system", parts=tuple(parts), raw=given, path=path)]
    return []


def result_text(part: ToolResultPart) -> str:
    """Return the text of a stored result. If the result has no text, describe its parts."""
    return part.text or (as_text(part.parts) if part.parts else "")


def stored_json(part: ToolResultPart) -> Any:
    """Return a stored result as JSON data, for providers whose results can hold more than text.

    Parse the text only if it is known to be JSON (``is_text`` is ``False``): "3.10" may be a
    version, not a number.
    """
    text = result_text(part)
    if part.is_text is not False:
        return text
    return as_plain_json(text)


def write_blocks(
    message: Message,
    write_call: Callable[[ToolCallPart], JsonObject],
    write_result: Callable[[ToolResultPart], JsonObject],
    write_other: Callable[[MessagePart], JsonObject],
) -> list[JsonObject]:
    """Return the blocks of a message, results first.

    A part with a ``raw`` block is written as that block.
    """
    results = [part for part in message.parts if isinstance(part, ToolResultPart)]
    other_parts = [part for part in message.parts if not isinstance(part, ToolResultPart)]
    blocks = [write_result(part) if part.raw is None else part.raw for part in results]
    for part in other_parts:
        if part.raw is not None:
            blocks.append(part.raw)
        else:
            blocks.append(write_call(part) if isinstance(part, ToolCallPart) else write_other(part))
    return blocks


def with_id_at(raw: JsonObject, key: str, call_id: str | None) -> JsonObject:
    """Return the object for a call or a result with ``call_id`` at ``key``;
    for ``None``, leave out the key.
    """
    if call_id is not None:
        return {**raw, key: call_id}
    return {name: raw[name] for name in raw if name != key}
