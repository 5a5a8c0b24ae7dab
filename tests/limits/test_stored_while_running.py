"""Conversations that are stored while six calls run in threads: each text is of one moment.

``TOOLSHAPE_STORED`` says how many stored open turns are looked at: 20,000 by hand, some here.
"""

import asyncio
import json
import os
import random
import sys
import threading
import time

import pytest
from responses import response

from toolshape import Conversation, Registry, tool

ENOUGH = int(os.environ.get("TOOLSHAPE_STORED", "400"))
WORK = tuple(("work", {"n": n}, f"call-{n}") for n in range(6))


@tool(effects=["read"])
def work(n: int) -> str:
    """Work."""
    time.sleep(random.random() * 0.004)
    return f"did {n}"


@tool(effects=["write"], approve=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


TOOLS = Registry([work, pay])


@pytest.fixture(autouse=True)
def often_switched():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def texts_of_a_turn(body):
    chat, texts, done = Conversation(TOOLS), [], threading.Event()
    chat.user("Work.")

    def save():
        while not done.is_set():
            texts.append(chat.to_json())

    saving = threading.Thread(target=save)
    saving.start()
    try:
        asyncio.run(chat.adispatch(body, provider="openai"))
    finally:
        done.set()
        saving.join()
    return texts


@pytest.mark.parametrize("waits", [False, True], ids=["all run", "one waits"])
def test_each_result_is_of_its_call_in_the_record_and_in_the_messages(waits):
    body = response(*WORK, *([("pay", {"amount": 5}, "call-p")] if waits else []))
    seen = 0
    while seen < ENOUGH // 2:
        for text in texts_of_a_turn(body):
            stored = json.loads(text)
            if "open" not in stored:
                continue
            seen += 1
            results = Conversation.from_json(text, TOOLS).plan().results
            said = {
                part["id"]: part["response"]
                for message in stored["messages"]
                if message["role"] == "tool"
                for part in message["parts"]
            }
            for result in results:
                if result.ok:
                    assert result.text == f"did {result.id.removeprefix('call-')}"
                    assert said[result.id] == result.text
                else:
                    assert result.id not in said
