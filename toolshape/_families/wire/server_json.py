"""Helps the servers of all families: members of a request, pieces of a text, request ids."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolshape._families.wire.ids import generated_id, id_seed
from toolshape._families.wire.server import Completion
from toolshape._records.calls import ChoiceMode, JsonObject, WireCall

KEY = "fake-key"
_PIECE = 12  # characters in a piece of a short text; a long text is split into about four pieces


def as_object(node: Any) -> JsonObject:
    """Return the node if it is an object, otherwise an empty object."""
    if isinstance(node, dict):
        return node
    return {}


def as_list(node: Any) -> list[Any]:
    """Return the node if it is a list, otherwise an empty list."""
    if isinstance(node, list):
        return node
    return []


def strings_in(nodes: Iterable[Any]) -> tuple[str, ...]:
    """Return the nodes that are strings."""
    return tuple(node for node in nodes if isinstance(node, str))


def mode_for_word(words: Mapping[ChoiceMode, str], word: Any) -> ChoiceMode | None:
    """Return the mode that a provider's word means, or ``None``.

    ``words`` maps each mode to its word.
    """
    return next((mode for mode, written in words.items() if written == word), None)


def split_text(text: str) -> Iterator[str]:
    """Split text into the pieces in which a stream sends it."""
    size = max(_PIECE, len(text) // 4)
    for at in range(0, len(text), size):
        yield text[at : at + size]


def arguments_text(call: WireCall) -> str:
    """Return the arguments as JSON text. If the model wrote malformed text, return that text."""
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(call.arguments, ensure_ascii=False)


def sent_calls(said: Completion) -> tuple[list[WireCall], bool]:
    """Return the calls whose arguments are objects, and whether the model wrote a malformed call.

    Some providers send no malformed calls. A call that the length limit cut off does not count as
    malformed.
    """
    calls = [call for call in said.calls if isinstance(call.arguments, dict)]
    return calls, len(calls) < len(said.calls) and said.finish != "length"


def seconds_text(seconds: float) -> str:
    """Format a number of seconds without an exponent."""
    return f"{seconds:.6f}".rstrip("0").rstrip(".")


def request_id(message: str) -> str:
    """Return the id of a failed request, derived from its message."""
    return f"req_{generated_id(id_seed([message]), 0)}"
