"""One fuzz case: a response like no other, to tools that do as they please; every call is answered, nothing escapes."""

import asyncio
import copy
import datetime
import decimal
import json
import random
from collections.abc import Callable
from typing import Any

from rows import ROWS

from toolshape import File, Image, Registry, ResponseError, Text, ToolError, UsageError, tool
from toolshape._families.names import available
from toolshape._validation.coercion import RULES

ODD: list[Any] = [
    None, True, 0, -1, 1e308, 2**70, "", "x", "\ud800", "null", "[]", "{", "é" * 50, [], {}, [None], {"x": {"x": [1]}}, {"": ""},
    "tool_use", "function_call", {"type": "tool_use"}, {"function": 1}, {"name": "one"}, [[]], "5", float("nan"),
]  # fmt: skip


class SaylessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Unserialisable:
    def __repr__(self) -> str:
        raise RuntimeError("no picture")


def looped() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


RAISED: list[Callable[[], BaseException]] = [
    lambda: ValueError("secret"), SaylessError, lambda: SystemExit(3), GeneratorExit, StopIteration, StopAsyncIteration,
    RecursionError, MemoryError, asyncio.CancelledError, lambda: ToolError("no"), lambda: ToolError(None),
    lambda: ToolError("\ud800"), lambda: TimeoutError("slow"), lambda: BaseException("all"),
]  # fmt: skip
GIVEN: list[Callable[[], Any]] = [
    lambda: None, lambda: float("nan"), lambda: {1, "a"}, lambda: b"\xff", lambda: "\ud800", looped, Unserialisable, object,
    lambda: decimal.Decimal("NaN"), lambda: datetime.date(2026, 1, 1), lambda: (item for item in "ab"), lambda: [Text("t"), 5],
    lambda: Image(b"i"), lambda: File(url="https://example.com/a", name="a\n"), lambda: "x" * 10_000, lambda: 10**400,
    lambda: {"a": {"b": float("inf")}}, lambda: type, lambda: {"\ud800": 1}, lambda: 2**53 + 1,
]  # fmt: skip


class Acts:
    """What the tools do in this case: raise something, or empty their input and give something."""

    def __init__(self) -> None:
        self.chance = random.Random()

    def act(self, x: Any) -> Any:
        if self.chance.random() < 0.4:
            raised = self.chance.choice(RAISED)
            raise raised()
        if isinstance(x, (dict, list)):
            x.clear()
        return self.chance.choice(GIVEN)()


def registries(acts: Acts) -> list[Registry]:
    """A few that differ in all that is said of tools and registries."""
    made = []
    for index in range(8):

        @tool(name="one", longest_result=3 if index % 2 else None, untrusted=index == 3)
        def one(x: Any = None, y: list[int | dict[str, float]] = [], z: bool = False) -> Any:
            return acts.act(x)

        if index % 3:

            @tool(name="two", timeout=5 if index % 4 else None)
            def two() -> Any:
                return acts.act(None)

        else:

            @tool(name="two")
            async def two() -> Any:
                await asyncio.sleep(0)
                return acts.act(None)

        rules = dict.fromkeys(RULES, True) if index > 4 else None
        strict = "auto" if index % 2 else False
        made.append(
            Registry(
                [one, two], coerce=rules, strict=strict, feedback="json" if index % 2 else "lines"
            )
        )
    return made


ACTS = Acts()
REGISTRIES = registries(ACTS)
PROVIDERS = list(available())


def mutated(node: Any, chance: random.Random, times: int) -> Any:
    """JSON with some places replaced, left out, doubled, or with a stranger beside them."""
    node = copy.deepcopy(node)
    for _ in range(times):
        places = list(inner(node))
        if not places:
            return chance.choice(ODD)
        holder, step = chance.choice(places)
        act = chance.randrange(5)
        if act == 0:
            holder[step] = copy.deepcopy(chance.choice(ODD))
        elif act == 1:
            del holder[step]
        elif act == 2 and isinstance(holder, list):
            holder.insert(step, copy.deepcopy(chance.choice([*ODD, holder[step]])))
        elif act == 3 and isinstance(holder, dict):
            holder[chance.choice(list(holder))] = copy.deepcopy(holder[step])
        elif isinstance(holder[step], str):
            holder[step] = holder[step][: chance.randrange(len(holder[step]) + 1)] + chance.choice(
                ["", "{", '"', "\ud800", "x"]
            )
    return node


def inner(node: Any) -> Any:
    steps = (
        list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    )
    for step in steps:
        yield node, step
        yield from inner(node[step])


def sendable(results: Any) -> None:
    """A client can send it: JSON in UTF-8, bytes of images where an SDK takes such."""
    json.dumps(results.messages, ensure_ascii=False, allow_nan=False, default=size).encode()
    json.dumps(results.turn, ensure_ascii=False, default=size).encode()


def size(data: Any) -> int:
    assert isinstance(data, bytes)
    return len(data)


def check(tools: Registry, body: Any, provider: str | None, *, asynchronous: bool) -> None:
    """Dispatch it, and hold the answers to what is promised."""
    used = tools.subset() if provider is None else tools.bind(provider)
    try:
        results = asyncio.run(used.adispatch(body)) if asynchronous else used.dispatch(body)
    except (ResponseError, UsageError):
        return
    for result in results:
        assert type(result.call.id) is type(result.text) is str
        assert result.call.id
        result.text.encode()
    sendable(results)
    assert bool(results.messages) == bool(len(results))
    assert all(result.ok for result in results) == results.ok
    assert (results.losses == []) or any(result.parts for result in results)


def one(seed: int) -> None:
    """One case, the same each time for the same seed."""
    chance = ACTS.chance = random.Random(seed)
    tools = chance.choice(REGISTRIES)
    row = chance.choice(ROWS)
    kind = chance.randrange(10)
    if kind < 5:
        body: Any = mutated(row.response, chance, chance.randrange(4))
    elif kind < 7:
        body = with_arguments(row.response, chance)
    elif kind == 7:
        text = json.dumps(row.response)
        cut = chance.randrange(len(text))
        body = text[:cut] + chance.choice(["", "x", "}", text[chance.randrange(len(text)) :]])
    elif kind == 8:
        return streamed(tools, row, chance)
    else:
        body = mutated(chance.choice(ODD), chance, 2)
    provider = chance.choice([row.provider, row.provider, None, chance.choice(PROVIDERS)])
    check(tools, body, provider, asynchronous=chance.random() < 0.2)
    return None


def with_arguments(node: Any, chance: random.Random) -> Any:
    """A response whose calls have other arguments."""
    node = copy.deepcopy(node)
    for holder, step in list(inner(node)):
        if step in ("arguments", "input", "args") and isinstance(holder, dict):
            value = mutated({"x": chance.choice(ODD)}, chance, chance.randrange(3))
            holder[step] = json.dumps(value) if chance.random() < 0.5 else value
            if isinstance(holder[step], str) and chance.random() < 0.5:
                holder[step] = holder[step][
                    : chance.randrange(len(holder[step]) + 1)
                ] + chance.choice(["", "}", holder[step]])
    return node


def streamed(tools: Registry, row: Any, chance: random.Random) -> None:
    """Pieces of a response, and strangers, as events of a stream."""
    collector = tools.bind(row.provider).collector()
    pieces = [piece for piece, _ in [(row.response, 0)] if isinstance(piece, dict)]
    pieces += [
        holder[step] for holder, step in inner(row.response) if isinstance(holder[step], dict)
    ]
    found = 0
    for _ in range(chance.randrange(6)):
        event = mutated(chance.choice(pieces) if pieces else {}, chance, chance.randrange(3))
        try:
            found += len(collector.feed(event if chance.random() < 0.7 else json.dumps(event)))
        except ResponseError:
            continue
    try:
        found += len(collector.close())
        results = collector.plan().run()
    except (ResponseError, UsageError):
        return
    sendable(results)
