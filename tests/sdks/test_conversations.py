"""Conversations by the real SDK clients: begun at each provider with two calls and an image, gone on with at each other.

And the errors that these clients raise, explained.
"""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from judges import judged
from rows import ROWS
from test_clients import ROW, Server, ended, sdk
from test_providers import one as row_one
from test_providers import two as row_two

from toolshape import Conversation, Image, Registry, Text, explain, tool
from toolshape.messages import ToolCallPart
from toolshape.providers import get

# The SDKs leave the closing of their sockets to the garbage collector, which is run where that is expected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


@tool
def one(x: int) -> list[Text | Image]:
    """Show something."""
    return [Text(f"the {x}"), Image(PNG)]


@tool
def two() -> dict[str, int]:
    """Count."""
    return {"two": 2}


TOOLS = Registry([one, two])


def _openai(url: str, request: Any) -> Any:
    return sdk("openai").OpenAI(base_url=url, api_key="k", max_retries=0).chat.completions.create(**request)


def _responses(url: str, request: Any) -> Any:
    return sdk("openai").OpenAI(base_url=url, api_key="k", max_retries=0).responses.create(**request)


def _anthropic(url: str, request: Any) -> Any:
    client = sdk("anthropic").Anthropic(base_url=url, api_key="k", max_retries=0)
    return client.messages.create(max_tokens=9, **request)


def _gemini(url: str, request: Any) -> Any:
    client = sdk("google.genai").Client(api_key="k", http_options={"base_url": url})
    return client.models.generate_content(**request)


def _bedrock(url: str, request: Any) -> Any:
    session = sdk("botocore.session").get_session()
    session.set_credentials("k", "k")
    retries = sdk("botocore.config").Config(retries={"total_max_attempts": 1})
    client = session.create_client("bedrock-runtime", region_name="us-east-1", endpoint_url=url, config=retries)
    return client.converse(**request)


def _mistral(url: str, request: Any) -> Any:
    return sdk("mistralai.client").Mistral(server_url=url, api_key="k").chat.complete(**request)


def _cohere(url: str, request: Any) -> Any:
    return sdk("cohere").ClientV2(api_key="k", base_url=url).chat(**request)


def _ollama(url: str, request: Any) -> Any:
    return sdk("ollama").Client(host=url).chat(**request)


CLIENTS: dict[str, Callable[[str, Any], Any]] = {
    "openai": _openai,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "mistral": _mistral,
    "cohere": _cohere,
    "ollama": _ollama,
}


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


def asked(conversation: Conversation, provider: str, server: Server) -> Any:
    """Ask a provider to go on, by its own client, once others have judged what it is sent."""
    request = conversation.request(provider, model="m")
    judged(provider, {key: value for key, value in request.items() if key not in ("tools", "model", "config")})
    return conversation.dispatch(CLIENTS[provider](server.url, request))


@pytest.mark.parametrize("begins", CLIENTS)
def test_a_conversation_goes_on_everywhere(begins, serving):
    """Two calls at once, an image among the results, then each other provider, and back to where it began."""
    first = serving([ROW[begins].response, ended(begins)])
    conversation = Conversation(TOOLS)
    conversation.system("Be brief.")
    conversation.user("Call both.", Image(PNG))
    results = asked(conversation, begins, first)
    assert [result.ok for result in results] == [True, True]
    for other in CLIENTS:
        server = serving([ended(other)])
        assert not asked(conversation, other, server)
        assert conversation.messages[-1].role == "assistant"
        assert "Be brief." in json.dumps(server.requests[0])
        conversation.user("And now?")
    again = serving([ROW[begins].response])
    assert asked(conversation, begins, again).ok
    sent = json.dumps(again.requests[0])
    for call in ROW[begins].calls:
        assert call[1] in sent


@pytest.mark.parametrize(
    "row", [row for row in ROWS if get(row.provider).histories is not None], ids=lambda row: row.provider
)
def test_what_was_dispatched_is_sent_as_its_turn(row):
    """The writer of histories writes what ``turn`` does, to the byte, for every provider."""
    conversation = Conversation(Registry([row_one, row_two]))
    conversation.user("Go.")
    conversation.request(row.provider)
    results = conversation.dispatch(row.response, provider=row.provider)
    key = get(row.provider).histories.key
    sent = conversation.request(row.provider)[key][-len(results.turn) :]
    assert sent == results.turn


def sdk_objects() -> Iterator[tuple[str, Any, Any]]:
    """(provider, messages of its SDK, the same as dicts)."""
    chat = sdk("openai").types.chat
    call = {"id": "call_1", "type": "function", "function": {"name": "one", "arguments": '{"x": 1}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    yield "openai", [chat.ChatCompletionMessage.model_validate(message)], [message]
    item = {"type": "function_call", "call_id": "call_1", "name": "one", "arguments": '{"x": 1}'}
    yield "openai-responses", [sdk("openai").types.responses.ResponseFunctionToolCall.model_validate(item)], [item]
    use = {"type": "tool_use", "id": "toolu_1", "name": "one", "input": {"x": 1}}
    block = sdk("anthropic").types.ToolUseBlock.model_validate(use)
    yield "anthropic", [{"role": "assistant", "content": [block]}], [{"role": "assistant", "content": [use]}]
    part = {"functionCall": {"name": "one", "args": {"x": 1}}}
    content = {"role": "model", "parts": [part]}
    yield "gemini", [sdk("google.genai.types").Content.model_validate(content)], [content]
    models = sdk("mistralai.client").models
    yield "mistral", [models.AssistantMessage.model_validate(message)], [message]
    spoken = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "one", "arguments": {"x": 1}}}]}
    yield "ollama", [sdk("ollama").Message.model_validate(spoken)], [spoken]
    yield (
        "cohere",
        [sdk("cohere").AssistantChatMessageV2.model_validate({**message, "content": "Ok."})],
        [{**message, "content": "Ok."}],
    )


def test_objects_of_the_sdks_are_read():
    """As the dicts that they are made of: names, arguments, ids and texts."""
    for provider, objects, dicts in sdk_objects():
        bound = TOOLS.bind(provider)
        read, expected = bound.read_messages(objects), bound.read_messages(dicts)
        assert len(read) == len(expected) == 1
        [call] = [part for part in read[0].parts if isinstance(part, ToolCallPart)]
        [same] = [part for part in expected[0].parts if isinstance(part, ToolCallPart)]
        assert (call.name, call.arguments, call.id) == (same.name, same.arguments, same.id), provider
        assert read[0].role == "assistant"
        conversation = Conversation(TOOLS)
        conversation.user("Go.")
        conversation.read(objects, provider)
        conversation.user("And?")
        for other in ("openai", "anthropic"):
            assert TOOLS.bind(other).check_messages(conversation.request(other)) == []


class Failing(http.server.ThreadingHTTPServer):
    """Answers every request with one status, some headers and one body."""

    def __init__(self, status: int, body: Any, headers: dict[str, str]) -> None:
        self.status, self.body, self.headers = status, json.dumps(body).encode(), headers
        super().__init__(("127.0.0.1", 0), FailingHandler)


class FailingHandler(http.server.BaseHTTPRequestHandler):
    server: Failing

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.server.status)
        for name, value in {"Content-Type": "application/json", **self.server.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: Any) -> None: ...


def raised_by(provider: str, status: int, body: Any, headers: dict[str, str]) -> BaseException:
    """What the client of a provider raises for an answer."""
    server = Failing(status, body, headers)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    try:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - each has its own
            CLIENTS[provider](f"http://127.0.0.1:{server.server_address[1]}", conversation.request(provider, model="m"))
    finally:
        server.shutdown()
        server.server_close()
    return raised.value


def error_of(provider: str, message: str, kind: str) -> Any:
    """A message in the form of the provider's errors."""
    match provider:
        case "anthropic":
            return {"type": "error", "error": {"type": kind, "message": message}}
        case "gemini":
            return {"error": {"code": 0, "status": kind, "message": message}}
        case "bedrock" | "cohere":
            return {"message": message}
        case "ollama":
            return {"error": message}
        case "mistral":
            return {"object": "error", "message": message, "type": kind, "code": None}
        case _:
            return {"error": {"message": message, "type": kind, "param": None, "code": None}}


SCHEMA = {
    "openai": "Invalid schema for function 'one': In context=('properties', 'x'), 'allOf' is not permitted.",
    "openai-responses": "Invalid schema for function 'one': In context=('properties', 'x'), 'allOf' is not permitted.",
    "anthropic": "tools.0.custom.input_schema.properties.x: Field required",
    "gemini": "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[x].enum: only allowed for STRING type",
    "bedrock": "The value at toolConfig.tools.0.toolSpec.inputSchema.json.properties.x is invalid.",
    "mistral": "Invalid tool schema: tools[0].function.parameters.properties.x",
    "cohere": "tools[0].function.parameters.properties.x is not valid",
    "ollama": "tools[0].function.parameters.properties.x: invalid schema",
}


@pytest.mark.parametrize("provider", CLIENTS)
def test_a_refused_schema_is_explained(provider):
    """The tool by its number or name, and the place in its arguments."""
    error = raised_by(provider, 400, error_of(provider, SCHEMA[provider], "invalid_request_error"), {})
    failure = explain(error, TOOLS.bind(provider))
    assert (failure.kind, failure.tool, failure.path, failure.status) == ("schema", "one", "x", 400)
    assert not failure.retryable
    assert failure.error is error


@pytest.mark.parametrize("provider", CLIENTS)
def test_a_rate_is_explained(provider):
    """With the seconds to wait where the client keeps headers."""
    headers = {"Retry-After": "7", "x-request-id": "req_1", "request-id": "req_1", "x-amzn-requestid": "req_1"}
    error = raised_by(provider, 429, error_of(provider, "Too many requests.", "rate_limit_error"), headers)
    failure = explain(error)
    assert (failure.kind, failure.retryable, failure.status) == ("rate", True, 429)
    if provider != "ollama":  # its error has no headers, and its cause has
        assert failure.request_id == "req_1" or provider == "gemini"
    assert failure.retry_after == 7.0


@pytest.mark.parametrize("provider", CLIENTS)
def test_a_refused_history_is_explained(provider):
    """Whatever the provider, and what its own fault is."""
    error = raised_by(
        provider, 400, error_of(provider, "messages.2.content.1: unexpected `tool_use_id` found", "x"), {}
    )
    failure = explain(error)
    assert (failure.kind, failure.path) == ("history", "messages[2].content.1")
    error = raised_by(provider, 503, error_of(provider, "Busy.", "api_error"), {})
    assert (explain(error).kind, explain(error).retryable) == ("overloaded", True)


@pytest.mark.parametrize("provider", CLIENTS)
def test_no_connection_is_explained(provider):
    """Nothing listens there."""
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each has its own
        CLIENTS[provider]("http://127.0.0.1:9", conversation.request(provider, model="m"))
    assert (explain(raised.value).kind, explain(raised.value).retryable) == ("network", True)
