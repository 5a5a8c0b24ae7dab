"""Warns of calls that a server left unparsed in the text of its response."""

from toolshape._families.text.format import TextFormat
from toolshape._families.text.formats import FORMATS
from toolshape._families.text.reading import read_text
from toolshape._records.result import ResponseWarning

# Most text contains no mark. To search for each mark in turn takes a fifth of the time of one
# pattern for all marks.
_MARKS = sorted(
    {
        mark
        for text_format in FORMATS.values()
        for mark in text_format.marks
        if not mark.isidentifier()
    }
)


def warn_of_left_calls(
    text: str, provider: str, *, is_reasoning: bool = False
) -> tuple[ResponseWarning, ...]:
    """Return a warning if the text contains the opening mark of a known format.

    The model may only be quoting a call, so toolshape does not run it. If you know that the model
    writes its calls this way, bind with ``text_calls=``.

    Args:
        text: The text of a response, or its reasoning.
        provider: The name of the provider.
        is_reasoning: Whether ``text`` is the reasoning of a response that contains only reasoning.
    """
    positions = [(text.index(mark), -len(mark), mark) for mark in _MARKS if mark in text]
    if not positions:
        return ()
    bound = _bound_format(provider)
    own_marks = [found for found in positions if bound is not None and found[2] in bound.marks]
    _, _, first_mark = min(own_marks or positions)  # the longer mark, if two begin at one position
    if bound is not None and own_marks:
        text_format = bound
    else:
        text_format = _format_of(first_mark, text)
    mark = f"{first_mark!r}, which begins a call in the format {text_format.name!r}"
    if is_reasoning:
        message = (
            f"the response has only reasoning, which contains {mark}: the model did not end its "
            "reasoning before the "
            "call, or wrote no answer; toolshape does not run calls in reasoning"
        )
        return (ResponseWarning("call_in_text", text_format.name, message),)
    if text_format is bound:
        message = (
            f"the response's text contains {mark}; it was not read as a call, because it is "
            "quoted or not written as "
            "the format has it"
        )
        return (ResponseWarning("call_in_text", text_format.name, message),)
    name = provider.partition("+")[0]
    message = (
        f"the response's text contains {mark}; the server did not parse this call, and toolshape "
        "did not run it"
    )
    if not provider.startswith("text:"):
        message += (
            f": if the model does call tools that way, bind({name!r}, "
            f"text_calls={text_format.name!r}) reads it"
        )
    return (ResponseWarning("call_in_text", text_format.name, message),)


def _bound_format(provider: str) -> TextFormat | None:
    """Return the format that the tools are bound to, as in ``text:hermes`` and
    ``vllm+hermes``; ``None`` without one.
    """
    name = provider.partition("+")[2] or provider.partition("text:")[2]
    return FORMATS.get(name)


def _format_of(mark: str, text: str) -> TextFormat:
    """Return the format with this mark that reads calls in the text, or
    else the first one with the mark.
    """
    candidates = [text_format for text_format in FORMATS.values() if mark in text_format.marks]
    return next(
        (candidate for candidate in candidates if _has_calls(candidate, text)), candidates[0]
    )


def _has_calls(text_format: TextFormat, text: str) -> bool:
    return bool(read_text(text_format, text).calls)
