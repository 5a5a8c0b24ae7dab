"""Agents of other libraries, unchanged, on a fake: each calls its own tool."""

import asyncio

import pytest

# Their clients are left to the garbage collector, and some of their modules warn where they are imported.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_pydantic_ai(fake, weather, library):
    pydantic_ai = library("pydantic_ai")
    agent = pydantic_ai.Agent("openai-chat:gpt-5", tools=[weather.function])
    assert agent.run_sync("How will it be in Bonn?").output == "It will be sunny."


def test_pydantic_ai_streamed(fake, weather, library):
    pydantic_ai = library("pydantic_ai")
    agent = pydantic_ai.Agent("openai-chat:gpt-5", tools=[weather.function])

    async def run() -> str:
        async with agent.run_stream("How will it be in Bonn?") as result:
            return "".join([piece async for piece in result.stream_text(delta=True)])

    assert asyncio.run(run()) == "It will be sunny."


def test_langchain_openai(fake, weather, library):
    langchain = library("langchain_openai")
    messages = library("langchain_core.messages")
    made = library("langchain_core.tools").tool(weather.function)
    model = langchain.ChatOpenAI(model="gpt-5").bind_tools([made])
    history = [messages.HumanMessage("How will it be in Bonn?")]
    history.append(model.invoke(history))
    [call] = history[-1].tool_calls
    history.append(made.invoke(call))
    assert model.invoke(history).content == "It will be sunny."


def test_openai_agents(fake, weather, library):
    agents = library("agents")
    agents.set_tracing_disabled(disabled=True)
    model = agents.OpenAIChatCompletionsModel(
        model="gpt-5", openai_client=library("openai").AsyncOpenAI()
    )
    agent = agents.Agent("weather", model=model, tools=[agents.function_tool(weather.function)])
    found = asyncio.run(agents.Runner.run(agent, "How will it be in Bonn?"))
    assert found.final_output == "It will be sunny."
