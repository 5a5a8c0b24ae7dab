"""An agent as a team would ship it: two tools and one loop, and no code that knows about tests.

``test_agent.py`` tests the agent against a fake provider on this machine. ``tools.lock.json`` is the contract of the
agent's tools. ``ci.yml`` is a pipeline for the agent.
"""

import openai

from toolshape import Conversation, Registry, ToolError, tool

ORDERS = {"45128": "kettle, sent on Monday"}
TICKETS: list[str] = []
MOST_STEPS = 5


@tool(effects=["read"])
def find_order(order_id: str) -> str:
    """Find an order.

    Args:
        order_id: The order number, digits only.
    """
    if order_id not in ORDERS:
        raise ToolError(f"There is no order {order_id}.")
    return ORDERS[order_id]


@tool(effects=["write"])
def open_ticket(order_id: str, reason: str, is_urgent: bool = False) -> str:
    """Open a ticket for a person.

    Args:
        order_id: The order number.
        reason: What the customer says, in a sentence.
        is_urgent: Whether a person has to answer today.
    """
    TICKETS.append(f"{order_id}: {reason}{' (today)' if is_urgent else ''}")
    return f"T-{len(TICKETS)}"


tools = Registry([find_order, open_ticket])


class StepsError(Exception):
    """The model called tools too many times."""


def answer(question: str, model: str = "gpt-5") -> str:
    """Answer a customer.

    Raises:
        StepsError: The model gave no answer within ``MOST_STEPS`` steps.
    """
    client, chat = openai.OpenAI(), Conversation(tools)
    chat.user(question)
    for _ in range(MOST_STEPS):
        response = client.chat.completions.create(**chat.request("openai", model=model))
        if not chat.dispatch(response):
            return chat.messages[-1].text
    raise StepsError(f"no answer after {MOST_STEPS} steps")
