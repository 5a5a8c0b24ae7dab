"""The real SDK clients against fakes: calls, one that fails, results sent back, an answer; errors of their own classes."""

import asyncio
import gc
import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clients import CLIENTS, IN_PROCESS, STREAMS, sdk
from rows import ROWS
from test_providers import one, two

import toolshape
from toolshape import Registry, explain
from toolshape.testing import Fake
from toolshape.trace import record_to, replay

# The SDKs leave the closing of their sockets to the garbage collector, which is run where that is expected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
TOOLS = Registry([one, two])
ROW = {row.provider: row for row in ROWS}
EVERY = pytest.mark.parametrize("provider", CLIENTS)


@pytest.fixture(autouse=True)
def _no_other_sockets(monkeypatch) -> Iterator[None]:
    """Nothing leaves this machine."""
    connect = socket.socket.connect

    def connect_here(self: Any, address: Any) -> Any:
        assert self.family == socket.AF_UNIX or address[0] in ("127.0.0.1", "::1"), address
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect_here)
    yield
    gc.collect()


def question(provider: str) -> dict[str, Any]:
    """The keywords of a request without tools."""
    if provider == "gemini":
        return {"model": "m", "contents": [{"role": "user", "parts": [{"text": "Call both."}]}]}
    if provider == "bedrock":
        return {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "Call both."}]}]}
    user = {"role": "user", "content": "Call both."}
    return {"model": "m", ("input" if provider == "openai-responses" else "messages"): [user]}


def asking(provider: str) -> dict[str, Any]:
    return {**question(provider), **TOOLS.request(provider)}


def going_on(provider: str, results: Any) -> dict[str, Any]:
    """The request that sends results back."""
    request = asking(provider)
    key = next(name for name in ("messages", "contents", "input") if name in request)
    return {**request, key: [*request[key], *results.turn]}


@EVERY
def test_two_calls_and_an_answer(provider):
    """One call succeeds and one fails; both results are accepted, whole, and once more on a client without a socket."""
    for ask in (CLIENTS[provider], IN_PROCESS.get(provider)):
        if ask is None:  # botocore takes no client
            continue
        with Fake(provider, TOOLS) as fake:
            fake.says("Let me see.").calls(one, x=1).calls(two)
            fake.says("Done.")
            place = fake.url if ask is CLIENTS[provider] else fake
            results = TOOLS.bind(provider).dispatch(ask(place, asking(provider)))
            assert [(result.call.name, result.ok) for result in results] == [
                ("one", True),
                ("two", False),
            ]
            assert results.finish == "tool_calls"
            ask(place, going_on(provider, results))
            fake.assert_done()
            assert len(fake.exchanges) == 2
            assert "internal reason" in json.dumps(fake.exchanges[1].request)


@EVERY
def test_the_same_streamed(provider):
    """Each call is there before the stream has ended."""
    with Fake(provider, TOOLS) as fake:
        fake.says("Let me see.").calls(one, x=1).calls(two)
        fake.says("Done.")
        collector = TOOLS.bind(provider).collector()
        found = [
            [call.wire_name for call in collector.feed(chunk)]
            for chunk in STREAMS[provider](fake.url, asking(provider))
        ]
        assert [name for names in found for name in names] == ["one", "two"]
        assert len(found) > 2
        assert collector.close() == []
        results = collector.plan().run()
        assert [result.ok for result in results] == [True, False]
        list(STREAMS[provider](fake.url, going_on(provider, results)))
        fake.assert_done()


@EVERY
def test_bodies_as_the_provider_sends_them(provider):
    """With what models say beside calls: reasoning, signatures, calls that the provider runs itself."""
    row = ROW[provider]
    with Fake(provider, TOOLS) as fake:
        body = dict(row.response)
        if provider == "bedrock":
            body.setdefault("usage", {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2})
            body.setdefault("metrics", {"latencyMs": 1})
        fake.replays(body)
        results = TOOLS.bind(provider).dispatch(CLIENTS[provider](fake.url, asking(provider)))
        assert [(result.call.wire_name, result.ok) for result in results] == [
            ("one", True),
            ("two", False),
        ]
        assert results.finish_raw == row.finish


CLASSES = {
    "openai": {400: "BadRequestError", 401: "AuthenticationError", 429: "RateLimitError", 503: "InternalServerError"},
    "anthropic": {400: "BadRequestError", 401: "AuthenticationError", 429: "RateLimitError", 529: "OverloadedError"},
    "gemini": {400: "ClientError", 429: "ClientError", 503: "ServerError"},
    "bedrock": {
        400: "ValidationException", 403: "AccessDeniedException", 429: "ThrottlingException",
        503: "ServiceUnavailableException",
    },
    "mistral": {400: "SDKError", 422: "HTTPValidationError", 429: "SDKError"},
    "cohere": {400: "BadRequestError", 401: "UnauthorizedError", 429: "TooManyRequestsError", 503: "ServiceUnavailableError"},
    "ollama": {400: "ResponseError", 503: "ResponseError"},
    "groq": {400: "BadRequestError", 401: "AuthenticationError", 429: "RateLimitError", 503: "InternalServerError"},
}  # fmt: skip
CLASSES["openai-responses"] = CLASSES["openai"]
KINDS = {
    400: "request",
    401: "auth",
    403: "auth",
    422: "request",
    429: "rate",
    503: "overloaded",
    529: "overloaded",
}


@EVERY
def test_errors_are_of_the_clients_own_classes(provider):
    with Fake(provider) as fake:
        for status, name in CLASSES[provider].items():
            fake.fails(status, retry_after=7 if status == 429 else None)
            with pytest.raises(Exception) as raised:  # noqa: PT011 - its class is what is looked at
                CLIENTS[provider](fake.url, question(provider))
            assert type(raised.value).__name__ == name, raised.value
            failure = explain(raised.value)
            assert (failure.kind, failure.status) == (KINDS[status], status)
            if status == 429:
                assert failure.retry_after == 7
        fake.assert_done()


@EVERY
def test_what_is_refused_is_the_clients_error(provider):
    """A result that answers no call: the class, the status, and what ``explain`` makes of it."""
    with Fake(provider, TOOLS) as fake:
        fake.calls(one, x=1)
        results = TOOLS.bind(provider).dispatch(CLIENTS[provider](fake.url, asking(provider)))
        request = asking(provider)
        key = next(name for name in ("messages", "contents", "input") if name in request)
        orphans = {**request, key: [*request[key], *results.messages]}
        if fake.provider.histories.rule("orphan_result", "m") is None:
            fake.says("Accepted.")
            CLIENTS[provider](fake.url, orphans)
            return
        with pytest.raises(Exception) as raised:  # noqa: PT011 - its class is what is looked at
            CLIENTS[provider](fake.url, orphans)
        assert type(raised.value).__name__ == CLASSES[provider][400]
        assert explain(raised.value).status == 400
        assert explain(raised.value).kind == "history"
        assert "orphan_result" in {item.rule for item in fake.refused}


@EVERY
def test_a_connection_that_breaks_is_the_clients_error(provider):
    with Fake(provider) as fake:
        fake.cuts("connection")
        with pytest.raises(Exception) as raised:  # noqa: PT011 - each has its own
            CLIENTS[provider](fake.url, question(provider))
        assert explain(raised.value).kind == "network"
        fake.says("It goes on and on, to no end that anybody could see from here.").cuts("stream")
        with pytest.raises(Exception) as raised:  # noqa: PT011 - each has its own
            list(STREAMS[provider](fake.url, question(provider)))
        assert explain(raised.value).kind == "network"
        fake.assert_done()


def asynchronous(provider: str, fake: Fake) -> Any:
    """An async client without a socket."""
    if provider == "openai":
        return sdk("openai").AsyncOpenAI(
            base_url="http://x.invalid/v1", api_key="k", http_client=fake.async_client()
        )
    return sdk("anthropic").AsyncAnthropic(
        base_url="http://x.invalid", api_key="k", http_client=fake.async_client()
    )


async def _called(client: Any, request: Any) -> Any:
    if hasattr(client, "chat"):
        return await client.chat.completions.create(**request)
    return await client.messages.create(max_tokens=9, **request)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_asynchronously(provider):
    """Whole and streamed, on a client without a socket; and a connection that breaks."""

    async def run() -> None:
        fake = Fake(provider, TOOLS)
        fake.calls(one, x=1).calls(two)
        fake.calls(one, x=2)
        fake.cuts("connection")
        async with asynchronous(provider, fake) as client:
            results = await TOOLS.adispatch(await _called(client, asking(provider)))
            assert [result.ok for result in results] == [True, False]
            collector = TOOLS.bind(provider).collector()
            stream = await _called(client, {**going_on(provider, results), "stream": True})
            assert [call.wire_name async for call in collector.aover(stream)] == ["one"]
            with pytest.raises(Exception) as raised:  # noqa: PT011 - each has its own
                await _called(client.with_options(max_retries=0), question(provider))
            assert explain(raised.value).kind == "network"
        fake.assert_done()

    asyncio.run(run())


ENVIRONMENTS = {
    "openai": (
        "openai",
        "OpenAI",
        lambda client: client.chat.completions.create(**question("openai")),
    ),
    "anthropic": (
        "anthropic",
        "Anthropic",
        lambda client: client.messages.create(max_tokens=9, **question("anthropic")),
    ),
    "gemini": (
        "google.genai",
        "Client",
        lambda client: client.models.generate_content(**question("gemini")),
    ),
    "groq": ("groq", "Groq", lambda client: client.chat.completions.create(**question("groq"))),
    "ollama": ("ollama", "Client", lambda client: client.chat(**question("ollama"))),
}


@pytest.mark.parametrize("provider", ENVIRONMENTS)
def test_an_application_finds_the_fake_by_its_variables(provider, monkeypatch):
    """Unchanged: its client is made without arguments."""
    library, name, ask = ENVIRONMENTS[provider]
    with Fake(provider) as fake:
        for key, value in fake.env.items():
            monkeypatch.setenv(key, value)
        fake.says("Here.")
        ask(getattr(sdk(library), name)())
        fake.assert_done()


def test_vertex_finds_the_fake_by_its_variables(monkeypatch):
    """Whether the client is told that it asks Vertex AI, or finds it out."""
    genai = sdk("google.genai")
    for more in ({}, {"vertexai": True}):
        with Fake("vertex") as fake:
            for key, value in fake.env.items():
                monkeypatch.setenv(key, value)
            fake.says("Here.")
            client = genai.Client(**more)
            assert client.models.generate_content(**question("gemini")).text == "Here."
            fake.assert_done()


def test_bedrock_finds_the_fake_by_its_variables(monkeypatch):
    with Fake("bedrock") as fake:
        for key, value in fake.env.items():
            monkeypatch.setenv(key, value)
        fake.says("Here.")
        sdk("botocore.session").get_session().create_client("bedrock-runtime").converse(
            **question("bedrock")
        )
        fake.assert_done()


def test_cohere_finds_the_fake_by_its_variables():
    """It reads them when it is imported."""
    sdk("cohere")
    script = "import cohere; print(cohere.ClientV2().chat(model='m', messages=[{'role': 'user', 'content': 'x'}]).message)"
    with Fake("cohere") as fake:
        fake.says("Here.")
        import subprocess

        env = {**os.environ, **fake.env}
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script], check=True, capture_output=True, env=env
        )
        fake.assert_done()


def test_the_framing_is_awss():
    """So that a green test above means something."""
    buffer = sdk("botocore.eventstream").EventStreamBuffer()
    fake = Fake("bedrock")
    fake.says("Hello.")
    reply = fake._handle(
        "POST", "/model/m/converse-stream", json.dumps({**question("bedrock")}).encode()
    )
    for chunk in reply.chunks:
        buffer.add_data(chunk)
    first, *_ = messages = list(buffer)
    assert json.loads(first.payload) == {"role": "assistant"}
    assert first.headers[":event-type"] == "messageStart"
    assert [message.headers[":event-type"] for message in messages][-2:] == [
        "messageStop",
        "metadata",
    ]


MCP_SERVER = """
import sys

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, Tool

sys.path[:0] = {tests!r}
from test_providers import one, two

from toolshape import Registry

BOUND = Registry([one, two]).bind("mcp")


async def listed(context, params):
    return ListToolsResult(tools=[Tool.model_validate(entry) for entry in BOUND.export()])


async def called(context, params):
    [message] = (await BOUND.adispatch(params)).messages
    return CallToolResult.model_validate(message)


async def main():
    server = Server("shop", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


anyio.run(main)
"""


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_mcp(tmp_path, mode):
    """A server of our tools in a process of its own; clients of old and new revisions list them, and call both."""
    client = sdk("mcp.client.client")
    stdio = sdk("mcp.client.stdio")
    (tmp_path / "server.py").write_text(
        MCP_SERVER.format(tests=[str(Path(__file__).parent), str(Path(__file__).parents[1])]),
        encoding="utf-8",
    )
    path = os.pathsep.join(
        [str(Path(toolshape.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    parameters = stdio.StdioServerParameters(
        command=sys.executable,
        args=[str(tmp_path / "server.py")],
        env={**os.environ, "PYTHONPATH": path},
    )

    async def run():
        async with client.Client(stdio.stdio_client(parameters), mode=mode) as connected:
            listed = await connected.list_tools()
            right = await connected.call_tool("one", {"x": 1})
            wrong = await connected.call_tool("two", {})
            return listed.tools, right, wrong

    tools, right, wrong = asyncio.run(run())
    assert [entry.name for entry in tools] == ["one", "two"]
    assert tools[0].input_schema == one.input_schema
    assert (right.is_error, right.structured_content, right.content[0].text) == (
        False,
        {"result": "one"},
        "one",
    )
    assert wrong.is_error
    assert "internal reason" in wrong.content[0].text
    shown = Registry()
    shown.add_definitions(list(tools))  # and what a client listed is tools again
    assert [item.name for item in shown] == ["one", "two"]


@EVERY
def test_what_clients_give_is_recorded_and_replayed(provider, tmp_path):
    """SDK objects, whole and as events of a stream, in a trace: today's stages of their calls are those of then."""
    path = tmp_path / "calls.jsonl"
    tools = Registry([one, two])
    tools.observe(record_to(path, keep="all"))
    with Fake(provider, tools) as fake:
        fake.says("Let me see.").calls(one, x=1).calls(two)
        fake.calls(one, x=2, slip="wrong_type")
        for ask in (CLIENTS[provider], STREAMS[provider]):
            given = ask(fake.url, asking(provider))
            if ask is CLIENTS[provider]:
                tools.bind(provider).dispatch(given)
            else:
                collector = tools.bind(provider).collector()
                list(collector.over(given))
                collector.plan().run()
    found = replay(path, tools)
    assert (found.responses, found.calls, found.changes, found.unreadable) == (2, 3, (), ())
    whole, streamed = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    assert ("body" in whole, "stream" in streamed, streamed["stream_ended"]) == (True, True, True)
    assert [each["arguments"] for each in whole["outcome"]] == [{"x": 1}, {}]
    assert [rule for _, rule in streamed["outcome"][0]["coercions"]] == ["number_text"]
    if provider in ("openai", "anthropic", "groq"):
        assert whole["request_id"]
