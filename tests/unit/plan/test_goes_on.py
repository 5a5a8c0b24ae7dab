"""When a loop asks again: tools were called and nobody has to decide; and what a cut answer says of itself."""

import logging

import pytest

from toolshape import Registry, tool

LENGTHS = {
    "openai": {"choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": "The weather in"}}]},
    "anthropic": {
        "type": "message", "role": "assistant", "stop_reason": "max_tokens",
        "content": [{"type": "text", "text": "The weather in"}],
    },
    "openai-responses": {
        "object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "The weather in"}]}],
    },
    "gemini": {
        "candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model", "parts": [{"text": "The weather in"}]}}],
    },
    "bedrock": {
        "stopReason": "max_tokens", "output": {"message": {"role": "assistant", "content": [{"text": "The weather in"}]}},
    },
}  # fmt: skip


@tool(effects=["write"], approve=lambda arguments: arguments["amount"] > 100)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


TOOLS = Registry([pay])


def response(*amounts, content=None):
    calls = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "pay", "arguments": f'{{"amount": {amount}}}'},
        }
        for n, amount in enumerate(amounts)
    ]
    finish = "tool_calls" if calls else "stop"
    message = {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}
    return {"choices": [{"finish_reason": finish, "message": message}]}


def test_it_goes_on_while_tools_are_called_and_nobody_has_to_decide():
    assert TOOLS.dispatch(response(1, 2)).goes_on
    assert not TOOLS.dispatch(response(content="Done.")).goes_on
    waiting = TOOLS.dispatch(response(1, 500))
    assert waiting
    assert not waiting.goes_on
    plan = TOOLS.plan(waiting)
    plan.deny("c1", "too much")
    assert plan.run().goes_on
    assert TOOLS.dispatch(response("soon")).goes_on  # the model is told of its mistake


@pytest.mark.parametrize("provider", LENGTHS)
def test_an_answer_that_was_cut_at_its_length_says_so(provider, caplog):
    """It is falsy like any answer without a call; it is not logged, since each app chooses its own limit."""
    with caplog.at_level(logging.DEBUG, "toolshape"):
        results = TOOLS.bind(provider).dispatch(LENGTHS[provider])
    assert not results
    assert not results.goes_on
    assert [warning.rule for warning in results.warnings] == ["cut_at_length"]
    assert caplog.messages == []
    assert TOOLS.dispatch(response(content="Done.")).warnings == ()
