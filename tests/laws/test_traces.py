"""No secret reaches a trace: 10,000 are planted, in arguments that are right, wrong in every way, and cut off."""

import json
import os
import random
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, Json, SecretStr

from toolshape import Registry, tool
from toolshape._families import get
from toolshape.testing._mistakes import slips
from toolshape.trace import record_to, replay

SECRETS = 2_000 if os.environ.get("TOOLSHAPE_EXAMPLES") else 10_000


class Account(BaseModel):
    user: str
    password: SecretStr
    hints: list[SecretStr] = []


@tool
def login(user: str, password: SecretStr, remember: bool = False) -> str:
    """Log in."""
    return "in"


@tool
def join(accounts: list[Account], note: str = "") -> str:
    """Log in several."""
    return "in"


@tool
def store(keys: dict[str, SecretStr], first: Account | None = None) -> str:
    """Keep keys."""
    return "kept"


@tool
def either(
    given: Account | str, token: Annotated[str, Field(json_schema_extra={"writeOnly": True})] = ""
) -> str:
    """Take an account, or its name."""
    return "taken"


@tool
def packed(account: Json[Account]) -> str:
    """Take an account as JSON text."""
    return "taken"


@tool
def pay(card: dict[str, str], amount: float) -> str:
    """Pay, with what `redact=` names."""
    return "paid"


TOOLS = [login, join, store, either, packed, pay]


def arguments(secret: str) -> dict[str, dict[str, Any]]:
    """Right arguments of each tool, with a secret in each secret place."""
    account = {"user": "ann", "password": secret, "hints": [secret]}
    return {
        "login": {"user": "ann", "password": secret, "remember": True},
        "join": {"accounts": [account, {"user": "bob", "password": secret}], "note": "x"},
        "store": {"keys": {"a": secret, "b": secret}, "first": account},
        "either": {"given": account, "token": secret},
        "packed": {"account": json.dumps(account)},
        "pay": {"card": {"number": secret, "holder": secret}, "amount": 3},
    }


def bodies(name: str, payload: Any, secret: str) -> list[tuple[str, Any]]:
    """The same call at providers of both kinds, beside a text that repeats the secret."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": text}}
    message = {"role": "assistant", "content": f"I use {secret}.", "tool_calls": [call]}
    openai = {
        "id": "r",
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
    }
    content = [
        {"type": "text", "text": secret},
        {"type": "tool_use", "id": "t", "name": name, "input": payload},
    ]
    anthropic = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": "tool_use",
    }
    return [("openai", openai), ("anthropic", anthropic)]


def dispatch(tools: Registry, provider: str, body: Any, how: str) -> None:
    bound = tools.bind(provider, False)
    if how == "streamed" and provider == "openai":
        collector = bound.collector()
        events = list(get("openai").server.unfold(body))
        for event in events[: random.Random(len(events)).randint(1, len(events))]:
            collector.feed(event)
        collector.plan().run()
    else:
        bound.dispatch(json.dumps(body) if how == "text" else body)


@pytest.mark.parametrize("rules", [None, True])
def test_no_secret_is_written(tmp_path, rules):
    path = tmp_path / "calls.jsonl"
    coerce = (
        None
        if rules is None
        else {"ignore_extra": True, "repair_json": True, "scalar_as_list": True}
    )
    tools = Registry(TOOLS, coerce=coerce)
    tools.observe(record_to(path, keep="all", redact=["pay.card"]))
    by_name = {tool.name: tool for tool in TOOLS}
    planted, number = 0, 0
    while planted < SECRETS // 2:
        number += 1
        secret = f"zq{number:06d}{random.Random(number).getrandbits(64):016x}"
        for name, given in arguments(secret).items():
            chosen = [*slips(by_name[name], given)]
            chosen = random.Random(number).sample(chosen, min(12, len(chosen)))
            for payload in (given, *(item.payload for item in chosen)):
                for called in (name, name.upper()):
                    for provider, body in bodies(called, payload, secret):
                        dispatch(tools, provider, body, ("object", "text", "streamed")[planted % 3])
                        planted += 1
    written = path.read_text(encoding="utf-8").lower()
    assert written.count("\n") == planted
    assert "zq0" not in written  # every secret begins so, whatever was cut off of its end
    assert '"ann"' in written  # what is no secret is kept
    found = replay(path, Registry(TOOLS, coerce=coerce))
    assert not found.changes, str(found)[:2000]
    assert 0 < found.not_compared < found.calls
