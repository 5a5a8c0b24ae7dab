"""The loop that mends a value place by place until it is valid, or beyond mending. It knows no validator."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from toolshape.bodies import copied
from toolshape.calls import Coercion, new_record
from toolshape.coercion import OMIT, Parse, Wanted, WantedAt, is_misspelt, proposal
from toolshape.faults import Fault, Location, path_of

__all__ = ["Checker", "InvalidError", "Mender", "has", "mended_at_once", "settled"]

_MOST_ROUNDS = 6  # a text that holds texts: each round mends one layer
_MOST_TRIED = 8_000_000  # bytes validated in trying the branches of unions; a hostile value has many
_COST_OF_TRYING = 2_000  # bytes, whatever the size of the value
_ABSENT = object()


class InvalidError(Exception):
    """A value is not what is wanted: ``faults`` say where, ``told`` says why to a reader.

    ``value`` is the value as far as it was mended.
    """

    def __init__(self, faults: Sequence[Fault], told: Callable[[], Sequence[Fault]] | None = None) -> None:
        self.faults = faults
        self.told = told or (lambda: faults)
        self.value: Any = None
        super().__init__()


class Checker(NamedTuple):
    """Something that validates.

    ``check`` gives the validated value or raises ``InvalidError``; ``wanted`` says what a place wants that a fault
    names, ``None`` where nobody can tell.
    """

    check: Callable[[Any], Any]
    wanted: WantedAt


class Mender:
    """What is allowed in mending a value: the rules that are on, how a text is read, and how much may be tried.

    ``read`` reads JSON text, repaired where it is told so.
    """

    __slots__ = ("_bytes_tried", "_read", "parse", "rules")

    def __init__(
        self, rules: frozenset[str], read: Callable[[str, bool], tuple[Any, bool]], bytes_tried: list[int] | None = None
    ) -> None:
        may_repair = "repair_json" in rules
        self.rules = rules
        self.parse: Parse = lambda text: read(text, may_repair)
        self._read = read
        self._bytes_tried = [0] if bytes_tried is None else bytes_tried  # one sum for a payload and all its parts

    def may_try(self, size: int) -> bool:
        """Whether so many bytes more may be validated."""
        self._bytes_tried[0] += size
        return self._bytes_tried[0] <= _MOST_TRIED

    def at(self, wanted: Wanted) -> "Mender":
        """What is allowed at a place, where the author may have switched rules."""
        if not wanted.switched:
            return self
        on = {rule for rule, is_on in wanted.switched.items() if is_on}
        return Mender((self.rules - wanted.switched.keys()) | on, self._read, self._bytes_tried)


def mended_at_once(
    value: Any, refused: Iterable[tuple[Location, Any]], wanted: WantedAt, rules: frozenset[str], parse: Parse
) -> list[Coercion] | None:
    """Mend scalars alone, which is what nearly all slips are.

    Args:
        value: JSON of our own, which is changed.
        refused: The places that a validator refuses, and what stood there.
        wanted: What each wants.
        rules: The rules that are on.
        parse: Reads JSON text.

    Returns:
        What was mended; ``None``, the value half mended, where it takes more than this.
    """
    made: list[Coercion] = []
    for location, found in refused:
        place = wanted(location)
        if place is None or not place.is_scalar or not _alike(_standing(value, location), found):
            return None
        mend = proposal(found, place, rules, parse)
        if mend is None:
            return None
        rule, after = mend
        _put([value], location, after)
        made.append(new_record(Coercion, (path_of(location), rule, found, None if after is OMIT else after)))
    return made


class Settled(NamedTuple):
    """A value that is valid now: as it was validated, as JSON, and what was mended."""

    validated: Any
    value: Any
    coercions: list[Coercion]


def settled(
    checker: Checker, value: Any, mender: Mender, at: Location = (), already: InvalidError | None = None
) -> Settled:
    """Mend a value until it is valid.

    Args:
        checker: What validates it.
        value: JSON of our own, which is changed.
        mender: What is allowed.
        at: Where it stands in the arguments, for the record.
        already: What the checker has against the value, where that is known.

    Raises:
        InvalidError: It is not valid, and no rule mends what is left.
    """
    holder = [value]
    coercions: list[Coercion] = []
    for rounds_left in reversed(range(_MOST_ROUNDS)):
        try:
            if already is None:
                return Settled(checker.check(holder[0]), holder[0], coercions)
            error, already = already, None
        except InvalidError as found:
            error = found
        made = _mended(holder, error.faults, checker, mender, at)
        if not made or not rounds_left:
            error.value = holder[0]
            raise error
        coercions += made
    raise AssertionError  # pragma: no cover - the last round returns or raises


def _mended(
    holder: list[Any], faults: Iterable[Fault], checker: Checker, mender: Mender, at: Location
) -> list[Coercion]:
    """Mend what the faults name, each place once."""
    made: list[Coercion] = []
    seen: set[Location] = set()
    for place, _, seen_there, rule, _, _ in faults:
        wanted = checker.wanted(place[:-1] if rule == "unknown" else place)
        if wanted is None or wanted.strict or rule == "missing":
            continue
        location = wanted.location
        if rule == "unknown" and not wanted.branches:
            made += _without_unknown(holder, str(place[-1]), wanted, mender, at)
        elif location not in seen:
            seen.add(location)
            found = _standing(holder[0], location)
            is_told_by_parts = wanted.branches or wanted.tags
            if found is not _ABSENT and (is_told_by_parts or _alike(found, seen_there)):
                item = checker.wanted((*place, 0)) if "list" in wanted.kinds else None
                made += _with_best(holder, found, wanted, mender, at, item)
    return made


def _without_unknown(holder: list[Any], name: str, wanted: Wanted, mender: Mender, at: Location) -> list[Coercion]:
    parent = _standing(holder[0], wanted.location)
    if "ignore_extra" not in mender.at(wanted).rules or not isinstance(parent, dict) or name not in parent:
        return []
    fields = list(wanted.fields())
    if fields and parent.keys().isdisjoint(fields):  # nothing of it is known: it is meant for something else
        return []
    if is_misspelt(name, (one for one in fields if one not in parent)):
        return []
    return [Coercion(path_of((*at, *wanted.location, name)), "ignore_extra", parent.pop(name), None)]


def _with_best(
    holder: list[Any], found: Any, wanted: Wanted, mender: Mender, at: Location, item: Wanted | None
) -> list[Coercion]:
    """Put what the first rule that applies makes of a place, or what the only branch that takes it does."""
    place = (*at, *wanted.location)
    mender = mender.at(wanted)
    if mend := proposal(found, wanted, mender.rules, mender.parse, item):
        rule, after = mend
        _put(holder, wanted.location, after)
        kept = copied(after) if isinstance(after, (dict, list)) else None if after is OMIT else after
        return [Coercion(path_of(place), rule, found, kept)]
    if wanted.tags:
        return _with_tag(holder, found, wanted, mender, place)
    outcome = _of_branches(found, wanted, mender, place) if wanted.branches else None
    if outcome is None:
        return []
    _put(holder, wanted.location, outcome.value)
    return outcome.coercions


def _with_tag(holder: list[Any], found: Any, wanted: Wanted, mender: Mender, place: Location) -> list[Coercion]:
    """Mend the field that tells branches apart, if that is what is wrong."""
    tag = wanted.tag_in(found)
    if not isinstance(found, dict) or tag not in found:
        return []
    choice = Wanted(kinds=frozenset({"choice"}), choices=wanted.choices)
    if mend := proposal(found[tag], choice, mender.rules, mender.parse):
        rule, after = mend
        _put(holder, (*wanted.location, str(tag)), after)
        return [Coercion(path_of((*place, str(tag))), rule, found[tag], after)]
    return []


def _of_branches(found: Any, wanted: Wanted, mender: Mender, place: Location) -> Settled | None:
    """What the branches of a union make of a value, if it is one thing."""
    text = to_json(found)
    outcomes: dict[bytes, Settled] = {}
    for branch in wanted.branches:
        if not mender.may_try(len(text) + _COST_OF_TRYING):
            return None
        try:
            outcome = settled(branch, from_json(text), mender, place)
        except InvalidError:
            continue
        outcomes.setdefault(to_json(outcome.value), outcome)
    return next(iter(outcomes.values())) if len(outcomes) == 1 else None


def _standing(value: Any, location: Location) -> Any:
    for step in location:
        if (step not in value) if type(value) is dict else not has(value, step):
            return _ABSENT
        value = value[step]
    return value


def _alike(one: Any, other: Any) -> bool:
    """Whether this is what the validator saw: a validator of the author's may have handed on something else."""
    if type(one) is type(other) is str:
        return one == other
    is_same_kind = type(one) is type(other) or (isinstance(one, float) and isinstance(other, float))
    return is_same_kind and (isinstance(one, (dict, list)) or bool(one == other))


def has(value: Any, step: int | str) -> bool:
    """Whether a JSON value has such a member or item."""
    if isinstance(value, list):
        return isinstance(step, int) and step < len(value)
    return isinstance(value, dict) and step in value


def _put(holder: list[Any], location: Location, after: Any) -> None:
    container: Any = holder
    last: int | str = 0
    for step in location:
        container, last = container[last], step
    if after is OMIT:
        del container[last]
    else:
        container[last] = after
