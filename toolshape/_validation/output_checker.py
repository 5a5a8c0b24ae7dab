"""Compiles a function that checks a tool's results against its output schema. Needs jsonschema."""

import itertools
from collections.abc import Callable

from pydantic_core import from_json

from toolshape._records.calls import JsonSchema
from toolshape._schema.values import is_finite
from toolshape._validation.faults import path_of
from toolshape._validation.jsonschema_checker import make_checkable
from toolshape._validation.jsonschema_keywords import Validator, checking
from toolshape._validation.pattern_search import searches_for
from toolshape._validation.quick_check import compile_quick_check

_MOST_NAMED = 5


class WrongResultError(ValueError):
    """A tool's result violates its output schema; the message names up to five violations."""


def compile_output_check(tool: str, schema: JsonSchema) -> Callable[[str, bool], None]:
    """Compile the function that checks a tool's results.

    Args:
        tool: The tool's name, for the error.
        schema: The schema of the tool's results, in draft 2020-12.

    Returns:
        A function that takes the text of a result, and whether this text is the value itself rather
        than JSON. The function raises ``WrongResultError`` if the schema does not admit the result.
    """
    searches = searches_for(schema)
    validator = Validator(make_checkable(schema, searches))
    quick_check = compile_quick_check(schema)

    def check(text: str, is_text: bool) -> None:
        value = text if is_text else from_json(text)
        try:
            if quick_check is not None and quick_check(value):
                return
        except RecursionError:  # the full validator decides
            pass
        with checking(searches):
            errors = list(itertools.islice(validator.iter_errors(value), _MOST_NAMED))
        if errors or not is_finite(value):
            violations = [
                f"{path_of(tuple(error.absolute_path)) or 'the result'}: {error.message[:200]}"
                for error in errors
            ] or ["JSON has no NaN and no infinity"]
            raise WrongResultError(
                f"{tool} returned a value that its output schema does not admit: "
                f"{'; '.join(violations)}"
            )

    return check
