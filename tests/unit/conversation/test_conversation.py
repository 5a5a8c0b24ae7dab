"""A conversation that changes its provider, grows, is stored, trimmed, cancelled; and what says no."""

import asyncio
import copy
import gc
import json
import pickle
import weakref
from dataclasses import replace

import pytest

from toolshape import (
    Conversation,
    HistoryError,
    Image,
    Registry,
    ResponseError,
    Text,
    ToolError,
    UsageError,
    tool,
)
from toolshape._families import get
from toolshape._families.names import available
from toolshape.messages import Origin, ProviderPart, TextPart, ToolCallPart, ToolResultPart

PNG = b"\x89PNG"


@tool
def stock(items: dict[str, int], shelf: str | None = None) -> dict[str, int]:
    """Count items."""
    return items


@tool
def picture(name: str) -> list[Text | Image]:
    """Show something."""
    return [Text(name), Image(PNG)]


@tool
def fails() -> None:
    """Fail."""
    raise ToolError("not today")


@tool
async def waits() -> str:
    """Wait for ever."""
    await asyncio.sleep(3600)
    return "never"


TOOLS = Registry([stock, picture, fails, waits])


def openai_response(*calls, model="gpt-5-2025-08-07", content=None, **more):
    told = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in calls
    ]
    message = {
        "role": "assistant",
        "content": content,
        **({"tool_calls": told} if told else {}),
        **more,
    }
    return {
        "model": model,
        "choices": [{"finish_reason": "tool_calls" if calls else "stop", "message": message}],
    }


def begun():
    """Two calls and an image, at OpenAI in strict form, where a map is a list of pairs."""
    conversation = Conversation(TOOLS)
    conversation.system("Be brief.")
    conversation.user("How many?")
    conversation.request("openai", model="gpt-5", strict=True)
    arguments = {"items": [{"key": "a", "value": 1}], "shelf": None}
    conversation.dispatch(
        openai_response(
            ("call_1", "stock", json.dumps(arguments)), ("call_2", "picture", '{"name":"x"}')
        )
    )
    return conversation


@pytest.mark.parametrize("provider", [None, "openai"])
def test_a_restored_conversation_reads_a_response_as_it_was_asked_for(provider):
    """A map is pairs in strict form; which form was sent is stored, whether or not the caller names the provider."""
    asked = Conversation(TOOLS)
    asked.user("How many?")
    asked.request("openai", model="gpt-5", strict=True)
    restored = Conversation.from_json(asked.to_json(), TOOLS)
    pairs = {"items": [{"key": "a", "value": 1}], "shelf": None}
    response = openai_response(("call_1", "stock", json.dumps(pairs)))
    for chat in (asked, restored):
        assert chat.dispatch(response, provider=provider)[0].value == {"a": 1}


def test_a_restored_conversation_asks_for_the_provider_where_two_would_read_otherwise():
    asked = Conversation(TOOLS)
    asked.user("How many?")
    asked.request("groq", strict=False)
    asked.request("openai", model="gpt-5", strict=True)
    restored = Conversation.from_json(asked.to_json(), TOOLS)
    pairs = {"items": [{"key": "a", "value": 1}], "shelf": None}
    response = openai_response(("call_1", "stock", json.dumps(pairs)))
    for chat in (asked, restored):
        with pytest.raises(UsageError, match="groq and openai read this response differently"):
            chat.dispatch(response)


def test_a_stored_provider_that_is_unknown_here_hides_no_other():
    asked = Conversation(Registry([stock]))
    asked.user("How many?")
    asked.request(replace(get("anthropic"), name="my_gateway"))
    asked.request("openai", model="gpt-5", strict=True)
    restored = Conversation.from_json(asked.to_json(), TOOLS)
    pairs = {"items": [{"key": "a", "value": 1}], "shelf": None}
    response = openai_response(("call_1", "stock", json.dumps(pairs)))
    assert restored.dispatch(response)[0].value == {"a": 1}


def test_a_conversation_goes_on_elsewhere():
    """Arguments in the form that the other is sent, the value and the image as it wants them, nothing else changed."""
    conversation = begun()
    conversation.user("Thanks.")
    request = conversation.request("anthropic", model="claude-sonnet-5", max_tokens=100)
    assert not conversation.repairs
    assert request["system"] == "Be brief."
    assert request["max_tokens"] == 100
    assert [tool["name"] for tool in request["tools"]] == ["stock", "picture", "fails", "waits"]
    assert request["messages"] == [
        {"role": "user", "content": "How many?"},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool_use",
                    "id": "call_1",
                    "name": "stock",
                    "input": {"items": {"a": 1}, "shelf": None},
                },
                {"type": "tool_use", "id": "call_2", "name": "picture", "input": {"name": "x"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": '{"a":1}'},
                {
                    "type": "tool_result",
                    "tool_use_id": "call_2",
                    "content": [
                        {"type": "text", "text": "x"},
                        {
                            "type": "image",
                            "source": {
                                "type": "base64",
                                "media_type": "image/png",
                                "data": "iVBORw==",
                            },
                        },
                    ],
                },
            ],
        },
        {"role": "user", "content": "Thanks."},
    ]


def test_it_goes_back_as_it_came():
    """To the provider that wrote it, whatever happened in between."""
    conversation = begun()
    before = conversation.request("openai", model="gpt-5", strict=True)
    conversation.request("gemini", model="gemini-3-pro")
    conversation.request("bedrock")
    assert conversation.request("openai", model="gpt-5", strict=True) == before
    assistant = before["messages"][2]
    assert assistant["tool_calls"][0]["function"]["arguments"] == json.dumps(
        {"items": [{"key": "a", "value": 1}], "shelf": None}
    )


@pytest.mark.parametrize(
    "provider", [name for name in available() if get(name).histories is not None]
)
def test_every_provider_can_go_on(provider):
    """With the request's keywords in its own words, and no finding of its own."""
    conversation = begun()
    conversation.user("Thanks.")
    request = conversation.request(provider, model="m")
    bound = TOOLS.bind(provider)
    assert bound.check_messages(request, model="m") == []
    histories = bound.provider.histories
    assert request[histories.model_key] == "m"
    assert "Be brief." in json.dumps(request, default=str)
    calls = [
        part
        for read_message in bound.read_messages(request)
        for part in read_message.parts
        if isinstance(part, ToolCallPart)
    ]
    assert [
        (call.name, call.arguments["items"] if call.name == "stock" else None) for call in calls
    ] == [
        ("stock", {"a": 1}),
        ("picture", None),
    ]


@pytest.mark.parametrize("provider", ["mcp", "json-schema"])
def test_a_provider_without_histories_is_named(provider):
    """Not an error of ours."""
    with pytest.raises(UsageError, match=f"{provider} has no histories"):
        begun().request(provider)
    with pytest.raises(UsageError, match="has no histories"):
        TOOLS.bind(provider).check_messages([])


def test_calls_that_nobody_could_answer_are_sent_and_named():
    """Of an unknown tool, cut off, and invalid: the tools' answers go along."""
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    conversation.request("openai")
    conversation.dispatch(
        openai_response(
            ("call_1", "lost.it", "{}"),
            ("call_2", "stock", '{"items": {'),
            ("call_3", "stock", '{"items": 5}'),
        )
    )
    request = conversation.request("anthropic")
    assert [(repair.rule, repair.path) for repair in conversation.repairs] == [
        ("unknown_tool", "messages[1].tool_calls[0]"),
        ("malformed_arguments", "messages[1].tool_calls[1]"),
        ("invalid_arguments", "messages[1].tool_calls[2]"),
    ]
    inputs = [message["input"] for message in request["messages"][1]["content"]]
    assert inputs == [{}, {"INVALID_JSON": '{"items": {'}, {"items": 5}]
    assert all(message["is_error"] for message in request["messages"][2]["content"])
    assert request["messages"][1]["content"][0]["name"] == "lost_it"


def test_reasoning_goes_back_to_its_own_model_alone():
    """Its signature with it; another model of the same provider is not sent it either."""
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "picture", "input": {"name": "x"}}
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [thought, call],
        "stop_reason": "tool_use",
    }
    conversation.request("anthropic", model="claude-opus-5")
    conversation.dispatch({**answer, "model": "claude-opus-5-20260901"})
    conversation.user("And?")
    own = conversation.request("anthropic", model="claude-opus-5")
    assert own["messages"][1]["content"] == [thought, call]
    assert not conversation.repairs
    other = conversation.request("anthropic", model="claude-haiku-5")
    assert other["messages"][1]["content"] == [call]
    assert [repair.rule for repair in conversation.repairs] == ["foreign_reasoning"]
    openai = conversation.request("openai", model="gpt-5")
    assert "Hm." not in json.dumps(openai)
    assert [(repair.rule, repair.path) for repair in conversation.repairs] == [
        ("foreign_reasoning", "messages[1].content[0]")
    ]
    kept = conversation.request(
        "anthropic", model="claude-haiku-5", repairs={"foreign_reasoning": False}
    )
    assert kept["messages"][1]["content"] == [thought, call]


def test_an_open_turn_is_never_answered_unasked():
    """The error says where it is and what to do; once it is dispatched, it goes on."""
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    message = openai_response(("call_1", "picture", '{"name": "x"}'))["choices"][0]["message"]
    conversation.read([message], "openai")
    with pytest.raises(HistoryError) as raised:
        conversation.request("openai")
    [problem] = raised.value.problems
    assert (problem.path, problem.rule) == ("messages[1].tool_calls[0]", "open_turn")
    assert "run the pending calls with dispatch()" in str(problem)
    assert problem.evidence
    assert pickle.loads(pickle.dumps(raised.value)).problems == raised.value.problems
    conversation += TOOLS.bind("openai").dispatch(message)  # its own message stands there already
    assert [item.role for item in conversation] == ["user", "assistant", "tool"]
    assert conversation.request("openai")["messages"][1] == message


def test_results_are_appended_once():
    """Those of ``dispatch`` are there already."""
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    conversation.request("openai")
    results = conversation.dispatch(openai_response(("call_1", "fails", "")))
    with pytest.raises(UsageError, match="appended them"):
        conversation += results
    plan = conversation.plan(openai_response(("call_2", "picture", '{"name": "x"}')))
    conversation += plan.run()
    assert [item.role for item in conversation] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    part = conversation.messages[2].parts[0]
    assert isinstance(part, ToolResultPart)
    assert (part.code, part.text) == ("tool_error", "not today")


def test_a_stream_and_a_text_answer():
    """A collector is dispatched as a response is; an answer without calls is appended, too."""
    conversation = Conversation(TOOLS)
    with pytest.raises(UsageError, match="provider of the stream is unknown"):
        conversation.collector()
    conversation.user("Go.")
    conversation.request("openai", model="gpt-5")
    collector = conversation.collector()
    call = {
        "index": 0,
        "id": "call_1",
        "function": {"name": "picture", "arguments": '{"name": "x"}'},
    }
    collector.feed(
        {"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}}]}
    )
    collector.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    assert conversation.dispatch(collector).ok
    assert not conversation.dispatch(openai_response(content="Done."))
    assert [item.role for item in conversation] == ["user", "assistant", "tool", "assistant"]
    assert conversation.messages[-1].finish == "stop"
    assert conversation.messages[1].origin == Origin(
        provider="openai", model="gpt-5", fingerprint=TOOLS.bind("openai").fingerprint
    )


def test_what_is_cancelled_is_appended():
    """The call reads as cancelled, and the conversation can go on."""
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    conversation.request("openai")

    async def main():
        task = asyncio.create_task(
            conversation.adispatch(openai_response(("call_1", "waits", "{}")))
        )
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    [part] = conversation.messages[-1].parts
    assert isinstance(part, ToolResultPart)
    assert part.code == "cancelled"
    assert conversation.request("anthropic")["messages"][-1]["content"][0]["is_error"]


def test_what_cannot_be_run_is_not_appended():
    """A body that is none, and a developer's mistake."""
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    conversation.request("openai")
    with pytest.raises(ResponseError):
        conversation.dispatch({"content": 5})

    async def main():
        with pytest.raises(UsageError, match="loop"):
            conversation.dispatch(openai_response(("call_1", "waits", "{}")))

    asyncio.run(main())
    assert len(conversation) == 1


def test_stored_and_read_again():
    """With results as values, bytes and images; what is none is refused."""
    conversation = begun()
    conversation.user("Look.", Image(PNG))
    stored = conversation.to_json()
    assert "iVBORw==" in stored
    again = Conversation.from_json(stored, TOOLS)
    assert again.messages == conversation.messages
    assert again.request("bedrock") == conversation.request("bedrock")
    assert Conversation.from_json(json.loads(stored), TOOLS).messages == conversation.messages
    assert pickle.loads(pickle.dumps(conversation)).messages == conversation.messages
    for broken in (
        "{}",
        '{"version": 99, "messages": []}',
        '{"version": 1, "messages": [{"role": "x", "parts": []}]}',
    ):
        with pytest.raises(UsageError):
            Conversation.from_json(broken)


def test_bytes_in_what_was_read_are_stored():
    """Bedrock's SDK has bytes, and a user's own key may look like ours."""
    conversation = Conversation(TOOLS)
    image = {"image": {"format": "png", "source": {"bytes": PNG}}}
    conversation.read(
        [
            {
                "role": "user",
                "content": [{"text": "See."}, image, {"guard": {"$bytes": "x", "$$bytes": 1}}],
            }
        ],
        "bedrock",
    )
    again = Conversation.from_json(conversation.to_json(), TOOLS)
    assert again.messages == conversation.messages
    assert again.request("bedrock")["messages"] == conversation.request("bedrock")["messages"]


def test_trimmed_between_complete_turns():
    """System prompts stay; a turn begins with the user and holds its calls and results."""
    conversation = begun()
    conversation.user("Two.")
    conversation.request("openai")
    conversation.dispatch(openai_response(("call_3", "fails", "")))
    conversation.dispatch(openai_response(content="No."))
    conversation.user("Three.")
    assert [item.role for item in conversation.trimmed(keep=1)] == ["system", "user"]
    two = conversation.trimmed(keep=2)
    assert [item.role for item in two] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert TOOLS.bind("openai").check_messages(two.request("openai")) == []
    assert conversation.trimmed(keep=9).messages == conversation.messages
    with pytest.raises(UsageError, match="keep="):
        conversation.trimmed(keep=0)


def test_gemini_s_config_is_merged():
    """The user's own keys beside ours; what is made here is not to be given."""
    conversation = Conversation(TOOLS)
    conversation.system("Be brief.")
    conversation.user("Go.")
    request = conversation.request(
        "gemini", model="gemini-3-pro", config={"temperature": 0.5, "toolConfig": {"x": 1}}
    )
    assert request["config"]["temperature"] == 0.5
    assert request["config"]["toolConfig"]["x"] == 1
    assert request["config"]["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert request["model"] == "gemini-3-pro"
    with pytest.raises(UsageError, match="native="):
        conversation.request("openai", tools=[])
    with pytest.raises(UsageError, match=r"config\.systemInstruction= is set by the conversation"):
        conversation.request("gemini", config={"systemInstruction": "x"})


@pytest.mark.parametrize(
    ("provider", "native", "where"),
    [
        ("openai-responses", {"type": "web_search"}, lambda request: request["tools"][-1]),
        ("gemini", {"googleSearch": {}}, lambda request: request["config"]["tools"][-1]),
        (
            "bedrock",
            {"systemTool": {"name": "nova_grounding"}},
            lambda request: request["toolConfig"]["tools"][-1],
        ),
        (
            "anthropic",
            {"type": "web_search_20250305", "name": "web_search"},
            lambda request: request["tools"][-1],
        ),
    ],
)
def test_a_provider_s_own_tools(provider, native, where):
    """Beside ours, also where there is none of ours."""
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    assert where(conversation.request(provider, native=[native])) == native
    alone = Conversation()
    alone.user("Go.")
    assert where(alone.request(provider, native=[native])) == native


@pytest.mark.parametrize("native", [{"googleSearch": {}}, {"google_search": {}}])
def test_gemini_is_asked_for_its_own_tools_beside_functions(native):
    """Without the switch it answers 400; Vertex does not know the switch."""
    switch = {"includeServerSideToolInvocations": True}
    mixed = TOOLS.request("gemini", native=[native], strict=False)["config"]
    assert mixed["toolConfig"] == switch
    chosen = TOOLS.request("gemini", native=[native], choice="required", strict=False)["config"][
        "toolConfig"
    ]
    assert chosen == {"functionCallingConfig": {"mode": "ANY"}, **switch}
    assert "toolConfig" not in TOOLS.request("gemini", strict=False)["config"]
    assert "toolConfig" not in Registry().request("gemini", native=[native], strict=False)["config"]
    assert (
        "toolConfig"
        not in TOOLS.request("gemini", native=[{"function_declarations": []}], strict=False)[
            "config"
        ]
    )
    assert "toolConfig" not in TOOLS.request("vertex", native=[native], strict=False)["config"]


def test_a_provider_s_own_tools_count():
    """OpenAI takes 128 in all."""
    many = Registry([tool(name=f"t{number}")(lambda: None) for number in range(128)])
    conversation = Conversation(many)
    conversation.user("Go.")
    assert len(conversation.request("openai")["tools"]) == 128
    with pytest.raises(Exception, match="129 tools, but a request may hold at most 128"):
        conversation.request("openai", native=[{"type": "custom", "custom": {"name": "x"}}])


def test_system_prompts_in_between():
    """Where a provider has one place, they go there, which is named; elsewhere they stay."""
    conversation = Conversation(TOOLS)
    conversation.system("One.")
    conversation.user("Go.")
    conversation.system("Two.")
    conversation.user("On.")
    assert conversation.request("anthropic")["system"] == "One.\n\nTwo."
    assert [(repair.rule, repair.path) for repair in conversation.repairs] == [
        ("system_moved", "messages[2]")
    ]
    assert [message["role"] for message in conversation.request("openai")["messages"]] == [
        "system",
        "user",
        "system",
        "user",
    ]
    responses = conversation.request("openai-responses")
    assert responses["instructions"] == "One."
    assert [response["role"] for response in responses["input"]] == ["user", "developer", "user"]
    assert not conversation.repairs


def test_parts_that_only_their_provider_knows():
    """They stay in what goes back, and are named where they are left out."""
    block = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    answer = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    history = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [block, answer, {"type": "text", "text": "Ok."}]},
    ]
    conversation = Conversation(TOOLS)
    conversation.read(copy.deepcopy(history), "anthropic")
    conversation.user("On.")
    assert conversation.messages[1].parts[0] == ProviderPart(kind="server_tool_use", raw=block)
    assert conversation.request("anthropic")["messages"][:2] == history
    request = conversation.request("openai")
    assert request["messages"][1] == {"role": "assistant", "content": "Ok."}
    repair, _ = conversation.repairs
    assert (repair.rule, repair.path) == ("foreign_part", "messages[1].content[0]")


def test_a_system_message_of_what_only_its_provider_knows():
    """It goes back whole; for another provider no empty message is left of it."""
    added = [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "a"}}]
    history = [{"role": "user", "content": "Go."}, {"role": "system", "content": added}]
    conversation = Conversation(TOOLS)
    conversation.read(copy.deepcopy(history), "anthropic")
    assert conversation.request("anthropic")["messages"] == history
    for provider in ("openai", "mistral", "ollama"):
        assert [message["role"] for message in conversation.request(provider)["messages"]] == [
            "user"
        ]
        assert [repair.rule for repair in conversation.repairs] == ["foreign_part"]


def test_a_late_result_is_moved_and_named():
    """What had been answered for the model is replaced."""
    conversation = Conversation(TOOLS)
    history = openai_response(("call_1", "picture", '{"name": "x"}'))["choices"][0]["message"]
    conversation.user("Go.")
    conversation.read([history], "openai")
    conversation.user("On.")
    first = conversation.request("anthropic")
    assert [repair.rule for repair in conversation.repairs] == ["unanswered_call"]
    assert first["messages"][2]["content"][0]["is_error"]
    conversation.read([{"role": "tool", "tool_call_id": "call_1", "content": "here"}], "openai")
    conversation.user("So?")
    second = conversation.request("anthropic")
    assert [repair.rule for repair in conversation.repairs] == ["late_result"]
    assert second["messages"][2]["content"][0]["content"] == "here"
    assert TOOLS.bind("anthropic").check_messages(second) == []


def test_a_turn_costs_what_the_one_before_did():
    """Messages are converted once for a provider: the same objects stand in later requests."""
    conversation = begun()
    conversation.user("On.")
    first = conversation.request("anthropic")["messages"]
    conversation.request("anthropic")
    conversation.user("On.")
    second = conversation.request("anthropic")["messages"]
    assert all(item is other for item, other in zip(first[:2], second, strict=False))


def test_what_is_no_content_is_refused():
    """And so is what holds no messages."""
    conversation = Conversation(TOOLS)
    with pytest.raises(UsageError, match="needs content"):
        conversation.user()
    with pytest.raises(UsageError, match="not int"):
        conversation.user(5)
    with pytest.raises(ResponseError, match="no messages"):
        conversation.read(7, "openai")
    with pytest.raises(ResponseError, match="an object with the keys"):
        conversation.read({"choices": 5}, "openai")
    with pytest.raises(ResponseError, match=r"messages\[0\] is not a message"):
        conversation.read([5], "openai")
    with pytest.raises(UsageError, match="there is no repair 'blank'"):
        conversation.request("openai", repairs={"blank": False})
    assert repr(conversation) == "Conversation(0 messages)"
    assert len(conversation) == 0


def test_json_text_and_sdk_objects_are_read():
    """As a request, as messages, as one."""
    text = json.dumps({"system": "Be brief.", "messages": [{"role": "user", "content": "Hi."}]})
    conversation = Conversation(TOOLS)
    conversation.read(text, "anthropic")
    conversation.read({"role": "user", "content": "Ho."}, "anthropic")
    assert [item.role for item in conversation] == ["system", "user", "user"]
    assert conversation.messages[2].parts == (TextPart(text="Ho."),)
    assert conversation.request("anthropic")["system"] == "Be brief."


def test_say_and_encode_go_together_for_another_provider():
    """The message that makes another's calls, and the one that answers them: one id, one name, nothing refused."""
    results = TOOLS.bind("openai").dispatch(
        openai_response(
            ("functions.picture:0", "picture", '{"name": "x"}'), ("call_2", "lost", "{")
        )
    )
    for provider in ("anthropic", "gemini", "ollama", "mistral", "bedrock", "vertex"):
        bound = TOOLS.bind(provider)
        said = [
            *bound.calls_as_messages([result.call for result in results]),
            *bound.results_as_messages(results),
        ]
        assert {check_message.rule for check_message in bound.check_messages(said)} <= {
            "call_placement",
            "first_is_assistant",
        }
        calls = [
            part
            for read_message in bound.read_messages(said)
            for part in read_message.parts
            if isinstance(part, ToolCallPart)
        ]
        answers = [
            part
            for read_message in bound.read_messages(said)
            for part in read_message.parts
            if isinstance(part, ToolResultPart)
        ]
        assert [call.id for call in calls] == [answer.id for answer in answers]
        assert [call.name for call in calls] == ["picture", None]
        assert [answer.code is None for answer in answers] == [True, False]
    with pytest.raises(UsageError, match="there is no tool 'lost'"):
        TOOLS.bind("anthropic").calls_as_messages([("lost", {})])


@pytest.mark.parametrize(
    "provider", [name for name in available() if get(name).histories is not None]
)
def test_a_user_s_image_goes_along(provider):
    """As an image where the provider has a place for it, else named."""
    conversation = Conversation(TOOLS)
    conversation.user("Look.", Image(PNG), Image(url="https://example.com/a.png"))
    text = json.dumps(conversation.request(provider), default=lambda given: given.hex())
    carries = get(provider).histories.input_kinds
    assert ("iVBORw==" in text or PNG.hex() in text) == ("image" in carries)
    assert "https://example.com/a.png" in text
    named = [repair.rule for repair in conversation.repairs]
    assert named == ["media_as_text"] * len({"image", "image_url"} - carries)


@pytest.mark.parametrize(
    "provider", [name for name in available() if get(name).histories is not None]
)
def test_a_message_without_content_is_left_out(provider):
    """No provider is sent an empty one of another's, and it is named."""
    conversation = Conversation(TOOLS)
    elsewhere = "anthropic" if provider == "openai" else "openai"
    conversation.read(
        [{"role": "user", "content": "Go."}, {"role": "assistant", "content": ""}], elsewhere
    )
    conversation.user("On.")
    request = conversation.request(provider)
    assert len(TOOLS.bind(provider).read_messages(request)) <= 2
    if get(provider).name != elsewhere:
        assert [repair.rule for repair in conversation.repairs if repair.rule != "same_role"] == [
            "empty_message"
        ]


def test_results_stand_in_the_order_of_their_calls():
    """Where they are put into one message, as for providers that match them by place."""
    blocks = [
        {"type": "tool_use", "id": f"toolu_{number}", "name": "fails", "input": {}}
        for number in (1, 2)
    ]
    answers = [
        {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "7"}
        for number in (1, 2)
    ]
    history = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": answers[1:]},
        {"role": "user", "content": [{"type": "text", "text": "On."}, answers[0]]},
    ]
    repaired = TOOLS.bind("anthropic").repair_messages(history)
    assert [message["tool_use_id"] for message in repaired.messages[2]["content"]] == [
        "toolu_1",
        "toolu_2",
    ]


def test_a_closed_turn_keeps_no_response_alive():
    """A conversation of a thousand turns holds their messages, not the responses of the clients."""
    chat = Conversation(TOOLS)
    chat.user("Count.")
    chat.request("openai")
    results = chat.dispatch(openai_response(("call_1", "stock", '{"items": {"a": 1}}')))
    with pytest.raises(UsageError, match="already in the conversation"):
        chat += results
    held = weakref.ref(results)
    del results
    gc.collect()
    assert held() is None
