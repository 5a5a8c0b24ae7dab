"""Texts, images and files that a tool may return, and the text that stands for them where a provider takes only text."""

import base64
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
    "is_taken",
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


def is_taken(part: Image | File, types: frozenset[str] | None) -> bool:
    """Whether a provider takes a part of this type; of what stands elsewhere it is not known, and only the web is reached.

    Args:
        part: The part.
        types: The media types of bytes that it takes, ``"text/*"`` for all texts; ``None``: any.
    """
    if part.url:
        return part.url.startswith(("http://", "https://"))
    kind = part.media_type.lower()
    return types is None or kind in types or (kind.startswith("text/") and "text/*" in types)


def encoded(part: Image | File) -> str:
    """The bytes as base64."""
    return base64.b64encode(part.data).decode()


def data_url(part: Image | File) -> str:
    """Where the part is, or the part itself as a URL."""
    return part.url or f"data:{part.media_type};base64,{encoded(part)}"
