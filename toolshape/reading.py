"""JSON text in, a value out: what is cut off told apart from what is no JSON, and no key taken twice."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_core import from_json

from toolshape.faults import Location

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["UnreadableError", "WrittenFloat", "has_every_key", "keys_in", "read", "repeats_key"]


Repair: TypeAlias = Callable[[str, type[float]], Any]


class UnreadableError(ValueError):
    """A text is no JSON that says one thing: ``rule`` and ``location`` say why."""

    def __init__(self, message: str, *, rule: str, location: Location = ()) -> None:
        self.rule = rule
        self.location = location
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

    def is_whole(self) -> bool:
        """Whether the float holds all the digits that were written."""
        return Decimal(self.text) == Decimal(repr(float(self)))


class _Repeated(dict[str, Any]):
    """An object one of whose keys came more than once."""

    key = ""


def read(text: str | bytes, repair: Repair | None, *, keep_floats: bool = False) -> tuple[Any, bool]:
    """Read a text, and say whether it had to be repaired.

    Args:
        text: The text; empty is not JSON.
        repair: Reads what is JSON but for its spelling; ``None`` where that is not allowed.
        keep_floats: Whether numbers with a point or an exponent are to be ``WrittenFloat``.

    Raises:
        UnreadableError: It is cut off (``json_truncated``), no JSON (``json_invalid``), or has a key twice
            (``repeated_key``).
    """
    try:
        value = from_json(text.encode() if isinstance(text, str) else text)
    except ValueError as error:
        is_cut = str(error).startswith("EOF while parsing")
        if repair is None or is_cut or not isinstance(text, str):
            raise UnreadableError(str(error), rule="json_truncated" if is_cut else "json_invalid") from error
        return _repaired(text, repair, keep_floats=keep_floats), True
    if not has_every_key(text, keys_in(value)):
        location = _repeated(json.loads(text, object_pairs_hook=_object), ())
        if location is not None:
            raise UnreadableError("the key comes twice", rule="repeated_key", location=location)
    return json.loads(text, parse_float=WrittenFloat) if keep_floats else value, False


def repeats_key(text: str | bytes) -> bool:
    """Whether a key comes twice in one object of a JSON text."""
    return _repeated(json.loads(text, object_pairs_hook=_object), ()) is not None


def _repaired(text: str, repair: Repair, *, keep_floats: bool) -> Any:
    try:
        return repair(text, WrittenFloat if keep_floats else float)
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
    """Whether surely no key of a JSON text came twice, where so many are left: every key has a colon of its own."""
    return (text.count(":") if isinstance(text, str) else text.count(b":")) == keys


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    repeated = _Repeated(value)
    seen: set[str] = set()
    repeated.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return repeated


def _repeated(value: Any, location: Location) -> Location | None:
    """Where the first key stands that came more than once."""
    if isinstance(value, _Repeated):
        return (*location, value.key)
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = (_repeated(item, (*location, step)) for step, item in steps if isinstance(item, (dict, list)))
    return next((one for one in found if one is not None), None)
