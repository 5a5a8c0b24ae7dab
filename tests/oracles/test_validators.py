"""The author's validators run as pydantic runs them, on what the model wrote: pydantic itself is the only judge.

Each draw is a type with validators, a value of it and slips of the value. Where pydantic accepts a value that is written
in JSON's own types, the tool's function gets pydantic's value, no coercion is recorded, and the same validators ran on
the same values. Where the value is written wrongly, the function gets what pydantic makes of it, or what pydantic makes
of the value as it was meant; and if nothing is recorded, the author's code decided.
"""

import collections
import copy
import json
import logging
import re
from random import Random
from typing import Any

import drawn_validators as drawing
import pytest
from lanes import Case, cases, check_drawn, check_kept, in_blocks, seed
from pydantic import ValidationError
from pydantic_core import SchemaValidator

from toolshape import CallError, DefinitionError, Registry, Tool, tool

LANE = "validators"
pytestmark = pytest.mark.filterwarnings("ignore")
LEAST_ACCEPTED = 20  # one draw in twenty, at least, is an accepted call with each mode


def draw(random: Random) -> Case | None:
    kind = drawing.draw_type(random)
    if not drawing.modes_in(kind):
        return None
    value = drawing.draw_value(random, kind)
    return {"type": kind, "value": value, "slips": drawing.slips(random, value)}


class _Outcome:
    """What came of one value: ``state`` is ``taken``, ``refused`` or ``crashed``; ``ran`` are the validators that ran."""

    def __init__(self, run: Any) -> None:
        drawing.RAN.clear()
        drawing.WRONG_TYPES.clear()
        self.coercions: tuple[Any, ...] = ()
        self.value: Any = None
        try:
            self.value, self.coercions = run()
            self.state = "taken"
        except (ValidationError, CallError) as error:
            crashed = isinstance(error, CallError) and error.code == "tool_crashed"
            self.state, self.value = "crashed" if crashed else "refused", error
        except Exception as error:
            self.state, self.value = "crashed", error
        self.ran, self.wrong_types = list(drawing.RAN), list(drawing.WRONG_TYPES)

    def __repr__(self) -> str:
        return f"{self.state} {self.value!r} coercions {self.coercions} ran {self.ran}"


def _by_pydantic(adapter: SchemaValidator, value: Any) -> _Outcome:
    return _Outcome(lambda: (adapter.validate_json(json.dumps(value)), ()))


def _by_tool(made: Tool[..., Any], value: Any) -> _Outcome:
    def run() -> tuple[Any, Any]:
        [result] = Registry([made]).dispatch(
            {"name": made.name, "arguments": json.dumps({"x": value})}
        )
        if result.error is not None:
            raise result.error
        return result.value, result.coercions

    return _Outcome(run)


def _tool_of(annotation: Any) -> Tool[..., Any]:
    def take(x: Any) -> Any:
        return x

    take.__annotations__ = {"x": annotation}
    take.__doc__ = "Take it."
    return tool(take)


def check(case: Case) -> str | None:
    annotation = drawing.build(case["type"])
    logging.disable(logging.CRITICAL)
    try:
        made = _tool_of(annotation)
    except DefinitionError:
        return None
    finally:
        logging.disable(logging.NOTSET)
    adapter = drawing.by_pydantic(annotation)
    logging.disable(logging.CRITICAL)
    try:
        wanted = _by_pydantic(adapter, case["value"])
        got = _by_tool(made, case["value"])
        difference = _compare_valid(case["type"], wanted, got)
        if difference is None and wanted.state == "taken":
            difference = next(
                filter(
                    None,
                    (
                        _compare_slip(case["type"], case["value"], adapter, made, wanted, slip)
                        for slip in case["slips"]
                    ),
                ),
                None,
            )
        return difference
    finally:
        logging.disable(logging.NOTSET)


def _compare_valid(kind: Any, wanted: _Outcome, got: _Outcome) -> str | None:
    if wanted.state != got.state:
        return f"valid: pydantic {wanted}, the tool {got}"
    if wanted.state == "taken" and repr(wanted.value) != repr(got.value):
        return f"valid: another value: pydantic {wanted}, the tool {got}"
    if wanted.state == "taken" and got.coercions:
        return f"valid: coerced: {got}"
    tries_branches = '"union"' in json.dumps(
        kind
    )  # read laxly, a value is tried with other branches, too
    if got.ran != wanted.ran and not (tries_branches and len(got.ran) <= len(wanted.ran)):
        return f"runs: pydantic {wanted.ran}, the tool {got.ran}"
    return None


def _is_number_as_text(value: Any, slip: Any) -> bool:
    """Whether a slip is the value with one number written as text, as the rule ``number_text`` reads it."""
    if type(value) is not type(slip):
        return type(value) in (int, float) and slip == json.dumps(value)
    if isinstance(value, dict) and value.keys() == slip.keys():
        pairs = [(value[key], slip[key]) for key in value]
    elif isinstance(value, list) and len(value) == len(slip):
        pairs = list(zip(value, slip, strict=True))
    else:
        return False
    different = [pair for pair in pairs if pair[0] != pair[1]]
    return len(different) == 1 and _is_number_as_text(*different[0])


def _compare_slip(
    kind: Any,
    value: Any,
    adapter: SchemaValidator,
    made: Tool[..., Any],
    meant: _Outcome,
    slip: Any,
) -> str | None:
    wanted, got = _by_pydantic(adapter, slip), _by_tool(made, slip)
    if got.wrong_types:
        return f"slip {slip!r}: an after validator was given {got.wrong_types}"
    if got.state == "refused":
        is_mild = '"union"' in json.dumps(kind) or '"strict": true' in json.dumps(kind)
        if wanted.state == "taken" and _is_number_as_text(value, slip) and not is_mild:
            return f"slip {slip!r}: refused, though a rule and pydantic take it: {got}"
        return _told(slip, got)
    if got.state == "crashed":
        return (
            None
            if wanted.state == "crashed"
            else f"slip {slip!r}: crashed: {got}, pydantic {wanted}"
        )
    mended = _by_pydantic(adapter, _mended(slip, got.coercions))
    values = [repr(each.value) for each in (wanted, meant, mended) if each.state == "taken"]
    same = [
        each
        for each in (wanted, meant, mended)
        if each.state == "taken" and each.value == got.value
    ]
    if repr(got.value) not in values and not same:  # a literal 1 and the number 1.0 are one value
        return f"slip {slip!r}: silently other: {got}, pydantic {wanted}, meant {meant}"
    if not got.coercions and (
        wanted.state != "taken" or (wanted not in same and repr(wanted.value) != repr(got.value))
    ):
        return f"slip {slip!r}: not recorded: {got}, pydantic {wanted}"
    if len(got.ran) > 2 * max(len(each.ran) for each in (wanted, meant, mended)):
        return f"slip {slip!r}: ran more than twice: {got}, pydantic {wanted}"
    return None


def _mended(slip: Any, coercions: Any) -> Any:
    """Return a slip with the changes that are on record."""
    holder = copy.deepcopy({"x": slip})
    for coercion in coercions:
        at: Any = holder
        *steps, last = [
            int(step[1:-1]) if step[0] == "[" else step.lstrip(".")
            for step in re.findall(r"\[\d+\]|\.?[^.\[]+", coercion.path)
        ]
        for step in steps:
            at = at[step]
        at[last] = coercion.after
    return holder["x"]


KINDS = {"integer": int, "string": str, "array": list, "object": dict, "boolean": bool, "number": (int, float)}  # fmt: skip


def _told(slip: Any, got: _Outcome) -> str | None:
    """The feedback never says that a kind of value was expected which was given."""
    for line in str(got.value).split("\n"):
        match = re.search(r": expected (.+), got (.+)$", line)
        try:
            given = json.loads(match[2]) if match else None
        except ValueError:
            match = None
        for phrase in match[1].split(" or ") if match else ():
            kind = KINDS.get(phrase)
            if kind and isinstance(given, kind) and (type(given) is bool) == (phrase == "boolean"):  # type: ignore[arg-type]
                return f"slip {slip!r}: told {line!r}"
    return None


def test_kept():
    check_kept(LANE, check)


@in_blocks
def test_drawn(block):
    check_drawn(LANE, block, draw, check)


def test_the_draws_are_worth_it():
    """Each mode of validator is in many calls that pydantic accepts: a lane of refusals would show nothing."""
    counts: collections.Counter[str] = collections.Counter()
    random = Random(f"{LANE} {seed()} worth")
    for _ in range(cases()):
        case = draw(random)
        if case is not None:
            state = _by_pydantic(
                drawing.by_pydantic(drawing.build(case["type"])), case["value"]
            ).state
            counts.update(drawing.modes_in(case["type"]) if state == "taken" else ())
    assert set(drawing.MODES) <= counts.keys()
    assert min(counts[mode] for mode in drawing.MODES) > cases() / LEAST_ACCEPTED, counts
