"""A model asks for a refund, and a person approves it on a page in another process. Two clicks pay once, and ask once.

``python examples/approval_web.py`` runs the example offline. With ``OPENAI_API_KEY`` and ``uvicorn``, it is a real
desk: ``uvicorn --app-dir examples approval_web:app``. The example needs toolshape[ledger], openai, starlette and httpx.
"""

import html
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import openai
import sqlalchemy as sa
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
ENGINE = sa.create_engine(f"sqlite:///{FOLDER / 'desk.db'}")
with ENGINE.begin() as connection:
    run = connection.exec_driver_sql
    run("create table if not exists chats (id text primary key, chat text, version integer)")
    run("create table if not exists paid (order_id text, amount real)")


@tool(effects=["destructive"], approve=lambda arguments: arguments["amount"] > MOST)
def refund(order_id: str, amount: float) -> str:
    """Refund an order.

    Args:
        order_id: The order number.
        amount: How much, in euros.
    """
    with ENGINE.begin() as connection:
        connection.exec_driver_sql("insert into paid values (?, ?)", (order_id, amount))
    return f"refunded {amount:.2f}"


tools = Registry([refund])


def paid() -> list[tuple[str, float]]:
    """Return the refunds that were paid."""
    with ENGINE.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql("select * from paid")]


def store(chat: Conversation) -> None:
    """Store a conversation that this process has taken, or that is new."""
    row = "insert into chats values (?, ?, 0) on conflict (id) do update set chat = excluded.chat"
    with ENGINE.begin() as connection:
        connection.exec_driver_sql(row, (chat.id, chat.to_json()))


def restore(chat_id: str) -> tuple[Conversation, int]:
    """Return a conversation and its version."""
    with ENGINE.connect() as connection:
        found = connection.exec_driver_sql("select * from chats where id = ?", (chat_id,)).one()
    return Conversation.from_json(found.chat, tools), found.version


def take(chat_id: str, version: int) -> bool:
    """Take a conversation to continue it; of several processes that saw this version, one gets it."""
    row = "update chats set version = version + 1 where id = ? and version = ?"
    with ENGINE.begin() as connection:
        return connection.exec_driver_sql(row, (chat_id, version)).rowcount == 1


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
    chat, version = restore(request.path_params["chat"])
    rows = [
        f"<li>{html.escape(call.name)} {html.escape(str(call.arguments))}"
        f"<form method=post action='/{chat.id}/{html.escape(call.id)}/{version}'><button>approve</button></form></li>"
        for call in chat.pending
    ]
    return HTMLResponse(f"<ul>{''.join(rows)}</ul><p>{html.escape(chat.messages[-1].text)}</p>")


def approve(request: Request) -> Response:
    """Approve and run a call. If this process dies, the page shows the call again, and the ledger knows if it was paid."""
    chat, _ = restore(request.path_params["chat"])
    call, version = request.path_params["call"], request.path_params["version"]
    if call not in [waiting.id for waiting in chat.pending] or not take(chat.id, version):
        return PlainTextResponse("somebody has decided already")
    chat.approve(call)
    with Ledger(str(FOLDER / "calls.db")) as ledger:
        chat.run(ledger=ledger)
    continue_chat(chat)
    return PlainTextResponse(chat.messages[-1].text)


app = Starlette(
    routes=[
        Route("/ask", ask, methods=["POST"]),
        Route("/{chat}", show),
        Route("/{chat}/{call}/{version:int}", approve, methods=["POST"]),
    ]
)


def press(*path: str) -> None:
    """Press the button of a waiting call."""
    with TestClient(app) as desk:
        print(desk.post(f"/{'/'.join(path)}").text)


def main() -> None:
    """Run the example with a fake in place of the provider; each click runs in a process of its own."""
    with Fake("openai", tools) as fake, TestClient(app) as desk:
        os.environ.update(fake.env, DESK_FOLDER=str(FOLDER))
        fake.calls("refund", order_id="45128", amount=250.0)
        fake.says("Your 250 euros are on their way.")
        chat = desk.post("/ask", params={"text": "Order 45128 broke, I want my 250 back."}).text
        waiting, version = restore(
            chat
        )  # as two windows show it, before anybody pressed the button
        [call] = waiting.pending
        print("waits:", [call.name], "paid:", paid())
        for click in ("first click: ", "second click:"):
            print(click, flush=True, end=" ")
            command = [sys.executable, __file__, chat, call.id, str(version)]
            subprocess.run(command, check=True)  # noqa: S603 - this script
        print("paid:", paid(), "asked:", len(fake.exchanges))


if __name__ == "__main__":
    press(*sys.argv[1:]) if sys.argv[1:] else main()
