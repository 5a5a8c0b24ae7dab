"""Tokens, locks, ledgers, traces and conversations that an earlier version wrote are read, and mean what they meant.

The files in ``tests/examples/written_before`` were written at commit 934ddcd, by the tools below. They are never
written again: a test that fails here means that stored data of users is read differently.
"""

import json
import sqlite3
from pathlib import Path
from typing import Literal

import pytest
from pydantic import SecretStr

from toolshape import Conversation, Registry, TokenError, tool
from toolshape.contract import diff, load_lock
from toolshape.ledger import Ledger
from toolshape.trace import read_trace, replay

FOLDER = Path(__file__).parents[1] / "examples" / "written_before"
KEY = "a key for files of before, 32 bytes"


def shop(paid):
    @tool(effects=["write"], approve=True)
    def refund(order_id: str, amount: float, reason: Literal["late", "broken"] = "late") -> str:
        """Refund an order."""
        paid.append((order_id, amount, reason))
        return f"refunded {amount:.2f} for {order_id}"

    @tool(effects=["read"])
    def weather(city: str, days: int = 1) -> dict[str, int]:
        """The weather of a city."""
        return {"days": days}

    @tool(effects=["write"], approve=True)
    def log_in(user: str, password: SecretStr) -> str:
        """Log in."""
        paid.append((user, password.get_secret_value()))
        return f"{user} is in"

    return Registry([refund, weather, log_in])


def read(name):
    return (FOLDER / name).read_text(encoding="utf-8")


@pytest.fixture
def ledger(tmp_path):
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        database.executescript(read("ledger.sql"))
    database.close()
    with Ledger(f"sqlite:///{tmp_path / 'ledger.db'}") as opened:
        yield opened


def test_a_token(ledger):
    """A token that waits over such a change is refused by its version, and nothing runs; its plan is asked for again."""
    paid = []
    for name, options in (("token.json", {}), ("token_in_ledger.json", {"ledger": ledger})):
        with pytest.raises(TokenError, match="version 2, not version 3"):
            shop(paid).resume(read(name).strip(), KEY, {}, audience="shop", **options)
    assert not paid


def test_a_ledger(ledger):
    """A call that was recorded is answered by its record."""
    paid = []
    call = {"id": "call_3", "type": "function"}
    call["function"] = {"name": "refund", "arguments": '{"order_id": "78", "amount": 1.0}'}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    response = {
        "id": "r1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }
    plan = shop(paid).bind("openai").plan(response)
    plan.approve("call_3")
    (result,) = plan.run(ledger=ledger, scope="case 1")
    assert (paid, result.replayed, result.text) == ([], True, "refunded 1.00 for 78")


def test_a_lock():
    """The tools are what they were, and a change is seen against it."""
    locked = load_lock(FOLDER / "tools.lock.json")
    assert not diff(shop([]), locked)

    @tool(effects=["write"], approve=True)
    def refund(order_id: str, amount: float, reason: Literal["late"] = "late") -> str:
        """Refund an order."""
        return order_id

    assert diff(Registry([refund]), locked).is_breaking


def test_a_trace():
    """Each line is read, and its calls are what they were."""
    (recorded,) = read_trace(read("trace.jsonl").encode().splitlines(keepends=True))
    assert [(call["tool"], call["ok"], call["arguments"]) for call in recorded.outcome] == [
        ("weather", True, {"city": "Bonn", "days": 2}),
        ("weather", False, None),
    ]
    assert not replay(FOLDER / "trace.jsonl", shop([])).regressions


def test_a_conversation_whose_call_waits():
    """The turn is open, and the call is denied or runs."""
    paid = []
    chat = Conversation.from_json(read("conversation.json"), shop(paid))
    assert [(call.name, call.arguments["amount"]) for call in chat.pending] == [("refund", 12.5)]
    chat.deny("call_2", "not now")
    assert "not now" in json.dumps(chat.request("openai")["messages"])
    assert paid == []


def test_a_conversation_of_two_providers():
    """It makes the request that it made."""
    chat = Conversation.from_json(read("conversation_of_two_providers.json"), shop([]))
    assert chat.request("openai")["messages"] == json.loads(read("its_request_to_openai.json"))
