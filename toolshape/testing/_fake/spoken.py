"""Writes a value as the answer in a scripted turn, in the form that the request asks for."""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from toolshape._answers.answer import ANSWER_FIELD
from toolshape._answers.export import output_to_wire
from toolshape._answers.output import Output
from toolshape._answers.record import OutputRecord, record_of_output
from toolshape._families.wire.provider import Provider
from toolshape._families.wire.server import RequestRead
from toolshape._function.arguments import ParameterForm, write_arguments
from toolshape._records.calls import Spec, Strictness
from toolshape._records.errors import ExportError, UsageError
from toolshape._schema.lens import Lens
from toolshape._tools.export import to_wire, wire_name_of
from toolshape.testing._fake.shown import schema_in, sent_tool

_WAYS: tuple[Strictness, ...] = ("auto", False, True)
_MOST_NAMED = 5


class NoFormError(Exception):
    """The request does not ask for this answer, or the answer does not
    fit the schema in the request.
    """


class SpokenValue(NamedTuple):
    """The answer in a turn: the record of the ``Output``, and the value as canonical JSON data."""

    record: OutputRecord
    canonical: Any


class SpokenAnswer(NamedTuple):
    """An answer as the fake sends it.

    If ``tool`` is set, the fake sends ``written`` as the arguments of a call of this tool.
    Otherwise it sends ``written`` as JSON text.
    """

    written: Any
    tool: str | None


class _Form(NamedTuple):
    """A schema as a server reads it, and the lens that produced it."""

    schema: Any
    lens: Lens


def validate_answer(value: Any, output: Any) -> SpokenValue:
    """Validate a value, and return it as the answer in a turn.

    Args:
        value: The value.
        output: The ``Output``, or its type. If ``None``, the type of the value is used.

    Raises:
        UsageError: The value is not valid for the output's type.
        DefinitionError: The type cannot be an output.
    """
    output_or_type = type(value) if output is None else output
    record = record_of_output(
        output_or_type if isinstance(output_or_type, Output) else Output(output_or_type)
    )
    try:
        model = record.definition.model.__pydantic_validator__.validate_python(
            {ANSWER_FIELD: value}
        )
    except ValueError as error:
        raise UsageError(
            f"the value passed to says() is not a valid {record.name}: {error}"
        ) from error
    return SpokenValue(
        record, write_arguments(model, frozenset(), ParameterForm(reveals=True))[ANSWER_FIELD]
    )


def write_answer(provider: Provider, request: RequestRead, spoken: SpokenValue) -> SpokenAnswer:
    """Write a value in the form that a request asks for: text that fits
    a schema, or a call of a tool.

    Raises:
        NoFormError: The request does not ask for this output, or the value does not fit the schema
            in the request.
    """
    record, form = spoken.record, provider.output
    if record.is_wrapped:
        canonical = {ANSWER_FIELD: spoken.canonical}
    else:
        canonical = spoken.canonical
    if form is None or form.sent is None:
        sent_output = None
    else:
        sent_output = form.sent(request.body)
    if sent_output is not None:
        return SpokenAnswer(
            _write_in_form(
                canonical, sent_output.schema, _field_forms(provider, record), record.name
            ),
            None,
        )
    name = wire_name_of(provider, record.name)
    tool = sent_tool(request, {name})
    if tool is None:
        raise NoFormError(
            f"the script answers with {record.name}, but the request does not ask for structured "
            "output"
        )
    return SpokenAnswer(
        _write_in_form(canonical, tool.schema, _tool_forms(provider, record), record.name), name
    )


def _write_in_form(canonical: Any, schema: Any, forms: Iterator[_Form], name: str) -> Any:
    """Write a value in the form of the schema in the request.

    If toolshape wrote the schema, the lens of that schema gives the form. Otherwise an SDK may have
    changed the schema before sending it, as ollama's SDK does. In that case, the function tries the
    canonical form and then all other forms, and returns the first that is valid for the schema.

    Raises:
        NoFormError: The value does not fit the schema in the request.
    """
    candidates = [
        (form.schema, canonical if form.lens.out is None else form.lens.out(canonical))
        for form in forms
    ]
    for known_schema, value in candidates:
        if known_schema == schema:
            return value
    from toolshape._validation.jsonschema_keywords import (  # noqa: PLC0415 - it needs an extra
        Validator,
        checking,
    )

    validator = Validator(schema)
    for value in (canonical, *(value for _, value in candidates)):
        with checking():
            if validator.is_valid(value):
                return value
    with checking():
        errors = list(itertools.islice(validator.iter_errors(canonical), _MOST_NAMED))
    reasons = "; ".join(f"{error.json_path}: {error.message[:200]}" for error in errors)
    raise NoFormError(f"{name} does not fit the schema that was sent: {reasons}")


def _field_forms(provider: Provider, record: OutputRecord) -> Iterator[_Form]:
    form = provider.output
    assert form is not None  # noqa: S101 - the caller has read a schema with this form
    assert form.sent is not None  # noqa: S101 - the same
    for strict in _WAYS:
        try:
            wire = output_to_wire(provider, record.spec, strict)
        except ExportError:
            continue
        sent_output = form.sent(wire.keywords)
        if sent_output is not None:
            yield _Form(sent_output.schema, wire.lens)


def _tool_forms(provider: Provider, record: OutputRecord) -> Iterator[_Form]:
    spec = record.spec
    tool = Spec(
        name=spec.name,
        title=None,
        description=spec.description,
        parameters=spec.schema,
        output=None,
    )
    for strict in _WAYS:
        try:
            wire = to_wire(provider, tool, strict)
        except ExportError:
            continue
        yield _Form(schema_in(provider, wire.payload), wire.lens)
