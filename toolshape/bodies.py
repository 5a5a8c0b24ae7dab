"""Bodies of requests and responses, whatever holds them: JSON, SDK objects, protocol buffers."""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from toolshape.calls import JsonObject, WireCall
from toolshape.errors import ResponseError

__all__ = ["as_json", "copied", "made_up_id", "member", "opened", "padded", "plain", "seed_of", "with_ids"]

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_MOST_LEFT_OUT = 1_000
_LONGEST_MADE_UP = 9  # what Mistral takes, and everyone else


def opened(response: Any) -> Any:
    """A response as data: JSON text is parsed, anything else is left as it is.

    Raises:
        ResponseError: The text is not JSON.
    """
    if isinstance(response, dict):
        return response
    if not isinstance(response, (str, bytes, bytearray)):
        message = getattr(response, "proto", response)
        return _from_protocol_buffer(message) if hasattr(message, "ListFields") else response
    try:
        return json.loads(response)
    except (ValueError, RecursionError) as error:
        raise ResponseError(f"the response is not JSON: {error}", body=response) from error


def _from_protocol_buffer(message: Any) -> JsonObject:
    """A protocol buffer's fields that are set, as JSON; enums by their names."""
    return {field.name: _field(field, value) for field, value in message.ListFields()}


def _field(field: Any, value: Any) -> Any:
    if hasattr(value, "ListFields"):
        return _from_protocol_buffer(value)
    if not isinstance(value, (str, bytes)) and hasattr(value, "__len__"):
        return [_field(field, one) for one in value]
    return field.enum_type.values_by_number[value].name if field.enum_type else value


def member(node: Any, name: str) -> Any:
    """A member of a JSON object or an attribute of an SDK object; ``None`` where there is none."""
    return node.get(name) if isinstance(node, dict) else getattr(node, name, None)


def plain(node: Any) -> Any:
    """An SDK object (any pydantic model) as the JSON it came from; JSON as it is."""
    if isinstance(node, list):
        return [plain(item) for item in node]
    dump = None if isinstance(node, dict) else getattr(node, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_unset=True) if dump else node


def as_json(text: str) -> Any:
    """The value that a text says; one that is no JSON, of an enum or a date, is itself."""
    try:
        return json.loads(text, parse_constant=_no_json, parse_float=_finite)
    except (ValueError, RecursionError):
        return text


def _no_json(word: str) -> Any:
    raise ValueError(word)


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_json(digits)


def copied(node: Any) -> Any:
    """A deep copy of JSON, so that no caller can change what another is given."""
    if isinstance(node, dict):
        return {key: copied(value) for key, value in node.items()}
    return [copied(value) for value in node] if isinstance(node, list) else node


def padded(items: list[Any], index: int, filler: Callable[[], Any]) -> None:
    """Make room for an item at an index that a stream names, in a list that grows by one or a few.

    Raises:
        ResponseError: Nobody's stream leaves so many out.
    """
    missing = index + 1 - len(items)
    if index < 0 or missing > _MOST_LEFT_OUT:
        raise ResponseError(f"a stream that goes on at {index!r}, after {len(items)}", body=items)
    items.extend(filler() for _ in range(missing))


def with_ids(
    items: Sequence[JsonObject],
    calls: Sequence[WireCall],
    is_call: Callable[[JsonObject], bool],
    named: Callable[[JsonObject, str], JsonObject],
) -> tuple[list[JsonObject], list[WireCall]]:
    """Ids for calls that came without, in what goes back too: each is answered by its id.

    Args:
        items: What goes back: blocks, items, or calls of a message.
        calls: The calls in it, in the same order.
        is_call: Whether an item is one of them.
        named: An item with an id.
    """
    if all(call.id for call in calls):
        return list(items), list(calls)
    seed = seed_of(items)
    found = [call if call.id else call._replace(id=made_up_id(seed, at)) for at, call in enumerate(calls)]
    ids = iter([call.id for call in found])
    return [named(item, next(ids)) if is_call(item) else item for item in items], found


def seed_of(response: Any) -> bytes:
    """What the ids of a response's calls are made of."""
    try:
        text = json.dumps(response, sort_keys=True, default=str)
    except (ValueError, TypeError, RecursionError):  # what is no JSON has no text; its calls still differ by position
        text = type(response).__name__
    return hashlib.sha256(text.encode(errors="replace")).digest()


def made_up_id(seed: bytes, position: int) -> str:
    """An id for a call that came without: nine letters and digits, the same each time for the same response."""
    number = int.from_bytes(hashlib.sha256(seed + str(position).encode()).digest(), "big")
    digits = []
    for _ in range(_LONGEST_MADE_UP):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)
