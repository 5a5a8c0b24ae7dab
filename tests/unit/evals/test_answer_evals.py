"""Evaluations of answers: what is asked for, how an answer is compared, and what a verdict says of it."""

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from toolshape import Output, Registry, UsageError, tool
from toolshape.evals import Case, Expect, ExpectAnswer, Model, Run, close_to, containing, evaluate


class Line(BaseModel):
    sku: str
    qty: int = 1


class Invoice(BaseModel):
    """An invoice."""

    total: float
    lines: list[Line] = []
    tags: dict[str, int] = {}


class Login(BaseModel):
    user: str
    password: SecretStr


@tool
def look(number: int) -> str:
    """Look an order up."""
    return f"order {number}"


TOOLS = Registry([look])
RIGHT = Invoice(total=3.5, lines=[Line(sku="a", qty=2)])
WRITTEN = {"total": 3.5, "lines": [{"sku": "a", "qty": 2}], "tags": {}}


def chat(text: str | None = None, *calls: tuple[str, Any]) -> dict[str, Any]:
    made = [
        {
            "id": f"c{at}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for at, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
    return {
        "choices": [
            {"index": 0, "finish_reason": "tool_calls" if made else "stop", "message": message}
        ]
    }


def judged(wanted: ExpectAnswer, response: Any, provider: str = "openai", **more: Any) -> Any:
    case = Case("a", answer=wanted, **more)
    return case.compare(TOOLS.bind(provider, output=wanted.output), response)


@pytest.mark.parametrize(
    ("expected", "written", "label", "score", "paths"),
    [
        (ExpectAnswer(RIGHT), WRITTEN, "right", 1.0, []),
        (
            ExpectAnswer({"total": 3.5, "lines": [{"sku": "a", "qty": 2}]}, Invoice),
            WRITTEN,
            "right",
            1.0,
            [],
        ),
        (ExpectAnswer(RIGHT), {**WRITTEN, "total": "3.5"}, "right_after_coercion", 1.0, []),
        (ExpectAnswer(RIGHT), {**WRITTEN, "total": 4}, "wrong", 2 / 3, ["total"]),
        (
            ExpectAnswer(RIGHT),
            {**WRITTEN, "tags": {"x": 1}},
            "wrong",
            2 / 3,
            ["tags"],
        ),
        (
            ExpectAnswer({"total": close_to(3.4, within=0.2)}, Invoice, match="subset"),
            WRITTEN,
            "right",
            1.0,
            [],
        ),
        (ExpectAnswer({"total": 9}, Invoice, match="subset"), WRITTEN, "wrong", 0.0, ["total"]),
        (
            ExpectAnswer(
                {"total": 3.5, "lines": [{"sku": containing("b"), "qty": 2}], "tags": {}}, Invoice
            ),
            WRITTEN,
            "wrong",
            2 / 3,
            ["lines[0].sku"],
        ),
        (ExpectAnswer([1, 2], list[int]), {"value": [1, 2]}, "right", 1.0, []),
        (ExpectAnswer([1, 2], list[int]), {"value": [2, 1]}, "wrong", 0.0, [""]),
        (ExpectAnswer(containing("b"), str), {"value": "abc"}, "right", 1.0, []),
    ],
)
def test_an_answer_is_compared_as_a_value(expected, written, label, score, paths):
    verdict = judged(expected, chat(json.dumps(written)))
    assert (verdict.label, verdict.score) == (label, pytest.approx(score))
    assert [difference.path for difference in verdict.differences] == paths
    assert all(difference.tool == expected.output.name for difference in verdict.differences)
    run = Run(verdicts=(verdict,))
    again = Run.from_json_lines(run.to_json_lines()).verdicts[0]
    assert again.label == verdict.label
    assert [str(item) for item in again.differences] == [
        str(item).replace(repr(item.expected), repr(again.differences[at].expected))
        for at, item in enumerate(verdict.differences)
    ]


def test_what_is_no_answer():
    refused = judged(ExpectAnswer(RIGHT), chat('{"total": "much"}'))
    assert [difference.kind for difference in refused.differences] == ["refused_answer"]
    assert "expected number" in str(refused.differences[0])
    called = judged(ExpectAnswer(RIGHT), chat(None, ("look", {"number": 1})))
    assert [difference.kind for difference in called.differences] == [
        "extra_call",
        "missing_answer",
    ]
    assert called.score == 0
    wanted = judged(
        ExpectAnswer(RIGHT), chat(json.dumps(WRITTEN)), expected=[Expect(look, number=1)]
    )
    assert ([difference.kind for difference in wanted.differences], wanted.score) == (
        ["missing_call"],
        0.5,
    )


def test_an_answer_that_is_a_call_is_no_extra_call():
    verdict = judged(ExpectAnswer(RIGHT), chat(None, ("Invoice", {**WRITTEN, "tags": {}})), "groq")
    assert verdict.label == "right"


def test_secrets_are_masked():
    verdict = judged(
        ExpectAnswer(Login(user="a", password="hunter2")),
        chat(json.dumps({"user": "b", "password": "hunter3"})),
    )
    assert [difference.path for difference in verdict.differences] == ["user", "password"]
    assert "hunter" not in str(verdict)


@pytest.mark.parametrize("provider", ["openai", "groq", "anthropic"])
def test_models_are_asked_for_the_answer_beside_the_tools(provider):
    """A model calls a tool, gets the answer that the case holds, and then answers in the type."""
    from toolshape.testing import Fake

    with Fake(provider, TOOLS) as fake:
        from fakes import asked, keywords

        fake.calls("look", number=4)
        fake.says(RIGHT)

        def ask(request, messages):
            histories = fake.provider.histories
            status, content = asked(
                fake, {**keywords(provider), **request, histories.key: messages}
            )
            assert status == 200
            return content

        case = Case("order", "The order, please.", [Expect(look, number=4)], answers={look: "order 4"},
                    answer=ExpectAnswer(RIGHT))  # fmt: skip
        run = asyncio.run(evaluate(TOOLS, [case], {"m": Model(provider, ask, "m")}))
        assert [(verdict.label, verdict.steps, verdict.score) for verdict in run] == [
            ("right", 2, 1.0)
        ]
        fake.assert_done()


def test_what_cannot_be_expected_is_refused():
    with pytest.raises(UsageError, match="not a valid Invoice"):
        ExpectAnswer({"sum": 1}, Invoice)
    with pytest.raises(UsageError, match="match="):
        ExpectAnswer(RIGHT, match="all")
    with pytest.raises(UsageError, match="answer= takes ExpectAnswer"):
        Case("a", answer=RIGHT)
    with pytest.raises(UsageError, match="bind the tools with output="):
        Case("a", answer=ExpectAnswer(RIGHT)).compare(TOOLS.bind("openai"), chat("{}"))
    assert "Invoice" in repr(ExpectAnswer(RIGHT, Output(Invoice)))


def test_the_page_shows_no_secret_of_an_answer():
    """Nor do the lines; the model's text may hold the answer."""

    def ask(request, messages):
        return chat(json.dumps({"user": "a", "password": "HUNTER2"}))

    wanted = ExpectAnswer({"user": "a", "password": "HUNTER2"}, Login)
    run = asyncio.run(
        evaluate(TOOLS, [Case("c", "Who?", answer=wanted)], {"m": Model("openai", ask, "gpt-5")})
    )
    assert run.verdicts[0].label == "right"
    for text in (run.to_html(), run.to_json_lines(), repr(run.verdicts[0])):
        assert "HUNTER2" not in text
