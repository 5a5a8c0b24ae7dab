"""A model's arguments in; the validated pydantic model and the record of every mend out, or a ``CallError``."""

import functools
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator, from_json, to_json

from toolshape.arrows import Arrow, Dropped
from toolshape.coercion import WantedAt
from toolshape.counting import KeyCount, count_of_flat
from toolshape.faults import Fault, Location
from toolshape.forks import DEEPEST, forks
from toolshape.mending import Checker, InvalidError, mended_at_once
from toolshape.model import Definition
from toolshape.nulls import Nulled, admitting_nulls
from toolshape.payload import Terms, Validate, Validated, mended, taken_home
from toolshape.reading import WrittenFloat, has_every_key, keys_in, read, repeats_key
from toolshape.refusals import faults_of, told_of
from toolshape.wanted import CoreSchema, compile_wanted

__all__ = ["compile_validate"]


def compile_validate(definition: Definition, terms: Terms) -> Validate:
    """Compile the way from what a model sent (JSON text, bytes, or an object) to validated arguments.

    Args:
        definition: What to validate against.
        terms: On what terms they are taken.

    Returns:
        A function that raises ``CallError`` (``malformed_arguments``, ``truncated_arguments``,
        ``invalid_arguments``), and lets through what the author's own validators raise beyond ``ValueError``.
    """
    slowly = _Slowly(definition, terms, DEEPEST if forks(definition.schema) else None)
    if definition.has_decimals or slowly.deepest is not None:
        return slowly
    anything = _of_anything(definition, terms.back, slowly)
    if definition.reserved or definition.count_keys is None or (terms.back and not terms.drops):
        return anything
    text = _of_text(definition, definition.count_keys, slowly, anything)
    return _of_text_with_nulls(definition, terms.drops, text, slowly, anything) if terms.drops else text


class _Slowly:
    """The path of what is not valid at once; what it takes is compiled when it is first needed."""

    __slots__ = ("_checker", "_is_plain", "deepest", "definition", "terms")

    def __init__(self, definition: Definition, terms: Terms, deepest: int | None) -> None:
        self.definition = definition
        self.terms = terms
        self.deepest = deepest
        self._checker: Checker | None = None
        is_odd = definition.lax or definition.has_decimals or definition.reserved or definition.count_keys is None
        self._is_plain = not (is_odd or terms.back or deepest)

    def __call__(self, arguments: Any, error: ValueError | None = None) -> Validated:
        definition, checker = self.definition, self._checker
        if checker is None:
            wanted = _compile_wanted(definition.model.__pydantic_core_schema__)
            checker = self._checker = Checker(functools.partial(_checked, definition, wanted), wanted)
        refused = None
        if isinstance(error, ValidationError) and not definition.lax:  # else it may be right all the same
            if self._is_plain and type(arguments) is str and (found := self._at_once(checker, arguments, error)):
                return found
            refused = functools.partial(_refusal, error, wanted=checker.wanted)
        return mended(
            checker,
            definition.schema,
            self.terms,
            arguments,
            keeps_floats=definition.has_decimals,
            deepest=self.deepest,
            refused=refused,
        )

    def _at_once(self, checker: Checker, text: str, error: ValidationError) -> Validated | None:
        """Mend what scalars alone are wrong with; ``None`` where it takes more than that."""
        try:
            value = from_json(text.encode())
        except ValueError:
            return None
        if type(value) is not dict or "\\" in text:  # a colon may be hidden in an escape
            return None
        refused = [(one["loc"], one["input"]) for one in error.errors(include_url=False, include_context=False)]
        made = mended_at_once(value, refused, checker.wanted, self.terms.rules, _parsed)
        if not made:
            return None
        mended_text = to_json(value)
        left_out = sum([one.rule == "null_as_default" for one in made])
        if mended_text.count(b":") + left_out != text.count(
            ":"
        ):  # every key has a colon of its own, and none came twice
            return None
        try:
            return self.definition.model.__pydantic_validator__.validate_json(mended_text, strict=True), tuple(made)
        except ValidationError:
            return None


def _parsed(text: str) -> tuple[Any, bool]:
    return read(text, None)


def _of_anything(definition: Definition, back: Arrow | None, slowly: _Slowly) -> Validate:
    """Take text, bytes and objects, home where they are in another form."""
    validate_json = definition.model.__pydantic_validator__.validate_json
    count_keys, reserved = definition.count_keys, definition.reserved

    def validate(arguments: Any) -> Validated:
        home = arguments if back is None else taken_home(arguments, back)
        try:
            if isinstance(home, (str, bytes)):
                model = validate_json(home, strict=True)
                keys = count_keys(model) if count_keys else keys_in(from_json(home))
                if not has_every_key(home, keys) and repeats_key(home):
                    return slowly(arguments)
            else:
                model = validate_json(to_json(home), strict=True)
        except ValueError as error:  # pydantic's, also for text that is not JSON or not UTF-8
            return slowly(arguments, error)
        if reserved and not reserved.isdisjoint(model.__pydantic_extra__ or ()):
            return slowly(arguments)
        return model, ()

    return validate


def _of_text(definition: Definition, count_keys: KeyCount, slowly: _Slowly, anything: Validate) -> Validate:
    """Take text, as nearly all providers send, with as little around pydantic's own work as can be."""
    validate_json = definition.model.__pydantic_validator__.validate_json
    is_flat = count_keys is count_of_flat

    def validate(arguments: Any) -> Validated:
        if type(arguments) is not str:
            return anything(arguments)
        try:
            model = validate_json(arguments, strict=True)
        except ValueError as error:
            return slowly(arguments, error)
        keys = len(model.__pydantic_fields_set__) if is_flat else count_keys(model)
        if arguments.count(":") != keys and repeats_key(arguments):  # every key has a colon of its own
            return slowly(arguments)
        return model, ()

    return validate


def _of_text_with_nulls(
    definition: Definition, dropped: Dropped, text: Validate, slowly: _Slowly, anything: Validate
) -> Validate:
    """Take text in whose form null says that a field is left out: in one parse, where its nulls can be forgotten."""
    compiled: list[Nulled | None] = []

    def validate(arguments: Any) -> Validated:
        if type(arguments) is not str:
            return anything(arguments)
        if "null" not in arguments:
            return text(arguments)
        if not compiled:
            compiled.append(admitting_nulls(definition.model.__pydantic_core_schema__, dropped))
        nulled = compiled[0]
        if nulled is None:
            return anything(arguments)
        try:
            model = nulled.validate_json(arguments, strict=True)
        except ValueError:
            return slowly(arguments)
        if arguments.count(":") != nulled.count_keys(model) and repeats_key(arguments):
            return slowly(arguments)
        nulled.forget(model)
        return model, ()

    return validate


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
        raise _refusal(error, value, wanted=wanted) from error


def _refusal(error: ValidationError, value: Any, *, wanted: WantedAt) -> InvalidError:
    faults = faults_of(error.errors(include_url=False, include_context=False), value, wanted)
    refusal = InvalidError(faults, lambda: told_of(error.errors(include_url=False), value, wanted))
    refusal.__cause__ = error
    return refusal


def _checked(definition: Definition, wanted: WantedAt, value: Any) -> BaseModel:
    """Validate strictly; where pydantic asked for Python types, laxly, if what was written is right as JSON."""
    validate_json = definition.model.__pydantic_validator__.validate_json
    text = to_json(_exact(value, wanted, ()) if definition.has_decimals else value)
    try:
        model: BaseModel = validate_json(text, strict=True)
    except ValidationError as error:
        found = _laxly(definition, error, text, wanted) if definition.lax else None
        if found is None:  # what is told is what is wrong strictly
            raise _refusal(error, value, wanted=wanted) from error
        model = found
    reserved = [key for key in model.__pydantic_extra__ or () if key in definition.reserved]
    if reserved:
        raise InvalidError([Fault((key,), (key,), None, "reserved", "unknown field") for key in reserved])
    return model


def _laxly(definition: Definition, strictly: ValidationError, text: bytes, wanted: WantedAt) -> BaseModel | None:
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
        return cast("BaseModel", definition.model.__pydantic_validator__.validate_json(text))
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
