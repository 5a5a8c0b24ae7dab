"""Histories: what mutants of their rules have shown to be untested."""

import itertools
import re

import pytest

from toolshape import Conversation, HistoryError, Registry, tool
from toolshape._families import get
from toolshape._families.names import available


@tool
def f(city: str) -> str:
    """Find."""
    return city


TOOLS = Registry([f])
GO = {"role": "user", "content": "Go."}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
TEXT = {"type": "text", "text": "Ok."}


def conversation(messages, provider, model=None):
    made = Conversation(TOOLS)
    made.read(messages, provider, model=model)
    return made


def changes(made):
    """Each repair of a conversation's last request: where, and for which rule."""
    return [(repair.path, repair.rule) for repair in made.repairs]


@pytest.mark.parametrize(
    ("model", "other", "is_same"),
    [
        ("models/gemini-3-pro", "gemini-3-pro", True),  # as the Gemini API lists a model
        ("gemini-3-pro", "models/gemini-3-pro", True),
        ("publishers/google/models/gemini-3-pro", "gemini-3-pro", True),  # as Vertex does
        ("models/gemini-3-pro", "models/gemini-3-flash", False),
    ],
)
def test_the_folder_of_a_model_is_no_part_of_its_name(model, other, is_same):
    """A signature goes back to the model that made it, whichever way its name is written."""
    part = {"functionCall": {"name": "f", "args": {"city": "x"}}, "thoughtSignature": "c2ln"}
    response = {"functionResponse": {"name": "f", "response": {"output": "7"}}}
    history = [
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [part]},
        {"role": "user", "parts": [response]},
    ]
    made = conversation(history, "gemini", model)
    sent = made.request("gemini", model=other)["contents"][1]["parts"][0]
    assert (sent.get("thoughtSignature") == "c2ln") is is_same


@pytest.mark.parametrize(
    ("content", "found"), [([THOUGHT, TEXT], ["messages[1].content[0]"]), ([TEXT], [])]
)
def test_reasoning_of_another_model_is_named_where_it_is_left_out(content, found):
    """And nothing is named where nothing is."""
    made = conversation(
        [GO, {"role": "assistant", "content": content}, GO], "anthropic", "claude-opus-4"
    )
    sent = made.request("anthropic", model="claude-sonnet-4")["messages"]
    assert sent[1]["content"] in ([TEXT], "Ok.")
    assert changes(made) == [(path, "foreign_reasoning") for path in found]


def call(call_id, name="f", arguments='{"city": "x"}'):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls, **more):
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def answer(call_id, text="7"):
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def test_a_history_in_which_the_user_asks_nothing():
    """There is no question whose turn it could be."""
    made = conversation([asks(call("a")), answer("a")], "openai")
    request = made.request("gemini", model="gemini-3-pro")
    assert [content["role"] for content in request["contents"]] == ["user", "model", "user"]
    assert not TOOLS.bind("gemini").check_messages(request["contents"], model="gemini-3-pro")


SICK = {
    "a call that nobody answered": [GO, asks(call("a")), GO],
    "a result of no call": [GO, answer("a"), GO],
    "a result that came later": [GO, asks(call("a")), GO, answer("a"), GO],
    "two results of a call": [GO, asks(call("a")), answer("a"), answer("a", "8"), GO],
    "one id for two calls": [GO, asks(call("a")), answer("a"), GO, asks(call("a")), answer("a"), GO],
    "an id that is odd": [GO, asks(call("a/b c:" + "d" * 80)), answer("a/b c:" + "d" * 80), GO],
    "arguments that were cut off": [GO, asks(call("a", arguments='{"city": "x')), answer("a"), GO],
    "a tool that is not here": [GO, asks(call("a", "gone")), answer("a"), GO],
    "a name that is odd": [GO, asks(call("a", "files.read x")), answer("a"), GO],
    "a system prompt after the assistant": [GO, {"role": "assistant", "content": "Ok."}, {"role": "system", "content": "S."}, GO],
    "text beside a call": [GO, asks(call("a"), content="So."), answer("a"), GO],
    "a blank text": [GO, {"role": "assistant", "content": " "}, GO],
    "the user twice": [GO, GO],
    "the assistant first": [{"role": "assistant", "content": "Hello."}, GO],
    "an image of the assistant's": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.test/b.png"}}]},
        asks(call("a")), answer("a"), GO,
    ],
}  # fmt: skip
ALTERNATING = [
    name
    for name in available()
    if any(rule.name == "same_role" for rule in getattr(get(name).histories, "rules", ()))
]
SPEAKERS = [name for name in available() if get(name).histories is not None and ":" not in name]


def test_each_repair_says_what_was_wrong_and_what_was_done():
    """Both, whichever rule of whichever provider it is; so does the finding, where nothing is repaired."""
    said = set()
    for history in SICK.values():
        for provider in SPEAKERS:
            made = conversation(history, "openai")
            try:
                request = made.request(provider)[get(provider).histories.key]
            except HistoryError:
                continue
            assert not TOOLS.bind(provider).check_messages(request)
            for repair in made.repairs:
                said.add(repair.rule)
                assert re.fullmatch(r"(?!None).+: (?!None).+", repair.note), repair
                assert repair.path.startswith("messages["), repair
        for problem in TOOLS.bind("openai").check_messages(history):
            assert problem.message, problem
            assert re.fullmatch("a repair: (?!None).+", problem.hint), problem
    assert said >= {
        "unanswered_call",
        "orphan_result",
        "late_result",
        "duplicate_result",
        "system_between",
    }, said


@pytest.mark.parametrize("provider", SPEAKERS)
def test_a_text_instead_of_messages_is_the_users(provider):
    """As Responses and Interactions take it; it is read so for all."""
    [message] = TOOLS.bind(provider).read_messages({get(provider).histories.key: "Hello."})
    assert (message.role, [part.text for part in message.parts]) == ("user", ["Hello."])


def test_an_answer_that_the_model_goes_on_with_may_be_the_last():
    """Mistral's ``prefix``: without it the user's turn is missing."""
    begun = {"role": "assistant", "content": "The answer is"}
    bound = TOOLS.bind("mistral")
    assert [problem.rule for problem in bound.check_messages([GO, begun])] == ["last_is_assistant"]
    assert bound.check_messages([GO, begun | {"prefix": True}]) == []


def test_what_is_filled_in_and_what_follows_are_one_message():
    """Where roles must alternate: the result that was filled in was settled before the user went on."""
    made = conversation([GO, asks(call("a")), GO], "openai")
    for _ in range(2):
        for provider in ALTERNATING:
            wire = made.request(provider)[get(provider).histories.key]
            roles = [message["role"] for message in wire]
            assert all(role != other for role, other in itertools.pairwise(roles)), (provider, wire)
        made.user("On.")
    assert ALTERNATING


def test_the_note_says_what_becomes_of_an_image_in_a_result():
    """Where no message could hold it, it is not sent; elsewhere it follows the results."""
    call_of_gemini = {"functionCall": {"name": "f", "args": {"city": "x"}}}
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    response = {"name": "f", "response": {"output": "7"}, "parts": [image]}
    of_gemini = [
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [call_of_gemini]},
        {"role": "user", "parts": [{"functionResponse": response}]},
    ]
    in_result = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    of_openai = [GO, asks(call("a")), answer("a", [in_result])]
    for provider, model, history, done in (
        ("gemini", "gemini-2.5-pro", of_gemini, "only its name is sent"),
        ("openai", None, of_openai, "it is moved out, or only its name is sent"),
    ):
        repaired = TOOLS.bind(provider).repair_messages(history, model=model)
        [note] = [repair.note for repair in repaired.repairs if repair.rule == "media_in_result"]
        assert note == f"a result contains an image or file: {done}"
        assert ("aGk=" in str(repaired.messages)) is (provider == "openai")
