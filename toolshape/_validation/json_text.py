"""Parses JSON text, and distinguishes truncated text, malformed text and repeated keys."""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from pydantic_core import from_json

from toolshape._schema.values import (
    UnreadableError,
    WrittenFloat,
    first_repeated_key,
    read_json,
    require_unique_keys,
)

TextRepair: TypeAlias = Callable[[str, type[float]], Any]


def parse_json(text: str | bytes, repair: TextRepair | None) -> tuple[Any, bool]:
    """Parse JSON text, and keep each number as it is written; return the value, and
    whether the text was repaired.

    Args:
        text: The text; an empty string is not JSON.
        repair: A parser for text that is almost JSON; ``None`` if repairs are not allowed.

    Raises:
        UnreadableError: The text is cut off (``json_truncated``), is not JSON (``json_invalid``),
            or repeats a key (``repeated_key``).
    """
    try:
        value = from_json(text.encode() if isinstance(text, str) else text)
    except ValueError as error:
        is_truncated = str(error).startswith("EOF while parsing")
        if repair is None or is_truncated or not isinstance(text, str):
            raise UnreadableError(
                _plain_wording(str(error)),
                rule="json_truncated" if is_truncated else "json_invalid",
            ) from error
        return _parse_repaired(text, repair), True
    if not has_every_key(text, keys_in(value)):
        require_unique_keys(read_json(text))
    return read_json(text, keeps_keys=False) if _FLOAT.search(str(text)) else value, False


HALF_A_PAIR = "half of a surrogate pair"
"""What is wrong with a text that no client can send."""
NOT_ENCODED = "surrogates not allowed"  # the end of what Python and pydantic say of it
_PLAIN_WORDS = {
    "EOF while parsing a value": "the text ends in the middle of a value",
    "EOF while parsing a string": "the text ends in the middle of a string",
    "EOF while parsing an object": "the text ends in the middle of an object",
    "EOF while parsing a list": "the text ends in the middle of an array",
    "expected value": "expected a JSON value",
    "expected ident": "expected true, false or null",
    "key must be a string": "a key must be in double quotes",
    "invalid number": "not a JSON number",
    "trailing characters": "extra text after the JSON value",
    "trailing comma": "a trailing comma",
    "invalid escape": "an invalid escape after a backslash",
    "unexpected end of hex escape": HALF_A_PAIR,
    "recursion limit exceeded": "nested too deeply",
}
"""The parser's messages, each with a plainer wording for the model and for developers."""


def _plain_wording(message: str) -> str:
    """Return the parser's message in plain words, and keep the line and column that it names."""
    if message.endswith(NOT_ENCODED):
        return HALF_A_PAIR
    wording = next(
        (
            plain_message + message[len(parser_message) :]
            for parser_message, plain_message in _PLAIN_WORDS.items()
            if message.startswith(parser_message)
        ),
        message,
    )
    return wording.replace(" (\\u0000-\\u001F) found while parsing", " in")


_FLOAT = re.compile(r"[0-9][.eE]")  # also matches inside strings; that only costs time


def repeats_key(text: str | bytes) -> bool:
    """Return whether an object in JSON text repeats a key."""
    return first_repeated_key(read_json(text)) is not None


def _parse_repaired(text: str, repair: TextRepair) -> Any:
    try:
        return repair(text, WrittenFloat)
    except ValueError as error:
        if type(error).__name__ == "TruncatedError":
            rule = "json_truncated"
        else:
            rule = "json_invalid"
        raise UnreadableError(str(error), rule=rule) from error


def keys_in(value: Any) -> int:
    """Return the number of keys in a JSON value, including nested objects."""
    if isinstance(value, dict):
        inner = [item for item in value.values() if isinstance(item, (dict, list))]
        if inner:
            return len(value) + sum(map(keys_in, inner))
        return len(value)
    if isinstance(value, list):
        return sum(map(keys_in, value))
    return 0


def has_every_key(text: str | bytes, keys: int) -> bool:
    """Return whether JSON text certainly repeats no key, if a parser read ``keys`` keys from it.

    In the text, a colon follows every key, and a parser drops repeated keys. So if the number of
    colons equals ``keys``, the parser dropped no key.
    """
    return (text.count(":") if isinstance(text, str) else text.count(b":")) == keys
