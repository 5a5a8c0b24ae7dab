"""Reads and writes JSON without losing repeated keys or digits; compares and copies JSON values."""

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


INTEGER_KEY = "^(0|-?[1-9][0-9]*)$"
"""The pattern of object keys that represent integers; JSON itself allows only strings as keys."""


class UnreadableError(ValueError):
    """The JSON text is invalid or ambiguous, or the value cannot be mapped back.

    ``rule`` says why, and ``location`` says where.

    ``location`` is the place in the value as sent. ``schema_path`` is the path in the canonical
    schema, in the same form as in losses.
    """

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        location: tuple[int | str, ...] = (),
        schema_path: str = "",
    ) -> None:
        self.rule = rule
        self.location = location
        self.schema_path = schema_path
        super().__init__(message)


class WrittenFloat(float):
    """A float that keeps its JSON text, because a float cannot represent every decimal."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> "Self":
        """Parse the number and keep its text."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __reduce__(self) -> tuple[type["WrittenFloat"], tuple[str]]:
        return WrittenFloat, (self.text,)

    def is_whole(self) -> bool:
        """Whether the float keeps all digits of the text."""
        try:
            return Decimal(self.text) == Decimal(repr(float(self)))
        except ArithmeticError:  # the exponent is too large for a Decimal
            return False


class WrittenObject(dict[str, Any]):
    """A JSON object whose text a dict cannot represent: somewhere in it, a key is
    repeated or a float loses digits.

    ``pairs`` holds its members as written.
    """

    __slots__ = ("pairs",)
    pairs: list[tuple[str, Any]]

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    def __setitem__(self, key: str, value: Any) -> None:
        other_pairs = [pair for pair in self.pairs if pair[0] != key]
        self.pairs = [*other_pairs, (key, value)]
        super().__setitem__(key, value)

    def __reduce__(self) -> tuple[type["WrittenObject"], tuple[list[tuple[str, Any]]]]:
        return WrittenObject, (self.pairs,)


class WrittenSet(list[Any]):
    """The items of a set as a JSON list; their order has no meaning.

    A copy or a pickle is a plain list.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[type[list[Any]], tuple[list[Any]]]:
        return list, (list(self),)


class WrittenText(str):
    """The string that represents a value without a JSON form (for example, a Decimal);
    ``value`` is the value itself.

    A copy or a pickle is a plain string.
    """

    __slots__ = ("value",)
    value: Any

    def __new__(cls, text: str, value: Any) -> "Self":
        """Create the text and attach the value."""
        written_text = super().__new__(cls, text)
        written_text.value = value
        return written_text

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def read_json(text: str | bytes | bytearray, *, keeps_keys: bool = True) -> Any:
    """Parse JSON text; ``WrittenObject`` and ``WrittenFloat`` keep repeated keys and digits.

    Args:
        text: The text.
        keeps_keys: Whether to keep repeated keys; otherwise the last value wins.

    Raises:
        ValueError: The text is not JSON.
        RecursionError: The text is nested too deeply for Python's parser.
    """
    hook = object_of if keeps_keys else None
    text = text.removeprefix("\ufeff") if isinstance(text, str) else text
    try:
        return json.loads(text, object_pairs_hook=hook, parse_float=_parse_float)
    except ValueError as error:
        if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
            raise
        return json.loads(
            text, object_pairs_hook=hook, parse_float=_parse_float, parse_int=_parse_integer
        )


def as_json(text: str) -> Any:
    """Parse JSON text; return the text itself if it is not JSON, or if
    it contains NaN or an infinity.
    """
    for decoder in (_FINITE_JSON, _FINITE_JSON_WITH_LONG_INTEGERS):
        try:
            return decoder.decode(text)
        except ValueError:
            continue
        except RecursionError:
            break
    return text


def as_plain_json(text: str) -> Any:
    """Parse JSON text like ``as_json``, but without ``WrittenObject`` and
    ``WrittenFloat`` if plain parsing succeeds.

    Plain parsing is several times as fast. If it fails, or might produce an infinity, ``as_json``
    parses the text.
    """
    if _MAY_BE_INFINITE.search(text) is None:
        try:
            # ``JSONDecoder.decode`` without its handling of surrounding white space.
            value, end = _SCAN_PLAIN(text, 0)
            if end == len(text):
                return value
        except (RecursionError, StopIteration, ValueError):  # ``as_json`` decides
            pass
    return as_json(text)


def write_json(value: Any) -> str:
    """Serialise a JSON value, with the repeated keys and digits that ``read_json`` kept."""
    if isinstance(value, WrittenFloat):
        return value.text
    if isinstance(value, dict):
        pairs = value.pairs if isinstance(value, WrittenObject) else value.items()
        return (
            "{" + ",".join([f"{json.dumps(key)}:{write_json(item)}" for key, item in pairs]) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(write_json, value)) + "]"
    return json.dumps(value)


def parser_input(value: Any) -> Any:
    """Return arguments ready for parsing: a ``WrittenObject`` as its JSON
    text, anything else unchanged.
    """
    if type(value) is WrittenObject:
        return write_json(value)
    return value


def require_unique_keys(value: Any) -> Any:
    """Return a value unchanged if no key in it is repeated.

    Raises:
        UnreadableError: A key is repeated.
    """
    location = first_repeated_key(value)
    if location is not None:
        raise UnreadableError("duplicate key", rule="repeated_key", location=location)
    return value


def first_repeated_key(
    value: Any, location: tuple[int | str, ...] = ()
) -> tuple[int | str, ...] | None:
    """Return the location of the first repeated key, or ``None`` if there is none."""
    if isinstance(value, WrittenObject) and len(value) < len(value.pairs):
        seen: set[str] = set()
        for key, _ in value.pairs:
            if key in seen:
                return (*location, key)
            seen.add(key)
    steps = entries_inside(value)
    locations = (
        first_repeated_key(item, (*location, step))
        for step, item in steps
        if isinstance(item, (dict, list))
    )
    return next((repeated for repeated in locations if repeated is not None), None)


def kind_of(value: Any) -> str:
    """Return the name of a value's JSON type."""
    kinds = (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
        (dict, "object"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def copy_json(node: Any) -> Any:
    """Return a deep copy of a JSON value, so that callers cannot change each other's values."""
    if isinstance(node, dict):
        return {key: copy_json(value) for key, value in node.items()}
    if isinstance(node, list):
        return [copy_json(value) for value in node]
    return node


def values_inside(value: Any) -> Iterable[Any]:
    """Return the values inside an object or an array, and nothing for other JSON values."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list):
        return value
    return ()


def entries_inside(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the values inside an object or an array with their names or positions."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, list):
        return enumerate(value)
    return ()


def scalars(value: Any) -> Iterator[Any]:
    """Yield all values in a JSON value that are neither objects nor arrays."""
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from scalars(item)
    else:
        yield value


def is_finite(value: Any) -> bool:
    """Whether a value contains no NaN and no infinity, which JSON cannot represent."""
    return all(math.isfinite(scalar) for scalar in scalars(value) if isinstance(scalar, float))


# Equality. Each function answers a different question, and no two of them agree on all values:
#
#                                      1, 1.0  1, True  NaN, NaN  -0.0, 0.0  sets       used by
# is_equal_json                      equal   not      not       equal      lists      JSON Schema:
# enum, const is_same_text                       not     not      not       equal      lists
# enum, const: definitions is_same_value                      equal   not      equal     equal
# unordered evaluations, replay validation.pydantic_faults.is_same not     not      equal     equal
# lists which value was rejected contract.inclusion.is_same_json    not     not      not       not
# lists schemas in a contract
#
# The last two functions stay in their modules: is_same depends on WrittenFloat, is_same_json on a
# lock file's text.


def is_equal(one: Any, other: Any, scalars_are_equal: Callable[[Any, Any], bool]) -> bool:
    """Whether two JSON values are equal, with a given comparison for scalars."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            is_equal(value, other[key], scalars_are_equal) for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(is_equal(*pair, scalars_are_equal) for pair in pairs)
    return scalars_are_equal(one, other)


def is_equal_json(one: Any, other: Any) -> bool:
    """Whether two values are equal by the rules of JSON Schema: ``1``
    equals ``1.0``, but not ``true``.
    """
    return is_equal(one, other, _is_equal_scalar)


def is_same_text(one: Any, other: Any) -> bool:
    """Whether two values are equal and have the same types: ``1``
    equals neither ``1.0`` nor ``true``.
    """
    return is_equal(
        one, other, lambda first, second: type(first) is type(second) and bool(first == second)
    )


def is_same_value(one: Any, other: Any) -> bool:
    """Whether two values are equal (``==``) for the function that receives them.

    Sets have no order; Decimals and instants are compared by value, not by text. Both values are
    JSON, with ``WrittenSet`` and ``WrittenText`` for values that JSON cannot represent. If only one
    side has such a value, the other side's plain text or list is read as the same type. JSON's
    types are distinct: ``1`` equals ``1.0``, but neither ``True`` nor ``"1"``. ``NaN`` equals
    itself.
    """
    # Numbers come first, because 1 and 1.0 are of two types and one value. The types at the end
    # tell True from 1 and a text from a number, which Python or a reader might take for the same.
    if _is_number(one) and _is_number(other):
        return bool(one == other) or (one != one and other != other)  # noqa: PLR0124 - only NaN is not itself
    if isinstance(one, str) and isinstance(other, str):
        return _is_same_leaf(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and _have_same_items(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and _have_same_members(one, other)
    return type(one) is type(other) and bool(one == other)


def _have_same_items(one: list[Any], other: list[Any]) -> bool:
    is_set = isinstance(one, WrittenSet) or isinstance(other, WrittenSet)
    if is_set:
        return _are_same_unordered(one, other)
    return all(map(is_same_value, one, other))


def _have_same_members(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if one.keys() == other.keys():
        return all(is_same_value(value, other[key]) for key, value in one.items())
    if not any(isinstance(key, WrittenText) for key in (*one, *other)):
        return False
    return _are_same_unordered(
        [[*pair] for pair in one.items()], [[*pair] for pair in other.items()]
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_same_leaf(one: str, other: str) -> bool:
    """Whether two strings, or their values, are equal; a plain string is parsed
    as the type of the other value.
    """
    if isinstance(one, WrittenText) and isinstance(other, WrittenText):
        return _is_same_object(one.value, other.value)
    if str(one) == str(other):
        return True
    value, plain_text = (
        (one.value, other) if isinstance(one, WrittenText) else (getattr(other, "value", None), one)
    )
    parse = _READERS.get(type(value))
    return parse is not None and _is_same_object(value, _read_with(parse, plain_text))


def _is_same_object(one: Any, other: Any) -> bool:
    """Compare two objects by ``==``, or by their attributes if their
    class does not define ``__eq__``.
    """
    try:
        if type(one) is type(other) and _has_no_equality(type(one)):
            return bool(_attributes(one) == _attributes(other))
        return bool(one == other) or bool(one != one and other != other)  # noqa: PLR0124 - NaN of Decimal
    except Exception:  # a user's ``__eq__`` may raise any exception
        return False


def _parse_time(text: str) -> time:
    return time.fromisoformat(text.replace("Z", "+00:00"))


def _parse_datetime(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _has_no_equality(kind: Any) -> bool:
    return kind.__eq__ is object.__eq__


def _attributes(value: Any) -> dict[str, Any]:
    slots = [name for base in type(value).__mro__ for name in getattr(base, "__slots__", ())]
    return {
        **{name: getattr(value, name, None) for name in slots},
        **getattr(value, "__dict__", {}),
    }


_READERS: dict[type, Callable[[str], Any]] = {
    Decimal: Decimal,
    datetime: _parse_datetime,
    time: _parse_time,
}
"""Parsers for types that are written as strings, if different strings may mean the same value."""


def _read_with(read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except (ArithmeticError, ValueError):
        return text


def _are_same_unordered(one: list[Any], other: list[Any]) -> bool:
    """Whether two lists of the same length have the same items in any order.

    Items are grouped by a key, and each item is first compared with its own group, so that the time
    is usually linear. The key is a heuristic: equal items may have different keys, so all remaining
    items are compared next.
    """
    remaining: dict[Any, list[Any]] = {}
    for item in other:
        remaining.setdefault(_group_key(item), []).append(item)
    return all(_take(remaining, item) for item in one)


def _take(left: dict[Any, list[Any]], item: Any) -> bool:
    """Remove an item that equals ``item`` from the remaining items; return
    whether such an item was found.
    """
    # The item's own group first.
    for items in itertools.chain([left.get(_group_key(item), [])], left.values()):
        for number, candidate in enumerate(items):
            if is_same_value(item, candidate):
                del items[number]
                return True
    return False


def _group_key(value: Any) -> str:
    """Return a string that equal values usually share; it ignores the order of
    lists, which may represent sets.
    """
    if isinstance(value, dict):
        return f"{{{','.join(sorted(f'{_group_key(name)}:{_group_key(item)}' for name, item in value.items()))}}}"
    if isinstance(value, list):
        return f"[{','.join(sorted(map(_group_key, value)))}]"
    if _is_number(value):
        return "nan" if value != value else str(hash(value))  # noqa: PLR0124 - only NaN is not itself
    if not isinstance(value, str):
        return repr(value)
    for parse in _READERS.values():
        if isinstance(value, WrittenText):
            parsed = value.value
        else:
            parsed = _read_with(parse, value)
        if type(parsed) in _READERS:
            try:
                return f"={hash(parsed)}"
            except TypeError:  # a signalling NaN
                break
    return json.dumps(str(value))


def _is_equal_scalar(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def is_whole(arguments: Any) -> bool:
    """Whether streamed arguments are complete: an object, or the complete JSON text of an
    object.
    """
    if not isinstance(arguments, str) or not arguments.rstrip().endswith("}"):
        return isinstance(arguments, dict)
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def append_text(holder: Any, key: Any, piece: Any) -> None:
    """Append a piece to the string ``holder[key]``, in time proportional to the piece's length.

    For bytes, each call copies the whole value. CPython extends a string in place if nothing else
    refers to the string, so ``holder`` drops its reference first. A server that counts in UTF-16
    may cut a character in two halves, which are joined.
    """
    text = holder[key]
    holder[key] = None
    if type(piece) is str and "\udc00" <= piece[:1] <= "\udfff":
        text, piece = text[:-1], join_halves(text[-1:] + piece)
    text += piece
    holder[key] = text


def join_halves(text: str) -> str:
    """Return text in which two halves of a surrogate pair are one
    character; a half alone stays as it is.
    """
    return _PAIR.sub(_joined, text)


_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs as a JSON object: a dict, or a ``WrittenObject`` if a
    dict would lose keys or digits.
    """
    value = dict(pairs)
    loses_text = len(value) < len(pairs)
    for item in value.values():
        if type(item) in _MAY_SAY_MORE:
            loses_text = loses_text or _is_marked(item)
    if loses_text:
        return WrittenObject(pairs)
    return value


_MAY_SAY_MORE = frozenset({list, WrittenObject, WrittenFloat})


def _is_marked(value: Any) -> bool:
    if type(value) is list:
        return any(map(_is_marked, value))
    return type(value) in (WrittenObject, WrittenFloat)


def _parse_float(text: str) -> float:
    number = float(text)
    if repr(number) == text:
        return number
    return WrittenFloat(text)


def _parse_integer(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:  # more digits than ``int`` parses
        return WrittenFloat(text)


def _parse_finite(text: str) -> float:
    number = float(text)
    if repr(number) == text:  # never true for an infinity
        return number
    return WrittenFloat(text) if math.isfinite(number) else _reject_constant(text)


def _reject_constant(word: str) -> Any:
    raise ValueError(word)


_FINITE_JSON = json.JSONDecoder(
    object_pairs_hook=object_of, parse_float=_parse_finite, parse_constant=_reject_constant
)
_FINITE_JSON_WITH_LONG_INTEGERS = json.JSONDecoder(
    object_pairs_hook=object_of,
    parse_float=_parse_finite,
    parse_int=_parse_integer,
    parse_constant=_reject_constant,
)
_SCAN_PLAIN: Any = getattr(json.JSONDecoder(parse_constant=_reject_constant), "scan_once")  # noqa: B009 - it has no stub
_MAY_BE_INFINITE = re.compile(r"\d[eE]\+?\d{3}|\d{300}")
"""The decoders are built once: building one for each text, as ``json.loads`` would,
takes as long as a short parse.
"""
