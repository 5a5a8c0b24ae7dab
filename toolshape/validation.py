"""A model's arguments in; the validated pydantic model and the record of every mend out, or a ``CallError``."""

import functools
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from toolshape.arrows import Arrow, Dropped
from toolshape.checking import Validation, checker_of, refusal_of
from toolshape.counting import KeyCount, count_of_flat
from toolshape.mending import Checker, mended_at_once
from toolshape.nulls import Nulled, admitting_nulls
from toolshape.payload import Terms, Validate, Validated, mended, taken_home
from toolshape.reading import has_every_key, keys_in, read, repeats_key

__all__ = ["compile_validate"]


def compile_validate(validation: Validation, terms: Terms) -> Validate:
    """Compile the way from what a model sent (JSON text, bytes, or an object) to validated arguments.

    Args:
        validation: What to validate against.
        terms: On what terms they are taken.

    Returns:
        A function that raises ``CallError`` (``malformed_arguments``, ``truncated_arguments``,
        ``invalid_arguments``), and lets through what the author's own validators raise beyond ``ValueError``.
    """
    slowly = _Slowly(validation, terms)
    if validation.has_decimals or validation.deepest is not None:
        return slowly
    anything = _of_anything(validation, terms.back, slowly)
    if validation.reserved or validation.count_keys is None or (terms.back and not terms.drops):
        return anything
    text = _of_text(validation, validation.count_keys, slowly, anything)
    return _of_text_with_nulls(validation, terms.drops, text, slowly, anything) if terms.drops else text


class _Slowly:
    """The path of what is not valid at once; what it takes is compiled when it is first needed."""

    __slots__ = ("_checker", "_is_plain", "terms", "validation")

    def __init__(self, validation: Validation, terms: Terms) -> None:
        self.validation = validation
        self.terms = terms
        self._checker: Checker | None = None
        is_odd = validation.lax or validation.has_decimals or validation.reserved or validation.count_keys is None
        self._is_plain = not (is_odd or terms.back or validation.deepest)

    def __call__(self, arguments: Any, error: ValueError | None = None) -> Validated:
        validation, checker = self.validation, self._checker
        if checker is None:
            checker = self._checker = checker_of(validation)
        refused = None
        if isinstance(error, ValidationError) and not validation.lax:  # else it may be right all the same
            if self._is_plain and type(arguments) is str and (found := self._at_once(checker, arguments, error)):
                return found
            refused = functools.partial(refusal_of, error, wanted=checker.wanted)
        return mended(
            checker,
            validation.schema,
            self.terms,
            arguments,
            keeps_floats=validation.has_decimals,
            deepest=validation.deepest,
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
        if mended_text.count(b":") + left_out != text.count(":"):  # a key came twice: each has a colon of its own
            return None
        try:
            return self.validation.model.__pydantic_validator__.validate_json(mended_text, strict=True), tuple(made)
        except ValidationError:
            return None


def _parsed(text: str) -> tuple[Any, bool]:
    return read(text, None)


def _of_anything(validation: Validation, back: Arrow | None, slowly: _Slowly) -> Validate:
    """Take text, bytes and objects, home where they are in another form."""
    validate_json = validation.model.__pydantic_validator__.validate_json
    count_keys, reserved = validation.count_keys, validation.reserved

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


def _of_text(validation: Validation, count_keys: KeyCount, slowly: _Slowly, anything: Validate) -> Validate:
    """Take text, as nearly all providers send, with as little around pydantic's own work as can be."""
    validate_json = validation.model.__pydantic_validator__.validate_json
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
    validation: Validation, dropped: Dropped, text: Validate, slowly: _Slowly, anything: Validate
) -> Validate:
    """Take text in whose form null says that a field is left out: in one parse, where its nulls can be forgotten."""
    compiled: list[Nulled | None] = []

    def validate(arguments: Any) -> Validated:
        if type(arguments) is not str:
            return anything(arguments)
        if "null" not in arguments:
            return text(arguments)
        if not compiled:
            compiled.append(admitting_nulls(validation.model.__pydantic_core_schema__, dropped))
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
