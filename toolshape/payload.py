"""What a model sent in, a JSON object out; and the loop that mends it until it is valid or beyond mending."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic_core import from_json, to_json

from toolshape.arrows import Arrow
from toolshape.calls import Coercion
from toolshape.coercion import Location, Wanted, mend, path_of
from toolshape.errors import CallError, Problem, shown

__all__ = ["Check", "InvalidError", "Validate", "Validated", "mended", "taken_home", "unknown_field"]

_MOST_ROUNDS = 4  # a text that holds texts: each round mends one layer

Validated: TypeAlias = tuple[Any, tuple[Coercion, ...]]
Validate: TypeAlias = Callable[[Any], Validated]
Check: TypeAlias = Callable[[dict[str, Any]], Any]


class InvalidError(Exception):
    """Arguments are not what the tool takes: ``places`` are those at fault and what stands there."""

    def __init__(self, places: Sequence[tuple[Location, Any]], problems: Sequence[Problem]) -> None:
        self.places = places
        self.problems = problems
        super().__init__(str(problems))


def taken_home(arguments: Any, back: Arrow) -> Any:
    """The arguments in canonical form; what is no JSON object stays as it is, to be mended or refused."""
    value = arguments
    if isinstance(value, (str, bytes)):
        try:
            value = from_json(value)
        except ValueError:
            return arguments
    return back(value) if isinstance(value, dict) else arguments


def mended(
    check: Check,
    wanted: Callable[[Location], Wanted | None],
    rules: frozenset[str],
    name: str,
    arguments: Any,
    back: Arrow | None,
) -> Validated:
    """The slow path: find out what is wrong, mend what the rules mend, and check again.

    Args:
        check: Gives the validated arguments, or raises ``InvalidError``.
        wanted: What is wanted at a place.
        rules: The coercion rules that are on.
        name: The tool's name as the model knows it.
        arguments: The payload as sent.
        back: What takes an object home.

    Raises:
        CallError: It cannot be read as an object, or is not valid and no rule mends it.
    """
    value, coercions = _as_object(arguments, rules, name)
    if back is not None:
        value = back(value)
    rounds_left = _MOST_ROUNDS
    while True:
        try:
            return check(value), tuple(coercions)
        except InvalidError as error:
            mending = mend(value, error.places, wanted, rules)
            if not mending.coercions or not rounds_left:
                cause = error.__cause__ or error
                raise CallError("invalid_arguments", tool=name, problems=error.problems) from cause
            value = mending.value
            coercions.extend(mending.coercions)
            rounds_left -= 1


def _as_object(arguments: Any, rules: frozenset[str], name: str) -> tuple[dict[str, Any], list[Coercion]]:
    """Read the payload as a JSON object, with what may be mended of the payload as a whole."""
    value, coercions = arguments, list[Coercion]()
    if isinstance(value, (str, bytes)):
        value = None if not value.strip() else _parsed(value, name)
    if isinstance(value, str) and "json_text" in rules:
        inner = None if not value.strip() else _parsed(value, name)
        if isinstance(inner, dict) or inner is None:
            coercions.append(Coercion("", "json_text", arguments, inner))
            value = inner
    if value is None and "empty_as_no_arguments" in rules:
        coercions.append(Coercion("", "empty_as_no_arguments", arguments, {}))
        value = {}
    if isinstance(value, Mapping):
        return _parsed(_written(value, name), name), coercions
    problem = Problem(path="", rule="not_an_object", expected="a JSON object", got=shown(value))
    raise CallError("malformed_arguments", tool=name, problems=[problem])


def _written(value: Mapping[str, Any], name: str) -> bytes:
    try:
        return to_json(value)
    except ValueError as error:
        problem = Problem(path="", rule="not_json", message=f"{type(error).__name__}: not a JSON value")
        raise CallError("malformed_arguments", tool=name, problems=[problem]) from error


def _parsed(text: str | bytes, name: str) -> Any:
    try:
        return from_json(text.encode() if isinstance(text, str) else text)
    except ValueError as error:
        message = str(error)
        truncated = message.startswith("EOF while parsing")
        problem = Problem(path="", rule="json_truncated" if truncated else "json_invalid", message=message)
        raise CallError(
            "truncated_arguments" if truncated else "malformed_arguments", tool=name, problems=[problem]
        ) from error


def unknown_field(location: Sequence[int | str], known: Iterable[Any]) -> Problem:
    """A field that nobody knows, with the name that may have been meant."""
    near = difflib.get_close_matches(str(location[-1]), [str(name) for name in known], 1)
    hint = f'did you mean "{near[0]}"?' if near else ""
    return Problem(path=path_of(location), rule="extra_forbidden", message="unknown field", hint=hint)
