"""What a provider's schema admits is accepted and means what it plainly says, or is refused for a reported reason.

A value is drawn from the schema that a target was sent, or changed in one place. Dispatched in the target's form, it
either reaches the function as plain Python reads it from the two schemas, or is refused; where the sent schema admits
it, the report must name a loss at the place that is refused.
"""

import functools
import inspect
import json
import logging
import re
from random import Random
from typing import Any

import pydantic
import pydantic_core
import zoo
from drawn_schemas import Schemas, siblings_count
from drawn_values import NoValueError, Values, mutated
from jsonschema import Draft202012Validator
from lanes import Case, check_drawn, check_kept, in_blocks
from plain_readings import Readings, UnknownError, in_2020_12
from test_definitions import TARGETS, judge_of, same

from toolshape import DefinitionError, ExportError, Registry, Tool, tool

LANE = "wire_values"
VALUES = 10  # of one tool at one target
_NOT_SAID = {
    "json_in_text": "that a text holds JSON of a form is no constraint of JSON Schema",
    "after_validators": "validators are code",
    "precise": "what is a number or a path to Python has no format",
    "typed_keys": "nor have keys that are numbers",
    "formatted": "nor have patterns and addresses",
    "times": "formats constrain nothing by the standard, and digits are a time to pydantic",
    "mutually_recursive": "it asserts what it is given",
    "odd_defaults": "its result is no JSON",
    "keys_of_every_kind": "its result is no JSON",
}
"""Functions that are left out, most of them since they refuse what no schema can say."""


FUNCTIONS = {
    name: case.function
    for name, case in zoo.CASES.items()
    if name not in _NOT_SAID
    and "generator" not in name
    and name != "lazy_list"  # which count to what they are given
}


def _by_pydantic(case: zoo.Case) -> Any:
    """What calls a function as pydantic reads its signature; ``None`` where that is not how a tool is called."""
    if not inspect.isfunction(case.function) or inspect.iscoroutinefunction(
        inspect.unwrap(case.function)
    ):
        return None
    try:
        called = pydantic.validate_call(case.function)
        return (
            called
            if _same_object(called(**json.loads(json.dumps(case.arguments))), case.seen)
            else None
        )
    except (pydantic.ValidationError, pydantic_core.SchemaError, TypeError):
        return None


def _same_object(one: Any, other: Any) -> bool:
    return bool(one == other) or repr(one) == repr(other)


BY_PYDANTIC = {name: found for name in FUNCTIONS if (found := _by_pydantic(zoo.CASES[name]))}


class Shown:
    """A tool as one target was sent it."""

    def __init__(self, name: str, schema: Any, provider: str, strict: bool) -> None:
        self.name = name
        self.got: list[Any] = []
        self.judge: Any
        if name:
            self.tool: Tool[..., Any] = tool(FUNCTIONS[name])
            self.judge = Draft202012Validator(self.tool.input_schema)
        else:
            self.tool = Tool.from_definition(
                {"name": "f", "inputSchema": schema}, self.run, defaults="leave"
            )
            self.judge = judge_of(schema)
        self.meant = self.tool.input_schema
        self.canonical = Draft202012Validator(self.meant)
        self.closed = Draft202012Validator(closed(self.meant))
        self.has_unions = not {"anyOf", "oneOf"}.isdisjoint(_words(self.meant))
        self.bound = Registry([self.tool]).bind(provider, strict=strict)
        self.wire_name, self.sent = _entry(self.bound.export())
        if (
            "x-not-sent" in self.sent
        ):  # Gemini is sent no schema where a tool has no field: what it takes is undecided
            self.sent["additionalProperties"] = self.meant.get("additionalProperties", True)
            self.sent["$defs"] = self.meant.get("$defs", {})
        self.admitted = Draft202012Validator(self.sent)
        left_out = {
            entry.path for entry in self.bound.report() if "null means omitted" in entry.note
        }
        self.readings = Readings(self.meant, self.sent, left_out)
        self.losses = [entry for entry in self.bound.report() if entry.severity != "mapped_back"]
        self.ambiguous = "look alike" in str(self.bound.report())
        self.definitions = set(self.tool.input_schema.get("$defs", ()))

    def run(self, **given: Any) -> str:
        """Keep what the function gets."""
        self.got.append(given)
        return "ok"

    def read(self, value: Any) -> list[Any] | None:
        """Every plain reading of a value; ``None`` where none is known."""
        try:
            return [item for item in self.readings.of(value) if self.is_taken(item)]
        except (UnknownError, RecursionError):
            return None

    def is_taken(self, reading: Any) -> bool:
        """Whether a function takes some arguments: by jsonschema, or by pydantic, which checks formats, too."""
        if not self.name:
            return bool(self.judge.is_valid(reading))
        if self.name not in BY_PYDANTIC:
            raise UnknownError
        try:
            BY_PYDANTIC[self.name](**reading)
        except pydantic.ValidationError:
            return False
        return True


def _words(node: Any) -> set[str]:
    """Every name in a schema."""
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return set(node if isinstance(node, dict) else ()).union(*map(_words, inner))


def _entry(exported: list[Any]) -> tuple[str, Any]:
    """The name and the schema in an entry of any family."""
    [entry] = exported
    if "functionDeclarations" in entry:
        [entry] = entry["functionDeclarations"]
    entry = entry.get("function") or entry.get("toolSpec") or entry
    keys = ("parameters", "parametersJsonSchema", "input_schema", "inputSchema")
    schema = next(
        (entry[key] for key in keys if key in entry), {"type": "object", "x-not-sent": True}
    )
    schema = json.loads(schema) if isinstance(schema, str) else schema.get("json", schema)
    return entry["name"], in_2020_12(schema)


def body(family: str, name: str, arguments: Any) -> Any:
    """A response of a family with one call."""
    text = json.dumps(arguments)
    function = {"name": name, "arguments": text}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    bodies = {
        "anthropic": lambda: {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}],
            "stop_reason": "tool_use",
        },
        "bedrock": lambda: {
            "output": {
                "message": {
                    "role": "assistant",
                    "content": [{"toolUse": {"toolUseId": "tooluse_1", "name": name, "input": arguments}}],
                }
            },
            "stopReason": "tool_use",
        },
        "cohere": lambda: {"message": {"role": "assistant", "tool_calls": calls}, "finish_reason": "TOOL_CALL"},
        "gemini": lambda: {
            "candidates": [
                {"content": {"role": "model", "parts": [{"functionCall": {"name": name, "args": arguments}}]}}
            ]
        },
        "ollama": lambda: {
            "message": {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": name, "arguments": arguments}}],
            },
            "done": True,
            "model": "m",
        },
        "mcp": lambda: {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        },
        "openai-responses": lambda: {"object": "response", "status": "completed", "output": [
            {"type": "function_call", "call_id": "call_1", "id": "fc_1", **function}
        ]},
        "openai-realtime": lambda: {
            "type": "response.done",
            "response": {"object": "realtime.response", "id": "resp_1", "status": "completed", "output": [
                {"type": "function_call", "call_id": "call_1", "id": "fc_1", "status": "completed", **function}
            ]},
        },
        "gemini-live": lambda: {
            "toolCall": {"functionCalls": [{"id": "call_1", "name": name, "args": arguments}]}
        },
        "gemini-interactions": lambda: {
            "status": "requires_action",
            "steps": [{"type": "function_call", "id": "call_1", "name": name, "arguments": arguments}],
        },
        "json-schema": lambda: {"name": name, "arguments": text},
        "xai:grpc": lambda: {"outputs": [{"finish_reason": "REASON_TOOL_CALLS", "message": {
            "role": "ROLE_ASSISTANT", "tool_calls": [{"id": "call_1", "function": function}]
        }}]},
    }  # fmt: skip
    openai = {
        "choices": [
            {"message": {"role": "assistant", "tool_calls": calls}, "finish_reason": "tool_calls"}
        ]
    }
    return bodies[family]() if family in bodies else openai


@functools.lru_cache(maxsize=4)
def shown(name: str, schema: str, provider: str, strict: bool) -> Shown | str:
    """A tool at a target, of which several values are checked; the reason why there is none."""
    try:
        return Shown(name, json.loads(schema), provider, strict)
    except (DefinitionError, ExportError) as error:
        return str(error)


def _shown(case: Case) -> Shown | str:
    return shown(case.get("tool", ""), json.dumps(case.get("schema")), *case["to"])


def check(case: Case) -> str | None:
    """What is wrong with a value in wire form, or with the wire form of a value."""
    try:
        found = _shown(case)
    except Exception as error:
        return f"the export raises {type(error).__name__}: {error}"
    if isinstance(found, str):
        return None
    provider = case["to"][0]
    if provider.startswith("gemini-openapi") and (
        place := _bare_object(list(found.sent.get("properties", {}).values()))
    ):
        return f"gemini-openapi refuses an object without properties: {place}"
    return check_said(found, case["said"]) if "said" in case else check_wire(found, case["value"])


def check_wire(found: Shown, value: Any) -> str | None:
    """The difference between what a wire value plainly means and what becomes of it."""
    readings, is_admitted = found.read(value), bool(found.admitted.is_valid(value))
    found.got.clear()
    [result] = found.bound.dispatch(body(found.bound.provider.family, found.wire_name, value))
    if result.error is not None and result.error.code not in (
        "invalid_arguments",
        "malformed_arguments",
    ):
        return f"{json.dumps(value)} ends as {result.error.code}: {result.text}"
    if result.ok:
        return _wrongly_taken(found, value, readings, result)
    readings = [
        reading
        for reading in readings or ()
        if found.judge.is_valid(reading) and found.canonical.is_valid(reading)
    ]
    if is_admitted and readings and not found.ambiguous:
        return f"{json.dumps(value)} means {json.dumps(readings[0])}, and is refused: {result.text}"
    if is_admitted and not all(_is_named(problem.path, found) for problem in result.error.problems):
        return f"{json.dumps(value)} is admitted by what was sent, and refused, which the report does not name: {result.text}"
    return None


_UNKNOWN_FIELDS = "unknown fields are not admitted"
"""What is reported of nearly every open object: it excuses only values with a field that no schema names."""


_VALUES = ("items", "additionalProperties", "contains", "unevaluatedItems", "unevaluatedProperties")
_VALUES_BY_NAME = ("properties", "patternProperties")
_IN_PLACE = ("allOf", "anyOf", "oneOf", "prefixItems")


def closed(node: Any, is_value: bool = True) -> Any:
    """A schema that admits no field that none of its parts speaks of.

    Args:
        node: A schema.
        is_value: Whether it describes a whole value, rather than being one of the parts of what does.
    """
    if not isinstance(node, dict):
        return node
    # What depends on a condition is described, and the fields of it are not sent.
    found = {
        key: inner
        for key, inner in node.items()
        if key not in ("if", "then", "else", "dependentSchemas")
    }
    for keyword in _VALUES:
        if keyword in node:
            found[keyword] = closed(node[keyword])
    for keyword in _VALUES_BY_NAME:
        if keyword in node:
            found[keyword] = {name: closed(inner) for name, inner in node[keyword].items()}
    for keyword in _IN_PLACE:
        if keyword in node:
            found[keyword] = [closed(inner, keyword == "prefixItems") for inner in node[keyword]]
    if "$defs" in node:
        found["$defs"] = {name: closed(inner, False) for name, inner in node["$defs"].items()}
    return {"unevaluatedProperties": False, **found} if is_value else found


def check_said(found: Shown, value: Any) -> str | None:
    """What is wrong with the wire form that valid arguments are written in: it must be admitted, and mean the same."""
    if not found.judge.is_valid(value) or not found.canonical.is_valid(value):
        return None
    [message] = found.bound.calls_as_messages([(found.tool.name, value)])
    said = _arguments(message)
    notes = {entry.note for entry in found.losses if entry.severity == "lost"}
    # Where the branches of a union admit the same value, it is written as the first of them, which may name fewer fields.
    may_hold_unknown = found.has_unions or not found.closed.is_valid(value)
    is_lost = bool(notes - {_UNKNOWN_FIELDS}) or (_UNKNOWN_FIELDS in notes and may_hold_unknown)
    if not found.admitted.is_valid(said) and not is_lost:
        return f"{json.dumps(value)} is written as {json.dumps(said)}, which what was sent does not admit"
    found.got.clear()
    [result] = found.bound.dispatch(body(found.bound.provider.family, found.wire_name, said))
    if found.ambiguous or is_lost or (result.ok and (found.name or same(found.got[0], value))):
        return None
    became = json.dumps(found.got[0]) if result.ok else result.text
    return f"{json.dumps(value)} is written as {json.dumps(said)}, which becomes {became}"


def _arguments(message: Any) -> Any:
    """The arguments of the one call in a message."""
    if isinstance(message, list):
        return next((found for item in message if (found := _arguments(item)) is not None), None)
    if not isinstance(message, dict):
        return None
    for key in ("arguments", "input", "args"):
        if key in message:
            return json.loads(message[key]) if isinstance(message[key], str) else message[key]
    return next(
        (found for item in message.values() if (found := _arguments(item)) is not None), None
    )


def _wrongly_taken(found: Shown, value: Any, readings: list[Any] | None, result: Any) -> str | None:
    """What is wrong with a value that ran."""
    got = result.arguments if found.name else found.got[0]
    if not found.judge.is_valid(got) and not found.name:
        return f"{json.dumps(value)} ran as {json.dumps(got)}, which is invalid"
    if result.coercions or readings is None or found.ambiguous:
        return None
    if not found.name:
        if any(same(got, reading) for reading in readings) or (
            same(got, value) and _is_canonical(found, value)
        ):
            return None
        return f"{json.dumps(value)} ran as {json.dumps(got)}, and means {json.dumps(readings)}"
    if not readings:
        return f"{json.dumps(value)} ran as {json.dumps(got)}, and means nothing that is valid"
    if found.name not in BY_PYDANTIC:
        return None
    wanted = [BY_PYDANTIC[found.name](**reading) for reading in readings]
    if any(_same_object(result.value, item) for item in wanted):
        return None
    return f"{json.dumps(value)} gave {result.value!r}, and {wanted!r} by pydantic"


def _is_canonical(found: Shown, value: Any) -> bool:
    """Whether a value is in the function's own form, and cannot be taken for one in the form that was sent."""
    return found.judge.is_valid(value) and not found.admitted.is_valid(value)


def _bare_object(node: Any) -> str:
    """The first object of a sent schema that names no field."""
    if isinstance(node, list):
        return next(filter(None, map(_bare_object, node)), "")
    if not isinstance(node, dict):
        return ""
    if node.get("type") == "object" and not node.get("properties"):
        return json.dumps(node)
    inner = [*node.get("properties", {}).values(), node.get("items"), *node.get("anyOf", ())]
    return next(filter(None, map(_bare_object, inner)), "")


def _is_named(path: str, found: Shown) -> bool:
    """Whether the report names a loss at a place, around it, or inside of it."""
    place = _steps(path)
    for entry in found.losses:
        loss = _steps(entry.path)
        if loss and loss[0] in found.definitions:
            starts = range(len(place) + 1)
            if any(_meet(loss[1:], place[start:]) for start in starts):
                return True
        if _meet(loss, place):
            return True
    return False


def _steps(path: str) -> list[str]:
    return [found for found in re.findall(r"\[\d*\]|[^.\[\]]+", path)]


def _meet(loss: list[str], place: list[str]) -> bool:
    def alike(one: str, other: str) -> bool:
        return one in (other, "*") or (one == "[]" and other.startswith("["))

    return all(map(alike, loss, place))


class Drawn:
    """Draws several cases of one tool at one target after the other."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def draw(self, random: Random) -> Case | None:
        """One case."""
        if not self.cases:
            self.cases = drawn(random)
        return self.cases.pop(0) if self.cases else None


def drawn(random: Random) -> list[Case]:
    """The cases of one tool at one target: values that the sent schema admits, and values like them."""
    case: Case = {"to": random.choice(TARGETS)}
    if random.random() < 0.4:
        case["tool"] = random.choice(list(FUNCTIONS))
    else:
        case["schema"] = Schemas(random).schema()
        judge: Any = type(judge_of(case["schema"]))
        if any(judge(judge.META_SCHEMA).iter_errors(case["schema"])):
            return []
    try:
        found = _shown(case)
    except Exception:
        return [{**case, "value": {}}]
    if isinstance(found, str):
        return []
    values = Values(random, found.sent)
    cases: list[Case] = []
    for number in range(VALUES):
        try:
            value = values.value()
        except NoValueError:
            continue
        if number % 3 == 2:
            value = twice(random, value) if random.random() < 0.5 else mutated(random, value)
        if isinstance(value, dict) and not any(value == case["value"] for case in cases):
            cases.append({**case, "value": value})
    cases += said(random, case, found)
    return cases


def said(random: Random, case: Case, found: Shown) -> list[Case]:
    """Two cases of valid arguments, to be written in the target's form."""
    meant = found.meant if found.name else case["schema"]
    values = Values(random, meant, siblings=siblings_count(meant), unknown=False)
    cases = []
    for _ in range(2):
        try:
            cases.append({**case, "said": values.value()})
        except NoValueError:
            continue
    return [case for case in cases if isinstance(case["said"], dict)]


def twice(random: Random, value: Any) -> Any:
    """A value in which a pair of a list of pairs is repeated, with another value; changed elsewhere if it has none."""
    lists: list[list[Any]] = []
    value = json.loads(json.dumps(value))

    def look(inner: Any) -> None:
        if (
            isinstance(inner, list)
            and inner
            and isinstance(inner[0], dict)
            and inner[0].keys() == {"key", "value"}
        ):
            lists.append(inner)
        for item in (
            inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
        ):
            look(item)

    look(value)
    if not lists:
        return mutated(random, value)
    pairs = random.choice(lists)
    pairs.append(
        {"key": pairs[0]["key"], "value": random.choice((pairs[0]["value"], 1, "a", None))}
    )
    return value


logging.getLogger("toolshape").setLevel(logging.CRITICAL)  # a crash is told by the result


def test_kept_rows():
    check_kept(LANE, check)


@in_blocks
def test_wire_values_mean_what_they_say(block):
    check_drawn(LANE, block, Drawn().draw, check)
