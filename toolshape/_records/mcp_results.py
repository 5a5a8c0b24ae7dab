"""Reads the result objects of MCP's SDKs and fastmcp: a client's ``CallToolResult``, and a tool's content blocks.

This module imports no SDK. It recognises objects by the names of their classes and fields in the official SDK 2.3.0 and
1.x (both read 2026-11-22).
"""

import base64
import functools
import json
from typing import Any

from toolshape._records.parts import File, Image, Part, Text, as_text

_NAME = "CallToolResult"


class Structured(tuple[Part, ...]):
    """The parts of a result that also has structured content, which is the value of the result."""

    __slots__ = ()


_BLOCKS = frozenset(
    {"TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink"}
)
_HELPERS = {"Image": "to_image_content", "Audio": "to_audio_content", "File": "to_resource_content"}
"""Maps helper classes for server authors (SDK and fastmcp) to the methods that convert their objects to content."""
_PACKAGES = ("mcp", "mcp_types", "fastmcp")


@functools.lru_cache(maxsize=256)  # called for every result that is not a plain value
def is_mcp_content_type(kind: Any) -> bool:
    """Whether objects of a class are MCP content: a block, or a helper object that can be converted to a block."""
    for base in getattr(kind, "__mro__", ()):
        if base.__module__.split(".")[0] in _PACKAGES and (
            base.__name__ in _BLOCKS or hasattr(base, _HELPERS.get(base.__name__, "\0"))
        ):
            return True
    return False


def mcp_contents(value: Any) -> tuple[Part, ...]:
    """Return the parts in an MCP block, or in a list that contains MCP blocks; other values have no parts.

    Raises:
        TypeError: The list also contains a value of another type.
    """
    values = value if isinstance(value, (list, tuple)) else [value]
    kinds: set[Any] = set(map(type, values))
    if not any(is_mcp_content_type(kind) for kind in kinds):
        return ()
    return tuple(_part_of(block) for block in values)


def _part_of(value: Any) -> Part:
    if isinstance(value, (Text, Image, File)):
        return value
    if isinstance(value, str):
        return Text(value)
    kind: Any = type(value)
    if not is_mcp_content_type(kind):
        raise TypeError(
            f"a list of parts (text, images, files) contains a value of type {type(value).__name__}"
        )
    make = next(
        (make for name in _HELPERS.values() if (make := getattr(value, name, None)) is not None),
        None,
    )
    return _part(value if make is None else make())


def is_mcp_result_type(annotation: Any) -> bool:
    """Whether a return annotation is an MCP result class."""
    return getattr(annotation, "__name__", "") == _NAME


def is_mcp_result(value: Any) -> bool:
    """Whether a value is an MCP result."""
    kind: Any = type(value)
    return _is_result_class(kind)


@functools.lru_cache(maxsize=256)  # called for every result
def _is_result_class(kind: Any) -> bool:
    return any(base.__name__ == _NAME for base in kind.__mro__)


def _field(value: Any, name: str, name_until_1: str) -> Any:
    """Return a field by its current name, or else by its 1.x name: fastmcp warns about needless use of 1.x names."""
    return getattr(value, name) if hasattr(value, name) else getattr(value, name_until_1, None)


def mcp_error(value: Any) -> str | None:
    """Return the server's error text if a value is the result of a failed call, else ``None``."""
    if not is_mcp_result(value):
        return None
    return as_text(mcp_parts(value)) if _field(value, "is_error", "isError") is True else None


def mcp_structured(value: Any) -> Any:
    """Return the structured content of an MCP result, or ``None``."""
    if not is_mcp_result(value):
        return None
    return _field(value, "structured_content", "structuredContent")


def mcp_value(value: Any) -> Any:
    """Return the value of an MCP result: its structured content, else its only text, else its parts."""
    structured, parts = mcp_structured(value), mcp_parts(value)
    if structured is not None:
        return structured
    return parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else parts


def mcp_parts(value: Any) -> tuple[Part, ...]:
    """Return the content of an MCP result. If the content is empty, return the structured content as text."""
    blocks, structured = getattr(value, "content", None), mcp_structured(value)
    parts = tuple(_part(block) for block in blocks) if isinstance(blocks, (list, tuple)) else ()
    parts = parts or (
        Text("" if structured is None else json.dumps(structured, ensure_ascii=False)),
    )
    return parts if structured is None else Structured(parts)


def _part(block: Any) -> Part:
    """Convert a content block: text, image, audio, resource or resource link (MCP specification 2026-07-28)."""
    content_source = getattr(block, "resource", None) or block
    media_type = str(_field(content_source, "mime_type", "mimeType") or "application/octet-stream")
    text, data = (
        getattr(content_source, "text", None),
        getattr(content_source, "data", getattr(content_source, "blob", None)),
    )
    url = str(getattr(content_source, "uri", None) or "")
    name = str(getattr(content_source, "name", None) or url.rpartition("/")[2] or "file")
    if isinstance(text, str):
        return Text(text)
    if not isinstance(data, str):
        is_public = url.startswith(
            ("https://", "http://")
        )  # only the server can fetch any other link
        return (
            File(media_type=media_type, name=name, url=url)
            if is_public
            else Text(f"[{name}, {media_type}, {url}]")
        )
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        return Text(f"[{name}, {media_type}, not readable]")
    return (
        Image(content, media_type)
        if media_type.startswith("image/")
        else File(content, media_type, name)
    )
