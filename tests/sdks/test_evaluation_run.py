"""An evaluation with real SDK clients against three fakes: the table says what was scripted."""

import asyncio
import gc
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from clients import sdk

from toolshape import Registry, tool
from toolshape.evals import Case, Expect, Model, Run, evaluate, never
from toolshape.testing import Fake

# The SDKs leave the closing of their sockets to the garbage collector, which is run where that is expected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """What is left open is found here, and not in a test of something else."""
    yield
    gc.collect()


@tool
def weather(city: str, days: int = 1, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Say what the weather will be."""
    raise AssertionError("evaluations run no tool")


@tool
def book(hotel: str, nights: int) -> str:
    """Book a room."""
    raise AssertionError("evaluations run no tool")


TOOLS = Registry([weather, book])
CASES = [
    Case("weather", "How is it in Bonn?", expected=[Expect(weather, city="Bonn", days=2)]),
    Case("book", "Book two nights.", expected=[Expect(book, hotel="Ritz", nights=2)]),
    Case("greeting", "Hello.", expected=[never(book)]),
]


async def asked(openai: Fake, anthropic: Fake, gemini: Fake) -> Run:
    """Each model asked as an application asks it, the first by an async client."""
    google = sdk("google.genai").Client(api_key="k", http_options={"base_url": gemini.url})
    with sdk("anthropic").Anthropic(base_url=anthropic.url, api_key="k", max_retries=0) as claude:
        async with sdk("openai").AsyncOpenAI(
            base_url=f"{openai.url}/v1", api_key="k", max_retries=0
        ) as gpt:

            async def ask_openai(request: Any, messages: Any) -> Any:
                return await gpt.chat.completions.create(messages=messages, **request)

            def ask_anthropic(request: Any, messages: Any) -> Any:
                return claude.messages.create(max_tokens=64, messages=messages, **request)

            def ask_gemini(request: Any, contents: Any) -> Any:
                return google.models.generate_content(contents=contents, **request)

            models = {
                "gpt": Model("openai", ask_openai, "gpt-5"),
                "claude": Model("anthropic", ask_anthropic, "claude-sonnet-5"),
                "gemini": Model("gemini", ask_gemini, "gemini-2.5-flash"),
            }
            made = await evaluate(TOOLS, CASES, models, trials=2, limit=1)
    google.close()
    return made


def run() -> Run:
    """Two trials of each case at each model: what each fake says is scripted case by case."""
    with (
        Fake("openai", TOOLS) as openai,
        Fake("anthropic", TOOLS) as anthropic,
        Fake("gemini", TOOLS) as gemini,
    ):
        for fake in (openai, anthropic):
            fake.calls(weather, city="Bonn", days=2)
        anthropic.calls(weather, city="Bonn", days=2, slip="wrong_type")
        openai.calls(weather, city="Bonn", days=2)
        gemini.calls(weather, city="Bonn", days=3)
        gemini.calls(weather, city="Bonn")
        openai.calls(book, hotel="Ritz", nights=2)
        openai.calls(book, hotel="Ritz", nights=2, slip="extra")
        anthropic.fails(529)
        anthropic.says("Which hotel?")
        gemini.calls(book, hotel="Ritz", nights=2)
        gemini.calls(weather, city="Bonn")
        for _ in range(2):
            openai.says("Hello!")
            gemini.says("Hello!")
        anthropic.calls(book, hotel="Ritz", nights=1)
        anthropic.says("Hello!")
        made = asyncio.run(asked(openai, anthropic, gemini))
        for fake in (openai, anthropic, gemini):
            fake.assert_done()
            assert not fake.refused
    return made


EXPECTED = {
    ("weather", "gpt"): ["right", "right"],
    ("weather", "claude"): ["right", "right_after_coercion"],
    ("weather", "gemini"): ["wrong", "wrong"],
    ("book", "gpt"): ["right", "wrong"],
    ("book", "claude"): ["failed", "wrong"],
    ("book", "gemini"): ["right", "wrong"],
    ("greeting", "gpt"): ["right", "right"],
    ("greeting", "claude"): ["wrong", "right"],
    ("greeting", "gemini"): ["right", "right"],
}


def test_the_table_says_what_was_scripted():
    made = run()
    found: dict[tuple[str, str], list[str]] = {}
    for item in made:
        found.setdefault((item.case, item.model), []).append(item.label)
    assert found == EXPECTED
    table = str(made).splitlines()
    assert [line.split("  ")[0] for line in table[:5]] == [
        "case",
        "weather",
        "book",
        "greeting",
        "all",
    ]
    assert table[1].split() == ["weather", "2", "of", "2", "2", "of", "2", "0", "of", "2"]
    assert "weather, gemini, trial 1: weather.days: expected 2, got 3" in table
    assert any(line.startswith("book, gpt, trial 2: book: refused: ") for line in table)
    assert any(line.startswith("book, claude, trial 1: overloaded: ") for line in table)
    assert any(line.startswith("greeting, claude, trial 1: book: ") for line in table)
