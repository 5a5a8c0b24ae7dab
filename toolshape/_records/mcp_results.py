"""Reads what MCP's SDKs and fastmcp return: a ``CallToolResult``, and content blocks.

This module imports no SDK. It recognises objects by the names of their classes and fields in the
official SDK 2.3.0 and 1.x (both read 2026-11-22).
"""

import base64
import functools
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from toolshape._records.calls import JsonObject
from toolshape._records.parts import File, Image, Part, Text, as_text

_NAME = "CallToolResult"
_OF_FASTMCP = "ToolResult"  # as a CallToolResult, in fastmcp 4.2.3
_HTTP = ("https://", "http://")


class McpParts(tuple[Part, ...]):  # noqa: SLOT001 - a tuple with attributes cannot have slots
    """The parts that a model reads of MCP's blocks, and what an MCP
    client receives instead of them.

    ``content`` holds the blocks as JSON, and parts of ours among them; it is ``None`` if the parts
    were cut or marked. ``is_structured`` tells whether the value of the result is structured
    content, and ``meta`` is the result's ``_meta``, which is for the app.
    """

    content: tuple[JsonObject | Part, ...] | None = None
    is_structured: bool = False
    meta: JsonObject | None = None

    def changed(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """Return other parts in place of these, with what is not for the model."""
        if not self.meta:
            return tuple(parts)
        made = McpParts(parts)
        made.meta = self.meta
        return made


_BLOCKS = frozenset(
    {"TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink"}
)
_HELPERS = {"Image": "to_image_content", "Audio": "to_audio_content", "File": "to_resource_content"}
"""Maps helper classes for server authors (SDK and fastmcp) to the methods that
convert their objects to content.
"""
_PACKAGES = ("mcp", "mcp_types", "fastmcp")


@functools.lru_cache(maxsize=256)  # called for every result that is not a plain value
def is_mcp_content_type(kind: Any) -> bool:
    """Whether objects of a class are MCP content: a block, or a helper object
    that can be converted to a block.
    """
    for base in getattr(kind, "__mro__", ()):
        if base.__module__.split(".")[0] in _PACKAGES and (
            base.__name__ in _BLOCKS or hasattr(base, _HELPERS.get(base.__name__, "\0"))
        ):
            return True
    return False


def mcp_contents(value: Any) -> tuple[Part, ...]:
    """Return the parts in an MCP block, or in a list that contains MCP
    blocks; other values have no parts.

    Raises:
        TypeError: The list also contains a value of another type.
    """
    if isinstance(value, (list, tuple)):
        values = value
    else:
        values = [value]
    kinds: set[Any] = set(map(type, values))
    if not any(is_mcp_content_type(kind) for kind in kinds):
        return ()
    return _read_blocks([_block_of(block) for block in values])


def _block_of(value: Any) -> Any:
    """Return a block, converted if it is a helper object; a part of ours, and a string as one."""
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
    if make is None:
        return value
    return make()


def _read_blocks(blocks: Sequence[Any]) -> McpParts:
    """Read blocks and parts of ours.

    The model does not read what is for the user alone, unless it is all.
    """
    for_model = [block for block in blocks if not _is_for_user(block)] or blocks
    made = McpParts(part for block in for_model for part in _parts(block))
    content = [item for block in blocks if (item := _as_json(block)) is not None]
    if len(content) == len(blocks):
        made.content = tuple(content)
    return made


def _is_for_user(block: Any) -> bool:
    return getattr(getattr(block, "annotations", None), "audience", None) == ["user"]


def _as_json(block: Any) -> JsonObject | Part | None:
    """Return a block as a client receives it from the SDK's own server;
    ``None`` if it has no such form.
    """
    if isinstance(block, (Text, Image, File)):
        return block
    dump = getattr(block, "model_dump", None)
    return None if dump is None else dump(mode="json", by_alias=True, exclude_none=True)


def is_mcp_result_type(annotation: Any) -> bool:
    """Whether a return annotation is an MCP result class."""
    return _is_result_name(annotation)


def is_mcp_result(value: Any) -> bool:
    """Whether a value is an MCP result."""
    kind: Any = type(value)
    return _is_result_class(kind)


@functools.lru_cache(maxsize=256)  # called for every result
def _is_result_class(kind: Any) -> bool:
    return any(_is_result_name(base) for base in kind.__mro__)


def _is_result_name(kind: Any) -> bool:
    name = getattr(kind, "__name__", "")
    if name != _OF_FASTMCP:
        return name == _NAME
    return str(getattr(kind, "__module__", "")).partition(".")[0] == "fastmcp"


def _field(value: Any, name: str, name_until_1: str) -> Any:
    """Return a field by its current name, or else by its 1.x name: fastmcp warns
    about needless use of 1.x names.
    """
    if hasattr(value, name):
        return getattr(value, name)
    return getattr(value, name_until_1, None)


def mcp_error(value: Any) -> str | None:
    """Return the server's error text if a value is the result of a failed call, else ``None``."""
    if not is_mcp_result(value):
        return None
    if _field(value, "is_error", "isError") is True:
        return as_text(mcp_parts(value))
    return None


def mcp_structured(value: Any) -> Any:
    """Return the structured content of an MCP result, or ``None``."""
    if not is_mcp_result(value):
        return None
    return _field(value, "structured_content", "structuredContent")


def mcp_value(value: Any) -> Any:
    """Return the value of an MCP result: its structured content, else
    its only text, else its parts.
    """
    structured, blocks = mcp_structured(value), getattr(value, "content", None)
    if structured is not None:
        return structured
    if not blocks:
        return ""
    text = getattr(getattr(blocks[0], "resource", None) or blocks[0], "text", None)
    if len(blocks) == 1 and isinstance(text, str):
        return text
    return tuple(mcp_parts(value))


def mcp_parts(value: Any) -> McpParts:
    """Return the content of an MCP result.

    If the content is empty, return the structured content as text.
    """
    blocks, structured = getattr(value, "content", None), mcp_structured(value)
    if not blocks or not isinstance(blocks, (list, tuple)):
        if structured is None:
            text = ""
        else:
            text = json.dumps(structured, ensure_ascii=False)
        blocks = [Text(text)]
    made = _read_blocks(blocks)
    made.is_structured = structured is not None
    meta = _field(value, "meta", "_meta")
    made.meta = meta if isinstance(meta, dict) else None
    return made


def _parts(block: Any) -> Iterator[Part]:
    """Convert a block: text, image, audio, resource or resource link
    (MCP's specification 2026-07-28).

    The model also reads what a link or a resource says of itself.
    """
    if isinstance(block, (Text, Image, File)):
        yield block
        return
    resource = getattr(block, "resource", None)
    source = resource or block
    text = getattr(source, "text", None)
    if isinstance(text, str) and resource is None:
        yield Text(text)
        return
    about = _about(source)
    data = getattr(source, "data", getattr(source, "blob", None))
    if isinstance(text, str):
        yield Text(f"{about.words}\n{text}" if about.url else text)
    elif isinstance(data, str):
        if about.url:
            yield Text(about.words)
        yield _media(data, about.media_type, about.name)
    elif about.url.startswith(_HTTP):
        if about.has_details:
            yield Text(about.words)
        yield File(media_type=about.media_type, name=about.name, url=about.url)
    else:  # only the server can fetch any other link
        yield Text(about.words)


class _About(NamedTuple):
    """What a link or a resource says of itself; ``words`` are for the model.

    ``has_details`` tells whether they say more than a name, a media type and an address.
    """

    name: str
    media_type: str
    url: str
    words: str
    has_details: bool


def _about(source: Any) -> _About:
    media_type = str(_field(source, "mime_type", "mimeType") or "application/octet-stream")
    url = str(getattr(source, "uri", None) or "")
    name = str(getattr(source, "name", None) or url.rpartition("/")[2] or "file")
    size = getattr(source, "size", None)
    facts = [name, media_type, *([] if size is None else [f"{size} bytes"]), url]
    lines = [getattr(source, key, None) for key in ("title", "description")]
    details = [line for line in lines if isinstance(line, str) and line and line != name]
    words = "\n".join([f"[{', '.join(filter(None, facts))}]", *details])
    return _About(name, media_type, url, words, has_details=bool(details) or size is not None)


def _media(data: str, media_type: str, name: str) -> Part:
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        return Text(f"[{name}, {media_type}, not readable]")
    if media_type.startswith("image/"):
        return Image(content, media_type)
    return File(content, media_type, name)
