"""An evaluation of first turns through a batch judges what ``evaluate`` judges of the same responses."""

import asyncio
import json
import random
from typing import Any

import pytest
from responses import response

from toolshape import Registry, UsageError, tool
from toolshape.evals import Case, Expect, Model, batch_entries, evaluate, judge_batch


@tool
def weather(city: str) -> str:
    """Tells the weather."""
    raise AssertionError("no tool is run")


TOOLS = Registry([weather])
CASES = [
    Case("Bonn, please", "How is the weather in Bonn?", expected=[Expect(weather, city="Bonn")]),
    Case("wrong city", "And in Rome?", expected=[Expect(weather, city="Rome")]),
    Case("no call", "Hello", expected=[]),
]
BODIES = {
    "Bonn, please": response(("weather", {"city": "Bonn"})),
    "wrong city": response(("weather", {"city": "Oslo"})),
    "no call": {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}]},
}  # fmt: skip
MODEL = "gpt-5.4-mini"


def entries() -> list[dict[str, Any]]:
    return batch_entries(TOOLS, CASES, "openai", model=MODEL, request={"temperature": 0})


def lines() -> list[str]:
    made = [
        {"custom_id": entry["custom_id"], "response": {"status_code": 200, "body": BODIES[case.name]}, "error": None}
        for entry, case in zip(entries(), CASES, strict=True)
    ]  # fmt: skip
    random.Random(3).shuffle(made)
    return [json.dumps(line) for line in made]


def judged(given: Any) -> list[tuple[str, str]]:
    run = judge_batch(TOOLS, CASES, "openai", given, model="mini")
    assert run.models == ("mini",)
    return [(verdict.case, verdict.label) for verdict in run]


def test_each_entry_asks_its_case() -> None:
    for entry, case in zip(entries(), CASES, strict=True):
        assert entry["body"]["messages"] == [{"role": "user", "content": case.messages}]
        assert entry["body"]["model"] == MODEL
        assert entry["body"]["temperature"] == 0
        assert entry["body"]["tools"] == TOOLS.export("openai")
    assert len({entry["custom_id"] for entry in entries()}) == len(CASES)


def test_the_verdicts_are_those_of_evaluate() -> None:
    def ask(_: Any, messages: list[Any]) -> Any:
        return BODIES[next(case.name for case in CASES if case.messages == messages[0]["content"])]

    run = asyncio.run(evaluate(TOOLS, CASES, {"mini": Model("openai", ask, MODEL)}))
    expected = [(verdict.case, verdict.label) for verdict in run]
    assert judged(lines()) == expected
    assert len({label for _, label in expected}) > 1


def test_what_failed_is_missing_or_comes_twice_is_one_verdict() -> None:
    first, second, third = sorted(lines(), key=len)
    failed = {
        "custom_id": json.loads(second)["custom_id"],
        "response": None,
        "error": {"code": "batch_expired", "message": "late"},
    }
    run = judge_batch(TOOLS, CASES, "openai", [first, first, json.dumps(failed), third[:50]])
    assert sorted(verdict.label for verdict in run).count("failed") == 2
    assert any("batch_expired" in (verdict.error or "") for verdict in run)
    assert any("no line for" in (verdict.error or "") for verdict in run)
    assert len(run) == len(CASES)


def test_a_case_of_several_turns_is_refused() -> None:
    case = Case("long", "Hello", answers={"weather": "sunny"})
    with pytest.raises(UsageError, match="one turn"):
        batch_entries(TOOLS, [case], "openai", model=MODEL)
    with pytest.raises(UsageError, match="no batches"):
        batch_entries(TOOLS, CASES, "ollama", model=MODEL)


def test_what_a_request_holds_beside_is_joined_with_the_tools() -> None:
    """Gemini's temperature and its tools stand in one object."""
    entries = batch_entries(
        TOOLS, CASES[:1], "gemini", model="g", request={"config": {"temperature": 0}}
    )
    [entry] = entries
    assert entry["config"]["temperature"] == 0
    assert entry["config"]["tools"]
