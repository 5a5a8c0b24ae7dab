"""One fuzz case: the same calls as every provider has them, whole and streamed; each is answered as OpenAI's plain text is."""

import datetime
import json
import random
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Optional

import rendering
from pydantic import BaseModel

from toolshape import Registry
from toolshape._schema.values import read_json


class Line(BaseModel):
    sku: str
    price: Decimal = Decimal(0)


def plain(
    a: int = 0,
    s: str = "",
    d: Decimal = Decimal(0),
    f: float = 0.0,
    xs: list[int] = [],
    m: dict[str, float] = {},
    k: dict[int, bool] = {},
    day: datetime.date = datetime.date(2026, 1, 1),
    line: Optional[Line] = None,
    lines: list[Line] = [],
) -> Any:
    return a, s, d, f, xs, m, k, day, line, lines


def loose(x: Any = None, y: int | str | list[int] | None = None) -> Any:
    return x, y


def none() -> str:
    return "ran"


TOOLS = Registry([plain, loose, none], strict=False)
PLAIN = Registry(
    [plain, none], strict=False
)  # where Any, and a text beside others, is sent as JSON text
REFERENCE = TOOLS.bind("openai")
NAMES = ("plain", "plain", "plain", "loose", "loose", "none", "nobody", "plain ")

SCALARS = (
    "0", "1", "-1", "5", "3.0", "3.0000000000000000001", "9007199254740993.0", "0.1234567890123456789", "1.50", "1e400", "1E5",
    "-0", "-0.0", "NaN", "Infinity", "12345678901234567890", "1" * 400, "1" * 5000, "true", "false", "null", '""', '"a"', '"5"',
    '"\\u00e9"', '"é😀"', '"\\ud83d\\ude00"', '"\\ud800"', '"null"', '"2026-01-02"', '"20260102"', '"[1]"', '"{\\"sku\\": \\"a\\"}"',
    '"{\\"a\\": 1, \\"a\\": 2}"', '"1.50"', '"a\\r\\nb"', '"\\\\"', '":"', '"{"',
)  # fmt: skip
KEYS = (
    "a",
    "s",
    "d",
    "f",
    "xs",
    "m",
    "k",
    "day",
    "line",
    "lines",
    "sku",
    "price",
    "x",
    "y",
    "1",
    "01",
    "",
    "é",
    "A",
)
BROKEN = (
    "",
    " ",
    "{",
    "{}x",
    '{"a":',
    '{"a": 1,}',
    "null",
    "[]",
    "5",
    '"{}"',
    '{"a" 1}',
    "{'a': 1}",
    "{}{}",
    "\n{}\n",
)


def value_text(chance: random.Random, depth: int) -> str:
    """The text of a JSON value."""
    kind = chance.random()
    if depth > 3 or kind < 0.6:
        return chance.choice(SCALARS)
    if kind < 0.8:
        return (
            "[" + ",".join(value_text(chance, depth + 1) for _ in range(chance.randrange(3))) + "]"
        )
    return object_text(chance, depth + 1)


RIGHT = {
    "a": ("1", "5", "3.0", '"5"', "null"), "s": ('"a"', "5", '"é"'), "d": ("1.50", "0.1234567890123456789", '"1.50"', "2"),
    "f": ("1.5", "2", '"2.5"'), "xs": ("[1,2]", '["1"]', '"[1]"'), "m": ('{"a":1.5}', '{"a":1,"a":2}'), "k": ('{"1":true}', '{"01":true}'),
    "day": ('"2026-01-02"', '"20260102"'), "line": ('{"sku":"a","price":0.10}', "null"), "lines": ('[{"sku":"a"}]', '[{"sku":"a","sku":"b"}]'),
    "x": ("1.50", '{"a":[1]}', '{"a":1,"a":2}', '"t"'), "y": ("5", '"5"', "[1]", "1.5"),
}  # fmt: skip


def object_text(chance: random.Random, depth: int) -> str:
    space = chance.choice(("", "", " ", "\n", "\t \r\n"))
    pairs = []
    for _ in range(chance.randrange(4)):
        key = chance.choice(KEYS)
        value = (
            chance.choice(RIGHT[key])
            if key in RIGHT and chance.random() < 0.7
            else value_text(chance, depth)
        )
        pairs.append(f"{json.dumps(key)}:{space}{value}{space}")
    return "{" + space + ",".join(pairs) + "}"


def calls_of(chance: random.Random, *, is_whole: bool) -> list[rendering.Call]:
    found = []
    for index in range(chance.choice((1, 1, 1, 2, 3, 4))):
        text = (
            object_text(chance, 0) if is_whole or chance.random() < 0.8 else chance.choice(BROKEN)
        )
        found.append((f"c{index}", chance.choice(NAMES), text))
    return found


def answers(results: Any) -> list[tuple[str, str, Any]]:
    return [
        (
            result.call.id,
            result.call.wire_name,
            repr(result.value) if result.ok else result.error.code,
        )
        for result in results
    ]


def one(seed: int) -> None:
    """One case, the same each time for the same seed."""
    chance = random.Random(seed)
    calls = calls_of(chance, is_whole=seed % 2 == 0)
    expected = answers(REFERENCE.dispatch(rendering.openai(calls)))
    wholes = dict(rendering.TEXTS)
    if seed % 2 == 0:
        wholes |= rendering.OBJECTS
    provider = chance.choice(list(wholes))
    if not says_otherwise(provider, calls):
        expect(provider, calls, expected, wholes[provider](calls), chance)
    provider = chance.choice(
        [name for name in rendering.STREAMS if seed % 2 == 0 or name not in WHOLE]
    )
    if not says_otherwise(provider, calls):
        expect_stream(provider, calls, expected, chance)


WHOLE = ("gemini", "ollama")


def bound_of(provider: str) -> Any:
    return (PLAIN if provider == "ollama" else TOOLS).bind(provider)


def says_otherwise(provider: str, calls: Sequence[rendering.Call]) -> bool:
    """Whether a provider is shown another form, in which this says something else.

    To Ollama maps are sent as pairs, of which there may be none, and a Decimal as JSON text, which may be null.
    """
    return provider == "ollama" and any(
        re.search(r'"[mk]":\s*\[|"d":\s*"', text) for *_, text in calls
    )


def known(provider: str, expected: Sequence[tuple[str, str, Any]]) -> list[tuple[str, str, Any]]:
    """What is expected of a provider that some tools are not shown to."""
    tools = PLAIN if provider == "ollama" else TOOLS
    return [
        (i, name, told if name in tools or told == "unknown_tool" else "unknown_tool")
        for i, name, told in expected
    ]


def expect(provider: str, calls: Any, expected: Any, text: str, chance: random.Random) -> None:
    body: Any = text if chance.random() < 0.5 else text.encode()
    got = answers(bound_of(provider).dispatch(body))
    assert got == known(provider, expected), (
        f"{provider}: {text}\n{got}\n{known(provider, expected)}"
    )


def expect_stream(provider: str, calls: Any, expected: Any, chance: random.Random) -> None:
    events = list(rendering.STREAMS[provider](calls, rendering.pieces(calls, chance)))
    wanted = known(provider, expected)
    collector, given = fed(provider, events, chance)
    results = collector.plan().run()
    got = answers(results)
    assert got == wanted, f"{provider}, streamed: {events}\n{got}\n{wanted}"
    assert sorted(call.id for call in given) == sorted(call_id for call_id, *_ in got), (
        f"{provider}: given {given}"
    )
    for call in given:
        [same] = [result.call for result in results if result.call.id == call.id]
        assert repr(call.arguments_raw) == repr(same.arguments_raw), (
            f"{provider}: {call} is not {same}"
        )
    length = chance.randrange(len(events))
    collector, _ = fed(provider, events[:length], chance)
    for answer in answers(collector.plan().run()) if length and collector.has_calls else ():
        [full] = [item for item in wanted if item[0] == answer[0]]
        is_right = answer == full or answer[2] == "truncated_arguments" or full[2] in ERRORS
        assert is_right, f"{provider}, cut at {length}: {events}\n{answer}\n{full}"


ERRORS = ("malformed_arguments", "truncated_arguments", "invalid_arguments", "unknown_tool")


class Fed:
    """A collector that says whether anything came."""

    def __init__(self, collector: Any, has_calls: bool) -> None:
        self.collector = collector
        self.has_calls = has_calls

    def plan(self) -> Any:
        return self.collector.plan()


def fed(provider: str, events: Sequence[str], chance: random.Random) -> tuple[Fed, list[Any]]:
    collector = bound_of(provider).collector()
    chunks: list[Any] = (
        rendering.cut(chance.choice(rendering.FRAMES)(events), chance) if events else []
    )
    if chance.random() < 0.3 and all(
        type(read_json(event)) is dict for event in events
    ):  # a dict loses nothing of them
        chunks = [json.loads(event) for event in events]
    given = [call for chunk in chunks for call in collector.feed(chunk)]
    given += collector.close()
    return Fed(collector, bool(given)), given
