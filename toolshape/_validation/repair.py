"""Uses the grammar of JSON5 to parse text that is almost JSON; needs the extra ``repair``."""

import math
import re
from typing import Any

from toolshape._schema.values import values_inside

try:
    import json5
except ImportError as error:
    raise ImportError(
        "the rule repair_json needs json5: pip install 'toolshape[repair]'"
    ) from error


_LONGEST = 30_000  # characters: json5 parses about this many in a second
_FENCE = "```"
_TOKENS = re.compile(
    r"""("(?:\\.|[^"\\])*(?:"|\Z)|'(?:\\.|[^'\\])*(?:'|\Z))"""  # strings
    r"""|(//[^\n]*|/\*.*?(?:\*/|\Z))"""  # comments
    r"""|(?<![\w$])(True|TRUE|False|FALSE|None|Null|NULL)(?![\w$]|\s*:)""",
    re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})(?:(?<=u[dD][89abAB]..)\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(?s:.)|\Z)"
)
_ESCAPED = frozenset("\"'\\/bfnrt")
_AS_JSON = {"true": "true", "false": "false", "none": "null", "null": "null"}


class TruncatedError(ValueError):
    """The text is cut off."""


def read_repaired(text: str, number: type[float] = float) -> Any:
    """Parse text that deviates from JSON in common ways.

    The parser accepts trailing commas, comments, single quotes, names without quotes, line breaks
    in strings, Python's ``True``, ``False`` and ``None``, and a Markdown fence around the text.
    JSON5's grammar decides what the text means: the parser does not guess, close open brackets, or
    omit text.

    Args:
        text: The text.
        number: The type for numbers with a decimal point or an exponent.

    Raises:
        TruncatedError: The text is cut off.
        ValueError: The text is not valid JSON5, repeats a key, contains a number or an escape that
            JSON does not have, or is too long.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"too long to repair: more than {_LONGEST} characters")
    json5_text = _TOKENS.sub(_to_json5, _remove_fence(text.strip()))
    try:
        value = json5.loads(
            json5_text,
            strict=False,
            allow_duplicate_keys=False,
            parse_constant=_raise_not_json,
            parse_float=lambda digits: _require_finite(number(digits)),
        )
        _refuse_broken_names(value)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError as error:
        if "Unexpected end of input" in str(error):
            raise TruncatedError(str(error)) from error
        raise
    return value


def _refuse_broken_names(value: Any) -> None:
    """Reject a key that contains a line break: no field has such a name, so
    the text must be broken there.
    """
    if isinstance(value, dict):
        for name in value:
            if "\n" in name or "\r" in name:
                raise ValueError(f"a line break in the name {name!r}")
    for inner in values_inside(value):
        _refuse_broken_names(inner)


def _remove_fence(text: str) -> str:
    if not text.startswith(_FENCE):
        return text
    first_line, _, body = text.partition("\n")
    if first_line.removeprefix(_FENCE).isalnum() or first_line == _FENCE:
        inner_text = body
    else:
        inner_text = text.removeprefix(_FENCE)
    return inner_text.removesuffix(_FENCE)


def _to_json5(match: re.Match[str]) -> str:
    string, comment, word = match.groups()
    if word is not None:
        return _AS_JSON[word.lower()]
    if string is None:
        return str(comment)
    return _ESCAPE.sub(_check_escape, string)


def _check_escape(match: re.Match[str]) -> str:
    r"""Reject escapes that JSON does not have (JSON5 reads ``\d`` as ``d``); convert
    surrogate pairs to characters.
    """
    first, second = match.groups()
    if second is not None:
        return bytes.fromhex(first + second).decode("utf-16-be")
    is_half = first is not None and first[0] in "dD" and first[1] in "89abcdefABCDEF"
    if is_half or (first is None and match[0][1:] not in _ESCAPED):
        raise ValueError("an escape that JSON does not have")
    return match[0]


def _raise_not_json(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _require_finite(number: float) -> float:
    return number if math.isfinite(number) else _raise_not_json(str(number))
