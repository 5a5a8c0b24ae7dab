"""Verdicts on responses: by what the functions would get, with every difference named."""

import asyncio
import dataclasses
import enum
import itertools
import json
import pickle
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from click.testing import CliRunner
from fakes import asked
from hypothesis import given, settings, strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    PlainValidator,
    Secret,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    WithJsonSchema,
)

from toolshape import Registry, Tool, ToolError, UsageError, tool
from toolshape._cli.cli import main
from toolshape._families import get
from toolshape._records.calls import Coercion
from toolshape.evals import (
    Case,
    Difference,
    Expect,
    Model,
    Run,
    Verdict,
    anything,
    close_to,
    containing,
    evaluate,
    matching,
    never,
    one_of,
    where,
)
from toolshape.evals._assign import best_in_order, best_in_steps, best_pairs
from toolshape.evals._run import wilson
from toolshape.testing import Fake
from toolshape.trace import record_to, replay


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


class Window(BaseModel):
    since: date
    hours: int = 24


@tool
def weather(
    city: str, days: int = 1, unit: Unit = Unit.C, window: Window | None = None, exact: bool = False
) -> str:
    """Never run here."""
    raise AssertionError("evaluations run no tool")


@tool
def search(query: str, tags: list[str] | None = None, limit: float = 10, extra: Any = None) -> str:
    """Never run here."""
    raise AssertionError("evaluations run no tool")


@tool
def move(to: Literal["left", "right"], steps: int) -> str:
    """Never run here."""
    raise AssertionError("evaluations run no tool")


REGISTRY = Registry([weather, search, move])
BOUND = REGISTRY.bind("openai", False)


def response(*calls, finish="tool_calls"):
    made = [
        {
            "id": f"c{at}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": text if isinstance(text, str) else json.dumps(text),
            },
        }
        for at, (name, text) in enumerate(calls)
    ]
    message = (
        {"role": "assistant", "content": None, "tool_calls": made}
        if made
        else {"role": "assistant", "content": "No."}
    )
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": finish if made else "stop"}]
    }


def judged(expected, *calls, **options):
    expected = [expected] if isinstance(expected, Expect) else expected
    return Case(name="x", expected=expected, **options).compare(BOUND, response(*calls))


B = {"city": "Bonn"}
# (arguments that are expected, arguments that came, label)
PAIRS = [
    (B, {"city": "Bonn"}, "right"),
    (B, {"city": "Bonn", "days": 1}, "right"),
    (B | {"days": 1}, {"city": "Bonn"}, "right"),
    (B, {"city": "Bonn", "window": None}, "right"),
    (B | {"window": None}, {"city": "Bonn"}, "right"),
    (B, {"city": "Bonn", "unit": "celsius"}, "right"),
    (B | {"unit": "fahrenheit"}, {"city": "Bonn"}, "wrong"),
    (B, {"city": "Rome"}, "wrong"),
    (B, {"city": "bonn"}, "wrong"),
    (B, {"city": "Bonn "}, "wrong"),
    (B, {"city": "Bonn", "days": 2}, "wrong"),
    (B | {"days": 2}, {"city": "Bonn", "days": "2"}, "right_after_coercion"),
    (B | {"days": 2}, {"city": "Bonn", "days": 2.0}, "right_after_coercion"),
    (B | {"days": 2}, {"city": "Bonn", "days": 2.5}, "wrong"),
    (B | {"exact": True}, {"city": "Bonn", "exact": "false"}, "wrong"),
    (B | {"exact": True}, {"city": "Bonn", "exact": "true"}, "wrong"),
    (B | {"exact": True}, {"city": "Bonn", "exact": 1}, "wrong"),
    (B | {"exact": True}, {"city": "Bonn", "exact": True}, "right"),
    (B | {"exact": False}, {"city": "Bonn"}, "right"),
    (B, {"city": "Bonn", "invented": 1}, "wrong"),
    (B, {}, "wrong"),
    (B, {"town": "Bonn"}, "wrong"),
    (B, {"city": None}, "wrong"),
    (B, {"city": ["Bonn"]}, "wrong"),
    (B, "", "wrong"),
    (B, '{"city": "Bo', "wrong"),
    (B | {"window": {"since": "2026-01-02"}}, {"city": "Bonn", "window": {"since": "2026-01-02", "hours": 24}}, "right"),
    (B | {"window": {"since": "2026-01-02", "hours": 24}}, {"city": "Bonn", "window": {"since": "2026-01-02"}}, "right"),
    (B | {"window": {"since": "2026-01-02"}}, {"city": "Bonn", "window": {"since": "2026-01-03"}}, "wrong"),
    (B | {"window": {"since": "2026-01-02"}}, {"city": "Bonn", "window": '{"since": "2026-01-02"}'}, "right_after_coercion"),
    (B | {"window": {"since": "2026-01-02"}}, {"city": "Bonn", "window": {"since": "2026-01-02", "hours": 1}}, "wrong"),
    (B | {"window": {"since": "2026-01-02"}}, {"city": "Bonn"}, "wrong"),
    (B | {"days": anything()}, {"city": "Bonn"}, "right"),
    (B | {"days": anything()}, {"city": "Bonn", "days": 7}, "right"),
    (B | {"days": one_of(1, 2)}, {"city": "Bonn", "days": 2}, "right"),
    (B | {"days": one_of(1, 2)}, {"city": "Bonn"}, "right"),
    (B | {"days": one_of(2, 3)}, {"city": "Bonn"}, "wrong"),
    (B | {"days": one_of(True)}, {"city": "Bonn"}, "wrong"),
    ({"city": matching("^Bo")}, {"city": "Bonn"}, "right"),
    ({"city": matching("^Bo")}, {"city": "Rome"}, "wrong"),
    ({"city": matching("(?i)BONN")}, {"city": "Bonn"}, "right"),
    ({"city": containing("on")}, {"city": "Bonn"}, "right"),
    ({"city": containing("ro")}, {"city": "Bonn"}, "wrong"),
    ({"city": where(str.istitle)}, {"city": "Bonn"}, "right"),
    ({"city": where(str.isupper)}, {"city": "Bonn"}, "wrong"),
    (B | {"days": close_to(2, within=1)}, {"city": "Bonn", "days": 3}, "right"),
    (B | {"days": close_to(2, within=1)}, {"city": "Bonn", "days": 4}, "wrong"),
    (B | {"window": {"since": matching("^2026")}}, {"city": "Bonn", "window": {"since": "2026-05-05"}}, "right"),
    (B | {"window": {"since": matching("^2025")}}, {"city": "Bonn", "window": {"since": "2026-05-05"}}, "wrong"),
    (B | {"window": {"since": anything(), "hours": 3}}, {"city": "Bonn", "window": {"since": "2026-05-05"}}, "wrong"),
    (B | {"window": {"since": anything(), "hours": 3}}, {"city": "Bonn", "window": {"since": "2026-05-05", "hours": 3}}, "right"),
    (B | {"window": anything()}, {"city": "Bonn"}, "right"),
    (B | {"window": where(lambda given: given is None)}, {"city": "Bonn"}, "right"),
    (B | {"window": where(lambda given: given is not None)}, {"city": "Bonn"}, "wrong"),
    (B, '```json\n{"city": "Bonn"}\n```', "wrong"),
    (B, '"{\\"city\\": \\"Bonn\\"}"', "right_after_coercion"),
    (B, [{"city": "Bonn"}], "wrong"),
    (B, {"arguments": {"city": "Bonn"}}, "wrong"),
]  # fmt: skip
S = {"query": "tea"}
SEARCHES = [
    (S, {"query": "tea", "limit": 10}, "right"),
    (S, {"query": "tea", "limit": 10.0}, "right"),
    (S | {"limit": 10.0}, {"query": "tea", "limit": 10}, "right"),
    (S | {"limit": 3}, {"query": "tea", "limit": 3.0}, "right"),
    (S | {"limit": close_to(3.0)}, {"query": "tea", "limit": 3.0000001}, "right"),
    (S | {"limit": close_to(3.0)}, {"query": "tea", "limit": 3.1}, "wrong"),
    (S | {"limit": 3}, {"query": "tea"}, "wrong"),
    (S | {"tags": ["a", "b"]}, {"query": "tea", "tags": ["a", "b"]}, "right"),
    (S | {"tags": ["a", "b"]}, {"query": "tea", "tags": ["b", "a"]}, "wrong"),
    (S | {"tags": ["a"]}, {"query": "tea", "tags": "a"}, "wrong"),
    (S | {"tags": []}, {"query": "tea"}, "wrong"),
    (S | {"tags": []}, {"query": "tea", "tags": []}, "right"),
    (S | {"tags": containing("b")}, {"query": "tea", "tags": ["a", "b"]}, "right"),
    (S | {"tags": containing("c")}, {"query": "tea", "tags": ["a", "b"]}, "wrong"),
    (S | {"tags": [anything(), "b"]}, {"query": "tea", "tags": ["a", "b"]}, "right"),
    (S | {"tags": [anything(), "b"]}, {"query": "tea", "tags": ["a", "c"]}, "wrong"),
    (S | {"tags": [anything()]}, {"query": "tea", "tags": ["a", "c"]}, "wrong"),
    (S | {"extra": 1}, {"query": "tea", "extra": 1}, "right"),
    (S | {"extra": 1}, {"query": "tea", "extra": 1.0}, "right"),
    (S | {"extra": 1}, {"query": "tea", "extra": True}, "wrong"),
    (S | {"extra": 0}, {"query": "tea", "extra": False}, "wrong"),
    (S | {"extra": "1"}, {"query": "tea", "extra": 1}, "wrong"),
    (S | {"extra": None}, {"query": "tea"}, "right"),
    (S | {"extra": None}, {"query": "tea", "extra": "null"}, "wrong"),
    (S | {"extra": {"a": [1, 2]}}, {"query": "tea", "extra": {"a": [1, 2]}}, "right"),
    (S | {"extra": {"a": [1, 2]}}, {"query": "tea", "extra": {"a": [2, 1]}}, "wrong"),
    (S | {"extra": {"a": 1, "b": 2}}, {"query": "tea", "extra": {"b": 2, "a": 1}}, "right"),
    (S | {"extra": containing("a")}, {"query": "tea", "extra": {"a": 1}}, "right"),
    (S | {"extra": one_of("a", anything())}, {"query": "tea", "extra": {"a": 1}}, "right"),
    (S | {"extra": one_of("a", 1)}, {"query": "tea", "extra": 1.0}, "right"),
]
MOVES = [
    ({"to": "left", "steps": 2}, {"to": "left", "steps": 2}, "right"),
    ({"to": "left", "steps": 2}, {"to": "LEFT", "steps": 2}, "right_after_coercion"),
    ({"to": "left", "steps": 2}, {"to": "right", "steps": 2}, "wrong"),
    ({"to": "left", "steps": 2}, {"to": "up", "steps": 2}, "wrong"),
    ({"to": "left", "steps": 0}, {"to": "left", "steps": False}, "wrong"),
    ({"to": "left", "steps": 2}, {"to": "left", "steps": "two"}, "wrong"),
    ({"to": "left", "steps": 2}, {"to": "left", "steps": " 2 "}, "wrong"),
    ({"to": "left", "steps": 1000}, {"to": "left", "steps": 1e3}, "right_after_coercion"),
    ({"to": one_of("left", "right"), "steps": 2}, {"to": "right", "steps": 2}, "right"),
    ({"to": anything(), "steps": anything()}, {"to": "right", "steps": 9}, "right"),
    ({"to": anything(), "steps": anything()}, {"to": "right"}, "wrong"),
    ({"to": anything(), "steps": 2}, {"to": "up", "steps": 2}, "wrong"),
]
ALL = [
    (item, *row)
    for item, rows in ((weather, PAIRS), (search, SEARCHES), (move, MOVES))
    for row in rows
]


def test_there_are_a_hundred():
    assert len(ALL) >= 100


@pytest.mark.parametrize(("called", "expected", "came", "label"), ALL)
def test_pairs(called, expected, came, label):
    """Omitted, defaults, types, matchers: as the function would see it."""
    verdict = judged(Expect(called, expected), (called.name, came))
    assert verdict.label == label, verdict
    assert (verdict.score == 1) is (label != "wrong")
    assert bool(verdict.differences) is (label == "wrong")
    assert bool(verdict.coercions) is (label == "right_after_coercion")


def test_differences_say_what_where_and_how():
    verdict = judged(
        Expect(weather, city="Bonn", days=2, window={"since": "2026-01-02"}),
        ("weather", {"city": "Rome", "window": {"since": "2026-01-02", "hours": 3}}),
    )
    assert [
        (difference.kind, difference.tool, difference.path, difference.expected, difference.actual)
        for difference in verdict.differences
    ] == [
        ("value", "weather", "city", "Bonn", "Rome"),
        ("value", "weather", "days", 2, 1),
        (
            "value",
            "weather",
            "window",
            {"since": "2026-01-02", "hours": 24},
            {"since": "2026-01-02", "hours": 3},
        ),
    ]
    assert str(verdict.differences[0]) == "weather.city: expected 'Bonn', got 'Rome'"
    assert verdict.score == 0
    half = judged(Expect(weather, city="Bonn", days=2), ("weather", {"city": "Bonn", "days": 3}))
    assert half.score == 0.5


@pytest.mark.parametrize(
    ("expected", "came", "label"),
    [
        ({"unit": one_of("c", "f")}, {}, "wrong"),
        ({"unit": one_of("c", left_out=True)}, {}, "right"),
        ({"unit": anything()}, {}, "right"),
        ({"unit": "c"}, {}, "wrong"),
        ({}, {"unit": "c"}, "wrong"),
        ({"place": {"city": matching("^B")}}, {"place": {}}, "wrong"),
        ({"place": {"city": matching("^B")}}, {}, "wrong"),
    ],
)
def test_what_is_left_out_where_there_is_no_default(expected, came, label):
    """A definition of others has parameters that need not be given, and no default for them."""
    properties = {
        "unit": {"type": "string"},
        "place": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    parameters = {"type": "object", "properties": properties}
    made = Tool.from_definition({"name": "weather", "description": "", "parameters": parameters})
    case = Case("x", expected=[Expect("weather", expected)])
    assert (
        case.compare(Registry([made]).bind("openai", False), response(("weather", came))).label
        == label
    )


def test_calls_and_names():
    """Missing, extra, unknown, forbidden, none at all, in order; by the app's own names."""
    left, right = Expect(move, to="left", steps=1), Expect(move, to="right", steps=1)
    went_left, went_right = (
        ("move", {"to": "left", "steps": 1}),
        ("move", {"to": "right", "steps": 1}),
    )

    def kinds(expected, *calls, **options):
        verdict = judged(expected, *calls, **options)
        return [difference.kind for difference in verdict.differences], verdict.score

    assert kinds([left, right], went_right, went_left) == ([], 1)
    assert kinds([left, right], went_right, went_left, order="same") == (
        [],
        1,
    )  # parallel calls have no order
    assert kinds([left, right], went_left) == (["missing_call"], 0.5)
    assert kinds([left], went_left, went_left) == (["extra_call"], 0.5)
    assert kinds([left], went_left, went_left, extra="any") == ([], 1)
    assert kinds([left], went_left, ("no_such", {}), extra="any") == (["unknown_tool"], 0.5)
    assert kinds([], went_left) == (["extra_call"], 0)
    assert kinds([]) == ([], 1)
    assert kinds([never(move, to="left")], went_right, extra="any") == ([], 1)
    assert kinds([never(move, to="left")], went_left, extra="any") == (["forbidden_call"], 0)
    assert kinds([right, never(move, to="left")], went_left, went_right, extra="any") == (
        ["forbidden_call"],
        0.5,
    )
    assert kinds([never(search)], ("search", {"query": "x"}), extra="any") == (
        ["forbidden_call"],
        0,
    )
    assert kinds([left], ("weather", {"city": "Bonn"})) == (["missing_call", "extra_call"], 0)

    @tool(name="a.b c")
    def odd(x: int) -> int:
        return x

    bound = Registry([odd]).bind("openai")
    [entry] = bound.export()
    said = response((entry["function"]["name"], {"x": 1}))
    assert Case(name="odd", expected=[Expect("a.b c", x=1)]).compare(bound, said).label == "right"


def test_what_is_no_response_has_failed():
    verdict = Case(name="x", expected=[]).compare(BOUND, {"error": {"message": "Busy."}})
    assert (verdict.label, verdict.score) == ("failed", 0)
    assert "Busy." in verdict.error


def test_what_is_expected_is_checked():
    with pytest.raises(UsageError, match="weather rejects the expected arguments"):
        judged(Expect(weather, city=5), ("weather", {"city": "Bonn"}))
    with pytest.raises(UsageError, match=r"Expect\(tool, \*\*arguments\)"):
        Case(name="x", expected=["weather"])
    with pytest.raises(UsageError, match='"any" or "same"'):
        Case(name="x", order="strict")


LAW = settings(max_examples=60, deadline=None, database=None, derandomize=True)


@LAW
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), max_size=5))
def test_assignments_are_the_best_there_are(scores):
    """Beside every one there is; in order, beside every one that does not cross."""
    scores = [[float(item) for item in row] for row in scores]
    rows, columns = len(scores), 3 if scores else 0

    def total(pairs):
        return sum(scores[row][column] for row, column in pairs)

    size = min(rows, columns)
    everyone = [
        list(zip(chosen, order, strict=True))
        for chosen in itertools.combinations(range(rows), size)
        for order in itertools.permutations(range(columns), size)
    ]
    found = best_pairs(scores)
    assert len({row for row, _ in found}) == len({column for _, column in found}) == len(found)
    assert total(found) == max(map(total, everyone), default=0)
    straight = [
        pairs
        for pairs in everyone
        if [column for _, column in pairs] == sorted(column for _, column in pairs)
    ]
    in_order = best_in_order(scores)
    assert [column for _, column in in_order] == sorted({column for _, column in in_order})
    assert total(in_order) >= max(map(total, straight), default=0)


def asks(fake):
    """What an application's own client does."""

    def ask(request, messages):
        key = get(fake.provider.name).histories.key
        status, content = asked(
            fake,
            {
                **request,
                key: messages,
                **({"max_tokens": 9} if fake.provider.name == "anthropic" else {}),
            },
        )
        if status != 200:
            error = RuntimeError("refused")
            error.status_code, error.body = status, json.loads(content)
            raise error
        return content

    return ask


def test_models_are_asked_and_counted():
    """The table and the lines say what the fakes were scripted to do."""
    openai, anthropic = Fake("openai", REGISTRY), Fake("anthropic", REGISTRY)
    for fake in (openai, anthropic):
        for _ in range(2):
            fake.calls(weather, city="Bonn")
    for _ in range(2):
        openai.calls(move, to="left", steps=2)
    anthropic.calls(move, to="left", steps=2, slip="enum_case")
    anthropic.calls(move, to="right", steps=2)
    cases = [
        Case(
            name="weather", messages="How is it in Bonn?", expected=[Expect(weather, city="Bonn")]
        ),
        Case(
            name="move",
            messages="Two steps to the left.",
            expected=[Expect(move, to="left", steps=2)],
        ),
    ]
    models = {
        "one": Model("openai", asks(openai), "gpt-5"),
        "two": Model("anthropic", asks(anthropic), "claude-sonnet-5"),
    }
    run = asyncio.run(evaluate(REGISTRY, cases, models, trials=2, limit=1))
    assert [(item.case, item.model, item.trial, item.label) for item in run] == [
        ("weather", "one", 0, "right"), ("weather", "one", 1, "right"),
        ("weather", "two", 0, "right"), ("weather", "two", 1, "right"),
        ("move", "one", 0, "right"), ("move", "one", 1, "right"),
        ("move", "two", 0, "right_after_coercion"), ("move", "two", 1, "wrong"),
    ]  # fmt: skip
    usages = [verdict.usage for verdict in run]
    assert str(run).splitlines() == [
        "case     one                                      two",
        "weather  2 of 2                                   2 of 2",
        "move     2 of 2                                   1 of 2",
        "all      4 of 4 (51% to 100%), every trial: 100%  3 of 4 (30% to 95%), every trial: 50%",
        "move, two, trial 2: move.to: expected 'left', got 'right'",
        f"tokens: {sum(used.input_tokens for used in usages):,} in, {sum(used.output_tokens for used in usages)} out",
    ]
    assert (
        str(run.of("one").compare(run.of("two")))
        == "better in 1, worse in 0: 2 cases are too few to tell (p = 1.000)"
    )
    lines = [json.loads(line) for line in run.to_json_lines().splitlines()]
    assert [line["label"] for line in lines] == [item.label for item in run]
    assert lines[-1]["differences"] == [
        {"kind": "value", "tool": "move", "path": "to", "expected": "left", "actual": "right"}
    ]
    assert lines[-2]["coercions"][0]["path"] == "to"
    openai.assert_done()
    anthropic.assert_done()


def test_a_request_that_fails_is_told_apart():
    async def broken(request, messages):
        raise ConnectionError("nothing listens there")

    fake = Fake("openai")
    fake.fails(429)
    models = {"network": Model("openai", broken), "rate": Model("openai", asks(fake), "m")}
    run = asyncio.run(evaluate(REGISTRY, [Case(name="x", messages="Go.")], models))
    assert [(item.label, item.error.partition(":")[0]) for item in run] == [
        ("failed", "network"),
        ("failed", "rate"),
    ]


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (Expect("wether", city="Bonn"), 'there is no such tool (did you mean "weather"?)'),
        (
            Expect(weather, city="Bonn", dayz=anything()),
            "weather has no argument 'dayz' (did you mean \"days\"?)",
        ),
        (Expect(weather, city="Bonn", days="x"), "weather rejects the expected arguments"),
        (Expect(weather, city=anything(), days="x"), "days: expected integer"),
        (Expect(weather, city=anything(), window={"since": "soon"}), "window.since: "),
        (Expect.subset(weather, days="x"), "days: expected integer"),
        (Expect.subset("wether"), 'there is no such tool (did you mean "weather"?)'),
        (Expect.name_only("wether"), 'there is no such tool (did you mean "weather"?)'),
        (never("wether"), 'there is no such tool (did you mean "weather"?)'),
        (never(weather, days="x"), "days: expected integer"),
        (never(weather, city=anything(), unit="kelvin"), "unit: "),
    ],
)
def test_what_could_never_be_called_is_no_expectation(expected, message):
    """A misspelt name in a case is the author's mistake, not the model's."""
    case = Case("x", "Go.", expected=[expected])
    with pytest.raises(UsageError) as raised:
        case.compare(BOUND, response(("weather", {"city": "Bonn"})))
    assert message in str(raised.value)
    with pytest.raises(UsageError):
        asyncio.run(
            evaluate(
                REGISTRY,
                [case],
                {"m": Model("openai", lambda *_: response(("weather", {"city": "Bonn"})))},
            )
        )


def test_arguments_that_do_not_count_are_not_checked():
    """A call that must not happen, or a subset, leaves required arguments to the model."""
    for expected in (never(move, steps=3), Expect.subset(move, steps=3)):
        verdict = judged(expected, ("move", {"to": "left", "steps": 3}), extra="any")
        assert (verdict.label == "right") is not expected.is_forbidden


def test_what_cannot_be_right_is_said_before_a_model_is_asked():
    asked = []
    models = {"m": Model("openai", lambda *given: asked.append(given))}
    with pytest.raises(UsageError, match="rejects the expected arguments"):
        asyncio.run(
            evaluate(REGISTRY, [Case("x", "Go.", expected=[Expect(weather, city=["a"])])], models)
        )
    assert not asked


def test_texts_and_numbers_of_every_kind():
    """Lines end at a line feed alone, half a surrogate pair is written, and no number is too large."""
    said = Verdict(case="a\u2028b\x85", label="wrong", score=0, error="\ud800")
    run = Run(verdicts=(said,))
    run.to_json_lines().encode()
    assert Run.from_json_lines(run.to_json_lines()) == run
    assert not close_to(1.5).accepts(10**400)
    many = Run(verdicts=tuple(Verdict(case=str(at), label="right", score=1) for at in range(3000)))
    none = Run(verdicts=tuple(Verdict(case=str(at), label="wrong", score=0) for at in range(3000)))
    assert many.compare(none).chance == 0


def test_a_list_of_another_length_is_shown_with_its_matchers():
    case = Case("x", expected=[Expect(search, query="a", tags=[matching("x"), "b"])])
    [difference] = case.compare(
        BOUND, response(("search", {"query": "a", "tags": ["x"]}))
    ).differences
    assert str(difference) == "search.tags: expected [matching('x'), 'b'], got ['x']"


def test_what_is_asked_is_checked():
    for cases, message in (
        ([Case(name="x")], "has no messages"),
        ([Case(name="x", messages="a")] * 2, "two cases"),
    ):
        with pytest.raises(UsageError, match=message):
            asyncio.run(evaluate(REGISTRY, cases, {}))


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (0, 0, 0, 1)],
)
def test_intervals(right, total, low, high):
    assert wilson(right, total) == pytest.approx((low, high), abs=1e-4)


def test_comparisons():
    def run(*labels, model="m"):
        each = enumerate(labels)
        return Run(
            verdicts=tuple(
                Verdict(case=str(at), label=item, score=0, model=model) for at, item in each
            )
        )

    clear = run(*["right"] * 9).compare(run(*["wrong"] * 9))
    assert (clear.better, clear.worse, round(clear.chance, 4)) == (9, 0, 0.0039)
    assert str(clear) == "better in 9, worse in 0: a difference (p = 0.004)"
    assert run("right").compare(run("right")).chance == 1
    both = Run(verdicts=(*run("right"), *run("wrong", model="n")))
    assert both.compare(both)[:2] == (0, 0)
    assert both.compare(Run(verdicts=(*run("wrong"), *run("right", model="n"))))[:2] == (1, 1)
    assert both.of("m").compare(both.of("n"))[:2] == (1, 0)
    with pytest.raises(UsageError, match="choose one model with of"):
        both.compare(run("right"))


def test_cases_are_compared_and_not_their_trials():
    """A hundred trials of one case are no hundred cases."""

    def run(*labels):
        return Run(
            verdicts=tuple(
                Verdict(case="x", label=label, score=0, trial=at) for at, label in enumerate(labels)
            )
        )

    assert run(*["right"] * 100).compare(run(*["wrong"] * 100))[:2] == (1, 0)
    assert run("right", "wrong").compare(run("wrong", "right"))[:2] == (0, 0)
    assert run("right").compare(run("wrong", "right"))[:2] == (1, 0)


ANSWERS = {
    weather: lambda city, days, **others: f"{city}: sun for {days} days",
    "search": ["a", "b"],
}


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_several_steps_count_together(provider):
    """Each answer is what a case says, the calls of all steps are judged together, and no tool is run."""
    with Fake(provider, REGISTRY) as fake:
        fake.calls(weather, city="Bonn")
        fake.calls(search, query="sun in Bonn")
        fake.says("It will be sunny.")
        case = Case(
            "two steps",
            "How is it in Bonn?",
            expected=[Expect(weather, city="Bonn"), Expect(search, query=containing("Bonn"))],
            order="same",
            answers=ANSWERS,
        )
        run = asyncio.run(evaluate(REGISTRY, [case], {"m": Model(provider, asks(fake), "m")}))
        [verdict] = run
        assert (verdict.label, verdict.score, verdict.steps, verdict.finish) == (
            "right",
            1.0,
            3,
            "stop",
        )
        assert "Bonn: sun for 1 days" in str(fake.exchanges[1].request)
        assert not fake.refused
        fake.assert_done()
    assert Run.from_json_lines(run.to_json_lines()) == run


def test_steps_end_where_a_case_has_no_answer():
    def refuse(**arguments):
        raise ToolError("no such place")

    def steps(fake, **more):
        case = Case("x", "Go.", extra="any", **more)
        with fake:
            [verdict] = asyncio.run(
                evaluate(REGISTRY, [case], {"m": Model("openai", asks(fake), "m")})
            )
        return verdict

    fake = Fake("openai", REGISTRY)
    fake.calls(move, to="left", steps=1)
    assert steps(fake, answers=ANSWERS).steps == 1
    fake = Fake("openai", REGISTRY)
    for _ in range(3):
        fake.calls(weather, city="Bonn")
    assert steps(fake, answers=ANSWERS, most_steps=3).finish == "tool_calls"
    fake = Fake("openai", REGISTRY)
    fake.calls(weather, city="Bonn")
    fake.says("I do not know.")
    verdict = steps(fake, answers={weather: refuse}, expected=[Expect(weather, city="Bonn")])
    assert (verdict.label, verdict.steps) == ("right", 2)
    assert "no such place" in str(fake.exchanges[1].request)
    fake = Fake("openai", REGISTRY)
    fake.calls(weather, city="Bonn", slip="missing")
    fake.calls(weather, city="Bonn")
    fake.says("Sunny.")
    assert (
        steps(fake, answers=ANSWERS).steps == 3
    )  # the model reads what was wrong, and tries again
    fake = Fake("openai", REGISTRY)
    fake.calls(weather, city="Bonn")
    fake.fails(500)
    assert (steps(fake, answers=ANSWERS).label, len(fake.exchanges)) == ("failed", 2)
    with pytest.raises(UsageError, match="most_steps="):
        Case("x", most_steps=0)


def test_each_verdict_is_told_as_it_comes():
    told: list[Verdict] = []
    models = {"m": Model("openai", lambda request, messages: response())}
    cases = [Case("a", "Go."), Case("b", "Go.", expected=[Expect(move, to="left", steps=1)])]
    run = asyncio.run(evaluate(REGISTRY, cases, models, on_verdict=told.append))
    assert sorted(told, key=lambda value: value.case) == [*run]


MODULE = """
from toolshape import Registry, tool
from toolshape.evals import Case, Expect, Model

@tool
def weather(city: str, days: int = 1) -> str:
    "Say."
    raise AssertionError

tools = Registry([weather])
cases = [
    Case("bonn", "How is it in Bonn?", expected=[Expect(weather, city="Bonn")]),
    Case("none", "Hello.", expected=[]),
]

def asking(city):
    def ask(request, messages):
        call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": {"city": city}}}
        made = {"role": "assistant", "content": None, "tool_calls": [call] if "Bonn" in str(messages) else []}
        return {"choices": [{"finish_reason": "stop", "message": made}]}
    return ask

models = {"good": Model("openai", asking("Bonn")), "bad": Model("openai", asking("Rome"))}
"""


def test_command_line(tmp_path):
    file = tmp_path / "judged.py"
    file.write_text(MODULE)
    cases, models = f"{file}:cases", f"--models={file}:models"

    def run(*given):
        done = CliRunner().invoke(main, ["eval", cases, models, *map(str, given)])
        return done.exit_code, done.output

    code, out = run(
        "--trials", 2, "--lines", tmp_path / "run.jsonl", "--html", tmp_path / "run.html"
    )
    assert code == 1
    assert out.splitlines() == [
        "case  good                                     bad",
        "bonn  2 of 2                                   0 of 2",
        "none  2 of 2                                   2 of 2",
        "all   4 of 4 (51% to 100%), every trial: 100%  2 of 4 (15% to 85%), every trial: 50%",
        "bonn, bad, trial 1: weather.city: expected 'Bonn', got 'Rome'",
        "good beside bad: better in 1, worse in 0: 2 cases are too few to tell (p = 1.000)",
    ]
    assert len(Run.from_json_lines((tmp_path / "run.jsonl").read_text())) == 8
    assert "Evaluation of" in (tmp_path / "run.html").read_text()
    assert run("--model", "good")[0] == 0
    assert run("--least", 0.5)[0] == 0
    code, out = run(
        "--against", tmp_path / "run.jsonl", "--record", tmp_path / "calls.jsonl", "--least", 0
    )
    assert out.splitlines()[-1].startswith("bad beside ")
    assert out.splitlines()[-1].endswith(
        "better in 0, worse in 0: 2 cases are too few to tell (p = 1.000)"
    )
    assert run("--model", "good", "--against", tmp_path / "run.jsonl")[0] == 0
    assert not replay(tmp_path / "calls.jsonl", f"{file}:tools").changes
    code, out = run("--json", "--least", 0)
    assert [json.loads(line)["label"] for line in out.splitlines()] == [
        "right",
        "wrong",
        "right",
        "right",
    ]
    for wrong, said in (
        (["--model", "goof"], 'did you mean "good"'),
        (["--tools", f"{file}:nothing"], "nothing"),
        (["--against", file], "not a verdict"),
        (["--against", tmp_path / "gone"], "cannot be read"),
    ):
        code, out = run(*wrong)
        assert (code, said in out) == (2, True), out
    done = CliRunner().invoke(main, ["eval", f"{file}:tools", models])
    assert "not a list of toolshape.evals.Case" in done.output
    done = CliRunner().invoke(main, ["eval", cases, "--models", cases])
    assert "not a mapping from names" in done.output


def test_the_page_holds_what_a_model_wrote_as_text():
    """Nothing that a model, a case or a title says is mark-up."""
    hostile = '</code><script>alert(1)</script><img src="http://x/"> \u202e'
    difference = Difference(
        kind="value", tool=hostile, path=hostile, expected=hostile, actual={hostile: hostile}
    )
    verdict = Verdict(
        case=hostile,
        label="wrong",
        score=0,
        differences=(difference,),
        error=hostile,
        model=hostile,
        finish=hostile,
    )
    page = Run(verdicts=(verdict,)).to_html(hostile)
    assert page.count("<script>") == 1
    assert "<img" not in page
    assert "<bdi>" in page


# --- what a function would get, and not what is printed of it -----------------------------------------------------


@tool
def sign_in(user: str, password: SecretStr) -> str:
    """Never run here."""
    raise AssertionError("evaluations run no tool")


@tool
def shelve(
    code: Annotated[str, AfterValidator(lambda code: f"#{code}" if code.isdigit() else 1 / 0)],
    n: int = 1,
) -> str:
    """Never run here."""
    raise AssertionError("evaluations run no tool")


MORE = Registry([sign_in, shelve, weather]).bind("openai", False)


def verdict(expected, *calls):
    extra = "any" if expected.is_forbidden else "none"
    return Case(name="x", expected=[expected], extra=extra).compare(MORE, response(*calls))


def test_two_secrets_are_one_only_where_they_are_equal():
    """They are compared as they are, and shown to nobody."""
    came = ("sign_in", {"user": "ann", "password": "horse"})
    assert verdict(Expect("sign_in", {"user": "ann", "password": "horse"}), came).label == "right"
    wrong = verdict(Expect("sign_in", {"user": "ann", "password": "other"}), came)
    assert wrong.label == "wrong"
    assert [
        (difference.path, difference.expected, difference.actual)
        for difference in wrong.differences
    ] == [("password", "[hidden]", "[hidden]")]
    assert (
        verdict(Expect("sign_in", {"user": "ann", "password": one_of("horse", "cow")}), came).label
        == "right"
    )
    assert verdict(never("sign_in", password="horse"), came).label == "wrong"
    assert verdict(never("sign_in", password="cow"), came).differences == ()


def test_what_must_never_happen_is_written_as_a_model_would_write_it():
    came = ("weather", {"city": "Bonn", "window": {"since": "2026-11-01"}})
    forbidden = never("weather", window={"since": "2026-11-01"})
    assert [difference.kind for difference in verdict(forbidden, came).differences] == [
        "forbidden_call"
    ]


def test_a_matcher_beside_a_value_that_a_validator_changes():
    came = ("shelve", {"code": "12", "n": 5})
    assert verdict(Expect("shelve", {"code": "12", "n": one_of(4, 5)}), came).label == "right"
    assert verdict(Expect("shelve", {"code": anything(), "n": 5}), came).label == "right"
    assert verdict(Expect("shelve", {"code": "13", "n": one_of(4, 5)}), came).label == "wrong"


def test_what_never_has_no_such_argument_is_refused():
    cases = [Case("x", messages="Go.", expected=[never("weather", town="Bonn")])]
    with pytest.raises(UsageError, match="weather has no argument 'town'"):
        asyncio.run(evaluate(REGISTRY, cases, {}))


def steps_of(answers):
    """Evaluate one case of two steps, in which the model calls `move` and then says something."""
    answered = iter([response(("move", {"to": "left", "steps": 1})), response()])
    expected = [Expect("move", {"to": "left", "steps": 1})]
    cases = [Case("x", messages="Go.", expected=expected, answers=answers, most_steps=2)]
    model = Model("openai", lambda request, messages: next(answered))
    return asyncio.run(evaluate(REGISTRY, cases, {"m": model})).verdicts[0]


def test_an_answer_may_be_awaited_and_may_fail():
    """As a tool may: the model reads that it failed, and the case goes on."""

    async def awaited(**_):
        return "moved"

    def failing(**_):
        raise KeyError("no such place")

    for answer in (awaited, failing):
        made = steps_of({"move": answer})
        assert (made.label, made.steps) == ("right", 2)
    with pytest.raises(UsageError, match="has an answer for 'mvoe', but there is no such tool"):
        steps_of({"mvoe": "moved"})


def test_a_listener_that_fails_ends_the_evaluation():
    """What the application was given to call is called no more."""
    began = []

    async def ask(request, messages):
        began.append(1)
        await asyncio.sleep(0.01)
        return response(("move", {"to": "left", "steps": 1}))

    def listen(_):
        raise ValueError("enough")

    cases = [Case(str(n), messages="Go.", expected=[]) for n in range(50)]
    with pytest.raises(ValueError, match="enough"):
        asyncio.run(
            evaluate(REGISTRY, cases, {"m": Model("openai", ask)}, limit=2, on_verdict=listen)
        )
    assert len(began) < 10


# --- equality is the function's ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    at: Decimal = Decimal(0)


class Labels(BaseModel):
    names: set[str]
    prices: dict[str, Decimal] = {}


class Odd:
    """A class that does not say what equal means."""

    def __init__(self, text):
        self.text = text


OddText = Annotated[Any, PlainValidator(Odd), WithJsonSchema({"type": "string"})]
# (the annotation, what is expected, what came): 0, 8 and 16 fall into one place of a small hash table, so that the order
# in which a set is walked through is that in which they were put in.
VALUES = [
    (set[int], [0, 8, 16], [16, 0, 8]),
    (set[int], [0, 8], [0, 16]),
    (set[int], [0, 8], [0, 8, 16]),
    (set[int], [8, 0], [0, 8, 0]),
    (frozenset[str], ["a", "b", "c"], ["c", "a", "b"]),
    (list[int], [0, 8], [8, 0]),
    (tuple[int, ...], [0, 8], [8, 0]),
    (list[set[int]], [[0, 8], [16]], [[8, 0], [16]]),
    (list[set[int]], [[0, 8], [16]], [[16], [8, 0]]),
    (dict[str, set[int]], {"a": [0, 8]}, {"a": [8, 0]}),
    (set[frozenset[int]], [[0, 8], [16]], [[16], [8, 0]]),
    (set[frozenset[int]], [[0, 8], [16]], [[0], [8, 16]]),
    (set[tuple[int, int]], [[0, 8], [8, 0]], [[8, 0], [0, 8]]),
    (set[tuple[int, int]], [[0, 8]], [[8, 0]]),
    (tuple[set[int], int], [[0, 8], 1], [[8, 0], 1]),
    (set[Point], [{"x": 0}, {"x": 8}], [{"x": 8, "at": "0.0"}, {"x": 0}]),
    (set[Point], [{"x": 0}, {"x": 8}], [{"x": 8, "at": "1"}, {"x": 0}]),
    (Labels, {"names": ["a", "b"]}, {"names": ["b", "a"], "prices": {}}),
    (Labels, {"names": ["a"], "prices": {"x": "1.0"}}, {"names": ["a"], "prices": {"x": "1.00"}}),
    (Labels, {"names": ["a"], "prices": {"x": "1.0"}}, {"names": ["a"], "prices": {"x": "1.01"}}),
    (Decimal, "1.0", "1.00"),
    (Decimal, "1.0", "1.01"),
    (Decimal, "1E+2", "100"),
    (set[Decimal], ["1.0", "2"], ["2.0", "1"]),
    (set[Decimal], ["1.0", "2"], ["2.0", "1.5"]),
    (dict[Decimal, int], {"1.0": 1}, {"1.00": 1}),
    (dict[Decimal, int], {"1.0": 1}, {"1.00": 2}),
    (datetime, "2026-01-01T12:00:00Z", "2026-01-01T13:00:00+01:00"),
    (datetime, "2026-01-01T12:00:00Z", "2026-01-01T12:00:00+01:00"),
    (datetime, "2026-01-01T12:00:00", "2026-01-01T12:00:00Z"),
    (set[datetime], ["2026-01-01T12:00:00Z"], ["2026-01-01T13:00:00+01:00"]),
    (time, "12:00:00Z", "13:00:00+01:00"),
    (timedelta, "PT1H", "PT60M"),
    (timedelta, "PT1H", "PT61M"),
    (UUID, "0B0B0B0B-0000-4000-8000-000000000000", "0b0b0b0b000040008000000000000000"),
    (bytes, "/w==", "/w="),
    (float, 1, 1.0),
    (float, 0.0, -0.0),
    (list[float | bool], [1], [True]),
    (SecretStr, "a", "b"),
    (SecretStr, "a", "a"),
    (set[SecretStr], ["a", "b"], ["b", "a"]),
    (set[SecretStr], ["a", "b"], ["b", "c"]),
    (dict[str, SecretStr], {"x": "a"}, {"x": "b"}),
    (list[Secret[date]], ["2026-01-01"], ["2026-01-02"]),
    (dict[SecretStr, int], {"a": 1}, {"b": 1}),
    (tuple[SecretStr, int], ["a", 1], ["b", 1]),
    (SecretBytes, "a", "b"),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "expected", "came"), VALUES)
def test_equal_is_what_is_equal_for_the_function(annotation, expected, came):
    """Plain Python is the judge: ``==`` of what pydantic makes of both."""

    def take(value):
        raise AssertionError("evaluations run no tool")

    take.__annotations__ = {"value": annotation}
    bound = Registry([tool(take)]).bind("json-schema", False)
    adapter = TypeAdapter(annotation)
    one, other = (adapter.validate_json(json.dumps(written)) for written in (expected, came))
    is_equal = one == other and not (
        isinstance(one, list) and list(map(type, one)) != list(map(type, other))
    )
    for wanted, sent in ((expected, came), (came, expected)):
        call = {"name": "take", "arguments": json.dumps({"value": sent})}
        for mode in (Expect("take", value=wanted), Expect.subset("take", value=wanted)):
            verdict = Case("x", expected=[mode]).compare(bound, call)
            assert verdict.label == ("right" if is_equal else "wrong"), verdict
        happened = Case("x", expected=[never("take", value=wanted)], extra="any").compare(
            bound, call
        )
        assert (happened.label == "wrong") is is_equal


def test_objects_of_a_class_without_equality_are_what_they_hold():
    """They were all one, by the name of their class."""

    @tool
    def take(value: OddText) -> str:
        """Never run here."""
        raise AssertionError("evaluations run no tool")

    bound = Registry([take]).bind("json-schema", False)
    labels = [
        Case("x", expected=[Expect(take, value="a")])
        .compare(bound, {"name": "take", "arguments": {"value": came}})
        .label
        for came in ("a", "b")
    ]
    assert labels == ["right", "wrong"]


@pytest.mark.parametrize(
    ("annotation", "expected", "came", "is_right"),
    [
        (set[int], containing(8, 0), [0, 8, 16], True),
        (set[int], one_of([16, 8, 0], [1]), [0, 8, 16], True),
        (set[int], one_of([16, 8], [1]), [0, 8, 16], False),
        (set[int], [one_of(8, 24), 0], [0, 8], True),
        (set[int], [one_of(8, 24), 0], [0, 16], False),
        (set[int], [anything(), anything()], [0, 8], True),
        (set[int], [anything()], [0, 8], False),
        (
            set[Point],
            [{"x": one_of(8), "at": "1.0"}, {"x": 0}],
            [{"x": 0}, {"x": 8, "at": "1"}],
            True,
        ),
        (
            set[Point],
            [{"x": one_of(8), "at": "1.0"}, {"x": 0}],
            [{"x": 0, "at": "1"}, {"x": 8}],
            False,
        ),
        (list[set[int]], [[one_of(8), 0], [16]], [[0, 8], [16]], True),
        (Decimal, one_of("1.0"), "1.00", True),
        (Decimal, one_of("1.0"), "1.01", False),
        (Decimal, close_to(1), "1.0000001", True),
        (Decimal, close_to(1, within=0.1), "1.2", False),
        (list[Decimal], containing("2.0"), ["1", "2"], True),
        (datetime, one_of("2026-01-01T12:00:00Z"), "2026-01-01T13:00:00+01:00", True),
        (str, one_of("1.0"), "1.00", False),
    ],
)
def test_matchers_compare_as_the_function_does(annotation, expected, came, is_right):
    def take(value):
        raise AssertionError("evaluations run no tool")

    take.__annotations__ = {"value": annotation}
    bound = Registry([tool(take)]).bind("json-schema", False)
    verdict = Case("x", expected=[Expect("take", value=expected)]).compare(
        bound, {"name": "take", "arguments": json.dumps({"value": came})}
    )
    assert (verdict.label == "right") is is_right, verdict
    run = Run(verdicts=(verdict,))
    assert len(Run.from_json_lines(run.to_json_lines())) == 1
    assert (
        pickle.loads(pickle.dumps(Run.from_json_lines(run.to_json_lines()))).verdicts[0].label
        == verdict.label
    )


# --- nothing shows a secret ----------------------------------------------------------------------------------------

CANARY = "8471926350"


class Account(BaseModel):
    name: str
    pin: SecretStr
    more: dict[str, SecretStr] = {}


@tool
def open_account(
    owner: str,
    password: SecretStr,
    account: Account | None = None,
    pins: list[SecretStr] | None = None,
    born: Secret[date] | None = None,
    token: SecretBytes | None = None,
    keys: Secret[dict[str, str]] | None = None,
    n: int = 1,
) -> str:
    """Never run here."""
    raise AssertionError("evaluations run no tool")


LEAKS = {
    "plain": {"owner": "a", "password": CANARY},
    "a number": {"owner": "a", "password": int(CANARY)},
    "nested": {
        "owner": "a",
        "password": "x",
        "account": {"name": "b", "pin": CANARY, "more": {"y": CANARY}},
    },
    "nested as text": {
        "owner": "a",
        "password": "x",
        "account": json.dumps({"name": "b", "pin": CANARY}),
    },
    "a list": {"owner": "a", "password": "x", "pins": [CANARY, int(CANARY)]},
    "bytes": {"owner": "a", "password": "x", "token": CANARY},
    "keys": {"owner": "a", "password": "x", "keys": {CANARY: CANARY}},
    "refused beside it": {"owner": ["a"], "password": CANARY},
    "refused itself": {"owner": "a", "password": [CANARY]},
    "no such field": {"owner": "a", "password": "x", "passwort": CANARY},
    "cut off": '{"owner": "a", "password": "' + CANARY,
    "twice encoded": json.dumps(json.dumps({"owner": "a", "password": CANARY})),
}
WANTED = [
    Expect(open_account, owner="a", password="z"),
    Expect(open_account, owner="b", password=one_of("z", "y")),
    Expect.subset(open_account, n=2),
    Expect.name_only(open_account),
    never(open_account),
    never(open_account, owner="a"),
    Expect(move, to="left", steps=1),
]


@pytest.mark.slow
@pytest.mark.parametrize("leak", LEAKS)
def test_no_secret_is_shown(leak):
    """In no kind of difference, coercion or error; nor on the page, in the table or in the lines."""
    registry = Registry([open_account, move])
    bound = registry.bind("openai", False)
    kinds = set()
    for expected in WANTED:
        for extra in ("none", "any"):
            for name in ("open_account", "open_acount"):
                case = Case("x", "Go.", expected=[expected], extra=extra)
                came = response((name, LEAKS[leak]))
                run = Run(verdicts=(case.compare(bound, came),))
                asked = asyncio.run(
                    evaluate(registry, [case], {"m": Model("openai", lambda *_, came=came: came)})
                )
                for shown in (run, asked):
                    kinds |= {difference.kind for difference in shown.verdicts[0].differences}
                    for text in (repr(shown), str(shown), shown.to_json_lines(), shown.to_html()):
                        assert CANARY not in text, text
    assert kinds >= {"extra_call", "forbidden_call", "missing_call", "unknown_tool"}


def test_what_is_expected_is_no_secret_that_is_shown_either():
    """The author's own, in a call that was not made."""
    bound = Registry([open_account, move]).bind("openai", False)
    account = {"name": "b", "pin": one_of(CANARY)}
    for expected in (
        Expect(open_account, owner="a", password=CANARY, pins=[CANARY]),
        Expect(
            open_account, owner="a", password=one_of(CANARY), pins=[one_of(CANARY)], account=account
        ),
        Expect.subset(open_account, account=one_of({"name": "b", "pin": CANARY})),
    ):
        for came in (
            response(),
            response(("open_account", {"owner": 5})),
            response(("open_account", LEAKS["keys"])),
        ):
            verdict = Case("x", expected=[expected]).compare(bound, came)
            assert verdict.label == "wrong"
            assert CANARY not in repr(verdict)
        misspelt = Expect("open_acount", expected.arguments)
        for wrong in (misspelt, Expect(open_account, {**expected.arguments, "oner": 1})):
            with pytest.raises(UsageError) as raised:
                Case("x", expected=[wrong]).compare(bound, response())
            assert CANARY not in str(raised.value)


def test_no_secret_stands_in_what_a_provider_says():
    """Some quote the call that they refuse."""
    registry = Registry([open_account])
    body = {
        "error": {
            "message": "Failed.",
            "code": "tool_use_failed",
            "failed_generation": json.dumps(LEAKS["plain"]),
        }
    }

    def refuses(request, messages):
        error = RuntimeError("refused")
        error.status_code, error.body = 400, body
        raise error

    answers = {
        "model": refuses,
        "none": lambda *_: {"choices": [{"message": {"content": LEAKS["plain"], "tool_calls": 7}}]},
    }
    models = {name: Model("openai", ask) for name, ask in answers.items()}
    run = asyncio.run(evaluate(registry, [Case("x", "Go.")], models))
    assert run.verdicts[0].error == "model: RuntimeError"
    assert CANARY not in run.to_json_lines()


# --- modes and order -----------------------------------------------------------------------------------------------


def test_modes():
    """The name alone, or the arguments that are named."""
    window = {"since": "2026-01-02", "hours": 3}
    came = ("weather", {"city": "Bonn", "days": "3", "window": window})
    rows = [
        (Expect.name_only(weather), "right_after_coercion", 1),
        (Expect.subset(weather), "right_after_coercion", 1),
        (Expect.subset(weather, city="Bonn"), "right_after_coercion", 1),
        (Expect.subset(weather, {"city": "Bonn"}, days=3), "right_after_coercion", 1),
        (Expect.subset(weather, city="Bonn", days=one_of(1, 2)), "wrong", 0.5),
        (Expect.subset(weather, city="Rome"), "wrong", 0),
        (Expect.subset(weather, window=window), "right_after_coercion", 1),
        (
            Expect.subset(weather, window={"since": "2026-01-02"}),
            "wrong",
            0,
        ),  # the hours are 24 by default
        (
            Expect.subset(weather, window={"since": "2026-01-02", "hours": anything()}),
            "right_after_coercion",
            1,
        ),
        (Expect.subset(weather, unit="celsius"), "right_after_coercion", 1),  # the default
        (Expect.subset(weather, unit="fahrenheit"), "wrong", 0),
        (Expect(weather, city="Bonn"), "wrong", 1 / 3),
        (Expect.name_only(move), "wrong", 0),
    ]
    for expected, label, score in rows:
        verdict = judged(expected, came)
        assert (verdict.label, verdict.score) == (label, pytest.approx(score)), expected
    refused = ("weather", {"days": "x"})
    assert judged(Expect.name_only(weather), refused).label == "right"
    assert [each.kind for each in judged(Expect.subset(weather, days=1), refused).differences] == [
        "refused_arguments"
    ]
    assert [repr(expected) for expected, *_ in rows[:3]] == [
        "Expect.name_only('weather')", "Expect.subset('weather')", "Expect.subset('weather', city='Bonn')",
    ]  # fmt: skip
    assert [expected.match for expected, *_ in (*rows[:2], rows[-2])] == ["name", "subset", "exact"]
    run = Run(
        verdicts=(judged([Expect.subset(weather, city="Rome"), Expect.name_only(move)], came),)
    )
    [(line, *_)] = [[json.loads(each) for each in run.to_json_lines().splitlines()]]
    assert [(each["kind"], each["expected"]) for each in line["differences"]] == [
        ("value", "Rome"),
        ("missing_call", {}),
    ]
    assert Run.from_json_lines(run.to_json_lines()) == run
    assert "Rome" in run.to_html()


def test_what_came_counts_in_a_score():
    """An argument that came and is right, though it was not expected, is one of those that are counted."""
    assert judged(Expect(weather, city="Bonn"), ("weather", {"city": "Rome"})).score == 0
    assert (
        judged(Expect(weather, city="Bonn"), ("weather", {"city": "Rome", "days": 1})).score == 0.5
    )


def stepped(expected, *steps, **options):
    """The verdict on responses that follow one another, each of several calls."""
    answered = iter([*(response(*calls) for calls in steps), response()])
    names = {name for calls in steps for name, _ in calls}
    case = Case("x", "Go.", expected=expected, answers=dict.fromkeys(names, "done"), **options)
    model = Model("openai", lambda *_: next(answered))
    return asyncio.run(evaluate(REGISTRY, [case], {"m": model})).verdicts[0]


def test_order_is_that_of_responses():
    """Calls of one response are made in parallel."""
    left, right, tea = (Expect(move, to=to, steps=1) for to in ("left", "right", "left"))
    tea = Expect(search, query="tea")
    went = {to: ("move", {"to": to, "steps": 1}) for to in ("left", "right")}
    searched = ("search", {"query": "tea"})
    wanted = [left, right, tea]
    for steps, is_right in (
        ([[went["left"], went["right"], searched]], True),
        ([[searched, went["right"], went["left"]]], True),
        ([[went["right"], went["left"]], [searched]], True),
        ([[went["left"]], [searched, went["right"]]], True),
        ([[went["left"]], [went["right"]], [searched]], True),
        ([[went["right"]], [went["left"], searched]], False),
        ([[searched], [went["left"], went["right"]]], False),
        ([[went["left"]], [searched], [went["right"]]], False),
    ):
        verdict = stepped(wanted, *steps, order="same")
        assert (verdict.label == "right") is is_right, (steps, verdict)
        assert stepped(wanted, *steps).label == "right"
        if not is_right:
            assert "order" in [each.kind for each in verdict.differences]


@LAW
@given(st.data())
def test_the_best_assignment_to_steps_is_the_best_there_is(data):
    """Beside every assignment in which no later row goes with an earlier step."""
    rows, columns = data.draw(st.integers(0, 4)), data.draw(st.integers(1, 4))
    steps = sorted(data.draw(st.lists(st.integers(0, 3), min_size=columns, max_size=columns)))
    cell = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    scores = data.draw(
        st.lists(st.lists(cell, min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
    found = best_in_steps(scores, steps)
    assert len({row for row, _ in found}) == len({column for _, column in found}) == len(found)

    def is_ordered(pairs):
        return all(
            steps[item] <= steps[other]
            for (_, item), (_, other) in itertools.pairwise(sorted(pairs))
        )

    def total(pairs):
        return sum(scores[row][column] for row, column in pairs)

    everyone = [
        pairs
        for size in range(min(rows, columns) + 1)
        for chosen in itertools.combinations(range(rows), size)
        for order in itertools.permutations(range(columns), size)
        if is_ordered(pairs := list(zip(chosen, order, strict=True)))
    ]
    assert is_ordered([(row, column) for row, column in found if scores[row][column]])
    assert total(found) == pytest.approx(max(map(total, everyone)))


# --- tracks --------------------------------------------------------------------------------------------------------


@tool(name="weather")
def vague_weather(place: str) -> str:
    """Never run here."""
    raise AssertionError("evaluations run no tool")


VAGUE = Registry([vague_weather, move])
TRACKS = {"clear": REGISTRY, "vague": VAGUE}
STEP = ("move", {"to": "left", "steps": 1})


def knows(request):
    """Whether a request offers the tools of the track that is called clear."""
    return "city" in json.dumps(request["tools"])


def tracked(cases, models=("good",), trials=1, **options):
    """A model that finds the tools of one track easier than those of the other."""

    def ask(request, messages):
        if "weather" in json.dumps(messages):
            return response(("weather", {"city": "Bonn"} if knows(request) else {"place": "Rome"}))
        return response(STEP)

    made = evaluate(
        TRACKS, cases, {name: Model("openai", ask) for name in models}, trials=trials, **options
    )
    return asyncio.run(made)


def weather_case(number):
    expected = {
        "clear": [Expect(weather, city="Bonn")],
        "vague": [Expect(vague_weather, place="Bonn")],
    }
    return Case(f"weather {number}", "How is the weather in Bonn?", expected=expected)


MOVE_CASE = Case("move", "One step to the left.", expected=[Expect("move", to="left", steps=1)])


def test_tracks_stand_side_by_side():
    """The same cases with two sets of tools, in the table, in the lines and on the page."""
    run = tracked([weather_case(1), MOVE_CASE], trials=2)
    assert (run.tracks, run.models, run.cases) == (
        ("clear", "vague"),
        ("good",),
        ("weather 1", "move"),
    )
    assert [(each.case, each.track, each.trial, each.label) for each in run] == [
        ("weather 1", "clear", 0, "right"), ("weather 1", "clear", 1, "right"),
        ("weather 1", "vague", 0, "wrong"), ("weather 1", "vague", 1, "wrong"),
        ("move", "clear", 0, "right"), ("move", "clear", 1, "right"),
        ("move", "vague", 0, "right"), ("move", "vague", 1, "right"),
    ]  # fmt: skip
    assert str(run).splitlines() == [
        "case       clear / good                             vague / good",
        "weather 1  2 of 2                                   0 of 2",
        "move       2 of 2                                   2 of 2",
        "all        4 of 4 (51% to 100%), every trial: 100%  2 of 4 (15% to 85%), every trial: 50%",
        "weather 1, vague / good, trial 1: weather.place: expected 'Bonn', got 'Rome'",
        "clear beside vague: better in 1, worse in 0: 2 cases are too few to tell (p = 1.000)",
    ]
    lines = [json.loads(line) for line in run.to_json_lines().splitlines()]
    assert [line["track"] for line in lines] == [each.track for each in run]
    assert Run.from_json_lines(run.to_json_lines()) == run
    page = run.to_html()
    for text in (
        "clear / good",
        "vague / good",
        "clear beside vague",
        "2 cases are too few to tell",
    ):
        assert text in page
    assert len(run.of("good")) == 8
    assert (
        {each.track for each in run.of("good", "vague")}
        == {each.track for each in run.of(track="vague")}
        == {"vague"}
    )
    assert run.of("good", "vague").share().right == 2


def test_the_difference_between_tracks_may_be_evidence():
    """By the same paired test that models get; several models are compared one by one."""
    run = tracked([weather_case(number) for number in range(8)], models=("one", "two"))
    expected = "better in 8, worse in 0: a difference (p = 0.008)"
    assert str(run.of("one", "clear").compare(run.of("one", "vague"))) == expected
    assert str(run).splitlines()[-2:] == [
        f"clear beside vague, {name}: {expected}" for name in ("one", "two")
    ]
    page = run.to_html()
    assert page.count("better in 8, worse in 0") == 2
    assert page.count("better in 0, worse in 0") == 2  # the models, of each track
    both = run.of(track="clear").compare(run.of(track="vague"))
    assert (both.better, both.worse) == (16, 0)  # at each of both models
    assert run.compare(run)[:2] == (0, 0)
    with pytest.raises(UsageError, match="several tracks, and the tracks differ"):
        run.compare(run.of(track="clear"))


def test_a_single_registry_is_no_track():
    """Nothing is called otherwise than before."""
    models = {"m": Model("openai", lambda *_: response(STEP))}
    run = asyncio.run(evaluate(REGISTRY, [MOVE_CASE], models))
    assert (run.tracks, run.verdicts[0].track, str(run).splitlines()[0]) == ((), "", "case  m")
    before = run.to_json_lines().replace('"track": "", ', "")
    assert "track" not in before
    assert Run.from_json_lines(before) == run


def test_a_case_says_what_it_expects_of_each_track():
    for expected, message in (
        ({"clear": []}, "none for the track 'vague'"),
        ({"clear": [], "vage": []}, "none for the track 'vague' (did you mean \"vage\"?)"),
        ([Expect(weather, city="Bonn")], "weather has no argument 'city'"),
        (
            {"clear": [Expect(weather, city="Bonn")], "vague": [Expect(weather, city="Bonn")]},
            "weather has no argument 'city'",
        ),
    ):
        with pytest.raises(UsageError) as raised:
            tracked([Case("x", "Go.", expected=expected)])
        assert message in str(raised.value)
    with pytest.raises(UsageError, match=r"Expect\(tool"):
        Case("x", expected={"clear": ["weather"]})
    with pytest.raises(UsageError, match="name that is not empty"):
        asyncio.run(evaluate({"": REGISTRY, "a": REGISTRY}, [MOVE_CASE], {}))
    for tools in ({}, {"a": [weather]}):
        with pytest.raises(UsageError, match="mapping from names to registries"):
            asyncio.run(evaluate(tools, [MOVE_CASE], {}))
    one = weather_case(1).compare(
        VAGUE.bind("openai"), response(("weather", {"place": "Bonn"})), track="vague"
    )
    assert (one.label, one.track) == ("right", "vague")


def test_each_track_answers_with_its_own_tools(tmp_path):
    """Answers are those of tools in any track; a trace names the track of each response."""
    seen = []
    case = dataclasses.replace(
        weather_case(1), answers={weather: "sun", vague_weather: "sun", search: "tea"}, most_steps=2
    )
    path = tmp_path / "calls.jsonl"
    run = tracked([case], record=record_to(path, keep="all"), on_verdict=seen.append)
    assert [each.steps for each in run] == [2, 2]
    assert sorted(each.track for each in seen) == ["clear", "vague"]
    notes = [json.loads(line)["notes"] for line in path.read_text().splitlines()]
    assert sorted(note["track"] for note in notes) == ["clear", "clear", "vague", "vague"]


def test_tracks_on_the_command_line(tmp_path):
    file = tmp_path / "compared.py"
    file.write_text(
        MODULE.replace(
            "tools = Registry([weather])",
            "tools = Registry([weather])\nloud = Registry([weather], strict=True)",
        )
    )

    def run(*given):
        done = CliRunner().invoke(
            main, ["eval", f"{file}:cases", f"--models={file}:models", *map(str, given)]
        )
        return done.exit_code, done.output

    tracks = [f"--track=a={file}:tools", f"--track=b={file}:loud"]
    code, out = run(
        *tracks,
        "--model",
        "bad",
        "--lines",
        tmp_path / "run.jsonl",
        "--html",
        tmp_path / "run.html",
    )
    assert code == 1
    assert out.splitlines()[0].split() == ["case", "a", "/", "bad", "b", "/", "bad"]
    assert out.splitlines()[-1].startswith("a beside b: better in 0, worse in 0")
    assert Run.from_json_lines((tmp_path / "run.jsonl").read_text()).tracks == ("a", "b")
    code, out = run(*tracks, "--least", 0.5, "--against", tmp_path / "run.jsonl")
    said = [line.partition(": better")[0] for line in out.splitlines() if ": better" in line]
    assert code == 0
    assert said == [
        "a beside b, good", "a beside b, bad", "good beside bad, a", "good beside bad, b",
        f"a / bad beside {tmp_path / 'run.jsonl'}", f"b / bad beside {tmp_path / 'run.jsonl'}",
    ]  # fmt: skip
    for wrong, message in (
        (["--track", "a"], "NAME=TARGET"),
        ([*tracks, f"--track=a={file}:tools"], "two tracks have the name 'a'"),
        ([*tracks, f"--tools={file}:tools"], "pass either"),
        ([f"--track=a={file}:none"], "none"),
    ):
        code, out = run(*wrong)
        assert (code, message in out) == (2, True), out


# --- lines ---------------------------------------------------------------------------------------------------------

MARKUP = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize(
    "change",
    [
        {"label": MARKUP}, {"label": ["right"]}, {"trial": MARKUP}, {"trial": -1}, {"trial": True}, {"score": MARKUP},
        {"score": 2}, {"score": float("nan")}, {"steps": MARKUP}, {"steps": 0}, {"finish": 5}, {"error": None},
        {"case": 5}, {"model": None}, {"track": {}}, {"differences": {}}, {"coercions": None}, {"more": 1},
        {"differences": [{"kind": MARKUP, "tool": "t"}]}, {"differences": [{"kind": "value", "tool": 5}]},
        {"differences": [{"kind": "value"}]}, {"differences": [5]}, {"coercions": [{"path": "x", "rule": 5}]},
    ],
)  # fmt: skip
def test_a_line_is_checked(change):
    """Each member is what ``to_json_lines`` writes."""
    line = json.loads(Run(verdicts=(Verdict(case="c", label="wrong", score=0.5),)).to_json_lines())
    assert Run.from_json_lines(json.dumps(line)).verdicts[0].score == 0.5
    with pytest.raises(UsageError, match="not a verdict of an evaluation"):
        Run.from_json_lines(json.dumps({**line, **change}))


@pytest.mark.parametrize("line", ["[]", "5", "null", "{", "[" * 100_000, '{"case": "x"}'])
def test_what_is_no_line_is_refused(line):
    with pytest.raises(UsageError, match="not a verdict of an evaluation"):
        Run.from_json_lines(line)


def test_a_page_of_verdicts_made_by_hand_holds_no_markup():
    """Whatever stands in a verdict is text."""
    verdict = Verdict(case=MARKUP, label=MARKUP, score=0, model=MARKUP, track=MARKUP, finish=MARKUP)
    difference = Difference(
        kind=MARKUP, tool=MARKUP, path=MARKUP, expected=MARKUP, actual={MARKUP: MARKUP}
    )
    verdict = dataclasses.replace(
        verdict, differences=(difference,), coercions=(Coercion(*[MARKUP] * 4),), error=MARKUP
    )
    assert "<img" not in Run(verdicts=(verdict, dataclasses.replace(verdict, track="b"))).to_html(
        MARKUP
    )
