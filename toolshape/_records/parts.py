"""The parts that a tool may return (text, images, files), and the text in place of a file."""

import base64
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolshape._records.shown import as_sendable


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text among the parts of a result."""

    text: str

    def __post_init__(self) -> None:
        """Raise an error now if the value is not a string, rather than later when the part is sent.

        Half of a surrogate pair becomes a replacement character, because no client can send it.
        """
        text: Any = self.text
        if isinstance(text, str):
            object.__setattr__(self, "text", as_sendable(text))
        _refuse_odd(b"", self.text)


@dataclass(frozen=True, slots=True)
class Image:
    """An image that a model may see: its bytes or its URL.

    Args:
        data: The bytes of the file; empty if there is a ``url``.
        media_type: The media type, such as ``"image/png"``.
        url: The URL of the image, for providers that fetch it.
    """

    data: bytes = b""
    media_type: str = "image/png"
    url: str = ""

    def __post_init__(self) -> None:
        """Raise an error now if a value has the wrong type, rather
        than later when the part is sent.
        """
        _refuse_odd(self.data, self.media_type, self.url)


@dataclass(frozen=True, slots=True)
class File:
    """A file that a model may read: its bytes or its URL.

    Args:
        data: The bytes of the file; empty if there is a ``url``.
        media_type: The media type, such as ``"application/pdf"``.
        name: The name of the file.
        url: The URL of the file, for providers that fetch it.
    """

    data: bytes = b""
    media_type: str = "application/pdf"
    name: str = "file"
    url: str = ""

    def __post_init__(self) -> None:
        """Raise an error now if a value has the wrong type, rather
        than later when the part is sent.
        """
        _refuse_odd(self.data, self.media_type, self.name, self.url)


Part: TypeAlias = Text | Image | File


def _refuse_odd(data: Any, *texts: Any) -> None:
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"the data of a part must be bytes, not {type(data).__name__}; for an address, write "
            "url=..."
        )
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"the text fields of a part must be strings, not {type(text).__name__}")
        text.encode()


def parts_of(value: Any) -> tuple[Part, ...]:
    """Return the parts in a tool's return value: a part, or a list of parts and
    strings; a plain value has no parts.
    """
    items = [value] if isinstance(value, (Text, Image, File)) else value
    if not isinstance(items, (list, tuple)) or not any(
        isinstance(part, (Text, Image, File)) for part in items
    ):
        return ()
    for part in items:
        if not isinstance(part, (str, Text, Image, File)):
            raise TypeError(
                "a list of parts (text, images, files) contains a value of type "
                f"{type(part).__name__}"
            )
    return tuple(Text(part) if isinstance(part, str) else part for part in items)


def is_blank(part: Part) -> bool:
    """Whether a part is text of white space only."""
    return isinstance(part, Text) and not part.text.strip()


def as_text(parts: tuple[Part, ...]) -> str:
    """Return the parts as one string, for providers that accept only text;
    images and files are described.
    """
    return "\n".join(part.text if isinstance(part, Text) else named(part) for part in parts)


def named(part: Image | File) -> str:
    """Return a short description of an image or a file."""
    if isinstance(part, File):
        name_prefix = f"{part.name}, "
    else:
        name_prefix = ""
    location = part.url or f"{len(part.data)} bytes"
    return f"[{name_prefix}{part.media_type}, {location}]"


_OTHER_NAMES = {
    "image/jpg": "image/jpeg", "audio/mp3": "audio/mpeg", "audio/x-mp3": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav", "audio/vnd.wave": "audio/wav",
}  # fmt: skip
"""Maps media type names that no provider lists to the equivalent names that providers list."""


_MEDIA_TYPE_BY_EXTENSION = {
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif",
    "webp": "image/webp",
    "heic": "image/heic", "bmp": "image/bmp", "svg": "image/svg+xml", "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown", "csv": "text/csv", "html": "text/html", "json": "application/json",
    "mp3": "audio/mpeg",
    "wav": "audio/wav", "mp4": "video/mp4", "webm": "video/webm", "mov": "video/quicktime",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}  # fmt: skip
_UNSAID = frozenset({"image/png", "application/pdf", "application/octet-stream"})
"""The default media types: a part has one of these types if its author gave no specific type."""


def file_name_in_url(url: str) -> str:
    """Return the file name at the end of a URL, or an empty string."""
    return url.partition("?")[0].partition("#")[0].rpartition("/")[2]


def by_media_type(part: Image | File) -> Image | File:
    """Return the part as an ``Image`` if its media type is an image type, otherwise as a ``File``.

    If the author gave a URL and no specific media type, the URL's ending decides the media type.
    """
    media_type = part.media_type.partition(";")[0].strip().lower()
    if part.url and media_type in _UNSAID:
        media_type = _MEDIA_TYPE_BY_EXTENSION.get(
            file_name_in_url(part.url).rpartition(".")[2].lower(), media_type
        )
    media_type = _OTHER_NAMES.get(media_type, media_type)
    is_image = media_type.startswith("image/")
    if media_type == part.media_type and is_image == isinstance(part, Image):
        return part
    if is_image:
        return Image(part.data, media_type, part.url)
    return File(part.data, media_type, part.name if isinstance(part, File) else "file", part.url)


def media_kind_of(part: Image | File) -> str:
    """Return the kind of a part by its media type: ``"image"``, ``"audio"``,
    ``"video"``, otherwise ``"file"``.
    """
    kind = part.media_type.partition("/")[0].lower()
    if kind in ("image", "audio", "video"):
        return kind
    return "file"


def is_taken(part: Image | File, types: frozenset[str] | None) -> bool:
    """Whether a provider accepts a part; a URL must begin with ``http://`` or ``https://``.

    Args:
        part: The part.
        types: The media types that the provider accepts. ``"text/*"`` covers all text types,
            ``None`` all types.
    """
    if part.url and not part.url.startswith(("http://", "https://")):
        return False
    media_type = part.media_type.lower()
    return types is None or media_type in types or f"{media_type.partition('/')[0]}/*" in types


def encoded(part: Image | File) -> str:
    """Return the bytes of a part as base64."""
    return base64.b64encode(part.data).decode()


def data_url(part: Image | File) -> str:
    """Return the URL of a part, or a data URL with its bytes."""
    return part.url or f"data:{part.media_type};base64,{encoded(part)}"
