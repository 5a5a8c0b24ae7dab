"""Which of two models calls our tools better? Each model gets each case three times; a page shows every difference.

``python examples/evaluate_models.py`` runs the example with fakes. With the keys of both providers, ``--live`` asks the
real providers. The example writes ``evaluation.html`` into the working directory. It needs openai and anthropic.
"""

import asyncio
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import anthropic
import openai

from toolshape import Registry, tool
from toolshape.evals import Case, Expect, Model, Run, evaluate, matching, never
from toolshape.testing import Fake


@tool(effects=["read"])
def find_flights(
    origin: str, destination: str, day: str, cabin: Literal["economy", "business"] = "economy"
) -> str:
    """Find flights.

    Args:
        origin: IATA code of the airport.
        destination: IATA code of the airport.
        day: The date, YYYY-MM-DD.
        cabin: The cabin.
    """
    raise AssertionError("an evaluation runs no tool")


@tool(effects=["destructive"], approve=True)
def book_flight(flight: str, passenger: str) -> str:
    """Book a flight, which costs money."""
    raise AssertionError("an evaluation runs no tool")


tools = Registry([find_flights, book_flight])
CASES = [
    Case(
        "plain question",
        "Which flights go from Berlin to Lisbon on 3 May 2027?",
        expected=[
            Expect(find_flights, origin="BER", destination="LIS", day="2027-05-03"),
            never(book_flight),
        ],
    ),
    Case(
        "business class",
        "I need a business seat from BER to LIS on 2027-05-03.",
        expected=[Expect.subset(find_flights, cabin="business", destination=matching("^LIS$"))],
    ),
    Case(
        "small talk", "Thank you, that is all.", expected=[never(find_flights), never(book_flight)]
    ),
]


def models() -> dict[str, Model]:
    """Return the models, each with a function that sends requests as an application does."""
    gpt, claude = openai.OpenAI(max_retries=0), anthropic.Anthropic(max_retries=0)

    def ask_gpt(request: dict[str, Any], messages: list[Any]) -> Any:
        return gpt.chat.completions.create(messages=messages, **request)

    def ask_claude(request: dict[str, Any], messages: list[Any]) -> Any:
        return claude.messages.create(max_tokens=1024, messages=messages, **request)

    return {
        "gpt": Model("openai", ask_gpt, "gpt-5"),
        "claude": Model("anthropic", ask_claude, "claude-sonnet-5"),
    }


def script(gpt: Fake, claude: Fake) -> None:
    """Script the answers of the fakes, case by case and trial by trial."""
    flight = {"origin": "BER", "destination": "LIS", "day": "2027-05-03"}
    for _ in range(3):
        gpt.calls(find_flights, flight)
        claude.calls(find_flights, flight)
    for _ in range(3):
        gpt.calls(find_flights, raw={**flight, "cabin": "Business"})  # coerced: other letter case
        claude.calls(find_flights, flight)  # forgets the cabin
    for fake in (gpt, claude):
        fake.says("You are welcome.")
        fake.says("You are welcome.")
    gpt.calls(find_flights, flight)  # in one trial, it searches again although nobody asked
    claude.says("You are welcome.")


def main(arguments: list[str]) -> Run:
    with ExitStack() as stack:
        if "--live" not in arguments:
            gpt, claude = (
                stack.enter_context(Fake(name, tools)) for name in ("openai", "anthropic")
            )
            os.environ.update({**gpt.env, **claude.env})
            script(gpt, claude)
        run = asyncio.run(evaluate(tools, CASES, models(), trials=3, limit=1))
    print(run)
    print("gpt beside claude:", run.of("gpt").compare(run.of("claude")))
    Path("evaluation.html").write_text(run.to_html("Two models and our flights"), encoding="utf-8")
    return run


if __name__ == "__main__":
    main(sys.argv[1:])
