"""Writes calls as a model's text, and rejects calls that the format cannot hold."""

import json
from collections.abc import Sequence
from typing import Any

from toolshape._families.text.braces import write_braces
from toolshape._families.text.elements import write_content
from toolshape._families.text.format import TextCall, TextFormat
from toolshape._families.text.reading import Schemas, read_text
from toolshape._records.calls import JsonSchema
from toolshape._records.errors import UsageError
from toolshape._schema.values import is_same_text, kind_of, write_json


def write_calls(
    text_format: TextFormat,
    calls: Sequence[TextCall],
    schemas: Schemas | None = None,
    *,
    checks: bool = True,
) -> str:
    """Write calls in the form in which a model with this format writes them.

    Args:
        text_format: The format.
        calls: The calls, with arguments as objects.
        schemas: The parameter schemas of the tools. When the text is read back, they define the
            types of untyped arguments.
        checks: Whether to reject calls that would be read back differently. A model does not check
            this: pass ``False`` to write like a model.

    Raises:
        UsageError: Reading the text back would give other calls. For example, a value contains a
            mark of the format, or a string would be read as another type that its parameter admits.
    """
    if not calls:
        return ""
    layout = text_format.layout
    parts = [_write_call(text_format, call, number) for number, call in enumerate(calls)]
    text = f"{layout.before}{layout.between.join(parts)}{layout.after}"
    if checks:
        _refuse_misread(text_format, calls, text, schemas or {})
    return text


def _write_call(text_format: TextFormat, call: TextCall, number: int) -> str:
    layout = text_format.layout
    parameters = ""
    if layout.parameter:
        items = call.arguments.items() if isinstance(call.arguments, dict) else ()
        texts = [_write_parameter(text_format, str(key), value) for key, value in items]
        parameters = layout.between_parameters.join(texts)
    arguments = call.arguments if isinstance(call.arguments, str) else write_spaced(call.arguments)
    return layout.call.format(
        name=as_attribute(text_format, call.name),
        id=call.id,
        number=number,
        ordinal=number + 1,
        arguments=arguments,
        parameters=parameters,
    )


def _write_parameter(text_format: TextFormat, key: str, value: Any) -> str:
    if text_format.is_python:
        text = repr(value)
    elif text_format.quote:
        text = write_braces(value, text_format.quote, write_spaced)
    elif text_format.tag_mark:
        text = write_content(value, text_format.tag_mark, write_spaced)
    else:
        text = value if isinstance(value, str) else write_spaced(value)
    return text_format.layout.parameter.format(
        key=as_attribute(text_format, key), value=text, **kind_holes(kind_of(value))
    )


def as_attribute(text_format: TextFormat, text: str) -> str:
    """Return a name or a key as the format writes it."""
    if text_format.has_entities:
        return text.replace("&", "&amp;").replace('"', "&quot;")
    return text


def kind_holes(kind: str) -> dict[str, str]:
    """Return the layout fields ``is_text`` and ``kind``, which declare a value's
    type (``number`` for integers).
    """
    is_text = "true" if kind == "string" else "false"
    return {"is_text": is_text, "kind": "number" if kind == "integer" else kind}


def write_spaced(value: Any) -> str:
    """Write JSON as chat templates do, with a space after each comma and colon."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return write_json(value)


def _refuse_misread(
    text_format: TextFormat, calls: Sequence[TextCall], text: str, schemas: Schemas
) -> None:
    reading = read_text(text_format, text, schemas)
    for position, call in enumerate(calls):
        if position < len(reading.calls):
            read_call = reading.calls[position]
        else:
            read_call = None
        if read_call is not None and read_call.name == call.name and _is_same(call, read_call):
            continue
        message = (
            f"a call of {call.name!r} cannot be written in the format {text_format.name!r}: it "
            "would be read as "
            f"another call; {_reason(text_format, call, schemas.get(call.name))}"
        )
        raise UsageError(message)
    if len(reading.calls) != len(calls):
        raise UsageError(
            f"the calls cannot be written in the format {text_format.name!r}: they would be read "
            "as other calls"
        )


def _is_same(call: TextCall, found: TextCall) -> bool:
    arguments = found.arguments
    if isinstance(arguments, str) and not isinstance(call.arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return False
    return not found.is_cut and is_same_text(call.arguments, arguments)


def _reason(text_format: TextFormat, call: TextCall, schema: JsonSchema | None) -> str:
    marks = [
        mark
        for mark in all_marks(text_format)
        if mark in write_spaced(call.arguments) or mark in call.name
    ]
    if marks:
        return f"its name or its arguments contain {marks[0]!r}, a mark of the format"
    if text_format.is_untyped and schema is not None:
        return (
            "one of its arguments is a string that would be read as another type, which its "
            "parameter also admits"
        )
    return "the format has no place for its name or its arguments"


def all_marks(text_format: TextFormat) -> tuple[str, ...]:
    """Return the marks of a format that a value must not contain, longest first."""
    parameter = text_format.layout.parameter
    if parameter:
        closing = parameter.partition("{value}")[2].strip()
    else:
        closing = ""
    marks = {
        *text_format.marks,
        *text_format.quiet,
        *(mark for pair in text_format.reasoning for mark in pair),
    }
    return tuple(sorted((marks | {closing}) - {""}, key=len, reverse=True))
