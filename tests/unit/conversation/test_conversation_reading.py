"""A conversation keeps what has run, whatever the message of the response looks like."""

import json
from datetime import timedelta

import pytest

from toolshape import Conversation, Registry, UsageError, tool
from toolshape.provider import get

KEY = b"k" * 32


@pytest.fixture
def paid():
    return []


@pytest.fixture
def tools(paid):
    @tool(effects=["write"])
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    return Registry([pay])


CALL = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 5}'}}


def completion(*calls, **message):
    said = {"role": "assistant", "content": None, "tool_calls": list(calls), **message}
    return {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": said}]}


STRAY = {"id": "null", "type": "function", "function": {"name": None, "arguments": "{}"}}


@pytest.mark.parametrize(
    "response",
    [
        completion(CALL, role=""),
        completion(CALL, role="tool"),
        completion(CALL, role=None),
        completion(STRAY, CALL),
        completion(CALL, STRAY),
        completion(CALL, content=5),
        completion(CALL, content={"type": "tool_use"}),
        completion(CALL, content=[{"type": "tool_use", "id": "c1"}]),
    ],
)
def test_what_was_paid_is_kept_and_sent(tools, paid, response):
    """A reader that finds other calls in the message, or none, loses neither the call nor its result."""
    chat = Conversation(tools)
    chat.user("pay")
    chat.request("openai", model="m")
    chat.dispatch(response)
    assert paid == [5]
    assert [message.role for message in chat] == ["user", "assistant", "tool"]
    sent = chat.request("anthropic", model="m", max_tokens=9)["messages"]
    blocks = [
        block
        for message in sent
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    uses = {block["id"]: block for block in blocks if block["type"] == "tool_use"}
    results = [block for block in blocks if block["type"] == "tool_result"]
    [answer] = [block for block in results if block["content"] == "paid"]
    assert uses[answer["tool_use_id"]]["input"] == {"amount": 5}


def test_a_provider_without_histories_is_refused_before_anything_runs(tools, paid):
    chat = Conversation(tools)
    with pytest.raises(UsageError, match="histories"):
        chat.dispatch({"name": "pay", "arguments": {"amount": 5}}, provider="json-schema")
    assert get("json-schema").histories is None
    assert paid == []


@pytest.mark.parametrize(
    "odd", [{"toolshape:bytes": 5}, {"$bytes": "AAAA"}, {"$$bytes": 5}, {"$float": "nan"}]
)
def test_a_token_holds_what_a_model_wrote_as_it_wrote_it(odd):
    @tool(effects=["write"], approve=True)
    def refund(order_id: str) -> str:
        """Refund."""
        return f"done {order_id}"

    calls = [
        {"type": "tool_use", "id": "t1", "name": "refund", "input": {"order_id": "1"}},
        {"type": "tool_use", "id": "t2", "name": "nope", "input": odd},
    ]
    tools = Registry([refund])
    body = {"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": calls}
    token = (
        tools.bind("anthropic").plan(body).pause(KEY, audience="desk", expires=timedelta(hours=1))
    )
    results = tools.resume(token, KEY, {"t1": True}, audience="desk")
    assert results[0].value == "done 1"
    assert results.turn[0]["content"] == calls


STORED = {
    "openai": lambda name: [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**CALL, "function": {"name": name, "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
    ],
    "anthropic": lambda name: [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": name, "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1"}]},
    ],
    "bedrock": lambda name: [
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "t1", "name": name, "input": {}}}],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "1"}]}}],
        },
    ],
    "gemini": lambda name: [
        {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": name, "response": {"output": 1}}}],
        },
    ],
}
USER = {
    "gemini": {"role": "user", "parts": [{"text": "go"}]},
    "bedrock": {"role": "user", "content": [{"text": "go"}]},
}


@pytest.mark.parametrize("provider", STORED)
@pytest.mark.parametrize("name", ["look up", "9 lives", "p\u00e9age", "x" * 200])
def test_a_tool_has_one_name_at_a_provider(provider, name):
    """In what is exported, in a request that goes on with another's conversation, and in a history that is repaired."""

    @tool(name=name)
    def look() -> int:
        """Look."""
        return 1

    tools = Registry([look])
    bound = tools.bind(provider)
    [entry] = bound.export()
    [held] = entry.get("functionDeclarations", [entry])
    wire_name = (held.get("function") or held.get("toolSpec") or held)["name"]
    chat = Conversation(tools)
    chat.user("look")
    said = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": name, "arguments": {}}}],
    }
    chat.dispatch(
        {"model": "m", "created_at": "", "message": said, "done": True}, provider="ollama"
    )
    assert json.dumps(wire_name) in json.dumps(chat.request(provider, model="m"))
    first = USER.get(provider, {"role": "user", "content": "go"})
    kept = bound.repair_messages([first, *STORED[provider](name), first]).messages
    assert json.dumps(wire_name) in json.dumps(kept)
    assert json.dumps(name) not in json.dumps(kept)
