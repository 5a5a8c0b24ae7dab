"""Batches: a request is written as an entry, and each result line is accounted for, whatever comes."""

import asyncio
import json
import random
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import SecretStr
from responses import outcomes, response

from toolshape import Registry, ResponseError, UsageError, tool
from toolshape.ledger import Ledger


@tool
def weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: The city.
    """
    return f"sunny in {city}"


TOOLS = Registry([weather])


def chat_line(number: int, **changes: Any) -> dict[str, Any]:
    body = {"model": "m", **response(("weather", {"city": f"c{number}"}), first=number)}
    return {
        "id": f"batch_req_{number}",
        "custom_id": f"r{number}",
        "response": {"status_code": 200, "request_id": "q", "body": body},
        "error": None,
        **changes,
    }


def failed(number: int) -> dict[str, Any]:
    error = {"code": "batch_expired", "message": "This request could not be executed."}
    return chat_line(number, response=None, error=error)


def refused(number: int) -> dict[str, Any]:
    body = {"error": {"message": "bad tools", "type": "invalid_request_error", "code": None}}
    return chat_line(number, response={"status_code": 400, "request_id": "q", "body": body})


def told(lines: Any) -> list[tuple[str | None, Any]]:
    return [
        (line.custom_id, str(line.error) if line.error else outcomes(line.results))
        for line in lines
    ]


REQUESTS: dict[str, dict[str, Any]] = {
    "openai": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "anthropic": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "mistral": {"messages": [{"role": "user", "content": "hi"}]},
    "openai-responses": {"model": "m", "input": "hi"},
}


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("openai", {"method": "POST", "url": "/v1/chat/completions", "body": ...}),
        ("azure", {"method": "POST", "url": "/v1/chat/completions", "body": ...}),
        ("groq", {"method": "POST", "url": "/v1/chat/completions", "body": ...}),
        ("cerebras", {"method": "POST", "url": "/v1/chat/completions", "body": ...}),
        ("openai-responses", {"method": "POST", "url": "/v1/responses", "body": ...}),
        ("together", {"body": ...}),
        ("mistral", {"body": ...}),
        ("anthropic", {"params": ...}),
    ],
)
def test_a_request_is_written_as_the_provider_wants_it(
    provider: str, expected: dict[str, Any]
) -> None:
    bound = TOOLS.bind(provider)
    request = {**bound.request(), **REQUESTS.get(provider, REQUESTS["openai"])}
    entry = bound.batch_line("r1", request)
    where = next(key for key, value in expected.items() if value is ...)
    assert entry == {"custom_id": "r1", **expected, where: request}
    assert json.loads(json.dumps(entry)) == entry


def test_gemini_has_the_id_beside_the_request_and_bedrock_has_no_model() -> None:
    gemini = TOOLS.bind("gemini")
    request = {**gemini.request(), "contents": "hi"}
    assert gemini.batch_line("r1", request) == {**request, "metadata": {"key": "r1"}}
    messages = [{"role": "user", "content": [{"text": "hi"}]}]
    assert TOOLS.bind("bedrock").batch_line("r1", {"modelId": "m", "messages": messages}) == {
        "recordId": "r1",
        "modelInput": {"messages": messages},
    }


def test_an_object_of_the_sdk_in_a_request_is_written_as_json() -> None:
    chat = pytest.importorskip("openai.types.chat", reason="needs openai")
    message = chat.ChatCompletionMessage(role="assistant", content="hi")
    entry = TOOLS.bind("openai").batch_line("r1", {"model": "m", "messages": [message]})
    assert entry["body"]["messages"] == [{"role": "assistant", "content": "hi"}]


@pytest.mark.parametrize(
    ("provider", "custom_id", "request_", "why"),
    [
        ("openai", "", REQUESTS["openai"], "takes no id ''"),
        ("openai", 7, REQUESTS["openai"], "takes no id 7"),
        ("anthropic", "a b", REQUESTS["anthropic"], "takes no id 'a b'"),
        ("anthropic", "a" * 65, REQUESTS["anthropic"], "takes no id"),
        ("together", "a" * 65, REQUESTS["openai"], "takes no id"),
        ("openai", "r1", {"messages": []}, "has its model="),
        (
            "openai",
            "r1",
            {**REQUESTS["openai"], "stream": True},
            "no result of a batch is streamed",
        ),
        ("bedrock", "r1", {"messages": [], "toolConfig": {"tools": [{}]}}, "takes no tools"),
        ("ollama", "r1", REQUESTS["openai"], "no batches"),
        ("vertex", "r1", {"contents": "hi"}, "no batches"),
        ("xai", "r1", REQUESTS["openai"], "no batches"),
        ("deepseek", "r1", REQUESTS["openai"], "no batches"),
        ("huggingface", "r1", REQUESTS["openai"], "no batches"),
        ("cohere", "r1", REQUESTS["openai"], "no batches"),
    ],
)
def test_what_a_batch_does_not_take_is_refused(
    provider: str, custom_id: Any, request_: dict[str, Any], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        TOOLS.bind(provider).batch_line(custom_id, request_)


def test_each_line_is_results_or_an_error() -> None:
    lines = [json.dumps(line) for line in (chat_line(1), failed(2), refused(3))]
    told_lines = told(TOOLS.bind("openai").read_batch([*lines, "", lines[0][:40], "3"]))
    assert told_lines[0] == ("r1", ["sunny in c1"])
    assert [custom_id for custom_id, _ in told_lines] == ["r1", "r2", "r3", None, None]
    words = ("batch_expired", "bad tools", "cut off", "is no object")
    for word, (_, error) in zip(words, told_lines[1:], strict=True):
        assert word in error


def test_a_line_that_comes_twice_runs_once_and_what_is_missing_is_named() -> None:
    ran: list[str] = []

    def send(city: str) -> str:
        """Sends."""
        ran.append(city)
        return city

    bound = Registry([tool(send, name="weather")]).bind("openai")
    lines = [chat_line(1), chat_line(1), chat_line(9), failed(2)]
    read = list(bound.read_batch(lines, expected=["r1", "r2", "r3"]))
    assert ran == ["c1"]
    assert [(line.custom_id, line.error is None) for line in read] == [
        ("r1", True),
        ("r1", False),
        ("r9", False),
        ("r2", False),
        ("r3", False),
    ]
    assert "came before" in str(read[1].error)
    assert "expected=" in str(read[2].error)
    assert "no line for 'r3'" in str(read[4].error)


def test_one_text_is_read_by_lines_and_what_is_no_file_is_refused() -> None:
    bound = TOOLS.bind("openai")
    text = "\ufeff" + "\r\n".join(json.dumps(chat_line(number)) for number in (1, 2))
    assert told(bound.read_batch(text)) == [("r1", ["sunny in c1"]), ("r2", ["sunny in c2"])]
    assert told(bound.read_batch(text.encode())) == told(bound.read_batch(text))
    for given_lines in (chat_line(1), 3):
        with pytest.raises(UsageError, match="lines of a batch's output"):
            list(bound.read_batch(given_lines))  # type: ignore[arg-type]  # what users may pass
    with pytest.raises(UsageError, match="expected="):
        bound.read_batch([], expected="r1")


def test_other_tools_are_told_before_a_line_is_read() -> None:
    bound, lines = TOOLS.bind("openai"), iter([chat_line(1)])
    with pytest.raises(UsageError, match="other tools"):
        bound.read_batch(lines, fingerprint=Registry().bind("openai").fingerprint)
    assert told(bound.read_batch(lines, fingerprint=bound.fingerprint))


def test_a_line_of_another_provider_is_an_error_of_its_own() -> None:
    message = {"role": "assistant", "type": "message", "content": [], "model": "m", "id": "x"}
    line = {"custom_id": "r1", "response": {"body": message}}
    [read] = TOOLS.bind("openai").read_batch([line])
    assert read.custom_id == "r1"
    assert isinstance(read.error, ResponseError)


def test_gemini_results_without_metadata_are_those_of_their_place() -> None:
    part = {"functionCall": {"name": "weather", "args": {"city": "Bonn"}}}
    body = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
    bound = TOOLS.bind("gemini")
    lines = [{"response": body}, {"error": {"code": 3, "message": "bad"}}, {"response": body}]
    read = list(bound.read_batch(lines, expected=["a", "b", "c"]))
    assert [line.custom_id for line in read] == ["a", "b", "c"]
    assert "bad" in str(read[1].error)
    assert [line.custom_id for line in bound.read_batch(lines)] == [None, None, None]


def test_claude_on_bedrock_is_read_by_the_tools_of_anthropic() -> None:
    content = [{"type": "tool_use", "id": "t", "name": "weather", "input": {"city": "Bonn"}}]
    message = {
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": "tool_use",
    }
    line = {"recordId": "r1", "modelInput": {}, "modelOutput": message}
    assert told(TOOLS.bind("anthropic").read_batch([line])) == [("r1", ["sunny in Bonn"])]
    error = {"recordId": "r2", "error": {"errorCode": 400, "errorMessage": "too long"}}
    [(custom_id, words)] = told(TOOLS.bind("bedrock").read_batch([error]))
    assert custom_id == "r2"
    assert "400" in words
    assert "too long" in words


@pytest.mark.parametrize("is_async", [False, True])
def test_read_again_with_a_ledger_no_call_runs_twice(is_async: bool, tmp_path: Path) -> None:
    ran: list[str] = []

    @tool
    async def send(city: str) -> str:
        """Sends."""
        ran.append(city)
        return city

    bound = Registry([send]).bind("openai")
    bodies = [response(("send", {"city": "Bonn"}, "")) for _ in range(2)]  # no ids
    lines = [
        chat_line(number, response={"status_code": 200, "body": body})
        for number, body in enumerate(bodies)
    ]

    async def read(ledger: Ledger) -> list[Any]:
        async def feed() -> AsyncIterator[Any]:
            for line in lines:
                yield line

        return [
            outcomes(line.results)
            async for line in bound.aread_batch(feed(), ledger=ledger, scope="batch")
            if line.results
        ]

    with Ledger(tmp_path / "calls.db") as ledger:
        for _ in range(2):
            if is_async:
                assert asyncio.run(read(ledger)) == [["Bonn"], ["Bonn"]]
                continue
            read_lines = bound.read_batch(lines, ledger=ledger, scope="batch")
            assert [outcomes(line.results) for line in read_lines if line.results] == [["Bonn"]] * 2
    assert ran == ["Bonn", "Bonn"]  # once a line, though both calls look alike


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_line_and_every_id_is_accounted_for(data: st.DataObject) -> None:
    """Shuffled, doubled, cut, with errors: each id that was written is told once as what it was."""
    total = data.draw(st.integers(0, 12))
    kinds = {
        f"r{number}": data.draw(st.sampled_from(["ok", "failed", "lost", "cut"]))
        for number in range(total)
    }
    made = {"ok": chat_line, "failed": failed, "cut": chat_line}
    lines = [
        json.dumps(made[kind](int(name[1:])))[: 30 if kind == "cut" else None]
        for name, kind in kinds.items()
        if kind != "lost"
    ]
    doubled = data.draw(st.lists(st.sampled_from(lines), max_size=4)) if lines else []
    lines = data.draw(st.permutations([*lines, *doubled]))
    read = list(TOOLS.bind("openai").read_batch(lines, expected=list(kinds)))
    ended = {line.custom_id: line for line in read if line.error is None}
    assert set(ended) == {name for name, kind in kinds.items() if kind == "ok"}
    assert all(outcomes(line.results) == [f"sunny in c{name[1:]}"] for name, line in ended.items())
    told_once = [line for line in read if line.custom_id and "came before" not in str(line.error)]
    assert sorted(line.custom_id for line in told_once) == sorted(kinds)
    assert len(read) - len(lines) == sum(kind in ("lost", "cut") for kind in kinds.values())


@pytest.mark.slow
def test_fifty_megabytes_are_read_in_ten() -> None:
    padding = "x" * 4_000

    def written() -> Iterator[str]:
        numbers = list(range(10_000))
        random.Random(7).shuffle(numbers)
        for number in numbers:
            line = failed(number) if number % 10 == 0 else chat_line(number)
            text = json.dumps({**line, "padding": padding})
            yield text[: len(text) // 2] if number == 5_005 else text

    bound, counts = TOOLS.bind("openai"), {"results": 0, "error": 0}
    size = sum(map(len, written()))
    tracemalloc.start()
    for line in bound.read_batch(written(), expected=[f"r{number}" for number in range(10_000)]):
        counts["results" if line.error is None else "error"] += 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts == {"results": 8_999, "error": 1_002}
    assert size > 40_000_000
    assert peak < 10_000_000


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85"])
def test_other_ends_of_lines_stand_in_a_line_of_one_text(end: str) -> None:
    line = json.dumps({**chat_line(1), "note": f"a{end}b"}, ensure_ascii=False)
    assert told(TOOLS.bind("openai").read_batch(f"{line}\n")) == [("r1", ["sunny in c1"])]


def test_lines_without_an_id_do_not_share_a_scope(tmp_path: Path) -> None:
    part = {"functionCall": {"name": "weather", "args": {"city": "Bonn"}}}
    body = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
    ran: list[str] = []

    def send(city: str) -> str:
        """Sends."""
        ran.append(city)
        return city

    bound = Registry([tool(send, name="weather")]).bind("gemini")
    lines = [{"response": body}, {"response": body}, {"key": "None", "response": body}]
    with Ledger(tmp_path / "calls.db") as ledger:
        for _ in range(2):
            list(bound.read_batch(lines, ledger=ledger, scope="batch"))
    assert ran == ["Bonn"] * 3


def test_expected_may_be_read_once_and_holds_texts() -> None:
    read = TOOLS.bind("openai").read_batch([chat_line(1)], expected=(f"r{n}" for n in (1, 2)))
    assert [(line.custom_id, line.error is None) for line in read] == [("r1", True), ("r2", False)]
    with pytest.raises(UsageError, match="texts"):
        TOOLS.bind("openai").read_batch([], expected=[1])  # type: ignore[list-item]  # what users may pass


def test_a_refused_request_runs_nothing_whatever_its_body_holds() -> None:
    line = chat_line(1)
    line["response"]["status_code"] = 500
    [read] = TOOLS.bind("openai").read_batch([line])
    assert "500" in str(read.error)


def test_data_that_is_nested_too_deeply_is_an_error_of_its_line() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    lines = [{**chat_line(1), "deep": deep}, chat_line(2)]
    read = list(TOOLS.bind("openai").read_batch(lines))
    assert [line.error is None for line in read] == [False, True]
    while deep:  # freed level by level
        deep = deep[0]


def test_the_apps_own_metadata_stays_beside_the_id() -> None:
    request = {"contents": "hi", "metadata": {"user": "u1"}}
    entry = TOOLS.bind("gemini").batch_line("r1", request)
    assert entry["metadata"] == {"user": "u1", "key": "r1"}


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_words_of_the_provider_are_hidden_where_a_tool_takes_a_secret(provider: str) -> None:
    @tool
    def login(password: SecretStr) -> str:
        """Logs in."""
        return "in"

    words = 'bad {"password": "hunter2"}'
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    lines: dict[str, list[Any]] = {
        "openai": [
            chat_line(1, response=None, error={"code": "x", "message": words}),
            chat_line(2, response={"status_code": 400, "body": {"error": {"message": words}}}),
            chat_line(3, response={"body": {"error": {"message": words}}}),
        ],
        "anthropic": [{"custom_id": "r1", "result": {"type": "errored", "error": error}}],
    }
    read = list(Registry([login]).bind(provider).read_batch(lines[provider]))
    assert all(line.error is not None for line in read)
    assert "hunter2" not in repr(read)
    assert "hunter2" in repr([line.error.body for line in read if line.error])  # for the app alone


def of_gemini(city: str, **key: str) -> dict[str, Any]:
    call = {"functionCall": {"name": "weather", "args": {"city": city}}}
    content = {"role": "model", "parts": [call]}
    return {**key, "response": {"candidates": [{"content": content}]}}


def cities_by_id(lines: list[Any], expected: Any) -> dict[str | None, Any]:
    read = Registry([weather]).bind("gemini").read_batch(lines, expected=expected)
    return {line.custom_id: line.results[0].call.arguments["city"] for line in read if line.results}


def test_a_set_has_no_order_that_says_whose_a_line_is() -> None:
    lines = [of_gemini("k1"), of_gemini("k2")]
    assert cities_by_id(lines, ["k1", "k2"]) == {"k1": "k1", "k2": "k2"}
    assert cities_by_id(lines, {"k1", "k2"}) == {}


def test_an_order_that_a_line_disproves_says_nothing_any_more() -> None:
    lines = [of_gemini("k3", key="k3"), of_gemini("k1"), of_gemini("k2", key="k2")]
    assert cities_by_id(lines, ["k1", "k2", "k3"]) == {"k3": "k3", "k2": "k2"}


def test_an_id_that_no_file_can_hold() -> None:
    bound = Registry([weather]).bind("openai")
    with pytest.raises(UsageError, match="half of a character"):
        bound.batch_line("chat-\ud83d", {"model": "m", "messages": []})


def test_async_tools_in_a_loop_are_refused_before_a_line_is_read() -> None:
    @tool
    async def wait(n: int) -> int:
        """Waits."""
        return n

    async def main() -> None:
        with pytest.raises(UsageError, match="use aread_batch"):
            Registry([weather, wait]).bind("openai").read_batch([])

    asyncio.run(main())
