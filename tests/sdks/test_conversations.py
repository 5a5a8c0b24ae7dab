"""Conversations by the real SDK clients: begun at each provider with two calls and an image, gone on with at each other.

And the errors that these clients raise, explained.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from clients import CLIENTS, sdk
from judges import judged
from rows import ROWS
from test_providers import one as row_one, two as row_two

from toolshape import Conversation, Image, Registry, Text, explain, tool
from toolshape._families import get
from toolshape.messages import ToolCallPart
from toolshape.testing import Fake

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
ROW = {row.provider: row for row in ROWS}
JUDGED = [name for name in CLIENTS if name != "groq"]  # its messages are OpenAI's


def asked(conversation: Conversation, provider: str, fake: Fake) -> Any:
    """Ask a provider to go on, by its own client, once others have judged what it is sent."""
    request = conversation.request(provider, model="m")
    judged(
        provider,
        {key: value for key, value in request.items() if key not in ("tools", "model", "config")},
    )
    return conversation.dispatch(CLIENTS[provider](fake.url, request))


def replayed(fake: Fake, provider: str) -> None:
    """Script the row of a provider, as its client takes it."""
    cost = {
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }
    fake.replays({**ROW[provider].response, **(cost if provider == "bedrock" else {})})


@pytest.mark.parametrize("begins", JUDGED)
def test_a_conversation_goes_on_everywhere(begins):
    """Two calls at once, an image among the results, then each other provider, and back to where it began."""
    with Fake(begins) as first:
        replayed(first, begins)
        conversation = Conversation(TOOLS)
        conversation.system("Be brief.")
        conversation.user("Call both.", Image(PNG))
        results = asked(conversation, begins, first)
        assert [result.ok for result in results] == [True, True]
        for other in JUDGED:
            with Fake(other) as fake:
                fake.says("Done.")
                assert not asked(conversation, other, fake)
                assert conversation.messages[-1].role == "assistant"
                assert "Be brief." in json.dumps(fake.exchanges[0].request)
                conversation.user("And now?")
                fake.assert_done()
        replayed(first, begins)
        assert asked(conversation, begins, first).ok
        sent = json.dumps(first.exchanges[-1].request)
        for call in ROW[begins].calls:
            assert call[1] in sent


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if get(row.provider).histories is not None],
    ids=lambda row: row.provider,
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
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "one", "arguments": '{"x": 1}'},
    }
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    yield "openai", [chat.ChatCompletionMessage.model_validate(message)], [message]
    item = {"type": "function_call", "call_id": "call_1", "name": "one", "arguments": '{"x": 1}'}
    yield (
        "openai-responses",
        [sdk("openai").types.responses.ResponseFunctionToolCall.model_validate(item)],
        [item],
    )
    use = {"type": "tool_use", "id": "toolu_1", "name": "one", "input": {"x": 1}}
    block = sdk("anthropic").types.ToolUseBlock.model_validate(use)
    yield (
        "anthropic",
        [{"role": "assistant", "content": [block]}],
        [{"role": "assistant", "content": [use]}],
    )
    part = {"functionCall": {"name": "one", "args": {"x": 1}}}
    content = {"role": "model", "parts": [part]}
    yield "gemini", [sdk("google.genai.types").Content.model_validate(content)], [content]
    models = sdk("mistralai.client").models
    yield "mistral", [models.AssistantMessage.model_validate(message)], [message]
    spoken = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "one", "arguments": {"x": 1}}}],
    }
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
        assert (call.name, call.arguments, call.id) == (same.name, same.arguments, same.id), (
            provider
        )
        assert read[0].role == "assistant"
        conversation = Conversation(TOOLS)
        conversation.user("Go.")
        conversation.read(objects, provider)
        conversation.user("And?")
        for other in ("openai", "anthropic"):
            assert TOOLS.bind(other).check_messages(conversation.request(other)) == []


PIECE = "https://shop.test/a.png"


def built() -> Iterator[tuple[str, list[Any]]]:
    """(provider, a conversation as one builds it of its SDK's own classes, whose roles and types are defaults)."""
    models = sdk("mistralai.client").models
    function = models.FunctionCall(name="one", arguments={"x": 1})
    yield (
        "mistral",
        [
            models.UserMessage(
                content=[models.TextChunk(text="Ask."), models.ImageURLChunk(image_url=PIECE)]
            ),
            models.AssistantMessage(
                tool_calls=[models.ToolCall(id="abcdefgh1", function=function)]
            ),
            models.ToolMessage(content="Told.", tool_call_id="abcdefgh1", name="one"),
        ],
    )
    cohere = sdk("cohere")
    call = cohere.ToolCallV2(
        id="c1", function=cohere.ToolCallV2Function(name="one", arguments='{"x": 1}')
    )
    image = cohere.ImageUrlContent(image_url=cohere.ImageUrl(url=PIECE))
    yield (
        "cohere",
        [
            cohere.UserChatMessageV2(content=[cohere.TextContent(text="Ask."), image]),
            cohere.AssistantChatMessageV2(tool_calls=[call]),
            cohere.ToolChatMessageV2(
                tool_call_id="c1", content=[cohere.TextToolContent(text="Told.")]
            ),
        ],
    )
    ollama = sdk("ollama").Message
    asked = ollama.ToolCall(function=ollama.ToolCall.Function(name="one", arguments={"x": 1}))
    yield (
        "ollama",
        [
            ollama(role="user", content="Ask.", images=[sdk("ollama").Image(value=PNG)]),
            ollama(role="assistant", tool_calls=[asked]),
            ollama(role="tool", tool_name="one", content="Told."),
        ],
    )
    types = sdk("google.genai.types")
    parts = [
        types.Part.from_text(text="Ask."),
        types.Part.from_bytes(data=PNG, mime_type="image/png"),
    ]
    answer = types.Part.from_function_response(name="one", response={"output": "Told."})
    yield (
        "gemini",
        [
            types.UserContent(parts=parts),
            types.ModelContent(parts=[types.Part.from_function_call(name="one", args={"x": 1})]),
            types.Content(role="user", parts=[answer]),
        ],
    )
    blocks = sdk("anthropic").types
    told = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [blocks.TextBlock(text="Told.", type="text")],
    }
    image = {"type": "image", "source": {"type": "url", "url": PIECE}}
    use = blocks.ToolUseBlock(id="t1", name="one", input={"x": 1}, type="tool_use")
    yield (
        "anthropic",
        [
            {"role": "user", "content": ({"type": "text", "text": "Ask."}, image)},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [told]},
        ],
    )


@pytest.mark.parametrize("provider", ["mistral", "cohere", "ollama", "gemini", "anthropic"])
def test_messages_are_read_as_one_builds_them(provider):
    """Of each SDK's own classes: the text, the image, the call and its result, in their roles."""
    messages = dict(built())[provider]
    bound = TOOLS.bind(provider)
    read = bound.read_messages(messages)
    assert [item.role for item in read] == ["user", "assistant", "tool"]
    assert bound.check_messages(messages) == []
    conversation = Conversation(TOOLS)
    conversation.read(messages, provider)
    sent = conversation.request("openai")["messages"]
    assert sent[0]["content"][0] == {"type": "text", "text": "Ask."}
    assert sent[0]["content"][1]["type"] == "image_url"
    [call] = sent[1]["tool_calls"]
    assert call["function"] == {"name": "one", "arguments": '{"x": 1}'}
    assert sent[2] == {"role": "tool", "tool_call_id": call["id"], "content": "Told."}
    assert conversation.repairs == ()


def test_a_chat_of_google_s_sdk_that_streams_parallel_calls():
    """It stores each chunk by itself, and answers the calls of all of them at once: the fake takes that."""
    genai = sdk("google.genai")

    def weather(city: str) -> str:
        """Tell the weather."""
        return f"sun in {city}"

    with Fake("gemini") as fake:
        fake.calls("weather", city="Bonn").calls("weather", city="Linz")
        fake.says("Sunny.")
        client = genai.Client(api_key="k", http_options={"base_url": fake.url})
        chat = client.chats.create(model="gemini-2.5-flash", config={"tools": [weather]})
        assert "".join(item.text or "" for item in chat.send_message_stream("Weather?")) == "Sunny."
        fake.assert_done()
        assert TOOLS.bind("gemini").check_messages(chat.get_history()) == []


def test_a_paused_turn_goes_on_by_the_client():
    """The response is sent back as it is."""
    content = [
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": "x"},
        }
    ]
    messages = [{"role": "user", "content": "Search."}, {"role": "assistant", "content": content}]
    with Fake("anthropic") as fake:
        fake.says("Found.")
        client = sdk("anthropic").Anthropic(base_url=fake.url, api_key="k", max_retries=0)
        said = client.messages.create(model="claude-opus-4-6", max_tokens=9, messages=messages)
        assert said.content[0].text == "Found."


def raised_by(provider: str, status: int, message: str, **more: Any) -> BaseException:
    """What the client of a provider raises for an error of its form."""
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    with Fake(provider) as fake:
        fake.fails(status, message=message, **more)
        with pytest.raises(Exception) as raised:  # noqa: PT011 - each has its own
            CLIENTS[provider](fake.url, conversation.request(provider, model="m"))
        fake.assert_done()
    return raised.value


SCHEMA = {
    "openai": "Invalid schema for function 'one': In context=('properties', 'x'), 'allOf' is not permitted.",
    "openai-responses": "Invalid schema for function 'one': In context=('properties', 'x'), 'allOf' is not permitted.",
    "groq": "tools[0].function.parameters.properties.x: invalid schema",
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
    error = raised_by(provider, 400, SCHEMA[provider])
    failure = explain(error, TOOLS.bind(provider))
    assert (failure.kind, failure.tool, failure.path, failure.status) == ("schema", "one", "x", 400)
    assert not failure.retryable
    assert failure.error is error


@pytest.mark.parametrize("provider", CLIENTS)
def test_a_rate_is_explained(provider):
    """With the seconds to wait where the client keeps headers."""
    error = raised_by(provider, 429, "Too many requests.", retry_after=7)
    failure = explain(error)
    assert (failure.kind, failure.retryable, failure.status) == ("rate", True, 429)
    if provider != "ollama":  # its error has no headers, and its cause has
        assert failure.request_id or provider == "gemini"
    assert failure.retry_after == 7.0


@pytest.mark.parametrize("provider", CLIENTS)
def test_a_refused_history_is_explained(provider):
    """Whatever the provider, and what its own fault is."""
    error = raised_by(provider, 400, "messages.2.content.1: unexpected `tool_use_id` found")
    failure = explain(error)
    assert (failure.kind, failure.path) == ("history", "messages[2].content.1")
    error = raised_by(provider, 503, "Busy.")
    assert (explain(error).kind, explain(error).retryable) == ("overloaded", True)


@pytest.mark.parametrize("provider", CLIENTS)
def test_no_connection_is_explained(provider):
    """Nothing listens there."""
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each has its own
        CLIENTS[provider]("http://127.0.0.1:9", conversation.request(provider, model="m"))
    assert (explain(raised.value).kind, explain(raised.value).retryable) == ("network", True)
