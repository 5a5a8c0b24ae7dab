"""Custom tools, judged by OpenAI's own types and clients: requests, responses, streams and histories."""

import json
from typing import Any

import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
from openai.types.responses import ResponseInputItemParam, ToolParam
from pydantic import TypeAdapter

from toolshape import Conversation, Grammar, Registry, tool
from toolshape.testing import Fake


@tool(free_text=Grammar("regex", "[a-z ]+"))
def shell(command: str) -> str:
    """Run a command."""
    return command.upper()


@tool
def add(a: int) -> int:
    """Add one."""
    return a + 1


TOOLS = Registry([shell, add])


def judged(kind: Any, value: Any) -> None:
    """Check a value by the SDK's type, to the last field: pydantic's lazy iterators are walked through."""
    parsed = TypeAdapter(kind, config={"extra": "forbid"}).validate_python(value, strict=True)
    json.dumps(parsed, default=list)


@pytest.mark.parametrize("streams", [False, True])
def test_chat_completions(streams: bool) -> None:
    conversation = Conversation(TOOLS)
    with Fake("openai", TOOLS) as fake:
        client = OpenAI(base_url=f"{fake.url}/v1", api_key="k", http_client=fake.client())
        fake.calls(shell, command="ls all").calls(add, a=1)
        fake.says("Done.")
        for _ in range(2):
            conversation.user("Go.")
            request = conversation.request("openai", choice="auto")
            for entry in request["tools"]:
                judged(ChatCompletionToolUnionParam, entry)
            for message in request["messages"]:
                judged(ChatCompletionMessageParam, message)
            if streams:
                collector = conversation.collector()
                for chunk in client.chat.completions.create(model="gpt-5", stream=True, **request):
                    collector.feed(chunk)
                results = conversation.dispatch(collector)
            else:
                results = conversation.dispatch(
                    client.chat.completions.create(model="gpt-5", **request)
                )
            if results.calls:
                assert [result.value for result in results] == ["LS ALL", 2]
        fake.assert_done()
    assert conversation.messages[-1].text == "Done."


@pytest.mark.parametrize("streams", [False, True])
def test_responses(streams: bool) -> None:
    conversation = Conversation(TOOLS)
    with Fake("openai-responses", TOOLS) as fake:
        client = OpenAI(base_url=f"{fake.url}/v1", api_key="k", http_client=fake.client())
        fake.calls(shell, command="ls all").calls(add, a=1)
        fake.says("Done.")
        for _ in range(2):
            conversation.user("Go.")
            request = conversation.request("openai-responses", choice="auto")
            for entry in request["tools"]:
                judged(ToolParam, entry)
            for item in request["input"]:
                # Servers send a status (Oaklight/llm-rosetta#182, 2026-05) that the type of a request does not have.
                is_custom = item.get("type") == "custom_tool_call"
                ignored = {"status"} if is_custom else set[str]()
                judged(
                    ResponseInputItemParam,
                    {key: value for key, value in item.items() if key not in ignored},
                )
            if streams:
                collector = conversation.collector()
                with client.responses.stream(model="gpt-5", **request) as stream:
                    for event in stream:
                        collector.feed(event)
                    final = stream.get_final_response()
                results = conversation.dispatch(collector)
                for item in final.output:
                    if item.type == "custom_tool_call":
                        assert item.input == "ls all"
            else:
                results = conversation.dispatch(client.responses.create(model="gpt-5", **request))
            if results.calls:
                assert [result.value for result in results] == ["LS ALL", 2]
        fake.assert_done()
    assert conversation.messages[-1].text == "Done."


def test_a_forced_custom_tool_is_called() -> None:
    for provider in ("openai", "openai-responses"):
        with Fake(provider, TOOLS) as fake:
            fake.generates()
            client = OpenAI(base_url=f"{fake.url}/v1", api_key="k", http_client=fake.client())
            bound = TOOLS.bind(provider)
            request: Any = bound.request(choice="add")
            if provider == "openai":
                ask: Any = client.chat.completions.create(
                    model="gpt-5", messages=[{"role": "user", "content": "Go."}], **request
                )
            else:
                ask = client.responses.create(model="gpt-5", input="Go.", **request)
            assert [call.name for call in bound.dispatch(ask).calls] == ["add"]
