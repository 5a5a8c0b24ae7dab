"""The laws, for every provider and every function of the zoo; and that a bug planted in any rewrite is caught."""

import dataclasses
import json
import os

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from zoo import CASES

from toolshape import CallError, Registry, Tool
from toolshape._families import get
from toolshape._families.names import available
from toolshape._families.ollama import schema as ollama
from toolshape._schema import constrained as structure, rewrites, walk
from toolshape._schema.lens import Change, UnsupportedError
from toolshape._schema.walk import everywhere
from toolshape._tools.export import WireTool, to_wire
from toolshape._tools.tool import as_tool, record_of
from toolshape._validation.settings import ValidationSettings
from toolshape.testing import LawBrokenError, check_provider, check_tool, values
from toolshape.testing._laws import check_shape

EXAMPLES = int(os.environ.get("TOOLSHAPE_EXAMPLES", "2"))
# What a provider has no strict form for, however it is rewritten: the budget of Claude's grammar.
NOT_STRICT = {"many_optionals": ("anthropic", "bedrock")}


def functions(name: str):
    """The zoo; for one that rewrites as another does, those of its functions that are shown otherwise all the same."""
    base = next(other for other in available() if lenses(other) == lenses(name))
    if name.startswith("text:"):  # they rewrite alike, and report what their format cannot hold
        base = "text:hermes" if name != "text:hermes" else name
    elif ":" in name and base == name:
        base = name.partition(":")[0]
    chosen = [
        case.function
        for case_name, case in CASES.items()
        if base not in NOT_STRICT.get(case_name, ())
    ]
    return (
        chosen
        if name == base
        else [item for item in chosen if schemas(name, item) != schemas(base, item)]
    )


def lenses(name: str):
    provider = get(name)
    return provider.schema.lenient, provider.schema.strict


def schemas(name: str, function):
    provider = get(name)
    forms = (False,) if provider.schema.strict is None else (False, True)
    return [to_wire(provider, as_tool(function).spec, strict).lens.schema for strict in forms]


@pytest.mark.parametrize("provider", available())
def test_the_laws_hold(provider):
    """Sound, sayable, forgiving, obedient, still; lenient and strict."""
    assert len(CASES) >= 60
    check_provider(provider, functions(provider), examples=EXAMPLES)


# Where the canonical schema and the model cannot agree yet, why, and a value that shows it.
GAPS = {
    "times": ("a validator of JSON Schema does not check formats", {"at": "x"}),
    "sets": ("the schema asks for unique items; the model makes a set of any", {"s": [1, 1]}),
    "formatted": ("that a text is a regular expression, or a URL, is a format", {"p": "("}),
    "json_in_text": ("what a text holds is not asserted by the schema", {"x": ""}),
    "behind_a_validator": (
        "that a text is a date is a format; a set takes an item twice",
        {"x": {"s": [1, 1]}},
    ),
    # Shown by one name, taken by every name that the author gave: what the schema admits is accepted all the same.
    "fields_by_both": ("a field is taken by its own name, too", {"x": {"v": 2}}),
    "aliased_by_a_path": ("a field is taken by all its names, too", {"y": {"v": 2, "other": 3}}),
}
BY_MORE_NAMES = ("fields_by_both", "aliased_by_a_path")


@pytest.mark.parametrize("name", CASES)
def test_the_schema_and_the_model_agree(name):
    """What one admits the other accepts, but for the gaps, which are real."""
    case = CASES[name]
    reason, witness = GAPS.get(name, ("", None))
    if not reason:
        check_tool(case.function, case.arguments, examples=12 * EXAMPLES)
    elif witness is not None:
        made = as_tool(case.function)
        arguments = {**case.arguments, **witness}
        admitted = Draft202012Validator(made.input_schema).is_valid(arguments)
        try:
            record_of(made).compile_validation(ValidationSettings(made.name, frozenset()))(
                json.dumps(arguments)
            )
        except CallError:
            assert admitted
        else:
            assert not admitted


@pytest.mark.parametrize("name", BY_MORE_NAMES)
def test_what_is_shown_is_accepted(name):
    """By the name that is shown, whatever other names there are."""
    made = as_tool(CASES[name].function)
    takes = record_of(made).compile_validation(ValidationSettings(made.name, frozenset()))

    @settings(max_examples=12 * EXAMPLES, database=None, deadline=None, derandomize=True)
    @given(values(made.input_schema))
    def accepted(value):
        assert takes(json.dumps(value))[1] == ()

    accepted()


def test_providers_of_others():
    """The laws are for them too; one that loses what it cannot say is caught."""
    mine = dataclasses.replace(
        get("openai"),
        name="mine",
        schema=dataclasses.replace(
            get("openai").schema,
            strict=(everywhere(rewrites.map_as_pairs),),
            refuses_strict=(),
        ),
    )
    check_provider(mine, [CASES["maps"].function], examples=EXAMPLES)
    forgetful = dataclasses.replace(
        mine,
        schema=dataclasses.replace(
            mine.schema, strict=(everywhere(without(rewrites.map_as_pairs, "back")),)
        ),
    )
    with pytest.raises(LawBrokenError, match=r"maps \(strict\)"):
        check_provider(forgetful, [CASES["maps"].function], examples=EXAMPLES)


def broken_by(rules, name="openai", cases=CASES, examples=10):
    """The laws that break if these rules are all that rewrites; of the first tool that breaks one."""
    provider = get(name)
    for case in cases.values():
        tool = as_tool(case.function)
        changed = walk.compose(rules)(record_of(tool).definition.schema)
        if changed.schema == record_of(tool).definition.schema:
            continue
        shown = to_wire(provider, tool.spec, False)._replace(
            is_strict=True, payload={}, lens=changed, notes=()
        )
        try:
            check_shape(tool, shown, shown, examples=examples)
        except LawBrokenError as error:
            return error.law
    return None


VALUE_CHANGING = [
    rewrites.free_object_as_json_text,
    rewrites.any_as_json_text,
    rewrites.map_as_pairs,
    rewrites.extras_as_pairs,
    rewrites.tuple_as_object,
    rewrites.mixed_enum_as_strings,
    rewrites.enum_as_strings,
    rewrites.optional_as_nullable,
    rewrites.rename_keys(r"[A-Za-z_][A-Za-z0-9_]{0,63}"),
    rewrites.union_as_json_text,
    ollama.plain_fields,
    rewrites.one_required,
]
RULE = pytest.mark.parametrize("rule", VALUE_CHANGING, ids=lambda rule: rule.__name__)


def without(rule, arrow):
    def planted(node, at):
        change = rule(node, at)
        if change is None:
            return None
        return Change(
            **{
                name: getattr(change, name)
                for name in ("node", "back", "out", "losses")
                if name != arrow
            }
        )

    return planted


@RULE
def test_the_rule_alone_breaks_no_law(rule):
    """So that what follows is the plant's doing."""
    assert not broken_by([everywhere(rule)])


@RULE
def test_a_lost_back_is_caught(rule):
    """Values would not be mapped back."""
    assert broken_by([everywhere(without(rule, "back"))])


@RULE
def test_a_lost_out_is_caught(rule):
    """Values could not be said."""
    assert broken_by([everywhere(without(rule, "out"))])


CHOICE = {
    "name": "find",
    "parameters": {
        "anyOf": [
            {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        ]
    },
}


@pytest.mark.parametrize("lost", [None, "back", "out"])
def test_arguments_that_are_a_choice(lost):
    """A root that is a union is one field of an object; a lost arrow is caught."""
    made = Tool.from_definition(CHOICE, lambda **arguments: arguments)
    changed = structure.wrap_root(record_of(made).definition.schema)
    assert list(changed.schema["properties"]) == ["arguments"]
    changed = changed._replace(**({lost: None} if lost else {}))
    shown = WireTool(wire_name="find", description="", is_strict=True, payload={}, lens=changed)
    if lost is None:
        check_shape(made, shown, shown, examples=20)
    else:
        with pytest.raises(LawBrokenError):
            check_shape(made, shown, shown, examples=20)
    body = {"choices": [{"message": {"tool_calls": [{"id": "c", "function": {"name": "find"}}]}}]}
    for arguments in ({"arguments": {"id": 7}}, {"id": 7}):
        body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = json.dumps(
            arguments
        )
        [result] = Registry([made]).dispatch(body)
        assert result.value == {"id": 7}


def test_null_is_left_out():
    """Where null cannot be said, a field whose default it is is left out instead."""
    made = walk.compose([everywhere(rewrites.null_left_out)])(
        record_of(as_tool(CASES["defaults"].function)).definition.schema
    )
    assert made.out({"s": "a", "maybe": None}) == {"s": "a"}
    assert not broken_by([everywhere(rewrites.null_left_out)])
    assert broken_by([everywhere(without(rewrites.null_left_out, "out"))])


def test_a_wrong_order_is_caught():
    """Dropping the default before optional-as-nullable loses ``x: int | None = 5``."""
    right = [everywhere(rewrites.optional_as_nullable), everywhere(rewrites.say_default)]
    cases = {"nullable": CASES["nullable"]}
    assert not broken_by(right, cases=cases)
    tool = as_tool(CASES["nullable"].function)
    wrong = walk.compose(reversed(right))(record_of(tool).definition.schema)
    assert [loss.path for loss in wrong.losses if loss.kind == "narrowed"] == ["y"]
    assert walk.compose(right)(record_of(tool).definition.schema).out({"x": 1}) == {"x": 1, "y": 5}
    assert wrong.out({"x": 1}) == {"x": 1, "y": None}


def test_a_shallow_union_is_caught(monkeypatch):
    """Which branch a value belongs to is decided deeply, or wrongly."""

    def shallow(value, branches, resolve):
        kind = {dict: "object", list: "array"}.get(type(value))
        nodes = [resolve(branch) for branch in branches]
        fitting = (
            index
            for index, node in enumerate(nodes)
            if kind is None or node.get("type") in (None, kind)
        )
        return next(fitting, None)

    cases = {
        name: CASES[name] for name in ("union_of_models", "list_of_unions", "discriminated_deep")
    }
    strict = get("openai").schema.strict
    assert not broken_by(strict, cases=cases)
    monkeypatch.setattr(walk, "branch_of", shallow)
    assert broken_by(strict, cases=cases)


def test_a_hostile_definition_is_refused_in_time():
    """References that double at every step."""
    definitions = {
        f"D{i}": {
            "type": "object",
            "properties": {"a": {"$ref": f"#/$defs/D{i + 1}"}, "b": {"$ref": f"#/$defs/D{i + 1}"}},
        }
        for i in range(40)
    }
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/D0"}},
        "$defs": {**definitions, "D40": {"type": "string"}},
    }
    with pytest.raises(UnsupportedError, match="split the tool"):
        walk.compose([walk.inline_all(rewrites.recursion_as_json_text)])(schema)


def test_the_walker_knows_a_name_from_a_keyword():
    """Properties called like keywords are properties; the schema given is not changed."""
    names = ("title", "properties", "items", "$ref", "anyOf", "default", "required", "type", "enum")
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer", "title": "T"} for name in names},
    }
    before = repr(schema)
    made = walk.compose([everywhere(rewrites.drop("title"))])(schema)
    assert made.schema["properties"] == {name: {"type": "integer"} for name in names}
    assert {loss.path for loss in made.losses} == set(names)
    assert repr(schema) == before


def test_branches_that_look_alike_are_said():
    """A map and the list of its pairs cannot be distinguished where the map may hold lists."""
    from toolshape import Registry

    def both(x: dict[str, int] | list[dict[str, str | int]]) -> None: ...

    report = Registry([both]).bind("openai", strict=True).report()
    assert any("look alike" in entry.note for entry in report)


def test_a_stream_that_loses_an_event_is_caught():
    """Of a provider that nobody has named: its last event, or the first piece of its arguments."""
    base = get("anthropic")

    def without(number):
        return lambda body: [
            item for at, item in enumerate(base.server.unfold(body)) if at != number
        ]

    check_provider(dataclasses.replace(base, name="mine"), [CASES["scalars"].function], examples=5)
    for number in (4, 5, 8):
        made = dataclasses.replace(
            base, name="mine", server=dataclasses.replace(base.server, unfold=without(number))
        )
        with pytest.raises(LawBrokenError, match="folding"):
            check_provider(made, [CASES["scalars"].function], examples=20)
