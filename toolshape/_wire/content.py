"""Wire content in, its texts, images and files out; and what several families write alike."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from toolshape._calls import JsonObject, WireCall
from toolshape._parts import File, Image, Part, Text, as_text, named_by_url
from toolshape._schema.values import as_json, as_plain_json
from toolshape.messages import MediaPart, Message, MessagePart, ProviderPart, TextPart, ToolCallPart, ToolResultPart

_READ_KEYS = frozenset(
    {
        "type", "text", "id", "function", "custom", "name", "input", "arguments", "args", "call_id", "status", "index", "role",
        "content", "tool_use_id", "tool_call_id", "tool_name", "toolUseId", "is_error", "output", "result", "toolUse",
        "toolResult", "functionCall", "functionResponse", "function_call", "function_response", "images", "thought", "json",
        "response", "parts", "refusal", "transcript", "citationsContent", "guardContent", "searchResult", "title", "source",
        "context", "image", "document", "video", "audio", "format", "bytes", "media_type", "url", "image_url", "input_audio",
        "audio_url", "video_url", "document_url", "document_name", "file", "filename", "file_data", "file_url", "inlineData",
        "inline_data", "fileData", "mimeType", "mime_type", "data", "displayName", "display_name", "fileUri", "file_uri",
        "uri", "value",
    }
)  # fmt: skip
"""What is read of a text, a medium, a call or a result of any family, and written for another."""
_DATA_KEYS = frozenset({"input", "arguments", "args", "data", "json", "response", "output", "result"})
"""What a model or a tool wrote: no member of it is a provider's."""
_BLOCKS = frozenset(
    {
        "text", "input_text", "output_text", "image", "document", "search_result", "image_url", "input_image", "file",
        "input_file", "input_audio", "audio_url", "video_url", "document_url", "audio", "video",
    }
)  # fmt: skip
"""The types of blocks that are read among the contents of a result; blocks of other types are carried as JSON text."""
_USUAL = frozenset({("detail", "auto"), ("detail", "DETAIL_AUTO"), ("detail", "DETAIL_INVALID")})
"""Members that ask for what happens without them."""
_ERROR_MARK = re.compile(r"Error \[([a-z_]+)\]: ")
_MOVED_MARK = re.compile(r" +Error \[[a-z_]+\]: ")


def media_of(url: str, *, name: str = "", kind: str = "image", media_type: str = "") -> Image | File | None:
    """Return what a URL holds or points to: an image or a file.

    Args:
        url: A URL of the web, or one that holds the bytes.
        name: The name of a file.
        kind: ``"image"`` or ``"file"``.
        media_type: The media type, for a URL that does not say it.

    Returns:
        The part; ``None`` where the bytes in the URL cannot be read.
    """
    head, comma, data = url.partition(",")
    if not url.startswith("data:") or not comma:
        if kind == "image":
            return Image(url=url)
        return File(b"", media_type or "application/pdf", name or named_by_url(url) or "file", url)
    given, *options = head[len("data:") :].split(";")
    try:
        content = bytes_of(data) if "base64" in options else unquote_to_bytes(data)
    except ValueError:
        return None
    given = given or media_type or "text/plain"
    return Image(content, given) if kind == "image" else File(content, given, name or "file")


_SOUNDS = {"mp3": "audio/mpeg", "pcm": "audio/l16", "pcm16": "audio/l16"}
_FORMATS_OF_SOUND = {"audio/mpeg": "mp3"}


def sound_of(data: Any, form: str) -> File:
    """Return a sound from its bytes, or their base64, and its format, as ``"wav"``.

    Raises:
        ValueError: The data are neither.
    """
    return File(bytes_of(data), _SOUNDS.get(form, f"audio/{form}"), f"audio.{form}")


def sound_format(part: Image | File) -> str:
    """Return the format of a sound as Chat Completions names it."""
    return _FORMATS_OF_SOUND.get(part.media_type, part.media_type.partition("/")[2])


def bytes_of(data: Any) -> bytes:
    """Base64 as bytes; bytes as they are.

    Raises:
        ValueError: It is neither.
    """
    if isinstance(data, (bytes, bytearray)):
        return bytes(data)
    try:
        return base64.b64decode(str(data).encode().translate(_URL_SAFE), validate=True)
    except binascii.Error as error:
        raise ValueError(f"no base64: {error}") from error


_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def text_of(content: Any) -> str:
    """The texts of a string, or of a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(one.get("text", "")) if isinstance(one, dict) else str(one) for one in content)
    return "" if content is None else json.dumps(content, ensure_ascii=False)


def joined_text(parts: Iterable[MessagePart], role: str = "assistant") -> str:
    """The texts of a message as one: what a model wrote comes in pieces of one text, what others wrote is several."""
    return ("" if role == "assistant" else "\n\n").join(one.text for one in parts if isinstance(one, TextPart))


def is_nothing(value: Any) -> bool:
    """Whether a member says nothing: some gateways send every key there is."""
    if isinstance(value, dict):
        return all(map(is_nothing, value.values()))
    return value is None or value is False or (isinstance(value, (str, list)) and not value)


def keys_beside(raw: Any) -> list[str]:
    """Return the keys of a text, a medium, a call or a result that say something and are not read, as of citations.

    They may stand inside, as in the source of a document, and in the blocks of a result.
    """
    if not isinstance(raw, dict):
        return []
    found: list[str] = []
    for key, value in raw.items():
        if is_nothing(value) or (isinstance(value, str) and (key, value) in _USUAL):
            continue
        if key not in _READ_KEYS:
            found.append(key)
        elif isinstance(value, dict) and key not in _DATA_KEYS:
            found += keys_beside(value)
        elif isinstance(value, list):
            found += [inner for block in value if _is_block(block) for inner in keys_beside(block)]
    return list(dict.fromkeys(found))


def _is_block(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    return block.get("type") in _BLOCKS or ("type" not in block and not block.keys().isdisjoint(_READ_KEYS))


def context_of(raw: Any) -> str:
    """Return the text that is given to the model with a document: Anthropic's and Bedrock's ``context``."""
    if not isinstance(raw, dict):
        return ""
    document = raw.get("document", raw)
    context = document.get("context") if isinstance(document, dict) else None
    return context if isinstance(context, str) else ""


def found_text(found: JsonObject) -> str:
    """Return what a search found, as text: its title, where it is from, its context, and its texts."""
    about = [found.get(key) for key in ("title", "source", "name", "context")]
    contents = found.get("content")
    texts = [contents] if isinstance(contents, str) else contents if isinstance(contents, list) else []
    said = [one.get("text") if isinstance(one, dict) else one for one in texts]
    return "\n".join(one for one in (*about, *said) if isinstance(one, str) and one)


def content_list(content: Any, what: str = "content") -> list[Any]:
    """A content that is a list; nothing is an empty one.

    Raises:
        ValueError: It is of another type, so that these are no messages of this provider.
    """
    if content is None:
        return []
    if isinstance(content, (list, tuple)):
        return list(content)
    raise ValueError(f"{what} is a list, not {type(content).__name__}")


def result_pieces(parts: Iterable[MessagePart]) -> tuple[Part, ...]:
    """The parts of a result: what only its provider knows as the JSON that it was."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, MediaPart):
            context = context_of(part.raw)
            found += [Text(context), part.media] if context else [part.media]
        else:
            found.append(Text(part.text if isinstance(part, TextPart) else _as_json_text(part)))
    return tuple(found)


def _as_json_text(part: MessagePart) -> str:
    return json.dumps(part.raw, ensure_ascii=False, default=lambda given: f"{type(given).__name__}")


def marked_error(text: str) -> tuple[str, str | None]:
    """A result's text, and the code of the error that its mark names, for families without a flag for errors."""
    if found := _ERROR_MARK.match(text):
        return text[found.end() :], found[1]
    return (text[1:] if _MOVED_MARK.match(text) else text), None


def unmarked(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of a result without the mark of an error in the first of them."""
    if not parts or not isinstance(parts[0], Text):
        return parts
    text, _ = marked_error(parts[0].text)
    return (*([Text(text)] if text else []), *parts[1:])


def arguments_text(call: ToolCallPart) -> str:
    """The arguments of a call as JSON text."""
    given = call.arguments_raw
    return given if isinstance(given, str) else json.dumps({} if given is None else given, ensure_ascii=False)


def arguments_object(call: ToolCallPart) -> JsonObject:
    """The arguments of a call as an object; a text that is none goes inside one."""
    given = call.arguments_raw
    value = as_json(given or "{}") if isinstance(given, str) else given
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"INVALID_JSON": given}


def result_part(call_id: Any, name: Any, text: str, **more: Any) -> ToolResultPart:
    """A result as it was read."""
    return ToolResultPart(id=given_id(call_id), wire_name=str(name or ""), text=text, **more)


def given_id(given: Any) -> str:
    """The id of a call or a result as a text; empty where there is none."""
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    return given if isinstance(given, str) else ""


def call_part(call: WireCall, path: str) -> ToolCallPart:
    """A call that a family's leaf reader read, as the part of a message."""
    name = str(call.wire_name or "")
    return ToolCallPart(id=given_id(call.id), wire_name=name, arguments_raw=call.arguments, raw=call.raw, path=path)


def system_texts(given: Any, path: str) -> list[Message]:
    """A system prompt that is a text, or a list of objects with one."""
    if isinstance(given, str):
        return [Message(role="system", parts=(TextPart(text=given),), path=path)] if given else []
    if not isinstance(given, list):
        return []
    parts: list[MessagePart] = []
    for at, one in enumerate(given):
        text = one.get("text") if isinstance(one, dict) else one
        if isinstance(text, str):
            parts.append(TextPart(text=text, raw=one, path=f"[{at}]"))
        else:
            kind = next((str(key) for key in one), "") if isinstance(one, dict) else type(one).__name__
            parts.append(ProviderPart(kind=kind, raw=one, path=f"[{at}]"))
    return [Message(role="system", parts=tuple(parts), raw=given, path=path)] if parts else []


def result_text(part: ToolResultPart) -> str:
    """The text of a stored result; of one that has parts alone, what stands for these in a text."""
    return part.text or (as_text(part.parts) if part.parts else "")


def stored_json(part: ToolResultPart) -> Any:
    """A stored result as JSON, where a provider takes more than a text.

    Unless its provider said that the result is JSON, its text stays text: "3.10" may be a version, and no number.
    """
    text = result_text(part)
    return text if part.is_text is not False else as_plain_json(text)


def blocks_of(
    message: Message,
    write_call: Callable[[ToolCallPart], JsonObject],
    write_result: Callable[[ToolResultPart], JsonObject],
    write_other: Callable[[MessagePart], JsonObject],
) -> list[JsonObject]:
    """The blocks of a message whose results come first; a part that came from this provider is written as it came."""
    results = [part for part in message.parts if isinstance(part, ToolResultPart)]
    others = [part for part in message.parts if not isinstance(part, ToolResultPart)]
    blocks = [write_result(part) if part.raw is None else part.raw for part in results]
    for part in others:
        if part.raw is not None:
            blocks.append(part.raw)
        else:
            blocks.append(write_call(part) if isinstance(part, ToolCallPart) else write_other(part))
    return blocks


def under(raw: JsonObject, key: str, call_id: str | None) -> JsonObject:
    """An object of a call or a result with another id at a key, or without one."""
    return {**raw, key: call_id} if call_id is not None else {name: raw[name] for name in raw if name != key}
