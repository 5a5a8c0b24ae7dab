"""A loop with OpenAI's client, as users write it; checked by mypy and pyright, never run."""

from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam

from toolshape import Registry, tool


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


tools = Registry([weather])


def chat(client: OpenAI, messages: list[ChatCompletionMessageParam]) -> str | None:
    bound = tools.bind("openai")
    while True:
        response = client.chat.completions.create(
            model="gpt-5", messages=messages, **bound.request(parallel=False)
        )
        results = bound.dispatch(response)
        messages += results.turn
        if not results:
            return response.choices[0].message.content


def chat_with_tools_alone(client: OpenAI, messages: list[ChatCompletionMessageParam]) -> None:
    response = client.chat.completions.create(
        model="gpt-5", messages=messages, tools=tools.export("openai")
    )
    messages.extend(tools.dispatch(response).messages)


async def chat_async(client: AsyncOpenAI, messages: list[ChatCompletionMessageParam]) -> None:
    response = await client.chat.completions.create(
        model="gpt-5", messages=messages, tools=tools.export("openai")
    )
    messages += (await tools.adispatch(response, limit=4)).turn


def stream(client: OpenAI, messages: list[ChatCompletionMessageParam]) -> None:
    bound = tools.bind("openai")
    collector = bound.collector()
    for chunk in client.chat.completions.create(
        model="gpt-5", messages=messages, stream=True, tools=bound.export()
    ):
        collector.feed(chunk)
    messages += collector.plan().run().turn


def respond(client: OpenAI, items: list[ResponseInputItemParam]) -> str:
    bound = tools.bind("openai-responses")
    while True:
        response = client.responses.create(model="gpt-5", input=items, **bound.request())
        results = bound.dispatch(response)
        items += results.turn
        if not results:
            return response.output_text
