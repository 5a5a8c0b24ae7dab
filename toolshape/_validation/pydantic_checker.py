"""Checks arguments against a pydantic model for the slow path, and locates each fault."""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, SchemaValidator, from_json, to_json

from toolshape._core_schema.nodes import Node
from toolshape._schema.values import WrittenFloat, read_json, require_unique_keys, write_json
from toolshape._validation.apply_coercions import WORK_OF_FAULT, Checker, InvalidError, coerce_scalars, value_at
from toolshape._validation.coercion import Expected, ExpectedAt
from toolshape._validation.expected import compile_expected
from toolshape._validation.faults import Fault, Location
from toolshape._validation.json_text import parse_json
from toolshape._validation.model_traits import ModelTraits
from toolshape._validation.pydantic_faults import KEY, OF_FIELDS, bounded_errors, explained_faults, faults_of, is_same
from toolshape._validation.settings import Validated, ValidationSettings
from toolshape._validation.slow_path import validate_with_coercions

_WORK_OF_STEP = 3
_LONGEST_WITH_SCALARS = 10_000  # characters; longer text takes the path with the work budget


def compile_slow_path(
    traits: ModelTraits, settings: ValidationSettings
) -> Callable[[Any, ValueError | None], Validated]:
    """Compile the slow path: a function that takes the arguments as sent, and the fast path's error or ``None``."""
    checker = _checker_of(traits)
    needs_full_path = traits.lax or traits.has_decimals or traits.reserved or traits.count_keys is None
    is_plain = not (needs_full_path or settings.back or traits.deepest)

    def slow_path(arguments: Any, error: ValueError | None) -> Validated:
        find_refusal = None
        if isinstance(error, ValidationError) and not traits.lax:  # a lax pydantic model may still accept the arguments
            if is_plain and type(arguments) is str:
                validated = _coerce_only_scalars(traits, checker.expected, settings.rules, arguments, error)
                if validated is not None:
                    return validated
            find_refusal = functools.partial(_refusal, error, expected=checker.expected)
        return validate_with_coercions(
            checker,
            traits.schema,
            settings,
            arguments,
            deepest=traits.deepest,
            refused=find_refusal,
        )

    return slow_path


def _coerce_only_scalars(
    traits: ModelTraits, expected: ExpectedAt, rules: frozenset[str], text: str, error: ValidationError
) -> Validated | None:
    """Coerce scalars only, and validate again; return ``None`` if that is not enough."""
    if len(text) > _LONGEST_WITH_SCALARS or "\\" in text:  # an escape may hide a colon
        return None
    try:
        value = from_json(text.encode())
    except ValueError:
        value = None
    if type(value) is not dict:
        return None
    errors = error.errors(include_url=False, include_context=False)
    rejected_places = [(detail["loc"], detail["input"]) for detail in errors if detail["type"] not in OF_FIELDS]
    if float in [
        type(rejected_value) for _, rejected_value in rejected_places
    ]:  # the text may have more digits than a float can keep
        value = read_json(text, keeps_keys=False)
    coercions = (
        coerce_scalars(value, rejected_places, expected, rules, _parse) if len(rejected_places) == len(errors) else None
    )
    if not coercions:
        return None
    coerced_text = to_json(value)
    omitted_count = sum([coercion.rule == "null_as_default" for coercion in coercions])
    if coerced_text.count(b":") + omitted_count != text.count(":"):  # if colons are missing, a key was repeated
        return None
    try:
        return traits.model.__pydantic_validator__.validate_json(coerced_text, strict=True), tuple(coercions)
    except ValidationError:
        return None


def _parse(text: str) -> tuple[Any, bool]:
    return parse_json(text, None)


def _checker_of(traits: ModelTraits) -> Checker:
    """Return a checker that validates arguments with the pydantic model, and looks up what its schema expects."""
    expected = _compile_expected_with_parts(traits.model.__pydantic_core_schema__)
    return Checker(functools.partial(_check, traits, expected), expected)


def _compile_expected_with_parts(core: Node) -> ExpectedAt:
    definitions = core.get("definitions", [])
    compiled: dict[int, Checker] = {}  # by id of a node; the core schema keeps the nodes alive

    def compile_part(node: Node, config: Node | None) -> Checker:
        if id(node) not in compiled:
            schema = {"type": "definitions", "schema": node, "definitions": definitions} if definitions else node
            validator = cast("Any", SchemaValidator)(schema, config, _use_prebuilt=False)
            expected = compile_expected(schema, compile_part)
            compiled[id(node)] = Checker(functools.partial(_check_part, validator, expected), expected)
        return compiled[id(node)]

    return compile_expected(core, compile_part)


def _check_part(validator: SchemaValidator, expected: ExpectedAt, value: Any) -> Any:
    try:
        return validator.validate_json(to_json(value), strict=True)
    except ValidationError as error:
        raise _refusal(error, value, expected=expected) from error


def _refusal(error: ValidationError, value: Any, *, expected: ExpectedAt) -> InvalidError:
    """Convert pydantic's errors about a value to an ``InvalidError``."""
    errors = bounded_errors(error)
    work = sum(WORK_OF_FAULT + _WORK_OF_STEP * len(detail["loc"]) for detail in errors)
    refusal = InvalidError(faults_of(errors, value, expected), lambda: explained_faults(errors, value, expected), work)
    refusal.__cause__ = error
    return refusal


def _check(traits: ModelTraits, expected: ExpectedAt, value: Any) -> BaseModel:
    """Validate strictly; if strict mode rejects the value and the pydantic model is lax, try ``_check_laxly``."""
    validate_json = traits.model.__pydantic_validator__.validate_json
    text = to_json(_restore_decimals(value, expected, ()) if traits.has_decimals else value)
    try:
        model: BaseModel = validate_json(text, strict=True)
    except ValidationError as error:
        if not traits.lax:
            raise _refusal(error, value, expected=expected) from error
        model = _check_laxly(traits, error, text, value, expected)
    reserved = [key for key in model.__pydantic_extra__ or () if key in traits.reserved]
    if reserved:
        raise InvalidError([Fault((key,), (key,), None, "reserved", "unknown field") for key in reserved])
    return model


def _check_laxly(
    traits: ModelTraits, strictly: ValidationError, text: bytes, value: Any, expected: ExpectedAt
) -> BaseModel:
    """Validate in lax mode, because an author's validator can make strict mode expect Python objects such as dates.

    This function first validates each rejected place strictly, as JSON, against its own part of the schema. If all
    these places pass, the function validates the whole value in lax mode.

    Raises:
        InvalidError: A rejected place or the whole value is invalid. The coercion rules may still fix the faults.
    """
    wrong_errors: list[ErrorDetails] = []
    inner_errors: list[tuple[Expected, Location, InvalidError]] = []
    for error in bounded_errors(strictly):
        located_part = _part_of(error, value, expected)
        if located_part is None:
            wrong_errors.append(error)
            continue
        place, part, at, seen_value, written_value = located_part
        try:
            assert place.part is not None  # noqa: S101 - _part_of checked it
            part().check(seen_value)
        except InvalidError as inner:
            if is_same(written_value, seen_value):
                inner_errors.append((place, at, inner))
            else:  # a user validator returned this value
                wrong_errors.append(error)
    if wrong_errors or inner_errors:
        faults = [fault for place, at, inner in inner_errors for fault in _in_whole_value(place, at, inner.faults)]
        refusal = InvalidError(
            [*faults_of(wrong_errors, value, expected), *faults],
            lambda: [
                *explained_faults(wrong_errors, value, expected),
                *(
                    fault
                    for place, at, inner in inner_errors
                    for fault in _in_whole_value(place, at, inner.explained())
                ),
            ],
        )
        refusal.__cause__ = strictly
        raise refusal
    try:
        return cast("BaseModel", traits.model.__pydantic_validator__.validate_json(text))
    except ValidationError as error:
        raise _refusal(error, value, expected=expected) from error


def _part_of(
    error: ErrorDetails, value: Any, expected: ExpectedAt
) -> tuple[Expected, Callable[[], Any], Location, Any, Any] | None:
    """Return the place of an error, or ``None`` if the place cannot be validated by itself.

    Returns:
        What the schema expects at the place, the function that compiles a checker for the place, the place's location
        as pydantic names it, the value that the validator saw, and the value that the language model sent.
    """
    is_of_keys = KEY in error["loc"]  # the location may also name a union branch
    at = error["loc"][: error["loc"].index(KEY) - 1] if is_of_keys else error["loc"]
    place = expected(at)
    if place is None or place.part is None:
        return None
    is_in_union = bool(place.branches) and place.steps < len(at)  # a union is validated as a whole
    if error["type"] in ("missing", "extra_forbidden", "value_error", "assertion_error") and not is_in_union:
        return None
    written_value = value_at(value, place.location)
    seen_value = written_value if is_of_keys or place.steps < len(at) else error["input"]
    return place, place.part, at[: place.steps], seen_value, written_value


def _in_whole_value(place: Expected, at: Location, faults: Iterable[Fault]) -> Iterator[Fault]:
    """Yield the faults of a part, with their locations in the whole value."""
    for fault in faults:
        yield fault._replace(at=(*at, *fault.at), location=(*place.location, *fault.location))


def _restore_decimals(value: Any, expected: ExpectedAt, location: Location, at: Location = ()) -> Any:
    """Replace each number with its text, as written, where the schema expects a Decimal.

    Args:
        value: A JSON value with ``WrittenFloat`` numbers.
        expected: The lookup of what the schema expects at a place.
        location: The place in the JSON value.
        at: The place as pydantic names it.

    Raises:
        InvalidError: A number has more digits than a float, and it is unknown whether the schema expects a Decimal.
    """
    if isinstance(value, dict):
        place = expected(at)
        tag = None if place is None else value.get(place.tag_in(value))
        tagged_at = (*at, tag) if isinstance(tag, (str, int)) else at
        return {
            key: _restore_decimals(item, expected, (*location, key), (*tagged_at, key)) for key, item in value.items()
        }
    if isinstance(value, list):
        return [_restore_decimals(item, expected, (*location, index), (*at, index)) for index, item in enumerate(value)]
    if isinstance(value, str):
        place = expected(at)
        is_json = place is not None and place.content is not None and place.steps == len(at)
        return (
            _restore_decimals_in_json(value, place.content().expected) if is_json and place and place.content else value
        )
    return _restore_decimal(value, expected(at), location, at) if isinstance(value, WrittenFloat) else value


def _restore_decimal(value: WrittenFloat, found: Expected | None, location: Location, at: Location) -> Any:
    is_exact_place = found is not None and found.steps == len(at)
    branch_expectations = (
        [branch.expected(()) for branch in found.branches] if found is not None and is_exact_place else []
    )
    kinds = (
        found.kinds.union(*(branch.kinds for branch in branch_expectations if branch is not None))
        if found and is_exact_place
        else frozenset()
    )
    if "decimal" in kinds and not kinds & {"number", "string", "text", "json"}:  # these types would accept the text too
        return value.text
    if kinds and "decimal" not in kinds:
        return float(value)
    if not value.is_whole():
        message = "a number with more digits than a float can hold: write it as a string"
        raise InvalidError([Fault(at, location, value, "inexact_number", message)])
    return float(value)


def _restore_decimals_in_json(text: str, expected: ExpectedAt) -> str:
    """Apply ``_restore_decimals`` to JSON text; return other text unchanged, so the validator rejects it."""
    try:
        return write_json(_restore_decimals(require_unique_keys(read_json(text)), expected, ()))
    except (ValueError, RecursionError):
        return text
