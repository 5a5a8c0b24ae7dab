"""Approval over MCP: what mutants of the question and of its answer have shown to be untested."""

import json

import mcp_types as types
import pytest

from toolshape import Deny, Registry, UsageError, tool
from toolshape.mcp import _approving as approving, server


@tool(effects=["write"], approve=True, title='Pay "now"')
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool(effects=["write"], approve=True)
def refund(amount: int) -> str:
    """Refund."""
    return f"refunded {amount}"


def question(name):
    call = {
        "id": "c1",
        "function": {"name": name, "arguments": '{"amount": 5}'},
        "type": "function",
    }
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    plan = Registry([pay, refund]).plan(
        {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    )
    return approving._question_text(plan.pending[0])


def test_the_question_names_tool_title_and_arguments():
    """A title is quoted: a server that we took the tool from may have written anything there."""
    assert (
        question("pay") == 'pay ("Pay \\"now\\"") is about to be called with {"amount": 5}. Run it?'
    )
    assert question("refund") == 'refund is about to be called with {"amount": 5}. Run it?'


def decided(answer):
    given = {
        "name": "pay",
        "arguments": {"amount": 5},
        "requestState": json.dumps({"calls": [{"id": "c1"}]}),
    }
    params = types.CallToolRequestParams.model_validate(given)
    return approving.decisions(params.model_copy(update={"input_responses": {"approval": answer}}))


@pytest.mark.parametrize("said", ["false", "true", 1, [True], None, {}])
def test_nothing_but_true_approves(said):
    """A form that a client did not check may hold anything: a text is not agreement, whatever it says."""
    answer = types.ElicitResult.model_construct(action="accept", content={"approve": said})
    assert decided(answer) == {"c1": Deny("the user did not approve this call")}


def test_what_was_decided():
    """By the id of the call; a reason counts where it is a text that says something."""
    assert decided(types.ElicitResult(action="accept", content={"approve": True})) == {"c1": True}
    assert decided(
        types.ElicitResult(action="accept", content={"approve": False, "why": "Too much."})
    ) == {"c1": Deny("Too much.")}
    assert decided(types.ElicitResult(action="accept", content={"approve": False, "why": ""})) == {
        "c1": Deny("the user did not approve this call")
    }
    for action in ("decline", "cancel"):
        answer = types.ElicitResult.model_construct(action=action, content={"approve": True})
        assert decided(answer) == {"c1": Deny("the user did not approve this call")}
    assert decided(None) == {"c1": Deny("the user did not approve this call")}


def test_a_key_of_thirty_two_bytes_is_long_enough():
    """As the error says."""
    for key in (b"k" * 32, "k" * 32):
        server(Registry([pay]), "shop", key=key)
    with pytest.raises(UsageError, match="at least 32 bytes"):
        server(Registry([pay]), "shop", key=b"k" * 31)


def test_parameters_as_the_sdk_gives_them():
    """A handler of the SDK's gets the parameters alone, as a model of its own."""
    params = types.CallToolRequestParams(name="pay", arguments={"amount": 5})
    for bound in (Registry([pay]).bind("mcp"), Registry([pay])):
        [call] = bound.plan(params).calls
        assert (call.name, call.arguments) == ("pay", {"amount": 5})
