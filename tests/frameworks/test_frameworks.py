"""Agents of other libraries, unchanged, on a fake: each calls its own tool, and is refused what OpenAI refuses."""

import asyncio
import importlib
import os
from typing import Any

import pytest

from toolshape import Registry, tool
from toolshape.testing import Fake

# Their clients are left to the garbage collector, and some of their modules warn where they are imported.
pytestmark = pytest.mark.filterwarnings("ignore")


def library(name: str) -> Any:
    """A framework; in CI none is skipped."""
    if os.environ.get("TOOLSHAPE_EVERY"):
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"{name} is not installed: nox -s frameworks")


@tool
def weather(city: str, days: int = 1) -> str:
    """Say what the weather will be.

    Args:
        city: Its name.
        days: How many days ahead.
    """
    return f"{city}: sun for {days} days"


@pytest.fixture
def fake(monkeypatch):
    """A fake that says one call and one text, found by the variables of OpenAI's SDK."""
    with Fake("openai", Registry([weather])) as made:
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        made.calls("weather", city="Bonn", days=2)
        made.says("It will be sunny.")
        yield made
        made.assert_done()
        assert made.exchanges[0].tools == ("weather",)
        assert "Bonn: sun for 2 days" in str(made.exchanges[1].request["messages"][-1]["content"])
        assert not made.refused


def test_pydantic_ai(fake):
    pydantic_ai = library("pydantic_ai")
    agent = pydantic_ai.Agent("openai-chat:gpt-5", tools=[weather.function])
    assert agent.run_sync("How will it be in Bonn?").output == "It will be sunny."


def test_pydantic_ai_streamed(fake):
    pydantic_ai = library("pydantic_ai")
    agent = pydantic_ai.Agent("openai-chat:gpt-5", tools=[weather.function])

    async def run() -> str:
        async with agent.run_stream("How will it be in Bonn?") as result:
            return "".join([piece async for piece in result.stream_text(delta=True)])

    assert asyncio.run(run()) == "It will be sunny."


def test_langchain_openai(fake):
    langchain = library("langchain_openai")
    messages = library("langchain_core.messages")
    made = library("langchain_core.tools").tool(weather.function)
    model = langchain.ChatOpenAI(model="gpt-5").bind_tools([made])
    history = [messages.HumanMessage("How will it be in Bonn?")]
    history.append(model.invoke(history))
    [call] = history[-1].tool_calls
    history.append(made.invoke(call))
    assert model.invoke(history).content == "It will be sunny."


def test_openai_agents(fake):
    agents = library("agents")
    agents.set_tracing_disabled(disabled=True)
    model = agents.OpenAIChatCompletionsModel(model="gpt-5", openai_client=library("openai").AsyncOpenAI())
    agent = agents.Agent("weather", model=model, tools=[agents.function_tool(weather.function)])
    found = asyncio.run(agents.Runner.run(agent, "How will it be in Bonn?"))
    assert found.final_output == "It will be sunny."


def test_litellm(fake):
    litellm = library("litellm")
    request = Registry([weather]).request("openai")
    messages = [{"role": "user", "content": "How will it be in Bonn?"}]
    response = litellm.completion("openai/gpt-5", messages, api_base=os.environ["OPENAI_BASE_URL"], **request)
    messages += Registry([weather]).dispatch(response.model_dump()).turn
    response = litellm.completion("openai/gpt-5", messages, api_base=os.environ["OPENAI_BASE_URL"], **request)
    assert response.choices[0].message.content == "It will be sunny."


def test_what_is_refused_reaches_the_application():
    """As the framework's own error, with the words that OpenAI uses."""
    litellm = library("litellm")
    messages = [{"role": "user", "content": "Go."}, {"role": "tool", "tool_call_id": "call_1", "content": "7"}]
    with Fake("openai") as fake:
        options = {"api_base": f"{fake.url}/v1", "api_key": "k", "max_retries": 0}
        with pytest.raises(litellm.BadRequestError, match="must be a response to a preceeding"):
            litellm.completion("openai/gpt-5", messages, **options)
    assert "orphan_result" in {one.rule for one in fake.refused}
