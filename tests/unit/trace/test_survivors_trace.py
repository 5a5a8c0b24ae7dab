"""Traces: what mutants of their privacy have shown to be untested."""

import json

import pytest
from pydantic import SecretStr

from toolshape import Registry, ResponseError, UsageError, tool
from toolshape.trace import record_to, replay

SECRET = "xq-735911"


@tool
def login(user: str, password: SecretStr, agreed: bool = False) -> str:
    """Log in."""
    return "in"


def body(arguments):
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": "c1", "type": "function", "function": {"name": "login", "arguments": given}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-5", "choices": [choice]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "calls.jsonl"


def observed(path, redact=(), **options):
    registry = Registry([login], **options)
    registry.observe(record_to(path, keep="all", redact=redact))
    return registry


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_hidden_truth_is_neither_true_nor_false(path):
    """The same stands in the place of both."""
    tools = observed(path, redact=["login.agreed"])
    for agreed in (True, False):
        tools.dispatch(body({"user": "a", "password": SECRET, "agreed": agreed}))
    first, second = lines(path)
    assert first["calls"] == second["calls"]
    assert first["calls"][0]["arguments"]["agreed"] is False
    assert not replay(path, tools).changes


def test_what_a_model_wrote_for_a_name_is_no_path(path):
    """A field that nobody knows is ignored, and named nowhere: its name may be what is secret."""
    tools = observed(path, coerce={"ignore_extra": True})
    [result] = tools.dispatch(body({"user": "a", "password": "p", SECRET: 5}))
    assert [(coercion.path, coercion.rule) for coercion in result.coercions] == [
        (SECRET, "ignore_extra")
    ]
    [line] = lines(path)
    assert line["outcome"][0]["coercions"] == [["", "ignore_extra"]]
    assert SECRET not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        f'{{"user": "a", "password": "{SECRET}",}}',
        json.dumps(json.dumps({"user": "a", "password": SECRET})),
    ],
)
def test_of_arguments_that_were_repaired_only_the_length_is_kept(path, text):
    """Which of their parts are hidden is not known; that they ran is."""
    tools = observed(path, coerce={"repair_json": True})
    assert tools.dispatch(body(text)).ok
    [line] = lines(path)
    assert line["calls"][0].keys() == {"id", "wire_name", "kept"}
    assert len(text) in line["calls"][0]["kept"].values()
    assert SECRET not in path.read_text(encoding="utf-8")


def test_of_a_body_that_is_no_response_the_kind_of_error_is_kept(path):
    """Beside tools with secrets: the text may quote it."""
    with pytest.raises(ResponseError):
        observed(path).bind("openai").dispatch({"error": {"message": SECRET}})
    [line] = lines(path)
    assert line["error"] == "ResponseError"
    assert SECRET not in path.read_text(encoding="utf-8")


def test_the_sdks_own_word_for_a_request_goes_first(path):
    """OpenAI's and Anthropic's SDKs put the header ``request-id`` on what they return."""

    class Response(dict):
        _request_id = "req_1"

    tools = observed(path)
    tools.dispatch(Response(body({"user": "a", "password": "p"})))
    tools.dispatch(body({"user": "a", "password": "p"}))
    assert [line["request_id"] for line in lines(path)] == ["req_1", "chatcmpl-1"]


def test_a_redacted_field_that_is_nowhere_near(path, caplog):
    """The message ends where there is nothing to suggest; the dispatch goes on, and no line is written."""
    assert (
        observed(path, redact=["login.zzzzqqqq"]).dispatch(body({"user": "a", "password": "p"})).ok
    )
    [error] = [entry.exc_info[1] for entry in caplog.records]
    assert isinstance(error, UsageError)
    assert str(error) == "redact= names login.zzzzqqqq, but login has no field 'zzzzqqqq'"
    assert not path.exists()


def test_of_what_may_hold_a_secret_length_and_hash_are_kept(path):
    """A call of an unknown tool, and a body that is no response: equal ones are known from others."""
    tools = observed(path.parent / "deep" / "er" / "calls.jsonl")
    unknown = [body({"user": value}) for value in ("a", "a", "b")]
    for response in unknown:
        response["choices"][0]["message"]["tool_calls"][0]["function"]["name"] = "logon"
        tools.dispatch(response)
    for text in ("a", "a", "b"):
        with pytest.raises(ResponseError):
            tools.bind("openai").dispatch({"error": {"message": text}})
    written = lines(path.parent / "deep" / "er" / "calls.jsonl")
    for first, second, third in (
        [line["calls"][0]["kept"] for line in written[:3]],
        [line["kept"] for line in written[3:]],
    ):
        assert first == second != third
