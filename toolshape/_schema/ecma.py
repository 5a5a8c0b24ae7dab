r"""Writes a pattern of ECMA-262, as JSON Schema means it, for Rust's engine or Python's.

What the three dialects say differently (ECMA-262, 2025, section 22.2, read 2026-11-27):

- ``\d``, ``\w`` and ``\b`` are about ASCII, and ``\s`` about more than ASCII.
- ``.`` matches no ``\r``, U+2028 or U+2029, and ``$`` only the end of the text.
- ``[^]`` is any character, ``[]`` none. In a class, ``[``, ``&&`` and ``~~`` stand for themselves.
- ``\/``, ``\cJ``, ``\u00e9``, ``(?<name>...)``, and a brace that repeats nothing.

A pattern in a JSON Schema has no flags. ``\A``, ``\Z``, ``(?i)`` and ``(?P<name>...)`` are Python's
own: see ``is_pythons``.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias


class NotTranslatedError(ValueError):
    """The target cannot say what the pattern says, or the pattern is not one."""


Engine: TypeAlias = Literal["rust", "python"]


class PatternPart(NamedTuple):
    """A pattern for Rust's engine, which a text must match, or must not."""

    pattern: str
    must_match: bool


def to_rust(pattern: str) -> list[PatternPart]:
    """Return the patterns for Rust's engine that together mean the same.

    Rust's engine has no look-around. At the beginning of an anchored pattern it is not needed:
    ``^(?=A)(?!B)C`` holds where ``^A`` and ``^C`` match and ``^B`` does not.

    Raises:
        NotTranslatedError: The pattern has a look-around elsewhere, or a back-reference.
    """
    try:
        return [PatternPart(_translate(pattern, "rust"), True)]
    except _LooksAroundError:
        pass
    ahead: list[PatternPart] = []
    position = 1
    while pattern.startswith("^") and pattern.startswith(("(?=", "(?!"), position):
        end = _end_of_group(pattern, position)
        inside = _translate(pattern[position + 3 : end - 1], "rust")
        ahead.append(PatternPart(rf"\A(?:{inside})", pattern[position + 2] == "="))
        position = end
    if not ahead or _has_choice(pattern):
        raise NotTranslatedError("a look-around that is not at the beginning")
    return [*ahead, PatternPart(rf"\A(?:{_translate(pattern[position:], 'rust')})", True)]


def to_python(pattern: str) -> str:
    r"""Return the pattern for Python's ``re`` with the flag ``ASCII``.

    Raises:
        NotTranslatedError: The pattern has a class such as ``\p{L}``, or is no pattern.
    """
    return _translate(pattern, "python")


def is_pythons(pattern: str) -> bool:
    """Whether a pattern has words that Python has and ECMA-262 has not."""
    return _PYTHONS.search(pattern) is not None


_PYTHONS = re.compile(r"(?<!\\)(?:\\\\)*(?:\\[AZz]|\(\?P[<=>]|\(\?[aiLmsux]+[:)])")


class _LooksAroundError(NotTranslatedError):
    """The pattern has a look-around, which Rust's engine cannot do."""


_Range: TypeAlias = tuple[int, int]
_SPACES: tuple[_Range, ...] = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
_LINE_ENDS: tuple[_Range, ...] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_KINDS: Mapping[str, tuple[_Range, ...]] = {
    "d": ((0x30, 0x39),),
    "w": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "s": _SPACES,
}


def _complement(ranges: Iterable[_Range]) -> Iterator[_Range]:
    """Yield the ranges of all other characters."""
    start = 0
    for first, last in ranges:
        yield start, first - 1
        start = last + 1
    yield start, sys.maxunicode


_CONTROLS = {"b": 0x08, "t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "0": 0x00}
_HEX = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\})")
_HIGH_HALVES, _HALVES = range(0xD800, 0xDC00), range(0xD800, 0xE000)
_LOW_HALF = re.compile(r"\\u([dD][c-fC-F][0-9A-Fa-f]{2})")
_PROPERTY = re.compile(r"\\[pP]\{[A-Za-z_=0-9]+\}")
_REPEAT = re.compile(r"\{\d+(?:,\d*)?\}")
_GROUP = re.compile(r"\((?:\?(?:[:=!]|<[=!]|<(?P<name>[A-Za-z_$][\w$]*)>|P<\w+>|[aiLmsux-]+[:)]))?")
_REFERENCE = re.compile(r"\\(?:k<(?P<name>\w+)>|[1-9]\d?)")
_NOT_THEIRS = frozenset("AzZhHRXGKQE")
"""Letters whose escape means something in Rust's engine, or in Python's, and itself in ECMA-262."""


def _translate(pattern: str, engine: Engine) -> str:
    return "".join(_Reader(pattern, engine).pieces())


class _Reader:
    """Reads a pattern from left to right; ``at`` is the position of the next character."""

    def __init__(self, pattern: str, engine: Engine) -> None:
        self.pattern = pattern
        self.engine = engine
        self.at = 0

    def pieces(self) -> Iterator[str]:
        """Yield the pattern's parts as the engine writes them."""
        read: dict[str, Callable[[], str]] = {
            "\\": self.escape,
            "[": self.character_class,
            "(": self.group,
            "{": self.brace,
        }
        while self.at < len(self.pattern):
            character = self.pattern[self.at]
            if character in read:
                yield read[character]()
                continue
            self.at += 1
            if character == ".":
                yield f"[^{self.codes(_LINE_ENDS)}]"
            elif character == "^":
                yield r"\A"
            elif character == "$":
                yield r"\z" if self.engine == "rust" else r"\Z"
            else:
                yield character if character in "|)*+?" else self.literal(ord(character))

    def found(self, expression: "re.Pattern[str]") -> "re.Match[str] | None":
        """Match an expression here, and move behind it."""
        match = expression.match(self.pattern, self.at)
        self.at = self.at if match is None else match.end()
        return match

    def brace(self) -> str:
        match = self.found(_REPEAT)
        if match is None:
            self.at += 1
        if match is None:
            return r"\{"
        return match[0]

    def group(self) -> str:
        match = self.found(_GROUP)
        if match is None:
            raise NotTranslatedError(f"{self.pattern[self.at : self.at + 3]} begins no group")
        if match[0] in ("(?=", "(?!", "(?<=", "(?<!") and self.engine == "rust":
            raise _LooksAroundError(match[0])
        if match["name"]:
            return f"(?P<{match['name']}>"
        return match[0]

    def character_class(self) -> str:
        self.at += 1
        is_negated = self.pattern.startswith("^", self.at)
        self.at += is_negated
        items: list[str] = []
        while not self.pattern.startswith("]", self.at):
            if self.at >= len(self.pattern):
                raise NotTranslatedError("a class is not closed")
            character = self.pattern[self.at]
            if character == "\\":
                items.append(self.escape(in_class=True))
                continue
            self.at += 1
            is_range = items and items[-1] != "-" and not self.pattern.startswith("]", self.at)
            items.append("-" if character == "-" and is_range else self.literal(ord(character)))
        self.at += 1
        if not items:
            if is_negated:
                return r"[\s\S]"
            return r"[^\s\S]"
        return f"[{'^' if is_negated else ''}{''.join(items)}]"

    def escape(self, in_class: bool = False) -> str:
        """Translate what a backslash begins."""
        if match := self.found(_HEX):
            return self.literal(self.code_point(match))
        if match := self.found(_PROPERTY):
            if self.engine == "python":
                raise NotTranslatedError(f"{match[0]} is not in Python's engine")
            return match[0]
        if not in_class and (match := self.found(_REFERENCE)):
            if self.engine == "rust":
                raise NotTranslatedError("a back-reference")
            if match["name"]:
                return f"(?P={match['name']})"
            return match[0]
        return self.escaped_letter(in_class)

    def escaped_letter(self, in_class: bool) -> str:
        letter, following = self.pattern[self.at + 1 :][:1], self.pattern[self.at + 2 :][:1]
        if not letter or letter in _NOT_THEIRS or (letter == "0" and following.isdigit()):
            raise NotTranslatedError(f"\\{letter} is not in ECMA-262")
        self.at += 2
        if letter in "dwsDWS":
            return self.kind(letter, in_class=in_class)
        if letter in "bB" and not in_class:
            # Python's \B does not match an empty text before Python 3.14.
            pythons = r"\b" if letter == "b" else r"(?!\b)"
            if self.engine == "rust":
                return f"(?-u:\\{letter})"
            return pythons
        if letter == "c" and following.isascii() and following.isalpha():
            self.at += 1
            return self.literal(ord(following) % 32)
        return self.literal(_CONTROLS.get(letter, ord(letter)))

    def code_point(self, match: "re.Match[str]") -> int:
        """Return the character of a hexadecimal escape, which may need two halves."""
        code = int(match[1] or match[2] or match[3], 16)
        if code in _HIGH_HALVES and (low := self.found(_LOW_HALF)):
            return 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        if code in _HALVES or code > sys.maxunicode:
            raise NotTranslatedError("half of a surrogate pair, or no character")
        return code

    def kind(self, letter: str, *, in_class: bool) -> str:
        """Return the class of digits, of word characters or of spaces, or what is not in it."""
        ranges = _KINDS[letter.lower()]
        if letter.islower():
            if in_class:
                return self.codes(ranges)
            return f"[{self.codes(ranges)}]"
        if in_class and self.engine == "python":  # it has no class within a class
            return self.codes(_complement(ranges))
        return f"[^{self.codes(ranges)}]"

    def codes(self, ranges: Iterable[_Range]) -> str:
        return "".join(f"{self.literal(first)}-{self.literal(last)}" for first, last in ranges)

    def literal(self, code: int) -> str:
        """Return one character, so written that it means only itself, in a class as elsewhere."""
        character = chr(code)
        if character.isascii():
            is_plain = character.isalnum() or character in "_ ,:;<=>@%!\"'`/"
            if is_plain:
                return character
            return f"\\x{code:02X}"
        if self.engine == "rust":
            return f"\\x{{{code:X}}}"
        return f"\\U{code:08X}"


def _steps(pattern: str) -> Iterator[tuple[int, str, int]]:
    """Yield the position and the text of each bracket and bar that means
    something, and the depth before it.
    """
    depth, in_class, position = 0, False, 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position += 2
            continue
        if in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character in "()|":
            yield position, character, depth
            depth += {"(": 1, ")": -1, "|": 0}[character]
        position += 1


def _end_of_group(pattern: str, start: int) -> int:
    """Return the position behind the group that begins at ``start``."""
    opened: int | None = None
    for position, character, depth in _steps(pattern):
        if position == start:
            opened = depth
        if opened is not None and character == ")" and depth == opened + 1:
            return position + 1
    raise NotTranslatedError("a group is not closed")


def _has_choice(pattern: str) -> bool:
    """Whether a bar stands outside of all groups."""
    return any(character == "|" and depth == 0 for _, character, depth in _steps(pattern))
