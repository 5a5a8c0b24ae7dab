"""Checks that what the author's validators pass on unchanged has the inner structure.

Inside the author's code, pydantic's own mode holds, and in that mode ``"00125"`` is a number. If
the code changes a value, the new value is the author's. But what it passes on unchanged is still
what the model wrote, and nothing of that is read laxly in silence.
"""

import contextlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence, Set as AbstractSet
from contextvars import ContextVar
from typing import Any, NamedTuple, cast

from pydantic_core import (
    ErrorDetails,
    InitErrorDetails,
    PydanticCustomError,
    SchemaValidator,
    ValidationError,
    to_json,
)

from toolshape._function.core_schema.nodes import Node

_AS_WRITTEN: ContextVar[AbstractSet[bytes]] = ContextVar(
    "toolshape_as_written", default=frozenset()
)


_REFUSED: ContextVar[ValidationError | None] = ContextVar("toolshape_refused", default=None)


def take_refusal() -> ValidationError | None:
    """Return the last refusal of a check in this context, and forget it.

    Code of the author's that runs after it may crash, for want of the refused value. Then the
    refusal is the reason.
    """
    refused = _REFUSED.get()
    if refused is not None:
        _REFUSED.set(None)
    return refused


@contextlib.contextmanager
def reading_as_written(texts: AbstractSet[bytes]) -> Generator[None]:
    """Let these JSON texts pass the check: pydantic reads them in its own mode,
    and the coercion is on record.
    """
    token = _AS_WRITTEN.set(texts)
    try:
        yield
    finally:
        _AS_WRITTEN.reset(token)


class Inside(NamedTuple):
    """Compiles what a validator wraps, when it is first needed: its structure,
    and its structure looked through.
    """

    structure: Callable[[], SchemaValidator]
    through: Callable[[], SchemaValidator]


def check_unchanged(node: Node, inside: Inside) -> Mapping[str, Any]:
    """Return the ``function`` of a before or wrap validator, with the check.

    Code that catches errors never catches those of a check: inside a wrap validator they are
    collected, and told after the validator's function has returned.

    Args:
        node: The validator's node.
        inside: What the validator wraps.
    """
    function = node["function"]["function"]
    if node["function"]["type"] == "no-info":
        function = _ignoring_info(function)
    if node["type"] == "function-before":
        made = _checked_before
    else:
        made = _checked_wrap
    return {**node["function"], "type": "with-info", "function": made(function, inside)}


def _ignoring_info(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: function(*given[:-1])


_COLLECTED: ContextVar[list[ValidationError] | None] = ContextVar(
    "toolshape_collected", default=None
)
"""The refusals of checks inside the wrap validator that is running; ``None`` outside of one."""


def _refuse(refusal: ValidationError) -> None:
    """Tell a refusal to the wrap validator that is running, or raise it."""
    collected = _COLLECTED.get()
    if collected is not None:
        collected.append(refusal)
        return
    _REFUSED.set(refusal)
    raise refusal


def _refusal(structure: SchemaValidator, text: bytes) -> ValidationError | None:
    """Return why JSON text has not the structure of what is inside;
    ``None`` if its coercion is on record.
    """
    if text in _AS_WRITTEN.get():
        return None
    try:
        structure.validate_json(text)
    except ValidationError as refusal:
        return refusal
    return None


def _checked_before(function: Callable[..., Any], inside: Inside) -> Callable[..., Any]:
    def before(value: Any, info: Any) -> Any:
        text = _json_of(value)
        passed_on = function(value, info)
        if text is not None and _json_of(passed_on) == text:
            refusal = _refusal(inside.structure(), text)
            if refusal is not None:
                _refuse(refusal)
        return passed_on

    return before


def _checked_wrap(function: Callable[..., Any], inside: Inside) -> Callable[..., Any]:
    def wrap(value: Any, handler: Callable[..., Any], info: Any) -> Any:
        text = _json_of(value)
        refusals: list[ValidationError] = []

        def checked(inner: Any, *location: Any) -> Any:
            collected: list[ValidationError] = []
            token = _COLLECTED.set(collected)
            try:
                taken = handler(inner, *location)
            finally:
                _COLLECTED.reset(token)
            if text is not None and _json_of(inner) == text:
                refusal = _refusal(inside.structure(), text)
                collected = _located(inside, text, collected)
                refusals.extend([refusal] if refusal is not None else collected)
            else:
                refusals.extend(collected)
            return taken

        result = function(value, checked, info)
        if refusals:
            _refuse(refusals[0])
        return result

    return wrap


def _located(
    inside: Inside, text: bytes, collected: Sequence[ValidationError]
) -> list[ValidationError]:
    """Return collected refusals with their places in the value that the wrap validator was
    given.
    """
    if not collected:
        return []
    said = [
        (error["type"], error["loc"])
        for each in collected
        for error in each.errors(include_url=False)
    ]
    try:
        inside.through().validate_json(text)
    except ValidationError as looked_through:
        found = [
            InitErrorDetails(
                type=PydanticCustomError(cast("Any", error["type"]), cast("Any", error["msg"])),
                loc=error["loc"],
                input=error["input"],
            )
            for error in looked_through.errors(include_url=False)
            if ends_as(error, said)
        ]
        if found:
            return [
                ValidationError.from_exception_data(looked_through.title, found, input_type="json")
            ]
    return list(collected)


def ends_as(error: ErrorDetails, said: Iterable[tuple[str, Sequence[int | str]]]) -> bool:
    """Whether an error is one of those that a check told: of the same type, at a
    place that ends with the check's.
    """
    at = error["loc"]
    return any(error["type"] == rule and at[len(at) - len(end) :] == end for rule, end in said)


def _json_of(value: Any) -> bytes | None:
    """Return a value as JSON text, or ``None`` if it is not what a JSON parser makes."""
    if _is_json(value):
        return to_json(value)
    return None


def _is_json(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return all(type(key) is str and _is_json(item) for key, item in value.items())
    if kind is list:
        return all(map(_is_json, value))
    return kind in _SCALARS


_SCALARS = frozenset({str, int, float, bool, type(None)})
