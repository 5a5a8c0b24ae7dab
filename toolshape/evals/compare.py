"""An expected call and one that was made in; how alike what the function would get is, and where it differs, out."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from toolshape.calls import Call, Coercion, JsonObject
from toolshape.dispatch.handler import Handlers
from toolshape.dispatch.resolve import received_by
from toolshape.errors import CallError, UsageError, did_you_mean
from toolshape.evals.expect import Expect, is_matched
from toolshape.evals.matchers import Matcher, is_same
from toolshape.evals.verdict import Difference
from toolshape.results import REFUSED
from toolshape.tool import Tool, record_of
from toolshape.validation.lookup import location_of

__all__ = ["Made", "Pair", "check_expected", "is_happening", "made_of", "pair_of"]

_LEFT_OUT = object()


class Made(NamedTuple):
    """A call that a model made: ``received`` is what its function would get, secrets too, ``None`` where it is refused.

    ``given`` are the arguments as they came, in canonical form; ``error`` is why it is refused.
    """

    call: Call
    tool: Tool[..., Any] | None
    given: JsonObject
    received: JsonObject | None
    coercions: tuple[Coercion, ...]
    error: CallError | None


class Pair(NamedTuple):
    """An expected call beside one that was made: a score from 0 to 1, and the differences."""

    score: float
    differences: tuple[Difference, ...]


def made_of(call: Call, error: CallError | None, handlers: Handlers) -> Made:
    """A call of a plan as its function would get it, without running that."""
    handler = handlers.find(call.wire_name)
    given = (call.arguments if call.name is not None else None) or {}
    if handler is None or (error is not None and error.code in REFUSED):
        return Made(call, None if handler is None else handler.tool, given, None, (), error)
    return Made(call, handler.tool, given, *received_by(handler, call.arguments_raw, reveals=True))


def pair_of(expected: Expect, made: Made) -> Pair:
    """Compare an expected call with one that was made.

    Raises:
        UsageError: The tool refuses the arguments that are expected.
    """
    if made.call.name != expected.tool:
        return Pair(0.0, ())
    if made.received is None or made.tool is None:
        said = "" if made.error is None else str(made.error)
        return Pair(
            0.0, (Difference(kind="refused_arguments", tool=expected.tool, expected=expected.arguments, actual=said),)
        )
    full = _as_received(expected, made.tool, made)
    secrets = record_of(made.tool).secrets
    differences = tuple(
        Difference(
            kind="value",
            tool=expected.tool,
            path=path,
            expected=secrets.masked(one, location_of(path)),
            actual=secrets.masked(other, location_of(path)),
        )
        for path, one, other in _differing(expected.arguments, full, made.received, "")
    )
    asked = expected.arguments.keys() | made.given.keys() | {_root(one.path) for one in differences}
    wrong = {_root(one.path) for one in differences}
    return Pair(1.0 if not asked else 1 - len(wrong) / len(asked), differences)


def _root(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def check_expected(expected: Iterable[Expect], tools: Iterable[Tool[..., Any]]) -> None:
    """Check that the calls that are expected could be made at all.

    Raises:
        UsageError: There is no such tool, it has no argument of a name, or it refuses arguments without matchers.
    """
    by_name = {one.name: one for one in tools}
    for one in expected:
        if one.tool not in by_name:
            if one.is_forbidden:  # what is not there is not called
                continue
            hint = did_you_mean(one.tool, by_name)
            raise UsageError(f"{one!r}: there is no such tool{f' ({hint})' if hint else ''}")
        schema = record_of(by_name[one.tool]).definition.schema
        for name in one.arguments if schema.get("additionalProperties") is False else ():
            if name not in schema.get("properties", {}):
                hint = did_you_mean(name, schema.get("properties", {}))
                raise UsageError(f"{one!r}: it has no argument {name!r}{f' ({hint})' if hint else ''}")
        if not (one.is_forbidden or is_matched(one.arguments)):
            try:
                record_of(by_name[one.tool]).validate_uncoerced(one.arguments)
            except CallError as error:
                raise UsageError(f"{one.tool} refuses what is expected of it: {error}") from error


def is_happening(forbidden: Expect, made: Made) -> bool:
    """Whether a call is one that must not happen: the arguments that are named are those, whatever the others are."""
    if made.call.name != forbidden.tool:
        return False
    received = made.given if made.received is None else made.received
    named = {name: received.get(name, _LEFT_OUT) for name in forbidden.arguments}
    full = forbidden.arguments
    if made.tool is not None and made.received is not None:
        written = _validated(made.tool, {**made.given, **_filled(forbidden.arguments, made.given)})
        full = forbidden.arguments if written is None else {name: written.get(name) for name in forbidden.arguments}
    return not list(_differing(forbidden.arguments, full, named, ""))


def _validated(tool: Tool[..., Any], arguments: JsonObject) -> JsonObject | None:
    """What the function would get of arguments that an author wrote; ``None`` where it refuses them."""
    record = record_of(tool)
    try:
        return record.source.revealed(record.validate_uncoerced(arguments)[0])
    except CallError:
        return None


def _as_received(expected: Expect, tool: Tool[..., Any], made: Made) -> JsonObject:
    """What the function would get of the expected arguments, with what came in the place of each matcher.

    Raises:
        UsageError: The tool refuses them.
    """
    # What came may need a coercion, and what a validator gave it may not take itself.
    for came in (made.given, made.received):
        if (written := _validated(tool, _filled(expected.arguments, came))) is not None:
            return written
    if is_matched(expected.arguments):  # what was received does not go with what is expected beside it
        return {**(made.received or {}), **_filled(expected.arguments, made.received)}
    try:
        record_of(tool).validate_uncoerced(expected.arguments)
    except CallError as error:
        raise UsageError(f"{tool.name} refuses what is expected of it: {error}") from error
    raise AssertionError("it was refused before")


def _filled(expected: Any, received: Any) -> Any:
    """Expected arguments with what was received in the place of matchers; left out where nothing was."""
    if isinstance(expected, Matcher):
        return received
    if isinstance(expected, dict):
        inner = received if isinstance(received, dict) else {}
        filled = {name: _filled(value, inner.get(name, _LEFT_OUT)) for name, value in expected.items()}
        return {name: value for name, value in filled.items() if value is not _LEFT_OUT}
    if isinstance(expected, list):
        items = received if isinstance(received, list) and len(received) == len(expected) else [None] * len(expected)
        return [_filled(one, other) for one, other in zip(expected, items, strict=True)]
    return expected


def _differing(expected: Any, full: Any, received: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """The places where what was received is not what is expected: by a matcher, else by the value in full."""
    if isinstance(expected, Matcher):
        if received is _LEFT_OUT and expected.may_be_left_out:
            return
        if received is _LEFT_OUT or not expected.accepts(received):
            yield path, expected, None if received is _LEFT_OUT else received
    elif isinstance(full, dict) and isinstance(received, dict) and (is_matched(expected) or not path):
        inner = expected if isinstance(expected, dict) else {}
        for name in dict.fromkeys((*inner, *full, *received)):
            place = f"{path}.{name}" if path else str(name)
            one, other = full.get(name, _LEFT_OUT), received.get(name, _LEFT_OUT)
            yield from _differing(inner.get(name, one), one, other, place)
    elif (
        isinstance(expected, list)
        and is_matched(expected)
        and isinstance(received, list)
        and len(expected) == len(received)
    ):
        for at, (one, other) in enumerate(zip(expected, received, strict=True)):
            yield from _differing(one, one, other, f"{path}[{at}]")
    elif not is_same(full, received):
        shown = expected if is_matched(expected) else full
        yield path, None if shown is _LEFT_OUT else shown, None if received is _LEFT_OUT else received
