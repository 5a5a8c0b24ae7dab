"""Reads and writes tool calls in the text of open models, without tools or a provider.

``bind("text:hermes")`` reads such texts by your tools. This module names the formats, and reads a text by its format alone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolshape._errors import UsageError, nearest
from toolshape._families.text.format import TextCall, TextFormat
from toolshape._families.text.formats import FORMATS
from toolshape._families.text.reading import TextReading, gathered, read_text, scanner_of
from toolshape._families.text.scanner import Segment
from toolshape._families.text.writing import written_calls

__all__ = ["Reader", "TextCall", "TextFormat", "TextReading", "format_for", "formats", "read", "write"]


def formats() -> tuple[TextFormat, ...]:
    """Return the known formats, each with its name, the models that write it, and its source."""
    return tuple(FORMATS.values())


def format_for(model: str) -> str:
    """Return the name of the format that a model family writes: ``bind(f"text:{format_for(model)}")``.

    Args:
        model: The name of the model, as on Hugging Face: ``"Qwen/Qwen3-8B"``.

    Raises:
        UsageError: The family is not known.
    """
    name = model.rpartition("/")[2].lower()
    # A model is named by its family first, and by what it was made from after that: Hermes-3-Llama-3.1-8B.
    found = [
        (-match.start(), len(match[0]), text_format.name)
        for text_format in FORMATS.values()
        for pattern in text_format.models
        if (match := re.search(pattern, name))
    ]
    if not found:
        raise UsageError(
            f"the format of {model!r} is not known: look at its chat template, and choose one of {', '.join(FORMATS)}"
        )
    return max(found)[2]


def _format(name: str) -> TextFormat:
    if name in FORMATS:
        return FORMATS[name]
    meant = nearest(str(name), FORMATS)
    raise UsageError(
        f"there is no text format {name!r}"
        + (f": did you mean {meant!r}?" if meant else f"; there are {', '.join(FORMATS)}")
    )


def read(format: str, text: str, schemas: Mapping[str, Any] | None = None) -> TextReading:  # noqa: A002 - its name
    """Read a whole text: the text around the calls, the reasoning, and the calls.

    Args:
        format: The name of the format.
        text: The text that the model wrote.
        schemas: JSON Schemas of the tools' parameters, by name. Formats without types need them: else every argument is
            a text.

    Raises:
        UsageError: There is no such format.
    """
    return read_text(_format(format), text, schemas)


def write(format: str, calls: Iterable[tuple[str, Mapping[str, Any]]], schemas: Mapping[str, Any] | None = None) -> str:  # noqa: A002 - its name
    """Write calls as a model does, for training data and tests.

    Args:
        format: The name of the format.
        calls: Pairs of a tool's name and its arguments.
        schemas: As for ``read``.

    Raises:
        UsageError: There is no such format, or it cannot hold a call: read again, the text would give another.
    """
    text_format = _format(format)
    numbered = [TextCall(name, dict(arguments), f"{number:09d}") for number, (name, arguments) in enumerate(calls)]
    return written_calls(text_format, numbered, schemas)


class Reader:
    """Reads a text that arrives in pieces: any split gives what the whole text gives.

    ``text`` and ``reasoning`` are what the last piece brought.

    Args:
        format: The name of the format.
        schemas: As for ``read``.

    Raises:
        UsageError: There is no such format.
    """

    __slots__ = ("_has_ended", "_scanner", "reasoning", "text")

    def __init__(self, format: str, schemas: Mapping[str, Any] | None = None) -> None:  # noqa: A002 - its name
        self._scanner = scanner_of(_format(format), schemas or {})
        self._has_ended = False
        self.text = self.reasoning = ""

    def feed(self, piece: str) -> list[TextCall]:
        """Take a piece; return the calls that are complete with it.

        Raises:
            UsageError: The text has ended.
        """
        if self._has_ended:
            raise UsageError("the text has ended: make another Reader for another text")
        return self._taken(self._scanner.feed(piece))

    def close(self) -> list[TextCall]:
        """End the text; return the calls that were left, the last perhaps cut off."""
        self._has_ended = True
        return self._taken(self._scanner.close())

    def _taken(self, segments: Sequence[Segment]) -> list[TextCall]:
        if not segments:
            self.text = self.reasoning = ""
            return []
        self.text, self.reasoning, calls = gathered(segments)
        return list(calls)
