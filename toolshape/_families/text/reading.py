"""Gives the calls in a model's text typed arguments, and joins what stands around them.

``scanner`` says where they are.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolshape._families.text.calls import calls_in
from toolshape._families.text.format import Fields, TextCall, TextFormat
from toolshape._families.text.scanner import Scanner, Segment
from toolshape._families.text.values import type_arguments, unwrap
from toolshape._families.wire.ids import IdsOfText
from toolshape._records.calls import JsonSchema

Schemas = Mapping[str, JsonSchema]
"""The schemas of the tools' parameters as toolshape sent them, by wire name."""


class TextReading(NamedTuple):
    """The parts of a model's text; ``calls`` are in the order of the text, and
    only the last call can be cut off.
    """

    text: str
    reasoning: str
    calls: tuple[TextCall, ...]


def make_scanner(text_format: TextFormat, schemas: Schemas) -> Scanner:
    """Return a scanner for the format.

    If a tool's schema is known, its types decide how arguments are converted.
    """

    def calls_of(fields: Fields, is_cut: bool) -> tuple[TextCall, ...]:
        calls = calls_in(text_format, fields, is_cut=is_cut)
        if not text_format.is_untyped:
            return calls
        return tuple(_type_arguments(text_format, call, schemas) for call in calls)

    return Scanner(text_format, calls_of)


def _type_arguments(text_format: TextFormat, call: TextCall, schemas: Schemas) -> TextCall:
    if text_format.doubles_names and call.name not in schemas:
        namespace, _, name = call.name.partition(".")
        if namespace == name and name in schemas:
            call = call._replace(name=name)
    schema = schemas.get(call.name)
    return call._replace(
        arguments=type_arguments(unwrap(call.arguments, schema, text_format.wrappers), schema)
    )


def read_text(text_format: TextFormat, text: str, schemas: Schemas | None = None) -> TextReading:
    """Read the whole text of a model.

    Args:
        text_format: The format.
        text: The text of the model.
        schemas: The parameter schemas of the tools, which define the types of untyped arguments.
    """
    scanner = make_scanner(text_format, schemas or {})
    return join_segments([*scanner.feed(text), *scanner.close()])


def read_with_ids(
    text_format: TextFormat, text: str, schemas: Schemas
) -> tuple[TextReading, list[str]]:
    """Read the whole text of a model, and make an id for each call."""
    scanner = make_scanner(text_format, schemas)
    segments = [*scanner.feed(text), *scanner.close()]
    return join_segments(segments), ids_of(segments, IdsOfText())


def ids_of(segments: Sequence[Segment], ids: IdsOfText) -> list[str]:
    """Make an id for each call in segments that follow those that ``ids`` has read."""
    made: list[str] = []
    for _, text, calls in segments:
        made += [ids.id_of(call.name) for call in calls]
        ids.read(text)
    return made


def join_segments(segments: Sequence[Segment]) -> TextReading:
    """Join segments into one reading; most pieces of a stream produce one segment or none."""
    if not segments:
        return _NOTHING
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[TextCall] = []
    for kind, text, segment_calls in segments:
        if kind == "text":
            texts.append(text)
        elif kind == "reasoning":
            thoughts.append(text)
        else:
            calls += segment_calls
    return TextReading("".join(texts), "".join(thoughts), tuple(calls))


_NOTHING = TextReading("", "", ())
