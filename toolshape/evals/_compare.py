"""Compares an expected call with an actual one, by the arguments that the function would get."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from toolshape._plan.resolve import receive_arguments
from toolshape._records.calls import Call, Coercion, JsonObject
from toolshape._records.errors import CallError, UsageError, did_you_mean
from toolshape._records.result import REFUSED
from toolshape._schema.generate import generate
from toolshape._schema.places import location_of
from toolshape._schema.secrets import MASKED
from toolshape._schema.values import WrittenSet, WrittenText, is_same_value
from toolshape._tools.handler import Handlers
from toolshape._tools.tool import Tool, record_of
from toolshape.evals._assign import best_pairs
from toolshape.evals._expect import Expect, has_matcher
from toolshape.evals._matchers import Matcher
from toolshape.evals._verdict import Difference, DifferenceKind

_LEFT_OUT = object()
_PROBES = 5  # how many values a predicate is tried with before a model is asked
ValuePlace = tuple[int | str, ...]


class Made(NamedTuple):
    """A call that a model made.

    ``given`` holds the model's arguments in canonical form. ``received`` holds the arguments that
    the function would receive, including secrets. If the call is rejected, ``received`` is
    ``None``, and ``error`` is the reason. ``step`` is the position of the response that contains
    the call.
    """

    call: Call
    tool: Tool[..., Any] | None
    given: JsonObject
    step: int
    received: JsonObject | None
    coercions: tuple[Coercion, ...]
    error: CallError | None


class Pair(NamedTuple):
    """The comparison of an expected call with an actual call: a score
    from 0 to 1, and the differences.
    """

    score: float
    differences: tuple[Difference, ...]


def receive_call(call: Call, error: CallError | None, handlers: Handlers, step: int) -> Made:
    """Return a planned call with the arguments that its function would receive.

    The function is not run.
    """
    handler = handlers.find(call.wire_name)
    given = (call.arguments if call.name is not None else None) or {}
    if handler is None or (error is not None and error.code in REFUSED):
        return Made(call, None if handler is None else handler.tool, given, step, None, (), error)
    return Made(
        call,
        handler.tool,
        given,
        step,
        *receive_arguments(handler, call.arguments_raw, reveals=True),
    )


def compare_call(expected: Expect, made: Made) -> Pair:
    """Compare an expected call with an actual call.

    Raises:
        UsageError: The tool rejects the expected arguments.
    """
    if made.call.name != expected.tool or made.tool is None:
        return Pair(0.0, ())
    if expected.match == "name":
        return Pair(1.0, ())
    if made.received is None:
        reason = "" if made.error is None else str(made.error)
        difference = difference_at(
            "refused_arguments", expected.tool, made.tool, expected=expected.arguments
        )
        return Pair(0.0, (replace(difference, actual=reason),))
    expected_arguments = _receive_expected(expected, made.tool, made)
    differing = list(
        find_differences(
            _select_compared(expected, expected.arguments, expected_arguments, made.received)
        )
    )
    differences = tuple(
        difference_at(
            "value", expected.tool, made.tool, place, expected=expected_value, actual=received
        )
        for place, expected_value, received in differing
    )
    wrong_names = {place[0] for place, _, _ in differing}
    given_names = made.given.keys() if expected.match == "exact" else set()
    compared_names = expected.arguments.keys() | given_names | wrong_names
    return Pair(
        1.0 if not compared_names else 1 - len(wrong_names) / len(compared_names), differences
    )


def _select_compared(expected: Expect, *arguments: JsonObject) -> list[JsonObject]:
    """Return the arguments to compare: all arguments for an exact match, else the
    arguments that ``expected`` names.
    """
    if expected.match == "exact":
        return list(arguments)
    return [
        {name: values[name] for name in expected.arguments if name in values}
        for values in arguments
    ]


def difference_at(
    kind: DifferenceKind,
    name: str,
    tool: Tool[..., Any] | None,
    place: ValuePlace = (),
    *,
    expected: Any = None,
    actual: Any = None,
) -> Difference:
    """Build a difference that is safe to show: its values are plain JSON, and secrets are masked.

    Args:
        kind: The kind of difference.
        name: The tool's name.
        tool: The tool, if it exists.
        place: Where both values are in the tool's arguments.
        expected: The expected value.
        actual: The actual value.
    """
    masked_values = [
        None if value is None else _mask_value(value, tool, place) for value in (expected, actual)
    ]
    return Difference(
        kind=kind,
        tool=name,
        path=path_of_place(place),
        expected=masked_values[0],
        actual=masked_values[1],
    )


def as_unknown_call(made: Made, tools: Mapping[str, Tool[..., Any]]) -> Difference:
    """Return the difference for a call of an unknown tool.

    If any tool has secrets, mask the arguments, because the model may have meant that tool.
    """
    if has_secrets(tools.values()):
        shown_arguments = MASKED
    else:
        shown_arguments = made.call.arguments_raw
    return Difference(kind="unknown_tool", tool=made.call.wire_name, actual=shown_arguments)


def has_secrets(tools: Iterable[Tool[..., Any]]) -> bool:
    """Return whether the schema of any of these tools marks a secret."""
    return any(record_of(tool).secrets.are_there for tool in tools)


def mask_coercions(made: Made) -> tuple[Coercion, ...]:
    """Return the coercions of a call, with secrets masked."""
    return tuple(
        coercion._replace(
            before=_mask_value(coercion.before, made.tool, location_of(coercion.path)),
            after=_mask_value(coercion.after, made.tool, location_of(coercion.path)),
        )
        for coercion in made.coercions
    )


def _mask_value(value: Any, tool: Tool[..., Any] | None, place: ValuePlace) -> Any:
    return to_plain_json(value if tool is None else record_of(tool).secrets.masked(value, place))


def to_plain_json(value: Any) -> Any:
    """Convert a value to plain JSON: each ``WrittenText`` becomes a plain string.

    Matchers are kept.
    """
    if isinstance(value, dict):
        return {str(name): to_plain_json(item) for name, item in value.items()}
    if isinstance(value, list):
        return [to_plain_json(item) for item in value]
    if isinstance(value, WrittenText):
        return str(value)
    return value


def path_of_place(place: ValuePlace) -> str:
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return steps.removeprefix(".")


def check_expected(expected: Iterable[Expect], tools: Iterable[Tool[..., Any]]) -> None:
    """Check that the tools accept the expected and the forbidden calls.

    Raises:
        UsageError: A tool does not exist, lacks an expected argument, or rejects an expected value.
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
                raise UsageError(
                    f"{call.tool} has no argument {name!r}{f' ({hint})' if hint else ''}"
                )
        _check_arguments(call, by_name[call.tool])
        _check_predicates(call, schema)


def _check_arguments(call: Expect, tool: Tool[..., Any]) -> None:
    """Check the expected arguments that are plain values.

    In a real call, the model supplies the arguments that have a matcher, and the arguments that the
    case does not name. So the check leaves these arguments out, and ignores problems with them.

    Raises:
        UsageError: The tool rejects one of the values.
    """
    plain_arguments = {
        name: value for name, value in call.arguments.items() if not has_matcher(value)
    }
    is_complete = call.match == "exact" and len(plain_arguments) == len(call.arguments)
    try:
        record_of(tool).validate_uncoerced(plain_arguments)
    except CallError as error:
        relevant_problems = [
            problem
            for problem in error.problems
            if next(iter(location_of(problem.path)), None) in plain_arguments
        ]
        if is_complete or relevant_problems:
            if is_complete:
                reported = error
            else:
                reported = CallError(error.code, tool=call.tool, problems=relevant_problems)
            raise UsageError(f"{call.tool} rejects the expected arguments: {reported}") from error
    except Exception:  # A user's validator may raise any exception for incomplete arguments.
        if is_complete:
            raise


def _check_predicates(call: Expect, schema: JsonObject) -> None:
    """Check that the matchers of a call do not fail for every value that their arguments can have.

    Raises:
        UsageError: A predicate raised an exception for each of several valid values.
    """
    properties, chance = schema.get("properties", {}), random.Random(0)  # noqa: S311 - the same values in each run
    for name, matcher in call.arguments.items():
        # Only a place of one type: for a union, the drawn value may be of the branch that the
        # function never receives.
        if not isinstance(matcher, Matcher) or "type" not in properties.get(name, {}):
            continue
        node = {**properties[name], "$defs": schema.get("$defs", {})}
        failures: list[UsageError] = []
        for _ in range(_PROBES):
            try:
                matcher.accepts(generate(node, chance))
            except UsageError as error:
                failures.append(error)
        if len(failures) == _PROBES:
            raise UsageError(f"{call.tool}.{name}: {failures[0]}") from failures[0].__cause__


def is_forbidden_call(forbidden: Expect, made: Made) -> bool:
    """Return whether a call is forbidden: the tool is the same, and every
    argument in ``forbidden`` matches.
    """
    if made.call.name != forbidden.tool or made.tool is None:
        return False
    expected_arguments, received = forbidden.arguments, made.given
    if made.received is not None:
        expected_arguments, received = _receive_expected(forbidden, made.tool, made), made.received
    return not any(
        True
        for _ in find_differences(
            _select_compared(forbidden, forbidden.arguments, expected_arguments, received)
        )
    )


def _validate_arguments(tool: Tool[..., Any], arguments: JsonObject) -> JsonObject | None:
    """Return arguments from a case as the function would receive them, or
    ``None`` if the tool rejects them.
    """
    record = record_of(tool)
    try:
        return record.source.comparable(record.validate_uncoerced(arguments)[0], reveals=True)
    except CallError:
        return None


def _receive_expected(expected: Expect, tool: Tool[..., Any], made: Made) -> JsonObject:
    """Return the expected arguments as the function would receive them.

    The expected arguments are validated like actual arguments, so defaults and conversions apply to
    both. A matcher is not a value, so the actual value takes the place of the matcher. If ``match``
    is ``"subset"``, the actual call also supplies the arguments that ``expected`` does not name.

    Raises:
        UsageError: The tool rejects the expected arguments.
    """
    received, is_subset = made.received or {}, expected.match == "subset"
    # Both attempts can fail. The model's own arguments may need a coercion, but coercions are off
    # here. The validated arguments may contain values that the validator does not accept as input.
    for actual_arguments in (made.given, received):
        filled = fill_matchers(expected.arguments, actual_arguments, received)
        if (
            received_arguments := _validate_arguments(
                tool, {**actual_arguments, **filled} if is_subset else filled
            )
        ) is not None:
            return received_arguments
    if is_subset or has_matcher(expected.arguments):
        # The tool rejects the actual values combined with the expected values, so compare without
        # validation.
        return {**received, **fill_matchers(expected.arguments, received, received)}
    try:
        record_of(tool).validate_uncoerced(expected.arguments)
    except CallError as error:
        raise UsageError(f"{tool.name} rejects the expected arguments: {error}") from error
    raise AssertionError("the arguments were rejected before")


def fill_matchers(expected: Any, actual: Any, received: Any) -> Any:
    """Replace the matchers in expected arguments with the actual values.

    If a value is missing, omit the argument. In a list that does not fit, a matcher is ``None``.

    Args:
        expected: The arguments, or a part of them.
        actual: The same part of the actual arguments, as the model wrote them or as the function
            would receive them.
        received: The same part of the actual arguments, as the function would receive them. Here a
            set is marked as a ``WrittenSet``.
    """
    # The tool validates the expected arguments with the actual values in the place of the matchers,
    # so that defaults and validators do to both sides the same. A set that was received has no
    # positions: its items are first put in the order in which they fit.
    if isinstance(expected, Matcher):
        return actual
    if isinstance(expected, dict):
        if isinstance(actual, dict):
            actual_members: JsonObject = actual
        else:
            actual_members = {}
        if isinstance(received, dict):
            received_members: JsonObject = received
        else:
            received_members = {}
        filled = {
            name: fill_matchers(
                value, actual_members.get(name, _LEFT_OUT), received_members.get(name, _LEFT_OUT)
            )
            for name, value in expected.items()
        }
        return {name: value for name, value in filled.items() if value is not _LEFT_OUT}
    if isinstance(expected, list):
        if isinstance(received, WrittenSet) and has_matcher(expected):
            actual = received = _align_items(expected, received)
        placeholders = [None] * len(expected)
        items, received_items = (
            value if _is_as_long(value, expected) else placeholders for value in (actual, received)
        )
        return [
            fill_matchers(*parts) for parts in zip(expected, items, received_items, strict=True)
        ]
    return expected


def _align_items(expected: list[Any], received: WrittenSet) -> list[Any] | None:
    """Return the items of a set in the order of the expected items, or ``None``
    if they do not match one to one.
    """
    if len(expected) != len(received):
        return None
    table = [
        [float(_is_match(expected_item, item)) for item in received] for expected_item in expected
    ]
    pairs = best_pairs(table)
    is_one_to_one = all(table[row][column] for row, column in pairs)
    if is_one_to_one:
        return [received[column] for _, column in pairs]
    return None


def _is_match(expected: Any, received: Any) -> bool:
    """Return whether an item matches an expected item.

    A member may be missing only if its matcher allows this.
    """
    if isinstance(expected, Matcher):
        if received is _LEFT_OUT:
            return expected.may_be_left_out
        return expected.accepts(received)
    if isinstance(expected, dict) and isinstance(received, dict):
        return all(
            _is_match(value, received.get(name, _LEFT_OUT)) for name, value in expected.items()
        )
    if isinstance(expected, list) and has_matcher(expected) and isinstance(received, list):
        if isinstance(received, WrittenSet):
            return _align_items(expected, received) is not None
        return len(expected) == len(received) and all(map(_is_match, expected, received))
    return is_same_value(expected, received)


def find_differences(
    arguments: Sequence[Any], place: ValuePlace = ()
) -> Iterator[tuple[ValuePlace, Any, Any]]:
    """Yield each place where the expected and the actual arguments differ, with both values.

    Args:
        arguments: Three values at one place. The first is the value in the case, perhaps a matcher.
            The second is the expected value as the function would receive it, with defaults. The
            third is the actual value as the function would receive it.
        place: The place of these values.
    """
    # A place is opened only if something below it can be told apart from the whole: at the root,
    # where the parameters are, and around matchers. Everywhere else two values are one difference,
    # since a list of twenty differing leaves explains less than the two objects.
    expected, full, received = arguments
    if isinstance(expected, Matcher):
        if received is _LEFT_OUT and expected.may_be_left_out:
            return
        if received is _LEFT_OUT or not expected.accepts(received):
            yield place, expected, None if received is _LEFT_OUT else received
    elif (
        isinstance(full, dict)
        and isinstance(received, dict)
        and (has_matcher(expected) or not place)
    ):
        if isinstance(expected, dict):
            expected_members = expected
        else:
            expected_members = {}
        for name in dict.fromkeys((*expected_members, *full, *received)):
            expected_member, received_member = (
                full.get(name, _LEFT_OUT),
                received.get(name, _LEFT_OUT),
            )
            yield from find_differences(
                (expected_members.get(name, expected_member), expected_member, received_member),
                (*place, name),
            )
    elif (
        isinstance(expected, list)
        and has_matcher(expected)
        and isinstance(received, list)
        and len(received) == len(expected)
    ):
        yield from _find_item_differences(expected, full, received, place)
    elif not is_same_value(full, received):
        shown_value = expected if has_matcher(expected) else full
        yield place, _or_none(shown_value), _or_none(received)


def _or_none(value: Any) -> Any:
    """Return a value as a verdict holds it: ``None`` for what was left out."""
    if value is _LEFT_OUT:
        return None
    return value


def _find_item_differences(
    expected: list[Any], full: Any, received: list[Any], place: ValuePlace
) -> Iterator[tuple[ValuePlace, Any, Any]]:
    """Yield the differences in a list that contains matchers.

    For a set, yield one difference for the whole set.
    """
    if isinstance(received, WrittenSet):
        if _align_items(expected, received) is None or not is_same_value(full, received):
            yield place, expected, received
        return
    if _is_as_long(full, expected):
        full_items = full
    else:
        full_items = expected
    for index, items in enumerate(zip(expected, full_items, received, strict=True)):
        yield from find_differences(items, (*place, index))


def _is_as_long(given: Any, expected: list[Any]) -> bool:
    return isinstance(given, list) and len(given) == len(expected)
