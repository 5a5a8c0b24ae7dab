"""Reads what MCP's SDKs and fastmcp make of a result: a client's ``CallToolResult``, and the content that a tool returns.

Read by its form, under the names of the official SDK 2.3.0 and those that it had until 1.x (both read 2026-11-22).
"""

import base64
import functools
import json
from typing import Any

from toolshape._parts import File, Image, Part, Text, as_text

_NAME = "CallToolResult"


class Structured(tuple[Part, ...]):
    """The parts of a result whose value is its structured content."""

    __slots__ = ()


_BLOCKS = frozenset({"TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink"})
_HELPERS = {"Image": "to_image_content", "Audio": "to_audio_content", "File": "to_resource_content"}
"""Objects of servers that are written with the SDK or with fastmcp, and the method that makes content of each."""
_PACKAGES = ("mcp", "mcp_types", "fastmcp")


@functools.lru_cache(maxsize=256)  # asked of every result that is no plain value
def is_mcp_content_type(kind: Any) -> bool:
    """Whether objects of a class are content of MCP: a block, or what a server's author returns in place of one."""
    for one in getattr(kind, "__mro__", ()):
        if one.__module__.split(".")[0] in _PACKAGES and (
            one.__name__ in _BLOCKS or hasattr(one, _HELPERS.get(one.__name__, "\0"))
        ):
            return True
    return False


def mcp_contents(value: Any) -> tuple[Part, ...]:
    """The parts of what a tool returned in MCP's own form: one block, or a list with some; none for anything else.

    Raises:
        TypeError: Something else is among the blocks.
    """
    given = value if isinstance(value, (list, tuple)) else [value]
    kinds: set[Any] = set(map(type, given))
    if not any(is_mcp_content_type(kind) for kind in kinds):
        return ()
    return tuple(_part_of(one) for one in given)


def _part_of(value: Any) -> Part:
    if isinstance(value, (Text, Image, File)):
        return value
    if isinstance(value, str):
        return Text(value)
    kind: Any = type(value)
    if not is_mcp_content_type(kind):
        raise TypeError(f"among texts, images and files stands a value of type {type(value).__name__}")
    make = next((make for name in _HELPERS.values() if (make := getattr(value, name, None)) is not None), None)
    return _part(value if make is None else make())


def is_mcp_result_type(annotation: Any) -> bool:
    """Whether a return annotation says that the function gives one."""
    return getattr(annotation, "__name__", "") == _NAME


def is_mcp_result(value: Any) -> bool:
    """Whether a function returned one."""
    kind: Any = type(value)
    return _is_result_class(kind)


@functools.lru_cache(maxsize=256)  # asked of every result
def _is_result_class(kind: Any) -> bool:
    return any(one.__name__ == _NAME for one in kind.__mro__)


def _either(value: Any, name: str, name_until_1: str) -> Any:
    """A field under its name, or under the one of 1.x, which is not looked at where the other is: fastmcp warns of that."""
    return getattr(value, name) if hasattr(value, name) else getattr(value, name_until_1, None)


def mcp_error(value: Any) -> str | None:
    """What the server said of a failed call; ``None`` for anything else."""
    if not is_mcp_result(value):
        return None
    return as_text(mcp_parts(value)) if _either(value, "is_error", "isError") is True else None


def mcp_structured(value: Any) -> Any:
    """The structured content; ``None`` where there is none, and for anything else."""
    if not is_mcp_result(value):
        return None
    return _either(value, "structured_content", "structuredContent")


def mcp_value(value: Any) -> Any:
    """What the result says: the structured content, else its one text, else its parts."""
    structured, parts = mcp_structured(value), mcp_parts(value)
    if structured is not None:
        return structured
    return parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else parts


def mcp_parts(value: Any) -> tuple[Part, ...]:
    """The content, or the structured content as text where there is no other."""
    blocks, structured = getattr(value, "content", None), mcp_structured(value)
    parts = tuple(_part(block) for block in blocks) if isinstance(blocks, (list, tuple)) else ()
    parts = parts or (Text("" if structured is None else json.dumps(structured, ensure_ascii=False)),)
    return parts if structured is None else Structured(parts)


def _part(block: Any) -> Part:
    """A block of content: text, image, audio, a resource or a link to one (specification 2026-07-28, ContentBlock)."""
    inner = getattr(block, "resource", None) or block
    media_type = str(_either(inner, "mime_type", "mimeType") or "application/octet-stream")
    text, data = getattr(inner, "text", None), getattr(inner, "data", getattr(inner, "blob", None))
    url = str(getattr(inner, "uri", None) or "")
    name = str(getattr(inner, "name", None) or url.rpartition("/")[2] or "file")
    if isinstance(text, str):
        return Text(text)
    if not isinstance(data, str):
        is_public = url.startswith(("https://", "http://"))  # what else a server links, nobody but it can fetch
        return File(media_type=media_type, name=name, url=url) if is_public else Text(f"[{name}, {media_type}, {url}]")
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        return Text(f"[{name}, {media_type}, not readable]")
    return Image(content, media_type) if media_type.startswith("image/") else File(content, media_type, name)
