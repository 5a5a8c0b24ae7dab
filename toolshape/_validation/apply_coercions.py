"""Applies the coercion rules at the places at fault, until a value is valid or no rule is left."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from pydantic_core import to_json

from toolshape._calls import Coercion, new_record
from toolshape._schema.values import WrittenFloat, copied
from toolshape._validation.coercion import OMIT, Expected, ExpectedAt, Parse, is_misspelt, proposal
from toolshape._validation.faults import Fault, Location, path_of

_MOST_ROUNDS = 6  # JSON text may hold more JSON text: each round coerces one layer
_MOST_WORK = 1_000_000  # units of about a fifth of a microsecond; a hostile value has very many faults
_WORK_OF_TRYING = 200  # per union branch, whatever the size of the value
WORK_OF_FAULT = 40
_BYTES_AT_ONCE = 10
_ABSENT = object()


class TooMuchWrongError(Exception):
    """A value has more faults than can be examined in bounded time."""


class InvalidError(Exception):
    """A value is invalid: ``faults`` are the places to coerce, ``explained`` gives the faults to report to the model.

    ``value`` is the value as far as it was coerced. ``work`` is the cost of finding the faults. ``by_strict_reading``:
    the faults are numbers such as ``3.0`` where an integer is wanted; where they cannot be coerced, the value is valid.
    """

    def __init__(
        self,
        faults: Sequence[Fault],
        explained: Callable[[], Sequence[Fault]] | None = None,
        work: int = 0,
        *,
        by_strict_reading: bool = False,
    ) -> None:
        self.by_strict_reading = by_strict_reading
        self.faults = faults
        self.work = work
        self.explained = explained or (lambda: faults)
        self.value: Any = None
        super().__init__()


class Checker(NamedTuple):
    """Something that validates.

    ``check`` gives the validated value or raises ``InvalidError``; ``expected`` says what is expected at the
    place of a fault, ``None`` where that is not known. ``slowness`` is how much longer it takes than pydantic does.
    ``of_node`` says what the part of the schema that was broken expects, where ``expected`` does not know the place.
    """

    check: Callable[[Any], Any]
    expected: ExpectedAt
    slowness: int = 1
    of_node: Callable[[Any, Location], Expected] | None = None

    def expected_by(self, fault: Fault) -> Expected | None:
        """What is expected where a fault is."""
        expected = self.expected(fault.at[:-1] if fault.rule == "unknown" else fault.at)
        if fault.node is None or self.of_node is None or (expected is not None and expected.kinds):
            return expected
        return self.of_node(fault.node, fault.location)


class Coercer:
    """What is allowed in coercing a value: the rules that are on, how a text is read, and how much may be tried.

    ``read`` reads JSON text, repaired where that is asked for.
    """

    __slots__ = ("_read", "_work", "parse", "rules")

    def __init__(
        self, rules: frozenset[str], read: Callable[[str, bool], tuple[Any, bool]], work: list[int] | None = None
    ) -> None:
        may_repair = "repair_json" in rules
        self.rules = rules
        self.parse: Parse = lambda text: read(text, may_repair)
        self._read = read
        self._work = [0] if work is None else work  # one sum for a payload and all its parts

    def spend(self, work: int) -> None:
        """Charge work to the budget of the payload.

        Raises:
            TooMuchWrongError: The budget is spent.
        """
        self._work[0] += work
        if self._work[0] > _MOST_WORK:
            raise TooMuchWrongError

    def at(self, expected: Expected) -> "Coercer":
        """What is allowed at a place, where the author may have switched rules."""
        if not expected.switched:
            return self
        on = {rule for rule, is_on in expected.switched.items() if is_on}
        return Coercer((self.rules - expected.switched.keys()) | on, self._read, self._work)


def coerced_scalars(
    value: Any, refused: Iterable[tuple[Location, Any]], expected: ExpectedAt, rules: frozenset[str], parse: Parse
) -> list[Coercion] | None:
    """Coerce scalars alone, which covers nearly all invalid arguments.

    Args:
        value: JSON of our own, which is changed.
        refused: The places that a validator refuses, and what stood there.
        expected: What is expected at each.
        rules: The rules that are on.
        parse: Reads JSON text.

    Returns:
        The coercions; ``None`` where coercing scalars is not enough, and then the value may be partly coerced.
    """
    made: list[Coercion] = []
    for location, found in refused:
        place, written_value = expected(location), value_at(value, location)
        if place is None or not place.is_scalar or not alike(written_value, found):
            return None
        proposed = proposal(written_value, place, rules, parse)
        if proposed is None:
            return None
        rule, after = proposed
        if after is OMIT and not _can_be_left_out(value, location):
            return None
        _put([value], location, after)
        made.append(new_record(Coercion, (path_of(location), rule, found, place.outcome(after))))
    return made


class Coerced(NamedTuple):
    """A value that is valid now: as it was validated, as JSON, and the coercions."""

    validated: Any
    value: Any
    coercions: list[Coercion]


def coerced_until_valid(
    checker: Checker, value: Any, coercer: Coercer, at: Location = (), already: InvalidError | None = None
) -> Coerced:
    """Coerce a value until it is valid.

    Args:
        checker: What validates it.
        value: JSON of our own, which is changed.
        coercer: What is allowed.
        at: Where it stands in the arguments, for the record.
        already: What the checker has against the value, where that is known.

    Raises:
        InvalidError: It is not valid, and no rule applies to what is left.
        TooMuchWrongError: It has more faults than are examined.
    """
    holder = [value]
    coercions: list[Coercion] = []
    for rounds_left in reversed(range(_MOST_ROUNDS)):
        try:
            if already is None:
                return Coerced(checker.check(holder[0]), holder[0], coercions)
            error, already = already, None
        except InvalidError as found:
            error = found
        coercer.spend(error.work)
        made = _coerced(holder, error.faults, checker, coercer, at)
        if not made and error.by_strict_reading and "integral_float" in coercer.rules:
            return Coerced(holder[0], holder[0], coercions)
        if not made or not rounds_left:
            error.value = holder[0]
            raise error
        coercions += made
    raise AssertionError  # pragma: no cover - the last round returns or raises


def _coerced(
    holder: list[Any], faults: Iterable[Fault], checker: Checker, coercer: Coercer, at: Location
) -> list[Coercion]:
    """Coerce the places that the faults name, each once."""
    made: list[Coercion] = []
    seen: set[Location] = set()
    for fault in faults:
        place, rule = fault.at, fault.rule
        coercer.spend(WORK_OF_FAULT + len(place))
        expected = checker.expected_by(fault)
        if expected is None or expected.strict or rule == "missing":
            continue
        location = expected.location
        if rule == "unknown" and not expected.branches:
            made += _without_unknown(holder, str(place[-1]), expected, coercer, at)
        elif location not in seen:
            seen.add(location)
            found = value_at(holder[0], location)
            is_told_by_parts = expected.branches or expected.tags
            if found is not _ABSENT and (is_told_by_parts or alike(found, fault.found)):
                item = checker.expected((*place, 0)) if "list" in expected.kinds else None
                made += _with_best(holder, found, expected, coercer, at, item)
    return made


def _without_unknown(
    holder: list[Any], name: str, expected: Expected, coercer: Coercer, at: Location
) -> list[Coercion]:
    parent = value_at(holder[0], expected.location)
    if "ignore_extra" not in coercer.at(expected).rules or not isinstance(parent, dict) or name not in parent:
        return []
    fields = list(expected.fields())
    if fields and parent.keys().isdisjoint(fields):  # nothing of it is known: it is meant for something else
        return []
    if is_misspelt(name, (one for one in fields if one not in parent)):
        return []
    return [Coercion(path_of((*at, *expected.location, name)), "ignore_extra", parent.pop(name), None)]


def _with_best(
    holder: list[Any], found: Any, expected: Expected, coercer: Coercer, at: Location, item: Expected | None
) -> list[Coercion]:
    """Coerce a place by the first rule that applies, or to the one value on which its union's branches agree."""
    place = (*at, *expected.location)
    coercer = coercer.at(expected)
    if proposed := proposal(found, expected, coercer.rules, coercer.parse, item):
        rule, after = proposed
        if after is OMIT and not _can_be_left_out(holder[0], expected.location):
            return []
        _put(holder, expected.location, after)
        kept = copied(after) if isinstance(after, (dict, list)) else expected.outcome(after)
        return [Coercion(path_of(place), rule, found, kept)]
    if expected.tags:
        return _with_tag(holder, found, expected, coercer, place)
    outcome = _of_branches(found, expected, coercer, place) if expected.branches else None
    if outcome is None:
        return []
    _put(holder, expected.location, outcome.value)
    return outcome.coercions


def _with_tag(holder: list[Any], found: Any, expected: Expected, coercer: Coercer, place: Location) -> list[Coercion]:
    """Coerce the tag of a union, if that is what is wrong."""
    tag = expected.tag_in(found)
    if not isinstance(found, dict) or tag not in found:
        return []
    choice = Expected(kinds=frozenset({"choice"}), choices=expected.choices, has_default=expected.has_optional_tag)
    before = found[tag]
    if proposed := proposal(before, choice, coercer.rules, coercer.parse):
        rule, after = proposed
        _put(holder, (*expected.location, str(tag)), after)
        return [Coercion(path_of((*place, str(tag))), rule, before, None if after is OMIT else after)]
    return []


def _of_branches(found: Any, expected: Expected, coercer: Coercer, place: Location) -> Coerced | None:
    """The value as coerced by the branches of a union, if all branches that accept it give the same value."""
    text = to_json(found)
    outcomes: dict[bytes, Coerced] = {}
    for branch in expected.branches:
        coercer.spend((_WORK_OF_TRYING + len(text) // _BYTES_AT_ONCE) * branch.slowness)
        try:
            outcome = coerced_until_valid(branch, copied(found), coercer, place)
        except InvalidError:
            continue
        outcomes.setdefault(to_json(outcome.value), outcome)
    return next(iter(outcomes.values())) if len(outcomes) == 1 else None


def value_at(value: Any, location: Location) -> Any:
    """The value at a location; ``_ABSENT``, which equals no JSON value, where there is none."""
    for step in location:
        if (step not in value) if type(value) is dict else not has(value, step):
            return _ABSENT
        value = value[step]
    return value


def alike(one: Any, other: Any) -> bool:
    """Whether a value is the one the validator saw: a user validator may have passed on another in its place.

    Of two objects or two arrays only the kind is compared.
    """
    if type(one) is str and type(other) is str:
        return one == other
    for kind in (dict, list, float):
        if isinstance(one, kind) and isinstance(other, kind):
            return kind is not float or bool(one == other) or (one != one and other != other)  # noqa: PLR0124 - NaN
    if isinstance(one, WrittenFloat) and isinstance(other, str):  # a Decimal is read from the text of a number
        return one.text == other
    return type(one) is type(other) and bool(one == other)


def has(value: Any, step: int | str) -> bool:
    """Whether a JSON value has such a member or item."""
    if isinstance(value, list):
        return isinstance(step, int) and step < len(value)
    return isinstance(value, dict) and step in value


def _can_be_left_out(value: Any, location: Location) -> bool:
    """Whether a value can be removed without moving others: a field always can, an item only if it is the last."""
    around = value_at(value, location[:-1])
    return not isinstance(around, list) or location[-1] == len(around) - 1


def _put(holder: list[Any], location: Location, after: Any) -> None:
    container: Any = holder
    last: int | str = 0
    for step in location:
        container, last = container[last], step
    if after is OMIT:
        del container[last]
    else:
        container[last] = after
