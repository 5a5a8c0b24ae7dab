"""Responses of every provider with something in them that no server should send, the same each time for the same seed."""

import copy
import random
from collections.abc import Iterator
from typing import Any

from rows import ROWS

from toolshape._families import get

VALUES: tuple[Any, ...] = (
    None, "", 0, 1, True, False, [], {}, "x", "null", [{}], [None], {"a": 1}, "assistant", -1, 1.5, ["x"], [[]],
    [{"type": "text", "text": "a"}], "é", "\ud800",
)  # fmt: skip
KEYS = (
    "id",
    "name",
    "type",
    "role",
    "content",
    "function",
    "extra",
    "index",
    "arguments",
    "input",
    "args",
)
WITH_MESSAGES = [row for row in ROWS if get(row.provider).histories is not None]


def mutated(body: Any, chance: random.Random) -> Any:
    """The body with one or two members removed, repeated, added or replaced, anywhere in it."""
    body = copy.deepcopy(body)
    for _ in range(chance.choice((1, 1, 1, 2))):
        places = [path for path in _paths(body) if path]
        if places:
            _change(body, chance.choice(places), chance)
    return body


def _change(body: Any, path: tuple[Any, ...], chance: random.Random) -> None:
    *before, last = path
    node = body
    for step in before:
        node = node[step]
    kind, value = chance.random(), copy.deepcopy(chance.choice(VALUES))
    if kind < 0.2:
        del node[last]
    elif kind < 0.3 and isinstance(node, list):
        node.insert(last, value)
    elif kind < 0.4 and isinstance(node, list):
        node.insert(last, copy.deepcopy(node[last]))
    elif kind < 0.5 and isinstance(node, dict):
        node[chance.choice(KEYS)] = value
    else:
        node[last] = value


def _paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    members = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for step, value in members:
        yield from _paths(value, (*path, step))
