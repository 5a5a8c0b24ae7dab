"""Reads and writes tool calls in the text of open models, without tools or a provider.

To parse text as calls of your tools, use ``bind("text:hermes")``. This module lists the formats,
and reads or writes text in the format that you name.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolshape._families.text.format import TextCall, TextFormat
from toolshape._families.text.formats import FORMATS
from toolshape._families.text.reading import TextReading, join_segments, make_scanner, read_text
from toolshape._families.text.scanner import Segment
from toolshape._families.text.writing import write_calls
from toolshape._records.errors import UsageError, nearest

__all__ = [
    "Reader",
    "TextCall",
    "TextFormat",
    "TextReading",
    "format_for",
    "formats",
    "read",
    "write",
]


def formats() -> tuple[TextFormat, ...]:
    """Return the known formats, each with its name, the models that write it, and its source."""
    return tuple(FORMATS.values())


def format_for(model: str) -> str:
    """Return the name of the format that a model writes, as in
    ``bind(f"text:{format_for(model)}")``.

    Args:
        model: The name of the model, as on Hugging Face: ``"Qwen/Qwen3-8B"``.

    Raises:
        UsageError: No known format matches the name of the model.
    """
    name = model.rpartition("/")[2].lower()
    # A model's name begins with its family. The base model's name comes later, as in
    # Hermes-3-Llama-3.1-8B. So the earliest match decides. If several matches begin at the same
    # position, the longest match decides.
    matches = [
        (-match.start(), len(match[0]), text_format.name)
        for text_format in FORMATS.values()
        for pattern in text_format.models
        if (match := re.search(pattern, name))
    ]
    if not matches:
        raise UsageError(
            f"the text format of {model!r} is not known: choose the format in its chat template: "
            f"{', '.join(FORMATS)}"
        )
    return max(matches)[2]


def _find_format(name: str) -> TextFormat:
    if name in FORMATS:
        return FORMATS[name]
    suggestion = nearest(str(name), FORMATS)
    raise UsageError(
        f"there is no text format {name!r}"
        + (f": did you mean {suggestion!r}?" if suggestion else f"; there are {', '.join(FORMATS)}")
    )


def read(format: str, text: str, schemas: Mapping[str, Any] | None = None) -> TextReading:  # noqa: A002 - its name
    """Read the whole text of a model: the text around the calls, the reasoning, and the calls.

    Args:
        format: The name of the format.
        text: The text that the model wrote.
        schemas: JSON Schemas of the tools' parameters, by tool name. Formats without types need
            schemas: without a schema, every argument is a string.

    Raises:
        UsageError: No format has this name.
    """
    return read_text(_find_format(format), text, schemas)


def write(
    format: str,  # noqa: A002 - its name
    calls: Iterable[tuple[str, Mapping[str, Any]]],
    schemas: Mapping[str, Any] | None = None,
) -> str:
    """Write calls in the form in which a model writes them, for training data and tests.

    Args:
        format: The name of the format.
        calls: Pairs of a tool's name and its arguments.
        schemas: The schemas of the tools, as for ``read``.

    Raises:
        UsageError: No format has this name, or a call cannot be written in it: the text would be
            read as another call.
    """
    text_format = _find_format(format)
    text_calls = [
        TextCall(name, dict(arguments), f"{number:09d}")
        for number, (name, arguments) in enumerate(calls)
    ]
    return write_calls(text_format, text_calls, schemas)


class Reader:
    """Reads a model's text that arrives in pieces.

    The calls do not depend on where the text is split.

    After each ``feed`` or ``close``, ``text`` holds the new text around the calls, and
    ``reasoning`` the new reasoning.

    Args:
        format: The name of the format.
        schemas: The schemas of the tools, as for ``read``.

    Raises:
        UsageError: No format has this name.
    """

    __slots__ = ("_has_ended", "_scanner", "reasoning", "text")

    def __init__(self, format: str, schemas: Mapping[str, Any] | None = None) -> None:  # noqa: A002 - its name
        self._scanner = make_scanner(_find_format(format), schemas or {})
        self._has_ended = False
        self.text = self.reasoning = ""

    def feed(self, piece: str) -> list[TextCall]:
        """Read a piece, and return the calls that it completes.

        Raises:
            UsageError: The text has ended, because ``close`` was called.
        """
        if self._has_ended:
            raise UsageError("the text has ended: create another Reader to read another text")
        return self._receive(self._scanner.feed(piece))

    def close(self) -> list[TextCall]:
        """End the text, and return the remaining calls; the last call may be cut off."""
        self._has_ended = True
        return self._receive(self._scanner.close())

    def _receive(self, segments: Sequence[Segment]) -> list[TextCall]:
        if not segments:
            self.text = self.reasoning = ""
            return []
        self.text, self.reasoning, calls = join_segments(segments)
        return list(calls)


def __dir__() -> list[str]:
    return sorted(__all__)
