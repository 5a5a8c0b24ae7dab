"""Histories that are odd and real: what an attack on conversations found, each once."""

import dataclasses
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolshape import (
    Conversation,
    ExportError,
    File,
    HistoryError,
    Image,
    Registry,
    ResponseError,
    UsageError,
    tool,
)
from toolshape._families import get
from toolshape.messages import ToolResultPart


@tool
def f(city: str) -> str:
    """Find."""
    return city


@tool
def g(n: int) -> int:
    """Count."""
    return n


TOOLS = Registry([f, g])
GO = {"role": "user", "content": "Go."}


def call(call_id, name="f", arguments='{"city": "x"}'):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls, **more):
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def answer(call_id, text="7"):
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def said(role, *parts):
    return {"role": role, "parts": list(parts)}


def g_call(city):
    return {"functionCall": {"name": "f", "args": {"city": city}}}


def conversation(messages, provider, model=None):
    made = Conversation(TOOLS)
    made.read(messages, provider, model=model)
    return made


def rules(bound, messages, **more):
    return [check_message.rule for check_message in bound.check_messages(messages, **more)]


def test_a_legacy_call_is_answered_in_its_form():
    """With a message of a function, by its name; also where it is answered for it."""
    legacy = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "f", "arguments": '{"city": "x"}'},
    }
    made = Conversation(TOOLS)
    made.user("Go.")
    made.request("openai")
    made.dispatch({"choices": [{"finish_reason": "function_call", "message": legacy}]})
    made.user("On.")
    sent = made.request("openai")["messages"]
    assert sent[2] == {"role": "function", "name": "f", "content": "x"}
    bound = TOOLS.bind("openai")
    assert rules(bound, sent) == []
    assert bound.repair_messages([GO, legacy, GO]).messages[2]["role"] == "function"
    stored = Conversation.from_json(made.to_json(), TOOLS)
    assert stored.request("openai")["messages"] == sent


def test_a_custom_call_is_answered_in_its_form():
    """As Responses has it."""
    custom = {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"}
    repaired = TOOLS.bind("openai-responses").repair_messages([GO, custom, GO])
    assert repaired.messages[2]["type"] == "custom_tool_call_output"


def test_a_late_result_at_the_very_end():
    """Nothing follows that could settle it; and of an id that comes twice."""
    for history in (
        [GO, asks(call("a")), GO, answer("a")],
        [GO, asks(call("a")), GO, asks(call("a")), answer("a"), GO, answer("a")],
    ):
        made = conversation(history, "openai")
        for provider in ("openai", "anthropic", "gemini", "bedrock", "mistral"):
            request = made.request(provider)
            assert rules(TOOLS.bind(provider), request) == []
            assert "late_result" in [repair.rule for repair in made.repairs]
        made.user("On.")
        assert rules(TOOLS.bind("openai"), made.request("openai")) == []


def test_the_name_that_was_asked_for_is_the_model():
    """Whatever the response calls it; a date is no other model, a version is."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    made = Conversation(TOOLS)
    made.user("Go.")
    made.request("anthropic", model="my-deployment")
    content = [thought, {"type": "text", "text": "Ok."}]
    made.dispatch(
        {
            "type": "message",
            "role": "assistant",
            "model": "claude-x-5",
            "content": content,
            "stop_reason": "end_turn",
        }
    )
    made.user("On.")
    assert made.request("anthropic", model="my-deployment")["messages"][1]["content"][0] == thought
    history = [GO, {"role": "assistant", "content": content}, GO]
    for model, other, is_same in (
        ("claude-opus-4", "claude-opus-4-1", False),
        ("claude-opus-4-20250514", "claude-opus-4", True),
        ("gpt-5", "gpt-5-2025-08-07", True),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet", True),
        ("claude-sonnet-4", "claude-sonnet-4-5", False),
    ):
        sent = conversation(history, "anthropic", model).request("anthropic", model=other)[
            "messages"
        ][1]["content"]
        assert (sent[0] == thought) is is_same, (model, other)


def test_calls_that_stand_at_the_provider():
    """Their results answer calls that are not here."""
    bound = TOOLS.bind("openai-responses")
    output = {"type": "function_call_output", "call_id": "c1", "output": "42"}
    for request in (
        {"previous_response_id": "resp_1", "input": [output]},
        {"conversation": "conv_1", "input": [output]},
        {"input": [{"type": "item_reference", "id": "fc_1"}, output]},
    ):
        assert rules(bound, request) == []
        assert bound.repair_messages(request).messages[-1] is output
    assert rules(bound, {"input": [output]}) == ["orphan_result"]


def test_a_result_without_an_id_answers_the_last_calls():
    """Not one of the same tool that was left alone."""
    response = {"functionResponse": {"name": "f", "response": {"output": "for new"}}}
    history = [
        said("user", {"text": "1"}), said("model", g_call("OLD")), said("user", {"text": "never mind"}),
        said("model", g_call("NEW")), said("user", response), said("user", {"text": "go"}),
    ]  # fmt: skip
    repaired = TOOLS.bind("gemini").repair_messages(history)
    assert [repair.rule for repair in repaired.repairs] == ["unanswered_call"]
    assert repaired.messages[5] is history[4]


def test_images_follow_all_results():
    """No image stands between two results, whoever wrote them; the repair is done with them at once."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
    pictured = {"role": "tool", "tool_call_id": "a", "content": [image]}
    bound = TOOLS.bind("openai")
    repaired = bound.repair_messages([GO, asks(call("a"), call("b")), pictured, answer("b"), GO])
    assert [message["role"] for message in repaired.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "user",
    ]
    assert bound.repair_messages(repaired.messages).repairs == ()
    for provider in ("mistral", "cohere"):
        request = conversation([GO, asks(call("a")), pictured, GO], "openai").request(provider)
        assert "image/png" in request["messages"][2]["content"]


def test_what_only_a_provider_knows_of_a_result_stays_as_text():
    """A search result, a file by its id: not an empty text."""
    search = {
        "type": "search_result",
        "source": "s",
        "content": [{"type": "text", "text": "IMPORTANT"}],
    }
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {"city": "x"}}
    history = [
        GO,
        {"role": "assistant", "content": [use]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [search]}],
        },
    ]
    assert (
        "IMPORTANT"
        in conversation(history, "anthropic").request("openai")["messages"][2]["content"]
    )
    output = {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [{"type": "input_image", "file_id": "file_7"}],
    }
    item = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"city": "x"}'}
    sent = conversation([GO, item, output], "openai-responses").request("anthropic")["messages"][2]
    assert "file_7" in str(sent)


def test_what_stands_beside_a_text_or_a_call_is_named():
    """Signatures, citations, marks for caches."""
    for provider, message, named in (
        ("gemini", said("model", {**g_call("x"), "thoughtSignature": "c2ln"}), "thoughtSignature"),
        (
            "anthropic",
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "Ok.", "citations": [{"a": 1}]}],
            },
            "citations",
        ),
        (
            "anthropic",
            {
                "role": "user",
                "content": [{"type": "text", "text": "Ok.", "cache_control": {"type": "x"}}],
            },
            "cache_control",
        ),
    ):
        question = said("user", {"text": "Go."}) if provider == "gemini" else GO
        made = conversation([question, message, question], provider)
        made.request("openai")
        assert [
            repair
            for repair in made.repairs
            if repair.rule == "foreign_part" and named in repair.note
        ], provider


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ("bedrock", GO),
        ("gemini", GO),
        ("anthropic", {"role": "user", "content": {"type": "text", "text": "x"}}),
        ("openai", {"role": "user", "content": {"type": "text", "text": "x"}}),
    ],
)
def test_a_content_of_another_type_is_no_message(provider, message):
    """It is refused with its place, and nothing is appended."""
    made = Conversation(TOOLS)
    with pytest.raises(ResponseError, match=r"\[0\] cannot be read as a message"):
        made.read([message], provider)
    assert len(made) == 0


def test_a_text_is_a_message_of_the_user():
    """In place of a list of messages."""
    for provider, key in (
        ("gemini-interactions", "input"),
        ("openai-responses", "input"),
        ("gemini", "contents"),
    ):
        made = conversation({key: "Hi."}, provider)
        assert made.request("openai")["messages"] == [{"role": "user", "content": "Hi."}]
        assert rules(TOOLS.bind(provider), made.request(provider)) == []
    assert conversation({"input": "Hi."}, "gemini-interactions").request("gemini-interactions")[
        "input"
    ] == [{"type": "user_input", "content": [{"type": "text", "text": "Hi."}]}]


def test_an_empty_message_between_results():
    """It is gone before the results are put together."""
    made = conversation(
        [
            GO,
            asks(call("a"), call("b")),
            answer("a"),
            {"role": "assistant", "content": ""},
            answer("b"),
            GO,
        ],
        "openai",
    )
    assert rules(TOOLS.bind("anthropic"), made.request("anthropic")) == []


def test_what_is_settled_is_what_is_found():
    """A signature is missing in the current turn alone; reasoning that comes later is looked for in what came before."""
    response = {"functionResponse": {"name": "f", "response": {"output": "k"}}}
    past = [
        said("user", {"text": "1"}),
        said("model", g_call("x")),
        said("user", response),
        said("model", {"text": "d"}),
    ]
    history = [*past, said("user", {"text": "2"})]
    assert rules(TOOLS.bind("gemini"), history, model="gemini-3-pro") == []
    assert (
        conversation(history, "gemini", "gemini-3-pro").request("gemini", model="gemini-3-pro")[
            "contents"
        ]
        == history
    )
    thinking = [
        GO, asks(call("a")), answer("a"), {"role": "assistant", "content": "x"}, GO,
        asks(call("b"), reasoning_content="t"), answer("b"),
    ]  # fmt: skip
    made = conversation(thinking, "deepseek", "deepseek-reasoner")
    sent = made.request("deepseek", model="deepseek-reasoner")
    assert rules(TOOLS.bind("deepseek"), sent, model="deepseek-reasoner") == []
    assert [repair.rule for repair in made.repairs] == ["missing_reasoning"]


def test_roles_that_are_joined_are_named():
    """As they are where the history is checked."""
    history = [{"role": "user", "content": [{"text": text}]} for text in "ab"]
    made = conversation(history, "bedrock")
    assert made.request("bedrock")["messages"] == [
        {"role": "user", "content": [{"text": "a"}, {"text": "b"}]}
    ]
    assert (
        [repair.rule for repair in made.repairs]
        == rules(TOOLS.bind("bedrock"), history)
        == ["same_role"]
    )


def test_results_go_by_the_calls_that_they_answer():
    """By name and id, also where an id comes twice, and whatever rules are off."""
    made = conversation(
        [
            GO,
            asks(call("c")),
            GO,
            asks(call("c", "g", '{"n": 2}')),
            answer("c", "4"),
            GO,
            answer("c", "sunny"),
            GO,
        ],
        "openai",
    )
    parts = [part for content in made.request("gemini")["contents"] for part in content["parts"]]
    answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
    assert [(answer["name"], answer["response"]["output"]) for answer in answers] == [
        ("f", "sunny"),
        ("g", "4"),
    ]
    twice = [GO, asks(call("a")), GO, asks(call("a")), answer("a", "for the second"), GO]
    sent = conversation(twice, "openai").request("anthropic", repairs={"unanswered_call": False})[
        "messages"
    ]
    assert sent[4]["content"][0]["tool_use_id"] == sent[3]["content"][0]["id"]


def test_a_turn_does_not_begin_with_results():
    """Where a user's message holds both."""
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {"city": "x"}}
    both = [
        {"type": "tool_result", "tool_use_id": "t", "content": "s"},
        {"type": "text", "text": "and?"},
    ]
    history = [GO, {"role": "assistant", "content": [use]}, {"role": "user", "content": both}, GO]
    trimmed = conversation(history, "anthropic").trimmed(keep=2)
    assert len(trimmed) == 4
    trimmed.request("anthropic")
    assert trimmed.repairs == ()


def test_types_that_a_provider_does_not_take_are_named():
    """And those that it does keep their own names."""
    office = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    made = Conversation(TOOLS)
    made.user(
        "See.",
        File(b"PK", office, "a.docx"),
        File(b"{}", "application/json", "a.json"),
        File(url="gs://bucket/a.pdf"),
    )
    content = made.request("bedrock")["messages"][0]["content"]
    assert [item["document"]["format"] for item in content if "document" in item] == ["docx"]
    assert [repair.rule for repair in made.repairs] == ["media_as_text", "media_as_text"]
    made.request("anthropic")
    assert [repair.rule for repair in made.repairs] == ["media_as_text"] * 3
    read = TOOLS.bind("bedrock").read_messages([{"role": "user", "content": content}])
    assert read[0].parts[1].media.media_type == office


def test_a_tool_that_is_gone_leaves_its_calls_as_they_were():
    """At the provider that knows them."""
    made = Conversation(Registry([f, g]))
    made.user("Go.")
    made.request("openai")
    made.dispatch({"choices": [{"finish_reason": "tool_calls", "message": asks(call("a"))}]})
    fewer = Conversation(Registry([g]), made.messages)
    fewer.user("On.")
    assert fewer.request("openai")["messages"][1]["tool_calls"][0] == call("a")


def test_what_is_given_wrongly_says_so():
    """Not a TypeError from within."""
    made = Conversation(TOOLS)
    made.user("Go.")
    with pytest.raises(UsageError, match="repairs= takes True"):
        made.request("openai", repairs=["blank_text"])
    for text in ("not json", b"\xff", '{"version": 1, "messages": ["x"]}'):
        with pytest.raises(UsageError):
            Conversation.from_json(text)
    broken = made.to_json().replace('"Go."', "null")
    with pytest.raises(UsageError, match="cannot be read"):
        Conversation.from_json(broken)
    made.read([{**GO, "created_at": object()}], "openai")
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        made.to_json()
    for pair in (("f", {}, 1), ("f", None), ("f", "x")):
        with pytest.raises(UsageError, match="a pair of a tool's name"):
            TOOLS.bind("openai").calls_as_messages([pair])


def test_rules_that_cannot_be_switched_off():
    """They are how messages are written for another, not repairs of them."""
    made = Conversation(TOOLS)
    made.user("Go.")
    with pytest.raises(UsageError, match="foreign_part cannot be switched off"):
        made.request("openai", repairs={"foreign_part": False})


def test_a_provider_that_nobody_registered():
    """A record of one's own goes through request, dispatch and back."""
    mine = dataclasses.replace(get("openai"), name="mine")
    made = Conversation(TOOLS)
    made.user("Go.")
    made.request(mine, model="m")
    assert made.dispatch(
        {"choices": [{"finish_reason": "tool_calls", "message": asks(call("a"))}]}
    ).ok
    assert made.messages[1].origin.provider == "mine"
    assert made.request(mine, model="m")["messages"][1] == asks(call("a"))


def test_the_model_is_read_of_what_came():
    """Of JSON text and of a stream as of a dict, where the request named none."""
    body = {
        "model": "deepseek-x",
        "choices": [{"finish_reason": "tool_calls", "message": asks(call("a"))}],
    }
    chunk = {
        "model": "deepseek-x",
        "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": "Ok."}, "finish_reason": "stop"}
        ],
    }
    for kind in ("dict", "text", "stream"):
        made = Conversation(TOOLS)
        made.user("Go.")
        made.request("deepseek")
        collector = made.collector()
        collector.feed(chunk)
        made.dispatch({"dict": body, "text": json.dumps(body), "stream": collector}[kind])
        assert made.messages[1].origin.model == "deepseek-x", kind


def test_results_are_added_once_each():
    """Whichever was last."""
    made = Conversation(TOOLS)
    made.user("Go.")
    made.request("openai")
    first = made.dispatch(
        {"choices": [{"finish_reason": "tool_calls", "message": asks(call("a"))}]}
    )
    made.dispatch({"choices": [{"finish_reason": "tool_calls", "message": asks(call("b"))}]})
    with pytest.raises(UsageError, match="already"):
        made += first
    assert [
        part.id for item in made for part in item.parts if isinstance(part, ToolResultPart)
    ] == ["a", "b"]


@pytest.mark.parametrize(
    "provider", ["openai", "anthropic", "gemini", "bedrock", "openai-responses"]
)
def test_calls_that_wait_are_dispatched_without_a_response(provider):
    """A conversation that was stored before its last calls were run goes on."""
    made = Conversation(TOOLS)
    made.user("Go.")
    made.read(
        TOOLS.bind(provider).calls_as_messages([("f", {"city": "x"}), ("g", {"n": 2})]), provider
    )
    stored = Conversation.from_json(made.to_json(), TOOLS)
    with pytest.raises(HistoryError, match=r"run the pending calls with dispatch\(\)"):
        stored.request(provider)
    assert [result.value for result in stored.dispatch()] == ["x", 2]
    assert [part.text for part in stored.messages[-1].parts] == ["x", "2"]
    assert rules(TOOLS.bind(provider), stored.request(provider)) == []
    with pytest.raises(UsageError, match="no call is waiting"):
        stored.dispatch()


def test_several_threads_may_ask():
    """Nothing comes twice, and nothing is lost."""
    made = Conversation(TOOLS)
    for number in range(60):
        made.user(f"q {number}")
        made.read([asks(call(f"call_{number}")), answer(f"call_{number}")], "openai")
    made.user("On.")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(made.request, ["openai", "anthropic"] * 8))
            list(pool.map(lambda _: (made.user("More."), made.request("openai")), range(16)))
    finally:
        sys.setswitchinterval(interval)
    assert len(made.request("openai")["messages"]) == len(made) == 197


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ("anthropic", asks(call("a"))),
        ("anthropic", answer("a")),
        ("bedrock", answer("a")),
        ("bedrock", {"role": "user", "content": [{"type": "text", "text": "x"}]}),
        ("openai", {"role": "human", "content": "x"}),
        ("openai", {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}),
        (
            "openai",
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
            },
        ),
        ("openai-responses", asks(call("a"))),
        ("openai-responses", answer("a")),
    ],
)
def test_messages_of_another_provider_are_refused(provider, message):
    """Not read by half: what would be left out of them is what matters."""
    with pytest.raises(ResponseError, match="another provider's messages"):
        TOOLS.bind(provider).check_messages([message])
    with pytest.raises(ResponseError, match="another provider's messages"):
        Conversation(TOOLS).read([message], provider)


def test_gemini_s_keys_in_either_spelling():
    """A config is merged whichever the user took."""
    made = Conversation(TOOLS)
    made.user("Go.")
    config = {"tool_config": {"retrieval_config": {"x": 1}}, "temperature": 0.5}
    sent = made.request("gemini", config=config)["config"]
    assert "tool_config" not in sent
    assert sent["toolConfig"]["retrieval_config"] == {"x": 1}
    assert made.request("gemini", config=None) == made.request("gemini")


def test_what_holds_nothing_is_not_sent():
    """No message at all, or blank ones alone."""
    made = Conversation(TOOLS)
    with pytest.raises(HistoryError, match="there is nothing to send"):
        made.request("openai")
    made.user(" ")
    with pytest.raises(HistoryError, match="there is nothing to send"):
        made.request("anthropic")


def test_what_is_given_in_place_of_something_else():
    """A word for a list, a plan for its results, a tool for a registry, a dict for a record."""
    made = Conversation(TOOLS)
    made.user("Go.")
    for native in ("web_search", {"google_search": {}}):
        with pytest.raises(ExportError, match="native= must be a list of tools"):
            made.request("gemini", native=native)
    with pytest.raises(UsageError, match=r"as plan\.results, not Plan"):
        made += TOOLS.bind("openai").plan(asks(call("a")))
    with pytest.raises(UsageError, match="takes a Registry of tools, not list"):
        Conversation([f])
    with pytest.raises(UsageError, match="messages must be Message records"):
        Conversation(TOOLS, [GO])


def test_the_response_says_whose_it_is():
    """Where several were asked, each answer goes to who was asked."""
    made = Conversation(TOOLS)
    made.user("Go.")
    made.request("openai")
    made.request("anthropic")
    made.dispatch({"choices": [{"finish_reason": "tool_calls", "message": asks(call("a"))}]})
    assert made.messages[1].origin.provider == "openai"


def test_pieces_of_one_text_are_one_text():
    """A stream of Gemini gives a part a piece."""
    made = conversation(
        [said("user", {"text": "Go."}), said("model", {"text": "There "}, {"text": "you are."})],
        "gemini",
    )
    made.user("One.")
    assert made.request("openai")["messages"][1]["content"] == "There you are."
    assert made.messages[1].text == "There you are."


TEXTS = (
    "3.10",
    "1e5",
    "007",
    '"quoted"',
    "null",
    "true",
    "[1, 2]",
    '{"a": 1, "a": 2}',
    "9007199254740993.0",
)
OTHERS = (
    "openai",
    "openai-responses",
    "anthropic",
    "gemini",
    "gemini-interactions",
    "bedrock",
    "mistral",
    "cohere",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_of_a_result_stays_a_text(text):
    """Whoever stored it, and whoever reads it: "3.10" is a version, and no number."""
    stored = {
        "openai": [asks(call("abcdefgh1")), answer("abcdefgh1", text)],
        "anthropic": [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"city": "x"}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a", "content": text}],
            },
        ],
        "gemini": [
            said("model", g_call("x")),
            said("user", {"functionResponse": {"name": "f", "response": {"output": text}}}),
        ],
        "ollama": [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "f", "arguments": {}}}],
            },
            {"role": "tool", "tool_name": "f", "content": text},
        ],
    }
    for provider, messages in stored.items():
        made = Conversation(TOOLS)
        made.user("Go.")
        made.read(messages, provider)
        made.user("On.")
        for living in (made, Conversation.from_json(made.to_json(), TOOLS)):
            for other in OTHERS:
                sent = str(living.request(other))
                assert repr(text) in sent or repr(f" {text}") in sent, (provider, other, sent)


SEARCH = {"title": "Prices", "source": "https://shop.test/p"}
SAID = {
    "openai": [
        {"role": "assistant", "content": None, "refusal": "ANSWER"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "ANSWER"}]},
        {"role": "assistant", "content": None, "audio": {"id": "audio_1", "transcript": "ANSWER"}},
    ],
    "openai-responses": [
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "ANSWER"}]},
    ],
    "anthropic": [
        {"role": "user", "content": [{"type": "search_result", **SEARCH, "content": [{"type": "text", "text": "ANSWER"}]}]},
        {"role": "user", "content": [{"type": "document", "source": {"type": "content", "content": "ANSWER"}}]},
        {
            "role": "user",
            "content": [
                {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "ANSWER"}]}}
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "url", "url": "https://shop.test/a.png"}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"},
                    "context": "ANSWER",
                },
            ],
        },
    ],
    "bedrock": [
        {"role": "assistant", "content": [{"citationsContent": {"content": [{"text": "ANS"}, {"text": "WER"}]}}]},
        {"role": "user", "content": [{"guardContent": {"text": {"text": "ANSWER", "qualifiers": ["query"]}}}]},
        {"role": "user", "content": [{"searchResult": {**SEARCH, "content": [{"text": "ANSWER"}]}}]},
        {"role": "user", "content": [{"document": {"format": "txt", "name": "n", "source": {"text": "ANSWER"}}}]},
        {
            "role": "user",
            "content": [{"document": {"format": "txt", "name": "n", "source": {"content": [{"text": "ANSWER"}]}}}],
        },
        {
            "role": "user",
            "content": [{"document": {"format": "pdf", "name": "n", "source": {"bytes": b"D"}, "context": "ANSWER"}}],
        },
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "message"), [(name, item) for name, all_ in SAID.items() for item in all_]
)
def test_text_that_was_said_is_carried(provider, message):
    """Under whatever key its provider has it; and it goes back there as it came."""
    made = Conversation(TOOLS)
    made.user("Go.")
    made.read([message], provider)
    made.user("On.")
    for living in (made, Conversation.from_json(made.to_json(), TOOLS)):
        for other in (*OTHERS, "ollama", "xai:grpc"):
            if other != provider:
                assert "ANSWER" in repr(living.request(other)), other
        key = get(provider).histories.key
        sent = living.request(provider)[key]
        assert message in sent or repr(message["content"])[1:-1] in repr(sent)


def test_what_is_said_in_a_result_is_carried():
    """What a search found, and the context of a document, also inside a result."""
    blocks = [
        {"type": "search_result", **SEARCH, "content": [{"type": "text", "text": "FOUND"}], "citations": {"enabled": True}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"},
            "context": "CONTEXT",
        },
    ]  # fmt: skip
    history = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"city": "x"}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": blocks}],
        },
    ]
    made = Conversation(TOOLS)
    made.user("Go.")
    made.read(history, "anthropic")
    for other in OTHERS:
        sent = repr(made.request(other))
        assert "FOUND" in sent, other
        assert "CONTEXT" in sent, other
        if other != "anthropic":
            assert any("citations" in repair.note for repair in made.repairs), other


BESIDE = {
    "openai": {
        "type": "image_url",
        "image_url": {"url": "https://shop.test/a.png", "detail": "low"},
    },
    "anthropic": {
        "type": "image",
        "source": {"type": "url", "url": "https://shop.test/a.png"},
        "cache_control": {"type": "ephemeral"},
    },
    "bedrock": {
        "document": {
            "format": "pdf",
            "name": "n",
            "source": {"bytes": b"D"},
            "citations": {"enabled": True},
        },
    },
    "gemini": {
        "inlineData": {"mimeType": "video/mp4", "data": "QUJD"},
        "videoMetadata": {"fps": 5},
    },
}


@pytest.mark.parametrize("provider", BESIDE)
def test_what_stands_beside_a_medium_is_named(provider):
    """Where it says something: not the detail that is chosen anyway, nor citations that are off."""
    key = "parts" if provider == "gemini" else "content"
    made = conversation([{"role": "user", key: [BESIDE[provider]]}], provider)
    other = "anthropic" if provider != "anthropic" else "openai-responses"
    made.request(other)
    names = {
        "openai": "detail",
        "anthropic": "cache_control",
        "bedrock": "citations",
        "gemini": "videoMetadata",
    }
    assert [repair.rule for repair in made.repairs if names[provider] in repair.note] == [
        "foreign_part"
    ]
    usual = {"type": "image_url", "image_url": {"url": "https://shop.test/a.png", "detail": "auto"}}
    made = conversation([{"role": "user", "content": [usual]}], "openai")
    made.request("anthropic")
    assert made.repairs == ()


def test_a_medium_is_sent_as_its_media_type_says():
    """A PDF that was given as an image, an image that was given as a file, and "image/jpg"."""
    pdf = {"type": "image_url", "image_url": {"url": "data:application/pdf;base64,QUJD"}}
    made = conversation([{"role": "user", "content": [pdf]}], "openai")
    for other, expected in (
        ("anthropic", "document"), ("bedrock", "document"), ("openai-responses", "input_file"), ("gemini", "inlineData"),
    ):  # fmt: skip
        [message] = next(
            value
            for key, value in made.request(other).items()
            if key in ("messages", "input", "contents")
        )
        [block] = message.get("content", message.get("parts"))
        assert expected in (block.get("type"), *block)
        assert [repair.rule for repair in made.repairs] == ["media_kind"]
    made = Conversation(TOOLS)
    made.user(
        File(b"1", "image/png", "a.png"), Image(b"2", "image/jpg"), Image(b"3", "application/pdf")
    )
    content = made.request("anthropic")["messages"][0]["content"]
    assert [item["type"] for item in content] == ["image", "image", "document"]
    assert [item["source"]["media_type"] for item in content] == [
        "image/png",
        "image/jpeg",
        "application/pdf",
    ]


def heard(media_type):
    return [said("user", {"text": "Go."}, {"inlineData": {"mimeType": media_type, "data": "QUJD"}})]


@pytest.mark.parametrize(
    ("media_type", "other", "expected"),
    [
        (
            "audio/wav",
            "openai",
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
        ),
        (
            "audio/mp3",
            "groq",
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}},
        ),
        (
            "video/mp4",
            "openrouter",
            {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,QUJD"}},
        ),
        ("video/mp4", "bedrock", {"video": {"format": "mp4", "source": {"bytes": b"ABC"}}}),
        ("audio/mpeg", "bedrock", {"audio": {"format": "mp3", "source": {"bytes": b"ABC"}}}),
        (
            "audio/wav",
            "gemini-interactions",
            {"type": "audio", "mime_type": "audio/wav", "data": "QUJD"},
        ),
    ],
)
def test_sounds_and_videos_go_where_they_have_a_place(media_type, other, expected):
    """As the other provider writes them; and read again they are what they were."""
    made = conversation(heard(media_type), "gemini")
    key = get(other).histories.key
    [message] = made.request(other)[key]
    assert message["content"][1] == expected
    assert made.repairs == ()
    again = conversation([message], other)
    [content] = again.request("gemini")["contents"]
    assert content["parts"][1]["inlineData"]["data"] == "QUJD"
    assert content["parts"][1]["inlineData"]["mimeType"] == media_type.replace("mp3", "mpeg")


@pytest.mark.parametrize(
    ("media_type", "other"),
    [
        ("audio/flac", "openai"), ("video/mp4", "openai"), ("audio/wav", "openai-responses"), ("video/mp4", "groq"),
        ("audio/wav", "anthropic"), ("audio/wav", "moonshot"), ("video/mp4", "mistral"), ("audio/wav", "cohere"),
        ("application/zip", "gemini"), ("application/zip", "bedrock"), ("image/tiff", "anthropic"),
    ],
)  # fmt: skip
def test_a_medium_that_is_refused_is_named(media_type, other):
    """In the text, and in the repairs; no other part is made of it."""
    given = (
        Image(b"ABC", media_type)
        if media_type.startswith("image")
        else File(b"ABC", media_type, "song")
    )
    made = Conversation(TOOLS)
    made.user("Go.", given)
    sent = repr(made.request(other))
    assert f"{media_type}, 3 bytes]" in sent
    assert [repair.rule for repair in made.repairs] == ["media_as_text"]


def test_parts_of_chat_completions_in_items_of_responses():
    """Images and files too, as frameworks store them; and they go back as they came."""
    item = {
        "role": "user",
        "content": [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": "https://shop.test/a.png"}}],
    }  # fmt: skip
    made = conversation([item], "openai-responses")
    sent = made.request("anthropic")["messages"][0]["content"]
    assert sent[1]["source"] == {"type": "url", "url": "https://shop.test/a.png"}
    assert made.request("openai-responses")["input"] == [item]


def test_a_sound_that_a_tool_gives():
    """It goes to OpenAI in a message of the user's as a sound, and a video by its name."""

    @tool
    def play() -> list[File]:
        """Play."""
        return [File(b"ABC", "audio/x-wav", "a.wav"), File(b"D", "video/mp4", "b.mp4")]

    results = Registry([play]).bind("openai").dispatch(asks(call("a", "play", "{}")))
    assert results.messages[1]["content"][1:] == [
        {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
        {"type": "text", "text": "[b.mp4, video/mp4, 1 bytes]"},
    ]
    assert [loss.keyword for loss in results.losses] == ["file"]


def test_a_turn_that_was_stored_in_chunks_is_one_turn():
    """As google-genai's own chat stores a stream with parallel calls; Anthropic takes neighbours for one message too."""
    answers = [{"functionResponse": {"name": "f", "response": {"output": city}}} for city in "ab"]
    chunks = [said("user", {"text": "Go."}), said("model", g_call("a")), said("model", g_call("b"))]
    bound = TOOLS.bind("gemini")
    assert rules(bound, [*chunks, said("user", *answers)]) == []
    assert (
        rules(bound, [*chunks, said("user", {"text": "No."}), said("user", *answers)])
        == ["late_result"] * 2
    )
    assert rules(bound, chunks) == ["open_turn"] * 2
    signed = [
        chunks[0],
        said("model", {**g_call("a"), "thoughtSignature": "c2ln"}),
        chunks[2],
        said("user", *answers),
    ]
    assert rules(bound, signed, model="gemini-3-pro") == []
    uses = [{"type": "tool_use", "id": name, "name": "f", "input": {"city": name}} for name in "ab"]
    results = [{"type": "tool_result", "tool_use_id": name, "content": name} for name in "ba"]
    history = [
        GO,
        *({"role": "assistant", "content": [use]} for use in uses),
        {"role": "user", "content": results},
    ]
    assert rules(TOOLS.bind("anthropic"), history) == []
    apart = [GO, asks(call("a")), asks(call("b")), answer("a"), answer("b")]
    assert "late_result" in rules(TOOLS.bind("openai"), apart)


def test_an_empty_message_stands_between_a_call_and_its_result():
    """It is a message, if of nothing: the result is moved before it."""
    history = [
        GO,
        asks(call("abcdefgh1")),
        {"role": "user", "content": ""},
        answer("abcdefgh1"),
        GO,
    ]
    for name in ("openai", "mistral", "cohere", "groq"):
        bound = TOOLS.bind(name)
        assert "late_result" in rules(bound, history)
        repaired = bound.repair_messages(history).messages
        assert [item["role"] for item in repaired[1:3]] == ["assistant", "tool"]
        assert rules(bound, repaired) == []


NO_ID = ("", None, "null")


@pytest.mark.parametrize("given", NO_ID)
@pytest.mark.parametrize(
    "name", ["openai", "groq", "mistral", "cohere", "anthropic", "bedrock", "openai-responses"]
)
def test_calls_and_results_without_ids_are_given_some(name, given):
    """Where the provider asks for them: in both, in order, once; the results are not lost."""
    if given == "null" and name in ("anthropic", "bedrock", "openai-responses"):
        given = ""
    history = {
        "anthropic": [
            GO,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": given, "name": "f", "input": {}}] * 2,
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": given, "content": item} for item in "RS"
                ],
            },
        ],
        "bedrock": [
            said_b("Go."),
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": given, "name": "f", "input": {}}}] * 2,
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": given, "content": [{"text": item}]}}
                    for item in "RS"
                ],
            },
        ],
        "openai-responses": [
            GO,
            *[{"type": "function_call", "call_id": given, "name": "f", "arguments": "{}"}] * 2,
            *[{"type": "function_call_output", "call_id": given, "output": item} for item in "RS"],
        ],
    }.get(name, [GO, asks(call(given), call(given)), answer(given, "R"), answer(given, "S")])
    bound = TOOLS.bind(name)
    assert set(rules(bound, history)) == {"call_id"}
    repaired = bound.repair_messages(history).messages
    assert rules(bound, repaired) == []
    assert bound.repair_messages(repaired).messages == repaired
    parts = [part for read_message in bound.read_messages(repaired) for part in read_message.parts]
    calls, results = (
        [part.id for part in parts if hasattr(part, "wire_name") and not hasattr(part, "code")],
        {},
    )
    results = {part.id: part.text for part in parts if isinstance(part, ToolResultPart)}
    assert [results[call] for call in calls] == ["R", "S"]
    assert len(set(calls)) == 2


def said_b(text):
    return {"role": "user", "content": [{"text": text}]}


def test_half_of_the_ids_are_missing():
    """A result without one answers the call that waits, and one with an id of its own the call that came without."""
    bound = TOOLS.bind("openai")
    for history in (
        [GO, asks(call("a")), answer("", "R")],
        [GO, asks(call("")), answer("made-up", "R")],
        [GO, asks({"type": "function", "function": {"name": "f", "arguments": "{}"}}), {"role": "tool", "content": "R"}],
    ):  # fmt: skip
        assert rules(bound, history) == ["call_id"]
        _, asked, answered = bound.repair_messages(history).messages
        assert asked["tool_calls"][0]["id"] == answered["tool_call_id"] != ""
        assert answered["content"] == "R"
        assert rules(bound, [GO, asked, answered]) == []


LATE = {
    "openai": [GO, asks(call("a")), GO, answer("a", "R"), GO],
    "gemini": [
        said("user", {"text": "Go."}), said("model", g_call("x")), said("user", {"text": "Wait."}),
        said("user", {"functionResponse": {"name": "f", "response": {"output": "R"}}}), said("user", {"text": "On."}),
    ],
    "ollama": [
        GO, {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"city": "x"}}}]},
        GO, {"role": "tool", "tool_name": "f", "content": "R"}, GO,
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "other", ["openai", "gemini", "anthropic", "bedrock", "mistral", "ollama", "huggingface"]
)
@pytest.mark.parametrize("provider", LATE)
def test_asked_after_each_message_it_is_what_is_asked_at_once(provider, other):
    """A result that comes late changes what was made before it; and what was stored makes the same request."""
    steps = Conversation(TOOLS)
    for message in LATE[provider]:
        steps.read([message], provider)
        try:
            sent = steps.request(other)
        except HistoryError:
            continue
    whole = conversation(LATE[provider], provider)
    assert (
        sent
        == whole.request(other)
        == Conversation.from_json(steps.to_json(), TOOLS).request(other)
    )
    assert "R" in repr(sent).replace("On", "")
    assert steps.messages == whole.messages


def test_texts_of_two_turns_stay_two():
    """Where nothing is left of what the user said between them."""
    history = [
        GO, {"role": "assistant", "content": "A"}, {"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]},
        {"role": "assistant", "content": "B"}, GO,
    ]  # fmt: skip
    sent = conversation(history, "openai").request("mistral")["messages"]
    assert [item["content"] for item in sent] == ["Go.", "A", "B", "Go."]


def test_a_repair_names_the_message_that_it_is_of():
    """Also where results that stood in messages of their own are sent in one."""
    history = [GO, asks(call("a")), answer("a"), answer("stray"), GO]
    made = conversation(history, "openai")
    made.request("anthropic")
    assert [(repair.rule, repair.path) for repair in made.repairs] == [
        ("orphan_result", "messages[3]")
    ]


def test_what_the_user_says_beside_a_result_follows_it():
    """In a message of its own, which the provider's rules look at."""
    blocks = [
        {"type": "tool_result", "tool_use_id": "abcdefgh1", "content": "R"},
        {"type": "text", "text": "And now?"},
    ]
    use = {"type": "tool_use", "id": "abcdefgh1", "name": "f", "input": {"city": "x"}}
    history = [GO, {"role": "assistant", "content": [use]}, {"role": "user", "content": blocks}]
    made = conversation(history, "anthropic")
    sent = made.request("mistral")["messages"]
    assert [item["role"] for item in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert rules(TOOLS.bind("mistral"), sent) == []
    [answered, asked] = made.request("openai")["messages"][-2:]
    assert (answered["role"], answered["tool_call_id"]) == ("tool", "abcdefgh1")
    assert asked == {"role": "user", "content": "And now?"}


def test_an_error_with_an_image_stays_an_error():
    """Marked where there is no flag, and what only looks like the mark is moved."""
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"},
    }
    for text, is_error in (
        ("It broke.", True),
        ("Error [tool_error]: said by a person", False),
        ("", True),
    ):
        content = [*([{"type": "text", "text": text}] if text else []), image]
        history = [
            GO,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"city": "x"}}],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "a",
                        "content": content,
                        "is_error": is_error,
                    }
                ],
            },
        ]
        for other in ("openai-responses", "gemini", "bedrock", "gemini-interactions"):
            sent = conversation(history, "anthropic").request(other, model="m")[
                get(other).histories.key
            ]
            [result] = [
                part for read_message in TOOLS.bind(other).read_messages(sent) for part in read_message.parts if isinstance(part, ToolResultPart)
            ]  # fmt: skip
            assert (result.code is not None) is is_error, other
            assert [part.text for part in result.parts if hasattr(part, "text")] == (
                [text] if text else []
            ) or not text


def test_the_ending_of_a_url_tells_the_media_type():
    """Where nobody says it: Gemini is told one in any case."""
    for url, media_type in (
        ("https://shop.test/a.jpg?size=1", "image/jpeg"), ("https://shop.test/a", "image/png"), ("https://shop.test/a.webp", "image/webp"),
    ):  # fmt: skip
        made = conversation(
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}],
            "openai",
        )
        [content] = made.request("gemini")["contents"]
        assert content["parts"][0]["fileData"] == {"fileUri": url, "mimeType": media_type}


ASSISTANTS = {
    "openai": lambda role: {
        "choices": [{"finish_reason": "tool_calls", "message": {**asks(call("abcdefgh1")), **role}}]
    },
    "mistral": lambda role: {
        "choices": [{"finish_reason": "tool_calls", "message": {**asks(call("abcdefgh1")), **role}}]
    },
    "gemini": lambda role: {
        "candidates": [{"content": {"parts": [g_call("x")], **role}, "finishReason": "STOP"}]
    },
    "bedrock": lambda role: {
        "output": {
            "message": {
                "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {"city": "x"}}}],
                **role,
            }
        },
        "stopReason": "tool_use",
    },
    "anthropic": lambda role: {
        "type": "message",
        "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"city": "x"}}],
        "stop_reason": "tool_use",
        **role,
    },
    "ollama": lambda role: {
        "message": {
            "content": "",
            "tool_calls": [{"function": {"name": "f", "arguments": {"city": "x"}}}],
            **role,
        },
        "done": True,
    },
    "openai-responses": lambda role: {
        "object": "response",
        "status": "completed",
        "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "Ok."}], **role},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"city": "x"}'},
        ],
    },
}


@pytest.mark.parametrize("role", [{"role": ""}, {"role": None}, {"role": "user"}, {}], ids=str)
@pytest.mark.parametrize("provider", ASSISTANTS)
def test_a_response_is_the_assistants(provider, role):
    """Whatever role a gateway gives it: what ran is kept, and goes back under the right one."""
    response = ASSISTANTS[provider](role)
    if provider in ("openai", "mistral") and role == {}:
        del response["choices"][0]["message"]["role"]
    made = Conversation(TOOLS)
    made.user("Go.")
    made.request(provider)
    results = made.dispatch(response, provider=provider)
    assert [result.value for result in results] == ["x"]
    roles = [message.role for message in made.messages]
    assert roles == ["user", *["assistant"] * (len(roles) - 2), "tool"]
    right = ASSISTANTS[provider]({"role": "model" if provider == "gemini" else "assistant"})
    again = Conversation(TOOLS)
    again.user("Go.")
    again.request(provider)
    again.dispatch(right, provider=provider)
    assert made.request(provider) == again.request(provider)


def test_a_stream_whose_later_chunks_have_an_empty_role():
    """The first one counts, also for the name and the id of a call."""
    made = Conversation(TOOLS)
    made.user("Go.")
    made.request("openai")
    collector = made.collector()
    first = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
    rest = {
        "index": 0,
        "id": "",
        "type": "",
        "function": {"name": "", "arguments": '{"city": "x"}'},
    }
    for delta in (
        {"role": "assistant", "content": None}, {"role": "", "tool_calls": [first]}, {"role": "", "tool_calls": [rest]},
        {"role": None},
    ):  # fmt: skip
        collector.feed(
            {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
        )
    collector.feed(
        {"choices": [{"index": 0, "delta": {"role": ""}, "finish_reason": "tool_calls"}]}
    )
    assert [item.value for item in made.dispatch(collector)] == ["x"]
    assert made.request("openai")["messages"][1]["role"] == "assistant"


PAUSED = [
    {"type": "text", "text": "I look."},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
]


def test_what_was_paused_goes_on():
    """With or without what the server has found so far; a text of the assistant's is not to be gone on with."""
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    bound = TOOLS.bind("anthropic")
    for content in (PAUSED, [*PAUSED, found]):
        history = [GO, {"role": "assistant", "content": content}]
        assert rules(bound, history, model="claude-opus-4-6") == []
        made = Conversation(TOOLS)
        made.user("Go.")
        made.request("anthropic", model="claude-opus-4-6")
        made.dispatch(
            {
                "type": "message",
                "role": "assistant",
                "stop_reason": "pause_turn",
                "content": content,
            }
        )
        assert made.request("anthropic", model="claude-opus-4-6")["messages"] == history
        restored = Conversation.from_json(made.to_json(), TOOLS)
        assert restored.request("anthropic", model="claude-opus-4-6")["messages"] == history
    ended = [
        GO,
        {"role": "assistant", "content": [*PAUSED, found, {"type": "text", "text": "Here."}]},
    ]
    assert rules(bound, ended, model="claude-opus-4-6") == ["last_is_assistant"]


def test_a_signed_part_without_text_stays():
    """Gemini 3 ends a stream with an empty text that holds the signature of all before it."""
    signed = {"text": "", "thoughtSignature": "c2ln"}
    history = [
        said("user", {"text": "Go."}),
        said("model", {"text": "Ok."}, signed),
        said("user", {"text": "On."}),
    ]
    bound = TOOLS.bind("gemini")
    assert rules(bound, history, model="gemini-3-pro") == []
    history[1]["parts"][1] = {"text": ""}
    assert rules(bound, history, model="gemini-3-pro") == ["blank_text"]
    assert bound.repair_messages(history).messages[1] == said("model", {"text": "Ok."})


def test_an_item_goes_without_its_id_where_its_reasoning_does():
    """Its call and its text alike, in that turn alone; the same model is sent all of it."""
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Ok.", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": '{"city": "x"}', "status": "completed"},
    ]  # fmt: skip
    made = Conversation(TOOLS)
    made.user("Go.")
    made.request("openai-responses", model="gpt-5")
    made.dispatch({"object": "response", "model": "gpt-5", "status": "completed", "output": output})
    plain = {
        "type": "function_call",
        "id": "fc_2",
        "call_id": "b",
        "name": "f",
        "arguments": '{"city": "y"}',
    }
    made.dispatch(
        {"object": "response", "model": "gpt-5", "status": "completed", "output": [plain]}
    )
    for living in (made, Conversation.from_json(made.to_json(), TOOLS)):
        assert living.request("openai-responses", model="gpt-5")["input"][1:4] == output
        sent = living.request("openai-responses", model="gpt-5-mini")["input"]
        assert [item.get("id") for item in sent] == [None, None, None, None, "fc_2", None]
        assert sent[1] == {"role": "assistant", "content": "Ok."}
        assert [repair.rule for repair in living.repairs] == [
            "foreign_reasoning",
            *["item_without_reasoning"] * 2,
        ]
        stays = living.request(
            "openai-responses", model="gpt-5-mini", repairs={"item_without_reasoning": False}
        )["input"]
        assert [stay.get("id") for stay in stays][1:3] == ["msg_1", "fc_1"]
    stored = [GO, *output[1:], {"type": "function_call_output", "call_id": "a", "output": "7"}]
    bound = TOOLS.bind("openai-responses")
    assert rules(bound, stored) == rules(bound, stored, model="gpt-5") == ["item_without_reasoning"]
    assert rules(bound, stored, model="gpt-4.1") == []
    assert rules(bound, [GO, output[0], *stored[1:]]) == []


def test_what_json_has_no_form_for_is_stored():
    """Halves of surrogate pairs and numbers beyond floats; and keys that look like what stands for them."""
    made = Conversation(TOOLS)
    made.user("half: \ud83d")
    arguments = {
        "city": float("nan"),
        "$float": "inf",
        "$$float": 1,
        "$bytes": "QUJD",
        "bytes": "QUJD",
        "n": [float("inf")],
    }
    made.read([GO, asks(call("a", "f", arguments)), answer("a")], "openai")
    text = made.to_json()
    assert json.loads(text.encode(), parse_constant=pytest.fail)
    restored = Conversation.from_json(text, TOOLS)
    assert restored.messages == made.messages
    assert restored.messages[0].text == "half: \ud83d"
    sent = restored.request("anthropic")["messages"][2]["content"][0]["input"]
    assert sent == made.request("anthropic")["messages"][2]["content"][0]["input"]
    assert json.dumps(sent, allow_nan=False)
    assert (sent["n"], sent["$float"], sent["bytes"]) == (["inf"], "inf", "QUJD")
    numbers = dataclasses.replace(
        made.messages[2].parts[0], arguments={"n": float("-inf")}, raw={"n": float("inf")}
    )
    kept = Conversation(TOOLS, [dataclasses.replace(made.messages[2], parts=(numbers,))])
    assert Conversation.from_json(kept.to_json()).messages == kept.messages


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity"])
def test_a_number_beyond_floats_can_be_sent_back(number):
    """By its text, as JSON has no form for it; from a body, and from data that a client has parsed."""
    block = json.dumps({"type": "tool_use", "id": "a", "name": "g", "input": {"n": 0}}).replace(
        "0", number
    )
    body = f'{{"type": "message", "role": "assistant", "content": [{block}]}}'
    for response in (body, json.loads(body)):
        results = TOOLS.bind("anthropic").dispatch(response)
        assert not results.ok
        assert json.dumps(results.turn, allow_nan=False)
    assert TOOLS.bind("anthropic").dispatch(body).turn[0]["content"][0]["input"] == {
        "n": {"NaN": "nan", "Infinity": "inf"}.get(number, number)
    }


def test_a_history_that_is_nested_too_deep():
    """An error of ours, wherever it is read."""
    deep = "[" * 100_000
    for given in (deep, deep.encode()):
        with pytest.raises(UsageError, match="not a conversation"):
            Conversation.from_json(given)
        with pytest.raises(ResponseError):
            Conversation(TOOLS).read(given, "openai")
    node = []
    for _ in range(100_000):
        node = [node]
    with pytest.raises(ResponseError, match="nested too deep"):
        Conversation(TOOLS).read([{"role": "user", "content": node}], "openai")
    part = dataclasses.replace(conversation([GO], "openai").messages[0], raw={"content": node})
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        Conversation(TOOLS, [part]).to_json()


def signatures(request):
    return [
        [part.get("thoughtSignature") for part in content["parts"] if "functionCall" in part]
        for content in request["contents"]
        if content["role"] == "model"
    ]


SKIPPED = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


def test_calls_of_others_are_marked_in_every_turn():
    """Gemini 3 asks for a signature: what another wrote has none, in the current turn and in those before it."""
    history = [
        GO,
        asks(call("a"), call("b")),
        answer("a"),
        answer("b"),
        GO,
        asks(call("c")),
        answer("c"),
    ]
    made = conversation(history, "openai")
    assert signatures(made.request("gemini", model="gemini-3-pro")) == [[SKIPPED, None], [SKIPPED]]
    assert [repair.rule for repair in made.repairs] == ["missing_signature"] * 2
    ended = conversation([*history, {"role": "assistant", "content": "Ok."}, GO], "openai")
    assert signatures(ended.request("gemini", model="gemini-3-pro")) == [
        [SKIPPED, None],
        [SKIPPED],
        [],
    ]


def test_a_turn_of_several_steps_is_signed_to_its_end():
    """A call of its own without a signature is marked as long as its turn lasts, however often it is asked meanwhile."""
    steps = [said("user", {"text": "Go."})]
    made = conversation(steps, "gemini", "gemini-3-pro")
    made.request("gemini", model="gemini-3-pro")
    for city in "abc":
        step = [
            said("model", g_call(city)),
            said("user", {"functionResponse": {"name": "f", "response": {"output": city}}}),
        ]
        made.read(step, "gemini", model="gemini-3-pro")
        steps += step
        sent = made.request("gemini", model="gemini-3-pro")
        assert signatures(sent) == [[SKIPPED]] * (len(steps) // 2)
        assert sent == conversation(steps, "gemini", "gemini-3-pro").request(
            "gemini", model="gemini-3-pro"
        )
    made.user("On.")
    assert signatures(made.request("gemini", model="gemini-3-pro")) == [[None]] * 3


@pytest.mark.parametrize("other", ["openai", "mistral", "openai-responses", "ollama", "cohere"])
def test_a_result_with_the_user_s_words_beside_it(other):
    """The commonest message that is stored of Anthropic's: a result, and what the user says to it."""
    use = {"type": "tool_use", "id": "abcdefgh1", "name": "f", "input": {"city": "x"}}
    result = {"type": "tool_result", "tool_use_id": "abcdefgh1", "content": "R"}
    history = [GO, {"role": "assistant", "content": [use]}]
    history.append({"role": "user", "content": [result, {"type": "text", "text": "And now?"}]})
    [read] = TOOLS.bind("anthropic").read_messages([history[-1]])
    assert read.role == "user"
    made = conversation(history, "anthropic")
    sent = made.request(other)[get(other).histories.key]
    [told] = [
        item
        for item in sent
        if item.get("role") == "tool" or item.get("type") == "function_call_output"
    ]
    assert told.get("content", told.get("output")) == "R"
    assert sent[-1] == {"role": "user", "content": "And now?"}
    assert rules(TOOLS.bind(other), sent) == []


@pytest.mark.parametrize(
    "text", ["Error [tool_error]: as it says", " Error [x]: a", "  Error [x]: b", "Error: c", " d"]
)
def test_a_value_that_looks_like_an_error_comes_back_as_it_was(text):
    """The blank that keeps the mark of errors apart is taken back, and no other."""
    use = {"type": "tool_use", "id": "abcdefgh1", "name": "f", "input": {"city": "x"}}
    result = {"type": "tool_result", "tool_use_id": "abcdefgh1", "content": text}
    history = [GO, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    for other in ("openai", "mistral", "cohere", "ollama", "openai-responses", "xai:grpc"):
        sent = conversation(history, "anthropic").request(other)[get(other).histories.key]
        [told] = [
            part
            for read_message in TOOLS.bind(other).read_messages(sent)
            for part in read_message.parts
            if hasattr(part, "code")
        ]
        assert (told.text, told.code) == (text, None), other
        back = conversation(sent, other).request("anthropic")["messages"][2]["content"]
        assert [item["content"] for item in back] == [text], other


def test_what_was_stored_is_repaired_as_it_would_have_been():
    """An id that is too long, of an item without its reasoning, and of a call and its result."""
    long = "a" * 70
    item = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": long,
        "name": "f",
        "arguments": '{"city": "x"}',
    }
    histories = {
        "openai-responses": [{"type": "reasoning", "id": "rs_1", "summary": []}, item, GO],
        "openai": [GO, asks(call(long)), {**answer(long), "name": "f"}, GO],
    }
    for provider, history in histories.items():
        made = conversation(history, provider, "gpt-5")
        restored = Conversation.from_json(made.to_json(), TOOLS)
        assert made.request(provider, model="gpt-5-mini") == restored.request(
            provider, model="gpt-5-mini"
        )
        assert made.repairs == restored.repairs
        assert made.repairs


@pytest.mark.parametrize(
    "provider", ["openai", "openai-responses", "anthropic", "gemini-interactions"]
)
def test_of_two_calls_with_one_id_the_first_of_the_turn_is_answered(provider):
    """In Responses, too, where each call is a message of its own, and whatever it is sent to."""
    items = [
        GO,
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"city": "first"}'},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"city": "second"}'},
        {"type": "function_call_output", "call_id": "c", "output": "the answer"},
        GO,
    ]
    chat = Conversation(TOOLS)
    chat.read(items, "openai-responses")
    chat.request(provider, model="m")
    [unanswered] = [repair for repair in chat.repairs if repair.rule == "unanswered_call"]
    assert unanswered.path == "messages[2]"
