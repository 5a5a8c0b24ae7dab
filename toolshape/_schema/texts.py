"""Generates random strings of a format, and random strings that match a regular expression."""

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from toolshape._schema.patterns import re_parser

_MOST_REPEATED = 3
_MOST_PIECES = 10_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CLASSES = {"CATEGORY_DIGIT": "0123456789", "CATEGORY_SPACE": " ", "CATEGORY_WORD": f"{_LETTERS}0123456789_"}
_OTHERS = ("\t", "é", "日")
_PRINTABLE = [chr(code) for code in range(32, 127)]


def matching(pattern: str, chance: random.Random, *, least: int = 0) -> str:
    """Return a text that a pattern matches, or an empty text if the pattern has unsupported parts (lookaround).

    Args:
        pattern: A regular expression.
        chance: The random source.
        least: The minimum length to aim for, if a repetition allows it.
    """
    try:
        parsed = re_parser.parse(pattern)
        return _Matching(chance).all(parsed, least)
    except (ValueError, KeyError, IndexError, RecursionError, OverflowError, re.error):
        return ""


def _named(parsed: Any) -> list[tuple[str, Any]]:
    return [(str(operator), given) for operator, given in parsed]


class _Matching:
    """Generates one text from a bounded number of pieces."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._left = _MOST_PIECES

    def all(self, parsed: Any, least: int) -> str:
        """Return the text of a sequence of pieces."""
        return "".join(self._piece(name, given, least) for name, given in _named(parsed))

    def _piece(self, name: str, given: Any, least: int) -> str:  # noqa: C901, PLR0911 - one case for each kind
        self._left -= 1
        if self._left < 0:
            raise ValueError("the text would be too long")
        match name:
            case "LITERAL":
                return chr(given)
            case "NOT_LITERAL":
                return self._chance.choice([letter for letter in _LETTERS if ord(letter) != given])
            case "ANY":
                return self._chance.choice(_LETTERS)
            case "AT":
                return ""
            case "IN":
                return self._chance.choice(_class(given))
            case "BRANCH":
                return self.all(self._chance.choice(given[1]), least)
            case "SUBPATTERN":
                return self.all(given[-1], least)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, inner = given
                top = min(int(high), max(int(low) + _MOST_REPEATED, least))
                times = self._chance.randint(max(int(low), min(least, top)), top)
                if times > _MOST_PIECES:
                    raise ValueError("the text would be too long")
                return "".join(self.all(inner, 0) for _ in range(times))
            case _:
                raise KeyError(name)


def _class(members: Any) -> list[str]:
    """Return the characters of a class; for a negated class, only printable characters and a few others."""
    characters: list[str] = []
    is_negated = False
    for name, given in _named(members):
        match name:
            case "NEGATE":
                is_negated = True
            case "LITERAL":
                characters.append(chr(given))
            case "RANGE":
                low, high = given
                characters += [chr(code) for code in range(low, min(high, low + 300) + 1)]
            case "CATEGORY":
                word = str(given)
                positive = _CLASSES.get(word)
                characters += (
                    positive
                    or [letter for letter in _LETTERS if letter not in _CLASSES[word.replace("NOT_", "")]]
                    or ["-"]
                )
            case _:
                raise KeyError(name)
    return [char for char in (*_PRINTABLE, *_OTHERS) if char not in characters] if is_negated else characters


def _day(chance: random.Random) -> str:
    return f"{chance.randint(2000, 2030)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"


def _clock(chance: random.Random) -> str:
    return f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}"


def _host(chance: random.Random) -> str:
    return f"{chance.choice(('north', 'south', 'east', 'west'))}.example.com"


def _hexadecimal(chance: random.Random, length: int) -> str:
    return "".join(chance.choice("0123456789abcdef") for _ in range(length))


def _uuid(chance: random.Random) -> str:
    return "-".join(
        [_hexadecimal(chance, 8), _hexadecimal(chance, 4), "4" + _hexadecimal(chance, 3),
         "a" + _hexadecimal(chance, 3), _hexadecimal(chance, 12)]
    )  # fmt: skip


FORMATS: Mapping[str, Callable[[random.Random], str]] = {
    "date-time": lambda chance: f"{_day(chance)}T{_clock(chance)}Z",
    "date": _day,
    "time": lambda chance: f"{_clock(chance)}Z",
    "duration": lambda chance: f"P{chance.randint(1, 9)}DT{chance.randint(1, 9)}H",
    "email": lambda chance: f"user{chance.randint(1, 99)}@{_host(chance)}",
    "idn-email": lambda chance: f"user{chance.randint(1, 99)}@{_host(chance)}",
    "hostname": _host,
    "uri": lambda chance: f"https://{_host(chance)}/{chance.randint(1, 99)}",
    "url": lambda chance: f"https://{_host(chance)}/{chance.randint(1, 99)}",
    "ipv4": lambda chance: ".".join(str(chance.randint(1, 254)) for _ in range(4)),
    "name-email": lambda chance: f"Somebody <user{chance.randint(1, 99)}@{_host(chance)}>",
    "ipvanyaddress": lambda chance: ".".join(str(chance.randint(1, 254)) for _ in range(4)),
    "ipv6": lambda chance: ":".join(_hexadecimal(chance, 4) for _ in range(8)),
    "uuid": _uuid,
    "uuid4": _uuid,
    **dict.fromkeys(("byte", "base64", "binary"), lambda _: "AAEC"),
    "json-string": lambda chance: f'{{"n": {chance.randint(1, 9)}}}',
}
"""Generators of valid strings, for the formats of JSON Schema and of pydantic."""
