"""Traces of answers: what a line holds of them, what it hides, and what a replay makes of it."""

import json

from pydantic import BaseModel, SecretStr

from toolshape import Output, Registry, tool
from toolshape._families import get
from toolshape._families.wire.server import Completion
from toolshape.provider import WireCall
from toolshape.trace import read_trace, record_to, replay


class Invoice(BaseModel):
    """An invoice."""

    total: float


class Login(BaseModel):
    user: str
    password: SecretStr


@tool
def look(number: int) -> str:
    """Look an order up."""
    return f"order {number}"


def response(provider, *calls, text=""):
    made = [
        WireCall(f"call_{number:05}", name, given) for number, (name, given) in enumerate(calls)
    ]
    said = Completion("m", "0", text, calls=tuple(made), finish="tool_calls" if calls else "stop")
    return json.loads(json.dumps(get(provider).server.respond(said)))


def recorded(path, provider, kind, *responses, keep="all", redact=()):
    tools = Registry([look])
    tools.observe(record_to(path, keep=keep, redact=redact))
    bound = tools.bind(provider, output=Output(kind))
    for given in responses:
        bound.dispatch(given)
    return list(read_trace(path.read_bytes().splitlines(keepends=True))) if path.exists() else []


def test_a_line_says_what_came_of_the_answer(tmp_path):
    path = tmp_path / "calls.jsonl"
    right, wrong = (
        response("openai", text='{"total": "3"}'),
        response("openai", text='{"total": "x"}'),
    )
    lines = recorded(
        path, "openai", Invoice, right, wrong, response("openai", ("look", {"number": 1}))
    )
    assert lines[0].answer == {
        "output": "Invoice",
        "ok": True,
        "coercions": [["total", "number_text"]],
    }
    assert lines[1].answer["error"]["code"] == "invalid_answer"
    assert lines[2].answer is None
    assert replay(path, Registry([look])).changes == ()


def test_a_wrong_answer_is_a_failure(tmp_path):
    path = tmp_path / "calls.jsonl"
    right, wrong = response("openai", text='{"total": 3}'), response("openai", text="Three.")
    [line] = recorded(path, "openai", Invoice, right, wrong, keep="failed")
    assert line.answer["error"]["code"] == "malformed_answer"


def test_an_answer_that_is_a_call_is_not_replayed_as_a_tool(tmp_path):
    path = tmp_path / "calls.jsonl"
    both = response("groq", ("look", {"number": 1}), ("Invoice", {"total": 3}))
    [line] = recorded(path, "groq", Invoice, both)
    assert [outcome.get("is_answer", False) for outcome in line.outcome] == [False, True]
    found = replay(path, Registry([look]))
    assert (found.calls, found.not_compared, found.changes) == (2, 1, ())


def test_secrets_of_an_answer_are_in_no_line(tmp_path):
    """As text and as a call; and fields that ``redact`` names by the output."""
    written = {"user": "ada", "password": "hunter2"}
    for provider in ("openai", "groq"):
        path = tmp_path / f"{provider}.jsonl"
        given = (
            response("groq", ("Login", written))
            if provider == "groq"
            else response("openai", text=json.dumps(written))
        )
        [line] = recorded(path, provider, Login, given)
        assert "hunter2" not in path.read_text(encoding="utf-8")
        assert line.answer["ok"]
    path = tmp_path / "redacted.jsonl"
    recorded(
        path,
        "openai",
        Invoice,
        response("openai", text='{"total": 314159265358}'),
        redact=["Invoice.total"],
    )
    assert "314159265358" not in path.read_text(encoding="utf-8")
