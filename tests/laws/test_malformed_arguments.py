"""Malformed arguments are never silently taken for others; docs/coercion.md holds what becomes of each kind.

``nox -s pages`` writes the page's tables anew.
"""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

import pytest
from pydantic import BaseModel
from shared import corpus
from zoo import CASES, Line, Order

from toolshape import Coerce, Registry, Tool, tool
from toolshape._tools.tool import record_of
from toolshape._validation import coercion
from toolshape._validation.coercion import RULES
from toolshape.testing import SilentlyWrongError, Slip, check_slip, check_slips, slips
from toolshape.testing._mistakes import SlipKind

PAGE = Path(__file__).parents[2] / "docs" / "coercion.md"
EVERY_RULE = dict.fromkeys(RULES, True)
LAYERS = {"the default rules": None, "every rule": EVERY_RULE}
# Arguments beyond each function's own; 100,000 slips in all where every one is tried.
EVERY = bool(os.environ.get("TOOLSHAPE_EVERY"))
EXAMPLES = {"the default rules": 13 if EVERY else 1, "every rule": 3 if EVERY else 0}
LEAST = {
    "the default rules": 100_000 if EVERY else 10_000,
    "every rule": 20_000 if EVERY else 5_000,
}


@pytest.mark.parametrize("layer", LAYERS)
def test_nothing_is_silently_wrong(layer):
    """Over the zoo: what was intended, by a coercion on record, or a refusal that names the place."""
    found: Counter[Any] = Counter()
    for case in CASES.values():
        found += check_slips(case.function, case.arguments, coerce=LAYERS[layer])
        if EXAMPLES[layer]:
            found += check_slips(case.function, coerce=LAYERS[layer], examples=EXAMPLES[layer])
    print(f"{layer}: {sum(found.values())} slips")
    assert sum(found.values()) >= LEAST[layer]
    assert {kind for kind, _, _ in found} == set(get_args(SlipKind))


def test_tools_from_definitions_are_no_different():
    """The zoo's schemas as definitions, validated by a JSON Schema validator."""
    found: Counter[Any] = Counter()
    for name, case in list(CASES.items())[:: 2 if EVERY else 4]:
        schema = tool(case.function).input_schema
        made = Tool.from_definition({"name": name, "parameters": schema})
        for layer in LAYERS.values():
            found += check_slips(made, case.arguments, coerce=layer)
    assert sum(found.values()) > (5_000 if EVERY else 2_000)


def test_right_calls_of_others_and_their_slips():
    """Gold calls with the definitions that they were written for."""
    definitions = {row["id"]: row for row in corpus("tool_definitions.jsonl")}
    calls = [
        call for row in corpus("gold_calls.jsonl") for call in row["calls"] if call.get("tool_id")
    ]
    right = [call for call in calls if call["valid_as_jsonschema"]]
    step = len(right) // (120 if EVERY else 12)
    found: Counter[Any] = Counter()
    for call in right[::step]:
        row = definitions[call["tool_id"]]
        made = Tool.from_definition({"name": row["name"], "parameters": row["schema"]})
        found += check_slips(made, call["arguments"])
    assert sum(found.values()) > (5_000 if EVERY else 500)


def test_a_rule_that_guesses_is_found(monkeypatch):
    """The check can fail: an extra field that is a misspelt one must not be ignored."""
    monkeypatch.setattr(coercion, "_LIKENESS", 1.0)
    monkeypatch.setattr(coercion, "_LIKENESS_IF_SHORT", 1.0)

    def book(city: str, nights: int = 1) -> None: ...

    with pytest.raises(SilentlyWrongError, match="misspelt"):
        check_slips(book, {"city": "Bonn", "nights": 3}, coerce={"ignore_extra": True})


def test_a_refusal_without_its_place_is_found():
    """And one that names another place is none."""

    @tool
    def book(city: str, nights: int) -> None: ...

    slip = Slip(
        "wrong_type", {"city": "Bonn", "nights": "x"}, {"city": "Bonn", "nights": 3}, ("city",)
    )
    with pytest.raises(SilentlyWrongError, match="without naming"):
        check_slip(book, slip)
    assert check_slip(book, slip._replace(paths=("nights",))) == ("refused", ())


def test_slips_of_ones_own_tool():
    """As a user would: each malformed payload with what was meant; a valid call is none."""

    @tool
    def restock(order: Order, urgent: bool = False) -> None: ...

    right = {"order": {"customer": "A", "lines": [{"sku": "7"}]}, "urgent": True}
    found = list(slips(restock, right))
    assert {slip.kind for slip in found} == set(get_args(SlipKind)) - {"enum_case"}
    [digits] = [slip for slip in found if slip.paths == ("order.lines[0].sku",) and type(slip.payload) is dict
                and slip.payload["order"]["lines"][0].get("sku") == 7]  # fmt: skip
    assert check_slip(restock, digits) == ("coerced", ("text_from_integer",))


Worded = Annotated[bool, Coerce("bool_text")]


class Exact(BaseModel):
    """A field whose author wants it as it is."""

    n: Annotated[int, Coerce(number_text=False)]


# --- opt-in rules -------------------------------------------------------------------------------------------------


def by_rule(annotation: Any, written: Any, rule: str, default: Any = ...) -> Any:
    """The value by this rule alone, and what it is without."""

    def take(x):
        return x

    take.__annotations__["x"] = annotation
    take.__defaults__ = None if default is ... else (default,)
    made = tool(name="take", coerce={rule: True})(take)
    assert check(tool(name="take")(take), written)[0] == "refused"
    return check(made, written)


class Payload(NamedTuple):
    """All that was sent, not a value for ``x``."""

    text: str


def check(made: Tool[..., Any], written: Any) -> Any:
    payload = written.text if isinstance(written, Payload) else {"x": written}
    try:
        model, coercions = record_of(made).validate(payload)
    except Exception as error:
        return "refused", str(error)
    return model.x, [(coercion.path, coercion.rule) for coercion in coercions]


@pytest.mark.parametrize(
    ("annotation", "written", "value"),
    [
        (bool, "true", True),
        (bool, "False", False),
        (bool, "TRUE", True),
        (list[bool], ["true"], [True]),
    ],
)
def test_bool_text(annotation, written, value):
    """The two words, in any case; no other."""
    assert by_rule(annotation, written, "bool_text")[0] == value
    for other in ("yes", "1", 1, "t", "true "):
        assert by_rule(bool, other, "bool_text")[0] == "refused"


def test_scalar_as_list():
    """One item, where it can be nothing else."""
    assert by_rule(list[str], "a", "scalar_as_list") == (["a"], [("x", "scalar_as_list")])
    assert by_rule(list[int], "5", "scalar_as_list") == (
        [5],
        [("x", "scalar_as_list"), ("x[0]", "number_text")],
    )
    assert by_rule(list[Line], {"sku": "a"}, "scalar_as_list")[0] == [Line(sku="a")]
    assert by_rule(set[int] | None, 5, "scalar_as_list")[0] == {5}
    for annotation, written in (
        (list[str], "a, b"), (list[str], ""), (list[str], "[a"), (list[int | str], "5"), (tuple[int, int], 5),
        (list[list[int]], [1, 2]), (list[Line], {"items": [{"sku": "a"}]}), (list[Any], "a"),
    ):  # fmt: skip
        assert by_rule(annotation, written, "scalar_as_list")[0] == "refused", written


def test_ignore_extra():
    """What nobody knows is left out, on record; what is a known name misspelt is not."""
    line = {"sku": "a", "explanation": "it is asked for"}
    assert by_rule(Line, line, "ignore_extra") == (
        Line(sku="a"),
        [("x.explanation", "ignore_extra")],
    )
    for written in ({"sku": "a", "Qty": 2}, {"sku": "a", "qyt": 2}, {"arguments": {"sku": "a"}}):
        assert by_rule(Line, written, "ignore_extra")[0] == "refused"


@pytest.mark.parametrize(
    "text",
    [
        "{'x': 5}", '{"x": 5,}', "{x: 5}", '{"x": 5} // five', '{/* five */ "x": 5}', '```json\n{"x": 5}\n```',
        '```\n{"x": 5}\n```', "{'x': 0x5}", '{"x": +5}', '{"x": 5,\n}',
    ],
)  # fmt: skip
def test_repair_json(text):
    """Spelling, by a grammar; the raw text stays on the call."""
    assert by_rule(int, Payload(text), "repair_json") == (5, [("", "repair_json")])


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (bool, "{'x': True}", True), (str | None, "{'x': None}", None), (str, "{'x': 'None // no comment'}", "None // no comment"),
        (str, '{"x": "a\nb"}', "a\nb"), (str, "{'x': '\\ud83d\\ude00'}", "\U0001f600"), (str, "{'x': 'it\\'s'}", "it's"),
        (list[int], {"x": "[1, 2,]"}, [1, 2]), (dict[str, int], {"x": "```json\n{'a': 1}\n```"}, {"a": 1}),
    ],
)  # fmt: skip
def test_repair_json_of_values(annotation, text, value):
    """Words of Python, line breaks, pairs of surrogates; and text in a place."""
    written = Payload(text) if isinstance(text, str) else text["x"]
    assert by_rule(annotation, written, "repair_json")[0] == value


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{'x': 5", "cut off"), ('{"x": 5', "cut off"), ("{'x': '5", "cut off"), ("```json\n{'x': [5", "cut off"),
        ("{'x': 5, 'x': 5}", "not a JSON object"), ("{x: 05}", "not a JSON object"), ("{'x': five}", "not a JSON object"),
        ("{'x': 5}}", "not a JSON object"), ("{'x': NaN}", "not a JSON object"), ("{'x': 1e999}", "not a JSON object"),
        ("{'x': '\\d'}", "not a JSON object"), ("{'x\n': 5}", "not a JSON object"), ("{" * 5000, "not a JSON object"),
        ("{'x': " + " " * 50_000 + "5}", "not a JSON object"), ("five", "not a JSON object"),
    ],
)  # fmt: skip
def test_repair_json_guesses_nothing(text, word):
    """What is cut off stays cut off; what says nothing in the grammar is refused."""
    _, said = by_rule(int, Payload(text), "repair_json")
    assert word in said


def test_what_repair_needs_is_said_where_it_is_asked_for(monkeypatch):
    """At the tool, the registry or the parameter: not in a call."""
    monkeypatch.setitem(sys.modules, "json5", None)
    for ask in (lambda: Coerce("repair_json"), lambda: Registry(coerce={"repair_json": True})):
        with pytest.raises(ImportError, match=r"toolshape\[repair\]"):
            ask()


def test_a_rule_for_a_parameter():
    """``Coerce`` switches rules for a parameter, a field or an item, and what is in it."""

    @tool
    def set_flags(a: Worded, b: bool, c: list[Worded], d: Exact) -> None: ...

    model, coercions = record_of(set_flags).validate(
        {"a": "true", "b": True, "c": ["false"], "d": {"n": 5}}
    )
    assert (model.a, model.c, [coercion.path for coercion in coercions]) == (
        True,
        [False],
        ["a", "c[0]"],
    )
    for wrong in ({"b": "true"}, {"d": {"n": "5"}}):
        with pytest.raises(Exception, match=r"expected (boolean|integer)"):
            record_of(set_flags).validate({"a": True, "b": True, "c": [], "d": {"n": 5}, **wrong})
    with pytest.raises(ValueError, match='did you mean "bool_text"'):
        Coerce("bool_txt")
    with pytest.raises(ValueError, match="True or False"):
        Coerce(bool_text="no")
    assert Coerce("bool_text") == Coerce(bool_text=True)
    assert hash(Coerce("bool_text"))


def test_a_rule_for_a_parameter_of_a_tool_from_a_definition():
    """It stands at the function's parameter there."""

    def switch(on: Worded, off: bool = False) -> bool:
        return on

    properties = {"on": {"type": "boolean"}, "off": {"type": "boolean"}}
    schema = {"type": "object", "properties": properties, "required": ["on"]}
    made = Tool.from_definition({"name": "switch", "parameters": schema}, switch)
    assert made.call({"on": "true"}) is True
    with pytest.raises(Exception, match="off: expected boolean"):
        made.call({"on": True, "off": "true"})


# --- what others saw models write ---------------------------------------------------------------------------------


def schema_of(value: Any) -> dict[str, Any]:
    """A closed schema that takes values like this one."""
    if isinstance(value, dict):
        fields = {key: schema_of(inner) for key, inner in value.items()}
        return {
            "type": "object",
            "properties": fields,
            "required": list(fields),
            "additionalProperties": False,
        }
    if isinstance(value, list):
        return (
            {"type": "array", "items": {"anyOf": [schema_of(item) for item in value]}}
            if value
            else {"type": "array"}
        )
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": kinds.get(type(value), "null")}


def test_malformed_arguments_of_the_corpus():
    """Each is what was intended, or a refusal that says where or why; with every rule on, too."""
    outcomes: Counter[str] = Counter()
    for row in corpus("malformed_args.jsonl"):
        intended = row["intended"]
        if row["schema"] is None and intended is None:
            continue  # calls of tools that nobody defined: they are answered as unknown
        schema = row["schema"] if row["schema"] is not None else schema_of(intended)
        made = Tool.from_definition({"name": "take", "parameters": schema})
        for layer in LAYERS.values():
            try:
                found, coercions = record_of(tool(coerce=layer)(made)).validate(
                    row["raw_arguments"]
                )
            except Exception as error:
                assert error.problems, row["id"]
                assert all(
                    problem.path or problem.message or problem.expected
                    for problem in error.problems
                )
                outcomes["refused"] += 1
                continue
            outcomes["coerced" if coercions else "right"] += 1
            assert intended is None or found == intended, row["id"]
    print(dict(outcomes))
    assert outcomes["coerced"] > 30


# --- the page -----------------------------------------------------------------------------------------------------

BEGIN, END = "<!-- made by tests/laws/test_malformed_arguments.py -->", "<!-- until here -->"


def tables() -> str:
    """What becomes of the malformed variants of the zoo's own arguments, by kind and by rule."""
    lines = [
        "| malformed | "
        + " | ".join(f"{layer}: coerced | refused | silently wrong" for layer in LAYERS)
        + " |"
    ]
    lines += ["|---|" + "---|" * 3 * len(LAYERS)]
    found = {
        layer: sum(
            (check_slips(case.function, case.arguments, coerce=rules) for case in CASES.values()),
            Counter(),
        )
        for layer, rules in LAYERS.items()
    }
    for kind in get_args(SlipKind):
        cells = [
            str(
                sum(
                    count
                    for (item, outcome, _), count in slips_of.items()
                    if (item, outcome) == (kind, wanted)
                )
            )
            if wanted
            else "0"
            for slips_of in found.values()
            for wanted in ("coerced", "refused", "")
        ]
        lines.append(f"| `{kind}` | {' | '.join(cells)} |")
    lines += ["", "| rule | coerced by it |", "|---|---|"]
    for rule in RULES:
        count = sum(count for (_, _, rules), count in found["every rule"].items() if rule in rules)
        lines.append(f"| `{rule}` | {count} |")
    return "\n".join(lines)


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="what one Python finds, all do: it is made once"
)
def test_the_page_is_what_becomes_of_them():
    """The tables in the docs are these."""
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == tables()
    for rule in RULES:
        assert f"`{rule}`" in text


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}", encoding="utf-8")
