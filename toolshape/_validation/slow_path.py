"""The slow path: coerces and validates what the fast path did not accept.

It is one for pydantic's models and for JSON Schemas: a ``Checker`` is all that differs. The order
is that in which things were done to the arguments, read backwards: the text is read as JSON, with
repairs if the rules allow them; the provider's form is mapped back to the canonical one; then the
value is coerced until it is valid. So every coercion is recorded with canonical names and values,
and a problem names what the author knows, not what the provider was sent.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import to_json

from toolshape import _validation
from toolshape._records.calls import Coercion, JsonSchema, plain_text
from toolshape._records.errors import CallError, CallErrorCode, Problem, preview
from toolshape._schema.backtracking import depth_of
from toolshape._schema.rewrites import WIRE_FORM
from toolshape._schema.values import UnreadableError, copy_json
from toolshape._validation.apply_coercions import (
    Checker,
    Coercer,
    InvalidError,
    TooMuchWrongError,
    coerce_until_valid,
)
from toolshape._validation.faults import path_of
from toolshape._validation.feedback import annotate, problems_of
from toolshape._validation.json_text import HALF_A_PAIR, NOT_ENCODED, parse_json
from toolshape._validation.settings import Validated, ValidationSettings


def validate_with_coercions(
    checker: Checker,
    schema: JsonSchema,
    settings: ValidationSettings,
    arguments: Any,
    *,
    deepest: int | None = None,
    refused: Callable[[Any], InvalidError] | None = None,
) -> Validated:
    """Coerce the invalid values in arguments as far as the rules allow,
    and validate the arguments again.

    Args:
        checker: The validator for the arguments.
        schema: The canonical schema of the arguments; the feedback uses its names and types.
        settings: How to validate the arguments.
        arguments: The payload as sent.
        deepest: The limit on the nesting depth, if the validator's work multiplies with each level.
        refused: A function that takes the parsed arguments, and returns the error that the fast
            path already raised.

    Raises:
        CallError: The payload is not an object, or it is invalid and no rule applies.
    """
    try:
        reader = _PayloadReader(settings)
        value, coercions = reader.as_object(arguments), reader.coercions
        if deepest is not None and depth_of(value) > deepest:
            raise _too_deep_error(settings, f"nested more than {deepest} levels deep")
        if settings.back is not None:
            value = settings.back(value)
        if refused is not None and not coercions:
            known_error = refused(value)
        else:
            known_error = None
        coerced = coerce_until_valid(
            checker, value, Coercer(settings.rules, reader.read), already=known_error
        )
    except InvalidError as error:
        problems = problems_of(error.explained(), schema, error.value)
        if settings.annotates:
            text = annotate(error.value, problems, schema)
        else:
            text = ""
        raise CallError(
            "invalid_arguments",
            tool=settings.name,
            problems=problems,
            arguments=error.value,
            annotated=text,
        ) from (error.__cause__ or error)
    except TooMuchWrongError as error:
        raise _too_deep_error(
            settings, "too many problems to report: send fewer values", "too_much_wrong"
        ) from error
    except UnreadableError as error:  # raised by ``back`` for JSON text inside the arguments
        raise _unreadable_error(settings.name, error) from error
    except RecursionError as error:
        raise _too_deep_error(settings, "nested too deeply to be read") from error
    return coerced.validated, (*coercions, *coerced.coercions)


def _too_deep_error(
    settings: ValidationSettings, message: str, rule: str = "too_deep"
) -> CallError:
    problem = Problem(path="", rule=rule, message=message)
    return CallError("malformed_arguments", tool=settings.name, problems=[problem])


def _repair_text(text: str, number: type[float]) -> Any:
    """Parse text that is almost JSON; see ``repair.read_repaired``."""
    return _validation.repair.read_repaired(text, number)


class _PayloadReader:
    """Parses one payload as a JSON object, and applies the coercion rules for whole payloads."""

    __slots__ = ("coercions", "name", "rules", "takes_text")

    def __init__(self, settings: ValidationSettings) -> None:
        self.name = settings.name
        self.rules = settings.rules
        self.takes_text = settings.takes_text
        self.coercions: list[Coercion] = []

    def as_object(self, arguments: Any) -> Any:
        value = arguments
        if isinstance(value, (str, bytes)):
            value = self.parsed(value)
            if type(value) is dict:
                return value
        elif not self.takes_text and (text := plain_text(arguments)) is not None:
            # A call of an ordinary tool in the form for free text can only hold JSON text.
            value = text
        if isinstance(value, str) and "json_text" in self.rules:
            is_meant = value.strip() in ("", "null") or value.lstrip()[0] in "{["
            if is_meant or "repair_json" in self.rules:
                inner = self.parsed(value)
            else:
                inner = value
            if isinstance(inner, dict) or inner is None:
                self.coercions.append(Coercion("", "json_text", value, copy_json(inner)))
                value = inner
        if value is None and "empty_as_no_arguments" in self.rules:
            self.coercions.append(Coercion("", "empty_as_no_arguments", arguments, {}))
            value = {}
        if isinstance(value, Mapping):  # parse a copy, because the caller's object must not change
            if value is arguments:
                return self.parsed(self.written(value))
            return value
        problem = Problem(
            path="", rule="not_an_object", expected="a JSON object", got=preview(value)
        )
        raise CallError("malformed_arguments", tool=self.name, problems=[problem])

    def read(self, text: str, may_repair: bool) -> tuple[Any, bool]:
        """Parse JSON text from a string in the arguments; return the value, and
        whether the text was repaired.
        """
        return parse_json(text, _repair_text if may_repair else None)

    def parsed(self, text: str | bytes) -> Any:
        """Parse JSON text, or return ``None`` if it is blank; record a repair as a coercion."""
        if not text.strip():
            return None
        if "repair_json" in self.rules:
            repair = _repair_text
        else:
            repair = None
        try:
            value, was_repaired = parse_json(text, repair)
        except UnreadableError as error:
            raise _unreadable_error(self.name, error) from error
        if was_repaired:
            self.coercions.append(Coercion("", "repair_json", text, copy_json(value)))
        return value

    def written(self, value: Mapping[str, Any]) -> bytes:
        try:
            return to_json(value)
        except ValueError as error:
            is_half = str(error).endswith(NOT_ENCODED)
            if is_half:
                why = HALF_A_PAIR
            else:
                why = type(error).__name__
            words = f"a value cannot be written as JSON: {why}"
            problem = Problem(path="", rule="not_json", message=words)
            raise CallError("malformed_arguments", tool=self.name, problems=[problem]) from error


def _unreadable_error(tool: str, error: UnreadableError) -> CallError:
    problem = Problem(path=path_of(error.location), rule=error.rule, message=str(error))
    return CallError(_CODES.get(error.rule, "malformed_arguments"), tool=tool, problems=[problem])


_CODES: Mapping[str, CallErrorCode] = {
    "json_truncated": "truncated_arguments",
    "repeated_key": "invalid_arguments",
    WIRE_FORM: "invalid_arguments",
}
