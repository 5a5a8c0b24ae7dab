"""Finds calls that a server left in the text of its response."""

import re
from functools import lru_cache

from toolshape._families.text.format import TextFormat
from toolshape._families.text.formats import FORMATS
from toolshape._families.text.reading import read_text
from toolshape._results import ResponseWarning


@lru_cache(1)
def _any_mark() -> re.Pattern[str]:
    marks = {mark for text_format in FORMATS.values() for mark in text_format.marks if not mark.isidentifier()}
    return re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))))


def left_in_text(text: str, provider: str) -> tuple[ResponseWarning, ...]:
    """Return a warning if a text holds the opening mark of a known format.

    A model may only quote the call, so that nothing is run: whoever knows the model binds with ``text_calls=``.
    """
    found = _any_mark().search(text)
    if found is None:
        return ()
    candidates = [text_format for text_format in FORMATS.values() if found[0] in text_format.marks]
    text_format = next((candidate for candidate in candidates if _reads(candidate, text)), candidates[0])
    name = provider.partition("+")[0]
    message = (
        f"the text of the response holds {found[0]!r}, which begins a call in the format {text_format.name!r}; the server "
        "did not parse it, and it was not run"
    )
    if not provider.startswith("text:"):
        message += f": if the model does call tools that way, bind({name!r}, text_calls={text_format.name!r}) reads it"
    return (ResponseWarning("call_in_text", text_format.name, message),)


def _reads(text_format: TextFormat, text: str) -> bool:
    return bool(read_text(text_format, text).calls)
