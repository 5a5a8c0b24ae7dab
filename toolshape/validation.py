"""A model's arguments in; the validated pydantic model and the record of every mend out, or a ``CallError``."""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, from_json, to_json

from toolshape.calls import JsonSchema
from toolshape.coercion import fields_of, has, path_of, wanted_at
from toolshape.errors import CallError, Problem, shown
from toolshape.model import Definition
from toolshape.payload import InvalidError, Validate, Validated, mended, taken_home, unknown_field

__all__ = ["compile_validate"]


def compile_validate(
    definition: Definition, rules: frozenset[str], name: str, back: Callable[[Any], Any] | None = None
) -> Validate:
    """Compile the way from what a model sent (JSON text, bytes, or an object) to validated arguments.

    Args:
        definition: What to validate against.
        rules: The coercion rules that are on.
        name: The tool's name as the model knows it, for the error.
        back: What takes arguments in a provider's form to the canonical one; ``None`` where they are the same.

    Returns:
        A function that raises ``CallError`` (``malformed_arguments``, ``truncated_arguments``,
        ``invalid_arguments``), and lets through what the author's own validators raise beyond ``ValueError``.
    """
    validate_json = definition.model.__pydantic_validator__.validate_json
    extra = definition.extra
    is_guarded = bool(definition.mixed or definition.reserved)
    check = functools.partial(_checked, definition)
    wanted = functools.partial(wanted_at, definition.model.__pydantic_core_schema__)

    def validate(arguments: Any) -> Validated:
        home = arguments if back is None else taken_home(arguments, back)
        try:
            text = home if isinstance(home, (str, bytes)) else to_json(home)
            model = validate_json(text, strict=True, extra=extra)
        except ValueError:  # pydantic's, also for text that is not JSON or not UTF-8
            return mended(check, wanted, rules, name, arguments, back)
        if is_guarded:
            try:
                _guard(definition, model, text)
            except InvalidError as error:
                raise CallError("invalid_arguments", tool=name, problems=error.problems) from error
        return model, ()

    return validate


def _checked(definition: Definition, value: Any) -> BaseModel:
    """Validate strictly; where the author made a place lax, laxly too, if that leaves what was written as it was."""
    validate_json = definition.model.__pydantic_validator__.validate_json
    text = to_json(value)
    try:
        model: BaseModel = validate_json(text, strict=True, extra=definition.extra)
    except ValidationError as error:
        found = _laxly(definition, value, text) if definition.lax else None
        if found is None:  # what is told is what is wrong strictly
            errors = error.errors(include_url=False)
            places = [(details["loc"], details["input"]) for details in errors]
            problems = _problems(errors, value, definition.model.__pydantic_core_schema__)
            raise InvalidError(places, problems) from error
        model = found
    _guard(definition, model, text)
    return model


def _laxly(definition: Definition, value: Any, text: bytes) -> BaseModel | None:
    with contextlib.suppress(ValidationError):
        model: BaseModel = definition.model.__pydantic_validator__.validate_json(text, extra=definition.extra)
        if _says_the_same(value, model.model_dump(mode="json", by_alias=True, warnings=False)):
            return model
    return None


def _says_the_same(written: Any, read: Any) -> bool:
    """Whether all that was written is in what was read, to the type; what was read may hold defaults besides."""
    if isinstance(written, dict) and isinstance(read, dict):
        return all(key in read and _says_the_same(value, read[key]) for key, value in written.items())
    if isinstance(written, list) and isinstance(read, list):
        return len(written) == len(read) and all(map(_says_the_same, written, read))
    return type(written) is type(read) and bool(written == read)


def _guard(definition: Definition, model: BaseModel, text: str | bytes) -> None:
    """Refuse what pydantic let through although it must not pass."""
    problems = [unknown_field((key,), ()) for key in model.__pydantic_extra__ or () if key in definition.reserved]
    if definition.mixed:
        problems += _unknown_fields(from_json(text), definition.schema, definition.schema, ())
    if problems:
        raise InvalidError((), problems)


def _unknown_fields(value: Any, schema: JsonSchema, root: JsonSchema, location: tuple[int | str, ...]) -> list[Problem]:
    """Fields of closed objects that the schema does not know, in a value that is valid otherwise."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        # Of the branches that take objects (or arrays), the one with the fewest: the value is valid otherwise.
        kind = {"dict": "object", "list": "array"}.get(type(value).__name__)
        alike = [branch for branch in branches if branch.get("type", kind) == kind or "$ref" in branch]
        return min((_unknown_fields(value, branch, root, location) for branch in alike), key=len, default=[])
    problems: list[Problem] = []
    if isinstance(value, list):
        prefix = schema.get("prefixItems", [])
        for index, item in enumerate(value):
            inner = prefix[index] if index < len(prefix) else schema.get("items")
            if isinstance(inner, dict):
                problems += _unknown_fields(item, inner, root, (*location, index))
    elif isinstance(value, dict):
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        for key, item in value.items():
            inner = properties.get(key, others if not schema.get("patternProperties") else True)
            if inner is False:
                problems.append(unknown_field((*location, key), properties))
            elif isinstance(inner, dict):
                problems += _unknown_fields(item, inner, root, (*location, key))
    return problems


def _problems(errors: Sequence[ErrorDetails], value: Any, core: Mapping[str, Any]) -> list[Problem]:
    """One problem a place: the branches of a union that all refused it become its alternatives."""
    found: dict[str, Problem] = {}
    for error in errors:
        location = _in_value(error["loc"], value, error["type"] == "missing")
        problem = _problem(error, location, core)
        before = found.get(problem.path)
        if before is not None and before.expected and problem.expected:
            alternatives = [before.expected, problem.expected]
            if problem.expected not in before.expected.split(" or "):
                found[problem.path] = Problem(
                    path=problem.path, rule="union", expected=" or ".join(alternatives), got=problem.got
                )
        elif before is None:
            found[problem.path] = problem
    return list(found.values())


def _in_value(location: tuple[int | str, ...], value: Any, missing: bool) -> tuple[int | str, ...]:
    """A pydantic location without the names of union branches, which no model ever saw."""
    steps: list[int | str] = []
    for index, step in enumerate(location):
        if has(value, step):
            value = value[step]
            steps.append(step)
        elif missing and index == len(location) - 1:
            steps.append(step)
    return tuple(steps)


def _problem(error: ErrorDetails, location: tuple[int | str, ...], core: Mapping[str, Any]) -> Problem:
    rule, context = error["type"], error.get("ctx", {})
    if rule == "missing":
        return Problem(path=path_of(location), rule=rule, message="required, but missing")
    if rule in ("extra_forbidden", "unexpected_keyword_argument"):
        parent = wanted_at(core, error["loc"][:-1])
        return unknown_field(location, [name for name, _ in fields_of(parent.node)] if parent else ())
    expected = _EXPECTED.get(rule)
    if expected is None:
        message = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        return Problem(path=path_of(location), rule=rule, message=message, got="")
    try:
        expected = expected.format_map({key: _number(value) for key, value in context.items()})
    except KeyError:  # an author's own error under pydantic's name
        return Problem(path=path_of(location), rule=rule, message=error["msg"])
    return Problem(path=path_of(location), rule=rule, expected=expected, got=shown(error["input"]))


def _number(value: Any) -> Any:
    """A bound as the schema has it: pydantic makes a float of it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_ARRAY_ERRORS = ("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type", "named_tuple_type")
_OBJECT_ERRORS = (
    "arguments_type", "dataclass_type", "dict_type", "mapping_type", "model_attributes_type", "model_type",
)  # fmt: skip
_EXPECTED: Mapping[str, str] = {
    **dict.fromkeys(_ARRAY_ERRORS, "array"),
    **dict.fromkeys(_OBJECT_ERRORS, "object"),
    **dict.fromkeys(("uuid_type", "uuid_parsing", "uuid_version"), "UUID"),
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing"), "date (YYYY-MM-DD)"),
    **dict.fromkeys(("datetime_type", "datetime_parsing", "datetime_from_date_parsing"), "date-time (ISO 8601)"),
    **dict.fromkeys(("time_type", "time_parsing"), "time (ISO 8601)"),
    **dict.fromkeys(("time_delta_type", "time_delta_parsing"), "duration (ISO 8601)"),
    **dict.fromkeys(("decimal_type", "decimal_parsing"), "decimal number"),
    **dict.fromkeys(("literal_error", "enum"), "one of {expected}"),
    "string_type": "string",
    "bytes_type": "string",
    "path_type": "string",
    "int_type": "integer",
    "float_type": "number",
    "bool_type": "boolean",
    "none_required": "null",
    "greater_than": "a value > {gt}",
    "greater_than_equal": "a value >= {ge}",
    "less_than": "a value < {lt}",
    "less_than_equal": "a value <= {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "finite_number": "a finite number",
    "too_short": "at least {min_length} items",
    "too_long": "at most {max_length} items",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "string_pattern_mismatch": "a string that matches {pattern}",
    "union_tag_invalid": "{discriminator} to be one of {expected_tags}",
    "union_tag_not_found": "an object with {discriminator}",
}
