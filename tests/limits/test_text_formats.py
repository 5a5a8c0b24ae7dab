"""Hostile texts of open models: reading them takes work in proportion to their length, whole and streamed."""

import itertools
from typing import Any

import pytest
from function_calls import calls_in

from toolshape import text

FORMATS = {text_format.name: text_format for text_format in text.formats()}
SCHEMAS: dict[str, Any] = {"f": {"properties": {"a": {"type": "object"}, "b": {"type": "string"}}}}
SMALL, FACTOR = 1_500, 4
PIECES = ("{", "[", '"', "'", "\\", "\n", ":", ",", "f(a=", "0", "</")


def units_of(text_format: text.TextFormat) -> list[str]:
    """Return short texts whose repetition is hostile: marks of the format, alone and before other characters."""
    marks = [
        *text_format.marks,
        *text_format.quiet[:2],
        *(pair[0] for pair in text_format.reasoning),
    ]
    marks += [mark for mark in (text_format.quote, text_format.tag_mark) if mark]
    pairs = [first + second for first, second in itertools.product(marks, PIECES)]
    return [*marks, *pairs, *PIECES]


def read_whole(name: str, said: str) -> None:
    text.read(name, said, SCHEMAS)


def read_characters(name: str, said: str) -> None:
    reader = text.Reader(name, SCHEMAS)
    for character in said:
        reader.feed(character)
    reader.close()


@pytest.mark.parametrize("read", [read_whole, read_characters])
@pytest.mark.parametrize("name", FORMATS)
def test_work_grows_with_the_length(name: str, read: Any):
    """After the beginning of a call, too: four times the text is at most about four times the work."""
    begin = text.write(name, [("f", {"a": {"k": [1]}, "b": "x"})], SCHEMAS)
    for unit in units_of(FORMATS[name])[:: 1 if read is read_whole else 12]:
        for head in ("", begin[: len(begin) * 2 // 3]):
            short, long = (
                head + unit * (length // len(unit)) for length in (SMALL, SMALL * FACTOR)
            )
            work = calls_in(lambda said=short: read(name, said))
            assert calls_in(lambda said=long: read(name, said)) <= (FACTOR + 1) * work + 2_000, (
                head,
                unit,
            )
