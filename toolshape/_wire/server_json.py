"""Helpers of all forms: members of what was sent, pieces of what is streamed, ids that look made up."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolshape._calls import ChoiceMode, JsonObject, WireCall
from toolshape._wire.ids import generated_id, id_seed
from toolshape._wire.server import Completion

KEY = "fake-key"
_PIECE = 12  # characters; a long text comes in pieces of up to a quarter of it


def mapping(node: Any) -> JsonObject:
    """An object; an empty one in place of anything else."""
    return node if isinstance(node, dict) else {}


def listed(node: Any) -> list[Any]:
    """A list; an empty one in place of anything else."""
    return node if isinstance(node, list) else []


def texts(nodes: Iterable[Any]) -> tuple[str, ...]:
    """The texts among some values."""
    return tuple(one for one in nodes if isinstance(one, str))


def mode_of(words: Mapping[ChoiceMode, str], word: Any) -> ChoiceMode | None:
    """A choice in a provider's word, by the table that writes it; ``None`` where it says none."""
    return next((mode for mode, written in words.items() if written == word), None)


def pieces(text: str) -> Iterator[str]:
    """A text in the pieces of a stream."""
    size = max(_PIECE, len(text) // 4)
    for at in range(0, len(text), size):
        yield text[at : at + size]


def arguments_text(call: WireCall) -> str:
    """The arguments as JSON text, or what the model wrote in place of that."""
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)


def sent_calls(said: Completion) -> tuple[list[WireCall], bool]:
    """The calls whose arguments are objects, for a provider that sends no others; whether the model failed to write some.

    One that was cut off by the length of the response is no failure.
    """
    found = [one for one in said.calls if isinstance(one.arguments, dict)]
    return found, len(found) < len(said.calls) and said.finish != "length"


def seconds_text(seconds: float) -> str:
    """A number of seconds without an exponent."""
    return f"{seconds:.6f}".rstrip("0").rstrip(".")


def request_id(message: str) -> str:
    """The id of a request that failed."""
    return f"req_{generated_id(id_seed([message]), 0)}"
