"""Texts, images and files that a tool may return, and the text that stands for them where a provider takes only text."""

import base64
from dataclasses import dataclass
from typing import Any, TypeAlias


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
    given = [value] if isinstance(value, (Text, Image, File)) else value
    if not isinstance(given, (list, tuple)) or not any(isinstance(one, (Text, Image, File)) for one in given):
        return ()
    for one in given:
        if not isinstance(one, (str, Text, Image, File)):
            raise TypeError(f"among texts, images and files stands a value of type {type(one).__name__}")
    return tuple(Text(one) if isinstance(one, str) else one for one in given)


def as_text(parts: tuple[Part, ...]) -> str:
    """What is read where only texts pass: each image and file is named in its place."""
    return "\n".join(one.text if isinstance(one, Text) else named(one) for one in parts)


def named(part: Image | File) -> str:
    """A part that is no text, in words."""
    what = f"{part.name}, " if isinstance(part, File) else ""
    where = part.url or f"{len(part.data)} bytes"
    return f"[{what}{part.media_type}, {where}]"


_OTHER_NAMES = {
    "image/jpg": "image/jpeg", "audio/mp3": "audio/mpeg", "audio/x-mp3": "audio/mpeg", "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav", "audio/vnd.wave": "audio/wav",
}  # fmt: skip
"""Media types under names that no provider lists, and under the name that providers list."""


_BY_ENDING = {
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
    "heic": "image/heic", "bmp": "image/bmp", "svg": "image/svg+xml", "pdf": "application/pdf", "txt": "text/plain",
    "md": "text/markdown", "csv": "text/csv", "html": "text/html", "json": "application/json", "mp3": "audio/mpeg",
    "wav": "audio/wav", "mp4": "video/mp4", "webm": "video/webm", "mov": "video/quicktime",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}  # fmt: skip
_UNSAID = frozenset({"image/png", "application/pdf", "application/octet-stream"})
"""The media types of a part whose author has named none."""


def named_by_url(url: str) -> str:
    """Return the name of the file that a URL ends with, or an empty text."""
    return url.partition("?")[0].partition("#")[0].rpartition("/")[2]


def by_media_type(part: Image | File) -> Image | File:
    """Return the part as its media type says: an image as an ``Image``, anything else as a ``File``.

    Where only a URL is known, its ending tells the media type.
    """
    media_type = part.media_type.partition(";")[0].strip().lower()
    if part.url and media_type in _UNSAID:
        media_type = _BY_ENDING.get(named_by_url(part.url).rpartition(".")[2].lower(), media_type)
    media_type = _OTHER_NAMES.get(media_type, media_type)
    is_image = media_type.startswith("image/")
    if media_type == part.media_type and is_image == isinstance(part, Image):
        return part
    if is_image:
        return Image(part.data, media_type, part.url)
    return File(part.data, media_type, part.name if isinstance(part, File) else "file", part.url)


def kind_of(part: Image | File) -> str:
    """Return what a part is, by its media type: ``"image"``, ``"audio"``, ``"video"``, or else ``"file"``."""
    kind = part.media_type.partition("/")[0].lower()
    return kind if kind in ("image", "audio", "video") else "file"


def is_taken(part: Image | File, types: frozenset[str] | None) -> bool:
    """Return whether a provider takes a part of this media type. Of the parts with a URL, it reaches only those on the web.

    Args:
        part: The part.
        types: The media types that it takes, ``"text/*"`` for all texts; ``None``: any.
    """
    if part.url and not part.url.startswith(("http://", "https://")):
        return False
    media_type = part.media_type.lower()
    return types is None or media_type in types or f"{media_type.partition('/')[0]}/*" in types


def encoded(part: Image | File) -> str:
    """The bytes as base64."""
    return base64.b64encode(part.data).decode()


def data_url(part: Image | File) -> str:
    """Where the part is, or the part itself as a URL."""
    return part.url or f"data:{part.media_type};base64,{encoded(part)}"
