"""Reads JSON text, and tells truncated text, malformed text and repeated keys apart."""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from pydantic_core import from_json

from toolshape._schema.values import UnreadableError, WrittenFloat, first_repeated_key, read_json, require_unique_keys

Repair: TypeAlias = Callable[[str, type[float]], Any]


def parse_json(text: str | bytes, repair: Repair | None) -> tuple[Any, bool]:
    """Read a text, with numbers as they were written, and say whether it had to be repaired.

    Args:
        text: The text; empty is not JSON.
        repair: Reads text that is almost JSON; ``None`` where repairing is not allowed.

    Raises:
        UnreadableError: It is cut off (``json_truncated``), no JSON (``json_invalid``), or has a key twice
            (``repeated_key``).
    """
    try:
        value = from_json(text.encode() if isinstance(text, str) else text)
    except ValueError as error:
        is_cut = str(error).startswith("EOF while parsing")
        if repair is None or is_cut or not isinstance(text, str):
            raise UnreadableError(_plain(str(error)), rule="json_truncated" if is_cut else "json_invalid") from error
        return _parse_repaired(text, repair), True
    if not has_every_key(text, keys_in(value)):
        require_unique_keys(read_json(text))
    return read_json(text, keeps_keys=False) if _FLOAT.search(str(text)) else value, False


_PLAIN_WORDS = {
    "EOF while parsing a value": "it ends in the middle of a value",
    "EOF while parsing a string": "it ends in the middle of a string",
    "EOF while parsing an object": "it ends in the middle of an object",
    "EOF while parsing a list": "it ends in the middle of an array",
    "expected value": "no JSON value",
    "expected ident": "expected true, false or null",
    "key must be a string": "a key must be in double quotes",
    "invalid number": "not a number of JSON",
    "trailing characters": "there is more after the end",
    "trailing comma": "a comma too many",
    "invalid escape": "a backslash before a character that takes none",
    "unexpected end of hex escape": "half of a character",
    "recursion limit exceeded": "nested too deeply",
}
"""What the parser says, and what a model or a developer understands."""


def _plain(message: str) -> str:
    """The parser's message in plain words, with the place."""
    said = next(
        (plain + message[len(word) :] for word, plain in _PLAIN_WORDS.items() if message.startswith(word)), message
    )
    return said.replace(" (\\u0000-\\u001F) found while parsing", " in")


_FLOAT = re.compile(r"[0-9][.eE]")  # or a text that looks like one


def repeats_key(text: str | bytes) -> bool:
    """Whether a key comes twice in one object of a JSON text."""
    return first_repeated_key(read_json(text)) is not None


def _parse_repaired(text: str, repair: Repair) -> Any:
    try:
        return repair(text, WrittenFloat)
    except ValueError as error:
        rule = "json_truncated" if type(error).__name__ == "TruncatedError" else "json_invalid"
        raise UnreadableError(str(error), rule=rule) from error


def keys_in(value: Any) -> int:
    """How many keys a JSON value has, all the way down."""
    if isinstance(value, dict):
        inner = [item for item in value.values() if isinstance(item, (dict, list))]
        return len(value) + sum(map(keys_in, inner)) if inner else len(value)
    return sum(map(keys_in, value)) if isinstance(value, list) else 0


def has_every_key(text: str | bytes, keys: int) -> bool:
    """Whether a text of which so many keys were read certainly repeats none: each key has a colon of its own."""
    return (text.count(":") if isinstance(text, str) else text.count(b":")) == keys
