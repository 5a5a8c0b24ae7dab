"""Tests the agent without a key and without a network: ``pytest examples/tested_agent``."""

from pathlib import Path

import agent
import openai
import pytest

from pytest_toolshape import FakeProvider
from toolshape.contract import assert_contract
from toolshape.testing import Fake, Turn, check_slip, slips


@pytest.fixture
def provider(fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Return a fake OpenAI on this machine. The agent finds it by environment variables, like the real OpenAI."""
    fake = fake_provider("openai", agent.tools)
    for name, value in fake.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(agent, "TICKETS", [])
    return fake


def test_it_finds_an_order(provider: Fake) -> None:
    provider.calls(agent.find_order, order_id="45128")
    provider.says("Your kettle was sent on Monday.")
    assert agent.answer("Where is order 45128?") == "Your kettle was sent on Monday."
    assert provider.exchanges[-1].messages[-1].text == "kettle, sent on Monday"


def test_it_goes_on_after_a_mistake_of_the_model(provider: Fake) -> None:
    """The model reads the error, and calls again."""
    provider.calls(agent.find_order, order_id="45129")
    provider.invents("search_orders", text="kettle")
    provider.calls(
        agent.open_ticket, raw={"order_id": 45128, "reason": "The lid is broken."}
    )  # a number for a string
    provider.says("I opened ticket T-1.")
    agent.answer("My lid is broken.")
    answers = [exchange.messages[-1].text for exchange in provider.exchanges[1:]]
    assert answers[0] == "There is no order 45129."
    assert "search_orders" in answers[1]
    assert agent.TICKETS == ["45128: The lid is broken."]


def test_it_stops_in_the_end(provider: Fake) -> None:
    provider.answers(lambda _: Turn().calls(agent.find_order, order_id="45128"))  # again and again
    with pytest.raises(agent.StepsError):
        agent.answer("Where is order 45128?")


def test_an_overloaded_provider_is_the_callers_matter(provider: Fake) -> None:
    for _ in range(3):  # the SDK tries three times
        provider.fails(503, retry_after=0)
    with pytest.raises(openai.InternalServerError):
        agent.answer("Where is order 45128?")


def test_no_mistake_of_a_model_passes_silently() -> None:
    """Each typical mistake is coerced and recorded, or rejected with its place."""
    arguments = {"order_id": "45128", "reason": "The lid is broken.", "is_urgent": True}
    for slip in slips(agent.open_ticket, arguments):
        check_slip(agent.open_ticket, slip)


def test_the_tools_are_those_of_the_contract() -> None:
    """Fails if a change breaks a call that models make today; ``pytest --toolshape-update`` accepts the change."""
    assert_contract(agent.tools, Path(__file__).with_name("tools.lock.json"), providers=["openai"])
