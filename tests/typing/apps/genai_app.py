"""A loop with Google's client, as users write it; checked by mypy and pyright, never run."""

from google import genai
from google.genai import types

from toolshape import Registry, tool


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


tools = Registry([weather])


def chat(client: genai.Client, contents: list[types.ContentUnionDict]) -> str | None:
    bound = tools.bind("gemini")
    config = {**bound.request(choice="weather")["config"], "temperature": 0}
    while True:
        response = client.models.generate_content(
            model="gemini-3",
            contents=contents,
            config=types.GenerateContentConfig.model_validate(config),
        )
        results = bound.dispatch(response)
        contents += results.turn
        if not results:
            return response.text


async def chat_async(client: genai.Client, contents: list[types.ContentUnionDict]) -> None:
    response = await client.aio.models.generate_content(
        model="gemini-3", contents=contents, config={"tools": tools.export("gemini")}
    )
    contents.extend((await tools.adispatch(response)).turn)
