"""An expected call and one that was made in; how alike what the function would get is, and where it differs, out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from toolshape._calls import Call, Coercion, JsonObject
from toolshape._dispatch.handler import Handlers
from toolshape._dispatch.resolve import received_by
from toolshape._errors import CallError, UsageError, did_you_mean
from toolshape._results import REFUSED
from toolshape._schema.values import WrittenSet, WrittenText, is_same_value
from toolshape._tool import Tool, record_of
from toolshape._validation.lookup import MASKED, location_of
from toolshape.evals._assign import best_pairs
from toolshape.evals._expect import Expect, is_matched
from toolshape.evals._matchers import Matcher
from toolshape.evals._verdict import Difference, DifferenceKind

_LEFT_OUT = object()
_Place = tuple[int | str, ...]


class Made(NamedTuple):
    """A call that a model made: ``received`` is what its function would get, secrets too, ``None`` where it is refused.

    ``given`` are the arguments as they came, in canonical form; ``error`` is why it is refused. ``step`` numbers the
    response that the call is part of.
    """

    call: Call
    tool: Tool[..., Any] | None
    given: JsonObject
    step: int
    received: JsonObject | None
    coercions: tuple[Coercion, ...]
    error: CallError | None


class Pair(NamedTuple):
    """An expected call beside one that was made: a score from 0 to 1, and the differences."""

    score: float
    differences: tuple[Difference, ...]


def made_of(call: Call, error: CallError | None, handlers: Handlers, step: int) -> Made:
    """A call of a plan as its function would get it, without running that."""
    handler = handlers.find(call.wire_name)
    given = (call.arguments if call.name is not None else None) or {}
    if handler is None or (error is not None and error.code in REFUSED):
        return Made(call, None if handler is None else handler.tool, given, step, None, (), error)
    return Made(call, handler.tool, given, step, *received_by(handler, call.arguments_raw, reveals=True))


def pair_of(expected: Expect, made: Made) -> Pair:
    """Compare an expected call with one that was made.

    Raises:
        UsageError: The tool refuses the arguments that are expected.
    """
    if made.call.name != expected.tool or made.tool is None:
        return Pair(0.0, ())
    if expected.match == "name":
        return Pair(1.0, ())
    if made.received is None:
        said = "" if made.error is None else str(made.error)
        found = difference_at("refused_arguments", expected.tool, made.tool, expected=expected.arguments)
        return Pair(0.0, (replace(found, actual=said),))
    full = _as_received(expected, made.tool, made)
    differing = list(_differing(_counted(expected, expected.arguments, full, made.received)))
    differences = tuple(
        difference_at("value", expected.tool, made.tool, place, expected=wanted, actual=received)
        for place, wanted, received in differing
    )
    wrong = {place[0] for place, _, _ in differing}
    given = made.given.keys() if expected.match == "exact" else set()
    asked = expected.arguments.keys() | given | wrong
    return Pair(1.0 if not asked else 1 - len(wrong) / len(asked), differences)


def _counted(expected: Expect, *arguments: JsonObject) -> list[JsonObject]:
    """Arguments without those that do not count: where a subset is expected, only those that are named do."""
    if expected.match == "exact":
        return list(arguments)
    return [{name: each[name] for name in expected.arguments if name in each} for each in arguments]


def difference_at(
    kind: DifferenceKind,
    name: str,
    tool: Tool[..., Any] | None,
    place: _Place = (),
    *,
    expected: Any = None,
    actual: Any = None,
) -> Difference:
    """A difference as it may be shown: plain values, and none that the tool's schema marks as secret.

    Args:
        kind: What is wrong.
        name: The tool's name.
        tool: The tool, if there is one.
        place: Where both values stand in its arguments.
        expected: What was expected.
        actual: What came.
    """
    shown = [None if value is None else _shown(value, tool, place) for value in (expected, actual)]
    return Difference(kind=kind, tool=name, path=_path(place), expected=shown[0], actual=shown[1])


def unknown_call(made: Made, tools: Mapping[str, Tool[..., Any]]) -> Difference:
    """A call of no tool. It may have been meant for a tool with secrets: its arguments are then not shown."""
    given = MASKED if has_secrets(tools.values()) else made.call.arguments_raw
    return Difference(kind="unknown_tool", tool=made.call.wire_name, actual=given)


def has_secrets(tools: Iterable[Tool[..., Any]]) -> bool:
    """Whether the schema of any of these tools marks a secret."""
    return any(record_of(tool).secrets.are_there for tool in tools)


def shown_coercions(made: Made) -> tuple[Coercion, ...]:
    """The coercions of a call, without secrets."""
    return tuple(
        coercion._replace(
            before=_shown(coercion.before, made.tool, location_of(coercion.path)),
            after=_shown(coercion.after, made.tool, location_of(coercion.path)),
        )
        for coercion in made.coercions
    )


def _shown(value: Any, tool: Tool[..., Any] | None, place: _Place) -> Any:
    return _plain(value if tool is None else record_of(tool).secrets.masked(value, place))


def _plain(value: Any) -> Any:
    """Plain JSON, without the values that stand behind texts; matchers stay."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, WrittenText) else value


def _path(place: _Place) -> str:
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return steps.removeprefix(".")


def check_expected(expected: Iterable[Expect], tools: Iterable[Tool[..., Any]]) -> None:
    """Check that the calls that are expected or forbidden could be made at all.

    Raises:
        UsageError: There is no such tool, it has no argument of a name, or it refuses an argument.
    """
    by_name = {tool.name: tool for tool in tools}
    for call in expected:
        if call.tool not in by_name:
            hint = did_you_mean(call.tool, by_name)
            raise UsageError(f"{call.tool}: there is no such tool{f' ({hint})' if hint else ''}")
        schema = record_of(by_name[call.tool]).definition.schema
        for name in call.arguments if schema.get("additionalProperties") is False else ():
            if name not in schema.get("properties", {}):
                hint = did_you_mean(name, schema.get("properties", {}))
                raise UsageError(f"{call.tool}: it has no argument {name!r}{f' ({hint})' if hint else ''}")
        _check_arguments(call, by_name[call.tool])


def _check_arguments(call: Expect, tool: Tool[..., Any]) -> None:
    """Check the arguments that are written as values.

    Matchers, and arguments that do not count, are left out, and what is said of those is passed over: it is for the
    model to write them.

    Raises:
        UsageError: The tool refuses one of them.
    """
    written = {name: value for name, value in call.arguments.items() if not is_matched(value)}
    is_whole = call.match == "exact" and len(written) == len(call.arguments)
    try:
        record_of(tool).validate_uncoerced(written)
    except CallError as error:
        own = [problem for problem in error.problems if next(iter(location_of(problem.path)), None) in written]
        if is_whole or own:
            said = error if is_whole else CallError(error.code, tool=call.tool, problems=own)
            raise UsageError(f"{call.tool} refuses what is expected of it: {said}") from error
    except Exception:  # a user's validator, of arguments that are not complete
        if is_whole:
            raise


def is_happening(forbidden: Expect, made: Made) -> bool:
    """Whether a call is one that must not happen: the arguments that are named are those, whatever the others are."""
    if made.call.name != forbidden.tool or made.tool is None:
        return False
    full, received = forbidden.arguments, made.given
    if made.received is not None:
        full, received = _as_received(forbidden, made.tool, made), made.received
    return not any(True for _ in _differing(_counted(forbidden, forbidden.arguments, full, received)))


def _validated(tool: Tool[..., Any], arguments: JsonObject) -> JsonObject | None:
    """What the function would get of arguments that an author wrote; ``None`` where it refuses them."""
    record = record_of(tool)
    try:
        return record.source.comparable(record.validate_uncoerced(arguments)[0], reveals=True)
    except CallError:
        return None


def _as_received(expected: Expect, tool: Tool[..., Any], made: Made) -> JsonObject:
    """What the function would get of the expected arguments, with what came in the place of each matcher.

    Where a subset is expected, what came stands for the rest, too.

    Raises:
        UsageError: The tool refuses them.
    """
    received, is_subset = made.received or {}, expected.match == "subset"
    # What came may need a coercion, and what a validator gave it may not take itself.
    for came in (made.given, received):
        filled = _filled(expected.arguments, came, received)
        if (written := _validated(tool, {**came, **filled} if is_subset else filled)) is not None:
            return written
    if is_subset or is_matched(expected.arguments):  # what was received does not go with what is expected beside it
        return {**received, **_filled(expected.arguments, received, received)}
    try:
        record_of(tool).validate_uncoerced(expected.arguments)
    except CallError as error:
        raise UsageError(f"{tool.name} refuses what is expected of it: {error}") from error
    raise AssertionError("it was refused before")


def _filled(expected: Any, came: Any, received: Any) -> Any:
    """Expected arguments with what came in the place of matchers; left out where nothing did.

    Args:
        expected: The arguments, or a part of them.
        came: The same part of what came, or of what the function would get of it.
        received: The same part of what the function would get, which says where sets are: their items have no
            positions.
    """
    if isinstance(expected, Matcher):
        return came
    if isinstance(expected, dict):
        inner: JsonObject = came if isinstance(came, dict) else {}
        others: JsonObject = received if isinstance(received, dict) else {}
        filled = {
            name: _filled(value, inner.get(name, _LEFT_OUT), others.get(name, _LEFT_OUT))
            for name, value in expected.items()
        }
        return {name: value for name, value in filled.items() if value is not _LEFT_OUT}
    if isinstance(expected, list):
        if isinstance(received, WrittenSet) and is_matched(expected):
            came = received = _aligned(expected, received)
        nothing = [None] * len(expected)
        items, whole = (each if _is_as_long(each, expected) else nothing for each in (came, received))
        return [_filled(*each) for each in zip(expected, items, whole, strict=True)]
    return expected


def _aligned(expected: list[Any], received: WrittenSet) -> list[Any] | None:
    """The items of a set in the order of what is expected of them; ``None`` where they cannot be matched one to one."""
    if len(expected) != len(received):
        return None
    table = [[float(_admits(wanted, item)) for item in received] for wanted in expected]
    pairs = best_pairs(table)
    is_whole = all(table[row][column] for row, column in pairs)
    return [received[column] for _, column in pairs] if is_whole else None


def _admits(expected: Any, received: Any) -> bool:
    """Whether an item may be what is expected of one; what is left out may be a default."""
    if isinstance(expected, Matcher):
        return expected.may_be_left_out if received is _LEFT_OUT else expected.accepts(received)
    if isinstance(expected, dict) and isinstance(received, dict):
        return all(_admits(value, received.get(name, _LEFT_OUT)) for name, value in expected.items())
    if isinstance(expected, list) and is_matched(expected) and isinstance(received, list):
        if isinstance(received, WrittenSet):
            return _aligned(expected, received) is not None
        return len(expected) == len(received) and all(map(_admits, expected, received))
    return is_same_value(expected, received)


def _differing(arguments: Sequence[Any], place: _Place = ()) -> Iterator[tuple[_Place, Any, Any]]:
    """The places where what was received is not what is expected: by a matcher, else by the value in full.

    Args:
        arguments: What is expected, the same in full, and what was received.
        place: Where all three stand.
    """
    expected, full, received = arguments
    if isinstance(expected, Matcher):
        if received is _LEFT_OUT and expected.may_be_left_out:
            return
        if received is _LEFT_OUT or not expected.accepts(received):
            yield place, expected, None if received is _LEFT_OUT else received
    elif isinstance(full, dict) and isinstance(received, dict) and (is_matched(expected) or not place):
        inner = expected if isinstance(expected, dict) else {}
        for name in dict.fromkeys((*inner, *full, *received)):
            wanted, other = full.get(name, _LEFT_OUT), received.get(name, _LEFT_OUT)
            yield from _differing((inner.get(name, wanted), wanted, other), (*place, name))
    elif (
        isinstance(expected, list)
        and is_matched(expected)
        and isinstance(received, list)
        and len(received) == len(expected)
    ):
        yield from _differing_items(expected, full, received, place)
    elif not is_same_value(full, received):
        shown = expected if is_matched(expected) else full
        yield place, None if shown is _LEFT_OUT else shown, None if received is _LEFT_OUT else received


def _differing_items(
    expected: list[Any], full: Any, received: list[Any], place: _Place
) -> Iterator[tuple[_Place, Any, Any]]:
    """The same for a list with matchers in it; items of a set have no places of their own."""
    if isinstance(received, WrittenSet):
        if _aligned(expected, received) is None or not is_same_value(full, received):
            yield place, expected, received
        return
    whole = full if _is_as_long(full, expected) else expected
    for at, items in enumerate(zip(expected, whole, received, strict=True)):
        yield from _differing(items, (*place, at))


def _is_as_long(given: Any, expected: list[Any]) -> bool:
    return isinstance(given, list) and len(given) == len(expected)
