"""Judges changes to what a tool checks beyond its schema, by a call that is refused now."""

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, Literal, NamedTuple

from toolshape._records.calls import JsonObject
from toolshape._records.errors import CallError, DefinitionError
from toolshape._records.identity import canonical_json
from toolshape._schema.generate import generate
from toolshape._schema.values import copy_json
from toolshape._tools.tool import Tool, record_of
from toolshape._validation.coercion import choose_rules
from toolshape._validation.settings import Validate, ValidationSettings
from toolshape.contract._checks import Checks, is_code, leaf_accepts
from toolshape.contract._inclusion import mark_decimals
from toolshape.contract._lock import Locked
from toolshape.contract._schema_validators import compile_admission

_CALLS, _VALUES = 24, 400
_BOUNDS = frozenset({"ge", "gt", "le", "lt"})
_COERCED: tuple[Any, ...] = (
    "5", "1.5", 5, 5.0, 1, 0, True, "true", "yes", "on", "[]", "[1]", '["a"]', "{}", "a,b", "a",
    None, "1", [1], ["a"], {},
)  # fmt: skip
_TEXTS: tuple[Any, ...] = (
    "2020-01-01", "1999-12-31", "2999-01-01", "2020-01-01T00:00:00", "2020-01-01T00:00:00Z",
    "2999-01-01T00:00:00",
    "2999-01-01T00:00:00Z", "1999-01-01T00:00:00+05:00", "12:00:00", "12:00:00Z", "00:00:00",
    "23:59:59", "P1D", "PT1S",
    "P400D", "-P1D", "PT0S", "0", "-1", "1.25", "0.001", "123456789.12", 0.5, 1.25, -1, 10**6,
    12.345, "http://a.example/b", "ftp://a.example",
    "https://a.example/" + "b" * 80, "", "A b", "a@b.example", "x" * 300,
)  # fmt: skip


class ChangeVerdict(NamedTuple):
    """The level of a change, and a call that shows it."""

    level: Literal["breaking", "unknown", "compatible"]
    witness: JsonObject | None = None


def changed_places(before: Checks, after: Checks) -> list[str]:
    """Return the places at which the facts differ."""
    return [
        path for path in dict.fromkeys((*before, *after)) if before.get(path) != after.get(path)
    ]


def judge_place(
    path: str,
    before: Locked,
    after: Locked,
    refuses_at: Callable[[JsonObject], bool] | None,
) -> ChangeVerdict:
    """Return the level of a change of the facts at a place.

    Args:
        path: The place.
        before: The earlier contract of the tool.
        after: The current contract of the tool.
        refuses_at: Whether the current tool refuses a call because of this place; ``None`` if the
            tool is not there.
    """
    if before.checks is None:
        old = None
    else:
        old = {canonical_json(fact) for fact in before.checks.get(path, ())}
    new_facts = (after.checks or {}).get(path, ())
    come = [fact for fact in new_facts if old is None or canonical_json(fact) not in old]
    if not come:
        gone = [fact for fact in (before.checks or {}).get(path, ()) if fact not in new_facts]
        return ChangeVerdict("unknown" if any(map(_may_widen, gone)) else "compatible")
    if refuses_at is None:
        return ChangeVerdict("unknown")  # the tool is not there to validate calls
    certain, doubtful, tried = _refused_calls(path, before, after, refuses_at)
    if certain is not None:
        return ChangeVerdict("breaking", certain)
    if (
        tried
        and doubtful is None
        and before.checks is not None
        and all(map(_is_tried_by_edges, come))
    ):
        return ChangeVerdict("compatible")
    return ChangeVerdict("unknown", doubtful)


def _refused_calls(
    path: str, before: Locked, after: Locked, refuses_at: Callable[[JsonObject], bool]
) -> tuple[JsonObject | None, JsonObject | None, int]:
    """Return a refused call that was accepted, one that may have been, and the
    number of calls that were tried.
    """
    accepted, doubtful, tried = _Accepted(before), None, 0
    for call, coerced in _accepted_calls(accepted, _calls(path, before, after)):
        tried += 1
        if refuses_at(call):
            if before.checks is not None and accepted.is_certain(coerced):
                return call, doubtful, tried
            doubtful = doubtful or call
    return None, doubtful, tried


def _accepted_calls(
    accepted: "_Accepted", calls: Iterator[JsonObject]
) -> Iterator[tuple[JsonObject, Any]]:
    """Yield the calls that were accepted, each with its coerced form.

    Those that needed no coercion come first: they show a change more plainly.
    """
    coerced_calls: list[tuple[JsonObject, Any]] = []
    for call in calls:
        coerced = accepted.coerced_form(call)
        if coerced is None:
            continue
        if canonical_json(coerced) == canonical_json(call):
            yield call, coerced
        else:
            coerced_calls.append((call, coerced))
    yield from coerced_calls


def _may_widen(fact: JsonObject) -> bool:
    """Whether the author's code may accept what the type itself refuses: a validator
    that runs before or around it.
    """
    return "validator" in fact and fact["validator"] not in _NARROWING


_NARROWING = frozenset({"function-after", "post_init", "grammar"})
"""The validators that see only what the type has accepted."""


def _is_tried_by_edges(fact: JsonObject) -> bool:
    """Whether values around its edges decide a fact: bounds, and
    strictness, which takes away known forms.
    """
    return "validator" not in fact and bool(fact.keys() & {*_BOUNDS, "strict"})


class _Accepted:
    """Whether a call was accepted before, as far as the lock tells: by the
    schema, the coercions, and the facts.
    """

    def __init__(self, before: Locked) -> None:
        self._checks = before.checks or {}
        self._leaves = {path: leaf_accepts(facts) for path, facts in self._checks.items()}
        self._strict = [
            path
            for path, facts in self._checks.items()
            if any(fact.get("strict") for fact in facts)
        ]
        self._has_code = any(is_code(fact) for facts in self._checks.values() for fact in facts)
        self._admits = compile_admission(before.parameters, "checked")
        self._admits_certainly = compile_admission(mark_decimals(before.parameters), "certain")
        self._validate: Validate | None = None
        if before.coerce is None:
            rules = choose_rules()
        else:
            rules = frozenset(before.coerce)
        with contextlib.suppress(DefinitionError):
            tool = Tool.from_definition({"name": "before", "parameters": before.parameters})
            self._validate = record_of(tool).compile_validation(ValidationSettings("before", rules))

    def coerced_form(self, call: JsonObject) -> Any:
        """Return what the function was given for a call, or ``None`` if it was refused."""
        coerced = self._coerced(call)
        if (
            coerced is not None
            and all(_is_form_kept(call, coerced, steps_of(path)) for path in self._strict)
            and self._admits(coerced)
            and all(
                all(map(accepts, values_at(coerced, steps_of(path))))
                for path, accepts in self._leaves.items()
            )
        ):
            return coerced
        return None

    def is_certain(self, coerced: Any) -> bool:
        """Whether no code of the author's, and no format of which nothing is known,
        can have refused a call of this coerced form.
        """
        return not self._has_code and self._admits_certainly(coerced)

    def _coerced(self, call: JsonObject) -> Any:
        if self._validate is None:
            return call
        try:
            return self._validate(copy_json(call))[0]
        except CallError:
            return None


def _is_form_kept(call: JsonObject, coerced: Any, steps: list[str]) -> bool:
    """Whether a strict place holds what the model wrote; what is inside of a list or
    an object has facts of its own.
    """
    written, read = values_at(call, steps), values_at(coerced, steps)
    return len(written) == len(read) and all(
        type(before) is type(after)
        and (isinstance(before, (dict, list)) or canonical_json(before) == canonical_json(after))
        for before, after in zip(written, read, strict=True)
    )


def _calls(path: str, before: Locked, after: Locked) -> Iterator[JsonObject]:
    """Yield calls that are valid by the old schema but for the value at a place, where
    each candidate stands in turn.
    """
    steps = steps_of(path)
    bases = list(_bases(before, steps))
    facts = [*(before.checks or {}).get(path, ()), *(after.checks or {}).get(path, ())]
    seen = set[str]()
    for call in bases:
        yield call
    for value in islice((*_edges(facts), *_COERCED, *_TEXTS), _VALUES):
        for base in bases[:3]:
            call = with_value(base, steps, value)
            text = canonical_json(call)
            if text not in seen:
                seen.add(text)
                yield call
    for base in bases:
        for inner in values_at(base, steps):
            for form in _forms(inner):
                yield with_value(base, steps, form)


def _forms(value: Any) -> Iterator[Any]:
    """Yield a value in the other forms that models write it in."""
    yield canonical_json(value)
    if not isinstance(value, str):
        yield str(value)
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(inner, (dict, list)):
                yield {**value, key: str(inner)}
    elif not isinstance(value, list):
        yield [value]
    if isinstance(value, str):
        for kind in (int, float):
            try:
                yield kind(value)
            except ValueError:
                continue


def _bases(before: Locked, steps: list[str]) -> Iterator[JsonObject]:
    found = 0
    for seed in range(_CALLS * 4):
        try:
            call = generate(before.parameters, random.Random(seed))  # noqa: S311 - no secret
        except (OverflowError, RecursionError, ValueError):
            return
        if isinstance(call, dict) and (not steps or holds(call, steps)):
            found += 1
            yield call
        if found == _CALLS:
            return


def _edges(facts: list[JsonObject]) -> Iterator[Any]:
    """Yield the values at, just below and just above each bound, as JSON writes them."""
    for fact in facts:
        for key in _BOUNDS & fact.keys():
            yield from _around(fact["type"], fact[key])
        if fact.get("syntax") == "regex":
            pattern = {"type": "string", "pattern": rf"^(?:{fact['definition']})$"}
            for seed in range(_CALLS):
                yield generate(pattern, random.Random(seed))  # noqa: S311 - no secret
        if "max_digits" in fact:
            yield from ("1" * int(fact["max_digits"]), "1" * (int(fact["max_digits"]) + 1))
        if "decimal_places" in fact:
            places = int(fact["decimal_places"])
            yield from (f"0.{'1' * places}" if places else "1", f"0.{'1' * (places + 1)}")


def _around(kind: str, bound: Any) -> Iterator[Any]:
    around = _AROUND.get(kind)
    if around is None:
        return iter(())
    return around(bound)


def _days_around(bound: str) -> Iterator[Any]:
    for step in (0, -1, 1):
        yield _moved(date.fromisoformat(bound), timedelta(days=step))


def _moments_around(bound: str) -> Iterator[Any]:
    moment = datetime.fromisoformat(bound)
    for step in (0, -1, 1):
        yield _moved(moment, timedelta(seconds=step))
        yield _moved(moment.replace(tzinfo=None), timedelta(seconds=step))


def _times_around(bound: str) -> Iterator[Any]:
    moment = datetime.combine(date(2000, 1, 2), time.fromisoformat(bound))
    for step in (0, -1, 1):
        yield (moment + timedelta(seconds=step)).timetz().isoformat()


def _durations_around(bound: float) -> Iterator[Any]:
    for step in (0, -1, 1):
        yield _duration(bound + step)


def _numbers_around(bound: Any) -> Iterator[Any]:
    for step in ("0", "-0.01", "0.01", "-1", "1"):
        number = Decimal(str(bound)) + Decimal(step)
        yield str(number)
        yield float(number)


_AROUND: Mapping[str, Callable[[Any], Iterator[Any]]] = {
    "date": _days_around,
    "datetime": _moments_around,
    "time": _times_around,
    "timedelta": _durations_around,
    "decimal": _numbers_around,
}


def _moved(moment: Any, step: timedelta) -> str:
    try:
        text: str = (moment + step).isoformat()
    except OverflowError:
        text = moment.isoformat()
    return text


def _duration(seconds: float) -> str:
    return f"{'-' if seconds < 0 else ''}PT{abs(seconds):g}S"


def steps_of(path: str) -> list[str]:
    """Return the steps of a place: names, ``[]`` for each item, ``{}`` for each value of a map."""
    return list(filter(None, path.replace("[]", ".[].").replace("{}", ".{}.").split(".")))


def values_at(value: Any, steps: list[str]) -> list[Any]:
    """Return the values at a place of a call."""
    if not steps:
        return [value]
    first, rest = steps[0], steps[1:]
    if first == "[]":
        inner = value if isinstance(value, list) else []
    elif first == "{}":
        inner = list(value.values()) if isinstance(value, dict) else []
    else:
        inner = [value[first]] if isinstance(value, dict) and first in value else []
    return [found for item in inner for found in values_at(item, rest)]


def holds(call: JsonObject, steps: list[str]) -> bool:
    """Whether a call has the object, list or map in which a place stands."""
    return bool(values_at(call, steps[:-1]))


def with_value(node: Any, steps: list[str], value: Any) -> Any:
    """Return a copy of a call with another value at each of the positions of a place."""
    if not steps:
        return value
    first, rest = steps[0], steps[1:]
    if isinstance(node, list) and first == "[]":
        return [with_value(item, rest, value) for item in node or [None]]
    if not isinstance(node, dict) or first == "[]":
        return node
    keys = list(node) or ["a"] if first == "{}" else [first]
    return {**node, **{key: with_value(node.get(key), rest, value) for key in keys}}
