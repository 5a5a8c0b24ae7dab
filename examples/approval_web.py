"""A model asks for a refund, and a person approves it on a page in another process. Two clicks pay only once.

``python examples/approval_web.py`` runs the example offline. With ``OPENAI_API_KEY`` and ``uvicorn``, it is a real
desk: ``uvicorn --app-dir examples approval_web:app``. The example needs toolshape[ledger], openai, starlette and httpx.
"""

import contextlib
import html
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import openai
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from toolshape import Conversation, Registry, tool
from toolshape.ledger import Ledger
from toolshape.testing import Fake

FOLDER = Path(
    os.environ.get("DESK_FOLDER") or tempfile.mkdtemp(prefix="desk-")
)  # every process of the desk shares it
MOST = 100  # euros; a larger refund needs approval


@tool(effects=["destructive"], approve=lambda arguments: arguments["amount"] > MOST)
def refund(order_id: str, amount: float) -> str:
    """Refund an order.

    Args:
        order_id: The order number.
        amount: How much, in euros.
    """
    with database() as connection:
        connection.execute("insert into paid values (?, ?)", (order_id, amount))
    return f"refunded {amount:.2f}"


tools = Registry([refund])


@contextlib.contextmanager
def database() -> Iterator[sqlite3.Connection]:
    """Open the database, which stores each conversation and each refund as one row."""
    with contextlib.closing(sqlite3.connect(FOLDER / "desk.db")) as connection, connection:
        connection.execute("create table if not exists chats (id text primary key, chat text)")
        connection.execute("create table if not exists paid (order_id text, amount real)")
        yield connection


def paid() -> list[tuple[str, float]]:
    """Return the refunds that were paid."""
    with database() as connection:
        return connection.execute("select order_id, amount from paid").fetchall()


def store(chat: Conversation) -> None:
    with database() as connection:
        connection.execute("insert or replace into chats values (?, ?)", (chat.id, chat.to_json()))


def restore(chat_id: str) -> Conversation:
    with database() as connection:
        [text] = connection.execute("select chat from chats where id = ?", (chat_id,)).fetchone()
    return Conversation.from_json(text, tools)


def continue_chat(chat: Conversation) -> None:
    """Ask the model until it answers or a call waits for approval; store the conversation before each request."""
    with Ledger(str(FOLDER / "calls.db")) as ledger:
        while not chat.pending:
            store(chat)
            response = openai.OpenAI().chat.completions.create(
                **chat.request("openai", model="gpt-5")
            )
            if not chat.dispatch(response, ledger=ledger):
                break
    store(chat)


def ask(request: Request) -> Response:
    """Start a conversation with a customer's message."""
    chat = Conversation(tools)
    chat.user(request.query_params["text"])
    continue_chat(chat)
    return PlainTextResponse(chat.id)


def show(request: Request) -> Response:
    """Show the page for approval: the waiting calls, each with a button."""
    chat = restore(request.path_params["chat"])
    rows = [
        f"<li>{html.escape(call.name)} {html.escape(str(call.arguments))}"
        f"<form method=post action='/{chat.id}/{html.escape(call.id)}'><button>approve</button></form></li>"
        for call in chat.pending
    ]
    return HTMLResponse(f"<ul>{''.join(rows)}</ul><p>{html.escape(chat.messages[-1].text)}</p>")


def approve(request: Request) -> Response:
    """Approve and run a call. If a person presses the button twice, or in two windows, the refund is paid once."""
    chat = restore(request.path_params["chat"])
    if any(call.id == request.path_params["call"] for call in chat.pending):
        chat.approve(request.path_params["call"])
        with Ledger(str(FOLDER / "calls.db")) as ledger:
            chat.run(ledger=ledger)
        continue_chat(chat)
    return PlainTextResponse(chat.messages[-1].text)


app = Starlette(
    routes=[
        Route("/ask", ask, methods=["POST"]),
        Route("/{chat}", show),
        Route("/{chat}/{call}", approve, methods=["POST"]),
    ]
)


def press(chat: str, call: str) -> None:
    """Press the button of a waiting call."""
    with TestClient(app) as desk:
        print(desk.post(f"/{chat}/{call}").text)


def main() -> None:
    """Run the example with a fake in place of the provider; each click runs in a process of its own."""
    with Fake("openai", tools) as fake, TestClient(app) as desk:
        os.environ.update(fake.env, DESK_FOLDER=str(FOLDER))
        fake.calls("refund", order_id="45128", amount=250.0)
        fake.says("Your 250 euros are on their way.")
        chat = desk.post("/ask", params={"text": "Order 45128 broke, I want my 250 back."}).text
        stale = restore(chat)  # a second window, opened before anybody pressed the button
        [call] = stale.pending
        print("waits:", [call.name], "paid:", paid())
        for click in ("first click: ", "second click:"):
            print(click, flush=True, end=" ")
            subprocess.run([sys.executable, __file__, chat, call.id], check=True)  # noqa: S603 - this script
        stale.approve(call.id)
        with Ledger(str(FOLDER / "calls.db")) as ledger:
            print("stale window:", stale.run(ledger=ledger)[0].text)
        print("paid:", paid())


if __name__ == "__main__":
    press(*sys.argv[1:]) if sys.argv[1:] else main()
