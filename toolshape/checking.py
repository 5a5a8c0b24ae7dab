"""What a model of ours has against a value: what it says, and what it would not have said of JSON."""

import functools
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator, to_json

from toolshape.calls import JsonSchema
from toolshape.coercion import WantedAt
from toolshape.cores import core_nodes
from toolshape.counting import KeyCount, compile_key_count
from toolshape.faults import Fault, Location
from toolshape.forks import DEEPEST, forks
from toolshape.mending import Checker, InvalidError
from toolshape.model import Definition
from toolshape.reading import WrittenFloat
from toolshape.refusals import faults_of, told_of
from toolshape.wanted import CoreSchema, compile_wanted

__all__ = ["Validation", "checker_of", "refusal_of", "validation_of"]


class Validation(NamedTuple):
    """What a definition tells of how its arguments are validated.

    ``count_keys`` counts the keys that a validated model was given, where that can be told of it. ``has_decimals``:
    some place wants a Decimal. ``lax``: some place is lax by the author's wish or stands behind a validator of the
    author's. ``deepest`` is how deep arguments may be nested, where a validator's work multiplies with each level.
    """

    model: type[BaseModel]
    schema: JsonSchema
    reserved: frozenset[str]
    count_keys: KeyCount | None
    has_decimals: bool
    lax: bool
    deepest: int | None


def validation_of(definition: Definition) -> Validation:
    """Look at what the model of a definition is made of."""
    nodes = list(core_nodes(definition.model.__pydantic_core_schema__))
    return Validation(
        model=definition.model,
        schema=definition.schema,
        reserved=definition.reserved,
        count_keys=compile_key_count(definition.model.__pydantic_core_schema__),
        has_decimals=any(node["type"] == "decimal" for node in nodes),
        lax=any(node["type"] in _VALIDATOR_NODES or _is_lax(node) for node in nodes),
        deepest=DEEPEST if forks(definition.schema) else None,
    )


_VALIDATOR_NODES = frozenset({"function-before", "function-wrap", "function-plain"})


def _is_lax(node: CoreSchema) -> bool:
    return node.get("strict") is False and node["type"] != "tagged-union"  # which says so of its own accord


def checker_of(validation: Validation) -> Checker:
    """What validates a value that may have been mended, and knows what each place wants."""
    wanted = _compile_wanted(validation.model.__pydantic_core_schema__)
    return Checker(functools.partial(_checked, validation, wanted), wanted)


def _compile_wanted(core: CoreSchema) -> WantedAt:
    definitions = core.get("definitions", [])
    compiled: dict[int, Checker] = {}  # by node, which the core schema holds

    def compile_part(node: CoreSchema, config: CoreSchema | None) -> Checker:
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
        raise refusal_of(error, value, wanted=wanted) from error


def refusal_of(error: ValidationError, value: Any, *, wanted: WantedAt) -> InvalidError:
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
            raise refusal_of(error, value, wanted=wanted) from error
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
