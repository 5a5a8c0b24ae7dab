"""Reads a model's text in a format: the text around the calls, the reasoning, and the calls with typed arguments."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolshape._calls import JsonSchema
from toolshape._families.text.calls import TextCall, calls_in, calls_of
from toolshape._families.text.format import TextFormat
from toolshape._families.text.scanner import Scanner, Segment
from toolshape._families.text.values import typed_arguments

Schemas = Mapping[str, JsonSchema]
"""The schemas of parameters as they were sent, by the wire name of the tool."""


class TextReading(NamedTuple):
    """What a model's text holds. ``calls`` are in the order of the text; a cut-off call is the last."""

    text: str
    reasoning: str
    calls: tuple[TextCall, ...]


def scanner_of(text_format: TextFormat) -> Scanner:
    """Return a scanner of the format."""
    return Scanner(text_format, lambda fields: bool(calls_in(text_format, fields)))


def read_text(text_format: TextFormat, text: str, schemas: Schemas | None = None) -> TextReading:
    """Read a whole text.

    Args:
        text_format: The format.
        text: The text of the model.
        schemas: The schemas of the tools' parameters, by which untyped arguments are typed.
    """
    scanner = scanner_of(text_format)
    return reading_of_segments(text_format, [*scanner.feed(text), *scanner.close()], schemas or {})


def reading_of_segments(text_format: TextFormat, segments: Sequence[Segment], schemas: Schemas) -> TextReading:
    """Return what segments hold; what was cut off before the name of its tool is text."""
    texts: list[str] = []
    reasoning: list[str] = []
    calls: list[TextCall] = []
    for segment in segments:
        if segment.kind == "reasoning":
            reasoning.append(segment.text)
        elif segment.kind == "text":
            texts.append(segment.text)
        elif found := typed_calls(text_format, segment, schemas):
            calls += found
        else:
            texts.append(segment.text)
    return TextReading("".join(texts), "".join(reasoning), tuple(calls))


def typed_calls(text_format: TextFormat, segment: Segment, schemas: Schemas) -> tuple[TextCall, ...]:
    """Return the calls of a segment, with untyped arguments typed by the schema of the tool, if it is known."""
    calls = calls_of(text_format, segment)
    if not text_format.is_untyped:
        return calls
    return tuple(
        call._replace(arguments=typed_arguments(call.arguments, schemas[call.name])) if call.name in schemas else call
        for call in calls
    )
