"""A conversation whose messages take the plain way is sent as one whose messages all take the passes of a repair.

The messages are drawn: what most apps send, and in two thirds of the conversations one or a few things more that may stand in one. Each
request of a conversation is made both ways, and both remember what they made before. ``TOOLSHAPE_EVERY`` draws 20,000.
"""

import contextlib
import os
import random
from collections import Counter

import pytest
from seeds import run_each

from toolshape import Conversation, HistoryError, Image, Registry, ToolError, tool
from toolshape._bound.bound import bound_tools_of
from toolshape._families import get
from toolshape._families.wire.server import Completion
from toolshape._history.conversion import Conversion
from toolshape._history.messages import conversion_to
from toolshape._history.plain_tail import _OF_CALLS, _OF_RESULTS
from toolshape._history.repairs.parts import CONTENT_RULES, TOOL_RULES
from toolshape._records.calls import WireCall

MODELS = {
    "openai": "gpt-5", "openai-responses": "gpt-5", "anthropic": "claude-opus-5-5", "bedrock": "anthropic.claude-opus-5-5",
    "gemini": "gemini-3-pro", "mistral": "mistral-large", "cohere": "command-a", "ollama": "qwen3", "deepseek": "deepseek-chat",
    "groq": "llama-3.3-70b", "gemini-interactions": "gemini-3-pro",
}  # fmt: skip
MANY = 20_000 if os.environ.get("TOOLSHAPE_EVERY") else 880
TAKEN: Counter[str] = Counter()
KINDS = [
    "arguments", "author", "blank", "empty", "id", "image", "media", "model", "no answer", "no question", "same id", "system",
    "target", "thinks", "tool", "two texts",
]  # fmt: skip
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000")


@tool
def weather(city: str, days: int = 1) -> str:
    """The weather of a city."""
    return "" if city == "empty" else f"{days} days in {city}"


@tool
def fails(city: str) -> str:
    """Fails."""
    raise ToolError(city)


@tool
def look(city: str) -> list[object]:
    """Look at a city."""
    return [city, Image(data=PIXEL, media_type="image/png")]


class Drawn:
    """A conversation with one provider, its answers, and now and then something else."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.provider = self.chance.choice(list(MODELS))
        how_many = self.chance.choice((0, 0, 1, 1, 2, 4))
        self.kinds = set(self.chance.sample(KINDS, how_many))
        self.chat = Conversation(Registry([weather, fails, look]))
        self.ways: dict[str, tuple[Conversion, Conversion]] = {}
        self.count = 0

    def odd(self, kind: str, share: float) -> bool:
        return kind in self.kinds and self.chance.random() < share

    def walk(self) -> None:
        if self.chance.random() < 0.5:
            self.chat.system("Be brief.")
        for _ in range(self.chance.randint(1, 7)):
            if not self.odd("no question", 0.5):
                self.ask()
                self.compare()
            while self.chance.random() < 0.6:
                self.answer(calls=self.chance.choice((1, 1, 2, 3)))
                self.compare()
            if not self.odd("no answer", 0.6):
                self.answer(calls=0)
                if self.chance.random() < 0.2:
                    self.compare()

    def ask(self) -> None:
        if self.odd("image", 0.3):
            self.chat.user(Image(data=PIXEL, media_type="image/png"), "What is it?")
            return
        if self.odd("system", 0.2):
            self.chat.system("Be kind.")
        self.chat.user(
            " " if self.odd("blank", 0.2) else "How is it?",
            *(["And now?"] if self.odd("two texts", 0.3) else []),
        )

    def answer(self, calls: int) -> None:
        author = self.chance.choice(list(MODELS)) if self.odd("author", 0.2) else self.provider
        model = f"{MODELS[author]}-mini" if self.odd("model", 0.2) else MODELS[author]
        self.count += 1
        completion = Completion(
            model=model,
            id=f"r{self.count}",
            text=self.chance.choice(("", "Well. ", "Well.")) if calls else "Fine.",
            calls=tuple(self.call(at) for at in range(calls)),
            reasoning="Hm." if self.odd("thinks", 0.4) else "",
            finish="tool_calls" if calls else "stop",
        )
        if self.chance.random() < 0.9:
            with contextlib.suppress(HistoryError):
                self.chat.request(author, model=model)
        self.chat.dispatch(get(author).server.respond(completion), provider=author)

    def call(self, at: int) -> WireCall:
        name = self.chance.choice(
            ("weather", "weather", "fails", "look" if "media" in self.kinds else "weather")
        )
        given: object = {"city": "empty" if self.odd("empty", 0.2) else "Bonn"}
        if self.odd("arguments", 0.2):
            given = self.chance.choice(("[1]", {"nothing": 1}, '{"city": '))
        call_id = f"call{self.count:05}"[-9:] if at == 0 else f"c{at}{self.count:07}"
        if self.provider in ("gemini", "ollama") and self.chance.random() < 0.5:
            call_id = ""  # these send none
        if self.odd("same id", 0.5):
            call_id = "same00000"
        if self.odd("id", 0.3):
            call_id = self.chance.choice(("a b", "call_1", "x" * 70, ""))
        return WireCall(call_id, "unknown" if self.odd("tool", 0.2) else name, given)

    def compare(self) -> None:
        """Make the request both ways, for this provider and now and then for another one or for another model."""
        target = self.chance.choice(list(MODELS)) if self.odd("target", 0.2) else self.provider
        model = (
            self.chance.choice((MODELS[target], f"{MODELS[target]}-mini"))
            if self.odd("target", 0.2)
            else MODELS[target]
        )
        bound = self.chat.tools.bind(target)
        if f"{target} {model}" not in self.ways:
            plain = conversion_to(
                bound.provider,
                bound_tools_of(bound).handlers,
                bound.fingerprint,
                model,
                frozenset(),
            )
            passes = Conversion(plain.rules, plain.carrier, has_tail=False)
            self.ways[f"{target} {model}"] = plain, passes
        plain, passes = self.ways[f"{target} {model}"]
        messages = self.chat.messages
        found, expected = plain.of(messages), passes.of(messages)
        assert found.messages == expected.messages
        assert found.system == expected.system
        assert found.repairs == expected.repairs
        assert found.problems == expected.problems
        tail = plain.tail
        is_plain = tail is not None and plain.done + tail.length == len(messages)
        TAKEN["plain" if is_plain else "passes"] += 1


def one(seed: int) -> None:
    Drawn(seed).walk()


@pytest.mark.parametrize("part", range(4))
def test_both_ways_send_the_same(part):
    """And at least half of the requests take the plain way; else its gate is wrong."""
    TAKEN.clear()
    run_each(one, range(part, MANY, 4))
    assert TAKEN["plain"] > TAKEN["passes"], TAKEN


def test_every_rule_of_one_message_is_asked():
    """A new rule must say which messages it speaks of, or the plain way would not ask it."""
    assert {*_OF_CALLS, *_OF_RESULTS} >= {*CONTENT_RULES, *TOOL_RULES}
