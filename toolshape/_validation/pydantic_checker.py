"""Checks arguments against a pydantic model for the slow path, and locates each fault."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, SchemaValidator, from_json, to_json

from toolshape._function.core_schema.nodes import Node, definitions_of
from toolshape._function.core_schema.two import (
    compile_validator,
    structure_schema,
    with_definitions,
)
from toolshape._function.core_schema.unchanged import ends_as, take_refusal
from toolshape._schema.places import Location
from toolshape._schema.values import WrittenFloat, read_json, require_unique_keys, write_json
from toolshape._validation.apply_coercions import (
    WORK_OF_FAULT,
    Checker,
    InvalidError,
    coerce_scalars,
)
from toolshape._validation.coercion import Expected, ExpectedAt
from toolshape._validation.expected import compile_expected
from toolshape._validation.faults import Fault
from toolshape._validation.json_text import parse_json
from toolshape._validation.model_traits import ModelTraits
from toolshape._validation.pydantic_faults import (
    bounded_errors,
    explained_faults,
    faults_of,
)
from toolshape._validation.settings import Validated, ValidationSettings
from toolshape._validation.slow_path import validate_with_coercions
from toolshape._validation.violations import BY_AUTHOR, OF_FIELDS

_WORK_OF_STEP = 3
_LONGEST_WITH_SCALARS = 10_000  # characters; longer text takes the path with the work budget


def compile_slow_path(
    traits: ModelTraits, settings: ValidationSettings
) -> Callable[[Any, Exception | None], Validated]:
    """Compile the slow path: a function that takes the arguments as sent, and the
    fast path's error or ``None``.
    """
    expected = _compile_expected_with_parts(traits.model.__pydantic_core_schema__)
    checker = Checker(functools.partial(_validated, traits, expected), expected)
    needs_full_path = (
        traits.validators.has_places
        or traits.has_decimals
        or traits.reserved
        or traits.count_keys is None
    )
    is_plain = not (needs_full_path or settings.back or traits.deepest)

    def slow_path(arguments: Any, error: Exception | None) -> Validated:
        if traits.validators.runs_code:
            by_check = take_refusal()
        else:
            by_check = None
        if is_plain and isinstance(error, ValidationError) and type(arguments) is str:
            validated = _coerce_only_scalars(traits, expected, settings.rules, arguments, error)
            if validated is not None:
                return validated
        is_of_value = isinstance(error, ValidationError) or not isinstance(error, ValueError)
        return validate_with_coercions(
            checker,
            traits.schema,
            settings,
            arguments,
            deepest=traits.deepest,
            refused=functools.partial(_first_refusal, traits, expected, error, by_check)
            if error is not None and is_of_value
            else None,
        )

    return slow_path


def _coerce_only_scalars(
    traits: ModelTraits,
    expected: ExpectedAt,
    rules: frozenset[str],
    text: str,
    error: ValidationError,
) -> Validated | None:
    """Coerce scalars only, and validate again; return ``None`` if that is not enough."""
    value = _short_object(text)
    errors = error.errors(include_url=False, include_context=False)
    if value is None or any(detail["type"] in BY_AUTHOR for detail in errors):
        return None
    rejected_places = [
        (detail["loc"], detail["input"]) for detail in errors if detail["type"] not in OF_FIELDS
    ]
    # The text may have more digits than a float can keep.
    if float in [type(rejected_value) for _, rejected_value in rejected_places]:
        value = read_json(text, keeps_keys=False)
    if len(rejected_places) == len(errors):
        coercions = coerce_scalars(value, rejected_places, expected, rules, _parse)
    else:
        coercions = None
    if not coercions:
        return None
    coerced_text = to_json(value)
    omitted_count = sum([coercion.rule == "null_as_default" for coercion in coercions])
    # If colons are missing, a key was repeated.
    if coerced_text.count(b":") + omitted_count != text.count(":"):
        return None
    try:
        return traits.validators.full(coerced_text), tuple(coercions)
    except Exception:  # also a crash of the author's code: the whole path says what it is
        return None


def _short_object(text: str) -> dict[str, Any] | None:
    """Parse short JSON text of an object; ``None`` for any other text, or if an
    escape in it may hide a colon.
    """
    if len(text) > _LONGEST_WITH_SCALARS or "\\" in text:
        return None
    try:
        value = from_json(text.encode())
    except ValueError:
        return None
    if type(value) is dict:
        return value
    return None


def _parse(text: str) -> tuple[Any, bool]:
    return parse_json(text, None)


def _compile_expected_with_parts(core: Node) -> ExpectedAt:
    definitions = definitions_of(core)
    compiled: dict[int, Checker] = {}  # by id of a node; the core schema keeps the nodes alive

    def compile_part(node: Node, config: Node | None) -> Checker:
        if id(node) not in compiled:
            schema = with_definitions(node, definitions)
            validator = compile_validator(structure_schema(schema, config), config)
            expected = compile_expected(schema, compile_part)
            compiled[id(node)] = Checker(
                functools.partial(_of_structure, validator, expected), expected
            )
        return compiled[id(node)]

    return compile_expected(core, compile_part)


def _of_structure(validator: SchemaValidator, expected: ExpectedAt, value: Any) -> Any:
    try:
        return validator.validate_json(to_json(value))
    except ValidationError as error:
        raise _refusal(error, value, expected=expected) from error


def _refusal(error: ValidationError, value: Any, *, expected: ExpectedAt) -> InvalidError:
    """Convert pydantic's errors about a value to an ``InvalidError``."""
    return _refusal_of(bounded_errors(error), error, value, expected)


def _refusal_of(
    errors: Sequence[ErrorDetails], error: ValidationError, value: Any, expected: ExpectedAt
) -> InvalidError:
    work = sum(WORK_OF_FAULT + _WORK_OF_STEP * len(detail["loc"]) for detail in errors)
    refusal = InvalidError(
        faults_of(errors, value, expected), lambda: explained_faults(errors, value, expected), work
    )
    refusal.__cause__ = error
    return refusal


def _validated(traits: ModelTraits, expected: ExpectedAt, value: Any) -> BaseModel:
    """Validate a value with *full*; if that runs code of the author's, then only once
    *structure* accepts the value.
    """
    text = _text_of(traits, expected, value)
    if traits.validators.runs_code and (refused := _refused_by_structure(traits, text)):
        raise _refusal(refused, value, expected=expected)
    try:
        model: BaseModel = traits.validators.full(text)
    except Exception as error:
        by_check = take_refusal()
        raise _refusal_by_code(traits, expected, error, by_check, value, text) from error
    reserved = [key for key in model.__pydantic_extra__ or () if key in traits.reserved]
    if reserved:
        raise InvalidError(
            [Fault((key,), (key,), None, "reserved", "unknown field") for key in reserved]
        )
    return model


def _first_refusal(
    traits: ModelTraits,
    expected: ExpectedAt,
    error: Exception,
    by_check: ValidationError | None,
    value: Any,
) -> InvalidError:
    """Say what is wrong with a value that *full* already refused, or over
    which the author's code crashed.

    What *structure* refuses is coerced, and nothing else: the author's code runs again only on a
    value that changed.
    """
    if isinstance(error, ValidationError) and not traits.validators.runs_code:
        return _refusal(error, value, expected=expected)
    text = _text_of(traits, expected, value)
    refused = _refused_by_structure(traits, text)
    if refused is None:
        return _refusal_by_code(traits, expected, error, by_check, value, text)
    if not isinstance(error, ValidationError):
        return _refusal(refused, value, expected=expected)
    refusal = _refusal(refused, value, expected=expected)
    told = _told(bounded_errors(error))
    refusal.explained = lambda: explained_faults(told, value, expected)
    refusal.__cause__ = error
    return refusal


def _refusal_by_code(
    traits: ModelTraits,
    expected: ExpectedAt,
    error: Exception,
    by_check: ValidationError | None,
    value: Any,
    text: bytes,
) -> InvalidError:
    """Say what is wrong with a value of the right structure; only what the author's
    code passed on can be coerced.

    ``by_check`` is what a check refused in the run that raised ``error``.

    Raises:
        Exception: The author's code crashed, and the schema behind it has nothing to say.
    """
    if isinstance(error, ValidationError):
        refusal = _refusal(error, value, expected=expected)
        if traits.validators.runs_code:
            refusal.faults = [fault for fault in refusal.faults if fault.rule not in _DECIDED]
            told = _told(bounded_errors(error))
            refusal.explained = lambda: explained_faults(told, value, expected)
        return refusal
    try:
        traits.validators.through().validate_json(text)
    except ValidationError as refused:
        found = _reasons(bounded_errors(refused), by_check)
        if found:
            return _refusal_of(found, refused, value, expected)
    raise error


def _reasons(
    errors: Sequence[ErrorDetails], by_check: ValidationError | None
) -> Sequence[ErrorDetails]:
    """Return what the schema behind the author's code says of a value over which the code crashed.

    The code may give fields other names, so no field of that schema need be there. But what a check
    refused was passed on unchanged: then only what the check said counts.
    """
    if by_check is None:
        if any(detail["type"] in OF_FIELDS for detail in errors):
            return ()
        return errors
    said = [(detail["type"], detail["loc"]) for detail in by_check.errors(include_url=False)]
    return [detail for detail in errors if ends_as(detail, said)]


_DECIDED = frozenset({*BY_AUTHOR, "union"})
"""Rules that no coercion mends where the structure is right: the author's errors,
and a union that is the author's.
"""


def _told(errors: Sequence[ErrorDetails]) -> Sequence[ErrorDetails]:
    """Return the errors without those that only follow from another error: a default
    that is made of a wrong field.
    """
    return [detail for detail in errors if detail["type"] != "default_factory_not_called"] or errors


def _text_of(traits: ModelTraits, expected: ExpectedAt, value: Any) -> bytes:
    return to_json(_restore_decimals(value, expected, ()) if traits.has_decimals else value)


def _refused_by_structure(traits: ModelTraits, text: bytes) -> ValidationError | None:
    try:
        traits.validators.structure().validate_json(text)
    except ValidationError as refused:
        return refused
    return None


def _restore_decimals(
    value: Any, expected: ExpectedAt, location: Location, at: Location = ()
) -> Any:
    """Replace each number with its text, as written, where the schema expects a Decimal.

    Args:
        value: A JSON value with ``WrittenFloat`` numbers.
        expected: The lookup of what the schema expects at a place.
        location: The place in the JSON value.
        at: The place as pydantic names it.

    Raises:
        InvalidError: A number has more digits than a float, and it is unknown whether the schema
            expects a Decimal.
    """
    if isinstance(value, dict):
        place = expected(at)
        if place is None:
            tag = None
        else:
            tag = value.get(place.tag_in(value))
        if isinstance(tag, (str, int)):
            tagged_at = (*at, tag)
        else:
            tagged_at = at
        return {
            key: _restore_decimals(item, expected, (*location, key), (*tagged_at, key))
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [
            _restore_decimals(item, expected, (*location, index), (*at, index))
            for index, item in enumerate(value)
        ]
    if isinstance(value, str):
        place = expected(at)
        is_json = place is not None and place.content is not None and place.steps == len(at)
        if is_json and place and place.content:
            return _restore_decimals_in_json(value, place.content().expected)
        return value
    if isinstance(value, WrittenFloat):
        return _restore_decimal(value, expected(at), location, at)
    return value


def _restore_decimal(
    value: WrittenFloat, place: Expected | None, location: Location, at: Location
) -> Any:
    # A number was read with its digits. Where only a Decimal can take it, it gets the digits; where
    # none can, a float is all that is asked. Between the two, or if the lookup ended above this
    # place, digits may be lost in silence: a number that a float cannot hold is refused.
    kinds: frozenset[str] = frozenset()
    if place is not None and place.steps == len(at):
        branches = [branch.expected(()) for branch in place.branches]
        kinds = place.kinds.union(*(branch.kinds for branch in branches if branch is not None))
    if "decimal" in kinds and not kinds & _TAKES_TEXT:
        return value.text
    if kinds and "decimal" not in kinds:
        return float(value)
    if not value.is_whole():
        message = "a number with more digits than a float can hold: write it as a string"
        raise InvalidError([Fault(at, location, value, "inexact_number", message)])
    return float(value)


_TAKES_TEXT = frozenset({"number", "string", "text", "json"})
"""Kinds beside a Decimal that would take the digits, too, as a text."""


def _restore_decimals_in_json(text: str, expected: ExpectedAt) -> str:
    """Apply ``_restore_decimals`` to JSON text; return other text
    unchanged, so the validator rejects it.
    """
    try:
        return write_json(_restore_decimals(require_unique_keys(read_json(text)), expected, ()))
    except (ValueError, RecursionError):
        return text
