"""Validates arguments in one strict parse.

Invalid arguments and arguments with repeated keys take the slow path.

A call is valid nearly always, and then pydantic's own parser does everything that is needed: it
reads the text and validates it strictly in one go. What it does not tell is whether a key was
repeated, in which case the last one has won. So the keys of the instance are counted and compared
with the colons of the text; only if they differ is the text read a second time.

The path is chosen when the tool is bound, from the traits of its model, so that a call asks nothing
that could be known before. Whatever is unusual (an object, bytes, a field that pydantic would
round, an arrow back to canonical form, a model that refers to itself) has a validator of its own
around the same parser. Every error leads to the slow path, which begins again with the arguments as
the model wrote them; there is no state between the two.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_core import from_json, to_json

from toolshape import _validation
from toolshape._function import core_schema
from toolshape._function.core_schema.key_count import KeyCount, count_of_flat
from toolshape._records.errors import CallError, Problem
from toolshape._schema.arrows import Arrow, Dropped
from toolshape._schema.backtracking import is_too_deep
from toolshape._schema.values import parser_input
from toolshape._validation.json_text import has_every_key, keys_in, repeats_key
from toolshape._validation.model_traits import ModelTraits
from toolshape._validation.settings import Validate, Validated, ValidationSettings, to_canonical

if TYPE_CHECKING:
    from toolshape._function.core_schema.null_defaults import NullAdmitting


def compile_model_validation(traits: ModelTraits, settings: ValidationSettings) -> Validate:
    """Compile a function that validates arguments, which may be JSON text, bytes or an object.

    Args:
        traits: The pydantic model to validate against, and its traits.
        settings: How to validate the arguments.

    Returns:
        A function that raises ``CallError`` (``malformed_arguments``, ``truncated_arguments``,
        ``invalid_arguments``); exceptions of user validators other than ``ValueError`` pass
        through.
    """
    slow_path = _compile_slow_path_later(traits, settings)
    if traits.has_decimals or traits.deepest is not None:
        return slow_path
    validate_anything = _compile_anything(traits, settings.back, slow_path)
    if traits.unions_recur:
        return _limit_depth(settings.name, validate_anything)
    if traits.reserved or traits.count_keys is None or (settings.back and not settings.drops):
        return validate_anything
    validate_text = _compile_text(traits, traits.count_keys, slow_path, validate_anything)
    if settings.drops:
        return _compile_text_with_nulls(
            traits, settings.drops, validate_text, slow_path, validate_anything
        )
    return validate_text


_SlowPath: TypeAlias = Callable[..., Validated]


def _compile_slow_path_later(traits: ModelTraits, settings: ValidationSettings) -> _SlowPath:
    """Return the slow path; it is imported and compiled only when arguments first need it."""
    compiled: list[_SlowPath] = []

    def slow_path(arguments: Any, error: Exception | None = None) -> Validated:
        if not compiled:
            compiled.append(_validation.pydantic_checker.compile_slow_path(traits, settings))
        return compiled[0](parser_input(arguments), error)

    return slow_path


def _limit_depth(name: str, validate: Validate) -> Validate:
    """Return a validator that first rejects arguments that are nested too deeply
    to be validated in bounded time.
    """

    def bounded(arguments: Any) -> Validated:
        text = parser_input(arguments)
        try:
            text = text if isinstance(text, (str, bytes)) or text is None else to_json(text)
            is_too_much = text is not None and is_too_deep(text, lambda: from_json(text))
        except ValueError:  # the text is not JSON; ``validate`` reports that
            is_too_much = False
        if is_too_much:
            problem = Problem(
                path="", rule="too_deep", message="nested too deeply for their length"
            )
            raise CallError("malformed_arguments", tool=name, problems=[problem])
        return validate(arguments)

    return bounded


def _compile_anything(traits: ModelTraits, back: Arrow | None, slow_path: _SlowPath) -> Validate:
    """Return a validator for text, bytes and objects; ``back`` first maps a
    provider's wire form to canonical form.
    """
    validate_json = traits.validators.full
    count_keys, reserved = traits.count_keys, traits.reserved

    def validate(arguments: Any) -> Validated:
        arguments = parser_input(arguments)
        try:
            if back is None:
                canonical = arguments
            else:
                canonical = to_canonical(arguments, back)
            if isinstance(canonical, (str, bytes)):
                model = validate_json(canonical)
                if count_keys:
                    keys = count_keys(model)
                else:
                    keys = keys_in(from_json(canonical))
                if not has_every_key(canonical, keys) and repeats_key(canonical):
                    return slow_path(arguments)
            else:
                model = validate_json(to_json(canonical))
        except (
            Exception
        ) as error:  # text that is no JSON, a wrong value, or code of the author's that crashed
            return slow_path(arguments, error)
        if reserved and not reserved.isdisjoint(model.__pydantic_extra__ or ()):
            return slow_path(arguments)
        return model, ()

    return validate


def _compile_text(
    traits: ModelTraits, count_keys: KeyCount, slow_path: _SlowPath, anything: Validate
) -> Validate:
    """Return a validator with minimal overhead for JSON text, because
    nearly all providers send JSON text.
    """
    validate_json = traits.validators.full
    is_flat = count_keys is count_of_flat

    def validate(arguments: Any) -> Validated:
        if type(arguments) is not str:
            if type(arguments) is not dict:
                return anything(arguments)
            try:
                return validate_json(to_json(arguments)), ()  # an object repeats no key
            except Exception as error:
                return slow_path(arguments, error)
        try:
            model = validate_json(arguments)
        except Exception as error:
            return slow_path(arguments, error)
        if is_flat:
            keys = len(model.__pydantic_fields_set__)
        else:
            keys = count_keys(model)
        if arguments.count(":") != keys and repeats_key(arguments):  # each key has a colon
            return slow_path(arguments)
        return model, ()

    return validate


def _compile_text_with_nulls(
    traits: ModelTraits, dropped: Dropped, text: Validate, slow_path: _SlowPath, anything: Validate
) -> Validate:
    """Return a validator for JSON text in which null means that a field is omitted.

    If defaults can replace the nulls in the validated instance, the validator parses the text only
    once.
    """
    # The provider's schema lists optional fields as required and nullable, so null means that the
    # field is omitted. A second validator accepts these nulls; ``forget`` then replaces them with
    # defaults in the validated instance. The second validator is compiled when the first null
    # arrives. It is None if the core schema does not allow it.
    compiled: list[NullAdmitting | None] = []

    def validate(arguments: Any) -> Validated:
        if type(arguments) is not str:
            return anything(arguments)
        if "null" not in arguments:
            return text(arguments)
        if not compiled:
            compiled.append(
                core_schema.null_defaults.compile_null_admitting(
                    traits.model.__pydantic_core_schema__, dropped
                )
            )
        null_admitting = compiled[0]
        if null_admitting is None:
            return anything(arguments)
        try:
            model = null_admitting.validate_json(arguments)
        except Exception:
            return slow_path(arguments)
        if arguments.count(":") != null_admitting.count_keys(model) and repeats_key(arguments):
            return slow_path(arguments)
        null_admitting.forget(model)
        return model, ()

    return validate
