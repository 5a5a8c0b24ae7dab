"""Draws types of answers that a small model can write in a hundred tokens."""

import uuid
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from random import Random
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

__all__ = ["drawn_type"]

_WORDS = ("red", "green", "blue", "north", "south", "Köln", 'a "b"', "1", "")
_PATTERNS = ("^[A-C]{2,3}$", "^[0-9]{4}$", "^(yes|no)$", "^[a-z]+-[0-9]+$", "^.{1,6}$")


def drawn_type(random: Random, depth: int = 2) -> Any:
    """A type: a bounded value, or a list, a union or a model of such."""
    makers = [_number, _text, _choice, _instant, _plain]
    if depth > 0:
        makers += [_list, _union, _model, _model, _optional, _map, _tuple]
    return random.choice(makers)(random, depth)


def _plain(random: Random, depth: int) -> Any:
    return random.choice([bool, int, uuid.UUID, type(None)])


def _number(random: Random, depth: int) -> Any:
    low = random.randint(-50, 50)
    high = low + random.randint(0, 100)
    bounds = random.choice(
        [{"ge": low, "le": high}, {"gt": low - 1, "lt": high + 1}, {"ge": low, "multiple_of": 5}]
    )
    return Annotated[random.choice([int, int, float, Decimal]), Field(**bounds)]


def _text(random: Random, depth: int) -> Any:
    if random.random() < 0.4:
        return Annotated[str, Field(pattern=random.choice(_PATTERNS))]
    least = random.randint(0, 3)
    return Annotated[str, Field(min_length=least, max_length=least + random.randint(1, 8))]


def _choice(random: Random, depth: int) -> Any:
    words = random.sample(_WORDS, random.randint(1, 4))
    if random.random() < 0.5:
        return Literal[tuple(words)]
    return Enum("Drawn", {f"member_{number}": word for number, word in enumerate(words)})


def _instant(random: Random, depth: int) -> Any:
    return random.choice([date, time, datetime])


def _list(random: Random, depth: int) -> Any:
    least = random.randint(0, 1)
    return Annotated[
        list[drawn_type(random, depth - 1)],  # type: ignore[misc]
        Field(min_length=least, max_length=least + random.randint(1, 2)),
    ]


def _tuple(random: Random, depth: int) -> Any:
    return tuple[drawn_type(random, depth - 1), drawn_type(random, 0)]  # type: ignore[misc]


def _map(random: Random, depth: int) -> Any:
    return Annotated[dict[Literal["a", "b"], drawn_type(random, 0)], Field(max_length=2)]  # type: ignore[misc]


def _union(random: Random, depth: int) -> Any:
    return drawn_type(random, depth - 1) | drawn_type(random, 0)


def _optional(random: Random, depth: int) -> Any:
    return drawn_type(random, depth - 1) | None


def _model(random: Random, depth: int) -> Any:
    fields: dict[str, Any] = {}
    for number in range(random.randint(1, 3)):
        inner = drawn_type(random, depth - 1)
        fields[f"field_{number}"] = (inner | None, None) if random.random() < 0.3 else (inner, ...)
    return create_model("Drawn", __base__=BaseModel, **fields)
