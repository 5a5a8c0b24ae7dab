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

from toolshape import Conversation, Registry, tool
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


def test_a_token():
    """It holds what was answered, and what waits with its arguments."""
    paid = []
    results = shop(paid).resume(read("token.json").strip(), KEY, {"call_2": True}, audience="shop")
    assert paid == [("77", 12.5, "late")]
    assert [(result.name, result.ok, result.text) for result in results] == [
        ("weather", True, '{"days":2}'),
        ("refund", True, "refunded 12.50 for 77"),
    ]


def test_a_token_and_its_ledger(ledger):
    """What the ledger keeps for a token is found again; what was paid is not paid again."""
    paid = []
    results = shop(paid).resume(
        read("token_in_ledger.json").strip(),
        KEY,
        {"call_4": True, "call_5": True},
        audience="shop",
        ledger=ledger,
    )
    assert paid == [("79", 2.0, "late"), ("ann", "hunter2")]
    assert [result.text for result in results] == [
        "refunded 1.00 for 78",
        "refunded 2.00 for 79",
        "ann is in",
    ]


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
