"""A name's form at a provider is a function of the tool's own name; what a model makes of it is read back, on record."""

import json
from datetime import timedelta
from typing import Any

import pytest

from toolshape import Conversation, ExportError, Registry, Tool
from toolshape._families import get
from toolshape._families.names import available

DOTTED = "Weather.GetCurrent"
SENT = "Weather_GetCurrent"


def tool_of(name: str, **options: Any) -> Tool[..., Any]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    entry = {"name": name, "description": "D.", "inputSchema": schema}
    return Tool.from_definition(entry, lambda **_: name, **options)


def called_as(bound: Any, name: str) -> Any:
    """A message of the provider in which a model has called the dotted tool by a name."""
    [own_name] = [sent for sent, tool in bound.names_by_wire_name().items() if tool == DOTTED]
    message = bound.calls_as_messages([(DOTTED, {"city": "Bonn"})])[-1]
    return json.loads(json.dumps(message).replace(own_name, name))


@pytest.mark.parametrize("provider", available())
def test_adding_a_tool_renames_no_other(provider: str) -> None:
    names = [DOTTED, "größe", "7th", "find order!", "a.b.c", "x" * 100]
    alone = {name: get(provider).names.wire_name(name) for name in names}
    bound = Registry([tool_of(name) for name in names]).bind(provider)
    assert {name: sent for sent, name in bound.names_by_wire_name().items()} == alone
    assert all(sent is not None and get(provider).names.admits(sent) for sent in alone.values())


@pytest.mark.parametrize("provider", ["openai", "anthropic", "bedrock", "cohere", "mistral"])
def test_a_name_is_sent_readable(provider: str) -> None:
    assert list(Registry([tool_of(DOTTED)]).bind(provider).names_by_wire_name()) == [SENT]
    [long] = Registry([tool_of("a." + "x" * 200)]).bind(provider).names_by_wire_name()
    assert long.startswith("a_xxx")
    assert len(long) <= get(provider).names.longest


@pytest.mark.parametrize(
    "provider", ["openai", "openai-responses", "anthropic", "bedrock", "cohere", "mistral", "text:hermes", "groq"]
)  # fmt: skip
@pytest.mark.parametrize("name", [DOTTED, "Weather:GetCurrent", "Weather/GetCurrent"])
def test_a_form_that_one_tool_can_have_is_read(provider: str, name: str) -> None:
    """With a row; and what is stored and sent back has the name that was sent."""
    bound = Registry([tool_of(DOTTED), tool_of("other")]).bind(provider)
    results = bound.dispatch(called_as(bound, name))
    [result] = results
    assert result.ok, result.text
    assert result.name == DOTTED
    assert [(row.path, row.rule, row.before, row.after) for row in result.coercions] == [
        ("", "tool_name", name, SENT)
    ]
    assert result.call.wire_name == SENT
    assert name not in json.dumps([result.call.raw, results.turn[:-1]])


def test_a_name_that_two_tools_can_have_is_unknown() -> None:
    bound = Registry([tool_of(DOTTED), tool_of("other")]).bind("gemini")
    assert list(bound.names_by_wire_name()) == [DOTTED, "other"]
    both = Registry([tool_of(DOTTED), tool_of("Weather:GetCurrent")]).bind("gemini")
    [result] = both.dispatch(called_as(both, "Weather/GetCurrent"))
    assert result.error is not None
    assert result.error.code == "unknown_tool"
    strict = Registry([tool_of(DOTTED, coerce=False)]).bind("openai")
    [result] = strict.dispatch(called_as(strict, DOTTED))
    assert result.error is not None
    assert result.error.code == "unknown_tool"


def test_names_that_meet_are_an_error_with_the_ways_out() -> None:
    tools = Registry([tool_of("todo.add"), tool_of("todo_add")])
    with pytest.raises(
        ExportError, match=r"'todo\.add' and 'todo_add' both .*renamed\(\) or prefixed\(\)"
    ):
        tools.bind("openai")
    assert len(tools.bind("gemini").export()[0]["functionDeclarations"]) == 2
    assert tools.renamed({"todo_add": "todo_append"}).bind("openai").names_by_wire_name() == {
        "todo_add": "todo.add",
        "todo_append": "todo_append",
    }


def test_the_name_of_the_version_before_is_understood_where_it_is_stored() -> None:
    """In a call, in a history and after a restore; a call then answers to the same tool."""
    tools = Registry([tool_of(DOTTED), tool_of("other")])
    bound = tools.bind("openai")
    before = get("openai").names.name_with_digest(DOTTED)
    assert before == "Weather_GetCurrent_e07e5e74"
    message = called_as(bound, before)
    results = bound.dispatch(message)
    assert results[0].name == DOTTED
    assert not results[0].coercions
    history = [{"role": "user", "content": "Hi."}, message, *results.messages]
    parts = [part for stored in bound.read_messages(history) for part in stored.parts]
    assert [part.name for part in parts if hasattr(part, "fault")] == [DOTTED]


def test_a_conversation_keeps_the_name_that_was_sent() -> None:
    """Also while a call waits: it is approved by another process, which may have one more tool by then."""
    waiting = tool_of(DOTTED, approve=True)
    chat = Conversation(Registry([waiting]))
    chat.user("How is Bonn?")
    chat.request("openai")
    message = called_as(Registry([waiting]).bind("openai"), DOTTED)
    chat.dispatch({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    stored = chat.to_json()
    assert DOTTED not in json.dumps(json.loads(stored)["messages"]).replace(
        f'"tool": "{DOTTED}"', ""
    )
    more = Registry([waiting, tool_of("Weather-GetCurrent")])
    restored = Conversation.from_json(stored, more)
    [pending] = restored.pending
    assert pending.name == DOTTED
    restored.deny(pending.id, "Not now.")
    [result] = restored.run()
    assert result.name == DOTTED


def test_a_history_never_guesses() -> None:
    """At the time of a stored message, a name that was not sent may have been another tool's."""
    bound = Registry([tool_of(DOTTED)]).bind("openai")
    history = [{"role": "user", "content": "Hi."}, called_as(bound, "Weather:GetCurrent")]
    [part] = [
        part
        for message in bound.read_messages(history)
        for part in message.parts
        if hasattr(part, "fault")
    ]
    assert part.fault == "unknown_tool"


def test_a_token_holds_the_name_that_was_sent() -> None:
    tools = Registry([tool_of(DOTTED, approve=True)])
    bound = tools.bind("openai")
    plan = bound.plan(called_as(bound, DOTTED))
    [pending] = plan.pending
    token = plan.pause(b"k" * 32, audience="ann", expires=timedelta(hours=1))
    with_more = Registry([tool_of(DOTTED, approve=True), tool_of("Weather-GetCurrent")])
    [result] = with_more.resume(token, b"k" * 32, audience="ann", decisions={pending.id: True})
    assert result.value == DOTTED


def test_a_stream_is_read_like_a_response() -> None:
    bound = Registry([tool_of(DOTTED)]).bind("openai")
    call = called_as(bound, DOTTED)["tool_calls"][0]
    collector = bound.collector()
    collector.feed({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **call}]}}]})
    collector.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    [result] = collector.plan().run()
    assert result.value == DOTTED
    assert [row.rule for row in result.coercions] == ["tool_name"]
