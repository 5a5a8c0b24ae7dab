"""Times what surrounds a call: turns of a conversation, answers in a type, imported definitions."""

import asyncio
import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from calls import floor_of
from pydantic import BaseModel, TypeAdapter
from rows import Row
from subjects import RESPONSES, SUBJECTS, openai_response
from timing import Effort, seconds_of_each, spread_of

from toolshape import Conversation, Output, Registry, Tool

__all__ = ["Loop", "loop_rows", "loops"]

_TURNS = 10


@dataclass(frozen=True, kw_only=True)
class Loop:
    """Something that an app does again and again, and what it is compared with.

    ``run`` does it ``times`` times.
    """

    what: str
    run: Callable[[], Any]
    floor: Callable[[], Any]
    times: int = 1
    goal: float | None = None


class City(BaseModel):
    name: str
    population: int
    country: str


class Cities(BaseModel):
    cities: list[City]


def loops() -> Iterator[Loop]:
    """Yield every loop, after a check that each gives what it should."""
    yield from _conversations()
    for length, answer_type, answer in (
        ("89 bytes", City, _CITY),
        ("5 kB", Cities, {"cities": [_CITY] * 57}),
    ):
        yield _answer_of(length, answer_type, json.dumps(answer))
    definition = Tool.from_definition(SUBJECTS[1].tool().export("anthropic")).export("openai")
    text = json.dumps(definition)

    def parse_and_walk() -> int:
        return _count(json.loads(text))

    def added() -> Registry:
        tools = Registry()
        tools.add_definitions(definition)
        return tools

    assert added().export("openai", strict=False)[0]["function"]["name"] == "create_order"
    yield Loop(what="an imported definition, added", run=added, floor=parse_and_walk)
    yield Loop(
        what="an imported definition, added and exported",
        run=lambda: added().export("openai", strict=False),
        floor=parse_and_walk,
    )


_CITY = {"name": "Bonn", "population": 330_000, "country": "Germany, by the river Rhine"}


def _count(node: Any) -> int:
    if isinstance(node, dict):
        return 1 + sum(map(_count, node.values()))
    return 1 + sum(map(_count, node)) if isinstance(node, list) else 1


def _answer_of(length: str, answer_type: type[BaseModel], text: str) -> Loop:
    """Return the reading of an answer, beside the validation of its text by pydantic alone."""
    bound, validate = Output(answer_type).bind("openai"), TypeAdapter(answer_type).validate_json
    body = openai_response("none", {})
    body["choices"][0] |= {
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    assert bound.read(body).value == validate(text)
    goals = {"89 bytes": 2.1, "5 kB": 1.15}
    return Loop(
        what=f"Output.read of {length}, to validate_json",
        run=lambda: bound.read(body),
        floor=lambda: validate(text),
        goal=goals[length],
    )


def _conversations() -> Iterator[Loop]:
    subject = SUBJECTS[0]
    tools = Registry([subject.tool()])
    floor = floor_of(subject)
    for provider, model in (("openai", "gpt-5"), ("anthropic", "claude-opus-4-5")):
        bodies = [_with_id(_response(provider, subject.given), turn) for turn in range(_TURNS)]

        def of_ten(provider: str = provider, model: str = model, bodies: Any = bodies) -> Any:
            return _talk(Conversation(tools), provider, model, bodies)

        assert len(of_ten()) == 3 * _TURNS
        yield Loop(
            what=f"a turn of a conversation, one of ten, {provider}",
            run=of_ten,
            floor=floor,
            times=_TURNS,
            goal=70,
        )
    foreign = Conversation(tools)
    bodies = [_with_id(_response("openai", subject.given), turn) for turn in range(_TURNS)]
    _talk(
        foreign,
        "anthropic",
        "claude-opus-4-5",
        [_with_id(_response("anthropic", subject.given), 99)],
    )
    stored = foreign.to_json()

    def after_another() -> Any:
        chat = Conversation.from_json(stored, tools)
        return _talk(chat, "openai", "gpt-5", bodies)

    yield Loop(
        what="the same after a turn of another provider, restored",
        run=after_another,
        floor=floor,
        times=_TURNS,
    )


def _response(provider: str, given: dict[str, Any]) -> dict[str, Any]:
    write = openai_response if provider == "openai" else RESPONSES[provider]
    return write(SUBJECTS[0].function.__name__, given)


def _with_id(body: dict[str, Any], turn: int) -> dict[str, Any]:
    """Return a response whose call has another id in each turn."""
    body = copy.deepcopy(body)
    for call in body.get("content") or body["choices"][0]["message"]["tool_calls"]:
        if "id" in call:
            call["id"] += str(turn)
    return body


def _talk(chat: Conversation, provider: Any, model: str, bodies: list[Any]) -> Conversation:
    """Add turns: a question, the request, the response whose calls run, and the request with their results."""
    for body in bodies:
        chat.user("What is the weather?")
        chat.request(provider, model=model)
        chat.dispatch(body)
        chat.request(provider, model=model)
    return chat


def loop_rows(effort: Effort) -> Iterator[Row]:
    """Time every loop beside its floor."""
    event_loop = asyncio.new_event_loop()
    for loop in loops():
        seconds = seconds_of_each({"run": loop.run, "floor": loop.floor}, effort, event_loop)
        ratios = [
            run / loop.times / floor
            for run, floor in zip(seconds["run"], seconds["floor"], strict=True)
        ]
        yield Row(part="loop", what=loop.what, subject="time", spread=spread_of(ratios))
    event_loop.close()
