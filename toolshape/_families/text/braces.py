"""Reads and writes arguments in Gemma's form: values in braces, strings between marks.

``{city:<|"|>Rome<|"|>,days:2,tags:[<|"|>a<|"|>]}`` is an object with three keys. Strings have no
escapes. Models sometimes leave out quotes. So the reader accepts two more forms as strings: a word
that is neither quoted nor JSON, and a value with only its closing quote (sglang#39240).
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from toolshape._schema.values import as_json, object_of


class _Patterns(NamedTuple):
    """Patterns for a quoted string, an object's key with its colon, and a
    string without its opening quote.

    ``token`` matches a quoted string, a bracket, or a key with ``=``, whose name is the group
    ``key``.
    """

    string: re.Pattern[str]
    key: re.Pattern[str]
    half_quoted: re.Pattern[str]
    token: re.Pattern[str]


@lru_cache(16)
def _patterns(quote: str) -> _Patterns:
    mark = re.escape(quote)
    string = rf"{mark}(?P<string>(?:(?!{mark}).)*){mark}"
    return _Patterns(
        re.compile(string, re.DOTALL),
        re.compile(rf"(?:{string}|(?P<word>[^:,{{}}\[\]]+)):", re.DOTALL),
        re.compile(rf"(?P<string>(?:(?!{mark})[^:{{}}\[\]])+){mark}\s*(?=[,}}])"),
        re.compile(rf"{string}|[{{}}\[\]]|(?P<key>[A-Za-z_]\w*)\s*=", re.DOTALL),
    )


_BLANK = re.compile(r"\s*")
_WORD = re.compile(r"[^,{}\[\]]+")


def read_braces(text: str, quote: str) -> Any:
    """Parse a value.

    Parentheses may stand in place of the outer braces, and then ``=`` in place of ``:``.

    Raises:
        ValueError: The text is not exactly one value, or it is nested too deeply.
    """
    if text.startswith("(") and text.endswith(")"):
        text = _as_braces(text, quote)
    try:
        value, end = _read_value(text, _skip_blank(text, 0), quote)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if end != len(text):
        raise ValueError("more than one value")
    return value


def _as_braces(text: str, quote: str) -> str:
    """Write an object in parentheses as one in braces; only the outer signs
    differ (jundot/omlx#1886, 2026).
    """
    pieces, depth, end = ["{"], 0, 1
    for token in _patterns(quote).token.finditer(text, 1, len(text) - 1):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
        elif token["key"] and not depth:
            pieces += [text[end : token.start()], f"{token['key']}:"]
            end = token.end()
    return "".join([*pieces, text[end:-1], "}"])


def _skip_blank(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    if blank is None:
        return at
    return blank.end()


def _read_value(text: str, at: int, quote: str) -> tuple[Any, int]:
    """Return the value at a position, and the position after the value and its white space."""
    if text.startswith("{", at):
        pairs, at = _read_items(text, at, "}", lambda at: _read_pair(text, at, quote))
        return object_of(pairs), at
    if text.startswith("[", at):
        return _read_items(text, at, "]", lambda at: _read_value(text, at, quote))
    string_match = _patterns(quote).string.match(text, at)
    if string_match is not None:
        return string_match["string"], _skip_blank(text, string_match.end())
    word_match = _WORD.match(text, at)
    if word_match is None or quote in word_match[0]:
        raise ValueError("no value")
    return as_json(word_match[0].strip()), word_match.end()


def _read_items(
    text: str, at: int, closing: str, read: Callable[[int], tuple[Any, int]]
) -> tuple[list[Any], int]:
    """Return the items between brackets, and the position after the closing
    bracket; a trailing comma is allowed.
    """
    items: list[Any] = []
    at = _skip_blank(text, at + 1)
    while not text.startswith(closing, at):
        item, at = read(at)
        items.append(item)
        if text.startswith(",", at):
            at = _skip_blank(text, at + 1)
        elif not text.startswith(closing, at):
            raise ValueError("brackets do not close")
    return items, _skip_blank(text, at + 1)


def _read_pair(text: str, at: int, quote: str) -> tuple[tuple[str, Any], int]:
    key_match = _patterns(quote).key.match(text, at)
    if key_match is None:
        raise ValueError("no key")
    at = _skip_blank(text, key_match.end())
    half_quoted_match = _patterns(quote).half_quoted.match(text, at)
    value, end = (
        _read_value(text, at, quote)
        if half_quoted_match is None
        else (half_quoted_match["string"], half_quoted_match.end())
    )
    return (
        key_match["word"].strip() if key_match["string"] is None else key_match["string"],
        value,
    ), end


def write_braces(value: Any, quote: str, write: Callable[[Any], str]) -> str:
    """Write a value as Gemma's template does, without quotes around keys.

    ``write`` writes numbers, booleans and ``None``.
    """
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{write_braces(item, quote, write)}' for key, item in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(write_braces(item, quote, write) for item in value)}]"
    return write(value)
