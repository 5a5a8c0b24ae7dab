"""What fakes refuse of a request as a whole: each with its twin, one change away, that is taken."""

import copy
import json
from typing import Any

import pytest
from fakes import FAKED, asked, keywords

from toolshape import Conversation, ExportError, Registry, tool
from toolshape._families import get
from toolshape.testing import Fake


@tool
def look(number: int) -> str:
    """Look an order up."""
    return f"order {number}"


TOOLS = Registry([look])
ENTRY = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}
NAMED = {"type": "function", "function": {"name": "other"}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
SAID = [
    {"role": "user", "content": "Go."},
    {"role": "assistant", "content": "Well.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "order 1"},
]
NAMELESS = {**CALL, "function": {"name": "", "arguments": "{}"}}
GEMINI = {"functionDeclarations": [{"name": "look", "description": "Look."}]}
AUTO = {"functionCallingConfig": {"mode": "AUTO"}}


def with_calls(calls: list[Any]) -> list[Any]:
    return [
        SAID[0],
        {**SAID[1], "tool_calls": calls},
        *(SAID[2:] if calls else []),
        {"role": "user", "content": "On."},
    ]


# The provider, what is refused, what is taken instead, the rule, and words of the answer.
PAIRS: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    ("openai", {"tools": []}, {"tools": [ENTRY]}, "empty_array", "Invalid 'tools': empty array."),
    ("openai", {"tool_choice": "auto"}, {"tool_choice": "auto", "tools": [ENTRY]}, "choice_without_tools",
     "'tool_choice' is only allowed when 'tools' are specified"),
    ("openai", {"tools": [{"function": ENTRY["function"]}]}, {"tools": [ENTRY]}, "entry_type", "Missing required parameter: 'tools[0].type'"),
    ("openai", {"tools": [{"name": "look", "input_schema": {"type": "object"}}]}, {"tools": [ENTRY]}, "entry_type", "'tools[0].type'"),
    ("openai", {"tools": [ENTRY], "tool_choice": NAMED}, {"tools": [ENTRY], "tool_choice": {**NAMED, "function": {"name": "look"}}},
     "chosen_tool", "there is no tool 'other'"),
    ("openai", {"messages": with_calls([])}, {"messages": with_calls([CALL])}, "empty_array", "Invalid 'messages[1].tool_calls': empty array."),
    ("openai", {"messages": with_calls([NAMELESS])}, {"messages": with_calls([CALL])}, "empty_string",
     "Invalid 'messages[1].tool_calls[0].function.name': empty string."),
    ("deepseek", {"tools": []}, {"tools": [ENTRY]}, "empty_array", "empty"),
    ("vllm", {"tools": []}, {"tools": [ENTRY]}, "empty_array", "empty"),
    ("vllm", {"tool_choice": "required"}, {"tool_choice": "required", "tools": [ENTRY]}, "choice_without_tools", "needs tools"),
    ("vllm", {"tools": [ENTRY], "tool_choice": NAMED}, {"tools": [ENTRY]}, "chosen_tool", "no tool 'other'"),
    ("xai", {"tool_choice": "auto"}, {"tool_choice": "auto", "tools": [ENTRY]}, "choice_without_tools", "needs tools"),
    ("gemini", {"toolConfig": AUTO}, {"toolConfig": AUTO, "tools": [GEMINI]}, "choice_without_tools",
     "Function calling config is set without function_declarations."),
    ("gemini", {"toolConfig": AUTO, "tools": [{"googleSearch": {}}]}, {"tools": [{"googleSearch": {}}]}, "choice_without_tools",
     "without function_declarations"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "refused", "taken", "rule", "words"), PAIRS, ids=lambda given: str(given)[:40]
)
def test_a_request_that_is_refused_and_its_twin(provider, refused, taken, rule, words):
    with Fake(provider) as fake:
        fake.says("Yes.")
        status, content = asked(fake, {**keywords(provider), **refused})
        assert status == 400
        assert words in content.decode()
        assert rule in {reason.rule for reason in fake.refused}
        assert all(reason.evidence for reason in fake.refused)
        assert asked(fake, {**keywords(provider), **taken})[0] == 200


def test_what_some_servers_take():
    """An entry without a type, in recorded requests to these two."""
    for provider in ("mistral", "xai"):
        with Fake(provider) as fake:
            fake.says("Yes.")
            assert (
                asked(fake, {**keywords(provider), "tools": [{"function": ENTRY["function"]}]})[0]
                == 200
            )


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    joined = copy.deepcopy(first)
    for key, value in second.items():
        joined[key] = {**joined[key], **value} if isinstance(joined.get(key), dict) else value
    return joined


@pytest.mark.parametrize("provider", FAKED)
def test_no_request_of_ours_is_refused_as_a_whole(provider):
    """With each choice that is not refused here already; with tools, without, and with the provider's own alone."""
    native = {"gemini": [{"googleSearch": {}}], "vertex": [{"googleSearch": {}}]}.get(provider, [])
    count = 0
    for tools, own in ((TOOLS, []), (Registry(), []), (Registry(), native), (TOOLS, native)):
        for choice in (None, "auto", "none", "required", "look"):
            try:
                request = tools.bind(provider).request(choice=choice, native=own)
            except ExportError:
                continue
            with Fake(provider) as fake:
                fake.says("Yes.")
                status, content = asked(fake, merged(keywords(provider), request))
                assert status == 200, (choice, len(tools), own, json.loads(content))
                count += 1
    assert count >= 3
    assert get(provider).server is not None


def test_calls_of_programs_go_back_with_their_caller():
    """OpenAI's programs go on with the result that names them; Anthropic's caller stays in the call, as it came."""
    program = {"type": "program", "caller_id": "p1"}
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "look",
        "arguments": '{"number": 1}',
        "caller": program,
    }
    item = {"type": "program", "id": "p_1", "call_id": "p1", "code": "look(1)", "fingerprint": "f"}
    response = {"object": "response", "status": "completed", "output": [item, call]}
    results = TOOLS.dispatch(response, provider="openai-responses")
    assert results.turn[-1] == {
        "type": "function_call_output",
        "call_id": "c1",
        "output": "order 1",
        "caller": program,
    }
    conversation = Conversation(TOOLS)
    conversation.user("Go.")
    conversation.request("openai-responses", model="gpt-5.6")
    conversation.dispatch(response)
    assert conversation.request("openai-responses", model="gpt-5.6")["input"][1:] == results.turn
    block = {
        "type": "tool_use",
        "id": "t1",
        "name": "look",
        "input": {"number": 1},
        "caller": {"type": "code_execution_20260120", "tool_id": "s1"},
    }
    message = {
        "type": "message",
        "role": "assistant",
        "stop_reason": "tool_use",
        "content": [block],
    }
    assert TOOLS.dispatch(message, provider="anthropic").turn[0]["content"] == [block]
