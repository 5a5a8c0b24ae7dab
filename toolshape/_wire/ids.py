"""The id of a call in; one that can be sent back out, generated where the provider gave none."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from toolshape._calls import JsonObject, WireCall
from toolshape._wire.bodies import plain

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_LENGTH = 9  # Mistral takes exactly nine letters and digits; every other provider takes them too


def with_call_ids(
    items: Sequence[JsonObject],
    calls: Sequence[WireCall],
    is_call: Callable[[JsonObject], bool],
    named: Callable[[JsonObject, str], JsonObject],
    *,
    leaves_out: bool = False,
) -> tuple[list[JsonObject], list[WireCall]]:
    """Give an id to each call that came without one, or with one that is no text; also to the call in what goes back.

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
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)
