"""Reads and writes JSON without losing repeated keys or digits; equality, copies and other basics of JSON values."""

import json
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "INTEGER_KEY",
    "UnreadableError",
    "WrittenFloat",
    "WrittenObject",
    "append_text",
    "as_json",
    "as_plain_json",
    "copied",
    "first_repeated_key",
    "is_equal",
    "is_equal_json",
    "is_finite",
    "is_same_text",
    "is_whole",
    "kind_of",
    "parser_input",
    "read_json",
    "require_unique_keys",
    "scalars",
    "write_json",
]  # fmt: skip


INTEGER_KEY = "^(0|-?[1-9][0-9]*)$"
"""What the keys of an object match where they are integers: JSON has only text for them."""


class UnreadableError(ValueError):
    """A text is not unambiguous JSON, or a value cannot be mapped back: ``rule`` and ``location`` say why and where.

    ``location`` is a place in the value as it was sent, ``schema_path`` the place in the canonical schema, as losses name it.
    """

    def __init__(self, message: str, *, rule: str, location: tuple[int | str, ...] = (), schema_path: str = "") -> None:
        self.rule = rule
        self.location = location
        self.schema_path = schema_path
        super().__init__(message)


class WrittenFloat(float):
    """A number and its text: a float cannot hold every decimal."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> "Self":
        """Read the number and keep its text."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __reduce__(self) -> tuple[type["WrittenFloat"], tuple[str]]:
        return WrittenFloat, (self.text,)

    def is_whole(self) -> bool:
        """Whether the float holds all the digits that were written."""
        return Decimal(self.text) == Decimal(repr(float(self)))


class WrittenObject(dict[str, Any]):
    """An object whose text says more than a dict holds: somewhere in it a key comes twice, or a number has more digits.

    ``pairs`` are its members as they were written.
    """

    __slots__ = ("pairs",)
    pairs: list[tuple[str, Any]]

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    def __setitem__(self, key: str, value: Any) -> None:
        kept = [pair for pair in self.pairs if pair[0] != key]
        self.pairs = [*kept, (key, value)]
        super().__setitem__(key, value)

    def __reduce__(self) -> tuple[type["WrittenObject"], tuple[list[tuple[str, Any]]]]:
        return WrittenObject, (self.pairs,)


def read_json(text: str | bytes | bytearray, *, keeps_keys: bool = True) -> Any:
    """Parse a JSON text; ``WrittenObject`` and ``WrittenFloat`` keep what plain values would lose.

    Args:
        text: The text.
        keeps_keys: Whether keys that come twice are kept; the last counts otherwise.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It is nested deeper than Python reads.
    """
    hook = _object if keeps_keys else None
    text = text.removeprefix("\ufeff") if isinstance(text, str) else text
    try:
        return json.loads(text, object_pairs_hook=hook, parse_float=_float)
    except ValueError as error:
        if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
            raise
        return json.loads(text, object_pairs_hook=hook, parse_float=_float, parse_int=_integer)


def as_json(text: str) -> Any:
    """The value that a text says; a text that is no JSON, or says NaN or an infinity, is itself."""
    for decoder in (_FINITE_JSON, _FINITE_JSON_WITH_LONG_INTEGERS):
        try:
            return decoder.decode(text)
        except ValueError:
            continue
        except RecursionError:
            break
    return text


def as_plain_json(text: str) -> Any:
    """The same in plain values alone, which say no more than they hold; it is several times as fast."""
    if _MAY_BE_INFINITE.search(text) is None:
        try:
            value, end = _SCAN_PLAIN(text, 0)  # what ``decode`` does, where there is no white space around
            if end == len(text):
                return value
        except (RecursionError, StopIteration, ValueError):  # for the other to look at
            pass
    return as_json(text)


def write_json(value: Any) -> str:
    """The text of a JSON value, with all that ``read_json`` kept."""
    if isinstance(value, WrittenFloat):
        return value.text
    if isinstance(value, dict):
        pairs = value.pairs if isinstance(value, WrittenObject) else value.items()
        return "{" + ",".join([f"{json.dumps(key)}:{write_json(item)}" for key, item in pairs]) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(write_json, value)) + "]"
    return json.dumps(value)


def parser_input(value: Any) -> Any:
    """Arguments ready to be parsed: a ``WrittenObject`` as its JSON text, anything else unchanged."""
    return write_json(value) if type(value) is WrittenObject else value


def require_unique_keys(value: Any) -> Any:
    """Return a value unchanged, provided that no key in it is repeated.

    Raises:
        UnreadableError: A key is repeated.
    """
    location = first_repeated_key(value)
    if location is not None:
        raise UnreadableError("the key comes twice", rule="repeated_key", location=location)
    return value


def first_repeated_key(value: Any, location: tuple[int | str, ...] = ()) -> tuple[int | str, ...] | None:
    """Where the first key stands that came more than once; ``None`` where none did."""
    if isinstance(value, WrittenObject) and len(value) < len(value.pairs):
        seen: set[str] = set()
        for key, _ in value.pairs:
            if key in seen:
                return (*location, key)
            seen.add(key)
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = (first_repeated_key(item, (*location, step)) for step, item in steps if isinstance(item, (dict, list)))
    return next((one for one in found if one is not None), None)


def kind_of(value: Any) -> str:
    """The JSON type of a value."""
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def copied(node: Any) -> Any:
    """A deep copy of JSON, so that no caller can change what another is given."""
    if isinstance(node, dict):
        return {key: copied(value) for key, value in node.items()}
    return [copied(value) for value in node] if isinstance(node, list) else node


def scalars(value: Any) -> Iterator[Any]:
    """What stands in a JSON value and is neither object nor array."""
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from scalars(item)
    else:
        yield value


def is_finite(value: Any) -> bool:
    """Whether JSON has a form for it: there is no NaN and no infinity anywhere in it."""
    return all(math.isfinite(one) for one in scalars(value) if isinstance(one, float))


def is_equal(one: Any, other: Any, scalars_are_equal: Callable[[Any, Any], bool]) -> bool:
    """Whether two JSON values are equal, given when two of their scalars are."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            is_equal(value, other[key], scalars_are_equal) for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(is_equal(*pair, scalars_are_equal) for pair in pairs)
    return scalars_are_equal(one, other)


def is_equal_json(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON Schema compares them: ``1`` is ``1.0``, and is not ``true``."""
    return is_equal(one, other, _is_equal_scalar)


def is_same_text(one: Any, other: Any) -> bool:
    """Whether two values are written alike: ``1`` is neither ``1.0`` nor ``true``."""
    return is_equal(one, other, lambda first, second: type(first) is type(second) and bool(first == second))


def _is_equal_scalar(one: Any, other: Any) -> bool:
    return one is other if isinstance(one, bool) or isinstance(other, bool) else bool(one == other)


def is_whole(arguments: Any) -> bool:
    """Whether streamed arguments are complete: an object, or the whole JSON text of one."""
    if not isinstance(arguments, str) or not arguments.rstrip().endswith("}"):
        return isinstance(arguments, dict)
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def append_text(holder: Any, key: Any, piece: Any) -> None:
    """Append a piece to a string, in time that depends on the length of the piece alone; bytes are copied each time.

    CPython extends a string in place if nothing else refers to it, so ``holder`` drops its reference first.
    """
    text = holder[key]
    holder[key] = None
    text += piece
    holder[key] = text


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    says_more = len(value) < len(pairs)
    for one in value.values():
        if type(one) in _MAY_SAY_MORE:
            says_more = says_more or _is_marked(one)
    return WrittenObject(pairs) if says_more else value


_MAY_SAY_MORE = frozenset({list, WrittenObject, WrittenFloat})


def _is_marked(value: Any) -> bool:
    return any(map(_is_marked, value)) if type(value) is list else type(value) in (WrittenObject, WrittenFloat)


def _float(text: str) -> float:
    number = float(text)
    return number if repr(number) == text else WrittenFloat(text)


def _integer(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:  # more digits than Python reads
        return WrittenFloat(text)


def _finite(text: str) -> float:
    number = float(text)
    if repr(number) == text:  # never of an infinity
        return number
    return WrittenFloat(text) if math.isfinite(number) else _no_json(text)


def _no_json(word: str) -> Any:
    raise ValueError(word)


_FINITE_JSON = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_no_json)
_FINITE_JSON_WITH_LONG_INTEGERS = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_finite, parse_int=_integer, parse_constant=_no_json
)
_SCAN_PLAIN: Any = getattr(json.JSONDecoder(parse_constant=_no_json), "scan_once")  # noqa: B009 - it has no stub
_MAY_BE_INFINITE = re.compile(r"\d[eE]\+?\d{3}|\d{300}")
"""Made once: ``json.loads`` makes a decoder for each text, which takes as long as reading a short one."""
