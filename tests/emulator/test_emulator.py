"""Against an emulator of providers that others wrote: what it sends is read, and what is written for it is accepted.

The emulator is ``@copilotkit/aimock``, which speaks for the providers by fixtures of its own form. Each conversation is
held whole and streamed, with streams cut into pieces of any size; ``nox -s emulator`` installs it.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest
from emulated import CALLS, SAID, TOOLS, emulator

from toolshape import Conversation, explain
from toolshape._families import get


class Wire(NamedTuple):
    """Where a provider's requests go, and how a stream is asked for: by another path, or by a field of the body."""

    path: str
    streaming: str = ""
    model: str = "gpt-4o"
    more: dict[str, Any] = {}  # noqa: RUF012 - a constant


_GEMINI = "/v1beta/models/gemini-2.5-pro"
_VERTEX = "/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro"
WIRES = {
    "openai": Wire("/v1/chat/completions"),
    "openai-responses": Wire("/v1/responses"),
    "azure": Wire("/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"),
    "openrouter": Wire("/api/v1/chat/completions"),
    "anthropic": Wire("/v1/messages", model="claude-sonnet-4-5", more={"max_tokens": 512}),
    "bedrock": Wire("/model/anthropic.claude-sonnet-4-5/converse", "/model/anthropic.claude-sonnet-4-5/converse-stream", "anthropic.claude-sonnet-4-5"),
    "gemini": Wire(f"{_GEMINI}:generateContent", f"{_GEMINI}:streamGenerateContent?alt=sse", "gemini-2.5-pro"),
    "vertex": Wire(f"{_VERTEX}:generateContent", f"{_VERTEX}:streamGenerateContent?alt=sse", "gemini-2.5-pro"),
    "gemini-interactions": Wire("/v1beta/interactions", model="gemini-2.5-pro"),
    "ollama": Wire("/api/chat", model="llama3.2"),
    "cohere": Wire("/v2/chat", model="command-a-03-2025"),
}  # fmt: skip


@pytest.fixture(scope="session", params=[1, 20, 4000], ids=lambda size: f"pieces of {size}")
def address(request: Any) -> Iterator[str]:
    with emulator(request.param) as url:
        yield url


def body_of(provider: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """The body of a request, as the provider's SDK makes it of the keywords."""
    write = get(provider).server.body_of
    given = {key: value for key, value in keywords.items() if key != "modelId"}
    return given if write is None else write(given)


def asked(provider: str, chat: Conversation, *, streams: bool) -> tuple[str, dict[str, Any]]:
    wire = WIRES[provider]
    body = {**body_of(provider, chat.request(provider, model=wire.model)), **wire.more}
    if not wire.streaming:
        body["stream"] = streams
    return wire.streaming if streams and wire.streaming else wire.path, body


def whole(url: str, provider: str, chat: Conversation) -> Any:
    path, body = asked(provider, chat, streams=False)
    reply = httpx.post(f"{url}{path}", json=body, timeout=30)
    assert reply.status_code == 200, reply.text
    return reply.json()


def streamed(url: str, provider: str, chat: Conversation, cut: int) -> Any:
    """A collector that was fed the bytes of a stream, cut anywhere."""
    path, body = asked(provider, chat, streams=True)
    reply = httpx.post(f"{url}{path}", json=body, timeout=30)
    assert reply.status_code == 200, reply.text
    collector = chat.collector(provider)
    for piece in pieces(provider, reply.content, cut):
        collector.feed(piece)
    collector.close()
    return collector


def pieces(provider: str, content: bytes, cut: int) -> Iterator[Any]:
    cuts = (content[at : at + cut] for at in range(0, len(content), cut))
    if provider != "bedrock":
        yield from cuts
        return
    eventstream = pytest.importorskip(
        "botocore.eventstream", reason="botocore reads Bedrock's frames"
    )
    buffer = eventstream.EventStreamBuffer()
    for piece in cuts:
        buffer.add_data(piece)
        for event in buffer:
            yield {event.headers[":event-type"]: json.loads(event.payload)}


# Faults of the emulator: Gemini has no finish reason FUNCTION_CALL, and its Cohere says a plan instead of the text.
FINISHES = {"gemini": "other", "vertex": "other"}
WITHOUT_TEXT = {"cohere"}
WAYS = ["whole", 1, 7, 100_000]


def dispatch(url: str, provider: str, chat: Conversation, way: Any) -> Any:
    response = whole(url, provider, chat) if way == "whole" else streamed(url, provider, chat, way)
    return chat.dispatch(response) if way != "whole" else chat.dispatch(response, provider=provider)


@pytest.mark.parametrize(
    "way", WAYS, ids=lambda way: way if way == "whole" else f"streamed by {way} bytes"
)
@pytest.mark.parametrize("provider", WIRES)
@pytest.mark.parametrize("question", CALLS)
def test_a_turn_with_tools(address, provider, question, way):
    """The calls and the text are those of the fixture, and the emulator takes the results and answers."""
    chat = Conversation(TOOLS)
    chat.system("Be brief.")
    chat.user(question)
    results = dispatch(address, provider, chat, way)
    expected = CALLS[question]
    assert [result.name for result in results] == [name for name, _ in expected]
    for result, (_, arguments) in zip(results, expected, strict=True):
        read = result.call.arguments
        assert read == arguments, (read, arguments)
    assert not results.warnings, results.warnings
    assert results.finish == FINISHES.get(provider, "tool_calls")
    if SAID[question] and provider not in WITHOUT_TEXT:
        assert SAID[question] in chat.messages[2].text
    assert dispatch(address, provider, chat, way).finish == "stop"
    assert chat.messages[-1].text == SAID[""]


@pytest.mark.parametrize(
    "way", WAYS, ids=lambda way: way if way == "whole" else f"streamed by {way} bytes"
)
@pytest.mark.parametrize("provider", WIRES)
def test_an_answer_without_tools(address, provider, way):
    chat = Conversation(TOOLS)
    chat.user("only text")
    results = dispatch(address, provider, chat, way)
    assert (bool(results), results.finish, chat.messages[-1].text) == (
        False,
        "stop",
        SAID["only text"],
    )
    assert not results.warnings


@pytest.mark.parametrize("provider", WIRES)
def test_a_refusal_is_explained(address, provider):
    chat = Conversation(TOOLS)
    chat.user("refused")
    path, body = asked(provider, chat, streams=False)
    failure = explain(httpx.post(f"{address}{path}", json=body, timeout=30), TOOLS.bind(provider))
    assert failure.kind == "rate", failure
