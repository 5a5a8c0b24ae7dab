"""A loop with Anthropic's client, as users write it; checked by mypy and pyright, never run."""

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import MessageParam

from toolshape import Registry, tool


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


tools = Registry([weather])


def chat(client: Anthropic, messages: list[MessageParam]) -> None:
    bound = tools.bind("anthropic")
    while True:
        response = client.messages.create(
            model="claude-sonnet-5",
            max_tokens=1024,
            messages=messages,
            **bound.request(choice="auto"),
        )
        results = bound.dispatch(response)
        messages += results.turn
        if not results:
            return


async def chat_async(client: AsyncAnthropic, messages: list[MessageParam]) -> None:
    response = await client.messages.create(
        model="claude-sonnet-5", max_tokens=1024, messages=messages, tools=tools.export("anthropic")
    )
    messages.extend((await tools.adispatch(response)).turn)


def stream(client: Anthropic, messages: list[MessageParam]) -> None:
    bound = tools.bind("anthropic")
    collector = bound.collector()
    with client.messages.stream(
        model="claude-sonnet-5", max_tokens=1024, messages=messages, tools=bound.export()
    ) as events:
        for event in events:
            collector.feed(event)
    messages += collector.plan().run().turn
