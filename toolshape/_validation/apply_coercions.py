"""Applies coercion rules to the invalid places in a value, until it is valid or none applies.

A valid value is never touched: the checker names the places that it refuses, and only these are
looked at. At each, the schema says what was expected, a rule proposes a value, and the whole is
checked again, because a text that became an object may hold faults of its own. In a union, each
branch coerces a copy. Those that become valid must agree on the value, or choosing would be a
guess.

Two things bound the work. A round coerces one layer, and there are six. Every look costs some units
of a budget that is one for the payload, so that a value with a million faults is refused as such
instead of being examined. Values behind code of the author's are a case apart: such code may be
made for what the model writes, so the value stays as it is, and only how pydantic reads it is
recorded.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic_core import to_json

from toolshape._function.core_schema.unchanged import reading_as_written
from toolshape._records.calls import Coercion, new_record
from toolshape._schema.places import Location
from toolshape._schema.values import WrittenFloat, copy_json
from toolshape._validation.coercion import OMIT, Expected, ExpectedAt, Parse, is_misspelt, propose
from toolshape._validation.faults import Fault, path_of

_MOST_ROUNDS = 6  # JSON text may contain JSON text in its strings: each round coerces one layer
# Units of about 0.2 microseconds; the limit protects against values with very many faults.
_MOST_WORK = 1_000_000
_WORK_OF_TRYING = 200  # for each union branch, in addition to the work for the size of the value
WORK_OF_FAULT = 40
_BYTES_AT_ONCE = 10
_ABSENT = object()
_READ_BY_PYDANTIC = frozenset({"number_text", "integral_float"})
"""The rules whose values pydantic itself reads, in its own mode.

Behind the author's code they are only recorded: the code may be made for what the model writes,
such as ``str.strip``.
"""


class TooMuchWrongError(Exception):
    """A value has more faults than can be examined in bounded time."""


class InvalidError(Exception):
    """A value is invalid.

    ``faults`` are the faults to coerce, and ``explained`` returns the faults to report to the
    model. ``value`` is the value after the coercions that succeeded. ``work`` is the cost of
    finding the faults. ``has_only_integral_floats`` is true if every fault is a number such as
    ``3.0`` where the schema expects an integer. In that case, if ``integral_float`` is on and no
    coercion can be made, the value is accepted as it is.
    """

    def __init__(
        self,
        faults: Sequence[Fault],
        explained: Callable[[], Sequence[Fault]] | None = None,
        work: int = 0,
        *,
        has_only_integral_floats: bool = False,
    ) -> None:
        self.has_only_integral_floats = has_only_integral_floats
        self.faults = faults
        self.work = work
        self.explained = explained or (lambda: faults)
        self.value: Any = None
        super().__init__()


class Checker(NamedTuple):
    """A validator, and a lookup of what its schema expects.

    ``check`` returns the validated value or raises ``InvalidError``. ``expected`` returns what the
    schema expects at the place of a fault, or ``None`` if that is unknown. ``slowness`` is the time
    that ``check`` takes, as a multiple of pydantic's time. If ``expected`` does not know a place,
    ``of_node`` returns what the violated part of the schema expects.
    """

    check: Callable[[Any], Any]
    expected: ExpectedAt
    slowness: int = 1
    of_node: Callable[[Any, Location], Expected] | None = None

    def expected_at(self, fault: Fault) -> Expected | None:
        """Return what the schema expects at the place of a fault, or ``None`` if that is
        unknown.
        """
        expected = self.expected(fault.at[:-1] if fault.rule == "unknown" else fault.at)
        if fault.node is None or self.of_node is None or (expected is not None and expected.kinds):
            return expected
        return self.of_node(fault.node, fault.location)


@dataclass(slots=True)
class _Shared:
    """What the parts of one payload have in common.

    ``work`` is what was spent of the budget. ``as_written`` are the JSON texts of values that stay
    as the model wrote them, because the author's code is given them; how pydantic reads them is on
    record. ``left`` are the texts of values that no rule could coerce.
    """

    work: int = 0
    as_written: set[bytes] = field(default_factory=set)
    left: set[bytes] = field(default_factory=set)


class Coercer:
    """Holds the coercion rules that are on, the parser for JSON text, and
    the work budget for a payload.

    ``read`` parses JSON text. If its second argument is true, it also repairs the text. ``shared``
    is one for all parts of a payload.
    """

    __slots__ = ("_read", "parse", "rules", "shared")

    def __init__(
        self,
        rules: frozenset[str],
        read: Callable[[str, bool], tuple[Any, bool]],
        shared: "_Shared | None" = None,
    ) -> None:
        may_repair = "repair_json" in rules
        self.rules = rules
        self.parse: Parse = lambda text: read(text, may_repair)
        self._read = read
        self.shared = _Shared() if shared is None else shared

    def spend(self, work: int) -> None:
        """Charge work to the budget of the payload.

        Raises:
            TooMuchWrongError: The budget is spent.
        """
        self.shared.work += work
        if self.shared.work > _MOST_WORK:
            raise TooMuchWrongError

    def keep_as_written(self, value: Any) -> bool:
        """Let a value behind the author's code stay as it is; return whether that is new."""
        text, known = to_json(value), self.shared.as_written
        is_new = text not in known
        known.add(text)
        return is_new

    def leave(self, value: Any, expected: Expected) -> None:
        """Note that a value behind the author's code is coerced by no rule: an equal
        one is not read laxly, either.
        """
        if expected.is_behind_code:
            self.shared.left.add(to_json(value))

    def at(self, expected: Expected) -> "Coercer":
        """Return a coercer for a place, with the rules that the author
        switched on or off for the place.
        """
        if not expected.switched:
            return self
        switched_on = {rule for rule, is_on in expected.switched.items() if is_on}
        return Coercer(
            (self.rules - expected.switched.keys()) | switched_on, self._read, self.shared
        )


def coerce_scalars(
    value: Any,
    refused: Iterable[tuple[Location, Any]],
    expected: ExpectedAt,
    rules: frozenset[str],
    parse: Parse,
) -> list[Coercion] | None:
    """Coerce scalars only, which is enough for nearly all invalid arguments.

    Args:
        value: A JSON value that this function may change in place.
        refused: Pairs of a place that a validator rejects and the value at this place.
        expected: The lookup of what the schema expects at a place.
        rules: The rules that are on.
        parse: The parser for JSON text.

    Returns:
        The coercions, or ``None`` if coercing scalars is not enough. In this case, the value may be
        partly coerced.
    """
    coercions: list[Coercion] = []
    for location, rejected_value in refused:
        expectation, written_value = expected(location), value_at(value, location)
        if (
            expectation is None
            or not expectation.is_scalar
            or not are_alike(written_value, rejected_value)
        ):
            return None
        proposed = propose(written_value, expectation, rules, parse)
        if proposed is None:
            return None
        rule, coerced_value = proposed
        if coerced_value is OMIT and not _can_be_removed(value, location):
            return None
        _put([value], location, coerced_value)
        coercions.append(
            new_record(
                Coercion,
                (path_of(location), rule, rejected_value, expectation.outcome(coerced_value)),
            )
        )
    return coercions


class Coerced(NamedTuple):
    """The result of a successful coercion: the validated value, its JSON,
    and the coercions that were made.
    """

    validated: Any
    value: Any
    coercions: list[Coercion]


def coerce_until_valid(
    checker: Checker,
    value: Any,
    coercer: Coercer,
    at: Location = (),
    already: InvalidError | None = None,
) -> Coerced:
    """Coerce a value until it is valid.

    Args:
        checker: The validator for the value.
        value: A JSON value that this function may change in place.
        coercer: The rules and the work budget.
        at: The location of the value in the arguments, for the coercion records.
        already: The checker's error for this value, if it is already known.

    Raises:
        InvalidError: The value is invalid, and no rule applies to the remaining faults.
        TooMuchWrongError: The value has too many faults to examine.
    """
    # A coercion can uncover new faults, for example if text becomes an object whose fields are
    # invalid. So each round validates the value again. The number of rounds and the work budget
    # limit the cost of a hostile value.
    holder = [value]
    coercions: list[Coercion] = []
    for rounds_left in reversed(range(_MOST_ROUNDS)):
        try:
            if already is None:
                return Coerced(_checked(checker, holder[0], coercer), holder[0], coercions)
            error, already = already, None
        except InvalidError as invalid:
            error = invalid
        coercer.spend(error.work)
        new_coercions = _coerce_faults(holder, error.faults, checker, coercer, at)
        if (
            not new_coercions
            and error.has_only_integral_floats
            and "integral_float" in coercer.rules
        ):
            return Coerced(holder[0], holder[0], coercions)
        if not new_coercions or not rounds_left:
            error.value = holder[0]
            raise error
        coercions += new_coercions
    raise AssertionError  # pragma: no cover - the last round returns or raises


def _checked(checker: Checker, value: Any, coercer: Coercer) -> Any:
    """Check a value; the texts that stay as the model wrote them, for
    the author's code, are no fault.
    """
    texts = coercer.shared.as_written - coercer.shared.left
    if not texts:
        return checker.check(value)
    with reading_as_written(texts):
        return checker.check(value)


def _coerce_faults(
    holder: list[Any], faults: Iterable[Fault], checker: Checker, coercer: Coercer, at: Location
) -> list[Coercion]:
    """Coerce the value at the place of each fault; if several faults are at
    one place, coerce it only once.
    """
    # Several faults may be at one place, such as those of a union's branches; the first that is
    # coerced decides.
    coercions: list[Coercion] = []
    coerced_locations: set[Location] = set()
    for fault in faults:
        place, rule = fault.at, fault.rule
        coercer.spend(WORK_OF_FAULT + len(place))
        expected = checker.expected_at(fault)
        if expected is None or rule == "missing":
            continue
        if expected.strict:
            coercer.leave(fault.found, expected)
            continue
        location = expected.location
        if rule == "unknown" and not expected.branches:
            coercions += _drop_unknown(holder, str(place[-1]), expected, coercer, at)
        elif location not in coerced_locations:
            coerced_locations.add(location)
            value = value_at(holder[0], location)
            is_union = expected.branches or expected.tags
            if value is not _ABSENT and (is_union or are_alike(value, fault.found)):
                if "list" in expected.kinds:
                    item = checker.expected((*place, 0))
                else:
                    item = None
                made = _coerce_place(holder, value, expected, coercer, at, item)
                coercions += made
                if not made:
                    coercer.leave(value, expected)
    return coercions


def _drop_unknown(
    holder: list[Any], name: str, expected: Expected, coercer: Coercer, at: Location
) -> list[Coercion]:
    parent = value_at(holder[0], expected.location)
    if (
        "ignore_extra" not in coercer.at(expected).rules
        or not isinstance(parent, dict)
        or name not in parent
    ):
        return []
    fields = list(expected.fields())
    # No known field: the object is for another schema.
    if fields and parent.keys().isdisjoint(fields):
        return []
    if is_misspelt(name, (known for known in fields if known not in parent)):
        return []
    return [
        Coercion(path_of((*at, *expected.location, name)), "ignore_extra", parent.pop(name), None)
    ]


def _coerce_place(
    holder: list[Any],
    found: Any,
    expected: Expected,
    coercer: Coercer,
    at: Location,
    item: Expected | None,
) -> list[Coercion]:
    """Coerce a place with the first rule that applies.

    For a union, coerce its tag, or let its branches decide.
    """
    place = (*at, *expected.location)
    coercer = coercer.at(expected)
    if proposed := propose(found, expected, coercer.rules, coercer.parse, item):
        rule, coerced_value = proposed
        if coerced_value is OMIT and not _can_be_removed(holder[0], expected.location):
            return []
        if not (expected.is_behind_code and rule in _READ_BY_PYDANTIC):
            _put(holder, expected.location, coerced_value)
        elif not coercer.keep_as_written(found):
            return []
        if isinstance(coerced_value, (dict, list)):
            recorded_value = copy_json(coerced_value)
        else:
            recorded_value = expected.outcome(coerced_value)
        return [Coercion(path_of(place), rule, found, recorded_value)]
    if expected.tags:
        return _coerce_tag(holder, found, expected, coercer, place)
    if expected.branches:
        outcome = _coerce_by_branches(found, expected, coercer, place)
    else:
        outcome = None
    if outcome is None:
        return []
    _put(holder, expected.location, outcome.value)
    return outcome.coercions


def _coerce_tag(
    holder: list[Any], found: Any, expected: Expected, coercer: Coercer, place: Location
) -> list[Coercion]:
    """Coerce the tag of a discriminated union, if the tag is invalid."""
    tag = expected.tag_in(found)
    if not isinstance(found, dict) or tag not in found:
        return []
    choice = Expected(
        kinds=frozenset({"choice"}), choices=expected.choices, has_default=expected.has_optional_tag
    )
    old_tag = found[tag]
    if proposed := propose(old_tag, choice, coercer.rules, coercer.parse):
        rule, new_tag = proposed
        _put(holder, (*expected.location, str(tag)), new_tag)
        return [
            Coercion(
                path_of((*place, str(tag))), rule, old_tag, None if new_tag is OMIT else new_tag
            )
        ]
    return []


def _coerce_by_branches(
    found: Any, expected: Expected, coercer: Coercer, place: Location
) -> Coerced | None:
    """Coerce a value separately for each branch of a union; return
    ``None`` if the branches do not agree.
    """
    # Branches that reject the value do not count. If two outcomes differ, choosing one outcome
    # would be a guess, so the place stays invalid.
    text = to_json(found)
    outcomes: dict[bytes, Coerced] = {}
    for branch in expected.branches:
        coercer.spend((_WORK_OF_TRYING + len(text) // _BYTES_AT_ONCE) * branch.slowness)
        try:
            outcome = coerce_until_valid(branch, copy_json(found), coercer, place)
        except InvalidError:
            continue
        outcomes.setdefault(to_json(outcome.value), outcome)
    if len(outcomes) == 1:
        return next(iter(outcomes.values()))
    return None


def value_at(value: Any, location: Location) -> Any:
    """Return the value at a location, or ``_ABSENT``, which differs from every
    JSON value, if there is no value.
    """
    for step in location:
        if (step not in value) if type(value) is dict else not has_step(value, step):
            return _ABSENT
        value = value[step]
    return value


def are_alike(one: Any, other: Any) -> bool:
    """Return whether a value equals the value that the validator saw; a user
    validator may have replaced the value.

    Two objects or two arrays always count as equal, because only their types are compared.
    """
    if type(one) is str and type(other) is str:
        return one == other
    for kind in (dict, list, float):
        if isinstance(one, kind) and isinstance(other, kind):
            return kind is not float or bool(one == other) or (one != one and other != other)  # noqa: PLR0124 - NaN
    # For a Decimal, the validator saw the number as text.
    if isinstance(one, WrittenFloat) and isinstance(other, str):
        return one.text == other
    return type(one) is type(other) and bool(one == other)


def has_step(value: Any, step: int | str) -> bool:
    """Return whether a JSON value has the field or item that a step of a location names."""
    if isinstance(value, list):
        return isinstance(step, int) and step < len(value)
    return isinstance(value, dict) and step in value


def _can_be_removed(value: Any, location: Location) -> bool:
    """Return whether a value can be removed without moving other values: any
    field, but only the last array item.
    """
    container = value_at(value, location[:-1])
    return not isinstance(container, list) or location[-1] == len(container) - 1


def _put(holder: list[Any], location: Location, after: Any) -> None:
    container: Any = holder
    last_step: int | str = 0
    for step in location:
        container, last_step = container[last_step], step
    if after is OMIT:
        del container[last_step]
    else:
        container[last_step] = after
