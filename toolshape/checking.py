"""Arguments that are not valid at once: what our model has against them, and what becomes of them. Loaded with the first."""

import functools
from collections.abc import Callable
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator, from_json, to_json

from toolshape.coercion import WantedAt
from toolshape.cores import Node
from toolshape.faults import Fault, Location
from toolshape.mending import Checker, InvalidError, mended_at_once
from toolshape.payload import mended
from toolshape.reading import WrittenFloat, read
from toolshape.refusals import OF_FIELDS, faults_of, told_of
from toolshape.terms import Terms, Validated
from toolshape.validation import Validation
from toolshape.wanted import compile_wanted

__all__ = ["compile_slowly"]


def compile_slowly(validation: Validation, terms: Terms) -> Callable[[Any, ValueError | None], Validated]:
    """Compile the way of what is not valid at once: what the model sent, and the error that says so, where there is one."""
    checker = _checker_of(validation)
    is_odd = validation.lax or validation.has_decimals or validation.reserved or validation.count_keys is None
    is_plain = not (is_odd or terms.back or validation.deepest)

    def slowly(arguments: Any, error: ValueError | None) -> Validated:
        refused = None
        if isinstance(error, ValidationError) and not validation.lax:  # else it may be right all the same
            if is_plain and type(arguments) is str:
                found = _at_once(validation, checker.wanted, terms.rules, arguments, error)
                if found is not None:
                    return found
            refused = functools.partial(_refusal, error, wanted=checker.wanted)
        return mended(
            checker,
            validation.schema,
            terms,
            arguments,
            keeps_floats=validation.has_decimals,
            deepest=validation.deepest,
            refused=refused,
        )

    return slowly


def _at_once(
    validation: Validation, wanted: WantedAt, rules: frozenset[str], text: str, error: ValidationError
) -> Validated | None:
    """Mend what scalars alone are wrong with; ``None`` where it takes more than that."""
    try:
        value = from_json(text.encode())
    except ValueError:
        return None
    if type(value) is not dict or "\\" in text:  # a colon may be hidden in an escape
        return None
    errors = error.errors(include_url=False, include_context=False)
    refused = [(one["loc"], one["input"]) for one in errors if one["type"] not in OF_FIELDS]
    made = mended_at_once(value, refused, wanted, rules, _parsed) if len(refused) == len(errors) else None
    if not made:
        return None
    mended_text = to_json(value)
    left_out = sum([one.rule == "null_as_default" for one in made])
    if mended_text.count(b":") + left_out != text.count(":"):  # a key came twice: each has a colon of its own
        return None
    try:
        return validation.model.__pydantic_validator__.validate_json(mended_text, strict=True), tuple(made)
    except ValidationError:
        return None


def _parsed(text: str) -> tuple[Any, bool]:
    return read(text, None)


def _checker_of(validation: Validation) -> Checker:
    """What validates a value that may have been mended, and knows what each place wants."""
    wanted = _compile_wanted(validation.model.__pydantic_core_schema__)
    return Checker(functools.partial(_checked, validation, wanted), wanted)


def _compile_wanted(core: Node) -> WantedAt:
    definitions = core.get("definitions", [])
    compiled: dict[int, Checker] = {}  # by node, which the core schema holds

    def compile_part(node: Node, config: Node | None) -> Checker:
        if id(node) not in compiled:
            whole = {"type": "definitions", "schema": node, "definitions": definitions} if definitions else node
            validator = cast("Any", SchemaValidator)(whole, config, _use_prebuilt=False)
            wanted = compile_wanted(whole, compile_part)
            compiled[id(node)] = Checker(functools.partial(_checked_part, validator, wanted), wanted)
        return compiled[id(node)]

    return compile_wanted(core, compile_part)


def _checked_part(validator: SchemaValidator, wanted: WantedAt, value: Any) -> Any:
    try:
        return validator.validate_json(to_json(value), strict=True)
    except ValidationError as error:
        raise _refusal(error, value, wanted=wanted) from error


def _refusal(error: ValidationError, value: Any, *, wanted: WantedAt) -> InvalidError:
    """What pydantic has against a value."""
    faults = faults_of(error.errors(include_url=False, include_context=False), value, wanted)
    refusal = InvalidError(faults, lambda: told_of(error.errors(include_url=False), value, wanted))
    refusal.__cause__ = error
    return refusal


def _checked(validation: Validation, wanted: WantedAt, value: Any) -> BaseModel:
    """Validate strictly; where pydantic asked for Python types, laxly, if what was written is right as JSON."""
    validate_json = validation.model.__pydantic_validator__.validate_json
    text = to_json(_exact(value, wanted, ()) if validation.has_decimals else value)
    try:
        model: BaseModel = validate_json(text, strict=True)
    except ValidationError as error:
        found = _laxly(validation, error, text, wanted) if validation.lax else None
        if found is None:  # what is told is what is wrong strictly
            raise _refusal(error, value, wanted=wanted) from error
        model = found
    reserved = [key for key in model.__pydantic_extra__ or () if key in validation.reserved]
    if reserved:
        raise InvalidError([Fault((key,), (key,), None, "reserved", "unknown field") for key in reserved])
    return model


def _laxly(validation: Validation, strictly: ValidationError, text: bytes, wanted: WantedAt) -> BaseModel | None:
    """Behind the author's own validators pydantic wants dates, not their texts: what it refused there may be right.

    Each place that was refused is held to its own part of the schema, as JSON and strictly; only then the whole is
    validated laxly.
    """
    try:
        for error in strictly.errors(include_url=False):
            place = wanted(error["loc"])
            if place is None or place.part is None or error["type"] in ("missing", "extra_forbidden", "value_error"):
                return None
            place.part().check(error["input"])
        return cast("BaseModel", validation.model.__pydantic_validator__.validate_json(text))
    except (InvalidError, ValidationError, ValueError):
        return None


def _exact(value: Any, wanted: WantedAt, location: Location, at: Location = ()) -> Any:
    """Numbers where a Decimal is wanted, as the text that they were written in.

    Args:
        value: JSON with ``WrittenFloat``.
        wanted: What is wanted at a place.
        location: The place.
        at: The same place as pydantic would name it.

    Raises:
        InvalidError: A number has more digits than a float, where it cannot be told whether a Decimal is wanted.
    """
    if isinstance(value, dict):
        found = wanted(at)
        tag = None if found is None else value.get(found.tag_in(value))
        inside = (*at, tag) if isinstance(tag, (str, int)) else at
        return {key: _exact(item, wanted, (*location, key), (*inside, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_exact(item, wanted, (*location, index), (*at, index)) for index, item in enumerate(value)]
    if not isinstance(value, WrittenFloat):
        return value
    found = wanted(at)
    is_there = found is not None and found.steps == len(at)
    inner = [branch.wanted(()) for branch in found.branches] if found is not None and is_there else []
    kinds = found.kinds.union(*(one.kinds for one in inner if one is not None)) if found and is_there else frozenset()
    if "decimal" in kinds and not kinds & {"number", "string"}:
        return value.text
    if kinds and "decimal" not in kinds:
        return float(value)
    if not value.is_whole():
        message = "more digits than a number keeps on its way here: write it as text"
        raise InvalidError([Fault(at, location, value, "inexact_number", message)])
    return float(value)
