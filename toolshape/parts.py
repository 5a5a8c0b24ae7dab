"""Texts, images and files that a tool may return, and the text that stands for them where a provider takes only text."""

import base64
import json
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = [
    "File",
    "Image",
    "Part",
    "Text",
    "as_text",
    "data_url",
    "encoded",
    "mcp_error",
    "mcp_structured",
    "named",
    "parts_of",
]


@dataclass(frozen=True, slots=True)
class Text:
    """A text among the parts of a result."""

    text: str

    def __post_init__(self) -> None:
        """Refuse what is no text where it is made, not where it is sent."""
        _refuse_odd(b"", self.text)


@dataclass(frozen=True, slots=True)
class Image:
    """An image that a model may see: its bytes, or where it is.

    Args:
        data: The bytes of the file; empty where there is a ``url``.
        media_type: As in ``"image/png"``.
        url: Where it is, for providers that fetch.
    """

    data: bytes = b""
    media_type: str = "image/png"
    url: str = ""

    def __post_init__(self) -> None:
        """Refuse what is of another kind where it is made, not where it is sent."""
        _refuse_odd(self.data, self.media_type, self.url)


@dataclass(frozen=True, slots=True)
class File:
    """A file that a model may read: its bytes, or where it is.

    Args:
        data: The bytes of the file; empty where there is a ``url``.
        media_type: As in ``"application/pdf"``.
        name: What it is called.
        url: Where it is, for providers that fetch.
    """

    data: bytes = b""
    media_type: str = "application/pdf"
    name: str = "file"
    url: str = ""

    def __post_init__(self) -> None:
        """Refuse what is of another kind where it is made, not where it is sent."""
        _refuse_odd(self.data, self.media_type, self.name, self.url)


Part: TypeAlias = Text | Image | File


def _refuse_odd(data: Any, *texts: Any) -> None:
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"the data of a part are bytes, not {type(data).__name__}")
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"a part is described by texts, not by {type(text).__name__}")
        text.encode()


def parts_of(value: Any) -> tuple[Part, ...]:
    """The parts that a tool gave: one, or a list of parts and texts; none where it gave a plain value."""
    if type(value).__name__ == _MCP_RESULT:
        return _parts_of_mcp(value)
    given = [value] if isinstance(value, (Text, Image, File)) else value
    if not isinstance(given, (list, tuple)) or not any(isinstance(one, (Text, Image, File)) for one in given):
        return ()
    for one in given:
        if not isinstance(one, (str, Text, Image, File)):
            raise TypeError(f"among texts, images and files stands a value of type {type(one).__name__}")
    return tuple(Text(one) if isinstance(one, str) else one for one in given)


_MCP_RESULT = "CallToolResult"


def mcp_error(value: Any) -> str | None:
    """What an MCP server said of a failed call, in the ``CallToolResult`` that an SDK gave; ``None`` for anything else."""
    if type(value).__name__ != _MCP_RESULT:
        return None
    is_error = getattr(value, "is_error", False) or getattr(value, "isError", False)
    return as_text(_parts_of_mcp(value)) if is_error is True else None


def mcp_structured(value: Any) -> Any:
    """The structured content of a ``CallToolResult``; ``None`` where there is none, and for anything else."""
    if type(value).__name__ != _MCP_RESULT:
        return None
    return getattr(value, "structured_content", getattr(value, "structuredContent", None))


def _parts_of_mcp(value: Any) -> tuple[Part, ...]:
    """The content of a ``CallToolResult``, or its structured content where there is no other."""
    blocks = getattr(value, "content", None)
    structured = mcp_structured(value)
    parts = tuple(_part_of_mcp(block) for block in blocks) if isinstance(blocks, (list, tuple)) else ()
    return parts or (Text("" if structured is None else json.dumps(structured, ensure_ascii=False)),)


def _part_of_mcp(block: Any) -> Part:
    """A block of content: text, image, audio, a resource or a link to one (specification 2026-07-28, ContentBlock)."""
    inner = getattr(block, "resource", None) or block
    media_type = str(getattr(inner, "mime_type", getattr(inner, "mimeType", None)) or "application/octet-stream")
    text, data = getattr(inner, "text", None), getattr(inner, "data", getattr(inner, "blob", None))
    url = str(getattr(inner, "uri", None) or "")
    name = str(getattr(inner, "name", None) or url.rpartition("/")[2] or "file")
    if isinstance(text, str):
        return Text(text)
    if not isinstance(data, str):
        return File(media_type=media_type, name=name, url=url)
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        return Text(f"[{name}, {media_type}, not readable]")
    return Image(content, media_type) if media_type.startswith("image/") else File(content, media_type, name)


def as_text(parts: tuple[Part, ...]) -> str:
    """What is read where only texts pass: each image and file is named in its place."""
    return "\n".join(one.text if isinstance(one, Text) else named(one) for one in parts)


def named(part: Image | File) -> str:
    """A part that is no text, in words."""
    what = f"{part.name}, " if isinstance(part, File) else ""
    where = part.url or f"{len(part.data)} bytes"
    return f"[{what}{part.media_type}, {where}]"


def encoded(part: Image | File) -> str:
    """The bytes as base64."""
    return base64.b64encode(part.data).decode()


def data_url(part: Image | File) -> str:
    """Where the part is, or the part itself as a URL."""
    return part.url or f"data:{part.media_type};base64,{encoded(part)}"
