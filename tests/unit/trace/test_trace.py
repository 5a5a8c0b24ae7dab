"""Traces: what is recorded of a response, what never is, and what a replay says of it."""

import asyncio
import bz2
import codecs
import gzip
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Union

import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st
from pydantic import BaseModel, Field, Secret, SecretStr, create_model, field_validator

from toolshape import Injected, Registry, ResponseError, Tool, ToolError, UsageError, tool
from toolshape._cli.cli import main
from toolshape._validation.coercion import RULES
from toolshape.evals import Case, Expect, Model, evaluate
from toolshape.trace import compute_stages, read_trace, record_to, replay
from toolshape.trace._spans import Span, lines_in, process_spans, spans_of


@tool
def weather(city: str, days: int = 1, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Say what the weather will be."""
    if city == "Atlantis":
        raise ToolError("there is no such place")
    return f"{city}: sun for {days} days"


class Card(BaseModel):
    number: str
    holder: str = ""


@tool
def pay(card: Card, amount: float, cards: list[Card] | None = None) -> str:
    """Pay."""
    return "paid"


@tool
def login(
    user: str,
    password: SecretStr,
    pin: Annotated[int, Field(json_schema_extra={"writeOnly": True})] = 0,
) -> str:
    """Log in."""
    return "in"


@tool
async def search(query: str, key: Injected[str]) -> str:
    """Search with a key of the application's."""
    return f"{query} with {key}"


def body(*calls, text=None, model="gpt-5"):
    made = [
        {
            "id": f"c{at}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for at, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
    choice = {"index": 0, "finish_reason": "tool_calls" if made else "stop", "message": message}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": model, "choices": [choice]}


def lines(path):
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if path.exists()
        else []
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "calls.jsonl"


def observed(path, *tools, keep: Any = "all", redact=(), **options):
    registry = Registry(tools or [weather], **options)
    registry.observe(record_to(path, keep=keep, redact=redact))
    return registry


def test_a_line_has_the_response_and_its_outcome(path):
    tools = observed(path)
    given = body(
        ("weather", '{"city": "Bonn", "days": "2"}'),
        ("weather", {"city": "Atlantis"}),
        ("wether", {}),
    )
    results = tools.bind("openai", False).dispatch(given)
    [line] = lines(path)
    assert line["body"] == given
    assert (line["provider"], line["strict"], line["model"], line["request_id"]) == (
        "openai",
        False,
        "gpt-5",
        "chatcmpl-1",
    )
    assert line["tools"] == tools.bind("openai", False).fingerprint
    assert line["finish"] == "tool_calls"
    first, second, third = line["outcome"]
    assert first["arguments"] == {"city": "Bonn", "days": 2, "unit": "celsius"}
    assert first["coercions"] == [["days", "number_text"]]
    assert first["elapsed"] == round(results[0].elapsed, 6)
    assert (second["ok"], second["error"]) == (False, {"code": "tool_error", "problems": []})
    assert third["error"]["code"] == "unknown_tool"
    definitions = json.loads((path.parent / f"calls.jsonl.tools/{line['tools']}.json").read_text())
    assert definitions["tools"] == tools.export("openai", strict=False)
    assert path.stat().st_mode & 0o77 == 0  # nobody else may read it


def test_each_way_of_running_is_recorded_once(path):
    """``dispatch``, ``adispatch``, a plan in parts, a stream; a plan that is not run is not."""
    tools = observed(path, weather, search)
    bound = tools.bind("openai")
    call = ("weather", {"city": "Bonn"})
    tools.dispatch(body(call))
    asyncio.run(tools.adispatch(body(call)))
    bound.dispatch(json.dumps(body(call)))
    asyncio.run(bound.adispatch(json.dumps(body(call)).encode()))
    assert len(lines(path)) == 4
    assert ["text" in line for line in lines(path)] == [False, False, True, True]
    plan = bound.plan(body(call, ("search", {"query": "x"})))
    plan.run(only=["c0"])
    assert len(lines(path)) == 4
    plan.run(inject={"key": "k"})
    plan.run()
    assert [line["ok"] for line in lines(path)[4]["outcome"]] == [True, True]

    async def in_parts():
        plan = bound.plan(body(call, ("search", {"query": "x"})))
        await asyncio.gather(plan.arun(only=["c1"], inject={"key": "k"}), plan.arun(only=["c0"]))

    asyncio.run(in_parts())
    assert len(lines(path)) == 6
    bound.plan(body(call))
    with pytest.raises(UsageError):
        bound.dispatch(body(("search", {"query": "x"})))
    assert len(lines(path)) == 6
    assert "k" not in {
        item["arguments"].get("key") for line in lines(path) for item in line["outcome"]
    }


def test_a_stream_is_recorded_with_what_it_did_not_finish(path):
    tools = observed(path)
    collector = tools.bind("openai").collector()
    part = {"index": 0, "id": "c0", "function": {"name": "weather", "arguments": '{"city": "Bo'}}
    first = {
        "choices": [{"index": 0, "delta": {"tool_calls": [part]}}],
        "model": "gpt-5",
        "id": "r1",
    }
    collector.feed(first)
    collector.plan().run()
    part = {"index": 0, "function": {"arguments": 'nn"}'}}
    text = json.dumps(
        {"choices": [{"index": 0, "delta": {"tool_calls": [part]}, "finish_reason": "tool_calls"}]}
    )
    collector.feed(f"data: {text}\n\ndata: [DO")
    collector.feed(b"NE]\n\n")
    collector.close()
    collector.plan().run()
    cut, whole = lines(path)
    assert (cut["stream"], cut["stream_ended"], cut["model"], cut["request_id"]) == (
        [first],
        False,
        "gpt-5",
        "r1",
    )
    assert (len(whole["stream"]), whole["stream_ended"]) == (3, True)
    assert cut["outcome"][0]["error"]["code"] == "truncated_arguments"
    assert whole["outcome"][0]["arguments"]["city"] == "Bonn"
    assert not replay(path, tools).changes


def test_what_cannot_be_read_is_recorded(path):
    tools = observed(path, keep="failed")
    with pytest.raises(ResponseError):
        tools.bind("openai").dispatch("<html>bad gateway</html>")
    with pytest.raises(ResponseError):
        tools.bind("openai").dispatch(b"\xff\xfe")
    assert [line["text"] for line in lines(path)] == ["<html>bad gateway</html>", "\udcff\udcfe"]
    assert not replay(path, tools).changes


def test_only_failures_are_kept_by_default(path):
    tools = observed(path, keep="failed")
    tools.dispatch(body(("weather", {"city": "Bonn", "days": "2"})))
    tools.dispatch(body(text="Hello."))
    assert lines(path) == []
    tools.dispatch(body(("weather", {"city": "Bonn"}), ("weather", {"days": 1})))
    tools.dispatch(body(("weather", {"city": "Atlantis"})))
    assert [[item["ok"] for item in line["outcome"]] for line in lines(path)] == [
        [True, False],
        [False],
    ]


def test_an_evaluation_is_recorded_with_its_cases(path):
    replies = iter(
        [
            body(("weather", {"city": "Bonn"})),
            body(("weather", {"city": "Rome", "days": "1"})),
            "no",
        ]
    )
    case = Case("bonn", "How is it in Bonn?", expected=[Expect(weather, city="Bonn")])
    models = {"m": Model("openai", lambda request, messages: next(replies), "gpt-5")}
    asyncio.run(
        evaluate(Registry([weather]), [case], models, trials=3, limit=1, record=record_to(path))
    )
    assert [line["notes"]["label"] for line in lines(path)] == ["wrong", "failed"]
    assert lines(path)[0]["notes"] == {"case": "bonn", "model": "m", "trial": 1, "label": "wrong"}
    assert lines(path)[0]["outcome"][0]["coercions"] == [["days", "number_text"]]
    assert not replay(path, Registry([weather])).changes


def test_what_was_cancelled_is_no_change(path):
    @tool
    async def wait(days: int) -> str:
        """Wait."""
        await asyncio.sleep(60)
        return ""

    async def give_up():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(tools.adispatch(body(("wait", {"days": "1"}))), 0.05)

    tools = observed(path, wait)
    asyncio.run(give_up())
    assert lines(path)[0]["outcome"][0]["error"]["code"] == "cancelled"
    assert not replay(path, tools).changes


def test_an_observer_that_fails_changes_no_answer(path, caplog):
    path.mkdir()
    tools = observed(path)
    assert tools.dispatch(body(("weather", {"city": "Bonn"}))).ok
    assert "failed for a response of openai" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": "some"}, "keep= must be"),
        ({"redact": "pay.card"}, "a list of places"),
        ({"redact": ["card"]}, "tool.field"),
        ({"redact": ["pay..x"]}, "tool.field"),
    ],
)
def test_what_is_asked_is_checked(path, options, message):
    with pytest.raises(UsageError, match=message):
        record_to(path, **options)


def test_a_redacted_place_that_is_none_keeps_nothing(path, caplog):
    """A misspelt place would let through what it was to hold back."""
    tools = observed(path, pay, redact=["pay.card.nmber"])
    assert tools.dispatch(body(("pay", {"card": {"number": "4111"}, "amount": 1}))).ok
    assert lines(path) == []
    assert "has no field 'nmber'" in caplog.text


SECRET = "hunter2-hunter2"
SECRETS = [
    ("login", {"user": "a", "password": SECRET}),
    ("login", {"user": "a", "password": SECRET, "pin": 735911}),
    ("login", f'{{"user": "a", "password": "{SECRET}"'),
    ("login", f'{{"password": "{SECRET}", "password": "x", "user": "a"}}'),
    ("login", f"```{SECRET}```"),
    ("login", f'"{SECRET}"'),
    ("login", [SECRET]),
    ("login", {"user": "a", "passwrd": SECRET}),
    ("login", {"user": {"password": SECRET}, "password": 1}),
    ("login", {"user": "a", SECRET: 1}),
    ("login", {"arguments": {"user": "a", "password": SECRET}}),
    ("login", {"user": "a", "password": {"value": SECRET}}),
    ("login", {"user": "a", "password": [SECRET]}),
    ("login", {"user": "a", "password": "x", "pin": SECRET}),
    ("log_in", {"user": "a", "password": SECRET}),
    ("pay", {"card": {"number": SECRET, "holder": "x"}, "amount": 1}),
    ("pay", {"card": SECRET, "amount": 1}),
    ("pay", {"card": json.dumps({"number": SECRET}), "amount": 1}),
    ("pay", {"card": {"number": "x"}, "amount": 1, "cards": [{"number": SECRET}]}),
    ("pay", {"card": {"number": "x"}, "amount": 1, "cards": {"number": SECRET}}),
]


@tool
def store(keys: dict[str, str], lists: list[dict[str, list[str]]]) -> str:
    """Keep keys."""
    return ""


@pytest.mark.parametrize(
    "redact",
    [
        ["store.keys", "store.lists"],
        ["*.keys.*", "*.lists.*"],
        ["store.keys.a", "store.lists.b"],
        ["store.keys.*", "store.lists[].b[]"],
        ["*.*"],
    ],
)
def test_redacted_places_in_maps_and_lists(path, redact):
    tools = observed(path, store, redact=redact)
    given = {"keys": {"a": SECRET}, "lists": [{"b": [SECRET, SECRET]}, {"b": [SECRET]}]}
    tools.dispatch(body(("store", given)))
    [line] = lines(path)
    assert line["outcome"][0]["arguments"]["lists"] in (
        "[hidden]", ["[hidden]", "[hidden]"], [{"b": "[hidden]"}, {"b": "[hidden]"}],
    )  # fmt: skip
    assert SECRET not in path.read_text(encoding="utf-8")
    assert not replay(path, tools).changes


def test_names_that_a_pattern_knows_are_no_change(path):
    """The schema knows of them by a pattern: they are not kept, and that they are not is no regression."""
    secret = {"type": "string", "format": "password"}
    properties = {
        "held": {"type": "object", "patternProperties": {"^x": secret}},
        "note": {"type": "string"},
    }
    definition = {
        "name": "hold",
        "description": "",
        "parameters": {"type": "object", "properties": properties},
    }
    tools = observed(path, Tool.from_definition(definition, lambda **given: ""))
    tools.dispatch(body(("hold", {"held": {"xy": SECRET}, "note": "n"})))
    assert SECRET not in path.read_text(encoding="utf-8")
    assert not replay(path, tools).changes


@pytest.mark.parametrize("provider", ["openai", "anthropic", "json-schema"])
@pytest.mark.parametrize(("name", "arguments"), SECRETS)
def test_secrets_are_never_written(path, provider, name, arguments):
    tools = observed(
        path,
        login,
        pay,
        weather,
        redact=["pay.card.number", "pay.cards.number"],
        coerce={"ignore_extra": True},
    )
    if provider == "openai":
        given: Any = body((name, arguments), text=f"I use {SECRET}.")
    elif provider == "anthropic":
        block = {"type": "tool_use", "id": "t1", "name": name, "input": arguments}
        content = [{"type": "text", "text": f"I use {SECRET}."}, block]
        given = {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "content": content,
            "stop_reason": "tool_use",
        }
    else:
        given = {"name": name, "arguments": arguments}
    tools.bind(provider).dispatch(given)
    tools.bind(provider).dispatch(json.dumps(given))
    written = path.read_text(encoding="utf-8")
    assert written.count("\n") == 2
    for secret in (SECRET, "735911"):
        assert secret not in written
    assert not replay(path, tools).changes


@pytest.mark.parametrize("written", ["5", "x"])
def test_keys_of_a_secret_are_never_written(path, written):
    """Neither in the place of a coercion, nor in that of a problem."""

    @tool
    def hold(held: Secret[dict[str, int]]) -> str:
        """Hold it."""
        return "held"

    tools = observed(path, hold)
    tools.dispatch(body(("hold", {"held": {SECRET: written}})))
    assert SECRET not in path.read_text(encoding="utf-8")
    assert not replay(path, tools).changes


def test_a_place_that_became_secret_is_no_regression(path):
    @tool(name="login")
    def open_login(user: str, password: str) -> str:
        """Log in."""
        return "in"

    observed(path, open_login).dispatch(body(("login", {"user": "a", "password": "b"})))
    found = replay(path, Registry([login]))
    assert [regression.paths for regression in found.regressions] == [("pin",)]


def test_a_mark_beside_a_union_is_a_mark(path):
    """As pydantic writes it of an optional field; and one in a late branch of many."""

    @tool
    def optional(
        token: Annotated[str | None, Field(json_schema_extra={"writeOnly": True})] = None,
    ) -> str:
        """Take a token."""
        return ""

    kinds: Any = [
        create_model(f"M{at}", kind=(Literal[f"k{at}"], ...), value=(str, ...)) for at in range(60)
    ]
    kinds.append(create_model("Last", kind=(Literal["last"], ...), value=(SecretStr, ...)))

    @tool
    def late(given: Union[tuple(kinds)]) -> str:
        """Take one of many."""
        return ""

    tools = observed(path, optional, late)
    tools.dispatch(body(("optional", {"token": SECRET})))
    tools.dispatch(body(("late", {"given": {"kind": "last", "value": SECRET}})))
    assert len(lines(path)) == 2
    assert SECRET not in path.read_text(encoding="utf-8")


def test_a_redacted_tool_that_is_not_here_may_be_called_all_the_same(path):
    observed(path, weather, redact=["log_in.user"]).dispatch(
        body(("log_in", {"user": SECRET}), text=SECRET)
    )
    assert len(lines(path)) == 1
    assert SECRET not in path.read_text(encoding="utf-8")


def test_what_is_no_secret_is_kept(path):
    tools = observed(path, pay, weather, redact=["*.number"])
    tools.dispatch(body(("pay", {"card": {"number": "4111", "holder": "Ann"}, "amount": "3"})))
    tools.dispatch(body(("weather", {"city": "Bonn"})))
    first, second = lines(path)
    assert first["body"] == body(
        ("pay", {"card": {"number": "4111", "holder": "Ann"}, "amount": "3"})
    )
    assert "body" in second  # *.number is no field of any tool here: the field is card.number
    tools = observed(path, pay, weather, redact=["*.card.number"])
    tools.dispatch(body(("pay", {"card": {"number": "4111", "holder": "Ann"}, "amount": "3"})))
    tools.dispatch(
        body(
            ("weather", '{"city": "Bonn", "days": "2"}'),
            ("weather", '{"city": "Bo'),
            text="I pay with 4111.",
        )
    )
    third, fourth = lines(path)[2:]
    assert third["calls"][0]["arguments"] == {
        "card": {"number": "****", "holder": "Ann"},
        "amount": "3",
    }
    assert [call["arguments_raw"] for call in fourth["calls"]] == [
        '{"city": "Bonn", "days": "2"}',
        '{"city": "Bo',
    ]
    assert "body" not in fourth
    assert not replay(path, tools).changes


def test_stages_of_a_call(path):
    tools = observed(path)
    given = body(("weather", '{"city": "Bonn", "days": "2"}'), ("weather", {"days": "x"}))
    tools.bind("openai", False).dispatch(given)
    with path.open("rb") as file:
        [one] = read_trace(file)
    first, second = compute_stages(one, tools)
    assert first.raw == given["choices"][0]["message"]["tool_calls"][0]
    assert first.read == '{"city": "Bonn", "days": "2"}'
    assert (first.resolved, first.canonical) == ("weather", {"city": "Bonn", "days": "2"})
    assert first.validated == {"city": "Bonn", "days": 2, "unit": "celsius"}
    assert (first.refused, [item.rule for item in first.coerced]) == (None, ["number_text"])
    assert first.result["ok"]
    assert second.refused is not None
    assert [problem.rule for problem in second.refused.problems] == ["missing", "int_type"]


def weather_without_default(city: str, days: int) -> str:
    """Say."""
    return ""


def weather_with_another_default(
    city: str, days: int = 3, unit: Literal["celsius", "fahrenheit"] = "celsius"
) -> str:
    """Say."""
    return ""


def weather_of_fewer_units(city: str, days: int = 1, unit: Literal["celsius"] = "celsius") -> str:
    """Say."""
    return ""


def weather_of_any_days(
    city: str, days: Any = 1, unit: Literal["celsius", "fahrenheit"] = "celsius"
) -> str:
    """Say."""
    return ""


def weather_of_float_days(
    city: str, days: str = "1", unit: Literal["celsius", "fahrenheit"] = "celsius"
) -> str:
    """Say."""
    return ""


@pytest.mark.parametrize(
    ("arguments", "today", "kinds", "paths"),
    [
        ({"city": "Bonn"}, weather.function, [], []),
        ({"city": "Bonn"}, weather_without_default, ["now_refused"], ["days"]),
        ({"city": "Bonn"}, weather_with_another_default, ["other_value"], ["days"]),
        ({"city": "Bonn", "unit": "fahrenheit"}, weather_of_fewer_units, ["now_refused"], ["unit"]),
        ({"city": "Bonn", "days": "x"}, weather_of_any_days, ["now_accepted"], []),
        ({"city": "Bonn", "days": "2"}, weather_of_any_days, ["other_value"], ["days"]),
        ({"city": "Bonn", "days": "2"}, weather_of_float_days, ["other_value"], ["days"]),
        ({"city": "Bonn", "days": "x", "unit": "k"}, weather_of_any_days, ["other_error"], []),
        ({"city": "Bonn"}, None, ["now_refused"], []),
    ],
)
def test_what_has_changed_is_named(path, arguments, today, kinds, paths):
    observed(path).bind("openai").dispatch(body(("weather", arguments)))
    tools = Registry([tool(name="weather")(today)] if today else [login])
    found = replay(path, tools)
    assert [change.kind for change in found.changes] == kinds
    assert [place for change in found.changes for place in change.paths] == paths
    regressions = [
        kind for kind in kinds if kind not in ("now_accepted", "other_error", "other_coercion")
    ]
    assert [regression.kind for regression in found.regressions] == regressions
    assert all(change.stages is not None for change in found.changes)
    assert json.loads(found.to_json_lines().splitlines()[0])["changes"] == len(kinds)
    assert str(found).endswith(
        f"1 responses, 1 calls, {len(kinds)} changes, {len(regressions)} of them regressions"
    )


COERCED = {
    "empty_as_no_arguments": ("nothing", ""),
    "json_text": ("listed", {"tags": '["a"]'}),
    "number_text": ("weather", {"city": "Bonn", "days": "2"}),
    "text_from_integer": ("weather", {"city": 45128}),
    "integral_float": ("weather", {"city": "Bonn", "days": 2.0}),
    "null_as_default": ("weather", {"city": "Bonn", "days": None}),
    "null_text": ("maybe", {"number": "null"}),
    "enum_case": ("weather", {"city": "Bonn", "unit": "Celsius"}),
    "bool_text": ("flag", {"on": "true"}),
    "scalar_as_list": ("listed", {"tags": "a"}),
    "ignore_extra": ("weather", {"city": "Bonn", "colour": "red"}),
    "repair_json": ("weather", '{"city": "Bonn",}'),
}


@tool
def nothing() -> str:
    """Take nothing."""
    return ""


@tool
def listed(tags: list[str]) -> str:
    """Take some tags."""
    return ""


@tool
def maybe(number: int | None) -> str:
    """Take a number, or none."""
    return ""


@tool
def flag(on: bool) -> str:
    """Take a flag."""
    return ""


@pytest.mark.parametrize("rule", RULES)
def test_each_coercion_that_is_switched_off_is_a_regression(path, rule):
    every = [weather, nothing, listed, maybe, flag]
    observed(path, *every, coerce=dict.fromkeys(RULES, True)).bind("openai", False).dispatch(
        body(COERCED[rule])
    )
    [line] = lines(path)
    assert [coercion for _, coercion in line["outcome"][0]["coercions"]] == [rule]
    assert not replay(path, Registry(every, coerce=dict.fromkeys(RULES, True))).changes
    found = replay(path, Registry(every, coerce={**dict.fromkeys(RULES, True), rule: False}))
    assert [
        (regression.kind, regression.line, regression.tool) for regression in found.regressions
    ] == [("now_refused", 1, COERCED[rule][0])]


def test_a_validator_that_crashes_gives_the_same_report_twice(path):
    class Odd(BaseModel):
        x: int

        @field_validator("x")
        @classmethod
        def check(cls, value: int) -> int:
            raise OSError("gone")

    @tool
    def odd(value: Odd) -> str:
        """Crash."""
        return ""

    @tool(name="odd")
    def sound(value: dict[str, int]) -> str:
        """Do not."""
        return ""

    observed(path, sound).dispatch(body(("odd", {"value": {"x": 1}})))
    tools = Registry([odd])
    first, second = replay(path, tools), replay(path, tools)
    assert first.to_json_lines() == second.to_json_lines()
    assert [change.kind for change in first.changes] == ["now_refused"]


MODULE = '''
from typing import Literal
from toolshape import Registry, tool

@tool
def weather(city: str, days: int = {default}, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Say what the weather will be."""
    return ""

tools = Registry([weather])
'''


@pytest.fixture
def target(tmp_path):
    """A registry of today by name, whose default is another one than was recorded."""
    file = tmp_path / "today.py"
    file.write_text(MODULE.format(default=3))
    return f"{file}:tools"


@pytest.fixture
def long_trace(path):
    """400 responses, every third of them changed today."""
    bound = observed(path).bind("openai")
    for number in range(400):
        bound.dispatch(
            body(
                (
                    "weather",
                    {"city": "Bonn"} if number % 3 == 0 else {"city": "Bonn", "days": number + 1},
                )
            )
        )
    return path


class Dying(Executor):
    """An executor whose first jobs succeed, and which breaks then."""

    def __init__(self, many: int) -> None:
        self.left = many

    def submit(self, fn, /, *args, **kwargs):
        self.left -= 1
        future: Future[Any] = Future()
        if self.left < 0:
            future.set_exception(BrokenProcessPool("a worker died"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_executors_give_the_same_report(long_trace, target):
    here = replay(long_trace, target)
    assert (here.responses, len(here.regressions)) == (400, 134)
    assert [change.line for change in here.changes] == list(range(1, 401, 3))
    found = replay(long_trace, target, ThreadPoolExecutor)
    assert (str(found), found.to_json_lines()) == (str(here), here.to_json_lines())
    with ThreadPoolExecutor(2) as pool:
        assert replay(long_trace, target, pool) == here
        assert pool.submit(int).result() == 0  # it is still the application's


def test_an_executor_that_breaks_is_made_anew_where_it_can_be(long_trace, target):
    here = replay(long_trace, target)
    made = []

    def make():
        made.append(Dying(3))
        return made[-1]

    assert replay(long_trace, target, make) == here
    assert len(made) > 2
    with pytest.raises(UsageError, match=r"the last finished span ends at byte \d+"):
        replay(long_trace, target, Dying(3))
    with pytest.raises(UsageError, match=r"3 executors broke in a row \(no span was finished\)"):
        replay(long_trace, target, lambda: Dying(0))


def test_a_replay_that_cannot_begin_says_why(path, target, tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        replay(path, target)
    observed(path).dispatch(body(("weather", {"city": "Bonn"})))
    with pytest.raises(UsageError, match="import the tools"):
        replay(path, Registry([weather]), ThreadPoolExecutor)
    for executor in (None, ThreadPoolExecutor):
        with pytest.raises(UsageError, match="there is no file"):
            replay(path, f"{tmp_path}/nowhere.py:tools", executor)


@given(
    texts=st.lists(
        st.binary(max_size=12).map(lambda value: value.replace(b"\n", b"")), max_size=12
    ),
    ends=st.booleans(),
    size=st.integers(1, 40),
)
@settings(deadline=None)
def test_spans_have_each_line_once(tmp_path_factory, texts, ends, size):
    content = b"\n".join(texts) + (b"\n" if ends and texts else b"")
    file = tmp_path_factory.mktemp("spans") / "f"
    file.write_bytes(content)
    spans = spans_of(str(file), len(content), size)
    assert b"".join(line for span in spans for line in lines_in(span)) == content
    assert list(process_spans(lambda span: [*lines_in(span)], spans, None)) == [
        [*lines_in(span)] for span in spans
    ]


def test_lines_that_are_none_are_counted(path):
    tools = observed(path)
    tools.dispatch(body(("weather", {"city": "Bonn"})))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"version": 1, "provi')
    tools.dispatch(body(("weather", {"city": "Bonn"})))
    with path.open("ab") as file:
        file.write(b'{"version": 99}\n[1]\n\n' + whole[:-10])
    found = replay(path, tools)
    assert (found.responses, found.unreadable) == (2, (2, 4, 5, 7))
    assert "4 lines unreadable" in str(found)


def test_a_registry_with_a_recorder_is_pickled(path):
    tools = pickle.loads(pickle.dumps(observed(path)))
    tools.dispatch(body(("weather", {"city": "Bonn"})))
    assert tools.subset(["weather"]).dispatch(body(("weather", {"city": "Bonn"}))).ok
    assert len(lines(path)) == 2


def test_command_line(long_trace, target, tmp_path):
    def run(*given):
        done = CliRunner().invoke(main, ["replay", *map(str, given)])
        return done.exit_code, done.stdout, done.stderr

    code, out, _ = run(long_trace, target)
    assert code == 1
    assert out.splitlines()[0].startswith(
        "regression: line 1, weather (openai, gpt-5): the function now receives other arguments: days was "
    )
    assert out.splitlines()[-1] == "400 responses, 400 calls, 134 changes, 134 of them regressions"
    assert run(long_trace, target, "--json")[1] == replay(long_trace, target).to_json_lines()
    assert '  canonical: {"city": "Bonn"}' in run(long_trace, target, "--stages")[1]
    same = tmp_path / "same.py"
    same.write_text(MODULE.format(default=1))
    assert run(long_trace, f"{same}:tools") == (
        0,
        "400 responses, 400 calls, 0 changes, 0 of them regressions\n",
        "",
    )
    code, _, error = run(long_trace, "nowhere:tools")
    assert code == 2
    assert "nowhere" in error


@pytest.mark.slow
def test_pytest_replays(pytester_run, path):
    other = path.parent / "other.jsonl"
    observed(path).bind("openai").dispatch(body(("weather", {"city": "Bonn"})))
    observed(other).bind("openai").dispatch(body(("weather", {"city": "Bonn", "days": 3})))
    (path.parent / "pytest.ini").write_text("[pytest]\ntoolshape_tools = today.py:tools")
    code, out = pytester_run("--toolshape-replay", str(path), "--toolshape-replay", "other.jsonl")
    assert (code, "1 failed, 1 passed" in out) == (1, True)
    assert (
        "regression: line 1, weather (openai, gpt-5): the function now receives other arguments: days was "
        in out
    )
    code, out = pytester_run(
        "-c", os.devnull, "--rootdir", str(path.parent), "--toolshape-replay", str(path)
    )
    assert code == 4
    assert "needs --toolshape-tools" in out


@pytest.fixture
def pytester_run(tmp_path):
    (tmp_path / "today.py").write_text(MODULE.format(default=3))

    def run(*given):
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            *given,
        ]
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
        }
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_span_is_a_plain_record():
    assert Span("f", 0, 1) == pickle.loads(pickle.dumps(Span("f", 0, 1)))


# --- equality is the function's ------------------------------------------------------------------------------------


class Entry(BaseModel):
    names: set[str]
    at: datetime | None = None
    more: dict[str, frozenset[int]] = {}

    model_config = {"frozen": True}


@tool
def tag(
    labels: set[str],
    numbers: list[set[int]] | None = None,
    entry: Entry | None = None,
    amount: Decimal = Decimal(1),
    pairs: tuple[frozenset[int], int] | None = None,
    prices: dict[Decimal, int] | None = None,
) -> str:
    """Tag."""
    return "ok"


TAGGED = {
    "labels": ["a", "b", "c"],
    "numbers": [[0, 8], [16]],
    "entry": {"names": ["x", "y"], "at": "2026-01-01T12:00:00Z", "more": {"k": [0, 8]}},
    "amount": "1.0",
    "pairs": [[0, 8], 1],
    "prices": {"1.0": 1},
}


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        ({}, []),
        ({"labels": ["c", "a", "b"]}, []),
        ({"labels": ["c", "a", "x"]}, ["labels"]),
        ({"labels": ["a", "b"]}, ["labels"]),
        ({"numbers": [[8, 0], [16]]}, []),
        ({"numbers": [[16], [0, 8]]}, ["numbers[0]", "numbers[1]"]),
        (
            {
                "entry": {
                    "names": ["y", "x"],
                    "at": "2026-01-01T13:00:00+01:00",
                    "more": {"k": [8, 0]},
                }
            },
            [],
        ),
        (
            {"entry": {"names": ["y", "x"], "at": "2026-01-01T13:00:00Z", "more": {"k": [8, 0]}}},
            ["entry.at"],
        ),
        ({"amount": "1.000"}, []),
        ({"amount": "1.001"}, ["amount"]),
        ({"amount": 1.0}, ["amount"]),
        ({"pairs": [[8, 0], 1]}, []),
        ({"pairs": [[8, 0], 2]}, ["pairs[1]"]),
        ({"prices": {"1.00": 1}}, []),
        ({"prices": {"1.00": 2}}, ["prices.1.00", "prices.1.0"]),
    ],
)
def test_a_line_of_another_process_is_compared_by_what_the_function_got(path, change, paths):
    """Each process has an order of its own for sets, and a trace may hold another text for the same value."""
    observed(path, tag).bind("openai").dispatch(body(("tag", TAGGED)))
    [line] = lines(path)
    line["outcome"][0]["arguments"] |= change
    path.write_text(json.dumps(line) + "\n")
    found = replay(path, Registry([tag]))
    assert [place for change in found.changes for place in change.paths] == paths
    assert pickle.loads(pickle.dumps(found)) == found


def test_sets_of_secrets_are_compared_without_what_is_hidden(path):
    @tool
    def unlock(keys: set[SecretStr], doors: set[str]) -> str:
        """Unlock."""
        return "open"

    observed(path, unlock).bind("openai").dispatch(
        body(("unlock", {"keys": ["k1", "k2"], "doors": ["a", "b"]}))
    )
    [line] = lines(path)
    line["outcome"][0]["arguments"]["doors"].reverse()
    path.write_text(json.dumps(line) + "\n")
    assert not replay(path, Registry([unlock])).changes
    assert "k1" not in path.read_text()


# --- a trace that cannot be read at all ----------------------------------------------------------------------------

WRONG_FILES = {
    "another version": (lambda whole: b'{"version": 2, "outcome": []}\n' * 3, "line 1 has version 2, but this toolshape reads version 1"),
    "gzip": (gzip.compress, "compressed"),
    "bzip2": (bz2.compress, "compressed"),
    "UTF-16": (lambda whole: whole.decode().encode("utf-16"), "UTF-16"),
    "UTF-16 without a mark": (lambda whole: whole.decode().encode("utf-16-be"), "UTF-16"),
    "a line that was cut off": (lambda whole: whole[:-20], "line 1 is incomplete"),
    "another format": (lambda whole: b"city,days\nBonn,1\n", "line 1 is not a line of a trace"),
    "JSON of others": (lambda whole: b'\n[1, 2]\n{"a": 1}\n', "line 1 is not a line of a trace"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_FILES)
def test_a_trace_that_cannot_be_read_at_all_is_a_failure(path, wrong, target):
    """For a program, on the command line, and line by line."""
    change, message = WRONG_FILES[wrong]
    observed(path).dispatch(body(("weather", {"city": "Bonn"})))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(UsageError, match=r"no line of .* can be read: ") as raised:
        replay(path, Registry([weather]))
    assert message in str(raised.value)
    with (
        path.open("rb") as file,
        pytest.raises(UsageError, match=r"can be read|has version|not a line of a trace"),
    ):
        list(read_trace(file))
    for options in ([], ["--json"], ["--stages"]):
        done = CliRunner().invoke(main, ["replay", str(path), target, *options])
        assert (done.exit_code, message in done.stderr, done.stdout) == (2, True, ""), done.output


def test_a_mark_that_an_editor_puts_first_is_passed_over(path):
    observed(path).dispatch(body(("weather", {"city": "Bonn"})))
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert replay(path, Registry([weather])).calls == 1
    assert len(list(read_trace(path.read_bytes().splitlines(keepends=True)))) == 1


def test_an_empty_trace_has_nothing_to_be_read(path):
    path.write_bytes(b"\n\n")
    assert replay(path, Registry([weather])).responses == 0
    assert list(read_trace([b"\n"])) == []


def test_a_long_line_is_read_by_the_span_in_which_it_begins(tmp_path):
    """The others look no further than their own end."""
    file = tmp_path / "f"
    file.write_bytes(b"a\n" + b"x" * 100_000 + b"\nb\n")
    spans = spans_of(str(file), file.stat().st_size, 100)
    assert [len(list(lines_in(span))) for span in spans] == [2, *[0] * (len(spans) - 2), 1]


SENT = []


@tool(approve=lambda arguments: arguments["amount"] > 100)
def refund(amount: int) -> str:
    """Refund."""
    SENT.append(amount)
    return f"refunded {amount}"


def refunds(provider, *amounts):
    """A response that asks for refunds."""
    arguments = [{"amount": amount} for amount in amounts]
    if provider == "openai":
        calls = [
            {
                "id": f"c{at}",
                "type": "function",
                "function": {"name": "refund", "arguments": json.dumps(argument)},
            }
            for at, argument in enumerate(arguments)
        ]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        return {
            "id": "r1",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
        }
    if provider == "anthropic":
        blocks = [
            {"type": "tool_use", "id": f"c{at}", "name": "refund", "input": argument}
            for at, argument in enumerate(arguments)
        ]
        return {
            "type": "message",
            "role": "assistant",
            "stop_reason": "tool_use",
            "content": blocks,
        }
    if provider == "openai-responses":
        items = [
            {
                "type": "function_call",
                "call_id": f"c{at}",
                "name": "refund",
                "arguments": json.dumps(argument),
            }
            for at, argument in enumerate(arguments)
        ]
        return {"object": "response", "status": "completed", "output": items}
    parts = [
        {"functionCall": {"name": "refund", "args": argument, "id": f"c{at}"}}
        for at, argument in enumerate(arguments)
    ]
    return {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": parts}}]}


def codes_in(line):
    return [outcome.get("error", {}).get("code") for outcome in line.outcome]


@pytest.mark.parametrize("way", ["decided here", "paused", "paused before it ran"])
@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai-responses", "gemini"])
def test_a_plan_that_waits_is_recorded_when_it_waits_and_when_it_is_over(path, provider, way):
    """Decided here, or by a token elsewhere; a replay reads both lines, and an edited call is compared by nothing."""
    desk, key = Registry([refund]), b"sixteen bytes at least"
    desk.observe(record_to(path, keep="all"))
    plan = desk.bind(provider).plan(refunds(provider, 50, 500, 700))
    if way != "paused before it ran":
        plan.run()
    if way == "decided here":
        plan.approve("c1")
        plan.edit("c2", {"amount": 70})
        plan.run()
    else:
        token = plan.pause(key, audience="desk", expires=timedelta(hours=1))
        elsewhere = Registry([refund])
        elsewhere.observe(record_to(path, keep="all"))
        elsewhere.bind(provider)
        elsewhere.resume(token, key, {"c1": True, "c2": {"amount": 70}}, audience="desk")
    first, last = read_trace(path.read_bytes().splitlines(keepends=True))
    assert codes_in(first) == [
        "pending" if way == "paused before it ran" else None,
        "pending",
        "pending",
    ]
    assert codes_in(last) == [None, None, None]
    assert (first.continues, last.continues) == (False, True)
    assert [outcome["arguments"] for outcome in last.outcome] == [
        {"amount": 50},
        {"amount": 500},
        {"amount": 70},
    ]
    again = replay(path, Registry([refund]))
    assert (again.responses, again.calls, again.not_compared, again.changes) == (2, 6, 1, ())


def test_a_change_is_found_in_a_plan_that_was_resumed(path):
    """What was recorded of it is not only there: it is compared."""
    desk, key = Registry([refund]), b"sixteen bytes at least"
    token = (
        desk.bind("openai")
        .plan(refunds("openai", 500))
        .pause(key, audience="d", expires=timedelta(hours=1))
    )
    desk.observe(record_to(path, keep="all"))
    desk.resume(token, key, {"c0": True}, audience="d")

    @tool(name="refund")
    def less(amount: Annotated[int, Field(le=400)]) -> str:
        """Refund."""
        return str(amount)

    [change] = replay(path, Registry([less])).regressions
    assert (change.kind, change.before) == ("now_refused", {"amount": 500})


def test_what_waits_is_no_failure(path):
    """By default only what failed is kept."""
    desk = Registry([refund])
    desk.observe(record_to(path))
    desk.dispatch(refunds("openai", 500))
    assert not path.exists()
