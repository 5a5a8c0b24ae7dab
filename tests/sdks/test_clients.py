"""The real SDK clients against a server on this machine: two calls, one that fails, results sent back, an answer.

The server answers in each provider's shape, streamed or not, and checks what it is sent: the tools by our rules, the
results by the row of ``rows.py``.
"""

import asyncio
import binascii
import gc
import http.server
import importlib
import json
import os
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rows import ROWS
from test_providers import one, two, without_reference

import toolshape
from toolshape import Registry
from toolshape.providers import get
from toolshape.wire.export import refusals

# The SDKs leave the closing of their sockets to the garbage collector, which is run where that is expected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
REGISTRY = Registry([one, two])
ROW = {row.provider: row for row in ROWS}


def sdk(name: str) -> Any:
    if os.environ.get("TOOLSHAPE_EVERY"):  # where all are promised, none is skipped
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"{name} is not installed: pip install 'toolshape[test,sdks]'")


class Server(http.server.ThreadingHTTPServer):
    """Answers in turn, and keeps what it was sent."""

    def __init__(self, answers: list[Any]) -> None:
        self.requests: list[Any] = []
        self.answers = answers
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append(json.loads(body))
        answer = self.server.answers[min(len(self.server.requests), len(self.server.answers)) - 1]
        kind, data = ("application/json", json.dumps(answer).encode()) if isinstance(answer, dict) else answer
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def serving() -> Iterator[Callable[[list[Any]], Server]]:
    servers: list[Server] = []

    def start(answers: list[Any]) -> Server:
        servers.append(Server(answers))
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,), daemon=True).start()
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
    gc.collect()


def sse(*events: Any, named: str = "", end: str = "") -> tuple[str, bytes]:
    lines = []
    for event in events:
        lines += [f"event: {event[named]}"] if named else []
        lines += [f"data: {json.dumps(event)}", ""]
    return "text/event-stream", ("\n".join([*lines, end]) + "\n\n").encode()


def ndjson(*events: Any) -> tuple[str, bytes]:
    return "application/x-ndjson", "".join(f"{json.dumps(event)}\n" for event in events).encode()


def event_stream(*events: tuple[str, Any]) -> tuple[str, bytes]:
    """AWS's binary framing: lengths, checksums, headers of texts."""
    data = b""
    for name, payload in events:
        headers = b""
        for key, value in ((":event-type", name), (":content-type", "application/json"), (":message-type", "event")):
            headers += struct.pack("!B", len(key)) + key.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        body = json.dumps(payload).encode()
        prelude = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
        message = prelude + struct.pack("!I", binascii.crc32(prelude)) + headers + body
        data += message + struct.pack("!I", binascii.crc32(message))
    return "application/vnd.amazon.eventstream", data


def tools_in(provider: str, request: Any) -> list[Any]:
    """The entries in a request on the wire."""
    if provider == "bedrock":
        return request["toolConfig"]["tools"]
    if provider == "gemini":
        return request["tools"][0]["functionDeclarations"]
    return request["tools"]


def schema_in(entry: Any) -> Any:
    for key in ("function", "toolSpec"):
        entry = entry.get(key, entry)
    found = next(
        (entry[key] for key in ("parameters", "input_schema", "inputSchema", "parametersJsonSchema") if key in entry),
        None,
    )
    return found.get("json", found) if isinstance(found, dict) else found


def check(provider: str, server: Server, sent: list[Any]) -> None:
    """Two requests: tools that the provider takes, then the results as the row has them."""
    first, second = server.requests
    entries = tools_in(provider, first)
    assert len(entries) == len(tools_in(provider, second)) == 2
    for entry in entries:
        if schema_in(entry) is not None:  # a tool without parameters has none at Gemini
            assert not refusals(get(provider), schema_in(entry), is_strict="strict" in json.dumps(entry))
    history = next(second[key] for key in ("messages", "input", "contents") if key in second)
    text = json.dumps(history)
    for message in sent:
        for value in leaves(message):
            assert value in text, (value, text)


def leaves(node: Any) -> Iterator[str]:
    """Every text in a message, as it stands in JSON."""
    if isinstance(node, dict):
        for value in node.values():
            yield from leaves(value)
    elif isinstance(node, list):
        for value in node:
            yield from leaves(value)
    elif isinstance(node, str):
        yield json.dumps(node)[1:-1]


def converse(
    provider: str, server: Server, ask: Callable[[list[Any]], Any], say: Callable[[Any], str], question: Any
) -> None:
    """The loop that an application writes."""
    messages = [question]
    results = REGISTRY.bind(provider).dispatch(ask(messages))
    finish(provider, server, messages, results, lambda: ask(messages), say)


def stream(
    provider: str, server: Server, ask: Callable[[list[Any]], Any], chunks: Callable[[Any], Any], question: Any
) -> None:
    """The same, streamed: each call is there before the stream has ended."""
    messages = [question]
    collector = REGISTRY.bind(provider).collector()
    early = [call.wire_name for chunk in chunks(ask(messages)) for call in collector.feed(chunk)]
    assert early == ["one", "two"]
    assert collector.close() == []
    finish(provider, server, messages, collector.plan().run(), lambda: list(chunks(ask(messages))), None)


def finish(provider: str, server: Server, messages: list[Any], results: Any, again: Any, say: Any) -> None:
    assert [result.ok for result in results] == [True, False]
    messages += results.turn
    answer = again()
    if say is not None:
        assert say(answer) == "Done."
    sent = without_reference(results.messages, results)
    assert [
        leaf for leaf in leaves(sent) if leaf not in list(leaves(ROW[provider].messages)) and leaf != "MADE_UP"
    ] == []
    check(provider, server, results.messages)


def ended(provider: str) -> Any:
    """The last answer: text, and no call."""
    row = json.loads(json.dumps(ROW[provider].response))
    if provider in ("openai", "mistral", "groq"):
        row["choices"][0].update(message={"role": "assistant", "content": "Done."}, finish_reason="stop")
    elif provider == "openai-responses":
        said = {"type": "output_text", "text": "Done.", "annotations": []}
        row["output"] = [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [said]}]
    elif provider == "anthropic":
        row.update(content=[{"type": "text", "text": "Done."}], stop_reason="end_turn")
    elif provider == "gemini":
        row["candidates"][0]["content"]["parts"] = [{"text": "Done."}]
    elif provider == "bedrock":
        row["output"]["message"]["content"] = [{"text": "Done."}]
        row.update(
            stopReason="end_turn",
            usage={"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
            metrics={"latencyMs": 1},
        )
    elif provider == "cohere":
        row.update(
            finish_reason="COMPLETE", message={"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
        )
    elif provider == "ollama":
        row["message"] = {"role": "assistant", "content": "Done."}
    return row


def chat_chunks(provider: str) -> list[Any]:
    """A chat completion as its chunks."""
    row = ROW[provider].response
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    message = row["choices"][0]["message"]
    deltas: list[Any] = [{"role": "assistant", "content": ""}]
    for index, call in enumerate(message["tool_calls"]):
        function = call["function"]
        begun = {"index": index, "id": call["id"], "type": "function"}
        deltas.append({"tool_calls": [{**begun, "function": {"name": function["name"], "arguments": ""}}]})
        if provider != "mistral" and function["arguments"]:
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": function["arguments"]}}]})
        elif provider == "mistral":  # calls come whole
            deltas[-1] = {"tool_calls": [{**begun, "function": function}]}
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [*chunks, {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def block_events() -> list[Any]:
    """Anthropic's message as its events."""
    row = ROW["anthropic"].response
    events: list[Any] = [{"type": "message_start", "message": {**row, "content": [], "stop_reason": None}}]
    for index, block in enumerate(row["content"]):
        is_call = block["type"].endswith("tool_use")
        begun = {**block, "input": {}} if is_call else block
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        if is_call and block["input"]:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    stop = {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 1},
    }
    return [*events, stop, {"type": "message_stop"}]


def item_events() -> list[Any]:
    """A response of Responses as its events."""
    row = ROW["openai-responses"].response
    events: list[Any] = [{"type": "response.created", "response": {**row, "output": [], "status": "in_progress"}}]
    for index, item in enumerate(row["output"]):
        begun = {**item, "arguments": ""} if item["type"] == "function_call" else item
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        if item["type"] == "function_call":
            place = {"item_id": item["id"], "output_index": index}
            events.append({"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": row})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def cohere_events() -> list[Any]:
    events: list[Any] = [{"type": "message-start", "id": "1", "delta": {"message": {"role": "assistant"}}}]
    for index, call in enumerate(ROW["cohere"].response["message"]["tool_calls"]):
        begun = {**call, "function": {**call["function"], "arguments": ""}}
        more = {"function": {"arguments": call["function"]["arguments"]}}
        events.append({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": begun}}})
        events.append({"type": "tool-call-delta", "index": index, "delta": {"message": {"tool_calls": more}}})
        events.append({"type": "tool-call-end", "index": index})
    return [*events, {"type": "message-end", "id": "1", "delta": {"finish_reason": "TOOL_CALL"}}]


def converse_events() -> list[tuple[str, Any]]:
    events: list[tuple[str, Any]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(ROW["bedrock"].response["output"]["message"]["content"]):
        place = {"contentBlockIndex": index}
        if "toolUse" in block:
            use = block["toolUse"]
            start = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
            events.append(("contentBlockStart", {**place, "start": start}))
            events.append(("contentBlockDelta", {**place, "delta": {"toolUse": {"input": json.dumps(use["input"])}}}))
        else:
            events.append(("contentBlockDelta", {**place, "delta": {"text": block["text"]}}))
        events.append(("contentBlockStop", place))
    return [*events, ("messageStop", {"stopReason": "tool_use"})]


USER = {"role": "user", "content": "Call both."}


def test_openai(serving):
    openai = sdk("openai")
    server = serving([ROW["openai"].response, ended("openai")])
    client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)

    def ask(messages, **more):
        return client.chat.completions.create(model="m", messages=messages, **REGISTRY.request("openai"), **more)

    converse("openai", server, ask, lambda answer: answer.choices[0].message.content, USER)
    server = serving([sse(*chat_chunks("openai"), end="data: [DONE]"), sse(end="data: [DONE]")])
    client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)
    stream("openai", server, lambda messages: ask(messages, stream=True), lambda chunks: chunks, USER)


def test_openai_asynchronously(serving):
    openai = sdk("openai")

    async def run(server, **more):
        async with openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:

            async def ask(messages):
                return await client.chat.completions.create(
                    model="m", messages=messages, **REGISTRY.request("openai"), **more
                )

            messages = [USER]
            if more:
                collector = REGISTRY.bind("openai").collector()
                assert [call.wire_name async for call in collector.aover(await ask(messages))] == ["one", "two"]
                results = await collector.plan().arun()
            else:
                results = await REGISTRY.adispatch(await ask(messages))
            assert [result.ok for result in results] == [True, False]
            messages += results.turn
            await ask(messages)
            check("openai", server, results.messages)

    asyncio.run(run(serving([ROW["openai"].response, ended("openai")])))
    events = sse(*chat_chunks("openai"), end="data: [DONE]")
    asyncio.run(run(serving([events, sse(end="data: [DONE]")]), stream=True))


def test_openai_responses(serving):
    openai = sdk("openai")
    server = serving([ROW["openai-responses"].response, ended("openai-responses")])
    client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)

    def ask(messages, **more):
        return client.responses.create(model="m", input=messages, **REGISTRY.request("openai-responses"), **more)

    converse("openai-responses", server, ask, lambda answer: answer.output_text, USER)
    server = serving([sse(*item_events(), named="type"), sse(*item_events()[:1], named="type")])
    client = openai.OpenAI(base_url=server.url, api_key="k", max_retries=0)
    stream("openai-responses", server, lambda messages: ask(messages, stream=True), lambda chunks: chunks, USER)


def test_anthropic(serving):
    anthropic = sdk("anthropic")
    server = serving([ROW["anthropic"].response, ended("anthropic")])
    client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)

    def ask(messages, **more):
        request = REGISTRY.request("anthropic")
        return client.messages.create(model="m", max_tokens=9, messages=messages, **request, **more)

    converse("anthropic", server, ask, lambda answer: answer.content[0].text, USER)
    server = serving([sse(*block_events(), named="type"), sse(*block_events()[:1], named="type")])
    client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0)
    stream("anthropic", server, lambda messages: ask(messages, stream=True), lambda chunks: chunks, USER)


def test_gemini(serving):
    genai = sdk("google.genai")
    question = {"role": "user", "parts": [{"text": "Call both."}]}
    server = serving([ROW["gemini"].response, ended("gemini")])
    client = genai.Client(api_key="k", http_options={"base_url": server.url})

    def ask(contents):
        return client.models.generate_content(model="m", contents=contents, **REGISTRY.request("gemini"))

    converse("gemini", server, ask, lambda answer: answer.text, question)
    server = serving([sse(ROW["gemini"].response), sse(ended("gemini"))])
    client = genai.Client(api_key="k", http_options={"base_url": server.url})

    def ask_streaming(contents):
        return client.models.generate_content_stream(model="m", contents=contents, **REGISTRY.request("gemini"))

    stream("gemini", server, ask_streaming, lambda chunks: chunks, question)


def test_mistral(serving):
    mistral = sdk("mistralai.client")
    server = serving([ROW["mistral"].response, ended("mistral")])
    client = mistral.Mistral(server_url=server.url, api_key="k")

    def ask(messages):
        return client.chat.complete(model="m", messages=messages, **REGISTRY.request("mistral"))

    converse("mistral", server, ask, lambda answer: answer.choices[0].message.content, USER)
    server = serving([sse(*chat_chunks("mistral"), end="data: [DONE]"), sse(end="data: [DONE]")])
    client = mistral.Mistral(server_url=server.url, api_key="k")

    def ask_streaming(messages):
        return client.chat.stream(model="m", messages=messages, **REGISTRY.request("mistral"))

    stream("mistral", server, ask_streaming, lambda events: (event.data for event in events), USER)


def test_groq(serving):
    groq = sdk("groq")
    server = serving([ROW["groq"].response, ended("groq")])
    client = groq.Groq(base_url=server.url, api_key="k", max_retries=0)

    def ask(messages):
        return client.chat.completions.create(model="m", messages=messages, **REGISTRY.request("groq"))

    converse("groq", server, ask, lambda answer: answer.choices[0].message.content, USER)


def test_cohere(serving):
    cohere = sdk("cohere")
    server = serving([ROW["cohere"].response, ended("cohere")])
    client = cohere.ClientV2(api_key="k", base_url=server.url)

    def ask(messages):
        return client.chat(model="m", messages=messages, **REGISTRY.request("cohere"))

    converse("cohere", server, ask, lambda answer: answer.message.content[0].text, USER)
    server = serving([sse(*cohere_events(), named="type"), sse(*cohere_events()[-1:], named="type")])
    client = cohere.ClientV2(api_key="k", base_url=server.url)

    def ask_streaming(messages):
        return client.chat_stream(model="m", messages=messages, **REGISTRY.request("cohere"))

    stream("cohere", server, ask_streaming, lambda events: events, USER)


def test_ollama(serving):
    ollama = sdk("ollama")
    server = serving([ROW["ollama"].response, ended("ollama")])
    client = ollama.Client(host=server.url)

    def ask(messages, **more):
        return client.chat(model="m", messages=messages, **REGISTRY.request("ollama"), **more)

    converse("ollama", server, ask, lambda answer: answer.message.content, USER)
    calls = ROW["ollama"].response["message"]["tool_calls"]
    chunks = [
        {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": [one]}, "done": False}
        for one in calls
    ]
    server = serving([ndjson(*chunks, ended("ollama")), ndjson(ended("ollama"))])
    client = ollama.Client(host=server.url)
    stream("ollama", server, lambda messages: ask(messages, stream=True), lambda events: events, USER)


def test_bedrock(serving, monkeypatch):
    session = sdk("botocore.session").get_session()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "k")

    def client(server):
        return session.create_client("bedrock-runtime", region_name="us-east-1", endpoint_url=server.url)

    question = {"role": "user", "content": [{"text": "Call both."}]}
    usage = {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}
    server = serving([{**ROW["bedrock"].response, **usage}, ended("bedrock")])

    def ask(messages):
        return client(server).converse(modelId="m", messages=messages, **REGISTRY.request("bedrock"))

    converse("bedrock", server, ask, lambda answer: answer["output"]["message"]["content"][0]["text"], question)
    streaming = serving([event_stream(*converse_events()), event_stream(("messageStop", {"stopReason": "end_turn"}))])

    def ask_streaming(messages):
        return client(streaming).converse_stream(modelId="m", messages=messages, **REGISTRY.request("bedrock"))

    stream("bedrock", streaming, ask_streaming, lambda answer: answer["stream"], question)


def test_the_framing_is_awss():
    """So that a green test above means something."""
    buffer = sdk("botocore.eventstream").EventStreamBuffer()
    buffer.add_data(event_stream(("messageStart", {"role": "assistant"}))[1])
    [message] = list(buffer)
    assert json.loads(message.payload) == {"role": "assistant"}
    assert message.headers[":event-type"] == "messageStart"


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
        MCP_SERVER.format(tests=[str(Path(__file__).parent), str(Path(__file__).parents[1])]), encoding="utf-8"
    )
    path = os.pathsep.join([str(Path(toolshape.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    parameters = stdio.StdioServerParameters(
        command=sys.executable, args=[str(tmp_path / "server.py")], env={**os.environ, "PYTHONPATH": path}
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
    assert (right.is_error, right.structured_content, right.content[0].text) == (False, {"result": "one"}, "one")
    assert wrong.is_error
    assert "internal reason" in wrong.content[0].text
    shown = Registry()
    shown.add_definitions(list(tools))  # and what a client listed is tools again
    assert [one.name for one in shown] == ["one", "two"]
