"""A support desk with a database and three providers: if a provider fails, the next one continues the conversation.

``python examples/support_desk.py`` runs the example with fakes. With the keys of all three providers, ``--live`` asks
the real providers. The example needs openai, anthropic, google-genai and SQLAlchemy.
"""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import anthropic
import openai
from google import genai
from google.genai import errors
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import StaticPool

from toolshape import Conversation, Injected, Registry, ToolError, tool
from toolshape.provider import ProviderName
from toolshape.testing import Fake

Sessions = Callable[[], Session]


@tool(effects=["read"])
def find_order(order_id: str, *, sessions: Injected[Sessions]) -> str:
    """Find an order by its number.

    Args:
        order_id: The order number, digits only.
    """
    with sessions() as session:
        state = session.execute(
            text("select state from orders where id = :id"), {"id": order_id}
        ).scalar()
    if state is None:
        raise ToolError(f"There is no order {order_id}.")
    return str(state)


@tool(effects=["write"])
def open_ticket(order_id: str, reason: str, *, sessions: Injected[Sessions]) -> str:
    """Open a ticket for an order.

    Args:
        order_id: The order number, digits only.
        reason: What the customer says, in a sentence.
    """
    with sessions() as session, session.begin():
        session.execute(
            text("insert into tickets values (:id, :reason)"), {"id": order_id, "reason": reason}
        )
    return f"T-{order_id}"


tools = Registry([find_order, open_ticket])


def ask_openai(chat: Conversation) -> Any:
    return openai.OpenAI(max_retries=0).chat.completions.create(
        **chat.request("openai", model="gpt-5")
    )


def ask_anthropic(chat: Conversation) -> Any:
    request = chat.request("anthropic", model="claude-sonnet-5", max_tokens=1024)
    return anthropic.Anthropic(max_retries=0).messages.create(**request)


def ask_gemini(chat: Conversation) -> Any:
    client = genai.Client()
    return client.models.generate_content(**chat.request("gemini", model="gemini-3-pro"))


PROVIDERS: dict[ProviderName, Callable[[Conversation], Any]] = {
    "openai": ask_openai,
    "anthropic": ask_anthropic,
    "gemini": ask_gemini,
}
FAILURES = (openai.APIError, anthropic.APIError, errors.APIError)


def turn(chat: Conversation, sessions: Sessions) -> str:
    """Ask until a provider answers in words. If a provider fails, the next provider continues the same conversation."""
    for name, ask in PROVIDERS.items():
        try:
            while chat.dispatch(ask(chat), inject={"sessions": sessions}).goes_on:
                continue
        except FAILURES as error:
            print(f"{name} failed ({type(error).__name__}), after {len(chat)} messages")
            continue
        return f"{name}: {chat.messages[-1].text}"
    raise SystemExit("no provider answers")


def database() -> Sessions:
    engine = create_engine(
        "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
    )
    with engine.begin() as connection:
        connection.execute(text("create table orders (id text primary key, state text)"))
        connection.execute(text("create table tickets (order_id text, reason text)"))
        connection.execute(text("insert into orders values ('45128', 'kettle, sent on Monday')"))
    return sessionmaker(engine)


def main(arguments: list[str]) -> None:
    with ExitStack() as stack:
        if "--live" not in arguments:
            fakes = {name: stack.enter_context(Fake(name, tools)) for name in PROVIDERS}
            for fake in fakes.values():
                os.environ.update(fake.env)
            fakes["openai"].calls("find_order", order_id="45128")
            fakes["openai"].fails(429)
            fakes["anthropic"].calls("open_ticket", order_id="45128", reason="The lid is broken.")
            fakes["anthropic"].fails(529)
            fakes["gemini"].says(
                "Your kettle was sent on Monday. I opened ticket T-45128 for the lid."
            )
        sessions, chat = database(), Conversation(tools)
        chat.user("Where is order 45128? And its lid is broken.")
        print(turn(chat, sessions))
        with sessions() as session:
            print("tickets:", session.execute(text("select * from tickets")).all())


if __name__ == "__main__":
    main(sys.argv[1:])
