"""Definitions of others: a tool accepts exactly the arguments that its schema admits, as jsonschema judges by dialect."""

import functools
import json
import logging
from random import Random
from typing import Any

from drawn_schemas import Schemas, siblings_count
from drawn_values import NoValueError, Values, mutated
from jsonschema import Draft4Validator, Draft201909Validator, Draft202012Validator
from jsonschema.validators import extend, validator_for
from lanes import Case, check_drawn, check_kept, in_blocks

from toolshape import DefinitionError, ExportError, Registry, Tool
from toolshape._families import get
from toolshape._families.names import available

LANE = "definitions"
TARGETS = [
    (name, strict)
    for name in available()
    for strict in ((False, True) if get(name).schema.strict else (False,))
]
VALUES = 12  # of one schema


def _is_integer(_checker: Any, value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)


# Draft 4 said that 3.0 is no integer. No draft since has, and toolshape reads all of them alike.
_DRAFT_4 = extend(
    Draft4Validator, type_checker=Draft4Validator.TYPE_CHECKER.redefine("integer", _is_integer)
)


# jsonschema 4.26 takes the keywords of an ``additionalProperties`` in 2019-09 for names of fields.
_2019 = extend(
    Draft201909Validator,
    {"unevaluatedProperties": Draft202012Validator.VALIDATORS["unevaluatedProperties"]},
)
_JUDGES: dict[Any, Any] = {Draft4Validator: _DRAFT_4, Draft201909Validator: _2019}


def judge_of(schema: Any) -> Any:
    """The validator of the dialect that a schema names."""
    found: Any = validator_for(schema, default=Draft202012Validator)
    # Without its name, since jsonschema takes the dialect's own validator again wherever it finds the name.
    return _JUDGES.get(found, found)(
        {key: value for key, value in schema.items() if key != "$schema"}
    )


class Made:
    """A tool of one schema, and what its function got."""

    def __init__(self, schema: Any) -> None:
        self.got: list[Any] = []
        self.judge = judge_of(schema)
        self.tool: Tool[..., Any] | None = None
        self.refused = ""
        try:
            self.tool = Tool.from_definition(
                {"name": "f", "inputSchema": schema}, self.run, defaults="leave"
            )
        except DefinitionError as error:
            self.refused = f"the definition is refused: {error}"
            return
        self.bound = Registry([self.tool]).bind("json-schema")
        self.canonical = Draft202012Validator(self.tool.input_schema)
        # A schema that speaks of fields is read as an object's, which refuses what the standard admits; a finding says so.
        self.is_narrower = any(
            "no type is declared" in finding.message for finding in self.tool.findings
        )

    def run(self, **given: Any) -> str:
        """Keep what the function gets."""
        self.got.append(given)
        return "ok"


@functools.lru_cache(maxsize=4)
def made(text: str) -> Made:
    """The tool of a schema, of which several values are checked."""
    return Made(json.loads(text))


def check(case: Case) -> str | None:
    """The difference between what a tool accepts and what its schema admits."""
    tool = made(json.dumps(case["schema"]))
    if tool.refused:  # a root that admits no object is no schema of arguments
        is_no_object = "arguments must be an object" in tool.refused or tool.refused.endswith(
            "admits nothing"
        )
        return None if is_no_object else tool.refused
    if "to" in case and (difference := exported(tool, *case["to"])):
        return difference
    value = case["value"]
    admitted = tool.judge.is_valid(value)
    is_canonical = tool.canonical.is_valid(value)
    is_narrowed = admitted and not is_canonical and tool.is_narrower
    if is_canonical is not admitted and not is_narrowed:
        return f"the canonical schema says {not admitted} to {json.dumps(value)}: {json.dumps(tool.canonical.schema)}"
    tool.got.clear()
    [result] = tool.bound.dispatch({"name": "f", "arguments": json.dumps(value)})
    if result.error is not None and result.error.code not in (
        "invalid_arguments",
        "malformed_arguments",
    ):
        return f"{json.dumps(value)} ends as {result.error.code}: {result.text}"
    if not result.ok:
        is_wrong = admitted and not is_narrowed
        return f"{json.dumps(value)} is refused, though valid: {result.text}" if is_wrong else None
    [got] = tool.got
    if not tool.judge.is_valid(got):
        return f"{json.dumps(value)} is invalid, and ran as {json.dumps(got)}"
    if admitted and not is_narrowed and not same(got, value):
        return f"{json.dumps(value)} is valid, and arrived as {json.dumps(got)}"
    is_right = (admitted and not is_narrowed) or result.coercions
    return None if is_right else f"{json.dumps(value)} is invalid, and ran without a coercion"


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; 3.0 is 3, true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def exported(tool: Made, provider: str, strict: bool) -> str | None:
    """What is wrong with the entry for a provider: a crash, or a reference that was lost."""
    assert tool.tool is not None
    try:
        tool.tool.export(provider, strict=strict)
    except ExportError as error:
        return f"{provider} {strict}: {error}" if "does not resolve" in str(error) else None
    except Exception as error:
        return f"{provider} {strict}: the export raises {type(error).__name__}: {error}"
    return None


class Drawn:
    """Draws several cases of one schema after the other: to make a tool takes longer than to check a value."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def draw(self, random: Random) -> Case | None:
        """One case."""
        if not self.cases:
            self.cases = drawn(random)
        return self.cases.pop(0) if self.cases else None


def drawn(random: Random) -> list[Case]:
    """The cases of one schema: values that are probably valid, and values like them."""
    schema = Schemas(random).schema()
    judge: Any = type(judge_of(schema))
    if any(judge(judge.META_SCHEMA).iter_errors(schema)):
        return []
    values = Values(random, schema, siblings=siblings_count(schema))
    found: list[Case] = []
    for number in range(VALUES):
        try:
            value = values.value()
        except NoValueError:
            value = {}
        if number % 2:
            value = mutated(random, value)
        if isinstance(value, dict) and not any(value == case["value"] for case in found):
            found.append({"schema": schema, "value": value})
    if found:
        found[0]["to"] = random.choice(TARGETS)
    return found


logging.getLogger("toolshape").setLevel(logging.CRITICAL)  # a crash is told by the result


def test_kept_rows():
    check_kept(LANE, check)


@in_blocks
def test_tools_accept_what_their_schemas_admit(block):
    check_drawn(LANE, block, Drawn().draw, check)
