"""A shop's support desk: two functions become tools, and two providers call them, each in one whole turn.

The example uses no network: the responses below are written as the providers' APIs send them.
"""

import json
from typing import Any

from toolshape import Injected, Registry, tool
from toolshape.provider import ProviderName

ORDERS = {"45128": "kettle, sent", "45200": "lamp, packed"}


@tool
def find_order(order_id: str, *, orders: Injected[dict[str, str]]) -> str:
    """Find an order by its number.

    Args:
        order_id: The order number, digits only.
    """
    return orders[order_id]


@tool
def create_ticket(order_id: str, reason: str, urgent: bool = False) -> str:
    """Open a ticket for an order.

    Args:
        order_id: The order number, digits only.
        reason: What the customer says, in a sentence.
        urgent: Whether someone must look at it today.
    """
    return f"T-{order_id} ({'urgent' if urgent else 'normal'}): {reason}"


tools = Registry([find_order, create_ticket])

CALLS = [
    ("find_order", {"order_id": 45128}),  # a number where the tool wants a string
    (
        "create_ticket",
        {"order_id": "45128", "reason": "It leaks.", "urgent": "true"},
    ),  # a string for a boolean
]
OPENAI_CALLS = [
    {
        "id": f"call_{i}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    for i, (name, arguments) in enumerate(CALLS)
]
RESPONSES: dict[str, dict[str, Any]] = {
    "openai": {
        "choices": [
            {
                "finish_reason": "tool_calls",
                "message": {"role": "assistant", "tool_calls": OPENAI_CALLS},
            }
        ]
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "stop_reason": "tool_use",
        "content": [
            {"type": "tool_use", "id": f"toolu_{i}", "name": name, "input": arguments}
            for i, (name, arguments) in enumerate(CALLS)
        ],
    },
}


def play_turn(provider: ProviderName) -> None:
    """Run one turn with a provider, and print what happens."""
    bound = tools.bind(provider)
    first = bound.request(choice="auto")["tools"][0]
    print(f"{provider} is offered {len(tools)} tools, in its own form: {json.dumps(first)[:68]}...")
    results = bound.dispatch(RESPONSES[provider], inject={"orders": ORDERS})
    for result in results:
        print(f"  it calls {result.call.name}({json.dumps(result.call.arguments)})")
        for path, rule, before, after in result.coercions:
            print(f"    coerced: {path} was {before!r}, is {after!r} (rule {rule})")
        text = result.text.replace("\n", "\n      ")
        print(
            f"    gave: {text}" if result.ok else f"    refused, and the model reads:\n      {text}"
        )
    roles = [message["role"] for message in results.turn]
    print(f"  to go on with: {len(results.turn)} messages ({', '.join(roles)})\n")


if __name__ == "__main__":
    play_turn("openai")
    play_turn("anthropic")
