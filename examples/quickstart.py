"""A shop's support desk: two functions, offered to two providers, through one whole turn with each.

Nothing here calls a network: the responses are what the providers' APIs send, written down.
"""

import json
from typing import Any

from toolshape import Injected, Registry, tool

ORDERS = {"45128": {"item": "kettle", "status": "sent"}, "45200": {"item": "lamp", "status": "packed"}}


@tool
def find_order(order_id: str, *, orders: Injected[dict[str, dict[str, str]]]) -> dict[str, str]:
    """Find an order by its number.

    Args:
        order_id: The order number, digits only.
    """
    return {"order_id": order_id, **orders[order_id]}


@tool
def create_ticket(order_id: str, reason: str, urgent: bool = False) -> str:
    """Open a ticket for an order.

    Args:
        order_id: The order number, digits only.
        reason: What the customer says, in a sentence.
        urgent: Whether someone must look at it today.

    Returns:
        The number of the ticket.
    """
    return f"T-{order_id} ({'urgent' if urgent else 'normal'}): {reason}"


tools = Registry([find_order, create_ticket])

RIGHT = {"order_id": "45200"}
WRONG_TYPE = {"order_id": 45128}
REFUSED = {"order_id": "45128", "reason": "It leaks.", "urgent": "true"}


def openai_call(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Write a call as OpenAI sends it: the arguments are a text."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


OPENAI_RESPONSE = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    openai_call("call_0", "find_order", RIGHT),
                    openai_call("call_1", "find_order", WRONG_TYPE),
                    openai_call("call_2", "create_ticket", REFUSED),
                ],
            },
        }
    ],
}

ANTHROPIC_RESPONSE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-6",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 300, "output_tokens": 90},
    "content": [
        {"type": "text", "text": "Let me look at both orders and open a ticket."},
        {"type": "tool_use", "id": "toolu_0", "name": "find_order", "input": RIGHT},
        {"type": "tool_use", "id": "toolu_1", "name": "find_order", "input": WRONG_TYPE},
        {"type": "tool_use", "id": "toolu_2", "name": "create_ticket", "input": REFUSED},
    ],
}


def tell(provider: str, response: dict[str, Any]) -> None:
    """Play one turn with a provider, and say what happens."""
    print(f"\n=== {provider} ===\n")
    request = tools.request(provider, choice="auto")
    print(f"We offer {len(tools)} tools. The first, as {provider} is shown it:")
    print(json.dumps(request["tools"][0], indent=2))

    messages: list[dict[str, Any]] = [{"role": "user", "content": "Where are 45200 and 45128? 45128 leaks!"}]
    results = tools.dispatch(response, inject={"orders": ORDERS})

    print(f"\nThe model calls {len(results)} times:")
    for result in results:
        print(f"\n  {result.call.name}({json.dumps(result.call.arguments)})")
        for path, rule, before, after in result.coercions:
            print(f"    coerced: {path} was {before!r}, is {after!r} (rule {rule})")
        if result.ok:
            print(f"    gave:   {result.text}")
        else:
            print("    refused, and the model is told:\n      " + result.text.replace("\n", "\n      "))

    messages += results.turn
    print(f"\nThe conversation goes on with these {len(results.messages)} message(s) of ours:")
    print(json.dumps(results.messages, indent=2))


if __name__ == "__main__":
    tell("openai", OPENAI_RESPONSE)
    tell("anthropic", ANTHROPIC_RESPONSE)
