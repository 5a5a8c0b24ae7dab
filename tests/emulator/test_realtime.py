"""Sessions over a socket, with an emulator that others wrote: OpenAI's own client, and the frames of Gemini's Live.

google-genai dials only ``wss`` and writes keys that this emulator does not know, so Live is spoken in plain frames.
"""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from emulated import CALLS, TOOLS, emulator
from websockets.sync.client import connect

from toolshape import Registry, Session

LIVE = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
ASKED = [question for question in CALLS if question != "wrong arguments"]
EXPECTED = {
    question: [TOOLS[name].call(arguments) for name, arguments in CALLS[question]]
    for question in ASKED
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with emulator(20) as url:
        yield url


def hold_realtime(url: str, question: str, tools: Registry) -> tuple[Session, str]:
    """Ask, answer each call, and return the session with what the model said in the end."""
    bound = tools.bind("openai-realtime")
    session = bound.session()
    client = openai.OpenAI(api_key="none", base_url=f"{url}/v1")
    with client.realtime.connect(model="gpt-realtime") as connection:
        connection.session.update(session=bound.request())
        asked = {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": question}],
        }
        connection.conversation.item.create(item=asked)
        connection.response.create()
        responses = 1
        while responses:
            event = connection.recv()
            session.feed(event)
            session.plan().run()
            for message in session.messages:
                connection.send(message)
                responses += message["type"] == "response.create"
            responses -= event.type == "response.done"
    return session, session.text


@pytest.mark.parametrize("question", ASKED)
def test_openais_own_client(address: str, question: str) -> None:
    session, said = hold_realtime(address, question, TOOLS)
    assert [result.value for result in session.results] == EXPECTED[question]
    assert said.endswith("Done: Grüße 👋.")
    assert session.plans == ()


def test_a_model_that_writes_wrong_arguments_is_told(address: str) -> None:
    session, said = hold_realtime(address, "wrong arguments", TOOLS)
    [result] = session.results
    assert result.error is not None
    assert result.error.code == "invalid_arguments"
    assert said.endswith("Done: Grüße 👋.")


@pytest.mark.parametrize("question", ASKED)
def test_frames_of_live(address: str, question: str) -> None:
    bound = TOOLS.bind("gemini-live")
    session = bound.session()
    with connect(address.replace("http://", "ws://") + LIVE) as connection:

        def send(message: Any) -> None:
            connection.send(json.dumps(message))

        def read_turn() -> None:
            while True:
                frame = connection.recv(timeout=20)
                session.feed(frame)
                if (json.loads(frame).get("serverContent") or {}).get("turnComplete"):
                    return

        send({"setup": {"model": "models/gemini-live-2.5-flash", **bound.request()}})
        session.feed(connection.recv(timeout=20))
        turn = {"role": "user", "parts": [{"text": question}]}
        send({"clientContent": {"turns": [turn], "turnComplete": True}})
        read_turn()
        session.plan().run()
        [answer] = session.messages
        send(answer)
        read_turn()
    assert [result.value for result in session.results] == EXPECTED[question]
    assert session.text.endswith("Done: Grüße 👋.")
