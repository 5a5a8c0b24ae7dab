"""The answer that a model should give, compared with the one that it gave."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from toolshape._answers.answer import ANSWER_FIELD
from toolshape._answers.output import Output
from toolshape._answers.record import OutputRecord, record_of_output
from toolshape._function.arguments import ParameterForm, write_arguments
from toolshape._plan.results import Answer
from toolshape._records.calls import Coercion
from toolshape._records.errors import UsageError
from toolshape._schema.places import location_of
from toolshape._schema.secrets import Secrets
from toolshape.evals._compare import (
    ValuePlace,
    fill_matchers,
    find_differences,
    path_of_place,
    to_plain_json,
)
from toolshape.evals._expect import has_matcher
from toolshape.evals._verdict import Difference


class ExpectAnswer:
    """An expected answer: a value of the output's type, or its canonical JSON, which may
    contain matchers at any depth.

    If the answer is an object, ``match`` selects the fields to compare: all fields (``"exact"``),
    or only the fields that the expected value names (``"subset"``).
    """

    __slots__ = ("match", "output", "value")
    match: Literal["exact", "subset"]

    def __init__(
        self, value: Any, output: Any = None, *, match: Literal["exact", "subset"] = "exact"
    ) -> None:
        """Expect an answer.

        Args:
            value: The expected value, or its JSON as Python data (dicts, lists, strings, numbers).
            output: The ``Output`` that the request asks for, or the output's type. The default is
                the type of ``value``.
            match: Which fields of an object to compare: ``"exact"`` or ``"subset"``.

        Raises:
            UsageError: The value is not valid for the type, or ``match`` is neither ``"exact"`` nor
                ``"subset"``.
            DefinitionError: The type cannot be an output.
        """
        output_or_type = type(value) if output is None else output
        self.output: Output[Any] = (
            output_or_type if isinstance(output_or_type, Output) else Output(output_or_type)
        )
        if match not in ("exact", "subset"):
            raise UsageError(f'match= must be "exact" or "subset", not {match!r}')
        self.match = match
        is_json = has_matcher(value) or (match == "subset" and isinstance(value, dict))
        self.value: Any = value if is_json else _to_canonical(record_of_output(self.output), value)

    def __repr__(self) -> str:
        return f"ExpectAnswer({self.value!r}, {self.output!r})"


class JudgedAnswer(NamedTuple):
    """The comparison of an expected answer with the actual answer: a score from 0 to
    1, differences, and coercions.
    """

    score: float
    differences: tuple[Difference, ...]
    coercions: tuple[Coercion, ...]


def judge_answer(expected: ExpectAnswer, answer: Answer[Any] | None) -> JudgedAnswer:
    """Compare an expected answer with the answer in a response.

    Pass ``None`` if the response has no answer.
    """
    record = record_of_output(expected.output)
    secrets = Secrets(record.definition.schema)

    def mask_value(value: Any, place: ValuePlace = ()) -> Any:
        if value is None:
            return None
        return to_plain_json(secrets.masked(value, (ANSWER_FIELD, *place)))

    name = record.name
    if answer is None:
        missing = Difference(kind="missing_answer", tool=name, expected=mask_value(expected.value))
        return JudgedAnswer(0.0, (missing,), ())
    if answer.error is not None:
        refused = Difference(
            kind="refused_answer",
            tool=name,
            expected=mask_value(expected.value),
            actual=str(answer.error),
        )
        return JudgedAnswer(0.0, (refused,), ())
    received = _write_answer(record, answer.value)
    differing = list(_find_differences(expected, received))
    differences = tuple(
        Difference(
            kind="value",
            tool=name,
            path=path_of_place(place),
            expected=mask_value(expected_value, place),
            actual=mask_value(actual_value, place),
        )
        for place, expected_value, actual_value in differing
    )
    coercions = tuple(
        coercion._replace(
            before=mask_value(coercion.before, location_of(coercion.path)),
            after=mask_value(coercion.after, location_of(coercion.path)),
        )
        for coercion in answer.coercions
    )
    return JudgedAnswer(
        _score(expected, received, [place for place, _, _ in differing]), differences, coercions
    )


def _find_differences(
    expected: ExpectAnswer, received: Any
) -> Iterator[tuple[ValuePlace, Any, Any]]:
    filled = fill_matchers(expected.value, received, received)
    if expected.match == "subset" and isinstance(filled, dict) and isinstance(received, dict):
        received = {name: received[name] for name in filled if name in received}
    yield from find_differences((expected.value, filled, received))


def _score(expected: ExpectAnswer, received: Any, wrong: list[ValuePlace]) -> float:
    """Return the share of right fields if the answer is an object.

    Otherwise, return 1 for a right answer, else 0.
    """
    wrong_fields = {place[0] for place in wrong if place}
    if not (isinstance(expected.value, dict) and isinstance(received, dict)) or len(
        wrong_fields
    ) < len(set(wrong[:1])):
        if wrong:
            return 0.0
        return 1.0
    compared_fields = (
        expected.value.keys()
        | wrong_fields
        | (received.keys() if expected.match == "exact" else set())
    )
    if compared_fields:
        return 1 - len(wrong_fields) / len(compared_fields)
    return 1.0


def _to_canonical(record: OutputRecord, value: Any) -> Any:
    """Validate an expected value (or its JSON), and convert it to canonical JSON.

    Raises:
        UsageError: The value is not valid for the output's type.
    """
    validator = record.definition.model.__pydantic_validator__
    try:
        model = validator.validate_python({ANSWER_FIELD: value})
    except ValueError as error:
        raise UsageError(f"the expected answer is not a valid {record.name}: {error}") from error
    return _answer_json(model)


def _write_answer(record: OutputRecord, value: Any) -> Any:
    return _answer_json(record.definition.model.model_construct(**{ANSWER_FIELD: value}))


def _answer_json(model: Any) -> Any:
    return write_arguments(model, frozenset(), ParameterForm(reveals=True, keeps_values=True))[
        ANSWER_FIELD
    ]
