"""Bodies of requests and responses, whatever holds them: JSON, SDK objects, protocol buffers."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from toolshape.calls import EARLY, Finish, JsonObject, Result, WireCall
from toolshape.errors import ResponseError
from toolshape.schema.values import as_json, is_whole, read_json

__all__ = [
    "generated_id",
    "hold_unless_whole",
    "id_seed",
    "is_plain_id",
    "make_room",
    "member",
    "parsed_body",
    "plain",
    "release_held",
    "result_json",
    "sendable_id",
    "with_call_ids",
]

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_MOST_LEFT_OUT = 1_000
_LONGEST_MADE_UP = 9  # what Mistral takes, and everyone else


def parsed_body(response: Any) -> Any:
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
        return read_json(response)
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


def result_json(result: Result) -> Any:
    """The value of a result as JSON, where a provider takes more than its text."""
    is_text = isinstance(result.value, str) if result.is_text is None else result.is_text
    return result.text if is_text else as_json(result.text)


def hold_unless_whole(body: JsonObject, position: int, call: WireCall, text: Any) -> list[tuple[int, WireCall]]:
    """A call of a stream whose end was told: complete, if its text is whole; else it waits for how the response ends.

    A response that has no room for more tells the end of what it cut off.
    """
    if not isinstance(text, str) or is_whole(text):
        return [(position, call)]
    body.setdefault("x-held", []).append((position, call))
    return []


def release_held(body: JsonObject, finish: Finish) -> list[tuple[int, WireCall]]:
    """The calls that waited, once the response has ended; none of them, where it ended before its time."""
    waiting: list[tuple[int, WireCall]] = body.pop("x-held", [])
    return [] if finish in EARLY else waiting


def make_room(items: list[Any], index: int, filler: Callable[[], Any]) -> None:
    """Make room for an item at an index that a stream names, in a list that grows by one or a few.

    Raises:
        ResponseError: Nobody's stream leaves so many out.
    """
    missing = index + 1 - len(items)
    if index < 0 or missing > _MOST_LEFT_OUT:
        raise ResponseError(f"a stream that goes on at {index!r}, after {len(items)}", body=items)
    items.extend(filler() for _ in range(missing))


def with_call_ids(
    items: Sequence[JsonObject],
    calls: Sequence[WireCall],
    is_call: Callable[[JsonObject], bool],
    named: Callable[[JsonObject, str], JsonObject],
    *,
    leaves_out: bool = False,
) -> tuple[list[JsonObject], list[WireCall]]:
    """Ids for calls that came without one, or with one that is no text, in what goes back too: each is answered by its id.

    Args:
        items: What goes back: blocks, items, or calls of a message.
        calls: The calls in it, in the same order.
        is_call: Whether an item is one of them.
        named: An item with an id.
        leaves_out: Whether a call that came without an id stays without.
    """
    if all(is_plain_id(call.id) for call in calls):
        return list(items), list(calls)
    found = [
        call
        if is_plain_id(call.id) or (leaves_out and call.id in ("", None))
        else call._replace(id=sendable_id(call.id) or generated_id(id_seed(call.raw), at))
        for at, call in enumerate(calls)
    ]
    ids = iter([call.id for call in found])
    sent = [(item, next(ids) if is_call(item) else "") for item in items]
    return [named(item, call_id) if call_id else item for item, call_id in sent], found


def is_plain_id(given: Any) -> bool:
    """Whether the id of a call can be sent as it came."""
    return type(given) is str and given != "" and given.isascii()


def sendable_id(given: Any) -> str:
    """The id of a call as a text that can be sent; empty where there is none."""
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    try:
        return given if isinstance(given, str) and given.encode() else ""
    except UnicodeEncodeError:
        return ""


def id_seed(call: Any) -> bytes:
    """What the id of a call is made of, beside its position in the response: the call as it came, but for its id."""
    try:
        node = plain(call)
        named = {key: value for key, value in node.items() if key != "id"} if isinstance(node, dict) else node
        text = json.dumps(named, sort_keys=True, default=str)
    except (ValueError, TypeError, RecursionError):  # what is no JSON has no text; its calls still differ by position
        text = type(call).__name__
    return hashlib.sha256(text.encode(errors="replace")).digest()


def generated_id(seed: bytes, position: int) -> str:
    """An id for a call that came without: nine letters and digits, the same each time for the same call at this place."""
    number = int.from_bytes(hashlib.sha256(seed + str(position).encode()).digest(), "big")
    digits = []
    for _ in range(_LONGEST_MADE_UP):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)
